#include "registry/registry.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "base/log.h"
#include "base/path.h"
#include "base/text.h"
#include "registry/builtins.h"
#include "registry/discovery.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define DEFAULT_WORKING_DIR "/workspace"

/* An entry and what only the registry needs to know of it. */
struct offer {
    struct registry_entry entry;
    struct offer *base; /* entry.shadows */
    const struct builtin *builtin;
    dev_t device;
    ino_t inode;
    size_t order;         /* of discovery */
    bool borrows;         /* path, symbol and note belong to the base */
    bool tried_out;       /* found by SANDLOT_PLUGIN_PATH */
    const char *said_dir; /* working_dir, if anybody said one */
    char *package;        /* of a built-in that is not installed, where that has one of its own */
    atomic_bool told;     /* its duplicates were warned about */
    pthread_mutex_t lock; /* of what follows, and of the entry until it is read */
    bool unread;          /* a library of Sandlot's own, which is read when somebody asks for it */
};

struct registry {
    const struct config *config;
    struct offer **offers; /* sorted by name once it is linked */
    size_t count;
    size_t capacity;
    const struct registry_entry **view; /* the entries of the offers, for those who ask */
    struct registry_ignored *ignored;
    size_t ignored_count;
    char **folders;
    size_t folder_count;
    size_t variable_folders;       /* so many of them, the first ones, are of SANDLOT_PLUGIN_PATH */
    size_t folder;                 /* that is being scanned */
    char *builtins;                /* the folder of the built-ins */
    char *own_plugins;             /* that of the plugins that come with Sandlot, which is one of `folders` too */
    enum registry_source scanning; /* what a folder that is being scanned holds */
};

const char *registry_source_name(enum registry_source source)
{
    static const char *const names[] = {
        [REGISTRY_CONFIG] = "config", [REGISTRY_PLUGIN] = "plugin", [REGISTRY_BUILTIN] = "builtin"};

    return names[source];
}

/* ---- collecting offers ------------------------------------------------------------------------------------------- */

static void free_offer(struct offer *offer)
{
    if (!offer)
        return;
    if (!offer->borrows) {
        struct entry_points note = {.items = calloc(1, sizeof(*note.items)), .count = 1};

        if (note.items) {
            *note.items = offer->entry.note;
            entry_points_clear(&note);
        }
        free(offer->entry.path);
        free(offer->entry.symbol);
    }
    free(offer->entry.name);
    free(offer->entry.problem);
    free(offer->package);
    pthread_mutex_destroy(&offer->lock);
    free(offer);
}

/* A new offer of SOURCE for NAME (NULL: unknown); NULL when out of memory. */
static struct offer *add_offer(struct registry *registry, enum registry_source source, const char *name)
{
    if (registry->count == registry->capacity) {
        size_t capacity = registry->capacity ? registry->capacity * 2 : 64;
        struct offer **grown = realloc(registry->offers, capacity * sizeof(*grown));

        if (!grown)
            return NULL;
        registry->offers = grown;
        registry->capacity = capacity;
    }
    struct offer *offer = calloc(1, sizeof(*offer));
    char *copy = name ? strdup(name) : NULL;

    if (!offer || (name && !copy)) {
        free(offer);
        free(copy);
        return NULL;
    }
    pthread_mutex_init(&offer->lock, NULL);
    offer->entry.name = copy;
    offer->entry.source = source;
    offer->order = registry->count;
    offer->tried_out = source == REGISTRY_PLUGIN && registry->folder < registry->variable_folders;
    offer->builtin = source == REGISTRY_BUILTIN && name ? builtin_find(name) : NULL;
    registry->offers[registry->count++] = offer;
    return offer;
}

static bool add_ignored(struct registry *registry, const char *path, const char *reason)
{
    struct registry_ignored *grown = realloc(registry->ignored, (registry->ignored_count + 1) * sizeof(*grown));

    if (!grown)
        return false;
    registry->ignored = grown;
    struct registry_ignored ignored = {strdup(path), strdup(reason)};

    if (!ignored.path || !ignored.reason) {
        free(ignored.path);
        free(ignored.reason);
        return false;
    }
    registry->ignored[registry->ignored_count++] = ignored;
    return true;
}

