/* A run that is checkpointed by `tcasm checkpoint`, looked at, and continued, from the file and from
   the memory that `tcasm keep` holds. Usage: files NAME FOLDER */
#include "../../../c/tests/c/check.h"
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <tcasm_files.h>
#include <unistd.h>

struct pair {
    double a;
    int32_t b;
};

static const char *name, *folder;

static tcasm_producer *start(tcasm_start *how)
{
    tcasm_producer *producer;
    *how = (tcasm_start)TCASM_INIT(tcasm_start);
    OK(tcasm_restore_or_begin(name, 1 << 20, NULL, &folder, 1, how, &producer));
    return producer;
}

/* Runs a command of tcasm with the name of the region, and waits for its end. */
static pid_t tcasm(const char *command, const char *arguments)
{
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        char line[500];
        snprintf(line, sizeof line, "exec tcasm %s %s %s >/dev/null", command, name, arguments);
        execl("/bin/sh", "sh", "-c", line, NULL);
        _exit(127);
    }
    return child;
}

static void ended_well(pid_t child)
{
    int status;
    CHECK(waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

/* Waits until a child has attached: tcasm info lists the processes of observers. */
static void wait_for(pid_t child)
{
    char line[300];
    int found = 1;
    snprintf(line, sizeof line, "tcasm info --json %s | grep -qw %d", name, (int)child);
    for (int tries = 0; found != 0 && tries < 6000; tries++) {
        found = system(line);
        usleep(10000);
    }
    CHECK(found == 0);
}

static void a_first_start_is_new_and_is_checkpointed(void)
{
    tcasm_start how;
    tcasm_producer *producer = start(&how);
    size_t shape[] = {4, 6};
    void *data, *more;
    char arguments[300];
    CHECK(how.restored == 0 && how.step == 0);
    OK(tcasm_add_field(producer, "t", TCASM_F64, 2, shape, NULL, &data));
    OK(tcasm_add_structures(producer, "pairs", 2, sizeof(struct pair), _Alignof(struct pair),
                            "pair", &more));
    for (int i = 0; i < 24; i++)
        ((double *)data)[i] = i;
    ((struct pair *)more)[1].b = 42;
    snprintf(arguments, sizeof arguments, "--last --no-wait --fast '%s'", folder);
    OK(tcasm_publish(producer, 7, 0.5));
    pid_t child = tcasm("checkpoint", arguments);
    wait_for(child);
    OK(tcasm_close(producer));
    ended_well(child);
}

static void a_checkpoint_is_a_version(void)
{
    tcasm_version *version, *again;
    tcasm_array array = TCASM_INIT(tcasm_array);
    tcasm_stamp stamp = TCASM_INIT(tcasm_stamp);
    size_t first[] = {1, 2}, count[] = {2, 3}, fields;
    double two[2];
    uint64_t pages;
    tcasm_cookie cookie;
    tcasm_owner *owner;
    OK(tcasm_open_checkpoint(folder, &version));
    OK(tcasm_version_stamp(version, &stamp));
    CHECK(stamp.step == 7 && stamp.time == 0.5);
    OK(tcasm_field_count(version, &fields));
    CHECK(fields == 2);
    OK(tcasm_array_of(version, "t", &array));
    CHECK(array.rank == 2 && array.bytes == 24 * 8 && ((const double *)array.data)[23] == 23.0);
    OK(tcasm_part_of(version, "t", 2, first, count, &array));
    CHECK(*(const double *)array.data == 8.0 && array.shape[0] == 2);
    OK(tcasm_read(version, "t", 8 * 22, (uint8_t *)two, sizeof two));
    CHECK(two[0] == 22.0 && two[1] == 23.0);
    FAILS(TCASM_INVALID_ARGUMENT, tcasm_read(version, "t", 8 * 23, (uint8_t *)two, sizeof two));
    FAILS(TCASM_INVALID_ARGUMENT, tcasm_read(version, "t", UINT64_MAX, (uint8_t *)two, 8));
    first[0] = 3;
    FAILS(TCASM_INVALID_ARGUMENT, tcasm_part_of(version, "t", 2, first, count, &array));
    FAILS(TCASM_INVALID_ARGUMENT, tcasm_part_of(version, "t", 1, first, count, &array));
    OK(tcasm_array_of(version, "pairs", &array));
    CHECK(((const struct pair *)array.data)[1].b == 42);
    CHECK((uintptr_t)array.data % array.alignment == 0);
    FAILS(TCASM_NOT_FOUND, tcasm_array_of(version, "absent", &array));
    OK(tcasm_open_checkpoint(folder, &again));
    FAILS(TCASM_INVALID_ARGUMENT, tcasm_changes(version, again, &pages, NULL, 0, NULL));
    OK(tcasm_owner_new(0, &owner));
    FAILS(TCASM_INVALID_ARGUMENT, tcasm_declare_field(owner, version, "t", &cookie));
    OK(tcasm_owner_free(owner));
    OK(tcasm_release(again));
    OK(tcasm_release(version));
    FAILS(TCASM_OTHER_ERROR, tcasm_open_checkpoint("/no/such/folder", &version));
    said("/no/such/folder");
}

static void a_later_start_has_the_values_of_the_file(void)
{
    tcasm_start how;
    tcasm_producer *producer = start(&how);
    tcasm_array array = TCASM_INIT(tcasm_array);
    size_t shape[] = {3};
    CHECK(how.restored == 1 && how.step == 7 && how.time == 0.5 && how.version >= 1);
    OK(tcasm_live(producer, "t", &array));
    CHECK(((const double *)array.data)[23] == 23.0);
    OK(tcasm_live(producer, "pairs", &array));
    CHECK(((const struct pair *)array.data)[1].b == 42);
    OK(tcasm_add_field(producer, "more", TCASM_I32, 1, shape, NULL, NULL));
    OK(tcasm_publish(producer, 8, 0.75));
    OK(tcasm_close(producer));
}

/* A producer is killed, and its next start has its last version. */
static void a_start_after_a_kill_has_the_memory_that_is_kept(void)
{
    tcasm_start how;
    tcasm_observer *observer;
    tcasm_array array = TCASM_INIT(tcasm_array);
    int ready[2];
    CHECK(pipe(ready) == 0);
    pid_t simulation = fork();
    CHECK(simulation >= 0);
    if (simulation == 0) {
        tcasm_producer *producer = start(&how);
        OK(tcasm_live(producer, "t", &array));
        ((double *)array.data)[0] = -5.0;
        OK(tcasm_publish(producer, 7, 0.5));
        pid_t keeper = tcasm("keep", "--no-wait");
        wait_for(keeper);
        CHECK(write(ready[1], &keeper, sizeof keeper) == sizeof keeper);
        for (;;)
            pause();
    }
    pid_t keeper;
    CHECK(read(ready[0], &keeper, sizeof keeper) == sizeof keeper);
    CHECK(kill(simulation, SIGKILL) == 0 && waitpid(simulation, NULL, 0) == simulation);
    int status = TCASM_REGION_NOT_FOUND;
    for (int tries = 0; status != TCASM_OK && tries < 3000; tries++) {
        status = tcasm_attach_kept(name, &observer);
        usleep(10000);
    }
    OK(status);
    OK(tcasm_detach(observer));

    tcasm_producer *producer = start(&how);
    CHECK(how.restored == 1 && how.step == 7);
    OK(tcasm_live(producer, "t", &array));
    CHECK(*(const double *)array.data == -5.0);
    OK(tcasm_close(producer));
    kill(keeper, SIGTERM);
}

/* A checkpoint has all fields but one, whose memory the program has unmapped. */
static void a_lost_field_is_lost_in_the_file(void)
{
    static char region[200], sub[300], arguments[400];
    size_t bytes = 1 << 16, shape[] = {bytes / sizeof(double)};
    double *gone = mmap((void *)0x300000000000, bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    tcasm_producer *producer;
    tcasm_version *version;
    tcasm_array array = TCASM_INIT(tcasm_array);
    void *data;
    double value;
    CHECK(gone != MAP_FAILED);
    snprintf(region, sizeof region, "%s-lost", name);
    snprintf(sub, sizeof sub, "%s/lost", folder);
    name = region;
    CHECK(mkdir(sub, 0700) == 0);
    OK(tcasm_create(name, 4 << 20, NULL, &producer));
    OK(tcasm_add_field(producer, "own", TCASM_F64, 1, shape, NULL, &data));
    OK(tcasm_adopt(producer, "gone", TCASM_F64, 1, shape, gone, NULL));
    OK(tcasm_publish(producer, 1, 0.1));
    CHECK(munmap(gone, bytes) == 0);
    *(double *)data = 3.0;
    OK(tcasm_publish(producer, 2, 0.2));
    snprintf(arguments, sizeof arguments, "--last --no-wait --fast '%s'", sub);
    pid_t child = tcasm("checkpoint", arguments);
    wait_for(child);
    OK(tcasm_close(producer));
    ended_well(child);
    OK(tcasm_open_checkpoint(sub, &version));
    OK(tcasm_array_of(version, "own", &array));
    CHECK(*(const double *)array.data == 3.0);
    FAILS(TCASM_LOST, tcasm_array_of(version, "gone", &array));
    said("\"gone\" is lost");
    FAILS(TCASM_LOST, tcasm_read(version, "gone", 0, (uint8_t *)&value, sizeof value));
    FAILS(TCASM_NOT_FOUND, tcasm_array_of(version, "absent", &array));
    OK(tcasm_release(version));
}

/* A start of the first version of the header is filled. One of a later version has zeros at its
   end. */
static void a_start_can_grow(void)
{
    union {
        tcasm_start start;
        unsigned char bytes[200];
    } how;
    tcasm_producer *producer;
    size_t first = 40, later = sizeof(tcasm_start) + 56, sizes[] = {first, later};
    for (int i = 0; i < 2; i++) {
        memset(&how, 0xab, sizeof how);
        how.start.size = sizes[i];
        OK(tcasm_restore_or_begin(name, 1 << 20, NULL, &folder, 1, &how.start, &producer));
        OK(tcasm_close(producer));
        CHECK(how.start.size == sizes[i] && how.start.restored == 1 && how.start.step == 7);
        for (size_t at = sizeof(tcasm_start); at < sizes[i]; at++)
            CHECK(how.bytes[at] == 0);
        for (size_t at = sizes[i]; at < sizeof how; at++)
            CHECK(how.bytes[at] == 0xab);
    }
    how.start.size = first - 1;
    FAILS(TCASM_INVALID_ARGUMENT,
          tcasm_restore_or_begin(name, 1 << 20, NULL, &folder, 1, &how.start, &producer));
}

static void misuse_is_a_status(void)
{
    tcasm_start how = TCASM_INIT(tcasm_start);
    tcasm_producer *producer;
    const char *absent = "/no/such/folder";
    FAILS(TCASM_OTHER_ERROR, tcasm_restore_or_begin("x", 1 << 20, NULL, &absent, 1, &how, &producer));
    FAILS(TCASM_INVALID_ARGUMENT,
          tcasm_restore_or_begin(NULL, 1 << 20, NULL, &folder, 1, &how, &producer));
    FAILS(TCASM_INVALID_ARGUMENT,
          tcasm_restore_or_begin(name, 1 << 20, NULL, NULL, 1, &how, &producer));
    FAILS(TCASM_INVALID_ARGUMENT,
          tcasm_restore_or_begin(name, 1 << 20, NULL, &folder, 1, &how, NULL));
    how.size = 0;
    FAILS(TCASM_INVALID_ARGUMENT,
          tcasm_restore_or_begin(name, 1 << 20, NULL, &folder, 1, &how, &producer));
    FAILS(TCASM_INVALID_ARGUMENT, tcasm_open_checkpoint(folder, NULL));
}

int main(int argc, char **argv)
{
    CHECK(argc == 3);
    name = argv[1];
    folder = argv[2];
    a_first_start_is_new_and_is_checkpointed();
    a_checkpoint_is_a_version();
    a_later_start_has_the_values_of_the_file();
    a_start_after_a_kill_has_the_memory_that_is_kept();
    a_start_can_grow();
    misuse_is_a_status();
    a_lost_field_is_lost_in_the_file();
    return 0;
}
