/* Random calls of the functions for fields: their options and lengths, buffers, and arrays that are
   adopted. */
#ifndef RANDOM_FIELDS_H
#define RANDOM_FIELDS_H

#include "random_objects.h"

CALL(tcasm_field_options_new)
{
    tcasm_field_options *options = NULL;
    return made(FIELD_OPTIONS, tcasm_field_options_new(&options), &options);
}

CALL(tcasm_field_options_free)
{
    return tcasm_field_options_free(handle(FIELD_OPTIONS));
}

CALL(tcasm_field_options_set)
{
    int option = below(8) ? 1 + (int)below(TCASM_FIELD_IN_CHECKPOINTS) : (int)number();
    int64_t value = below(4) ? (int64_t)below(2) : number();
    return tcasm_field_options_set(handle(FIELD_OPTIONS), option, value);
}

CALL(tcasm_field_options_set_text)
{
    int option = below(8) ? 1 + (int)below(TCASM_FIELD_QUANTITY) : (int)number();
    const char *value = below(2) ? mesh_name() : text();
    return tcasm_field_options_set_text(handle(FIELD_OPTIONS), option, value);
}

CALL(tcasm_field_options_set_ghosts)
{
    size_t before[2] = {below(3), below(3)}, after[2] = {below(3), 0};
    return tcasm_field_options_set_ghosts(handle(FIELD_OPTIONS), below(3), before, after);
}

CALL(tcasm_field_options_set_global)
{
    size_t offset[2] = {below(3), below(3)};
    return tcasm_field_options_set_global(handle(FIELD_OPTIONS), below(3), some_shape(), offset);
}

CALL(tcasm_field_options_set_uniform)
{
    const double three[3] = {1.0, 0.5, 2.0};
    const double *origin = below(4) ? three : NULL, *spacing = below(2) ? three : NULL;
    return tcasm_field_options_set_uniform(handle(FIELD_OPTIONS), origin, spacing);
}

CALL(tcasm_field_options_set_attrs)
{
    return tcasm_field_options_set_attrs(handle(FIELD_OPTIONS), handle(ATTRS));
}

/* Stores to the first byte of new memory. */
static int written(int status, void *const *data)
{
    if (status == TCASM_OK && *data != NULL)
        *(volatile uint8_t *)*data = 1;
    return status;
}

/* Most fields have one dimension, as those have that the meshes need. */
static size_t some_rank(void)
{
    return below(2) ? 1 : below(4);
}

CALL(tcasm_add_field)
{
    void *data = NULL, *options = below(2) ? NULL : handle(FIELD_OPTIONS);
    size_t rank = some_rank();
    return written(tcasm_add_field(handle(PRODUCER), field_name(), (int)below(14), rank,
                                   some_shape(), options, &data), &data);
}

CALL(tcasm_add_structures)
{
    void *data = NULL;
    size_t alignment = (size_t)1 << below(5), bytes = alignment * (1 + below(3)) + below(4) / 3;
    return written(tcasm_add_structures(handle(PRODUCER), field_name(), below(8), bytes, alignment,
                                        text(), &data), &data);
}

CALL(tcasm_scratch)
{
    void *data = NULL;
    size_t rank = some_rank();
    return written(tcasm_scratch(handle(PRODUCER), (int)below(14), rank, some_shape(), &data),
                   &data);
}

CALL(tcasm_live)
{
    tcasm_array array = TCASM_INIT(tcasm_array);
    return tcasm_live(handle(PRODUCER), field_name(), &array);
}

CALL(tcasm_set_len)
{
    const char *name = below(2) ? "b" : below(2) ? mesh_name() : field_name();
    return tcasm_set_len(handle(PRODUCER), name, below(4) ? below(10) : (size_t)number());
}

CALL(tcasm_len)
{
    size_t len;
    return tcasm_len(handle(PRODUCER), below(4) ? field_name() : mesh_name(), &len);
}

CALL(tcasm_set_lens)
{
    const char *names[2] = {below(2) ? "b" : field_name(), mesh_name()};
    size_t lens[2] = {below(10), below(10)};
    return tcasm_set_lens(handle(PRODUCER), names, lens, below(3));
}

CALL(tcasm_buffer_like)
{
    tcasm_buffer *buffer = NULL;
    void *data;
    int status = tcasm_buffer_like(handle(PRODUCER), field_name(), &buffer, &data);
    return made(BUFFER, status, &buffer);
}

CALL(tcasm_bind)
{
    tcasm_buffer *next = NULL;
    void *data;
    int status = tcasm_bind(handle(PRODUCER), field_name(), handle(BUFFER), &next, &data);
    return made(BUFFER, status, &next);
}

CALL(tcasm_rewrite)
{
    return tcasm_rewrite(handle(PRODUCER), below(2) ? "c" : field_name());
}

CALL(tcasm_rewrite_buffer)
{
    return tcasm_rewrite_buffer(handle(PRODUCER), handle(BUFFER));
}

CALL(tcasm_mark_dirty)
{
    size_t offset = below(2) ? below(64) : (size_t)number();
    size_t bytes = below(2) ? below(64) : (size_t)number();
    return tcasm_mark_dirty(handle(PRODUCER), field_name(), offset, bytes);
}

CALL(tcasm_register_dma)
{
    return tcasm_register_dma(handle(PRODUCER), field_name());
}

CALL(tcasm_adopt)
{
    const char *name = below(2) ? "d" : field_name();
    void *options = below(2) ? NULL : handle(FIELD_OPTIONS);
    size_t rank = some_rank();
    return tcasm_adopt(handle(PRODUCER), name, (int)below(14), rank, some_shape(), some_array(),
                       options);
}

CALL(tcasm_release_adopted)
{
    return tcasm_release_adopted(handle(PRODUCER), below(2) ? "d" : field_name());
}

CALL(tcasm_lost_count)
{
    size_t count;
    return tcasm_lost_count(handle(PRODUCER), &count);
}

CALL(tcasm_lost_name)
{
    const char *name = NULL;
    return with_text(tcasm_lost_name(handle(PRODUCER), below(2), &name), &name);
}

static struct call field_calls[] = {
    ROW(tcasm_field_options_new, 2), ROW(tcasm_field_options_free, 1),
    ROW(tcasm_field_options_set, 3), ROW(tcasm_field_options_set_text, 2),
    ROW(tcasm_field_options_set_ghosts, 1), ROW(tcasm_field_options_set_global, 1),
    ROW(tcasm_field_options_set_uniform, 1), ROW(tcasm_field_options_set_attrs, 1),
    ROW(tcasm_add_field, 8), ROW(tcasm_add_structures, 2), ROW(tcasm_scratch, 1),
    ROW(tcasm_live, 1), ROW(tcasm_set_len, 2), ROW(tcasm_len, 1), ROW(tcasm_set_lens, 2),
    ROW(tcasm_buffer_like, 2), ROW(tcasm_bind, 6), ROW(tcasm_rewrite, 2),
    ROW(tcasm_rewrite_buffer, 3), ROW(tcasm_mark_dirty, 1), ROW(tcasm_register_dma, 1),
    ROW(tcasm_adopt, 3), ROW(tcasm_release_adopted, 2), ROW(tcasm_lost_count, 1),
    ROW(tcasm_lost_name, 2),
};

#endif
