#include "operations/file_error.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "base/path.h"
#include "base/text.h"
#include "operations/excerpt.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <string.h>

enum { NEAREST = 5, NAMES_BYTES = 600 };

/* How a verb is spoken of. */
static const struct {
    const char *noun;  /* what its path names */
    const char *doing; /* "cannot %s 'x'" */
    bool directory;    /* whether it wants a directory, or takes one */
    bool writes;
} verbs[] = {
    [FILE_READ] = {"File", "read", false, false},         [FILE_WRITE] = {"File", "write", false, true},
    [FILE_EDIT] = {"File", "edit", false, false},         [FILE_LIST] = {"Directory", "list", true, false},
    [FILE_GLOB] = {"Directory", "search", true, false},   [FILE_GREP] = {"Path", "search", true, false},
    [FILE_REMOVE] = {"Path", "remove", false, false},     [FILE_UPLOAD] = {"File", "upload to", false, true},
    [FILE_DOWNLOAD] = {"File", "download", false, false},
};

static enum sandlot_code missing_code(const struct file_call *call)
{
    return verbs[call->verb].directory ? SANDLOT_CODE_PATH_NOT_FOUND : SANDLOT_CODE_FILE_NOT_FOUND;
}

/* ---- nothing there --------------------------------------------------------------------------------------------- */

/* How alike two names are, from 0 to 2000: what they have in common at the beginning and at the end, whatever its
 * case. */
static unsigned likeness(const char *wanted, const char *name)
{
    size_t wanted_length = strlen(wanted);
    size_t length = strlen(name);
    size_t shorter = wanted_length < length ? wanted_length : length;
    size_t head = 0;
    size_t tail = 0;

    while (head < shorter && tolower((unsigned char)wanted[head]) == tolower((unsigned char)name[head]))
        head++;
    while (head + tail < shorter &&
           tolower((unsigned char)wanted[wanted_length - 1 - tail]) == tolower((unsigned char)name[length - 1 - tail]))
        tail++;
    return length + wanted_length ? (unsigned)(2000 * (head + tail) / (length + wanted_length)) : 0;
}

struct candidate {
    const char *name;
    unsigned likeness;
};

static bool comes_before(const struct candidate *a, const struct candidate *b)
{
    return a->likeness != b->likeness ? a->likeness > b->likeness : strcmp(a->name, b->name) < 0;
}

/* Puts the names most like WANTED into NEAREST_NAMES, the most alike first; returns how many. */
static size_t find_nearest(const char *wanted, const char *const *names, size_t count,
                           struct candidate nearest_names[NEAREST])
{
    size_t found = 0;

    for (size_t i = 0; i < count; i++) {
        struct candidate candidate = {.name = names[i], .likeness = likeness(wanted, names[i])};
        size_t at = found < NEAREST ? found++ : NEAREST;

        if (at == NEAREST && comes_before(&candidate, &nearest_names[NEAREST - 1]))
            at = NEAREST - 1;
        if (at == NEAREST)
            continue;
        for (; at > 0 && comes_before(&candidate, &nearest_names[at - 1]); at--)
            nearest_names[at] = nearest_names[at - 1];
        nearest_names[at] = candidate;
    }
    return found;
}

static void sort_names(struct candidate *names, size_t count)
{
    for (size_t i = 1; i < count; i++) {
        struct candidate candidate = names[i];
        size_t at = i;

        for (; at > 0 && strcmp(candidate.name, names[at - 1].name) < 0; at--)
            names[at] = names[at - 1];
        names[at] = candidate;
    }
}

/* "a, b, c": those of NAMES for which there is room, *TOLD of them. NULL when out of memory. */
static char *join_names(struct candidate *names, size_t count, size_t *told)
{
    AUTO_FREE char *joined = strdup("");

    *told = 0;
    for (size_t i = 0; joined && i < count; i++) {
        AUTO_FREE char *name = text_visible(names[i].name);

        if (!name)
            return NULL;
        if (strlen(joined) + strlen(name) > NAMES_BYTES)
            continue;
        if (!text_append(&joined, "%s%s", *told ? ", " : "", name))
            return NULL;
        ++*told;
    }
    return TAKE(joined);
}

