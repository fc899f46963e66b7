/*
 * TCASM for C: versions of a running simulation's memory. docs/c.md is an introduction.
 *
 * Functions return a status: 0 is TCASM_OK, positive ones are no errors, negative ones are errors.
 * tcasm_last_error() has the text of the last one in this thread.
 *
 * Handles (tcasm_producer * and the like) are not addresses. A null, closed or foreign handle, or
 * one that a forked child has inherited, is a status. Handles may be used in all threads, and calls
 * with the same handle wait for each other.
 *
 * Pointers that are passed are null, where the function says so, or valid during the call for as
 * many values as the number beside them says. Texts are UTF-8 and end with a null byte. Results
 * that nobody wants may be null, except for new handles.
 */

#ifndef TCASM_H
#define TCASM_H

#include <stddef.h>
#include <stdint.h>

/**
 * All is well.
 */
#define TCASM_OK 0

/**
 * There is no newer version yet. Try again, or wait longer.
 */
#define TCASM_NOT_READY 1

/**
 * The producer has closed the region. Its last version can still be read.
 */
#define TCASM_END_OF_STREAM 2

/**
 * Nothing was published, because there is no room. The changes are in the next version.
 */
#define TCASM_SKIPPED 3

/**
 * Another error.
 */
#define TCASM_OTHER_ERROR -1

/**
 * The producer died. Its last version can still be read. Or the owner of declared memory died.
 */
#define TCASM_PRODUCER_LOST -2

/**
 * The producer has revoked this observer. Release its versions and attach again.
 */
#define TCASM_REVOKED -3

/**
 * An argument is null where it must not be, or has a value that it cannot have.
 */
#define TCASM_INVALID_ARGUMENT -4

/**
 * A handle is null, of another kind, or no handle at all.
 */
#define TCASM_INVALID_HANDLE -5

/**
 * The object was closed or released before.
 */
#define TCASM_CLOSED -6

/**
 * The object belongs to the parent of this forked process.
 */
#define TCASM_FORKED -7

/**
 * There is no such region.
 */
#define TCASM_REGION_NOT_FOUND -8

/**
 * The region exists, and could not be attached to.
 */
#define TCASM_NOT_ATTACHED -9

/**
 * The version does not exist any more, or not yet.
 */
#define TCASM_VERSION_GONE -10

/**
 * The observer holds as many versions as it may. Release some.
 */
#define TCASM_TOO_MANY_PINS -11

/**
 * There is no such field, mesh or attribute.
 */
#define TCASM_NOT_FOUND -12

/**
 * The region could not be created.
 */
#define TCASM_NOT_CREATED -13

/**
 * The field or mesh could not be added or changed.
 */
#define TCASM_NOT_DEFINED -14

/**
 * The owner of declared memory refuses: the cookie is unknown, revoked or used, or does not allow
 * this access.
 */
#define TCASM_REFUSED -15

/**
 * The version has no values of the field: its memory in the producer was unmapped, moved or
 * replaced.
 */
#define TCASM_LOST -16

/**
 * A defect of the library. Please report the text of `tcasm_last_error`.
 */
#define TCASM_INTERNAL_ERROR -100

/**
 * The most versions that may be alive at once [8].
 */
#define TCASM_VERSIONS 1

/**
 * How many versions besides the newest stay available although nobody holds them [1].
 */
#define TCASM_HISTORY 2

/**
 * The number of the first version [1].
 */
#define TCASM_FIRST_VERSION 3

/**
 * The most memory that versions may take, in bytes [a bound that depends on the machine].
 */
#define TCASM_MEMORY 4

/**
 * When densely written fields are copied: `TCASM_CAPTURE_AUTO` and the like.
 */
#define TCASM_CAPTURE 5

/**
 * 1: publish waits for the end of the last capture instead of skipping [0].
 */
#define TCASM_WAIT_FOR_CAPTURE 6

/**
 * 1: the program promises that no system call writes into fields between publish and
 * `tcasm_wait_captured` [0].
 */
#define TCASM_NO_KERNEL_WRITES 7

/**
 * The most observers at once [64].
 */
#define TCASM_MAX_OBSERVERS 8

/**
 * The address of the region, a multiple of the page size [chosen from the name].
 */
#define TCASM_BASE 9

/**
 * The number of threads that copy, at most 256 [chosen from the number of processors].
 */
#define TCASM_COPIERS 10

/**
 * 1: every user who can reach the socket of the region may observe [0].
 */
#define TCASM_ALLOW_EVERYONE 11

/**
 * How writes are tracked: `TCASM_TRACKER_UFFD_ASYNC` and the like [the best that works here].
 */
#define TCASM_TRACKER 12

/**
 * 1: live memory that is not written for some versions is shared with the newest version [1].
 */
#define TCASM_SHARED_BACKING 13

/**
 * The huge pages that live memory may consist of [`TCASM_HUGE_PAGES_TRANSPARENT`].
 */
#define TCASM_HUGE_PAGES 14

/**
 * The nice value of threads that copy, -20 to 19 [that of the program].
 */
#define TCASM_COPIER_NICE 15

/**
 * 1: wrong uses of handed-over fields are found, at some cost: a store at the wrong time ends the
 * program, and elements that are left out become NaN [0, and 1 in debug builds of the library].
 */
#define TCASM_CHECK_HAND_OVER 16

/**
 * Steps that are multiples of this have room reserved for their versions, for jobs of many ranks
 * (docs/jobs.md). If the last capture still runs then, publish waits for its end [none].
 */
#define TCASM_RESERVE_FOR_EVERY 17

/**
 * Copy inside publish or after it, whichever takes less of the program's time.
 */
#define TCASM_CAPTURE_AUTO 0

/**
 * Copy inside publish.
 */
#define TCASM_CAPTURE_INLINE 1

/**
 * Copy after publish, wherever that is possible.
 */
#define TCASM_CAPTURE_DEFERRED 2

/**
 * Tracking by userfaultfd write protection in asynchronous mode. Needs Linux 6.7.
 */
#define TCASM_TRACKER_UFFD_ASYNC 1

/**
 * Tracking by pages that the kernel copies on write.
 */
#define TCASM_TRACKER_COW 2

/**
 * No tracking: each publish compares all bytes.
 */
#define TCASM_TRACKER_COMPARE 3

/**
 * No huge pages.
 */
#define TCASM_HUGE_PAGES_OFF 0

/**
 * The huge pages that the kernel makes where it can.
 */
#define TCASM_HUGE_PAGES_TRANSPARENT 1

/**
 * Huge pages that an administrator has reserved (`vm.nr_hugepages`). It is an error if there are
 * too few. Each publish compares all bytes then.
 */
#define TCASM_HUGE_PAGES_RESERVED 2

/**
 * The largest number of dimensions that a `tcasm_array` describes, that of components included.
 */
#define TCASM_MAX_RANK 16

/**
 * Signed 8-bit integer, `int8_t`.
 */
#define TCASM_I8 1

/**
 * Signed 16-bit integer, `int16_t`.
 */
#define TCASM_I16 2

/**
 * Signed 32-bit integer, `int32_t`.
 */
#define TCASM_I32 3

/**
 * Signed 64-bit integer, `int64_t`.
 */
#define TCASM_I64 4

/**
 * Unsigned 8-bit integer, `uint8_t`.
 */
#define TCASM_U8 5

/**
 * Unsigned 16-bit integer, `uint16_t`.
 */
#define TCASM_U16 6

/**
 * Unsigned 32-bit integer, `uint32_t`.
 */
#define TCASM_U32 7

/**
 * Unsigned 64-bit integer, `uint64_t`.
 */
#define TCASM_U64 8

/**
 * Single precision, `float`.
 */
#define TCASM_F32 9

/**
 * Double precision, `double`.
 */
#define TCASM_F64 10

/**
 * Complex of two `float`, real and imaginary.
 */
#define TCASM_C32 11

/**
 * Complex of two `double`, real and imaginary.
 */
#define TCASM_C64 12

/**
 * The last index varies fastest, as in C. A 3-d shape is `{nz, ny, nx}`.
 */
#define TCASM_ORDER_C 0

/**
 * The first index varies fastest, as in Fortran. A 3-d shape is `{nx, ny, nz}`.
 */
#define TCASM_ORDER_F 1

/**
 * Values on the points of the mesh.
 */
#define TCASM_ON_POINTS 0

/**
 * Values in the cells of the mesh.
 */
#define TCASM_IN_CELLS 1

/**
 * A table that belongs to the mesh as a whole.
 */
#define TCASM_NO_CENTRING 2

/**
 * The order in memory: `TCASM_ORDER_C` [the default] or `TCASM_ORDER_F`.
 */
#define TCASM_FIELD_ORDER 1

/**
 * `TCASM_ON_POINTS` [the default], `TCASM_IN_CELLS` or `TCASM_NO_CENTRING`.
 */
#define TCASM_FIELD_CENTRING 2

/**
 * 1: the last dimension of the shape is the components of a vector or tensor [0]. They lie side by
 * side in memory, whatever the order is.
 */
#define TCASM_FIELD_VECTOR 3

