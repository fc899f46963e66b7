// A CUDA driver that has two devices and no GPU. It writes down what it is asked, refuses what a
// real driver refuses, and pins nothing.
#include <stdio.h>
#include <stdlib.h>

static int contexts[2];
static int held[2];
static int *current;

static void note(const char *text, unsigned long long a, unsigned long long b, unsigned c) {
    FILE *log = fopen(getenv("FAKE_CUDA_LOG"), "a");
    fprintf(log, "%s %llx %llx %x\n", text, a, b, c);
    fclose(log);
}

int cuInit(unsigned flags) { return flags == 0 ? 0 : 1; }

int cuDeviceGet(int *device, int ordinal) {
    if (ordinal < 0 || ordinal > 1) return 101;
    *device = ordinal;
    return 0;
}

int cuDevicePrimaryCtxRetain(void **context, int device) {
    held[device]++;
    *context = &contexts[device];
    return 0;
}

int cuDevicePrimaryCtxRelease_v2(int device) {
    note("release", device, --held[device], 0);
    return 0;
}

int cuCtxPushCurrent_v2(void *context) {
    current = context;
    return 0;
}

int cuCtxPopCurrent_v2(void **context) {
    *context = current;
    current = NULL;
    return 0;
}

int cuMemHostRegister_v2(void *ptr, size_t bytes, unsigned flags) {
    if (!current || !held[current - contexts]) return 201;
    // What a device without this ability answers.
    if (flags & 8) return 801;
    note("register", (unsigned long long)ptr, bytes, flags);
    return 0;
}

int cuMemHostUnregister(void *ptr) {
    if (!current || !held[current - contexts]) return 201;
    note("unregister", (unsigned long long)ptr, 0, 0);
    return 0;
}

int cuGetErrorName(int error, const char **name) {
    *name = error == 801 ? "CUDA_ERROR_NOT_SUPPORTED"
        : error == 101 ? "CUDA_ERROR_INVALID_DEVICE" : NULL;
    return 0;
}
