/* Makes a layer of what a box has written. */
#ifndef SANDLOT_LOCAL_LAYER_MAKING_H
#define SANDLOT_LOCAL_LAYER_MAKING_H

#include "client.h"
#include "layers.h"
#include "settings.h"

struct layer_making {
    struct client *client;
    struct sandlot_call *call;
    struct sandbox *sandbox;
    char *record;                             /* of the box */
    struct settings settings;                 /* the same, read; base_ms says since when its changes are kept */
    char *network;                            /* what the box may reach now; NULL: nothing was asked */
    struct layer_chain chain;                 /* that the box lies on */
    struct layer_chain root_chain;            /* and its "/" */
    int hold;                                 /* the connection that keeps the box still; -1: none yet */
    int layers_fd;                            /* the folder of layers, locked: nothing in it is removed */
    int snapshots_fd;                         /* the folder of snapshots, locked: one is made at a time */
    bool with_base;                           /* the layer has the folder too that the box began as */
    bool made;                                /* a layer was begun */
    bool rebased;                             /* the box lies on it alone: it may need others no more */
    char id[LAYER_ID_SIZE];                   /* of the layer */
    int layer_fd;                             /* and its folder */
    uint64_t base_bytes;                      /* what the folder takes in it */
    char layers[LAYERS_MOST * LAYER_ID_SIZE]; /* the chain with the one that was made */
    char root_layers[LAYERS_MOST * LAYER_ID_SIZE];
};

/* Opens the folder of the host that the box of RECORD, which SETTINGS was read from, began as, if it is still the same
 * one; to be closed. -1 with *STATUS, told to the host. */
int layer_base_open(struct sandlot_call *call, const char *record, const struct settings *settings,
                    enum sandlot_status *status);

/* Prepares a layer of box ID. To be ended in any case, an error is told to the host. */
enum sandlot_status layer_making_begin(struct client *client, struct sandlot_call *call, const char *id,
                                       struct layer_making *making);

/*
 * Makes it while the box stands still; all layers together take at most LIMIT bytes. Where nothing runs in the box what
 * it has written becomes the layer as it is (keeper/turn.h), so that this takes the same time however much it is. Else
 * it is copied; so it is where with_base says that the layer must need nothing but itself, and what the box began as is
 * copied first, while the box goes on.
 */
enum sandlot_status layer_make(struct layer_making *making, uint64_t limit);

/* Lets go of all. A layer that nobody has recorded by now is one that the keeper may remove. */
void layer_making_end(struct layer_making *making);

/* How many bytes layer ID takes on the disk. It may have to be counted. */
uint64_t layer_size(int layers_fd, const char *id);

/* Opens the folder of layers, and locks it against the removal of any for as long as the descriptor is open. -1 with
 * *STATUS, told to the host. */
int layers_lock(struct client *client, struct sandlot_call *call, enum sandlot_status *status);

#endif
