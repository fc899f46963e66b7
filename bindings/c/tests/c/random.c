/* Random calls, with handles of all kinds in all places: each returns a status, and nothing
   crashes. Pointers are what the header asks for, so AddressSanitizer finds each byte that is read
   or written elsewhere. RANDOM_CALLS and RANDOM_SEED choose the number and the sequence. A fuzz
   target compiles this with TCASM_FUZZ, and chooses each call by the bytes of its input. */
#include "check.h"
#include <unistd.h>

enum { SLOTS = 3 };
enum kind { OPTIONS, FIELD_OPTIONS, ATTRS, PRODUCER, BUFFER, OBSERVER, VERSION, GROUP, STEP, KINDS };

static uint64_t state;
static void *slots[KINDS][SLOTS];
static int by_status[256];
/* What is left of the input of the fuzzer. */
static const uint8_t *input;
static size_t input_left;

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

/* Ends an object, unless another call has done so. */
static void end(enum kind kind, void *old)
{
    switch (kind) {
    case OPTIONS: tcasm_options_free(old); break;
    case FIELD_OPTIONS: tcasm_field_options_free(old); break;
    case ATTRS: tcasm_attrs_free(old); break;
    case PRODUCER: tcasm_close(old); break;
    case OBSERVER: tcasm_detach(old); break;
    case VERSION: tcasm_release(old); break;
    case GROUP: tcasm_group_detach(old); break;
    case STEP: tcasm_group_release(old); break;
    default: break; /* a buffer lives as long as its region */
    }
}

static void keep(enum kind kind, void *new_handle)
{
    void **slot = &slots[kind][below(SLOTS)];
    /* Over a thousand runs of the fuzzer, objects that nobody knows would fill the memory. */
    if (input != NULL)
        end(kind, *slot);
    *slot = new_handle;
}

static const char *text(void)
{
    static const char *texts[] = {"a", "b", "c", "m", "no such", "", "a b", "\xff", NULL,
                                  "HeldBytes"};
    return texts[below(sizeof texts / sizeof *texts)];
}

static char region[3][64];

static int64_t number(void)
{
    static const int64_t numbers[] = {0, 1, 2, 3, 5, 8, -1, 100, INT64_MAX, INT64_MIN};
    return numbers[below(sizeof numbers / sizeof *numbers)];
}

/* Memory for the largest array that is adopted, an unaligned address in it, or null. */
static void *memory(void)
{
    static double arrays[2][20 * 4 * 4 * 2];
    switch (below(6)) {
    case 0: return NULL;
    case 1: return (char *)arrays[0] + 1;
    default: return arrays[below(2)];
    }
}

static int changes_an_object(void)
{
    size_t shape[3] = {1 + below(20), below(5), below(5)}, two[2] = {below(3), below(3)};
    double three[3] = {1.0, 0.5, 2.0};
    uint32_t refinement[3] = {2, (uint32_t)below(3), 1};
    int64_t offset[3] = {number(), 0, -1};
    void *data = NULL;
    tcasm_buffer *buffer = NULL;
    int status;
    switch (below(22)) {
    case 20: return tcasm_adopt(handle(PRODUCER), text(), (int)below(14), below(4), shape, memory(),
                                handle(FIELD_OPTIONS));
    case 21: return tcasm_release_adopted(handle(PRODUCER), text());
    case 15: return tcasm_every_version(handle(OBSERVER), (int)below(3));
    case 16: return tcasm_options_set_group(handle(OPTIONS), (uint32_t)below(3),
                                            (uint32_t)below(3), (uint32_t)below(3), text());
    case 17: return tcasm_field_options_set_global(handle(FIELD_OPTIONS), below(3), shape, two);
    case 18: return tcasm_set_block(handle(PRODUCER), text(), text(), (uint32_t)number(), refinement, offset);
    case 19: return tcasm_add_block(handle(PRODUCER), text(), shape, three, three, text(), 1,
                                    refinement, offset, handle(ATTRS));
    case 0: return tcasm_options_set(handle(OPTIONS), (int)number(), number());
    case 1: return tcasm_field_options_set(handle(FIELD_OPTIONS), (int)number(), number());
    case 2: return tcasm_field_options_set_text(handle(FIELD_OPTIONS), (int)number(), text());
    case 3: return tcasm_field_options_set_ghosts(handle(FIELD_OPTIONS), below(3), two, two);
    case 4: return tcasm_field_options_set_uniform(handle(FIELD_OPTIONS), three, below(2) ? three : NULL);
    case 5: return tcasm_attrs_set_int(handle(ATTRS), text(), number());
    case 6: return tcasm_attrs_set_text(handle(ATTRS), text(), text());
    case 7: return tcasm_attrs_set_floats(handle(ATTRS), text(), three, below(4));
    case 8: return tcasm_set_attrs(handle(PRODUCER), handle(ATTRS));
    case 9: return tcasm_set_len(handle(PRODUCER), text(), below(30));
    case 10: return tcasm_add_uniform_mesh(handle(PRODUCER), text(), shape, three, three, handle(ATTRS));
    case 11:
        status = tcasm_add_field(handle(PRODUCER), text(), (int)below(14), below(4), shape, handle(FIELD_OPTIONS), &data);
        if (status == TCASM_OK && data != NULL)
            *(volatile char *)data = 1;
        return status;
    case 12:
        status = tcasm_buffer_like(handle(PRODUCER), text(), &buffer, &data);
        if (status == TCASM_OK)
            keep(BUFFER, buffer);
        return status;
    case 13: return tcasm_mark_dirty(handle(PRODUCER), text(), (size_t)number(), (size_t)number());
    default:
        status = tcasm_bind(handle(PRODUCER), text(), handle(BUFFER), &buffer, &data);
        if (status == TCASM_OK)
            keep(BUFFER, buffer);
        return status;
    }
}

