#include "registry/builtins.h"

#include "base/cleanup.h"
#include "base/path.h"
#include "base/text.h"

#include <string.h>
#include <sys/stat.h>

#define PACKAGE "sandlot-provider-"

static const struct builtin table[] = {
    {"agentcore", "AWS Bedrock AgentCore code interpreters", "/tmp", PACKAGE "agentcore", true, false},
    {"daytona", "Daytona sandboxes", "/home/daytona", PACKAGE "daytona", true, false},
    {"deno", "Deno sandboxes", "/home/app", PACKAGE "deno", true, false},
    {"e2b", "E2B sandboxes", "/home/user", PACKAGE "e2b", true, false},
    {"langsmith", "LangSmith sandboxes", "/root", PACKAGE "langsmith", true, true},
    {"local", "boxes on this machine, without cloud or key", "/workspace", "sandlot", true, true},
    {"modal", "Modal sandboxes", "/workspace", PACKAGE "modal", true, false},
    {"runloop", "Runloop devboxes", "/home/user", PACKAGE "runloop", true, true},
    {"sandbox0", "Sandbox0 sandboxes", "/workspace", PACKAGE "sandbox0", true, false},
    {"vercel", "Vercel sandboxes", "/vercel/sandbox", PACKAGE "vercel", true, false},
    {"vfs", "files in memory, without commands", "/workspace", PACKAGE "vfs", true, false},
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