/* The first problem of an entry counts. */
__attribute__((format(printf, 2, 3))) static bool set_problem(struct registry_entry *entry, const char *format, ...)
{
    va_list arguments;

    if (entry->problem)
        return true;
    va_start(arguments, format);
    entry->problem = text_format_v(format, arguments);
    va_end(arguments);
    return entry->problem;
}

/* Moves provider POINT of LIBRARY into an entry. */
static bool take_point(struct registry_entry *entry, const struct library *library, struct entry_point *point)
{
    const char *problem = library->problem ? library->problem : point->problem;

    entry->note = *point;
    *point = (struct entry_point){0};
    entry->symbol = entry->note.symbol ? strdup(entry->note.symbol) : NULL;
    if (entry->note.symbol && !entry->symbol)
        return false;
    return !problem || set_problem(entry, "%s cannot be used: %s", library->path, problem);
}

/* The name of a file without its ".so"; to be freed. */
static char *file_stem(const char *path)
{
    const char *file = strrchr(path, '/') + 1;

    return strndup(file, strlen(file) - strlen(".so"));
}

/* A file that cannot be used and does not say whose it is. The files of built-ins are named after them. */
static bool add_unusable(struct registry *registry, const struct library *library)
{
    AUTO_FREE char *name = file_stem(library->path);
    const bool is_builtin = registry->scanning == REGISTRY_BUILTIN && name && builtin_find(name);
    struct offer *offer = add_offer(registry, registry->scanning, is_builtin ? name : NULL);

    if (!offer || !(offer->entry.path = strdup(library->path)))
        return false;
    offer->device = library->device;
    offer->inode = library->inode;
    return set_problem(&offer->entry, "%s cannot be used: %s", library->path, library->problem);
}

/* What discovery_scan found. */
static bool add_library(void *context, struct library *library)
{
    struct registry *registry = context;

    if (library->result == ENTRY_POINTS_NO_NOTE)
        return add_ignored(registry, library->path,
                           "a shared object, but no plugin: it has no entry points of Sandlot");
    if (library->result == ENTRY_POINTS_UNUSABLE)
        return add_unusable(registry, library);
    for (size_t i = 0; i < library->points.count; i++) {
        struct offer *offer = add_offer(registry, registry->scanning, library->points.items[i].name);

        if (!offer || !(offer->entry.path = strdup(library->path)) ||
            !take_point(&offer->entry, library, &library->points.items[i]))
            return false;
        offer->device = library->device;
        offer->inode = library->inode;
    }
    return true;
}

/* ---- folders ----------------------------------------------------------------------------------------------------- */

/* Appends FOLDER, which is taken over, unless it is there already under this or another name. */
static bool add_folder(struct registry *registry, char *folder)
{
    struct stat status;
    struct stat other;

    if (!folder)
        return false;
    const bool exists = stat(folder, &status) == 0;

    for (size_t i = 0; i < registry->folder_count; i++) {
        if (strcmp(registry->folders[i], folder) == 0 ||
            (exists && stat(registry->folders[i], &other) == 0 && status.st_dev == other.st_dev &&
             status.st_ino == other.st_ino)) {
            free(folder);
            return true;
        }
    }
    char **grown = realloc(registry->folders, (registry->folder_count + 1) * sizeof(*grown));

    if (!grown) {
        free(folder);
        return false;
    }
    registry->folders = grown;
    registry->folders[registry->folder_count++] = folder;
    return true;
}

static bool add_folders_of_variable(struct registry *registry)
{
    const char *variable = getenv("SANDLOT_PLUGIN_PATH");
    AUTO_FREE char *copy = variable ? strdup(variable) : NULL;

    for (char *rest = copy, *folder; rest && (folder = strsep(&rest, ":"));) {
        if (*folder && *folder != '/')
            log_warning("SANDLOT_PLUGIN_PATH names the relative folder %s, which is ignored: write it from the root on",
                        folder);
        else if (*folder && !add_folder(registry, strdup(folder)))
            return false;
    }
    return !variable || copy;
}

