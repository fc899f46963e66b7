/* Counters, the observers of a region, changed bytes, and options of regions. */
#include "check.h"
#include <sys/wait.h>
#include <unistd.h>

enum { PAGES = 2000 };

static tcasm_producer *producer;
static tcasm_observer *observer;
static char *bytes;
static size_t page;

static void create(const char *name)
{
    tcasm_options *options;
    size_t processor = 0;
    uint32_t nobody = 65534;
    void *data;
    page = (size_t)sysconf(_SC_PAGESIZE);
    size_t shape[] = {PAGES * page - 10};
    OK(tcasm_options_new(&options));
    OK(tcasm_options_set(options, TCASM_HUGE_PAGES, TCASM_HUGE_PAGES_OFF));
    OK(tcasm_options_set(options, TCASM_SHARED_BACKING, 0));
    OK(tcasm_options_set(options, TCASM_COPIER_NICE, 5));
    OK(tcasm_options_set(options, TCASM_RESERVE_FOR_EVERY, 10));
    OK(tcasm_options_set(options, TCASM_CAPTURE, TCASM_CAPTURE_INLINE));
    OK(tcasm_options_set_copier_affinity(options, &processor, 1));
    OK(tcasm_options_allow_users(options, &nobody, 1));
    FAILS(TCASM_INVALID_ARGUMENT, tcasm_options_set(options, TCASM_RESERVE_FOR_EVERY, 0));
    FAILS(TCASM_INVALID_ARGUMENT, tcasm_options_set(options, TCASM_COPIER_NICE, 20));
    FAILS(TCASM_INVALID_ARGUMENT, tcasm_options_set(options, TCASM_HUGE_PAGES, 3));
    FAILS(TCASM_INVALID_ARGUMENT, tcasm_options_set(options, TCASM_TRACKER, 0));
    OK(tcasm_create(name, 64 << 20, options, &producer));
    OK(tcasm_options_free(options));
    OK(tcasm_add_field(producer, "a", TCASM_U8, 1, shape, NULL, &data));
    bytes = data;
    shape[0] = 16;
    OK(tcasm_add_field(producer, "b", TCASM_F64, 1, shape, NULL, NULL));
    OK(tcasm_attach(name, 5.0, &observer));
}

static tcasm_version *published(uint64_t step)
{
    tcasm_version *version;
    OK(tcasm_publish(producer, step, 0.0));
    OK(tcasm_wait_visible(producer, 10.0));
    OK(tcasm_latest(observer, &version));
    return version;
}

static void changed_bytes_are_whole_pages_of_the_field(void)
{
    uint64_t offsets[4], lengths[4], pages;
    size_t count;
    const char *names[2];
    memset(bytes, 1, PAGES * page - 10);
    tcasm_version *first = published(1);
    bytes[3 * page + 7] = 2;
    bytes[4 * page] = 2;
    bytes[(PAGES - 1) * page] = 2;
    tcasm_version *second = published(2);
    bytes[9 * page] = 3;
    tcasm_version *third = published(3);

    OK(tcasm_changed_ranges(second, NULL, "a", offsets, lengths, 4, &count));
    CHECK(count == 2 && offsets[0] == 3 * page && lengths[0] == 2 * page);
    CHECK(offsets[1] == (PAGES - 1) * page && lengths[1] == page - 10);
    OK(tcasm_changed_ranges(third, first, "a", offsets, lengths, 4, &count));
    CHECK(count == 3 && offsets[1] == 9 * page && lengths[1] == page);
    OK(tcasm_changed_ranges(third, second, "a", offsets, lengths, 4, &count));
    CHECK(count == 1 && offsets[0] == 9 * page);
    OK(tcasm_changed_ranges(third, third, "a", offsets, lengths, 4, &count));
    CHECK(count == 0);
    OK(tcasm_changed_ranges(third, first, "b", offsets, lengths, 4, &count));
    CHECK(count == 0);
    /* There is room for one of three. */
    offsets[1] = 77;
    OK(tcasm_changed_ranges(third, first, "a", offsets, lengths, 1, &count));
    CHECK(count == 3 && offsets[0] == 3 * page && offsets[1] == 77);
    OK(tcasm_changes(second, NULL, &pages, names, 2, &count));
    CHECK(pages == 3 && count == 1 && strcmp(names[0], "a") == 0);
    FAILS(TCASM_NOT_FOUND,
          tcasm_changed_ranges(third, first, "absent", offsets, lengths, 4, &count));
    OK(tcasm_release(first));
    OK(tcasm_release(second));
    OK(tcasm_release(third));
}

static void a_version_is_mapped_where_the_region_lies(void)
{
    uintptr_t base;
    const void *mapped;
    tcasm_version *version = published(10);
    OK(tcasm_base(producer, &base));
    /* Here the region itself lies there. A process of its own can map it. */
    FAILS(TCASM_OTHER_ERROR, tcasm_map_at_base(version, &mapped));
    OK(tcasm_release(version));
}

