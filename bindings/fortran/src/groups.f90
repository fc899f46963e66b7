!> Groups: regions of several ranks, of which observers see one step at a time.
module tcasm_groups
  use, intrinsic :: iso_c_binding
  use, intrinsic :: iso_fortran_env, only: int64, real64
  use tcasm_constants
  use tcasm_c
  use tcasm_errors
  use tcasm_pinned_versions
  implicit none
  private
  public :: tcasm_group_observer, tcasm_group_version, tcasm_group_attach, tcasm_group_detach
  public :: tcasm_group_latest, tcasm_group_wait_newer, tcasm_group_steps, tcasm_group_at
  public :: tcasm_group_release, tcasm_group_stamp, tcasm_group_ranks, tcasm_group_member
  public :: tcasm_group_agreed, tcasm_group_ends, tcasm_group_run

  !> An attachment to the regions of all ranks on this host.
  type :: tcasm_group_observer
    type(c_ptr) :: handle = c_null_ptr
  end type tcasm_group_observer

  !> One step of a group, pinned in all of its ranks.
  type :: tcasm_group_version
    type(c_ptr) :: handle = c_null_ptr
  end type tcasm_group_version

contains

  !> Attaches to the ranks of a group on this host.
  subroutine tcasm_group_attach(group, name, status)
    type(tcasm_group_observer), intent(out) :: group
    character(*), intent(in) :: name
    integer, intent(out), optional :: status
    call report(c_group_attach(c_text(name), group%handle), status)
  end subroutine tcasm_group_attach

  !> Ends an attachment. Versions stay until they are released.
  subroutine tcasm_group_detach(group, status)
    type(tcasm_group_observer), intent(inout) :: group
    integer, intent(out), optional :: status
    call report(c_group_detach(group%handle), status)
    group%handle = c_null_ptr
  end subroutine tcasm_group_detach

  !> Gets the newest step that all ranks on this host have. Releases what `version` held.
  subroutine tcasm_group_latest(group, version, status)
    type(tcasm_group_observer), intent(in) :: group
    type(tcasm_group_version), intent(inout) :: version
    integer, intent(out), optional :: status
    type(c_ptr) :: found
    integer(c_int) :: code
    found = c_null_ptr
    code = c_group_latest(group%handle, found)
    call take(version, found, code, status)
  end subroutine tcasm_group_latest

  !> Waits for a step that is newer than all that were returned: as long as it takes, or `timeout`
  !! seconds. Releases what `version` held.
  subroutine tcasm_group_wait_newer(group, version, timeout, status)
    type(tcasm_group_observer), intent(in) :: group
    type(tcasm_group_version), intent(inout) :: version
    real(real64), intent(in), optional :: timeout
    integer, intent(out), optional :: status
    type(c_ptr) :: found
    integer(c_int) :: code
    real(c_double) :: limit
    limit = -1
    if (present(timeout)) limit = timeout
    found = c_null_ptr
    code = c_group_wait_newer(group%handle, limit, found)
    call take(version, found, code, status)
  end subroutine tcasm_group_wait_newer

  !> Gets the newest step that all ranks of the job have, on all hosts. tcasm-agent must run on each
  !! host. Waits for nobody. Releases what `version` held.
  subroutine tcasm_group_agreed(group, version, status)
    type(tcasm_group_observer), intent(in) :: group
    type(tcasm_group_version), intent(inout) :: version
    integer, intent(out), optional :: status
    type(c_ptr) :: found
    integer(c_int) :: code
    found = c_null_ptr
    code = c_group_agreed(group%handle, found)
    call take(version, found, code, status)
  end subroutine tcasm_group_agreed

  !> Gets a step, if all ranks on this host have it. Releases what `version` held.
  subroutine tcasm_group_at(group, step, version, status)
    type(tcasm_group_observer), intent(in) :: group
    integer(int64), intent(in) :: step
    type(tcasm_group_version), intent(inout) :: version
    integer, intent(out), optional :: status
    type(c_ptr) :: found
    integer(c_int) :: code
    found = c_null_ptr
    code = c_group_at(group%handle, step, found)
    call take(version, found, code, status)
  end subroutine tcasm_group_at

  !> Gets the steps that all ranks on this host have now, ascending.
  subroutine tcasm_group_steps(group, steps, status)
    type(tcasm_group_observer), intent(in) :: group
    integer(int64), allocatable, intent(out) :: steps(:)
    integer, intent(out), optional :: status
    integer(c_size_t) :: n
    integer(c_int) :: code
    n = 64
    do
      if (allocated(steps)) deallocate (steps)
      allocate (steps(n))
      code = c_group_steps(group%handle, steps, size(steps, kind=c_size_t), n)
      if (code /= TCASM_OK .or. n <= size(steps)) exit
    end do
    if (code /= TCASM_OK) n = 0
    steps = steps(:n)
    call report(code, status)
  end subroutine tcasm_group_steps

  !> Gets numbers of ranks: how many are attached, how many of these have closed their regions, and
  !! how many have died without that.
  subroutine tcasm_group_ends(group, attached, closed, lost, status)
    type(tcasm_group_observer), intent(in) :: group
    integer, intent(out) :: attached, closed, lost
    integer, intent(out), optional :: status
    integer(c_size_t) :: all, ended, dead
    all = 0
    ended = 0
    dead = 0
    call report(c_group_ends(group%handle, all, ended, dead), status)
    attached = int(all)
    closed = int(ended)
    lost = int(dead)
  end subroutine tcasm_group_ends

  !> Lets go of a step in all ranks. Does nothing if there is none.
  subroutine tcasm_group_release(version, status)
    type(tcasm_group_version), intent(inout) :: version
    integer, intent(out), optional :: status
    integer(c_int) :: code
    code = TCASM_OK
    if (c_associated(version%handle)) code = c_group_release(version%handle)
    version%handle = c_null_ptr
    call report(code, status)
  end subroutine tcasm_group_release

  !> Gets the step, the time, and the number of ranks on all hosts.
  subroutine tcasm_group_stamp(version, step, time, ranks, status)
    type(tcasm_group_version), intent(in) :: version
    integer(int64), intent(out) :: step
    real(real64), intent(out) :: time
    integer, intent(out) :: ranks
    integer, intent(out), optional :: status
    integer(c_int32_t) :: count
    step = 0
    time = 0
    count = 0
    call report(c_group_stamp(version%handle, step, time, count), status)
    ranks = count
  end subroutine tcasm_group_stamp

  !> Gets the name of the run that all ranks belong to, which may be empty.
  subroutine tcasm_group_run(version, run, status)
    type(tcasm_group_version), intent(in) :: version
    character(:), allocatable, intent(out) :: run
    integer, intent(out), optional :: status
    type(c_ptr) :: text
    integer(c_int) :: code
    text = c_null_ptr
    code = c_group_run(version%handle, text)
    run = fortran_text(text)
    call report(code, status)
  end subroutine tcasm_group_run

  !> Gets the ranks that have regions on this host, ascending.
  subroutine tcasm_group_ranks(version, ranks, status)
    type(tcasm_group_version), intent(in) :: version
    integer, allocatable, intent(out) :: ranks(:)
    integer, intent(out), optional :: status
    integer(c_int32_t), allocatable :: found(:)
    integer(c_size_t) :: n
    integer(c_int) :: code
    n = 64
    do
      if (allocated(found)) deallocate (found)
      allocate (found(n))
      code = c_group_ranks(version%handle, found, size(found, kind=c_size_t), n)
      if (code /= TCASM_OK .or. n <= size(found)) exit
    end do
    if (code /= TCASM_OK) n = 0
    allocate (ranks, source=int(found(:n)))
    call report(code, status)
  end subroutine tcasm_group_ranks

  !> Gets the version of a rank. Releases what `version` held.
  subroutine tcasm_group_member(group, rank, version, status)
    type(tcasm_group_version), intent(in) :: group
    integer, intent(in) :: rank
    type(tcasm_version), intent(inout) :: version
    integer, intent(out), optional :: status
    type(c_ptr) :: found
    integer(c_int) :: code
    found = c_null_ptr
    code = c_group_member(group%handle, int(rank, c_int32_t), found)
    if (code == TCASM_OK) then
      call tcasm_release(version)
      version%handle = found
    end if
    call report(code, status)
  end subroutine tcasm_group_member

  !> Puts a version that was found in the place of the one held.
  subroutine take(version, found, code, status)
    type(tcasm_group_version), intent(inout) :: version
    type(c_ptr), intent(in) :: found
    integer(c_int), intent(in) :: code
    integer, intent(out), optional :: status
    if (code == TCASM_OK) then
      call tcasm_group_release(version)
      version%handle = found
    end if
    call report(code, status)
  end subroutine take

end module tcasm_groups
