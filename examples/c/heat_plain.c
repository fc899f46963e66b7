/* Heat in a plate, in ordinary memory. The edges are cold, and the middle is heated. */
#include <stdio.h>
#include <stdlib.h>

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

int main(void)
{
    double(*now)[N] = calloc(N, sizeof *now);
    double(*next)[N] = calloc(N, sizeof *next);
    if (now == NULL || next == NULL)
        return 1;

    for (int n = 1; n <= STEPS; n++) {
        step(now, next);
        double(*swap)[N] = now;
        now = next;
        next = swap;
    }
    printf("%.17g\n", now[N / 2][N / 2 + 10]);
    free(now);
    free(next);
    return 0;
}
