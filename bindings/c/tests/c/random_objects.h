/* What random calls consist of: numbers, texts, memory and handles. Keeps the objects that live,
   and ends them. */
#ifndef RANDOM_OBJECTS_H
#define RANDOM_OBJECTS_H

#include "check.h"
#include <math.h>
#include <unistd.h>

enum { SLOTS = 2, NAMES = 4, COOKIES = 4, ARENA = 4096, LARGEST_ARRAY = 20 * 4 * 4 * 16 };

/* The kinds of objects. Objects that use others come behind them, and end before them. */
enum kind {
    OPTIONS, FIELD_OPTIONS, ATTRS, PRODUCER, BUFFER, OBSERVER, VERSION, GROUP, STEP, OWNER, PEER,
    SHARED, MAPPED, GATHERED, HOST_OPTIONS, HOST, KINDS
};

/* A function of the library with its random call. */
struct call {
    const char *name;
    int (*random)(void);
    /* It is called so many times as often as a function of its group that has 1 here. */
    unsigned weight;
    /* How often it was called, and how often it has returned TCASM_OK. */
    long called, good;
};

/* Begins the random call of a function, which returns its status. ci/bindings-c.sh looks for these
   lines: each function of the library must have one. */
#define CALL(function) static int random_##function(void)
/* The row of a function in the table of its group. */
#define ROW(function, weight) {#function, random_##function, weight, 0, 0}

static uint64_t state;
/* What is left of the input of the fuzzer. */
static const uint8_t *input;
static size_t input_left;

/* Returns a number below n, which is at most 256 where the fuzzer chooses. */
static uint64_t below(uint64_t n)
{
    if (input != NULL) {
        if (input_left == 0)
            return 0;
        input_left--;
        return *input++ % n;
    }
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state % n;
}

static int64_t number(void)
{
    static const int64_t numbers[] = {0, 1, 2, 3, 5, 8, -1, 100, INT64_MAX, INT64_MIN};
    return numbers[below(sizeof numbers / sizeof *numbers)];
}

/* Never waits for long. */
static double timeout(void)
{
    static const double seconds[] = {0.0, 0.0, 0.0005, NAN};
    return seconds[below(4)];
}

static const char *wrong_text(void)
{
    static const char *const texts[] = {"no such", "", "a b", "\xff", NULL, "HeldBytes"};
    return texts[below(6)];
}

/* Returns one of four texts, or sometimes another one. */
static const char *one_of(const char *const *texts)
{
    return below(8) ? texts[below(4)] : wrong_text();
}

static const char *text(void)
{
    static const char *const texts[] = {"a", "b", "m", "run"};
    return one_of(texts);
}

static const char *field_name(void)
{
    static const char *const names[] = {"a", "a", "b", "c"};
    return below(8) ? one_of(names) : "d";
}

static const char *mesh_name(void)
{
    static const char *const names[] = {"m", "m", "n", "n"};
    return one_of(names);
}

/* The names of the regions, groups and jobs. */
static char region[NAMES][64];

static const char *region_name(void)
{
    return below(16) ? region[below(NAMES)] : wrong_text();
}

static void name_regions(const char *prefix)
{
    for (int i = 0; i < NAMES; i++)
        snprintf(region[i], sizeof region[i], "%s-%d", prefix, i);
}

/* The newest version that any producer has published, and the last step. */
static uint64_t newest, last_step;

static uint64_t some_version(void)
{
    return below(4) ? newest - below(3) : (uint64_t)number();
}

static uint64_t next_step(void)
{
    return below(4) ? ++last_step : below(100);
}

/* Returns the extents of an array. One that is adopted has at most LARGEST_ARRAY bytes. */
static const size_t *some_shape(void)
{
    static size_t shape[3];
    shape[0] = 1 + below(20);
    shape[1] = below(5);
    shape[2] = below(5);
    return shape;
}

/* Memory for arrays that are adopted, for declarations, for the pieces that are gathered, and for
   what peers read and write. Each has pages of its own: in those of adopted arrays, the kernel must
   not write for others. Nothing of it ever ends, as the header asks. */
static _Alignas(ARENA) uint8_t adopted[3 * ARENA];
static _Alignas(ARENA) uint8_t declared[ARENA];
static _Alignas(ARENA) uint8_t gathered[ARENA];
static _Alignas(ARENA) uint8_t own[ARENA];

/* Returns the address of one of two arrays, an address that is not aligned, or null. */
static void *some_array(void)
{
    switch (below(8)) {
    case 0: return NULL;
    case 1: return adopted + 1;
    default: return adopted + LARGEST_ARRAY * below(2);
    }
}

static void change(uint8_t *memory)
{
    memory[16 * below(ARENA / 16)]++;
}

/* Chooses up to three pieces in an arena, which mostly do not overlap. Returns their number. */
static size_t some_pieces(uint8_t *memory, tcasm_segment *pieces)
{
    size_t count = below(8) ? 1 + below(3) : 0;
    for (size_t i = 0; i < count; i++) {
        uint8_t *data = memory + 1024 * (below(16) ? i : below(3)) + below(200);
        pieces[i].data = below(32) ? data : NULL;
        pieces[i].bytes = below(32) ? 1 + below(200) : 0;
    }
    return count;
}