/**
 * 1: the extent of the slowest dimension may change from version to version (`tcasm_set_len`), and
 * the shape has the most that there is room for [0].
 */
#define TCASM_FIELD_VARIABLE 4

/**
 * 1: the field is rewritten whole before each publish, and published without a copy [0]. After
 * publish it can only be read, until `tcasm_rewrite`.
 */
#define TCASM_FIELD_HANDED_OVER 5

/**
 * 0: checkpoints leave the field out [1].
 */
#define TCASM_FIELD_IN_CHECKPOINTS 6

/**
 * The unit of the values, such as `"m/s"`.
 */
#define TCASM_FIELD_UNIT 1

/**
 * The name of the mesh that the field is on.
 */
#define TCASM_FIELD_MESH 2

/**
 * The name of the quantity, for fields of several meshes that hold the same one.
 */
#define TCASM_FIELD_QUANTITY 3

/**
 * A mesh whose axes have coordinates of their own. Its geometry is one to three fields of one
 * dimension: the coordinates along x, y and z.
 */
#define TCASM_RECTILINEAR 1

/**
 * A structured grid of points. Its geometry is a field of three components.
 */
#define TCASM_CURVILINEAR 2

/**
 * Particles. Their geometry is a field of one dimension and one to three components, the
 * positions.
 */
#define TCASM_PARTICLES 3

/**
 * Points, and cells of one type between them. Its geometry is a field of one dimension and three
 * components, the points; and an integer field of one dimension, whose components are the points
 * of a cell in VTK's order.
 */
#define TCASM_UNSTRUCTURED 4

/**
 * Points, and cells of several types. Its geometry is the points; the points of all cells, one
 * cell after the other; the place there at which each cell begins, and the end; and the VTK type
 * of each cell, a field of `TCASM_U8`.
 */
#define TCASM_MIXED 5

/**
 * A mesh of points at equal distances along each axis. It has no geometry.
 */
#define TCASM_UNIFORM 0

/**
 * The largest number of fields that are the geometry of a mesh.
 */
#define TCASM_MAX_GEOMETRY 4

/**
 * Pages of a section get their memory at once.
 */
#define TCASM_SECTION_ALLOCATED 1

/**
 * Pages of a section are locked in memory.
 */
#define TCASM_SECTION_LOCKED 2

/**
 * Core dumps have the section.
 */
#define TCASM_SECTION_DUMPED 4

/**
 * A section has huge pages where the system gives them to shared memory.
 */
#define TCASM_SECTION_HUGE_PAGES 8

/**
 * A section has huge pages that an administrator has reserved.
 */
#define TCASM_SECTION_RESERVED_PAGES 16

/**
 * Peers may read.
 */
#define TCASM_READ 1

/**
 * Peers may write.
 */
#define TCASM_WRITE 2

/**
 * Peers may read and write.
 */
#define TCASM_READ_WRITE 3

/**
 * How all transfers are done: `TCASM_TRANSPORT_BEST` and the like [the best for each].
 */
#define TCASM_PEER_TRANSPORT 1

/**
 * The number of threads that share a direct copy of more than 4 MiB, at most 64 [1].
 */
#define TCASM_PEER_THREADS 2

/**
 * How long to wait for an answer of the owner, in milliseconds [30000].
 */
#define TCASM_PEER_TIMEOUT 3

/**
 * The best transport for each transfer.
 */
#define TCASM_TRANSPORT_BEST 0

/**
 * One copy by the kernel, between the two processes.
 */
#define TCASM_TRANSPORT_DIRECT 1

/**
 * One copy from the file of shared memory, or to it.
 */
#define TCASM_TRANSPORT_MAPPED 2

/**
 * Two copies, through a ring.
 */
#define TCASM_TRANSPORT_RING 3

/**
 * An attribute is an integer.
 */
#define TCASM_ATTR_INT 1

/**
 * An attribute is a `double`.
 */
#define TCASM_ATTR_FLOAT 2

/**
 * An attribute is a text.
 */
#define TCASM_ATTR_TEXT 3

/**
 * An attribute is a list of `double`.
 */
#define TCASM_ATTR_FLOATS 4

/**
 * Free attributes by their names. A list can be used for several fields. Several threads may use
 * it.
 */
typedef struct tcasm_attrs tcasm_attrs;

/**
 * Memory of a region that fields can be bound to in turn.
 */
typedef struct tcasm_buffer tcasm_buffer;

/**
 * The options of fields, to be used for any number of fields.
 */
typedef struct tcasm_field_options tcasm_field_options;

/**
 * Memory in pieces that is published as versions.
 */
typedef struct tcasm_gathered tcasm_gathered;

/**
 * An attachment to the regions of all ranks of a group on this host.
 */
typedef struct tcasm_group_observer tcasm_group_observer;

/**
 * One step of a group, pinned in all of its ranks.
 */
typedef struct tcasm_group_version tcasm_group_version;

/**
 * A buffer that all processes of a job on this host share.
 */
typedef struct tcasm_host_buffer tcasm_host_buffer;

/**
 * The options of a host buffer that is not created yet.
 */
typedef struct tcasm_host_buffer_options tcasm_host_buffer_options;

/**
 * Declared memory of an owner, mapped here.
 */
typedef struct tcasm_mapped tcasm_mapped;

/**
 * An attachment to a region. Threads may share it: each call takes it for itself, and calls that
 * wait let the others in between.
 */
typedef struct tcasm_observer tcasm_observer;

/**
 * The options of a region, to be used for any number of regions.
 */
typedef struct tcasm_options tcasm_options;

/**
 * Declares memory of this process, and serves peers from a thread of its own.
 */
typedef struct tcasm_owner tcasm_owner;

/**
 * A connection to an owner.
 */
typedef struct tcasm_peer tcasm_peer;

/**
 * A region. Threads may share it: each call takes it for itself.
 */
typedef struct tcasm_producer tcasm_producer;

/**
 * Memory that this process and its peers share.
 */
typedef struct tcasm_shared_memory tcasm_shared_memory;

/**
 * A pinned version, and what is mapped of it. Threads may share it.
 */
typedef struct tcasm_version tcasm_version;

/**
 * A field, or a part of one, in memory. Set `size` to `sizeof(tcasm_array)` before the call
 * (`tcasm_array a = TCASM_INIT(tcasm_array);`).
 */
typedef struct tcasm_array {
  /**
   * The size of this structure in bytes. The caller sets it.
   */
  size_t size;
  /**
   * The first element. Null if there are no elements.
   */
  void *data;
  /**
   * The bytes from the first to the end of the last element.
   */
  size_t bytes;
  /**
   * The type of the elements: `TCASM_F64` and the like.
   */
  int dtype;
  /**
   * The number of dimensions, that of the components of a vector included.
   */
  int rank;
  /**
   * The extent of each dimension, ghost layers included.
   */
  size_t shape[TCASM_MAX_RANK];
  /**
   * The distance between neighbours along each dimension, in bytes.
   */
  size_t strides[TCASM_MAX_RANK];
  /**
   * The ghost layers before and after the interior, for each dimension.
   */
  size_t ghosts[TCASM_MAX_RANK][2];
  /**
   * The components of a point, which are the last dimension. 1 for scalars, which have no such
   * dimension.
   */
  size_t components;
  /**
   * `TCASM_ORDER_C` or `TCASM_ORDER_F`.
   */
  int order;
  /**
   * `TCASM_ON_POINTS`, `TCASM_IN_CELLS` or `TCASM_NO_CENTRING`.
   */
  int centring;
  /**
   * The most elements that there is room for along the slowest dimension of a field whose length
   * may change, and 0 for other fields.
   */
  size_t capacity;
  /**
   * The extents of the global array of which this is a block, without components. Zeros if it is
   * no block.
   */
  size_t global_shape[TCASM_MAX_RANK];
  /**
   * The index there of the first value that is no ghost.
   */
  size_t global_offset[TCASM_MAX_RANK];
  /**
   * For structures: the alignment of one in bytes. Then the dtype is `TCASM_U8`, and the last
   * dimension is the bytes of a structure. 0 for arrays.
   */
  size_t alignment;
} tcasm_array;

/**
 * The result of a call of publish. Set `size` to `sizeof(tcasm_receipt)` before the call
 * (`tcasm_receipt r = TCASM_INIT(tcasm_receipt);`).
 */
typedef struct tcasm_receipt {
  /**
   * The size of this structure in bytes. The caller sets it.
   */
  size_t size;
  /**
   * The number of the version, or 0 if nothing was published.
   */
  uint64_t version;
  /**
   * The pages that were captured.
   */
  uint64_t pages;
  /**
   * Of these, the pages that are captured after the call.
   */
  uint64_t deferred;
  /**
   * Of these, the pages that became part of the version without a copy.
   */
  uint64_t handed_over;
  /**
   * The bytes that are copied, in the call or after it.
   */
  uint64_t bytes;
  /**
   * The time that the call took, in seconds.
   */
  double seconds;
  /**
   * The number of adopted fields that are lost since the last version. `tcasm_lost_name` has the
   * names of all that are lost.
   */
  size_t lost;
} tcasm_receipt;

