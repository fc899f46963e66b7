!> Arrays of all ranks of a group: global ones, of which the ranks have blocks, and the fields of
!! all ranks one behind the other.
module tcasm_group_arrays
  use, intrinsic :: iso_c_binding
  use, intrinsic :: iso_fortran_env, only: int64
  use tcasm_constants
  use tcasm_c
  use tcasm_errors
  use tcasm_sources
  use tcasm_groups
  implicit none
  private
  public :: tcasm_global_of, tcasm_concatenated_of, tcasm_part, array_part, array_copy

  !> A part of an array of all ranks, as the library sees it.
  type :: tcasm_part
    integer(c_size_t), allocatable :: begin(:), extents(:)
    integer :: order = TCASM_ORDER_F
    !> The array is that of tcasm_concatenated_of, and not that of tcasm_global_of.
    logical :: joined = .false.
  end type tcasm_part

contains

  !> Describes the global array `name`, of which the ranks have blocks, as other languages see it.
  subroutine tcasm_global_of(version, name, array, status)
    type(tcasm_group_version), intent(in) :: version
    character(*), intent(in) :: name
    type(tcasm_array), intent(out) :: array
    integer, intent(out), optional :: status
    array%size = c_sizeof(array)
    call report(c_global_of(version%handle, c_text(name), array), status)
  end subroutine tcasm_global_of

  !> Describes the fields `name` of all ranks as one array, as other languages see it: one behind
  !! the other along their first dimension there, in the order of ranks.
  subroutine tcasm_concatenated_of(version, name, array, status)
    type(tcasm_group_version), intent(in) :: version
    character(*), intent(in) :: name
    type(tcasm_array), intent(out) :: array
    integer, intent(out), optional :: status
    array%size = c_sizeof(array)
    call report(c_concatenated_of(version%handle, c_text(name), array), status)
  end subroutine tcasm_concatenated_of

  !> Finds the part of an array that tcasm_global_read, or with `joined` tcasm_concatenated_read, is
  !! asked for: its extents `n`, in the order of Fortran.
  function array_part(version, name, joined, dtype, unsigned, first, count, n, part) result(code)
    type(tcasm_group_version), intent(in) :: version
    character(*), intent(in) :: name
    logical, intent(in) :: joined
    integer, intent(in) :: dtype, unsigned
    class(*), intent(in), optional :: first(:), count(:)
    integer(int64), intent(out) :: n(:)
    type(tcasm_part), intent(out) :: part
    integer(c_int) :: code
    type(tcasm_array) :: array
    n = 0
    array%size = c_sizeof(array)
    part%joined = joined
    if (joined) then
      code = c_concatenated_of(version%handle, c_text(name), array)
    else
      code = c_global_of(version%handle, c_text(name), array)
    end if
    if (code == TCASM_OK) code = suits(array, "array " // trim(name), "the result", dtype, &
      unsigned, size(n))
    if (code == TCASM_OK) code = part_of(array, name, first, count, n, part)
  end function array_part

  !> Converts the indices of a part of an array to those of the library. Without `first` it begins
  !! at the first index, and without `count` it goes to the last one.
  function part_of(array, name, first, count, n, part) result(code)
    type(tcasm_array), intent(in) :: array
    character(*), intent(in) :: name
    class(*), intent(in), optional :: first(:), count(:)
    integer(int64), intent(inout) :: n(:)
    type(tcasm_part), intent(inout) :: part
    integer(c_int) :: code
    integer(int64) :: whole(array%rank)
    integer(int64), allocatable :: begin(:), extents(:)
    integer :: points, vector
    code = TCASM_OK
    vector = merge(1, 0, array%components > 1)
    points = array%rank - vector
    whole = extents_of(array)
    if (vector == 1) n(1) = whole(1)
    allocate (begin(points), extents(points))
    begin = 1
    if (present(first)) code = numbers(first, "the first indices of array " // trim(name), begin)
    extents = whole(1 + vector:) - begin + 1
    if (code == TCASM_OK .and. present(count)) code = numbers(count, &
      "the numbers of indices of array " // trim(name), extents)
    if (code == TCASM_OK .and. (any(begin < 1) .or. any(extents < 0))) code = refused( &
      "the part of array " // trim(name) // " begins before 1, or has negative extents")
    if (code /= TCASM_OK) return
    n(1 + vector:) = extents
    part%order = array%order
    ! In the order of C the dimensions are reversed.
    if (array%order == TCASM_ORDER_C) then
      part%begin = begin(points:1:-1) - 1
      part%extents = extents(points:1:-1)
    else
      part%begin = begin - 1
      part%extents = extents
    end if
  end function part_of

  !> Copies the part to `data`, which has room for `bytes` bytes.
  function array_copy(version, name, part, data, bytes) result(code)
    type(tcasm_group_version), intent(in) :: version
    character(*), intent(in) :: name
    type(tcasm_part), intent(in) :: part
    type(c_ptr), intent(in) :: data
    integer(int64), intent(in) :: bytes
    integer(c_int) :: code
    integer(c_int8_t), pointer :: room(:)
    integer(c_size_t) :: rank
    call c_f_pointer(data, room, [bytes])
    rank = size(part%begin, kind=c_size_t)
    if (part%joined) then
      code = c_concatenated_read(version%handle, c_text(name), rank, part%begin, part%extents, &
        int(part%order, c_int), room, bytes)
    else
      code = c_global_read(version%handle, c_text(name), rank, part%begin, part%extents, &
        int(part%order, c_int), room, bytes)
    end if
  end function array_copy

end module tcasm_group_arrays
