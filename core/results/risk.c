#include "results/risk.h"

#include "base/cleanup.h"
#include "base/text.h"

#include <fnmatch.h>
#include <json-c/json.h>
#include <limits.h>
#include <string.h>
#include <strings.h>

enum { MOST_VALUES = 10000 /* of a package.json */ };

/* What is meant by a pattern. */
enum place {
    NAME,   /* the last part of the path */
    FOLDER, /* any part but the last, or the last itself */
    BELOW   /* two parts in a row: "gradle/wrapper" */
};

static const struct {
    enum place place;
    const char *pattern; /* fnmatch(3), without regard to case */
    const char *reason;
} table[] = {
    {FOLDER, "*.git", "in a repository's own folder, whose hooks and settings run programs"},
    {NAME, "HEAD", "git takes a folder with it for a repository, whose settings run programs"},
    {FOLDER, ".hg", "in a repository's own folder, whose hooks and settings run programs"},
    {NAME, ".gitconfig", "tells git which programs to run"},
    {FOLDER, ".ssh", "says who may log in, and which programs run for that"},
    {NAME, ".gitattributes", "tells git which programs to run on files"},
    {NAME, ".gitmodules", "tells git where to fetch further code"},
    {NAME, ".bashrc", "a shell runs it when it starts"},
    {NAME, ".bash_profile", "a shell runs it when it starts"},
    {NAME, ".bash_login", "a shell runs it when it starts"},
    {NAME, ".bash_logout", "a shell runs it when it ends"},
    {NAME, ".bash_aliases", "a shell runs it when it starts"},
    {NAME, ".profile", "a shell runs it when it starts"},
    {NAME, ".zshrc", "a shell runs it when it starts"},
    {NAME, ".zshenv", "a shell runs it when it starts"},
    {NAME, ".zprofile", "a shell runs it when it starts"},
    {NAME, ".zlogin", "a shell runs it when it starts"},
    {NAME, ".zlogout", "a shell runs it when it ends"},
    {NAME, ".kshrc", "a shell runs it when it starts"},
    {NAME, ".mkshrc", "a shell runs it when it starts"},
    {NAME, ".cshrc", "a shell runs it when it starts"},
    {NAME, ".tcshrc", "a shell runs it when it starts"},
    {NAME, ".login", "a shell runs it when it starts"},
    {NAME, ".logout", "a shell runs it when it ends"},
    {NAME, ".inputrc", "programs read it when they start: what keys do in them"},
    {NAME, "config.fish", "a shell runs it when it starts"},
    {NAME, ".envrc", "direnv runs it in this folder"},
    {NAME, "*mise.toml", "mise runs it in this folder"},
    {NAME, ".env*", "sets variables for programs in this folder"},
    {FOLDER, ".vscode", "settings of an editor, which can run programs"},
    {FOLDER, ".idea", "settings of an editor, which can run programs"},
    {NAME, "*.code-workspace", "settings of an editor, which can run programs"},
    {FOLDER, ".zed", "settings of an editor, which can run programs"},
    {NAME, ".dir-locals*.el", "settings of an editor, which can run programs"},
    {NAME, ".exrc", "settings of an editor, which can run programs"},
    {NAME, ".nvimrc", "settings of an editor, which can run programs"},
    {NAME, ".nvim.lua", "settings of an editor, which can run programs"},
    {NAME, ".eslintrc*", "editors run it when they look for faults"},
    {NAME, "eslint.config.*", "editors run it when they look for faults"},
    {NAME, ".gdbinit", "a debugger runs it when it starts"},
    {NAME, ".lldbinit", "a debugger runs it when it starts"},
    {FOLDER, ".devcontainer", "settings of an editor, which can run programs"},
    {FOLDER, ".github", "runs on the build service, with its secrets"},
    {NAME, ".gitlab-ci*", "runs on the build service, with its secrets"},
    {FOLDER, ".circleci", "runs on the build service, with its secrets"},
    {NAME, "Jenkinsfile", "runs on the build service, with its secrets"},
    {NAME, "azure-pipelines*", "runs on the build service, with its secrets"},
    {NAME, ".pre-commit-config*", "git runs it at a commit"},
    {FOLDER, ".husky", "git runs it at a commit"},
    {NAME, "lefthook*", "git runs it at a commit"},
    {NAME, ".npmrc", "settings of a package manager, which can run programs"},
    {NAME, ".yarnrc*", "settings of a package manager, which can run programs"},
    {FOLDER, ".yarn", "a package manager runs it"},
    {NAME, ".pnpmfile*", "a package manager runs it"},
    {NAME, "binding.gyp", "a package manager runs it"},
    {NAME, "setup.py", "a package manager runs it"},
    {NAME, "conftest.py", "pytest runs it by itself"},
    {NAME, "*.pth", "Python runs it when it starts"},
    {NAME, "sitecustomize.py", "Python runs it when it starts"},
    {NAME, "usercustomize.py", "Python runs it when it starts"},
    {NAME, ".Rprofile", "R runs it when it starts"},
    {NAME, "build.rs", "cargo runs it when it builds"},
    {FOLDER, ".cargo", "settings of cargo, which can run programs"},
    {FOLDER, ".mvn", "settings of Maven, which can run programs"},
    {BELOW, "gradle/wrapper", "says which Gradle is fetched and run"},
    {NAME, "AGENTS.override.md", "steers agents that work in this folder"},
    {NAME, "CLAUDE.local.md", "steers agents that work in this folder"},
    {FOLDER, ".windsurf*", "steers agents that work in this folder"},
    {FOLDER, ".clinerules*", "steers agents that work in this folder"},
    {NAME, ".aider*", "steers agents that work in this folder"},
    {NAME, "AGENTS.md", "steers agents that work in this folder"},
    {NAME, "CLAUDE.md", "steers agents that work in this folder"},
    {FOLDER, ".claude", "steers agents that work in this folder"},
    {FOLDER, ".codex", "steers agents that work in this folder"},
    {FOLDER, ".cursor", "steers agents that work in this folder"},
    {NAME, ".mcp.json", "steers agents that work in this folder"},
    {FOLDER, ".gemini", "steers agents that work in this folder"},
    {NAME, "GEMINI.md", "steers agents that work in this folder"},
    {NAME, ".cursorrules", "steers agents that work in this folder"},
};

