!> Host buffers: one buffer for all processes of a host, at the same address in each.
module tcasm_host_buffers
  use, intrinsic :: iso_c_binding
  use, intrinsic :: iso_fortran_env, only: int64, real64
  use tcasm_constants
  use tcasm_c
  use tcasm_errors
  implicit none
  private
  public :: tcasm_host_buffer, tcasm_host_buffer_open, tcasm_host_buffer_close
  public :: tcasm_host_buffer_info, tcasm_section, tcasm_seal, tcasm_wait_sealed

  !> A buffer that all processes of a job on this host share.
  type :: tcasm_host_buffer
    type(c_ptr) :: handle = c_null_ptr
  end type tcasm_host_buffer

contains

  !> Creates the host buffer of `job`, or attaches to it. It has sections with these names, and
  !! sizes in bytes. `flags` has TCASM_SECTION_LOCKED and the like for each, added up. `ranks` is not
  !! 0 for sections for the regions of so many ranks. With `processes`, so many processes of this
  !! host get the buffer within `timeout` seconds (60), or none does.
  subroutine tcasm_host_buffer_open(buffer, job, names, sizes, flags, ranks, processes, timeout, &
      status)
    type(tcasm_host_buffer), intent(out) :: buffer
    character(*), intent(in) :: job, names(:)
    integer(int64), intent(in) :: sizes(:)
    integer, intent(in), optional :: flags(:), ranks(:), processes
    real(real64), intent(in), optional :: timeout
    integer, intent(out), optional :: status
    character(kind=c_char, len=len(names) + 1), target :: texts(size(names))
    type(c_ptr) :: pointers(size(names))
    integer(c_int32_t) :: all_flags(size(names)), all_ranks(size(names))
    integer(c_size_t) :: count
    real(c_double) :: limit
    integer :: i
    if (size(sizes) /= size(names)) then
      call report(refused("a host buffer needs a size for each name of a section"), status)
      return
    end if
    do i = 1, size(names)
      texts(i) = c_text(names(i))
      pointers(i) = c_loc(texts(i))
    end do
    all_flags = 0
    all_ranks = 0
    count = 0
    limit = 60
    if (present(flags)) all_flags = int(flags, c_int32_t)
    if (present(ranks)) all_ranks = int(ranks, c_int32_t)
    if (present(processes)) count = int(processes, c_size_t)
    if (present(timeout)) limit = timeout
    call report(c_host_buffer_open(c_text(job), size(names, kind=c_size_t), pointers, &
      int(sizes, c_size_t), all_flags, all_ranks, count, limit, buffer%handle), status)
  end subroutine tcasm_host_buffer_open

  !> Lets go of a host buffer: it is unmapped here.
  subroutine tcasm_host_buffer_close(buffer, status)
    type(tcasm_host_buffer), intent(inout) :: buffer
    integer, intent(out), optional :: status
    call report(c_host_buffer_close(buffer%handle), status)
    buffer%handle = c_null_ptr
  end subroutine tcasm_host_buffer_close

  !> Gets the address, the bytes of address space, and whether this process created the buffer.
  subroutine tcasm_host_buffer_info(buffer, address, bytes, created, status)
    type(tcasm_host_buffer), intent(in) :: buffer
    integer(int64), intent(out), optional :: address, bytes
    logical, intent(out), optional :: created
    integer, intent(out), optional :: status
    integer(c_size_t) :: at, all
    integer(c_int) :: made
    at = 0
    all = 0
    made = 0
    call report(c_host_buffer_info(buffer%handle, at, all, made), status)
    if (present(address)) address = int(at, int64)
    if (present(bytes)) bytes = int(all, int64)
    if (present(created)) created = made == 1
  end subroutine tcasm_host_buffer_info

  !> Gets the address of a section and its bytes: `call c_f_pointer(data, x, [bytes / 8])`. A store
  !! to a sealed section ends the program.
  subroutine tcasm_section(buffer, name, data, bytes, status)
    type(tcasm_host_buffer), intent(in) :: buffer
    character(*), intent(in) :: name
    type(c_ptr), intent(out) :: data
    integer(int64), intent(out), optional :: bytes
    integer, intent(out), optional :: status
    integer(c_size_t) :: all
    all = 0
    data = c_null_ptr
    call report(c_section(buffer%handle, c_text(name), data, all), status)
    if (present(bytes)) bytes = int(all, int64)
  end subroutine tcasm_section

  !> Makes a section read-only in all processes, for ever, and waits for it.
  subroutine tcasm_seal(buffer, name, status)
    type(tcasm_host_buffer), intent(in) :: buffer
    character(*), intent(in) :: name
    integer, intent(out), optional :: status
    call report(c_seal(buffer%handle, c_text(name)), status)
  end subroutine tcasm_seal

  !> Waits until a process has sealed a section: as long as it takes, or `timeout` seconds.
  subroutine tcasm_wait_sealed(buffer, name, timeout, status)
    type(tcasm_host_buffer), intent(in) :: buffer
    character(*), intent(in) :: name
    real(real64), intent(in), optional :: timeout
    integer, intent(out), optional :: status
    real(c_double) :: limit
    limit = -1
    if (present(timeout)) limit = timeout
    call report(c_wait_sealed(buffer%handle, c_text(name), limit), status)
  end subroutine tcasm_wait_sealed

end module tcasm_host_buffers