/**
 * Facts about a region. Set `size` to `sizeof(tcasm_info)` before the call
 * (`tcasm_info i = TCASM_INIT(tcasm_info);`).
 */
typedef struct tcasm_info {
  /**
   * The size of this structure in bytes. The caller sets it.
   */
  size_t size;
  /**
   * The process of the producer.
   */
  uint64_t pid;
  /**
   * The address of the region in the producer.
   */
  uint64_t base;
  /**
   * The bytes of address space of the region.
   */
  uint64_t bytes;
  /**
   * The bytes of a page.
   */
  uint64_t page_size;
  /**
   * When the region was created, in nanoseconds since 1970-01-01 UTC.
   */
  uint64_t created;
  /**
   * The most versions that may be alive at once.
   */
  uint64_t max_versions;
  /**
   * The time that publish takes, in microseconds: median, 99th percentile, longest.
   */
  double publish_us[3];
  /**
   * How writes are tracked: `TCASM_TRACKER_UFFD_ASYNC` and the like, or 0 if this library does
   * not know it.
   */
  uint64_t tracker;
} tcasm_info;

/**
 * The memory and the mappings that the versions of an observer take in this process. Set `size` to
 * `sizeof(tcasm_view_stats)` before the call
 * (`tcasm_view_stats s = TCASM_INIT(tcasm_view_stats);`).
 */
typedef struct tcasm_view_stats {
  /**
   * The size of this structure in bytes. The caller sets it.
   */
  size_t size;
  /**
   * The address ranges that show versions. A few are kept for the next versions.
   */
  uint64_t windows;
  /**
   * The mappings of these windows, at most.
   */
  uint64_t mappings;
  /**
   * The mappings that the windows of all observers of this process may have.
   */
  uint64_t most_mappings;
  /**
   * The bytes of memory in which the windows hold copies of scattered parts.
   */
  uint64_t copied_bytes;
  /**
   * The bytes that copies may take: see `tcasm_set_copy_budget`.
   */
  uint64_t copy_budget;
} tcasm_view_stats;

/**
 * The counters of a producer. Set `size` to `sizeof(tcasm_publish_stats)` before the call
 * (`tcasm_publish_stats s = TCASM_INIT(tcasm_publish_stats);`).
 */
typedef struct tcasm_publish_stats {
  /**
   * The size of this structure in bytes. The caller sets it.
   */
  size_t size;
  /**
   * The versions that were published.
   */
  uint64_t publishes;
  /**
   * The calls of publish that skipped.
   */
  uint64_t skips;
  /**
   * The pages that were captured, in all.
   */
  uint64_t pages;
  /**
   * The bytes that were copied, in all.
   */
  uint64_t bytes;
  /**
   * The pages handed over, in all: they became part of a version without a copy.
   */
  uint64_t handed_over;
  /**
   * The bytes of memory that versions hold now.
   */
  uint64_t held_bytes;
  /**
   * The bytes of stray memory now: other processes allocated it by reading holes.
   */
  uint64_t stray_bytes;
  /**
   * The bytes of stray memory that were given back, in all.
   */
  uint64_t stray_bytes_returned;
  /**
   * The errors of the tracker. After each one every page was compared.
   */
  uint64_t tracker_errors;
  /**
   * The versions whose capture continued after publish.
   */
  uint64_t deferred;
  /**
   * The deferred captures that were given up. Their changes went into the next version.
   */
  uint64_t given_up;
  /**
   * The stores that waited because they came before their part was saved.
   */
  uint64_t early_stores;
  /**
   * The chunks (2 MiB) whose capture is deferred now.
   */
  uint64_t chunks_deferred;
  /**
   * The pages that are expected to be written now, and are left unprotected.
   */
  uint64_t pages_expected;
  /**
   * The bytes of live memory that are shared with versions now, so that they exist once.
   */
  uint64_t shared_bytes;
  /**
   * The pages that were copied next to their neighbours, so that observers need fewer mappings.
   */
  uint64_t pages_compacted;
  /**
   * The observers that are attached now.
   */
  uint64_t observers;
  /**
   * The time that publish takes, in microseconds: median, 99th percentile, longest.
   */
  double publish_us[3];
  /**
   * 1 if capture can be deferred in user mode only: a system call that writes into a field while
   * it is captured fails (see `TCASM_NO_KERNEL_WRITES`). Otherwise 0.
   */
  uint64_t user_mode_only;
} tcasm_publish_stats;

/**
 * The numbers of a version. Set `size` to `sizeof(tcasm_stamp)` before the call
 * (`tcasm_stamp s = TCASM_INIT(tcasm_stamp);`).
 */
typedef struct tcasm_stamp {
  /**
   * The size of this structure in bytes. The caller sets it.
   */
  size_t size;
  /**
   * The number of the version.
   */
  uint64_t version;
  /**
   * The step of the simulation.
   */
  uint64_t step;
  /**
   * The time of the simulation.
   */
  double time;
  /**
   * When it was published, in nanoseconds since 1970-01-01 UTC.
   */
  uint64_t published;
} tcasm_stamp;

/**
 * A mesh of a version. Its texts are valid until the version is released. Set `size` to
 * `sizeof(tcasm_mesh)` before the call (`tcasm_mesh m = TCASM_INIT(tcasm_mesh);`).
 */
typedef struct tcasm_mesh {
  /**
   * The size of this structure in bytes. The caller sets it.
   */
  size_t size;
  /**
   * The name.
   */
  const char *name;
  /**
   * `TCASM_UNIFORM`, `TCASM_PARTICLES` and the like.
   */
  int kind;
  /**
   * VTK's number of the cells of `TCASM_UNSTRUCTURED`, and 0 otherwise.
   */
  int cell_type;
  /**
   * The number of fields that are the geometry.
   */
  size_t fields;
  /**
   * Their names, in the order that `tcasm_add_mesh` takes. The others are null.
   */
  const char *geometry[TCASM_MAX_GEOMETRY];
  /**
   * The number of points of a uniform mesh along x, y and z: 1 for an axis that it does not
   * have. One of them is 0 if the mesh is unused in this version.
   */
  size_t points[3];
  /**
   * The coordinates of its first point.
   */
  double origin[3];
  /**
   * The distance of its points along each axis.
   */
  double spacing[3];
  /**
   * The name of the block-structured mesh of which this is a block, or null.
   */
  const char *of;
  /**
   * The refinement level of the block.
   */
  uint32_t level;
  /**
   * How many cells a cell of the next coarser level has along x, y and z.
   */
  uint32_t refinement[3];
  /**
   * The index of the first cell of the block along x, y and z, in cells of its level.
   */
  int64_t offset[3];
} tcasm_mesh;

/**
 * A function that gives `bytes` bytes at `mine` to all hosts, and stores those of all hosts, one
 * after another and in the same order everywhere, at `all`. It returns 0, or anything else if that
 * fails or takes more than `timeout` seconds: then it is not called again, and the library keeps
 * the memory at both addresses for ever, because an operation that has not ended may still use it.
 * It is called by the thread that creates the buffer, and must return: no exception, no longjmp.
 */
typedef int (*tcasm_all_gather)(void *context,
                                const void *mine,
                                void *all,
                                size_t bytes,
                                double timeout);

/**
 * A piece of memory.
 */
typedef struct tcasm_segment {
  /**
   * The first byte.
   */
  void *data;
  /**
   * The number of bytes.
   */
  size_t bytes;
} tcasm_segment;

/**
 * Stands for declared memory, and is the right to use it: 16 random bytes. Send it to peers in any
 * way.
 */
typedef struct tcasm_cookie {
  /**
   * The bytes.
   */
  uint8_t bytes[16];
} tcasm_cookie;

/**
 * The meaning of a cookie. Set `size` to `sizeof(tcasm_declaration)` before the call
 * (`tcasm_declaration d = TCASM_INIT(tcasm_declaration);`).
 */
typedef struct tcasm_declaration {
  /**
   * The size of this structure in bytes. The caller sets it.
   */
  size_t size;
  /**
   * The number of bytes that are declared.
   */
  uint64_t bytes;
  /**
   * The version that they are of, or 0 for live memory.
   */
  uint64_t version;
  /**
   * `TCASM_READ`, `TCASM_WRITE` or `TCASM_READ_WRITE`.
   */
  int access;
  /**
   * 1 if the cookie ends after the first complete use.
   */
  int once;
} tcasm_declaration;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/**
 * Returns the text of the last status of this thread that was not `TCASM_OK`, in UTF-8. It says
 * what happened and what to do about it. The text is valid until the next call of a function of
 * this library in this thread. It is empty in functions that run while the thread or the program
 * ends, such as those of `atexit`.
 */
const char *tcasm_last_error(void);

/**
 * Returns the name of a status, such as `"TCASM_NOT_READY"`, or `"unknown"`. The text is valid for
 * ever.
 */
const char *tcasm_status_name(int status);

/**
 * Returns the version of this library, such as `"0.1.0"`. The text is valid for ever.
 */
const char *tcasm_library_version(void);

