/* Transfers in pieces, mapped memory, and versions of memory in pieces, between processes. */
#include "check.h"
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static char name[128];

/* Runs a part of the test in a process of its own. */
static void apart(void (*part)(void))
{
    int status;
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        part();
        _exit(0);
    }
    CHECK(child > 0 && waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

/* What the owner tells its peer. */
static char address[256];
static tcasm_cookie cookie, writable;

static tcasm_owner *new_owner(void)
{
    tcasm_owner *owner;
    const char *at;
    OK(tcasm_owner_new(0, &owner));
    OK(tcasm_owner_address(owner, &at));
    snprintf(address, sizeof address, "%s", at);
    return owner;
}

enum { ROWS = 300, COLUMNS = 700, BYTES = ROWS * COLUMNS };
static uint8_t table[ROWS][2 * COLUMNS], target[BYTES];

/* The byte of the declared half of the table at this offset. */
static uint8_t byte_at(size_t offset)
{
    return (uint8_t)(offset % 251);
}

/* Reads the declaration into three pieces, one of them empty, by each transport that copies. */
static void reads_and_writes_pieces(void)
{
    static uint8_t first[1000], second[BYTES - 1007];
    const int transports[] = {TCASM_TRANSPORT_BEST, TCASM_TRANSPORT_DIRECT, TCASM_TRANSPORT_RING};
    tcasm_segment pieces[] = {{first, sizeof first}, {NULL, 0}, {second, sizeof second}};
    tcasm_peer *peer;
    uint64_t version = 9;
    OK(tcasm_connect(address, &peer));
    for (size_t t = 0; t < 3; t++) {
        memset(first, 0, sizeof first);
        memset(second, 0, sizeof second);
        OK(tcasm_peer_set(peer, TCASM_PEER_TRANSPORT, transports[t]));
        OK(tcasm_read_vectored(peer, &cookie, 7, pieces, 3, &version));
        CHECK(version == 0);
        for (size_t i = 0; i < sizeof first; i++)
            CHECK(first[i] == byte_at(7 + i));
        for (size_t i = 0; i < sizeof second; i++)
            CHECK(second[i] == byte_at(7 + sizeof first + i));
        /* The same piece may be written to several places. */
        tcasm_segment twice[] = {{first, 10}, {first, 10}};
        OK(tcasm_write_vectored(peer, &writable, 100 * t, twice, 2));
    }
    FAILS(TCASM_REFUSED, tcasm_read_vectored(peer, &cookie, 8, pieces, 3, NULL));

    tcasm_segment overlapping[] = {{first, 10}, {first + 9, 10}};
    FAILS(TCASM_INVALID_ARGUMENT, tcasm_read_vectored(peer, &cookie, 0, overlapping, 2, NULL));
    said("overlap");
    tcasm_segment wrong[][1] = {{{NULL, 8}}, {{first, SIZE_MAX}}, {{(void *)-8, 16}}, {{first, 0}}};
    for (size_t i = 0; i < 4; i++) {
        FAILS(TCASM_INVALID_ARGUMENT, tcasm_read_vectored(peer, &cookie, 0, wrong[i], 1, NULL));
        FAILS(TCASM_INVALID_ARGUMENT, tcasm_write_vectored(peer, &writable, 0, wrong[i], 1));
    }
    FAILS(TCASM_INVALID_ARGUMENT, tcasm_read_vectored(peer, &cookie, 0, NULL, 1, NULL));
    FAILS(TCASM_INVALID_ARGUMENT, tcasm_read_vectored(peer, &cookie, 0, NULL, 0, NULL));
    FAILS(TCASM_INVALID_ARGUMENT, tcasm_read_vectored(peer, &cookie, 0, pieces, SIZE_MAX, NULL));

    OK(tcasm_peer_set(peer, TCASM_PEER_THREADS, 4));
    OK(tcasm_peer_set(peer, TCASM_PEER_TIMEOUT, 20000));
    FAILS(TCASM_INVALID_ARGUMENT, tcasm_peer_set(peer, TCASM_PEER_THREADS, 0));
    FAILS(TCASM_INVALID_ARGUMENT, tcasm_peer_set(peer, TCASM_PEER_THREADS, 1 << 20));
    FAILS(TCASM_INVALID_ARGUMENT, tcasm_peer_set(peer, TCASM_PEER_TIMEOUT, -1));
    FAILS(TCASM_INVALID_ARGUMENT, tcasm_peer_set(peer, TCASM_PEER_TRANSPORT, 4));
    FAILS(TCASM_INVALID_ARGUMENT, tcasm_peer_set(peer, 99, 1));
    /* The memory of the owner is no file. */
    OK(tcasm_peer_set(peer, TCASM_PEER_TRANSPORT, TCASM_TRANSPORT_MAPPED));
    FAILS(TCASM_REFUSED, tcasm_read_vectored(peer, &cookie, 0, pieces, 1, NULL));
    tcasm_mapped *mapped;
    FAILS(TCASM_REFUSED, tcasm_map_declared(peer, &cookie, &mapped));
    said("SharedMemory");
    OK(tcasm_disconnect(peer));
}

static void pieces_on_both_sides(void)
{
    tcasm_owner *owner = new_owner();
    size_t shape[] = {ROWS, COLUMNS}, count;
    int64_t strides[] = {sizeof table[0], 1};
    static tcasm_segment rows[ROWS];
    for (size_t i = 0; i < ROWS; i++)
        for (size_t j = 0; j < COLUMNS; j++)
            table[i][j] = byte_at(i * COLUMNS + j);
    OK(tcasm_array_segments(table, 1, 2, shape, strides, NULL, 0, &count));
    CHECK(count == ROWS);
    OK(tcasm_array_segments(table, 1, 2, shape, strides, rows, ROWS, &count));
    CHECK(rows[7].data == table[7] && rows[7].bytes == COLUMNS);
    FAILS(TCASM_INVALID_ARGUMENT,
          tcasm_array_segments(table, 0, 2, shape, strides, rows, ROWS, &count));
    OK(tcasm_declare(owner, rows, ROWS, TCASM_READ, 0, &cookie));
    tcasm_segment whole = {target, sizeof target};
    OK(tcasm_declare(owner, &whole, 1, TCASM_WRITE, 0, &writable));
    apart(reads_and_writes_pieces);
    for (size_t t = 0; t < 3; t++)
        for (size_t i = 0; i < 20; i++)
            CHECK(target[100 * t + i] == byte_at(7 + i % 10));
    OK(tcasm_revoke(owner, &cookie, 5.0));
    OK(tcasm_revoke(owner, &writable, 5.0));
    OK(tcasm_owner_free(owner));
}

/* Adds up numbers of the owner where they are. */
static void maps(void)
{
    tcasm_peer *peer;
    tcasm_mapped *mapped;
    tcasm_segment parts[2];
    size_t count;
    double sum = 0;
    OK(tcasm_connect(address, &peer));
    OK(tcasm_map_declared(peer, &cookie, &mapped));
    FAILS(TCASM_INVALID_ARGUMENT, tcasm_map_declared(peer, &cookie, NULL));
    OK(tcasm_mapped_segments(mapped, parts, 1, &count));
    CHECK(count == 2);
    OK(tcasm_mapped_segments(mapped, parts, 2, NULL));
    CHECK(parts[0].bytes == 100 * sizeof(double) && parts[1].bytes == 50 * sizeof(double));
    for (int i = 0; i < 100; i++)
        sum += ((const double *)parts[0].data)[i];
    for (int i = 0; i < 50; i++)
        sum += ((const double *)parts[1].data)[i];
    CHECK(sum == 150 * 149 / 2);
    /* The mapping outlives the connection. */
    OK(tcasm_disconnect(peer));
    CHECK(((const double *)parts[1].data)[49] == 149);
    OK(tcasm_unmap_declared(mapped));
    FAILS(TCASM_CLOSED, tcasm_unmap_declared(mapped));
    FAILS(TCASM_CLOSED, tcasm_mapped_segments(mapped, parts, 2, &count));
}

/* A store to a mapped declaration ends the process. */
static void stores_to_a_mapping(void)
{
    tcasm_peer *peer;
    tcasm_mapped *mapped;
    tcasm_segment part;
    OK(tcasm_connect(address, &peer));
    OK(tcasm_map_declared(peer, &cookie, &mapped));
    OK(tcasm_mapped_segments(mapped, &part, 1, NULL));
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        signal(SIGSEGV, SIG_DFL);
        *(volatile double *)part.data = 1.0;
        _exit(0);
    }
    int status;
    CHECK(waitpid(child, &status, 0) == child && !(WIFEXITED(status) && WEXITSTATUS(status) == 0));
}

