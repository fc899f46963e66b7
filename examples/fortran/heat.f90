! Heat in a plate, published after each step. The difference to heat_plain.f90 is what a simulation
! must change. Look at it with `tcasm view heat`.
program heat
  use, intrinsic :: iso_fortran_env, only: int64, real64
  use tcasm
  implicit none
  integer, parameter :: n = 128
  type(tcasm_producer) :: producer
  real(real64), pointer :: t(:, :)
  real(real64), allocatable :: next(:, :)
  integer :: i, j, step

  call tcasm_create(producer, "heat", 1048576_int64)
  call tcasm_add_field(producer, "t", t, [n, n], options=tcasm_field_options(unit="K"))
  allocate (next(n, n))
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
    call tcasm_publish(producer, step, step * 0.1_real64)
  end do
  print "(a, f0.6)", "mean ", sum(t) / n**2
  call tcasm_close(producer)
end program heat