/**
 * Makes options that have their defaults. `tcasm_options_free` ends them.
 */
int tcasm_options_new(struct tcasm_options **options);

/**
 * Ends options. Regions that were created with them stay as they are.
 */
int tcasm_options_free(struct tcasm_options *options);

/**
 * Sets an option: `TCASM_VERSIONS` and the like.
 */
int tcasm_options_set(struct tcasm_options *options, int option, int64_t value);

/**
 * Sets the attributes of the region: a copy of those that the list has now.
 */
int tcasm_options_set_attrs(struct tcasm_options *options, struct tcasm_attrs *attrs);

/**
 * Sets the processors on which threads that copy run [any].
 */
int tcasm_options_set_copier_affinity(struct tcasm_options *options,
                                      const size_t *processors,
                                      size_t count);

/**
 * Lets these users observe, by their numbers, besides the user of the producer and root.
 */
int tcasm_options_allow_users(struct tcasm_options *options,
                              const uint32_t *users,
                              size_t count);

/**
 * Makes the region that of one rank of a group: its name becomes `NAME.RANK`. `local_ranks` is the
 * number of ranks on this host, of `ranks` in all. `run` names the run, in all ranks alike, and
 * may be null.
 */
int tcasm_options_set_group(struct tcasm_options *options,
                            uint32_t rank,
                            uint32_t ranks,
                            uint32_t local_ranks,
                            const char *run);

/**
 * Makes the region that of the rank that the launcher of this process tells in the environment
 * (Open MPI, MPICH, PMIx, Slurm; docs/jobs.md), with the name of the run. Without a launcher it is
 * the only rank.
 */
int tcasm_options_set_group_from_env(struct tcasm_options *options);

/**
 * Creates the region `name` with room for `capacity` bytes of fields. `options` may be null.
 * `tcasm_close` ends it.
 */
int tcasm_create(const char *name,
                 size_t capacity,
                 struct tcasm_options *options,
                 struct tcasm_producer **producer);

/**
 * Ends the stream of versions, and unmaps the region. Pointers to its fields must not be used any
 * more. Observers keep the versions that they hold.
 */
int tcasm_close(struct tcasm_producer *producer);

/**
 * Adds a field, and stores the address of its memory, which is filled with zeros. Compute there in
 * place. The address stays the same until the region is closed. `shape` has `rank` extents, ghost
 * layers included. `options` and `data` may be null.
 */
int tcasm_add_field(struct tcasm_producer *producer,
                    const char *name,
                    int dtype_number,
                    size_t rank,
                    const size_t *shape,
                    struct tcasm_field_options *options,
                    void **data);

/**
 * Adds `count` structures of `bytes` bytes each, and stores the address of the first. Their
 * alignment is a power of two. `type_name` appears in messages only. `data` may be null.
 */
int tcasm_add_structures(struct tcasm_producer *producer,
                         const char *name,
                         size_t count,
                         size_t bytes,
                         size_t alignment,
                         const char *type_name,
                         void **data);

/**
 * Describes the live memory of a field, as the next version will have it. There is an address also
 * if a variable field has no elements now.
 */
int tcasm_live(struct tcasm_producer *producer,
               const char *name,
               struct tcasm_array *array);

/**
 * Sets the length that a variable field, or a mesh of variable fields, has from the next version
 * on: the extent of the slowest dimension.
 */
int tcasm_set_len(struct tcasm_producer *producer,
                  const char *name,
                  size_t len);

/**
 * Sets several lengths at once, of fields or meshes. Each is exactly the given one, so they must
 * fit each other where they belong to one mesh. After an error all lengths are as they were.
 */
int tcasm_set_lens(struct tcasm_producer *producer,
                   const char *const *names,
                   const size_t *lens,
                   size_t count);

/**
 * Stores the length that a field or a mesh has in the next version.
 */
int tcasm_len(struct tcasm_producer *producer, const char *name, size_t *len);

/**
 * Sets attributes of the region from the next version on. Attributes of other names stay.
 */
int tcasm_set_attrs(struct tcasm_producer *producer,
                    struct tcasm_attrs *attrs);

/**
 * Stores the address at which the region begins in this process.
 */
int tcasm_base(struct tcasm_producer *producer, size_t *address);

/**
 * Makes options that have their defaults. `tcasm_field_options_free` ends them.
 */
int tcasm_field_options_new(struct tcasm_field_options **options);

/**
 * Ends options. Fields that were added with them stay as they are.
 */
int tcasm_field_options_free(struct tcasm_field_options *options);

/**
 * Sets an option that is a number: `TCASM_FIELD_ORDER` and the like.
 */
int tcasm_field_options_set(struct tcasm_field_options *options,
                            int option,
                            int64_t value);

/**
 * Sets an option that is a text: `TCASM_FIELD_UNIT` and the like. Null removes it.
 */
int tcasm_field_options_set_text(struct tcasm_field_options *options,
                                 int option,
                                 const char *value);

/**
 * Sets the ghost layers: for each of `rank` dimensions those before and those after the interior.
 * The shape includes them.
 */
int tcasm_field_options_set_ghosts(struct tcasm_field_options *options,
                                   size_t rank,
                                   const size_t *before,
                                   const size_t *after);

/**
 * Makes the field a block of a global array, of which other ranks have other blocks: the extents
 * of that array, and the index there of the first value of the block that is no ghost, for each of
 * `rank` dimensions without that of components.
 */
int tcasm_field_options_set_global(struct tcasm_field_options *options,
                                   size_t rank,
                                   const size_t *shape,
                                   const size_t *offset);

/**
 * Sets a uniform mesh of the field itself: the coordinates x, y, z of the first interior point,
 * and the distance of neighbours along x, y and z. Each has three values. Null stands for zeros,
 * and for distances of 1.
 */
int tcasm_field_options_set_uniform(struct tcasm_field_options *options,
                                    const double *origin,
                                    const double *spacing);

/**
 * Sets the attributes of the field: a copy of those that the list has now.
 */
int tcasm_field_options_set_attrs(struct tcasm_field_options *options,
                                  struct tcasm_attrs *attrs);

/**
 * Publishes the fields as they are now, as the next version, of simulation step `step` and time
 * `time`. Never waits for an observer. No other thread may store to fields meanwhile. Returns
 * `TCASM_SKIPPED` if there is no room: `tcasm_last_error` says why, and the changes are in the
 * next version.
 */
int tcasm_publish(struct tcasm_producer *producer,
                  uint64_t step,
                  double time);

/**
 * Publishes like `tcasm_publish`. If there is no room, tries again for up to `timeout` seconds, or
 * for ever if it is negative. Other threads can use the producer between the tries.
 */
int tcasm_publish_wait(struct tcasm_producer *producer,
                       uint64_t step,
                       double time,
                       double timeout);

/**
 * Stores what the last call of publish has done.
 */
int tcasm_last_receipt(struct tcasm_producer *producer,
                       struct tcasm_receipt *receipt);

/**
 * Waits until observers can see the version that was published last, for up to `timeout` seconds,
 * or for ever if it is negative. Returns `TCASM_NOT_READY` if they cannot in time, and an error if
 * its capture was given up.
 */
int tcasm_wait_visible(struct tcasm_producer *producer,
                       double timeout);

/**
 * Waits until all that was published is captured, for up to `timeout` seconds, or for ever if it
 * is negative. With `TCASM_NO_KERNEL_WRITES`, call this before a system call writes into a field.
 */
int tcasm_wait_captured(struct tcasm_producer *producer,
                        double timeout);

/**
 * Restores all fields, lengths and meshes to those of a version that is still available. Stores
 * its step and time, unless the places are null.
 */
int tcasm_rollback(struct tcasm_producer *producer,
                   uint64_t version,
                   uint64_t *step,
                   double *time);

/**
 * Gives memory that no version needs back to the system. Stores the number of bytes.
 */
int tcasm_trim(struct tcasm_producer *producer,
               uint64_t *bytes);

/**
 * Adds a uniform mesh: the number of points, the coordinates of the first point, and the distance
 * of neighbours, each along x, y and z. Axes that the mesh does not have have 1 point. `attrs` may
 * be null.
 */
int tcasm_add_uniform_mesh(struct tcasm_producer *producer,
                           const char *name,
                           const size_t *points,
                           const double *origin,
                           const double *spacing,
                           struct tcasm_attrs *attrs);

/**
 * Adds a mesh of another kind: `TCASM_PARTICLES` and the like. `geometry` has the names of
 * `fields` fields, which must exist. `cell_type` is VTK's number of the cells of
 * `TCASM_UNSTRUCTURED`, and 0 otherwise. `attrs` may be null.
 */
int tcasm_add_mesh(struct tcasm_producer *producer,
                   const char *name,
                   int kind,
                   size_t fields,
                   const char *const *geometry,
                   uint8_t cell_type,
                   struct tcasm_attrs *attrs);

/**
 * Gives a uniform mesh other points, another origin and another spacing from the next version on.
 */
int tcasm_set_uniform_mesh(struct tcasm_producer *producer,
                           const char *name,
                           const size_t *points,
                           const double *origin,
                           const double *spacing);

