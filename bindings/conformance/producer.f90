! The producer of the conformance suite in Fortran. README.md says what it does.
program producer
  use, intrinsic :: iso_c_binding
  use, intrinsic :: iso_fortran_env, only: int8, int16, int32, int64, real32, real64, output_unit
  use tcasm
  implicit none
  integer, parameter :: extents(7) = [2, 3, 2, 2, 1, 2, 3]
  type(tcasm_producer) :: region
  type(tcasm_attrs) :: attrs
  character(200) :: line
  integer :: step, status
  integer(int8), pointer :: i8(:, :), u8(:, :)
  integer(int16), pointer :: i16(:, :), u16(:, :)
  integer(int32), pointer :: i32(:, :), u32(:, :), variable(:)
  integer(int64), pointer :: i64(:, :), u64(:, :)
  real(real32), pointer :: f32(:, :), vector(:, :, :)
  real(real64), pointer :: f64(:, :), ghosts(:, :), handed(:), meshed(:, :)
  complex(real32), pointer :: c32(:, :)
  complex(real64), pointer :: c64(:, :)
  ! Arrays of rank 0 to 7: in the order of C, and in that of Fortran.
  type :: ranks
    real(real64), pointer :: r0, r1(:), r2(:, :), r3(:, :, :), r4(:, :, :, :)
    real(real64), pointer :: r5(:, :, :, :, :), r6(:, :, :, :, :, :), r7(:, :, :, :, :, :, :)
  end type ranks
  type(ranks) :: c, f
  ! The arrays that are adopted. The second one can be unmapped.
  real(real64), target :: adopted(30, 40)
  real(real32), pointer :: doomed(:, :)
  integer(c_size_t), parameter :: doomed_bytes = 50 * 60 * 4

  interface
    function map(address, bytes, access, flags, file, offset) bind(c, name="mmap") result(found)
      import
      type(c_ptr), value :: address
      integer(c_size_t), value :: bytes
      integer(c_int), value :: access, flags, file
      integer(c_long), value :: offset
      type(c_ptr) :: found
    end function map

    function unmap(address, bytes) bind(c, name="munmap") result(failed)
      import
      type(c_ptr), value :: address
      integer(c_size_t), value :: bytes
      integer(c_int) :: failed
    end function unmap
  end interface

  call get_command_argument(1, line)
  call begin(trim(line))
  call add_types()
  call add_ranks(c, "c", TCASM_ORDER_C)
  call add_ranks(f, "f", TCASM_ORDER_F)
  call add_special()
  call adopt_arrays()
  call answer("ready")
  step = 0
  do
    read (*, "(a)", iostat=status) line
    if (status /= 0) exit
    select case (line)
    case ("publish")
      call publish()
    case ("unmap")
      if (unmap(c_loc(doomed), doomed_bytes) /= 0) error stop "munmap failed"
      nullify (doomed)
      call answer("unmapped")
    case default
      call tcasm_release_adopted(region, "doomed")
      call answer("dropped")
    end select
  end do
  call tcasm_close(region)

