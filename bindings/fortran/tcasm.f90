! Written by generate.py from tcasm.h and src/. Change those, and run it again.

!> The constants of tcasm.h.
module tcasm_constants
  implicit none
  public
  integer, parameter :: TCASM_OK = 0
  integer, parameter :: TCASM_NOT_READY = 1
  integer, parameter :: TCASM_END_OF_STREAM = 2
  integer, parameter :: TCASM_SKIPPED = 3
  integer, parameter :: TCASM_OTHER_ERROR = -1
  integer, parameter :: TCASM_PRODUCER_LOST = -2
  integer, parameter :: TCASM_REVOKED = -3
  integer, parameter :: TCASM_INVALID_ARGUMENT = -4
  integer, parameter :: TCASM_INVALID_HANDLE = -5
  integer, parameter :: TCASM_CLOSED = -6
  integer, parameter :: TCASM_FORKED = -7
  integer, parameter :: TCASM_REGION_NOT_FOUND = -8
  integer, parameter :: TCASM_NOT_ATTACHED = -9
  integer, parameter :: TCASM_VERSION_GONE = -10
  integer, parameter :: TCASM_TOO_MANY_PINS = -11
  integer, parameter :: TCASM_NOT_FOUND = -12
  integer, parameter :: TCASM_NOT_CREATED = -13
  integer, parameter :: TCASM_NOT_DEFINED = -14
  integer, parameter :: TCASM_REFUSED = -15
  integer, parameter :: TCASM_INTERNAL_ERROR = -100
  integer, parameter :: TCASM_VERSIONS = 1
  integer, parameter :: TCASM_HISTORY = 2
  integer, parameter :: TCASM_FIRST_VERSION = 3
  integer, parameter :: TCASM_MEMORY = 4
  integer, parameter :: TCASM_CAPTURE = 5
  integer, parameter :: TCASM_WAIT_FOR_CAPTURE = 6
  integer, parameter :: TCASM_NO_KERNEL_WRITES = 7
  integer, parameter :: TCASM_MAX_OBSERVERS = 8
  integer, parameter :: TCASM_BASE = 9
  integer, parameter :: TCASM_COPIERS = 10
  integer, parameter :: TCASM_ALLOW_EVERYONE = 11
  integer, parameter :: TCASM_CAPTURE_AUTO = 0
  integer, parameter :: TCASM_CAPTURE_INLINE = 1
  integer, parameter :: TCASM_CAPTURE_DEFERRED = 2
  integer, parameter :: TCASM_MAX_RANK = 16
  integer, parameter :: TCASM_I8 = 1
  integer, parameter :: TCASM_I16 = 2
  integer, parameter :: TCASM_I32 = 3
  integer, parameter :: TCASM_I64 = 4
  integer, parameter :: TCASM_U8 = 5
  integer, parameter :: TCASM_U16 = 6
  integer, parameter :: TCASM_U32 = 7
  integer, parameter :: TCASM_U64 = 8
  integer, parameter :: TCASM_F32 = 9
  integer, parameter :: TCASM_F64 = 10
  integer, parameter :: TCASM_C32 = 11
  integer, parameter :: TCASM_C64 = 12
  integer, parameter :: TCASM_ORDER_C = 0
  integer, parameter :: TCASM_ORDER_F = 1
  integer, parameter :: TCASM_ON_POINTS = 0
  integer, parameter :: TCASM_IN_CELLS = 1
  integer, parameter :: TCASM_NO_CENTRING = 2
  integer, parameter :: TCASM_FIELD_ORDER = 1
  integer, parameter :: TCASM_FIELD_CENTRING = 2
  integer, parameter :: TCASM_FIELD_VECTOR = 3
  integer, parameter :: TCASM_FIELD_VARIABLE = 4
  integer, parameter :: TCASM_FIELD_HANDED_OVER = 5
  integer, parameter :: TCASM_FIELD_IN_CHECKPOINTS = 6
  integer, parameter :: TCASM_FIELD_UNIT = 1
  integer, parameter :: TCASM_FIELD_MESH = 2
  integer, parameter :: TCASM_FIELD_QUANTITY = 3
  integer, parameter :: TCASM_RECTILINEAR = 1
  integer, parameter :: TCASM_CURVILINEAR = 2
  integer, parameter :: TCASM_PARTICLES = 3
  integer, parameter :: TCASM_UNSTRUCTURED = 4
  integer, parameter :: TCASM_MIXED = 5
  integer, parameter :: TCASM_SECTION_ALLOCATED = 1
  integer, parameter :: TCASM_SECTION_LOCKED = 2
  integer, parameter :: TCASM_SECTION_DUMPED = 4
  integer, parameter :: TCASM_SECTION_HUGE_PAGES = 8
  integer, parameter :: TCASM_SECTION_RESERVED_PAGES = 16
  integer, parameter :: TCASM_READ = 1
  integer, parameter :: TCASM_WRITE = 2
  integer, parameter :: TCASM_READ_WRITE = 3
  integer, parameter :: TCASM_ATTR_INT = 1
  integer, parameter :: TCASM_ATTR_FLOAT = 2
  integer, parameter :: TCASM_ATTR_TEXT = 3
  integer, parameter :: TCASM_ATTR_FLOATS = 4

end module tcasm_constants

!> The structures and functions of tcasm.h.
module tcasm_c
  use, intrinsic :: iso_c_binding
  use tcasm_constants
  implicit none
  public

  type, bind(c) :: tcasm_array
    integer(c_size_t) :: size
    type(c_ptr) :: data
    integer(c_size_t) :: bytes
    integer(c_int) :: dtype
    integer(c_int) :: rank
    integer(c_size_t) :: shape(TCASM_MAX_RANK)
    integer(c_size_t) :: strides(TCASM_MAX_RANK)
    integer(c_size_t) :: ghosts(2, TCASM_MAX_RANK)
    integer(c_size_t) :: components
    integer(c_int) :: order
    integer(c_int) :: centring
    integer(c_size_t) :: capacity
    integer(c_size_t) :: global_shape(TCASM_MAX_RANK)
    integer(c_size_t) :: global_offset(TCASM_MAX_RANK)
    integer(c_size_t) :: alignment
  end type tcasm_array

  type, bind(c) :: tcasm_receipt
    integer(c_size_t) :: size
    integer(c_int64_t) :: version
    integer(c_int64_t) :: pages
    integer(c_int64_t) :: deferred
    integer(c_int64_t) :: handed_over
    integer(c_int64_t) :: bytes
    real(c_double) :: seconds
  end type tcasm_receipt

  type, bind(c) :: tcasm_info
    integer(c_size_t) :: size
    integer(c_int64_t) :: pid
    integer(c_int64_t) :: base
    integer(c_int64_t) :: bytes
    integer(c_int64_t) :: page_size
    integer(c_int64_t) :: created
    integer(c_int64_t) :: max_versions
    real(c_double) :: publish_us(3)
  end type tcasm_info

  type, bind(c) :: tcasm_stamp
    integer(c_size_t) :: size
    integer(c_int64_t) :: version
    integer(c_int64_t) :: step
    real(c_double) :: time
    integer(c_int64_t) :: published
  end type tcasm_stamp

  type, bind(c) :: tcasm_segment
    type(c_ptr) :: data
    integer(c_size_t) :: bytes
  end type tcasm_segment

  type, bind(c) :: tcasm_cookie
    integer(c_int8_t) :: bytes(16)
  end type tcasm_cookie

  type, bind(c) :: tcasm_declaration
    integer(c_size_t) :: size
    integer(c_int64_t) :: bytes
    integer(c_int64_t) :: version
    integer(c_int) :: access
    integer(c_int) :: once
  end type tcasm_declaration

  interface

    function c_last_error() bind(c, name="tcasm_last_error")
      import
      type(c_ptr) :: c_last_error
    end function c_last_error

    function c_status_name(status) bind(c, name="tcasm_status_name")
      import
      integer(c_int), value :: status
      type(c_ptr) :: c_status_name
    end function c_status_name

    function c_library_version() bind(c, name="tcasm_library_version")
      import
      type(c_ptr) :: c_library_version
    end function c_library_version

    function c_options_new(options) bind(c, name="tcasm_options_new")
      import
      type(c_ptr), intent(inout), optional :: options
      integer(c_int) :: c_options_new
    end function c_options_new

    function c_options_free(options) bind(c, name="tcasm_options_free")
      import
      type(c_ptr), value :: options
      integer(c_int) :: c_options_free
    end function c_options_free

    function c_options_set(options, option, value) bind(c, name="tcasm_options_set")
      import
      type(c_ptr), value :: options
      integer(c_int), value :: option
      integer(c_int64_t), value :: value
      integer(c_int) :: c_options_set
    end function c_options_set

    function c_options_set_attrs(options, attrs) bind(c, name="tcasm_options_set_attrs")
      import
      type(c_ptr), value :: options
      type(c_ptr), value :: attrs
      integer(c_int) :: c_options_set_attrs
    end function c_options_set_attrs

    function c_options_set_group(options, rank, ranks, local_ranks, run) bind(c, &
      name="tcasm_options_set_group")
      import
      type(c_ptr), value :: options
      integer(c_int32_t), value :: rank
      integer(c_int32_t), value :: ranks
      integer(c_int32_t), value :: local_ranks
      character(kind=c_char), intent(in), optional :: run(*)
      integer(c_int) :: c_options_set_group
    end function c_options_set_group

    function c_create(name, capacity, options, producer) bind(c, name="tcasm_create")
      import
      character(kind=c_char), intent(in), optional :: name(*)
      integer(c_size_t), value :: capacity
      type(c_ptr), value :: options
      type(c_ptr), intent(inout), optional :: producer
      integer(c_int) :: c_create
    end function c_create

    function c_close(producer) bind(c, name="tcasm_close")
      import
      type(c_ptr), value :: producer
      integer(c_int) :: c_close
    end function c_close

    function c_add_field(producer, name, dtype_number, rank, shape, options, data) bind(c, &
      name="tcasm_add_field")
      import
      type(c_ptr), value :: producer
      character(kind=c_char), intent(in), optional :: name(*)
      integer(c_int), value :: dtype_number
      integer(c_size_t), value :: rank
      integer(c_size_t), intent(in), optional :: shape(*)
      type(c_ptr), value :: options
      type(c_ptr), intent(inout), optional :: data
      integer(c_int) :: c_add_field
    end function c_add_field

    function c_add_structures(producer, name, count, bytes, alignment, type_name, data) bind(c, &
      name="tcasm_add_structures")
      import
      type(c_ptr), value :: producer
      character(kind=c_char), intent(in), optional :: name(*)
      integer(c_size_t), value :: count
      integer(c_size_t), value :: bytes
      integer(c_size_t), value :: alignment
      character(kind=c_char), intent(in), optional :: type_name(*)
      type(c_ptr), intent(inout), optional :: data
      integer(c_int) :: c_add_structures
    end function c_add_structures

    function c_live(producer, name, array) bind(c, name="tcasm_live")
      import
      type(c_ptr), value :: producer
      character(kind=c_char), intent(in), optional :: name(*)
      type(tcasm_array), intent(inout) :: array
      integer(c_int) :: c_live
    end function c_live

    function c_set_len(producer, name, len) bind(c, name="tcasm_set_len")
      import
      type(c_ptr), value :: producer
      character(kind=c_char), intent(in), optional :: name(*)
      integer(c_size_t), value :: len
      integer(c_int) :: c_set_len
    end function c_set_len

    function c_len(producer, name, len) bind(c, name="tcasm_len")
      import
      type(c_ptr), value :: producer
      character(kind=c_char), intent(in), optional :: name(*)
      integer(c_size_t), intent(inout), optional :: len
      integer(c_int) :: c_len
    end function c_len

    function c_set_attrs(producer, attrs) bind(c, name="tcasm_set_attrs")
      import
      type(c_ptr), value :: producer
      type(c_ptr), value :: attrs
      integer(c_int) :: c_set_attrs
    end function c_set_attrs

    function c_base(producer, address) bind(c, name="tcasm_base")
      import
      type(c_ptr), value :: producer
      integer(c_size_t), intent(inout), optional :: address
      integer(c_int) :: c_base
    end function c_base

    function c_field_options_new(options) bind(c, name="tcasm_field_options_new")
      import
      type(c_ptr), intent(inout), optional :: options
      integer(c_int) :: c_field_options_new
    end function c_field_options_new

    function c_field_options_free(options) bind(c, name="tcasm_field_options_free")
      import
      type(c_ptr), value :: options
      integer(c_int) :: c_field_options_free
    end function c_field_options_free

    function c_field_options_set(options, option, value) bind(c, name="tcasm_field_options_set")
      import
      type(c_ptr), value :: options
      integer(c_int), value :: option
      integer(c_int64_t), value :: value
      integer(c_int) :: c_field_options_set
    end function c_field_options_set

    function c_field_options_set_text(options, option, value) bind(c, &
      name="tcasm_field_options_set_text")
      import
      type(c_ptr), value :: options
      integer(c_int), value :: option
      character(kind=c_char), intent(in), optional :: value(*)
      integer(c_int) :: c_field_options_set_text
    end function c_field_options_set_text

    function c_field_options_set_ghosts(options, rank, before, after) bind(c, &
      name="tcasm_field_options_set_ghosts")
      import
      type(c_ptr), value :: options
      integer(c_size_t), value :: rank
      integer(c_size_t), intent(in), optional :: before(*)
      integer(c_size_t), intent(in), optional :: after(*)
      integer(c_int) :: c_field_options_set_ghosts
    end function c_field_options_set_ghosts

    function c_field_options_set_global(options, rank, shape, offset) bind(c, &
      name="tcasm_field_options_set_global")
      import
      type(c_ptr), value :: options
      integer(c_size_t), value :: rank
      integer(c_size_t), intent(in), optional :: shape(*)
      integer(c_size_t), intent(in), optional :: offset(*)
      integer(c_int) :: c_field_options_set_global
    end function c_field_options_set_global

    function c_field_options_set_uniform(options, origin, spacing) bind(c, &
      name="tcasm_field_options_set_uniform")
      import
      type(c_ptr), value :: options
      real(c_double), intent(in), optional :: origin(*)
      real(c_double), intent(in), optional :: spacing(*)
      integer(c_int) :: c_field_options_set_uniform
    end function c_field_options_set_uniform

    function c_field_options_set_attrs(options, attrs) bind(c, &
      name="tcasm_field_options_set_attrs")
      import
      type(c_ptr), value :: options
      type(c_ptr), value :: attrs
      integer(c_int) :: c_field_options_set_attrs
    end function c_field_options_set_attrs

    function c_publish(producer, step, time) bind(c, name="tcasm_publish")
      import
      type(c_ptr), value :: producer
      integer(c_int64_t), value :: step
      real(c_double), value :: time
      integer(c_int) :: c_publish
    end function c_publish

    function c_publish_wait(producer, step, time, timeout) bind(c, name="tcasm_publish_wait")
      import
      type(c_ptr), value :: producer
      integer(c_int64_t), value :: step
      real(c_double), value :: time
      real(c_double), value :: timeout
      integer(c_int) :: c_publish_wait
    end function c_publish_wait

    function c_last_receipt(producer, receipt) bind(c, name="tcasm_last_receipt")
      import
      type(c_ptr), value :: producer
      type(tcasm_receipt), intent(inout) :: receipt
      integer(c_int) :: c_last_receipt
    end function c_last_receipt

    function c_wait_visible(producer, timeout) bind(c, name="tcasm_wait_visible")
      import
      type(c_ptr), value :: producer
      real(c_double), value :: timeout
      integer(c_int) :: c_wait_visible
    end function c_wait_visible

    function c_wait_captured(producer, timeout) bind(c, name="tcasm_wait_captured")
      import
      type(c_ptr), value :: producer
      real(c_double), value :: timeout
      integer(c_int) :: c_wait_captured
    end function c_wait_captured

    function c_rollback(producer, version, step, time) bind(c, name="tcasm_rollback")
      import
      type(c_ptr), value :: producer
      integer(c_int64_t), value :: version
      integer(c_int64_t), intent(inout), optional :: step
      real(c_double), intent(inout), optional :: time
      integer(c_int) :: c_rollback
    end function c_rollback

    function c_trim(producer, bytes) bind(c, name="tcasm_trim")
      import
      type(c_ptr), value :: producer
      integer(c_int64_t), intent(inout), optional :: bytes
      integer(c_int) :: c_trim
    end function c_trim

    function c_add_uniform_mesh(producer, name, points, origin, spacing, attrs) bind(c, &
      name="tcasm_add_uniform_mesh")
      import
      type(c_ptr), value :: producer
      character(kind=c_char), intent(in), optional :: name(*)
      integer(c_size_t), intent(in), optional :: points(*)
      real(c_double), intent(in), optional :: origin(*)
      real(c_double), intent(in), optional :: spacing(*)
      type(c_ptr), value :: attrs
      integer(c_int) :: c_add_uniform_mesh
    end function c_add_uniform_mesh

    function c_add_mesh(producer, name, kind, fields, geometry, cell_type, attrs) bind(c, &
      name="tcasm_add_mesh")
      import
      type(c_ptr), value :: producer
      character(kind=c_char), intent(in), optional :: name(*)
      integer(c_int), value :: kind
      integer(c_size_t), value :: fields
      type(c_ptr), intent(in), optional :: geometry(*)
      integer(c_int8_t), value :: cell_type
      type(c_ptr), value :: attrs
      integer(c_int) :: c_add_mesh
    end function c_add_mesh

    function c_set_uniform_mesh(producer, name, points, origin, spacing) bind(c, &
      name="tcasm_set_uniform_mesh")
      import
      type(c_ptr), value :: producer
      character(kind=c_char), intent(in), optional :: name(*)
      integer(c_size_t), intent(in), optional :: points(*)
      real(c_double), intent(in), optional :: origin(*)
      real(c_double), intent(in), optional :: spacing(*)
      integer(c_int) :: c_set_uniform_mesh
    end function c_set_uniform_mesh

    function c_add_block(producer, name, points, origin, spacing, of, level, refinement, &
      offset, attrs) bind(c, name="tcasm_add_block")
      import
      type(c_ptr), value :: producer
      character(kind=c_char), intent(in), optional :: name(*)
      integer(c_size_t), intent(in), optional :: points(*)
      real(c_double), intent(in), optional :: origin(*)
      real(c_double), intent(in), optional :: spacing(*)
      character(kind=c_char), intent(in), optional :: of(*)
      integer(c_int32_t), value :: level
      integer(c_int32_t), intent(in), optional :: refinement(*)
      integer(c_int64_t), intent(in), optional :: offset(*)
      type(c_ptr), value :: attrs
      integer(c_int) :: c_add_block
    end function c_add_block

    function c_set_block(producer, name, of, level, refinement, offset) bind(c, &
      name="tcasm_set_block")
      import
      type(c_ptr), value :: producer
      character(kind=c_char), intent(in), optional :: name(*)
      character(kind=c_char), intent(in), optional :: of(*)
      integer(c_int32_t), value :: level
      integer(c_int32_t), intent(in), optional :: refinement(*)
      integer(c_int64_t), intent(in), optional :: offset(*)
      integer(c_int) :: c_set_block
    end function c_set_block

    function c_set_unused(producer, name) bind(c, name="tcasm_set_unused")
      import
      type(c_ptr), value :: producer
      character(kind=c_char), intent(in), optional :: name(*)
      integer(c_int) :: c_set_unused
    end function c_set_unused

    function c_buffer_like(producer, name, buffer, data) bind(c, name="tcasm_buffer_like")
      import
      type(c_ptr), value :: producer
      character(kind=c_char), intent(in), optional :: name(*)
      type(c_ptr), intent(inout), optional :: buffer
      type(c_ptr), intent(inout), optional :: data
      integer(c_int) :: c_buffer_like
    end function c_buffer_like

    function c_bind(producer, name, buffer, next, data) bind(c, name="tcasm_bind")
      import
      type(c_ptr), value :: producer
      character(kind=c_char), intent(in), optional :: name(*)
      type(c_ptr), value :: buffer
      type(c_ptr), intent(inout), optional :: next
      type(c_ptr), intent(inout), optional :: data
      integer(c_int) :: c_bind
    end function c_bind

    function c_rewrite(producer, name) bind(c, name="tcasm_rewrite")
      import
      type(c_ptr), value :: producer
      character(kind=c_char), intent(in), optional :: name(*)
      integer(c_int) :: c_rewrite
    end function c_rewrite

    function c_rewrite_buffer(producer, buffer) bind(c, name="tcasm_rewrite_buffer")
      import
      type(c_ptr), value :: producer
      type(c_ptr), value :: buffer
      integer(c_int) :: c_rewrite_buffer
    end function c_rewrite_buffer

    function c_mark_dirty(producer, name, offset, bytes) bind(c, name="tcasm_mark_dirty")
      import
      type(c_ptr), value :: producer
      character(kind=c_char), intent(in), optional :: name(*)
      integer(c_size_t), value :: offset
      integer(c_size_t), value :: bytes
      integer(c_int) :: c_mark_dirty
    end function c_mark_dirty

    function c_register_dma(producer, name) bind(c, name="tcasm_register_dma")
      import
      type(c_ptr), value :: producer
      character(kind=c_char), intent(in), optional :: name(*)
      integer(c_int) :: c_register_dma
    end function c_register_dma

    function c_attach(name, timeout, observer) bind(c, name="tcasm_attach")
      import
      character(kind=c_char), intent(in), optional :: name(*)
      real(c_double), value :: timeout
      type(c_ptr), intent(inout), optional :: observer
      integer(c_int) :: c_attach
    end function c_attach

    function c_attach_kept(name, observer) bind(c, name="tcasm_attach_kept")
      import
      character(kind=c_char), intent(in), optional :: name(*)
      type(c_ptr), intent(inout), optional :: observer
      integer(c_int) :: c_attach_kept
    end function c_attach_kept

    function c_detach(observer) bind(c, name="tcasm_detach")
      import
      type(c_ptr), value :: observer
      integer(c_int) :: c_detach
    end function c_detach

    function c_latest(observer, version) bind(c, name="tcasm_latest")
      import
      type(c_ptr), value :: observer
      type(c_ptr), intent(inout), optional :: version
      integer(c_int) :: c_latest
    end function c_latest

    function c_wait_newer(observer, timeout, version) bind(c, name="tcasm_wait_newer")
      import
      type(c_ptr), value :: observer
      real(c_double), value :: timeout
      type(c_ptr), intent(inout), optional :: version
      integer(c_int) :: c_wait_newer
    end function c_wait_newer

    function c_next(observer, timeout, version) bind(c, name="tcasm_next")
      import
      type(c_ptr), value :: observer
      real(c_double), value :: timeout
      type(c_ptr), intent(inout), optional :: version
      integer(c_int) :: c_next
    end function c_next

    function c_version_at(observer, number, version) bind(c, name="tcasm_version_at")
      import
      type(c_ptr), value :: observer
      integer(c_int64_t), value :: number
      type(c_ptr), intent(inout), optional :: version
      integer(c_int) :: c_version_at
    end function c_version_at

    function c_available(observer, numbers, room, count) bind(c, name="tcasm_available")
      import
      type(c_ptr), value :: observer
      integer(c_int64_t), intent(inout), optional :: numbers(*)
      integer(c_size_t), value :: room
      integer(c_size_t), intent(inout), optional :: count
      integer(c_int) :: c_available
    end function c_available

    function c_stream_status(observer) bind(c, name="tcasm_stream_status")
      import
      type(c_ptr), value :: observer
      integer(c_int) :: c_stream_status
    end function c_stream_status

    function c_descriptor(observer, descriptor) bind(c, name="tcasm_descriptor")
      import
      type(c_ptr), value :: observer
      integer(c_int), intent(inout), optional :: descriptor
      integer(c_int) :: c_descriptor
    end function c_descriptor

    function c_acknowledge(observer) bind(c, name="tcasm_acknowledge")
      import
      type(c_ptr), value :: observer
      integer(c_int) :: c_acknowledge
    end function c_acknowledge

    function c_set_copy_budget(observer, bytes) bind(c, name="tcasm_set_copy_budget")
      import
      type(c_ptr), value :: observer
      integer(c_int64_t), value :: bytes
      integer(c_int) :: c_set_copy_budget
    end function c_set_copy_budget

    function c_region_info(observer, info) bind(c, name="tcasm_region_info")
      import
      type(c_ptr), value :: observer
      type(tcasm_info), intent(inout) :: info
      integer(c_int) :: c_region_info
    end function c_region_info

    function c_counter(observer, name, value) bind(c, name="tcasm_counter")
      import
      type(c_ptr), value :: observer
      character(kind=c_char), intent(in), optional :: name(*)
      integer(c_int64_t), intent(inout), optional :: value
      integer(c_int) :: c_counter
    end function c_counter

    function c_release(version) bind(c, name="tcasm_release")
      import
      type(c_ptr), value :: version
      integer(c_int) :: c_release
    end function c_release

    function c_version_stamp(version, stamp) bind(c, name="tcasm_version_stamp")
      import
      type(c_ptr), value :: version
      type(tcasm_stamp), intent(inout) :: stamp
      integer(c_int) :: c_version_stamp
    end function c_version_stamp

    function c_field_count(version, count) bind(c, name="tcasm_field_count")
      import
      type(c_ptr), value :: version
      integer(c_size_t), intent(inout), optional :: count
      integer(c_int) :: c_field_count
    end function c_field_count

    function c_field_name(version, index, name) bind(c, name="tcasm_field_name")
      import
      type(c_ptr), value :: version
      integer(c_size_t), value :: index
      type(c_ptr), intent(inout), optional :: name
      integer(c_int) :: c_field_name
    end function c_field_name

    function c_array_of(version, name, array) bind(c, name="tcasm_array_of")
      import
      type(c_ptr), value :: version
      character(kind=c_char), intent(in), optional :: name(*)
      type(tcasm_array), intent(inout) :: array
      integer(c_int) :: c_array_of
    end function c_array_of

    function c_part_of(version, name, rank, first, count, array) bind(c, name="tcasm_part_of")
      import
      type(c_ptr), value :: version
      character(kind=c_char), intent(in), optional :: name(*)
      integer(c_size_t), value :: rank
      integer(c_size_t), intent(in), optional :: first(*)
      integer(c_size_t), intent(in), optional :: count(*)
      type(tcasm_array), intent(inout) :: array
      integer(c_int) :: c_part_of
    end function c_part_of

    function c_read(version, name, offset, to, bytes) bind(c, name="tcasm_read")
      import
      type(c_ptr), value :: version
      character(kind=c_char), intent(in), optional :: name(*)
      integer(c_int64_t), value :: offset
      integer(c_int8_t), intent(inout), optional :: to(*)
      integer(c_size_t), value :: bytes
      integer(c_int) :: c_read
    end function c_read

    function c_attrs_of(version, name, attrs) bind(c, name="tcasm_attrs_of")
      import
      type(c_ptr), value :: version
      character(kind=c_char), intent(in), optional :: name(*)
      type(c_ptr), intent(inout), optional :: attrs
      integer(c_int) :: c_attrs_of
    end function c_attrs_of

    function c_field_text(version, name, option, text) bind(c, name="tcasm_field_text")
      import
      type(c_ptr), value :: version
      character(kind=c_char), intent(in), optional :: name(*)
      integer(c_int), value :: option
      type(c_ptr), intent(inout), optional :: text
      integer(c_int) :: c_field_text
    end function c_field_text

    function c_changes(version, older, pages, names, room, count) bind(c, name="tcasm_changes")
      import
      type(c_ptr), value :: version
      type(c_ptr), value :: older
      integer(c_int64_t), intent(inout), optional :: pages
      type(c_ptr), intent(inout), optional :: names(*)
      integer(c_size_t), value :: room
      integer(c_size_t), intent(inout), optional :: count
      integer(c_int) :: c_changes
    end function c_changes

    function c_group_attach(name, group) bind(c, name="tcasm_group_attach")
      import
      character(kind=c_char), intent(in), optional :: name(*)
      type(c_ptr), intent(inout), optional :: group
      integer(c_int) :: c_group_attach
    end function c_group_attach

    function c_group_detach(group) bind(c, name="tcasm_group_detach")
      import
      type(c_ptr), value :: group
      integer(c_int) :: c_group_detach
    end function c_group_detach

    function c_group_latest(group, version) bind(c, name="tcasm_group_latest")
      import
      type(c_ptr), value :: group
      type(c_ptr), intent(inout), optional :: version
      integer(c_int) :: c_group_latest
    end function c_group_latest

    function c_group_wait_newer(group, timeout, version) bind(c, name="tcasm_group_wait_newer")
      import
      type(c_ptr), value :: group
      real(c_double), value :: timeout
      type(c_ptr), intent(inout), optional :: version
      integer(c_int) :: c_group_wait_newer
    end function c_group_wait_newer

    function c_group_release(version) bind(c, name="tcasm_group_release")
      import
      type(c_ptr), value :: version
      integer(c_int) :: c_group_release
    end function c_group_release

    function c_group_stamp(version, step, time, ranks) bind(c, name="tcasm_group_stamp")
      import
      type(c_ptr), value :: version
      integer(c_int64_t), intent(inout), optional :: step
      real(c_double), intent(inout), optional :: time
      integer(c_int32_t), intent(inout), optional :: ranks
      integer(c_int) :: c_group_stamp
    end function c_group_stamp

    function c_group_ranks(version, ranks, room, count) bind(c, name="tcasm_group_ranks")
      import
      type(c_ptr), value :: version
      integer(c_int32_t), intent(inout), optional :: ranks
      integer(c_size_t), value :: room
      integer(c_size_t), intent(inout), optional :: count
      integer(c_int) :: c_group_ranks
    end function c_group_ranks

    function c_group_member(group, rank, version) bind(c, name="tcasm_group_member")
      import
      type(c_ptr), value :: group
      integer(c_int32_t), value :: rank
      type(c_ptr), intent(inout), optional :: version
      integer(c_int) :: c_group_member
    end function c_group_member

    function c_host_buffer_open(job, count, names, sizes, flags, ranks, processes, timeout, &
      buffer) bind(c, name="tcasm_host_buffer_open")
      import
      character(kind=c_char), intent(in), optional :: job(*)
      integer(c_size_t), value :: count
      type(c_ptr), intent(in), optional :: names(*)
      integer(c_size_t), intent(in), optional :: sizes(*)
      integer(c_int32_t), intent(in), optional :: flags(*)
      integer(c_int32_t), intent(in), optional :: ranks(*)
      integer(c_size_t), value :: processes
      real(c_double), value :: timeout
      type(c_ptr), intent(inout), optional :: buffer
      integer(c_int) :: c_host_buffer_open
    end function c_host_buffer_open

    function c_host_buffer_close(buffer) bind(c, name="tcasm_host_buffer_close")
      import
      type(c_ptr), value :: buffer
      integer(c_int) :: c_host_buffer_close
    end function c_host_buffer_close

    function c_host_buffer_info(buffer, address, bytes, created) bind(c, &
      name="tcasm_host_buffer_info")
      import
      type(c_ptr), value :: buffer
      integer(c_size_t), intent(inout), optional :: address
      integer(c_size_t), intent(inout), optional :: bytes
      integer(c_int), intent(inout), optional :: created
      integer(c_int) :: c_host_buffer_info
    end function c_host_buffer_info

    function c_section(buffer, name, data, bytes) bind(c, name="tcasm_section")
      import
      type(c_ptr), value :: buffer
      character(kind=c_char), intent(in), optional :: name(*)
      type(c_ptr), intent(inout), optional :: data
      integer(c_size_t), intent(inout), optional :: bytes
      integer(c_int) :: c_section
    end function c_section

    function c_seal(buffer, name) bind(c, name="tcasm_seal")
      import
      type(c_ptr), value :: buffer
      character(kind=c_char), intent(in), optional :: name(*)
      integer(c_int) :: c_seal
    end function c_seal

    function c_wait_sealed(buffer, name, timeout) bind(c, name="tcasm_wait_sealed")
      import
      type(c_ptr), value :: buffer
      character(kind=c_char), intent(in), optional :: name(*)
      real(c_double), value :: timeout
      integer(c_int) :: c_wait_sealed
    end function c_wait_sealed

    function c_options_set_part(options, buffer, name, rank) bind(c, &
      name="tcasm_options_set_part")
      import
      type(c_ptr), value :: options
      type(c_ptr), value :: buffer
      character(kind=c_char), intent(in), optional :: name(*)
      integer(c_int32_t), value :: rank
      integer(c_int) :: c_options_set_part
    end function c_options_set_part

    function c_owner_new(everyone, owner) bind(c, name="tcasm_owner_new")
      import
      integer(c_int), value :: everyone
      type(c_ptr), intent(inout), optional :: owner
      integer(c_int) :: c_owner_new
    end function c_owner_new

    function c_owner_free(owner) bind(c, name="tcasm_owner_free")
      import
      type(c_ptr), value :: owner
      integer(c_int) :: c_owner_free
    end function c_owner_free

    function c_owner_address(owner, address) bind(c, name="tcasm_owner_address")
      import
      type(c_ptr), value :: owner
      type(c_ptr), intent(inout), optional :: address
      integer(c_int) :: c_owner_address
    end function c_owner_address

    function c_declare(owner, segments, count, access, once, cookie) bind(c, name="tcasm_declare")
      import
      type(c_ptr), value :: owner
      type(c_ptr), value :: segments
      integer(c_size_t), value :: count
      integer(c_int), value :: access
      integer(c_int), value :: once
      type(tcasm_cookie), intent(inout) :: cookie
      integer(c_int) :: c_declare
    end function c_declare

    function c_declare_array(owner, data, element, rank, shape, strides, access, once, &
      cookie) bind(c, name="tcasm_declare_array")
      import
      type(c_ptr), value :: owner
      type(c_ptr), value :: data
      integer(c_size_t), value :: element
      integer(c_size_t), value :: rank
      integer(c_size_t), intent(in), optional :: shape(*)
      integer(c_int64_t), intent(in), optional :: strides(*)
      integer(c_int), value :: access
      integer(c_int), value :: once
      type(tcasm_cookie), intent(inout) :: cookie
      integer(c_int) :: c_declare_array
    end function c_declare_array

    function c_declare_field(owner, version, name, cookie) bind(c, name="tcasm_declare_field")
      import
      type(c_ptr), value :: owner
      type(c_ptr), value :: version
      character(kind=c_char), intent(in), optional :: name(*)
      type(tcasm_cookie), intent(inout) :: cookie
      integer(c_int) :: c_declare_field
    end function c_declare_field

    function c_revoke(owner, cookie, timeout) bind(c, name="tcasm_revoke")
      import
      type(c_ptr), value :: owner
      type(c_ptr), value :: cookie
      real(c_double), value :: timeout
      integer(c_int) :: c_revoke
    end function c_revoke

    function c_connect(address, peer) bind(c, name="tcasm_connect")
      import
      character(kind=c_char), intent(in), optional :: address(*)
      type(c_ptr), intent(inout), optional :: peer
      integer(c_int) :: c_connect
    end function c_connect

    function c_disconnect(peer) bind(c, name="tcasm_disconnect")
      import
      type(c_ptr), value :: peer
      integer(c_int) :: c_disconnect
    end function c_disconnect

    function c_describe(peer, cookie, declaration) bind(c, name="tcasm_describe")
      import
      type(c_ptr), value :: peer
      type(c_ptr), value :: cookie
      type(tcasm_declaration), intent(inout) :: declaration
      integer(c_int) :: c_describe
    end function c_describe

    function c_read_declared(peer, cookie, offset, to, bytes, version) bind(c, &
      name="tcasm_read_declared")
      import
      type(c_ptr), value :: peer
      type(c_ptr), value :: cookie
      integer(c_int64_t), value :: offset
      integer(c_int8_t), intent(inout), optional :: to(*)
      integer(c_size_t), value :: bytes
      integer(c_int64_t), intent(inout), optional :: version
      integer(c_int) :: c_read_declared
    end function c_read_declared

    function c_write_declared(peer, cookie, offset, from, bytes) bind(c, &
      name="tcasm_write_declared")
      import
      type(c_ptr), value :: peer
      type(c_ptr), value :: cookie
      integer(c_int64_t), value :: offset
      integer(c_int8_t), intent(in), optional :: from(*)
      integer(c_size_t), value :: bytes
      integer(c_int) :: c_write_declared
    end function c_write_declared

    function c_attrs_new(attrs) bind(c, name="tcasm_attrs_new")
      import
      type(c_ptr), intent(inout), optional :: attrs
      integer(c_int) :: c_attrs_new
    end function c_attrs_new

    function c_attrs_free(attrs) bind(c, name="tcasm_attrs_free")
      import
      type(c_ptr), value :: attrs
      integer(c_int) :: c_attrs_free
    end function c_attrs_free

    function c_attrs_set_int(attrs, name, value) bind(c, name="tcasm_attrs_set_int")
      import
      type(c_ptr), value :: attrs
      character(kind=c_char), intent(in), optional :: name(*)
      integer(c_int64_t), value :: value
      integer(c_int) :: c_attrs_set_int
    end function c_attrs_set_int

    function c_attrs_set_float(attrs, name, value) bind(c, name="tcasm_attrs_set_float")
      import
      type(c_ptr), value :: attrs
      character(kind=c_char), intent(in), optional :: name(*)
      real(c_double), value :: value
      integer(c_int) :: c_attrs_set_float
    end function c_attrs_set_float

    function c_attrs_set_text(attrs, name, value) bind(c, name="tcasm_attrs_set_text")
      import
      type(c_ptr), value :: attrs
      character(kind=c_char), intent(in), optional :: name(*)
      character(kind=c_char), intent(in), optional :: value(*)
      integer(c_int) :: c_attrs_set_text
    end function c_attrs_set_text

    function c_attrs_set_floats(attrs, name, values, count) bind(c, name="tcasm_attrs_set_floats")
      import
      type(c_ptr), value :: attrs
      character(kind=c_char), intent(in), optional :: name(*)
      real(c_double), intent(in), optional :: values(*)
      integer(c_size_t), value :: count
      integer(c_int) :: c_attrs_set_floats
    end function c_attrs_set_floats

    function c_attrs_count(attrs, count) bind(c, name="tcasm_attrs_count")
      import
      type(c_ptr), value :: attrs
      integer(c_size_t), intent(inout), optional :: count
      integer(c_int) :: c_attrs_count
    end function c_attrs_count

    function c_attrs_at(attrs, index, name, kind) bind(c, name="tcasm_attrs_at")
      import
      type(c_ptr), value :: attrs
      integer(c_size_t), value :: index
      type(c_ptr), intent(inout), optional :: name
      integer(c_int), intent(inout), optional :: kind
      integer(c_int) :: c_attrs_at
    end function c_attrs_at

    function c_attrs_get_int(attrs, name, value) bind(c, name="tcasm_attrs_get_int")
      import
      type(c_ptr), value :: attrs
      character(kind=c_char), intent(in), optional :: name(*)
      integer(c_int64_t), intent(inout), optional :: value
      integer(c_int) :: c_attrs_get_int
    end function c_attrs_get_int

    function c_attrs_get_float(attrs, name, value) bind(c, name="tcasm_attrs_get_float")
      import
      type(c_ptr), value :: attrs
      character(kind=c_char), intent(in), optional :: name(*)
      real(c_double), intent(inout), optional :: value
      integer(c_int) :: c_attrs_get_float
    end function c_attrs_get_float

    function c_attrs_get_text(attrs, name, value) bind(c, name="tcasm_attrs_get_text")
      import
      type(c_ptr), value :: attrs
      character(kind=c_char), intent(in), optional :: name(*)
      type(c_ptr), intent(inout), optional :: value
      integer(c_int) :: c_attrs_get_text
    end function c_attrs_get_text

    function c_attrs_get_floats(attrs, name, values, room, count) bind(c, &
      name="tcasm_attrs_get_floats")
      import
      type(c_ptr), value :: attrs
      character(kind=c_char), intent(in), optional :: name(*)
      real(c_double), intent(inout), optional :: values(*)
      integer(c_size_t), value :: room
      integer(c_size_t), intent(inout), optional :: count
      integer(c_int) :: c_attrs_get_floats
    end function c_attrs_get_floats

  end interface

