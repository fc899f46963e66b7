!> Fields as pointers of Fortran, for all kinds and ranks.
module tcasm_fields
  use, intrinsic :: iso_c_binding
  use, intrinsic :: iso_fortran_env, only: int8, int16, int32, int64, real32, real64
  use tcasm_constants
  use tcasm_errors
  use tcasm_settings
  use tcasm_sources
  use tcasm_producers
  use tcasm_pinned_versions
  use tcasm_parts
  use tcasm_groups
  use tcasm_group_arrays
  implicit none
  private
  public :: tcasm_add_field, tcasm_adopt, tcasm_scratch, tcasm_get, tcasm_get_part
  public :: tcasm_read_field, tcasm_global_read, tcasm_concatenated_read

contains

end module tcasm_fields
