! The smallest producer: a field of eight numbers, published ten times per second for half a minute.
program hello_producer
  use, intrinsic :: iso_c_binding, only: c_int
  use, intrinsic :: iso_fortran_env, only: int64, real64
  use tcasm
  implicit none
  interface
    function usleep(microseconds) bind(c)
      import :: c_int
      integer(c_int), value :: microseconds
      integer(c_int) :: usleep
    end function usleep
  end interface
  type(tcasm_producer) :: producer
  real(real64), pointer :: heat(:)
  integer :: step, ignored

  call tcasm_create(producer, "hello", 1048576_int64)
  call tcasm_add_field(producer, "heat", heat, [8], options=tcasm_field_options(unit="K"))
  do step = 1, 300
    heat = step
    call tcasm_publish(producer, step, step * 0.1_real64)
    ignored = usleep(100000_c_int)
  end do
  call tcasm_close(producer)
end program hello_producer
