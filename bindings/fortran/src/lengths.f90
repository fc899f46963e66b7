!> The lengths of variable fields and of meshes.
module tcasm_lengths
  use, intrinsic :: iso_c_binding
  use, intrinsic :: iso_fortran_env, only: int32, int64
  use tcasm_constants
  use tcasm_c
  use tcasm_errors
  use tcasm_producers
  implicit none
  private
  public :: tcasm_set_len, tcasm_set_lens, tcasm_len

  !> Sets the length of a variable field, or of a mesh, from the next version on: the extent of the
  !! last dimension. `len` is an integer(int32) or integer(int64).
  interface tcasm_set_len
    module procedure set_len_int32, set_len_int64
  end interface tcasm_set_len

  !> Sets the lengths of several fields or meshes at once, all or none. `lens` has one for each of
  !! `names`: integer(int32) or integer(int64).
  interface tcasm_set_lens
    module procedure set_lens_int32, set_lens_int64
  end interface tcasm_set_lens

contains

  subroutine set_len_int32(producer, name, len, status)
    type(tcasm_producer), intent(in) :: producer
    character(*), intent(in) :: name
    integer(int32), intent(in) :: len
    integer, intent(out), optional :: status
    call set_len_int64(producer, name, int(len, int64), status)
  end subroutine set_len_int32

  subroutine set_len_int64(producer, name, len, status)
    type(tcasm_producer), intent(in) :: producer
    character(*), intent(in) :: name
    integer(int64), intent(in) :: len
    integer, intent(out), optional :: status
    call report(c_set_len(producer%handle, c_text(name), int(len, c_size_t)), status)
  end subroutine set_len_int64

  subroutine set_lens_int32(producer, names, lens, status)
    type(tcasm_producer), intent(in) :: producer
    character(*), intent(in) :: names(:)
    integer(int32), intent(in) :: lens(:)
    integer, intent(out), optional :: status
    call set_lens_int64(producer, names, int(lens, int64), status)
  end subroutine set_lens_int32

  subroutine set_lens_int64(producer, names, lens, status)
    type(tcasm_producer), intent(in) :: producer
    character(*), intent(in) :: names(:)
    integer(int64), intent(in) :: lens(:)
    integer, intent(out), optional :: status
    character(kind=c_char, len=len(names) + 1), target :: texts(size(names))
    type(c_ptr) :: places(size(names))
    character(100) :: wrong
    integer(c_int) :: code
    integer :: i
    do i = 1, size(names)
      texts(i) = c_text(names(i))
      places(i) = c_loc(texts(i))
    end do
    if (size(lens) == size(names)) then
      code = c_set_lens(producer%handle, places, int(lens, c_size_t), size(names, kind=c_size_t))
    else
      write (wrong, "(2(a, i0))") "the number of names is ", size(names), &
        ", and that of lengths is ", size(lens)
      code = refused(trim(wrong))
    end if
    call report(code, status)
  end subroutine set_lens_int64

  !> Returns the length of a variable field, or of a mesh.
  function tcasm_len(producer, name, status) result(len)
    type(tcasm_producer), intent(in) :: producer
    character(*), intent(in) :: name
    integer, intent(out), optional :: status
    integer(int64) :: len
    len = 0
    call report(c_len(producer%handle, c_text(name), len), status)
  end function tcasm_len

end module tcasm_lengths
