/* Every version of a stream, the meshes of a version, and the memory of both ends. */
#include "check.h"
#include <inttypes.h>
#include <unistd.h>

static tcasm_producer *producer;
static tcasm_observer *observer;

static void create(const char *name)
{
    tcasm_options *options;
    size_t shape[] = {4};
    OK(tcasm_options_new(&options));
    OK(tcasm_options_set(options, TCASM_VERSIONS, 4));
    OK(tcasm_options_set(options, TCASM_HISTORY, 0));
    OK(tcasm_create(name, 1 << 20, options, &producer));
    OK(tcasm_options_free(options));
    OK(tcasm_add_field(producer, "x", TCASM_F64, 1, shape, NULL, NULL));
    OK(tcasm_add_field(producer, "y", TCASM_F64, 1, shape, NULL, NULL));
    OK(tcasm_attach(name, 5.0, &observer));
}

static void publish(uint64_t step)
{
    OK(tcasm_publish(producer, step, 0.0));
    OK(tcasm_wait_visible(producer, 10.0));
}

/* Takes the next version, and checks its step. */
static void take(uint64_t step)
{
    tcasm_version *version;
    tcasm_stamp stamp = TCASM_INIT(tcasm_stamp);
    OK(tcasm_next(observer, 5.0, &version));
    OK(tcasm_version_stamp(version, &stamp));
    CHECK(stamp.step == step);
    OK(tcasm_release(version));
}

static void no_version_is_left_out(void)
{
    uint64_t firsts[2], lasts[2];
    size_t count = 7;
    tcasm_version *version;
    /* Without it the older ones are gone. */
    publish(1);
    publish(2);
    take(2);
    OK(tcasm_every_version(observer, 1));
    for (uint64_t step = 3; step < 6; step++)
        publish(step);
    take(3);
    publish(6);
    for (uint64_t step = 4; step < 7; step++)
        take(step);
    FAILS(TCASM_NOT_READY, tcasm_next(observer, 0.0, &version));
    OK(tcasm_missed(observer, firsts, lasts, 2, &count));
    CHECK(count == 0);
    OK(tcasm_every_version(observer, 0));
    publish(7);
    publish(8);
    take(8);
    FAILS(TCASM_INVALID_ARGUMENT, tcasm_every_version(observer, 2));
    FAILS(TCASM_INVALID_HANDLE, tcasm_every_version(NULL, 1));
}

static void meshes_are_those_that_were_added(void)
{
    size_t points[] = {5, 4, 1}, count;
    double origin[] = {1.0, 2.0, 3.0}, spacing[] = {0.5, 0.25, 1.0};
    uint32_t refinement[] = {2, 2, 1};
    int64_t offset[] = {8, -4, 0}, number;
    const char *axes[] = {"x", "y"};
    tcasm_attrs *attrs;
    tcasm_version *version;
    tcasm_mesh mesh = TCASM_INIT(tcasm_mesh);
    OK(tcasm_attrs_new(&attrs));
    OK(tcasm_attrs_set_int(attrs, "level", 1));
    OK(tcasm_add_block(producer, "fine", points, origin, spacing, "amr", 1, refinement, offset,
                       attrs));
    OK(tcasm_attrs_free(attrs));
    OK(tcasm_add_mesh(producer, "axes", TCASM_RECTILINEAR, 2, axes, 0, NULL));
    publish(9);
    OK(tcasm_latest(observer, &version));

    OK(tcasm_mesh_count(version, &count));
    CHECK(count == 2);
    OK(tcasm_mesh_at(version, 0, &mesh));
    CHECK(strcmp(mesh.name, "fine") == 0 && mesh.kind == TCASM_UNIFORM && mesh.fields == 0);
    CHECK(mesh.points[1] == 4 && mesh.origin[2] == 3.0 && mesh.spacing[1] == 0.25);
    CHECK(strcmp(mesh.of, "amr") == 0 && mesh.level == 1 && mesh.refinement[2] == 1);
    CHECK(mesh.offset[0] == 8 && mesh.offset[1] == -4 && mesh.geometry[0] == NULL);
    OK(tcasm_mesh_attrs(version, "fine", &attrs));
    OK(tcasm_attrs_get_int(attrs, "level", &number));
    CHECK(number == 1);
    OK(tcasm_attrs_free(attrs));

    OK(tcasm_mesh_at(version, 1, &mesh));
    CHECK(strcmp(mesh.name, "axes") == 0 && mesh.kind == TCASM_RECTILINEAR && mesh.fields == 2);
    CHECK(strcmp(mesh.geometry[1], "y") == 0 && mesh.geometry[2] == NULL && mesh.of == NULL);
    FAILS(TCASM_NOT_FOUND, tcasm_mesh_at(version, 2, &mesh));
    FAILS(TCASM_NOT_FOUND, tcasm_mesh_attrs(version, "absent", &attrs));
    mesh.size = 8;
    FAILS(TCASM_INVALID_ARGUMENT, tcasm_mesh_at(version, 0, &mesh));

    OK(tcasm_set_unused(producer, "fine"));
    publish(10);
    OK(tcasm_release(version));
    OK(tcasm_latest(observer, &version));
    mesh.size = sizeof mesh;
    OK(tcasm_mesh_at(version, 0, &mesh));
    CHECK(mesh.points[0] * mesh.points[1] == 0);

    points[0] = 3;
    origin[2] = -3.0;
    spacing[1] = 0.125;
    OK(tcasm_set_uniform_mesh(producer, "fine", points, origin, spacing));
    FAILS(TCASM_INVALID_ARGUMENT,
          tcasm_set_uniform_mesh(producer, "fine", NULL, origin, spacing));
    publish(11);
    OK(tcasm_release(version));
    OK(tcasm_latest(observer, &version));
    OK(tcasm_mesh_at(version, 0, &mesh));
    CHECK(mesh.points[0] == 3 && mesh.points[1] == 4 && mesh.points[2] == 1);
    CHECK(mesh.origin[2] == -3.0 && mesh.spacing[1] == 0.125 && mesh.offset[1] == -4);
    OK(tcasm_release(version));
}