/**
 * Adds a uniform mesh (as `tcasm_add_uniform_mesh`) that is a block of the block-structured mesh
 * `of`: its refinement level, how many cells a cell of the next coarser level has along x, y and
 * z, and the index of its first cell along x, y and z in cells of its level.
 */
int tcasm_add_block(struct tcasm_producer *producer,
                    const char *name,
                    const size_t *points,
                    const double *origin,
                    const double *spacing,
                    const char *of,
                    uint32_t level,
                    const uint32_t *refinement,
                    const int64_t *offset,
                    struct tcasm_attrs *attrs);

/**
 * Gives a mesh that was added as a block another level, refinement and offset from the next
 * version on. It stays a block of the same mesh `of`.
 */
int tcasm_set_block(struct tcasm_producer *producer,
                    const char *name,
                    const char *of,
                    uint32_t level,
                    const uint32_t *refinement,
                    const int64_t *offset);

/**
 * Makes a uniform mesh unused from the next version on, with the variable fields on it.
 * `tcasm_set_uniform_mesh` uses it again.
 */
int tcasm_set_unused(struct tcasm_producer *producer,
                     const char *name);

/**
 * Makes another buffer like that of field `name`, and stores its handle and its address. It and
 * its handle live as long as the region. `tcasm_bind` exchanges the two.
 */
int tcasm_buffer_like(struct tcasm_producer *producer,
                      const char *name,
                      struct tcasm_buffer **buffer,
                      void **data);

/**
 * Makes scratch memory for values of a type and a shape, and stores its address. It lies in the
 * region and is filled with zeros. It is never captured, so observers never see it. It lives as
 * long as the region.
 */
int tcasm_scratch(struct tcasm_producer *producer,
                  int dtype_number,
                  size_t rank,
                  const size_t *shape,
                  void **data);

/**
 * Binds field `name` to `buffer`: the next publish takes the field from there. The handle then
 * stands for the buffer that the field was bound to before, whose address is stored in `data`:
 * compute the next step there.
 */
int tcasm_bind(struct tcasm_producer *producer,
               const char *name,
               struct tcasm_buffer *buffer,
               struct tcasm_buffer **next,
               void **data);

/**
 * Begins the next rewriting of a handed-over field. Every element must be written before the next
 * publish: the content of the memory is undefined.
 */
int tcasm_rewrite(struct tcasm_producer *producer,
                  const char *name);

/**
 * Begins the next rewriting of a handed-over buffer.
 */
int tcasm_rewrite_buffer(struct tcasm_producer *producer, struct tcasm_buffer *buffer);

/**
 * Marks `bytes` bytes of field `name`, from byte `offset` on, as written. Call this after a write
 * that no tracker sees: by a device, or through another mapping.
 */
int tcasm_mark_dirty(struct tcasm_producer *producer,
                     const char *name,
                     size_t offset,
                     size_t bytes);

/**
 * Declares that devices write field `name` from now on (RDMA, GPU, registered I/O buffers). The
 * field is captured whole in each version, inside publish. It cannot be handed over.
 */
int tcasm_register_dma(struct tcasm_producer *producer,
                       const char *name);

/**
 * Makes an array that exists a field: `data` is its first element. It stays where it is, and the
 * program goes on computing there. `shape` has `rank` extents, ghost layers included, and the
 * array has all of these elements without gaps. `options` may be null; the field cannot be handed
 * over. The region needs room for the array in its capacity, and up to 2 MiB more, but no memory.
 *
 * Until `tcasm_release_adopted`, no other thread may store to the array during calls with this
 * producer, and it must not be freed, unmapped or moved. A program that forgets this loses the
 * field: see `tcasm_lost_count`. Memory that was freed and stays mapped, as small blocks of
 * `malloc` do, cannot be noticed.
 */
int tcasm_adopt(struct tcasm_producer *producer,
                const char *name,
                int dtype_number,
                size_t rank,
                const size_t *shape,
                void *data,
                struct tcasm_field_options *options);

/**
 * Ends the adoption of an array, which can then be freed. The next version has no such field. A
 * lost field is removed as well. A field that is the geometry of a mesh stays, and is lost until
 * an array is adopted under its name.
 */
int tcasm_release_adopted(struct tcasm_producer *producer,
                          const char *name);

/**
 * Stores the number of fields that are lost: their memory was unmapped, moved or replaced before
 * `tcasm_release_adopted`, and publish has noticed. Versions have no values of them, and observers
 * get `TCASM_LOST`. They are lost until they are released, or an array is adopted under their
 * name.
 */
int tcasm_lost_count(struct tcasm_producer *producer,
                     size_t *count);

/**
 * Stores the name of lost field `index`, from 0. It is valid until the region is closed.
 */
int tcasm_lost_name(struct tcasm_producer *producer,
                    size_t index,
                    const char **name);

/**
 * Attaches to the region `name`. Waits for it for up to `timeout` seconds, or for ever if it is
 * negative. `tcasm_detach` ends the attachment.
 */
int tcasm_attach(const char *name,
                 double timeout,
                 struct tcasm_observer **observer);

/**
 * Attaches to the last versions of a dead producer of the region `name`, which another process
 * keeps.
 */
int tcasm_attach_kept(const char *name,
                      struct tcasm_observer **observer);

/**
 * Ends an attachment. Versions that it has returned stay until they are released.
 */
int tcasm_detach(struct tcasm_observer *observer);

/**
 * Stores the newest version, which stays pinned until `tcasm_release`.
 */
int tcasm_latest(struct tcasm_observer *observer, struct tcasm_version **version);

/**
 * Waits for a version that is newer than all that were returned, and stores the newest. Waits for
 * up to `timeout` seconds, or for ever if it is negative. Returns `TCASM_NOT_READY` if there is
 * none in time, and `TCASM_END_OF_STREAM` or `TCASM_PRODUCER_LOST` if none will come.
 */
int tcasm_wait_newer(struct tcasm_observer *observer,
                     double timeout,
                     struct tcasm_version **version);

/**
 * Waits like `tcasm_wait_newer`, and stores the oldest version that is newer than the last one
 * that was returned. Those that were reclaimed before are left out, except after
 * `tcasm_every_version`.
 */
int tcasm_next(struct tcasm_observer *observer,
               double timeout,
               struct tcasm_version **version);

/**
 * With `on` = 1, makes `tcasm_next` take every version from now on, beginning with the oldest that
 * exists. The producer reclaims no version that was not taken yet, so those fill its bounds:
 * `tcasm_publish` skips then, and `tcasm_publish_wait` waits. `on` = 0 ends that.
 */
int tcasm_every_version(struct tcasm_observer *observer,
                        int on);

/**
 * Stores the first and the last numbers of the ranges that `tcasm_next` has left out since
 * `tcasm_every_version`: as many as there is room for. `count` is the number of all. Most are
 * numbers of versions that never became visible, because the producer gave up their capture.
 */
int tcasm_missed(struct tcasm_observer *observer,
                 uint64_t *firsts,
                 uint64_t *lasts,
                 size_t room,
                 size_t *count);

/**
 * Stores the version of a number, if it is available.
 */
int tcasm_version_at(struct tcasm_observer *observer,
                     uint64_t number,
                     struct tcasm_version **version);

/**
 * Stores the numbers of the versions that are available, ascending: as many as there is room for.
 * `count` is the number of all.
 */
int tcasm_available(struct tcasm_observer *observer,
                    uint64_t *numbers,
                    size_t room,
                    size_t *count);

/**
 * Returns the state of the stream: `TCASM_OK` if there is a version and the producer runs,
 * `TCASM_NOT_READY`, `TCASM_END_OF_STREAM`, `TCASM_PRODUCER_LOST` or `TCASM_REVOKED`.
 */
int tcasm_stream_status(struct tcasm_observer *observer);

/**
 * Stores a descriptor that is readable (`poll`, `select`, `epoll`) once there is a newer version
 * or the stream has ended. It belongs to the observer: do not read or close it. Call
 * `tcasm_acknowledge` when it was readable.
 */
int tcasm_descriptor(struct tcasm_observer *observer,
                     int *descriptor);

/**
 * Makes the descriptor wait for the next version.
 */
int tcasm_acknowledge(struct tcasm_observer *observer);

/**
 * Sets how many bytes of this process's memory mapped versions may take for copies of scattered
 * parts.
 */
int tcasm_set_copy_budget(struct tcasm_observer *observer,
                          uint64_t bytes);

/**
 * Stores facts about the region.
 */
int tcasm_region_info(struct tcasm_observer *observer, struct tcasm_info *info);

/**
 * Stores a counter of the region, such as `"HeldBytes"`: `tcasm info --json` lists the names.
 */
int tcasm_counter(struct tcasm_observer *observer,
                  const char *name,
                  uint64_t *value);

/**
 * Stores what the versions of an observer take in this process.
 */
int tcasm_observer_stats(struct tcasm_observer *observer,
                         struct tcasm_view_stats *stats);

/**
 * Stores the counters of a producer.
 */