static int missing_among(struct sandlot_error *error, const struct file_call *call, const char *shown,
                         const char *const *names, size_t count)
{
    struct candidate nearest[NEAREST];
    const char *slash = strrchr(call->path, '/');
    size_t found = find_nearest(slash ? slash + 1 : call->path, names, count, nearest);
    AUTO_FREE char *parent = path_parent(call->path);
    AUTO_FREE char *directory = parent ? excerpt_path(parent) : NULL;
    size_t told;

    sort_names(nearest, found);
    AUTO_FREE char *joined = join_names(nearest, found, &told);

    if (!directory || !joined)
        return error_no_memory(error);
    if (told == 0)
        return file_error_missing(error, call, NULL, 0);
    const char *what = verbs[call->verb].directory ? "Names" : "Files";

    if (told == count)
        return error_set(error, missing_code(call), "%s '%s' not found. %s in %s: %s.", verbs[call->verb].noun, shown,
                         what, directory, joined);
    return error_set(error, missing_code(call), "%s '%s' not found. %s in %s: %s (the nearest of %zu names).",
                     verbs[call->verb].noun, shown, what, directory, joined, count);
}

int file_error_missing(struct sandlot_error *error, const struct file_call *call, const char *const *names,
                       size_t count)
{
    AUTO_FREE char *shown = excerpt_path(call->shown);
    AUTO_FREE char *path = excerpt_path(call->path);
    const char *noun = verbs[call->verb].noun;

    if (!shown || !path)
        return error_no_memory(error);
    if (count)
        return missing_among(error, call, shown, names, count);
    if (call->shown[0] != '/')
        return error_set(error, missing_code(call),
                         "%s '%s' not found (that is %s). Look for it with ls or glob, or give an absolute path.", noun,
                         shown, path);
    return error_set(error, missing_code(call), "%s '%s' not found. Look for it with ls or glob.", noun, shown);
}

/* ---- what errno says ------------------------------------------------------------------------------------------- */

static int is_directory(struct sandlot_error *error, const struct file_call *call, const char *shown)
{
    switch (call->verb) {
    case FILE_EDIT:
        return error_set(error, SANDLOT_CODE_NOT_A_FILE, "'%s' is a directory: edit wants a text file in it", shown);
    case FILE_WRITE:
    case FILE_UPLOAD:
        return error_set(error, SANDLOT_CODE_IS_DIRECTORY,
                         "Cannot %s '%s': it is a directory. Give the path of a file in it.", verbs[call->verb].doing,
                         shown);
    default:
        return error_set(error, SANDLOT_CODE_IS_DIRECTORY,
                         "Cannot %s '%s': it is a directory, not a file. See with ls what is in it.",
                         verbs[call->verb].doing, shown);
    }
}

static int not_permitted(struct sandlot_error *error, const char *doing, const char *shown)
{
    return error_set(error, SANDLOT_CODE_PERMISSION_DENIED,
                     "Permission denied: the user of the sandbox may not %s '%s', or its file system is read-only. See "
                     "owner and mode with 'ls -ld', or choose another path.",
                     doing, shown);
}

