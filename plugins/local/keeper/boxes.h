/* The boxes that live: what is known of each, ending them, and what is left to do when one has ended. */
#ifndef SANDLOT_LOCAL_BOXES_H
#define SANDLOT_LOCAL_BOXES_H

#include "../box/box.h"
#include "cgroup.h"
#include "guard.h"
#include "network.h"
#include "outside.h"
#include "state.h"
#include "turn.h"
#include "way.h"

#include <stdbool.h>
#include <stdint.h>

enum { BOX_ID_SIZE = 20 };

struct connection;

/* A volume that a box has. */
struct box_volume {
    char name[VOLUME_NAME_SIZE];
    uint64_t limit_mb;
    bool writes;
    bool with_others; /* they may write too */
};

struct box {
    struct source source;
    struct box *next;
    char id[BOX_ID_SIZE];
    char run_label[64];
    char archive[ARCHIVE_KEY_SIZE]; /* the key of the unpacked archive that is its root file system; "": none */
    int64_t created_ms;             /* UTC */
    struct box_process process;
    int keeper_fd; /* the keeper's end of the box's socketpair */
    uid_t host_uid;
    gid_t host_gid;
    uid_t inside_id;    /* who its user is in it */
    struct kept kept;   /* for turning what it writes into layers, */
    size_t layer_count; /* of which it began with so many, if it still lies on them */
    struct guarded *guarded;
    struct box_volume volumes[VOLUMES_MOST];
    size_t volume_count;
    struct way way;           /* out of it; its box is NULL where there is no network namespace */
    struct gate gate;         /* likewise, for programs that know no proxy */
    struct outside outside;   /* the same for packets, where everything is open; its box is NULL likewise */
    struct connection *lease; /* the box ends with it; NULL: it lives on its own */
    char *layers;             /* ids of those that lie below it (layers.h), which blanks separate; NULL: none */
    bool landlock;            /* CONFINEMENT_LANDLOCK */
    bool unpacks;             /* it is to become that itself */
    bool unpacked;            /* it has, and its storage is to be kept for that */
    bool ending;              /* told to end: nobody needs to hear why */
    int64_t kill_at_ms;       /* when an init that has been asked to end is killed; 0: never */
    const char *end_reason;   /* why the keeper ends it; NULL: it ended by itself */
};

struct remains; /* control groups that are still busy */

struct keeper {
    struct state state;
    struct cgroups cgroups;
    struct network network;
    const struct seccomp_program *filter;
    int epoll_fd;
    int wake_fd;
    int egress_program; /* -1: it is not installed */
    int credentials_program;
    struct box *boxes;
    struct connection *connections;
    struct remains *remains;
    bool unswept; /* there may be layers that nobody needs: */
    int sweep_pause_ms;
    int64_t sweep_at_ms; /* then it is looked again */
};

struct box *boxes_find(const struct keeper *keeper, const char *id);

/* The volume NAME of BOX; NULL: it has none of that name. */
const struct box_volume *boxes_volume(const struct box *box, const char *name);

/* How many living boxes have the volume NAME; the first of them, NULL: none. */
const struct box *boxes_with_volume(const struct keeper *keeper, const char *name, uint32_t *writers,
                                    uint32_t *readers);

/* Kills all that runs in the box. boxes_bury follows when it is dead. REASON is static, for those who ask for the box
 * later; NULL: nobody will. */
void boxes_end(struct box *box, const char *reason);

/* Makes what BOX, which stands still, has written a part of the layer ID, which it then lies on; REBASE: on that alone,
 * which has all of it already. */
enum turn_result boxes_turn(struct keeper *keeper, struct box *box, const char *id, bool rebase);

/* Removes what BOX has on the machine once none of its processes lives, and frees it. */
void boxes_discard(struct keeper *keeper, struct box *box);

/* The init of BOX is dead: removes all that there was of it, and frees it. */
void boxes_bury(struct keeper *keeper, struct box *box);

/* Does what the guard has found to be necessary. */
void boxes_heed_guard(struct keeper *keeper);

/* Goes on with what takes time: removes what was busy or unswept, and kills inits that do not end. In how many
 * milliseconds it is to be called again; -1: nothing is left. */
int boxes_tend(struct keeper *keeper);

/* Removes the layers that neither a box nor a snapshot needs. */
void boxes_sweep_layers(struct keeper *keeper);

/* Removes what earlier keepers left. */
void boxes_sweep(struct keeper *keeper);

#endif
