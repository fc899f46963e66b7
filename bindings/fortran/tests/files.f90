! A run that continues from a checkpoint in the folder of the first argument. The second argument is
! "new" if there is none yet.
program files
  use, intrinsic :: iso_fortran_env, only: int64, output_unit, real64
  use tcasm
  use tcasm_files
  implicit none
  type(tcasm_producer) :: run
  type(tcasm_version) :: version
  type(tcasm_start) :: start
  real(real64), pointer :: u(:, :)
  character(300) :: folder, how
  integer :: status
  call get_command_argument(1, folder)
  call get_command_argument(2, how)
  call tcasm_restore_or_begin(run, "fortran", 1048576_int64, [folder], start)
  if (how == "new") then
    call check(start%restored == 0, "a first start is new")
    call tcasm_add_field(run, "u", u, [3, 4])
    u(3, 4) = 34
    call tcasm_publish(run, 5, 0.5_real64)
    call tcasm_wait_visible(run, 10.0_real64)
    print "(a)", "published"
    flush (output_unit)
    read *
  else
    call check(start%restored == 1 .and. start%step == 5, "a later start is restored")
    call tcasm_get(run, "u", u)
    call check(nint(u(3, 4)) == 34, "the values of a restored field")
    call tcasm_open_checkpoint(version, trim(folder))
    call check(tcasm_step(version) == 5, "the step of a checkpoint")
    call tcasm_get(version, "u", u)
    call check(nint(u(3, 4)) == 34, "the values of a checkpoint")
    call tcasm_open_checkpoint(version, "/no/such/folder", status)
    call check(status == TCASM_OTHER_ERROR, "no such folder")
    call check(tcasm_step(version) == 5, "the version after an error")
    call tcasm_release(version)
  end if
  call tcasm_close(run)

contains

  subroutine check(holds, what)
    logical, intent(in) :: holds
    character(*), intent(in) :: what
    if (.not. holds) then
      print "(a)", "not as it should be: " // what // "; last error: " // tcasm_last_error()
      error stop 1
    end if
  end subroutine check

end program files
