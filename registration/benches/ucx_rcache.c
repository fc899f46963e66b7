/* Measures the registration cache of UCX (ucs_rcache) as cost.rs measures ours.
 *   cc -O2 ucx_rcache.c -o ucx_rcache -lucs -lucm && ./ucx_rcache
 * The registrar does nothing, or locks memory. Each line has the median, the 99th percentile and
 * the maximum of single operations, in us. */
#define _GNU_SOURCE
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include <ucm/api/ucm.h>
#include <ucs/memory/rcache.h>

enum { SAMPLES = 5000, PAGE = 4096, BUFFER = 64 << 10 };

static int locks;
static unsigned long registered, ended;

static ucs_status_t reg(void *context, ucs_rcache_t *cache, void *arg, ucs_rcache_region_t *region,
                        uint16_t flags) {
    (void)context, (void)cache, (void)arg, (void)flags;
    registered++;
    void *at = (void *)region->super.start;
    int failed = locks && mlock(at, region->super.end - region->super.start);
    return failed ? UCS_ERR_NO_MEMORY : UCS_OK;
}

static void dereg(void *context, ucs_rcache_t *cache, ucs_rcache_region_t *region) {
    (void)context, (void)cache;
    ended++;
    if (locks)
        munlock((void *)region->super.start, region->super.end - region->super.start);
}

static void dump(void *context, ucs_rcache_t *cache, ucs_rcache_region_t *region, char *text,
                 size_t most) {
    (void)context, (void)cache, (void)region;
    if (most)
        *text = 0;
}

static const ucs_rcache_ops_t ops = {.mem_reg = reg, .mem_dereg = dereg, .dump_region = dump};

static ucs_rcache_t *create(unsigned long most) {
    ucs_rcache_params_t params = {
        .region_struct_size = sizeof(ucs_rcache_region_t),
        .alignment = PAGE,
        .max_alignment = PAGE,
        .ucm_events = UCM_EVENT_VM_UNMAPPED,
        .ucm_event_priority = 1000,
        .ops = &ops,
        .max_regions = most,
        .max_size = SIZE_MAX,
        .max_unreleased = SIZE_MAX,
    };
    ucs_rcache_t *cache;
    if (ucs_rcache_create(&params, "bench", NULL, &cache) != UCS_OK) {
        fputs("ucs_rcache_create failed\n", stderr);
        exit(1);
    }
    return cache;
}

static void take(ucs_rcache_t *cache, void *at, size_t len) {
    ucs_rcache_region_t *region;
    if (ucs_rcache_get(cache, at, len, PROT_READ | PROT_WRITE, NULL, &region) != UCS_OK) {
        fputs("ucs_rcache_get failed\n", stderr);
        exit(1);
    }
    ucs_rcache_region_put(cache, region);
}

static void *map(size_t len) {
    int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE;
    return mmap(NULL, len, PROT_READ | PROT_WRITE, flags, -1, 0);
}

static double times[SAMPLES];

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1e6 + t.tv_nsec / 1e3;
}

static int order(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void print(const char *name) {
    qsort(times, SAMPLES, sizeof *times, order);
    printf("%-52s %9.2f %9.2f %9.2f\n", name, times[(SAMPLES - 1) / 2],
           times[(SAMPLES - 1) * 99 / 100], times[SAMPLES - 1]);
}

#define MEASURE(name, prepare, work) \
    for (int i = 0; i < SAMPLES; i++) { \
        prepare; \
        double before = now(); \
        work; \
        times[i] = now() - before; \
    } \
    print(name)

static void hits(int count) {
    ucs_rcache_t *cache = create(ULONG_MAX);
    void **at = calloc(count, sizeof *at);
    char name[64];
    for (int i = 0; i < count; i++)
        take(cache, at[i] = map(2 * PAGE), PAGE);
    snprintf(name, sizeof name, "hit, %d registrations", count);
    unsigned long before = registered;
    MEASURE(name, (void)0, take(cache, at[i % count], PAGE));
    if (registered != before)
        puts("  (some were misses)");
    ucs_rcache_destroy(cache);
}

static void misses(const char *name) {
    void *at[2] = {map(BUFFER), map(BUFFER)};
    ucs_rcache_t *cache = create(1);
    take(cache, at[1], BUFFER);
    unsigned long before = registered;
    MEASURE(name, (void)0, take(cache, at[i % 2], BUFFER));
    printf("  (%lu of %d were misses, %lu registrations ended)\n", registered - before, SAMPLES,
           ended);
    ucs_rcache_destroy(cache);
}

/* Memory that was unmapped without the C library, and mapped again at the same address. */
static void direct_call(void) {
    ucs_rcache_t *cache = create(ULONG_MAX);
    void *at = map(BUFFER);
    take(cache, at, BUFFER);
    unsigned long before = registered;
    syscall(SYS_munmap, at, BUFFER);
    int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE;
    if (mmap(at, BUFFER, PROT_READ | PROT_WRITE, flags, -1, 0) != at)
        exit(1);
    take(cache, at, BUFFER);
    printf("after a direct system call munmap: %s\n", registered == before ? "a stale hit" : "a miss");
    ucs_rcache_destroy(cache);
}

int main(void) {
    printf("%-52s %9s %9s %9s\n", "us", "median", "p99", "max");
    void *p;
    MEASURE("munmap before UCX has hooks", p = map(BUFFER), munmap(p, BUFFER));
    hits(1);
    hits(1000);
    misses("miss with eviction, no device, 64 KiB");
    locks = 1;
    misses("miss with eviction, mlock, 64 KiB");
    locks = 0;
    ucs_rcache_t *cache = create(ULONG_MAX);
    MEASURE("munmap of memory that is not registered", p = map(BUFFER), munmap(p, BUFFER));
    unsigned long before = ended;
    MEASURE("munmap of registered memory", (p = map(BUFFER), take(cache, p, BUFFER)),
            munmap(p, BUFFER));
    void *first = map(BUFFER);
    take(cache, first, BUFFER);
    MEASURE("munmap, and the next request (a hit)", (p = map(BUFFER), take(cache, p, BUFFER)),
            (munmap(p, BUFFER), take(cache, first, BUFFER)));
    printf("  (%lu registrations ended)\n", ended - before);
    ucs_rcache_destroy(cache);
    direct_call();
    return 0;
}
