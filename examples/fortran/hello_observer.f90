! The smallest observer: attaches to `hello` and prints the field of each version until the producer
! ends.
program hello_observer
  use, intrinsic :: iso_fortran_env, only: output_unit, real64
  use tcasm
  implicit none
  type(tcasm_observer) :: observer
  type(tcasm_version) :: version
  real(real64), pointer :: heat(:)

  call tcasm_attach(observer, "hello", timeout=10.0_real64)
  do while (tcasm_next_version(observer, version))
    call tcasm_get(version, "heat", heat)
    print "(a, i0, a, *(1x, f0.1))", "step ", tcasm_step(version), ":", heat
    flush (output_unit)
  end do
  call tcasm_detach(observer)
end program hello_observer
