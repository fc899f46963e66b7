!> Parts of fields of a version, and structures.
module tcasm_parts
  use, intrinsic :: iso_c_binding
  use, intrinsic :: iso_fortran_env, only: int64
  use tcasm_constants
  use tcasm_c
  use tcasm_errors
  use tcasm_sources
  use tcasm_producers
  use tcasm_pinned_versions
  implicit none
  private
  public :: mapped_part, copied, tcasm_add_structures, tcasm_get_structures

contains

  !> Maps the part of a field that begins at `first` and has `count` indices along each dimension
  !! but that of components. `n` are the extents of the whole field in the order of Fortran, `from`
  !! and `to` those indices of the part, and `data` is where the whole field would begin: only the
  !! part is mapped.
  function mapped_part(version, name, dtype, unsigned, first, count, n, from, to, data) result(code)
    type(tcasm_version), intent(in) :: version
    character(*), intent(in) :: name
    integer, intent(in) :: dtype, unsigned
    class(*), intent(in) :: first(:), count(:)
    integer(int64), intent(out) :: n(:), from(:), to(:)
    type(c_ptr), intent(out) :: data
    integer(c_int) :: code
    type(tcasm_array) :: whole, part
    integer(int64), allocatable :: begin(:), extents(:)
    integer(c_size_t), allocatable :: own_begin(:), own_extents(:)
    integer :: vector, points
    data = c_null_ptr
    from = 1
    to = 0
    n = 0
    whole%size = c_sizeof(whole)
    part%size = c_sizeof(part)
    code = c_layout_of(version%handle, c_text(name), whole)
    if (code == TCASM_OK) code = suits(whole, "field " // trim(name), "the pointer", dtype, &
      unsigned, size(n))
    if (code /= TCASM_OK) return
    vector = merge(1, 0, whole%components > 1)
    points = whole%rank - vector
    n = extents_of(whole)
    allocate (begin(points), extents(points))
    code = numbers(first, "the first indices of field " // trim(name), begin)
    if (code == TCASM_OK) code = numbers(count, "the numbers of indices of field " // trim(name), &
      extents)
    if (code == TCASM_OK .and. (any(begin < 1) .or. any(extents < 0))) code = refused( &
      "the part of field " // trim(name) // " begins before 1, or has negative extents")
    if (code /= TCASM_OK) return
    allocate (own_begin, source=int(begin - 1, c_size_t))
    allocate (own_extents, source=int(extents, c_size_t))
    if (whole%order == TCASM_ORDER_C) then
      own_begin = own_begin(points:1:-1)
      own_extents = own_extents(points:1:-1)
    end if
    code = c_part_of(version%handle, c_text(name), int(points, c_size_t), own_begin, own_extents, &
      part)
    if (code /= TCASM_OK) return
    if (vector == 1) to(1) = n(1)
    from(1 + vector:) = begin
    to(1 + vector:) = begin + extents - 1
    data = before(part%data, sum(own_begin * part%strides(:points)))
  end function mapped_part

  !> Returns the address that lies `bytes` before another one.
  function before(data, bytes) result(address)
    type(c_ptr), intent(in) :: data
    integer(c_size_t), intent(in) :: bytes
    type(c_ptr) :: address
    address = transfer(transfer(data, 0_c_intptr_t) - bytes, c_null_ptr)
  end function before

  !> Copies the values of a field to `data`, where there is an array with these extents, which are
  !! in the order of Fortran.
  function copied(version, name, dtype, unsigned, extents, data) result(code)
    type(tcasm_version), intent(in) :: version
    character(*), intent(in) :: name
    integer, intent(in) :: dtype, unsigned
    integer(int64), intent(in) :: extents(:)
    type(c_ptr), intent(in) :: data
    integer(c_int) :: code
    type(tcasm_array) :: array
    integer(c_int8_t), pointer :: room(:)
    character(150) :: own, given
    array%size = c_sizeof(array)
    code = c_layout_of(version%handle, c_text(name), array)
    if (code == TCASM_OK) code = suits(array, "field " // trim(name), "the array", dtype, &
      unsigned, size(extents))
    if (code /= TCASM_OK) return
    if (any(extents_of(array) /= extents)) then
      write (own, "(*(1x, i0))") extents_of(array)
      write (given, "(*(1x, i0))") extents
      code = refused("field " // trim(name) // " has the extents" // trim(own) // &
        ", and the array has" // trim(given))
    else if (array%bytes > 0) then
      call c_f_pointer(data, room, [array%bytes])
      code = c_read(version%handle, c_text(name), 0_c_int64_t, room, array%bytes)
    end if
  end function copied

  !> Adds `count` structures of a type that has bind(c): `bytes` is its c_sizeof, and `alignment` the
  !! size of its largest number. `call c_f_pointer(data, array, [count])` makes an array of them.
  subroutine tcasm_add_structures(producer, name, count, bytes, alignment, type_name, data, status)
    type(tcasm_producer), intent(in) :: producer
    character(*), intent(in) :: name, type_name
    integer, intent(in) :: count, alignment
    integer(c_size_t), intent(in) :: bytes
    type(c_ptr), intent(out) :: data
    integer, intent(out), optional :: status
    data = c_null_ptr
    call report(c_add_structures(producer%handle, c_text(name), int(count, c_size_t), bytes, &
      int(alignment, c_size_t), c_text(type_name), data), status)
  end subroutine tcasm_add_structures

  !> Gets structures of a version or a producer: their number, and the address of the first. Fails if
  !! they have not `bytes` bytes each.
  subroutine tcasm_get_structures(source, name, bytes, data, count, status)
    class(tcasm_source), intent(in) :: source
    character(*), intent(in) :: name
    integer(c_size_t), intent(in) :: bytes
    type(c_ptr), intent(out) :: data
    integer, intent(out) :: count
    integer, intent(out), optional :: status
    type(tcasm_array) :: array
    integer(c_int) :: code
    data = c_null_ptr
    count = 0
    array%size = c_sizeof(array)
    code = source%layout(name, array)
    if (code == TCASM_OK .and. (array%alignment == 0 .or. array%shape(2) /= bytes)) code = refused( &
      "field " // trim(name) // " has no structures of this size")
    if (code == TCASM_OK) then
      data = array%data
      count = int(array%shape(1))
    end if
    call report(code, status)
  end subroutine tcasm_get_structures

end module tcasm_parts
