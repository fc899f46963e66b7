! Heat in a plate, in ordinary memory. Compare with heat.f90.
program heat_plain
  use, intrinsic :: iso_fortran_env, only: real64
  implicit none
  integer, parameter :: n = 128
  real(real64), allocatable :: t(:, :), next(:, :)
  integer :: i, j, step

  allocate (t(n, n), next(n, n))
  t = 0
  next = 0
  t(:, 1) = 100 ! one edge is hot
  next(:, 1) = 100
  do step = 1, 200
    do j = 2, n - 1
      do i = 2, n - 1
        next(i, j) = t(i, j) + 0.2_real64 * (t(i, j - 1) + t(i, j + 1) + t(i - 1, j) &
          + t(i + 1, j) - 4 * t(i, j))
      end do
    end do
    t = next
  end do
  print "(a, f0.6)", "mean ", sum(t) / n**2
end program heat_plain