/* A loop over a stream needs no more than this. */
static void a_loop_ends_with_the_stream(void)
{
    tcasm_version *version;
    tcasm_stamp stamp = TCASM_INIT(tcasm_stamp);
    int status, seen = 0;
    publish(12);
    OK(tcasm_close(producer));
    while ((status = tcasm_next(observer, -1.0, &version)) == TCASM_OK) {
        OK(tcasm_version_stamp(version, &stamp));
        seen++;
        OK(tcasm_release(version));
    }
    CHECK(status == TCASM_END_OF_STREAM && seen == 1 && stamp.step == 12);
    OK(tcasm_detach(observer));
}

/* Counts the mappings that show an array. */
static int mappings(const tcasm_array *array)
{
    uintptr_t begin = (uintptr_t)array->data, end = begin + array->bytes, from, to;
    char line[500];
    int found = 0;
    FILE *maps = fopen("/proc/self/maps", "r");
    CHECK(maps != NULL);
    while (fgets(line, sizeof line, maps) != NULL)
        if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR, &from, &to) == 2)
            found += from < end && to > begin;
    fclose(maps);
    return found;
}

/* Stores a value to each `every`-th page, and publishes. */
static void write_pages(tcasm_producer *own, double *data, size_t bytes, size_t every, double value)
{
    size_t numbers = (size_t)sysconf(_SC_PAGESIZE) / sizeof *data;
    for (size_t i = 0; i < bytes / sizeof *data; i += every * numbers)
        data[i] = value;
    OK(tcasm_publish(own, (uint64_t)value, value));
    OK(tcasm_wait_visible(own, 10.0));
    OK(tcasm_wait_captured(own, 10.0));
}

/* Pages that are scattered are copied within the budget, and mapped one by one beyond it. */
static void copies_stay_within_their_budget(const char *name)
{
    size_t shape[] = {(4 << 20) / sizeof(double)};
    char own_name[100];
    tcasm_producer *own;
    void *data;
    snprintf(own_name, sizeof own_name, "%s-budget", name);
    OK(tcasm_create(own_name, 4 << 20, NULL, &own));
    OK(tcasm_add_field(own, "x", TCASM_F64, 1, shape, NULL, &data));
    write_pages(own, data, 4 << 20, 1, 1.0);
    write_pages(own, data, 4 << 20, 2, 2.0);
    for (int copied = 0; copied < 2; copied++) {
        tcasm_observer *other;
        tcasm_version *version;
        tcasm_array array = TCASM_INIT(tcasm_array);
        OK(tcasm_attach(own_name, 5.0, &other));
        OK(tcasm_set_copy_budget(other, copied ? UINT64_MAX : 0));
        OK(tcasm_latest(other, &version));
        OK(tcasm_array_of(version, "x", &array));
        CHECK(copied ? mappings(&array) < 10 : mappings(&array) > 100);
        CHECK(*(const double *)array.data == 2.0);
        OK(tcasm_release(version));
        OK(tcasm_detach(other));
    }
    OK(tcasm_close(own));
}

/* What versions that are gone have held is given back, once. */
static void memory_that_no_version_needs_is_given_back(const char *name)
{
    size_t shape[] = {(4 << 20) / sizeof(double)};
    char own_name[100];
    tcasm_options *options;
    tcasm_producer *own;
    tcasm_observer *other;
    tcasm_version *versions[4];
    void *data;
    uint64_t before, after, freed, rest;
    snprintf(own_name, sizeof own_name, "%s-trim", name);
    OK(tcasm_options_new(&options));
    OK(tcasm_options_set(options, TCASM_VERSIONS, 8));
    OK(tcasm_options_set(options, TCASM_HISTORY, 0));
    OK(tcasm_create(own_name, 4 << 20, options, &own));
    OK(tcasm_options_free(options));
    OK(tcasm_add_field(own, "x", TCASM_F64, 1, shape, NULL, &data));
    OK(tcasm_attach(own_name, 5.0, &other));
    for (int i = 0; i < 4; i++) {
        write_pages(own, data, 4 << 20, 1, i + 1.0);
        OK(tcasm_latest(other, &versions[i]));
    }
    for (int i = 0; i < 4; i++)
        OK(tcasm_release(versions[i]));
    OK(tcasm_publish(own, 5, 5.0));
    OK(tcasm_counter(other, "HeldBytes", &before));
    OK(tcasm_trim(own, &freed));
    OK(tcasm_counter(other, "HeldBytes", &after));
    OK(tcasm_trim(own, &rest));
    CHECK(freed >= 4 << 20 && after + (4 << 20) <= before && rest == 0);
    FAILS(TCASM_INVALID_HANDLE, tcasm_trim(NULL, &rest));
    OK(tcasm_detach(other));
    OK(tcasm_close(own));
}

int main(int argc, char **argv)
{
    CHECK(argc == 2);
    create(argv[1]);
    no_version_is_left_out();
    meshes_are_those_that_were_added();
    a_loop_ends_with_the_stream();
    copies_stay_within_their_budget(argv[1]);
    memory_that_no_version_needs_is_given_back(argv[1]);
    return 0;
}
