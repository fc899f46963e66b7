/* The producer of the conformance suite in C. README.md says what it does. */
#define _DEFAULT_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <tcasm.h>

#define CHECK(call) check(call, #call)

static void check(int status, const char *call) {
    if (status != TCASM_OK) {
        fprintf(stderr, "%s: %s\n", call, tcasm_last_error());
        exit(1);
    }
}

static const size_t extents[7] = {2, 3, 2, 2, 1, 2, 3};
static tcasm_producer *producer;
static const char *names[64];
static char texts[64][8];
static size_t count;
/* The arrays that are adopted. Nothing else is mapped near the second one. */
static double adopted[40][30];
static float *doomed;
static const size_t doomed_bytes = 50 * 60 * sizeof(float);

static void add(const char *name, int dtype, size_t rank, const size_t *shape, int order,
                tcasm_field_options *options) {
    CHECK(tcasm_field_options_set(options, TCASM_FIELD_ORDER, order));
    CHECK(tcasm_add_field(producer, name, dtype, rank, shape, options, NULL));
    CHECK(tcasm_field_options_free(options));
    names[count++] = name;
}

static tcasm_field_options *fresh(void) {
    tcasm_field_options *options;
    CHECK(tcasm_field_options_new(&options));
    return options;
}

static tcasm_field_options *with(int option) {
    tcasm_field_options *options = fresh();
    CHECK(tcasm_field_options_set(options, option, 1));
    return options;
}

static void add_special(tcasm_attrs *attrs) {
    tcasm_field_options *o = fresh();
    CHECK(tcasm_field_options_set_ghosts(o, 2, (size_t[]){1, 0}, (size_t[]){2, 1}));
    CHECK(tcasm_field_options_set_text(o, TCASM_FIELD_UNIT, "K"));
    CHECK(tcasm_field_options_set(o, TCASM_FIELD_CENTRING, TCASM_IN_CELLS));
    CHECK(tcasm_field_options_set_attrs(o, attrs));
    add("ghosts", TCASM_F64, 2, (size_t[]){4, 5}, TCASM_ORDER_F, o);
    add("vector", TCASM_F32, 3, (size_t[]){3, 2, 3}, TCASM_ORDER_F, with(TCASM_FIELD_VECTOR));
    add("variable", TCASM_I32, 1, (size_t[]){8}, TCASM_ORDER_C, with(TCASM_FIELD_VARIABLE));
    add("handed", TCASM_F64, 1, (size_t[]){6}, TCASM_ORDER_C, with(TCASM_FIELD_HANDED_OVER));
    CHECK(tcasm_add_uniform_mesh(producer, "grid", (size_t[]){4, 3, 1}, (double[]){0, 1, 0},
                                 (double[]){0.5, 0.25, 1}, NULL));
    CHECK(tcasm_add_block(producer, "fine", (size_t[]){5, 3, 1}, (double[]){1, 1, 0},
                          (double[]){0.25, 0.5, 1}, "amr", 1, (uint32_t[]){2, 2, 1},
                          (int64_t[]){0, 0, 0}, attrs));
    CHECK(tcasm_add_mesh(producer, "axes", TCASM_RECTILINEAR, 2, (const char *[]){"c1", "f1"}, 0,
                         NULL));
    o = fresh();
    CHECK(tcasm_field_options_set_text(o, TCASM_FIELD_MESH, "grid"));
    CHECK(tcasm_field_options_set_text(o, TCASM_FIELD_QUANTITY, "heat"));
    add("meshed", TCASM_F64, 2, (size_t[]){3, 4}, TCASM_ORDER_C, o);
}

static void adopt(const char *name, int dtype, const size_t *shape, void *data,
                  tcasm_field_options *options) {
    CHECK(tcasm_adopt(producer, name, dtype, 2, shape, data, options));
    CHECK(tcasm_field_options_free(options));
    names[count++] = name;
}