static bool find_folders(struct registry *registry)
{
    AUTO_FREE char *data = path_data_home();

    if (!data || !add_folders_of_variable(registry))
        return false;
    registry->variable_folders = registry->folder_count;
    registry->builtins = builtins_folder();
    registry->own_plugins = registry->builtins ? builtins_own_plugins(registry->builtins) : NULL;
    return registry->own_plugins && add_folder(registry, text_format("%s/providers", data)) &&
           add_folder(registry, strdup("/usr/local/lib/sandlot/providers")) &&
           add_folder(registry, strdup("/usr/lib/sandlot/providers")) &&
           add_folder(registry, strdup(registry->own_plugins));
}

static bool is_offered(const struct registry *registry, const char *name)
{
    for (size_t i = 0; i < registry->count; i++)
        if (registry->offers[i]->entry.name && strcmp(registry->offers[i]->entry.name, name) == 0)
            return true;
    return config_find(registry->config, name) != NULL;
}

/*
 * Most commands want one provider, and to read what a file says costs more than most of what they do besides. So a file
 * in a folder of Sandlot's own that is named after a provider of Sandlot's own, which nothing else provides, is read
 * when somebody asks for it.
 */
static bool put_off(void *context, const char *path)
{
    struct registry *registry = context;
    AUTO_FREE char *name = file_stem(path);
    const struct builtin *own = name ? builtin_find(name) : NULL;

    if (!own || (own->ships && registry->scanning == REGISTRY_PLUGIN) || is_offered(registry, name))
        return false;
    char *copy = strdup(path);
    struct offer *offer = copy ? add_offer(registry, registry->scanning, name) : NULL;

    if (!offer) {
        free(copy);
        return false;
    }
    offer->entry.path = copy;
    offer->unread = true;
    return true;
}

static bool scan(struct registry *registry)
{
    registry->scanning = REGISTRY_PLUGIN;
    for (size_t i = 0; i < registry->folder_count; i++) {
        const bool is_own = strcmp(registry->folders[i], registry->own_plugins) == 0;

        registry->folder = i;
        if (!discovery_scan(registry->folders[i], is_own ? put_off : NULL, add_library, registry))
            return false;
    }
    registry->scanning = REGISTRY_BUILTIN;
    return discovery_scan(registry->builtins, put_off, add_library, registry);
}

static bool is_not_installed(struct offer *offer)
{
    if (access("/proc/self/exe", F_OK) < 0)
        return set_problem(&offer->entry,
                           "it is not found: there is no /proc here, by which Sandlot knows where its own files are; "
                           "mount it (mount -t proc proc /proc)");
    if (!builtin_has_package(offer->entry.name))
        return set_problem(&offer->entry, "it is not installed: it comes with Sandlot, so install that again");
    offer->package = text_format(BUILTIN_PACKAGE, offer->entry.name);
    return offer->package && set_problem(&offer->entry,
                                         "it is not installed: install the package %s (apt install %s), or where "
                                         "Sandlot came by 'make install', that again",
                                         offer->package, offer->package);
}

/* The built-ins of the table for which there is no library. */
static bool add_missing_builtins(struct registry *registry)
{
    size_t known;
    const struct builtin *table = builtins(&known);
    const size_t found = registry->count;

    for (size_t i = 0; i < known; i++) {
        bool installed = !table[i].ships;

        for (size_t j = 0; j < found && !installed; j++)
            installed = registry->offers[j]->builtin == &table[i];
        if (installed)
            continue;
        struct offer *offer = add_offer(registry, REGISTRY_BUILTIN, table[i].name);

        if (!offer || !is_not_installed(offer))
            return false;
    }
    return true;
}

/* ---- config entries ---------------------------------------------------------------------------------------------- */

/* The library that LIBRARY of a class_path names: absolute, relative to the config file, or by the plugin folders. */
static char *find_library(const struct registry *registry, const char *library)
{
    if (strchr(library, '/')) {
        AUTO_FREE char *folder = path_parent(registry->config->file);

        return folder ? path_absolute(library, folder) : NULL;
    }
    for (size_t i = 0; i < registry->folder_count; i++) {
        char *path = text_format("%s/%s", registry->folders[i], library);

        if (!path || access(path, F_OK) == 0)
            return path;
        free(path);
    }
    return NULL;
}

