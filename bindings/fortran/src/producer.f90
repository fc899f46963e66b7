!> Regions that this process publishes.
module tcasm_producers
  use, intrinsic :: iso_c_binding
  use, intrinsic :: iso_fortran_env, only: int32, int64, real64
  use tcasm_constants
  use tcasm_c
  use tcasm_errors
  use tcasm_attributes
  use tcasm_settings
  use tcasm_sources
  implicit none
  private
  public :: tcasm_producer, tcasm_buffer, added, scratched
  public :: tcasm_create, tcasm_close, tcasm_publish, tcasm_wait_visible, tcasm_wait_captured
  public :: tcasm_set_attrs, tcasm_rollback, tcasm_trim, tcasm_last_receipt
  public :: tcasm_release_adopted, tcasm_lost_fields
  public :: tcasm_buffer_like, tcasm_bind, tcasm_rewrite, tcasm_register_dma, tcasm_mark_dirty

  !> A region. Its fields are gone after tcasm_close.
  type, extends(tcasm_source) :: tcasm_producer
  contains
    procedure :: layout => producer_layout
  end type tcasm_producer

  !> Another buffer of a field, to compute the next step in. It lives as long as the region.
  type, extends(tcasm_source) :: tcasm_buffer
    type(tcasm_array) :: like
    character(:), allocatable :: name
  contains
    procedure :: layout => buffer_layout
  end type tcasm_buffer

  !> Publishes the fields as they are now, as the next version. If there is no room, the status is
  !! TCASM_SKIPPED, and the changes are in the next version. With `timeout`, in seconds, it tries
  !! again until the time is over, or for ever if it is negative. `step` is an integer(int32) or
  !! integer(int64).
  interface tcasm_publish
    module procedure publish_int32, publish_int64
  end interface tcasm_publish

  !> Begins the next rewriting of a handed-over field, or of its buffer.
  interface tcasm_rewrite
    module procedure rewrite_field, rewrite_buffer
  end interface tcasm_rewrite

