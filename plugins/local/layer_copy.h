/* Copies what a box has written into a layer. */
#ifndef SANDLOT_LOCAL_LAYER_COPY_H
#define SANDLOT_LOCAL_LAYER_COPY_H

#include <sandlot/provider.h>

struct layer_copy {
    struct sandlot_call *call;
    uint32_t uid; /* whose the copy is to be */
    uint32_t gid;
    uint64_t limit;                     /* bytes on disk that may be copied in all */
    uint64_t bytes;                     /* that were; at first 0 */
    uint64_t sockets;                   /* that were left out; at first 0 */
    bool (*is_place)(const char *name); /* at the top what is so called and empty is left out; NULL: nothing is */
    int below;                          /* what the copy will lie on: a folder, or one of enum layer_below */
};

/* An overlay shows the mark of what was removed, as a file that nobody can open, where the folder it is in has nothing
 * to be laid over. So such marks are left out, if that can be told. */
enum layer_below { LAYER_ON_NOTHING = -1, LAYER_ON_OTHERS = -2 /* which have all that is marked */ };

/*
 * Lays what is in the folder NAME of PARENT over what is in TO, which nobody else uses: entry by entry, with modes,
 * times, links to the same file, attributes and holes; sockets are left out. MARKED: it was the upper folder of an
 * overlay, whose marks for what was removed, or hides what is below, are obeyed and, where something is below, kept.
 * Nothing is followed that leads out of it; what its owner may not read is read all the same. An error is told to the host.
 */
enum sandlot_status layer_copy(struct layer_copy *copy, int parent, const char *name, int to, bool marked);

#endif
