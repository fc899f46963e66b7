/* Random calls of the functions for observers and versions. */
#ifndef RANDOM_VERSIONS_H
#define RANDOM_VERSIONS_H

#include "random_objects.h"

CALL(tcasm_attach)
{
    tcasm_observer *observer = NULL;
    double limit = below(16) ? 0.0 : timeout();
    return made(OBSERVER, tcasm_attach(region_name(), limit, &observer), &observer);
}

CALL(tcasm_attach_kept)
{
    tcasm_observer *observer = NULL;
    return made(OBSERVER, tcasm_attach_kept(region_name(), &observer), &observer);
}

CALL(tcasm_detach)
{
    return tcasm_detach(handle(OBSERVER));
}

CALL(tcasm_latest)
{
    tcasm_version *version = NULL;
    return made(VERSION, tcasm_latest(handle(OBSERVER), &version), &version);
}

CALL(tcasm_wait_newer)
{
    tcasm_version *version = NULL;
    return made(VERSION, tcasm_wait_newer(handle(OBSERVER), timeout(), &version), &version);
}

CALL(tcasm_next)
{
    tcasm_version *version = NULL;
    return made(VERSION, tcasm_next(handle(OBSERVER), timeout(), &version), &version);
}

CALL(tcasm_every_version)
{
    return tcasm_every_version(handle(OBSERVER), (int)below(3));
}

CALL(tcasm_missed)
{
    uint64_t firsts[2], lasts[2];
    size_t count;
    return tcasm_missed(handle(OBSERVER), firsts, lasts, below(3), &count);
}

CALL(tcasm_version_at)
{
    tcasm_version *version = NULL;
    return made(VERSION, tcasm_version_at(handle(OBSERVER), some_version(), &version), &version);
}

CALL(tcasm_available)
{
    uint64_t numbers[4];
    size_t count;
    return tcasm_available(handle(OBSERVER), numbers, below(5), &count);
}

CALL(tcasm_stream_status)
{
    return tcasm_stream_status(handle(OBSERVER));
}

CALL(tcasm_descriptor)
{
    int descriptor = -1;
    int status = tcasm_descriptor(handle(OBSERVER), &descriptor);
    CHECK(status != TCASM_OK || descriptor >= 0);
    return status;
}

CALL(tcasm_acknowledge)
{
    return tcasm_acknowledge(handle(OBSERVER));
}

CALL(tcasm_set_copy_budget)
{
    return tcasm_set_copy_budget(handle(OBSERVER), (uint64_t)number());
}

CALL(tcasm_region_info)
{
    tcasm_info info = TCASM_INIT(tcasm_info);
    int status = tcasm_region_info(handle(OBSERVER), &info);
    CHECK(status != TCASM_OK || info.pid == (uint64_t)getpid());
    return status;
}

CALL(tcasm_counter)
{
    uint64_t value;
    return tcasm_counter(handle(OBSERVER), below(2) ? "HeldBytes" : text(), &value);
}

CALL(tcasm_observer_stats)
{
    tcasm_view_stats stats = TCASM_INIT(tcasm_view_stats);
    return tcasm_observer_stats(handle(OBSERVER), &stats);
}

CALL(tcasm_observers)
{
    uint64_t pids[4], uids[4];
    size_t pins[4], room = below(5), count;
    int status = tcasm_observers(handle(OBSERVER), pids, uids, pins, room, &count);
    for (size_t i = 0; status == TCASM_OK && i < room && i < count; i++)
        CHECK(pids[i] == (uint64_t)getpid());
    return status;
}

CALL(tcasm_pinned)
{
    uint64_t versions[4], pid = below(4) ? (uint64_t)getpid() : (uint64_t)number();
    size_t count;
    return tcasm_pinned(handle(OBSERVER), pid, versions, below(5), &count);
}

CALL(tcasm_release)
{
    return tcasm_release(handle(VERSION));
}

CALL(tcasm_version_stamp)
{
    tcasm_stamp stamp = TCASM_INIT(tcasm_stamp);
    return tcasm_version_stamp(handle(VERSION), &stamp);
}

CALL(tcasm_field_count)
{
    size_t count;
    return tcasm_field_count(handle(VERSION), &count);
}

CALL(tcasm_field_name)
{
    const char *name = NULL;
    return with_text(tcasm_field_name(handle(VERSION), below(5), &name), &name);
}

