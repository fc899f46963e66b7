! The observer of the conformance suite in Fortran. README.md says what it does.
program observer
  use, intrinsic :: iso_fortran_env, only: int8, int16, int32, int64, real32, real64, output_unit
  use tcasm
  implicit none
  integer, parameter :: wide = selected_int_kind(30)
  type(tcasm_observer) :: run
  type(tcasm_version) :: held(8)
  character(200) :: line
  integer :: count, status, ended, i

  call get_command_argument(1, line)
  call tcasm_attach(run, trim(line), 10.0_real64)
  print "(a)", "ready", "."
  flush (output_unit)
  count = 0
  do
    read (*, "(a)", iostat=ended) line
    if (ended /= 0) exit
    status = tcasm_stream_status(run)
    if (line == "next") call tcasm_next(run, held(count + 1), 5.0_real64, status)
    if (line == "every") call tcasm_every_version(run, status=status)
    if (line == "latest") call tcasm_latest(run, held(count + 1), status)
    if ((line == "next" .or. line == "latest") .and. status == TCASM_OK) then
      count = count + 1
      call print_version(held(count))
    else if (line == "release") then
      do i = 1, count
        call tcasm_release(held(i))
      end do
      count = 0
    end if
    if (line == "again") call print_version(held(1))
    line = tcasm_status_name(status)
    print "(a)", trim(line(len("TCASM_") + 1:)), "."
    flush (output_unit)
  end do
  call tcasm_detach(run)

