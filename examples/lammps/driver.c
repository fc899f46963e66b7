/* Runs an input of LAMMPS, and publishes its atoms every few steps:

       driver NAME INPUT STEPS EVERY

   The input sets the system up and has no run command. Step 0 is published, too. */
#include "atoms.h"
#include <lammps/library.h>
#include <stdio.h>
#include <stdlib.h>

static void publish(atoms *a)
{
    unsigned before = a->adoptions;
    int status = atoms_publish(a);
    if (status != TCASM_OK)
        fprintf(stderr, "%s: %s\n", tcasm_status_name(status), tcasm_last_error());
    else if (before != 0 && before != a->adoptions)
        fprintf(stderr, "adopted anew: LAMMPS has moved its arrays, or has many more atoms\n");
}

static int run(void *lammps, const char *name, long steps, long every)
{
    atoms a;
    char command[64];
    if (lammps_extract_setting(lammps, "world_size") != 1) {
        fprintf(stderr, "this program publishes the atoms of one rank\n");
        return 1;
    }
    lammps_command(lammps, "run 0 post no"); /* sets up: allocates the arrays */
    if (atoms_create(&a, lammps, name) != TCASM_OK) {
        fprintf(stderr, "%s\n", tcasm_last_error());
        return 1;
    }
    publish(&a);
    snprintf(command, sizeof command, "run %ld pre no post no", every);
    for (long step = every; step <= steps; step += every) {
        lammps_command(lammps, command);
        publish(&a);
    }
    return atoms_close(&a);
}

int main(int argc, char **argv)
{
    char *arguments[] = {"lammps", "-log", "none", "-screen", "none"};
    if (argc != 5 || atol(argv[4]) < 1) {
        fprintf(stderr, "usage: driver NAME INPUT STEPS EVERY\n");
        return 2;
    }
    void *lammps = lammps_open_no_mpi(5, arguments, NULL);
    lammps_file(lammps, argv[2]);
    int status = run(lammps, argv[1], atol(argv[3]), atol(argv[4]));
    lammps_close(lammps);
    lammps_mpi_finalize();
    return status;
}