static void shared_memory_is_mapped_without_a_copy(void)
{
    tcasm_owner *owner = new_owner();
    tcasm_shared_memory *memory;
    void *data;
    tcasm_cookie all;
    FAILS(TCASM_INVALID_ARGUMENT, tcasm_shared_memory_new(0, &memory, &data));
    FAILS(TCASM_OTHER_ERROR, tcasm_shared_memory_new(SIZE_MAX, &memory, &data));
    OK(tcasm_shared_memory_new(1 << 20, &memory, &data));
    double *numbers = data;
    tcasm_segment parts[] = {{numbers + 1000, 100 * sizeof(double)}, {numbers, 50 * sizeof(double)}};
    for (int i = 0; i < 150; i++)
        numbers[i < 100 ? 1000 + i : i - 100] = i;
    OK(tcasm_declare_shared(owner, memory, parts, 2, TCASM_READ, 0, &cookie));
    OK(tcasm_declare_shared(owner, memory, NULL, 0, TCASM_READ_WRITE, 1, &all));
    tcasm_segment outside = {numbers + 1000, 1 << 20};
    FAILS(TCASM_NOT_DEFINED,
          tcasm_declare_shared(owner, memory, &outside, 1, TCASM_READ, 0, &all));
    said("outside of the shared memory");
    apart(maps);
    apart(stores_to_a_mapping);
    /* A declaration keeps the memory. */
    OK(tcasm_shared_memory_free(memory));
    FAILS(TCASM_CLOSED, tcasm_declare_shared(owner, memory, NULL, 0, TCASM_READ, 0, &all));
    apart(maps);
    OK(tcasm_revoke(owner, &cookie, 5.0));
    OK(tcasm_owner_free(owner));
}

