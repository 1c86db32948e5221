#include "overlay.h"

#include "box.h"

#include <sandlot/sdk/cleanup.h>

#include <errno.h>
#include <stdio.h>

enum { OPTION_SIZE = 256 };

const char *const kept_paths[KEPT_PLACES] = {
    [LAYER_WORKSPACE] = BOX_WORKSPACE, [LAYER_HOME] = BOX_HOME, [LAYER_TMP] = "/tmp"};

void kept_name(char name[KEPT_NAME_SIZE], size_t layer)
{
    snprintf(name, KEPT_NAME_SIZE, KEPT_LAYER "-%zu", layer);
}

int file_system_new(const char *type, const struct option *options, unsigned attributes)
{
    AUTO_CLOSE int context = fsopen(type, FSOPEN_CLOEXEC);

    if (context < 0)
        return -1;
    for (; options->key; options++)
        if (fsconfig(context, options->value ? FSCONFIG_SET_STRING : FSCONFIG_SET_FLAG, options->key, options->value,
                     0) < 0)
            return -1;
    if (fsconfig(context, FSCONFIG_CMD_CREATE, NULL, NULL, 0) < 0)
        return -1;
    return fsmount(context, FSMOUNT_CLOEXEC, attributes);
}

static int name_lowers(const struct lowers *lowers, char text[OPTION_SIZE])
{
    int used = 0;

    for (size_t i = 0; i < lowers->count; i++) {
        used += snprintf(text + used, OPTION_SIZE - (size_t)used, "%s%d", i ? ":" : "", lowers->fds[i]);
        if (used >= OPTION_SIZE) {
            errno = E2BIG;
            return -1;
        }
    }
    return 0;
}

int overlay_new(const struct lowers *lowers, int storage, const char *upper, const char *work)
{
    char lower[OPTION_SIZE];
    char paths[2][64];

    if (name_lowers(lowers, lower) < 0)
        return -1;
    snprintf(paths[0], sizeof paths[0], "%d/%s", storage, upper);
    snprintf(paths[1], sizeof paths[1], "%d/%s", storage, work);
    /* Without userxattr an overlay of a user namespace cannot note what was removed. Without volatile the end of a box
     * would wait until all that it wrote is on the disk, and then remove it: no box outlives the machine's power.
     * Without an index what was an upper folder can become a lower one while the box stands (keeper/turn.h). With xino
     * a folder that is made in the box is marked as one that hides what lies below: else what `apply` writes below it
     * would come up again when the box removes it, and nothing would tell that it was removed (Linux since 5.14). */
    const struct option options[] = {
        {"lowerdir", lower}, {"upperdir", paths[0]}, {"workdir", paths[1]}, {"index", "off"},
        {"userxattr", NULL}, {"volatile", NULL},     {"xino", "on"},        {NULL, NULL}};

    return file_system_new("overlay", options, MOUNT_HARMLESS);
}