int tcasm_producer_stats(struct tcasm_producer *producer,
                         struct tcasm_publish_stats *stats);

/**
 * Stores the observers that are attached to the region, as its producer sees them: the process and
 * the user of each, and how many versions it pins, for as many as there is room for. `count` is
 * the number of all. Asks the producer, and waits for its answer for some seconds at most. There
 * are none if it does not answer, or is dead.
 */
int tcasm_observers(struct tcasm_observer *observer,
                    uint64_t *pids,
                    uint64_t *uids,
                    size_t *pins,
                    size_t room,
                    size_t *count);

/**
 * Stores the numbers of the versions that observers of the process `pid` pin, ascending: as many
 * as there is room for. `count` is the number of all. Asks the producer as `tcasm_observers` does.
 */
int tcasm_pinned(struct tcasm_observer *observer,
                 uint64_t pid,
                 uint64_t *versions,
                 size_t room,
                 size_t *count);

/**
 * Revokes the leases of all observers of the process `pid`, so that they get no more versions.
 * Versions that they hold stay as they are, and keep their memory until they let go. Stores how
 * many observers there were.
 */
int tcasm_revoke_observer(struct tcasm_producer *producer,
                          uint64_t pid,
                          size_t *count);

/**
 * Lets go of a version. What was mapped of it is unmapped: pointers to it must not be used any
 * more.
 */
int tcasm_release(struct tcasm_version *version);

/**
 * Stores the number, step and time of a version.
 */
int tcasm_version_stamp(struct tcasm_version *version, struct tcasm_stamp *stamp);

/**
 * Stores the number of fields.
 */
int tcasm_field_count(struct tcasm_version *version, size_t *count);

/**
 * Stores the name of field `index`, from 0. It is valid until the version is released.
 */
int tcasm_field_name(struct tcasm_version *version,
                     size_t index,
                     const char **name);

/**
 * Describes a field without mapping anything: `data` is null.
 */
int tcasm_layout_of(struct tcasm_version *version,
                    const char *name,
                    struct tcasm_array *array);

/**
 * Makes a list of the attributes of field `name`, or of the region if `name` is null.
 * `tcasm_attrs_free` ends it.
 */
int tcasm_attrs_of(struct tcasm_version *version,
                   const char *name,
                   struct tcasm_attrs **attrs);

/**
 * Stores a text of a field: `TCASM_FIELD_UNIT`, `TCASM_FIELD_MESH` or `TCASM_FIELD_QUANTITY`. If
 * the field has none, the quantity is its name, and the others are empty. The text is valid until
 * the version is released.
 */
int tcasm_field_text(struct tcasm_version *version,
                     const char *name,
                     int option,
                     const char **text);

/**
 * Maps a field whole, and stores its address and layout. The memory is read-only, and is valid
 * until the version is released. Mapping a field again costs nothing.
 */
int tcasm_array_of(struct tcasm_version *version,
                   const char *name,
                   struct tcasm_array *array);

/**
 * Maps a part of a field: for each of its dimensions without that of components, the first index
 * and the number of indices, ghost layers included. The memory is read-only, and is valid until
 * the version is released. Use the strides of the array: rows of a part are not contiguous.
 */
int tcasm_part_of(struct tcasm_version *version,
                  const char *name,
                  size_t rank,
                  const size_t *first,
                  const size_t *count,
                  struct tcasm_array *array);

/**
 * Maps the whole version at the address that the region has in the producer, and stores that
 * address: pointers that structures contain are valid then. The memory is read-only, and is valid
 * until the version is released. One version of a region can be mapped like this at a time.
 */
int tcasm_map_at_base(struct tcasm_version *version,
                      const void **base);

/**
 * Copies `bytes` bytes of a field, from byte `offset` on, without mapping anything.
 */
int tcasm_read(struct tcasm_version *version,
               const char *name,
               uint64_t offset,
               uint8_t *to,
               size_t bytes);

/**
 * Stores how many pages differ between two versions of a region, and the names of the fields that
 * have them: as many as there is room for. `count` is the number of all such fields. If `older` is
 * null, it is the version before this one, which may be gone. The names are valid until `version`
 * is released.
 */
int tcasm_changes(struct tcasm_version *version,
                  struct tcasm_version *older,
                  uint64_t *pages,
                  const char **names,
                  size_t room,
                  size_t *count);

/**
 * Stores the ranges of bytes of field `name` that may differ from those of an older version: where
 * each begins in the field, and its length, as many as there is room for. `count` is the number of
 * all. They are whole pages, cut to the field, ascending, and do not touch each other. No page is
 * read. If `older` is null, it is the version before this one, which may be gone. The whole field
 * is one range if it is new, lies elsewhere or has another shape.
 */
int tcasm_changed_ranges(struct tcasm_version *version,
                         struct tcasm_version *older,
                         const char *name,
                         uint64_t *offsets,
                         uint64_t *lengths,
                         size_t room,
                         size_t *count);

/**
 * Stores the number of meshes.
 */
int tcasm_mesh_count(struct tcasm_version *version, size_t *count);

/**
 * Describes mesh `index`, from 0.
 */
int tcasm_mesh_at(struct tcasm_version *version,
                  size_t index,
                  struct tcasm_mesh *mesh);

/**
 * Makes a list of the attributes of mesh `name`. `tcasm_attrs_free` ends it.
 */
int tcasm_mesh_attrs(struct tcasm_version *version,
                     const char *name,
                     struct tcasm_attrs **attrs);

/**
 * Attaches to the ranks of a group on this host. `tcasm_group_detach` ends the attachment.
 */
int tcasm_group_attach(const char *name,
                       struct tcasm_group_observer **group);

/**
 * Ends an attachment to a group. Versions stay until they are released.
 */
int tcasm_group_detach(struct tcasm_group_observer *group);

/**
 * Stores the newest step that all ranks on this host have, pinned in all of them until
 * `tcasm_group_release`.
 */
int tcasm_group_latest(struct tcasm_group_observer *group,
                       struct tcasm_group_version **version);

/**
 * Waits for a step that is newer than all that were returned, for up to `timeout` seconds, or for
 * ever if it is negative. Waits also for ranks that have no region yet, or begin another run.
 */
int tcasm_group_wait_newer(struct tcasm_group_observer *group,
                           double timeout,
                           struct tcasm_group_version **version);

/**
 * Stores the steps that all ranks on this host have now, ascending: as many as there is room for.
 * `count` is the number of all.
 */
int tcasm_group_steps(struct tcasm_group_observer *group,
                      uint64_t *steps,
                      size_t room,
                      size_t *count);

/**
 * Stores a step, pinned in all ranks on this host, if all of them have it.
 */
int tcasm_group_at(struct tcasm_group_observer *group,
                   uint64_t step,
                   struct tcasm_group_version **version);

/**
 * Stores the newest step that all ranks of the job have, on all hosts, pinned in all ranks on this
 * host. `tcasm-agent` must run on each host. Waits for nobody. After the death of ranks, or of the
 * agent, this is the last step that was agreed, as long as it exists.
 */
int tcasm_group_agreed(struct tcasm_group_observer *group,
                       struct tcasm_group_version **version);

/**
 * Stores how many ranks on this host are attached, and how many of these publish no more: those
 * that have closed their regions, and those that died. Waits for nobody.
 */
int tcasm_group_ends(struct tcasm_group_observer *group,
                     size_t *attached,
                     size_t *closed,
                     size_t *lost);

/**
 * Lets go of a step in all ranks. Versions of ranks that were taken from it stay until they are
 * released.
 */
int tcasm_group_release(struct tcasm_group_version *version);

/**
 * Stores the step, the time, and the number of ranks that the group has on all hosts.
 */
int tcasm_group_stamp(struct tcasm_group_version *version,
                      uint64_t *step,
                      double *time,
                      uint32_t *ranks);

/**
 * Stores the name of the run, which is empty if it has none. It is valid until the version is
 * released.
 */
int tcasm_group_run(struct tcasm_group_version *version,
                    const char **run);

/**
 * Stores the ranks that have regions on this host, ascending: as many as there is room for.
 * `count` is the number of all.
 */
int tcasm_group_ranks(struct tcasm_group_version *version,
                      uint32_t *numbers,
                      size_t room,
                      size_t *count);

/**
 * Stores the version of a rank. `tcasm_release` lets go of it.
 */
int tcasm_group_member(struct tcasm_group_version *group,
                       uint32_t rank,
                       struct tcasm_version **version);

/**
 * Describes the global array `name`, of which the ranks have blocks: its dtype, shape, components
 * and order. There is no `data`. The strides are those that `tcasm_global_read` gives in this
 * order.
 */
int tcasm_global_of(struct tcasm_group_version *version,
                    const char *name,
                    struct tcasm_array *array);

/**
 * Describes the array that consists of the fields `name` of all ranks, as `tcasm_global_of` does:
 * one behind the other along their first axis, in the order of ranks. They need no place in a
 * global array, and may have different lengths.
 */
int tcasm_concatenated_of(struct tcasm_group_version *version,
                          const char *name,
                          struct tcasm_array *array);

