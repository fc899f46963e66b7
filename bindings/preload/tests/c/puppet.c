// A program that knows nothing of TCASM: it opens, maps, stores and syncs as it is told, in lines.
// Each command prints one line.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

static void result(long value) { printf("%ld %d\n", value, value < 0 ? errno : 0); }

static void address(void *at) {
    if (at == MAP_FAILED) {
        printf("failed %d\n", errno);
    } else {
        printf("%lu\n", (unsigned long)at);
    }
}

struct job {
    void *at;
    size_t len;
    int times;
};

static void *sync_often(void *argument) {
    struct job *job = argument;
    for (int i = 0; i < job->times; i++) {
        if (msync(job->at, job->len, MS_SYNC) != 0) {
            return argument;
        }
    }
    return NULL;
}

static void sync_in_threads(void *at, size_t len, int count, int times) {
    pthread_t threads[16];
    struct job job = {at, len, times};
    int failed = 0;
    for (int i = 0; i < count; i++) {
        pthread_create(&threads[i], NULL, sync_often, &job);
    }
    for (int i = 0; i < count; i++) {
        void *end;
        pthread_join(threads[i], &end);
        failed += end != NULL;
    }
    result(failed ? -1 : 0);
}

static void *handled_at;
static size_t handled_len;
static volatile sig_atomic_t handled;

static void sync_in_handler(int signal) {
    (void)signal;
    int saved = errno;
    handled += msync(handled_at, handled_len, MS_SYNC) == 0;
    errno = saved;
}

// Publishes while a timer interrupts with a handler that does the same.
static void sync_with_handler(void *at, size_t len, int times) {
    handled_at = at;
    handled_len = len;
    struct sigaction action = {.sa_handler = sync_in_handler, .sa_flags = SA_RESTART};
    sigaction(SIGPROF, &action, NULL);
    struct itimerval often = {{0, 1000}, {0, 1000}}, never = {{0, 0}, {0, 0}};
    setitimer(ITIMER_PROF, &often, NULL);
    int failed = 0;
    for (int i = 0; i < times || handled == 0; i++) {
        failed += msync(at, len, MS_SYNC) != 0;
    }
    setitimer(ITIMER_PROF, &never, NULL);
    result(failed ? -1 : 0);
}

// Publishes in a forked child. Prints what the child saw.
static void sync_in_child(void *at, size_t len) {
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        int status = msync(at, len, MS_SYNC);
        int unmapped = munmap(at, len);
        _exit(unmapped != 0 ? 99 : status == 0 ? 0 : errno);
    }
    int status;
    waitpid(child, &status, 0);
    printf("%d %d\n", WIFEXITED(status), WEXITSTATUS(status));
}

static volatile int stop;

static void *sync_until_stopped(void *argument) {
    struct job *job = argument;
    while (!stop) {
        msync(job->at, job->len, MS_SYNC);
    }
    return NULL;
}

// Forks again and again while another thread publishes. Each child syncs, and unmaps.
static void fork_while_busy(void *at, size_t len, int times) {
    pthread_t thread;
    struct job job = {at, len, 0};
    int wrong = 0;
    stop = 0;
    pthread_create(&thread, NULL, sync_until_stopped, &job);
    for (int i = 0; i < times; i++) {
        pid_t child = fork();
        if (child == 0) {
            alarm(20); // ends a child that waits for a lock
            _exit(msync(at, len, MS_SYNC) == -1 && munmap(at, len) == 0 ? 0 : 1);
        }
        int status;
        waitpid(child, &status, 0);
        wrong += status != 0;
    }
    stop = 1;
    pthread_join(thread, NULL);
    result(wrong ? -1 : 0);
}

// Maps and publishes another region in a forked child.
static void publish_in_child(const char *name) {
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        int fd = open(name, O_RDWR | O_CREAT, 0600);
        int sized = ftruncate(fd, 4096);
        char *at = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        if (sized != 0 || at == MAP_FAILED) {
            _exit(1);
        }
        at[0] = 42;
        _exit(msync(at, 4096, MS_SYNC) == 0 ? 0 : 2);
    }
    int status;
    waitpid(child, &status, 0);
    printf("%d %d\n", WIFEXITED(status), WEXITSTATUS(status));
}

