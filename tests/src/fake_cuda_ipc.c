// Device memory of the driver without a GPU, and the handles by which other processes open it.
//
// Each allocation is a memfd. It lies at the lowest free address of a window, so addresses are used
// again as soon as they are free. A handle names the memfd, with a number that no other allocation
// of the process has. If the macro OLD_DRIVER is defined, this is a driver before CUDA 11: it does
// not open memory twice, nor memory at the addresses of other memory of the process that is open.
//
// FAKE_CUDA_MOST_OPEN is the number of allocations that a process may have open.
#include "fake_cuda.h"

enum { MOST = 256, STEP = 2 << 20, BUFFER_ID = 7, LAZY_PEER_ACCESS = 1 };
static const u64 WINDOW = 0x600000000000;

typedef struct { int pid, fd; u64 id, ptr, bytes; } Named;
typedef union { Named named; char reserved[64]; } Handle;
typedef struct { Named named; u64 ptr; int users; } Opened;

static Named allocations[MOST];
static Opened opened[MOST];

static int overlap(const Named *a, u64 ptr, u64 bytes) {
    return a->bytes && a->ptr < ptr + bytes && ptr < a->ptr + a->bytes;
}

static Named *find(u64 ptr) {
    for (int i = 0; i < MOST; i++)
        if (overlap(&allocations[i], ptr, 1)) return &allocations[i];
    return NULL;
}

static u64 free_address(u64 bytes) {
    u64 at = WINDOW;
    for (int i = 0; i < MOST; i++)
        if (overlap(&allocations[i], at, bytes)) at += STEP, i = -1;
    return at;
}

static void name_of(u64 id, char name[32]) { snprintf(name, 32, "device-memory-%llu", id); }

int cuMemAlloc_v2(u64 *ptr, size_t bytes) {
    static u64 ids = 0;
    if (!has_context()) return 201;
    Named *place = allocations;
    while (place->bytes)
        if (++place == allocations + MOST) return 2;
    char name[32];
    name_of(++ids, name);
    int fd = memfd_create(name, MFD_CLOEXEC);
    u64 at = free_address(bytes);
    int kind = MAP_SHARED | MAP_FIXED_NOREPLACE;
    if (fd < 0 || ftruncate(fd, bytes)
        || mmap((void *)at, bytes, PROT_READ | PROT_WRITE, kind, fd, 0) != (void *)at) return 2;
    *place = (Named){getpid(), fd, ids, at, bytes};
    *ptr = at;
    note("alloc", at, bytes, 0);
    return 0;
}

int cuMemFree_v2(u64 ptr) {
    Named *own = find(ptr);
    if (!has_context()) return 201;
    if (!own || own->ptr != ptr) return 1;
    munmap((void *)ptr, own->bytes);
    close(own->fd);
    *own = (Named){0};
    note("free-memory", ptr, 0, 0);
    return 0;
}

int cuMemGetAddressRange_v2(u64 *base, size_t *bytes, u64 ptr) {
    Named *own = find(ptr);
    if (!has_context()) return 201;
    if (!own) return 500;
    *base = own->ptr;
    *bytes = own->bytes;
    return 0;
}

int cuPointerGetAttribute(void *data, int attribute, u64 ptr) {
    Named *own = find(ptr);
    if (!has_context()) return 201;
    if (!own || attribute != BUFFER_ID) return 1;
    *(u64 *)data = own->id;
    return 0;
}

int cuIpcGetMemHandle(Handle *handle, u64 ptr) {
    Named *own = find(ptr);
    if (!has_context()) return 201;
    if (!own || own->ptr != ptr) return 1;
    memset(handle, 0, sizeof *handle);
    handle->named = *own;
    note("handle", ptr, own->id, 0);
    return 0;
}

// Returns a descriptor of the memory, unless it was freed or its owner has ended.
static int memory_of(const Named *named) {
    char path[64], name[32], wanted[64], found[64] = "";
    snprintf(path, sizeof path, "/proc/%d/fd/%d", named->pid, named->fd);
    name_of(named->id, name);
    snprintf(wanted, sizeof wanted, "/memfd:%s (deleted)", name);
    if (readlink(path, found, sizeof found - 1) < 0 || strcmp(found, wanted)) return -1;
    FILE *file = fopen(path, "r+");
    int fd = file ? dup(fileno(file)) : -1;
    if (file) fclose(file);
    return fd;
}

static int map(Opened *place, const Named *named) {
    int fd = memory_of(named);
    if (fd < 0) return 400;
    void *at = mmap(NULL, named->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    if (at == MAP_FAILED) return 205;
    *place = (Opened){*named, (u64)at, 1};
    return 0;
}

static int open_handle(u64 *ptr, Handle handle, unsigned flags, int twice) {
    const Named *named = &handle.named;
    if (!has_context() || named->pid == getpid()) return 201;
    if (flags != LAZY_PEER_ACCESS) return 1;
    const char *most = getenv("FAKE_CUDA_MOST_OPEN");
    int count = 0;
    Opened *place = NULL;
    for (Opened *one = opened; one < opened + MOST; one++) {
        if (!one->users) {
            place = place ? place : one;
            continue;
        }
        count++;
        int same = one->named.pid == named->pid && one->named.id == named->id;
        if (!twice && one->named.pid == named->pid
            && overlap(&one->named, named->ptr, named->bytes)) return 208;
        if (same) {
            one->users++;
            *ptr = one->ptr;
            note("open-again", named->ptr, named->id, one->users);
            return 0;
        }
    }
    if (!place || (most && count >= atoi(most))) return 2;
    int error = map(place, named);
    if (error) return error;
    *ptr = place->ptr;
    note("open", named->ptr, named->id, 0);
    return 0;
}

int cuIpcOpenMemHandle(u64 *ptr, Handle handle, unsigned flags) {
    return open_handle(ptr, handle, flags, 0);
}

#ifndef OLD_DRIVER
int cuIpcOpenMemHandle_v2(u64 *ptr, Handle handle, unsigned flags) {
    return open_handle(ptr, handle, flags, 1);
}
#endif

int cuIpcCloseMemHandle(u64 ptr) {
    if (!has_context()) return 201;
    for (Opened *one = opened; one < opened + MOST; one++) {
        if (!one->users || one->ptr != ptr) continue;
        note("close", one->named.ptr, one->named.id, 0);
        if (--one->users == 0) munmap((void *)ptr, one->named.bytes);
        return 0;
    }
    note("close-of-unknown", ptr, 0, 0);
    return 1;
}
