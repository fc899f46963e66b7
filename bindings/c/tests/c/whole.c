/* A producer and an observer in one process use most of the interface. */
#include "check.h"

static tcasm_producer *producer;
static tcasm_observer *observer;

static tcasm_version *published(uint64_t step)
{
    tcasm_version *version;
    OK(tcasm_publish(producer, step, 0.5 * (double)step));
    OK(tcasm_wait_visible(producer, 10.0));
    OK(tcasm_latest(observer, &version));
    return version;
}

static tcasm_array mapped(tcasm_version *version, const char *name)
{
    tcasm_array array = TCASM_INIT(tcasm_array);
    OK(tcasm_array_of(version, name, &array));
    return array;
}

static void fields_are_seen_as_they_were_published(void)
{
    size_t shape[] = {4, 6}, ghosts[] = {1, 1};
    tcasm_field_options *options;
    tcasm_attrs *attrs;
    void *data;
    OK(tcasm_attrs_new(&attrs));
    OK(tcasm_attrs_set_int(attrs, "level", 3));
    OK(tcasm_attrs_set_float(attrs, "scale", 0.25));
    OK(tcasm_attrs_set_text(attrs, "long name", "temperature"));
    double limits[] = {1.0, 2.0};
    OK(tcasm_attrs_set_floats(attrs, "limits", limits, 2));
    OK(tcasm_field_options_new(&options));
    OK(tcasm_field_options_set_text(options, TCASM_FIELD_UNIT, "K"));
    OK(tcasm_field_options_set_ghosts(options, 2, ghosts, ghosts));
    OK(tcasm_field_options_set_uniform(options, NULL, NULL));
    OK(tcasm_field_options_set_attrs(options, attrs));
    OK(tcasm_add_field(producer, "t", TCASM_F64, 2, shape, options, &data));
    OK(tcasm_field_options_free(options));
    OK(tcasm_attrs_free(attrs));

    double *t = data;
    for (int i = 0; i < 24; i++)
        t[i] = i;
    tcasm_version *version = published(1);
    t[7] = -1.0;

    tcasm_array array = mapped(version, "t");
    const double *seen = array.data;
    CHECK(array.dtype == TCASM_F64 && array.rank == 2 && array.bytes == 24 * 8);
    CHECK(array.shape[0] == 4 && array.shape[1] == 6 && array.strides[0] == 48);
    CHECK(array.ghosts[1][0] == 1 && array.ghosts[1][1] == 1 && array.components == 1);
    CHECK(seen != t && seen[7] == 7.0 && seen[23] == 23.0);

    tcasm_stamp stamp = TCASM_INIT(tcasm_stamp);
    OK(tcasm_version_stamp(version, &stamp));
    CHECK(stamp.step == 1 && stamp.time == 0.5 && stamp.published > 0);

    const char *unit, *name;
    OK(tcasm_field_text(version, "t", TCASM_FIELD_UNIT, &unit));
    OK(tcasm_field_name(version, 0, &name));
    CHECK(strcmp(unit, "K") == 0 && strcmp(name, "t") == 0);

    tcasm_attrs *found;
    int64_t level;
    double scale, both[2];
    const char *text;
    size_t count;
    OK(tcasm_attrs_of(version, "t", &found));
    OK(tcasm_attrs_count(found, &count));
    OK(tcasm_attrs_get_int(found, "level", &level));
    OK(tcasm_attrs_get_float(found, "scale", &scale));
    OK(tcasm_attrs_get_text(found, "long name", &text));
    CHECK(count == 4 && level == 3 && scale == 0.25 && strcmp(text, "temperature") == 0);
    OK(tcasm_attrs_get_floats(found, "limits", both, 2, &count));
    CHECK(count == 2 && both[1] == 2.0);
    FAILS(TCASM_INVALID_ARGUMENT, tcasm_attrs_get_int(found, "scale", &level));
    FAILS(TCASM_NOT_FOUND, tcasm_attrs_get_int(found, "absent", &level));
    OK(tcasm_attrs_free(found));
    OK(tcasm_release(version));
}

static void parts_and_bytes_are_those_of_the_field(void)
{
    tcasm_version *version = published(2);
    size_t first[] = {1, 2}, count[] = {2, 3};
    tcasm_array part = TCASM_INIT(tcasm_array);
    OK(tcasm_part_of(version, "t", 2, first, count, &part));
    CHECK(part.shape[0] == 2 && part.shape[1] == 3 && part.strides[0] == 48);
    const char *at = part.data;
    const double *corner = (const double *)(const void *)(at + part.strides[0] + 2 * part.strides[1]);
    CHECK(*corner == 16.0 && part.bytes == 48 + 24);
    double two[2];
    OK(tcasm_read(version, "t", 8 * 8, (uint8_t *)two, sizeof two));
    CHECK(two[0] == 8.0 && two[1] == 9.0);
    FAILS(TCASM_INVALID_ARGUMENT, tcasm_read(version, "t", 24 * 8, (uint8_t *)two, 1));
    first[0] = 3;
    FAILS(TCASM_INVALID_ARGUMENT, tcasm_part_of(version, "t", 2, first, count, &part));
    OK(tcasm_release(version));
}

