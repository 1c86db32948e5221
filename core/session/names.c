#include "session/names.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "base/path.h"
#include "base/text.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sandlot/provider.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { MOST_BYTES = 63, MOST_LABEL = 256, LOCK_MS = 60 * 1000 };

int names_check(const char *name, struct sandlot_error *error)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz";
    static const char all[] = "abcdefghijklmnopqrstuvwxyz0123456789.-";
    size_t length = strlen(name);

    if (length >= 1 && length <= MOST_BYTES && strspn(name, all) == length && strchr(letters, name[0]) &&
        !strchr(".-", name[length - 1]))
        return 0;
    return error_set(error, SANDLOT_CODE_USAGE,
                     "'%s' is no name for a sandbox; take 1 to %d of a-z, 0-9, '.' and '-', of which the first is a "
                     "letter, and the last none of '.' and '-'",
                     name, MOST_BYTES);
}

/* The folder of the names, made if MAKE; -1: it is not there. */
static int open_folder(bool make)
{
    AUTO_FREE char *state = path_state_home();
    AUTO_FREE char *path = state ? text_format("%s/names", state) : NULL;

    if (!path || (make && path_make_folders(path, 0700) < 0))
        return -1;
    return open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

/* The record that the file NAME leads to, to be freed. NULL: none. */
static struct ledger_record *follow(int folder, const char *name)
{
    AUTO_CLOSE int fd = path_open_file(folder, name, O_NOFOLLOW);
    AUTO_FREE char *label = fd >= 0 ? path_read_descriptor(fd, MOST_LABEL, NULL) : NULL;

    if (!label || !*label || strchr(label, '/'))
        return NULL;
    struct ledger_record *record = ledger_read_one(label);

    if (record && record->name && strcmp(record->name, name) == 0)
        return record;
    ledger_record_free(record);
    return NULL;
}

/* Does the ledger know a sandbox whose id is TEXT? */
static bool is_id(const char *text)
{
    struct ledger_record **records;
    size_t count;
    bool found = false;

    if (ledger_read(&records, &count, NULL) < 0)
        return false;
    for (size_t i = 0; i < count && !found; i++)
        found = records[i]->id && strcmp(records[i]->id, text) == 0;
    ledger_free_records(records, count);
    return found;
}

struct ledger_record *names_find(const char *name)
{
    if (names_check(name, NULL) < 0)
        return NULL;
    AUTO_CLOSE int folder = open_folder(false);
    struct ledger_record *record = folder >= 0 ? follow(folder, name) : NULL;

    if (record && record->id && !is_id(name))
        return record;
    ledger_record_free(record);
    return NULL;
}

/* ---- taking a name ----------------------------------------------------------------------------------------------- */

/* May its sandbox still be there? */
static bool may_live(const struct ledger_record *record)
{
    return record->expires_at_ms == 0 || record->expires_at_ms > (int64_t)time(NULL) * 1000;
}

/* Removes the files that lead nowhere any more, so that they do not pile up. */
static void sweep(int folder)
{
    int copy = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    AUTO_DIRECTORY DIR *directory = copy >= 0 ? fdopendir(copy) : NULL;

    for (struct dirent *entry; directory && (entry = readdir(directory));) {
        struct ledger_record *record = entry->d_name[0] == '.' ? NULL : follow(folder, entry->d_name);

        if (!record && entry->d_name[0] != '.')
            unlinkat(folder, entry->d_name, 0);
        ledger_record_free(record);
    }
    if (copy >= 0 && !directory)
        close(copy);
}

static int check_free(int folder, const char *name, struct sandlot_error *error)
{
    struct ledger_record *taken = follow(folder, name);
    int result = 0;

    if (taken && may_live(taken))
        result = error_set(error, SANDLOT_CODE_CONFLICT,
                           "the name %s is that of the sandbox %s of '%s'; delete that one, or take another name", name,
                           taken->id ? taken->id : "in the making", taken->provider);
    else if (is_id(name))
        result = error_set(error, SANDLOT_CODE_CONFLICT, "%s is the id of a sandbox; take another name", name);
    ledger_record_free(taken);
    return result;
}

/* The record first: a file without its record says nothing, and a record without its file is a leftover of ours. */
int names_write_record(struct ledger_record *record, int cancel_fd, struct sandlot_error *error)
{
    AUTO_CLOSE int lock = ledger_lock("names", sandlot_now_ms() + LOCK_MS, cancel_fd, error);
    AUTO_CLOSE int folder = lock >= 0 ? open_folder(true) : -1;

    if (lock < 0)
        return -1;
    if (folder < 0)
        return error_set(error, SANDLOT_CODE_INTERNAL_ERROR,
                         "the folder of the sandboxes' names cannot be used: %s; give yourself access to it, or set "
                         "XDG_STATE_HOME to another folder",
                         strerror(errno));
    if (check_free(folder, record->name, error) < 0)
        return -1;
    sweep(folder);
    if (ledger_write(record, error) < 0)
        return -1;
    if (path_write_atomically(folder, record->name, record->label, strlen(record->label), record->durable) == 0)
        return 0;
    error_set(error, SANDLOT_CODE_INTERNAL_ERROR, "the name %s cannot be kept: %s; make room, or leave it out",
              record->name, strerror(errno));
    ledger_remove(record->label, NULL);
    return -1;
}
