!> Memory that other processes read and write by cookie.
module tcasm_transfers
  use, intrinsic :: iso_c_binding
  use, intrinsic :: iso_fortran_env, only: int64, real64
  use tcasm_constants
  use tcasm_c
  use tcasm_errors
  use tcasm_pinned_versions, only: tcasm_version
  implicit none
  private
  public :: tcasm_owner, tcasm_peer, tcasm_shared_memory, tcasm_mapped, tcasm_gathered
  public :: tcasm_owner_new, tcasm_owner_free, tcasm_owner_address, tcasm_revoke
  public :: tcasm_piece, tcasm_pieces, tcasm_declare, tcasm_declare_shared, tcasm_declare_field
  public :: tcasm_set_declared_field, tcasm_shared_memory_new, tcasm_shared_memory_free
  public :: tcasm_connect, tcasm_disconnect, tcasm_describe, tcasm_peer_set
  public :: tcasm_read_declared, tcasm_write_declared, tcasm_map_declared, tcasm_unmap_declared
  public :: tcasm_hold, tcasm_read_held, tcasm_let_go
  public :: tcasm_gathered_new, tcasm_gathered_publish, tcasm_gathered_cookie, tcasm_gathered_free

  !> Declares memory of this process, and serves peers.
  type :: tcasm_owner
    type(c_ptr) :: handle = c_null_ptr
  end type tcasm_owner

  !> A connection to an owner.
  type :: tcasm_peer
    type(c_ptr) :: handle = c_null_ptr
  end type tcasm_peer

  !> Memory that this process and its peers share.
  type :: tcasm_shared_memory
    type(c_ptr) :: handle = c_null_ptr
  end type tcasm_shared_memory

  !> Declared memory of an owner, mapped here.
  type :: tcasm_mapped
    type(c_ptr) :: handle = c_null_ptr
  end type tcasm_mapped

  !> Memory in pieces that is published as versions.
  type :: tcasm_gathered
    type(c_ptr) :: handle = c_null_ptr
  end type tcasm_gathered

