!> Transfers in Fortran: an owner and a peer of one process.
program transfers
  use, intrinsic :: iso_c_binding
  use, intrinsic :: iso_fortran_env, only: int64, real64
  use tcasm
  implicit none

  type(tcasm_owner) :: owner
  type(tcasm_peer) :: peer
  type(tcasm_shared_memory) :: memory
  type(tcasm_mapped) :: mapped
  type(tcasm_gathered) :: gathered
  type(tcasm_cookie) :: columns, target_cookie, shared, versions
  type(tcasm_segment), allocatable :: pieces(:), parts(:)
  character(:), allocatable :: address
  real(real64), target :: grid(10, 6), goal(4), first(3), rest(9)
  real(real64), pointer :: common(:), seen(:)
  type(c_ptr) :: data
  integer(int64) :: bytes, version
  integer :: i, status, access

  grid = reshape([(real(i, real64), i = 0, 59)], [10, 6])
  goal = 0
  call tcasm_owner_new(owner)
  call tcasm_owner_address(owner, address)

  ! Rows 4 and 5 of all columns.
  call tcasm_pieces(c_loc(grid(4, 1)), 8, [2_int64, 6_int64], [8_int64, 80_int64], pieces)
  call check(size(pieces) == 6 .and. pieces(2)%bytes == 16, "the pieces of an array")
  call tcasm_declare(owner, pieces, columns)
  call tcasm_declare(owner, [tcasm_piece(c_loc(goal), 32_int64)], target_cookie, TCASM_WRITE)
  call tcasm_connect(peer, address)
  call tcasm_describe(peer, columns, bytes, version, access)
  call check(bytes == 96 .and. version == 0 .and. access == TCASM_READ, "the description")

  call tcasm_read_declared(peer, columns, 0_int64, &
    [tcasm_piece(c_loc(first), 24_int64), tcasm_piece(c_loc(rest), 72_int64)], version)
  call check(version == 0 .and. nint(first(3)) == 13 .and. nint(rest(9)) == 54, &
    "the values that were read")
  first = 7
  call tcasm_write_declared(peer, target_cookie, 8_int64, [tcasm_piece(c_loc(first), 16_int64)])
  call check(all(nint(goal) == [0, 7, 7, 0]), "the values that were written")
  call tcasm_write_declared(peer, columns, 0_int64, [tcasm_piece(c_loc(first), 8_int64)], status)
  call check(status == TCASM_REFUSED, "a cookie that does not allow writing")
  call tcasm_peer_set(peer, TCASM_PEER_TRANSPORT, 9_int64, status)
  call check(status == TCASM_INVALID_ARGUMENT, "a transport that does not exist")

  call tcasm_shared_memory_new(memory, 8000_int64, data)
  call c_f_pointer(data, common, [1000])
  common(1000) = 4.5_real64
  call tcasm_declare_shared(owner, memory, shared)
  call tcasm_map_declared(peer, shared, mapped, parts)
  call check(size(parts) == 1 .and. parts(1)%bytes == 8000, "the mapped pieces")
  call c_f_pointer(parts(1)%data, seen, [1000])
  call check(nint(2 * seen(1000)) == 9, "the mapped value")
  call tcasm_unmap_declared(mapped)
  call tcasm_map_declared(peer, columns, mapped, parts, status)
  call check(status == TCASM_REFUSED .and. size(parts) == 0, "memory that cannot be mapped")

  call tcasm_gathered_new(gathered, owner, "fortran-gathered", pieces)
  call tcasm_gathered_cookie(gathered, versions)
  do i = 1, 2
    call tcasm_read_declared(peer, versions, 0_int64, [tcasm_piece(c_loc(first), 8_int64)], version)
    call check(version == i .and. nint(first(1)) == nint(grid(4, 1)), "the value of a version")
    call tcasm_hold(peer, versions, 8_int64, 16_int64, bytes)
    call tcasm_read_held(peer, 8_int64, tcasm_piece(c_loc(first), 8_int64), version)
    call check(bytes == 16 .and. version == i .and. nint(first(1)) == nint(grid(4, 2)), "what is held")
    call tcasm_read_declared(peer, versions, 0_int64, [tcasm_piece(c_loc(first), 8_int64)], &
      status=status)
    call check(status == TCASM_INVALID_ARGUMENT, "a connection that holds a part")
    call tcasm_let_go(peer)
    grid(4, 1) = -1
    call tcasm_gathered_publish(gathered, int(i, int64), 0.0_real64)
  end do

  call tcasm_revoke(owner, columns)
  call tcasm_read_declared(peer, columns, 0_int64, [tcasm_piece(c_loc(first), 8_int64)], &
    status=status)
  call check(status == TCASM_REFUSED, "a cookie that was revoked")
  call tcasm_gathered_free(gathered)
  call tcasm_disconnect(peer)
  call tcasm_shared_memory_free(memory)
  call tcasm_owner_free(owner)
  call tcasm_owner_free(owner, status)
  call check(status == TCASM_INVALID_HANDLE, "an owner that has ended")
  print "(a)", "transfers: all is as it should be"

contains

  subroutine check(holds, what)
    logical, intent(in) :: holds
    character(*), intent(in) :: what
    if (.not. holds) error stop what // ": " // tcasm_last_error()
  end subroutine check

end program transfers
