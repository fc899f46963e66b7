// A CUDA driver that has two devices and no GPU. It writes down what it is asked, refuses what a
// real driver refuses, and pins nothing. Memory of a device is memory of the host, so that tests
// can look at it. fake_cuda_ipc.c has the memory that processes open by handles.
//
// FAKE_CUDA_LOG is the file for what it is asked. FAKE_CUDA_REFUSE is the name of a function that
// fails. FAKE_CUDA_FIRST is the device that this process counts as the first one.
#include "fake_cuda.h"

typedef struct { int kind, id; } Location;
typedef struct { int kind, handles; Location location; void *windows; char flags[8]; } Properties;
typedef struct { Location location; int flags; } Access;

static int contexts[2];
static int held[2];
static int *current;

void note(const char *text, u64 a, u64 b, unsigned c) {
    FILE *log = fopen(getenv("FAKE_CUDA_LOG"), "a");
    fprintf(log, "%s %llx %llx %x\n", text, a, b, c);
    fclose(log);
}

int refuses(const char *function) {
    const char *refused = getenv("FAKE_CUDA_REFUSE");
    return refused && !strcmp(refused, function);
}

int has_context(void) { return current && held[current - contexts]; }

int cuInit(unsigned flags) { return flags == 0 ? 0 : 1; }

int cuDeviceGet(int *device, int ordinal) {
    if (ordinal < 0 || ordinal > 1) return 101;
    *device = ordinal;
    return 0;
}

int cuDeviceGetAttribute(int *value, int attribute, int device) {
    (void)device;
    *value = (attribute == 102 && !refuses("management")) || attribute == 103;
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
    if (!has_context()) return 201;
    // The answer of a device without this ability.
    if (flags & 8) return 801;
    note("register", (u64)ptr, bytes, flags);
    return 0;
}

int cuMemHostGetDevicePointer_v2(u64 *device, void *ptr, unsigned flags) {
    if (!has_context()) return 201;
    *device = (u64)ptr + 1;
    return flags == 0 ? 0 : 1;
}

int cuMemHostUnregister(void *ptr) {
    if (!has_context()) return 201;
    note("unregister", (u64)ptr, 0, 0);
    return 0;
}

// The number that all processes have for a device, and back.
static int swapped(int device) {
    const char *first = getenv("FAKE_CUDA_FIRST");
    return first && *first == '1' ? 1 - device : device;
}

static int is_wanted(const Properties *wanted) {
    return wanted->kind == 1 && wanted->handles == 1 && wanted->location.kind == 1;
}

int cuMemGetAllocationGranularity(size_t *bytes, const Properties *wanted, int option) {
    *bytes = 2 << 20;
    return is_wanted(wanted) && option == 0 ? 0 : 1;
}

int cuMemAddressReserve(u64 *ptr, size_t bytes, size_t alignment, u64 address, u64 flags) {
    if (!has_context() || alignment || flags || bytes % (2 << 20)) return 1;
    // Like the real one: without MAP_FIXED, so it may reserve other addresses.
    int kind = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    void *got = mmap((void *)address, bytes, PROT_NONE, kind, -1, 0);
    if (got == MAP_FAILED) return 2;
    *ptr = (u64)got;
    note("reserve", *ptr, bytes, 0);
    return 0;
}

int cuMemAddressFree(u64 ptr, size_t bytes) {
    note("free", ptr, bytes, 0);
    return munmap((void *)ptr, bytes) ? 1 : 0;
}

int cuMemCreate(u64 *handle, size_t bytes, const Properties *wanted, u64 flags) {
    if (refuses("cuMemCreate")) return 2;
    if (!has_context() || !is_wanted(wanted) || flags) return 1;
    char name[] = "device-0";
    name[7] += swapped(wanted->location.id);
    int fd = memfd_create(name, MFD_CLOEXEC);
    if (fd < 0 || ftruncate(fd, bytes)) return 2;
    note("create", bytes, 0, 0);
    *handle = fd;
    return 0;
}

int cuMemExportToShareableHandle(int *fd, u64 handle, int kind, u64 flags) {
    if (!has_context() || kind != 1 || flags) return 1;
    *fd = dup(handle);
    return *fd < 0;
}

int cuMemImportFromShareableHandle(u64 *handle, void *fd, int kind) {
    if (refuses("cuMemImportFromShareableHandle")) return 801;
    if (!has_context() || kind != 1) return 1;
    int copy = dup((int)(long)fd);
    if (copy < 0) return 1;
    note("import", 0, 0, 0);
    *handle = copy;
    return 0;
}

int cuMemGetAllocationPropertiesFromHandle(Properties *found, u64 handle) {
    char path[64], name[64] = "";
    snprintf(path, sizeof path, "/proc/self/fd/%d", (int)handle);
    if (readlink(path, name, sizeof name - 1) < 0 || strncmp(name, "/memfd:device-", 14)) return 1;
    Properties made = {.kind = 1, .handles = 1, .location = {1, swapped(name[14] - '0')}};
    *found = made;
    return 0;
}

int cuMemRelease(u64 handle) {
    note("drop", 0, 0, 0);
    return close(handle) ? 1 : 0;
}

int cuMemMap(u64 ptr, size_t bytes, size_t offset, u64 handle, u64 flags) {
    if (!has_context() || offset || flags || lseek(handle, 0, SEEK_END) != (off_t)bytes) return 1;
    note("map", ptr, bytes, 0);
    int kind = MAP_SHARED | MAP_FIXED;
    return mmap((void *)ptr, bytes, PROT_NONE, kind, handle, 0) == MAP_FAILED;
}

int cuMemUnmap(u64 ptr, size_t bytes) {
    note("unmap", ptr, bytes, 0);
    int kind = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED;
    return mmap((void *)ptr, bytes, PROT_NONE, kind, -1, 0) == MAP_FAILED;
}

int cuMemSetAccess(u64 ptr, size_t bytes, const Access *access, size_t count) {
    if (refuses("cuMemSetAccess")) return 801;
    if (!has_context() || count != 1 || access->location.kind != 1 || access->flags != 3) return 1;
    return mprotect((void *)ptr, bytes, PROT_READ | PROT_WRITE);
}

int cuGetErrorName(int error, const char **name) {
    *name = error == 801 ? "CUDA_ERROR_NOT_SUPPORTED"
        : error == 400 ? "CUDA_ERROR_INVALID_HANDLE"
        : error == 208 ? "CUDA_ERROR_ALREADY_MAPPED"
        : error == 201 ? "CUDA_ERROR_INVALID_CONTEXT"
        : error == 101 ? "CUDA_ERROR_INVALID_DEVICE"
        : error == 2 ? "CUDA_ERROR_OUT_OF_MEMORY" : NULL;
    return 0;
}