static char *joined_folders(const struct registry *registry)
{
    char *text = strdup("");

    for (size_t i = 0; i < registry->folder_count; i++)
        if (!text || !text_append(&text, i ? ", %s" : "%s", registry->folders[i]))
            break;
    return text;
}

/* Takes from the library what it says of the symbol that the entry names. A library without note is fine here. */
static bool read_own_library(struct registry_entry *entry)
{
    struct library library CLEANUP(library_clear) = {0};

    if (!library_read(entry->path, &library))
        return false;
    for (size_t i = 0; i < library.points.count; i++) {
        struct entry_point *point = &library.points.items[i];

        if (!point->symbol || strcmp(point->symbol, entry->symbol) != 0)
            continue;
        free(entry->symbol);
        entry->symbol = NULL;
        return take_point(entry, &library, point);
    }
    return !library.problem || set_problem(entry, "%s cannot be used: %s", library.path, library.problem);
}

static bool read_class_path(const struct registry *registry, struct registry_entry *entry)
{
    const char *class_path = entry->config->class_path;
    const char *file = registry->config->file;
    const char *colon = strrchr(class_path, ':');

    if (!colon || colon == class_path || !colon[1])
        return set_problem(
            entry,
            "class_path \"%s\" of [sandboxes.providers.%s] in %s must have the form \"library.so:symbol\": "
            "correct it there",
            class_path, entry->name, file);
    AUTO_FREE char *library = strndup(class_path, (size_t)(colon - class_path));

    entry->symbol = strdup(colon + 1);
    if (!library || !entry->symbol)
        return false;
    entry->path = find_library(registry, library);
    if (entry->path && access(entry->path, F_OK) == 0)
        return read_own_library(entry);
    AUTO_FREE char *folders = entry->path ? NULL : joined_folders(registry);
    const char *package = entry->config->package && *entry->config->package ? entry->config->package : NULL;

    return set_problem(entry,
                       "the library %s, which class_path of [sandboxes.providers.%s] in %s names, does not exist%s%s: "
                       "install %s%s or correct class_path",
                       entry->path ? entry->path : library, entry->name, file, entry->path ? "" : " in any of ",
                       folders ? folders : "", package ? "the package " : "it", package ? package : "");
}

static bool add_config_entries(struct registry *registry)
{
    const struct config *config = registry->config;

    for (size_t i = 0; i < config->provider_count; i++) {
        const struct config_provider *provider = &config->providers[i];
        struct offer *offer = add_offer(registry, REGISTRY_CONFIG, provider->name);

        if (!offer)
            return false;
        offer->entry.config = provider;
        if (provider->class_path && !read_class_path(registry, &offer->entry))
            return false;
    }
    return true;
}

/* ---- who wins, and what holds for it ----------------------------------------------------------------------------- */

static int by_precedence(const void *a, const void *b)
{
    const struct offer *left = *(struct offer *const *)a;
    const struct offer *right = *(struct offer *const *)b;

    if (!left->entry.name != !right->entry.name)
        return left->entry.name ? -1 : 1;
    int order = left->entry.name ? strcmp(left->entry.name, right->entry.name) : 0;

    if (order == 0)
        order = (int)left->entry.source - (int)right->entry.source;
    if (order == 0)
        order = left->order < right->order ? -1 : left->order > right->order;
    return order;
}

static bool same_name(const struct offer *a, const struct offer *b)
{
    return a->entry.name && b->entry.name && strcmp(a->entry.name, b->entry.name) == 0;
}

/* An entry of the config stands for itself, whatever file it names. */
static bool same_file(const struct offer *a, const struct offer *b)
{
    return a->inode != 0 && a->inode == b->inode && a->device == b->device && a->entry.source == b->entry.source;
}

