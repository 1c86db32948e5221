#include "loader/worker/view.h"

#include "base/cleanup.h"
#include "base/log.h"
#include "base/path.h"
#include "base/text.h"
#include "config/value.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { OWN_FOLDERS = 3 };

/* A list while it is made. */
struct view {
    const struct registry_entry *entry;
    const struct environment *environment;
    char *own[OWN_FOLDERS]; /* Sandlot's: settings with keys, providers, the ledger */
    char **places;
    size_t count;
    bool failed;
};

void view_free(char **view)
{
    for (size_t i = 0; view && view[i]; i++)
        free(view[i]);
    free(view);
}

static void add(struct view *view, char access, const char *path)
{
    char **grown = realloc(view->places, (view->count + 2) * sizeof(*grown));

    view->places = grown ? grown : view->places;
    char *place = grown ? text_format("%c%s", access, path) : NULL;

    view->failed = view->failed || !place;
    if (!place)
        return;
    view->places[view->count++] = place;
    view->places[view->count] = NULL;
}

/* ---- what is never shown ----------------------------------------------------------------------------------------- */

/* Is PATH the folder or below it? */
static bool is_within(const char *path, const char *folder)
{
    size_t length = strlen(folder);

    while (length > 0 && folder[length - 1] == '/')
        length--;
    return strncmp(path, folder, length) == 0 && (path[length] == '/' || path[length] == '\0');
}

static bool touches_own(const struct view *view, const char *path)
{
    for (size_t i = 0; i < OWN_FOLDERS; i++)
        if (is_within(path, view->own[i]) || is_within(view->own[i], path))
            return true;
    return false;
}

static bool find_own_folders(struct view *view)
{
    static char *(*const folders[])(void) = {path_config_home, path_data_home, path_state_home};

    for (size_t i = 0; i < OWN_FOLDERS; i++) {
        AUTO_FREE char *path = folders[i]();

        view->own[i] = path ? realpath(path, NULL) : NULL;
        if (!view->own[i])
            view->own[i] = TAKE(path);
        if (!view->own[i])
            return false;
    }
    return true;
}

/* PATH as somebody has asked for it. */
static void show(struct view *view, char access, const char *path)
{
    AUTO_FREE char *real = realpath(path, NULL);

    if (!real)
        log_debug("%s: its process does not see %s: %s", view->entry->name, path, strerror(errno));
    else if (touches_own(view, real))
        log_warning("%s: its process does not see %s, where Sandlot's own files are; name a file or folder elsewhere",
                    view->entry->name, path);
    else
        add(view, access, real);
}

bool view_is_writable(char *const *view, int fd)
{
    AUTO_FREE char *link = text_format("/proc/self/fd/%d", fd);
    AUTO_FREE char *path = link ? realpath(link, NULL) : NULL;
    struct stat status;

    if (!path || fstat(fd, &status) < 0 || status.st_uid != geteuid())
        return false;
    for (; *view; view++)
        if (**view == 'w' && is_within(path, *view + 1))
            return true;
    return strcmp(path, "/tmp") != 0 && is_within(path, "/tmp");
}

/* ---- its library ------------------------------------------------------------------------------------------------- */

/*
 * The file, and the folder it lies in unless other providers lie there too: in the user's folder for plugins it has one
 * of its own, by its name without ".so".
 */
static void show_library(struct view *view, const char *library)
{
    AUTO_FREE char *folder = path_parent(library);
    size_t length = strlen(library);
    bool has_ending = length > 3 && strcmp(library + length - 3, ".so") == 0;
    AUTO_FREE char *own = strndup(library, has_ending ? length - 3 : length);

    view->failed = view->failed || !folder || !own;
    if (view->failed)
        return;
    add(view, 'r', library);
    if (!touches_own(view, folder))
        add(view, 'r', folder);
    else if (has_ending && access(own, F_OK) == 0)
        add(view, 'r', own);
}

/* ---- what it declares -------------------------------------------------------------------------------------------- */

/* WORD as a path: "/etc/acme", "~/.acme", "$ACME_CONFIG", "$ACME_HOME/keys". To be freed; NULL: it leads nowhere. */
static char *path_of_word(const struct view *view, const char *word)
{
    if (*word != '$')
        return *word == '/' || strncmp(word, "~/", 2) == 0 ? path_absolute(word, NULL) : NULL;
    size_t length = strcspn(word, "/");
    AUTO_FREE char *name = strndup(word + 1, length - 1);
    const char *value = name ? environment_lookup(view->environment, name) : NULL;
    AUTO_FREE char *folder = value && (*value == '/' || *value == '~') ? path_absolute(value, NULL) : NULL;

    return folder ? text_format("%s%s", folder, word + length) : NULL;
}

