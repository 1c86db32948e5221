/* A box as the provider holds it: its folder, and connections to its init. */
#ifndef SANDLOT_LOCAL_SANDBOX_H
#define SANDLOT_LOCAL_SANDBOX_H

#include "client.h"
#include "settings.h"

enum { IDLE_CONNECTIONS = 8 };

struct sandbox {
    struct client *client;
    char *id;
    bool landlock;
    char *working_dir; /* the host's path of the workspace in CONFINEMENT_LANDLOCK, or the image's; NULL: the usual */
    int folder_fd;
    uint32_t uid; /* who the box is on this machine */
    uint32_t gid;
    pthread_mutex_t lock; /* of what follows */
    int idle[IDLE_CONNECTIONS];
    size_t idle_count;
};

/* Finds the live box ID. NULL with *STATUS, told to the host. */
struct sandbox *sandbox_open(struct client *client, struct sandlot_call *call, const char *id,
                             enum sandlot_status *status);

void sandbox_free(struct sandbox *sandbox);

/* A connection to the box's init, an idle one if there is one. -1 with *STATUS, told to the host. */
int sandbox_connect(struct sandbox *sandbox, struct sandlot_call *call, enum sandlot_status *status);

/* Gives back a connection on which nothing is under way. */
void sandbox_give_back(struct sandbox *sandbox, int connection);

/* Why the box ID ended, to be freed; NULL if nobody has written that. */
char *sandbox_why_ended(int state_fd, const char *id);

/* Tells the host that the box has ended, and why. */
enum sandlot_status sandbox_ended(const struct sandbox *sandbox, struct sandlot_call *call);

/* Does ID look like one of ours? Only such names are ever used as a file name. */
bool sandbox_id_valid(const char *id);

/* Is there a folder of box ID? */
bool sandbox_exists(int state_fd, const char *id);

/* Is there a folder of any box, or anything that is to be removed? */
bool sandbox_leaves_any(int state_fd);

/* The box's record (settings.h has its form), to be freed; NULL: it is gone. */
char *sandbox_record(const struct sandbox *sandbox);

/* Tells the host which limits of a new box are weaker than they could be. CPUS: processors are limited. */
void sandbox_log_limits(const struct sandbox *sandbox, struct sandlot_call *call, bool cpus);

/* Copies the folder PATH, at most LIMIT bytes, into the workspace of a new box of CONFINEMENT_LANDLOCK. */
enum sandlot_status sandbox_copy_workspace(const struct sandbox *sandbox, struct sandlot_call *call, const char *path,
                                           uint64_t limit);

/* The descriptor of the box's "/". */
enum sandlot_status sandbox_root(struct sandbox *sandbox, struct sandlot_call *call, struct sandlot_root *root);

#endif
