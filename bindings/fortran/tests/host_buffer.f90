!> A host buffer in Fortran: sections, seals and statuses.
program host_buffer
  use, intrinsic :: iso_c_binding
  use, intrinsic :: iso_fortran_env, only: int64, real64
  use tcasm
  implicit none

  type(tcasm_host_buffer) :: buffer
  type(tcasm_hosts) :: hosts
  type(c_ptr) :: data
  real(real64), pointer :: table(:)
  integer(int64) :: address, bytes
  integer :: status
  character(:), allocatable :: said
  logical :: created

  call tcasm_host_buffer_open(buffer, "fortran", ["table", "more "], [8000_int64, 64_int64])
  call tcasm_host_buffer_info(buffer, address, bytes, created)
  call check(created .and. address /= 0 .and. bytes >= 8064, "the facts about the buffer")

  call tcasm_section(buffer, "table", data, bytes)
  call check(bytes == 8000, "the size of the section")
  call c_f_pointer(data, table, [bytes / 8])
  table = 1.5_real64

  call tcasm_wait_sealed(buffer, "table", 0.01_real64, status)
  call check(status == TCASM_NOT_READY, "a section that nobody has sealed")
  call tcasm_seal(buffer, "table")
  call tcasm_wait_sealed(buffer, "table")
  call check(abs(sum(table) - 1500.0_real64) < 1e-9_real64, "the bytes of the sealed section")

  call tcasm_section(buffer, "absent", data, status=status)
  call check(status == TCASM_NOT_FOUND .and. .not. c_associated(data), "a section that is not there")
  call tcasm_host_buffer_open(buffer, "wrong", ["a"], [1_int64, 2_int64], status=status)
  call check(status == TCASM_INVALID_ARGUMENT, "fewer names than sizes")
  call tcasm_host_buffer_open(buffer, "wrong", ["a"], [1_int64], flags=[0, 0], status=status)
  call check(status == TCASM_INVALID_ARGUMENT, "more flags than names")
  hosts%rendezvous = "127.0.0.1:1"
  call tcasm_host_buffer_open(buffer, "wrong", ["a"], [1_int64], hosts=hosts, status=status)
  call check(status == TCASM_INVALID_ARGUMENT, "a rendezvous without a secret")
  hosts%secret = "/absent"
  call tcasm_host_buffer_open(buffer, "wrong", ["a"], [1_int64], hosts=hosts, status=status)
  said = tcasm_last_error()
  call check(status == TCASM_INVALID_ARGUMENT .and. index(said, "/absent") > 0, &
    "a secret that is not there")
  call tcasm_host_buffer_close(buffer, status)
  call check(status == TCASM_INVALID_HANDLE, "a buffer that was not opened")
  call regions()
  print "(a)", "host_buffer: all is as it should be"

contains

  ! Each rank has a part of a section for its region.
  subroutine regions()
    type(tcasm_producer) :: run, other
    type(tcasm_observer) :: observer
    type(tcasm_version) :: version
    real(real64), pointer :: u(:), seen(:)
    integer(int64) :: parts(0:1)
    integer :: rank
    call tcasm_host_buffer_open(buffer, "regions", ["state", "table"], [1048576_int64, 64_int64], &
      ranks=[2, 0])
    call tcasm_host_buffer_info(buffer, address, bytes)
    do rank = 0, 1
      call tcasm_create(run, "placed", 1048576_int64, tcasm_options(rank=rank, ranks=2, &
        local_ranks=2, host_buffer=buffer, section="state"))
      call tcasm_add_field(run, "u", u, [100])
      parts(rank) = transfer(c_loc(u), 0_int64)
      call check(parts(rank) >= address .and. parts(rank) + 800 <= address + bytes, &
        "a region in the part of its rank")
      call tcasm_create(other, "other", 1048576_int64, tcasm_options(host_buffer=buffer, &
        section="state", part=rank), status)
      call check(status < 0, "a part that is taken")
      u = 2.5_real64
      call tcasm_publish(run, 1, 0.0_real64)
      call tcasm_wait_visible(run, 10.0_real64)
      call tcasm_attach(observer, merge("placed.0", "placed.1", rank == 0))
      call tcasm_latest(observer, version)
      call tcasm_get(version, "u", seen)
      call check(all(abs(seen - 2.5_real64) < 1e-9_real64), "the version of a region in a part")
      call tcasm_release(version)
      call tcasm_detach(observer)
      call tcasm_close(run)
    end do
    call check(parts(1) - parts(0) >= 1048576, "the parts of two ranks")
    call tcasm_create(run, "wrong", 1048576_int64, tcasm_options(host_buffer=buffer, &
      section="state", part=2), status)
    call check(status < 0, "a part that is not there")
    call tcasm_create(run, "wrong", 1048576_int64, tcasm_options(host_buffer=buffer, &
      section="absent", part=0), status)
    call check(status == TCASM_NOT_FOUND, "a part of a section that is not there")
    call tcasm_create(run, "wrong", 1048576_int64, tcasm_options(section="state", part=0), status)
    call check(status == TCASM_INVALID_HANDLE, "a part without a buffer")
    call tcasm_create(run, "wrong", 1048576_int64, tcasm_options(host_buffer=buffer), status)
    said = tcasm_last_error()
    call check(status == TCASM_INVALID_ARGUMENT .and. index(said, "name of a section") > 0, &
      "a buffer without a section")
    call tcasm_create(run, "wrong", 1048576_int64, tcasm_options(host_buffer=buffer, &
      section="state"), status)
    said = tcasm_last_error()
    call check(status == TCASM_INVALID_ARGUMENT .and. index(said, "needs a part") > 0, &
      "a section without a part")
    call tcasm_host_buffer_close(buffer)
  end subroutine regions

  subroutine check(holds, what)
    logical, intent(in) :: holds
    character(*), intent(in) :: what
    if (.not. holds) error stop what // ": " // tcasm_last_error()
  end subroutine check

end program host_buffer