static void show_words(struct view *view, char access, const char *list)
{
    AUTO_FREE char *words = list ? strdup(list) : NULL;
    char *rest = NULL;

    view->failed = view->failed || (list && !words);
    for (char *word = words ? strtok_r(words, " \t", &rest) : NULL; word; word = strtok_r(NULL, " \t", &rest)) {
        AUTO_FREE char *path = path_of_word(view, word);

        if (!path)
            continue;
        if (access == 'w' && path_make_folders(path, 0700) < 0)
            log_info("%s: %s cannot be made: %s", view->entry->name, path, strerror(errno));
        show(view, access, path);
    }
}

/* Folders of programs, libraries and certificates that the user's environment names, and the one for temporary files.
 * What lies in /usr it sees in any case. */
static void show_variable(struct view *view, char access, const char *name)
{
    const char *value = getenv(name);
    AUTO_FREE char *list = value ? strdup(value) : NULL;
    char *rest = NULL;

    for (char *path = list ? strtok_r(list, ":", &rest) : NULL; path; path = strtok_r(NULL, ":", &rest)) {
        AUTO_FREE char *real = *path == '/' && !is_within(path, "/usr") ? realpath(path, NULL) : NULL;

        if (real && !touches_own(view, real))
            add(view, access, real);
    }
}

/* Files that it cannot work without; programs are found by PATH. */
static void show_needs(struct view *view)
{
    AUTO_FREE char *words = view->entry->needs ? strdup(view->entry->needs) : NULL;
    char *rest = NULL;

    for (char *word = words ? strtok_r(words, " \t", &rest) : NULL; word; word = strtok_r(NULL, " \t", &rest))
        if (*word == '/')
            show(view, 'r', word);
}

/* ---- what its parameters name ------------------------------------------------------------------------------------ */

static const char *override_of(const char *const *overrides, const char *name)
{
    size_t length = strlen(name);
    const char *found = NULL;

    for (size_t i = 0; overrides && overrides[i]; i++)
        if (strncmp(overrides[i], name, length) == 0 && overrides[i][length] == '=')
            found = overrides[i] + length + 1;
    return found;
}

/* The path that PARAMETER has in the end, to be freed; NULL: none, or one that is refused later. */
static char *path_of_parameter(const struct view *view, const struct parameter_note *parameter, const char *folder,
                               const char *const *overrides)
{
    const struct config_provider *config = view->entry->config;
    const char *text = override_of(overrides, parameter->name);
    struct json_object *json = NULL;
    struct value value = value_absent();
    char *path = NULL;
    bool is_configured = config && config->params && json_object_object_get_ex(config->params, parameter->name, &json);
    bool fits = text            ? value_from_text(SANDLOT_PARAMETER_path, text, NULL, &value)
                : is_configured ? value_from_json(SANDLOT_PARAMETER_path, json, folder, &value)
                                : value_from_text(SANDLOT_PARAMETER_path, parameter->default_text, NULL, &value);

    if (fits)
        path = TAKE(value.text);
    value_clear(&value);
    return path;
}

static void show_parameters(struct view *view, const char *config_file, const char *const *overrides)
{
    const struct entry_point *note = &view->entry->note;
    AUTO_FREE char *folder = config_file ? path_parent(config_file) : NULL;

    for (size_t i = 0; i < note->parameter_count; i++) {
        AUTO_FREE char *path = note->parameters[i].kind == SANDLOT_PARAMETER_path
                                   ? path_of_parameter(view, &note->parameters[i], folder, overrides)
                                   : NULL;

        if (path && *path == '/')
            show(view, 'w', path);
    }
}

/* ---- the whole --------------------------------------------------------------------------------------------------- */

char **view_new(const struct registry_entry *entry, const struct environment *environment, const char *library,
                const char *config_file, const char *const *overrides)
{
    struct view view = {.entry = entry, .environment = environment};

    view.failed = !find_own_folders(&view);
    if (!view.failed) {
        show_library(&view, library);
        show_variable(&view, 'r', "PATH");
        show_variable(&view, 'r', "LD_LIBRARY_PATH");
        show_variable(&view, 'r', "SSL_CERT_FILE");
        show_variable(&view, 'r', "SSL_CERT_DIR");
        show_variable(&view, 'w', "TMPDIR");
        show_words(&view, 'r', entry->note.reads);
        show_words(&view, 'w', entry->note.writes);
        show_needs(&view);
        show_parameters(&view, config_file, overrides);
    }
    for (size_t i = 0; i < OWN_FOLDERS; i++)
        free(view.own[i]);
    if (!view.failed)
        return view.places;
    view_free(view.places);
    return NULL;
}