contains

  ! Returns a number with two decimals.
  function real_text(x) result(text)
    real(real64), intent(in) :: x
    character(:), allocatable :: text
    character(40) :: room
    write (room, "(f30.2)") x
    text = trim(adjustl(room))
  end function real_text

  function integer_text(i) result(text)
    integer(wide), intent(in) :: i
    character(:), allocatable :: text
    character(40) :: room
    write (room, "(i0)") i
    text = trim(room)
  end function integer_text

  ! Returns numbers with commas between them.
  function list(numbers) result(text)
    integer(int64), intent(in) :: numbers(:)
    character(:), allocatable :: text
    integer :: i
    text = ""
    do i = 1, size(numbers)
      if (i > 1) text = text // ","
      text = text // integer_text(int(numbers(i), wide))
    end do
  end function list

  subroutine print_attrs(attrs)
    type(tcasm_attrs), intent(inout) :: attrs
    character(:), allocatable :: name, text
    integer(int64) :: number
    real(real64) :: x
    real(real64), allocatable :: xs(:)
    integer :: i, j, kind
    do i = 1, tcasm_attr_count(attrs)
      call tcasm_attr_at(attrs, i, name, kind)
      select case (kind)
      case (TCASM_ATTR_INT)
        call tcasm_get_attr(attrs, name, number)
        text = "int " // integer_text(int(number, wide))
      case (TCASM_ATTR_FLOAT)
        call tcasm_get_attr(attrs, name, x)
        text = "float " // real_text(x)
      case (TCASM_ATTR_TEXT)
        call tcasm_get_attr(attrs, name, text)
        text = "text " // text
      case default
        call tcasm_get_attr(attrs, name, xs)
        text = "floats"
        do j = 1, size(xs)
          text = text // " " // real_text(xs(j))
        end do
      end select
      print "(a)", "attr " // name // " " // text
    end do
    call tcasm_free(attrs)
  end subroutine print_attrs

  subroutine print_version(version)
    type(tcasm_version), intent(in) :: version
    type(tcasm_stamp) :: stamp
    type(tcasm_attrs) :: attrs
    character(:), allocatable :: name
    integer :: i
    call tcasm_version_stamp(version, stamp)
    print "(a, i0, a, i0, a)", "version ", stamp%version, " step ", stamp%step, " time " // &
      real_text(stamp%time)
    call tcasm_attrs_of(version, attrs)
    call print_attrs(attrs)
    do i = 1, tcasm_mesh_count(version)
      call print_mesh(version, i)
    end do
    do i = 1, tcasm_field_count(version)
      call tcasm_field_name(version, i, name)
      call print_field(version, name)
    end do
  end subroutine print_version

  subroutine print_mesh(version, index)
    type(tcasm_version), intent(in) :: version
    integer, intent(in) :: index
    character(12), parameter :: kinds(0:5) = [character(12) :: "uniform", "rectilinear", &
      "curvilinear", "particles", "unstructured", "mixed"]
    type(tcasm_mesh) :: mesh
    type(tcasm_attrs) :: attrs
    character(:), allocatable :: text
    integer :: i
    call tcasm_mesh_at(version, index, mesh)
    text = "mesh " // mesh%name // " " // trim(kinds(mesh%kind)) // " geometry="
    do i = 1, size(mesh%geometry)
      if (i > 1) text = text // ","
      text = text // trim(mesh%geometry(i))
    end do
    text = text // " cells=" // integer_text(int(mesh%cell_type, wide)) // " points=" // &
      list(mesh%points) // " origin=" // reals(mesh%origin) // " spacing=" // reals(mesh%spacing)
    print "(a)", text // " block=" // mesh%of // " level=" // &
      integer_text(int(mesh%level, wide)) // " refinement=" // &
      list(int(mesh%refinement, int64)) // " offset=" // list(mesh%offset)
    call tcasm_mesh_attrs(version, mesh%name, attrs)
    call print_attrs(attrs)
  end subroutine print_mesh

  ! Returns three numbers with two decimals.
  function reals(x) result(text)
    real(real64), intent(in) :: x(3)
    character(:), allocatable :: text
    text = real_text(x(1)) // "," // real_text(x(2)) // "," // real_text(x(3))
  end function reals

  subroutine print_field(version, name)
    type(tcasm_version), intent(in) :: version
    character(*), intent(in) :: name
    character(3), parameter :: dtypes(12) = &
      ["i8 ", "i16", "i32", "i64", "u8 ", "u16", "u32", "u64", "f32", "f64", "c32", "c64"]
    character(6), parameter :: places(0:2) = ["points", "cells ", "none  "]
    character(:), allocatable :: unit, mesh, quantity, ghosts
    type(tcasm_array) :: a
    type(tcasm_attrs) :: attrs
    integer :: axis, status
    character(40) :: text
    call tcasm_array_of(version, name, a, status)
    if (status == TCASM_LOST) then
      text = tcasm_status_name(status)
      print "(a)", "field " // name // " " // trim(text(len("TCASM_") + 1:))
      return
    end if
    if (status /= TCASM_OK) error stop "a field cannot be mapped"
    call tcasm_field_text(version, name, TCASM_FIELD_UNIT, unit)
    call tcasm_field_text(version, name, TCASM_FIELD_MESH, mesh)
    call tcasm_field_text(version, name, TCASM_FIELD_QUANTITY, quantity)
    ghosts = ""
    do axis = 1, a%rank - merge(1, 0, a%components > 1)
      if (axis > 1) ghosts = ghosts // ","
      ghosts = ghosts // list(a%ghosts(1:1, axis)) // ":" // list(a%ghosts(2:2, axis))
    end do
    print "(a)", "field " // name // " " // trim(dtypes(a%dtype)) // " shape=" // &
      list(a%shape(:a%rank)) // " order=" // merge("F", "C", a%order == TCASM_ORDER_F) // &
      " ghosts=" // ghosts // " components=" // list([a%components]) // &
      " place=" // trim(places(a%centring)) // " capacity=" // list([a%capacity]) // &
      " unit=" // unit // " mesh=" // mesh // " quantity=" // quantity
    call tcasm_attrs_of(version, attrs, name)
    call print_attrs(attrs)
    call print_values(version, name, a)
  end subroutine print_field

  ! Prints the values in row-major order of the index that other languages use.
  subroutine print_values(version, name, a)
    type(tcasm_version), intent(in) :: version
    character(*), intent(in) :: name
    type(tcasm_array), intent(in) :: a
    character(:), allocatable :: text
    integer :: n, rest, axis, i(7), points, r
    r = a%rank
    points = r - merge(1, 0, a%components > 1)
    text = "values"
    do n = 0, int(product(a%shape(:r))) - 1
      rest = n
      i = 1
      do axis = r, 1, -1
        i(axis) = 1 + mod(rest, int(a%shape(axis)))
        rest = rest / int(a%shape(axis))
      end do
      ! Dimensions are reversed in the order of C, and components come first.
      if (a%order == TCASM_ORDER_C) then
        i(:r) = i(r:1:-1)
      else
        i(:r) = [i(points + 1:r), i(:points)]
      end if
      text = text // " " // element(version, name, a%dtype, r, i)
    end do
    print "(a)", text
  end subroutine print_values

  function element(version, name, dtype, rank, i) result(text)
    type(tcasm_version), intent(in) :: version
    character(*), intent(in) :: name
    integer, intent(in) :: dtype, rank, i(7)
    character(:), allocatable :: text
    real(real32), pointer :: f2(:, :), f3(:, :, :)
    complex(real32), pointer :: c32(:, :)
    complex(real64), pointer :: c64(:, :)
    complex(real64) :: z
    select case (dtype)
    case (TCASM_F64)
      text = real_text(real_element(version, name, rank, i))
    case (TCASM_F32)
      if (rank == 3) then
        call tcasm_get(version, name, f3)
        text = real_text(real(f3(i(1), i(2), i(3)), real64))
      else
        call tcasm_get(version, name, f2)
        text = real_text(real(f2(i(1), i(2)), real64))
      end if
    case (TCASM_C32, TCASM_C64)
      if (dtype == TCASM_C32) then
        call tcasm_get(version, name, c32)
        z = c32(i(1), i(2))
      else
        call tcasm_get(version, name, c64)
        z = c64(i(1), i(2))
      end if
      text = real_text(real(z)) // ":" // real_text(aimag(z))
    case default
      text = integer_text(integer_element(version, name, dtype, rank, i))
    end select
  end function element

  ! Returns an integer of any type. Fortran has no unsigned ones: they are made from the signed.
  function integer_element(version, name, dtype, rank, i) result(value)
    type(tcasm_version), intent(in) :: version
    character(*), intent(in) :: name
    integer, intent(in) :: dtype, rank, i(7)
    integer(wide) :: value
    integer(int8), pointer :: i8(:, :)
    integer(int16), pointer :: i16(:, :)
    integer(int32), pointer :: i32(:, :), list(:)
    integer(int64), pointer :: i64(:, :)
    integer :: bits
    select case (dtype)
    case (TCASM_I8, TCASM_U8)
      call tcasm_get(version, name, i8)
      value = i8(i(1), i(2))
      bits = 8
    case (TCASM_I16, TCASM_U16)
      call tcasm_get(version, name, i16)
      value = i16(i(1), i(2))
      bits = 16
    case (TCASM_I32, TCASM_U32)
      if (rank == 1) then
        call tcasm_get(version, name, list)
        value = list(i(1))
      else
        call tcasm_get(version, name, i32)
        value = i32(i(1), i(2))
      end if
      bits = 32
    case default
      call tcasm_get(version, name, i64)
      value = i64(i(1), i(2))
      bits = 64
    end select
    if (dtype >= TCASM_U8 .and. value < 0) value = value + ishft(1_wide, bits)
  end function integer_element

  function real_element(version, name, rank, i) result(x)
    type(tcasm_version), intent(in) :: version
    character(*), intent(in) :: name
    integer, intent(in) :: rank, i(7)
    real(real64) :: x
    real(real64), pointer :: r0, r1(:), r2(:, :), r3(:, :, :), r4(:, :, :, :)
    real(real64), pointer :: r5(:, :, :, :, :), r6(:, :, :, :, :, :), r7(:, :, :, :, :, :, :)
    x = 0
    select case (rank)
    case (0)
      call tcasm_get(version, name, r0)
      x = r0
    case (1)
      call tcasm_get(version, name, r1)
      x = r1(i(1))
    case (2)
      call tcasm_get(version, name, r2, lower=[0, -5])
      x = r2(i(1) - 1, i(2) - 6)
    case (3)
      call tcasm_get(version, name, r3)
      x = r3(i(1), i(2), i(3))
    case (4)
      call tcasm_get(version, name, r4)
      x = r4(i(1), i(2), i(3), i(4))
    case (5)
      call tcasm_get(version, name, r5)
      x = r5(i(1), i(2), i(3), i(4), i(5))
    case (6)
      call tcasm_get(version, name, r6)
      x = r6(i(1), i(2), i(3), i(4), i(5), i(6))
    case (7)
      call tcasm_get(version, name, r7)
      x = r7(i(1), i(2), i(3), i(4), i(5), i(6), i(7))
    end select
  end function real_element

end program observer
