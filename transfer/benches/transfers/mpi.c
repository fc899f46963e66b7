/* Measures Open MPI's get and send between two processes of one node, in microseconds (medians).
   mpicc -O2 mpi.c -o mpi && mpirun -n 2 ./mpi */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    size_t most = (size_t)(argc > 1 ? atoi(argv[1]) : 256) << 20;
    char *bytes = malloc(most), order = 0;
    memset(bytes, 1, most);
    for (size_t len = 4096; len <= most; len *= 4) {
        int runs = len > 4 << 20 ? 21 : 1001;
        double times[1001];
        for (int i = -1; i < runs; i++) {
            double start = MPI_Wtime();
            if (rank == 0) { /* asks for the bytes, and waits until they are there */
                MPI_Send(&order, 1, MPI_CHAR, 1, 0, MPI_COMM_WORLD);
                MPI_Recv(bytes, (int)len, MPI_CHAR, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            } else {
                MPI_Recv(&order, 1, MPI_CHAR, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
                MPI_Send(bytes, (int)len, MPI_CHAR, 0, 1, MPI_COMM_WORLD);
            }
            if (i >= 0)
                times[i] = (MPI_Wtime() - start) * 1e6;
        }
        qsort(times, runs, sizeof *times, by_value);
        if (rank == 0)
            printf("| %zu KiB | %.1f |\n", len >> 10, times[runs / 2]);
    }
    MPI_Finalize();
    return 0;
}
