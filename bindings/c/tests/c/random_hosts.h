/* Random calls of the functions for host buffers. This process is the only one of its host, and the
   other hosts of a job are a function that answers for them. */
#ifndef RANDOM_HOSTS_H
#define RANDOM_HOSTS_H

#include "random_objects.h"

/* Sections "a" have memory, and sections "b" are for regions. */
static const char *section_name(void)
{
    static const char *const names[] = {"a", "b", "a", "b"};
    return one_of(names);
}

static size_t section_bytes(void)
{
    return below(16) ? (1 + below(4)) * 4096 : (size_t)number();
}

/* Mostly none. TCASM_SECTION_RESERVED_PAGES is the last of those that exist. */
static uint32_t section_flags(void)
{
    return below(4) ? 0 : (uint32_t)below(3 * TCASM_SECTION_RESERVED_PAGES);
}

CALL(tcasm_host_buffer_open)
{
    tcasm_host_buffer *buffer = NULL;
    const char *names[2] = {below(8) ? "a" : section_name(), below(8) ? "b" : section_name()};
    size_t sizes[2] = {section_bytes(), section_bytes()};
    uint32_t flags[2] = {section_flags(), section_flags()}, ranks[2] = {0, (uint32_t)below(3)};
    size_t count = below(8) ? 1 + below(2) : 0, processes = below(4) ? below(2) : below(4);
    int status = tcasm_host_buffer_open(region_name(), count, names, sizes,
                                        below(2) ? NULL : flags, below(4) ? ranks : NULL,
                                        processes, timeout(), &buffer);
    return made(HOST, status, &buffer);
}

CALL(tcasm_host_buffer_close)
{
    return tcasm_host_buffer_close(handle(HOST));
}

CALL(tcasm_host_buffer_info)
{
    size_t address = 0, bytes;
    int created;
    int status = tcasm_host_buffer_info(handle(HOST), &address, &bytes, &created);
    CHECK(status != TCASM_OK || (address != 0 && created == 1));
    return status;
}

/* Only reads, because a store to a sealed section is a SIGSEGV. */
CALL(tcasm_section)
{
    void *data = NULL;
    size_t bytes = 0;
    int status = tcasm_section(handle(HOST), section_name(), &data, &bytes);
    if (status == TCASM_OK)
        seen = ((const uint8_t *)data)[bytes - 1];
    return status;
}

CALL(tcasm_seal)
{
    return tcasm_seal(handle(HOST), section_name());
}

CALL(tcasm_wait_sealed)
{
    return tcasm_wait_sealed(handle(HOST), section_name(), timeout());
}

CALL(tcasm_options_set_part)
{
    const char *name = below(2) ? "b" : section_name();
    return tcasm_options_set_part(handle(OPTIONS), handle(HOST), name, (uint32_t)below(4));
}

CALL(tcasm_host_buffer_options_new)
{
    tcasm_host_buffer_options *options = NULL;
    return made(HOST_OPTIONS, tcasm_host_buffer_options_new(&options), &options);
}

CALL(tcasm_host_buffer_options_free)
{
    return tcasm_host_buffer_options_free(handle(HOST_OPTIONS));
}

CALL(tcasm_host_buffer_options_add)
{
    const char *name = below(2) ? "a" : section_name();
    size_t bytes = section_bytes();
    return tcasm_host_buffer_options_add(handle(HOST_OPTIONS), name, bytes, section_flags());
}

CALL(tcasm_host_buffer_options_add_regions)
{
    const char *name = below(2) ? "b" : section_name();
    size_t bytes = section_bytes();
    return tcasm_host_buffer_options_add_regions(handle(HOST_OPTIONS), name, (uint32_t)below(4),
                                                 bytes);
}

CALL(tcasm_host_buffer_options_set_nodes)
{
    uint32_t nodes[2] = {0, below(4) ? 0 : (uint32_t)number()};
    return tcasm_host_buffer_options_set_nodes(handle(HOST_OPTIONS), section_name(), nodes,
                                               below(3));
}