CALL(tcasm_layout_of)
{
    tcasm_array array = TCASM_INIT(tcasm_array);
    return tcasm_layout_of(handle(VERSION), field_name(), &array);
}

CALL(tcasm_array_of)
{
    tcasm_array array = TCASM_INIT(tcasm_array);
    return with_array(tcasm_array_of(handle(VERSION), field_name(), &array), &array);
}

CALL(tcasm_part_of)
{
    tcasm_array array = TCASM_INIT(tcasm_array);
    size_t first[3] = {below(3), below(3), 0}, count[3] = {below(3), below(3), 1};
    size_t rank = below(2) ? 1 : below(4);
    int status = tcasm_part_of(handle(VERSION), field_name(), rank, first, count, &array);
    return with_array(status, &array);
}

CALL(tcasm_read)
{
    uint8_t bytes[16];
    uint64_t offset = below(2) ? below(16) : (uint64_t)number();
    return tcasm_read(handle(VERSION), field_name(), offset, bytes, below(17));
}

CALL(tcasm_attrs_of)
{
    tcasm_attrs *attrs = NULL;
    const char *name = below(2) ? NULL : field_name();
    return made(ATTRS, tcasm_attrs_of(handle(VERSION), name, &attrs), &attrs);
}

CALL(tcasm_field_text)
{
    const char *stored = NULL;
    int option = below(8) ? 1 + (int)below(TCASM_FIELD_QUANTITY) : (int)number();
    return with_text(tcasm_field_text(handle(VERSION), field_name(), option, &stored), &stored);
}

CALL(tcasm_changes)
{
    const char *names[2];
    uint64_t pages;
    size_t room = below(3), count;
    void *older = below(2) ? NULL : handle(VERSION);
    int status = tcasm_changes(handle(VERSION), older, &pages, names, room, &count);
    for (size_t i = 0; status == TCASM_OK && i < room && i < count; i++)
        with_text(status, &names[i]);
    return status;
}

/* The ranges are ascending, and do not touch. */
CALL(tcasm_changed_ranges)
{
    uint64_t offsets[4], lengths[4];
    size_t room = below(5), count;
    void *older = below(2) ? NULL : handle(VERSION);
    int status = tcasm_changed_ranges(handle(VERSION), older, field_name(), offsets, lengths,
                                      room, &count);
    for (size_t i = 0; status == TCASM_OK && i < room && i < count; i++) {
        CHECK(lengths[i] > 0);
        CHECK(i == 0 || offsets[i] > offsets[i - 1] + lengths[i - 1]);
    }
    return status;
}

/* There is room where a region of this process lay that has been closed. */
CALL(tcasm_map_at_base)
{
    const void *base = NULL;
    int status = tcasm_map_at_base(handle(VERSION), &base);
    if (status == TCASM_OK)
        seen = *(const uint8_t *)base;
    return status;
}

static struct call version_calls[] = {
    ROW(tcasm_attach, 6), ROW(tcasm_attach_kept, 1), ROW(tcasm_detach, 1), ROW(tcasm_latest, 3),
    ROW(tcasm_wait_newer, 3), ROW(tcasm_next, 4), ROW(tcasm_every_version, 2),
    ROW(tcasm_missed, 1), ROW(tcasm_version_at, 2), ROW(tcasm_available, 1),
    ROW(tcasm_stream_status, 1), ROW(tcasm_descriptor, 1), ROW(tcasm_acknowledge, 1),
    ROW(tcasm_set_copy_budget, 1), ROW(tcasm_region_info, 1), ROW(tcasm_counter, 1),
    ROW(tcasm_observer_stats, 1), ROW(tcasm_observers, 1), ROW(tcasm_pinned, 1),
    ROW(tcasm_release, 1), ROW(tcasm_version_stamp, 1), ROW(tcasm_field_count, 1),
    ROW(tcasm_field_name, 1), ROW(tcasm_layout_of, 1), ROW(tcasm_array_of, 2),
    ROW(tcasm_part_of, 2), ROW(tcasm_read, 2), ROW(tcasm_attrs_of, 2), ROW(tcasm_field_text, 1),
    ROW(tcasm_changes, 2), ROW(tcasm_changed_ranges, 3), ROW(tcasm_map_at_base, 3),
};

#endif