end module tcasm_c

!> Statuses and texts of errors.
module tcasm_errors
  use, intrinsic :: iso_c_binding
  use tcasm_constants
  use tcasm_c
  implicit none
  private
  public :: tcasm_last_error, tcasm_status_name, tcasm_library_version
  public :: report, refused, fortran_text, c_text

  !> The text of the last status, if these modules have found it, and not the library.
  character(:), allocatable, save :: own
  !> That of a status that was not reported yet.
  character(:), allocatable, save :: coming
  !$omp threadprivate(own, coming)

  interface
    function strlen(text) bind(c)
      import :: c_ptr, c_size_t
      type(c_ptr), value :: text
      integer(c_size_t) :: strlen
    end function strlen
  end interface

contains

  !> Returns what the last status of this thread that was not TCASM_OK means, and what to do.
  function tcasm_last_error() result(text)
    character(:), allocatable :: text
    if (allocated(own)) then
      text = own
    else
      text = fortran_text(c_last_error())
    end if
  end function tcasm_last_error

  !> Returns the name of a status, such as "TCASM_NOT_READY".
  function tcasm_status_name(status) result(text)
    integer, intent(in) :: status
    character(:), allocatable :: text
    text = fortran_text(c_status_name(int(status, c_int)))
  end function tcasm_status_name

  !> Returns the version of the library.
  function tcasm_library_version() result(text)
    character(:), allocatable :: text
    text = fortran_text(c_library_version())
  end function tcasm_library_version

  !> Gives a status to the caller. A caller that does not ask for it is stopped by an error.
  subroutine report(code, status)
    integer(c_int), intent(in) :: code
    integer, intent(out), optional :: status
    character(:), allocatable :: text
    if (code /= TCASM_OK) call move_alloc(coming, own)
    if (present(status)) then
      status = code
    else if (code /= TCASM_OK .and. code /= TCASM_SKIPPED) then
      text = "tcasm: " // tcasm_last_error()
      error stop text
    end if
  end subroutine report

  !> Returns the status for an argument that has a value that it cannot have.
  function refused(text) result(code)
    character(*), intent(in) :: text
    integer(c_int) :: code
    coming = text
    code = TCASM_INVALID_ARGUMENT
  end function refused

  !> Returns a text of the library.
  function fortran_text(from) result(text)
    type(c_ptr), intent(in) :: from
    character(:), allocatable :: text
    character(kind=c_char), pointer :: letters(:)
    integer(c_size_t) :: i, n
    text = ""
    if (.not. c_associated(from)) return
    n = strlen(from)
    call c_f_pointer(from, letters, [n])
    deallocate (text)
    allocate (character(n) :: text)
    do i = 1, n
      text(i:i) = letters(i)
    end do
  end function fortran_text

  !> Returns a text for the library, without the blanks at its end.
  pure function c_text(from) result(text)
    character(*), intent(in) :: from
    character(:), allocatable :: text
    text = trim(from) // c_null_char
  end function c_text

end module tcasm_errors

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

