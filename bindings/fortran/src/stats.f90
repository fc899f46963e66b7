!> What producers and observers do: their counters, who observes a region, and which versions are
!! pinned.
module tcasm_statistics
  use, intrinsic :: iso_c_binding
  use, intrinsic :: iso_fortran_env, only: int64, real64
  use tcasm_constants
  use tcasm_c, only: c_observer_stats, c_producer_stats, c_observers, c_pinned, c_revoke_observer, &
    c_view_stats => tcasm_view_stats, c_publish_stats => tcasm_publish_stats
  use tcasm_errors
  use tcasm_producers
  use tcasm_attachments
  implicit none
  private
  public :: tcasm_view_stats, tcasm_publish_stats, tcasm_observer_stats, tcasm_producer_stats
  public :: tcasm_observers, tcasm_pinned, tcasm_revoke_observer

  !> What the versions of one observer that are mapped take of this process.
  type :: tcasm_view_stats
    !> Address ranges that show versions.
    integer(int64) :: windows = 0
    !> Mappings of these, at most, and those that all observers of this process may have.
    integer(int64) :: mappings = 0
    integer(int64) :: most_mappings = 0
    !> Bytes of copies of scattered parts, and those that they may take (tcasm_set_copy_budget).
    integer(int64) :: copied_bytes = 0
    integer(int64) :: copy_budget = 0
  end type tcasm_view_stats

  !> The counters of a producer.
  type :: tcasm_publish_stats
    !> Versions that were published, and calls of publish that were skipped.
    integer(int64) :: publishes = 0
    integer(int64) :: skips = 0
    !> Pages and bytes that were captured, and pages that were handed over without a copy.
    integer(int64) :: pages = 0
    integer(int64) :: bytes = 0
    integer(int64) :: handed_over = 0
    !> Bytes of memory that versions hold now, with the live memory of handed-over fields.
    integer(int64) :: held_bytes = 0
    !> Bytes that other processes allocated by reading holes: those that could not be given back so
    !! far, and those that were given back, in all.
    integer(int64) :: stray_bytes = 0
    integer(int64) :: stray_bytes_returned = 0
    !> Errors of the tracker. After each one every page was compared.
    integer(int64) :: tracker_errors = 0
    !> Versions whose capture continued after publish, and captures of these that were given up.
    integer(int64) :: deferred = 0
    integer(int64) :: given_up = 0
    !> Stores that waited because they came before their 2 MiB were saved.
    integer(int64) :: early_stores = 0
    !> Chunks of 2 MiB whose capture is deferred now, and pages that are expected to be written.
    integer(int64) :: chunks_deferred = 0
    integer(int64) :: pages_expected = 0
    !> Bytes of live memory that are shared with versions now.
    integer(int64) :: shared_bytes = 0
    !> Pages that were copied next to their neighbours, so that observers need fewer mappings.
    integer(int64) :: pages_compacted = 0
    !> Observers that are attached now.
    integer(int64) :: observers = 0
    !> The time that publish takes, in microseconds: median, 99th percentile, longest.
    real(real64) :: publish_us(3) = 0
    !> Capture can be deferred in user mode only: a system call that writes into a field while it is
    !! captured fails.
    logical :: user_mode_only = .false.
  end type tcasm_publish_stats

