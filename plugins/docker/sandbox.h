/* A container that is in use: made or found. */
#ifndef SANDLOT_DOCKER_SANDBOX_H
#define SANDLOT_DOCKER_SANDBOX_H

#include "container.h"

/* What get_or_create stores. */
struct sandbox {
    struct docker *docker;
    char id[CONTAINER_ID + 1];
    char *working_dir;
    bool archive; /* see struct container */
    bool root;    /* commands run as root */
};

FUNCTION_OF(sandlot_provider, get_or_create, sandbox_get_or_create);
FUNCTION_OF(sandlot_provider, release, sandbox_release);

#endif
