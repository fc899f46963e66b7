/* Heat in a plate, in a region. The edges are cold, and the middle is heated. Each step is
   published: look at it with `tcasm view heat`. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <tcasm.h>

enum { N = 128, STEPS = 1000 };

/* Computes the next temperatures from those of now. */
static void step(double (*now)[N], double (*next)[N])
{
    for (int i = 1; i < N - 1; i++)
        for (int j = 1; j < N - 1; j++)
            next[i][j] = now[i][j] + 0.2 * (now[i - 1][j] + now[i + 1][j] + now[i][j - 1] +
                                            now[i][j + 1] - 4.0 * now[i][j]);
    next[N / 2][N / 2] = 100.0;
}

/* Ends the program if a call has failed. */
static void check(int status)
{
    if (status < 0) {
        fprintf(stderr, "%s\n", tcasm_last_error());
        exit(1);
    }
}

int main(void)
{
    tcasm_producer *heat;
    tcasm_buffer *buffer;
    size_t shape[] = {N, N};
    void *now, *next;
    check(tcasm_create("heat", 1 << 20, NULL, &heat));
    check(tcasm_add_field(heat, "t", TCASM_F64, 2, shape, NULL, &now));
    check(tcasm_buffer_like(heat, "t", &buffer, &next));

    for (int n = 1; n <= STEPS; n++) {
        step(now, next);
        now = next;
        check(tcasm_bind(heat, "t", buffer, &buffer, &next));
        check(tcasm_publish(heat, (uint64_t)n, 0.1 * n));
    }
    printf("%.17g\n", ((double(*)[N])now)[N / 2][N / 2 + 10]);
    check(tcasm_close(heat));
    return 0;
}