contains

  !> Creates the region `name` with room for `capacity` bytes of fields.
  subroutine tcasm_create(producer, name, capacity, options, status)
    type(tcasm_producer), intent(out) :: producer
    character(*), intent(in) :: name
    integer(int64), intent(in) :: capacity
    type(tcasm_options), intent(in), optional :: options
    integer, intent(out), optional :: status
    type(c_ptr) :: settings
    integer(c_int) :: code, ignored
    settings = c_null_ptr
    code = TCASM_OK
    if (present(options)) code = region_options(options, settings)
    if (code == TCASM_OK) code = c_create(c_text(name), capacity, settings, producer%handle)
    if (c_associated(settings)) ignored = c_options_free(settings)
    call report(code, status)
  end subroutine tcasm_create

  !> Ends the stream of versions. Pointers to fields must not be used any more.
  subroutine tcasm_close(producer, status)
    type(tcasm_producer), intent(inout) :: producer
    integer, intent(out), optional :: status
    call report(c_close(producer%handle), status)
    producer%handle = c_null_ptr
  end subroutine tcasm_close

  !> Adds a field. `shape` has the extents of an array of Fortran, ghost layers included. If `data`
  !! has the address of an array, it is adopted.
  function added(producer, name, dtype, shape, options, data) result(code)
    type(tcasm_producer), intent(in) :: producer
    character(*), intent(in) :: name
    integer, intent(in) :: dtype
    integer(int64), intent(in) :: shape(:)
    type(tcasm_field_options), intent(in), optional :: options
    type(c_ptr), intent(inout) :: data
    integer(c_int) :: code, ignored
    type(tcasm_field_options) :: from
    type(c_ptr) :: settings
    integer(c_size_t), allocatable :: extents(:)
    if (present(options)) from = options
    if (any(shape < 0)) then
      code = refused("the shape of field " // trim(name) // " has a negative extent")
      return
    end if
    ! The library has the components last, and the other dimensions in the order of the field.
    extents = shape
    if (from%order == TCASM_ORDER_C) then
      extents = shape(size(shape):1:-1)
    else if (from%vector) then
      extents = cshift(shape, 1)
    end if
    if (from%dtype == 0) from%dtype = dtype
    code = field_options(from, settings)
    if (code == TCASM_OK .and. c_associated(data)) then
      code = c_adopt(producer%handle, c_text(name), int(from%dtype, c_int), &
        size(extents, kind=c_size_t), extents, data, settings)
    else if (code == TCASM_OK) then
      code = c_add_field(producer%handle, c_text(name), int(from%dtype, c_int), &
        size(extents, kind=c_size_t), extents, settings, data)
    end if
    ignored = c_field_options_free(settings)
  end function added

  !> Makes memory that is never captured, for an array of Fortran of this shape.
  function scratched(producer, dtype, shape, data) result(code)
    type(tcasm_producer), intent(in) :: producer
    integer, intent(in) :: dtype
    integer(int64), intent(in) :: shape(:)
    type(c_ptr), intent(inout) :: data
    integer(c_int) :: code
    character(200) :: text
    if (any(shape < 0)) then
      write (text, "(a, *(1x, i0))") "the shape of scratch memory has a negative extent:", shape
      code = refused(trim(text))
    else
      code = c_scratch(producer%handle, int(dtype, c_int), size(shape, kind=c_size_t), &
        int(shape, c_size_t), data)
    end if
  end function scratched

  !> Ends the adoption of an array (tcasm_adopt), which can then be deallocated. The next version has
  !! no such field. A lost field is removed as well. A field that is the geometry of a mesh stays,
  !! and is lost until an array is adopted under its name.
  subroutine tcasm_release_adopted(producer, name, status)
    type(tcasm_producer), intent(in) :: producer
    character(*), intent(in) :: name
    integer, intent(out), optional :: status
    call report(c_release_adopted(producer%handle, c_text(name)), status)
  end subroutine tcasm_release_adopted

  !> Gets the number of fields that are lost: their memory was unmapped, moved or replaced before
  !! tcasm_release_adopted. With `index`, from 1, also gets the name of one of them.
  subroutine tcasm_lost_fields(producer, count, index, name, status)
    type(tcasm_producer), intent(in) :: producer
    integer, intent(out) :: count
    integer, intent(in), optional :: index
    character(:), allocatable, intent(out), optional :: name
    integer, intent(out), optional :: status
    integer(c_size_t) :: found
    integer(c_int) :: code
    type(c_ptr) :: text
    found = 0
    code = c_lost_count(producer%handle, found)
    count = int(found)
    if (code == TCASM_OK .and. present(index) .and. present(name)) then
      code = c_lost_name(producer%handle, int(index - 1, c_size_t), text)
      if (code == TCASM_OK) name = fortran_text(text)
    end if
    call report(code, status)
  end subroutine tcasm_lost_fields

  subroutine publish_int32(producer, step, time, timeout, status)
    type(tcasm_producer), intent(in) :: producer
    integer(int32), intent(in) :: step
    real(real64), intent(in) :: time
    real(real64), intent(in), optional :: timeout
    integer, intent(out), optional :: status
    call publish_int64(producer, int(step, int64), time, timeout, status)
  end subroutine publish_int32

  subroutine publish_int64(producer, step, time, timeout, status)
    type(tcasm_producer), intent(in) :: producer
    integer(int64), intent(in) :: step
    real(real64), intent(in) :: time
    real(real64), intent(in), optional :: timeout
    integer, intent(out), optional :: status
    integer(c_int) :: code
    if (present(timeout)) then
      code = c_publish_wait(producer%handle, step, time, timeout)
    else
      code = c_publish(producer%handle, step, time)
    end if
    call report(code, status)
  end subroutine publish_int64

  !> Gets what the last call of publish has done.
  subroutine tcasm_last_receipt(producer, receipt, status)
    type(tcasm_producer), intent(in) :: producer
    type(tcasm_receipt), intent(out) :: receipt
    integer, intent(out), optional :: status
    receipt%size = c_sizeof(receipt)
    call report(c_last_receipt(producer%handle, receipt), status)
  end subroutine tcasm_last_receipt

  !> Waits until observers can see the last version: as long as it takes, or `timeout` seconds.
  subroutine tcasm_wait_visible(producer, timeout, status)
    type(tcasm_producer), intent(in) :: producer
    real(real64), intent(in), optional :: timeout
    integer, intent(out), optional :: status
    real(c_double) :: limit
    limit = -1
    if (present(timeout)) limit = timeout
    call report(c_wait_visible(producer%handle, limit), status)
  end subroutine tcasm_wait_visible

  !> Waits until all that was published is captured: as long as it takes, or `timeout` seconds.
  subroutine tcasm_wait_captured(producer, timeout, status)
    type(tcasm_producer), intent(in) :: producer
    real(real64), intent(in), optional :: timeout
    integer, intent(out), optional :: status
    real(c_double) :: limit
    limit = -1
    if (present(timeout)) limit = timeout
    call report(c_wait_captured(producer%handle, limit), status)
  end subroutine tcasm_wait_captured

  !> Sets attributes of the region from the next version on.
  subroutine tcasm_set_attrs(producer, attrs, status)
    type(tcasm_producer), intent(in) :: producer
    type(tcasm_attrs), intent(in) :: attrs
    integer, intent(out), optional :: status
    call report(c_set_attrs(producer%handle, attrs%handle), status)
  end subroutine tcasm_set_attrs

  !> Restores all fields to those of a version that exists, and gets its step and time.
  subroutine tcasm_rollback(producer, version, step, time, status)
    type(tcasm_producer), intent(in) :: producer
    integer(int64), intent(in) :: version
    integer(int64), intent(out), optional :: step
    real(real64), intent(out), optional :: time
    integer, intent(out), optional :: status
    call report(c_rollback(producer%handle, version, step, time), status)
  end subroutine tcasm_rollback

  !> Gives memory that no version needs back to the system, and gets the number of bytes.
  subroutine tcasm_trim(producer, bytes, status)
    type(tcasm_producer), intent(in) :: producer
    integer(int64), intent(out), optional :: bytes
    integer, intent(out), optional :: status
    integer(int64) :: freed
    freed = 0
    call report(c_trim(producer%handle, freed), status)
    if (present(bytes)) bytes = freed
  end subroutine tcasm_trim

  !> Makes another buffer like that of a field.
  subroutine tcasm_buffer_like(producer, name, buffer, status)
    type(tcasm_producer), intent(in) :: producer
    character(*), intent(in) :: name
    type(tcasm_buffer), intent(out) :: buffer
    integer, intent(out), optional :: status
    integer(c_int) :: code
    buffer%like%size = c_sizeof(buffer%like)
    buffer%name = trim(name)
    code = c_live(producer%handle, c_text(name), buffer%like)
    if (code == TCASM_OK) then
      code = c_buffer_like(producer%handle, c_text(name), buffer%handle, buffer%like%data)
    end if
    call report(code, status)
  end subroutine tcasm_buffer_like

  !> Binds a field to `buffer`, which becomes the buffer that the field was bound to before.
  subroutine tcasm_bind(producer, name, buffer, status)
    type(tcasm_producer), intent(in) :: producer
    character(*), intent(in) :: name
    type(tcasm_buffer), intent(inout) :: buffer
    integer, intent(out), optional :: status
    type(c_ptr) :: next
    integer(c_int) :: code
    next = c_null_ptr
    code = c_bind(producer%handle, c_text(name), buffer%handle, next, buffer%like%data)
    if (code == TCASM_OK) buffer%handle = next
    call report(code, status)
  end subroutine tcasm_bind

  subroutine rewrite_field(producer, name, status)
    type(tcasm_producer), intent(in) :: producer
    character(*), intent(in) :: name
    integer, intent(out), optional :: status
    call report(c_rewrite(producer%handle, c_text(name)), status)
  end subroutine rewrite_field

  subroutine rewrite_buffer(producer, buffer, status)
    type(tcasm_producer), intent(in) :: producer
    type(tcasm_buffer), intent(in) :: buffer
    integer, intent(out), optional :: status
    call report(c_rewrite_buffer(producer%handle, buffer%handle), status)
  end subroutine rewrite_buffer

  !> Marks bytes of a field as written, after a write that no tracker sees.
  subroutine tcasm_mark_dirty(producer, name, offset, bytes, status)
    type(tcasm_producer), intent(in) :: producer
    character(*), intent(in) :: name
    integer(int64), intent(in) :: offset, bytes
    integer, intent(out), optional :: status
    call report(c_mark_dirty(producer%handle, c_text(name), offset, bytes), status)
  end subroutine tcasm_mark_dirty

  !> Declares that devices write a field from now on.
  subroutine tcasm_register_dma(producer, name, status)
    type(tcasm_producer), intent(in) :: producer
    character(*), intent(in) :: name
    integer, intent(out), optional :: status
    call report(c_register_dma(producer%handle, c_text(name)), status)
  end subroutine tcasm_register_dma

  function producer_layout(source, name, array) result(code)
    class(tcasm_producer), intent(in) :: source
    character(*), intent(in) :: name
    type(tcasm_array), intent(inout) :: array
    integer(c_int) :: code
    code = c_live(source%handle, c_text(name), array)
  end function producer_layout

  function buffer_layout(source, name, array) result(code)
    class(tcasm_buffer), intent(in) :: source
    character(*), intent(in) :: name
    type(tcasm_array), intent(inout) :: array
    integer(c_int) :: code
    code = TCASM_OK
    if (.not. allocated(source%name)) then
      code = refused("the buffer is none: make it with tcasm_buffer_like")
    else if (source%name /= trim(name)) then
      code = refused("the buffer is one of field " // source%name // ", not " // trim(name))
    else
      array = source%like
    end if
  end function buffer_layout

end module tcasm_producers