contains

  !> Gets what the mapped versions of an observer take of this process.
  subroutine tcasm_observer_stats(observer, stats, status)
    type(tcasm_observer), intent(in) :: observer
    type(tcasm_view_stats), intent(out) :: stats
    integer, intent(out), optional :: status
    type(c_view_stats) :: found
    integer(c_int) :: code
    found%size = c_sizeof(found)
    code = c_observer_stats(observer%handle, found)
    if (code == TCASM_OK) then
      stats%windows = found%windows
      stats%mappings = found%mappings
      stats%most_mappings = found%most_mappings
      stats%copied_bytes = found%copied_bytes
      stats%copy_budget = found%copy_budget
    end if
    call report(code, status)
  end subroutine tcasm_observer_stats

  !> Gets the counters of a producer.
  subroutine tcasm_producer_stats(producer, stats, status)
    type(tcasm_producer), intent(in) :: producer
    type(tcasm_publish_stats), intent(out) :: stats
    integer, intent(out), optional :: status
    type(c_publish_stats) :: found
    integer(c_int) :: code
    found%size = c_sizeof(found)
    code = c_producer_stats(producer%handle, found)
    if (code == TCASM_OK) call describe(found, stats)
    call report(code, status)
  end subroutine tcasm_producer_stats

  subroutine describe(found, stats)
    type(c_publish_stats), intent(in) :: found
    type(tcasm_publish_stats), intent(inout) :: stats
    stats%publishes = found%publishes
    stats%skips = found%skips
    stats%pages = found%pages
    stats%bytes = found%bytes
    stats%handed_over = found%handed_over
    stats%held_bytes = found%held_bytes
    stats%stray_bytes = found%stray_bytes
    stats%stray_bytes_returned = found%stray_bytes_returned
    stats%tracker_errors = found%tracker_errors
    stats%deferred = found%deferred
    stats%given_up = found%given_up
    stats%early_stores = found%early_stores
    stats%chunks_deferred = found%chunks_deferred
    stats%pages_expected = found%pages_expected
    stats%shared_bytes = found%shared_bytes
    stats%pages_compacted = found%pages_compacted
    stats%observers = found%observers
    stats%publish_us = found%publish_us
    stats%user_mode_only = found%user_mode_only /= 0
  end subroutine describe

  !> Gets the observers that are attached to the region, as its producer sees them: their processes
  !! and users, and how many versions each of them pins. There are none after its death.
  subroutine tcasm_observers(observer, pids, uids, pins, status)
    type(tcasm_observer), intent(in) :: observer
    integer(int64), allocatable, intent(out) :: pids(:), uids(:), pins(:)
    integer, intent(out), optional :: status
    integer(c_size_t) :: n
    integer(c_int) :: code
    n = 64
    do
      if (allocated(pids)) deallocate (pids, uids, pins)
      allocate (pids(n), uids(n), pins(n))
      code = c_observers(observer%handle, pids, uids, pins, size(pids, kind=c_size_t), n)
      if (code /= TCASM_OK .or. n <= size(pids)) exit
    end do
    if (code /= TCASM_OK) n = 0
    pids = pids(:n)
    uids = uids(:n)
    pins = pins(:n)
    call report(code, status)
  end subroutine tcasm_observers

  !> Gets the numbers of the versions that the observers of process `pid` pin, ascending.
  subroutine tcasm_pinned(observer, pid, versions, status)
    type(tcasm_observer), intent(in) :: observer
    integer(int64), intent(in) :: pid
    integer(int64), allocatable, intent(out) :: versions(:)
    integer, intent(out), optional :: status
    integer(c_size_t) :: n
    integer(c_int) :: code
    n = 64
    do
      if (allocated(versions)) deallocate (versions)
      allocate (versions(n))
      code = c_pinned(observer%handle, pid, versions, size(versions, kind=c_size_t), n)
      if (code /= TCASM_OK .or. n <= size(versions)) exit
    end do
    if (code /= TCASM_OK) n = 0
    versions = versions(:n)
    call report(code, status)
  end subroutine tcasm_pinned

  !> Revokes the leases of process `pid`, and gets how many there were. The versions that its
  !! observers hold stay as they are until it releases them or ends.
  subroutine tcasm_revoke_observer(producer, pid, count, status)
    type(tcasm_producer), intent(in) :: producer
    integer(int64), intent(in) :: pid
    integer, intent(out), optional :: count
    integer, intent(out), optional :: status
    integer(c_size_t) :: revoked
    revoked = 0
    call report(c_revoke_observer(producer%handle, pid, revoked), status)
    if (present(count)) count = int(revoked)
  end subroutine tcasm_revoke_observer

end module tcasm_statistics