static int makes_an_object(void)
{
    void *made = NULL;
    enum kind kind = (enum kind)below(KINDS);
    int status;
    switch (kind) {
    case OPTIONS: status = tcasm_options_new((tcasm_options **)&made); break;
    case FIELD_OPTIONS: status = tcasm_field_options_new((tcasm_field_options **)&made); break;
    case ATTRS:
        status = below(2) ? tcasm_attrs_new((tcasm_attrs **)&made)
                          : tcasm_attrs_of(handle(VERSION), text(), (tcasm_attrs **)&made);
        break;
    case PRODUCER:
        status = tcasm_create(region[below(3)], 64 << 10, handle(OPTIONS),
                              (tcasm_producer **)&made);
        break;
    case OBSERVER: status = tcasm_attach(region[below(3)], 0.0, (tcasm_observer **)&made); break;
    case GROUP: status = tcasm_group_attach(region[below(3)], (tcasm_group_observer **)&made); break;
    case STEP:
        status = below(2) ? tcasm_group_latest(handle(GROUP), (tcasm_group_version **)&made)
                          : tcasm_group_at(handle(GROUP), below(5), (tcasm_group_version **)&made);
        break;
    default:
        kind = VERSION;
        switch (below(4)) {
        case 0: status = tcasm_group_member(handle(STEP), (uint32_t)below(3), (tcasm_version **)&made); break;
        case 1: status = tcasm_latest(handle(OBSERVER), (tcasm_version **)&made); break;
        default: status = tcasm_next(handle(OBSERVER), 0.0, (tcasm_version **)&made);
        }
        break;
    }
    if (status == TCASM_OK)
        keep(kind, made);
    return status;
}

