/* The worker of this build, which lies where a program below tests/ does not look for it. */
#ifndef SANDLOT_TESTS_WORKER_PROGRAM_H
#define SANDLOT_TESTS_WORKER_PROGRAM_H

#include "base/cleanup.h"
#include "base/path.h"
#include "loader/worker/worker.h"

#include <limits.h>
#include <stdio.h>

static inline void use_worker_of_this_build(void)
{
    static char path[PATH_MAX];
    AUTO_FREE char *here = path_of_this_program();

    snprintf(path, sizeof(path), "%s/../builtins/sandlot-worker", here ? here : "");
    worker_use_program(path);
}

#endif
