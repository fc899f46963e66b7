/* The atoms of LAMMPS as a mesh of particles. Its own arrays are adopted where they are. */
#ifndef ATOMS_H
#define ATOMS_H

#include <stddef.h>
#include <tcasm.h>

#define ATOMS_FIELDS 4

/* What is adopted of the arrays of an instance of LAMMPS. */
typedef struct {
    void *lammps;
    tcasm_producer *producer;
    void *arrays[ATOMS_FIELDS]; /* their addresses, or null */
    size_t rows;                /* how many atoms they have room for */
    int has_mesh;
    unsigned adoptions; /* how often the arrays were adopted */
    double box[6];      /* the box of the last version: xlo, ylo, zlo, xhi, yhi, zhi */
} atoms;

/* Creates region `name`. Returns a status of TCASM. */
int atoms_create(atoms *a, void *lammps, const char *name);

/* Publishes the atoms as they are now, between two runs. Adopts the arrays first if LAMMPS has
   moved them. Returns a status of TCASM: after an error, the next call tries again. */
int atoms_publish(atoms *a);

/* Ends the stream. Call this before lammps_close, which frees the arrays. */
int atoms_close(atoms *a);

#endif
