/* The smallest producer: a field of eight numbers, published ten times per second for half a
   minute. */
#include <stdint.h>
#include <stdio.h>
#include <tcasm.h>
#include <unistd.h>

static int failed(void)
{
    fprintf(stderr, "%s\n", tcasm_last_error());
    return 1;
}

int main(void)
{
    tcasm_producer *producer;
    size_t shape[] = {8};
    void *data;
    if (tcasm_create("hello", 1 << 20, NULL, &producer) != TCASM_OK ||
        tcasm_add_field(producer, "heat", TCASM_F64, 1, shape, NULL, &data) != TCASM_OK)
        return failed();

    double *heat = data;
    for (uint64_t step = 1; step <= 300; step++) {
        for (int i = 0; i < 8; i++)
            heat[i] = (double)step;
        if (tcasm_publish(producer, step, 0.1 * (double)step) < 0)
            return failed();
        usleep(100000);
    }
    return tcasm_close(producer);
}
