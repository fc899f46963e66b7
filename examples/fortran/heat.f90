! Heat in a plate, in a region. The edges are cold, and the middle is heated. Each step is
! published: look at it with `tcasm view heat`.
program heat
  use, intrinsic :: iso_fortran_env, only: int64, real64
  use tcasm
  implicit none
  integer, parameter :: n = 128, steps = 1000
  type(tcasm_producer) :: region
  type(tcasm_buffer) :: buffer
  real(real64), pointer :: now(:, :), next(:, :), old(:, :)
  integer :: i

  call tcasm_create(region, "heat", 1048576_int64)
  call tcasm_add_field(region, "t", now, [n, n])
  call tcasm_buffer_like(region, "t", buffer)
  call tcasm_get(buffer, "t", next)

  do i = 1, steps
    call step(now, next)
    old => now
    now => next
    next => old
    call tcasm_bind(region, "t", buffer) ! the buffer is now the one that the field had
    call tcasm_publish(region, i, 0.1_real64 * i)
  end do
  print "(g0)", now(n / 2 + 11, n / 2 + 1)
  call tcasm_close(region)

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

end program heat
