!> Options of regions and fields.
module tcasm_settings
  use, intrinsic :: iso_c_binding
  use, intrinsic :: iso_fortran_env, only: int64, real64
  use tcasm_constants
  use tcasm_c
  use tcasm_errors
  use tcasm_attributes
  use tcasm_host_buffers, only: tcasm_host_buffer
  implicit none
  private
  public :: tcasm_options, tcasm_field_options, region_options, field_options

  !> The options of a region. Numbers that are negative, and those that are not allocated, have the
  !! defaults of the library. tcasm.h says what they mean.
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
    !> The name of the run, in all ranks alike.
    character(:), allocatable :: run
    !> The rank, the numbers and the run are those that the launcher of this process tells in the
    !! environment (docs/jobs.md). Without a launcher it is the only rank.
    logical :: group_from_env = .false.
    !> The host buffer in which the region lies, its section for regions (`ranks` of
    !! tcasm_host_buffer_open), and the rank there, from 0. If `part` is negative, it is `rank`. The
    !! region has the capacity of the part.
    type(tcasm_host_buffer) :: host_buffer = tcasm_host_buffer()
    character(:), allocatable :: section
    integer :: part = -1
    type(tcasm_attrs) :: attrs = tcasm_attrs()
    !> How writes are tracked: TCASM_TRACKER_COW and the like.
    integer(int64) :: tracker = -1
    !> Live memory that was not written for some versions is shared with the newest version.
    logical :: shared_backing = .true.
    !> The huge pages of live memory: TCASM_HUGE_PAGES_RESERVED and the like.
    integer(int64) :: huge_pages = -1
    !> Steps that are multiples of this number have room reserved for their versions. If the last
    !> capture still runs then, publish waits for its end.
    integer(int64) :: reserve_for_every = -1
    !> Whether to check that the program uses handed-over fields correctly.
    logical, allocatable :: check_hand_over
    !> The nice value of the threads that copy, which can be negative.
    integer, allocatable :: copier_nice
    !> The processors that these threads run on, from 0.
    integer, allocatable :: copier_affinity(:)
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
    !> The field is a block of a global array: the extents of that, and the index there, from 0, of
    !! the first value of the block that is no ghost, for each dimension but that of components.
    integer(int64), allocatable :: global_shape(:)
    integer(int64), allocatable :: global_offset(:)
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
    call put(TCASM_TRACKER, from%tracker)
    call put(TCASM_HUGE_PAGES, from%huge_pages)
    call put(TCASM_RESERVE_FOR_EVERY, from%reserve_for_every)
    call put(TCASM_SHARED_BACKING, flag(from%shared_backing))
    call put(TCASM_WAIT_FOR_CAPTURE, flag(from%wait_for_capture))
    call put(TCASM_NO_KERNEL_WRITES, flag(from%no_kernel_writes))
    call put(TCASM_ALLOW_EVERYONE, flag(from%allow_everyone))
    if (allocated(from%check_hand_over)) then
      call put(TCASM_CHECK_HAND_OVER, flag(from%check_hand_over))
    end if
    if (code == TCASM_OK) code = copiers_placed(from, handle)
    if (code == TCASM_OK .and. from%rank >= 0) then
      code = grouped(from, handle)
    end if
    if (code == TCASM_OK .and. from%group_from_env) code = grouped_by_launcher(from, handle)
    if (code == TCASM_OK) code = placed(from, handle)
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

  !> Sets the nice value and the processors of the threads that copy.
  function copiers_placed(from, handle) result(code)
    type(tcasm_options), intent(in) :: from
    type(c_ptr), intent(in) :: handle
    integer(c_int) :: code
    character(60) :: number
    code = TCASM_OK
    if (allocated(from%copier_nice)) then
      code = c_options_set(handle, int(TCASM_COPIER_NICE, c_int), &
        int(from%copier_nice, c_int64_t))
    end if
    if (code /= TCASM_OK .or. .not. allocated(from%copier_affinity)) return
    if (any(from%copier_affinity < 0)) then
      write (number, "(i0)") minval(from%copier_affinity)
      code = refused("copier_affinity has processor " // trim(number) // ": they count from 0")
    else
      code = c_options_set_copier_affinity(handle, int(from%copier_affinity, c_size_t), &
        size(from%copier_affinity, kind=c_size_t))
    end if
  end function copiers_placed

  function grouped(from, handle) result(code)
    type(tcasm_options), intent(in) :: from
    type(c_ptr), intent(in) :: handle
    integer(c_int) :: code
    integer(c_int32_t) :: rank, ranks, local_ranks
    rank = int(from%rank, c_int32_t)
    ranks = int(from%ranks, c_int32_t)
    local_ranks = int(from%local_ranks, c_int32_t)
    if (allocated(from%run)) then
      code = c_options_set_group(handle, rank, ranks, local_ranks, c_text(from%run))
    else
      code = c_options_set_group(handle, rank, ranks, local_ranks)
    end if
  end function grouped

  function grouped_by_launcher(from, handle) result(code)
    type(tcasm_options), intent(in) :: from
    type(c_ptr), intent(in) :: handle
    integer(c_int) :: code
    if (from%rank >= 0 .or. allocated(from%run)) then
      code = refused("a group from the environment has its rank and its run from there")
    else
      code = c_options_set_group_from_env(handle)
    end if
  end function grouped_by_launcher

  function placed(from, handle) result(code)
    type(tcasm_options), intent(in) :: from
    type(c_ptr), intent(in) :: handle
    integer(c_int) :: code
    integer :: part
    code = TCASM_OK
    part = from%part
    if (part < 0) part = from%rank
    if (allocated(from%section) .and. part >= 0) then
      code = c_options_set_part(handle, from%host_buffer%handle, c_text(from%section), &
        int(part, c_int32_t))
    else if (allocated(from%section)) then
      code = refused("section " // from%section // " of a host buffer needs a part or a rank")
    else if (c_associated(from%host_buffer%handle) .or. from%part >= 0) then
      code = refused("a region in a host buffer needs the name of a section")
    end if
  end function placed

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
    if (code == TCASM_OK) code = global(from, handle)
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

  function global(from, handle) result(code)
    type(tcasm_field_options), intent(in) :: from
    type(c_ptr), intent(in) :: handle
    integer(c_int) :: code
    integer(c_size_t), allocatable :: shape(:), offset(:)
    code = TCASM_OK
    if (.not. (allocated(from%global_shape) .or. allocated(from%global_offset))) return
    if (.not. (allocated(from%global_shape) .and. allocated(from%global_offset))) then
      code = refused("of global_shape and global_offset only one is given")
      return
    end if
    allocate (shape, source=int(from%global_shape, c_size_t))
    allocate (offset, source=int(from%global_offset, c_size_t))
    if (size(shape) /= size(offset) .or. any(shape < 0) .or. any(offset < 0)) then
      code = refused("global_shape and global_offset differ in size, or are negative")
      return
    end if
    if (from%order == TCASM_ORDER_C) then
      shape = shape(size(shape):1:-1)
      offset = offset(size(offset):1:-1)
    end if
    code = c_field_options_set_global(handle, size(shape, kind=c_size_t), shape, offset)
  end function global

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
