/* Objects that fit together, which random calls alone would seldom make. Each situation leaves them
   in slots, so that later calls change, read and end them. */
#ifndef RANDOM_SITUATIONS_H
#define RANDOM_SITUATIONS_H

#include "random_regions.h"
#include <sys/mman.h>

/* Creates a region, or a group, of a name that is free, with room for handed-over fields. Stores
   the name. */
static tcasm_producer *new_region(tcasm_options *options, const char **name)
{
    tcasm_producer *producer = NULL;
    *name = NULL;
    for (int i = 0; i < NAMES && *name == NULL; i++)
        if (tcasm_create(region[i], 16 << 20, options, &producer) == TCASM_OK)
            *name = region[i];
    if (*name != NULL)
        keep(PRODUCER, producer);
    return producer;
}

/* Options of a field with one number that is set. */
static tcasm_field_options *field_with(int option, int64_t value)
{
    tcasm_field_options *options = NULL;
    made(FIELD_OPTIONS, tcasm_field_options_new(&options), &options);
    tcasm_field_options_set(options, option, value);
    return options;
}

static int add(tcasm_producer *producer, const char *name, tcasm_field_options *options)
{
    return tcasm_add_field(producer, name, TCASM_F64, 1, (size_t[]){8}, options, NULL);
}

static void publish(tcasm_producer *producer)
{
    published(producer, tcasm_publish(producer, next_step(), 0.5));
    tcasm_wait_visible(producer, 1.0);
}

/* Publishes a version, attaches, and keeps both. */
static int observe(tcasm_producer *producer, const char *name)
{
    tcasm_observer *observer = NULL;
    tcasm_version *version = NULL;
    publish(producer);
    made(OBSERVER, tcasm_attach(name, 0.0, &observer), &observer);
    return made(VERSION, tcasm_latest(observer, &version), &version);
}

static int random_fields(void)
{
    const char *name;
    tcasm_producer *producer = new_region(NULL, &name);
    add(producer, "a", NULL);
    add(producer, "b", field_with(TCASM_FIELD_VARIABLE, 1));
    tcasm_add_structures(producer, "c", 4, 16, 8, "pair", NULL);
    tcasm_adopt(producer, "d", TCASM_F64, 1, (size_t[]){8}, adopted, NULL);
    return observe(producer, name);
}

static int random_buffers(void)
{
    const char *name, *fields[2] = {"a", "c"};
    tcasm_producer *producer = new_region(NULL, &name);
    add(producer, fields[0], NULL);
    add(producer, fields[1], field_with(TCASM_FIELD_HANDED_OVER, 1));
    for (int i = 0; i < 2; i++) {
        tcasm_buffer *buffer = NULL;
        made(BUFFER, tcasm_buffer_like(producer, fields[i], &buffer, NULL), &buffer);
    }
    return observe(producer, name);
}

static int random_particles(void)
{
    const char *name, *geometry[1] = {"b"};
    tcasm_producer *producer = new_region(NULL, &name);
    tcasm_field_options *options = field_with(TCASM_FIELD_VARIABLE, 1);
    tcasm_field_options_set(options, TCASM_FIELD_VECTOR, 1);
    tcasm_add_field(producer, "b", TCASM_F64, 2, (size_t[]){10, 3}, options, NULL);
    tcasm_add_mesh(producer, "m", TCASM_PARTICLES, 1, geometry, 0, NULL);
    tcasm_set_len(producer, "m", 4);
    return observe(producer, name);
}

static int random_blocks(void)
{
    const char *name;
    const size_t points[3] = {3, 3, 1};
    const double zeros[3] = {0.0, 0.0, 0.0}, ones[3] = {1.0, 1.0, 1.0};
    const uint32_t refinement[3] = {2, 2, 1};
    const int64_t offset[3] = {0, 4, 0};
    tcasm_producer *producer = new_region(NULL, &name);
    tcasm_add_uniform_mesh(producer, "m", points, zeros, ones, NULL);
    tcasm_add_block(producer, "n", points, zeros, ones, "w", 1, refinement, offset, NULL);
    return observe(producer, name);
}

/* A region that is closed while its last version is held. */
static int random_ended_region(void)
{
    const char *name;
    tcasm_producer *producer = new_region(NULL, &name);
    add(producer, "a", NULL);
    int status = observe(producer, name);
    tcasm_close(producer);
    return status;
}

/* An array that is unmapped although it is adopted. Nothing else of a process comes to lie at such
   an address. */
