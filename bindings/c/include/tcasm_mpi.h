/*
 * Host buffers whose hosts agree by MPI.
 *
 * The library does not link MPI. The functions of this header are compiled with the program, by the
 * compiler of its MPI (`mpicc`):
 *
 *     tcasm_mpi mpi;
 *     tcasm_mpi_hosts(MPI_COMM_WORLD, MPI_COMM_NULL, &mpi);
 *     tcasm_host_buffer_options_set_mpi(options, &mpi);
 *     tcasm_host_buffer_create("weather", options, 60.0, &buffer);
 *     tcasm_mpi_free(&mpi);
 */
#ifndef TCASM_MPI_H
#define TCASM_MPI_H

#include "tcasm.h"
#include <mpi.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * The ranks of a job by hosts.
 */
typedef struct tcasm_mpi {
    /*
     * The ranks of this host.
     */
    MPI_Comm host;
    /*
     * The first rank of each host. MPI_COMM_NULL in all others.
     */
    MPI_Comm leaders;
    /*
     * The number of hosts.
     */
    int hosts;
    /*
     * The number of ranks of this host.
     */
    int processes;
} tcasm_mpi;

/*
 * Finds out which of `ranks` are on which host. `host` has those of this host; with MPI_COMM_NULL
 * they are the ones that can share memory. Returns a status of MPI. All ranks call it, and
 * `tcasm_mpi_free` later.
 */
static inline int tcasm_mpi_hosts(MPI_Comm ranks, MPI_Comm host, tcasm_mpi *mpi)
{
    int rank, first, status;
    mpi->leaders = MPI_COMM_NULL;
    MPI_Comm_rank(ranks, &rank);
    status = host == MPI_COMM_NULL
                 ? MPI_Comm_split_type(ranks, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &mpi->host)
                 : MPI_Comm_dup(host, &mpi->host);
    if (status != MPI_SUCCESS)
        return status;
    MPI_Comm_rank(mpi->host, &first);
    MPI_Comm_size(mpi->host, &mpi->processes);
    status = MPI_Comm_split(ranks, first == 0 ? 0 : MPI_UNDEFINED, rank, &mpi->leaders);
    if (status != MPI_SUCCESS)
        return status;
    if (mpi->leaders != MPI_COMM_NULL)
        MPI_Comm_size(mpi->leaders, &mpi->hosts);
    return MPI_Bcast(&mpi->hosts, 1, MPI_INT, 0, mpi->host);
}

/*
 * Gives bytes to all hosts (`tcasm_all_gather`). `context` is the communicator of the ranks that
 * lead. Does not wait for longer than `timeout` seconds: then the operation has not ended, and the
 * communicator cannot be freed.
 */
static inline int tcasm_mpi_all_gather(void *context, const void *mine, void *all, size_t bytes,
                                       double timeout)
{
    MPI_Comm *leaders = (MPI_Comm *)context;
    const double end = MPI_Wtime() + timeout;
    MPI_Request request;
    int done = 0, status;
    status = MPI_Iallgather(mine, (int)bytes, MPI_BYTE, all, (int)bytes, MPI_BYTE, *leaders,
                            &request);
    while (status == MPI_SUCCESS && !done) {
        status = MPI_Test(&request, &done, MPI_STATUS_IGNORE);
        if (status == MPI_SUCCESS && !done && MPI_Wtime() > end) {
            *leaders = MPI_COMM_NULL;
            return -1;
        }
    }
    return status;
}

/*
 * Lets the hosts of a host buffer agree by MPI. `mpi` must stay where it is until the buffer is
 * created. Returns a status of the library.
 */
static inline int tcasm_host_buffer_options_set_mpi(tcasm_host_buffer_options *options,
                                                    tcasm_mpi *mpi)
{
    return tcasm_host_buffer_options_set_all_gather(options, tcasm_mpi_all_gather, &mpi->leaders,
                                                    (uint32_t)mpi->hosts, (size_t)mpi->processes,
                                                    mpi->leaders != MPI_COMM_NULL);
}

/*
 * Frees the communicators. All ranks call it. If a host was missing, those of the ranks that lead
 * stay. Returns a status of MPI.
 */
static inline int tcasm_mpi_free(tcasm_mpi *mpi)
{
    if (mpi->leaders != MPI_COMM_NULL)
        MPI_Comm_free(&mpi->leaders);
    return MPI_Comm_free(&mpi->host);
}

#ifdef __cplusplus
}
#endif

#endif
