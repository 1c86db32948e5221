/*
 * sandlot plugin install: one file into a plugin folder. What is checked is the copy, in the folder in which the loader
 * will find it, before it gets its name: so nothing can change between the look and the use.
 */
#include "base/cleanup.h"
#include "base/error.h"
#include "base/path.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/output.h"
#include "cli/plugin.h"
#include "cli/progress.h"
#include "cli/usage.h"
#include "registry/discovery.h"
#include "session/readiness.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

enum { CHUNK = 1 << 16, FILE_MODE = 0644 };

struct install {
    const struct context *context;
    const char *source;  /* the file that was named */
    const char *file;    /* its name without folder, also that of the copy */
    char *folder;        /* where it goes */
    int folder_fd;       /* -1: not open */
    char *temporary;     /* the copy's name until it is checked; NULL: there is no copy */
    char *path;          /* the copy's path in the end */
    struct library copy; /* what it says of itself */
    struct sandlot_error error;
};

static void install_clear(struct install *install)
{
    if (install->temporary)
        unlinkat(install->folder_fd, install->temporary, 0);
    if (install->folder_fd >= 0)
        close(install->folder_fd);
    library_clear(&install->copy);
    free(install->temporary);
    free(install->folder);
    free(install->path);
    sandlot_error_clear(&install->error);
}

/* ---- the copy ---------------------------------------------------------------------------------------------------- */

static enum sandlot_code code_of_errno(int number)
{
    switch (number) {
    case ENOENT:
    case ENOTDIR:
        return SANDLOT_CODE_FILE_NOT_FOUND;
    case EACCES:
    case EPERM:
    case EROFS:
        return SANDLOT_CODE_PERMISSION_DENIED;
    case ENOSPC:
    case EDQUOT:
        return SANDLOT_CODE_NO_SPACE;
    default:
        return SANDLOT_CODE_INTERNAL_ERROR;
    }
}

