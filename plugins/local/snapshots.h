/*
 * Snapshots and forks. Either keeps what a box has written as a layer (layers.h), made of a copy while the box stands
 * still, upon the layers that the box itself lies on. A snapshot is a record of that with a name, in STATE/snapshots; a
 * fork has it as its own at once. What nobody needs the keeper removes.
 */
#ifndef SANDLOT_LOCAL_SNAPSHOTS_H
#define SANDLOT_LOCAL_SNAPSHOTS_H

#include "client.h"
#include "settings.h"

/* What a box is to begin with, kept from being removed until snapshot_basis_clear. */
struct snapshot_basis {
    struct settings settings; /* of the box that it is of; its strings belong to the basis */
    int lock;                 /* on the folder of the layers */
    bool leaves;              /* there are layers that may not be needed any more */
};

/* Keeps box ID as NAME; all snapshots together take at most LIMIT bytes. WITH_BASE: with the folder that it began as,
 * else it refers to that. */
enum sandlot_status snapshot_make(struct client *client, struct sandlot_call *call, const char *id, const char *name,
                                  bool with_base, uint64_t limit);

enum sandlot_status snapshots_list(struct client *client, struct sandlot_call *call,
                                   const struct sandlot_listing *listing);
enum sandlot_status snapshot_delete(struct client *client, struct sandlot_call *call, const char *name);

/* What snapshot NAME is. To be cleared in any case. */
enum sandlot_status snapshot_find(struct client *client, struct sandlot_call *call, const char *name,
                                  struct snapshot_basis *basis);

/* What a fork of box ID begins with, and the network policy it has (settings.network). To be cleared in any case. */
enum sandlot_status snapshot_of_fork(struct client *client, struct sandlot_call *call, const char *id, uint64_t limit,
                                     struct snapshot_basis *basis);

void snapshot_basis_clear(struct snapshot_basis *basis);

/* Has the keeper remove what nobody needs (any more). */
void snapshots_sweep(struct client *client, struct sandlot_call *call);

#endif
