/* Random calls of the functions for groups of ranks, and for arrays of which ranks have parts. */
#ifndef RANDOM_GROUPS_H
#define RANDOM_GROUPS_H

#include "random_objects.h"

CALL(tcasm_group_attach)
{
    tcasm_group_observer *group = NULL;
    return made(GROUP, tcasm_group_attach(region_name(), &group), &group);
}

CALL(tcasm_group_detach)
{
    return tcasm_group_detach(handle(GROUP));
}

CALL(tcasm_group_latest)
{
    tcasm_group_version *version = NULL;
    return made(STEP, tcasm_group_latest(handle(GROUP), &version), &version);
}

CALL(tcasm_group_wait_newer)
{
    tcasm_group_version *version = NULL;
    return made(STEP, tcasm_group_wait_newer(handle(GROUP), timeout(), &version), &version);
}

/* Needs the agents of a job. */
CALL(tcasm_group_agreed)
{
    tcasm_group_version *version = NULL;
    return made(STEP, tcasm_group_agreed(handle(GROUP), &version), &version);
}

CALL(tcasm_group_at)
{
    tcasm_group_version *version = NULL;
    uint64_t step = below(2) ? last_step - below(2) : below(100);
    return made(STEP, tcasm_group_at(handle(GROUP), step, &version), &version);
}

CALL(tcasm_group_steps)
{
    uint64_t steps[4];
    size_t count;
    return tcasm_group_steps(handle(GROUP), steps, below(5), &count);
}

CALL(tcasm_group_ends)
{
    size_t attached, closed, lost;
    int status = tcasm_group_ends(handle(GROUP), &attached, &closed, &lost);
    CHECK(status != TCASM_OK || closed + lost <= attached);
    return status;
}

CALL(tcasm_group_release)
{
    return tcasm_group_release(handle(STEP));
}

CALL(tcasm_group_stamp)
{
    uint64_t step;
    double time;
    uint32_t ranks;
    return tcasm_group_stamp(handle(STEP), &step, &time, below(2) ? &ranks : NULL);
}

CALL(tcasm_group_run)
{
    const char *run = NULL;
    return with_text(tcasm_group_run(handle(STEP), &run), &run);
}

CALL(tcasm_group_ranks)
{
    uint32_t numbers[2];
    size_t count;
    return tcasm_group_ranks(handle(STEP), numbers, below(3), &count);
}

CALL(tcasm_group_member)
{
    tcasm_version *version = NULL;
    uint32_t rank = (uint32_t)below(3);
    return made(VERSION, tcasm_group_member(handle(STEP), rank, &version), &version);
}

CALL(tcasm_global_of)
{
    tcasm_array array = TCASM_INIT(tcasm_array);
    return tcasm_global_of(handle(STEP), field_name(), &array);
}

CALL(tcasm_concatenated_of)
{
    tcasm_array array = TCASM_INIT(tcasm_array);
    return tcasm_concatenated_of(handle(STEP), field_name(), &array);
}

typedef int of_function(tcasm_group_version *, const char *, tcasm_array *);
typedef int read_function(tcasm_group_version *, const char *, size_t, const size_t *,
                          const size_t *, int, uint8_t *, size_t);

enum { MOST_ALONG = 4 };

/* Returns the bytes of an element. */
static size_t size_of(int dtype)
{
    static const size_t sizes[] = {[TCASM_I8] = 1,  [TCASM_I16] = 2, [TCASM_I32] = 4,
                                   [TCASM_I64] = 8, [TCASM_U8] = 1,  [TCASM_U16] = 2,
                                   [TCASM_U32] = 4, [TCASM_U64] = 8, [TCASM_F32] = 4,
                                   [TCASM_F64] = 8, [TCASM_C32] = 8, [TCASM_C64] = 16};
    CHECK(dtype > 0 && dtype < (int)(sizeof sizes / sizeof *sizes));
    return sizes[dtype];
}

/* Chooses a part of an array from its beginning on. Returns its bytes. */
static size_t choose_part(const tcasm_array *array, size_t rank, size_t *count)
{
    size_t bytes = size_of(array->dtype) * array->components;
    for (size_t i = 0; i < rank; i++) {
        count[i] = array->shape[i] < MOST_ALONG ? array->shape[i] : 1 + below(MOST_ALONG);
        bytes *= count[i];
    }
    return bytes;
}

/* Reads a part of an array of all ranks. Mostly asks for its description before. */
static int read_of_ranks(of_function *of, read_function *read)
{
    uint8_t bytes[512];
    tcasm_array array = TCASM_INIT(tcasm_array);
    size_t first[3] = {0, 0, 0}, count[3] = {1, 1, 1}, rank = below(4), room = below(17);
    tcasm_group_version *step = handle(STEP);
    const char *name = field_name();
    if (below(8) && of(step, name, &array) == TCASM_OK) {
        size_t axes = (size_t)array.rank - (array.components > 1);
        size_t wanted = axes <= 3 ? choose_part(&array, axes, count) : sizeof bytes + 1;
        if (wanted <= sizeof bytes) {
            rank = axes;
            room = wanted;
        }
    }
    return read(step, name, rank, first, count, (int)below(3), bytes, room);
}

CALL(tcasm_global_read)
{
    return read_of_ranks(tcasm_global_of, tcasm_global_read);
}

CALL(tcasm_concatenated_read)
{
    return read_of_ranks(tcasm_concatenated_of, tcasm_concatenated_read);
}

static struct call group_calls[] = {
    ROW(tcasm_group_attach, 4), ROW(tcasm_group_detach, 1), ROW(tcasm_group_latest, 3),
    ROW(tcasm_group_wait_newer, 2), ROW(tcasm_group_agreed, 1), ROW(tcasm_group_at, 2),
    ROW(tcasm_group_steps, 2), ROW(tcasm_group_ends, 1), ROW(tcasm_group_release, 1),
    ROW(tcasm_group_stamp, 1), ROW(tcasm_group_run, 1), ROW(tcasm_group_ranks, 1),
    ROW(tcasm_group_member, 2), ROW(tcasm_global_of, 2), ROW(tcasm_concatenated_of, 2),
    ROW(tcasm_global_read, 3), ROW(tcasm_concatenated_read, 3),
};

#endif
