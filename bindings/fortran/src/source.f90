!> Memory that has fields: live memory of a producer, a buffer, or a version.
module tcasm_sources
  use, intrinsic :: iso_c_binding
  use, intrinsic :: iso_fortran_env, only: int32, int64
  use tcasm_constants
  use tcasm_c
  use tcasm_errors
  implicit none
  private
  public :: tcasm_source, extents_of, suits, bounds, mapped, numbers

  !> Memory from which tcasm_get takes fields: a tcasm_producer, tcasm_buffer or tcasm_version.
  type, abstract :: tcasm_source
    type(c_ptr) :: handle = c_null_ptr
  contains
    procedure(layout_of), deferred :: layout
  end type tcasm_source

  abstract interface
    !> Describes the field `name`, and says where it is.
    function layout_of(source, name, array) result(code)
      import :: tcasm_source, tcasm_array, c_int
      class(tcasm_source), intent(in) :: source
      character(*), intent(in) :: name
      type(tcasm_array), intent(inout) :: array
      integer(c_int) :: code
    end function layout_of
  end interface

contains

  !> Returns the extents of an array of the library in the order of Fortran: that of neighbours in
  !! memory comes first.
  function extents_of(array) result(extents)
    type(tcasm_array), intent(in) :: array
    integer(int64), allocatable :: extents(:)
    integer :: n, points
    n = array%rank
    points = n
    if (array%components > 1) points = n - 1
    if (array%order == TCASM_ORDER_C) then
      extents = array%shape(n:1:-1)
    else
      extents = [array%shape(points + 1:n), array%shape(1:points)]
    end if
  end function extents_of

  !> Finds the field `name`, whose elements are of type `dtype`, with the rank of `extents`.
  !! `unsigned` is a second type that will do, or 0.
  function mapped(source, name, dtype, unsigned, extents, data) result(code)
    class(tcasm_source), intent(in) :: source
    character(*), intent(in) :: name
    integer, intent(in) :: dtype, unsigned
    integer(int64), intent(out) :: extents(:)
    type(c_ptr), intent(out) :: data
    integer(c_int) :: code
    type(tcasm_array) :: array
    data = c_null_ptr
    extents = 0
    array%size = c_sizeof(array)
    code = source%layout(name, array)
    if (code == TCASM_OK) code = suits(array, "field " // trim(name), "the pointer", dtype, &
      unsigned, size(extents))
    if (code /= TCASM_OK) return
    extents = extents_of(array)
    data = array%data
  end function mapped

  !> Checks that an array of the library has elements of type `dtype` or `unsigned`, and this rank.
  !! The error calls it `what`, and the array or pointer of Fortran `whose`.
  function suits(array, what, whose, dtype, unsigned, rank) result(code)
    type(tcasm_array), intent(in) :: array
    character(*), intent(in) :: what, whose
    integer, intent(in) :: dtype, unsigned, rank
    integer(c_int) :: code
    character(200) :: text
    code = TCASM_OK
    if (array%dtype /= dtype .and. array%dtype /= unsigned) then
      write (text, "(a, i0, 3a, i0)") " has elements of the TCASM type ", array%dtype, ", and ", &
        whose, " those of type ", dtype
      code = refused(what // trim(text))
    else if (array%rank /= rank) then
      write (text, "(a, i0, 3a, i0)") " has rank ", array%rank, ", and ", whose, " has rank ", rank
      code = refused(what // trim(text))
    end if
  end function suits

  !> Stores the lower bounds that are given, or ones.
  function bounds(lower, first) result(code)
    class(*), intent(in), optional :: lower(:)
    integer(int64), intent(out) :: first(:)
    integer(c_int) :: code
    first = 1
    code = TCASM_OK
    if (present(lower)) code = numbers(lower, "the lower bounds", first)
  end function bounds

  !> Converts numbers, of which there must be as many as there is room for.
  function numbers(from, what, to) result(code)
    class(*), intent(in) :: from(:)
    character(*), intent(in) :: what
    integer(int64), intent(out) :: to(:)
    integer(c_int) :: code
    character(60) :: text
    code = TCASM_OK
    to = 0
    if (size(from) /= size(to)) then
      write (text, "(a, i0, a, i0)") " are ", size(from), " numbers, and the rank is ", size(to)
      code = refused(what // trim(text))
      return
    end if
    select type (from)
    type is (integer(int32))
      to = from
    type is (integer(int64))
      to = from
    class default
      code = refused(what // " are neither integer(int32) nor integer(int64)")
    end select
  end function numbers

end module tcasm_sources