CALL(tcasm_host_buffer_options_set_processes)
{
    size_t count = below(4) ? 1 : (size_t)number();
    return tcasm_host_buffer_options_set_processes(handle(HOST_OPTIONS), count);
}

/* One of the addresses is possible. */
CALL(tcasm_host_buffer_options_set_address)
{
    size_t address = below(2) ? 0x320000000000 : (size_t)number();
    return tcasm_host_buffer_options_set_address(handle(HOST_OPTIONS), address);
}

/* Nobody answers at the address. A name without a port is not looked up. */
CALL(tcasm_host_buffer_options_set_rendezvous)
{
    static const char secret[] = "a secret of this test";
    char path[] = "/tmp/tcasm-random.XXXXXX";
    const char *address = below(2) ? "127.0.0.1:1" : text();
    int file = mkstemp(path);
    CHECK(file >= 0 && write(file, secret, sizeof secret) == (ssize_t)sizeof secret);
    CHECK(close(file) == 0);
    int status = tcasm_host_buffer_options_set_rendezvous(handle(HOST_OPTIONS), address,
                                                          below(8) ? path : text());
    CHECK(unlink(path) == 0);
    return status;
}

/* The numbers of hosts. A function gets the address of that number as its context. */
static const uint32_t numbers_of_hosts[] = {1, 2, 3, 100, 0, UINT32_MAX};

/* Answers for all hosts what this one says. */
static int same_everywhere(void *context, const void *mine, void *all, size_t bytes, double left)
{
    const uint32_t *hosts = context;
    (void)left;
    for (uint32_t i = 0; i < *hosts; i++)
        memcpy((uint8_t *)all + i * bytes, mine, bytes);
    return 0;
}

/* Answers anything. */
static int anything(void *context, const void *mine, void *all, size_t bytes, double left)
{
    const uint32_t *hosts = context;
    uint8_t *to = all;
    same_everywhere(context, mine, all, bytes, left);
    to[below(256) % (*hosts * bytes)] = (uint8_t)below(256);
    return 0;
}

static int fails(void *context, const void *mine, void *all, size_t bytes, double left)
{
    (void)context, (void)mine, (void)all, (void)bytes, (void)left;
    return 5;
}

CALL(tcasm_host_buffer_options_set_all_gather)
{
    static const tcasm_all_gather functions[] = {same_everywhere, same_everywhere, anything,
                                                 fails, NULL};
    const uint32_t *hosts = &numbers_of_hosts[below(6)];
    size_t processes = below(4) ? 1 : below(3);
    int leads = below(4) ? 1 : (int)below(3);
    return tcasm_host_buffer_options_set_all_gather(handle(HOST_OPTIONS), functions[below(5)],
                                                    (void *)(uintptr_t)hosts, *hosts, processes,
                                                    leads);
}

CALL(tcasm_host_buffer_create)
{
    tcasm_host_buffer *buffer = NULL;
    void *options = handle(HOST_OPTIONS);
    int status = tcasm_host_buffer_create(region_name(), options, timeout(), &buffer);
    return made(HOST, status, &buffer);
}

static struct call host_calls[] = {
    ROW(tcasm_host_buffer_open, 4), ROW(tcasm_host_buffer_close, 1),
    ROW(tcasm_host_buffer_info, 1), ROW(tcasm_section, 2), ROW(tcasm_seal, 2),
    ROW(tcasm_wait_sealed, 1), ROW(tcasm_options_set_part, 3),
    ROW(tcasm_host_buffer_options_new, 3), ROW(tcasm_host_buffer_options_free, 1),
    ROW(tcasm_host_buffer_options_add, 3), ROW(tcasm_host_buffer_options_add_regions, 2),
    ROW(tcasm_host_buffer_options_set_nodes, 2), ROW(tcasm_host_buffer_options_set_processes, 1),
    ROW(tcasm_host_buffer_options_set_address, 1),
    ROW(tcasm_host_buffer_options_set_rendezvous, 1),
    ROW(tcasm_host_buffer_options_set_all_gather, 2), ROW(tcasm_host_buffer_create, 6),
};

#endif