/**
 * Copies a part of the global array `name`, gathered from the blocks of the ranks: for each of its
 * dimensions without that of components, the first index and the number of indices. The values
 * come in the order `TCASM_ORDER_C` or `TCASM_ORDER_F`, whatever that of the blocks is, and the
 * components of a value side by side. `bytes` must be the size of the part. Fails if no rank on
 * this host has a block with some of the values.
 */
int tcasm_global_read(struct tcasm_group_version *version,
                      const char *name,
                      size_t rank,
                      const size_t *first,
                      const size_t *count,
                      int order_number,
                      uint8_t *to,
                      size_t bytes);

/**
 * Copies a part of the array that consists of the fields `name` of all ranks
 * (`tcasm_concatenated_of`), as `tcasm_global_read` does.
 */
int tcasm_concatenated_read(struct tcasm_group_version *version,
                            const char *name,
                            size_t rank,
                            const size_t *first,
                            const size_t *count,
                            int order_number,
                            uint8_t *to,
                            size_t bytes);

/**
 * Creates the host buffer of `job`, or attaches to it: at the same address in all processes. It
 * has `count` sections with names and sizes in bytes. `flags` has `TCASM_SECTION_LOCKED` and the
 * like for each, added up, or is null. `ranks` is not 0 for sections for the regions of so many
 * ranks (`tcasm_options_set_part`), each with at most as many bytes of fields as `sizes` says; it
 * may be null. If `processes` is not 0, so many processes of this host get
 * the buffer, or none does. Waits for them for up to `timeout` seconds.
 * `tcasm_host_buffer_close` ends it here. `tcasm_host_buffer_create` has more options, among them
 * the agreement with other hosts.
 */
int tcasm_host_buffer_open(const char *job,
                           size_t count,
                           const char *const *names,
                           const size_t *sizes,
                           const uint32_t *flags,
                           const uint32_t *ranks,
                           size_t processes,
                           double timeout,
                           struct tcasm_host_buffer **buffer);

/**
 * Lets go of a host buffer: it is unmapped here. The last process releases its memory.
 */
int tcasm_host_buffer_close(struct tcasm_host_buffer *buffer);

/**
 * Stores the address of a host buffer, its bytes of address space, and whether this process
 * created it (1) or attached to it (0).
 */
int tcasm_host_buffer_info(struct tcasm_host_buffer *buffer,
                           size_t *address,
                           size_t *bytes,
                           int *created);

/**
 * Stores the address of a section and its size. Nothing orders the accesses of processes. A store
 * to a sealed section is a SIGSEGV.
 */
int tcasm_section(struct tcasm_host_buffer *buffer,
                  const char *name,
                  void **data,
                  size_t *bytes);

/**
 * Makes a section read-only in all processes, for ever, and waits for it.
 */
int tcasm_seal(struct tcasm_host_buffer *buffer, const char *name);

/**
 * Waits until a process has sealed a section, for up to `timeout` seconds, or for ever if it is
 * negative. Returns `TCASM_NOT_READY` if none has in time.
 */
int tcasm_wait_sealed(struct tcasm_host_buffer *buffer,
                      const char *name,
                      double timeout);

/**
 * Takes the part of `rank` in a section for regions: the region that is created with these options
 * lies there, with the capacity of the part.
 */
int tcasm_options_set_part(struct tcasm_options *options,
                           struct tcasm_host_buffer *buffer,
                           const char *name,
                           uint32_t rank);

/**
 * Makes options without a section. `tcasm_host_buffer_options_free` ends them.
 */
int tcasm_host_buffer_options_new(struct tcasm_host_buffer_options **options);

/**
 * Ends options. Buffers that were created with them stay as they are.
 */
int tcasm_host_buffer_options_free(struct tcasm_host_buffer_options *options);

/**
 * Adds a section of `bytes` bytes. `flags` has `TCASM_SECTION_LOCKED` and the like, added up.
 */
int tcasm_host_buffer_options_add(struct tcasm_host_buffer_options *options,
                                  const char *name,
                                  size_t bytes,
                                  uint32_t flags);

/**
 * Adds a section for the regions of `ranks` ranks (`tcasm_options_set_part`), each with at most
 * `bytes` bytes of fields.
 */
int tcasm_host_buffer_options_add_regions(struct tcasm_host_buffer_options *options,
                                          const char *name,
                                          uint32_t ranks,
                                          size_t bytes);

/**
 * Places a section on nodes of memory (NUMA): on one, or on several in turn. Without this, a page
 * lies where it is touched first.
 */
int tcasm_host_buffer_options_set_nodes(struct tcasm_host_buffer_options *options,
                                        const char *name,
                                        const uint32_t *nodes,
                                        size_t count);

/**
 * Lets `count` processes of this host take part: all of them get the buffer, or none does.
 */
int tcasm_host_buffer_options_set_processes(struct tcasm_host_buffer_options *options,
                                            size_t count);

/**
 * Accepts this address only, a multiple of 2 MiB. Without this, it follows from the name of the
 * job.
 */
int tcasm_host_buffer_options_set_address(struct tcasm_host_buffer_options *options,
                                          size_t address);

/**
 * Agrees with the other hosts of the job through a rendezvous (`tcasm hostbuffer serve`) at
 * `address`, such as `login1:4711`. The file `secret` is the one that the rendezvous has; other
 * users must not be able to read it.
 */
int tcasm_host_buffer_options_set_rendezvous(struct tcasm_host_buffer_options *options,
                                             const char *address,
                                             const char *secret);

/**
 * Agrees with the other hosts of the job by a function of the program, such as an operation of
 * MPI (`tcasm_mpi.h`). There are `hosts` hosts. `processes` processes of this one take part, and
 * with `leads` = 1 this process is the one of them that calls the function. `context` is passed to
 * it, and must be valid until the buffer is created.
 */
int tcasm_host_buffer_options_set_all_gather(struct tcasm_host_buffer_options *options,
                                             tcasm_all_gather function,
                                             void *context,
                                             uint32_t hosts,
                                             size_t processes,
                                             int leads);

/**
 * Creates the host buffer of `job` with these options, or attaches to it: at the same address in
 * all processes of all its hosts. Waits for them for up to `timeout` seconds.
 * `tcasm_host_buffer_close` ends it here.
 */
int tcasm_host_buffer_create(const char *job,
                             struct tcasm_host_buffer_options *options,
                             double timeout,
                             struct tcasm_host_buffer **buffer);

/**
 * Begins to serve peers: those of this user, or with `everyone` = 1 those of all users, who still
 * need a cookie. `tcasm_owner_free` ends it.
 */
int tcasm_owner_new(int everyone,
                    struct tcasm_owner **owner);

/**
 * Ends an owner and its connections, once no gathered memory uses it. Revoke the cookies before:
 * peers that are copying are not waited for.
 */
int tcasm_owner_free(struct tcasm_owner *owner);

/**
 * Stores the address at which peers find an owner. It is valid until the owner ends.
 */
int tcasm_owner_address(struct tcasm_owner *owner,
                        const char **address);

/**
 * Declares `count` pieces of live memory, which peers see as one sequence of bytes. `access` is
 * `TCASM_READ` and the like. With `once` = 1 the cookie ends after the first complete use.
 *
 * Until `tcasm_revoke` has returned `TCASM_OK`, the memory must stay mapped and must not be used
 * for anything else. What peers read while it is written can be torn.
 */
int tcasm_declare(struct tcasm_owner *owner,
                  const struct tcasm_segment *segments,
                  size_t count,
                  int access,
                  int once,
                  struct tcasm_cookie *cookie);

/**
 * Declares a part of an array: `shape` and `strides` have `rank` values, the strides are in bytes
 * and may be negative. `data` is the address of the first element, which has `element` bytes. The
 * rules are those of `tcasm_declare`.
 */
int tcasm_declare_array(struct tcasm_owner *owner,
                        void *data,
                        size_t element,
                        size_t rank,
                        const size_t *shape,
                        const int64_t *strides,
                        int access,
                        int once,
                        struct tcasm_cookie *cookie);

/**
 * Declares a field of a version for reading. The version stays pinned until the cookie is revoked,
 * also if it is released meanwhile.
 */
int tcasm_declare_field(struct tcasm_owner *owner,
                        struct tcasm_version *version,
                        const char *name,
                        struct tcasm_cookie *cookie);

/**
 * Makes a cookie of `tcasm_declare_field` stand for a field of a newer version. Peers that are
 * reading the old one read it to its end.
 */
int tcasm_set_declared_field(struct tcasm_owner *owner,
                             const struct tcasm_cookie *cookie,
                             struct tcasm_version *version,
                             const char *name);

/**
 * Ends a cookie, and waits until no transfer uses it, for up to `timeout` seconds. If one still
 * does, returns `TCASM_NOT_READY`: the memory must be left alone, and the call repeated.
 */
int tcasm_revoke(struct tcasm_owner *owner,
                 const struct tcasm_cookie *cookie,
                 double timeout);

/**
 * Connects to the owner at `address`. `tcasm_disconnect` ends the connection.
 */
