/* What open makes, and what the parts of vfs know of each other. */
#ifndef VFS_VFS_H
#define VFS_VFS_H

#include "lower.h"
#include "parameters.h"
#include "store.h"

#include <pthread.h>
#include <sandlot/provider.h>

/* One way to make boxes. */
struct ground {
    struct ground *next;
    struct lower lower;
    bool landlock;
    char size_mb[24];
    char memory_mb[24];
    char processes[24];
    char snapshots_mb[24];
};

struct vfs {
    struct parameters parameters;
    bool bare;            /* no commands: sandboxes without walls */
    const char *demanded; /* "full", "landlock", "none", NULL: what the machine allows */
    pthread_mutex_t lock; /* of what follows */
    struct store store;   /* fd -1: not yet open */
    struct ground *grounds;
    struct lease *leases;
    bool only_landlock; /* it has turned out that the machine makes no full boxes */
};

/* What a sandbox without walls hangs on. */
struct lease {
    struct lease *next;
    int fd;
    char id[64];
};

/* A sandbox in use: a box of a ground, or one without walls. */
struct sandbox {
    struct ground *ground; /* NULL: without walls */
    void *box;
    char id[64];
    char working_dir[320]; /* "": /workspace */
};

#endif
