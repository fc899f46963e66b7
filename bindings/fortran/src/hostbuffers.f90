!> Host buffers: one buffer for all processes of a host, at the same address in each.
module tcasm_host_buffers
  use, intrinsic :: iso_c_binding
  use, intrinsic :: iso_fortran_env, only: int64, real64
  use tcasm_constants
  use tcasm_c
  use tcasm_errors
  implicit none
  private
  public :: tcasm_hosts, tcasm_host_buffer, tcasm_host_buffer_open, tcasm_host_buffer_close
  public :: tcasm_host_buffer_info, tcasm_section, tcasm_seal, tcasm_wait_sealed

  !> A buffer that all processes of a job on this host share.
  type :: tcasm_host_buffer
    type(c_ptr) :: handle = c_null_ptr
  end type tcasm_host_buffer

  !> How the hosts of a job agree: through a rendezvous, or by a function of the program.
  type :: tcasm_hosts
    !> The address of `tcasm hostbuffer serve`, such as "login1:4711", and the file of its secret.
    character(:), allocatable :: rendezvous, secret
    !> The address of a function with bind(c) that does what MPI_Allgather does (tcasm_all_gather in
    !! tcasm.h), and what is passed to it.
    type(c_funptr) :: all_gather = c_null_funptr
    type(c_ptr) :: context = c_null_ptr
    !> The numbers of hosts, and of processes of this one that take part.
    integer :: hosts = 1
    integer :: processes = 1
    !> This process is the one of its host that calls the function.
    logical :: leads = .false.
    !> The only address that is accepted, a multiple of 2 MiB, or 0.
    integer(int64) :: address = 0
  end type tcasm_hosts

contains

  !> Creates the host buffer of `job`, or attaches to it. It has sections with these names, and
  !! sizes in bytes. `flags` has TCASM_SECTION_LOCKED and the like for each, added up. `ranks` is not
  !! 0 for sections for the regions of so many ranks (`section` of tcasm_options). With
  !! `processes`, so many processes of this host get the buffer within `timeout` seconds (60), or
  !! none does. `hosts` says how several hosts agree.
  subroutine tcasm_host_buffer_open(buffer, job, names, sizes, flags, ranks, processes, timeout, &
      hosts, status)
    type(tcasm_host_buffer), intent(out) :: buffer
    character(*), intent(in) :: job, names(:)
    integer(int64), intent(in) :: sizes(:)
    integer, intent(in), optional :: flags(:), ranks(:), processes
    real(real64), intent(in), optional :: timeout
    type(tcasm_hosts), intent(in), optional :: hosts
    integer, intent(out), optional :: status
    type(c_ptr) :: options
    real(c_double) :: limit
    integer(c_int) :: code, ended
    options = c_null_ptr
    limit = 60
    if (present(timeout)) limit = timeout
    code = c_host_buffer_options_new(options)
    if (code == TCASM_OK) code = sections(options, names, sizes, flags, ranks)
    if (code == TCASM_OK .and. present(processes)) &
      code = c_host_buffer_options_set_processes(options, int(processes, c_size_t))
    if (code == TCASM_OK .and. present(hosts)) code = agreement(options, hosts)
    if (code == TCASM_OK) &
      code = c_host_buffer_create(c_text(job), options, limit, buffer%handle)
    call report(code, status)
    if (c_associated(options)) ended = c_host_buffer_options_free(options)
  end subroutine tcasm_host_buffer_open

  !> Adds the sections to the options of a buffer.
  function sections(options, names, sizes, flags, ranks) result(code)
    type(c_ptr), intent(in) :: options
    character(*), intent(in) :: names(:)
    integer(int64), intent(in) :: sizes(:)
    integer, intent(in), optional :: flags(:), ranks(:)
    integer(c_int) :: code
    integer :: all_flags(size(names)), all_ranks(size(names)), i
    all_flags = 0
    all_ranks = 0
    code = TCASM_OK
    if (size(sizes) /= size(names)) &
      code = refused("a host buffer needs a size for each name of a section")
    if (code == TCASM_OK .and. present(flags)) code = each(flags, "flags", all_flags)
    if (code == TCASM_OK .and. present(ranks)) code = each(ranks, "ranks", all_ranks)
    do i = 1, size(names)
      if (code /= TCASM_OK) return
      if (all_ranks(i) == 0) then
        code = c_host_buffer_options_add(options, c_text(names(i)), int(sizes(i), c_size_t), &
          int(all_flags(i), c_int32_t))
      else
        code = c_host_buffer_options_add_regions(options, c_text(names(i)), &
          int(all_ranks(i), c_int32_t), int(sizes(i), c_size_t))
      end if
    end do
  end function sections

  !> Gets a number for each section.
  function each(given, what, all) result(code)
    integer, intent(in) :: given(:)
    character(*), intent(in) :: what
    integer, intent(out) :: all(:)
    integer(c_int) :: code
    code = TCASM_OK
    all = 0
    if (size(given) == size(all)) then
      all = given
    else
      code = refused("a host buffer needs " // what // " for each name of a section, or none")
    end if
  end function each

  !> Says in the options of a buffer how hosts agree.
  function agreement(options, hosts) result(code)
    type(c_ptr), intent(in) :: options
    type(tcasm_hosts), intent(in) :: hosts
    integer(c_int) :: code
    code = TCASM_OK
    if (hosts%address /= 0) &
      code = c_host_buffer_options_set_address(options, int(hosts%address, c_size_t))
    if (code /= TCASM_OK) return
    if (allocated(hosts%rendezvous) .and. allocated(hosts%secret)) then
      code = c_host_buffer_options_set_rendezvous(options, c_text(hosts%rendezvous), &
        c_text(hosts%secret))
    else if (allocated(hosts%rendezvous) .or. allocated(hosts%secret)) then
      code = refused("a rendezvous needs an address and the file of a secret")
    else if (c_associated(hosts%all_gather)) then
      code = c_host_buffer_options_set_all_gather(options, hosts%all_gather, hosts%context, &
        int(hosts%hosts, c_int32_t), int(hosts%processes, c_size_t), merge(1_c_int, 0_c_int, &
        hosts%leads))
    end if
  end function agreement

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
