/* The first process of a box: serves its socket, buries the dead, and ends the box when its time is up. */
#ifndef SANDLOT_LOCAL_INIT_H
#define SANDLOT_LOCAL_INIT_H

#include "supervisor.h"

struct init_setup {
    struct profile profile;
    enum confinement confinement;
    int listener_fd;
    int keeper_fd;
    int64_t idle_ttl_ms; /* 0: none */
    int64_t hard_ttl_ms; /* 0: none */
};

/* Prepares signals: call before init_serve, and before the walls. 0 or -1 with errno. */
int init_prepare(struct init_setup *setup);

/* Serves until the box ends; the exit status is an enum box_exit. */
_Noreturn void init_serve(const struct init_setup *setup);

#endif
