/* sandlot plugin check: becomes the conformance kit, which is a program of its own. */
#include "base/cleanup.h"
#include "base/error.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/plugin.h"
#include "cli/progress.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#define KIT "sandlot-plugin-check"

/* Returns only if that fails. */
static int become_kit(const struct options *options, const char *path, struct sandlot_error *error)
{
    AUTO_FREE char **words = calloc(options->argument_count + 2, sizeof(*words));

    if (!words)
        return error_no_memory(error);
    words[0] = (char *)(uintptr_t)path;
    memcpy(words + 1, options->arguments, options->argument_count * sizeof(*words));
    execv(path, words);
    if (errno == ENOENT)
        return error_set(error, SANDLOT_CODE_PROVIDER_UNAVAILABLE,
                         "the conformance kit is a program of its own, and %s is not there; install the package "
                         "libsandlot-dev, or all of Sandlot with 'make install', or run 'make' in its source tree",
                         path);
    return error_set(error, SANDLOT_CODE_PROVIDER_UNAVAILABLE,
                     "the conformance kit %s cannot be run: %s; install Sandlot again", path, strerror(errno));
}

int command_plugin_check(const struct options *options)
{
    AUTO_FREE char *folder = plugin_part("modules", "lib/sandlot/modules");
    AUTO_FREE char *path = folder ? text_format("%s/" KIT, folder) : NULL;
    struct sandlot_error error = {0};

    progress_init(options->verbosity);
    if (path)
        become_kit(options, path, &error);
    else
        error_no_memory(&error);
    return plugin_fail(options, &error);
}