static void changes_name_the_fields(void)
{
    size_t shape[] = {1000};
    void *data;
    OK(tcasm_add_field(producer, "other", TCASM_I32, 1, shape, NULL, &data));
    tcasm_version *older = published(3);
    ((int32_t *)data)[10] = 5;
    tcasm_version *newer = published(4);
    uint64_t pages;
    const char *names[4];
    size_t count;
    OK(tcasm_changes(newer, older, &pages, names, 4, &count));
    CHECK(pages == 1 && count == 1 && strcmp(names[0], "other") == 0);
    OK(tcasm_release(older));
    OK(tcasm_release(newer));
}

static void particles_come_and_leave(void)
{
    size_t shape[] = {100, 3}, len;
    tcasm_field_options *options;
    void *data;
    OK(tcasm_field_options_new(&options));
    OK(tcasm_field_options_set(options, TCASM_FIELD_VECTOR, 1));
    OK(tcasm_field_options_set(options, TCASM_FIELD_VARIABLE, 1));
    OK(tcasm_add_field(producer, "x", TCASM_F64, 2, shape, options, &data));
    const char *geometry[] = {"x"};
    OK(tcasm_add_mesh(producer, "atoms", TCASM_PARTICLES, 1, geometry, 0, NULL));
    OK(tcasm_field_options_set(options, TCASM_FIELD_VECTOR, 0));
    OK(tcasm_field_options_set_text(options, TCASM_FIELD_MESH, "atoms"));
    OK(tcasm_add_field(producer, "q", TCASM_F32, 1, shape, options, NULL));
    OK(tcasm_field_options_free(options));

    OK(tcasm_set_len(producer, "atoms", 12));
    OK(tcasm_len(producer, "q", &len));
    CHECK(len == 12);
    tcasm_version *version = published(5);
    tcasm_array x = mapped(version, "x"), q = mapped(version, "q");
    CHECK(x.shape[0] == 12 && x.shape[1] == 3 && x.components == 3 && x.capacity == 100);
    CHECK(q.shape[0] == 12 && q.dtype == TCASM_F32);
    OK(tcasm_release(version));
    OK(tcasm_set_len(producer, "atoms", 0));
    tcasm_array live = TCASM_INIT(tcasm_array);
    OK(tcasm_live(producer, "x", &live));
    CHECK(live.data == data && live.bytes == 0 && live.capacity == 100);
    version = published(6);
    x = mapped(version, "x");
    CHECK(x.data == NULL && x.bytes == 0 && x.shape[0] == 0);
    OK(tcasm_release(version));
    FAILS(TCASM_NOT_DEFINED, tcasm_set_len(producer, "atoms", 101));
}

static void buffers_are_bound_in_turn(void)
{
    size_t shape[] = {512};
    void *now, *next, *old;
    tcasm_buffer *buffer;
    OK(tcasm_add_field(producer, "u", TCASM_F64, 1, shape, NULL, &now));
    OK(tcasm_buffer_like(producer, "u", &buffer, &next));
    CHECK(now != next);
    ((double *)now)[3] = 1.0;
    ((double *)next)[3] = 2.0;
    OK(tcasm_bind(producer, "u", buffer, &buffer, &old));
    CHECK(old == now);
    tcasm_version *version = published(7);
    CHECK(((const double *)mapped(version, "u").data)[3] == 2.0);
    OK(tcasm_release(version));
    OK(tcasm_bind(producer, "u", buffer, &buffer, &old));
    CHECK(old == next);
    version = published(8);
    CHECK(((const double *)mapped(version, "u").data)[3] == 1.0);
    OK(tcasm_release(version));
    FAILS(TCASM_NOT_DEFINED, tcasm_bind(producer, "t", buffer, &buffer, &old));
}

static void blocks_move(void)
{
    size_t points[] = {5, 5, 1};
    double origin[] = {0.0, 0.0, 0.0}, spacing[] = {1.0, 1.0, 1.0};
    uint32_t refinement[] = {2, 2, 1};
    int64_t offset[] = {8, 0, 0};
    OK(tcasm_add_block(producer, "fine", points, origin, spacing, "amr", 1, refinement, offset,
                       NULL));
    offset[0] = 4;
    OK(tcasm_set_block(producer, "fine", "amr", 1, refinement, offset));
    FAILS(TCASM_NOT_DEFINED, tcasm_set_block(producer, "fine", "other", 1, refinement, offset));
}

