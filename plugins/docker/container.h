/* What the engine says of a container. */
#ifndef SANDLOT_DOCKER_CONTAINER_H
#define SANDLOT_DOCKER_CONTAINER_H

#include "engine.h"

/* On what we make. */
#define LABEL_RUN "sandlot-run"

/* What one of ours runs: no more than the time that it has. */
#define CONTAINER_PROGRAM "sleep"

enum { CONTAINER_ID = 12 /* digits that people and engines take for a whole id */ };

/* A container as it stood in an answer. All strings are DOCUMENT's; those that were absent are "". */
struct container {
    struct json_object *document;
    char id[CONTAINER_ID + 1];
    const char *state; /* in the engine's words */
    const char *run_label;
    const char *user;
    const char *working_dir;
    bool running;
    bool paused;
    bool archive; /* its files can be reached by the archive calls: none of them is where these do not look */
};

/* Asks for container ID, or the one of that name; *CONTAINER is empty if there is none. To be cleared in any case. */
enum sandlot_status container_find(struct sandlot_call *call, struct docker *docker, const char *id,
                                   struct container *container);
/* The same; that there is none is SANDLOT_NOT_FOUND. */
enum sandlot_status container_get(struct sandlot_call *call, struct docker *docker, const char *id,
                                  struct container *container);
void container_clear(struct container *container);

/* Waits, ten seconds at most, until *CONTAINER, which was just started, has become CONTAINER_PROGRAM, and looks at it
 * anew if it ended instead: one with an init process starts, and is shown as running, also where the image has not what
 * it is to run. An engine that does not show processes is not waited for. */
enum sandlot_status container_begin(struct sandlot_call *call, struct docker *docker, struct container *container);

/* POST /containers/ID/ACTION for an action that may have been done already: SANDLOT_OK with *DONE false: refused, for
 * what SAID (ENGINE_SAID bytes) tells. */
enum sandlot_status container_order(struct sandlot_call *call, struct docker *docker, const char *id,
                                    const char *action, bool *done, char *said);

/* Brings it to run, from whatever state. */
enum sandlot_status container_wake(struct sandlot_call *call, struct docker *docker, const struct container *container);

/* Lets everybody in container ID write to the folder PATH. */
enum sandlot_status container_unlock(struct sandlot_call *call, struct docker *docker, const char *id,
                                     const char *path);

/* The same for the working directory, if the engine has made that: dockerd gives it to root, whoever works there
 * (Podman to its user). One that is the image's, or lies in a mount, stays as it is. */
enum sandlot_status container_unlock_work(struct sandlot_call *call, struct docker *docker,
                                          const struct container *container);

#define AUTO_CONTAINER CLEANUP(container_clear)

#endif