static volatile uint8_t seen;

/* Reads a text that a call has stored. */
static int with_text(int status, const char *const *stored)
{
    if (status == TCASM_OK)
        seen = (uint8_t)strlen(*stored);
    return status;
}

/* Reads the last byte of an array that a call has stored. */
static int with_array(int status, const tcasm_array *array)
{
    if (status == TCASM_OK && array->bytes > 0)
        seen = ((const uint8_t *)array->data)[array->bytes - 1];
    return status;
}

static void *slots[KINDS][SLOTS];
static tcasm_cookie cookies[COOKIES];

/* A handle, mostly of the kind that is asked for, closed or not. Sometimes one of another kind, or
   null, or no handle at all. */
static void *handle(enum kind kind)
{
    switch (below(16)) {
    case 0: return slots[below(KINDS)][below(SLOTS)];
    case 1: return NULL;
    case 2: return (void *)(uintptr_t)below(100000);
    default: return slots[kind][below(SLOTS)];
    }
}

/* Ends a cookie, and waits for its transfers, as the header asks. One that goes on is that of a
   connection which holds a part, or has just ended. */
static void end_cookie(tcasm_owner *owner, const tcasm_cookie *cookie)
{
    if (tcasm_revoke(owner, cookie, 0.0) != TCASM_NOT_READY)
        return;
    for (int i = 0; i < SLOTS; i++)
        tcasm_let_go(slots[PEER][i]);
    CHECK(tcasm_revoke(owner, cookie, 5.0) == TCASM_OK);
}

/* Ends gathered memory. A transfer of its cookie must not go on when its owner ends with it. */
static int free_gathered(tcasm_gathered *old)
{
    tcasm_cookie cookie;
    if (tcasm_gathered_cookie(old, &cookie) == TCASM_OK)
        for (int i = 0; i < SLOTS; i++)
            end_cookie(slots[OWNER][i], &cookie);
    return tcasm_gathered_free(old);
}

/* Ends an owner without transfers: it would keep the memory of those that go on for ever. */
static int free_owner(tcasm_owner *old)
{
    tcasm_cookie cookie;
    for (int i = 0; i < COOKIES; i++)
        end_cookie(old, &cookies[i]);
    for (int i = 0; i < SLOTS; i++)
        if (tcasm_gathered_cookie(slots[GATHERED][i], &cookie) == TCASM_OK)
            end_cookie(old, &cookie);
    return tcasm_owner_free(old);
}

static int ended(enum kind kind, void *old)
{
    switch (kind) {
    case OPTIONS: return tcasm_options_free(old);
    case FIELD_OPTIONS: return tcasm_field_options_free(old);
    case ATTRS: return tcasm_attrs_free(old);
    case PRODUCER: return tcasm_close(old);
    case OBSERVER: return tcasm_detach(old);
    case VERSION: return tcasm_release(old);
    case GROUP: return tcasm_group_detach(old);
    case STEP: return tcasm_group_release(old);
    case OWNER: return free_owner(old);
    case PEER: return tcasm_disconnect(old);
    case SHARED: return tcasm_shared_memory_free(old);
    case MAPPED: return tcasm_unmap_declared(old);
    case GATHERED: return free_gathered(old);
    case HOST_OPTIONS: return tcasm_host_buffer_options_free(old);
    case HOST: return tcasm_host_buffer_close(old);
    default: return TCASM_OK; /* a buffer lives as long as its region */
    }
}

/* Ends an object, unless another call has done so. */
static void end(enum kind kind, void *old)
{
    int status = ended(kind, old);
    CHECK(status == TCASM_OK || status == TCASM_CLOSED || status == TCASM_INVALID_HANDLE);
}

/* Puts an object into a slot. The one that was there ends, because objects that nobody knows would
   fill the memory, and use up descriptors and names. */
static void keep(enum kind kind, void *object)
{
    void **slot = &slots[kind][below(SLOTS)];
    end(kind, *slot);
    *slot = object;
}

/* Keeps the object whose handle a call has stored at `place`. */
static int made(enum kind kind, int status, const void *place)
{
    void *object;
    memcpy(&object, place, sizeof object);
    if (status == TCASM_OK)
        keep(kind, object);
    return status;
}

/* Keeps the cookie of a declaration. All that live are in slots, so that owners end without
   transfers. */
static int kept_cookie(int status, const tcasm_cookie *cookie)
{
    if (status != TCASM_OK)
        return status;
    tcasm_cookie *slot = &cookies[below(COOKIES)];
    for (int i = 0; i < SLOTS; i++)
        end_cookie(slots[OWNER][i], slot);
    *slot = *cookie;
    return status;
}

static void end_all(void)
{
    for (int kind = KINDS - 1; kind >= 0; kind--)
        for (int i = 0; i < SLOTS; i++)
            end((enum kind)kind, slots[kind][i]);
    memset(slots, 0, sizeof slots);
    memset(cookies, 0, sizeof cookies);
    newest = last_step = 0;
}

#endif