/* One file that is reached by two ways is one offer. */
static void drop_twins(struct registry *registry)
{
    size_t kept = 0;
    size_t group = 0; /* where the offers of this name begin */

    for (size_t i = 0; i < registry->count; i++) {
        struct offer *offer = registry->offers[i];
        bool twin = false;

        if (kept == 0 || !same_name(registry->offers[kept - 1], offer))
            group = kept;
        for (size_t j = group; j < kept && !twin; j++)
            twin = same_file(registry->offers[j], offer);
        if (twin)
            free_offer(offer);
        else
            registry->offers[kept++] = offer;
    }
    registry->count = kept;
}

/* A config entry without class_path: everything that it does not say itself is its base's. */
static bool borrow(const struct registry *registry, struct offer *offer)
{
    struct registry_entry *entry = &offer->entry;
    const struct config *config = registry->config;

    if (!offer->base) {
        /* Said at once, as for a class_path without colon: only here is it known that nothing lies below. */
        log_warning("%s:%d: [sandboxes.providers.%s] has no class_path, and nothing else provides %s", config->file,
                    entry->config->line, entry->name, entry->name);
        return set_problem(
            entry,
            "[sandboxes.providers.%s] in %s has no class_path, and nothing else provides %s: add class_path = "
            "\"library.so:symbol\" there",
            entry->name, config->file, entry->name);
    }
    offer->borrows = true;
    entry->path = offer->base->entry.path;
    entry->symbol = offer->base->entry.symbol;
    entry->note = offer->base->entry.note;
    if (!entry->path && entry->config->package && *entry->config->package)
        return set_problem(entry, "it is not installed: install the package %s", entry->config->package);
    return !offer->base->entry.problem || set_problem(entry, "%s", offer->base->entry.problem);
}

static const char *first_of(const char *a, const char *b)
{
    return a && *a ? a : b && *b ? b : NULL;
}

/* What the library or, for a built-in, the table says. */
static void resolve_from_note(struct offer *offer)
{
    struct registry_entry *entry = &offer->entry;
    const struct builtin *builtin = offer->builtin;
    const bool has_note = entry->note.name;

    offer->said_dir = first_of(entry->note.working_dir, builtin ? builtin->working_dir : NULL);
    entry->install_hint = first_of(entry->note.package, offer->package);
    entry->needs = first_of(entry->note.needs, NULL);
    entry->supports_sandbox_id = has_note  ? entry->note.supports_sandbox_id
                                 : builtin ? builtin->supports_sandbox_id
                                           : true;
    entry->supports_snapshot_name =
        has_note ? entry->note.supports_snapshot_name : builtin && builtin->supports_snapshot_name;
}

/* What an entry of the config shadows outweighs what its own library says, and what the config says outweighs both. */
static void resolve_from_config(struct offer *offer)
{
    struct registry_entry *entry = &offer->entry;
    const struct config_provider *config = entry->config;

    if (offer->base) {
        const struct registry_entry *base = &offer->base->entry;

        offer->said_dir = first_of(offer->base->said_dir, offer->said_dir);
        entry->install_hint = first_of(base->install_hint, entry->install_hint);
        entry->needs = first_of(base->needs, entry->needs);
        entry->supports_sandbox_id = base->supports_sandbox_id;
        entry->supports_snapshot_name = base->supports_snapshot_name;
    }
    offer->said_dir = first_of(config->working_dir, offer->said_dir);
    entry->install_hint = first_of(config->package, entry->install_hint);
    if (config->supports_sandbox_id != CONFIG_UNSET)
        entry->supports_sandbox_id = config->supports_sandbox_id == CONFIG_YES;
    if (config->supports_snapshot_name != CONFIG_UNSET)
        entry->supports_snapshot_name = config->supports_snapshot_name == CONFIG_YES;
}

/* A broken plugin does not let the built-in behind it through, so its problem says how to get that back. */
static bool mention_builtin(struct offer *offer)
{
    struct registry_entry *entry = &offer->entry;
    const struct offer *base = offer->base;

    while (base && base->entry.source == REGISTRY_PLUGIN)
        base = base->base;
    if (entry->source != REGISTRY_PLUGIN || !entry->problem || !base || !base->entry.path)
        return true;
    return text_append(&entry->problem, "; or remove that file to use the built-in %s again", entry->name);
}