contains

  subroutine publish()
    character(:), allocatable :: name
    integer :: status, lost, i
    step = step + 1
    call fill()
    call tcasm_publish(region, step, step * 0.5_real64, status=status)
    call tcasm_lost_fields(region, lost)
    do i = 1, lost
      call tcasm_lost_fields(region, lost, i, name)
      print "(a)", "lost " // name
    end do
    if (status == TCASM_SKIPPED) then
      call answer("skipped")
    else if (status == TCASM_OK) then
      call answer("published")
    else
      error stop "publish failed"
    end if
  end subroutine publish

  subroutine answer(text)
    character(*), intent(in) :: text
    print "(a)", text, "."
    flush (output_unit)
  end subroutine answer

  subroutine begin(name)
    character(*), intent(in) :: name
    call tcasm_set_attr(attrs, "cells", -42)
    call tcasm_set_attr(attrs, "dt", 0.25_real64)
    call tcasm_set_attr(attrs, "code", "conformance " // char(195) // char(169))
    call tcasm_set_attr(attrs, "box", [-3.0_real64, 1.0_real64, 2.5_real64])
    call tcasm_create(region, name, 16777216_int64, tcasm_options(versions=4, attrs=attrs))
  end subroutine begin

  ! In the order of C the dimensions are reversed here.
  subroutine add_types()
    type(tcasm_field_options) :: rows
    rows%order = TCASM_ORDER_C
    call tcasm_add_field(region, "i8", i8, [4, 3], options=rows)
    call tcasm_add_field(region, "i16", i16, [3, 4])
    call tcasm_add_field(region, "i32", i32, [4, 3], options=rows)
    call tcasm_add_field(region, "i64", i64, [3, 4])
    call tcasm_add_field(region, "u8", u8, [4, 3], &
      options=tcasm_field_options(dtype=TCASM_U8, order=TCASM_ORDER_C))
    call tcasm_add_field(region, "u16", u16, [3, 4], options=tcasm_field_options(dtype=TCASM_U16))
    call tcasm_add_field(region, "u32", u32, [4, 3], &
      options=tcasm_field_options(dtype=TCASM_U32, order=TCASM_ORDER_C))
    call tcasm_add_field(region, "u64", u64, [3, 4], options=tcasm_field_options(dtype=TCASM_U64))
    call tcasm_add_field(region, "f32", f32, [4, 3], options=rows)
    call tcasm_add_field(region, "f64", f64, [3, 4], lower=[0, -1])
    call tcasm_add_field(region, "c32", c32, [4, 3], options=rows)
    call tcasm_add_field(region, "c64", c64, [3, 4])
  end subroutine add_types

  subroutine add_ranks(to, prefix, order)
    type(ranks), intent(inout) :: to
    character(*), intent(in) :: prefix
    integer, intent(in) :: order
    type(tcasm_field_options) :: options
    options%order = order
    call tcasm_add_field(region, prefix // "0", to%r0, options=options)
    call tcasm_add_field(region, prefix // "1", to%r1, own(1, order), options=options)
    call tcasm_add_field(region, prefix // "2", to%r2, own(2, order), options=options)
    call tcasm_add_field(region, prefix // "3", to%r3, own(3, order), options=options)
    call tcasm_add_field(region, prefix // "4", to%r4, own(4, order), options=options)
    call tcasm_add_field(region, prefix // "5", to%r5, own(5, order), options=options)
    call tcasm_add_field(region, prefix // "6", to%r6, own(6, order), options=options)
    call tcasm_add_field(region, prefix // "7", to%r7, own(7, order), options=options)
  end subroutine add_ranks

  ! Returns the extents of an array of Fortran.
  function own(rank, order) result(shape)
    integer, intent(in) :: rank, order
    integer :: shape(rank)
    shape = extents(:rank)
    if (order == TCASM_ORDER_C) shape = shape(rank:1:-1)
  end function own

  subroutine add_special()
    call tcasm_add_field(region, "ghosts", ghosts, [4, 5], lower=[0, 1], &
      options=tcasm_field_options(centring=TCASM_IN_CELLS, unit="K", ghosts_before=[1, 0], &
      ghosts_after=[2, 1], attrs=attrs))
    call tcasm_add_field(region, "vector", vector, [3, 3, 2], &
      options=tcasm_field_options(vector=.true.))
    call tcasm_add_field(region, "variable", variable, [8], &
      options=tcasm_field_options(order=TCASM_ORDER_C, variable=.true.))
    call tcasm_add_field(region, "handed", handed, [6], &
      options=tcasm_field_options(order=TCASM_ORDER_C, handed_over=.true.))
    call tcasm_add_uniform_mesh(region, "grid", [4, 3, 1], [0.0_real64, 1.0_real64, 0.0_real64], &
      [0.5_real64, 0.25_real64, 1.0_real64])
    call tcasm_add_block(region, "fine", [5, 3, 1], [1.0_real64, 1.0_real64, 0.0_real64], &
      [0.25_real64, 0.5_real64, 1.0_real64], "amr", 1, [2, 2, 1], [0_int64, 0_int64, 0_int64], &
      attrs=attrs)
    call tcasm_add_mesh(region, "axes", TCASM_RECTILINEAR, ["c1", "f1"])
    call tcasm_add_field(region, "meshed", meshed, [4, 3], &
      options=tcasm_field_options(order=TCASM_ORDER_C, mesh="grid", quantity="heat"))
  end subroutine add_special

  ! Adopts two arrays. The one in the order of C has its dimensions reversed.
  subroutine adopt_arrays()
    integer(c_int), parameter :: read_and_write = 3, private_and_anonymous = 34
    integer(c_intptr_t), parameter :: nothing_near = int(z"300000000000", c_intptr_t)
    call tcasm_adopt(region, "adopted", adopted, &
      options=tcasm_field_options(order=TCASM_ORDER_C, unit="Pa"))
    call c_f_pointer(map(transfer(nothing_near, c_null_ptr), doomed_bytes, read_and_write, &
      private_and_anonymous, -1_c_int, 0_c_long), doomed, [50, 60])
    call tcasm_adopt(region, "doomed", doomed)
  end subroutine adopt_arrays

  ! Returns the number of the value for the n-th element in row-major order.
  pure function byte(n, seed) result(b)
    integer, intent(in) :: n, seed
    integer :: b
    b = mod(n * 7 + seed * 13 + step * 101, 251)
  end function byte

  pure function real_of(n, seed) result(x)
    integer, intent(in) :: n, seed
    real(real64) :: x
    x = (byte(n, seed) - 125) * 0.25_real64
  end function real_of

  pure function complex_of(n, seed) result(z)
    integer, intent(in) :: n, seed
    complex(real64) :: z
    z = cmplx(real_of(n, seed), byte(n, seed) * 0.5_real64, real64)
  end function complex_of

  ! Returns an integer all of whose bytes are the same.
  pure function integer_of(n, seed) result(i)
    integer, intent(in) :: n, seed
    integer(int64) :: i
    integer(int8) :: b
    b = transfer(byte(n, seed), b)
    i = transfer([b, b, b, b, b, b, b, b], i)
  end function integer_of

  subroutine fill()
    integer :: i, j, n
    call tcasm_set_len(region, "variable", 2 + step)
    call tcasm_set_block(region, "fine", "amr", 1, [2, 2, 1], [int(step, int64), -2_int64, 0_int64])
    call tcasm_rewrite(region, "handed")
    do i = 1, 3
      do j = 1, 4
        n = 4 * (i - 1) + j - 1
        i8(j, i) = transfer(integer_of(n, 0), 0_int8)
        i16(i, j) = transfer(integer_of(n, 1), 0_int16)
        i32(j, i) = transfer(integer_of(n, 2), 0_int32)
        i64(i, j) = integer_of(n, 3)
        u8(j, i) = transfer(integer_of(n, 4), 0_int8)
        u16(i, j) = transfer(integer_of(n, 5), 0_int16)
        u32(j, i) = transfer(integer_of(n, 6), 0_int32)
        u64(i, j) = integer_of(n, 7)
        f32(j, i) = real(real_of(n, 8), real32)
        f64(i - 1, j - 2) = real_of(n, 9)
        c32(j, i) = cmplx(complex_of(n, 10), kind=real32)
        c64(i, j) = complex_of(n, 11)
        meshed(j, i) = real_of(n, 32)
      end do
    end do
    call fill_ranks()
    do i = 0, 3
      do j = 1, 5
        ghosts(i, j) = real_of(5 * i + j - 1, 28)
      end do
    end do
    do n = 0, 17
      vector(1 + mod(n, 3), 1 + n / 6, 1 + mod(n / 3, 2)) = real(real_of(n, 29), real32)
    end do
    do n = 0, 7
      variable(n + 1) = transfer(integer_of(n, 30), 0_int32)
    end do
    do n = 0, 5
      handed(n + 1) = real_of(n, 31)
    end do
    do n = 0, size(adopted) - 1
      adopted(1 + mod(n, 30), 1 + n / 30) = real_of(n, 33)
    end do
    if (.not. associated(doomed)) return
    do n = 0, size(doomed) - 1
      doomed(1 + n / 60, 1 + mod(n, 60)) = real(real_of(n, 34), real32)
    end do
  end subroutine fill

  subroutine fill_ranks()
    integer :: n, rank, rest, axis, i(7)
    do rank = 0, 7
      do n = 0, product(extents(:rank)) - 1
        rest = n
        do axis = rank, 1, -1
          i(axis) = 1 + mod(rest, extents(axis))
          rest = rest / extents(axis)
        end do
        call store(f, rank, i, real_of(n, 20 + rank))
        call store(c, rank, [i(rank:1:-1), i(rank + 1:)], real_of(n, 12 + rank))
      end do
    end do
  end subroutine fill_ranks

  subroutine store(to, rank, i, x)
    type(ranks), intent(in) :: to
    integer, intent(in) :: rank, i(7)
    real(real64), intent(in) :: x
    select case (rank)
    case (0)
      to%r0 = x
    case (1)
      to%r1(i(1)) = x
    case (2)
      to%r2(i(1), i(2)) = x
    case (3)
      to%r3(i(1), i(2), i(3)) = x
    case (4)
      to%r4(i(1), i(2), i(3), i(4)) = x
    case (5)
      to%r5(i(1), i(2), i(3), i(4), i(5)) = x
    case (6)
      to%r6(i(1), i(2), i(3), i(4), i(5), i(6)) = x
    case (7)
      to%r7(i(1), i(2), i(3), i(4), i(5), i(6), i(7)) = x
    end select
  end subroutine store

end program producer
