/* sandlot plugin new: a project for a provider, from the files of the scaffold with the new name in the place of
 * theirs. */
#include "base/cleanup.h"
#include "base/error.h"
#include "base/path.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/output.h"
#include "cli/plugin.h"
#include "cli/progress.h"
#include "cli/usage.h"
#include "registry/builtins.h"

#include <ctype.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

/* The word for the name in the files of the scaffold, and for the name in capitals. */
#define PLACEHOLDER "scaffold"
#define PLACEHOLDER_CAPITALS "SCAFFOLD"
#define LOCAL_FILE "sandlot.mk"

enum { LONGEST_NAME = 38, LARGEST_TEMPLATE = 1 << 20 };

struct project {
    const struct options *options;
    const char *name;
    char *capitals;
    char *templates; /* folder of the language */
    char *path;      /* where the project goes */
    int folder;      /* -1: not open */
    bool made_folder;
    struct json_object *files; /* names of what has been written */
    struct sandlot_error error;
};

/* ---- the name ---------------------------------------------------------------------------------------------------- */

/* What can be chosen, and the names that are something else there already: keywords, macros, and what the scaffold
 * itself calls so. Those of C are taken everywhere: they are the names of functions that a provider may want to call.
 */
static const struct language {
    const char *name;
    const char *folder; /* of the scaffold */
    const char *taken;
} languages[] = {
    {"c", "c",
     "auto bool break case char const continue default do double else enum errno extern false float for goto if inline "
     "int "
     "is_ours linux long main offsetof register restrict return short signed sizeof static struct switch true typedef "
     "unix "
     "unsigned void volatile while"},
    {"c++", "cpp",
     "alignas alignof and asm assert bitand bitor catch class compl concept consteval constexpr constinit decltype "
     "delete "
     "explicit export friend guarded make_table mutable namespace new noexcept not nullptr operator or prefix private "
     "protected public requires std template this throw try typeid typename using virtual xor"},
    {"rust", "rust",
     "abstract as async await become box core crate delete_sandbox dyn execute final fn get_or_create gen guarded impl "
     "in let "
     "loop macro make_folder match mod move mut options outcome override priv pub ref release self std super text "
     "trait try "
     "type typeof unsafe unsized use virtual where word yield"}};

/* NULL: there is none of that name. */
static const struct language *find_language(const char *name)
{
    for (size_t i = 0; i < sizeof(languages) / sizeof(languages[0]); i++)
        if (strcmp(languages[i].name, name) == 0)
            return &languages[i];
    return NULL;
}

static bool is_taken(const char *name, const struct language *language)
{
    return text_has_word(languages[0].taken, name) || text_has_word(language->taken, name) || dlsym(RTLD_DEFAULT, name);
}

