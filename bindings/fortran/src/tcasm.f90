!> TCASM for Fortran: versions of a running simulation's memory. docs/fortran.md is an introduction.
!!
!! The last argument of most procedures is an integer status, which may be left out: then an
!! error stops the program with its text. Statuses are TCASM_OK (0), TCASM_NOT_READY (1),
!! TCASM_END_OF_STREAM (2), TCASM_SKIPPED (3), and errors, which are negative.
module tcasm
  use tcasm_constants
  use tcasm_c, only: tcasm_array, tcasm_cookie, tcasm_info, tcasm_receipt, tcasm_segment, &
    tcasm_stamp
  use tcasm_errors, only: tcasm_last_error, tcasm_status_name, tcasm_library_version
  use tcasm_attributes, only: tcasm_attrs, tcasm_set_attr, tcasm_get_attr, tcasm_attr_count, &
    tcasm_attr_at, tcasm_free => free_attrs
  use tcasm_settings, only: tcasm_options, tcasm_field_options
  use tcasm_producers, only: tcasm_producer, tcasm_buffer, tcasm_create, tcasm_close, &
    tcasm_publish, tcasm_wait_visible, tcasm_wait_captured, tcasm_set_attrs, tcasm_rollback, &
    tcasm_trim, tcasm_last_receipt, tcasm_buffer_like, tcasm_bind, tcasm_rewrite, &
    tcasm_register_dma, tcasm_mark_dirty, tcasm_release_adopted, tcasm_lost_fields
  use tcasm_lengths
  use tcasm_meshes
  use tcasm_pinned_versions
  use tcasm_version_meshes
  use tcasm_attachments
  use tcasm_statistics
  use tcasm_groups, only: tcasm_group_observer, tcasm_group_version, tcasm_group_attach, &
    tcasm_group_detach, tcasm_group_latest, tcasm_group_wait_newer, tcasm_group_steps, &
    tcasm_group_at, tcasm_group_release, tcasm_group_stamp, tcasm_group_ranks, &
    tcasm_group_member, tcasm_group_agreed, tcasm_group_ends, tcasm_group_run
  use tcasm_group_arrays, only: tcasm_global_of, tcasm_concatenated_of
  use tcasm_host_buffers
  use tcasm_parts, only: tcasm_add_structures, tcasm_get_structures
  use tcasm_transfers
  use tcasm_fields
  implicit none
  public
end module tcasm