static int told[2], answered[2];

static void tell(int pipe, char byte)
{
    CHECK(write(pipe, &byte, 1) == 1);
}

static void hear(int pipe, char expected)
{
    char byte;
    CHECK(read(pipe, &byte, 1) == 1 && byte == expected);
}

enum { PIECES = 64, LONG = 5000 };
static uint8_t pieces_of_versions[PIECES][2 * LONG];

/* Holds bytes on both sides of the border of two pieces, and reads them. */
static void reads_what_it_holds(tcasm_peer *peer, uint64_t wanted)
{
    uint8_t bytes[8];
    uint64_t held, number;
    OK(tcasm_hold(peer, &cookie, LONG - 4, 100, &held));
    CHECK(held == 100);
    for (int i = 0; i < 3; i++) {
        OK(tcasm_read_held(peer, 0, bytes, 8, &number));
        CHECK(number == wanted);
        CHECK(bytes[3] == 100 * (wanted - 1) && bytes[4] == 1 + 100 * (wanted - 1));
    }
    OK(tcasm_read_held(peer, 92, bytes, 8, NULL));
    FAILS(TCASM_REFUSED, tcasm_read_held(peer, 93, bytes, 8, NULL));
    FAILS(TCASM_REFUSED, tcasm_read_held(peer, UINT64_MAX, bytes, 8, NULL));
    FAILS(TCASM_INVALID_ARGUMENT, tcasm_hold(peer, &cookie, 0, 8, &held));
    FAILS(TCASM_INVALID_ARGUMENT, tcasm_read_declared(peer, &cookie, 0, bytes, 8, &number));
    said("tcasm_let_go");
    OK(tcasm_let_go(peer));
    /* The connection is as before after an error. */
    FAILS(TCASM_REFUSED, tcasm_hold(peer, &cookie, PIECES * LONG, 8, &held));
    FAILS(TCASM_INVALID_ARGUMENT, tcasm_read_held(peer, 0, bytes, 8, NULL));
    OK(tcasm_read_declared(peer, &cookie, 0, bytes, 8, &number));
}

/* Reads version 1 and, when the owner says so, version 2. */
static void reads_versions(void)
{
    static uint8_t bytes[PIECES * LONG];
    tcasm_peer *peer;
    tcasm_observer *observer;
    tcasm_version *version;
    uint64_t number;
    OK(tcasm_connect(address, &peer));
    FAILS(TCASM_INVALID_ARGUMENT, tcasm_read_held(peer, 0, bytes, 8, &number));
    OK(tcasm_let_go(peer));
    for (uint64_t wanted = 1; wanted <= 2; wanted++) {
        if (wanted == 2) {
            tell(told[1], '1');
            hear(answered[0], '2');
        }
        tcasm_segment halves[] = {{bytes, 100}, {bytes + 100, sizeof bytes - 100}};
        OK(tcasm_read_vectored(peer, &cookie, 0, halves, 2, &number));
        CHECK(number == wanted);
        for (size_t i = 0; i < sizeof bytes; i++)
            CHECK(bytes[i] == i / LONG + 100 * (wanted - 1));
        OK(tcasm_read_declared(peer, &cookie, LONG, bytes, 8, &number));
        CHECK(number == wanted && bytes[0] == 1 + 100 * (wanted - 1));
        reads_what_it_holds(peer, wanted);
    }
    OK(tcasm_disconnect(peer));
    OK(tcasm_attach(name, 5.0, &observer));
    OK(tcasm_latest(observer, &version));
    tcasm_array array = TCASM_INIT(tcasm_array);
    OK(tcasm_array_of(version, "bytes", &array));
    CHECK(array.bytes == PIECES * LONG && ((const uint8_t *)array.data)[LONG] == 101);
    OK(tcasm_release(version));
    OK(tcasm_detach(observer));
}