int main(void) {
    char line[4096];
    alarm(120); // ends a program that waits for itself
    setvbuf(stdout, NULL, _IOLBF, 0);
    while (fgets(line, sizeof line, stdin)) {
        char command[64] = "", text[2048] = "";
        unsigned long a = 0, b = 0, c = 0, d = 0;
        sscanf(line, "%63s %2047s", command, text);
        sscanf(line, "%*s %lu %lu %lu %lu", &a, &b, &c, &d);
        void *at = (void *)a;
        if (!strcmp(command, "open")) {
            result(open(text, O_RDWR | O_CREAT, 0600));
        } else if (!strcmp(command, "openat")) {
            result(openat(AT_FDCWD, text, O_RDWR | O_CREAT | O_CLOEXEC, 0600));
        } else if (!strcmp(command, "creat")) {
            result(creat(text, 0600));
        } else if (!strcmp(command, "readonly")) {
            result(open(text, O_RDONLY));
        } else if (!strcmp(command, "close")) {
            result(close((int)a));
        } else if (!strcmp(command, "dup")) {
            result(dup((int)a));
        } else if (!strcmp(command, "truncate")) {
            result(ftruncate((int)a, (off_t)b));
        } else if (!strcmp(command, "size")) {
            struct stat stat;
            result(fstat((int)a, &stat) == 0 ? (long)stat.st_size : -1);
        } else if (!strcmp(command, "map")) { // fd, length, offset, address
            address(mmap((void *)d, b, PROT_READ | PROT_WRITE, MAP_SHARED, (int)a, (off_t)c));
        } else if (!strcmp(command, "mapfixed")) {
            int flags = MAP_SHARED | MAP_FIXED;
            address(mmap((void *)d, b, PROT_READ | PROT_WRITE, flags, (int)a, (off_t)c));
        } else if (!strcmp(command, "mapnoreplace")) {
            int flags = MAP_SHARED | MAP_FIXED_NOREPLACE;
            address(mmap((void *)d, b, PROT_READ | PROT_WRITE, flags, (int)a, (off_t)c));
        } else if (!strcmp(command, "mapprivate")) {
            address(mmap(NULL, b, PROT_READ | PROT_WRITE, MAP_PRIVATE, (int)a, (off_t)c));
        } else if (!strcmp(command, "mapread")) {
            address(mmap(NULL, b, PROT_READ, MAP_SHARED, (int)a, (off_t)c));
        } else if (!strcmp(command, "anonymous")) {
            int flags = MAP_PRIVATE | MAP_ANONYMOUS;
            address(mmap(NULL, a, PROT_READ | PROT_WRITE, flags, -1, 0));
        } else if (!strcmp(command, "fill")) { // address, length, byte
            memset(at, (int)c, b);
            result(0);
        } else if (!strcmp(command, "number")) { // address, a 64-bit number
            memcpy(at, &b, sizeof b);
            result(0);
        } else if (!strcmp(command, "get")) {
            result(*(volatile unsigned char *)at);
        } else if (!strcmp(command, "sync")) { // address, length, flags
            errno = 77;
            int status = msync(at, b, (int)c);
            printf("%d %d\n", status, errno);
        } else if (!strcmp(command, "unmap")) {
            result(munmap(at, b));
        } else if (!strcmp(command, "remap")) {
            address(mremap(at, b, c, MREMAP_MAYMOVE));
        } else if (!strcmp(command, "pread")) {
            unsigned char byte = 0;
            long got = pread((int)a, &byte, 1, (off_t)b);
            printf("%ld %d\n", got, byte);
        } else if (!strcmp(command, "pwrite")) { // fd, offset, byte
            unsigned char byte = (unsigned char)c;
            result(pwrite((int)a, &byte, 1, (off_t)b));
        } else if (!strcmp(command, "threads")) { // address, length, threads, times
            sync_in_threads(at, b, (int)c, (int)d);
        } else if (!strcmp(command, "handler")) { // address, length, times
            sync_with_handler(at, b, (int)c);
        } else if (!strcmp(command, "forksync")) {
            sync_in_child(at, b);
        } else if (!strcmp(command, "forkexit")) { // the child ends with its exit handlers
            fflush(stdout);
            pid_t child = fork();
            if (child == 0) {
                exit(9);
            }
            int status;
            waitpid(child, &status, 0);
            printf("%d %d\n", WIFEXITED(status), WEXITSTATUS(status));
        } else if (!strcmp(command, "forkbusy")) { // address, length, times
            fork_while_busy(at, b, (int)c);
        } else if (!strcmp(command, "forkpublish")) {
            publish_in_child(text);
        } else if (!strcmp(command, "protect")) { // address, length, protection
            result(mprotect(at, b, (int)c));
        } else if (!strcmp(command, "exit")) {
            return (int)a;
        } else {
            printf("unknown command %s\n", command);
        }
    }
    return 0;
}
