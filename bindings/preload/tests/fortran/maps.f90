! Maps a file with the functions of C, and publishes three versions of an array.
program maps
  use, intrinsic :: iso_c_binding
  implicit none
  interface
    function c_open(path, flags, mode) bind(c, name="open") result(fd)
      import :: c_char, c_int
      character(kind=c_char), intent(in) :: path(*)
      integer(c_int), value :: flags, mode
      integer(c_int) :: fd
    end function
    function c_ftruncate(fd, length) bind(c, name="ftruncate") result(status)
      import :: c_int, c_long
      integer(c_int), value :: fd
      integer(c_long), value :: length
      integer(c_int) :: status
    end function
    function c_mmap(address, length, prot, flags, fd, offset) bind(c, name="mmap") result(memory)
      import :: c_ptr, c_size_t, c_int, c_long
      type(c_ptr), value :: address
      integer(c_size_t), value :: length
      integer(c_int), value :: prot, flags, fd
      integer(c_long), value :: offset
      type(c_ptr) :: memory
    end function
    function c_msync(address, length, flags) bind(c, name="msync") result(status)
      import :: c_ptr, c_size_t, c_int
      type(c_ptr), value :: address
      integer(c_size_t), value :: length
      integer(c_int), value :: flags
      integer(c_int) :: status
    end function
  end interface
  integer(c_int), parameter :: o_rdwr = 2, o_creat = 64, prot_read_write = 3, map_shared = 1
  integer(c_int), parameter :: ms_sync = 4
  integer(c_size_t), parameter :: length = 8000
  character(len=200) :: path
  integer(c_int) :: fd
  integer :: number
  type(c_ptr) :: memory
  real(c_double), pointer :: u(:)

  call get_command_argument(1, path)
  fd = c_open(trim(path) // c_null_char, ior(o_rdwr, o_creat), int(o'600', c_int))
  if (c_ftruncate(fd, int(length, c_long)) /= 0) stop 1
  memory = c_mmap(c_null_ptr, length, prot_read_write, map_shared, fd, 0_c_long)
  call c_f_pointer(memory, u, [1000])
  do number = 1, 3
    u = number
    if (c_msync(memory, length, ms_sync) /= 0) stop 2
    print '(a)', "published"
    flush (6)
    read (*, *)
  end do
end program maps
