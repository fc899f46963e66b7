!> Checkpoints, and runs that continue from them. Programs that use this module are linked with
!! libtcasm_files, which needs HDF5, and not with libtcasm.
module tcasm_files
  use, intrinsic :: iso_c_binding
  use, intrinsic :: iso_fortran_env, only: int64, real64
  use tcasm_constants
  use tcasm_c
  use tcasm_errors
  use tcasm_settings
  use tcasm_producers
  use tcasm_pinned_versions
  use tcasm_c_files, only: tcasm_start, c_restore_or_begin, c_open_checkpoint
  implicit none
  private
  public :: tcasm_start, tcasm_restore_or_begin, tcasm_open_checkpoint

contains

  !> Creates the region `name` as it was at the last version that `tcasm keep` holds, or in the newest
  !! checkpoint of this name in `folders` that can be read, or else a new one. start%restored is 1
  !! if it was restored: tcasm_get gives its fields, and tcasm_add_field adds more.
  subroutine tcasm_restore_or_begin(producer, name, capacity, folders, start, options, status)
    type(tcasm_producer), intent(out) :: producer
    character(*), intent(in) :: name
    integer(int64), intent(in) :: capacity
    character(*), intent(in) :: folders(:)
    type(tcasm_start), intent(out) :: start
    type(tcasm_options), intent(in), optional :: options
    integer, intent(out), optional :: status
    character(kind=c_char, len=len(folders) + 1), target :: texts(size(folders))
    type(c_ptr) :: paths(size(folders)), settings
    integer(c_int) :: code, ignored
    integer :: i
    do i = 1, size(folders)
      texts(i) = c_text(folders(i))
      paths(i) = c_loc(texts(i))
    end do
    start%size = c_sizeof(start)
    settings = c_null_ptr
    code = TCASM_OK
    if (present(options)) code = region_options(options, settings)
    if (code == TCASM_OK) code = c_restore_or_begin(c_text(name), capacity, settings, paths, &
      size(paths, kind=c_size_t), start, producer%handle)
    if (c_associated(settings)) ignored = c_options_free(settings)
    call report(code, status)
  end subroutine tcasm_restore_or_begin

  !> Opens a checkpoint: a file, or the newest in a folder that can be used. It is a version like
  !! those of observers. Releases what `version` held.
  subroutine tcasm_open_checkpoint(version, path, status)
    type(tcasm_version), intent(inout) :: version
    character(*), intent(in) :: path
    integer, intent(out), optional :: status
    type(c_ptr) :: found
    integer(c_int) :: code
    found = c_null_ptr
    code = c_open_checkpoint(c_text(path), found)
    if (code == TCASM_OK) then
      call tcasm_release(version)
      version%handle = found
    end if
    call report(code, status)
  end subroutine tcasm_open_checkpoint

end module tcasm_files
