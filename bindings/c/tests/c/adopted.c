/* Arrays of C that become fields where they are, and what happens when they go away. */
#include "check.h"
#include <sys/mman.h>

#define N 5000

static double table[N] = {1.0};

static double value_at(tcasm_observer *observer, const char *name, size_t i)
{
    tcasm_version *version;
    tcasm_array array = TCASM_INIT(tcasm_array);
    double value;
    OK(tcasm_latest(observer, &version));
    OK(tcasm_array_of(version, name, &array));
    value = ((const double *)array.data)[i];
    OK(tcasm_release(version));
    return value;
}

static void static_and_heap_arrays_are_published_in_place(tcasm_producer *producer,
                                                          tcasm_observer *observer)
{
    size_t shape[] = {N}, lost = 9;
    double *heap = malloc(N * sizeof *heap);
    tcasm_array live = TCASM_INIT(tcasm_array);
    tcasm_receipt receipt = TCASM_INIT(tcasm_receipt);
    CHECK(heap != NULL);
    for (size_t i = 0; i < N; i++)
        heap[i] = (double)i;
    OK(tcasm_adopt(producer, "table", TCASM_F64, 1, shape, table, NULL));
    OK(tcasm_adopt(producer, "heap", TCASM_F64, 1, shape, heap, NULL));
    OK(tcasm_live(producer, "heap", &live));
    CHECK(live.data == heap);
    OK(tcasm_publish(producer, 1, 0.1));
    CHECK(value_at(observer, "table", 0) == 1.0);
    CHECK(value_at(observer, "heap", N - 1) == N - 1);
    table[N - 1] = 2.0;
    heap[0] = -1.0;
    OK(tcasm_publish(producer, 2, 0.2));
    CHECK(value_at(observer, "table", N - 1) == 2.0);
    CHECK(value_at(observer, "heap", 0) == -1.0);
    OK(tcasm_last_receipt(producer, &receipt));
    CHECK(receipt.lost == 0);
    OK(tcasm_release_adopted(producer, "heap"));
    OK(tcasm_release_adopted(producer, "table"));
    free(heap);
    OK(tcasm_lost_count(producer, &lost));
    CHECK(lost == 0);
}

static void unmapped_array_is_lost_by_name(tcasm_producer *producer, tcasm_observer *observer)
{
    size_t bytes = 1 << 20, shape[] = {bytes / sizeof(double)}, lost = 0;
    double *array = mmap((void *)0x300000000000, bytes, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    const char *name = NULL;
    tcasm_version *version;
    tcasm_array there = TCASM_INIT(tcasm_array);
    tcasm_receipt receipt = TCASM_INIT(tcasm_receipt);
    CHECK(array != MAP_FAILED);
    array[0] = 7.0;
    OK(tcasm_adopt(producer, "u", TCASM_F64, 1, shape, array, NULL));
    OK(tcasm_publish(producer, 3, 0.3));
    CHECK(value_at(observer, "u", 0) == 7.0);
    CHECK(munmap(array, bytes) == 0);
    OK(tcasm_publish(producer, 4, 0.4));
    OK(tcasm_last_receipt(producer, &receipt));
    CHECK(receipt.lost == 1);
    OK(tcasm_lost_count(producer, &lost));
    OK(tcasm_lost_name(producer, 0, &name));
    CHECK(lost == 1 && strcmp(name, "u") == 0);
    FAILS(TCASM_NOT_FOUND, tcasm_lost_name(producer, 1, &name));
    OK(tcasm_latest(observer, &version));
    FAILS(TCASM_LOST, tcasm_array_of(version, "u", &there));
    said("\"u\" is lost");
    FAILS(TCASM_LOST, tcasm_read(version, "u", 0, (uint8_t *)&lost, 1));
    OK(tcasm_release(version));
    FAILS(TCASM_LOST, tcasm_live(producer, "u", &there));
    OK(tcasm_release_adopted(producer, "u"));
    OK(tcasm_publish(producer, 5, 0.5));
    OK(tcasm_latest(observer, &version));
    FAILS(TCASM_NOT_FOUND, tcasm_array_of(version, "u", &there));
    OK(tcasm_release(version));
}

static void misuse_is_a_status(tcasm_producer *producer)
{
    size_t shape[] = {N};
    tcasm_field_options *options;
    FAILS(TCASM_NOT_DEFINED, tcasm_adopt(producer, "x", TCASM_F64, 1, shape, NULL, NULL));
    said("nothing is mapped at 0x0");
    FAILS(TCASM_NOT_DEFINED, tcasm_adopt(producer, "x", TCASM_F64, 1, shape, (void *)8, NULL));
    FAILS(TCASM_NOT_DEFINED,
          tcasm_adopt(producer, "x", TCASM_F64, 1, shape, (char *)table + 4, NULL));
    said("not a multiple of 8");
    FAILS(TCASM_INVALID_HANDLE, tcasm_adopt(NULL, "x", TCASM_F64, 1, shape, table, NULL));
    FAILS(TCASM_INVALID_ARGUMENT, tcasm_adopt(producer, NULL, TCASM_F64, 1, shape, table, NULL));
    FAILS(TCASM_INVALID_ARGUMENT, tcasm_adopt(producer, "x", TCASM_F64, 1, NULL, table, NULL));
    OK(tcasm_field_options_new(&options));
    OK(tcasm_field_options_set(options, TCASM_FIELD_HANDED_OVER, 1));
    FAILS(TCASM_INVALID_ARGUMENT,
          tcasm_adopt(producer, "x", TCASM_F64, 1, shape, table, options));
    OK(tcasm_field_options_free(options));
    FAILS(TCASM_NOT_FOUND, tcasm_release_adopted(producer, "x"));
    OK(tcasm_adopt(producer, "x", TCASM_F64, 1, shape, table, NULL));
    FAILS(TCASM_NOT_DEFINED, tcasm_adopt(producer, "y", TCASM_F64, 1, shape, table, NULL));
    said("overlaps");
    FAILS(TCASM_NOT_DEFINED, tcasm_adopt(producer, "x", TCASM_F64, 1, shape, table, NULL));
    OK(tcasm_add_field(producer, "own", TCASM_F64, 1, shape, NULL, NULL));
    FAILS(TCASM_NOT_DEFINED, tcasm_release_adopted(producer, "own"));
    said("not an adopted array");
}

int main(int argc, char **argv)
{
    tcasm_producer *producer;
    tcasm_observer *observer;
    const char *name = argc > 1 ? argv[1] : "c-adopted";
    OK(tcasm_create(name, 1 << 24, NULL, &producer));
    OK(tcasm_attach(name, 5.0, &observer));
    static_and_heap_arrays_are_published_in_place(producer, observer);
    unmapped_array_is_lost_by_name(producer, observer);
    misuse_is_a_status(producer);
    OK(tcasm_detach(observer));
    OK(tcasm_close(producer));
    return 0;
}
