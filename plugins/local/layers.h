/*
 * Layers: what boxes have written, kept so that others can begin with it. A layer never changes once it is made, lies
 * below STATE/layers/ID, and has a folder for each place of a box that can be written to. A box, or a snapshot, has a
 * chain of them, the newest first, each of which covers the next as the layers of an overlay do.
 */
#ifndef SANDLOT_LOCAL_LAYERS_H
#define SANDLOT_LOCAL_LAYERS_H

#include <stdbool.h>
#include <stddef.h>

#define LAYERS_FOLDER "layers"
#define SNAPSHOTS_FOLDER "snapshots"

enum {
    LAYER_ID_SIZE = 20, /* with the NUL */
    LAYERS_MOST = 32    /* of a chain: mounting and looking up a name takes longer with each */
};

/* The places, by the names of their folders in a layer. */
enum layer_place { LAYER_WORKSPACE, LAYER_HOME, LAYER_TMP, LAYER_ROOT, LAYER_PLACES };
extern const char *const layer_places[LAYER_PLACES];

/*
 * "/" has no chain like the other places: a layer has all that its box has written there, and so covers the earlier
 * layers of the same box. A record says which layers count for it (root_layers).
 */
struct layer_chain {
    char ids[LAYERS_MOST][LAYER_ID_SIZE]; /* the newest first */
    size_t count;
};

/* Reads the ids in TEXT, which blanks separate; NULL: none. False if one is malformed, or there are too many. */
bool layer_chain_read(const char *text, struct layer_chain *chain);

/* Is ID the name of a layer? Nothing else is ever used as one. */
bool layer_id_valid(const char *id);

#endif
