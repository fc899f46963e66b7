/* The observer of the conformance suite in C. README.md says what it does. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tcasm.h>

#define CHECK(call) check(call, #call)

static void check(int status, const char *call) {
    if (status != TCASM_OK) {
        fprintf(stderr, "%s: %s\n", call, tcasm_last_error());
        exit(1);
    }
}

static void print_list(tcasm_attrs *attrs) {
    size_t count;
    CHECK(tcasm_attrs_count(attrs, &count));
    for (size_t i = 0; i < count; i++) {
        const char *name, *text;
        int kind;
        int64_t number;
        double values[8];
        size_t n = 1;
        CHECK(tcasm_attrs_at(attrs, i, &name, &kind));
        printf("attr %s ", name);
        if (kind == TCASM_ATTR_INT) {
            CHECK(tcasm_attrs_get_int(attrs, name, &number));
            printf("int %" PRId64, number);
        } else if (kind == TCASM_ATTR_TEXT) {
            CHECK(tcasm_attrs_get_text(attrs, name, &text));
            printf("text %s", text);
        } else {
            printf(kind == TCASM_ATTR_FLOAT ? "float" : "floats");
            if (kind == TCASM_ATTR_FLOAT)
                CHECK(tcasm_attrs_get_float(attrs, name, values));
            else
                CHECK(tcasm_attrs_get_floats(attrs, name, values, 8, &n));
            for (size_t v = 0; v < n; v++)
                printf(" %.2f", values[v]);
        }
        printf("\n");
    }
    CHECK(tcasm_attrs_free(attrs));
}

static void print_attrs(tcasm_version *version, const char *field) {
    tcasm_attrs *attrs;
    CHECK(tcasm_attrs_of(version, field, &attrs));
    print_list(attrs);
}

static void print_value(const void *at, int dtype) {
    switch (dtype) {
    case TCASM_I8: printf(" %" PRId8, *(const int8_t *)at); break;
    case TCASM_I16: printf(" %" PRId16, *(const int16_t *)at); break;
    case TCASM_I32: printf(" %" PRId32, *(const int32_t *)at); break;
    case TCASM_I64: printf(" %" PRId64, *(const int64_t *)at); break;
    case TCASM_U8: printf(" %" PRIu8, *(const uint8_t *)at); break;
    case TCASM_U16: printf(" %" PRIu16, *(const uint16_t *)at); break;
    case TCASM_U32: printf(" %" PRIu32, *(const uint32_t *)at); break;
    case TCASM_U64: printf(" %" PRIu64, *(const uint64_t *)at); break;
    case TCASM_F32: printf(" %.2f", *(const float *)at); break;
    case TCASM_F64: printf(" %.2f", *(const double *)at); break;
    case TCASM_C32: printf(" %.2f:%.2f", ((const float *)at)[0], ((const float *)at)[1]); break;
    default: printf(" %.2f:%.2f", ((const double *)at)[0], ((const double *)at)[1]);
    }
}

static void print_values(const tcasm_array *a) {
    size_t elements = 1;
    for (int axis = 0; axis < a->rank; axis++)
        elements *= a->shape[axis];
    printf("values");
    for (size_t n = 0; n < elements; n++) {
        size_t rest = n, at = 0;
        for (int axis = a->rank - 1; axis >= 0; axis--) {
            at += rest % a->shape[axis] * a->strides[axis];
            rest /= a->shape[axis];
        }
        print_value((const char *)a->data + at, a->dtype);
    }
    printf("\n");
}

static void print_field(tcasm_version *version, const char *name) {
    static const char *dtypes[] = {"",    "i8",  "i16", "i32", "i64", "u8", "u16",
                                   "u32", "u64", "f32", "f64", "c32", "c64"};
    static const char *places[] = {"points", "cells", "none"};
    const char *unit, *mesh, *quantity;
    tcasm_array a = TCASM_INIT(tcasm_array);
    int status = tcasm_array_of(version, name, &a);
    if (status == TCASM_LOST) {
        printf("field %s %s\n", name, tcasm_status_name(status) + strlen("TCASM_"));
        return;
    }
    CHECK(status);
    CHECK(tcasm_field_text(version, name, TCASM_FIELD_UNIT, &unit));
    CHECK(tcasm_field_text(version, name, TCASM_FIELD_MESH, &mesh));
    CHECK(tcasm_field_text(version, name, TCASM_FIELD_QUANTITY, &quantity));
    printf("field %s %s shape=", name, dtypes[a.dtype]);
    for (int axis = 0; axis < a.rank; axis++)
        printf("%s%zu", axis ? "," : "", a.shape[axis]);
    printf(" order=%c ghosts=", "CF"[a.order]);
    for (int axis = 0; axis < a.rank - (a.components > 1); axis++)
        printf("%s%zu:%zu", axis ? "," : "", a.ghosts[axis][0], a.ghosts[axis][1]);
    printf(" components=%zu place=%s capacity=%zu unit=%s mesh=%s quantity=%s\n", a.components,
           places[a.centring], a.capacity, unit, mesh, quantity);
    print_attrs(version, name);
    print_values(&a);
}

static void print_mesh(tcasm_version *version, size_t index) {
    static const char *kinds[] = {"uniform",   "rectilinear",  "curvilinear",
                                  "particles", "unstructured", "mixed"};
    tcasm_mesh m = TCASM_INIT(tcasm_mesh);
    CHECK(tcasm_mesh_at(version, index, &m));
    printf("mesh %s %s geometry=", m.name, kinds[m.kind]);
    for (size_t i = 0; i < m.fields; i++)
        printf("%s%s", i ? "," : "", m.geometry[i]);
    printf(" cells=%d points=%zu,%zu,%zu origin=%.2f,%.2f,%.2f spacing=%.2f,%.2f,%.2f", m.cell_type,
           m.points[0], m.points[1], m.points[2], m.origin[0], m.origin[1], m.origin[2],
           m.spacing[0], m.spacing[1], m.spacing[2]);
    printf(" block=%s level=%" PRIu32 " refinement=%" PRIu32 ",%" PRIu32 ",%" PRIu32
           " offset=%" PRId64 ",%" PRId64 ",%" PRId64 "\n",
           m.of ? m.of : "", m.level, m.refinement[0], m.refinement[1], m.refinement[2],
           m.offset[0], m.offset[1], m.offset[2]);
    tcasm_attrs *attrs;
    CHECK(tcasm_mesh_attrs(version, m.name, &attrs));
    print_list(attrs);
}

static void print_version(tcasm_version *version) {
    tcasm_stamp stamp = TCASM_INIT(tcasm_stamp);
    size_t count;
    CHECK(tcasm_version_stamp(version, &stamp));
    printf("version %" PRIu64 " step %" PRIu64 " time %.2f\n", stamp.version, stamp.step,
           stamp.time);
    print_attrs(version, NULL);
    CHECK(tcasm_mesh_count(version, &count));
    for (size_t i = 0; i < count; i++)
        print_mesh(version, i);
    CHECK(tcasm_field_count(version, &count));
    for (size_t i = 0; i < count; i++) {
        const char *name;
        CHECK(tcasm_field_name(version, i, &name));
        print_field(version, name);
    }
}

int main(int argc, char **argv) {
    tcasm_observer *observer;
    tcasm_version *held[8];
    size_t count = 0;
    char line[80];
    CHECK(tcasm_attach(argv[argc - 1], 10.0, &observer));
    printf("ready\n.\n");
    fflush(stdout);
    while (fgets(line, sizeof line, stdin)) {
        int status = tcasm_stream_status(observer);
        if (strcmp(line, "next\n") == 0 || strcmp(line, "latest\n") == 0) {
            status = line[0] == 'n' ? tcasm_next(observer, 5.0, &held[count])
                                    : tcasm_latest(observer, &held[count]);
            if (status == TCASM_OK)
                print_version(held[count++]);
        }
        if (strcmp(line, "every\n") == 0)
            status = tcasm_every_version(observer, 1);
        if (strcmp(line, "again\n") == 0)
            print_version(held[0]);
        while (strcmp(line, "release\n") == 0 && count > 0)
            CHECK(tcasm_release(held[--count]));
        printf("%s\n.\n", tcasm_status_name(status) + strlen("TCASM_"));
        fflush(stdout);
    }
    CHECK(tcasm_detach(observer));
    return 0;
}
