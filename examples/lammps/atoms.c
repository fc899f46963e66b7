/* The atoms of LAMMPS as a mesh of particles. */
#include "atoms.h"
#include <inttypes.h>
#include <lammps/library.h>
#include <string.h>

/* Bytes of addresses, not of memory: 56 bytes per atom, and again while they are adopted anew. */
#define CAPACITY ((size_t)1 << 32)

/* A field has the name that its array has in LAMMPS. Positions come first: they are the mesh. */
static const struct {
    const char *name;
    int components;
} fields[ATOMS_FIELDS] = {{"x", 3}, {"v", 3}, {"id", 1}, {"type", 1}};

/* Returns the address of the values of a field in LAMMPS. */
static void *array_of(atoms *a, int i)
{
    void *array = lammps_extract_atom(a->lammps, fields[i].name);
    /* Those of several components are pointers to rows, which lie one after the other. */
    return array != NULL && fields[i].components > 1 ? ((double **)array)[0] : array;
}

static int dtype_of(atoms *a, int i)
{
    if (fields[i].components > 1)
        return TCASM_F64;
    int is_id = strcmp(fields[i].name, "id") == 0;
    return is_id && lammps_extract_setting(a->lammps, "tagint") == 8 ? TCASM_I64 : TCASM_I32;
}

static int have_moved(atoms *a, size_t count)
{
    for (int i = 0; i < ATOMS_FIELDS; i++)
        if (a->arrays[i] == NULL || a->arrays[i] != array_of(a, i))
            return 1;
    return count > a->rows;
}

/* Adopts one array, with room for a->rows atoms. */
static int adopt(atoms *a, int i)
{
    tcasm_field_options *options;
    size_t shape[] = {a->rows, (size_t)fields[i].components};
    int is_vector = fields[i].components > 1;
    void *array = array_of(a, i);
    int status = tcasm_field_options_new(&options);
    if (status != TCASM_OK)
        return status;
    tcasm_field_options_set(options, TCASM_FIELD_VARIABLE, 1);
    tcasm_field_options_set(options, TCASM_FIELD_VECTOR, is_vector);
    if (i > 0)
        tcasm_field_options_set_text(options, TCASM_FIELD_MESH, "atoms");
    status = tcasm_adopt(a->producer, fields[i].name, dtype_of(a, i), is_vector ? 2 : 1, shape,
                         array, options);
    tcasm_field_options_free(options);
    if (status == TCASM_OK)
        a->arrays[i] = array;
    return status;
}

/* Releases all arrays before the first is adopted: one can now lie where another one was. */
static void release_all(atoms *a)
{
    if (a->has_mesh)
        tcasm_set_len(a->producer, "atoms", 0);
    for (int i = ATOMS_FIELDS - 1; i >= 0; i--) {
        if (a->arrays[i] != NULL)
            tcasm_release_adopted(a->producer, fields[i].name);
        a->arrays[i] = NULL;
    }
}

/* Adopts all arrays, with some room for more atoms. */
static int adopt_all(atoms *a, size_t count)
{
    const char *const geometry[] = {fields[0].name};
    size_t room = (size_t)lammps_extract_setting(a->lammps, "nmax");
    int status = TCASM_OK;
    release_all(a);
    a->rows = count + count / 8 + 1 < room ? count + count / 8 + 1 : room;
    for (int i = 0; i < ATOMS_FIELDS && status == TCASM_OK; i++) {
        status = adopt(a, i);
        if (status == TCASM_OK && !a->has_mesh) {
            status = tcasm_add_mesh(a->producer, "atoms", TCASM_PARTICLES, 1, geometry, 0, NULL);
            a->has_mesh = status == TCASM_OK;
        }
    }
    a->adoptions += status == TCASM_OK;
    return status;
}

/* Gives the next version the box, if it has changed. */
static int set_box(atoms *a)
{
    double box[6] = {0};
    tcasm_attrs *attrs;
    lammps_extract_box(a->lammps, box, box + 3, NULL, NULL, NULL, NULL, NULL);
    if (memcmp(box, a->box, sizeof box) == 0)
        return TCASM_OK;
    int status = tcasm_attrs_new(&attrs);
    if (status != TCASM_OK)
        return status;
    tcasm_attrs_set_floats(attrs, "boxlo", box, 3);
    tcasm_attrs_set_floats(attrs, "boxhi", box + 3, 3);
    status = tcasm_set_attrs(a->producer, attrs);
    tcasm_attrs_free(attrs);
    if (status == TCASM_OK)
        memcpy(a->box, box, sizeof box);
    return status;
}

int atoms_create(atoms *a, void *lammps, const char *name)
{
    *a = (atoms){.lammps = lammps};
    return tcasm_create(name, CAPACITY, NULL, &a->producer);
}

int atoms_publish(atoms *a)
{
    size_t count = (size_t)lammps_extract_setting(a->lammps, "nlocal");
    const int64_t *step = lammps_extract_global(a->lammps, "ntimestep");
    int status = have_moved(a, count) ? adopt_all(a, count) : TCASM_OK;
    if (status == TCASM_OK)
        status = tcasm_set_len(a->producer, "atoms", count);
    if (status == TCASM_OK)
        status = set_box(a);
    if (status != TCASM_OK) {
        release_all(a);
        return status;
    }
    return tcasm_publish(a->producer, (uint64_t)*step, lammps_get_thermo(a->lammps, "time"));
}

int atoms_close(atoms *a)
{
    return tcasm_close(a->producer);
}
