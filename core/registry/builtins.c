#include "registry/builtins.h"

#include "base/cleanup.h"
#include "base/path.h"
#include "base/text.h"

#include <string.h>
#include <sys/stat.h>

static const struct builtin table[] = {
    {"agentcore", "AWS Bedrock AgentCore code interpreters", "/tmp", true, false, true},
    {"daytona", "Daytona sandboxes", "/home/daytona", true, false, true},
    {"deno", "Deno sandboxes", "/home/app", true, false, false},
    {"docker", "containers of Docker or Podman", "/workspace", true, true, true},
    {"e2b", "E2B sandboxes", "/home/user", true, false, false},
    {"kubernetes", "pods of a cluster, or sandboxes of agent-sandbox", "/workspace", true, false, true},
    {"langsmith", "LangSmith sandboxes", "/root", true, true, true},
    {"local", "boxes on this machine, without cloud or key", "/workspace", true, true, true},
    {"modal", "Modal sandboxes", "/workspace", true, false, true},
    {"runloop", "Runloop devboxes", "/home/user", true, true, true},
    {"sandbox0", "Sandbox0 sandboxes", "/workspace", true, false, false},
    {"vercel", "Vercel sandboxes", "/vercel/sandbox", true, false, true},
    {"vfs", "files in memory, for development and tests", "/workspace", true, true, false},
};

const struct builtin *builtins(size_t *count)
{
    *count = sizeof(table) / sizeof(table[0]);
    return table;
}

const struct builtin *builtin_find(const char *name)
{
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
        if (strcmp(table[i].name, name) == 0)
            return &table[i];
    return NULL;
}

bool builtin_has_package(const char *name)
{
    return strcmp(name, "local") != 0;
}

static bool is_folder(const char *path)
{
    struct stat status;

    return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

/* The folder of this program without a last "/" ("" for the root), so that "%s/name" is right. */
static char *program_folder(void)
{
    char *folder = path_of_this_program();

    if (folder && strcmp(folder, "/") == 0)
        *folder = '\0';
    return folder ? folder : strdup("");
}

char *builtins_folder(void)
{
    AUTO_FREE char *here = program_folder();
    AUTO_FREE char *parent = here ? path_parent(here) : NULL;

    if (!parent)
        return NULL;
    if (strcmp(parent, "/") == 0)
        *parent = '\0';
    AUTO_FREE char *build = text_format("%s/builtins", here);
    AUTO_FREE char *beside_library = text_format("%s/sandlot/builtins", here);
    char *installed = text_format("%s/lib/sandlot/builtins", parent);

    if (!build || !beside_library || !installed)
        return installed;
    if (!is_folder(build) && (is_folder(installed) || !is_folder(beside_library)))
        return installed;
    free(installed);
    return is_folder(build) ? TAKE(build) : TAKE(beside_library);
}

char *builtins_own_plugins(const char *builtins)
{
    AUTO_FREE char *here = program_folder();
    AUTO_FREE char *parent = path_parent(builtins);

    if (!here || !parent)
        return NULL;
    if (strcmp(parent, "/") == 0)
        *parent = '\0';
    return text_format("%s/%s", parent, strcmp(parent, here) == 0 ? "plugins" : "providers");
}
