/* Host buffers of real ranks, in C and in C++. Each two ranks are a host here: they have a folder of
   their own for sockets. Arguments: the name of the job, and a folder. */
#include <tcasm_mpi.h>
#include "../c/check.h"
#include <sys/stat.h>
#include <time.h>

enum { PROCESSES = 2 };

static int rank, ranks;

/* Chooses the folder of this host, and returns its ranks. */
static MPI_Comm enter(const char *folder)
{
    char own[200];
    MPI_Comm host;
    snprintf(own, sizeof own, "%s/%d", folder, rank / PROCESSES);
    mkdir(own, 0700);
    CHECK(setenv("TCASM_RUNTIME_DIR", own, 1) == 0);
    MPI_Comm_split(MPI_COMM_WORLD, rank / PROCESSES, rank, &host);
    return host;
}

static tcasm_host_buffer_options *with_table(size_t bytes, tcasm_mpi *mpi)
{
    tcasm_host_buffer_options *options;
    OK(tcasm_host_buffer_options_new(&options));
    OK(tcasm_host_buffer_options_add(options, "table", bytes, TCASM_SECTION_ALLOCATED));
    OK(tcasm_host_buffer_options_set_mpi(options, mpi));
    return options;
}

/* The first rank of each host builds a list. All walk it by a pointer that rank 0 has sent. */
static void walk(const char *job, tcasm_mpi *mpi)
{
    tcasm_host_buffer_options *options = with_table(1 << 16, mpi);
    tcasm_host_buffer *buffer;
    size_t bytes;
    void *data;
    /* The ranks that lead come last, so that another one would lead if it could. */
    if (mpi->leaders != MPI_COMM_NULL)
        nanosleep(&(struct timespec){.tv_nsec = 200000000}, NULL);
    OK(tcasm_host_buffer_create(job, options, 30.0, &buffer));
    OK(tcasm_host_buffer_options_free(options));
    OK(tcasm_section(buffer, "table", &data, &bytes));
    CHECK(bytes == 1 << 16);
    if (mpi->leaders != MPI_COMM_NULL) {
        void **at = (void **)data;
        at[0] = &at[100];
        at[100] = &at[7];
        at[7] = NULL;
        OK(tcasm_seal(buffer, "table"));
    }
    OK(tcasm_wait_sealed(buffer, "table", 30.0));
    unsigned long long sent = (unsigned long long)data;
    MPI_Bcast(&sent, 1, MPI_UNSIGNED_LONG_LONG, 0, MPI_COMM_WORLD);
    int steps = 0;
    for (void **at = (void **)sent; at != NULL; at = (void **)*at)
        steps++;
    CHECK(steps == 3);
    OK(tcasm_host_buffer_close(buffer));
    /* A rank that still has this buffer would give it to one that comes for the next. */
    MPI_Barrier(MPI_COMM_WORLD);
}

/* The ranks of the last host want another table, so none gets the buffer. */
static void refuse(const char *job, tcasm_mpi *mpi)
{
    size_t bytes = rank / PROCESSES == mpi->hosts - 1 ? 1 << 15 : 1 << 16;
    tcasm_host_buffer_options *options = with_table(bytes, mpi);
    tcasm_host_buffer *buffer;
    FAILS(mpi->leaders != MPI_COMM_NULL ? TCASM_INVALID_ARGUMENT : TCASM_NOT_CREATED,
          tcasm_host_buffer_create(job, options, 30.0, &buffer));
    said("differ");
    OK(tcasm_host_buffer_options_free(options));
}

/* The ranks of the last host do not come. The others give up in time. MPI cannot end in good order
   before the operation that they have begun has ended, so the last host takes part in it then. */
static void miss(const char *job, tcasm_mpi *mpi)
{
    int last = rank / PROCESSES == mpi->hosts - 1;
    if (!last) {
        tcasm_host_buffer_options *options = with_table(1 << 16, mpi);
        tcasm_host_buffer *buffer;
        FAILS(TCASM_NOT_CREATED, tcasm_host_buffer_create(job, options, 1.0, &buffer));
        OK(tcasm_host_buffer_options_free(options));
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (last && mpi->leaders != MPI_COMM_NULL) {
        unsigned long long length = 0, *lengths = calloc((size_t)mpi->hosts, sizeof length);
        CHECK(tcasm_mpi_all_gather(&mpi->leaders, &length, lengths, sizeof length, 30.0) == 0);
        CHECK(lengths[0] > 0 && lengths[mpi->hosts - 1] == 0);
        free(lengths);
    }
}

int main(int argc, char **argv)
{
    tcasm_mpi mpi, all;
    MPI_Init(&argc, &argv);
    CHECK(argc == 3);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    CHECK(ranks % PROCESSES == 0 && ranks > PROCESSES);

    /* All ranks of this test share memory. */
    CHECK(tcasm_mpi_hosts(MPI_COMM_WORLD, MPI_COMM_NULL, &all) == MPI_SUCCESS);
    CHECK(all.hosts == 1 && all.processes == ranks);
    CHECK((all.leaders != MPI_COMM_NULL) == (rank == 0));
    CHECK(tcasm_mpi_free(&all) == MPI_SUCCESS);

    MPI_Comm host = enter(argv[2]);
    CHECK(tcasm_mpi_hosts(MPI_COMM_WORLD, host, &mpi) == MPI_SUCCESS);
    CHECK(mpi.hosts == ranks / PROCESSES && mpi.processes == PROCESSES);
    walk(argv[1], &mpi);
    refuse(argv[1], &mpi);
    miss(argv[1], &mpi);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
        printf("hosts: %d ranks of %d hosts have done what they should\n", ranks, mpi.hosts);
    if (rank / PROCESSES == mpi.hosts - 1)
        mpi.leaders = MPI_COMM_NULL;
    CHECK(tcasm_mpi_free(&mpi) == MPI_SUCCESS);
    MPI_Comm_free(&host);
    return MPI_Finalize();
}
