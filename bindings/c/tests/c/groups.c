/* Blocks of global arrays, put together from the ranks of a group. */
#include "check.h"
#include <pthread.h>
#include <time.h>
#include <unistd.h>

enum { NX = 4, NY = 3 };

static tcasm_producer *ranks[2], *late[2];
static tcasm_group_observer *group;

/* Rank r has the columns 2 * r and 2 * r + 1 of an array of NY rows, with one ghost layer at each
   side, and two components for each point. */
static void create(const char *name, uint32_t r)
{
    tcasm_options *options;
    tcasm_field_options *block;
    size_t shape[] = {NY, NX / 2 + 2, 2}, whole[] = {NY, NX}, offset[] = {0, 2 * r};
    size_t ghosts[] = {0, 1};
    void *data;
    OK(tcasm_options_new(&options));
    OK(tcasm_options_set(options, TCASM_HISTORY, 3));
    OK(tcasm_options_set_group(options, r, 2, 2, "run 1"));
    OK(tcasm_create(name, 1 << 20, options, &ranks[r]));
    OK(tcasm_options_free(options));
    OK(tcasm_field_options_new(&block));
    OK(tcasm_field_options_set(block, TCASM_FIELD_VECTOR, 1));
    OK(tcasm_field_options_set_ghosts(block, 2, ghosts, ghosts));
    OK(tcasm_field_options_set_global(block, 2, whole, offset));
    OK(tcasm_add_field(ranks[r], "u", TCASM_F32, 3, shape, block, &data));
    OK(tcasm_field_options_free(block));
    float(*u)[NX / 2 + 2][2] = data;
    for (int y = 0; y < NY; y++)
        for (int x = 0; x < NX / 2 + 2; x++) {
            int inside = x > 0 && x < NX / 2 + 1;
            u[y][x][0] = inside ? (float)(10 * y + x - 1 + 2 * (int)r) : -1.0f;
            u[y][x][1] = -u[y][x][0];
        }
}

static tcasm_group_version *published(uint64_t step)
{
    tcasm_group_version *version;
    for (int r = 0; r < 2; r++)
        OK(tcasm_publish(ranks[r], step, 0.25));
    OK(tcasm_group_wait_newer(group, 5.0, &version));
    return version;
}

static void blocks_make_a_whole(void)
{
    tcasm_group_version *version = published(1);
    tcasm_array array = TCASM_INIT(tcasm_array);
    size_t first[] = {0, 0}, count[] = {NY, NX};
    float u[NY][NX][2], part[2][2][2], columns[NX][NY][2];
    OK(tcasm_global_of(version, "u", &array));
    CHECK(array.rank == 3 && array.shape[0] == NY && array.shape[1] == NX && array.shape[2] == 2);
    CHECK(array.dtype == TCASM_F32 && array.components == 2 && array.data == NULL);
    OK(tcasm_global_read(version, "u", 2, first, count, TCASM_ORDER_C, (uint8_t *)u, sizeof u));
    OK(tcasm_global_read(version, "u", 2, first, count, TCASM_ORDER_F, (uint8_t *)columns,
                         sizeof columns));
    for (int y = 0; y < NY; y++)
        for (int x = 0; x < NX; x++) {
            CHECK(u[y][x][0] == (float)(10 * y + x) && u[y][x][1] == -u[y][x][0]);
            CHECK(columns[x][y][0] == u[y][x][0] && columns[x][y][1] == u[y][x][1]);
        }
    /* A part that lies in both blocks. */
    first[0] = 1, first[1] = 1, count[0] = 2, count[1] = 2;
    OK(tcasm_global_read(version, "u", 2, first, count, TCASM_ORDER_C, (uint8_t *)part,
                         sizeof part));
    CHECK(part[0][0][0] == 11.0f && part[1][1][0] == 22.0f);
    uint8_t *bytes = (uint8_t *)part;
    FAILS(TCASM_INVALID_ARGUMENT,
          tcasm_global_read(version, "u", 2, first, count, TCASM_ORDER_C, bytes, 8));
    FAILS(TCASM_INVALID_ARGUMENT,
          tcasm_global_read(version, "u", 2, first, count, 5, bytes, sizeof part));
    first[1] = 3;
    FAILS(TCASM_INVALID_ARGUMENT,
          tcasm_global_read(version, "u", 2, first, count, TCASM_ORDER_C, bytes, sizeof part));
    FAILS(TCASM_NOT_FOUND, tcasm_global_of(version, "absent", &array));
    OK(tcasm_group_release(version));
    FAILS(TCASM_CLOSED, tcasm_global_of(version, "u", &array));
}

