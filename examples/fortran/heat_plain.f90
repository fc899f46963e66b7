! Heat in a plate, in ordinary memory. The edges are cold, and the middle is heated. Compare with
! heat.f90.
program heat_plain
  use, intrinsic :: iso_fortran_env, only: real64
  implicit none
  integer, parameter :: n = 128, steps = 1000
  real(real64), pointer :: now(:, :), next(:, :), old(:, :)
  integer :: i

  allocate (now(n, n), next(n, n))
  now = 0
  next = 0

  do i = 1, steps
    call step(now, next)
    old => now
    now => next
    next => old
  end do
  print "(g0)", now(n / 2 + 11, n / 2 + 1)

contains

  ! Computes the next temperatures from those of now.
  subroutine step(now, next)
    real(real64), intent(in) :: now(n, n)
    real(real64), intent(inout) :: next(n, n)
    integer :: i, j
    do j = 2, n - 1
      do i = 2, n - 1
        next(i, j) = now(i, j) + 0.2_real64 * (now(i, j - 1) + now(i, j + 1) + now(i - 1, j) &
          + now(i + 1, j) - 4 * now(i, j))
      end do
    end do
    next(n / 2 + 1, n / 2 + 1) = 100
  end subroutine step

end program heat_plain
