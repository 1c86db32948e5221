/* Files as results know them: what stands at a path, and lists of that in the order of paths. */
#ifndef SANDLOT_RESULTS_NODE_H
#define SANDLOT_RESULTS_NODE_H

#include <sandlot/sandlot.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

enum node_type {
    NODE_NONE, /* nothing stands there */
    NODE_FILE,
    NODE_FOLDER,
    NODE_LINK,
    NODE_FIFO,
    NODE_SOCKET,
    NODE_DEVICE,
    NODE_BLOCKED /* a link of this machine lies on the way: nothing there is looked at or written */
};

enum {
    NODE_DIGEST = 32,
    NODE_DIGEST_TEXT = 2 * NODE_DIGEST + 1, /* in small hex digits, with NUL */
    NODES_MAXIMUM = 500000,
    NODE_DEPTH = 200 /* folders below each other; each costs a descriptor while they are walked */
};
#define NODES_BYTES_MAXIMUM (UINT64_C(128) << 20) /* of all paths and targets of a list */

struct node {
    char *path; /* relative, any bytes */
    enum node_type type;
    bool executable; /* a file's owner may execute it: of a mode no more is compared, as git has it */
    bool digested;   /* digest is there; of a sandbox's list it is only what the sandbox says */
    bool closed;     /* a folder of the sandbox that its user may not look into */
    uint64_t bytes;
    unsigned char digest[NODE_DIGEST]; /* SHA-256 of a file */
    char *target;                      /* of a link */
    int64_t changed_ms;                /* when its inode last changed, UTC; 0: unknown */
    int64_t modified_ns;               /* when its bytes did */
};

struct nodes {
    struct node *items;
    size_t count;
    size_t capacity;
    uint64_t bytes;
};

/* May PATH stand in a list? Relative, without empty parts, "." and "..", shorter than PATH_MAX. */
bool node_path_valid(const char *path);

/* Is PATH the folder FOLDER ("." is above all) or below it? */
bool node_path_within(const char *path, const char *folder);

/* Adds what NODE says, with copies of its texts. 0, or -1: too_large (names the path), or no memory. */
int nodes_add(struct nodes *nodes, const struct node *node, struct sandlot_error *error);

/* In the order of the bytes of their paths, each path once, and closed where one of that path was. */
void nodes_sort(struct nodes *nodes);

/* Of a sorted list; NULL: there is none. */
struct node *nodes_find(const struct nodes *nodes, const char *path);

void node_clear(struct node *node);
void nodes_clear(struct nodes *nodes);

enum node_type node_type_of(mode_t mode);

/* What stands under NAME in the folder FOLDER_FD, links not followed, without its path and digest. To be cleared. 0
 * (also NODE_NONE), or -1 with errno. */
int node_look(int folder_fd, const char *name, struct node *node);

/* May what lies in the folder FOLDER_FD be looked up? */
bool node_searchable(int folder_fd);

/* Does PATH lie in a closed folder of a sorted list? */
bool nodes_hide(const struct nodes *nodes, const char *path);

/* Same kind, bits and, as far as both are known, bytes? Files of the same length without digests are not the same. */
bool node_same(const struct node *left, const struct node *right);

/* One walk of folders, of the sandbox or of this machine. */
struct node_walk {
    struct nodes *nodes;
    int cancel_fd;
    bool (*leaves_out)(const void *context, const char *path); /* with all that is below; NULL: nothing is */
    const void *context;
    const char *where; /* "in the sandbox", for messages */
    bool marks_closed; /* what may not be looked into is a closed folder, and no error */
};

/* Adds NAME of FOLDER_FD under PATH (NULL: NAME is ".", and only what is in it is added), and all below it. 0, or -1
 * with an error that names the path. */
int node_walk(const struct node_walk *walk, int folder_fd, const char *name, const char *path,
              struct sandlot_error *error);

/* The SHA-256 of what can still be read from FD, and how much that was. BINARY (may be NULL): has it a NUL in its first
 * 8000 bytes, as git asks? 0, or -1 with errno. */
int node_digest(int fd, int cancel_fd, unsigned char digest[NODE_DIGEST], uint64_t *bytes, bool *binary);

/* The same, and every byte that it counts is written to COPY_FD as well. */
int node_digest_copy(int fd, int copy_fd, int cancel_fd, unsigned char digest[NODE_DIGEST], uint64_t *bytes,
                     bool *binary);

/* Its text; and back: false if it is none. */
void node_digest_write(const unsigned char digest[NODE_DIGEST], char text[NODE_DIGEST_TEXT]);
bool node_digest_read(const char *text, unsigned char digest[NODE_DIGEST]);

#endif