/* Attaches in another process, and maps at the base there. Then waits to be revoked. */
static void other_process(const char *name, uintptr_t base, size_t offset, int told)
{
    tcasm_observer *own;
    tcasm_version *version;
    const void *mapped = NULL, *again = NULL;
    OK(tcasm_attach(name, 5.0, &own));
    OK(tcasm_latest(own, &version));
    OK(tcasm_map_at_base(version, &mapped));
    OK(tcasm_map_at_base(version, &again));
    CHECK((uintptr_t)mapped == base && again == mapped);
    CHECK(((const char *)mapped)[offset + 9 * page] == 3);
    CHECK(write(told, "x", 1) == 1);
    while (tcasm_stream_status(own) == TCASM_OK)
        usleep(1000);
    FAILS(TCASM_REVOKED, tcasm_stream_status(own));
    OK(tcasm_release(version));
    OK(tcasm_detach(own));
}

static void observers_are_listed_and_revoked(const char *name)
{
    tcasm_version *version = published(20);
    tcasm_stamp stamp = TCASM_INIT(tcasm_stamp);
    tcasm_publish_stats stats = TCASM_INIT(tcasm_publish_stats);
    uint64_t pids[4], uids[4], numbers[4];
    size_t pins[4], count, revoked;
    uintptr_t base;
    int told[2], status;
    char byte;
    OK(tcasm_version_stamp(version, &stamp));
    OK(tcasm_base(producer, &base));
    CHECK(pipe(told) == 0);
    pid_t child = fork();
    if (child == 0) {
        char number[3][32];
        snprintf(number[0], 32, "%zu", (size_t)base);
        snprintf(number[1], 32, "%zu", (size_t)((uintptr_t)bytes - base));
        snprintf(number[2], 32, "%d", told[1]);
        execl("/proc/self/exe", "facts", name, number[0], number[1], number[2], (char *)NULL);
        _exit(127);
    }
    close(told[1]);
    CHECK(child > 0 && read(told[0], &byte, 1) == 1);
    OK(tcasm_observers(observer, pids, uids, pins, 4, &count));
    CHECK(count == 2);
    int other = pids[1] == (uint64_t)child;
    CHECK(pids[other] == (uint64_t)child && pids[!other] == (uint64_t)getpid());
    CHECK(uids[0] == getuid() && uids[1] == getuid() && pins[0] == 1 && pins[1] == 1);
    OK(tcasm_pinned(observer, (uint64_t)child, numbers, 4, &count));
    CHECK(count == 1 && numbers[0] == stamp.version);
    OK(tcasm_pinned(observer, 1, numbers, 4, &count));
    CHECK(count == 0);
    OK(tcasm_producer_stats(producer, &stats));
    CHECK(stats.observers == 2);
    OK(tcasm_revoke_observer(producer, (uint64_t)child, &revoked));
    CHECK(revoked == 1);
    CHECK(waitpid(child, &status, 0) == child && status == 0);
    OK(tcasm_revoke_observer(producer, 1, &revoked));
    CHECK(revoked == 0);
    FAILS(TCASM_INVALID_ARGUMENT, tcasm_revoke_observer(producer, UINT64_MAX, &revoked));
    OK(tcasm_release(version));
}

static void counters_are_those_of_what_was_done(void)
{
    tcasm_publish_stats stats = TCASM_INIT(tcasm_publish_stats), later = stats;
    tcasm_view_stats views = TCASM_INIT(tcasm_view_stats);
    tcasm_array array = TCASM_INIT(tcasm_array);
    OK(tcasm_producer_stats(producer, &stats));
    for (size_t i = 0; i < 20; i++)
        bytes[i * page] = 4;
    tcasm_version *version = published(21);
    OK(tcasm_producer_stats(producer, &later));
    CHECK(later.publishes == stats.publishes + 1 && later.skips == stats.skips);
    CHECK(later.pages == stats.pages + 20 && later.bytes == stats.bytes + 20 * page);
    CHECK(later.deferred == 0 && later.held_bytes >= PAGES * page && later.shared_bytes == 0);
    CHECK(later.publish_us[0] > 0.0 && later.publish_us[0] <= later.publish_us[2]);
    OK(tcasm_array_of(version, "a", &array));
    OK(tcasm_set_copy_budget(observer, 12345));
    OK(tcasm_observer_stats(observer, &views));
    CHECK(views.windows >= 1 && views.mappings >= 1 && views.mappings < views.most_mappings);
    CHECK(views.copy_budget == 12345);
    OK(tcasm_release(version));
    FAILS(TCASM_INVALID_HANDLE, tcasm_observer_stats(NULL, &views));
}

