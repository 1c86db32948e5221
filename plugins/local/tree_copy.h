/* Copies a tree: what a box has written into a layer, or a folder of the host as a box would see it. */
#ifndef SANDLOT_LOCAL_TREE_COPY_H
#define SANDLOT_LOCAL_TREE_COPY_H

#include <sandlot/provider.h>

struct tree_copy {
    struct sandlot_call *call;
    const char *what;      /* it is made for, in messages: "the snapshot" */
    const char *too_large; /* the sentence when it would be more than LIMIT, with what to do */
    uint32_t uid;          /* whose the copy is to be */
    uint32_t gid;
    uint64_t limit;                     /* bytes on disk that may be copied in all */
    uint64_t bytes;                     /* that were; at first 0 */
    uint64_t files;                     /* that were copied; at first 0 */
    uint64_t left_out;                  /* entries that were not; at first 0 */
    bool of_host;                       /* a folder of the host, which is only read: pipes, and what its owner's box
                                           would not be shown or we may not read, are left out; TO keeps its mode */
    bool (*is_place)(const char *name); /* at the top what is so called and empty is left out; NULL: nothing is */
    int below;                          /* what the copy will lie on: a folder, or one of enum tree_below */
};

/* An overlay shows the mark of what was removed, as a file that nobody can open, where the folder it is in has nothing
 * to be laid over. So such marks are left out, if that can be told. */
enum tree_below { TREE_ON_NOTHING = -1, TREE_ON_OTHERS = -2 /* which have all that is marked */ };

/*
 * Lays what is in the folder NAME of PARENT over what is in TO, which nobody else uses: entry by entry, with modes,
 * times, links to the same file, attributes and holes; sockets and devices are left out, and bits that give other
 * rights. MARKED: it was the upper folder of an overlay, whose marks for what was removed, or hides what is below, are
 * obeyed and, where something is below, kept. Nothing is followed that leads out of it; what its owner may not read is
 * read all the same, but in a folder of the host. An error is told to the host.
 */
enum sandlot_status tree_copy(struct tree_copy *copy, int parent, const char *name, int to, bool marked);

#endif
