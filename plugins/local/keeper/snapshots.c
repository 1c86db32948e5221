#include "snapshots.h"

#include "../layers.h"
#include "../settings.h"

#include <sandlot/sdk/cleanup.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

static int open_folder(const struct state *state, const char *name)
{
    return openat(state->fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

/* Appends " VALUE " to *TEXT. */
static bool append(char **text, const char *value)
{
    const size_t used = *text ? strlen(*text) : 0;
    char *grown = realloc(*text, used + strlen(value) + 3);

    if (!grown)
        return false;
    *text = grown;
    grown[used] = ' ';
    strcpy(grown + used + 1, value);
    strcat(grown, " ");
    return true;
}

/* Adds what the record NAME says of KEY. False: that cannot be told. */
static bool collect_one(int folder_fd, const char *name, const char *key, char **found)
{
    AUTO_FREE char *record = fields_read(folder_fd, name);
    AUTO_FREE char *value = record ? fields_get(record, key) : NULL;

    if (record)
        return !value || append(found, value);
    /* One that was deleted meanwhile needs nothing. */
    return faccessat(folder_fd, name, F_OK, AT_SYMLINK_NOFOLLOW) < 0 && errno == ENOENT;
}

/* What the records of all snapshots say of KEY, each between blanks, to be freed. False: that cannot be told. What
 * begins with a dot was not finished, and goes if TIDY says that nobody makes one now. */
static bool collect(const struct state *state, const char *key, bool tidy, char **found)
{
    AUTO_CLOSE int snapshots = open_folder(state, SNAPSHOTS_FOLDER);
    DIR *folder = snapshots >= 0 ? fdopendir(snapshots) : NULL;
    bool complete = folder || (snapshots < 0 && errno == ENOENT);

    *found = NULL;
    if (!folder)
        return complete;
    take_fd(&snapshots);
    for (const struct dirent *entry; complete && (entry = readdir(folder));)
        if (*entry->d_name != '.')
            complete = collect_one(dirfd(folder), entry->d_name, key, found);
        else if (tidy && strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            unlinkat(dirfd(folder), entry->d_name, 0);
    closedir(folder);
    return complete;
}

static bool is_among(const char *found, const char *word)
{
    char wanted[256];

    return found && snprintf(wanted, sizeof(wanted), " %s ", word) < (int)sizeof(wanted) && strstr(found, wanted);
}

bool snapshots_sweep(const struct state *state, bool (*in_use)(const void *context, const char *id),
                     const void *context)
{
    AUTO_CLOSE int layers = open_folder(state, LAYERS_FOLDER);

    if (layers < 0)
        return true;
    if (flock(layers, LOCK_EX | LOCK_NB) < 0)
        return false;
    AUTO_FREE char *found = NULL;
    const int listed = openat(layers, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *folder = listed >= 0 ? fdopendir(listed) : NULL;
    const bool complete = collect(state, "layers", true, &found);

    for (struct dirent *entry; complete && folder && (entry = readdir(folder));)
        if (layer_id_valid(entry->d_name) && !is_among(found, entry->d_name) && !in_use(context, entry->d_name))
            state_discard(state, layers, entry->d_name);
    if (folder)
        closedir(folder);
    return true;
}

bool snapshots_use_archive(const struct state *state, const char *key)
{
    AUTO_FREE char *found = NULL;

    return !collect(state, "archive", false, &found) || is_among(found, key);
}
