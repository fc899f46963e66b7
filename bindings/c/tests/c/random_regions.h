/* Random calls of the functions for regions: their options, publishing, and what it has done. */
#ifndef RANDOM_REGIONS_H
#define RANDOM_REGIONS_H

#include "random_objects.h"

CALL(tcasm_last_error)
{
    const char *last = tcasm_last_error();
    return with_text(TCASM_OK, &last);
}

CALL(tcasm_status_name)
{
    const char *name = tcasm_status_name((int)number());
    return with_text(TCASM_OK, &name);
}

CALL(tcasm_library_version)
{
    const char *version = tcasm_library_version();
    return with_text(TCASM_OK, &version);
}

CALL(tcasm_options_new)
{
    tcasm_options *options = NULL;
    return made(OPTIONS, tcasm_options_new(&options), &options);
}

CALL(tcasm_options_free)
{
    return tcasm_options_free(handle(OPTIONS));
}

/* The numbers of options are 1 to TCASM_RESERVE_FOR_EVERY. */
CALL(tcasm_options_set)
{
    int option = below(16) ? (int)below(TCASM_RESERVE_FOR_EVERY + 1) : (int)number();
    return tcasm_options_set(handle(OPTIONS), option, below(2) ? (int64_t)below(4) : number());
}

CALL(tcasm_options_set_attrs)
{
    return tcasm_options_set_attrs(handle(OPTIONS), handle(ATTRS));
}

CALL(tcasm_options_set_group)
{
    uint32_t rank = (uint32_t)below(2), ranks = (uint32_t)below(3), local = (uint32_t)below(3);
    return tcasm_options_set_group(handle(OPTIONS), rank, ranks, local, text());
}

CALL(tcasm_options_set_group_from_env)
{
    return tcasm_options_set_group_from_env(handle(OPTIONS));
}

CALL(tcasm_options_set_copier_affinity)
{
    size_t processors[2] = {0, below(4) ? below(2) : (size_t)number()};
    return tcasm_options_set_copier_affinity(handle(OPTIONS), processors, below(3));
}

CALL(tcasm_options_allow_users)
{
    uint32_t users[2] = {0, (uint32_t)number()};
    return tcasm_options_allow_users(handle(OPTIONS), users, below(3));
}

/* A handed-over field needs room for 2 MiB. */
CALL(tcasm_create)
{
    tcasm_producer *producer = NULL;
    size_t capacity = below(2) ? 64 << 10 : 8 << 20;
    void *options = below(2) ? NULL : handle(OPTIONS);
    if (below(16) == 0)
        capacity = (size_t)number();
    return made(PRODUCER, tcasm_create(region_name(), capacity, options, &producer), &producer);
}

CALL(tcasm_close)
{
    return tcasm_close(handle(PRODUCER));
}

CALL(tcasm_set_attrs)
{
    return tcasm_set_attrs(handle(PRODUCER), handle(ATTRS));
}

CALL(tcasm_base)
{
    size_t address;
    return tcasm_base(handle(PRODUCER), below(4) ? &address : NULL);
}

/* Remembers the number of the version that a call has published. */
static int published(tcasm_producer *producer, int status)
{
    tcasm_receipt receipt = TCASM_INIT(tcasm_receipt);
    if (status == TCASM_OK) {
        OK(tcasm_last_receipt(producer, &receipt));
        CHECK(receipt.version > 0);
        newest = receipt.version;
    }
    return status;
}

CALL(tcasm_publish)
{
    tcasm_producer *producer = handle(PRODUCER);
    change(adopted + LARGEST_ARRAY * below(2));
    return published(producer, tcasm_publish(producer, next_step(), 0.5));
}

CALL(tcasm_publish_wait)
{
    tcasm_producer *producer = handle(PRODUCER);
    change(adopted + LARGEST_ARRAY * below(2));
    return published(producer, tcasm_publish_wait(producer, next_step(), 0.5, timeout()));
}

CALL(tcasm_last_receipt)
{
    tcasm_receipt receipt = TCASM_INIT(tcasm_receipt);
    return tcasm_last_receipt(handle(PRODUCER), &receipt);
}

CALL(tcasm_wait_visible)
{
    return tcasm_wait_visible(handle(PRODUCER), timeout());
}

CALL(tcasm_wait_captured)
{
    return tcasm_wait_captured(handle(PRODUCER), timeout());
}

CALL(tcasm_rollback)
{
    uint64_t step;
    double time;
    int wanted = (int)below(2);
    return tcasm_rollback(handle(PRODUCER), some_version(), wanted ? &step : NULL, &time);
}

CALL(tcasm_trim)
{
    uint64_t bytes;
    return tcasm_trim(handle(PRODUCER), &bytes);
}

CALL(tcasm_producer_stats)
{
    tcasm_publish_stats stats = TCASM_INIT(tcasm_publish_stats);
    int status = tcasm_producer_stats(handle(PRODUCER), &stats);
    CHECK(status != TCASM_OK || stats.user_mode_only <= 1);
    return status;
}

CALL(tcasm_revoke_observer)
{
    size_t count;
    uint64_t pid = below(2) ? (uint64_t)getpid() : (uint64_t)number();
    return tcasm_revoke_observer(handle(PRODUCER), pid, below(2) ? &count : NULL);
}

static struct call region_calls[] = {
    ROW(tcasm_last_error, 1), ROW(tcasm_status_name, 1), ROW(tcasm_library_version, 1),
    ROW(tcasm_options_new, 3), ROW(tcasm_options_free, 1), ROW(tcasm_options_set, 4),
    ROW(tcasm_options_set_attrs, 1), ROW(tcasm_options_set_group, 2),
    ROW(tcasm_options_set_group_from_env, 1), ROW(tcasm_options_set_copier_affinity, 1),
    ROW(tcasm_options_allow_users, 1),
    ROW(tcasm_create, 8), ROW(tcasm_close, 2), ROW(tcasm_set_attrs, 1), ROW(tcasm_base, 1),
    ROW(tcasm_publish, 12), ROW(tcasm_publish_wait, 3), ROW(tcasm_last_receipt, 1),
    ROW(tcasm_wait_visible, 1), ROW(tcasm_wait_captured, 1), ROW(tcasm_rollback, 2),
    ROW(tcasm_trim, 1), ROW(tcasm_producer_stats, 1), ROW(tcasm_revoke_observer, 1),
};

#endif
