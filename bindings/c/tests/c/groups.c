/* Blocks of global arrays, put together from the ranks of a group. */
#include "check.h"

enum { NX = 4, NY = 3 };

static tcasm_producer *ranks[2];
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

int main(int argc, char **argv)
{
    tcasm_options *options;
    CHECK(argc == 2);
    create(argv[1], 0);
    create(argv[1], 1);
    OK(tcasm_group_attach(argv[1], &group));
    blocks_make_a_whole();
    steps_are_found_by_their_numbers();
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
    OK(tcasm_close(ranks[1]));
    return 0;
}
