/*
 * Where everything of vfs lies that outlives a process: a folder of this user on a file system in memory, one for each
 * state folder of Sandlot.
 *
 *   state/           the state folder of the provider local, for the boxes of vfs alone
 *   bare/ID/         sandboxes without walls: bare.h
 *   snapshots/NAME/  the files of a snapshot of a sandbox without a full box; others are in state/
 *   moving/NUMBER/   what is becoming one, or is being removed
 *   landlock/ID      an empty file: box ID has no view of its own
 */
#ifndef VFS_STORE_H
#define VFS_STORE_H

#include <sandlot/provider.h>
#include <sys/types.h>

struct store {
    char path[192];
    char state_home[208];
    int fd; /* -1: not open */
};

/* Finds it, and with MAKE makes it; without, it stays closed where there is none, which is no failure. */
enum sandlot_status store_open(struct sandlot_call *call, struct store *store, bool make);
void store_close(struct store *store);

/* Lets the user of a box without a view of its own, who is not this one where this one is root, walk to its FOLDER. */
void store_let_through(const struct store *store, const char *folder);

/* The folder PATH of the store, made if need be; -1 with errno. To be closed. */
int store_folder(const struct store *store, const char *path);

/* Notes that box ID has no view of its own. */
void store_note_landlock(const struct store *store, const char *id);
bool store_is_landlock(const struct store *store, const char *id);
void store_forget(const struct store *store, const char *id);

/* Calls VISIT with each name in the folder PATH of the store until it returns false. */
void store_each(const struct store *store, const char *path, bool (*visit)(void *context, const char *name),
                void *context);

/* Fails with errno's reason, which is SANDLOT_EXHAUSTED where there is no room. WHAT begins the sentence. */
enum sandlot_status store_fail(struct sandlot_call *call, const char *what);

#endif