static bool resolve(const struct registry *registry, struct offer *offer)
{
    struct registry_entry *entry = &offer->entry;

    if (entry->config && !entry->config->class_path && !borrow(registry, offer))
        return false;
    if (!mention_builtin(offer))
        return false;
    resolve_from_note(offer);
    if (entry->config)
        resolve_from_config(offer);
    entry->working_dir = offer->said_dir ? offer->said_dir : DEFAULT_WORKING_DIR;
    return true;
}

/* What the library that is named after ENTRY says of it. */
static bool read_own(struct registry_entry *entry)
{
    struct library library CLEANUP(library_clear) = {0};

    if (!library_read(entry->path, &library))
        return false;
    for (size_t i = 0; i < library.points.count; i++)
        if (strcmp(library.points.items[i].name, entry->name) == 0)
            return take_point(entry, &library, &library.points.items[i]);
    return set_problem(entry, "%s cannot be used: %s", library.path,
                       library.problem ? library.problem : "it does not provide what it is named after");
}

/* Reads what was put off; several threads may ask. */
static bool settle(const struct registry *registry, struct offer *offer)
{
    bool settled = true;

    pthread_mutex_lock(&offer->lock);
    if (offer->unread) {
        settled = read_own(&offer->entry) && resolve(registry, offer);
        offer->unread = !settled;
    }
    pthread_mutex_unlock(&offer->lock);
    return settled;
}

static int by_path(const void *a, const void *b)
{
    return strcmp(((const struct registry_ignored *)a)->path, ((const struct registry_ignored *)b)->path);
}

/* Sorts the offers, chains those of one name, and settles each; from the end, since a base comes behind what rests on
 * it. */
static bool link_offers(struct registry *registry)
{
    if (registry->ignored_count)
        qsort(registry->ignored, registry->ignored_count, sizeof(*registry->ignored), by_path);
    qsort(registry->offers, registry->count, sizeof(struct offer *), by_precedence);
    drop_twins(registry);
    registry->view = calloc(registry->count + 1, sizeof(struct registry_entry *));
    for (size_t i = registry->count; registry->view && i-- > 0;) {
        struct offer *offer = registry->offers[i];

        registry->view[i] = &offer->entry;
        struct offer *next = i + 1 < registry->count ? registry->offers[i + 1] : NULL;

        offer->base = next && same_name(offer, next) ? next : NULL;
        offer->entry.shadows = offer->base ? &offer->base->entry : NULL;
        offer->entry.winner = offer->entry.name && (i == 0 || !same_name(registry->offers[i - 1], offer));
        if (!resolve(registry, offer))
            return false;
    }
    return registry->view;
}

struct registry *registry_new(const struct config *config)
{
    struct registry *registry = calloc(1, sizeof(*registry));

    if (!registry)
        return NULL;
    registry->config = config;
    if (find_folders(registry) && scan(registry) && add_missing_builtins(registry) && add_config_entries(registry) &&
        link_offers(registry))
        return registry;
    registry_free(registry);
    return NULL;
}

void registry_free(struct registry *registry)
{
    if (!registry)
        return;
    for (size_t i = 0; i < registry->count; i++)
        free_offer(registry->offers[i]);
    for (size_t i = 0; i < registry->ignored_count; i++) {
        free(registry->ignored[i].path);
        free(registry->ignored[i].reason);
    }
    for (size_t i = 0; i < registry->folder_count; i++)
        free(registry->folders[i]);
    free(registry->offers);
    free(registry->view);
    free(registry->ignored);
    free(registry->folders);
    free(registry->builtins);
    free(registry->own_plugins);
    free(registry);
}

/* ---- questions --------------------------------------------------------------------------------------------------- */

