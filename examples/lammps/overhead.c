/* Measures how long steps take with TCASM and without. Two instances of LAMMPS run the same input
   in turn, a few steps at a time, so both do the same work at about the same time. One of them
   publishes its atoms. Another process observes them and reads each version that it gets.

       overhead INPUT EVERY PAIRS

   Prints for each pair the seconds of EVERY steps without and with TCASM, those of the publish among
   the latter, and the seconds that this thread had a processor, without and with TCASM. Other
   programs that run on the machine change the last two least. */
#include "atoms.h"
#include <lammps/library.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

typedef struct {
    double elapsed, processor; /* seconds */
} duration;

static double now(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static duration begin(void)
{
    return (duration){now(CLOCK_MONOTONIC), now(CLOCK_THREAD_CPUTIME_ID)};
}

static duration since(duration begun)
{
    duration end = begin();
    return (duration){end.elapsed - begun.elapsed, end.processor - begun.processor};
}

/* Reads the velocities of each version until the stream ends. */
static int observe(const char *name)
{
    tcasm_observer *observer;
    tcasm_version *version;
    double sum = 0;
    if (tcasm_attach(name, 60.0, &observer) != TCASM_OK)
        return 1;
    while (tcasm_wait_newer(observer, -1.0, &version) == TCASM_OK) {
        tcasm_array v = TCASM_INIT(tcasm_array);
        if (tcasm_array_of(version, "v", &v) == TCASM_OK)
            for (size_t i = 0; i < 3 * v.shape[0]; i++)
                sum += ((const double *)v.data)[i] * ((const double *)v.data)[i];
        tcasm_release(version);
    }
    return sum > 0 ? 0 : 1;
}

static void *instance(char *input)
{
    char *arguments[] = {"lammps", "-log", "none", "-screen", "none"};
    void *lammps = lammps_open_no_mpi(5, arguments, NULL);
    lammps_file(lammps, input);
    lammps_command(lammps, "run 0 post no");
    return lammps;
}

static duration run_plain(void *lammps, const char *command)
{
    duration begun = begin();
    lammps_command(lammps, command);
    return since(begun);
}

/* Stores the seconds of publish, too. Ends the program if there is an error. */
static duration run_published(atoms *a, const char *command, double *publish)
{
    duration begun = begin();
    lammps_command(a->lammps, command);
    double ran = since(begun).elapsed;
    int status = atoms_publish(a);
    duration all = since(begun);
    if (status < 0) {
        fprintf(stderr, "%s\n", tcasm_last_error());
        exit(1);
    }
    *publish = all.elapsed - ran;
    return all;
}

static void measure(void *plain, atoms *a, const char *every, long pairs)
{
    char command[64];
    snprintf(command, sizeof command, "run %s pre no post no", every);
    for (long i = 0; i < pairs; i++) {
        duration without = {0, 0}, with;
        double publish;
        if (i % 2 == 0)
            without = run_plain(plain, command);
        with = run_published(a, command, &publish);
        if (i % 2 != 0)
            without = run_plain(plain, command);
        printf("%.9f %.9f %.9f %.9f %.9f\n", without.elapsed, with.elapsed, publish,
               without.processor, with.processor);
    }
}

int main(int argc, char **argv)
{
    char name[64];
    atoms a;
    int status = 1;
    if (argc != 4) {
        fprintf(stderr, "usage: overhead INPUT EVERY PAIRS\n");
        return 2;
    }
    snprintf(name, sizeof name, "lammps-overhead-%ld", (long)getpid());
    pid_t observer = fork(); /* before there are threads */
    if (observer == 0)
        _exit(observe(name));
    void *plain = instance(argv[1]), *published = instance(argv[1]);
    if (atoms_create(&a, published, name) != TCASM_OK || atoms_publish(&a) != TCASM_OK) {
        fprintf(stderr, "%s\n", tcasm_last_error());
        return 1;
    }
    measure(plain, &a, argv[2], atol(argv[3]));
    atoms_close(&a);
    lammps_close(plain);
    lammps_close(published);
    lammps_mpi_finalize();
    return waitpid(observer, &status, 0) == observer && status == 0 ? 0 : 1;
}
