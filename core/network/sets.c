#include "network/sets.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "base/path.h"
#include "base/text.h"
#include "config/toml_tree.h"
#include "config/value.h"
#include "registry/builtins.h"

#include <errno.h>
#include <string.h>

enum { LARGEST_FILE = 1 << 20 };

#define SETS_FILE "network-sets.toml"

bool network_set_name_valid(const char *name)
{
    return *name && !name[strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-_")];
}

static struct json_object *parse(const char *path, const char *text, size_t length, struct sandlot_error *error)
{
    struct json_object *lines AUTO_JSON = NULL;
    struct toml_problem problem;
    struct json_object *sets = toml_parse(text, length, &lines, &problem);

    if (!sets)
        error_set(error, SANDLOT_CODE_INTERNAL_ERROR, "%s:%d: %s; install Sandlot again", path, problem.line,
                  problem.message);
    return sets;
}

struct json_object *network_sets_load(struct json_object *own, struct sandlot_error *error)
{
    AUTO_FREE char *folder = builtins_folder();
    AUTO_FREE char *path = folder ? text_format("%s/" SETS_FILE, folder) : NULL;
    size_t length = 0;
    AUTO_FREE char *text = path ? path_read_file(path, LARGEST_FILE, &length) : NULL;

    if (!text) {
        error_set(error, SANDLOT_CODE_INTERNAL_ERROR,
                  "the sets of hosts in %s cannot be read: %s; install Sandlot again", path ? path : SETS_FILE,
                  path ? strerror(errno) : "out of memory");
        return NULL;
    }
    struct json_object *sets = parse(path, text, length, error);

    if (!sets || !own)
        return sets;
    json_object_object_foreach(own, name, entries)
    {
        json_object_object_add(sets, name, json_object_get(entries));
    }
    return sets;
}
