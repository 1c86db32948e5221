/*
 * A provider for tests whose sandbox's files are the folder FOLDER of this machine, which it need not be able to read.
 */
#include <sandlot/provider.h>

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#define SHOWS_FOLDER_PARAMETERS(P) P(string, folder, "/", optional, "the folder")
SANDLOT_PARAMETERS(shows_folder, SHOWS_FOLDER_PARAMETERS)

static char shown[4096];

static enum sandlot_status shows_folder_open(struct sandlot_call *call,
                                             void **provider SHOWS_FOLDER_PARAMETERS(SANDLOT_ARGUMENT_))
{
    if (strlen(folder) >= sizeof(shown))
        return sandlot_fail(call, SANDLOT_INVALID_ARGUMENT, "folder: it is too long");
    strcpy(shown, folder);
    *provider = shown;
    return SANDLOT_OK;
}

static enum sandlot_status get_or_create(struct sandlot_call *call, void *provider,
                                         const struct sandlot_create *request, void **sandbox)
{
    (void)provider;
    call->host->created(call, "box-1", request->sandbox_id ? request->sandbox_id : "box-1");
    *sandbox = shown;
    return SANDLOT_OK;
}

static enum sandlot_status delete_sandbox(struct sandlot_call *call, void *provider, const char *id)
{
    (void)call;
    (void)provider;
    (void)id;
    return SANDLOT_OK;
}

static enum sandlot_status open_root(struct sandlot_call *call, void *provider, void *sandbox,
                                     struct sandlot_root *root)
{
    (void)provider;
    (void)sandbox;
    root->fd = open(shown, O_PATH | O_DIRECTORY | O_CLOEXEC);
    root->uid = geteuid();
    root->gid = getegid();
    root->alive_fd = -1;
    return root->fd >= 0 ? SANDLOT_OK : sandlot_fail(call, SANDLOT_INTERNAL, "%.900s: %s", shown, strerror(errno));
}

static const struct sandlot_provider shows_folder_provider = {
    SANDLOT_TABLE(shows_folder),
    .get_or_create = get_or_create,
    .delete_sandbox = delete_sandbox,
    .open_root = open_root,
};

#define METADATA(M)                         \
    M(description, "A folder as a sandbox") \
    M(working_dir, "/")                     \
    M(capabilities, "files")
SANDLOT_ENTRY_POINT(shows_folder, METADATA, SHOWS_FOLDER_PARAMETERS);