/* To come before what is installed is what SANDLOT_PLUGIN_PATH is for, and needs no warning. */
static void tell_duplicate(const struct offer *first, const struct offer *second)
{
    if (first->tried_out && !second->tried_out)
        log_info("%s of SANDLOT_PLUGIN_PATH provides %s, in the place of %s", first->entry.path, first->entry.name,
                 second->entry.path);
    else
        log_warning("two plugin files provide %s: %s comes first, %s is not used; remove one of them",
                    first->entry.name, first->entry.path, second->entry.path);
}

/* Two plugin files for one name: said once, when the name is asked for or listed, not with every command. */
static void tell_duplicates(struct offer *winner)
{
    const struct offer *first = NULL; /* of those that are tried out, or of those that are installed */

    if (atomic_exchange(&winner->told, true))
        return;
    for (const struct offer *offer = winner; offer; offer = offer->base) {
        if (offer->entry.source != REGISTRY_PLUGIN)
            continue;
        if (first)
            tell_duplicate(first, offer);
        if (!first || (first->tried_out && !offer->tried_out))
            first = offer;
    }
}

const struct registry_entry *const *registry_entries(const struct registry *registry, size_t *count)
{
    for (size_t i = 0; i < registry->count; i++)
        if (registry->offers[i]->entry.winner)
            tell_duplicates(registry->offers[i]);
    return registry_entries_quietly(registry, count);
}

const struct registry_entry *const *registry_entries_quietly(const struct registry *registry, size_t *count)
{
    for (size_t i = 0; i < registry->count; i++)
        if (!settle(registry, registry->offers[i]))
            log_warning("out of memory: what %s says of itself is missing", registry->offers[i]->entry.path);
    *count = registry->count;
    return registry->view;
}

const struct registry_ignored *registry_ignored(const struct registry *registry, size_t *count)
{
    *count = registry->ignored_count;
    return registry->ignored;
}

const char *const *registry_folders(const struct registry *registry, size_t *count)
{
    *count = registry->folder_count;
    return (const char *const *)registry->folders;
}

