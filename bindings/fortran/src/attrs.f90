!> Free attributes of regions, fields and meshes.
module tcasm_attributes
  use, intrinsic :: iso_c_binding
  use, intrinsic :: iso_fortran_env, only: int32, int64, real32, real64
  use tcasm_constants
  use tcasm_c
  use tcasm_errors
  implicit none
  private
  public :: tcasm_attrs, tcasm_set_attr, tcasm_get_attr, tcasm_attr_count, tcasm_attr_at
  public :: free_attrs

  !> A list of attributes. It is empty until tcasm_set_attr. tcasm_free ends it.
  type :: tcasm_attrs
    type(c_ptr) :: handle = c_null_ptr
  end type tcasm_attrs

  !> Sets an attribute: an integer, a real, a text, or a list of real(real64).
  interface tcasm_set_attr
    module procedure set_int32, set_int64, set_real32, set_real64, set_text, set_reals
  end interface tcasm_set_attr

  !> Gets an attribute: an integer, a real, a text, or a list of real(real64).
  interface tcasm_get_attr
    module procedure get_int32, get_int64, get_real64, get_text, get_reals
  end interface tcasm_get_attr

contains

  function begun(attrs) result(code)
    type(tcasm_attrs), intent(inout) :: attrs
    integer(c_int) :: code
    code = TCASM_OK
    if (.not. c_associated(attrs%handle)) code = c_attrs_new(attrs%handle)
  end function begun

  subroutine set_int64(attrs, name, value, status)
    type(tcasm_attrs), intent(inout) :: attrs
    character(*), intent(in) :: name
    integer(int64), intent(in) :: value
    integer, intent(out), optional :: status
    integer(c_int) :: code
    code = begun(attrs)
    if (code == TCASM_OK) code = c_attrs_set_int(attrs%handle, c_text(name), value)
    call report(code, status)
  end subroutine set_int64

  subroutine set_int32(attrs, name, value, status)
    type(tcasm_attrs), intent(inout) :: attrs
    character(*), intent(in) :: name
    integer(int32), intent(in) :: value
    integer, intent(out), optional :: status
    call set_int64(attrs, name, int(value, int64), status)
  end subroutine set_int32

  subroutine set_real64(attrs, name, value, status)
    type(tcasm_attrs), intent(inout) :: attrs
    character(*), intent(in) :: name
    real(real64), intent(in) :: value
    integer, intent(out), optional :: status
    integer(c_int) :: code
    code = begun(attrs)
    if (code == TCASM_OK) code = c_attrs_set_float(attrs%handle, c_text(name), value)
    call report(code, status)
  end subroutine set_real64

  subroutine set_real32(attrs, name, value, status)
    type(tcasm_attrs), intent(inout) :: attrs
    character(*), intent(in) :: name
    real(real32), intent(in) :: value
    integer, intent(out), optional :: status
    call set_real64(attrs, name, real(value, real64), status)
  end subroutine set_real32

  subroutine set_text(attrs, name, value, status)
    type(tcasm_attrs), intent(inout) :: attrs
    character(*), intent(in) :: name, value
    integer, intent(out), optional :: status
    integer(c_int) :: code
    code = begun(attrs)
    if (code == TCASM_OK) code = c_attrs_set_text(attrs%handle, c_text(name), c_text(value))
    call report(code, status)
  end subroutine set_text

  subroutine set_reals(attrs, name, value, status)
    type(tcasm_attrs), intent(inout) :: attrs
    character(*), intent(in) :: name
    real(real64), intent(in) :: value(:)
    integer, intent(out), optional :: status
    integer(c_int) :: code
    integer(c_size_t) :: n
    n = size(value, kind=c_size_t)
    code = begun(attrs)
    if (code == TCASM_OK) code = c_attrs_set_floats(attrs%handle, c_text(name), value, n)
    call report(code, status)
  end subroutine set_reals

  subroutine get_int64(attrs, name, value, status)
    type(tcasm_attrs), intent(in) :: attrs
    character(*), intent(in) :: name
    integer(int64), intent(out) :: value
    integer, intent(out), optional :: status
    value = 0
    call report(c_attrs_get_int(attrs%handle, c_text(name), value), status)
  end subroutine get_int64

  subroutine get_int32(attrs, name, value, status)
    type(tcasm_attrs), intent(in) :: attrs
    character(*), intent(in) :: name
    integer(int32), intent(out) :: value
    integer, intent(out), optional :: status
    integer(int64) :: wide
    integer(c_int) :: code
    value = 0
    wide = 0
    code = c_attrs_get_int(attrs%handle, c_text(name), wide)
    if (abs(wide) > huge(value)) then
      code = refused("the attribute " // trim(name) // " is too large for integer(int32)")
    else
      value = int(wide, int32)
    end if
    call report(code, status)
  end subroutine get_int32

  subroutine get_real64(attrs, name, value, status)
    type(tcasm_attrs), intent(in) :: attrs
    character(*), intent(in) :: name
    real(real64), intent(out) :: value
    integer, intent(out), optional :: status
    value = 0
    call report(c_attrs_get_float(attrs%handle, c_text(name), value), status)
  end subroutine get_real64

  subroutine get_text(attrs, name, value, status)
    type(tcasm_attrs), intent(in) :: attrs
    character(*), intent(in) :: name
    character(:), allocatable, intent(out) :: value
    integer, intent(out), optional :: status
    type(c_ptr) :: found
    integer(c_int) :: code
    found = c_null_ptr
    code = c_attrs_get_text(attrs%handle, c_text(name), found)
    value = fortran_text(found)
    call report(code, status)
  end subroutine get_text

  subroutine get_reals(attrs, name, value, status)
    type(tcasm_attrs), intent(in) :: attrs
    character(*), intent(in) :: name
    real(real64), allocatable, intent(out) :: value(:)
    integer, intent(out), optional :: status
    integer(c_size_t) :: n
    integer(c_int) :: code
    n = 0
    code = c_attrs_get_floats(attrs%handle, c_text(name), room=0_c_size_t, count=n)
    allocate (value(n))
    if (code == TCASM_OK) code = c_attrs_get_floats(attrs%handle, c_text(name), value, n, n)
    call report(code, status)
  end subroutine get_reals

  !> Returns the number of attributes.
  function tcasm_attr_count(attrs, status) result(n)
    type(tcasm_attrs), intent(in) :: attrs
    integer, intent(out), optional :: status
    integer :: n
    integer(c_size_t) :: count
    count = 0
    if (c_associated(attrs%handle)) then
      call report(c_attrs_count(attrs%handle, count), status)
    else if (present(status)) then
      status = TCASM_OK
    end if
    n = int(count)
  end function tcasm_attr_count

  !> Gets the name of attribute `index`, from 1, and its type: TCASM_ATTR_INT and the like.
  subroutine tcasm_attr_at(attrs, index, name, kind, status)
    type(tcasm_attrs), intent(in) :: attrs
    integer, intent(in) :: index
    character(:), allocatable, intent(out) :: name
    integer, intent(out) :: kind
    integer, intent(out), optional :: status
    type(c_ptr) :: found
    integer(c_int) :: code, number
    found = c_null_ptr
    number = 0
    code = c_attrs_at(attrs%handle, int(index - 1, c_size_t), found, number)
    name = fortran_text(found)
    kind = number
    call report(code, status)
  end subroutine tcasm_attr_at

  !> Ends a list of attributes.
  subroutine free_attrs(attrs, status)
    type(tcasm_attrs), intent(inout) :: attrs
    integer, intent(out), optional :: status
    integer(c_int) :: code
    code = TCASM_OK
    if (c_associated(attrs%handle)) code = c_attrs_free(attrs%handle)
    attrs%handle = c_null_ptr
    call report(code, status)
  end subroutine free_attrs

end module tcasm_attributes