static void fields_are_handed_over(void)
{
    size_t shape[] = {1000};
    tcasm_field_options *options;
    tcasm_receipt receipt = TCASM_INIT(tcasm_receipt);
    void *data;
    OK(tcasm_field_options_new(&options));
    OK(tcasm_field_options_set(options, TCASM_FIELD_HANDED_OVER, 1));
    OK(tcasm_add_field(producer, "h", TCASM_F64, 1, shape, options, &data));
    OK(tcasm_field_options_free(options));
    FAILS(TCASM_NOT_DEFINED, tcasm_register_dma(producer, "h"));
    FAILS(TCASM_NOT_DEFINED, tcasm_mark_dirty(producer, "h", 0, 8));
    for (uint64_t step = 9; step < 12; step++) {
        OK(tcasm_rewrite(producer, "h"));
        for (int i = 0; i < 1000; i++)
            ((double *)data)[i] = (double)step;
        tcasm_version *version = published(step);
        OK(tcasm_last_receipt(producer, &receipt));
        CHECK(receipt.handed_over > 0 && receipt.version > 0);
        CHECK(((const double *)mapped(version, "h").data)[999] == (double)step);
        OK(tcasm_release(version));
    }
}

static void structures_and_old_versions(void)
{
    struct pair { double a; int32_t b; } *pairs;
    void *data;
    OK(tcasm_add_structures(producer, "pairs", 3, sizeof(struct pair), _Alignof(struct pair),
                            "pair", &data));
    pairs = data;
    pairs[2].b = 42;
    tcasm_version *version = published(20);
    tcasm_array array = mapped(version, "pairs");
    CHECK(array.dtype == TCASM_U8 && array.alignment == _Alignof(struct pair));
    CHECK(array.shape[0] == 3 && array.shape[1] == sizeof(struct pair));
    CHECK(((const struct pair *)array.data)[2].b == 42);

    tcasm_stamp stamp = TCASM_INIT(tcasm_stamp);
    OK(tcasm_version_stamp(version, &stamp));
    pairs[2].b = 43;
    uint64_t step;
    double time;
    OK(tcasm_rollback(producer, stamp.version, &step, &time));
    CHECK(step == 20 && time == 10.0 && pairs[2].b == 42);
    OK(tcasm_release(version));
}

static void the_stream_has_an_end(void)
{
    uint64_t numbers[16], held;
    size_t count;
    int descriptor;
    tcasm_info info = TCASM_INIT(tcasm_info);
    tcasm_version *version;
    OK(tcasm_available(observer, numbers, 16, &count));
    CHECK(count >= 1 && count <= 16);
    OK(tcasm_version_at(observer, numbers[count - 1], &version));
    OK(tcasm_release(version));
    FAILS(TCASM_VERSION_GONE, tcasm_version_at(observer, 1000000, &version));
    OK(tcasm_region_info(observer, &info));
    CHECK(info.page_size > 0 && info.max_versions == 12);
    OK(tcasm_counter(observer, "HeldBytes", &held));
    OK(tcasm_descriptor(observer, &descriptor));
    OK(tcasm_acknowledge(observer));
    CHECK(descriptor >= 0);
    FAILS(TCASM_NOT_READY, tcasm_wait_newer(observer, 0.01, &version));
    OK(tcasm_stream_status(observer));
    OK(tcasm_wait_captured(producer, 10.0));
    OK(tcasm_close(producer));
    FAILS(TCASM_END_OF_STREAM, tcasm_stream_status(observer));
    FAILS(TCASM_END_OF_STREAM, tcasm_next(observer, -1.0, &version));
    OK(tcasm_latest(observer, &version));
    OK(tcasm_detach(observer));
    CHECK(mapped(version, "t").rank == 2);
    OK(tcasm_release(version));
}

int main(int argc, char **argv)
{
    tcasm_options *options;
    CHECK(argc == 2);
    OK(tcasm_options_new(&options));
    OK(tcasm_options_set(options, TCASM_VERSIONS, 12));
    OK(tcasm_options_set(options, TCASM_HISTORY, 4));
    OK(tcasm_create(argv[1], 32 << 20, options, &producer));
    OK(tcasm_options_free(options));
    OK(tcasm_attach(argv[1], 5.0, &observer));
    FAILS(TCASM_NOT_READY, tcasm_stream_status(observer));
    fields_are_seen_as_they_were_published();
    parts_and_bytes_are_those_of_the_field();
    changes_name_the_fields();
    particles_come_and_leave();
    buffers_are_bound_in_turn();
    blocks_move();
    fields_are_handed_over();
    structures_and_old_versions();
    the_stream_has_an_end();
    return 0;
}