static void memory_in_pieces_has_versions(void)
{
    tcasm_owner *owner = new_owner();
    tcasm_gathered *gathered, *other;
    tcasm_segment list[PIECES];
    for (int i = 0; i < PIECES; i++) {
        memset(pieces_of_versions[i], i, LONG);
        list[i] = (tcasm_segment){pieces_of_versions[i], LONG};
    }
    CHECK(pipe(told) == 0 && pipe(answered) == 0);
    OK(tcasm_gathered_new(owner, name, list, PIECES, &gathered));
    OK(tcasm_gathered_cookie(gathered, &cookie));
    FAILS(TCASM_NOT_CREATED, tcasm_gathered_new(owner, name, list, PIECES, &other));
    FAILS(TCASM_INVALID_ARGUMENT, tcasm_gathered_new(owner, "/", list, PIECES, &other));
    FAILS(TCASM_INVALID_ARGUMENT, tcasm_gathered_new(owner, name, list, 0, &other));
    tcasm_segment nowhere = {(void *)0x10000, 8};
    FAILS(TCASM_NOT_DEFINED, tcasm_gathered_new(owner, "nowhere", &nowhere, 1, &other));
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        reads_versions();
        _exit(0);
    }
    hear(told[0], '1');
    for (int i = 0; i < PIECES; i++)
        memset(pieces_of_versions[i], i + 100, LONG);
    /* The owner is in use until the versions end. */
    OK(tcasm_owner_free(owner));
    OK(tcasm_gathered_publish(gathered, 1, 0.5));
    tell(answered[1], '2');
    int status;
    CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
    OK(tcasm_gathered_free(gathered));
    FAILS(TCASM_CLOSED, tcasm_gathered_publish(gathered, 2, 1.0));
}

/* The cookie of a field is that of the newest version which its owner has set. `u` is in the region,
   and `v` an array of the program that begins inside a page. */
static void a_cookie_follows_versions(void)
{
    static double v[3000];
    tcasm_owner *owner = new_owner();
    tcasm_producer *producer;
    tcasm_observer *observer;
    tcasm_version *version;
    tcasm_peer *peer;
    size_t length[] = {4};
    double *u, value;
    void *data;
    uint64_t number;
    tcasm_cookie adopted;
    OK(tcasm_create(name, 1 << 20, NULL, &producer));
    OK(tcasm_add_field(producer, "u", TCASM_F64, 1, length, NULL, &data));
    OK(tcasm_adopt(producer, "v", TCASM_F64, 1, (size_t[]){2000}, v + 777, NULL));
    OK(tcasm_attach(name, 5.0, &observer));
    u = data;
    for (uint64_t n = 1; n <= 3; n++) {
        u[2] = (double)n;
        for (int i = 0; i < 3000; i++)
            v[i] = (double)n * 10000 + i;
        OK(tcasm_publish(producer, n, 0.0));
        OK(tcasm_wait_newer(observer, 5.0, &version));
        if (n == 1) {
            OK(tcasm_declare_field(owner, version, "u", &cookie));
            OK(tcasm_declare_field(owner, version, "v", &adopted));
            OK(tcasm_connect(address, &peer));
        } else {
            OK(tcasm_set_declared_field(owner, &cookie, version, "u"));
            OK(tcasm_set_declared_field(owner, &adopted, version, "v"));
        }
        FAILS(TCASM_NOT_DEFINED, tcasm_set_declared_field(owner, &cookie, version, "absent"));
        OK(tcasm_release(version));
        OK(tcasm_read_declared(peer, &cookie, 16, (uint8_t *)&value, 8, &number));
        CHECK(number == n && value == (double)n);
        memset(v, 0, sizeof v);
        for (uint64_t i = 0; i < 2000; i += 1999) {
            OK(tcasm_read_declared(peer, &adopted, 8 * i, (uint8_t *)&value, 8, &number));
            CHECK(number == n && value == (double)(n * 10000 + 777 + i));
        }
    }
    OK(tcasm_disconnect(peer));
    OK(tcasm_owner_free(owner));
    OK(tcasm_detach(observer));
    OK(tcasm_close(producer));
}

int main(int argc, char **argv)
{
    CHECK(argc == 2);
    snprintf(name, sizeof name, "%s", argv[1]);
    pieces_on_both_sides();
    shared_memory_is_mapped_without_a_copy();
    memory_in_pieces_has_versions();
    a_cookie_follows_versions();
    return 0;
}
