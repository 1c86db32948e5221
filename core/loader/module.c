#include "loader/module.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "base/path.h"
#include "base/text.h"
#include "registry/builtins.h"

#include <dlfcn.h>
#include <string.h>
#include <unistd.h>

/* Modules lie beside the providers, in a build folder and wherever Sandlot is installed. To be freed. */
static char *path_of(const struct module *module)
{
    AUTO_FREE char *builtins = builtins_folder();
    AUTO_FREE char *parent = builtins ? path_parent(builtins) : NULL;

    return parent ? text_format("%s/modules/%s", parent, module->file) : NULL;
}

static bool lacks_library(const struct module *module, const char *why)
{
    for (const char *const *library = module->libraries; *library; library++)
        if (strstr(why, *library))
            return true;
    return false;
}

static void explain(const struct module *module, const char *path, struct sandlot_error *error)
{
    const char *why = dlerror();

    why = why ? why : "unknown error";
    if (access(path, F_OK) < 0)
        error_set(error, SANDLOT_CODE_PROVIDER_UNAVAILABLE,
                  "%s is a file of its own, and %s is not there; install all of Sandlot, or %s", module->what, path,
                  module->instead);
    else if (lacks_library(module, why))
        error_set(error, SANDLOT_CODE_PROVIDER_UNAVAILABLE, "%s (%s); %s", module->needs, why, module->install);
    else
        error_set(error, SANDLOT_CODE_PROVIDER_UNAVAILABLE, "%s cannot be loaded: %s", module->what, why);
}

const void *module_load(const struct module *module, struct sandlot_error *error)
{
    AUTO_FREE char *path = path_of(module);
    void *handle = path ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
    const char *const *table = handle ? dlsym(handle, module->symbol) : NULL;

    if (!path)
        error_no_memory(error);
    else if (!table)
        explain(module, path, error);
    if (!table || strcmp(*table, SANDLOT_VERSION) == 0)
        return table;
    error_set(error, SANDLOT_CODE_PROVIDER_UNAVAILABLE,
              "%s is of version %s and this is sandlot " SANDLOT_VERSION "; install both from one version", path,
              *table);
    return NULL;
}
