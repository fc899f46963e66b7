!> Meshes of versions.
module tcasm_version_meshes
  use, intrinsic :: iso_c_binding
  use, intrinsic :: iso_fortran_env, only: int64, real64
  use tcasm_constants
  use tcasm_c, only: c_mesh_count, c_mesh_at, c_mesh_attrs, c_mesh => tcasm_mesh
  use tcasm_errors
  use tcasm_attributes
  use tcasm_pinned_versions
  implicit none
  private
  public :: tcasm_mesh, tcasm_mesh_count, tcasm_mesh_at, tcasm_mesh_attrs

  !> A mesh of a version.
  type :: tcasm_mesh
    character(:), allocatable :: name
    !> TCASM_UNIFORM, TCASM_PARTICLES and the like.
    integer :: kind = TCASM_UNIFORM
    !> VTK's number of the cells of TCASM_UNSTRUCTURED.
    integer :: cell_type = 0
    !> The names of the fields that are its geometry, followed by blanks.
    character(:), allocatable :: geometry(:)
    !> Of a uniform mesh, along x, y and z. One of the points is 0 if it is unused.
    integer(int64) :: points(3) = 0
    real(real64) :: origin(3) = 0, spacing(3) = 0
    !> The block-structured mesh of which it is a block, or an empty text.
    character(:), allocatable :: of
    integer :: level = 0, refinement(3) = 0
    integer(int64) :: offset(3) = 0
  end type tcasm_mesh

contains

  !> Returns the number of meshes.
  function tcasm_mesh_count(version, status) result(n)
    type(tcasm_version), intent(in) :: version
    integer, intent(out), optional :: status
    integer :: n
    integer(c_size_t) :: count
    count = 0
    call report(c_mesh_count(version%handle, count), status)
    n = int(count)
  end function tcasm_mesh_count

  !> Gets mesh `index`, from 1.
  subroutine tcasm_mesh_at(version, index, mesh, status)
    type(tcasm_version), intent(in) :: version
    integer, intent(in) :: index
    type(tcasm_mesh), intent(out) :: mesh
    integer, intent(out), optional :: status
    type(c_mesh) :: found
    integer(c_int) :: code
    found%size = c_sizeof(found)
    code = c_mesh_at(version%handle, int(index - 1, c_size_t), found)
    if (code == TCASM_OK) call describe(found, mesh)
    call report(code, status)
  end subroutine tcasm_mesh_at

  subroutine describe(found, mesh)
    type(c_mesh), intent(in) :: found
    type(tcasm_mesh), intent(inout) :: mesh
    integer :: i, longest
    mesh%name = fortran_text(found%name)
    mesh%kind = found%kind
    mesh%cell_type = found%cell_type
    mesh%points = found%points
    mesh%origin = found%origin
    mesh%spacing = found%spacing
    mesh%of = fortran_text(found%of)
    mesh%level = found%level
    mesh%refinement = found%refinement
    mesh%offset = found%offset
    longest = 0
    do i = 1, int(found%fields)
      longest = max(longest, len(fortran_text(found%geometry(i))))
    end do
    allocate (character(longest) :: mesh%geometry(found%fields))
    do i = 1, int(found%fields)
      mesh%geometry(i) = fortran_text(found%geometry(i))
    end do
  end subroutine describe

  !> Makes a list of the attributes of mesh `name`.
  subroutine tcasm_mesh_attrs(version, name, attrs, status)
    type(tcasm_version), intent(in) :: version
    character(*), intent(in) :: name
    type(tcasm_attrs), intent(out) :: attrs
    integer, intent(out), optional :: status
    call report(c_mesh_attrs(version%handle, c_text(name), attrs%handle), status)
  end subroutine tcasm_mesh_attrs

end module tcasm_version_meshes
