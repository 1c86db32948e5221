#include "operations/sandbox_path.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "operations/excerpt.h"

#include <string.h>

static bool has_parent_component(const char *path)
{
    while (*path) {
        size_t length = strcspn(path, "/");

        if (length == 2 && path[0] == '.' && path[1] == '.')
            return true;
        path += length;
        path += strspn(path, "/");
    }
    return false;
}

static bool check(const char *path, bool absolute_only, struct sandlot_error *error)
{
    AUTO_FREE char *shown = excerpt_path(path);
    const char *name = shown ? shown : "";

    if (!*path)
        error_set(error, SANDLOT_CODE_INVALID_PATH, "The path is empty: name a file or a directory, '.' for this one");
    else if (has_parent_component(path))
        error_set(error, SANDLOT_CODE_INVALID_PATH,
                  "Path '%s' has a '..' component: path traversal is not allowed, write the path without it", name);
    else if (path[0] == '~')
        error_set(error, SANDLOT_CODE_INVALID_PATH,
                  "Path '%s' begins with '~', which is not expanded: write an absolute path, or one relative to the "
                  "working directory ('./~' for a name that begins so)",
                  name);
    else if (absolute_only && path[0] != '/')
        error_set(error, SANDLOT_CODE_INVALID_PATH,
                  "Path '%s' is not absolute: transfers want the whole path in the sandbox, from '/' on", name);
    else
        return true;
    return false;
}

/* Appends the components of PATH at *END, each with a slash before it. */
static char *append_components(char *end, const char *path)
{
    for (path += strspn(path, "/"); *path; path += strspn(path, "/")) {
        size_t length = strcspn(path, "/");

        if (length != 1 || path[0] != '.') {
            *end++ = '/';
            memcpy(end, path, length);
            end += length;
        }
        path += length;
    }
    return end;
}

char *sandbox_path(const char *path, const char *working_dir, bool absolute_only, struct sandlot_error *error)
{
    if (!check(path, absolute_only, error))
        return NULL;
    const char *base = path[0] == '/' ? "" : working_dir;
    char *resolved = malloc(strlen(base) + strlen(path) + 3);

    if (!resolved) {
        error_no_memory(error);
        return NULL;
    }
    char *end = append_components(append_components(resolved, base), path);

    if (end == resolved)
        *end++ = '/';
    *end = '\0';
    return resolved;
}

bool sandbox_path_holds(const char *path, const char *directory)
{
    size_t length = strlen(path);

    if (length == 1 && path[0] == '/')
        return directory[0] == '/';
    return strncmp(path, directory, length) == 0 && (directory[length] == '\0' || directory[length] == '/');
}
