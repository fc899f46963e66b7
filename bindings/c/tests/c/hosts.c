/* Host buffers of several hosts: processes with folders of their own, which agree by a function of
   the program, or by a rendezvous. TCASM_COMMAND is the command that serves one. */
#include "check.h"
#include <arpa/inet.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { HOSTS = 3, PROCESSES = 2, CALLS = 24, LONGEST = 1 << 16 };

/* What all processes share: the calls of the function, and what the processes have found. */
static struct {
    atomic_int arrived[CALLS];
    unsigned char given[CALLS][HOSTS][LONGEST];
    size_t address[HOSTS][PROCESSES];
} *shared;

static char name[128], folder[128], secret[160], server[64];

struct host {
    int number, call;
};

/* Gives the bytes of this host to all, as MPI_Allgather does. */
static int all_gather(void *context, const void *mine, void *all, size_t bytes, double timeout)
{
    struct host *host = context;
    int call = host->call++;
    CHECK(call < CALLS && bytes <= LONGEST);
    memcpy(shared->given[call][host->number], mine, bytes);
    atomic_fetch_add(&shared->arrived[call], 1);
    for (int ms = 0; atomic_load(&shared->arrived[call]) < HOSTS; ms++) {
        if (ms > 1000 * timeout)
            return 7;
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
    for (int i = 0; i < HOSTS; i++)
        memcpy((char *)all + (size_t)i * bytes, shared->given[call][i], bytes);
    return 0;
}

static int fails(void *context, const void *mine, void *all, size_t bytes, double timeout)
{
    (void)context, (void)mine, (void)all, (void)bytes, (void)timeout;
    return 5;
}

static tcasm_host_buffer_options *with_table(size_t bytes)
{
    tcasm_host_buffer_options *options;
    uint32_t node = 0;
    OK(tcasm_host_buffer_options_new(&options));
    OK(tcasm_host_buffer_options_add(options, "table", bytes, TCASM_SECTION_ALLOCATED));
    OK(tcasm_host_buffer_options_add_regions(options, "ranks", 4, 1 << 20));
    OK(tcasm_host_buffer_options_set_nodes(options, "table", &node, 1));
    return options;
}

/* One process of a host builds a list, and the others walk it. */
static void use(tcasm_host_buffer *buffer, int host, int process)
{
    int created;
    size_t bytes;
    void *data;
    OK(tcasm_host_buffer_info(buffer, &shared->address[host][process], NULL, &created));
    OK(tcasm_section(buffer, "table", &data, &bytes));
    void **at = data;
    if (created) {
        at[0] = &at[100];
        at[100] = &at[7];
        OK(tcasm_seal(buffer, "table"));
    }
    OK(tcasm_wait_sealed(buffer, "table", 20.0));
    for (int i = 0; i < 2; i++)
        at = *at;
    CHECK(at == (void **)data + 7);
    OK(tcasm_host_buffer_close(buffer));
}

/* Chooses the folder of a host, where its processes meet. */
static void enter(int host)
{
    char own[160];
    snprintf(own, sizeof own, "%s/%d", folder, host);
    mkdir(own, 0700);
    CHECK(setenv("TCASM_RUNTIME_DIR", own, 1) == 0);
}

static void by_function(int number, int process)
{
    struct host host = {number, 0};
    tcasm_host_buffer_options *options = with_table(1 << 16);
    tcasm_host_buffer *buffer;
    OK(tcasm_host_buffer_options_set_all_gather(options, all_gather, &host, HOSTS, PROCESSES,
                                                process == 0));
    OK(tcasm_host_buffer_create(name, options, 30.0, &buffer));
    OK(tcasm_host_buffer_options_free(options));
    use(buffer, number, process);
}

/* The last host has another table, so none gets the buffer. */
static void with_another_table(int number, int process)
{
    struct host host = {number, 0};
    tcasm_host_buffer_options *options = with_table(number == HOSTS - 1 ? 1 << 15 : 1 << 16);
    tcasm_host_buffer *buffer;
    OK(tcasm_host_buffer_options_set_all_gather(options, all_gather, &host, HOSTS, PROCESSES,
                                                process == 0));
    /* The process that leads finds it out, and refuses the others of its host. */
    FAILS(process == 0 ? TCASM_INVALID_ARGUMENT : TCASM_NOT_CREATED,
          tcasm_host_buffer_create(name, options, 30.0, &buffer));
    said("differ");
    OK(tcasm_host_buffer_options_free(options));
}

static void by_rendezvous(int number, int process)
{
    tcasm_host_buffer_options *options = with_table(1 << 16);
    tcasm_host_buffer *buffer;
    OK(tcasm_host_buffer_options_set_processes(options, PROCESSES));
    OK(tcasm_host_buffer_options_set_rendezvous(options, server, secret));
    OK(tcasm_host_buffer_create(name, options, 30.0, &buffer));
    OK(tcasm_host_buffer_options_free(options));
    use(buffer, number, process);
}

/* Runs a part in all processes of all hosts. */
static void everywhere(void (*part)(int, int))
{
    pid_t children[HOSTS * PROCESSES];
    memset(shared, 0, sizeof *shared);
    fflush(NULL);
    for (int i = 0; i < HOSTS * PROCESSES; i++) {
        children[i] = fork();
        if (children[i] == 0) {
            enter(i / PROCESSES);
            part(i / PROCESSES, i % PROCESSES);
            _exit(0);
        }
        CHECK(children[i] > 0);
    }
    for (int i = 0; i < HOSTS * PROCESSES; i++) {
        int status;
        CHECK(waitpid(children[i], &status, 0) == children[i]);
        CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
}

static void all_have_one_address(void)
{
    for (int i = 0; i < HOSTS * PROCESSES; i++)
        CHECK(shared->address[i / PROCESSES][i % PROCESSES] == shared->address[0][0]);
    CHECK(shared->address[0][0] != 0);
}

/* Starts a rendezvous at a free port. */
static pid_t serve(void)
{
    const char *command = getenv("TCASM_COMMAND");
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof at;
    int probe = socket(AF_INET, SOCK_STREAM, 0);
    CHECK(command != NULL);
    CHECK(bind(probe, (struct sockaddr *)&at, len) == 0);
    CHECK(getsockname(probe, (struct sockaddr *)&at, &len) == 0);
    close(probe);
    snprintf(server, sizeof server, "127.0.0.1:%d", ntohs(at.sin_port));
    snprintf(secret, sizeof secret, "%s/secret", folder);
    FILE *file = fopen(secret, "w");
    CHECK(file != NULL && fputs("a secret of this test\n", file) > 0 && fclose(file) == 0);
    CHECK(chmod(secret, 0600) == 0);
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        CHECK(freopen("/dev/null", "w", stdout) != NULL);
        execl(command, command, "hostbuffer", "serve", "--listen", server, "--hosts", "3",
              "--secret", secret, (char *)NULL);
        _exit(9);
    }
    return child;
}

static void wrong_options_are_refused(void)
{
    tcasm_host_buffer_options *options = with_table(1 << 16);
    tcasm_host_buffer *buffer;
    uint32_t none = 0;
    FAILS(TCASM_INVALID_ARGUMENT,
          tcasm_host_buffer_options_set_all_gather(options, NULL, NULL, 1, 1, 1));
    FAILS(TCASM_INVALID_ARGUMENT,
          tcasm_host_buffer_options_set_all_gather(options, fails, NULL, 0, 1, 1));
    FAILS(TCASM_INVALID_ARGUMENT,
          tcasm_host_buffer_options_set_all_gather(options, fails, NULL, UINT32_MAX, 1, 1));
    FAILS(TCASM_INVALID_ARGUMENT,
          tcasm_host_buffer_options_set_all_gather(options, fails, NULL, 1, 1, 2));
    FAILS(TCASM_INVALID_ARGUMENT,
          tcasm_host_buffer_options_set_rendezvous(options, "127.0.0.1:1", "/absent"));
    FAILS(TCASM_NOT_FOUND, tcasm_host_buffer_options_set_nodes(options, "absent", &none, 1));
    FAILS(TCASM_INVALID_ARGUMENT, tcasm_host_buffer_options_add(options, "x", 1, 1u << 30));
    OK(tcasm_host_buffer_options_set_all_gather(options, fails, NULL, 2, 1, 1));
    FAILS(TCASM_NOT_CREATED, tcasm_host_buffer_create(name, options, 5.0, &buffer));
    said("returned 5");
    OK(tcasm_host_buffer_options_set_address(options, 12345));
    FAILS(TCASM_INVALID_ARGUMENT, tcasm_host_buffer_create(name, options, 5.0, &buffer));
    OK(tcasm_host_buffer_options_free(options));
    FAILS(TCASM_CLOSED, tcasm_host_buffer_create(name, options, 5.0, &buffer));
    OK(tcasm_host_buffer_options_new(&options));
    FAILS(TCASM_INVALID_ARGUMENT, tcasm_host_buffer_create(name, options, 5.0, &buffer));
    OK(tcasm_host_buffer_options_add(options, "none", 0, 0));
    FAILS(TCASM_INVALID_ARGUMENT, tcasm_host_buffer_create(name, options, 5.0, &buffer));
    OK(tcasm_host_buffer_options_free(options));
}

/* A section that gets more memory at once than there is: the kernel would end programs. The limit
   on file sizes is for the case that nothing else refuses it. */
static void too_much_memory_is_refused(void)
{
    const struct rlimit limit = {1 << 30, 1 << 30};
    const uint32_t flags[] = {TCASM_SECTION_ALLOCATED, TCASM_SECTION_LOCKED};
    CHECK(setrlimit(RLIMIT_FSIZE, &limit) == 0);
    for (int i = 0; i < 2; i++) {
        tcasm_host_buffer_options *options;
        tcasm_host_buffer *buffer;
        OK(tcasm_host_buffer_options_new(&options));
        OK(tcasm_host_buffer_options_add(options, "huge", (size_t)1 << 43, flags[i]));
        FAILS(TCASM_NOT_CREATED, tcasm_host_buffer_create(name, options, 5.0, &buffer));
        said("more may be allocated");
        OK(tcasm_host_buffer_options_free(options));
    }
}

int main(int argc, char **argv)
{
    CHECK(argc == 2);
    snprintf(name, sizeof name, "%s", argv[1]);
    snprintf(folder, sizeof folder, "/tmp/%s.XXXXXX", argv[1]);
    CHECK(mkdtemp(folder) != NULL);
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(shared != MAP_FAILED);

    everywhere(by_function);
    all_have_one_address();
    everywhere(with_another_table);
    pid_t rendezvous = serve();
    everywhere(by_rendezvous);
    all_have_one_address();
    kill(rendezvous, SIGTERM);
    waitpid(rendezvous, NULL, 0);
    wrong_options_are_refused();
    too_much_memory_is_refused();

    char command[160];
    snprintf(command, sizeof command, "rm -r '%s'", folder);
    CHECK(system(command) == 0);
    return 0;
}