static void steps_are_found_by_their_numbers(void)
{
    uint64_t steps[8], step;
    size_t count;
    tcasm_group_version *version;
    OK(tcasm_group_release(published(2)));
    OK(tcasm_publish(ranks[0], 3, 0.0));
    OK(tcasm_wait_visible(ranks[0], 10.0));
    OK(tcasm_group_steps(group, steps, 8, &count));
    CHECK(count == 2 && steps[0] == 1 && steps[1] == 2);
    OK(tcasm_group_at(group, 1, &version));
    OK(tcasm_group_stamp(version, &step, NULL, NULL));
    CHECK(step == 1);
    OK(tcasm_group_release(version));
    FAILS(TCASM_VERSION_GONE, tcasm_group_at(group, 3, &version));
}

/* Fields without a place in a global array are put one behind the other. */
static void fields_of_all_ranks_are_concatenated(const char *name)
{
    tcasm_producer *own[2];
    tcasm_group_observer *lists;
    tcasm_group_version *version;
    tcasm_array array = TCASM_INIT(tcasm_array);
    size_t first[] = {0, 0}, count[] = {5, 2};
    int32_t values[5][2], columns[2][5];
    char own_name[100];
    snprintf(own_name, sizeof own_name, "%s-lists", name);
    for (uint32_t r = 0; r < 2; r++) {
        tcasm_options *options;
        size_t shape[] = {2 + r, 2};
        void *data;
        OK(tcasm_options_new(&options));
        OK(tcasm_options_set_group(options, r, 2, 2, NULL));
        OK(tcasm_create(own_name, 1 << 20, options, &own[r]));
        OK(tcasm_options_free(options));
        OK(tcasm_add_field(own[r], "list", TCASM_I32, 2, shape, NULL, &data));
        for (size_t i = 0; i < 2 * (2 + r); i++)
            ((int32_t *)data)[i] = (int32_t)(i + 4 * r);
        OK(tcasm_publish(own[r], 1, 0.0));
    }
    OK(tcasm_group_attach(own_name, &lists));
    OK(tcasm_group_wait_newer(lists, 5.0, &version));
    OK(tcasm_concatenated_of(version, "list", &array));
    CHECK(array.rank == 2 && array.shape[0] == 5 && array.shape[1] == 2 && array.data == NULL);
    CHECK(array.dtype == TCASM_I32);
    OK(tcasm_concatenated_read(version, "list", 2, first, count, TCASM_ORDER_C, (uint8_t *)values,
                               sizeof values));
    OK(tcasm_concatenated_read(version, "list", 2, first, count, TCASM_ORDER_F,
                               (uint8_t *)columns, sizeof columns));
    for (int i = 0; i < 10; i++)
        CHECK(values[i / 2][i % 2] == i && columns[i % 2][i / 2] == i);
    /* A part that lies in both. */
    first[0] = 1, count[0] = 2;
    OK(tcasm_concatenated_read(version, "list", 2, first, count, TCASM_ORDER_C, (uint8_t *)values,
                               2 * sizeof *values));
    CHECK(values[0][0] == 2 && values[1][1] == 5);
    FAILS(TCASM_OTHER_ERROR, tcasm_global_of(version, "list", &array));
    FAILS(TCASM_NOT_FOUND, tcasm_concatenated_of(version, "absent", &array));
    OK(tcasm_group_release(version));
    OK(tcasm_group_detach(lists));
    OK(tcasm_close(own[0]));
    OK(tcasm_close(own[1]));
}

/* Creates the second rank of a group after some time. */
static void *comes_later(void *name)
{
    tcasm_options *options;
    size_t shape[] = {1};
    usleep(300000);
    OK(tcasm_options_new(&options));
    OK(tcasm_options_set_group(options, 1, 2, 2, NULL));
    OK(tcasm_create(name, 1 << 20, options, &late[1]));
    OK(tcasm_options_free(options));
    OK(tcasm_add_field(late[1], "x", TCASM_F64, 1, shape, NULL, NULL));
    OK(tcasm_publish(late[1], 1, 0.0));
    return NULL;
}

