/* Checks of the tests. A check that fails prints what it saw, and ends the program. */
#ifndef CHECK_H
#define CHECK_H

#include "tcasm.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Checks that a call returns TCASM_OK. */
#define OK(call) expect((call), TCASM_OK, #call, __FILE__, __LINE__)
/* Checks that a call returns another status. */
#define FAILS(status, call) expect((call), (status), #call, __FILE__, __LINE__)
/* Checks a condition. */
#define CHECK(condition) check((condition), #condition, __FILE__, __LINE__)

static inline void expect(int found, int wanted, const char *call, const char *file, int line)
{
    if (found != wanted) {
        fprintf(stderr, "%s:%d: %s returned %s, not %s: %s\n", file, line, call,
                tcasm_status_name(found), tcasm_status_name(wanted), tcasm_last_error());
        exit(1);
    }
}

static inline void check(int holds, const char *condition, const char *file, int line)
{
    if (!holds) {
        fprintf(stderr, "%s:%d: %s does not hold; last error: %s\n", file, line, condition,
                tcasm_last_error());
        exit(1);
    }
}

/* Checks that the text of the last error says something. */
static inline void said(const char *words)
{
    if (strstr(tcasm_last_error(), words) == NULL) {
        fprintf(stderr, "the last error does not say \"%s\": %s\n", words, tcasm_last_error());
        exit(1);
    }
}

#endif
