/* The smallest observer: attaches to `hello` and prints the field of each version until the
   producer ends. */
#include <inttypes.h>
#include <stdio.h>
#include <tcasm.h>

static int failed(void)
{
    fprintf(stderr, "%s\n", tcasm_last_error());
    return 1;
}

static int print(tcasm_version *version)
{
    tcasm_stamp stamp = TCASM_INIT(tcasm_stamp);
    tcasm_array array = TCASM_INIT(tcasm_array);
    if (tcasm_version_stamp(version, &stamp) != TCASM_OK ||
        tcasm_array_of(version, "heat", &array) != TCASM_OK)
        return failed();
    const double *heat = array.data;
    printf("step %" PRIu64 ":", stamp.step);
    for (size_t i = 0; i < array.shape[0]; i++)
        printf(" %g", heat[i]);
    printf("\n");
    fflush(stdout);
    return 0;
}

int main(void)
{
    tcasm_observer *observer;
    tcasm_version *version;
    int status;
    if (tcasm_attach("hello", 5.0, &observer) != TCASM_OK)
        return failed();
    while ((status = tcasm_wait_newer(observer, 10.0, &version)) == TCASM_OK) {
        int result = print(version);
        tcasm_release(version); /* now its memory can be used again */
        if (result != 0)
            return result;
    }
    if (status != TCASM_END_OF_STREAM)
        return failed();
    return tcasm_detach(observer);
}
