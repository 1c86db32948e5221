/*
 * The provider `vfs`: sandboxes whose files are in memory. Start at sandboxes.c: a sandbox is a box of the provider
 * local (grounds.c, lower.c), or where the machine has no walls a folder in memory (bare.c). store.c says where all of
 * it lies, snapshots.c and tree.c do what their names say.
 */
#include "bare.h"
#include "grounds.h"
#include "sandboxes.h"

#include <sandlot/sdk/cleanup.h>

#include <linux/landlock.h>
#include <string.h>
#include <sys/syscall.h>

/* The operator's word on the walls; for tests, and for who wants an agent without commands. */
#define CONFINEMENT "VFS_CONFINEMENT"

SANDLOT_PARAMETERS(vfs, VFS_PARAMETERS)

static const char *confinement(struct sandlot_call *call)
{
    static const char *const words[] = {"full", "landlock", "none"};
    const char *said = call->host->environment(call, CONFINEMENT);

    for (size_t i = 0; said && i < sizeof(words) / sizeof(words[0]); i++)
        if (strcmp(said, words[i]) == 0)
            return words[i];
    return NULL;
}

/* Both ways to confine a command need Landlock; where it is missing there is no command. */
static bool has_walls(const char *demanded)
{
    if (demanded && strcmp(demanded, "none") == 0)
        return false;
    return syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION) > 0;
}

static enum sandlot_status vfs_open(struct sandlot_call *call, void **provider VFS_PARAMETERS(PARAMETER_ARGUMENT))
{
    const struct parameters parameters = {VFS_PARAMETERS(PARAMETER_VALUE)};
    struct vfs *vfs = calloc(1, sizeof(*vfs));

    if (!vfs)
        return sandlot_fail(call, SANDLOT_INTERNAL, "out of memory");
    vfs->parameters = parameters;
    vfs->store.fd = -1;
    vfs->demanded = confinement(call);
    vfs->bare = !has_walls(vfs->demanded);
    pthread_mutex_init(&vfs->lock, NULL);
    *provider = vfs;
    return SANDLOT_OK;
}

static void vfs_close(void *provider)
{
    struct vfs *vfs = provider;

    if (!vfs)
        return;
    grounds_clear(vfs);
    bare_end_leases(vfs, NULL);
    store_close(&vfs->store);
    pthread_mutex_destroy(&vfs->lock);
    free(vfs);
}

#define FILES_FUNCTIONS                                                                                               \
    SANDLOT_TABLE(vfs), .flags = SANDLOT_STREAMS_OUTPUT | SANDLOT_ENDS_WITH_POWER, .close = vfs_close,                \
                        .get_or_create = sandboxes_get_or_create, .release = sandboxes_release,                       \
                        .delete_sandbox = sandboxes_delete, .list = sandboxes_list, .open_root = sandboxes_open_root, \
                        .snapshot = sandboxes_snapshot, .list_snapshots = sandboxes_list_snapshots,                   \
                        .delete_snapshot = sandboxes_delete_snapshot, .fork = sandboxes_fork

static const struct sandlot_provider with_commands = {
    FILES_FUNCTIONS,
    .execute = sandboxes_execute,
    .terminal = sandboxes_terminal,
};
static const struct sandlot_provider files_only = {FILES_FUNCTIONS};

/* The table is the machine's: without execute no agent is offered a tool for commands. */
static const struct sandlot_provider *table_of(struct sandlot_call *call)
{
    return has_walls(confinement(call)) ? &with_commands : &files_only;
}
#define vfs_provider (*table_of(call)) /* what the entry function shows */

#define VFS_METADATA(M)                                                                     \
    M(description, "Files in memory, for development and tests: no cloud, no key, no disk") \
    M(package, "sandlot-provider-vfs")                                                      \
    M(working_dir, "/workspace")                                                            \
    M(snapshot_name, "yes")                                                                 \
    M(capabilities, "list files snapshot fork streaming terminal")                          \
    M(inside_network, "There is no network.")                                               \
    M(confined, "no")                                                                       \
    M(environment, "VFS_CONFINEMENT VFS_FOLDER XDG_STATE_HOME XDG_RUNTIME_DIR")             \
    M(inside, "All files are in memory, and gone when the sandbox is.")                     \
    M(inside, "You may write in the working directory.")
SANDLOT_ENTRY_POINT(vfs, VFS_METADATA, VFS_PARAMETERS);
