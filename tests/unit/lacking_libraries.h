/* What is loaded when it is needed, and is not there: for one test of each program that includes this. */
#ifndef SANDLOT_TESTS_LACKING_LIBRARIES_H
#define SANDLOT_TESTS_LACKING_LIBRARIES_H

#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static bool lacks_libraries;

/* In the place of the C library's: one that finds none. */
void *dlopen(const char *file, int mode)
{
    void *(*next)(const char *, int);

    *(void **)&next = dlsym(RTLD_NEXT, "dlopen");
    return lacks_libraries ? NULL : next(file, mode);
}

/* HOLDS must be true without them. In a process of its own, for libraries are looked for once: before they are needed
 * by anything else. */
static inline void assert_without_libraries(bool (*holds)(void))
{
    int status = 0;

    fflush(NULL);
    const pid_t pid = fork();

    if (pid == 0) {
        lacks_libraries = true;
        _exit(holds() ? 0 : 1);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

#endif
