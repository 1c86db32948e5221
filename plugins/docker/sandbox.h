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

enum sandlot_status sandbox_get_or_create(struct sandlot_call *call, void *provider,
                                          const struct sandlot_create *request, void **sandbox);
void sandbox_release(void *provider, void *handle);

#endif