static int random_lost_array(void)
{
    const char *name;
    size_t bytes = 2 * ARENA, shape[1] = {bytes / sizeof(double)}, lost = 0;
    tcasm_producer *producer = new_region(NULL, &name);
    void *array = mmap((void *)0x310000000000, bytes, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(array != MAP_FAILED);
    tcasm_adopt(producer, "d", TCASM_F64, 1, shape, array, NULL);
    publish(producer);
    CHECK(munmap(array, bytes) == 0);
    int status = observe(producer, name);
    CHECK(tcasm_lost_count(producer, &lost) != TCASM_OK || lost <= 1);
    return status;
}

/* A group of one rank, whose field is the whole of a global array. */
static int random_group(void)
{
    const char *name;
    tcasm_options *options = NULL;
    tcasm_field_options *block = field_with(TCASM_FIELD_VARIABLE, 0);
    tcasm_group_observer *group = NULL;
    tcasm_group_version *version = NULL;
    made(OPTIONS, tcasm_options_new(&options), &options);
    tcasm_options_set_group(options, 0, 1, 1, "run");
    tcasm_producer *producer = new_region(options, &name);
    tcasm_field_options_set_global(block, 1, (size_t[]){8}, (size_t[]){0});
    add(producer, "a", block);
    publish(producer);
    made(GROUP, tcasm_group_attach(name, &group), &group);
    return made(STEP, tcasm_group_latest(group, &version), &version);
}

/* Keeps a new owner, and one of its peers. Stores both. */
static int connect_to_new_owner(tcasm_owner **owner, tcasm_peer **peer)
{
    const char *address = NULL;
    made(OWNER, tcasm_owner_new(0, owner), owner);
    tcasm_owner_address(*owner, &address);
    return made(PEER, tcasm_connect(address, peer), peer);
}

static int random_declarations(void)
{
    tcasm_owner *owner = NULL;
    tcasm_peer *peer = NULL;
    tcasm_cookie cookie = {{0}};
    tcasm_segment pieces[2] = {{declared, 1000}, {declared + 2000, 1000}};
    int status = connect_to_new_owner(&owner, &peer);
    for (int access = TCASM_READ; access <= TCASM_READ_WRITE; access++)
        kept_cookie(tcasm_declare(owner, pieces, 2, access, 0, &cookie), &cookie);
    return status;
}

static int random_shared_memory(void)
{
    tcasm_owner *owner = NULL;
    tcasm_peer *peer = NULL;
    tcasm_shared_memory *memory = NULL;
    tcasm_mapped *mapped = NULL;
    tcasm_cookie cookie = {{0}};
    connect_to_new_owner(&owner, &peer);
    made(SHARED, tcasm_shared_memory_new(5000, &memory, NULL), &memory);
    int status = tcasm_declare_shared(owner, memory, NULL, 0, TCASM_READ_WRITE, 0, &cookie);
    kept_cookie(status, &cookie);
    return made(MAPPED, tcasm_map_declared(peer, &cookie, &mapped), &mapped);
}

static int random_gathered_memory(void)
{
    tcasm_owner *owner = NULL;
    tcasm_peer *peer = NULL;
    tcasm_gathered *object = NULL;
    tcasm_segment pieces[2] = {{gathered, 1000}, {gathered + 2000, 1000}};
    int status = connect_to_new_owner(&owner, &peer);
    for (int i = NAMES - 1; i >= 0 && object == NULL; i--)
        status = made(GATHERED, tcasm_gathered_new(owner, region[i], pieces, 2, &object), &object);
    return status;
}

/* A host buffer, and options that place a region in it. */
static int random_host_buffer(void)
{
    tcasm_host_buffer_options *sections = NULL;
    tcasm_host_buffer *buffer = NULL;
    tcasm_options *options = NULL;
    int status = tcasm_host_buffer_options_new(&sections);
    made(HOST_OPTIONS, status, &sections);
    tcasm_host_buffer_options_add(sections, "a", 5000, 0);
    tcasm_host_buffer_options_add_regions(sections, "b", 3, 64 << 10);
    for (int i = 0; i < NAMES && buffer == NULL; i++)
        status = made(HOST, tcasm_host_buffer_create(region[i], sections, 0.0, &buffer), &buffer);
    made(OPTIONS, tcasm_options_new(&options), &options);
    tcasm_options_set_part(options, buffer, "b", 0);
    return status;
}

static struct call situations[] = {
    ROW(fields, 1), ROW(buffers, 1), ROW(particles, 1), ROW(blocks, 1), ROW(ended_region, 1),
    ROW(lost_array, 1), ROW(group, 1), ROW(declarations, 1), ROW(shared_memory, 1),
    ROW(gathered_memory, 1), ROW(host_buffer, 1),
};

#endif
