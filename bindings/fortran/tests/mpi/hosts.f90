!> Host buffers of real ranks, in Fortran. Each two ranks are a host here: they have a folder of
!! their own for sockets. Arguments: the name of the job, and a folder.
module operations
  use, intrinsic :: iso_c_binding
  use mpi_f08
  implicit none

  type(MPI_Comm) :: leaders
  integer :: hosts

contains

  !> Gives bytes to all hosts.
  function all_gather(context, mine, all, bytes, timeout) result(status) bind(c)
    type(c_ptr), value :: context, mine, all
    integer(c_size_t), value :: bytes
    real(c_double), value :: timeout
    integer(c_int) :: status
    integer(c_int8_t), pointer :: from(:), to(:)
    integer :: code
    call c_f_pointer(mine, from, [bytes])
    call c_f_pointer(all, to, [bytes * hosts])
    call MPI_Allgather(from, int(bytes), MPI_BYTE, to, int(bytes), MPI_BYTE, leaders, code)
    status = code
    if (c_associated(context) .or. timeout < 0) status = -1
  end function all_gather

end module operations

program hosts_of_ranks
  use, intrinsic :: iso_c_binding
  use, intrinsic :: iso_fortran_env, only: int64, real64
  use mpi_f08
  use tcasm
  use operations
  implicit none

  integer, parameter :: processes = 2
  type(tcasm_host_buffer) :: buffer
  type(tcasm_hosts) :: agreement
  type(MPI_Comm) :: host
  type(c_ptr) :: data
  real(real64), pointer :: table(:)
  character(200) :: job, folder
  integer(int64) :: address, least, most
  integer :: rank, ranks, status
  character(:), allocatable :: said

  interface
    function setenv(name, value, overwrite) result(code) bind(c)
      import :: c_char, c_int
      character(kind=c_char), intent(in) :: name(*), value(*)
      integer(c_int), value :: overwrite
      integer(c_int) :: code
    end function setenv
  end interface

  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks)
  call get_command_argument(1, job)
  call get_command_argument(2, folder)
  hosts = ranks / processes
  call enter()

  agreement%all_gather = c_funloc(all_gather)
  agreement%hosts = hosts
  agreement%processes = processes
  agreement%leads = modulo(rank, processes) == 0
  call tcasm_host_buffer_open(buffer, job, ["table"], [8000_int64], hosts=agreement)
  call tcasm_host_buffer_info(buffer, address)
  call MPI_Allreduce(address, least, 1, MPI_INTEGER8, MPI_MIN, MPI_COMM_WORLD)
  call MPI_Allreduce(address, most, 1, MPI_INTEGER8, MPI_MAX, MPI_COMM_WORLD)
  call check(least == most .and. address /= 0, "the address is the same in all ranks")
  call tcasm_section(buffer, "table", data)
  call c_f_pointer(data, table, [1000])
  if (agreement%leads) then
    table = 1.5_real64
    call tcasm_seal(buffer, "table")
  end if
  call tcasm_wait_sealed(buffer, "table", 30.0_real64)
  call check(abs(sum(table) - 1500.0_real64) < 1e-9_real64, "the table of the host")
  call tcasm_host_buffer_close(buffer)
  ! A rank that still has this buffer would give it to one that comes for the next.
  call MPI_Barrier(MPI_COMM_WORLD)

  ! The last host wants another table.
  call tcasm_host_buffer_open(buffer, job, ["table"], &
    [merge(4000_int64, 8000_int64, rank >= ranks - processes)], hosts=agreement, status=status)
  said = tcasm_last_error()
  call check(status /= TCASM_OK .and. index(said, "differ") > 0, "another table")
  call MPI_Barrier(MPI_COMM_WORLD)
  if (rank == 0) print "(a)", "hosts: all ranks have done what they should, in Fortran"
  call MPI_Finalize()

contains

  !> Chooses the folder of this host, and finds the ranks that lead.
  subroutine enter()
    character(10) :: number
    integer :: code, color
    write (number, "(i0)") rank / processes
    call execute_command_line("mkdir -m 700 -p " // trim(folder) // "/" // number)
    code = setenv("TCASM_RUNTIME_DIR" // c_null_char, &
      trim(folder) // "/" // trim(number) // c_null_char, 1_c_int)
    call check(code == 0, "the folder of the host")
    call MPI_Comm_split(MPI_COMM_WORLD, rank / processes, rank, host)
    color = merge(0, MPI_UNDEFINED, modulo(rank, processes) == 0)
    call MPI_Comm_split(MPI_COMM_WORLD, color, rank, leaders)
  end subroutine enter

  subroutine check(holds, what)
    logical, intent(in) :: holds
    character(*), intent(in) :: what
    if (.not. holds) error stop what // ": " // tcasm_last_error()
  end subroutine check

end program hosts_of_ranks
