// The parts of the driver without a GPU share this.
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

typedef unsigned long long u64;

// Writes down a call with its arguments.
void note(const char *text, u64 a, u64 b, unsigned c);
// Returns 1 if the function is to fail.
int refuses(const char *function);
// Returns 1 if the calling thread has a context, without which most functions fail with 201.
int has_context(void);
