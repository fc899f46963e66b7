// Opens a file with a path and flags that are known only at run time, and publishes three versions.
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

int main(int argc, char **argv) {
    volatile int flags = argc > 5 ? O_RDONLY : O_RDWR;
    int fd = open(argv[1], flags);
    if (fd < 0 || ftruncate(fd, 8000) != 0) {
        return 1;
    }
    double *u = mmap(NULL, 8000, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    char line[100];
    for (int number = 1; number <= 3; number++) {
        for (int i = 0; i < 1000; i++) {
            u[i] = number;
        }
        if (msync(u, 8000, MS_SYNC) != 0) {
            return 2;
        }
        puts("published");
        fflush(stdout);
        if (fgets(line, sizeof line, stdin) == NULL) {
            return 3;
        }
    }
}
