!> Pinned versions.
module tcasm_pinned_versions
  use, intrinsic :: iso_c_binding
  use, intrinsic :: iso_fortran_env, only: int64, real64
  use tcasm_constants
  use tcasm_c
  use tcasm_errors
  use tcasm_attributes
  use tcasm_sources
  implicit none
  private
  public :: tcasm_version, tcasm_release, tcasm_version_stamp, tcasm_step, tcasm_time
  public :: tcasm_field_count, tcasm_field_name, tcasm_field_text, tcasm_has_field
  public :: tcasm_attrs_of, tcasm_array_of, tcasm_changed_pages, tcasm_changed_ranges

  !> A pinned version: its values never change. Pointers to its fields are valid until it is
  !! released. A copy of this variable is the same version.
  type, extends(tcasm_source) :: tcasm_version
  contains
    procedure :: layout => version_layout
  end type tcasm_version

contains

  !> Lets go of a version. Does nothing if there is none.
  subroutine tcasm_release(version, status)
    type(tcasm_version), intent(inout) :: version
    integer, intent(out), optional :: status
    integer(c_int) :: code
    code = TCASM_OK
    if (c_associated(version%handle)) code = c_release(version%handle)
    version%handle = c_null_ptr
    call report(code, status)
  end subroutine tcasm_release

  !> Gets the number, step and time of a version.
  subroutine tcasm_version_stamp(version, stamp, status)
    type(tcasm_version), intent(in) :: version
    type(tcasm_stamp), intent(out) :: stamp
    integer, intent(out), optional :: status
    stamp%size = c_sizeof(stamp)
    call report(c_version_stamp(version%handle, stamp), status)
  end subroutine tcasm_version_stamp

  !> Returns the step of the simulation.
  function tcasm_step(version, status) result(step)
    type(tcasm_version), intent(in) :: version
    integer, intent(out), optional :: status
    integer(int64) :: step
    type(tcasm_stamp) :: stamp
    stamp%step = 0
    call tcasm_version_stamp(version, stamp, status)
    step = stamp%step
  end function tcasm_step

  !> Returns the time of the simulation.
  function tcasm_time(version, status) result(time)
    type(tcasm_version), intent(in) :: version
    integer, intent(out), optional :: status
    real(real64) :: time
    type(tcasm_stamp) :: stamp
    stamp%time = 0
    call tcasm_version_stamp(version, stamp, status)
    time = stamp%time
  end function tcasm_time

  !> Returns the number of fields.
  function tcasm_field_count(version, status) result(n)
    type(tcasm_version), intent(in) :: version
    integer, intent(out), optional :: status
    integer :: n
    integer(c_size_t) :: count
    count = 0
    call report(c_field_count(version%handle, count), status)
    n = int(count)
  end function tcasm_field_count

  !> Gets the name of field `index`, from 1.
  subroutine tcasm_field_name(version, index, name, status)
    type(tcasm_version), intent(in) :: version
    integer, intent(in) :: index
    character(:), allocatable, intent(out) :: name
    integer, intent(out), optional :: status
    type(c_ptr) :: found
    integer(c_int) :: code
    found = c_null_ptr
    code = c_field_name(version%handle, int(index - 1, c_size_t), found)
    name = fortran_text(found)
    call report(code, status)
  end subroutine tcasm_field_name

  !> Returns true if the version has the field.
  function tcasm_has_field(version, name) result(there)
    type(tcasm_version), intent(in) :: version
    character(*), intent(in) :: name
    logical :: there
    type(c_ptr) :: text
    there = c_field_text(version%handle, c_text(name), TCASM_FIELD_UNIT, text) == TCASM_OK
  end function tcasm_has_field

  !> Gets a text of a field: TCASM_FIELD_UNIT, TCASM_FIELD_MESH or TCASM_FIELD_QUANTITY.
  subroutine tcasm_field_text(version, name, option, text, status)
    type(tcasm_version), intent(in) :: version
    character(*), intent(in) :: name
    integer, intent(in) :: option
    character(:), allocatable, intent(out) :: text
    integer, intent(out), optional :: status
    type(c_ptr) :: found
    integer(c_int) :: code
    found = c_null_ptr
    code = c_field_text(version%handle, c_text(name), int(option, c_int), found)
    text = fortran_text(found)
    call report(code, status)
  end subroutine tcasm_field_text

  !> Makes a list of the attributes of field `name`, or of the region without a name.
  subroutine tcasm_attrs_of(version, attrs, name, status)
    type(tcasm_version), intent(in) :: version
    type(tcasm_attrs), intent(out) :: attrs
    character(*), intent(in), optional :: name
    integer, intent(out), optional :: status
    integer(c_int) :: code
    if (present(name)) then
      code = c_attrs_of(version%handle, c_text(name), attrs%handle)
    else
      code = c_attrs_of(version%handle, attrs=attrs%handle)
    end if
    call report(code, status)
  end subroutine tcasm_attrs_of

  !> Describes a field, whatever its type and rank are: as other languages see it.
  subroutine tcasm_array_of(version, name, array, status)
    type(tcasm_version), intent(in) :: version
    character(*), intent(in) :: name
    type(tcasm_array), intent(out) :: array
    integer, intent(out), optional :: status
    array%size = c_sizeof(array)
    call report(version%layout(name, array), status)
  end subroutine tcasm_array_of

  !> Returns how many pages differ between two versions: between this one and the one before it, if
  !! `older` is left out.
  function tcasm_changed_pages(version, older, status) result(pages)
    type(tcasm_version), intent(in) :: version
    type(tcasm_version), intent(in), optional :: older
    integer, intent(out), optional :: status
    integer(int64) :: pages
    type(c_ptr) :: base
    integer(c_int) :: code
    pages = 0
    code = compared_with(older, base)
    if (code == TCASM_OK) code = c_changes(version%handle, base, pages, room=0_c_size_t)
    call report(code, status)
  end function tcasm_changed_pages

  !> Gets the ranges of bytes of field `name` that may differ from `older`, or from the version
  !! before this one if that is left out: their offsets from the first byte of the field, and their
  !! lengths. They are whole pages, cut to the field, ascending, and do not touch. A field that is
  !! new, lies elsewhere or has another length is one range.
  subroutine tcasm_changed_ranges(version, name, offsets, lengths, older, status)
    type(tcasm_version), intent(in) :: version
    character(*), intent(in) :: name
    integer(int64), allocatable, intent(out) :: offsets(:), lengths(:)
    type(tcasm_version), intent(in), optional :: older
    integer, intent(out), optional :: status
    type(c_ptr) :: base
    integer(c_size_t) :: n
    integer(c_int) :: code
    n = 64
    code = compared_with(older, base)
    do
      if (allocated(offsets)) deallocate (offsets, lengths)
      allocate (offsets(n), lengths(n))
      if (code == TCASM_OK) code = c_changed_ranges(version%handle, base, c_text(name), offsets, &
        lengths, size(offsets, kind=c_size_t), n)
      if (code /= TCASM_OK .or. n <= size(offsets)) exit
    end do
    if (code /= TCASM_OK) n = 0
    offsets = offsets(:n)
    lengths = lengths(:n)
    call report(code, status)
  end subroutine tcasm_changed_ranges

  !> Gets the handle of the version that another one is compared with, which is null for the one
  !! before it. Fails for a variable that holds no version.
  function compared_with(older, handle) result(code)
    type(tcasm_version), intent(in), optional :: older
    type(c_ptr), intent(out) :: handle
    integer(c_int) :: code
    handle = c_null_ptr
    code = TCASM_OK
    if (.not. present(older)) return
    handle = older%handle
    if (c_associated(handle)) return
    code = refused("the older version is none: get it first, or leave it out")
    code = TCASM_INVALID_HANDLE
  end function compared_with

  function version_layout(source, name, array) result(code)
    class(tcasm_version), intent(in) :: source
    character(*), intent(in) :: name
    type(tcasm_array), intent(inout) :: array
    integer(c_int) :: code
    code = c_array_of(source%handle, c_text(name), array)
  end function version_layout

end module tcasm_pinned_versions