contains

  !> Begins to serve peers: those of this user, or with `everyone` those of all users, who still need
  !! a cookie.
  subroutine tcasm_owner_new(owner, everyone, status)
    type(tcasm_owner), intent(out) :: owner
    logical, intent(in), optional :: everyone
    integer, intent(out), optional :: status
    call report(c_owner_new(flag(everyone), owner%handle), status)
  end subroutine tcasm_owner_new

  !> Ends an owner. Revoke the cookies before: peers that are copying are not waited for.
  subroutine tcasm_owner_free(owner, status)
    type(tcasm_owner), intent(inout) :: owner
    integer, intent(out), optional :: status
    call report(c_owner_free(owner%handle), status)
    owner%handle = c_null_ptr
  end subroutine tcasm_owner_free

  !> Gets the address at which peers find an owner.
  subroutine tcasm_owner_address(owner, address, status)
    type(tcasm_owner), intent(in) :: owner
    character(:), allocatable, intent(out) :: address
    integer, intent(out), optional :: status
    type(c_ptr) :: text
    text = c_null_ptr
    call report(c_owner_address(owner%handle, text), status)
    address = fortran_text(text)
  end subroutine tcasm_owner_address

  !> Returns a piece of memory: `tcasm_piece(c_loc(u), 8_int64 * size(u))`.
  function tcasm_piece(data, bytes) result(piece)
    type(c_ptr), intent(in) :: data
    integer(int64), intent(in) :: bytes
    type(tcasm_segment) :: piece
    piece%data = data
    piece%bytes = int(bytes, c_size_t)
  end function tcasm_piece

  !> Gets the pieces of a part of an array. `shape` and `strides` are in the order of Fortran: the
  !! first index is the fastest. Strides and `element` are in bytes.
  subroutine tcasm_pieces(data, element, shape, strides, pieces, status)
    type(c_ptr), intent(in) :: data
    integer, intent(in) :: element
    integer(int64), intent(in) :: shape(:), strides(:)
    type(tcasm_segment), allocatable, intent(out) :: pieces(:)
    integer, intent(out), optional :: status
    type(tcasm_segment) :: none
    integer(c_size_t) :: extents(size(shape)), count, rank
    integer(c_int64_t) :: distances(size(strides))
    integer(c_int) :: code
    allocate (pieces(0))
    if (size(shape) /= size(strides)) then
      call report(refused("an array needs a stride for each extent"), status)
      return
    end if
    rank = size(shape, kind=c_size_t)
    extents = int(shape(rank:1:-1), c_size_t)
    distances = strides(rank:1:-1)
    count = 0
    none%data = c_null_ptr
    none%bytes = 0
    code = c_array_segments(data, int(element, c_size_t), rank, extents, distances, none, &
      0_c_size_t, count)
    if (code == TCASM_OK) then
      deallocate (pieces)
      allocate (pieces(count))
      code = c_array_segments(data, int(element, c_size_t), rank, extents, distances, pieces(1), &
        count, count)
    end if
    call report(code, status)
  end subroutine tcasm_pieces

  !> Declares pieces of live memory, which must stay mapped until the cookie is revoked. `access` is
  !! TCASM_READ (which it is if it is left out), TCASM_WRITE or TCASM_READ_WRITE.
  subroutine tcasm_declare(owner, pieces, cookie, access, once, status)
    type(tcasm_owner), intent(in) :: owner
    type(tcasm_segment), intent(in), target, contiguous :: pieces(:)
    type(tcasm_cookie), intent(out) :: cookie
    integer, intent(in), optional :: access
    logical, intent(in), optional :: once
    integer, intent(out), optional :: status
    cookie%bytes = 0
    call report(c_declare(owner%handle, c_loc(pieces), size(pieces, kind=c_size_t), &
      rights(access), flag(once), cookie), status)
  end subroutine tcasm_declare

  !> Declares pieces of shared memory, or all of it. Peers can map it.
  subroutine tcasm_declare_shared(owner, memory, cookie, pieces, access, once, status)
    type(tcasm_owner), intent(in) :: owner
    type(tcasm_shared_memory), intent(in) :: memory
    type(tcasm_cookie), intent(out) :: cookie
    type(tcasm_segment), intent(in), target, contiguous, optional :: pieces(:)
    integer, intent(in), optional :: access
    logical, intent(in), optional :: once
    integer, intent(out), optional :: status
    type(c_ptr) :: list
    integer(c_size_t) :: count
    list = c_null_ptr
    count = 0
    cookie%bytes = 0
    if (present(pieces)) then
      list = c_loc(pieces)
      count = size(pieces, kind=c_size_t)
    end if
    call report(c_declare_shared(owner%handle, memory%handle, list, count, rights(access), &
      flag(once), cookie), status)
  end subroutine tcasm_declare_shared

  !> Declares a field of a version, which stays pinned until the cookie is revoked.
  subroutine tcasm_declare_field(owner, version, name, cookie, status)
    type(tcasm_owner), intent(in) :: owner
    type(tcasm_version), intent(in) :: version
    character(*), intent(in) :: name
    type(tcasm_cookie), intent(out) :: cookie
    integer, intent(out), optional :: status
    cookie%bytes = 0
    call report(c_declare_field(owner%handle, version%handle, c_text(name), cookie), status)
  end subroutine tcasm_declare_field

  !> Makes a cookie of a field stand for a newer version.
  subroutine tcasm_set_declared_field(owner, cookie, version, name, status)
    type(tcasm_owner), intent(in) :: owner
    type(tcasm_cookie), intent(in), target :: cookie
    type(tcasm_version), intent(in) :: version
    character(*), intent(in) :: name
    integer, intent(out), optional :: status
    call report(c_set_declared_field(owner%handle, c_loc(cookie), version%handle, c_text(name)), &
      status)
  end subroutine tcasm_set_declared_field

  !> Ends a cookie. With the status TCASM_NOT_READY a peer still uses the memory after `timeout`
  !! seconds (10): leave it alone, and call this again.
  subroutine tcasm_revoke(owner, cookie, timeout, status)
    type(tcasm_owner), intent(in) :: owner
    type(tcasm_cookie), intent(in), target :: cookie
    real(real64), intent(in), optional :: timeout
    integer, intent(out), optional :: status
    real(c_double) :: limit
    limit = 10
    if (present(timeout)) limit = timeout
    call report(c_revoke(owner%handle, c_loc(cookie), limit), status)
  end subroutine tcasm_revoke

  !> Makes memory that peers can map, and gets its address: `call c_f_pointer(data, x, [n])`.
  subroutine tcasm_shared_memory_new(memory, bytes, data, status)
    type(tcasm_shared_memory), intent(out) :: memory
    integer(int64), intent(in) :: bytes
    type(c_ptr), intent(out) :: data
    integer, intent(out), optional :: status
    data = c_null_ptr
    call report(c_shared_memory_new(int(bytes, c_size_t), memory%handle, data), status)
  end subroutine tcasm_shared_memory_new

  !> Lets go of shared memory. It stays as long as a cookie stands for it.
  subroutine tcasm_shared_memory_free(memory, status)
    type(tcasm_shared_memory), intent(inout) :: memory
    integer, intent(out), optional :: status
    call report(c_shared_memory_free(memory%handle), status)
    memory%handle = c_null_ptr
  end subroutine tcasm_shared_memory_free

  !> Connects to the owner at `address`.
  subroutine tcasm_connect(peer, address, status)
    type(tcasm_peer), intent(out) :: peer
    character(*), intent(in) :: address
    integer, intent(out), optional :: status
    call report(c_connect(c_text(address), peer%handle), status)
  end subroutine tcasm_connect

  !> Ends a connection.
  subroutine tcasm_disconnect(peer, status)
    type(tcasm_peer), intent(inout) :: peer
    integer, intent(out), optional :: status
    call report(c_disconnect(peer%handle), status)
    peer%handle = c_null_ptr
  end subroutine tcasm_disconnect

  !> Sets TCASM_PEER_TRANSPORT and the like.
  subroutine tcasm_peer_set(peer, option, value, status)
    type(tcasm_peer), intent(in) :: peer
    integer, intent(in) :: option
    integer(int64), intent(in) :: value
    integer, intent(out), optional :: status
    call report(c_peer_set(peer%handle, int(option, c_int), value), status)
  end subroutine tcasm_peer_set

  !> Gets the meaning of a cookie: the number of bytes, and the version or 0 for live memory.
  subroutine tcasm_describe(peer, cookie, bytes, version, access, once, status)
    type(tcasm_peer), intent(in) :: peer
    type(tcasm_cookie), intent(in), target :: cookie
    integer(int64), intent(out), optional :: bytes, version
    integer, intent(out), optional :: access
    logical, intent(out), optional :: once
    integer, intent(out), optional :: status
    type(tcasm_declaration) :: found
    found%size = c_sizeof(found)
    found%bytes = 0
    found%version = 0
    found%access = 0
    found%once = 0
    call report(c_describe(peer%handle, c_loc(cookie), found), status)
    if (present(bytes)) bytes = found%bytes
    if (present(version)) version = found%version
    if (present(access)) access = found%access
    if (present(once)) once = found%once == 1
  end subroutine tcasm_describe

  !> Reads declared bytes from byte `offset` on (0 is the first) into pieces, which must not overlap.
  !! `version` is the version that they are of, or 0 for live memory: then they can be torn.
  subroutine tcasm_read_declared(peer, cookie, offset, pieces, version, status)
    type(tcasm_peer), intent(in) :: peer
    type(tcasm_cookie), intent(in), target :: cookie
    integer(int64), intent(in) :: offset
    type(tcasm_segment), intent(in), target, contiguous :: pieces(:)
    integer(int64), intent(out), optional :: version
    integer, intent(out), optional :: status
    integer(c_int64_t) :: found
    found = 0
    call report(c_read_vectored(peer%handle, c_loc(cookie), offset, c_loc(pieces), &
      size(pieces, kind=c_size_t), found), status)
    if (present(version)) version = found
  end subroutine tcasm_read_declared

  !> Writes pieces to declared memory from byte `offset` on.
  subroutine tcasm_write_declared(peer, cookie, offset, pieces, status)
    type(tcasm_peer), intent(in) :: peer
    type(tcasm_cookie), intent(in), target :: cookie
    integer(int64), intent(in) :: offset
    type(tcasm_segment), intent(in), target, contiguous :: pieces(:)
    integer, intent(out), optional :: status
    call report(c_write_vectored(peer%handle, c_loc(cookie), offset, c_loc(pieces), &
      size(pieces, kind=c_size_t)), status)
  end subroutine tcasm_write_declared

  !> Finds declared bytes from byte `offset` on, so that tcasm_read_held reads them by one copy and
  !! without a message. Gets how many are held. Until tcasm_let_go the connection does nothing else.
  subroutine tcasm_hold(peer, cookie, offset, bytes, held, status)
    type(tcasm_peer), intent(in) :: peer
    type(tcasm_cookie), intent(in), target :: cookie
    integer(int64), intent(in) :: offset, bytes
    integer(int64), intent(out), optional :: held
    integer, intent(out), optional :: status
    integer(c_int64_t) :: count
    count = 0
    call report(c_hold(peer%handle, c_loc(cookie), offset, bytes, count), status)
    if (present(held)) held = count
  end subroutine tcasm_hold

  !> Reads a piece of what the connection holds, from byte `offset` of it on. Gets the version, or 0
  !! for live memory, whose bytes can be torn.
  subroutine tcasm_read_held(peer, offset, to, version, status)
    type(tcasm_peer), intent(in) :: peer
    integer(int64), intent(in) :: offset
    type(tcasm_segment), intent(in) :: to
    integer(int64), intent(out), optional :: version
    integer, intent(out), optional :: status
    integer(c_int8_t), pointer :: bytes(:)
    integer(c_int64_t) :: number
    number = 0
    call c_f_pointer(to%data, bytes, [to%bytes])
    call report(c_read_held(peer%handle, offset, bytes, to%bytes, number), status)
    if (present(version)) version = number
  end subroutine tcasm_read_held

  !> Ends what the connection holds, so that the owner can revoke the cookie.
  subroutine tcasm_let_go(peer, status)
    type(tcasm_peer), intent(in) :: peer
    integer, intent(out), optional :: status
    call report(c_let_go(peer%handle), status)
  end subroutine tcasm_let_go

  !> Maps shared memory of an owner for reading, and gets its pieces.
  subroutine tcasm_map_declared(peer, cookie, mapped, pieces, status)
    type(tcasm_peer), intent(in) :: peer
    type(tcasm_cookie), intent(in), target :: cookie
    type(tcasm_mapped), intent(out) :: mapped
    type(tcasm_segment), allocatable, intent(out) :: pieces(:)
    integer, intent(out), optional :: status
    type(tcasm_segment) :: none
    integer(c_size_t) :: count
    integer(c_int) :: code
    none%data = c_null_ptr
    none%bytes = 0
    count = 0
    code = c_map_declared(peer%handle, c_loc(cookie), mapped%handle)
    if (code == TCASM_OK) code = c_mapped_segments(mapped%handle, none, 0_c_size_t, count)
    allocate (pieces(count))
    if (code == TCASM_OK) code = c_mapped_segments(mapped%handle, pieces(1), count, count)
    call report(code, status)
  end subroutine tcasm_map_declared

  !> Unmaps declared memory of an owner.
  subroutine tcasm_unmap_declared(mapped, status)
    type(tcasm_mapped), intent(inout) :: mapped
    integer, intent(out), optional :: status
    call report(c_unmap_declared(mapped%handle), status)
    mapped%handle = c_null_ptr
  end subroutine tcasm_unmap_declared

  !> Creates the region `name` of pieces of memory, and publishes their first version.
  subroutine tcasm_gathered_new(gathered, owner, name, pieces, status)
    type(tcasm_gathered), intent(out) :: gathered
    type(tcasm_owner), intent(in) :: owner
    character(*), intent(in) :: name
    type(tcasm_segment), intent(in), target, contiguous :: pieces(:)
    integer, intent(out), optional :: status
    call report(c_gathered_new(owner%handle, c_text(name), c_loc(pieces), &
      size(pieces, kind=c_size_t), gathered%handle), status)
  end subroutine tcasm_gathered_new

  !> Publishes the present bytes of the pieces. The status can be TCASM_SKIPPED.
  subroutine tcasm_gathered_publish(gathered, step, time, status)
    type(tcasm_gathered), intent(in) :: gathered
    integer(int64), intent(in) :: step
    real(real64), intent(in) :: time
    integer, intent(out), optional :: status
    call report(c_gathered_publish(gathered%handle, step, time), status)
  end subroutine tcasm_gathered_publish

  !> Gets the cookie by which peers read the newest version.
  subroutine tcasm_gathered_cookie(gathered, cookie, status)
    type(tcasm_gathered), intent(in) :: gathered
    type(tcasm_cookie), intent(out) :: cookie
    integer, intent(out), optional :: status
    cookie%bytes = 0
    call report(c_gathered_cookie(gathered%handle, cookie), status)
  end subroutine tcasm_gathered_cookie

  !> Ends the region and its cookie.
  subroutine tcasm_gathered_free(gathered, status)
    type(tcasm_gathered), intent(inout) :: gathered
    integer, intent(out), optional :: status
    call report(c_gathered_free(gathered%handle), status)
    gathered%handle = c_null_ptr
  end subroutine tcasm_gathered_free

  function rights(access) result(number)
    integer, intent(in), optional :: access
    integer(c_int) :: number
    number = TCASM_READ
    if (present(access)) number = int(access, c_int)
  end function rights

  function flag(given) result(number)
    logical, intent(in), optional :: given
    integer(c_int) :: number
    number = 0
    if (present(given)) number = merge(1_c_int, 0_c_int, given)
  end function flag

end module tcasm_transfers
