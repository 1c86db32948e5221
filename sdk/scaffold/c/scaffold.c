/* Each sandbox is a folder in /tmp. NOTHING IS ISOLATED: put the tool you wrap in the place of mkdtemp, rm and sh. */
#include <sandlot/provider.h>
#include <sandlot/sdk/process.h>

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PREFIX "/tmp/sandlot-scaffold-"

/* An id is its folder. Others may write to /tmp: only a folder of our own counts. */
static bool is_ours(const char *id)
{
    struct stat status;
    return strncmp(id, PREFIX, strlen(PREFIX)) == 0 && !strchr(id + strlen(PREFIX), '/') && lstat(id, &status) == 0 &&
           S_ISDIR(status.st_mode) && status.st_uid == geteuid();
}

static enum sandlot_status scaffold_get_or_create(
    struct sandlot_call *call, void *provider, const struct sandlot_create *request, void **sandbox)
{
    char made[] = PREFIX "XXXXXX";
    const char *id = request->sandbox_id ? request->sandbox_id : mkdtemp(made);
    if (!id)
        return sandlot_fail(call, SANDLOT_EXHAUSTED, "no folder can be made in /tmp; make room there");
    if (!is_ours(id))
        return sandlot_fail(call, SANDLOT_NOT_FOUND, "there is no sandbox %s; make one with `sandlot create`", id);
    call->host->created(call, id, id); /* from here on the host deletes it if anything goes wrong */
    return (*sandbox = strdup(id)) ? SANDLOT_OK : sandlot_fail(call, SANDLOT_INTERNAL, "out of memory; try again later");
}

static void scaffold_release(void *provider, void *sandbox)
{
    free(sandbox);
}

static enum sandlot_status scaffold_delete(struct sandlot_call *call, void *provider, const char *id)
{
    static const char script[] = "chmod -R u+rwX -- \"$1\" 2>/dev/null; rm -rf -- \"$1\""; /* folders may be closed */
    const struct process_options options = {.arguments = (const char *const[]){"sh", "-c", script, "sh", id, NULL}};
    return is_ours(id) ? process_read(call, &options, NULL, NULL) : SANDLOT_OK; /* what is gone counts as deleted */
}

static enum sandlot_status scaffold_execute(
    struct sandlot_call *call, void *provider, void *sandbox, const struct sandlot_command *command,
    const struct sandlot_sink *output, struct sandlot_exit *result)
{
    const char *const words[] = {"sh", "-c", "--", command->command, NULL};
    struct process_options options = process_options_of(command, words, output);
    options.clean_environment = true; /* nothing of the host's own goes into a sandbox */
    options.working_dir = command->working_dir ? command->working_dir : sandbox;
    return process_run(call, &options, result);
}

static const struct sandlot_provider scaffold_provider = {
    SANDLOT_TABLE_WITHOUT_PARAMETERS(scaffold),
    .flags = SANDLOT_STREAMS_OUTPUT,
    .get_or_create = scaffold_get_or_create,
    .release = scaffold_release,
    .delete_sandbox = scaffold_delete,
    .execute = scaffold_execute,
};

#define SCAFFOLD_METADATA(M) \
    M(description, "Folders in /tmp without any isolation") \
    M(working_dir, "/tmp") \
    M(capabilities, "streaming")
SANDLOT_ENTRY_POINT(scaffold, SCAFFOLD_METADATA, SANDLOT_NO_PARAMETERS);