int tcasm_connect(const char *address,
                  struct tcasm_peer **peer);

/**
 * Ends a connection.
 */
int tcasm_disconnect(struct tcasm_peer *peer);

/**
 * Stores the meaning of a cookie.
 */
int tcasm_describe(struct tcasm_peer *peer,
                   const struct tcasm_cookie *cookie,
                   struct tcasm_declaration *declaration);

/**
 * Reads `bytes` declared bytes from byte `offset` on. They can be torn if somebody writes them
 * meanwhile, unless they are those of a version, whose number is then stored in `version` (0 for
 * live memory). `version` may be null.
 */
int tcasm_read_declared(struct tcasm_peer *peer,
                        const struct tcasm_cookie *cookie,
                        uint64_t offset,
                        uint8_t *to,
                        size_t bytes,
                        uint64_t *version);

/**
 * Writes `bytes` bytes to declared memory, from byte `offset` on.
 */
int tcasm_write_declared(struct tcasm_peer *peer,
                         const struct tcasm_cookie *cookie,
                         uint64_t offset,
                         const uint8_t *from,
                         size_t bytes);

/**
 * Sets an option of a connection: `TCASM_PEER_TRANSPORT` and the like.
 */
int tcasm_peer_set(struct tcasm_peer *peer, int option, int64_t value);

/**
 * Makes `bytes` bytes of memory that peers can map, and stores their address. They are zeros.
 * `tcasm_shared_memory_free` ends it.
 */
int tcasm_shared_memory_new(size_t bytes,
                            struct tcasm_shared_memory **memory,
                            void **data);

/**
 * Lets go of shared memory. It is unmapped here when the last of its cookies has ended, too.
 */
int tcasm_shared_memory_free(struct tcasm_shared_memory *memory);

/**
 * Declares `count` pieces of shared memory, or all of it if `count` is 0. Peers can map it
 * (`tcasm_map_declared`). The other arguments are those of `tcasm_declare`.
 */
int tcasm_declare_shared(struct tcasm_owner *owner,
                         struct tcasm_shared_memory *memory,
                         const struct tcasm_segment *segments,
                         size_t count,
                         int access,
                         int once,
                         struct tcasm_cookie *cookie);

/**
 * Maps declared memory for reading, without a copy, if the owner has declared it with
 * `tcasm_declare_shared`. It stays mapped until `tcasm_unmap_declared`, also if the cookie is
 * revoked or the owner ends. Nothing orders the accesses of the processes.
 */
int tcasm_map_declared(struct tcasm_peer *peer,
                       const struct tcasm_cookie *cookie,
                       struct tcasm_mapped **mapped);

/**
 * Stores where the pieces of a declaration are mapped, in order: as many as there is room for.
 * `count` is the number of all. A store there is a SIGSEGV.
 */
int tcasm_mapped_segments(struct tcasm_mapped *mapped,
                          struct tcasm_segment *segments,
                          size_t room,
                          size_t *count);

/**
 * Unmaps declared memory of an owner.
 */
int tcasm_unmap_declared(struct tcasm_mapped *mapped);

/**
 * Reads declared bytes from byte `offset` on into `count` pieces of memory, one after another. The
 * pieces must not overlap. `version` is that of `tcasm_read_declared`.
 */
int tcasm_read_vectored(struct tcasm_peer *peer,
                        const struct tcasm_cookie *cookie,
                        uint64_t offset,
                        const struct tcasm_segment *to,
                        size_t count,
                        uint64_t *version);

/**
 * Writes `count` pieces of memory, one after another, to declared memory from byte `offset` on.
 */
int tcasm_write_vectored(struct tcasm_peer *peer,
                         const struct tcasm_cookie *cookie,
                         uint64_t offset,
                         const struct tcasm_segment *from,
                         size_t count);

/**
 * Stores the pieces of memory that a part of an array consists of, in the order of its indices:
 * as many as there is room for. `pieces` is the number of all. The other arguments are those of
 * `tcasm_declare_array`. The result is for all functions that take pieces.
 */
int tcasm_array_segments(void *data,
                         size_t element,
                         size_t rank,
                         const size_t *shape,
                         const int64_t *strides,
                         struct tcasm_segment *segments,
                         size_t room,
                         size_t *pieces);

/**
 * Creates the region `name` with one field, `bytes`, which has the bytes of `count` pieces of
 * memory, one after another, and publishes their first version. Peers read the newest one by the
 * cookie, and observers attach to the region. `tcasm_gathered_free` ends it.
 *
 * The pieces must stay mapped until then, and no other thread may write them during this call and
 * `tcasm_gathered_publish`.
 */
int tcasm_gathered_new(struct tcasm_owner *owner,
                       const char *name,
                       const struct tcasm_segment *segments,
                       size_t count,
                       struct tcasm_gathered **gathered);

/**
 * Publishes the present bytes of the pieces as the next version, of simulation step `step` and
 * time `time`: pages that differ from the version before are copied. Returns `TCASM_SKIPPED` if
 * there is no room. Then peers read the version before.
 */
int tcasm_gathered_publish(struct tcasm_gathered *gathered,
                           uint64_t step,
                           double time);

/**
 * Stores the cookie by which peers read the newest version.
 */
int tcasm_gathered_cookie(struct tcasm_gathered *gathered,
                          struct tcasm_cookie *cookie);

/**
 * Ends the region and its cookie. Peers and observers keep the versions that they read.
 */
int tcasm_gathered_free(struct tcasm_gathered *gathered);

/**
 * Finds `bytes` declared bytes from byte `offset` on, so that `tcasm_read_held` reads them by one
 * copy and without a message. Stores in `held` how many are held: fewer than `bytes` if they have
 * more than 64 MiB or 2048 pieces. Needs a direct copy, or shared memory. Until `tcasm_let_go` the
 * connection does nothing else, and the owner cannot revoke the cookie.
 */
int tcasm_hold(struct tcasm_peer *peer,
               const struct tcasm_cookie *cookie,
               uint64_t offset,
               uint64_t bytes,
               uint64_t *held);

/**
 * Reads `bytes` bytes from byte `offset` on of what the connection holds. They can be torn if
 * somebody writes them meanwhile, unless they are those of a version, whose number is then stored
 * in `version` (0 for live memory). `version` may be null.
 */
int tcasm_read_held(struct tcasm_peer *peer,
                    uint64_t offset,
                    uint8_t *to,
                    size_t bytes,
                    uint64_t *version);

/**
 * Ends what the connection holds, so that the cookie can be revoked. Does nothing if it holds
 * nothing.
 */
int tcasm_let_go(struct tcasm_peer *peer);

/**
 * Makes an empty list of attributes. `tcasm_attrs_free` ends it.
 */
int tcasm_attrs_new(struct tcasm_attrs **attrs);

/**
 * Ends a list of attributes, and the texts that it has returned.
 */
int tcasm_attrs_free(struct tcasm_attrs *attrs);

/**
 * Sets an integer attribute.
 */
int tcasm_attrs_set_int(struct tcasm_attrs *attrs, const char *name, int64_t value);

/**
 * Sets an attribute that is a `double`.
 */
int tcasm_attrs_set_float(struct tcasm_attrs *attrs, const char *name, double value);

/**
 * Sets an attribute that is a text in UTF-8.
 */
int tcasm_attrs_set_text(struct tcasm_attrs *attrs, const char *name, const char *value);

/**
 * Sets an attribute that is a list of `count` numbers.
 */
int tcasm_attrs_set_floats(struct tcasm_attrs *attrs,
                           const char *name,
                           const double *values,
                           size_t count);

/**
 * Stores the number of attributes.
 */
int tcasm_attrs_count(struct tcasm_attrs *attrs, size_t *count);

/**
 * Stores the name of attribute `index` (from 0, sorted by name), and its type: `TCASM_ATTR_INT`
 * and the like. The name is valid until the list ends.
 */
int tcasm_attrs_at(struct tcasm_attrs *attrs,
                   size_t index,
                   const char **name,
                   int *kind);

/**
 * Stores the value of an integer attribute.
 */
int tcasm_attrs_get_int(struct tcasm_attrs *attrs, const char *name, int64_t *value);

/**
 * Stores the value of an attribute that is a number.
 */
int tcasm_attrs_get_float(struct tcasm_attrs *attrs, const char *name, double *value);

/**
 * Stores an attribute that is a text. It is valid until the list ends.
 */
int tcasm_attrs_get_text(struct tcasm_attrs *attrs,
                         const char *name,
                         const char **value);

/**
 * Stores an attribute that is a list of numbers: as many as there is room for. `count` is the
 * number of all.
 */
int tcasm_attrs_get_floats(struct tcasm_attrs *attrs,
                           const char *name,
                           double *values,
                           size_t room,
                           size_t *count);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* TCASM_H */

/* The initial value of a structure that a function fills:
   `tcasm_array a = TCASM_INIT(tcasm_array);` */
#ifdef __cplusplus
#define TCASM_INIT(type) ([] { type value{}; value.size = sizeof(type); return value; }())
#else
#define TCASM_INIT(type) {.size = sizeof(type)}
#endif