static void ranks_that_have_no_region_yet_are_waited_for(const char *name)
{
    tcasm_options *options;
    tcasm_group_observer *waiting;
    tcasm_group_version *version;
    size_t shape[] = {1};
    char own_name[100];
    pthread_t thread;
    struct timespec before, after;
    snprintf(own_name, sizeof own_name, "%s-late", name);
    OK(tcasm_options_new(&options));
    OK(tcasm_options_set_group(options, 0, 2, 2, NULL));
    OK(tcasm_create(own_name, 1 << 20, options, &late[0]));
    OK(tcasm_options_free(options));
    OK(tcasm_add_field(late[0], "x", TCASM_F64, 1, shape, NULL, NULL));
    OK(tcasm_publish(late[0], 1, 0.0));
    OK(tcasm_group_attach(own_name, &waiting));
    FAILS(TCASM_NOT_READY, tcasm_group_latest(waiting, &version));
    CHECK(clock_gettime(CLOCK_MONOTONIC, &before) == 0);
    FAILS(TCASM_NOT_READY, tcasm_group_wait_newer(waiting, 0.2, &version));
    CHECK(clock_gettime(CLOCK_MONOTONIC, &after) == 0);
    CHECK(1e9 * (double)(after.tv_sec - before.tv_sec) + (double)(after.tv_nsec - before.tv_nsec) >=
          0.2e9);
    CHECK(pthread_create(&thread, NULL, comes_later, own_name) == 0);
    OK(tcasm_group_wait_newer(waiting, 20.0, &version));
    CHECK(pthread_join(thread, NULL) == 0);
    OK(tcasm_group_release(version));
    OK(tcasm_group_detach(waiting));
    OK(tcasm_close(late[0]));
    OK(tcasm_close(late[1]));
}

static void the_run_and_its_end_are_known(void)
{
    tcasm_group_version *version;
    const char *run;
    size_t attached, closed, lost;
    OK(tcasm_group_latest(group, &version));
    OK(tcasm_group_run(version, &run));
    CHECK(strcmp(run, "run 1") == 0);
    OK(tcasm_group_release(version));
    OK(tcasm_group_ends(group, &attached, &closed, &lost));
    CHECK(attached == 2 && closed == 0 && lost == 0);
    OK(tcasm_close(ranks[1]));
    OK(tcasm_group_ends(group, &attached, &closed, &lost));
    CHECK(attached == 2 && closed == 1 && lost == 0);
}

/* The agent of a host publishes a region like this one. */
static void agreed_steps_are_those_of_the_agent(const char *name)
{
    tcasm_group_version *version;
    tcasm_producer *agent;
    tcasm_attrs *attrs;
    char own_name[100];
    uint64_t step;
    FAILS(TCASM_REGION_NOT_FOUND, tcasm_group_agreed(group, &version));
    OK(tcasm_attrs_new(&attrs));
    OK(tcasm_attrs_set_text(attrs, "group", name));
    OK(tcasm_attrs_set_text(attrs, "run", "run 1"));
    OK(tcasm_attrs_set_int(attrs, "ranks", 2));
    OK(tcasm_attrs_set_int(attrs, "agents", 1));
    OK(tcasm_attrs_set_int(attrs, "newest", 2));
    snprintf(own_name, sizeof own_name, "%s.group", name);
    OK(tcasm_create(own_name, 1 << 20, NULL, &agent));
    OK(tcasm_set_attrs(agent, attrs));
    OK(tcasm_attrs_free(attrs));
    FAILS(TCASM_NOT_READY, tcasm_group_agreed(group, &version));
    OK(tcasm_publish(agent, 1, 0.25));
    OK(tcasm_wait_visible(agent, 10.0));
    OK(tcasm_group_agreed(group, &version));
    OK(tcasm_group_stamp(version, &step, NULL, NULL));
    CHECK(step == 1);
    OK(tcasm_group_release(version));
    OK(tcasm_close(agent));
}

int main(int argc, char **argv)
{
    tcasm_options *options;
    CHECK(argc == 2);
    create(argv[1], 0);
    create(argv[1], 1);
    OK(tcasm_group_attach(argv[1], &group));
    blocks_make_a_whole();
    steps_are_found_by_their_numbers();
    agreed_steps_are_those_of_the_agent(argv[1]);
    the_run_and_its_end_are_known();
    fields_of_all_ranks_are_concatenated(argv[1]);
    ranks_that_have_no_region_yet_are_waited_for(argv[1]);
    OK(tcasm_options_new(&options));
    setenv("TCASM_RANK", "5", 1);
    setenv("TCASM_RANKS", "many", 1);
    FAILS(TCASM_OTHER_ERROR, tcasm_options_set_group_from_env(options));
    said("many");
    setenv("TCASM_RANKS", "8", 1);
    setenv("TCASM_LOCAL_RANKS", "8", 1);
    setenv("TCASM_RUN", "r", 1);
    OK(tcasm_options_set_group_from_env(options));
    OK(tcasm_options_free(options));
    OK(tcasm_group_detach(group));
    OK(tcasm_close(ranks[0]));
    return 0;
}