int file_error_errno(struct sandlot_error *error, const struct file_call *call, int reason)
{
    AUTO_FREE char *shown = excerpt_path(call->shown);
    const char *doing = verbs[call->verb].doing;

    if (!shown)
        return error_no_memory(error);
    switch (reason) {
    case ENOTDIR:
        if (verbs[call->verb].writes)
            return error_set(error, SANDLOT_CODE_INVALID_PATH,
                             "Cannot %s '%s': something above it is a file, not a directory. Choose another path.",
                             doing, shown);
        return file_error_missing(error, call, NULL, 0);
    case ENOENT:
        return file_error_missing(error, call, NULL, 0);
    case EACCES:
    case EPERM:
    case EROFS:
        return not_permitted(error, doing, shown);
    case EISDIR:
        return is_directory(error, call, shown);
    case ELOOP:
        return error_set(error, SANDLOT_CODE_INVALID_PATH,
                         "Cannot %s '%s': its symbolic links lead round in a loop. See with 'ls -l' where they lead.",
                         doing, shown);
    case ENAMETOOLONG:
        return error_set(error, SANDLOT_CODE_INVALID_PATH,
                         "Cannot %s '%s': the path, or a name in it, is too long. Use a shorter one.", doing, shown);
    case ENOSPC:
    case EDQUOT:
        return error_set(error, SANDLOT_CODE_NO_SPACE,
                         "Cannot %s '%s': no space left in the sandbox. Remove what is no longer needed.", doing,
                         shown);
    case ECANCELED:
        return error_set(error, SANDLOT_CODE_CANCELLED, "Cancelled: could not %s '%s' to the end", doing, shown);
    case ETIMEDOUT:
        return error_set(error, SANDLOT_CODE_TIMEOUT,
                         "Out of time: could not %s '%s' in the time allowed. Try again, or with less at once.", doing,
                         shown);
    case ENOMEM:
        return error_no_memory(error);
    case EBUSY:
        if (call->verb == FILE_REMOVE)
            return error_set(error, SANDLOT_CODE_PERMISSION_DENIED,
                             "'%s' is or holds a mount of the sandbox and cannot be removed; name what is to go "
                             "inside it",
                             shown);
        __attribute__((fallthrough));
    default:
        return error_set(error, SANDLOT_CODE_INTERNAL_ERROR, "Cannot %s '%s': %s", doing, shown, strerror(reason));
    }
}

int file_error_working_dir(struct sandlot_error *error, const struct file_call *call)
{
    AUTO_FREE char *shown = excerpt_path(call->shown);
    AUTO_FREE char *working_dir = excerpt_path(call->session->working_dir);

    if (!shown || !working_dir)
        return error_no_memory(error);
    return error_set(error, SANDLOT_CODE_INVALID_PATH,
                     "'%s' is or holds the working directory %s and cannot be removed; name what is to go inside it",
                     shown, working_dir);
}

int file_error_kind(struct sandlot_error *error, const struct file_call *call)
{
    AUTO_FREE char *shown = excerpt_path(call->shown);

    if (!shown)
        return error_no_memory(error);
    if (call->verb == FILE_LIST || call->verb == FILE_GLOB)
        return error_set(error, SANDLOT_CODE_NOT_A_DIRECTORY,
                         "Cannot %s '%s': it is a file, not a directory. Give the directory that it is in.",
                         verbs[call->verb].doing, shown);
    return error_set(error, SANDLOT_CODE_NOT_A_FILE,
                     "Cannot %s '%s': it is a pipe, socket or device, not a regular file. Use a command for it.",
                     verbs[call->verb].doing, shown);
}

int file_error_tool(struct sandlot_error *error, const struct file_call *call, const char *tool)
{
    AUTO_FREE char *shown = excerpt_path(call->shown);

    if (!shown)
        return error_no_memory(error);
    return error_set(error, SANDLOT_CODE_MISSING_TOOL,
                     "Cannot %s '%s': the sandbox has no '%s'. Install it, or use an image that has it.",
                     verbs[call->verb].doing, shown, tool);
}

int file_error_bound(struct sandlot_error *error, const struct file_call *call)
{
    return error_set(error, SANDLOT_CODE_TOO_LARGE,
                     "'%s' was not downloaded: with it there would be more than the %" PRIu64
                     " bytes that this download may be; raise that bound (--max-bytes), or download it alone",
                     call->shown, call->bound->maximum);
}
