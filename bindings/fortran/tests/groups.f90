! Blocks of a global array, fields one behind the other, and agreed steps, from two ranks in one
! process.
program groups
  use, intrinsic :: iso_c_binding, only: c_char, c_int, c_null_char
  use, intrinsic :: iso_fortran_env, only: int32, int64, real64
  use tcasm
  use test_region, only: check
  implicit none
  type(tcasm_producer) :: ranks(0:1)
  type(tcasm_group_observer) :: group
  type(tcasm_group_version) :: version
  type(tcasm_version) :: member
  real(real64), pointer :: u(:, :), block(:, :)
  real(real64), allocatable :: whole(:, :), line(:)
  integer(int64), allocatable :: steps(:)
  integer, allocatable :: members(:)
  integer(int64) :: step
  real(real64) :: time
  integer :: rank, order, all_ranks, status, i, j

  interface
    function setenv(name, value, overwrite) bind(c)
      import :: c_char, c_int
      character(kind=c_char), intent(in) :: name(*), value(*)
      integer(c_int), value :: overwrite
      integer(c_int) :: setenv
    end function setenv
  end interface

  do order = TCASM_ORDER_C, TCASM_ORDER_F
    do rank = 0, 1
      call begin(rank, order)
    end do
    call tcasm_group_attach(group, name_of(order))
    do rank = 0, 1
      call tcasm_publish(ranks(rank), 3, 0.25_real64)
    end do
    call tcasm_group_wait_newer(group, version, 10.0_real64)
    call tcasm_group_stamp(version, step, time, all_ranks)
    call check(step == 3 .and. all_ranks == 2, "the step of a group")
    call tcasm_group_ranks(version, members)
    call check(size(members) == 2 .and. members(2) == 1, "the ranks of a group")
    call tcasm_group_steps(group, steps)
    call check(size(steps) == 1 .and. steps(1) == 3, "the steps of a group")
    call agreed(order)

    call tcasm_global_read(version, "u", whole)
    call check(all(shape(whole) == [4, 3]), "the shape of a global array")
    do j = 1, 3
      do i = 1, 4
        call check(nint(whole(i, j)) == 10 * i + j, "the values of a global array")
      end do
    end do
    call tcasm_global_read(version, "u", whole, first=[2, 2], count=[2, 1])
    call check(all(nint(whole(:, 1)) == [22, 32]), "a part of a global array")
    call tcasm_global_read(version, "u", whole, first=[2, 2], count=[4, 1], status=status)
    call check(status == TCASM_INVALID_ARGUMENT, "a part outside of a global array")
    call tcasm_global_read(version, "u", line, status=status)
    call check(status == TCASM_INVALID_ARGUMENT, "another rank")
    call tcasm_global_read(version, "absent", line, status=status)
    call check(status == TCASM_NOT_FOUND, "an array that is not there")
    call one_behind_the_other(order)
    call tcasm_group_member(version, 1, member)
    call tcasm_get(member, "u", block)
    call check(nint(block(2, 1)) == 31, "the block of a rank")
    call tcasm_release(member)
    call tcasm_group_at(group, 4_int64, version, status)
    call check(status == TCASM_VERSION_GONE, "a step that is not there")
    call tcasm_group_release(version)
    call ends()
    call tcasm_group_detach(group)
    call tcasm_close(ranks(0))
  end do
  call from_the_environment()

