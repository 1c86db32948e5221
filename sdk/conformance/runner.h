/*
 * Runs each group in a process of its own and passes on what it tells, so that a plugin that crashes, exits, hangs or
 * closes descriptors costs results and never the run. Numbers the results and keeps count.
 */
#ifndef SANDLOT_CONFORMANCE_RUNNER_H
#define SANDLOT_CONFORMANCE_RUNNER_H

#include "kit.h"

#include <signal.h>

enum { MOST_GROUPS = 16, MOST_FIGURES = 32 };

struct group {
    const char *name;
    void (*run)(const struct kit *kit);
    int silence_s; /* it is ended when nothing was heard of it for so long */
    bool live;     /* uses the vendor's sandboxes */
};

struct total {
    const char *group;
    unsigned passed;
    unsigned failed;
    unsigned skipped;
};

struct figure {
    char name[64];
    double value;
    char unit[16];
};

struct run {
    struct total totals[MOST_GROUPS];
    size_t total_count;
    struct figure figures[MOST_FIGURES];
    size_t figure_count;
    unsigned number; /* results so far */
    unsigned failed;
    unsigned withheld; /* lines that would have shown a credential */
    bool show_progress;
};

/* Set by a handler of SIGINT and SIGTERM: the number of the signal. Blocked but while runner waits. */
extern volatile sig_atomic_t runner_interrupted;

/* Lets SIGINT, SIGTERM and SIGHUP interrupt groups. */
void runner_catch_signals(void);

/* False: it was interrupted. */
bool runner_run(struct run *run, struct kit *kit, const struct group *group);

/* The kit's own word on something, as one more result of the group that ran last. */
void runner_result(struct run *run, bool passed, const char *name, const char *expected, const char *came,
                   const char *advice);

#endif