static int open_source(struct install *install)
{
    int fd = open(install->source, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    struct stat status;

    if (fd < 0 || fstat(fd, &status) < 0) {
        error_set(&install->error, code_of_errno(errno), "%s cannot be read: %s; name the file that was built",
                  install->source, strerror(errno));
    } else if (!S_ISREG(status.st_mode)) {
        error_set(&install->error, SANDLOT_CODE_NOT_A_FILE, "%s is no regular file; name the .so file that was built",
                  install->source);
    } else {
        return fd;
    }
    if (fd >= 0)
        close(fd);
    return -1;
}

static int cannot_write(struct install *install)
{
    const int why = errno;
    const bool system = install->context->options->given & OPTION_SYSTEM;
    const char *advice = why == ENOSPC || why == EDQUOT ? "make room there"
                         : system                       ? "run this command as root, or leave --system out"
                                                        : "look at the rights of that folder";

    return error_set(&install->error, code_of_errno(why), "%s cannot be written to: %s; %s", install->folder,
                     strerror(why), advice);
}

/* The user's folder is private where it has to be made, as the XDG base directory specification wants it. */
static int open_folder(struct install *install)
{
    const bool system = install->context->options->given & OPTION_SYSTEM;
    const mode_t before = umask(S_IWGRP | S_IWOTH);
    const int made = path_make_folders(install->folder, system ? 0755 : 0700);

    umask(before);
    install->folder_fd = made == 0 ? open(install->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    return install->folder_fd >= 0 ? 0 : cannot_write(install);
}

/* All of FROM to TO. 0, or -1 with errno. */
static int copy_bytes(int from, int to)
{
    AUTO_FREE char *chunk = malloc(CHUNK);

    if (!chunk)
        return -1;
    for (;;) {
        ssize_t length = read(from, chunk, CHUNK);

        if (length == 0)
            return 0;
        if (length < 0 && errno == EINTR)
            continue;
        if (length < 0 || path_write_all(to, chunk, (size_t)length) < 0)
            return -1;
    }
}

static int make_copy(struct install *install, int source)
{
    char *temporary = text_format(".%s.%ld", install->file, (long)getpid());

    if (!temporary)
        return error_no_memory(&install->error);
    unlinkat(install->folder_fd, temporary, 0); /* of a process of the same number that was killed */
    AUTO_CLOSE int fd =
        openat(install->folder_fd, temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, FILE_MODE);

    if (fd < 0) {
        cannot_write(install);
        free(temporary);
        return -1;
    }
    install->temporary = temporary;
    if (copy_bytes(source, fd) == 0 && fchmod(fd, FILE_MODE) == 0 && fsync(fd) == 0)
        return 0;
    return cannot_write(install);
}

/* ---- what is in it ----------------------------------------------------------------------------------------------- */

static int refuse(struct install *install, const char *problem)
{
    return error_set(&install->error, SANDLOT_CODE_PROVIDER_UNAVAILABLE, "%s cannot be installed: %s", install->source,
                     problem);
}

/* As the loader will see it. */
static int check_copy(struct install *install)
{
    AUTO_FREE char *path = text_format("%s/%s", install->folder, install->temporary);
    const struct library *copy = &install->copy;

    if (!path || !library_read(path, &install->copy))
        return error_no_memory(&install->error);
    if (copy->problem)
        return refuse(install, copy->problem);
    if (copy->result == ENTRY_POINTS_NO_NOTE)
        return refuse(install,
                      "it is a shared object, but no plugin: it has no entry points of Sandlot; close its source "
                      "with SANDLOT_ENTRY_POINT");
    for (size_t i = 0; i < copy->points.count; i++) {
        const struct entry_point *point = &copy->points.items[i];
        AUTO_FREE char *problem =
            point->problem ? text_format("its provider %s: %s", point->name, point->problem) : NULL;

        if (point->problem)
            return problem ? refuse(install, problem) : error_no_memory(&install->error);
    }
    return 0;
}

static bool provides(const struct install *install, const char *name)
{
    for (size_t i = 0; i < install->copy.points.count; i++)
        if (strcmp(install->copy.points.items[i].name, name) == 0)
            return true;
    return false;
}

/* ---- what is there already --------------------------------------------------------------------------------------- */

static bool same_file_name(const struct install *install, const struct registry_entry *entry)
{
    return strcmp(strrchr(entry->path, '/') + 1, install->file) == 0;
}

/* Each plugin of the folder, one after the other; NULL: no more. */
static const struct registry_entry *next_here(const struct install *install, size_t *at)
{
    size_t count = 0;
    const struct registry_entry *const *entries = registry_entries_quietly(install->context->sandlot->registry, &count);

    while (*at < count) {
        const struct registry_entry *entry = entries[(*at)++];

        if (plugin_is(entry) && plugin_is_in(entry, install->folder))
            return entry;
    }
    return NULL;
}

/* Something that the file at PATH provides and the new one does not; NULL: nothing. */
static const char *lost_from(const struct install *install, const char *path)
{
    const struct registry_entry *entry;

    for (size_t at = 0; (entry = next_here(install, &at));)
        if (entry->name && strcmp(entry->path, path) == 0 && !provides(install, entry->name))
            return entry->name;
    return NULL;
}

/* A file of the same name that the new one does not plainly continue is only replaced on demand. */
static int check_same_file(const struct install *install)
{
    const struct command *command = install->context->options->command;
    const struct registry_entry *entry;
    bool continued = false;

    for (size_t at = 0; (entry = next_here(install, &at));) {
        if (!same_file_name(install, entry))
            continue;
        if (entry->name && !provides(install, entry->name))
            return usage_error(
                command,
                "%s is there already and provides %s, which %s does not; pass --replace to lose that, or "
                "give the file another name",
                install->path, entry->name, install->source);
        continued |= entry->name != NULL;
    }
    if (continued || access(install->path, F_OK) != 0)
        return 0;
    return usage_error(command,
                       "%s is there already and cannot be told to be the same plugin; pass --replace to put the "
                       "new one in its place",
                       install->path);
}

/* Another file of the folder that provides the same. */
static int check_other_files(const struct install *install)
{
    const struct options *options = install->context->options;
    const struct registry_entry *entry;

    for (size_t at = 0; (entry = next_here(install, &at));) {
        if (!entry->name || same_file_name(install, entry) || !provides(install, entry->name))
            continue;
        if (!(options->given & OPTION_REPLACE))
            return usage_error(
                options->command,
                "%s is installed already, from the file %s; pass --replace to remove that file, or 'sandlot "
                "plugin remove %s' first",
                entry->name, entry->path, entry->name);
        const char *lost = lost_from(install, entry->path);

        if (lost)
            return usage_error(
                options->command,
                "%s is installed already, from the file %s, which also provides %s; remove that file with "
                "'sandlot plugin remove --all %s' if nobody needs it",
                entry->name, entry->path, lost, entry->name);
    }
    return 0;
}

static void remove_replaced(const struct install *install)
{
    const struct registry_entry *entry;

    for (size_t at = 0; (entry = next_here(install, &at));)
        if (entry->name && !same_file_name(install, entry) && provides(install, entry->name) &&
            unlink(entry->path) < 0 && errno != ENOENT)
            progress_line("sandlot: %s, which is replaced, cannot be removed: %s; remove it by hand", entry->path,
                          strerror(errno));
}

/* ---- what has become of it --------------------------------------------------------------------------------------- */

static const struct registry_entry *find_installed(const struct registry *registry, const struct install *install,
                                                   const char *name)
{
    size_t count = 0;
    const struct registry_entry *const *entries = registry_entries_quietly(registry, &count);

    for (size_t i = 0; i < count; i++)
        if (plugin_is(entries[i]) && entries[i]->name && strcmp(entries[i]->name, name) == 0 &&
            same_file_name(install, entries[i]) && plugin_is_in(entries[i], install->folder))
            return entries[i];
    return NULL;
}

static struct json_object *result_object(const struct install *install, const struct registry *registry,
                                         const struct registry_entry *entry, const char *reason)
{
    struct json_object *object = json_object_new_object();
    struct json_object *shadows = json_object_new_array();

    for (const struct registry_entry *hidden = entry->shadows; hidden; hidden = hidden->shadows)
        json_object_array_add(shadows, plugin_place_object(hidden));
    json_object_object_add(object, "name", json_text(entry->name));
    json_object_object_add(object, "path", json_text(install->path));
    json_object_object_add(object, "shadows", shadows);
    json_object_object_add(object, "shadowed_by", plugin_place_object(plugin_hidden_by(registry, entry)));
    json_object_object_add(object, "ready", json_object_new_boolean(!reason));
    json_object_object_add(object, "reason", json_text(reason));
    return object;
}

/* What a person should know of a provider that has just been installed; REASON: why it is not ready, or NULL. */
static void tell(const struct install *install, const struct registry *registry, const struct registry_entry *entry,
                 const char *reason)
{
    const struct registry_entry *hider = plugin_hidden_by(registry, entry);
    AUTO_FREE char *hidden = entry->shadows ? plugin_place(entry->shadows) : NULL;
    AUTO_FREE char *hiding = hider ? plugin_place(hider) : NULL;

    if (install->context->options->verbosity < 0)
        return;
    if (hidden)
        progress_line("sandlot: %s takes the place of %s", entry->name, hidden);
    if (hiding)
        progress_line("sandlot: %s is installed but not used, because %s comes first; remove that to use it",
                      entry->name, hiding);
    if (reason)
        progress_line("sandlot: %s is installed but not ready yet: %s", entry->name, reason);
    else if (!hiding)
        progress_line("sandlot: try it with: sandlot exec --sandbox %s -- uname -a", entry->name);
}

/* One object, or "results" for a file with several providers. */
static void print_results(struct json_object *results)
{
    if (json_object_array_length(results) == 1) {
        output_json(json_object_get(json_object_array_get_idx(results, 0)));
        json_object_put(results);
        return;
    }
    struct json_object *object = json_object_new_object();

    json_object_object_add(object, "results", results);
    output_json(object);
}

static int report(struct install *install)
{
    struct registry *registry = registry_new(install->context->sandlot->config); /* as the next command will see it */
    struct json_object *results = json_object_new_array();

    if (!install->context->options->json)
        output_format("%s\n", install->path);
    for (size_t i = 0; registry && i < install->copy.points.count; i++) {
        const struct registry_entry *entry = find_installed(registry, install, install->copy.points.items[i].name);

        if (!entry)
            continue;
        AUTO_FREE char *reason = readiness_check(install->context->sandlot, entry, false);

        json_object_array_add(results, result_object(install, registry, entry, reason));
        tell(install, registry, entry, reason);
    }
    if (install->context->options->json)
        print_results(results);
    else
        json_object_put(results);
    registry_free(registry);
    return context_status(0);
}

/* ---- the command ------------------------------------------------------------------------------------------------- */

/* Gives the copy its name. */
static int put_in_place(struct install *install)
{
    if (renameat(install->folder_fd, install->temporary, install->folder_fd, install->file) < 0)
        return cannot_write(install);
    free(TAKE(install->temporary));
    return fsync(install->folder_fd) == 0 ? 0 : cannot_write(install);
}

/* The exit status of a refusal that has been told; 0: go on, unless the error is set. */
static int prepare(struct install *install)
{
    AUTO_CLOSE int source = open_source(install);

    if (source < 0 || open_folder(install) < 0 || make_copy(install, source) < 0 || check_copy(install) < 0)
        return 0;
    int status = install->context->options->given & OPTION_REPLACE ? 0 : check_same_file(install);

    return status ? status : check_other_files(install);
}

static int install_file(struct install *install)
{
    AUTO_FREE char *distrust = path_distrust(install->source);
    int status = prepare(install);

    if (status)
        return status;
    if (!error_is_set(&install->error) && put_in_place(install) == 0) {
        remove_replaced(install);
        if (distrust && install->context->options->verbosity >= 0)
            progress_line("sandlot: somebody else could have written %s (%s); be sure that it is yours",
                          install->source, distrust);
        return report(install);
    }
    return plugin_fail(install->context->options, &install->error);
}

static int check_file_name(const struct options *options, const char *file)
{
    size_t length = strlen(file);
    AUTO_FREE char *visible = text_visible(file);

    if (visible && strcmp(visible, file) == 0 && text_utf8_valid(file, length) && file[0] != '.' && length > 3 &&
        strcmp(file + length - 3, ".so") == 0)
        return 0;
    return usage_error(options->command,
                       "'%s' is no name of a plugin, which ends in .so and begins with no dot; rename the "
                       "file",
                       file);
}

int command_plugin_install(const struct options *options)
{
    const char *source = options->arguments[0];
    const char *slash = strrchr(source, '/');
    struct context context;
    struct install install = {
        .context = &context, .source = source, .file = slash ? slash + 1 : source, .folder_fd = -1};
    int status = check_file_name(options, install.file);

    if (status)
        return status;
    status = context_open(&context, options);
    if (status == 0) {
        install.folder = plugin_folder(options);
        install.path = install.folder ? text_format("%s/%s", install.folder, install.file) : NULL;
        if (!install.path)
            error_no_memory(&install.error);
        status = install.path ? install_file(&install) : plugin_fail(options, &install.error);
        install_clear(&install);
    }
    context_close(&context);
    return status;
}