static bool part_matches(const char *pattern, const char *part, size_t length)
{
    char name[PATH_MAX];

    if (length >= sizeof(name))
        return false;
    memcpy(name, part, length);
    name[length] = '\0';
    return fnmatch(pattern, name, FNM_CASEFOLD) == 0;
}

static bool matches(enum place place, const char *pattern, const char *path)
{
    for (const char *part = path; part; part = strchr(part, '/') ? strchr(part, '/') + 1 : NULL) {
        size_t length = strcspn(part, "/");
        bool last = part[length] == '\0';
        size_t two = last ? length : length + 1 + strcspn(part + length + 1, "/");

        if ((place == FOLDER || (place == NAME && last)) && part_matches(pattern, part, length))
            return true;
        if (place == BELOW && part_matches(pattern, part, two))
            return true;
    }
    return false;
}

static const char *risk_of_letters(const char *path)
{
    AUTO_FREE char *visible = NULL;

    if (!text_utf8_valid(path, strlen(path)))
        return "its name is not UTF-8";
    visible = text_visible(path);
    return visible && strcmp(visible, path) != 0 ? "its name has characters that cannot be seen" : NULL;
}

const char *risk_of_path(const char *path)
{
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
        if (matches(table[i].place, table[i].pattern, path))
            return table[i].reason;
    return risk_of_letters(path);
}

bool risk_in_repository(const char *path)
{
    return matches(FOLDER, ".git", path);
}

/* By its names: a ".." behind a name leads to wherever a link of that name does, so it counts as one that leads out. */
bool risk_leads_out(const char *path, const char *target)
{
    bool down = false;
    long depth = 0;

    if (*target == '/' || !*target)
        return true;
    for (const char *at = path; *at; at++)
        depth += *at == '/';
    for (const char *part = target; part; part = strchr(part, '/') ? strchr(part, '/') + 1 : NULL) {
        const size_t length = strcspn(part, "/");
        const bool up = length == 2 && part[0] == '.' && part[1] == '.';

        if (up && (down || --depth < 0))
            return true;
        down = down || (length > 0 && !up && !(length == 1 && *part == '.'));
    }
    return false;
}

bool risk_is_package(const char *path)
{
    return matches(NAME, "package.json", path);
}

/* What npm and its like run by themselves, as text of JSON; to be put. NULL: this is no object of JSON. */
static struct json_object *scripts_of(const char *text, size_t length)
{
    bool few = text && length <= INT_MAX && text_json_values(text, length) <= MOST_VALUES;
    struct json_tokener *tokener = few ? json_tokener_new() : NULL;

    if (tokener)
        json_tokener_set_flags(tokener, JSON_TOKENER_STRICT); /* as strict as npm, and as what counts */
    struct json_object *object = tokener ? json_tokener_parse_ex(tokener, text, (int)length) : NULL;
    struct json_object *scripts = NULL;

    if (tokener)
        json_tokener_free(tokener);
    if (object && json_object_is_type(object, json_type_object)) {
        struct json_object *found = NULL;

        json_object_object_get_ex(object, "scripts", &found);
        scripts = found ? json_object_get(found) : json_object_new_object();
    }
    json_object_put(object);
    return scripts;
}

bool risk_of_scripts(const char *before, size_t before_length, const char *after, size_t after_length)
{
    struct json_object *old_scripts = before ? scripts_of(before, before_length) : json_object_new_object();
    struct json_object *new_scripts = after ? scripts_of(after, after_length) : json_object_new_object();
    bool same = old_scripts && new_scripts && json_object_equal(old_scripts, new_scripts);

    json_object_put(old_scripts);
    json_object_put(new_scripts);
    return !same;
}