contains

  ! The agent of this host tells which step all ranks have. Here it is a region with the attributes
  ! of an agent's.
  subroutine agreed(order)
    integer, intent(in) :: order
    type(tcasm_producer) :: agent
    type(tcasm_attrs) :: list
    type(tcasm_group_version) :: newest
    character(:), allocatable :: run
    call tcasm_group_agreed(group, newest, status)
    call check(status == TCASM_REGION_NOT_FOUND, "an agreed step without an agent")
    call tcasm_set_attr(list, "group", name_of(order))
    call tcasm_set_attr(list, "run", "run 1")
    call tcasm_set_attr(list, "ranks", 2)
    call tcasm_set_attr(list, "agents", 1)
    call tcasm_set_attr(list, "newest", 3)
    call tcasm_create(agent, name_of(order) // ".group", 1048576_int64, tcasm_options(attrs=list))
    call tcasm_publish(agent, 3, 0.25_real64)
    call tcasm_wait_visible(agent, 10.0_real64)
    call tcasm_group_agreed(group, newest)
    call tcasm_group_stamp(newest, step, time, all_ranks)
    call check(step == 3 .and. nint(4 * time) == 1 .and. all_ranks == 2, "an agreed step")
    call tcasm_group_run(newest, run)
    call check(run == "run 1", "the run of an agreed step")
    call tcasm_group_release(newest)
    call tcasm_close(agent)
    call tcasm_free(list)
  end subroutine agreed

  ! Field p has rows 1 and 2 in rank 0, and rows 3 to 5 in rank 1. Rows are along the first
  ! dimension of the library, which is the last one of Fortran in the order of C.
  subroutine one_behind_the_other(order)
    integer, intent(in) :: order
    type(tcasm_array) :: array
    integer(int32), allocatable :: p(:, :), flat(:)
    integer :: i, j
    call tcasm_concatenated_of(version, "p", array)
    call check(array%rank == 2 .and. all(array%shape(:2) == [5, 3]), "the shape of both fields")
    call tcasm_concatenated_read(version, "p", p)
    call check(all(shape(p) == merge([3, 5], [5, 3], order == TCASM_ORDER_C)), "their extents")
    do j = 1, 3
      do i = 1, 5
        if (order == TCASM_ORDER_C) then
          call check(p(j, i) == 10 * i + j, "the values of both fields")
        else
          call check(p(i, j) == 10 * i + j, "the values of both fields")
        end if
      end do
    end do
    if (order == TCASM_ORDER_C) then
      call tcasm_concatenated_read(version, "p", p, first=[1, 2], count=[1, 3])
    else
      call tcasm_concatenated_read(version, "p", p, first=[2, 1], count=[3, 1])
    end if
    call check(size(p) == 3, "the extents of a part of both fields")
    call check(all(reshape(p, [3]) == [21, 31, 41]), "the values of a part of both fields")
    call tcasm_concatenated_read(version, "p", p, first=[1, 1], count=[6, 6], status=status)
    call check(status == TCASM_INVALID_ARGUMENT, "a part outside of both fields")
    call tcasm_concatenated_read(version, "p", flat, status=status)
    call check(status == TCASM_INVALID_ARGUMENT, "both fields with another rank")
    call tcasm_concatenated_read(version, "absent", p, status=status)
    call check(status == TCASM_NOT_FOUND, "fields that are not there")
    call tcasm_global_read(version, "p", p, status=status)
    call check(status < 0, "fields without places in a global array")
  end subroutine one_behind_the_other

  ! Rank 1 closes its region.
  subroutine ends()
    integer :: attached, closed, lost
    call tcasm_group_ends(group, attached, closed, lost)
    call check(attached == 2 .and. closed == 0 .and. lost == 0, "ranks that publish")
    call tcasm_close(ranks(1))
    call tcasm_group_ends(group, attached, closed, lost)
    call check(attached == 2 .and. closed == 1 .and. lost == 0, "a rank that has ended")
  end subroutine ends

  ! The rank, the numbers of ranks and the run are those of the launcher.
  subroutine from_the_environment()
    type(tcasm_observer) :: one
    call tell("TCASM_RANK", "1")
    call tell("TCASM_RANKS", "3")
    call tell("TCASM_LOCAL_RANKS", "1")
    call tell("TCASM_RUN", "run 2")
    call tcasm_create(ranks(0), "told", 1048576_int64, tcasm_options(group_from_env=.true.))
    call tcasm_attach(one, "told.1")
    call tcasm_detach(one)
    call tcasm_group_attach(group, "told")
    call tcasm_publish(ranks(0), 4, 0.5_real64)
    call tcasm_group_wait_newer(group, version, 10.0_real64)
    call tcasm_group_stamp(version, step, time, all_ranks)
    call check(step == 4 .and. all_ranks == 3, "the ranks that the environment tells")
    call tcasm_group_release(version)
    call tcasm_group_detach(group)
    call tcasm_close(ranks(0))
    call tcasm_create(ranks(0), "told", 1048576_int64, &
      tcasm_options(group_from_env=.true., rank=0), status=status)
    call check(status == TCASM_INVALID_ARGUMENT, "a rank of the environment and one of the program")
    call tell("TCASM_RANK", "three")
    call tcasm_create(ranks(0), "told", 1048576_int64, tcasm_options(group_from_env=.true.), &
      status=status)
    call check(status < 0, "a rank of the environment that is no number")
  end subroutine from_the_environment

  subroutine tell(name, value)
    character(*), intent(in) :: name, value
    call check(setenv(name // c_null_char, value // c_null_char, 1_c_int) == 0, "setenv")
  end subroutine tell

  function name_of(order) result(name)
    integer, intent(in) :: order
    character(:), allocatable :: name
    name = merge("in_c", "in_f", order == TCASM_ORDER_C)
  end function name_of

  ! Rank r has the first indices 2r + 1 and 2r + 2 of four, and one ghost layer at each side.
  subroutine begin(rank, order)
    integer, intent(in) :: rank, order
    integer(int32), pointer :: p(:, :)
    integer :: i, j
    call tcasm_create(ranks(rank), name_of(order), 1048576_int64, &
      tcasm_options(rank=rank, ranks=2, local_ranks=2, run="run 1"))
    call tcasm_add_field(ranks(rank), "u", u, [4, 3], options=tcasm_field_options(order=order, &
      ghosts_before=[1, 0], ghosts_after=[1, 0], global_shape=[4_int64, 3_int64], &
      global_offset=[2_int64 * rank, 0_int64]))
    u = -1
    do j = 1, 3
      do i = 1, 2
        u(i + 1, j) = 10 * (i + 2 * rank) + j
      end do
    end do
    call tcasm_add_field(ranks(rank), "p", p, merge([3, 2 + rank], [2 + rank, 3], &
      order == TCASM_ORDER_C), options=tcasm_field_options(order=order))
    do j = 1, 3
      do i = 1, 2 + rank
        if (order == TCASM_ORDER_C) then
          p(j, i) = 10 * (i + 2 * rank) + j
        else
          p(i, j) = 10 * (i + 2 * rank) + j
        end if
      end do
    end do
  end subroutine begin

end program groups
