/* Random calls of the functions for meshes, and for lists of attributes. */
#ifndef RANDOM_MESHES_H
#define RANDOM_MESHES_H

#include "random_objects.h"

/* Where uniform meshes begin, and how far their points are apart. */
static const double three[3] = {1.0, 0.5, 2.0};
static const uint32_t refinements[2][3] = {{2, 2, 1}, {2, 0, 1}};

/* Returns the numbers of points along the axes, sometimes none. */
static const size_t *some_points(void)
{
    static size_t points[3];
    points[0] = below(5);
    points[1] = 1 + below(3);
    points[2] = 1;
    return points;
}

/* Returns the name of the block-structured mesh, mostly the same. */
static const char *whole(void)
{
    return below(8) ? "w" : text();
}

CALL(tcasm_add_uniform_mesh)
{
    void *attrs = below(2) ? NULL : handle(ATTRS);
    return tcasm_add_uniform_mesh(handle(PRODUCER), mesh_name(), some_points(), three, three,
                                  attrs);
}

CALL(tcasm_add_mesh)
{
    const char *geometry[4] = {field_name(), field_name(), field_name(), field_name()};
    int kind = below(2) ? TCASM_RECTILINEAR : (int)below(7);
    size_t fields = below(2) ? 1 : below(5);
    void *attrs = below(2) ? NULL : handle(ATTRS);
    return tcasm_add_mesh(handle(PRODUCER), mesh_name(), kind, fields, geometry,
                          (uint8_t)below(15), attrs);
}

CALL(tcasm_set_uniform_mesh)
{
    return tcasm_set_uniform_mesh(handle(PRODUCER), mesh_name(), some_points(), three, three);
}

CALL(tcasm_add_block)
{
    int64_t offset[3] = {number(), 0, -1};
    void *attrs = below(2) ? NULL : handle(ATTRS);
    return tcasm_add_block(handle(PRODUCER), mesh_name(), some_points(), three, three, whole(),
                           (uint32_t)below(3), refinements[below(8) == 0], offset, attrs);
}

CALL(tcasm_set_block)
{
    int64_t offset[3] = {number(), 1, 0};
    return tcasm_set_block(handle(PRODUCER), mesh_name(), whole(), (uint32_t)number(),
                           refinements[below(8) == 0], offset);
}

CALL(tcasm_set_unused)
{
    return tcasm_set_unused(handle(PRODUCER), mesh_name());
}

CALL(tcasm_mesh_count)
{
    size_t count;
    return tcasm_mesh_count(handle(VERSION), &count);
}

CALL(tcasm_mesh_at)
{
    tcasm_mesh mesh = TCASM_INIT(tcasm_mesh);
    int status = tcasm_mesh_at(handle(VERSION), below(3), &mesh);
    CHECK(status != TCASM_OK || mesh.fields <= TCASM_MAX_GEOMETRY);
    for (size_t i = 0; status == TCASM_OK && i < mesh.fields; i++)
        with_text(status, &mesh.geometry[i]);
    return with_text(status, &mesh.name);
}

CALL(tcasm_mesh_attrs)
{
    tcasm_attrs *attrs = NULL;
    return made(ATTRS, tcasm_mesh_attrs(handle(VERSION), mesh_name(), &attrs), &attrs);
}

CALL(tcasm_attrs_new)
{
    tcasm_attrs *attrs = NULL;
    return made(ATTRS, tcasm_attrs_new(&attrs), &attrs);
}

CALL(tcasm_attrs_free)
{
    return tcasm_attrs_free(handle(ATTRS));
}

CALL(tcasm_attrs_set_int)
{
    return tcasm_attrs_set_int(handle(ATTRS), text(), number());
}

CALL(tcasm_attrs_set_float)
{
    return tcasm_attrs_set_float(handle(ATTRS), text(), below(4) ? 0.5 : (double)NAN);
}

CALL(tcasm_attrs_set_text)
{
    return tcasm_attrs_set_text(handle(ATTRS), text(), text());
}

CALL(tcasm_attrs_set_floats)
{
    return tcasm_attrs_set_floats(handle(ATTRS), text(), three, below(4));
}

CALL(tcasm_attrs_count)
{
    size_t count;
    return tcasm_attrs_count(handle(ATTRS), &count);
}

CALL(tcasm_attrs_at)
{
    const char *name = NULL;
    int kind;
    return with_text(tcasm_attrs_at(handle(ATTRS), below(4), &name, &kind), &name);
}

CALL(tcasm_attrs_get_int)
{
    int64_t value;
    return tcasm_attrs_get_int(handle(ATTRS), text(), &value);
}

CALL(tcasm_attrs_get_float)
{
    double value;
    return tcasm_attrs_get_float(handle(ATTRS), text(), &value);
}

CALL(tcasm_attrs_get_text)
{
    const char *value = NULL;
    return with_text(tcasm_attrs_get_text(handle(ATTRS), text(), &value), &value);
}

CALL(tcasm_attrs_get_floats)
{
    double values[3];
    size_t count;
    return tcasm_attrs_get_floats(handle(ATTRS), text(), values, below(4), &count);
}

static struct call mesh_calls[] = {
    ROW(tcasm_add_uniform_mesh, 3), ROW(tcasm_add_mesh, 4), ROW(tcasm_set_uniform_mesh, 2),
    ROW(tcasm_add_block, 3), ROW(tcasm_set_block, 3), ROW(tcasm_set_unused, 2),
    ROW(tcasm_mesh_count, 1), ROW(tcasm_mesh_at, 2), ROW(tcasm_mesh_attrs, 2),
    ROW(tcasm_attrs_new, 3), ROW(tcasm_attrs_free, 1), ROW(tcasm_attrs_set_int, 2),
    ROW(tcasm_attrs_set_float, 2), ROW(tcasm_attrs_set_text, 2), ROW(tcasm_attrs_set_floats, 2),
    ROW(tcasm_attrs_count, 1), ROW(tcasm_attrs_at, 2), ROW(tcasm_attrs_get_int, 2),
    ROW(tcasm_attrs_get_float, 2), ROW(tcasm_attrs_get_text, 2), ROW(tcasm_attrs_get_floats, 2),
};

#endif
