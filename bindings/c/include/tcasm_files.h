/*
 * TCASM for C: checkpoints, and runs that continue from them. docs/c.md is an introduction.
 *
 * These functions are in libtcasm_files, which has all functions of tcasm.h, too, and needs HDF5.
 * Link it instead of libtcasm: a program must not link both.
 */

#ifndef TCASM_FILES_H
#define TCASM_FILES_H

#include <tcasm.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * How a run started. Set `size` to `sizeof(tcasm_start)` before the call
 * (`tcasm_start s = TCASM_INIT(tcasm_start);`).
 */
typedef struct tcasm_start {
  /**
   * The size of this structure in bytes. The caller sets it.
   */
  size_t size;
  /**
   * 1 if the region has the fields, meshes and values of an earlier start, and 0 if it is new.
   */
  uint64_t restored;
  /**
   * The number of the version that it has, or 0.
   */
  uint64_t version;
  /**
   * The step of the simulation, or 0.
   */
  uint64_t step;
  /**
   * The time of the simulation, or 0.
   */
  double time;
} tcasm_start;

/**
 * Creates the region `name` like `tcasm_create`, with its fields, meshes and values as they were:
 * from the memory that `tcasm keep` holds of a dead producer, or from the newest checkpoint of
 * this name in `count` folders that can be read. Without either, creates a new region. `folders`
 * are the tiers of a run, fastest first; without any, only memory is tried. `start` tells which it
 * was.
 *
 * A restored region lies at its old address. `tcasm_live` gives its fields, and `tcasm_add_field`
 * adds more. A folder that is missing or cannot be read is an error, and so are checkpoints that
 * cannot be used: a run begins anew only where there surely is no state.
 */
int tcasm_restore_or_begin(const char *name,
                           size_t capacity,
                           struct tcasm_options *options,
                           const char *const *folders,
                           size_t count,
                           struct tcasm_start *start,
                           struct tcasm_producer **producer);

/**
 * Opens a checkpoint: a file, or the newest in a folder or in a `NAME.vtkhdf.series` that can be
 * used. It is a version like those of observers, until `tcasm_release`. `tcasm_array_of` and
 * `tcasm_part_of` read a field whole, once. These need versions of live regions:
 * `tcasm_changes`, `tcasm_changed_ranges`, `tcasm_map_at_base` and `tcasm_declare_field`.
 */
int tcasm_open_checkpoint(const char *path,
                          struct tcasm_version **version);

#ifdef __cplusplus
}
#endif

#endif
