!> Attachments to regions.
module tcasm_attachments
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
  public :: tcasm_every_version, tcasm_missed, tcasm_stream_status, tcasm_set_copy_budget
  public :: tcasm_region_info, tcasm_counter

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

  !> Makes tcasm_next and tcasm_next_version take every version from now on, beginning with the oldest
  !! that exists. The producer reclaims none that was not taken, so these fill its bounds.
  subroutine tcasm_every_version(observer, on, status)
    type(tcasm_observer), intent(in) :: observer
    logical, intent(in), optional :: on
    integer, intent(out), optional :: status
    integer(c_int) :: choice
    choice = 1
    if (present(on)) choice = merge(1_c_int, 0_c_int, on)
    call report(c_every_version(observer%handle, choice), status)
  end subroutine tcasm_every_version

  !> Gets the first and the last numbers of the ranges that were left out since tcasm_every_version.
  subroutine tcasm_missed(observer, firsts, lasts, status)
    type(tcasm_observer), intent(in) :: observer
    integer(int64), allocatable, intent(out) :: firsts(:), lasts(:)
    integer, intent(out), optional :: status
    integer(c_size_t) :: n
    integer(c_int) :: code
    n = 16
    do
      if (allocated(firsts)) deallocate (firsts, lasts)
      allocate (firsts(n), lasts(n))
      code = c_missed(observer%handle, firsts, lasts, size(firsts, kind=c_size_t), n)
      if (code /= TCASM_OK .or. n <= size(firsts)) exit
    end do
    if (code /= TCASM_OK) n = 0
    firsts = firsts(:n)
    lasts = lasts(:n)
    call report(code, status)
  end subroutine tcasm_missed

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

end module tcasm_attachments