/* NAME as a key of TOML: quoted unless it is a bare one. To be freed. */
static char *toml_key(const char *name)
{
    static const char bare[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-";

    const char *quote = !name[strspn(name, bare)] ? "" : strpbrk(name, "\"\\") ? "'" : "\"";

    return text_format("%s%s%s", quote, name, quote);
}

/* How a provider of that name could come to be; to be freed. A name that none can have is said to be one. */
static char *way_to_provide(const struct registry *registry, const char *name)
{
    const char *problem = config_name_problem(name);
    const char *file = registry->config->file;
    AUTO_FREE char *folders = joined_folders(registry);
    AUTO_FREE char *key = toml_key(name);
    AUTO_FREE char *package = builtin_find(name) ? text_format(BUILTIN_PACKAGE, name) : NULL;

    if (problem)
        return text_format("a name that %s cannot be a provider's, so choose one of these", problem);
    return text_format("for another, install its package (apt install %s) or put its library into one of %s, or "
                       "declare [sandboxes.providers.%s] in %s",
                       package ? package : "PACKAGE", folders ? folders : "the plugin folders", key ? key : name,
                       file ? file : "the config file");
}

static const struct registry_entry *unknown(const struct registry *registry, const char *name,
                                            struct sandlot_error *error)
{
    AUTO_FREE const char **names = calloc(registry->count + 1, sizeof(*names));
    AUTO_FREE char *all = strdup("");
    AUTO_FREE char *way = way_to_provide(registry, name);
    const struct config *config = registry->config;
    size_t count = 0;

    for (size_t i = 0; names && all && i < registry->count; i++) {
        const struct registry_entry *entry = &registry->offers[i]->entry;

        if (!entry->winner)
            continue;
        names[count++] = entry->name;
        text_append(&all, count > 1 ? ", %s" : "%s", entry->name);
    }
    const char *nearest = names ? text_nearest(name, names, count) : NULL;

    error_set(error, SANDLOT_CODE_UNKNOWN_PROVIDER, "there is no provider %s%s%s%s; available: %s; %s%s%s%s%s%s", name,
              nearest ? ", did you mean " : "", nearest ? nearest : "", nearest ? "?" : "", all ? all : "",
              way ? way : "", config->problem ? "; note: " : "", config->problem ? config->file : "",
              config->problem ? " could not be used (" : "", config->problem ? config->problem : "",
              config->problem ? "), so whatever it declares was ignored" : "");
    return NULL;
}

const struct registry_entry *registry_find(const struct registry *registry, const char *name,
                                           struct sandlot_error *error)
{
    for (size_t i = 0; i < registry->count; i++) {
        struct offer *offer = registry->offers[i];

        if (!offer->entry.winner || strcmp(offer->entry.name, name) != 0)
            continue;
        tell_duplicates(offer);
        if (settle(registry, offer))
            return &offer->entry;
        error_no_memory(error);
        return NULL;
    }
    return unknown(registry, name, error);
}

/* ---- what a provider lacks --------------------------------------------------------------------------------------- */

static bool is_program(const char *path)
{
    struct stat status;

    return stat(path, &status) == 0 && S_ISREG(status.st_mode) && access(path, X_OK) == 0;
}

bool registry_has_program(const char *program)
{
    const char *variable = getenv("PATH");
    AUTO_FREE char *copy = strdup(variable ? variable : "/usr/local/bin:/usr/bin:/bin");

    for (char *rest = copy, *folder; rest && (folder = strsep(&rest, ":"));) {
        AUTO_FREE char *path = text_format("%s/%s", *folder ? folder : ".", program);

        if (path && is_program(path))
            return true;
    }
    return false;
}

/* Calls EACH for every word of LIST, and puts what it adds to *TEXT one behind the other. */
static char *over_words(const char *list, void (*each)(char **text, const char *word, const void *context),
                        const void *context)
{
    AUTO_FREE char *copy = list ? strdup(list) : NULL;
    char *text = NULL;

    for (char *rest = copy, *word; rest && (word = strsep(&rest, " \t"));)
        if (*word)
            each(&text, word, context);
    return text;
}

static void add_missing_need(char **text, const char *word, const void *context)
{
    const char *join = *text ? ", and " : "";

    (void)context;
    if (*word == '/' && access(word, F_OK) != 0)
        text_append(text, "%sthe file %s is not there", join, word);
    else if (*word != '/' && (strchr(word, '/') || !registry_has_program(word)))
        text_append(text, "%sthe program %s is not in PATH", join, word);
}

char *registry_missing_dependency(const struct registry_entry *entry)
{
    return over_words(entry->needs, add_missing_need, NULL);
}

/* Alternatives "A|B", of which none is set: "A or B (or SANDLOT_A, SANDLOT_B)". */
static void add_missing_credential(char **text, const char *word, const void *context)
{
    AUTO_FREE char *copy = strdup(word);
    AUTO_FREE char *plain = NULL;
    AUTO_FREE char *prefixed = NULL;

    for (char *rest = copy, *name; rest && (name = strsep(&rest, "|"));) {
        if (!*name)
            continue;
        if (environment_lookup(context, name))
            return;
        text_append(&plain, "%s%s", plain ? " or " : "", name);
        if (strncmp(name, "SANDLOT_", 8) != 0)
            text_append(&prefixed, "%sSANDLOT_%s", prefixed ? ", " : "", name);
    }
    if (!plain)
        return;
    text_append(text, "%s%s", *text ? ", and " : "", plain);
    if (prefixed)
        text_append(text, " (or %s)", prefixed);
}

char *registry_missing_credentials(const struct registry_entry *entry, const struct environment *environment)
{
    return over_words(entry->note.credentials, add_missing_credential, environment);
}

char *registry_capability_words(const struct registry_entry *entry)
{
    AUTO_FREE char *words = text_format("%s%s", entry->supports_sandbox_id ? " sandbox_id" : "",
                                        entry->supports_snapshot_name ? " snapshot_name" : "");
    bool complete = words;

    for (int bit = CAPABILITY_LIST; bit <= CAPABILITY_LAST; bit <<= 1)
        if (entry->note.capabilities & (uint32_t)bit)
            complete = complete && text_append(&words, " %s", capability_name((enum capability)bit));
    return complete ? strdup(words + (*words == ' ')) : NULL;
}