static void lengths_are_set_together(void)
{
    size_t shape[] = {8}, lens[] = {3, 5}, len;
    const char *names[] = {"p", "q"}, *wrong[] = {"p", "absent"};
    tcasm_field_options *variable;
    OK(tcasm_field_options_new(&variable));
    OK(tcasm_field_options_set(variable, TCASM_FIELD_VARIABLE, 1));
    OK(tcasm_add_field(producer, "p", TCASM_F64, 1, shape, variable, NULL));
    OK(tcasm_add_field(producer, "q", TCASM_F64, 1, shape, variable, NULL));
    OK(tcasm_field_options_free(variable));
    OK(tcasm_set_lens(producer, names, lens, 2));
    OK(tcasm_len(producer, "p", &len));
    CHECK(len == 3);
    OK(tcasm_len(producer, "q", &len));
    CHECK(len == 5);
    lens[0] = 1;
    FAILS(TCASM_NOT_FOUND, tcasm_set_lens(producer, wrong, lens, 2));
    lens[1] = 9;
    FAILS(TCASM_NOT_DEFINED, tcasm_set_lens(producer, names, lens, 2));
    OK(tcasm_len(producer, "p", &len));
    CHECK(len == 3);
    wrong[1] = NULL;
    FAILS(TCASM_INVALID_ARGUMENT, tcasm_set_lens(producer, wrong, lens, 2));
}

static void scratch_memory_is_in_no_version(void)
{
    size_t shape[] = {4, 100}, count;
    double *values;
    void *data;
    uintptr_t base;
    OK(tcasm_scratch(producer, TCASM_F64, 2, shape, &data));
    OK(tcasm_base(producer, &base));
    CHECK((uintptr_t)data > base && (uintptr_t)data < base + (64 << 20));
    values = data;
    CHECK(values[399] == 0.0);
    values[399] = 1.0;
    tcasm_version *version = published(30);
    OK(tcasm_field_count(version, &count));
    CHECK(count == 4 && values[399] == 1.0);
    OK(tcasm_release(version));
    FAILS(TCASM_INVALID_ARGUMENT, tcasm_scratch(producer, 99, 2, shape, &data));
}

/* Each tracker that works here sees what was written. */
static void trackers_are_chosen(const char *name)
{
    for (int tracker = TCASM_TRACKER_UFFD_ASYNC; tracker <= TCASM_TRACKER_COMPARE; tracker++) {
        tcasm_options *options;
        tcasm_producer *own;
        tcasm_observer *other;
        tcasm_receipt receipt = TCASM_INIT(tcasm_receipt);
        tcasm_info info = TCASM_INIT(tcasm_info);
        size_t shape[] = {PAGES * page};
        char own_name[100];
        void *data;
        OK(tcasm_options_new(&options));
        OK(tcasm_options_set(options, TCASM_TRACKER, tracker));
        OK(tcasm_options_set(options, TCASM_HUGE_PAGES, TCASM_HUGE_PAGES_OFF));
        snprintf(own_name, sizeof own_name, "%s-%d", name, tracker);
        int status = tcasm_create(own_name, 16 << 20, options, &own);
        OK(tcasm_options_free(options));
        if (status != TCASM_OK) {
            CHECK(tracker == TCASM_TRACKER_UFFD_ASYNC && status == TCASM_NOT_CREATED);
            continue;
        }
        OK(tcasm_add_field(own, "a", TCASM_U8, 1, shape, NULL, &data));
        OK(tcasm_publish(own, 1, 0.0));
        ((char *)data)[5 * page] = 1;
        OK(tcasm_publish(own, 2, 0.0));
        OK(tcasm_last_receipt(own, &receipt));
        CHECK(receipt.version == 2 && receipt.pages == 1);
        OK(tcasm_attach(own_name, 5.0, &other));
        OK(tcasm_region_info(other, &info));
        OK(tcasm_detach(other));
        CHECK(info.tracker == (uint64_t)tracker || getenv("TCASM_TRACKER") != NULL);
        OK(tcasm_close(own));
    }
}

int main(int argc, char **argv)
{
    if (argc == 5) {
        page = (size_t)sysconf(_SC_PAGESIZE);
        other_process(argv[1], strtoull(argv[2], NULL, 10), strtoull(argv[3], NULL, 10),
                      atoi(argv[4]));
        return 0;
    }
    CHECK(argc == 2);
    create(argv[1]);
    changed_bytes_are_whole_pages_of_the_field();
    a_version_is_mapped_where_the_region_lies();
    observers_are_listed_and_revoked(argv[1]);
    counters_are_those_of_what_was_done();
    lengths_are_set_together();
    scratch_memory_is_in_no_version();
    trackers_are_chosen(argv[1]);
    OK(tcasm_close(producer));
    OK(tcasm_detach(observer));
    return 0;
}
