#include "results/writer.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "base/path.h"
#include "base/text.h"
#include "registry/builtins.h"

#include <dlfcn.h>
#include <string.h>

/* Modules lie beside the providers, in a build folder and wherever Sandlot is installed. To be freed. */
static char *module_path(void)
{
    AUTO_FREE char *builtins = builtins_folder();
    AUTO_FREE char *parent = builtins ? path_parent(builtins) : NULL;

    return parent ? text_format("%s/modules/" WRITER_MODULE_NAME, parent) : NULL;
}

static void explain(const char *path, struct sandlot_error *error)
{
    const char *why = dlerror();

    why = why ? why : "unknown error";
    if (access(path, F_OK) < 0)
        error_set(error, SANDLOT_CODE_PROVIDER_UNAVAILABLE,
                  "what writes patches and archives is a file of its own, and %s is not there; install all of Sandlot, "
                  "or use 'sandlot apply'",
                  path);
    else if (strstr(why, "libgit2") || strstr(why, "libarchive"))
        error_set(error, SANDLOT_CODE_PROVIDER_UNAVAILABLE,
                  "patches and archives need the libraries libgit2 and libarchive (%s); install them: apt-get install "
                  "libarchive13 and libgit2-1.5 (Debian 13: libarchive13t64, libgit2-1.9)",
                  why);
    else
        error_set(error, SANDLOT_CODE_PROVIDER_UNAVAILABLE, "what writes patches and archives cannot be loaded: %s",
                  why);
}

const struct writer_module *writer_load(struct sandlot_error *error)
{
    AUTO_FREE char *path = module_path();
    void *handle = path ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
    const struct writer_module *module = handle ? dlsym(handle, WRITER_MODULE_SYMBOL) : NULL;

    if (!path)
        error_no_memory(error);
    else if (!module)
        explain(path, error);
    if (!module || strcmp(module->version, SANDLOT_VERSION) == 0)
        return module;
    error_set(error, SANDLOT_CODE_PROVIDER_UNAVAILABLE,
              "%s is of version %s and this is sandlot " SANDLOT_VERSION "; install both from one version", path,
              module->version);
    return NULL;
}
