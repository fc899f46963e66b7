/* Transfers by cookie, host buffers and groups, each with several processes. */
#include "check.h"
#include <sys/wait.h>
#include <unistd.h>

static char name[128];

/* Runs a part of the test in a process of its own. Returns its number. */
static pid_t apart(void (*part)(void))
{
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        part();
        _exit(0);
    }
    CHECK(child > 0);
    return child;
}

static void ended_well(pid_t child)
{
    int status;
    CHECK(waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

/* What the owner tells its peer. */
static struct {
    char address[256];
    tcasm_cookie columns, field, writable;
} told;

static double grid[4][8];

static void peer(void)
{
    tcasm_peer *peer;
    tcasm_declaration declaration = TCASM_INIT(tcasm_declaration);
    tcasm_cookie wrong = {{1, 2, 3}};
    double values[8];
    uint64_t version;
    OK(tcasm_connect(told.address, &peer));
    OK(tcasm_describe(peer, &told.columns, &declaration));
    CHECK(declaration.bytes == 8 * 8 && declaration.version == 0 && declaration.once == 0);
    CHECK(declaration.access == TCASM_READ);
    OK(tcasm_read_declared(peer, &told.columns, 0, (uint8_t *)values, sizeof values, &version));
    for (int i = 0; i < 8; i++)
        CHECK(values[i] == 10 * (i / 2) + 2 + i % 2);
    CHECK(version == 0);
    FAILS(TCASM_REFUSED, tcasm_read_declared(peer, &told.columns, 1, (uint8_t *)values, 64, NULL));
    FAILS(TCASM_REFUSED, tcasm_write_declared(peer, &told.columns, 0, (uint8_t *)values, 8));
    FAILS(TCASM_REFUSED, tcasm_describe(peer, &wrong, &declaration));
    said("no such cookie");

    OK(tcasm_read_declared(peer, &told.field, 8, (uint8_t *)values, 16, &version));
    CHECK(version == 1 && values[0] == 1.5 && values[1] == 2.5);

    values[0] = -7.0;
    OK(tcasm_write_declared(peer, &told.writable, 0, (uint8_t *)values, 8));
    OK(tcasm_disconnect(peer));
    FAILS(TCASM_CLOSED, tcasm_disconnect(peer));
}

static void memory_is_read_and_written_by_cookie(void)
{
    tcasm_owner *owner;
    tcasm_producer *producer;
    tcasm_observer *observer;
    tcasm_version *version;
    const char *address;
    void *data;
    size_t length[] = {4}, shape[] = {4, 2};
    int64_t strides[] = {sizeof grid[0], sizeof grid[0][0]};
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 8; j++)
            grid[i][j] = 10 * i + j;
    OK(tcasm_owner_new(0, &owner));
    OK(tcasm_owner_address(owner, &address));
    snprintf(told.address, sizeof told.address, "%s", address);
    /* Columns 2 and 3. */
    OK(tcasm_declare_array(owner, &grid[0][2], 8, 2, shape, strides, TCASM_READ, 0, &told.columns));
    static double target;
    tcasm_segment segment = {&target, sizeof target};
    OK(tcasm_declare(owner, &segment, 1, TCASM_READ_WRITE, 1, &told.writable));
    FAILS(TCASM_INVALID_ARGUMENT, tcasm_declare(owner, &segment, 1, 9, 0, &told.columns));
    tcasm_segment nowhere = {(void *)0x10, 8};
    tcasm_cookie unused;
    FAILS(TCASM_NOT_DEFINED, tcasm_declare(owner, &nowhere, 1, TCASM_READ, 0, &unused));

    OK(tcasm_create(name, 1 << 20, NULL, &producer));
    OK(tcasm_add_field(producer, "u", TCASM_F64, 1, length, NULL, &data));
    for (int i = 0; i < 4; i++)
        ((double *)data)[i] = i + 0.5;
    OK(tcasm_publish(producer, 1, 1.0));
    OK(tcasm_attach(name, 5.0, &observer));
    OK(tcasm_wait_newer(observer, 5.0, &version));
    OK(tcasm_declare_field(owner, version, "u", &told.field));
    OK(tcasm_release(version));

    ended_well(apart(peer));
    CHECK(target == -7.0);
    OK(tcasm_revoke(owner, &told.columns, 5.0));
    OK(tcasm_revoke(owner, &told.field, 5.0));
    OK(tcasm_owner_free(owner));
    OK(tcasm_detach(observer));
    OK(tcasm_close(producer));
}

static tcasm_host_buffer *open_buffer(int *created, size_t *address)
{
    const char *names[] = {"table", "scratch", "ranks"};
    size_t sizes[] = {1 << 16, 1 << 12, 1 << 20}, bytes;
    uint32_t ranks[] = {0, 0, 4};
    tcasm_host_buffer *buffer;
    OK(tcasm_host_buffer_open(name, 3, names, sizes, NULL, ranks, 0, 30.0, &buffer));
    OK(tcasm_host_buffer_info(buffer, address, &bytes, created));
    CHECK(bytes >= (1 << 16) + (1 << 12));
    return buffer;
}

static int ready[2], go[2];

/* Attaches to the buffer of the parent, which has filled the table with its own addresses. */
static void reader(void)
{
    int created;
    size_t address, first, bytes;
    void *data;
    CHECK(read(go[0], &first, sizeof first) == sizeof first);
    tcasm_host_buffer *buffer = open_buffer(&created, &address);
    CHECK(!created && address == first);
    OK(tcasm_section(buffer, "table", &data, &bytes));
    CHECK(bytes == 1 << 16);
    FAILS(TCASM_NOT_READY, tcasm_wait_sealed(buffer, "table", 0.01));
    CHECK(write(ready[1], "x", 1) == 1);
    OK(tcasm_wait_sealed(buffer, "table", 20.0));
    /* A list that the creator has built: its addresses hold here, too. */
    void **at = data;
    for (int i = 0; i < 3; i++)
        at = *at;
    CHECK(*at == NULL);
    FAILS(TCASM_NOT_FOUND, tcasm_section(buffer, "absent", &data, &bytes));
    OK(tcasm_host_buffer_close(buffer));
}

/* The address of the region of rank 2 is that of its part, behind those of ranks 0 and 1. */
static void a_region_lies_in_its_part(tcasm_host_buffer *buffer)
{
    tcasm_options *options;
    tcasm_producer *producer;
    size_t start, bytes, base;
    OK(tcasm_host_buffer_info(buffer, &start, &bytes, NULL));
    OK(tcasm_options_new(&options));
    FAILS(TCASM_NOT_CREATED, tcasm_options_set_part(options, buffer, "ranks", 4));
    OK(tcasm_options_set_part(options, buffer, "ranks", 2));
    OK(tcasm_create(name, 1 << 20, options, &producer));
    OK(tcasm_base(producer, &base));
    CHECK(base > start && base < start + bytes);
    OK(tcasm_publish(producer, 1, 1.0));
    OK(tcasm_close(producer));
    OK(tcasm_options_free(options));
}

static void a_list_is_walked_in_another_process(void)
{
    int created;
    size_t address, bytes;
    void *data;
    char byte;
    CHECK(pipe(ready) == 0 && pipe(go) == 0);
    /* A process that inherits a buffer cannot attach to it. So this one begins before. */
    pid_t child = apart(reader);
    tcasm_host_buffer *buffer = open_buffer(&created, &address);
    CHECK(created);
    OK(tcasm_section(buffer, "table", &data, &bytes));
    void **list = data;
    list[0] = &list[100];
    list[100] = &list[50];
    list[50] = &list[7];
    list[7] = NULL;
    CHECK(write(go[1], &address, sizeof address) == sizeof address);
    CHECK(read(ready[0], &byte, 1) == 1);
    OK(tcasm_seal(buffer, "table"));
    ended_well(child);
    a_region_lies_in_its_part(buffer);
    OK(tcasm_host_buffer_close(buffer));
    uint32_t flags[] = {1u << 31, 0};
    const char *names[] = {"a", "b"};
    size_t sizes[] = {1, 1};
    FAILS(TCASM_INVALID_ARGUMENT,
          tcasm_host_buffer_open(name, 2, names, sizes, flags, NULL, 0, 1.0, &buffer));
}

static tcasm_producer *rank(uint32_t number, double **u)
{
    tcasm_options *options;
    tcasm_producer *producer;
    size_t length[] = {3};
    void *data;
    OK(tcasm_options_new(&options));
    OK(tcasm_options_set(options, TCASM_HISTORY, 3));
    OK(tcasm_options_set_group(options, number, 2, 2, "run 1"));
    OK(tcasm_create(name, 1 << 20, options, &producer));
    OK(tcasm_options_free(options));
    tcasm_field_options *block;
    size_t whole[] = {6}, offset[] = {3 * number};
    OK(tcasm_field_options_new(&block));
    OK(tcasm_field_options_set_global(block, 1, whole, offset));
    OK(tcasm_add_field(producer, "u", TCASM_F64, 1, length, block, &data));
    offset[0] = 4;
    OK(tcasm_field_options_set_global(block, 1, whole, offset));
    FAILS(TCASM_NOT_DEFINED, tcasm_add_field(producer, "v", TCASM_F64, 1, length, block, NULL));
    OK(tcasm_field_options_free(block));
    *u = data;
    return producer;
}

static void a_step_of_a_group_is_that_of_all_ranks(void)
{
    double *u[2];
    tcasm_producer *ranks[2] = {rank(0, &u[0]), rank(1, &u[1])};
    tcasm_group_observer *group;
    tcasm_group_version *common;
    tcasm_version *version;
    uint64_t step;
    uint32_t members[4], all;
    size_t count;
    for (uint64_t s = 1; s <= 3; s++) {
        *u[0] = (double)s;
        OK(tcasm_publish(ranks[0], s, 0.0));
    }
    *u[1] = 2.0;
    OK(tcasm_group_attach(name, &group));
    FAILS(TCASM_NOT_READY, tcasm_group_wait_newer(group, 0.05, &common));
    OK(tcasm_publish(ranks[1], 2, 0.0));
    OK(tcasm_group_wait_newer(group, 5.0, &common));
    OK(tcasm_group_stamp(common, &step, NULL, &all));
    OK(tcasm_group_ranks(common, members, 4, &count));
    CHECK(step == 2 && all == 2 && count == 2 && members[1] == 1);
    for (uint32_t r = 0; r < 2; r++) {
        tcasm_array array = TCASM_INIT(tcasm_array);
        OK(tcasm_group_member(common, r, &version));
        OK(tcasm_array_of(version, "u", &array));
        CHECK(*(const double *)array.data == 2.0);
        CHECK(array.global_shape[0] == 6 && array.global_offset[0] == 3 * r);
        OK(tcasm_release(version));
    }
    FAILS(TCASM_NOT_FOUND, tcasm_group_member(common, 2, &version));
    OK(tcasm_group_release(common));
    OK(tcasm_group_detach(group));
    OK(tcasm_close(ranks[0]));
    OK(tcasm_close(ranks[1]));
}

int main(int argc, char **argv)
{
    CHECK(argc == 2);
    snprintf(name, sizeof name, "%s", argv[1]);
    memory_is_read_and_written_by_cookie();
    a_step_of_a_group_is_that_of_all_ranks();
    a_list_is_walked_in_another_process();
    return 0;
}
