/* Random calls of all functions, with handles of all kinds in all places: each returns a status,
   and nothing crashes. Pointers are what the header asks for, so AddressSanitizer finds each byte
   that is read or written elsewhere. RANDOM_CALLS and RANDOM_SEED choose the number and the
   sequence. A fuzz target compiles this with TCASM_FUZZ, and chooses each call by the bytes of its
   input. */
#include "random_objects.h"

#include "random_fields.h"
#include "random_groups.h"
#include "random_hosts.h"
#include "random_meshes.h"
#include "random_regions.h"
#include "random_situations.h"
#include "random_transfers.h"
#include "random_versions.h"

/* Calls that belong together, and how often one of them is chosen, compared with other groups. */
#define CALLS(table, weight) {table, sizeof table / sizeof *table, weight}
static const struct {
    struct call *calls;
    size_t count;
    unsigned weight;
} groups[] = {
    CALLS(region_calls, 36), CALLS(field_calls, 36), CALLS(mesh_calls, 32),
    CALLS(version_calls, 48), CALLS(group_calls, 24), CALLS(transfer_calls, 44),
    CALLS(host_calls, 24), CALLS(situations, 6),
};
enum { GROUPS = sizeof groups / sizeof *groups };

static int by_status[256];

static struct call *choose(void)
{
    unsigned all = 0;
    size_t group = 0, row = 0;
    uint64_t at;
    for (size_t i = 0; i < GROUPS; i++)
        all += groups[i].weight;
    for (at = below(all); at >= groups[group].weight; group++)
        at -= groups[group].weight;
    struct call *calls = groups[group].calls;
    all = 0;
    for (size_t i = 0; i < groups[group].count; i++)
        all += calls[i].weight;
    for (at = below(all); at >= calls[row].weight; row++)
        at -= calls[row].weight;
    return &calls[row];
}

/* Makes any call. */
static void call(void)
{
    struct call *chosen = choose();
    int status = chosen->random();
    if (status == TCASM_INTERNAL_ERROR || status < -127 || status > 127)
        fprintf(stderr, "%s returned %d\n", chosen->name, status);
    CHECK(status != TCASM_INTERNAL_ERROR && status >= -127 && status <= 127);
    by_status[status + 128]++;
    chosen->called++;
    chosen->good += status == TCASM_OK;
}

#ifdef TCASM_FUZZ

/* Objects that have ended leave no descriptors behind for long. */
static void few_descriptors_are_open(void)
{
    int lowest = dup(STDERR_FILENO);
    CHECK(lowest >= 0 && lowest < 512);
    CHECK(close(lowest) == 0);
}

void tcasm_random_calls(const uint8_t *data, size_t size)
{
    char prefix[32];
    snprintf(prefix, sizeof prefix, "fuzz-%d", (int)getpid());
    name_regions(prefix);
    input = data;
    input_left = size;
    while (input_left > 0)
        call();
    end_all();
    few_descriptors_are_open();
}

#else

/* Functions that cannot succeed in this program. */
static const char *const always_fail[] = {
    "tcasm_attach_kept",  /* another process must keep what a dead producer has left */
    "tcasm_group_agreed", /* tcasm-agent must run */
};

static int may_fail(const char *name)
{
    for (size_t i = 0; i < sizeof always_fail / sizeof *always_fail; i++)
        if (strcmp(name, always_fail[i]) == 0)
            return 1;
    return 0;
}

/* Returns how many functions have never succeeded, and prints them if `named` is 1: such a function
   is tested little. */
static int count_unsuccessful(int named)
{
    int count = 0;
    for (size_t i = 0; i < GROUPS; i++)
        for (size_t row = 0; row < groups[i].count; row++) {
            const struct call *one = &groups[i].calls[row];
            if (one->good > 0 || may_fail(one->name))
                continue;
            if (named)
                printf("none of %ld calls of %s succeeded\n", one->called, one->name);
            count++;
        }
    return count;
}

int main(int argc, char **argv)
{
    CHECK(argc == 2);
    const char *calls = getenv("RANDOM_CALLS"), *seed = getenv("RANDOM_SEED");
    long left = calls ? atol(calls) : 30000;
    state = seed ? strtoull(seed, NULL, 10) | 1 : 0x9E3779B97F4A7C15u;
    name_regions(argv[1]);
    while (left-- > 0)
        call();
    /* What a call finds depends on the time, so a rare success may come later. */
    for (left = calls ? 0 : 300000; left > 0 && count_unsuccessful(0) > 0; left--)
        call();
    end_all();
    for (int i = 0; i < 256; i++)
        if (by_status[i] > 0)
            printf("%6d %s\n", by_status[i], tcasm_status_name(i - 128));
    int unsuccessful = count_unsuccessful(1);
    /* A sequence that mostly fails tests little. */
    CHECK(calls != NULL || by_status[128 + TCASM_OK] > 5000);
    CHECK(calls != NULL || by_status[128 + TCASM_CLOSED] > 100);
    CHECK(calls != NULL || unsuccessful == 0);
    return 0;
}

#endif
