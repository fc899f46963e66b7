!> Statuses and texts of errors.
module tcasm_errors
  use, intrinsic :: iso_c_binding
  use tcasm_constants
  use tcasm_c
  implicit none
  private
  public :: tcasm_last_error, tcasm_status_name, tcasm_library_version
  public :: report, refused, fortran_text, c_text

  !> The text of the last status, if these modules have found it, and not the library.
  character(:), allocatable, save :: own
  !> That of a status that was not reported yet.
  character(:), allocatable, save :: coming
  !$omp threadprivate(own, coming)

  interface
    function strlen(text) bind(c)
      import :: c_ptr, c_size_t
      type(c_ptr), value :: text
      integer(c_size_t) :: strlen
    end function strlen
  end interface

contains

  !> Returns what the last status of this thread that was not TCASM_OK means, and what to do.
  function tcasm_last_error() result(text)
    character(:), allocatable :: text
    if (allocated(own)) then
      text = own
    else
      text = fortran_text(c_last_error())
    end if
  end function tcasm_last_error

  !> Returns the name of a status, such as "TCASM_NOT_READY".
  function tcasm_status_name(status) result(text)
    integer, intent(in) :: status
    character(:), allocatable :: text
    text = fortran_text(c_status_name(int(status, c_int)))
  end function tcasm_status_name

  !> Returns the version of the library.
  function tcasm_library_version() result(text)
    character(:), allocatable :: text
    text = fortran_text(c_library_version())
  end function tcasm_library_version

  !> Gives a status to the caller. A caller that does not ask for it is stopped by an error.
  subroutine report(code, status)
    integer(c_int), intent(in) :: code
    integer, intent(out), optional :: status
    character(:), allocatable :: text
    if (code /= TCASM_OK) call move_alloc(coming, own)
    if (present(status)) then
      status = code
    else if (code /= TCASM_OK .and. code /= TCASM_SKIPPED) then
      text = "tcasm: " // tcasm_last_error()
      error stop text
    end if
  end subroutine report

  !> Returns the status for an argument that has a value that it cannot have.
  function refused(text) result(code)
    character(*), intent(in) :: text
    integer(c_int) :: code
    coming = text
    code = TCASM_INVALID_ARGUMENT
  end function refused

  !> Returns a text of the library.
  function fortran_text(from) result(text)
    type(c_ptr), intent(in) :: from
    character(:), allocatable :: text
    character(kind=c_char), pointer :: letters(:)
    integer(c_size_t) :: i, n
    text = ""
    if (.not. c_associated(from)) return
    n = strlen(from)
    call c_f_pointer(from, letters, [n])
    deallocate (text)
    allocate (character(n) :: text)
    do i = 1, n
      text(i:i) = letters(i)
    end do
  end function fortran_text

  !> Returns a text for the library, without the blanks at its end.
  pure function c_text(from) result(text)
    character(*), intent(in) :: from
    character(:), allocatable :: text
    text = trim(from) // c_null_char
  end function c_text

end module tcasm_errors