static int check_name(const struct options *options, const char *name, const struct language *language)
{
    size_t length = strlen(name);

    if (!islower((unsigned char)*name) || strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_") != length)
        return usage_error(
            options->command,
            "'%s' cannot be the name of a provider's function; begin with a lower-case letter, and use these, "
            "digits and underscores only",
            name);
    if (length > LONGEST_NAME)
        return usage_error(options->command, "the name is %zu bytes long and can have %d at most", length,
                           LONGEST_NAME);
    if (strcmp(name, "none") == 0 || strncmp(name, "sandlot", strlen("sandlot")) == 0 || is_taken(name, language))
        return usage_error(options->command,
                           "the name %s means something else already, to %s, a library or Sandlot; choose another",
                           name, language->name);
    return 0;
}

static int find_templates(struct project *project, const char *folder)
{
    AUTO_FREE char *scaffold = plugin_part("scaffold", "share/sandlot/scaffold");

    project->templates = scaffold ? text_format("%s/%s", scaffold, folder) : NULL;
    if (!project->templates)
        return error_no_memory(&project->error);
    if (access(project->templates, R_OK | X_OK) == 0)
        return 0;
    return error_set(&project->error, SANDLOT_CODE_PROVIDER_UNAVAILABLE,
                     "the files that a project begins with are not at %s: %s; install the package libsandlot-dev, or "
                     "all of Sandlot with "
                     "'make install', or run 'make' in its source tree",
                     project->templates, strerror(errno));
}

/* ---- writing ----------------------------------------------------------------------------------------------------- */

/* TEXT with the name in the place of the placeholder, to be freed. */
static char *fill_in(const struct project *project, const char *text)
{
    char *filled = strdup("");

    while (filled) {
        const char *small = strstr(text, PLACEHOLDER);
        const char *large = strstr(text, PLACEHOLDER_CAPITALS);
        const char *next = !small || (large && large < small) ? large : small;

        if (!next)
            break;
        if (!text_append(&filled, "%.*s%s", (int)(next - text), text,
                         next == small ? project->name : project->capitals)) {
            free(filled);
            return NULL;
        }
        text = next + strlen(PLACEHOLDER);
    }
    if (filled && text_append(&filled, "%s", text))
        return filled;
    free(filled);
    return NULL;
}

static int cannot_write(struct project *project, const char *name)
{
    const int why = errno;
    const enum sandlot_code code = why == ENOSPC || why == EDQUOT                  ? SANDLOT_CODE_NO_SPACE
                                   : why == EACCES || why == EPERM || why == EROFS ? SANDLOT_CODE_PERMISSION_DENIED
                                                                                   : SANDLOT_CODE_INTERNAL_ERROR;

    return error_set(&project->error, code, "%s/%s cannot be written: %s; choose another place with --directory",
                     project->path, name, strerror(why));
}

static int write_file(struct project *project, const char *name, const char *text, mode_t mode)
{
    AUTO_CLOSE int fd =
        openat(project->folder, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode & 0755);

    if (fd < 0)
        return cannot_write(project, name);
    json_object_array_add(project->files, json_text(name));
    return path_write_all(fd, text, strlen(text)) == 0 ? 0 : cannot_write(project, name);
}

/* A name that begins with a dot stands in the scaffold without it, or the scaffold itself would be ruled by it. */
static char *file_name(const struct project *project, const char *template)
{
    return strcmp(template, "gitignore") == 0 ? strdup(".gitignore") : fill_in(project, template);
}

static int write_from(struct project *project, const char *template)
{
    AUTO_FREE char *path = text_format("%s/%s", project->templates, template);
    AUTO_FREE char *text = path ? path_read_file(path, LARGEST_TEMPLATE, NULL) : NULL;
    struct stat status;

    if (!text || stat(path, &status) < 0)
        return error_set(&project->error, SANDLOT_CODE_PROVIDER_UNAVAILABLE,
                         "%s cannot be read: %s; install Sandlot again", path ? path : template, strerror(errno));
    AUTO_FREE char *filled = fill_in(project, text);
    AUTO_FREE char *name = file_name(project, template);

    if (!filled || !name)
        return error_no_memory(&project->error);
    return write_file(project, name, filled, status.st_mode);
}

static int write_all(struct project *project)
{
    DIR *directory AUTO_DIRECTORY = opendir(project->templates);

    if (!directory)
        return error_set(&project->error, SANDLOT_CODE_PROVIDER_UNAVAILABLE,
                         "%s cannot be read: %s; install Sandlot again", project->templates, strerror(errno));
    for (struct dirent *item; (item = readdir(directory));)
        if (item->d_name[0] != '.' && write_from(project, item->d_name) < 0)
            return -1;
    return 0;
}

/* ---- where this Sandlot lies ------------------------------------------------------------------------------------- */

/* TEXT as the value of a variable of make, to be freed. */
static char *make_value(const char *text)
{
    char *value = strdup("");

    for (; value && *text; text++)
        if (!text_append(&value, *text == '$' ? "$%c" : *text == '#' ? "\\%c" : "%c", *text)) {
            free(value);
            return NULL;
        }
    return value;
}

/* Do compilers and shells find what is installed there by themselves? */
static bool is_usual(const char *program_folder)
{
    return strcmp(program_folder, "/usr/local/bin") == 0 || strcmp(program_folder, "/usr/bin") == 0;
}

static int write_local_file(struct project *project)
{
    AUTO_FREE char *here = path_of_this_program();
    AUTO_FREE char *packages = plugin_part("pkgconfig", "lib/pkgconfig");
    AUTO_FREE char *program = here ? text_format("%s/sandlot", here) : NULL;
    AUTO_FREE char *quoted_program = program ? text_shell_quote(program) : NULL;
    AUTO_FREE char *quoted_packages = packages ? text_shell_quote(packages) : NULL;
    AUTO_FREE char *sandlot = quoted_program ? make_value(quoted_program) : NULL;
    AUTO_FREE char *path = quoted_packages ? make_value(quoted_packages) : NULL;

    if (!sandlot || !path)
        return error_no_memory(&project->error);
    if (is_usual(here))
        return 0;
    AUTO_FREE char *text =
        text_format("# Where Sandlot lies on this machine: written by `sandlot plugin new`, not for version control.\n"
                    "SANDLOT := %s\n"
                    "PKG_CONFIG := PKG_CONFIG_PATH=%s\"$${PKG_CONFIG_PATH:+:$$PKG_CONFIG_PATH}\" pkg-config\n",
                    sandlot, path);

    return text ? write_file(project, LOCAL_FILE, text, 0644) : error_no_memory(&project->error);
}

/* ---- the folder -------------------------------------------------------------------------------------------------- */

static bool is_empty(const char *path)
{
    DIR *directory AUTO_DIRECTORY = opendir(path);
    size_t count = 0;

    while (directory && count <= 2 && readdir(directory))
        count++;
    return directory && count <= 2;
}

/* 0, the exit status of a refusal that has been told, or -1 with the error set. */
static int open_folder(struct project *project)
{
    AUTO_FREE char *parent = path_parent(project->path);
    struct stat status;

    if (stat(project->path, &status) == 0) {
        const bool folder = S_ISDIR(status.st_mode);

        if (!folder || !is_empty(project->path))
            return usage_error(project->options->command, "%s %s; choose another place with --directory", project->path,
                               folder ? "is not empty" : "is there already");
    } else {
        project->made_folder = parent && path_make_folders(parent, 0755) == 0 && mkdir(project->path, 0755) == 0;
        if (!project->made_folder)
            return cannot_write(project, "");
    }
    project->folder = open(project->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return project->folder >= 0 ? 0 : cannot_write(project, "");
}

/* Nothing that is half done stays. */
static void take_back(const struct project *project)
{
    for (size_t i = 0; i < json_object_array_length(project->files); i++)
        unlinkat(project->folder, json_object_get_string(json_object_array_get_idx(project->files, i)), 0);
    if (project->made_folder)
        rmdir(project->path);
}

/* ---- the command ------------------------------------------------------------------------------------------------- */

static void tell(struct project *project, const char *language)
{
    AUTO_FREE char *quoted = text_shell_quote(project->path);

    if (project->options->json) {
        struct json_object *object = json_object_new_object();

        json_object_object_add(object, "name", json_text(project->name));
        json_object_object_add(object, "path", json_text(project->path));
        json_object_object_add(object, "language", json_text(language));
        json_object_object_add(object, "files", json_object_get(project->files));
        output_json(object);
    } else {
        output_format("%s\n", project->path);
    }
    if (project->options->verbosity < 0)
        return;
    progress_line("sandlot: next: cd %s && make && make check", quoted ? quoted : project->path);
}

static int make_project(struct project *project, const struct language *language)
{
    int status = find_templates(project, language->folder) == 0 ? open_folder(project) : -1;

    if (status > 0)
        return status;
    if (status == 0 && builtin_find(project->name) && project->options->verbosity >= 0)
        progress_line("sandlot: a provider %s comes with Sandlot; once installed, yours takes its place",
                      project->name);
    if (status == 0 && write_all(project) == 0 && write_local_file(project) == 0) {
        tell(project, language->name);
        return output_status(0);
    }
    take_back(project);
    return plugin_fail(project->options, &project->error);
}

static char *in_capitals(const char *name)
{
    char *capitals = strdup(name);

    for (char *at = capitals; at && *at; at++)
        *at = (char)toupper((unsigned char)*at);
    return capitals;
}

int command_plugin_new(const struct options *options)
{
    const char *name = options->arguments[0];
    const char *wanted = options->language ? options->language : languages[0].name;
    const struct language *language = find_language(wanted);

    if (!language)
        return usage_error(options->command, "there is no scaffold for the language '%s'; choose " PLUGIN_LANGUAGES,
                           wanted);
    int status = check_name(options, name, language);

    if (status)
        return status;
    struct project project = {.options = options,
                              .name = name,
                              .capitals = in_capitals(name),
                              .path = path_absolute(options->directory ? options->directory : name, NULL),
                              .folder = -1,
                              .files = json_object_new_array()};

    progress_init(options->verbosity);
    if (project.capitals && project.path && project.files) {
        status = make_project(&project, language);
    } else {
        error_no_memory(&project.error);
        status = plugin_fail(options, &project.error);
    }
    if (project.folder >= 0)
        close(project.folder);
    json_object_put(project.files);
    free(project.capitals);
    free(project.templates);
    free(project.path);
    return status;
}