!> Memory that has fields: live memory of a producer, a buffer, or a version.
module tcasm_sources
  use, intrinsic :: iso_c_binding
  use, intrinsic :: iso_fortran_env, only: int32, int64
  use tcasm_constants
  use tcasm_c
  use tcasm_errors
  implicit none
  private
  public :: tcasm_source, extents_of, bounds, mapped, numbers

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
    character(200) :: text
    data = c_null_ptr
    extents = 0
    array%size = c_sizeof(array)
    code = source%layout(name, array)
    if (code /= TCASM_OK) return
    if (array%dtype /= dtype .and. array%dtype /= unsigned) then
      write (text, "(a, i0, a, i0)") " has elements of the TCASM type ", array%dtype, &
        ", and the pointer those of type ", dtype
      code = refused("field " // trim(name) // trim(text))
    else if (array%rank /= size(extents)) then
      write (text, "(a, i0, a, i0)") " has rank ", array%rank, ", and the pointer has rank ", &
        size(extents)
      code = refused("field " // trim(name) // trim(text))
    else
      extents = extents_of(array)
      data = array%data
    end if
  end function mapped

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

!> Options of regions and fields.
module tcasm_settings
  use, intrinsic :: iso_c_binding
  use, intrinsic :: iso_fortran_env, only: int64, real64
  use tcasm_constants
  use tcasm_c
  use tcasm_errors
  use tcasm_attributes
  implicit none
  private
  public :: tcasm_options, tcasm_field_options, region_options, field_options

  !> The options of a region. Those that are negative have the defaults of the library.
  type :: tcasm_options
    integer(int64) :: versions = -1
    integer(int64) :: history = -1
    integer(int64) :: first_version = -1
    integer(int64) :: memory = -1
    integer(int64) :: capture = -1
    integer(int64) :: max_observers = -1
    integer(int64) :: base = -1
    integer(int64) :: copiers = -1
    logical :: wait_for_capture = .false.
    logical :: no_kernel_writes = .false.
    logical :: allow_everyone = .false.
    !> The rank of a group, if it is not negative, and the numbers of ranks in all and here.
    integer :: rank = -1
    integer :: ranks = 1
    integer :: local_ranks = 1
    type(tcasm_attrs) :: attrs = tcasm_attrs()
  end type tcasm_options

  !> The options of a field.
  type :: tcasm_field_options
    !> The type of the elements, if it is unsigned: TCASM_U8 for integer(int8) and so on.
    integer :: dtype = 0
    !> With TCASM_ORDER_C other languages see all dimensions reversed.
    integer :: order = TCASM_ORDER_F
    integer :: centring = TCASM_ON_POINTS
    !> The first dimension is the components of a vector or tensor.
    logical :: vector = .false.
    !> The extent of the last dimension may change (tcasm_set_len).
    logical :: variable = .false.
    !> The field is rewritten whole before each publish (tcasm_rewrite).
    logical :: handed_over = .false.
    logical :: in_checkpoints = .true.
    character(:), allocatable :: unit
    character(:), allocatable :: mesh
    character(:), allocatable :: quantity
    !> The ghost layers of each dimension but that of components.
    integer, allocatable :: ghosts_before(:)
    integer, allocatable :: ghosts_after(:)
    !> A uniform mesh of the field itself, along x, y and z.
    real(real64), allocatable :: origin(:)
    real(real64), allocatable :: spacing(:)
    type(tcasm_attrs) :: attrs = tcasm_attrs()
  end type tcasm_field_options

contains

  !> Makes options of the library. The caller frees them, also after an error.
  function region_options(from, handle) result(code)
    type(tcasm_options), intent(in) :: from
    type(c_ptr), intent(out) :: handle
    integer(c_int) :: code
    handle = c_null_ptr
    code = c_options_new(handle)
    call put(TCASM_VERSIONS, from%versions)
    call put(TCASM_HISTORY, from%history)
    call put(TCASM_FIRST_VERSION, from%first_version)
    call put(TCASM_MEMORY, from%memory)
    call put(TCASM_CAPTURE, from%capture)
    call put(TCASM_MAX_OBSERVERS, from%max_observers)
    call put(TCASM_BASE, from%base)
    call put(TCASM_COPIERS, from%copiers)
    call put(TCASM_WAIT_FOR_CAPTURE, flag(from%wait_for_capture))
    call put(TCASM_NO_KERNEL_WRITES, flag(from%no_kernel_writes))
    call put(TCASM_ALLOW_EVERYONE, flag(from%allow_everyone))
    if (code == TCASM_OK .and. from%rank >= 0) then
      code = c_options_set_group(handle, int(from%rank, c_int32_t), &
        int(from%ranks, c_int32_t), int(from%local_ranks, c_int32_t))
    end if
    if (code == TCASM_OK .and. c_associated(from%attrs%handle)) then
      code = c_options_set_attrs(handle, from%attrs%handle)
    end if

  contains

    subroutine put(option, value)
      integer, intent(in) :: option
      integer(int64), intent(in) :: value
      if (code == TCASM_OK .and. value >= 0) code = c_options_set(handle, int(option, c_int), value)
    end subroutine put

  end function region_options

  !> Makes options of the library. The caller frees them, also after an error.
  function field_options(from, handle) result(code)
    type(tcasm_field_options), intent(in) :: from
    type(c_ptr), intent(out) :: handle
    integer(c_int) :: code
    handle = c_null_ptr
    code = c_field_options_new(handle)
    call put(TCASM_FIELD_ORDER, int(from%order, int64))
    call put(TCASM_FIELD_CENTRING, int(from%centring, int64))
    call put(TCASM_FIELD_VECTOR, flag(from%vector))
    call put(TCASM_FIELD_VARIABLE, flag(from%variable))
    call put(TCASM_FIELD_HANDED_OVER, flag(from%handed_over))
    call put(TCASM_FIELD_IN_CHECKPOINTS, flag(from%in_checkpoints))
    if (allocated(from%unit)) call put_text(TCASM_FIELD_UNIT, from%unit)
    if (allocated(from%mesh)) call put_text(TCASM_FIELD_MESH, from%mesh)
    if (allocated(from%quantity)) call put_text(TCASM_FIELD_QUANTITY, from%quantity)
    if (code == TCASM_OK) code = ghosts(from, handle)
    if (code == TCASM_OK) code = uniform(from, handle)
    if (code == TCASM_OK .and. c_associated(from%attrs%handle)) then
      code = c_field_options_set_attrs(handle, from%attrs%handle)
    end if

  contains

    subroutine put(option, value)
      integer, intent(in) :: option
      integer(int64), intent(in) :: value
      if (code == TCASM_OK) code = c_field_options_set(handle, int(option, c_int), value)
    end subroutine put

    subroutine put_text(option, value)
      integer, intent(in) :: option
      character(*), intent(in) :: value
      if (code /= TCASM_OK) return
      code = c_field_options_set_text(handle, int(option, c_int), c_text(value))
    end subroutine put_text

  end function field_options

  function ghosts(from, handle) result(code)
    type(tcasm_field_options), intent(in) :: from
    type(c_ptr), intent(in) :: handle
    integer(c_int) :: code
    integer(c_size_t), allocatable :: before(:), after(:)
    code = TCASM_OK
    if (.not. (allocated(from%ghosts_before) .or. allocated(from%ghosts_after))) return
    if (.not. (allocated(from%ghosts_before) .and. allocated(from%ghosts_after))) then
      code = refused("of ghosts_before and ghosts_after only one is given")
      return
    end if
    allocate (before, source=int(from%ghosts_before, c_size_t))
    allocate (after, source=int(from%ghosts_after, c_size_t))
    if (size(before) /= size(after) .or. any(before < 0) .or. any(after < 0)) then
      code = refused("ghosts_before and ghosts_after differ in size, or are negative")
      return
    end if
    if (from%order == TCASM_ORDER_C) then
      before = before(size(before):1:-1)
      after = after(size(after):1:-1)
    end if
    code = c_field_options_set_ghosts(handle, size(before, kind=c_size_t), before, after)
  end function ghosts

  function uniform(from, handle) result(code)
    type(tcasm_field_options), intent(in) :: from
    type(c_ptr), intent(in) :: handle
    integer(c_int) :: code
    real(c_double) :: origin(3), spacing(3)
    code = TCASM_OK
    if (.not. (allocated(from%origin) .or. allocated(from%spacing))) return
    origin = 0
    spacing = 1
    if (allocated(from%origin)) then
      if (size(from%origin) /= 3) code = refused("the origin of a field is three numbers")
      if (code == TCASM_OK) origin = from%origin
    end if
    if (allocated(from%spacing)) then
      if (size(from%spacing) /= 3) code = refused("the spacing of a field is three numbers")
      if (code == TCASM_OK) spacing = from%spacing
    end if
    if (code /= TCASM_OK) return
    code = c_field_options_set_uniform(handle, origin, spacing)
  end function uniform

  pure function flag(on) result(value)
    logical, intent(in) :: on
    integer(int64) :: value
    value = merge(1_int64, 0_int64, on)
  end function flag

end module tcasm_settings

!> Regions that this process publishes.
module tcasm_producers
  use, intrinsic :: iso_c_binding
  use, intrinsic :: iso_fortran_env, only: int64, real64
  use tcasm_constants
  use tcasm_c
  use tcasm_errors
  use tcasm_attributes
  use tcasm_settings
  use tcasm_sources
  implicit none
  private
  public :: tcasm_producer, tcasm_buffer, added
  public :: tcasm_create, tcasm_close, tcasm_publish, tcasm_wait_visible, tcasm_wait_captured
  public :: tcasm_set_len, tcasm_len, tcasm_set_attrs, tcasm_rollback, tcasm_last_receipt
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

  !> Adds a field. `shape` has the extents of an array of Fortran, ghost layers included.
  function added(producer, name, dtype, shape, options, data) result(code)
    type(tcasm_producer), intent(in) :: producer
    character(*), intent(in) :: name
    integer, intent(in) :: dtype
    integer(int64), intent(in) :: shape(:)
    type(tcasm_field_options), intent(in), optional :: options
    type(c_ptr), intent(out) :: data
    integer(c_int) :: code, ignored
    type(tcasm_field_options) :: from
    type(c_ptr) :: settings
    integer(c_size_t), allocatable :: extents(:)
    data = c_null_ptr
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
    if (code == TCASM_OK) code = c_add_field(producer%handle, c_text(name), &
      int(from%dtype, c_int), size(extents, kind=c_size_t), extents, settings, data)
    ignored = c_field_options_free(settings)
  end function added

  !> Publishes the fields as they are now, as the next version. If there is no room, the status is
  !! TCASM_SKIPPED, and the changes are in the next version. With `timeout`, in seconds, it tries
  !! again until the time is over, or for ever if it is negative.
  subroutine tcasm_publish(producer, step, time, timeout, status)
    type(tcasm_producer), intent(in) :: producer
    integer, intent(in) :: step
    real(real64), intent(in) :: time
    real(real64), intent(in), optional :: timeout
    integer, intent(out), optional :: status
    integer(c_int) :: code
    if (present(timeout)) then
      code = c_publish_wait(producer%handle, int(step, c_int64_t), time, timeout)
    else
      code = c_publish(producer%handle, int(step, c_int64_t), time)
    end if
    call report(code, status)
  end subroutine tcasm_publish

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

  !> Sets the length of a variable field, or of a mesh, from the next version on: the extent of the
  !! last dimension.
  subroutine tcasm_set_len(producer, name, len, status)
    type(tcasm_producer), intent(in) :: producer
    character(*), intent(in) :: name
    integer, intent(in) :: len
    integer, intent(out), optional :: status
    call report(c_set_len(producer%handle, c_text(name), int(len, c_size_t)), status)
  end subroutine tcasm_set_len

  !> Returns the length of a variable field, or of a mesh.
  function tcasm_len(producer, name, status) result(len)
    type(tcasm_producer), intent(in) :: producer
    character(*), intent(in) :: name
    integer, intent(out), optional :: status
    integer(int64) :: len
    len = 0
    call report(c_len(producer%handle, c_text(name), len), status)
  end function tcasm_len

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

!> Meshes of a producer.
module tcasm_meshes
  use, intrinsic :: iso_c_binding
  use, intrinsic :: iso_fortran_env, only: int64, real64
  use tcasm_constants
  use tcasm_c
  use tcasm_errors
  use tcasm_attributes
  use tcasm_producers
  implicit none
  private
  public :: tcasm_add_uniform_mesh, tcasm_add_mesh, tcasm_set_uniform_mesh, tcasm_set_block
  public :: tcasm_set_unused

contains

  !> Adds a uniform mesh: points, origin and spacing along x, y and z.
  subroutine tcasm_add_uniform_mesh(producer, name, points, origin, spacing, attrs, status)
    type(tcasm_producer), intent(in) :: producer
    character(*), intent(in) :: name
    integer, intent(in) :: points(3)
    real(real64), intent(in) :: origin(3), spacing(3)
    type(tcasm_attrs), intent(in), optional :: attrs
    integer, intent(out), optional :: status
    type(tcasm_attrs) :: list
    if (present(attrs)) list = attrs
    call report(c_add_uniform_mesh(producer%handle, c_text(name), int(points, c_size_t), origin, &
      spacing, list%handle), status)
  end subroutine tcasm_add_uniform_mesh

  !> Adds a mesh whose geometry is fields that exist: TCASM_PARTICLES and the like. `cell_type` is
  !! VTK's number of the cells of TCASM_UNSTRUCTURED.
  subroutine tcasm_add_mesh(producer, name, kind, geometry, cell_type, attrs, status)
    type(tcasm_producer), intent(in) :: producer
    character(*), intent(in) :: name
    integer, intent(in) :: kind
    character(*), intent(in) :: geometry(:)
    integer, intent(in), optional :: cell_type
    type(tcasm_attrs), intent(in), optional :: attrs
    integer, intent(out), optional :: status
    character(kind=c_char, len=len(geometry) + 1), target :: texts(size(geometry))
    type(c_ptr) :: names(size(geometry))
    type(tcasm_attrs) :: list
    integer :: i, cells
    do i = 1, size(geometry)
      texts(i) = c_text(geometry(i))
      names(i) = c_loc(texts(i))
    end do
    cells = 0
    if (present(cell_type)) cells = cell_type
    if (present(attrs)) list = attrs
    call report(c_add_mesh(producer%handle, c_text(name), int(kind, c_int), &
      size(names, kind=c_size_t), names, int(cells, c_int8_t), list%handle), status)
  end subroutine tcasm_add_mesh

  !> Gives a uniform mesh other points, another origin and another spacing.
  subroutine tcasm_set_uniform_mesh(producer, name, points, origin, spacing, status)
    type(tcasm_producer), intent(in) :: producer
    character(*), intent(in) :: name
    integer, intent(in) :: points(3)
    real(real64), intent(in) :: origin(3), spacing(3)
    integer, intent(out), optional :: status
    call report(c_set_uniform_mesh(producer%handle, c_text(name), int(points, c_size_t), origin, &
      spacing), status)
  end subroutine tcasm_set_uniform_mesh

  !> Makes a mesh a block of the block-structured mesh `of`: its level, how many cells a cell of the
  !! next coarser level has, and the index of its first cell from 0, both along x, y and z.
  subroutine tcasm_set_block(producer, name, of, level, refinement, offset, status)
    type(tcasm_producer), intent(in) :: producer
    character(*), intent(in) :: name, of
    integer, intent(in) :: level, refinement(3)
    integer(int64), intent(in) :: offset(3)
    integer, intent(out), optional :: status
    call report(c_set_block(producer%handle, c_text(name), c_text(of), int(level, c_int32_t), &
      int(refinement, c_int32_t), offset), status)
  end subroutine tcasm_set_block

  !> Makes a uniform mesh unused, with the variable fields on it.
  subroutine tcasm_set_unused(producer, name, status)
    type(tcasm_producer), intent(in) :: producer
    character(*), intent(in) :: name
    integer, intent(out), optional :: status
    call report(c_set_unused(producer%handle, c_text(name)), status)
  end subroutine tcasm_set_unused

end module tcasm_meshes

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
  public :: tcasm_attrs_of, tcasm_array_of, tcasm_changed_pages

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

  !> Returns how many pages differ between two versions.
  function tcasm_changed_pages(version, older, status) result(pages)
    type(tcasm_version), intent(in) :: version, older
    integer, intent(out), optional :: status
    integer(int64) :: pages
    pages = 0
    call report(c_changes(version%handle, older%handle, pages, room=0_c_size_t), status)
  end function tcasm_changed_pages

  function version_layout(source, name, array) result(code)
    class(tcasm_version), intent(in) :: source
    character(*), intent(in) :: name
    type(tcasm_array), intent(inout) :: array
    integer(c_int) :: code
    code = c_array_of(source%handle, c_text(name), array)
  end function version_layout

end module tcasm_pinned_versions

!> Attachments to regions.
module tcasm_observers
  use, intrinsic :: iso_c_binding
  use, intrinsic :: iso_fortran_env, only: int64, real64
  use tcasm_constants
  use tcasm_c
  use tcasm_errors
  use tcasm_pinned_versions
  implicit none
  private
  public :: tcasm_observer, tcasm_attach, tcasm_attach_kept, tcasm_detach, tcasm_latest
  public :: tcasm_wait_newer, tcasm_next, tcasm_next_version, tcasm_version_at, tcasm_available
  public :: tcasm_stream_status, tcasm_set_copy_budget, tcasm_region_info, tcasm_counter

  !> An attachment to a region.
  type :: tcasm_observer
    type(c_ptr) :: handle = c_null_ptr
  end type tcasm_observer

contains

  !> Attaches to the region `name`. Waits for it for up to `timeout` seconds, or for ever if it is
  !! negative.
  subroutine tcasm_attach(observer, name, timeout, status)
    type(tcasm_observer), intent(out) :: observer
    character(*), intent(in) :: name
    real(real64), intent(in), optional :: timeout
    integer, intent(out), optional :: status
    real(c_double) :: limit
    limit = 0
    if (present(timeout)) limit = timeout
    call report(c_attach(c_text(name), limit, observer%handle), status)
  end subroutine tcasm_attach

  !> Attaches to the last versions of a dead producer, which another process keeps.
  subroutine tcasm_attach_kept(observer, name, status)
    type(tcasm_observer), intent(out) :: observer
    character(*), intent(in) :: name
    integer, intent(out), optional :: status
    call report(c_attach_kept(c_text(name), observer%handle), status)
  end subroutine tcasm_attach_kept

  !> Ends an attachment. Versions that it has returned stay until they are released.
  subroutine tcasm_detach(observer, status)
    type(tcasm_observer), intent(inout) :: observer
    integer, intent(out), optional :: status
    call report(c_detach(observer%handle), status)
    observer%handle = c_null_ptr
  end subroutine tcasm_detach

  !> Gets the newest version, also after the end of the stream. Releases what `version` held.
  subroutine tcasm_latest(observer, version, status)
    type(tcasm_observer), intent(in) :: observer
    type(tcasm_version), intent(inout) :: version
    integer, intent(out), optional :: status
    type(c_ptr) :: found
    integer(c_int) :: code
    found = c_null_ptr
    code = c_latest(observer%handle, found)
    call take(version, found, code, status)
  end subroutine tcasm_latest

  !> Waits for a version that is newer than all that were returned, and gets the newest: as long as
  !! it takes, or `timeout` seconds. Releases what `version` held.
  subroutine tcasm_wait_newer(observer, version, timeout, status)
    type(tcasm_observer), intent(in) :: observer
    type(tcasm_version), intent(inout) :: version
    real(real64), intent(in), optional :: timeout
    integer, intent(out), optional :: status
    type(c_ptr) :: found
    integer(c_int) :: code
    found = c_null_ptr
    code = c_wait_newer(observer%handle, limit_of(timeout), found)
    call take(version, found, code, status)
  end subroutine tcasm_wait_newer

  !> Waits like tcasm_wait_newer, and gets the oldest version that is newer than the last one that
  !! was returned. Releases what `version` held.
  subroutine tcasm_next(observer, version, timeout, status)
    type(tcasm_observer), intent(in) :: observer
    type(tcasm_version), intent(inout) :: version
    real(real64), intent(in), optional :: timeout
    integer, intent(out), optional :: status
    type(c_ptr) :: found
    integer(c_int) :: code
    found = c_null_ptr
    code = c_next(observer%handle, limit_of(timeout), found)
    call take(version, found, code, status)
  end subroutine tcasm_next

  !> Waits for the next version. Returns false at the end of the stream:
  !! `do while (tcasm_next_version(observer, version))`.
  function tcasm_next_version(observer, version) result(there)
    type(tcasm_observer), intent(in) :: observer
    type(tcasm_version), intent(inout) :: version
    logical :: there
    integer :: status
    call tcasm_next(observer, version, status=status)
    there = status == TCASM_OK
    if (there) return
    if (status == TCASM_END_OF_STREAM) then
      call tcasm_release(version)
    else
      call report(int(status, c_int))
    end if
  end function tcasm_next_version

  !> Gets the version of a number, if it is available. Releases what `version` held.
  subroutine tcasm_version_at(observer, number, version, status)
    type(tcasm_observer), intent(in) :: observer
    integer(int64), intent(in) :: number
    type(tcasm_version), intent(inout) :: version
    integer, intent(out), optional :: status
    type(c_ptr) :: found
    integer(c_int) :: code
    found = c_null_ptr
    code = c_version_at(observer%handle, number, found)
    call take(version, found, code, status)
  end subroutine tcasm_version_at

  !> Gets the numbers of the versions that are available, ascending.
  subroutine tcasm_available(observer, numbers, status)
    type(tcasm_observer), intent(in) :: observer
    integer(int64), allocatable, intent(out) :: numbers(:)
    integer, intent(out), optional :: status
    integer(int64), allocatable :: room(:)
    integer(c_size_t) :: n
    integer(c_int) :: code
    allocate (room(64))
    n = 0
    code = c_available(observer%handle, room, size(room, kind=c_size_t), n)
    do while (code == TCASM_OK .and. n > size(room))
      deallocate (room)
      allocate (room(n))
      code = c_available(observer%handle, room, size(room, kind=c_size_t), n)
    end do
    numbers = room(:n)
    call report(code, status)
  end subroutine tcasm_available

  !> Returns the state of the stream: TCASM_OK, TCASM_NOT_READY, TCASM_END_OF_STREAM,
  !! TCASM_PRODUCER_LOST or TCASM_REVOKED.
  function tcasm_stream_status(observer) result(status)
    type(tcasm_observer), intent(in) :: observer
    integer :: status
    status = c_stream_status(observer%handle)
  end function tcasm_stream_status

  !> Sets how many bytes mapped versions may take here for copies of scattered parts.
  subroutine tcasm_set_copy_budget(observer, bytes, status)
    type(tcasm_observer), intent(in) :: observer
    integer(int64), intent(in) :: bytes
    integer, intent(out), optional :: status
    call report(c_set_copy_budget(observer%handle, bytes), status)
  end subroutine tcasm_set_copy_budget

  !> Gets facts about the region.
  subroutine tcasm_region_info(observer, info, status)
    type(tcasm_observer), intent(in) :: observer
    type(tcasm_info), intent(out) :: info
    integer, intent(out), optional :: status
    info%size = c_sizeof(info)
    call report(c_region_info(observer%handle, info), status)
  end subroutine tcasm_region_info

  !> Gets a counter of the region, such as "HeldBytes".
  subroutine tcasm_counter(observer, name, value, status)
    type(tcasm_observer), intent(in) :: observer
    character(*), intent(in) :: name
    integer(int64), intent(out) :: value
    integer, intent(out), optional :: status
    value = 0
    call report(c_counter(observer%handle, c_text(name), value), status)
  end subroutine tcasm_counter

  !> Puts a version that was found in the place of the one held.
  subroutine take(version, found, code, status)
    type(tcasm_version), intent(inout) :: version
    type(c_ptr), intent(in) :: found
    integer(c_int), intent(in) :: code
    integer, intent(out), optional :: status
    if (code == TCASM_OK) then
      call tcasm_release(version)
      version%handle = found
    end if
    call report(code, status)
  end subroutine take

  pure function limit_of(timeout) result(limit)
    real(real64), intent(in), optional :: timeout
    real(c_double) :: limit
    limit = -1
    if (present(timeout)) limit = timeout
  end function limit_of

end module tcasm_observers

!> Fields as pointers of Fortran, for all kinds and ranks.
module tcasm_fields
  use, intrinsic :: iso_c_binding
  use, intrinsic :: iso_fortran_env, only: int8, int16, int32, int64, real32, real64
  use tcasm_constants
  use tcasm_errors
  use tcasm_settings
  use tcasm_sources
  use tcasm_producers
  implicit none
  private
  public :: tcasm_add_field, tcasm_get

  interface tcasm_add_field
    module procedure add_int8_0
    module procedure add_int8_1
    module procedure add_int8_2
    module procedure add_int8_3
    module procedure add_int8_4
    module procedure add_int8_5
    module procedure add_int8_6
    module procedure add_int8_7
    module procedure add_int16_0
    module procedure add_int16_1
    module procedure add_int16_2
    module procedure add_int16_3
    module procedure add_int16_4
    module procedure add_int16_5
    module procedure add_int16_6
    module procedure add_int16_7
    module procedure add_int32_0
    module procedure add_int32_1
    module procedure add_int32_2
    module procedure add_int32_3
    module procedure add_int32_4
    module procedure add_int32_5
    module procedure add_int32_6
    module procedure add_int32_7
    module procedure add_int64_0
    module procedure add_int64_1
    module procedure add_int64_2
    module procedure add_int64_3
    module procedure add_int64_4
    module procedure add_int64_5
    module procedure add_int64_6
    module procedure add_int64_7
    module procedure add_real32_0
    module procedure add_real32_1
    module procedure add_real32_2
    module procedure add_real32_3
    module procedure add_real32_4
    module procedure add_real32_5
    module procedure add_real32_6
    module procedure add_real32_7
    module procedure add_real64_0
    module procedure add_real64_1
    module procedure add_real64_2
    module procedure add_real64_3
    module procedure add_real64_4
    module procedure add_real64_5
    module procedure add_real64_6
    module procedure add_real64_7
    module procedure add_complex32_0
    module procedure add_complex32_1
    module procedure add_complex32_2
    module procedure add_complex32_3
    module procedure add_complex32_4
    module procedure add_complex32_5
    module procedure add_complex32_6
    module procedure add_complex32_7
    module procedure add_complex64_0
    module procedure add_complex64_1
    module procedure add_complex64_2
    module procedure add_complex64_3
    module procedure add_complex64_4
    module procedure add_complex64_5
    module procedure add_complex64_6
    module procedure add_complex64_7
  end interface tcasm_add_field

  interface tcasm_get
    module procedure get_int8_0
    module procedure get_int8_1
    module procedure get_int8_2
    module procedure get_int8_3
    module procedure get_int8_4
    module procedure get_int8_5
    module procedure get_int8_6
    module procedure get_int8_7
    module procedure get_int16_0
    module procedure get_int16_1
    module procedure get_int16_2
    module procedure get_int16_3
    module procedure get_int16_4
    module procedure get_int16_5
    module procedure get_int16_6
    module procedure get_int16_7
    module procedure get_int32_0
    module procedure get_int32_1
    module procedure get_int32_2
    module procedure get_int32_3
    module procedure get_int32_4
    module procedure get_int32_5
    module procedure get_int32_6
    module procedure get_int32_7
    module procedure get_int64_0
    module procedure get_int64_1
    module procedure get_int64_2
    module procedure get_int64_3
    module procedure get_int64_4
    module procedure get_int64_5
    module procedure get_int64_6
    module procedure get_int64_7
    module procedure get_real32_0
    module procedure get_real32_1
    module procedure get_real32_2
    module procedure get_real32_3
    module procedure get_real32_4
    module procedure get_real32_5
    module procedure get_real32_6
    module procedure get_real32_7
    module procedure get_real64_0
    module procedure get_real64_1
    module procedure get_real64_2
    module procedure get_real64_3
    module procedure get_real64_4
    module procedure get_real64_5
    module procedure get_real64_6
    module procedure get_real64_7
    module procedure get_complex32_0
    module procedure get_complex32_1
    module procedure get_complex32_2
    module procedure get_complex32_3
    module procedure get_complex32_4
    module procedure get_complex32_5
    module procedure get_complex32_6
    module procedure get_complex32_7
    module procedure get_complex64_0
    module procedure get_complex64_1
    module procedure get_complex64_2
    module procedure get_complex64_3
    module procedure get_complex64_4
    module procedure get_complex64_5
    module procedure get_complex64_6
    module procedure get_complex64_7
  end interface tcasm_get

contains

  subroutine get_int8_0(source, name, field, status)
    class(tcasm_source), intent(in) :: source
    character(*), intent(in) :: name
    integer(int8), pointer, intent(out) :: field
    integer, intent(out), optional :: status
    integer(int64) :: n(0)
    type(c_ptr) :: data
    integer(c_int) :: code
    nullify (field)
    code = mapped(source, name, TCASM_I8, TCASM_U8, n, data)
    if (code == TCASM_OK) call c_f_pointer(data, field)
    call report(code, status)
  end subroutine get_int8_0

  subroutine add_int8_0(producer, name, field, options, status)
    type(tcasm_producer), intent(in) :: producer
    character(*), intent(in) :: name
    integer(int8), pointer, intent(out) :: field
    type(tcasm_field_options), intent(in), optional :: options
    integer, intent(out), optional :: status
    integer(int64) :: n(0)
    type(c_ptr) :: data
    integer(c_int) :: code
    nullify (field)
    code = added(producer, name, TCASM_I8, n, options, data)
    if (code == TCASM_OK) call c_f_pointer(data, field)
    call report(code, status)
  end subroutine add_int8_0

  subroutine get_int8_1(source, name, field, lower, status)
    class(tcasm_source), intent(in) :: source
    character(*), intent(in) :: name
    integer(int8), pointer, intent(out) :: field(:)
    class(*), intent(in), optional :: lower(:)
    integer, intent(out), optional :: status
    integer(int8), pointer :: all(:)
    integer(int64) :: n(1), first(1)
    type(c_ptr) :: data
    integer(c_int) :: code
    nullify (field)
    code = mapped(source, name, TCASM_I8, TCASM_U8, n, data)
    if (code == TCASM_OK) code = bounds(lower, first)
    if (code == TCASM_OK) then
      if (c_associated(data)) then
        call c_f_pointer(data, all, n)
      else
        allocate (all(n(1))) ! without elements
      end if
      field(first(1):) => all
    end if
    call report(code, status)
  end subroutine get_int8_1

  subroutine add_int8_1(producer, name, field, shape, lower, options, status)
    type(tcasm_producer), intent(in) :: producer
    character(*), intent(in) :: name
    integer(int8), pointer, intent(out) :: field(:)
    class(*), intent(in) :: shape(:)
    class(*), intent(in), optional :: lower(:)
    type(tcasm_field_options), intent(in), optional :: options
    integer, intent(out), optional :: status
    integer(int8), pointer :: all(:)
    integer(int64) :: n(1), first(1)
    type(c_ptr) :: data
    integer(c_int) :: code
    nullify (field)
    code = numbers(shape, "the extents of field " // trim(name), n)
    if (code == TCASM_OK) code = bounds(lower, first)
    if (code == TCASM_OK) code = added(producer, name, TCASM_I8, n, options, data)
    if (code == TCASM_OK) then
      call c_f_pointer(data, all, n)
      field(first(1):) => all
    end if
    call report(code, status)
  end subroutine add_int8_1

  subroutine get_int8_2(source, name, field, lower, status)
    class(tcasm_source), intent(in) :: source
    character(*), intent(in) :: name
    integer(int8), pointer, intent(out) :: field(:,:)
    class(*), intent(in), optional :: lower(:)
    integer, intent(out), optional :: status
    integer(int8), pointer :: all(:,:)
    integer(int64) :: n(2), first(2)
    type(c_ptr) :: data
    integer(c_int) :: code
    nullify (field)
    code = mapped(source, name, TCASM_I8, TCASM_U8, n, data)
    if (code == TCASM_OK) code = bounds(lower, first)
    if (code == TCASM_OK) then
      if (c_associated(data)) then
        call c_f_pointer(data, all, n)
      else
        allocate (all(n(1), n(2))) ! without elements
      end if
      field(first(1):, first(2):) => all
    end if
    call report(code, status)
  end subroutine get_int8_2

  subroutine add_int8_2(producer, name, field, shape, lower, options, status)
    type(tcasm_producer), intent(in) :: producer
    character(*), intent(in) :: name
    integer(int8), pointer, intent(out) :: field(:,:)
    class(*), intent(in) :: shape(:)
    class(*), intent(in), optional :: lower(:)
    type(tcasm_field_options), intent(in), optional :: options
    integer, intent(out), optional :: status
    integer(int8), pointer :: all(:,:)
    integer(int64) :: n(2), first(2)
    type(c_ptr) :: data
    integer(c_int) :: code
    nullify (field)
    code = numbers(shape, "the extents of field " // trim(name), n)
    if (code == TCASM_OK) code = bounds(lower, first)
    if (code == TCASM_OK) code = added(producer, name, TCASM_I8, n, options, data)
    if (code == TCASM_OK) then
      call c_f_pointer(data, all, n)
      field(first(1):, first(2):) => all
    end if
    call report(code, status)
  end subroutine add_int8_2

  subroutine get_int8_3(source, name, field, lower, status)
    class(tcasm_source), intent(in) :: source
    character(*), intent(in) :: name
    integer(int8), pointer, intent(out) :: field(:,:,:)
    class(*), intent(in), optional :: lower(:)
    integer, intent(out), optional :: status
    integer(int8), pointer :: all(:,:,:)
    integer(int64) :: n(3), first(3)
    type(c_ptr) :: data
    integer(c_int) :: code
    nullify (field)
    code = mapped(source, name, TCASM_I8, TCASM_U8, n, data)
    if (code == TCASM_OK) code = bounds(lower, first)
    if (code == TCASM_OK) then
      if (c_associated(data)) then
        call c_f_pointer(data, all, n)
      else
        allocate (all(n(1), n(2), n(3))) ! without elements
      end if
      field(first(1):, first(2):, first(3):) => all
    end if
    call report(code, status)
  end subroutine get_int8_3

  subroutine add_int8_3(producer, name, field, shape, lower, options, status)
    type(tcasm_producer), intent(in) :: producer
    character(*), intent(in) :: name
    integer(int8), pointer, intent(out) :: field(:,:,:)
    class(*), intent(in) :: shape(:)
    class(*), intent(in), optional :: lower(:)
    type(tcasm_field_options), intent(in), optional :: options
    integer, intent(out), optional :: status
    integer(int8), pointer :: all(:,:,:)
    integer(int64) :: n(3), first(3)
    type(c_ptr) :: data
    integer(c_int) :: code
    nullify (field)
    code = numbers(shape, "the extents of field " // trim(name), n)
    if (code == TCASM_OK) code = bounds(lower, first)
    if (code == TCASM_OK) code = added(producer, name, TCASM_I8, n, options, data)
    if (code == TCASM_OK) then
      call c_f_pointer(data, all, n)
      field(first(1):, first(2):, first(3):) => all
    end if
    call report(code, status)
  end subroutine add_int8_3

  subroutine get_int8_4(source, name, field, lower, status)
    class(tcasm_source), intent(in) :: source
    character(*), intent(in) :: name
    integer(int8), pointer, intent(out) :: field(:,:,:,:)
    class(*), intent(in), optional :: lower(:)
    integer, intent(out), optional :: status
    integer(int8), pointer :: all(:,:,:,:)
    integer(int64) :: n(4), first(4)
    type(c_ptr) :: data
    integer(c_int) :: code
    nullify (field)
    code = mapped(source, name, TCASM_I8, TCASM_U8, n, data)
    if (code == TCASM_OK) code = bounds(lower, first)
    if (code == TCASM_OK) then
      if (c_associated(data)) then
        call c_f_pointer(data, all, n)
      else
        allocate (all(n(1), n(2), n(3), n(4))) ! without elements
      end if
      field(first(1):, first(2):, first(3):, first(4):) => all
    end if
    call report(code, status)
  end subroutine get_int8_4

  subroutine add_int8_4(producer, name, field, shape, lower, options, status)
    type(tcasm_producer), intent(in) :: producer
    character(*), intent(in) :: name
    integer(int8), pointer, intent(out) :: field(:,:,:,:)
    class(*), intent(in) :: shape(:)
    class(*), intent(in), optional :: lower(:)
    type(tcasm_field_options), intent(in), optional :: options
    integer, intent(out), optional :: status
    integer(int8), pointer :: all(:,:,:,:)
    integer(int64) :: n(4), first(4)
    type(c_ptr) :: data
    integer(c_int) :: code
    nullify (field)
    code = numbers(shape, "the extents of field " // trim(name), n)
    if (code == TCASM_OK) code = bounds(lower, first)
    if (code == TCASM_OK) code = added(producer, name, TCASM_I8, n, options, data)
    if (code == TCASM_OK) then
      call c_f_pointer(data, all, n)
      field(first(1):, first(2):, first(3):, first(4):) => all
    end if
    call report(code, status)
  end subroutine add_int8_4

  subroutine get_int8_5(source, name, field, lower, status)
    class(tcasm_source), intent(in) :: source
    character(*), intent(in) :: name
    integer(int8), pointer, intent(out) :: field(:,:,:,:,:)
    class(*), intent(in), optional :: lower(:)
    integer, intent(out), optional :: status
    integer(int8), pointer :: all(:,:,:,:,:)
    integer(int64) :: n(5), first(5)
    type(c_ptr) :: data
    integer(c_int) :: code
    nullify (field)
    code = mapped(source, name, TCASM_I8, TCASM_U8, n, data)
    if (code == TCASM_OK) code = bounds(lower, first)
    if (code == TCASM_OK) then
      if (c_associated(data)) then
        call c_f_pointer(data, all, n)
      else
        allocate (all(n(1), n(2), n(3), n(4), n(5))) ! without elements
      end if
      field(first(1):, first(2):, first(3):, first(4):, first(5):) => all
    end if
    call report(code, status)
  end subroutine get_int8_5

  subroutine add_int8_5(producer, name, field, shape, lower, options, status)
    type(tcasm_producer), intent(in) :: producer
    character(*), intent(in) :: name
    integer(int8), pointer, intent(out) :: field(:,:,:,:,:)
    class(*), intent(in) :: shape(:)
    class(*), intent(in), optional :: lower(:)
    type(tcasm_field_options), intent(in), optional :: options
    integer, intent(out), optional :: status
    integer(int8), pointer :: all(:,:,:,:,:)
    integer(int64) :: n(5), first(5)
    type(c_ptr) :: data
    integer(c_int) :: code
    nullify (field)
    code = numbers(shape, "the extents of field " // trim(name), n)
    if (code == TCASM_OK) code = bounds(lower, first)
    if (code == TCASM_OK) code = added(producer, name, TCASM_I8, n, options, data)
    if (code == TCASM_OK) then
      call c_f_pointer(data, all, n)
      field(first(1):, first(2):, first(3):, first(4):, first(5):) => all
    end if
    call report(code, status)
  end subroutine add_int8_5

  subroutine get_int8_6(source, name, field, lower, status)
    class(tcasm_source), intent(in) :: source
    character(*), intent(in) :: name
    integer(int8), pointer, intent(out) :: field(:,:,:,:,:,:)
    class(*), intent(in), optional :: lower(:)
    integer, intent(out), optional :: status
    integer(int8), pointer :: all(:,:,:,:,:,:)
    integer(int64) :: n(6), first(6)
    type(c_ptr) :: data
    integer(c_int) :: code
    nullify (field)
    code = mapped(source, name, TCASM_I8, TCASM_U8, n, data)
    if (code == TCASM_OK) code = bounds(lower, first)
    if (code == TCASM_OK) then
      if (c_associated(data)) then
        call c_f_pointer(data, all, n)
      else
        allocate (all(n(1), n(2), n(3), n(4), n(5), n(6))) ! without elements
      end if
      field(first(1):, first(2):, first(3):, first(4):, first(5):, first(6):) => all
    end if
    call report(code, status)
  end subroutine get_int8_6

  subroutine add_int8_6(producer, name, field, shape, lower, options, status)
    type(tcasm_producer), intent(in) :: producer
    character(*), intent(in) :: name
    integer(int8), pointer, intent(out) :: field(:,:,:,:,:,:)
    class(*), intent(in) :: shape(:)
    class(*), intent(in), optional :: lower(:)
    type(tcasm_field_options), intent(in), optional :: options
    integer, intent(out), optional :: status
    integer(int8), pointer :: all(:,:,:,:,:,:)
    integer(int64) :: n(6), first(6)
    type(c_ptr) :: data
    integer(c_int) :: code
    nullify (field)
    code = numbers(shape, "the extents of field " // trim(name), n)
    if (code == TCASM_OK) code = bounds(lower, first)
    if (code == TCASM_OK) code = added(producer, name, TCASM_I8, n, options, data)
    if (code == TCASM_OK) then
      call c_f_pointer(data, all, n)
      field(first(1):, first(2):, first(3):, first(4):, first(5):, first(6):) => all
    end if
    call report(code, status)
  end subroutine add_int8_6

  subroutine get_int8_7(source, name, field, lower, status)
    class(tcasm_source), intent(in) :: source
    character(*), intent(in) :: name
    integer(int8), pointer, intent(out) :: field(:,:,:,:,:,:,:)
    class(*), intent(in), optional :: lower(:)
    integer, intent(out), optional :: status
    integer(int8), pointer :: all(:,:,:,:,:,:,:)
    integer(int64) :: n(7), first(7)
    type(c_ptr) :: data
    integer(c_int) :: code
    nullify (field)
    code = mapped(source, name, TCASM_I8, TCASM_U8, n, data)
    if (code == TCASM_OK) code = bounds(lower, first)
    if (code == TCASM_OK) then
      if (c_associated(data)) then
        call c_f_pointer(data, all, n)
      else
        allocate (all(n(1), n(2), n(3), n(4), n(5), n(6), n(7))) ! without elements
      end if
      field(first(1):, first(2):, first(3):, first(4):, first(5):, first(6):, first(7):) => all
    end if
    call report(code, status)
  end subroutine get_int8_7

  subroutine add_int8_7(producer, name, field, shape, lower, options, status)
    type(tcasm_producer), intent(in) :: producer
    character(*), intent(in) :: name
    integer(int8), pointer, intent(out) :: field(:,:,:,:,:,:,:)
    class(*), intent(in) :: shape(:)
    class(*), intent(in), optional :: lower(:)
    type(tcasm_field_options), intent(in), optional :: options
    integer, intent(out), optional :: status
    integer(int8), pointer :: all(:,:,:,:,:,:,:)
    integer(int64) :: n(7), first(7)
    type(c_ptr) :: data
    integer(c_int) :: code
    nullify (field)
    code = numbers(shape, "the extents of field " // trim(name), n)
    if (code == TCASM_OK) code = bounds(lower, first)
    if (code == TCASM_OK) code = added(producer, name, TCASM_I8, n, options, data)
    if (code == TCASM_OK) then
      call c_f_pointer(data, all, n)
      field(first(1):, first(2):, first(3):, first(4):, first(5):, first(6):, first(7):) => all
    end if
    call report(code, status)
  end subroutine add_int8_7

  subroutine get_int16_0(source, name, field, status)
    class(tcasm_source), intent(in) :: source
    character(*), intent(in) :: name
    integer(int16), pointer, intent(out) :: field
    integer, intent(out), optional :: status
    integer(int64) :: n(0)
    type(c_ptr) :: data
    integer(c_int) :: code
    nullify (field)
    code = mapped(source, name, TCASM_I16, TCASM_U16, n, data)
    if (code == TCASM_OK) call c_f_pointer(data, field)
    call report(code, status)
  end subroutine get_int16_0

  subroutine add_int16_0(producer, name, field, options, status)
    type(tcasm_producer), intent(in) :: producer
    character(*), intent(in) :: name
    integer(int16), pointer, intent(out) :: field
    type(tcasm_field_options), intent(in), optional :: options
    integer, intent(out), optional :: status
    integer(int64) :: n(0)
    type(c_ptr) :: data
    integer(c_int) :: code
    nullify (field)
    code = added(producer, name, TCASM_I16, n, options, data)
    if (code == TCASM_OK) call c_f_pointer(data, field)
    call report(code, status)
  end subroutine add_int16_0

  subroutine get_int16_1(source, name, field, lower, status)
    class(tcasm_source), intent(in) :: source
    character(*), intent(in) :: name
    integer(int16), pointer, intent(out) :: field(:)
    class(*), intent(in), optional :: lower(:)
    integer, intent(out), optional :: status
    integer(int16), pointer :: all(:)
    integer(int64) :: n(1), first(1)
    type(c_ptr) :: data
    integer(c_int) :: code
    nullify (field)
    code = mapped(source, name, TCASM_I16, TCASM_U16, n, data)
    if (code == TCASM_OK) code = bounds(lower, first)
    if (code == TCASM_OK) then
      if (c_associated(data)) then
        call c_f_pointer(data, all, n)
      else
        allocate (all(n(1))) ! without elements
      end if
      field(first(1):) => all
    end if
    call report(code, status)
  end subroutine get_int16_1

  subroutine add_int16_1(producer, name, field, shape, lower, options, status)
    type(tcasm_producer), intent(in) :: producer
    character(*), intent(in) :: name
    integer(int16), pointer, intent(out) :: field(:)
    class(*), intent(in) :: shape(:)
    class(*), intent(in), optional :: lower(:)
    type(tcasm_field_options), intent(in), optional :: options
    integer, intent(out), optional :: status
    integer(int16), pointer :: all(:)
    integer(int64) :: n(1), first(1)
    type(c_ptr) :: data
    integer(c_int) :: code
    nullify (field)
    code = numbers(shape, "the extents of field " // trim(name), n)
    if (code == TCASM_OK) code = bounds(lower, first)
    if (code == TCASM_OK) code = added(producer, name, TCASM_I16, n, options, data)
    if (code == TCASM_OK) then
      call c_f_pointer(data, all, n)
      field(first(1):) => all
    end if
    call report(code, status)
  end subroutine add_int16_1

  subroutine get_int16_2(source, name, field, lower, status)
    class(tcasm_source), intent(in) :: source
    character(*), intent(in) :: name
    integer(int16), pointer, intent(out) :: field(:,:)
    class(*), intent(in), optional :: lower(:)
    integer, intent(out), optional :: status
    integer(int16), pointer :: all(:,:)
    integer(int64) :: n(2), first(2)
    type(c_ptr) :: data
    integer(c_int) :: code
    nullify (field)
    code = mapped(source, name, TCASM_I16, TCASM_U16, n, data)
    if (code == TCASM_OK) code = bounds(lower, first)
    if (code == TCASM_OK) then
      if (c_associated(data)) then
        call c_f_pointer(data, all, n)
      else
        allocate (all(n(1), n(2))) ! without elements
      end if
      field(first(1):, first(2):) => all
    end if
    call report(code, status)
  end subroutine get_int16_2

  subroutine add_int16_2(producer, name, field, shape, lower, options, status)
    type(tcasm_producer), intent(in) :: producer
    character(*), intent(in) :: name
    integer(int16), pointer, intent(out) :: field(:,:)
    class(*), intent(in) :: shape(:)
    class(*), intent(in), optional :: lower(:)
    type(tcasm_field_options), intent(in), optional :: options
    integer, intent(out), optional :: status
    integer(int16), pointer :: all(:,:)
    integer(int64) :: n(2), first(2)
    type(c_ptr) :: data
    integer(c_int) :: code
    nullify (field)
    code = numbers(shape, "the extents of field " // trim(name), n)
    if (code == TCASM_OK) code = bounds(lower, first)
    if (code == TCASM_OK) code = added(producer, name, TCASM_I16, n, options, data)
    if (code == TCASM_OK) then
      call c_f_pointer(data, all, n)
      field(first(1):, first(2):) => all
    end if
    call report(code, status)
  end subroutine add_int16_2

  subroutine get_int16_3(source, name, field, lower, status)
    class(tcasm_source), intent(in) :: source
    character(*), intent(in) :: name
    integer(int16), pointer, intent(out) :: field(:,:,:)
    class(*), intent(in), optional :: lower(:)
    integer, intent(out), optional :: status
    integer(int16), pointer :: all(:,:,:)
    integer(int64) :: n(3), first(3)
    type(c_ptr) :: data
    integer(c_int) :: code
    nullify (field)
    code = mapped(source, name, TCASM_I16, TCASM_U16, n, data)
    if (code == TCASM_OK) code = bounds(lower, first)
    if (code == TCASM_OK) then
      if (c_associated(data)) then
        call c_f_pointer(data, all, n)
      else
        allocate (all(n(1), n(2), n(3))) ! without elements
      end if
      field(first(1):, first(2):, first(3):) => all
    end if
    call report(code, status)
  end subroutine get_int16_3

  subroutine add_int16_3(producer, name, field, shape, lower, options, status)
    type(tcasm_producer), intent(in) :: producer
    character(*), intent(in) :: name
    integer(int16), pointer, intent(out) :: field(:,:,:)
    class(*), intent(in) :: shape(:)
    class(*), intent(in), optional :: lower(:)
    type(tcasm_field_options), intent(in), optional :: options
    integer, intent(out), optional :: status
    integer(int16), pointer :: all(:,:,:)
    integer(int64) :: n(3), first(3)
    type(c_ptr) :: data
    integer(c_int) :: code
    nullify (field)
    code = numbers(shape, "the extents of field " // trim(name), n)
    if (code == TCASM_OK) code = bounds(lower, first)
    if (code == TCASM_OK) code = added(producer, name, TCASM_I16, n, options, data)
    if (code == TCASM_OK) then
      call c_f_pointer(data, all, n)
      field(first(1):, first(2):, first(3):) => all
    end if
    call report(code, status)
  end subroutine add_int16_3

  subroutine get_int16_4(source, name, field, lower, status)
    class(tcasm_source), intent(in) :: source
    character(*), intent(in) :: name
    integer(int16), pointer, intent(out) :: field(:,:,:,:)
    class(*), intent(in), optional :: lower(:)
    integer, intent(out), optional :: status
    integer(int16), pointer :: all(:,:,:,:)
    integer(int64) :: n(4), first(4)
    type(c_ptr) :: data
    integer(c_int) :: code
    nullify (field)
    code = mapped(source, name, TCASM_I16, TCASM_U16, n, data)
    if (code == TCASM_OK) code = bounds(lower, first)
    if (code == TCASM_OK) then
      if (c_associated(data)) then
        call c_f_pointer(data, all, n)
      else
        allocate (all(n(1), n(2), n(3), n(4))) ! without elements
      end if
      field(first(1):, first(2):, first(3):, first(4):) => all
    end if
    call report(code, status)
  end subroutine get_int16_4

  subroutine add_int16_4(producer, name, field, shape, lower, options, status)
    type(tcasm_producer), intent(in) :: producer
    character(*), intent(in) :: name
    integer(int16), pointer, intent(out) :: field(:,:,:,:)
    class(*), intent(in) :: shape(:)
    class(*), intent(in), optional :: lower(:)
    type(tcasm_field_options), intent(in), optional :: options
    integer, intent(out), optional :: status
    integer(int16), pointer :: all(:,:,:,:)
    integer(int64) :: n(4), first(4)
    type(c_ptr) :: data
    integer(c_int) :: code
    nullify (field)
    code = numbers(shape, "the extents of field " // trim(name), n)
    if (code == TCASM_OK) code = bounds(lower, first)
    if (code == TCASM_OK) code = added(producer, name, TCASM_I16, n, options, data)
    if (code == TCASM_OK) then
      call c_f_pointer(data, all, n)
      field(first(1):, first(2):, first(3):, first(4):) => all
    end if
    call report(code, status)
  end subroutine add_int16_4

  subroutine get_int16_5(source, name, field, lower, status)
    class(tcasm_source), intent(in) :: source
    character(*), intent(in) :: name
    integer(int16), pointer, intent(out) :: field(:,:,:,:,:)
    class(*), intent(in), optional :: lower(:)
    integer, intent(out), optional :: status
    integer(int16), pointer :: all(:,:,:,:,:)
    integer(int64) :: n(5), first(5)
    type(c_ptr) :: data
    integer(c_int) :: code
    nullify (field)
    code = mapped(source, name, TCASM_I16, TCASM_U16, n, data)
    if (code == TCASM_OK) code = bounds(lower, first)
    if (code == TCASM_OK) then
      if (c_associated(data)) then
        call c_f_pointer(data, all, n)
      else
        allocate (all(n(1), n(2), n(3), n(4), n(5))) ! without elements
      end if
      field(first(1):, first(2):, first(3):, first(4):, first(5):) => all
    end if
    call report(code, status)
  end subroutine get_int16_5

  subroutine add_int16_5(producer, name, field, shape, lower, options, status)
    type(tcasm_producer), intent(in) :: producer
    character(*), intent(in) :: name
    integer(int16), pointer, intent(out) :: field(:,:,:,:,:)
    class(*), intent(in) :: shape(:)
    class(*), intent(in), optional :: lower(:)
    type(tcasm_field_options), intent(in), optional :: options
    integer, intent(out), optional :: status
    integer(int16), pointer :: all(:,:,:,:,:)
    integer(int64) :: n(5), first(5)
    type(c_ptr) :: data
    integer(c_int) :: code
    nullify (field)
    code = numbers(shape, "the extents of field " // trim(name), n)
    if (code == TCASM_OK) code = bounds(lower, first)
    if (code == TCASM_OK) code = added(producer, name, TCASM_I16, n, options, data)
    if (code == TCASM_OK) then
      call c_f_pointer(data, all, n)
      field(first(1):, first(2):, first(3):, first(4):, first(5):) => all
    end if
    call report(code, status)
  end subroutine add_int16_5

  subroutine get_int16_6(source, name, field, lower, status)
    class(tcasm_source), intent(in) :: source
    character(*), intent(in) :: name
    integer(int16), pointer, intent(out) :: field(:,:,:,:,:,:)
    class(*), intent(in), optional :: lower(:)
    integer, intent(out), optional :: status
    integer(int16), pointer :: all(:,:,:,:,:,:)
    integer(int64) :: n(6), first(6)
    type(c_ptr) :: data
    integer(c_int) :: code
    nullify (field)
    code = mapped(source, name, TCASM_I16, TCASM_U16, n, data)
    if (code == TCASM_OK) code = bounds(lower, first)
    if (code == TCASM_OK) then
      if (c_associated(data)) then
        call c_f_pointer(data, all, n)
      else
        allocate (all(n(1), n(2), n(3), n(4), n(5), n(6))) ! without elements
      end if
      field(first(1):, first(2):, first(3):, first(4):, first(5):, first(6):) => all
    end if
    call report(code, status)
  end subroutine get_int16_6

  subroutine add_int16_6(producer, name, field, shape, lower, options, status)
    type(tcasm_producer), intent(in) :: producer
    character(*), intent(in) :: name
    integer(int16), pointer, intent(out) :: field(:,:,:,:,:,:)
    class(*), intent(in) :: shape(:)
    class(*), intent(in), optional :: lower(:)
    type(tcasm_field_options), intent(in), optional :: options
    integer, intent(out), optional :: status
    integer(int16), pointer :: all(:,:,:,:,:,:)
    integer(int64) :: n(6), first(6)
    type(c_ptr) :: data
    integer(c_int) :: code
    nullify (field)
    code = numbers(shape, "the extents of field " // trim(name), n)
    if (code == TCASM_OK) code = bounds(lower, first)
    if (code == TCASM_OK) code = added(producer, name, TCASM_I16, n, options, data)
    if (code == TCASM_OK) then
      call c_f_pointer(data, all, n)
      field(first(1):, first(2):, first(3):, first(4):, first(5):, first(6):) => all
    end if
    call report(code, status)
  end subroutine add_int16_6

  subroutine get_int16_7(source, name, field, lower, status)
    class(tcasm_source), intent(in) :: source
    character(*), intent(in) :: name
    integer(int16), pointer, intent(out) :: field(:,:,:,:,:,:,:)
    class(*), intent(in), optional :: lower(:)
    integer, intent(out), optional :: status
    integer(int16), pointer :: all(:,:,:,:,:,:,:)
    integer(int64) :: n(7), first(7)
    type(c_ptr) :: data
    integer(c_int) :: code
    nullify (field)
    code = mapped(source, name, TCASM_I16, TCASM_U16, n, data)
    if (code == TCASM_OK) code = bounds(lower, first)
    if (code == TCASM_OK) then
      if (c_associated(data)) then
        call c_f_pointer(data, all, n)
      else
        allocate (all(n(1), n(2), n(3), n(4), n(5), n(6), n(7))) ! without elements
      end if
      field(first(1):, first(2):, first(3):, first(4):, first(5):, first(6):, first(7):) => all
    end if
    call report(code, status)
  end subroutine get_int16_7

  subroutine add_int16_7(producer, name, field, shape, lower, options, status)
    type(tcasm_producer), intent(in) :: producer
    character(*), intent(in) :: name
    integer(int16), pointer, intent(out) :: field(:,:,:,:,:,:,:)
    class(*), intent(in) :: shape(:)
    class(*), intent(in), optional :: lower(:)
    type(tcasm_field_options), intent(in), optional :: options
    integer, intent(out), optional :: status
    integer(int16), pointer :: all(:,:,:,:,:,:,:)
    integer(int64) :: n(7), first(7)
    type(c_ptr) :: data
    integer(c_int) :: code
    nullify (field)
    code = numbers(shape, "the extents of field " // trim(name), n)
    if (code == TCASM_OK) code = bounds(lower, first)
    if (code == TCASM_OK) code = added(producer, name, TCASM_I16, n, options, data)
    if (code == TCASM_OK) then
      call c_f_pointer(data, all, n)
      field(first(1):, first(2):, first(3):, first(4):, first(5):, first(6):, first(7):) => all
    end if
    call report(code, status)
  end subroutine add_int16_7

  subroutine get_int32_0(source, name, field, status)
    class(tcasm_source), intent(in) :: source
    character(*), intent(in) :: name
    integer(int32), pointer, intent(out) :: field
    integer, intent(out), optional :: status
    integer(int64) :: n(0)
    type(c_ptr) :: data
    integer(c_int) :: code
    nullify (field)
    code = mapped(source, name, TCASM_I32, TCASM_U32, n, data)
    if (code == TCASM_OK) call c_f_pointer(data, field)
    call report(code, status)
  end subroutine get_int32_0

  subroutine add_int32_0(producer, name, field, options, status)
    type(tcasm_producer), intent(in) :: producer
    character(*), intent(in) :: name
    integer(int32), pointer, intent(out) :: field
    type(tcasm_field_options), intent(in), optional :: options
    integer, intent(out), optional :: status
    integer(int64) :: n(0)
    type(c_ptr) :: data
    integer(c_int) :: code
    nullify (field)
    code = added(producer, name, TCASM_I32, n, options, data)
    if (code == TCASM_OK) call c_f_pointer(data, field)
    call report(code, status)
  end subroutine add_int32_0

  subroutine get_int32_1(source, name, field, lower, status)
    class(tcasm_source), intent(in) :: source
    character(*), intent(in) :: name
    integer(int32), pointer, intent(out) :: field(:)
    class(*), intent(in), optional :: lower(:)
    integer, intent(out), optional :: status
    integer(int32), pointer :: all(:)
    integer(int64) :: n(1), first(1)
    type(c_ptr) :: data
    integer(c_int) :: code
    nullify (field)
    code = mapped(source, name, TCASM_I32, TCASM_U32, n, data)
    if (code == TCASM_OK) code = bounds(lower, first)
    if (code == TCASM_OK) then
      if (c_associated(data)) then
        call c_f_pointer(data, all, n)
      else
        allocate (all(n(1))) ! without elements
      end if
      field(first(1):) => all
    end if
    call report(code, status)
  end subroutine get_int32_1

  subroutine add_int32_1(producer, name, field, shape, lower, options, status)
    type(tcasm_producer), intent(in) :: producer
    character(*), intent(in) :: name
    integer(int32), pointer, intent(out) :: field(:)
    class(*), intent(in) :: shape(:)
    class(*), intent(in), optional :: lower(:)
    type(tcasm_field_options), intent(in), optional :: options
    integer, intent(out), optional :: status
    integer(int32), pointer :: all(:)
    integer(int64) :: n(1), first(1)
    type(c_ptr) :: data
    integer(c_int) :: code
    nullify (field)
    code = numbers(shape, "the extents of field " // trim(name), n)
    if (code == TCASM_OK) code = bounds(lower, first)
    if (code == TCASM_OK) code = added(producer, name, TCASM_I32, n, options, data)
    if (code == TCASM_OK) then
      call c_f_pointer(data, all, n)
      field(first(1):) => all
    end if
    call report(code, status)
  end subroutine add_int32_1

  subroutine get_int32_2(source, name, field, lower, status)
    class(tcasm_source), intent(in) :: source
    character(*), intent(in) :: name
    integer(int32), pointer, intent(out) :: field(:,:)
    class(*), intent(in), optional :: lower(:)
    integer, intent(out), optional :: status
    integer(int32), pointer :: all(:,:)
    integer(int64) :: n(2), first(2)
    type(c_ptr) :: data
    integer(c_int) :: code
    nullify (field)
    code = mapped(source, name, TCASM_I32, TCASM_U32, n, data)
    if (code == TCASM_OK) code = bounds(lower, first)
    if (code == TCASM_OK) then
      if (c_associated(data)) then
        call c_f_pointer(data, all, n)
      else
        allocate (all(n(1), n(2))) ! without elements
      end if
      field(first(1):, first(2):) => all
    end if
    call report(code, status)
  end subroutine get_int32_2

  subroutine add_int32_2(producer, name, field, shape, lower, options, status)
    type(tcasm_producer), intent(in) :: producer
    character(*), intent(in) :: name
    integer(int32), pointer, intent(out) :: field(:,:)
    class(*), intent(in) :: shape(:)
    class(*), intent(in), optional :: lower(:)
    type(tcasm_field_options), intent(in), optional :: options
    integer, intent(out), optional :: status
    integer(int32), pointer :: all(:,:)
    integer(int64) :: n(2), first(2)
    type(c_ptr) :: data
    integer(c_int) :: code
    nullify (field)
    code = numbers(shape, "the extents of field " // trim(name), n)
    if (code == TCASM_OK) code = bounds(lower, first)
    if (code == TCASM_OK) code = added(producer, name, TCASM_I32, n, options, data)
    if (code == TCASM_OK) then
      call c_f_pointer(data, all, n)
      field(first(1):, first(2):) => all
    end if
    call report(code, status)
  end subroutine add_int32_2

  subroutine get_int32_3(source, name, field, lower, status)
    class(tcasm_source), intent(in) :: source
    character(*), intent(in) :: name
    integer(int32), pointer, intent(out) :: field(:,:,:)
    class(*), intent(in), optional :: lower(:)
    integer, intent(out), optional :: status
    integer(int32), pointer :: all(:,:,:)
    integer(int64) :: n(3), first(3)
    type(c_ptr) :: data
    integer(c_int) :: code
    nullify (field)
    code = mapped(source, name, TCASM_I32, TCASM_U32, n, data)
    if (code == TCASM_OK) code = bounds(lower, first)
    if (code == TCASM_OK) then
      if (c_associated(data)) then
        call c_f_pointer(data, all, n)
      else
        allocate (all(n(1), n(2), n(3))) ! without elements
      end if
      field(first(1):, first(2):, first(3):) => all
    end if
    call report(code, status)
  end subroutine get_int32_3

  subroutine add_int32_3(producer, name, field, shape, lower, options, status)
    type(tcasm_producer), intent(in) :: producer
    character(*), intent(in) :: name
    integer(int32), pointer, intent(out) :: field(:,:,:)
    class(*), intent(in) :: shape(:)
    class(*), intent(in), optional :: lower(:)
    type(tcasm_field_options), intent(in), optional :: options
    integer, intent(out), optional :: status
    integer(int32), pointer :: all(:,:,:)
    integer(int64) :: n(3), first(3)
    type(c_ptr) :: data
    integer(c_int) :: code
    nullify (field)
    code = numbers(shape, "the extents of field " // trim(name), n)
    if (code == TCASM_OK) code = bounds(lower, first)
    if (code == TCASM_OK) code = added(producer, name, TCASM_I32, n, options, data)
    if (code == TCASM_OK) then
      call c_f_pointer(data, all, n)
      field(first(1):, first(2):, first(3):) => all
    end if
    call report(code, status)
  end subroutine add_int32_3

  subroutine get_int32_4(source, name, field, lower, status)
    class(tcasm_source), intent(in) :: source
    character(*), intent(in) :: name
    integer(int32), pointer, intent(out) :: field(:,:,:,:)
    class(*), intent(in), optional :: lower(:)
    integer, intent(out), optional :: status
    integer(int32), pointer :: all(:,:,:,:)
    integer(int64) :: n(4), first(4)
    type(c_ptr) :: data
    integer(c_int) :: code
    nullify (field)
    code = mapped(source, name, TCASM_I32, TCASM_U32, n, data)
    if (code == TCASM_OK) code = bounds(lower, first)
    if (code == TCASM_OK) then
      if (c_associated(data)) then
        call c_f_pointer(data, all, n)
      else
        allocate (all(n(1), n(2), n(3), n(4))) ! without elements
      end if
      field(first(1):, first(2):, first(3):, first(4):) => all
    end if
    call report(code, status)
  end subroutine get_int32_4

  subroutine add_int32_4(producer, name, field, shape, lower, options, status)
    type(tcasm_producer), intent(in) :: producer
    character(*), intent(in) :: name
    integer(int32), pointer, intent(out) :: field(:,:,:,:)
    class(*), intent(in) :: shape(:)
    class(*), intent(in), optional :: lower(:)
    type(tcasm_field_options), intent(in), optional :: options
    integer, intent(out), optional :: status
    integer(int32), pointer :: all(:,:,:,:)
    integer(int64) :: n(4), first(4)
    type(c_ptr) :: data
    integer(c_int) :: code
    nullify (field)
    code = numbers(shape, "the extents of field " // trim(name), n)
    if (code == TCASM_OK) code = bounds(lower, first)
    if (code == TCASM_OK) code = added(producer, name, TCASM_I32, n, options, data)
    if (code == TCASM_OK) then
      call c_f_pointer(data, all, n)
      field(first(1):, first(2):, first(3):, first(4):) => all
    end if
    call report(code, status)
  end subroutine add_int32_4

  subroutine get_int32_5(source, name, field, lower, status)
    class(tcasm_source), intent(in) :: source
    character(*), intent(in) :: name
    integer(int32), pointer, intent(out) :: field(:,:,:,:,:)
    class(*), intent(in), optional :: lower(:)
    integer, intent(out), optional :: status
    integer(int32), pointer :: all(:,:,:,:,:)
    integer(int64) :: n(5), first(5)
    type(c_ptr) :: data
    integer(c_int) :: code
    nullify (field)
    code = mapped(source, name, TCASM_I32, TCASM_U32, n, data)
    if (code == TCASM_OK) code = bounds(lower, first)
    if (code == TCASM_OK) then
      if (c_associated(data)) then
        call c_f_pointer(data, all, n)
      else
        allocate (all(n(1), n(2), n(3), n(4), n(5))) ! without elements
      end if
      field(first(1):, first(2):, first(3):, first(4):, first(5):) => all
    end if
    call report(code, status)
  end subroutine get_int32_5

  subroutine add_int32_5(producer, name, field, shape, lower, options, status)
    type(tcasm_producer), intent(in) :: producer
    character(*), intent(in) :: name
    integer(int32), pointer, intent(out) :: field(:,:,:,:,:)
    class(*), intent(in) :: shape(:)
    class(*), intent(in), optional :: lower(:)
    type(tcasm_field_options), intent(in), optional :: options
    integer, intent(out), optional :: status
    integer(int32), pointer :: all(:,:,:,:,:)
    integer(int64) :: n(5), first(5)
    type(c_ptr) :: data
    integer(c_int) :: code
    nullify (field)
    code = numbers(shape, "the extents of field " // trim(name), n)
    if (code == TCASM_OK) code = bounds(lower, first)
    if (code == TCASM_OK) code = added(producer, name, TCASM_I32, n, options, data)
    if (code == TCASM_OK) then
      call c_f_pointer(data, all, n)
      field(first(1):, first(2):, first(3):, first(4):, first(5):) => all
    end if
    call report(code, status)
  end subroutine add_int32_5

  subroutine get_int32_6(source, name, field, lower, status)
    class(tcasm_source), intent(in) :: source
    character(*), intent(in) :: name
    integer(int32), pointer, intent(out) :: field(:,:,:,:,:,:)
    class(*), intent(in), optional :: lower(:)
    integer, intent(out), optional :: status
    integer(int32), pointer :: all(:,:,:,:,:,:)
    integer(int64) :: n(6), first(6)
    type(c_ptr) :: data
    integer(c_int) :: code
    nullify (field)
    code = mapped(source, name, TCASM_I32, TCASM_U32, n, data)
    if (code == TCASM_OK) code = bounds(lower, first)
    if (code == TCASM_OK) then
      if (c_associated(data)) then
        call c_f_pointer(data, all, n)
      else
        allocate (all(n(1), n(2), n(3), n(4), n(5), n(6))) ! without elements
      end if
      field(first(1):, first(2):, first(3):, first(4):, first(5):, first(6):) => all
    end if
    call report(code, status)
  end subroutine get_int32_6

  subroutine add_int32_6(producer, name, field, shape, lower, options, status)
    type(tcasm_producer), intent(in) :: producer
    character(*), intent(in) :: name
    integer(int32), pointer, intent(out) :: field(:,:,:,:,:,:)
    class(*), intent(in) :: shape(:)
    class(*), intent(in), optional :: lower(:)
    type(tcasm_field_options), intent(in), optional :: options
    integer, intent(out), optional :: status
    integer(int32), pointer :: all(:,:,:,:,:,:)
    integer(int64) :: n(6), first(6)
    type(c_ptr) :: data
    integer(c_int) :: code
    nullify (field)
    code = numbers(shape, "the extents of field " // trim(name), n)
    if (code == TCASM_OK) code = bounds(lower, first)
    if (code == TCASM_OK) code = added(producer, name, TCASM_I32, n, options, data)
    if (code == TCASM_OK) then
      call c_f_pointer(data, all, n)
      field(first(1):, first(2):, first(3):, first(4):, first(5):, first(6):) => all
    end if
    call report(code, status)
  end subroutine add_int32_6

  subroutine get_int32_7(source, name, field, lower, status)
    class(tcasm_source), intent(in) :: source
    character(*), intent(in) :: name
    integer(int32), pointer, intent(out) :: field(:,:,:,:,:,:,:)
    class(*), intent(in), optional :: lower(:)
    integer, intent(out), optional :: status
    integer(int32), pointer :: all(:,:,:,:,:,:,:)
    integer(int64) :: n(7), first(7)
    type(c_ptr) :: data
    integer(c_int) :: code
    nullify (field)
    code = mapped(source, name, TCASM_I32, TCASM_U32, n, data)
    if (code == TCASM_OK) code = bounds(lower, first)
    if (code == TCASM_OK) then
      if (c_associated(data)) then
        call c_f_pointer(data, all, n)
      else
        allocate (all(n(1), n(2), n(3), n(4), n(5), n(6), n(7))) ! without elements
      end if
      field(first(1):, first(2):, first(3):, first(4):, first(5):, first(6):, first(7):) => all
    end if
    call report(code, status)
  end subroutine get_int32_7

  subroutine add_int32_7(producer, name, field, shape, lower, options, status)
    type(tcasm_producer), intent(in) :: producer
    character(*), intent(in) :: name
    integer(int32), pointer, intent(out) :: field(:,:,:,:,:,:,:)
    class(*), intent(in) :: shape(:)
    class(*), intent(in), optional :: lower(:)
    type(tcasm_field_options), intent(in), optional :: options
    integer, intent(out), optional :: status
    integer(int32), pointer :: all(:,:,:,:,:,:,:)
    integer(int64) :: n(7), first(7)
    type(c_ptr) :: data
    integer(c_int) :: code
    nullify (field)
    code = numbers(shape, "the extents of field " // trim(name), n)
    if (code == TCASM_OK) code = bounds(lower, first)
    if (code == TCASM_OK) code = added(producer, name, TCASM_I32, n, options, data)
    if (code == TCASM_OK) then
      call c_f_pointer(data, all, n)
      field(first(1):, first(2):, first(3):, first(4):, first(5):, first(6):, first(7):) => all
    end if
    call report(code, status)
  end subroutine add_int32_7

  subroutine get_int64_0(source, name, field, status)
    class(tcasm_source), intent(in) :: source
    character(*), intent(in) :: name
    integer(int64), pointer, intent(out) :: field
    integer, intent(out), optional :: status
    integer(int64) :: n(0)
    type(c_ptr) :: data
    integer(c_int) :: code
    nullify (field)
    code = mapped(source, name, TCASM_I64, TCASM_U64, n, data)
    if (code == TCASM_OK) call c_f_pointer(data, field)
    call report(code, status)
  end subroutine get_int64_0

  subroutine add_int64_0(producer, name, field, options, status)
    type(tcasm_producer), intent(in) :: producer
    character(*), intent(in) :: name
    integer(int64), pointer, intent(out) :: field
    type(tcasm_field_options), intent(in), optional :: options
    integer, intent(out), optional :: status
    integer(int64) :: n(0)
    type(c_ptr) :: data
    integer(c_int) :: code
    nullify (field)
    code = added(producer, name, TCASM_I64, n, options, data)
    if (code == TCASM_OK) call c_f_pointer(data, field)
    call report(code, status)
  end subroutine add_int64_0

  subroutine get_int64_1(source, name, field, lower, status)
    class(tcasm_source), intent(in) :: source
    character(*), intent(in) :: name
    integer(int64), pointer, intent(out) :: field(:)
    class(*), intent(in), optional :: lower(:)
    integer, intent(out), optional :: status
    integer(int64), pointer :: all(:)
    integer(int64) :: n(1), first(1)
    type(c_ptr) :: data
    integer(c_int) :: code
    nullify (field)
    code = mapped(source, name, TCASM_I64, TCASM_U64, n, data)
    if (code == TCASM_OK) code = bounds(lower, first)
    if (code == TCASM_OK) then
      if (c_associated(data)) then
        call c_f_pointer(data, all, n)
      else
        allocate (all(n(1))) ! without elements
      end if
      field(first(1):) => all
    end if
    call report(code, status)
  end subroutine get_int64_1

  subroutine add_int64_1(producer, name, field, shape, lower, options, status)
    type(tcasm_producer), intent(in) :: producer
    character(*), intent(in) :: name
    integer(int64), pointer, intent(out) :: field(:)
    class(*), intent(in) :: shape(:)
    class(*), intent(in), optional :: lower(:)
    type(tcasm_field_options), intent(in), optional :: options
    integer, intent(out), optional :: status
    integer(int64), pointer :: all(:)
    integer(int64) :: n(1), first(1)
    type(c_ptr) :: data
    integer(c_int) :: code
    nullify (field)
    code = numbers(shape, "the extents of field " // trim(name), n)
    if (code == TCASM_OK) code = bounds(lower, first)
    if (code == TCASM_OK) code = added(producer, name, TCASM_I64, n, options, data)
    if (code == TCASM_OK) then
      call c_f_pointer(data, all, n)
      field(first(1):) => all
    end if
    call report(code, status)
  end subroutine add_int64_1

  subroutine get_int64_2(source, name, field, lower, status)
    class(tcasm_source), intent(in) :: source
    character(*), intent(in) :: name
    integer(int64), pointer, intent(out) :: field(:,:)
    class(*), intent(in), optional :: lower(:)
    integer, intent(out), optional :: status
    integer(int64), pointer :: all(:,:)
    integer(int64) :: n(2), first(2)
    type(c_ptr) :: data
    integer(c_int) :: code
    nullify (field)
    code = mapped(source, name, TCASM_I64, TCASM_U64, n, data)
    if (code == TCASM_OK) code = bounds(lower, first)
    if (code == TCASM_OK) then
      if (c_associated(data)) then
        call c_f_pointer(data, all, n)
      else
        allocate (all(n(1), n(2))) ! without elements
      end if
      field(first(1):, first(2):) => all
    end if
    call report(code, status)
  end subroutine get_int64_2

  subroutine add_int64_2(producer, name, field, shape, lower, options, status)
    type(tcasm_producer), intent(in) :: producer
    character(*), intent(in) :: name
    integer(int64), pointer, intent(out) :: field(:,:)
    class(*), intent(in) :: shape(:)
    class(*), intent(in), optional :: lower(:)
    type(tcasm_field_options), intent(in), optional :: options
    integer, intent(out), optional :: status
    integer(int64), pointer :: all(:,:)
    integer(int64) :: n(2), first(2)
    type(c_ptr) :: data
    integer(c_int) :: code
    nullify (field)
    code = numbers(shape, "the extents of field " // trim(name), n)
    if (code == TCASM_OK) code = bounds(lower, first)
    if (code == TCASM_OK) code = added(producer, name, TCASM_I64, n, options, data)
    if (code == TCASM_OK) then
      call c_f_pointer(data, all, n)
      field(first(1):, first(2):) => all
    end if
    call report(code, status)
  end subroutine add_int64_2

  subroutine get_int64_3(source, name, field, lower, status)
    class(tcasm_source), intent(in) :: source
    character(*), intent(in) :: name
    integer(int64), pointer, intent(out) :: field(:,:,:)
    class(*), intent(in), optional :: lower(:)
    integer, intent(out), optional :: status
    integer(int64), pointer :: all(:,:,:)
    integer(int64) :: n(3), first(3)
    type(c_ptr) :: data
    integer(c_int) :: code
    nullify (field)
    code = mapped(source, name, TCASM_I64, TCASM_U64, n, data)
    if (code == TCASM_OK) code = bounds(lower, first)
    if (code == TCASM_OK) then
      if (c_associated(data)) then
        call c_f_pointer(data, all, n)
      else
        allocate (all(n(1), n(2), n(3))) ! without elements
      end if
      field(first(1):, first(2):, first(3):) => all
    end if
    call report(code, status)
  end subroutine get_int64_3

  subroutine add_int64_3(producer, name, field, shape, lower, options, status)
    type(tcasm_producer), intent(in) :: producer
    character(*), intent(in) :: name
    integer(int64), pointer, intent(out) :: field(:,:,:)
    class(*), intent(in) :: shape(:)
    class(*), intent(in), optional :: lower(:)
    type(tcasm_field_options), intent(in), optional :: options
    integer, intent(out), optional :: status
    integer(int64), pointer :: all(:,:,:)
    integer(int64) :: n(3), first(3)
    type(c_ptr) :: data
    integer(c_int) :: code
    nullify (field)
    code = numbers(shape, "the extents of field " // trim(name), n)
    if (code == TCASM_OK) code = bounds(lower, first)
    if (code == TCASM_OK) code = added(producer, name, TCASM_I64, n, options, data)
    if (code == TCASM_OK) then
      call c_f_pointer(data, all, n)
      field(first(1):, first(2):, first(3):) => all
    end if
    call report(code, status)
  end subroutine add_int64_3

  subroutine get_int64_4(source, name, field, lower, status)
    class(tcasm_source), intent(in) :: source
    character(*), intent(in) :: name
    integer(int64), pointer, intent(out) :: field(:,:,:,:)
    class(*), intent(in), optional :: lower(:)
    integer, intent(out), optional :: status
    integer(int64), pointer :: all(:,:,:,:)
    integer(int64) :: n(4), first(4)
    type(c_ptr) :: data
    integer(c_int) :: code
    nullify (field)
    code = mapped(source, name, TCASM_I64, TCASM_U64, n, data)
    if (code == TCASM_OK) code = bounds(lower, first)
    if (code == TCASM_OK) then
      if (c_associated(data)) then
        call c_f_pointer(data, all, n)
      else
        allocate (all(n(1), n(2), n(3), n(4))) ! without elements
      end if
      field(first(1):, first(2):, first(3):, first(4):) => all
    end if
    call report(code, status)
  end subroutine get_int64_4

  subroutine add_int64_4(producer, name, field, shape, lower, options, status)
    type(tcasm_producer), intent(in) :: producer
    character(*), intent(in) :: name
    integer(int64), pointer, intent(out) :: field(:,:,:,:)
    class(*), intent(in) :: shape(:)
    class(*), intent(in), optional :: lower(:)
    type(tcasm_field_options), intent(in), optional :: options
    integer, intent(out), optional :: status
    integer(int64), pointer :: all(:,:,:,:)
    integer(int64) :: n(4), first(4)
    type(c_ptr) :: data
    integer(c_int) :: code
    nullify (field)
    code = numbers(shape, "the extents of field " // trim(name), n)
    if (code == TCASM_OK) code = bounds(lower, first)
    if (code == TCASM_OK) code = added(producer, name, TCASM_I64, n, options, data)
    if (code == TCASM_OK) then
      call c_f_pointer(data, all, n)
      field(first(1):, first(2):, first(3):, first(4):) => all
    end if
    call report(code, status)
  end subroutine add_int64_4

  subroutine get_int64_5(source, name, field, lower, status)
    class(tcasm_source), intent(in) :: source
    character(*), intent(in) :: name
    integer(int64), pointer, intent(out) :: field(:,:,:,:,:)
    class(*), intent(in), optional :: lower(:)
    integer, intent(out), optional :: status
    integer(int64), pointer :: all(:,:,:,:,:)
    integer(int64) :: n(5), first(5)
    type(c_ptr) :: data
    integer(c_int) :: code
    nullify (field)
    code = mapped(source, name, TCASM_I64, TCASM_U64, n, data)
    if (code == TCASM_OK) code = bounds(lower, first)
    if (code == TCASM_OK) then
      if (c_associated(data)) then
        call c_f_pointer(data, all, n)
      else
        allocate (all(n(1), n(2), n(3), n(4), n(5))) ! without elements
      end if
      field(first(1):, first(2):, first(3):, first(4):, first(5):) => all
    end if
    call report(code, status)
  end subroutine get_int64_5

  subroutine add_int64_5(producer, name, field, shape, lower, options, status)
    type(tcasm_producer), intent(in) :: producer
    character(*), intent(in) :: name
    integer(int64), pointer, intent(out) :: field(:,:,:,:,:)
    class(*), intent(in) :: shape(:)
    class(*), intent(in), optional :: lower(:)
    type(tcasm_field_options), intent(in), optional :: options
    integer, intent(out), optional :: status
    integer(int64), pointer :: all(:,:,:,:,:)
    integer(int64) :: n(5), first(5)
    type(c_ptr) :: data
    integer(c_int) :: code
    nullify (field)
    code = numbers(shape, "the extents of field " // trim(name), n)
    if (code == TCASM_OK) code = bounds(lower, first)
    if (code == TCASM_OK) code = added(producer, name, TCASM_I64, n, options, data)
    if (code == TCASM_OK) then
      call c_f_pointer(data, all, n)
      field(first(1):, first(2):, first(3):, first(4):, first(5):) => all
    end if
    call report(code, status)
  end subroutine add_int64_5

  subroutine get_int64_6(source, name, field, lower, status)
    class(tcasm_source), intent(in) :: source
    character(*), intent(in) :: name
    integer(int64), pointer, intent(out) :: field(:,:,:,:,:,:)
    class(*), intent(in), optional :: lower(:)
    integer, intent(out), optional :: status
    integer(int64), pointer :: all(:,:,:,:,:,:)
    integer(int64) :: n(6), first(6)
    type(c_ptr) :: data
    integer(c_int) :: code
    nullify (field)
    code = mapped(source, name, TCASM_I64, TCASM_U64, n, data)
    if (code == TCASM_OK) code = bounds(lower, first)
    if (code == TCASM_OK) then
      if (c_associated(data)) then
        call c_f_pointer(data, all, n)
      else
        allocate (all(n(1), n(2), n(3), n(4), n(5), n(6))) ! without elements
      end if
      field(first(1):, first(2):, first(3):, first(4):, first(5):, first(6):) => all
    end if
    call report(code, status)
  end subroutine get_int64_6

  subroutine add_int64_6(producer, name, field, shape, lower, options, status)
    type(tcasm_producer), intent(in) :: producer
    character(*), intent(in) :: name
    integer(int64), pointer, intent(out) :: field(:,:,:,:,:,:)
    class(*), intent(in) :: shape(:)
    class(*), intent(in), optional :: lower(:)
    type(tcasm_field_options), intent(in), optional :: options
    integer, intent(out), optional :: status
    integer(int64), pointer :: all(:,:,:,:,:,:)
    integer(int64) :: n(6), first(6)
    type(c_ptr) :: data
    integer(c_int) :: code
    nullify (field)
    code = numbers(shape, "the extents of field " // trim(name), n)
    if (code == TCASM_OK) code = bounds(lower, first)
    if (code == TCASM_OK) code = added(producer, name, TCASM_I64, n, options, data)
    if (code == TCASM_OK) then
      call c_f_pointer(data, all, n)
      field(first(1):, first(2):, first(3):, first(4):, first(5):, first(6):) => all
    end if
    call report(code, status)
  end subroutine add_int64_6

  subroutine get_int64_7(source, name, field, lower, status)
    class(tcasm_source), intent(in) :: source
    character(*), intent(in) :: name
    integer(int64), pointer, intent(out) :: field(:,:,:,:,:,:,:)
    class(*), intent(in), optional :: lower(:)
    integer, intent(out), optional :: status
    integer(int64), pointer :: all(:,:,:,:,:,:,:)
    integer(int64) :: n(7), first(7)
    type(c_ptr) :: data
    integer(c_int) :: code
    nullify (field)
    code = mapped(source, name, TCASM_I64, TCASM_U64, n, data)
    if (code == TCASM_OK) code = bounds(lower, first)
    if (code == TCASM_OK) then
      if (c_associated(data)) then
        call c_f_pointer(data, all, n)
      else
        allocate (all(n(1), n(2), n(3), n(4), n(5), n(6), n(7))) ! without elements
      end if
      field(first(1):, first(2):, first(3):, first(4):, first(5):, first(6):, first(7):) => all
    end if
    call report(code, status)
  end subroutine get_int64_7

  subroutine add_int64_7(producer, name, field, shape, lower, options, status)
    type(tcasm_producer), intent(in) :: producer
    character(*), intent(in) :: name
    integer(int64), pointer, intent(out) :: field(:,:,:,:,:,:,:)
    class(*), intent(in) :: shape(:)
    class(*), intent(in), optional :: lower(:)
    type(tcasm_field_options), intent(in), optional :: options
    integer, intent(out), optional :: status
    integer(int64), pointer :: all(:,:,:,:,:,:,:)
    integer(int64) :: n(7), first(7)
    type(c_ptr) :: data
    integer(c_int) :: code
    nullify (field)
    code = numbers(shape, "the extents of field " // trim(name), n)
    if (code == TCASM_OK) code = bounds(lower, first)
    if (code == TCASM_OK) code = added(producer, name, TCASM_I64, n, options, data)
    if (code == TCASM_OK) then
      call c_f_pointer(data, all, n)
      field(first(1):, first(2):, first(3):, first(4):, first(5):, first(6):, first(7):) => all
    end if
    call report(code, status)
  end subroutine add_int64_7

  subroutine get_real32_0(source, name, field, status)
    class(tcasm_source), intent(in) :: source
    character(*), intent(in) :: name
    real(real32), pointer, intent(out) :: field
    integer, intent(out), optional :: status
    integer(int64) :: n(0)
    type(c_ptr) :: data
    integer(c_int) :: code
    nullify (field)
    code = mapped(source, name, TCASM_F32, 0, n, data)
    if (code == TCASM_OK) call c_f_pointer(data, field)
    call report(code, status)
  end subroutine get_real32_0

  subroutine add_real32_0(producer, name, field, options, status)
    type(tcasm_producer), intent(in) :: producer
    character(*), intent(in) :: name
    real(real32), pointer, intent(out) :: field
    type(tcasm_field_options), intent(in), optional :: options
    integer, intent(out), optional :: status
    integer(int64) :: n(0)
    type(c_ptr) :: data
    integer(c_int) :: code
    nullify (field)
    code = added(producer, name, TCASM_F32, n, options, data)
    if (code == TCASM_OK) call c_f_pointer(data, field)
    call report(code, status)
  end subroutine add_real32_0

  subroutine get_real32_1(source, name, field, lower, status)
    class(tcasm_source), intent(in) :: source
    character(*), intent(in) :: name
    real(real32), pointer, intent(out) :: field(:)
    class(*), intent(in), optional :: lower(:)
    integer, intent(out), optional :: status
    real(real32), pointer :: all(:)
    integer(int64) :: n(1), first(1)
    type(c_ptr) :: data
    integer(c_int) :: code
    nullify (field)
    code = mapped(source, name, TCASM_F32, 0, n, data)
    if (code == TCASM_OK) code = bounds(lower, first)
    if (code == TCASM_OK) then
      if (c_associated(data)) then
        call c_f_pointer(data, all, n)
      else
        allocate (all(n(1))) ! without elements
      end if
      field(first(1):) => all
    end if
    call report(code, status)
  end subroutine get_real32_1

  subroutine add_real32_1(producer, name, field, shape, lower, options, status)
    type(tcasm_producer), intent(in) :: producer
    character(*), intent(in) :: name
    real(real32), pointer, intent(out) :: field(:)
    class(*), intent(in) :: shape(:)
    class(*), intent(in), optional :: lower(:)
    type(tcasm_field_options), intent(in), optional :: options
    integer, intent(out), optional :: status
    real(real32), pointer :: all(:)
    integer(int64) :: n(1), first(1)
    type(c_ptr) :: data
    integer(c_int) :: code
    nullify (field)
    code = numbers(shape, "the extents of field " // trim(name), n)
    if (code == TCASM_OK) code = bounds(lower, first)
    if (code == TCASM_OK) code = added(producer, name, TCASM_F32, n, options, data)
    if (code == TCASM_OK) then
      call c_f_pointer(data, all, n)
      field(first(1):) => all
    end if
    call report(code, status)
  end subroutine add_real32_1

  subroutine get_real32_2(source, name, field, lower, status)
    class(tcasm_source), intent(in) :: source
    character(*), intent(in) :: name
    real(real32), pointer, intent(out) :: field(:,:)
    class(*), intent(in), optional :: lower(:)
    integer, intent(out), optional :: status
    real(real32), pointer :: all(:,:)
    integer(int64) :: n(2), first(2)
    type(c_ptr) :: data
    integer(c_int) :: code
    nullify (field)
    code = mapped(source, name, TCASM_F32, 0, n, data)
    if (code == TCASM_OK) code = bounds(lower, first)
    if (code == TCASM_OK) then
      if (c_associated(data)) then
        call c_f_pointer(data, all, n)
      else
        allocate (all(n(1), n(2))) ! without elements
      end if
      field(first(1):, first(2):) => all
    end if
    call report(code, status)
  end subroutine get_real32_2

  subroutine add_real32_2(producer, name, field, shape, lower, options, status)
    type(tcasm_producer), intent(in) :: producer
    character(*), intent(in) :: name
    real(real32), pointer, intent(out) :: field(:,:)
    class(*), intent(in) :: shape(:)
    class(*), intent(in), optional :: lower(:)
    type(tcasm_field_options), intent(in), optional :: options
    integer, intent(out), optional :: status
    real(real32), pointer :: all(:,:)
    integer(int64) :: n(2), first(2)
    type(c_ptr) :: data
    integer(c_int) :: code
    nullify (field)
    code = numbers(shape, "the extents of field " // trim(name), n)
    if (code == TCASM_OK) code = bounds(lower, first)
    if (code == TCASM_OK) code = added(producer, name, TCASM_F32, n, options, data)
    if (code == TCASM_OK) then
      call c_f_pointer(data, all, n)
      field(first(1):, first(2):) => all
    end if
    call report(code, status)
  end subroutine add_real32_2

  subroutine get_real32_3(source, name, field, lower, status)
    class(tcasm_source), intent(in) :: source
    character(*), intent(in) :: name
    real(real32), pointer, intent(out) :: field(:,:,:)
    class(*), intent(in), optional :: lower(:)
    integer, intent(out), optional :: status
    real(real32), pointer :: all(:,:,:)
    integer(int64) :: n(3), first(3)
    type(c_ptr) :: data
    integer(c_int) :: code
    nullify (field)
    code = mapped(source, name, TCASM_F32, 0, n, data)
    if (code == TCASM_OK) code = bounds(lower, first)
    if (code == TCASM_OK) then
      if (c_associated(data)) then
        call c_f_pointer(data, all, n)
      else
        allocate (all(n(1), n(2), n(3))) ! without elements
      end if
      field(first(1):, first(2):, first(3):) => all
    end if
    call report(code, status)
  end subroutine get_real32_3

  subroutine add_real32_3(producer, name, field, shape, lower, options, status)
    type(tcasm_producer), intent(in) :: producer
    character(*), intent(in) :: name
    real(real32), pointer, intent(out) :: field(:,:,:)
    class(*), intent(in) :: shape(:)
    class(*), intent(in), optional :: lower(:)
    type(tcasm_field_options), intent(in), optional :: options
    integer, intent(out), optional :: status
    real(real32), pointer :: all(:,:,:)
    integer(int64) :: n(3), first(3)
    type(c_ptr) :: data
    integer(c_int) :: code
    nullify (field)
    code = numbers(shape, "the extents of field " // trim(name), n)
    if (code == TCASM_OK) code = bounds(lower, first)
    if (code == TCASM_OK) code = added(producer, name, TCASM_F32, n, options, data)
    if (code == TCASM_OK) then
      call c_f_pointer(data, all, n)
      field(first(1):, first(2):, first(3):) => all
    end if
    call report(code, status)
  end subroutine add_real32_3

  subroutine get_real32_4(source, name, field, lower, status)
    class(tcasm_source), intent(in) :: source
    character(*), intent(in) :: name
    real(real32), pointer, intent(out) :: field(:,:,:,:)
    class(*), intent(in), optional :: lower(:)
    integer, intent(out), optional :: status
    real(real32), pointer :: all(:,:,:,:)
    integer(int64) :: n(4), first(4)
    type(c_ptr) :: data
    integer(c_int) :: code
    nullify (field)
    code = mapped(source, name, TCASM_F32, 0, n, data)
    if (code == TCASM_OK) code = bounds(lower, first)
    if (code == TCASM_OK) then
      if (c_associated(data)) then
        call c_f_pointer(data, all, n)
      else
        allocate (all(n(1), n(2), n(3), n(4))) ! without elements
      end if
      field(first(1):, first(2):, first(3):, first(4):) => all
    end if
    call report(code, status)
  end subroutine get_real32_4

  subroutine add_real32_4(producer, name, field, shape, lower, options, status)
    type(tcasm_producer), intent(in) :: producer
    character(*), intent(in) :: name
    real(real32), pointer, intent(out) :: field(:,:,:,:)
    class(*), intent(in) :: shape(:)
    class(*), intent(in), optional :: lower(:)
    type(tcasm_field_options), intent(in), optional :: options
    integer, intent(out), optional :: status
    real(real32), pointer :: all(:,:,:,:)
    integer(int64) :: n(4), first(4)
    type(c_ptr) :: data
    integer(c_int) :: code
    nullify (field)
    code = numbers(shape, "the extents of field " // trim(name), n)
    if (code == TCASM_OK) code = bounds(lower, first)
    if (code == TCASM_OK) code = added(producer, name, TCASM_F32, n, options, data)
    if (code == TCASM_OK) then
      call c_f_pointer(data, all, n)
      field(first(1):, first(2):, first(3):, first(4):) => all
    end if
    call report(code, status)
  end subroutine add_real32_4

  subroutine get_real32_5(source, name, field, lower, status)
    class(tcasm_source), intent(in) :: source
    character(*), intent(in) :: name
    real(real32), pointer, intent(out) :: field(:,:,:,:,:)
    class(*), intent(in), optional :: lower(:)
    integer, intent(out), optional :: status
    real(real32), pointer :: all(:,:,:,:,:)
    integer(int64) :: n(5), first(5)
    type(c_ptr) :: data
    integer(c_int) :: code
    nullify (field)
    code = mapped(source, name, TCASM_F32, 0, n, data)
    if (code == TCASM_OK) code = bounds(lower, first)
    if (code == TCASM_OK) then
      if (c_associated(data)) then
        call c_f_pointer(data, all, n)
      else
        allocate (all(n(1), n(2), n(3), n(4), n(5))) ! without elements
      end if
      field(first(1):, first(2):, first(3):, first(4):, first(5):) => all
    end if
    call report(code, status)
  end subroutine get_real32_5

  subroutine add_real32_5(producer, name, field, shape, lower, options, status)
    type(tcasm_producer), intent(in) :: producer
    character(*), intent(in) :: name
    real(real32), pointer, intent(out) :: field(:,:,:,:,:)
    class(*), intent(in) :: shape(:)
    class(*), intent(in), optional :: lower(:)
    type(tcasm_field_options), intent(in), optional :: options
    integer, intent(out), optional :: status
    real(real32), pointer :: all(:,:,:,:,:)
    integer(int64) :: n(5), first(5)
    type(c_ptr) :: data
    integer(c_int) :: code
    nullify (field)
    code = numbers(shape, "the extents of field " // trim(name), n)
    if (code == TCASM_OK) code = bounds(lower, first)
    if (code == TCASM_OK) code = added(producer, name, TCASM_F32, n, options, data)
    if (code == TCASM_OK) then
      call c_f_pointer(data, all, n)
      field(first(1):, first(2):, first(3):, first(4):, first(5):) => all
    end if
    call report(code, status)
  end subroutine add_real32_5

  subroutine get_real32_6(source, name, field, lower, status)
    class(tcasm_source), intent(in) :: source
    character(*), intent(in) :: name
    real(real32), pointer, intent(out) :: field(:,:,:,:,:,:)
    class(*), intent(in), optional :: lower(:)
    integer, intent(out), optional :: status
    real(real32), pointer :: all(:,:,:,:,:,:)
    integer(int64) :: n(6), first(6)
    type(c_ptr) :: data
    integer(c_int) :: code
    nullify (field)
    code = mapped(source, name, TCASM_F32, 0, n, data)
    if (code == TCASM_OK) code = bounds(lower, first)
    if (code == TCASM_OK) then
      if (c_associated(data)) then
        call c_f_pointer(data, all, n)
      else
        allocate (all(n(1), n(2), n(3), n(4), n(5), n(6))) ! without elements
      end if
      field(first(1):, first(2):, first(3):, first(4):, first(5):, first(6):) => all
    end if
    call report(code, status)
  end subroutine get_real32_6

  subroutine add_real32_6(producer, name, field, shape, lower, options, status)
    type(tcasm_producer), intent(in) :: producer
    character(*), intent(in) :: name
    real(real32), pointer, intent(out) :: field(:,:,:,:,:,:)
    class(*), intent(in) :: shape(:)
    class(*), intent(in), optional :: lower(:)
    type(tcasm_field_options), intent(in), optional :: options
    integer, intent(out), optional :: status
    real(real32), pointer :: all(:,:,:,:,:,:)
    integer(int64) :: n(6), first(6)
    type(c_ptr) :: data
    integer(c_int) :: code
    nullify (field)
    code = numbers(shape, "the extents of field " // trim(name), n)
    if (code == TCASM_OK) code = bounds(lower, first)
    if (code == TCASM_OK) code = added(producer, name, TCASM_F32, n, options, data)
    if (code == TCASM_OK) then
      call c_f_pointer(data, all, n)
      field(first(1):, first(2):, first(3):, first(4):, first(5):, first(6):) => all
    end if
    call report(code, status)
  end subroutine add_real32_6

  subroutine get_real32_7(source, name, field, lower, status)
    class(tcasm_source), intent(in) :: source
    character(*), intent(in) :: name
    real(real32), pointer, intent(out) :: field(:,:,:,:,:,:,:)
    class(*), intent(in), optional :: lower(:)
    integer, intent(out), optional :: status
    real(real32), pointer :: all(:,:,:,:,:,:,:)
    integer(int64) :: n(7), first(7)
    type(c_ptr) :: data
    integer(c_int) :: code
    nullify (field)
    code = mapped(source, name, TCASM_F32, 0, n, data)
    if (code == TCASM_OK) code = bounds(lower, first)
    if (code == TCASM_OK) then
      if (c_associated(data)) then
        call c_f_pointer(data, all, n)
      else
        allocate (all(n(1), n(2), n(3), n(4), n(5), n(6), n(7))) ! without elements
      end if
      field(first(1):, first(2):, first(3):, first(4):, first(5):, first(6):, first(7):) => all
    end if
    call report(code, status)
  end subroutine get_real32_7

  subroutine add_real32_7(producer, name, field, shape, lower, options, status)
    type(tcasm_producer), intent(in) :: producer
    character(*), intent(in) :: name
    real(real32), pointer, intent(out) :: field(:,:,:,:,:,:,:)
    class(*), intent(in) :: shape(:)
    class(*), intent(in), optional :: lower(:)
    type(tcasm_field_options), intent(in), optional :: options
    integer, intent(out), optional :: status
    real(real32), pointer :: all(:,:,:,:,:,:,:)
    integer(int64) :: n(7), first(7)
    type(c_ptr) :: data
    integer(c_int) :: code
    nullify (field)
    code = numbers(shape, "the extents of field " // trim(name), n)
    if (code == TCASM_OK) code = bounds(lower, first)
    if (code == TCASM_OK) code = added(producer, name, TCASM_F32, n, options, data)
    if (code == TCASM_OK) then
      call c_f_pointer(data, all, n)
      field(first(1):, first(2):, first(3):, first(4):, first(5):, first(6):, first(7):) => all
    end if
    call report(code, status)
  end subroutine add_real32_7

  subroutine get_real64_0(source, name, field, status)
    class(tcasm_source), intent(in) :: source
    character(*), intent(in) :: name
    real(real64), pointer, intent(out) :: field
    integer, intent(out), optional :: status
    integer(int64) :: n(0)
    type(c_ptr) :: data
    integer(c_int) :: code
    nullify (field)
    code = mapped(source, name, TCASM_F64, 0, n, data)
    if (code == TCASM_OK) call c_f_pointer(data, field)
    call report(code, status)
  end subroutine get_real64_0

  subroutine add_real64_0(producer, name, field, options, status)
    type(tcasm_producer), intent(in) :: producer
    character(*), intent(in) :: name
    real(real64), pointer, intent(out) :: field
    type(tcasm_field_options), intent(in), optional :: options
    integer, intent(out), optional :: status
    integer(int64) :: n(0)
    type(c_ptr) :: data
    integer(c_int) :: code
    nullify (field)
    code = added(producer, name, TCASM_F64, n, options, data)
    if (code == TCASM_OK) call c_f_pointer(data, field)
    call report(code, status)
  end subroutine add_real64_0

  subroutine get_real64_1(source, name, field, lower, status)
    class(tcasm_source), intent(in) :: source
    character(*), intent(in) :: name
    real(real64), pointer, intent(out) :: field(:)
    class(*), intent(in), optional :: lower(:)
    integer, intent(out), optional :: status
    real(real64), pointer :: all(:)
    integer(int64) :: n(1), first(1)
    type(c_ptr) :: data
    integer(c_int) :: code
    nullify (field)
    code = mapped(source, name, TCASM_F64, 0, n, data)
    if (code == TCASM_OK) code = bounds(lower, first)
    if (code == TCASM_OK) then
      if (c_associated(data)) then
        call c_f_pointer(data, all, n)
      else
        allocate (all(n(1))) ! without elements
      end if
      field(first(1):) => all
    end if
    call report(code, status)
  end subroutine get_real64_1

  subroutine add_real64_1(producer, name, field, shape, lower, options, status)
    type(tcasm_producer), intent(in) :: producer
    character(*), intent(in) :: name
    real(real64), pointer, intent(out) :: field(:)
    class(*), intent(in) :: shape(:)
    class(*), intent(in), optional :: lower(:)
    type(tcasm_field_options), intent(in), optional :: options
    integer, intent(out), optional :: status
    real(real64), pointer :: all(:)
    integer(int64) :: n(1), first(1)
    type(c_ptr) :: data
    integer(c_int) :: code
    nullify (field)
    code = numbers(shape, "the extents of field " // trim(name), n)
    if (code == TCASM_OK) code = bounds(lower, first)
    if (code == TCASM_OK) code = added(producer, name, TCASM_F64, n, options, data)
    if (code == TCASM_OK) then
      call c_f_pointer(data, all, n)
      field(first(1):) => all
    end if
    call report(code, status)
  end subroutine add_real64_1

  subroutine get_real64_2(source, name, field, lower, status)
    class(tcasm_source), intent(in) :: source
    character(*), intent(in) :: name
    real(real64), pointer, intent(out) :: field(:,:)
    class(*), intent(in), optional :: lower(:)
    integer, intent(out), optional :: status
    real(real64), pointer :: all(:,:)
    integer(int64) :: n(2), first(2)
    type(c_ptr) :: data
    integer(c_int) :: code
    nullify (field)
    code = mapped(source, name, TCASM_F64, 0, n, data)
    if (code == TCASM_OK) code = bounds(lower, first)
    if (code == TCASM_OK) then
      if (c_associated(data)) then
        call c_f_pointer(data, all, n)
      else
        allocate (all(n(1), n(2))) ! without elements
      end if
      field(first(1):, first(2):) => all
    end if
    call report(code, status)
  end subroutine get_real64_2

  subroutine add_real64_2(producer, name, field, shape, lower, options, status)
    type(tcasm_producer), intent(in) :: producer
    character(*), intent(in) :: name
    real(real64), pointer, intent(out) :: field(:,:)
    class(*), intent(in) :: shape(:)
    class(*), intent(in), optional :: lower(:)
    type(tcasm_field_options), intent(in), optional :: options
    integer, intent(out), optional :: status
    real(real64), pointer :: all(:,:)
    integer(int64) :: n(2), first(2)
    type(c_ptr) :: data
    integer(c_int) :: code
    nullify (field)
    code = numbers(shape, "the extents of field " // trim(name), n)
    if (code == TCASM_OK) code = bounds(lower, first)
    if (code == TCASM_OK) code = added(producer, name, TCASM_F64, n, options, data)
    if (code == TCASM_OK) then
      call c_f_pointer(data, all, n)
      field(first(1):, first(2):) => all
    end if
    call report(code, status)
  end subroutine add_real64_2

  subroutine get_real64_3(source, name, field, lower, status)
    class(tcasm_source), intent(in) :: source
    character(*), intent(in) :: name
    real(real64), pointer, intent(out) :: field(:,:,:)
    class(*), intent(in), optional :: lower(:)
    integer, intent(out), optional :: status
    real(real64), pointer :: all(:,:,:)
    integer(int64) :: n(3), first(3)
    type(c_ptr) :: data
    integer(c_int) :: code
    nullify (field)
    code = mapped(source, name, TCASM_F64, 0, n, data)
    if (code == TCASM_OK) code = bounds(lower, first)
    if (code == TCASM_OK) then
      if (c_associated(data)) then
        call c_f_pointer(data, all, n)
      else
        allocate (all(n(1), n(2), n(3))) ! without elements
      end if
      field(first(1):, first(2):, first(3):) => all
    end if
    call report(code, status)
  end subroutine get_real64_3

  subroutine add_real64_3(producer, name, field, shape, lower, options, status)
    type(tcasm_producer), intent(in) :: producer
    character(*), intent(in) :: name
    real(real64), pointer, intent(out) :: field(:,:,:)
    class(*), intent(in) :: shape(:)
    class(*), intent(in), optional :: lower(:)
    type(tcasm_field_options), intent(in), optional :: options
    integer, intent(out), optional :: status
    real(real64), pointer :: all(:,:,:)
    integer(int64) :: n(3), first(3)
    type(c_ptr) :: data
    integer(c_int) :: code
    nullify (field)
    code = numbers(shape, "the extents of field " // trim(name), n)
    if (code == TCASM_OK) code = bounds(lower, first)
    if (code == TCASM_OK) code = added(producer, name, TCASM_F64, n, options, data)
    if (code == TCASM_OK) then
      call c_f_pointer(data, all, n)
      field(first(1):, first(2):, first(3):) => all
    end if
    call report(code, status)
  end subroutine add_real64_3

  subroutine get_real64_4(source, name, field, lower, status)
    class(tcasm_source), intent(in) :: source
    character(*), intent(in) :: name
    real(real64), pointer, intent(out) :: field(:,:,:,:)
    class(*), intent(in), optional :: lower(:)
    integer, intent(out), optional :: status
    real(real64), pointer :: all(:,:,:,:)
    integer(int64) :: n(4), first(4)
    type(c_ptr) :: data
    integer(c_int) :: code
    nullify (field)
    code = mapped(source, name, TCASM_F64, 0, n, data)
    if (code == TCASM_OK) code = bounds(lower, first)
    if (code == TCASM_OK) then
      if (c_associated(data)) then
        call c_f_pointer(data, all, n)
      else
        allocate (all(n(1), n(2), n(3), n(4))) ! without elements
      end if
      field(first(1):, first(2):, first(3):, first(4):) => all
    end if
    call report(code, status)
  end subroutine get_real64_4

  subroutine add_real64_4(producer, name, field, shape, lower, options, status)
    type(tcasm_producer), intent(in) :: producer
    character(*), intent(in) :: name
    real(real64), pointer, intent(out) :: field(:,:,:,:)
    class(*), intent(in) :: shape(:)
    class(*), intent(in), optional :: lower(:)
    type(tcasm_field_options), intent(in), optional :: options
    integer, intent(out), optional :: status
    real(real64), pointer :: all(:,:,:,:)
    integer(int64) :: n(4), first(4)
    type(c_ptr) :: data
    integer(c_int) :: code
    nullify (field)
    code = numbers(shape, "the extents of field " // trim(name), n)
    if (code == TCASM_OK) code = bounds(lower, first)
    if (code == TCASM_OK) code = added(producer, name, TCASM_F64, n, options, data)
    if (code == TCASM_OK) then
      call c_f_pointer(data, all, n)
      field(first(1):, first(2):, first(3):, first(4):) => all
    end if
    call report(code, status)
  end subroutine add_real64_4

  subroutine get_real64_5(source, name, field, lower, status)
    class(tcasm_source), intent(in) :: source
    character(*), intent(in) :: name
    real(real64), pointer, intent(out) :: field(:,:,:,:,:)
    class(*), intent(in), optional :: lower(:)
    integer, intent(out), optional :: status
    real(real64), pointer :: all(:,:,:,:,:)
    integer(int64) :: n(5), first(5)
    type(c_ptr) :: data
    integer(c_int) :: code
    nullify (field)
    code = mapped(source, name, TCASM_F64, 0, n, data)
    if (code == TCASM_OK) code = bounds(lower, first)
    if (code == TCASM_OK) then
      if (c_associated(data)) then
        call c_f_pointer(data, all, n)
      else
        allocate (all(n(1), n(2), n(3), n(4), n(5))) ! without elements
      end if
      field(first(1):, first(2):, first(3):, first(4):, first(5):) => all
    end if
    call report(code, status)
  end subroutine get_real64_5

  subroutine add_real64_5(producer, name, field, shape, lower, options, status)
    type(tcasm_producer), intent(in) :: producer
    character(*), intent(in) :: name
    real(real64), pointer, intent(out) :: field(:,:,:,:,:)
    class(*), intent(in) :: shape(:)
    class(*), intent(in), optional :: lower(:)
    type(tcasm_field_options), intent(in), optional :: options
    integer, intent(out), optional :: status
    real(real64), pointer :: all(:,:,:,:,:)
    integer(int64) :: n(5), first(5)
    type(c_ptr) :: data
    integer(c_int) :: code
    nullify (field)
    code = numbers(shape, "the extents of field " // trim(name), n)
    if (code == TCASM_OK) code = bounds(lower, first)
    if (code == TCASM_OK) code = added(producer, name, TCASM_F64, n, options, data)
    if (code == TCASM_OK) then
      call c_f_pointer(data, all, n)
      field(first(1):, first(2):, first(3):, first(4):, first(5):) => all
    end if
    call report(code, status)
  end subroutine add_real64_5

  subroutine get_real64_6(source, name, field, lower, status)
    class(tcasm_source), intent(in) :: source
    character(*), intent(in) :: name
    real(real64), pointer, intent(out) :: field(:,:,:,:,:,:)
    class(*), intent(in), optional :: lower(:)
    integer, intent(out), optional :: status
    real(real64), pointer :: all(:,:,:,:,:,:)
    integer(int64) :: n(6), first(6)
    type(c_ptr) :: data
    integer(c_int) :: code
    nullify (field)
    code = mapped(source, name, TCASM_F64, 0, n, data)
    if (code == TCASM_OK) code = bounds(lower, first)
    if (code == TCASM_OK) then
      if (c_associated(data)) then
        call c_f_pointer(data, all, n)
      else
        allocate (all(n(1), n(2), n(3), n(4), n(5), n(6))) ! without elements
      end if
      field(first(1):, first(2):, first(3):, first(4):, first(5):, first(6):) => all
    end if
    call report(code, status)
  end subroutine get_real64_6

  subroutine add_real64_6(producer, name, field, shape, lower, options, status)
    type(tcasm_producer), intent(in) :: producer
    character(*), intent(in) :: name
    real(real64), pointer, intent(out) :: field(:,:,:,:,:,:)
    class(*), intent(in) :: shape(:)
    class(*), intent(in), optional :: lower(:)
    type(tcasm_field_options), intent(in), optional :: options
    integer, intent(out), optional :: status
    real(real64), pointer :: all(:,:,:,:,:,:)
    integer(int64) :: n(6), first(6)
    type(c_ptr) :: data
    integer(c_int) :: code
    nullify (field)
    code = numbers(shape, "the extents of field " // trim(name), n)
    if (code == TCASM_OK) code = bounds(lower, first)
    if (code == TCASM_OK) code = added(producer, name, TCASM_F64, n, options, data)
    if (code == TCASM_OK) then
      call c_f_pointer(data, all, n)
      field(first(1):, first(2):, first(3):, first(4):, first(5):, first(6):) => all
    end if
    call report(code, status)
  end subroutine add_real64_6

  subroutine get_real64_7(source, name, field, lower, status)
    class(tcasm_source), intent(in) :: source
    character(*), intent(in) :: name
    real(real64), pointer, intent(out) :: field(:,:,:,:,:,:,:)
    class(*), intent(in), optional :: lower(:)
    integer, intent(out), optional :: status
    real(real64), pointer :: all(:,:,:,:,:,:,:)
    integer(int64) :: n(7), first(7)
    type(c_ptr) :: data
    integer(c_int) :: code
    nullify (field)
    code = mapped(source, name, TCASM_F64, 0, n, data)
    if (code == TCASM_OK) code = bounds(lower, first)
    if (code == TCASM_OK) then
      if (c_associated(data)) then
        call c_f_pointer(data, all, n)
      else
        allocate (all(n(1), n(2), n(3), n(4), n(5), n(6), n(7))) ! without elements
      end if
      field(first(1):, first(2):, first(3):, first(4):, first(5):, first(6):, first(7):) => all
    end if
    call report(code, status)
  end subroutine get_real64_7

  subroutine add_real64_7(producer, name, field, shape, lower, options, status)
    type(tcasm_producer), intent(in) :: producer
    character(*), intent(in) :: name
    real(real64), pointer, intent(out) :: field(:,:,:,:,:,:,:)
    class(*), intent(in) :: shape(:)
    class(*), intent(in), optional :: lower(:)
    type(tcasm_field_options), intent(in), optional :: options
    integer, intent(out), optional :: status
    real(real64), pointer :: all(:,:,:,:,:,:,:)
    integer(int64) :: n(7), first(7)
    type(c_ptr) :: data
    integer(c_int) :: code
    nullify (field)
    code = numbers(shape, "the extents of field " // trim(name), n)
    if (code == TCASM_OK) code = bounds(lower, first)
    if (code == TCASM_OK) code = added(producer, name, TCASM_F64, n, options, data)
    if (code == TCASM_OK) then
      call c_f_pointer(data, all, n)
      field(first(1):, first(2):, first(3):, first(4):, first(5):, first(6):, first(7):) => all
    end if
    call report(code, status)
  end subroutine add_real64_7

  subroutine get_complex32_0(source, name, field, status)
    class(tcasm_source), intent(in) :: source
    character(*), intent(in) :: name
    complex(real32), pointer, intent(out) :: field
    integer, intent(out), optional :: status
    integer(int64) :: n(0)
    type(c_ptr) :: data
    integer(c_int) :: code
    nullify (field)
    code = mapped(source, name, TCASM_C32, 0, n, data)
    if (code == TCASM_OK) call c_f_pointer(data, field)
    call report(code, status)
  end subroutine get_complex32_0

  subroutine add_complex32_0(producer, name, field, options, status)
    type(tcasm_producer), intent(in) :: producer
    character(*), intent(in) :: name
    complex(real32), pointer, intent(out) :: field
    type(tcasm_field_options), intent(in), optional :: options
    integer, intent(out), optional :: status
    integer(int64) :: n(0)
    type(c_ptr) :: data
    integer(c_int) :: code
    nullify (field)
    code = added(producer, name, TCASM_C32, n, options, data)
    if (code == TCASM_OK) call c_f_pointer(data, field)
    call report(code, status)
  end subroutine add_complex32_0

  subroutine get_complex32_1(source, name, field, lower, status)
    class(tcasm_source), intent(in) :: source
    character(*), intent(in) :: name
    complex(real32), pointer, intent(out) :: field(:)
    class(*), intent(in), optional :: lower(:)
    integer, intent(out), optional :: status
    complex(real32), pointer :: all(:)
    integer(int64) :: n(1), first(1)
    type(c_ptr) :: data
    integer(c_int) :: code
    nullify (field)
    code = mapped(source, name, TCASM_C32, 0, n, data)
    if (code == TCASM_OK) code = bounds(lower, first)
    if (code == TCASM_OK) then
      if (c_associated(data)) then
        call c_f_pointer(data, all, n)
      else
        allocate (all(n(1))) ! without elements
      end if
      field(first(1):) => all
    end if
    call report(code, status)
  end subroutine get_complex32_1

  subroutine add_complex32_1(producer, name, field, shape, lower, options, status)
    type(tcasm_producer), intent(in) :: producer
    character(*), intent(in) :: name
    complex(real32), pointer, intent(out) :: field(:)
    class(*), intent(in) :: shape(:)
    class(*), intent(in), optional :: lower(:)
    type(tcasm_field_options), intent(in), optional :: options
    integer, intent(out), optional :: status
    complex(real32), pointer :: all(:)
    integer(int64) :: n(1), first(1)
    type(c_ptr) :: data
    integer(c_int) :: code
    nullify (field)
    code = numbers(shape, "the extents of field " // trim(name), n)
    if (code == TCASM_OK) code = bounds(lower, first)
    if (code == TCASM_OK) code = added(producer, name, TCASM_C32, n, options, data)
    if (code == TCASM_OK) then
      call c_f_pointer(data, all, n)
      field(first(1):) => all
    end if
    call report(code, status)
  end subroutine add_complex32_1

  subroutine get_complex32_2(source, name, field, lower, status)
    class(tcasm_source), intent(in) :: source
    character(*), intent(in) :: name
    complex(real32), pointer, intent(out) :: field(:,:)
    class(*), intent(in), optional :: lower(:)
    integer, intent(out), optional :: status
    complex(real32), pointer :: all(:,:)
    integer(int64) :: n(2), first(2)
    type(c_ptr) :: data
    integer(c_int) :: code
    nullify (field)
    code = mapped(source, name, TCASM_C32, 0, n, data)
    if (code == TCASM_OK) code = bounds(lower, first)
    if (code == TCASM_OK) then
      if (c_associated(data)) then
        call c_f_pointer(data, all, n)
      else
        allocate (all(n(1), n(2))) ! without elements
      end if
      field(first(1):, first(2):) => all
    end if
    call report(code, status)
  end subroutine get_complex32_2

  subroutine add_complex32_2(producer, name, field, shape, lower, options, status)
    type(tcasm_producer), intent(in) :: producer
    character(*), intent(in) :: name
    complex(real32), pointer, intent(out) :: field(:,:)
    class(*), intent(in) :: shape(:)
    class(*), intent(in), optional :: lower(:)
    type(tcasm_field_options), intent(in), optional :: options
    integer, intent(out), optional :: status
    complex(real32), pointer :: all(:,:)
    integer(int64) :: n(2), first(2)
    type(c_ptr) :: data
    integer(c_int) :: code
    nullify (field)
    code = numbers(shape, "the extents of field " // trim(name), n)
    if (code == TCASM_OK) code = bounds(lower, first)
    if (code == TCASM_OK) code = added(producer, name, TCASM_C32, n, options, data)
    if (code == TCASM_OK) then
      call c_f_pointer(data, all, n)
      field(first(1):, first(2):) => all
    end if
    call report(code, status)
  end subroutine add_complex32_2

  subroutine get_complex32_3(source, name, field, lower, status)
    class(tcasm_source), intent(in) :: source
    character(*), intent(in) :: name
    complex(real32), pointer, intent(out) :: field(:,:,:)
    class(*), intent(in), optional :: lower(:)
    integer, intent(out), optional :: status
    complex(real32), pointer :: all(:,:,:)
    integer(int64) :: n(3), first(3)
    type(c_ptr) :: data
    integer(c_int) :: code
    nullify (field)
    code = mapped(source, name, TCASM_C32, 0, n, data)
    if (code == TCASM_OK) code = bounds(lower, first)
    if (code == TCASM_OK) then
      if (c_associated(data)) then
        call c_f_pointer(data, all, n)
      else
        allocate (all(n(1), n(2), n(3))) ! without elements
      end if
      field(first(1):, first(2):, first(3):) => all
    end if
    call report(code, status)
  end subroutine get_complex32_3

  subroutine add_complex32_3(producer, name, field, shape, lower, options, status)
    type(tcasm_producer), intent(in) :: producer
    character(*), intent(in) :: name
    complex(real32), pointer, intent(out) :: field(:,:,:)
    class(*), intent(in) :: shape(:)
    class(*), intent(in), optional :: lower(:)
    type(tcasm_field_options), intent(in), optional :: options
    integer, intent(out), optional :: status
    complex(real32), pointer :: all(:,:,:)
    integer(int64) :: n(3), first(3)
    type(c_ptr) :: data
    integer(c_int) :: code
    nullify (field)
    code = numbers(shape, "the extents of field " // trim(name), n)
    if (code == TCASM_OK) code = bounds(lower, first)
    if (code == TCASM_OK) code = added(producer, name, TCASM_C32, n, options, data)
    if (code == TCASM_OK) then
      call c_f_pointer(data, all, n)
      field(first(1):, first(2):, first(3):) => all
    end if
    call report(code, status)
  end subroutine add_complex32_3

  subroutine get_complex32_4(source, name, field, lower, status)
    class(tcasm_source), intent(in) :: source
    character(*), intent(in) :: name
    complex(real32), pointer, intent(out) :: field(:,:,:,:)
    class(*), intent(in), optional :: lower(:)
    integer, intent(out), optional :: status
    complex(real32), pointer :: all(:,:,:,:)
    integer(int64) :: n(4), first(4)
    type(c_ptr) :: data
    integer(c_int) :: code
    nullify (field)
    code = mapped(source, name, TCASM_C32, 0, n, data)
    if (code == TCASM_OK) code = bounds(lower, first)
    if (code == TCASM_OK) then
      if (c_associated(data)) then
        call c_f_pointer(data, all, n)
      else
        allocate (all(n(1), n(2), n(3), n(4))) ! without elements
      end if
      field(first(1):, first(2):, first(3):, first(4):) => all
    end if
    call report(code, status)
  end subroutine get_complex32_4

  subroutine add_complex32_4(producer, name, field, shape, lower, options, status)
    type(tcasm_producer), intent(in) :: producer
    character(*), intent(in) :: name
    complex(real32), pointer, intent(out) :: field(:,:,:,:)
    class(*), intent(in) :: shape(:)
    class(*), intent(in), optional :: lower(:)
    type(tcasm_field_options), intent(in), optional :: options
    integer, intent(out), optional :: status
    complex(real32), pointer :: all(:,:,:,:)
    integer(int64) :: n(4), first(4)
    type(c_ptr) :: data
    integer(c_int) :: code
    nullify (field)
    code = numbers(shape, "the extents of field " // trim(name), n)
    if (code == TCASM_OK) code = bounds(lower, first)
    if (code == TCASM_OK) code = added(producer, name, TCASM_C32, n, options, data)
    if (code == TCASM_OK) then
      call c_f_pointer(data, all, n)
      field(first(1):, first(2):, first(3):, first(4):) => all
    end if
    call report(code, status)
  end subroutine add_complex32_4

  subroutine get_complex32_5(source, name, field, lower, status)
    class(tcasm_source), intent(in) :: source
    character(*), intent(in) :: name
    complex(real32), pointer, intent(out) :: field(:,:,:,:,:)
    class(*), intent(in), optional :: lower(:)
    integer, intent(out), optional :: status
    complex(real32), pointer :: all(:,:,:,:,:)
    integer(int64) :: n(5), first(5)
    type(c_ptr) :: data
    integer(c_int) :: code
    nullify (field)
    code = mapped(source, name, TCASM_C32, 0, n, data)
    if (code == TCASM_OK) code = bounds(lower, first)
    if (code == TCASM_OK) then
      if (c_associated(data)) then
        call c_f_pointer(data, all, n)
      else
        allocate (all(n(1), n(2), n(3), n(4), n(5))) ! without elements
      end if
      field(first(1):, first(2):, first(3):, first(4):, first(5):) => all
    end if
    call report(code, status)
  end subroutine get_complex32_5

  subroutine add_complex32_5(producer, name, field, shape, lower, options, status)
    type(tcasm_producer), intent(in) :: producer
    character(*), intent(in) :: name
    complex(real32), pointer, intent(out) :: field(:,:,:,:,:)
    class(*), intent(in) :: shape(:)
    class(*), intent(in), optional :: lower(:)
    type(tcasm_field_options), intent(in), optional :: options
    integer, intent(out), optional :: status
    complex(real32), pointer :: all(:,:,:,:,:)
    integer(int64) :: n(5), first(5)
    type(c_ptr) :: data
    integer(c_int) :: code
    nullify (field)
    code = numbers(shape, "the extents of field " // trim(name), n)
    if (code == TCASM_OK) code = bounds(lower, first)
    if (code == TCASM_OK) code = added(producer, name, TCASM_C32, n, options, data)
    if (code == TCASM_OK) then
      call c_f_pointer(data, all, n)
      field(first(1):, first(2):, first(3):, first(4):, first(5):) => all
    end if
    call report(code, status)
  end subroutine add_complex32_5

  subroutine get_complex32_6(source, name, field, lower, status)
    class(tcasm_source), intent(in) :: source
    character(*), intent(in) :: name
    complex(real32), pointer, intent(out) :: field(:,:,:,:,:,:)
    class(*), intent(in), optional :: lower(:)
    integer, intent(out), optional :: status
    complex(real32), pointer :: all(:,:,:,:,:,:)
    integer(int64) :: n(6), first(6)
    type(c_ptr) :: data
    integer(c_int) :: code
    nullify (field)
    code = mapped(source, name, TCASM_C32, 0, n, data)
    if (code == TCASM_OK) code = bounds(lower, first)
    if (code == TCASM_OK) then
      if (c_associated(data)) then
        call c_f_pointer(data, all, n)
      else
        allocate (all(n(1), n(2), n(3), n(4), n(5), n(6))) ! without elements
      end if
      field(first(1):, first(2):, first(3):, first(4):, first(5):, first(6):) => all
    end if
    call report(code, status)
  end subroutine get_complex32_6

  subroutine add_complex32_6(producer, name, field, shape, lower, options, status)
    type(tcasm_producer), intent(in) :: producer
    character(*), intent(in) :: name
    complex(real32), pointer, intent(out) :: field(:,:,:,:,:,:)
    class(*), intent(in) :: shape(:)
    class(*), intent(in), optional :: lower(:)
    type(tcasm_field_options), intent(in), optional :: options
    integer, intent(out), optional :: status
    complex(real32), pointer :: all(:,:,:,:,:,:)
    integer(int64) :: n(6), first(6)
    type(c_ptr) :: data
    integer(c_int) :: code
    nullify (field)
    code = numbers(shape, "the extents of field " // trim(name), n)
    if (code == TCASM_OK) code = bounds(lower, first)
    if (code == TCASM_OK) code = added(producer, name, TCASM_C32, n, options, data)
    if (code == TCASM_OK) then
      call c_f_pointer(data, all, n)
      field(first(1):, first(2):, first(3):, first(4):, first(5):, first(6):) => all
    end if
    call report(code, status)
  end subroutine add_complex32_6

  subroutine get_complex32_7(source, name, field, lower, status)
    class(tcasm_source), intent(in) :: source
    character(*), intent(in) :: name
    complex(real32), pointer, intent(out) :: field(:,:,:,:,:,:,:)
    class(*), intent(in), optional :: lower(:)
    integer, intent(out), optional :: status
    complex(real32), pointer :: all(:,:,:,:,:,:,:)
    integer(int64) :: n(7), first(7)
    type(c_ptr) :: data
    integer(c_int) :: code
    nullify (field)
    code = mapped(source, name, TCASM_C32, 0, n, data)
    if (code == TCASM_OK) code = bounds(lower, first)
    if (code == TCASM_OK) then
      if (c_associated(data)) then
        call c_f_pointer(data, all, n)
      else
        allocate (all(n(1), n(2), n(3), n(4), n(5), n(6), n(7))) ! without elements
      end if
      field(first(1):, first(2):, first(3):, first(4):, first(5):, first(6):, first(7):) => all
    end if
    call report(code, status)
  end subroutine get_complex32_7

  subroutine add_complex32_7(producer, name, field, shape, lower, options, status)
    type(tcasm_producer), intent(in) :: producer
    character(*), intent(in) :: name
    complex(real32), pointer, intent(out) :: field(:,:,:,:,:,:,:)
    class(*), intent(in) :: shape(:)
    class(*), intent(in), optional :: lower(:)
    type(tcasm_field_options), intent(in), optional :: options
    integer, intent(out), optional :: status
    complex(real32), pointer :: all(:,:,:,:,:,:,:)
    integer(int64) :: n(7), first(7)
    type(c_ptr) :: data
    integer(c_int) :: code
    nullify (field)
    code = numbers(shape, "the extents of field " // trim(name), n)
    if (code == TCASM_OK) code = bounds(lower, first)
    if (code == TCASM_OK) code = added(producer, name, TCASM_C32, n, options, data)
    if (code == TCASM_OK) then
      call c_f_pointer(data, all, n)
      field(first(1):, first(2):, first(3):, first(4):, first(5):, first(6):, first(7):) => all
    end if
    call report(code, status)
  end subroutine add_complex32_7

  subroutine get_complex64_0(source, name, field, status)
    class(tcasm_source), intent(in) :: source
    character(*), intent(in) :: name
    complex(real64), pointer, intent(out) :: field
    integer, intent(out), optional :: status
    integer(int64) :: n(0)
    type(c_ptr) :: data
    integer(c_int) :: code
    nullify (field)
    code = mapped(source, name, TCASM_C64, 0, n, data)
    if (code == TCASM_OK) call c_f_pointer(data, field)
    call report(code, status)
  end subroutine get_complex64_0

  subroutine add_complex64_0(producer, name, field, options, status)
    type(tcasm_producer), intent(in) :: producer
    character(*), intent(in) :: name
    complex(real64), pointer, intent(out) :: field
    type(tcasm_field_options), intent(in), optional :: options
    integer, intent(out), optional :: status
    integer(int64) :: n(0)
    type(c_ptr) :: data
    integer(c_int) :: code
    nullify (field)
    code = added(producer, name, TCASM_C64, n, options, data)
    if (code == TCASM_OK) call c_f_pointer(data, field)
    call report(code, status)
  end subroutine add_complex64_0

  subroutine get_complex64_1(source, name, field, lower, status)
    class(tcasm_source), intent(in) :: source
    character(*), intent(in) :: name
    complex(real64), pointer, intent(out) :: field(:)
    class(*), intent(in), optional :: lower(:)
    integer, intent(out), optional :: status
    complex(real64), pointer :: all(:)
    integer(int64) :: n(1), first(1)
    type(c_ptr) :: data
    integer(c_int) :: code
    nullify (field)
    code = mapped(source, name, TCASM_C64, 0, n, data)
    if (code == TCASM_OK) code = bounds(lower, first)
    if (code == TCASM_OK) then
      if (c_associated(data)) then
        call c_f_pointer(data, all, n)
      else
        allocate (all(n(1))) ! without elements
      end if
      field(first(1):) => all
    end if
    call report(code, status)
  end subroutine get_complex64_1

  subroutine add_complex64_1(producer, name, field, shape, lower, options, status)
    type(tcasm_producer), intent(in) :: producer
    character(*), intent(in) :: name
    complex(real64), pointer, intent(out) :: field(:)
    class(*), intent(in) :: shape(:)
    class(*), intent(in), optional :: lower(:)
    type(tcasm_field_options), intent(in), optional :: options
    integer, intent(out), optional :: status
    complex(real64), pointer :: all(:)
    integer(int64) :: n(1), first(1)
    type(c_ptr) :: data
    integer(c_int) :: code
    nullify (field)
    code = numbers(shape, "the extents of field " // trim(name), n)
    if (code == TCASM_OK) code = bounds(lower, first)
    if (code == TCASM_OK) code = added(producer, name, TCASM_C64, n, options, data)
    if (code == TCASM_OK) then
      call c_f_pointer(data, all, n)
      field(first(1):) => all
    end if
    call report(code, status)
  end subroutine add_complex64_1

  subroutine get_complex64_2(source, name, field, lower, status)
    class(tcasm_source), intent(in) :: source
    character(*), intent(in) :: name
    complex(real64), pointer, intent(out) :: field(:,:)
    class(*), intent(in), optional :: lower(:)
    integer, intent(out), optional :: status
    complex(real64), pointer :: all(:,:)
    integer(int64) :: n(2), first(2)
    type(c_ptr) :: data
    integer(c_int) :: code
    nullify (field)
    code = mapped(source, name, TCASM_C64, 0, n, data)
    if (code == TCASM_OK) code = bounds(lower, first)
    if (code == TCASM_OK) then
      if (c_associated(data)) then
        call c_f_pointer(data, all, n)
      else
        allocate (all(n(1), n(2))) ! without elements
      end if
      field(first(1):, first(2):) => all
    end if
    call report(code, status)
  end subroutine get_complex64_2

  subroutine add_complex64_2(producer, name, field, shape, lower, options, status)
    type(tcasm_producer), intent(in) :: producer
    character(*), intent(in) :: name
    complex(real64), pointer, intent(out) :: field(:,:)
    class(*), intent(in) :: shape(:)
    class(*), intent(in), optional :: lower(:)
    type(tcasm_field_options), intent(in), optional :: options
    integer, intent(out), optional :: status
    complex(real64), pointer :: all(:,:)
    integer(int64) :: n(2), first(2)
    type(c_ptr) :: data
    integer(c_int) :: code
    nullify (field)
    code = numbers(shape, "the extents of field " // trim(name), n)
    if (code == TCASM_OK) code = bounds(lower, first)
    if (code == TCASM_OK) code = added(producer, name, TCASM_C64, n, options, data)
    if (code == TCASM_OK) then
      call c_f_pointer(data, all, n)
      field(first(1):, first(2):) => all
    end if
    call report(code, status)
  end subroutine add_complex64_2

  subroutine get_complex64_3(source, name, field, lower, status)
    class(tcasm_source), intent(in) :: source
    character(*), intent(in) :: name
    complex(real64), pointer, intent(out) :: field(:,:,:)
    class(*), intent(in), optional :: lower(:)
    integer, intent(out), optional :: status
    complex(real64), pointer :: all(:,:,:)
    integer(int64) :: n(3), first(3)
    type(c_ptr) :: data
    integer(c_int) :: code
    nullify (field)
    code = mapped(source, name, TCASM_C64, 0, n, data)
    if (code == TCASM_OK) code = bounds(lower, first)
    if (code == TCASM_OK) then
      if (c_associated(data)) then
        call c_f_pointer(data, all, n)
      else
        allocate (all(n(1), n(2), n(3))) ! without elements
      end if
      field(first(1):, first(2):, first(3):) => all
    end if
    call report(code, status)
  end subroutine get_complex64_3

  subroutine add_complex64_3(producer, name, field, shape, lower, options, status)
    type(tcasm_producer), intent(in) :: producer
    character(*), intent(in) :: name
    complex(real64), pointer, intent(out) :: field(:,:,:)
    class(*), intent(in) :: shape(:)
    class(*), intent(in), optional :: lower(:)
    type(tcasm_field_options), intent(in), optional :: options
    integer, intent(out), optional :: status
    complex(real64), pointer :: all(:,:,:)
    integer(int64) :: n(3), first(3)
    type(c_ptr) :: data
    integer(c_int) :: code
    nullify (field)
    code = numbers(shape, "the extents of field " // trim(name), n)
    if (code == TCASM_OK) code = bounds(lower, first)
    if (code == TCASM_OK) code = added(producer, name, TCASM_C64, n, options, data)
    if (code == TCASM_OK) then
      call c_f_pointer(data, all, n)
      field(first(1):, first(2):, first(3):) => all
    end if
    call report(code, status)
  end subroutine add_complex64_3

  subroutine get_complex64_4(source, name, field, lower, status)
    class(tcasm_source), intent(in) :: source
    character(*), intent(in) :: name
    complex(real64), pointer, intent(out) :: field(:,:,:,:)
    class(*), intent(in), optional :: lower(:)
    integer, intent(out), optional :: status
    complex(real64), pointer :: all(:,:,:,:)
    integer(int64) :: n(4), first(4)
    type(c_ptr) :: data
    integer(c_int) :: code
    nullify (field)
    code = mapped(source, name, TCASM_C64, 0, n, data)
    if (code == TCASM_OK) code = bounds(lower, first)
    if (code == TCASM_OK) then
      if (c_associated(data)) then
        call c_f_pointer(data, all, n)
      else
        allocate (all(n(1), n(2), n(3), n(4))) ! without elements
      end if
      field(first(1):, first(2):, first(3):, first(4):) => all
    end if
    call report(code, status)
  end subroutine get_complex64_4

  subroutine add_complex64_4(producer, name, field, shape, lower, options, status)
    type(tcasm_producer), intent(in) :: producer
    character(*), intent(in) :: name
    complex(real64), pointer, intent(out) :: field(:,:,:,:)
    class(*), intent(in) :: shape(:)
    class(*), intent(in), optional :: lower(:)
    type(tcasm_field_options), intent(in), optional :: options
    integer, intent(out), optional :: status
    complex(real64), pointer :: all(:,:,:,:)
    integer(int64) :: n(4), first(4)
    type(c_ptr) :: data
    integer(c_int) :: code
    nullify (field)
    code = numbers(shape, "the extents of field " // trim(name), n)
    if (code == TCASM_OK) code = bounds(lower, first)
    if (code == TCASM_OK) code = added(producer, name, TCASM_C64, n, options, data)
    if (code == TCASM_OK) then
      call c_f_pointer(data, all, n)
      field(first(1):, first(2):, first(3):, first(4):) => all
    end if
    call report(code, status)
  end subroutine add_complex64_4

  subroutine get_complex64_5(source, name, field, lower, status)
    class(tcasm_source), intent(in) :: source
    character(*), intent(in) :: name
    complex(real64), pointer, intent(out) :: field(:,:,:,:,:)
    class(*), intent(in), optional :: lower(:)
    integer, intent(out), optional :: status
    complex(real64), pointer :: all(:,:,:,:,:)
    integer(int64) :: n(5), first(5)
    type(c_ptr) :: data
    integer(c_int) :: code
    nullify (field)
    code = mapped(source, name, TCASM_C64, 0, n, data)
    if (code == TCASM_OK) code = bounds(lower, first)
    if (code == TCASM_OK) then
      if (c_associated(data)) then
        call c_f_pointer(data, all, n)
      else
        allocate (all(n(1), n(2), n(3), n(4), n(5))) ! without elements
      end if
      field(first(1):, first(2):, first(3):, first(4):, first(5):) => all
    end if
    call report(code, status)
  end subroutine get_complex64_5

  subroutine add_complex64_5(producer, name, field, shape, lower, options, status)
    type(tcasm_producer), intent(in) :: producer
    character(*), intent(in) :: name
    complex(real64), pointer, intent(out) :: field(:,:,:,:,:)
    class(*), intent(in) :: shape(:)
    class(*), intent(in), optional :: lower(:)
    type(tcasm_field_options), intent(in), optional :: options
    integer, intent(out), optional :: status
    complex(real64), pointer :: all(:,:,:,:,:)
    integer(int64) :: n(5), first(5)
    type(c_ptr) :: data
    integer(c_int) :: code
    nullify (field)
    code = numbers(shape, "the extents of field " // trim(name), n)
    if (code == TCASM_OK) code = bounds(lower, first)
    if (code == TCASM_OK) code = added(producer, name, TCASM_C64, n, options, data)
    if (code == TCASM_OK) then
      call c_f_pointer(data, all, n)
      field(first(1):, first(2):, first(3):, first(4):, first(5):) => all
    end if
    call report(code, status)
  end subroutine add_complex64_5

  subroutine get_complex64_6(source, name, field, lower, status)
    class(tcasm_source), intent(in) :: source
    character(*), intent(in) :: name
    complex(real64), pointer, intent(out) :: field(:,:,:,:,:,:)
    class(*), intent(in), optional :: lower(:)
    integer, intent(out), optional :: status
    complex(real64), pointer :: all(:,:,:,:,:,:)
    integer(int64) :: n(6), first(6)
    type(c_ptr) :: data
    integer(c_int) :: code
    nullify (field)
    code = mapped(source, name, TCASM_C64, 0, n, data)
    if (code == TCASM_OK) code = bounds(lower, first)
    if (code == TCASM_OK) then
      if (c_associated(data)) then
        call c_f_pointer(data, all, n)
      else
        allocate (all(n(1), n(2), n(3), n(4), n(5), n(6))) ! without elements
      end if
      field(first(1):, first(2):, first(3):, first(4):, first(5):, first(6):) => all
    end if
    call report(code, status)
  end subroutine get_complex64_6

  subroutine add_complex64_6(producer, name, field, shape, lower, options, status)
    type(tcasm_producer), intent(in) :: producer
    character(*), intent(in) :: name
    complex(real64), pointer, intent(out) :: field(:,:,:,:,:,:)
    class(*), intent(in) :: shape(:)
    class(*), intent(in), optional :: lower(:)
    type(tcasm_field_options), intent(in), optional :: options
    integer, intent(out), optional :: status
    complex(real64), pointer :: all(:,:,:,:,:,:)
    integer(int64) :: n(6), first(6)
    type(c_ptr) :: data
    integer(c_int) :: code
    nullify (field)
    code = numbers(shape, "the extents of field " // trim(name), n)
    if (code == TCASM_OK) code = bounds(lower, first)
    if (code == TCASM_OK) code = added(producer, name, TCASM_C64, n, options, data)
    if (code == TCASM_OK) then
      call c_f_pointer(data, all, n)
      field(first(1):, first(2):, first(3):, first(4):, first(5):, first(6):) => all
    end if
    call report(code, status)
  end subroutine add_complex64_6

  subroutine get_complex64_7(source, name, field, lower, status)
    class(tcasm_source), intent(in) :: source
    character(*), intent(in) :: name
    complex(real64), pointer, intent(out) :: field(:,:,:,:,:,:,:)
    class(*), intent(in), optional :: lower(:)
    integer, intent(out), optional :: status
    complex(real64), pointer :: all(:,:,:,:,:,:,:)
    integer(int64) :: n(7), first(7)
    type(c_ptr) :: data
    integer(c_int) :: code
    nullify (field)
    code = mapped(source, name, TCASM_C64, 0, n, data)
    if (code == TCASM_OK) code = bounds(lower, first)
    if (code == TCASM_OK) then
      if (c_associated(data)) then
        call c_f_pointer(data, all, n)
      else
        allocate (all(n(1), n(2), n(3), n(4), n(5), n(6), n(7))) ! without elements
      end if
      field(first(1):, first(2):, first(3):, first(4):, first(5):, first(6):, first(7):) => all
    end if
    call report(code, status)
  end subroutine get_complex64_7

  subroutine add_complex64_7(producer, name, field, shape, lower, options, status)
    type(tcasm_producer), intent(in) :: producer
    character(*), intent(in) :: name
    complex(real64), pointer, intent(out) :: field(:,:,:,:,:,:,:)
    class(*), intent(in) :: shape(:)
    class(*), intent(in), optional :: lower(:)
    type(tcasm_field_options), intent(in), optional :: options
    integer, intent(out), optional :: status
    complex(real64), pointer :: all(:,:,:,:,:,:,:)
    integer(int64) :: n(7), first(7)
    type(c_ptr) :: data
    integer(c_int) :: code
    nullify (field)
    code = numbers(shape, "the extents of field " // trim(name), n)
    if (code == TCASM_OK) code = bounds(lower, first)
    if (code == TCASM_OK) code = added(producer, name, TCASM_C64, n, options, data)
    if (code == TCASM_OK) then
      call c_f_pointer(data, all, n)
      field(first(1):, first(2):, first(3):, first(4):, first(5):, first(6):, first(7):) => all
    end if
    call report(code, status)
  end subroutine add_complex64_7

end module tcasm_fields

!> TCASM for Fortran: versions of a running simulation's memory. docs/fortran.md is an introduction.
!!
!! The last argument of every procedure is an integer status, which may be left out: then an error
!! stops the program with its text. Statuses are TCASM_OK (0), TCASM_NOT_READY (1),
!! TCASM_END_OF_STREAM (2), TCASM_SKIPPED (3), and errors, which are negative.
module tcasm
  use tcasm_constants
  use tcasm_c, only: tcasm_array, tcasm_info, tcasm_receipt, tcasm_stamp
  use tcasm_errors, only: tcasm_last_error, tcasm_status_name, tcasm_library_version
  use tcasm_attributes, only: tcasm_attrs, tcasm_set_attr, tcasm_get_attr, tcasm_attr_count, &
    tcasm_attr_at, tcasm_free => free_attrs
  use tcasm_settings, only: tcasm_options, tcasm_field_options
  use tcasm_producers, only: tcasm_producer, tcasm_buffer, tcasm_create, tcasm_close, &
    tcasm_publish, tcasm_wait_visible, tcasm_wait_captured, tcasm_set_len, tcasm_len, &
    tcasm_set_attrs, tcasm_rollback, tcasm_last_receipt, tcasm_buffer_like, tcasm_bind, &
    tcasm_rewrite, tcasm_register_dma, tcasm_mark_dirty
  use tcasm_meshes
  use tcasm_pinned_versions
  use tcasm_observers
  use tcasm_fields
  implicit none
  public
end module tcasm