static void adopt_arrays(void) {
    tcasm_field_options *o = fresh();
    CHECK(tcasm_field_options_set_text(o, TCASM_FIELD_UNIT, "Pa"));
    adopt("adopted", TCASM_F64, (size_t[]){40, 30}, adopted, o);
    doomed = mmap((void *)0x300000000000, doomed_bytes, PROT_READ | PROT_WRITE,
                  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (doomed == MAP_FAILED)
        exit(1);
    o = fresh();
    CHECK(tcasm_field_options_set(o, TCASM_FIELD_ORDER, TCASM_ORDER_F));
    adopt("doomed", TCASM_F32, (size_t[]){50, 60}, doomed, o);
}

static void create(const char *region) {
    static const char *dtypes[12] = {"i8",  "i16", "i32", "i64", "u8",  "u16",
                                     "u32", "u64", "f32", "f64", "c32", "c64"};
    tcasm_attrs *attrs;
    tcasm_options *options;
    CHECK(tcasm_attrs_new(&attrs));
    CHECK(tcasm_attrs_set_int(attrs, "cells", -42));
    CHECK(tcasm_attrs_set_float(attrs, "dt", 0.25));
    CHECK(tcasm_attrs_set_text(attrs, "code", "conformance \xc3\xa9"));
    CHECK(tcasm_attrs_set_floats(attrs, "box", (double[]){-3.0, 1.0, 2.5}, 3));
    CHECK(tcasm_options_new(&options));
    CHECK(tcasm_options_set(options, TCASM_VERSIONS, 4));
    CHECK(tcasm_options_set_attrs(options, attrs));
    CHECK(tcasm_create(region, 16 << 20, options, &producer));
    CHECK(tcasm_options_free(options));
    for (int i = 0; i < 12; i++)
        add(dtypes[i], TCASM_I8 + i, 2, (size_t[]){3, 4}, i % 2, fresh());
    for (int order = 0; order < 2; order++)
        for (size_t rank = 0; rank < 8; rank++) {
            snprintf(texts[count], sizeof texts[0], "%c%zu", "cf"[order], rank);
            add(texts[count], TCASM_F64, rank, extents, order, fresh());
        }
    add_special(attrs);
    adopt_arrays();
    CHECK(tcasm_attrs_free(attrs));
}

static void store(char *to, int dtype, int b) {
    double value = (b - 125) * 0.25, imaginary = b * 0.5;
    float single = (float)value, single_imaginary = (float)imaginary;
    switch (dtype) {
    case TCASM_F32: memcpy(to, &single, 4); return;
    case TCASM_F64: memcpy(to, &value, 8); return;
    case TCASM_C32: memcpy(to, &single, 4); memcpy(to + 4, &single_imaginary, 4); return;
    case TCASM_C64: memcpy(to, &value, 8); memcpy(to + 8, &imaginary, 8); return;
    default: memset(to, b, (size_t)1 << (dtype - 1) % 4);
    }
}

static void fill(size_t seed, size_t step) {
    tcasm_array a = TCASM_INIT(tcasm_array);
    CHECK(tcasm_live(producer, names[seed], &a));
    if (strcmp(names[seed], "adopted") == 0)
        a.data = adopted;
    size_t elements = 1;
    for (int axis = 0; axis < a.rank; axis++)
        elements *= a.shape[axis];
    for (size_t n = 0; n < elements; n++) {
        size_t rest = n, at = 0;
        for (int axis = a.rank - 1; axis >= 0; axis--) {
            at += rest % a.shape[axis] * a.strides[axis];
            rest /= a.shape[axis];
        }
        store((char *)a.data + at, a.dtype, (int)((n * 7 + seed * 13 + step * 101) % 251));
    }
}

static void print_lost(void) {
    size_t lost;
    const char *name;
    CHECK(tcasm_lost_count(producer, &lost));
    for (size_t i = 0; i < lost; i++) {
        CHECK(tcasm_lost_name(producer, i, &name));
        printf("lost %s\n", name);
    }
}

static const char *publish(size_t step) {
    CHECK(tcasm_set_len(producer, "variable", 2 + step));
    CHECK(tcasm_set_block(producer, "fine", "amr", 1, (uint32_t[]){2, 2, 1},
                          (int64_t[]){(int64_t)step, -2, 0}));
    CHECK(tcasm_rewrite(producer, "handed"));
    for (size_t i = 0; i < count; i++)
        fill(i, step);
    int status = tcasm_publish(producer, step, (double)step * 0.5);
    if (status == TCASM_SKIPPED)
        return "skipped";
    CHECK(status);
    print_lost();
    return "published";
}

static const char *unmap(void) {
    count--;
    return munmap(doomed, doomed_bytes) == 0 ? "unmapped" : "still mapped";
}

static const char *drop(void) {
    CHECK(tcasm_release_adopted(producer, "doomed"));
    return "dropped";
}

int main(int argc, char **argv) {
    char line[80];
    create(argv[argc - 1]);
    printf("ready\n.\n");
    fflush(stdout);
    for (size_t step = 1; fgets(line, sizeof line, stdin);) {
        int publishes = strcmp(line, "publish\n") == 0, unmaps = strcmp(line, "unmap\n") == 0;
        printf("%s\n.\n", publishes ? publish(step++) : unmaps ? unmap() : drop());
        fflush(stdout);
    }
    CHECK(tcasm_close(producer));
    return 0;
}