static int reads_an_object(void)
{
    tcasm_array array = TCASM_INIT(tcasm_array);
    tcasm_stamp stamp = TCASM_INIT(tcasm_stamp);
    tcasm_info info = TCASM_INIT(tcasm_info);
    tcasm_mesh mesh = TCASM_INIT(tcasm_mesh);
    tcasm_attrs *attrs;
    uint8_t bytes[16];
    uint64_t numbers[4];
    size_t first[3] = {below(3), below(3), 0}, count[3] = {below(3), below(3), 1}, all;
    const char *name;
    int status;
    switch (below(20)) {
    case 18: return tcasm_lost_count(handle(PRODUCER), &all);
    case 19: return tcasm_lost_name(handle(PRODUCER), below(3), &name);
    case 11: return tcasm_mesh_at(handle(VERSION), below(4), &mesh);
    case 12:
        status = tcasm_mesh_attrs(handle(VERSION), text(), &attrs);
        return status == TCASM_OK ? tcasm_attrs_free(attrs) : status;
    case 13: return tcasm_layout_of(handle(VERSION), text(), &array);
    case 14: return tcasm_missed(handle(OBSERVER), numbers, numbers + 2, below(3), &all);
    case 15: return tcasm_group_steps(handle(GROUP), numbers, below(5), &all);
    case 16: return tcasm_global_of(handle(STEP), text(), &array);
    case 17: return tcasm_global_read(handle(STEP), text(), below(4), first, count, (int)below(3), bytes, below(17));
    case 0:
        status = tcasm_array_of(handle(VERSION), text(), &array);
        if (status == TCASM_OK && array.bytes > 0)
            bytes[0] = ((const uint8_t *)array.data)[array.bytes - 1];
        return status;
    case 1:
        status = tcasm_part_of(handle(VERSION), text(), below(4), first, count, &array);
        if (status == TCASM_OK && array.bytes > 0)
            bytes[0] = ((const uint8_t *)array.data)[array.bytes - 1];
        return status;
    case 2: return tcasm_read(handle(VERSION), text(), (uint64_t)number(), bytes, below(17));
    case 3: return tcasm_version_stamp(handle(VERSION), &stamp);
    case 4: return tcasm_field_name(handle(VERSION), below(5), &name);
    case 5: return tcasm_field_text(handle(VERSION), text(), (int)number(), &name);
    case 6: return tcasm_changes(handle(VERSION), handle(VERSION), numbers, &name, below(2), &all);
    case 7: return tcasm_available(handle(OBSERVER), numbers, below(5), &all);
    case 8: return tcasm_region_info(handle(OBSERVER), &info);
    case 9: return tcasm_counter(handle(OBSERVER), text(), numbers);
    default: return tcasm_live(handle(PRODUCER), text(), &array);
    }
}

static int ends_or_publishes(void)
{
    switch (below(14)) {
    case 12: return tcasm_group_detach(handle(GROUP));
    case 13: return tcasm_group_release(handle(STEP));
    case 0: return tcasm_options_free(handle(OPTIONS));
    case 1: return tcasm_field_options_free(handle(FIELD_OPTIONS));
    case 2: return tcasm_attrs_free(handle(ATTRS));
    case 3: return tcasm_close(handle(PRODUCER));
    case 4: return tcasm_detach(handle(OBSERVER));
    case 5: return tcasm_release(handle(VERSION));
    case 6: return tcasm_rollback(handle(PRODUCER), (uint64_t)number(), NULL, NULL);
    default: return tcasm_publish(handle(PRODUCER), below(100), 0.5);
    }
}

/* Makes any call. */
static void call(void)
{
    int (*const kinds[])(void) = {changes_an_object, makes_an_object, reads_an_object,
                                  ends_or_publishes};
    int status = kinds[below(4)]();
    CHECK(status != TCASM_INTERNAL_ERROR && status >= -127 && status <= 127);
    by_status[status + 128]++;
}

#ifdef TCASM_FUZZ

/* Ends all objects of a run, so that the next one begins without any. */
static void end_all(void)
{
    for (int kind = KINDS - 1; kind >= 0; kind--)
        for (int i = 0; i < SLOTS; i++)
            end((enum kind)kind, slots[kind][i]);
    memset(slots, 0, sizeof slots);
}

void tcasm_random_calls(const uint8_t *data, size_t size)
{
    for (int i = 0; i < 3; i++)
        snprintf(region[i], sizeof region[i], "fuzz-%d-%d", (int)getpid(), i);
    input = data;
    input_left = size;
    while (input_left > 0)
        call();
    end_all();
}

#else

int main(int argc, char **argv)
{
    CHECK(argc == 2);
    const char *calls = getenv("RANDOM_CALLS"), *seed = getenv("RANDOM_SEED");
    long left = calls ? atol(calls) : 30000;
    state = seed ? strtoull(seed, NULL, 10) | 1 : 0x9E3779B97F4A7C15u;
    for (int i = 0; i < 3; i++)
        snprintf(region[i], sizeof region[i], "%s-%d", argv[1], i);
    while (left-- > 0)
        call();
    for (int i = 0; i < 256; i++)
        if (by_status[i] > 0)
            printf("%6d %s\n", by_status[i], tcasm_status_name(i - 128));
    /* A sequence that mostly fails tests little. */
    CHECK(calls != NULL || by_status[128 + TCASM_OK] > 5000);
    CHECK(calls != NULL || by_status[128 + TCASM_CLOSED] > 100);
    return 0;
}

#endif
