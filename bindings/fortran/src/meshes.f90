!> Meshes of a producer.
module tcasm_meshes
  use, intrinsic :: iso_c_binding
  use, intrinsic :: iso_fortran_env, only: int64, real64
  use tcasm_constants
  use tcasm_c
  use tcasm_errors
  use tcasm_attributes
  use tcasm_producers
  implicit none
  private
  public :: tcasm_add_uniform_mesh, tcasm_add_mesh, tcasm_set_uniform_mesh, tcasm_set_block
  public :: tcasm_add_block, tcasm_set_unused

contains

  !> Adds a uniform mesh: points, origin and spacing along x, y and z.
  subroutine tcasm_add_uniform_mesh(producer, name, points, origin, spacing, attrs, status)
    type(tcasm_producer), intent(in) :: producer
    character(*), intent(in) :: name
    integer, intent(in) :: points(3)
    real(real64), intent(in) :: origin(3), spacing(3)
    type(tcasm_attrs), intent(in), optional :: attrs
    integer, intent(out), optional :: status
    type(tcasm_attrs) :: list
    if (present(attrs)) list = attrs
    call report(c_add_uniform_mesh(producer%handle, c_text(name), int(points, c_size_t), origin, &
      spacing, list%handle), status)
  end subroutine tcasm_add_uniform_mesh

  !> Adds a mesh whose geometry is fields that exist: TCASM_PARTICLES and the like. `cell_type` is
  !! VTK's number of the cells of TCASM_UNSTRUCTURED.
  subroutine tcasm_add_mesh(producer, name, kind, geometry, cell_type, attrs, status)
    type(tcasm_producer), intent(in) :: producer
    character(*), intent(in) :: name
    integer, intent(in) :: kind
    character(*), intent(in) :: geometry(:)
    integer, intent(in), optional :: cell_type
    type(tcasm_attrs), intent(in), optional :: attrs
    integer, intent(out), optional :: status
    character(kind=c_char, len=len(geometry) + 1), target :: texts(size(geometry))
    type(c_ptr) :: names(size(geometry))
    type(tcasm_attrs) :: list
    integer :: i, cells
    do i = 1, size(geometry)
      texts(i) = c_text(geometry(i))
      names(i) = c_loc(texts(i))
    end do
    cells = 0
    if (present(cell_type)) cells = cell_type
    if (present(attrs)) list = attrs
    call report(c_add_mesh(producer%handle, c_text(name), int(kind, c_int), &
      size(names, kind=c_size_t), names, int(cells, c_int8_t), list%handle), status)
  end subroutine tcasm_add_mesh

  !> Gives a uniform mesh other points, another origin and another spacing.
  subroutine tcasm_set_uniform_mesh(producer, name, points, origin, spacing, status)
    type(tcasm_producer), intent(in) :: producer
    character(*), intent(in) :: name
    integer, intent(in) :: points(3)
    real(real64), intent(in) :: origin(3), spacing(3)
    integer, intent(out), optional :: status
    call report(c_set_uniform_mesh(producer%handle, c_text(name), int(points, c_size_t), origin, &
      spacing), status)
  end subroutine tcasm_set_uniform_mesh

  !> Adds a uniform mesh that is a block of the block-structured mesh `of`: its level, how many cells
  !! a cell of the next coarser level has, and the index of its first cell from 0, both along x, y
  !! and z.
  subroutine tcasm_add_block(producer, name, points, origin, spacing, of, level, refinement, &
      offset, attrs, status)
    type(tcasm_producer), intent(in) :: producer
    character(*), intent(in) :: name, of
    integer, intent(in) :: points(3), level, refinement(3)
    real(real64), intent(in) :: origin(3), spacing(3)
    integer(int64), intent(in) :: offset(3)
    type(tcasm_attrs), intent(in), optional :: attrs
    integer, intent(out), optional :: status
    type(tcasm_attrs) :: list
    if (present(attrs)) list = attrs
    call report(c_add_block(producer%handle, c_text(name), int(points, c_size_t), origin, spacing, &
      c_text(of), int(level, c_int32_t), int(refinement, c_int32_t), offset, list%handle), status)
  end subroutine tcasm_add_block

  !> Gives a mesh that was added as a block another level, refinement and offset.
  subroutine tcasm_set_block(producer, name, of, level, refinement, offset, status)
    type(tcasm_producer), intent(in) :: producer
    character(*), intent(in) :: name, of
    integer, intent(in) :: level, refinement(3)
    integer(int64), intent(in) :: offset(3)
    integer, intent(out), optional :: status
    call report(c_set_block(producer%handle, c_text(name), c_text(of), int(level, c_int32_t), &
      int(refinement, c_int32_t), offset), status)
  end subroutine tcasm_set_block

  !> Makes a uniform mesh unused, with the variable fields on it.
  subroutine tcasm_set_unused(producer, name, status)
    type(tcasm_producer), intent(in) :: producer
    character(*), intent(in) :: name
    integer, intent(out), optional :: status
    call report(c_set_unused(producer%handle, c_text(name)), status)
  end subroutine tcasm_set_unused

end module tcasm_meshes
