! Counters of both sides, who observes, memory that is not captured or given back, and options.
program counters
  use, intrinsic :: iso_c_binding
  use, intrinsic :: iso_fortran_env, only: int32, int64, real64
  use tcasm
  use test_region
  implicit none
  integer :: count, status, step

  interface
    function getuid() bind(c)
      import :: c_int
      integer(c_int) :: getuid
    end function getuid
  end interface

  call observers()
  call memory()
  call options()

contains

  ! The counters of both sides, who observes, and what they pin.
  subroutine observers()
    type(tcasm_version) :: first
    type(tcasm_info) :: info
    type(tcasm_publish_stats) :: made
    type(tcasm_view_stats) :: taken
    real(real64), pointer :: x(:), seen(:)
    integer(int64), allocatable :: pids(:), uids(:), pins(:), pinned(:)
    integer(int64) :: publishes
    call tcasm_create(run, "observers", 1048576_int64, tcasm_options(history=3))
    call tcasm_add_field(run, "x", x, [100])
    call tcasm_attach(observer, "observers")
    call tcasm_region_info(observer, info)
    do step = 1, 3
      x = step
      call publish_visible(step)
      if (step == 1) call tcasm_latest(observer, first)
    end do
    call tcasm_latest(observer, version)
    call tcasm_get(version, "x", seen)
    call check(nint(sum(seen)) == 300, "the values of the last version")

    call tcasm_observers(observer, pids, uids, pins)
    call check(size(pids) == 1 .and. size(uids) == 1 .and. size(pins) == 1, "one observer")
    call check(pids(1) == info%pid .and. pins(1) == 2, "the process of this observer")
    call check(getuid() == uids(1), "its user")
    call tcasm_pinned(observer, info%pid, pinned)
    call check(size(pinned) == 2, "the number of pinned versions")
    call check(all(pinned == [1, 3]), "the pinned versions")

    call tcasm_producer_stats(run, made)
    call tcasm_counter(observer, "Publishes", publishes)
    call check(made%publishes == 3 .and. publishes == 3 .and. made%skips == 0, "the publishes")
    call check(made%observers == 1 .and. made%held_bytes > 0, "the counters of a producer")
    call check(made%pages > 0 .and. made%bytes > 0 .and. made%publish_us(3) > 0, "its captures")
    call tcasm_set_copy_budget(observer, 12345_int64)
    call tcasm_observer_stats(observer, taken)
    call check(taken%copy_budget == 12345, "the budget of copies")
    call check(taken%windows > 0 .and. taken%mappings > 0, "what mapped versions take")
    call check(taken%most_mappings > taken%mappings, "the mappings that there may be")

    call tcasm_revoke_observer(run, info%pid, count)
    call check(count == 1, "the number of leases that were revoked")
    call check(tcasm_stream_status(observer) == TCASM_REVOKED, "a lease that was revoked")
    call tcasm_revoke_observer(run, info%pid, count)
    call check(count == 0, "a lease that is revoked already")
    call tcasm_release(first)
    call leave()
    call tcasm_producer_stats(run, made, status)
    call check(status < 0 .and. made%publishes == 0, "the counters of a closed producer")
  end subroutine observers

  ! Memory that is never captured, and memory that is given back.
  subroutine memory()
    type(tcasm_version) :: held(3)
    type(tcasm_info) :: info
    real(real64), pointer :: x(:), work(:, :), one
    integer(int32), pointer :: counts(:)
    integer(int64) :: address, bytes
    call tcasm_create(run, "memory", 16777216_int64, tcasm_options(history=0, &
      tracker=TCASM_TRACKER_COMPARE, capture=TCASM_CAPTURE_INLINE))
    call tcasm_add_field(run, "x", x, [524288])
    call tcasm_scratch(run, work, [10, 20])
    call tcasm_scratch(run, counts, [3], lower=[0])
    call tcasm_scratch(run, one)
    call check(all(shape(work) == [10, 20]) .and. all(nint(work) == 0), "scratch memory")
    call check(lbound(counts, 1) == 0 .and. ubound(counts, 1) == 2, "its lower bound")
    work = 7
    counts = [1, 2, 3]
    one = 0.5_real64
    call tcasm_attach(observer, "memory")
    call tcasm_region_info(observer, info)
    address = transfer(c_loc(work), 0_int64)
    call check(address >= info%base .and. address + 1600 <= info%base + info%bytes, "its address")
    do step = 1, 3
      x = step
      call publish_visible(step)
      call tcasm_latest(observer, held(step))
    end do
    call check(tcasm_field_count(held(3)) == 1, "scratch memory is no field")
    work(10, 20) = 8
    call publish_visible(4)
    call tcasm_latest(observer, version)
    call check(tcasm_changed_pages(version) == 0, "scratch memory is not captured")
    call check(nint(work(10, 20)) == 8 .and. counts(1) == 2 .and. nint(2 * one) == 1, &
      "the values of scratch memory")

    do step = 1, 3
      call tcasm_release(held(step))
    end do
    call tcasm_release(version)
    call tcasm_publish(run, 5, 0.0_real64)
    call tcasm_trim(run, bytes)
    call check(bytes >= 4194304, "the bytes that are given back")
    call tcasm_trim(run, bytes)
    call check(bytes == 0, "nothing is left to give back")
    call tcasm_scratch(run, work, [-1, 2], status=status)
    call check(status == TCASM_INVALID_ARGUMENT .and. .not. associated(work), "a negative extent")
    call tcasm_scratch(run, counts, [1000000000], status=status)
    call check(status < 0 .and. .not. associated(counts), "scratch memory without room")
    call leave()
  end subroutine memory

  ! Options that say how a region is tracked and copied.
  subroutine options()
    integer(int32), pointer :: h(:), seen(:)
    call tcasm_create(run, "options", 16777216_int64, tcasm_options(shared_backing=.false., &
      tracker=TCASM_TRACKER_COMPARE, huge_pages=TCASM_HUGE_PAGES_OFF, reserve_for_every=2, &
      check_hand_over=.true., copier_nice=5, copier_affinity=[0]))
    call tcasm_add_field(run, "h", h, [100], options=tcasm_field_options(handed_over=.true.))
    call tcasm_attach(observer, "options")
    do step = 1, 2
      call tcasm_rewrite(run, "h")
      call check(all(h == -1), "elements that a rewriting has not written yet")
      h = step
      call publish_visible(step)
    end do
    call tcasm_latest(observer, version)
    call tcasm_get(version, "h", seen)
    call check(all(seen == 2), "a field that is handed over")
    call leave()
    call wrong(tcasm_options(tracker=9), "a tracker that does not exist")
    call wrong(tcasm_options(huge_pages=9), "huge pages that do not exist")
    call wrong(tcasm_options(reserve_for_every=0), "no step is a multiple of 0")
    call wrong(tcasm_options(copier_affinity=[0, -1]), "a processor that does not exist")
  end subroutine options

  subroutine wrong(given, what)
    type(tcasm_options), intent(in) :: given
    character(*), intent(in) :: what
    call tcasm_create(run, "wrong", 1048576_int64, given, status)
    call check(status == TCASM_INVALID_ARGUMENT, what)
  end subroutine wrong

end program counters
