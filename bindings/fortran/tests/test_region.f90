! The region of a test with its observer, and checks.
module test_region
  use, intrinsic :: iso_fortran_env, only: real64
  use tcasm
  implicit none
  private
  public :: check, leave, publish_visible

  type(tcasm_producer), public :: run
  type(tcasm_observer), public :: observer
  type(tcasm_version), public :: version

contains

  ! Publishes a step, and waits until observers see it.
  subroutine publish_visible(step)
    integer, intent(in) :: step
    call tcasm_publish(run, step, 0.0_real64)
    call tcasm_wait_visible(run, 10.0_real64)
  end subroutine publish_visible

  ! Ends the test of a region.
  subroutine leave()
    call tcasm_release(version)
    call tcasm_detach(observer)
    call tcasm_close(run)
  end subroutine leave

  ! Ends the program if something is not as it should be.
  subroutine check(holds, what)
    logical, intent(in) :: holds
    character(*), intent(in) :: what
    if (.not. holds) then
      print "(a)", "not as it should be: " // what // "; last error: " // tcasm_last_error()
      error stop 1
    end if
  end subroutine check

end module test_region
