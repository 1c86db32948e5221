#include "results/judge.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "base/path.h"
#include "base/sized.h"
#include "base/text.h"
#include "operations/sandbox_path.h"
#include "results/beneath.h"
#include "results/risk.h"
#include "results/room.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum {
    TOGETHER = 256,               /* files that are fetched at once */
    PACKAGE_MAXIMUM = 1024 * 1024 /* of a package.json that is understood, which takes some 250 times its length */
};

/* ---- the request ------------------------------------------------------------------------------------------------- */

/* PATH of the caller as one below the working directory ("." is all of it), to be freed. */
static char *plain_path(const struct sandlot_session *session, const char *path, struct sandlot_error *error)
{
    const char *place = sandlot_session_working_dir(session);
    AUTO_FREE char *whole = sandbox_path(path, place, false, error);
    size_t length = strlen(place);

    if (!whole)
        return NULL;
    if (strcmp(whole, place) == 0)
        return strdup(".");
    if (strcmp(place, "/") == 0)
        length = 0;
    if (strncmp(whole, place, length) == 0 && whole[length] == '/')
        return strdup(whole + length + 1);
    error_set(error, SANDLOT_CODE_INVALID_PATH, "'%s' does not lie in the working directory %s", path, place);
    return NULL;
}

static int read_paths(struct results *results, struct sandlot_error *error)
{
    const char *const *paths = results->request.paths;
    size_t count = 0;

    while (paths && paths[count])
        count++;
    if (count == 0)
        return 0;
    results->paths = calloc(count + 1, sizeof(*results->paths));
    if (!results->paths)
        return error_no_memory(error);
    for (size_t i = 0; i < count; i++) {
        results->paths[i] = plain_path(results->session, paths[i], error);
        if (!results->paths[i])
            return error_is_set(error) ? -1 : error_no_memory(error);
    }
    return 0;
}

/* What was asked for may lie in a folder that is CLOSED. */
static bool is_wanted(const struct results *results, const char *path, bool closed)
{
    for (char **wanted = results->paths; wanted && *wanted; wanted++)
        if (node_path_within(path, *wanted) || (closed && node_path_within(*wanted, path)))
            return true;
    return !results->paths;
}

/* ---- bytes ------------------------------------------------------------------------------------------------------- */

/* The digest of the file NODE of a folder of this machine. 0, also where it cannot be read: then there is none. */
static int digest_in_folder(const struct results *results, int folder_fd, struct node *node,
                            struct sandlot_error *error)
{
    AUTO_CLOSE int fd = node->type == NODE_FILE && !node->digested ? beneath_open_file(folder_fd, node->path) : -1;

    if (fd < 0)
        return 0;
    node->digested = node_digest(fd, results->cancel_fd, node->digest, &node->bytes, NULL) == 0;
    return cancellation_check(results->cancel_fd, error);
}

static void take_file(struct change *change, struct box_file *file, bool fetched)
{
    if (file->problem) {
        free(change->problem);
        change->problem = TAKE(file->problem);
        change->never = true;
        return;
    }
    memcpy(change->after->digest, file->digest, NODE_DIGEST);
    change->after->digested = true;
    change->after->bytes = file->bytes;
    change->binary = file->binary;
    change->fetched = fetched;
}

/* KEEP: their bytes too, or else only what they are. */
static int take_together(struct results *results, struct change *const *changes, size_t count, bool keep,
                         struct sandlot_error *error)
{
    struct box_file files[TOGETHER] = {0};

    for (size_t i = 0; i < count; i++)
        files[i] = (struct box_file){.path = changes[i]->path, .index = changes[i]->index};
    int failed = keep ? box_fetch(&results->box, files, count, error) : box_measure(&results->box, files, count, error);

    for (size_t i = 0; i < count; i++) {
        if (!failed)
            take_file(changes[i], &files[i], keep);
        free(files[i].problem);
    }
    return failed;
}

static int take_files(struct results *results, struct change *const *changes, size_t count, bool keep,
                      struct sandlot_error *error)
{
    for (size_t at = 0; at < count; at += TOGETHER)
        if (take_together(results, changes + at, count - at < TOGETHER ? count - at : TOGETHER, keep, error) < 0)
            return -1;
    return 0;
}

int results_fetch(struct results *results, struct change *const *changes, size_t count, struct sandlot_error *error)
{
    return take_files(results, changes, count, true, error);
}

static char *read_all(int fd, const char *path, size_t *length, struct sandlot_error *error)
{
    char *bytes = fd >= 0 ? path_read_descriptor(fd, RESULTS_PATCH_MAXIMUM, length) : NULL;

    if (!bytes)
        error_set(error, errno == EFBIG ? SANDLOT_CODE_TOO_LARGE : SANDLOT_CODE_INTERNAL_ERROR,
                  "'%s' cannot be read: %s", path, strerror(errno));
    return bytes;
}

char *results_new_bytes(struct results *results, struct change *change, size_t *length, struct sandlot_error *error)
{
    if (!change->fetched && results_fetch(results, &change, 1, error) < 0)
        return NULL;
    if (change->problem) {
        error_set(error, SANDLOT_CODE_INTERNAL_ERROR, "'%s': %s", change->path, change->problem);
        return NULL;
    }
    AUTO_CLOSE int fd = box_open_fetched(&results->box, change->index);

    return read_all(fd, change->path, length, error);
}

char *results_old_bytes(const struct results *results, const struct change *change, size_t *length,
                        struct sandlot_error *error)
{
    AUTO_CLOSE int fd = beneath_open_file(results->folder_fd, change->path);

    return read_all(fd, change->path, length, error);
}

/* ---- what has changed -------------------------------------------------------------------------------------------- */

static enum sandlot_change_kind kind_of(const struct node *before, const struct node *after)
{
    if (!before)
        return SANDLOT_CHANGE_ADDED;
    if (!after)
        return SANDLOT_CHANGE_REMOVED;
    if (before->type != after->type)
        return SANDLOT_CHANGE_TYPE;
    bool same_bytes = before->type == NODE_FILE && before->bytes == after->bytes && before->digested &&
                      after->digested && memcmp(before->digest, after->digest, NODE_DIGEST) == 0;

    return same_bytes ? SANDLOT_CHANGE_MODE : SANDLOT_CHANGE_MODIFIED;
}

/* Nothing is exported or applied of CHANGE, for the reason TEXT. */
static int note(struct change *change, const char *text, struct sandlot_error *error)
{
    change->never = true;
    if (!change->problem)
        change->problem = strdup(text);
    return change->problem ? 0 : error_no_memory(error);
}

static int add_change(struct results *results, const char *path, struct node *before, struct node *after,
                      struct sandlot_error *error)
{
    const bool closed = after && after->closed;

    if (!is_wanted(results, path, closed))
        return 0;
    if (results->count == results->capacity) {
        size_t capacity = results->capacity ? 2 * results->capacity : 64;
        struct change *grown = realloc(results->changes, capacity * sizeof(*grown));

        if (!grown)
            return error_no_memory(error);
        results->changes = grown;
        results->capacity = capacity;
    }
    results->changes[results->count] =
        (struct change){.path = path, .before = before, .after = after, .index = results->count};
    results->count++;
    if (!closed)
        return 0;
    return note(&results->changes[results->count - 1], "it cannot be looked into in the sandbox; change its mode there",
                error);
}

/* Of two files of one length the bytes decide, which a native box shows at once and others when they have been fetched.
 */
static int compare(struct results *results, struct node *before, struct node *after, struct sandlot_error *error)
{
    if (before->type == NODE_FILE && after->type == NODE_FILE && before->bytes == after->bytes && results->base.told &&
        digest_in_folder(results, results->base.fd, before, error) < 0)
        return -1;
    if (!after->closed && node_same(before, after))
        return 0;
    return add_change(results, before->path, before, after, error);
}

/* Both lists side by side. */
static int compare_lists(struct results *results, struct sandlot_error *error)
{
    struct nodes *old = &results->before;
    struct nodes *new = &results->after;
    size_t i = 0;
    size_t j = 0;
    int failed = 0;

    while (!failed && (i < old->count || j < new->count)) {
        int order = i == old->count ? 1 : j == new->count ? -1 : strcmp(old->items[i].path, new->items[j].path);

        if (order == 0)
            failed = compare(results, &old->items[i], &new->items[j], error);
        else if (order < 0 && !nodes_hide(new, old->items[i].path))
            failed = add_change(results, old->items[i].path, &old->items[i], NULL, error);
        else if (order > 0)
            failed = add_change(results, new->items[j].path, NULL, &new->items[j], error);
        i += order <= 0;
        j += order >= 0;
    }
    return failed;
}

/* Without the folder nothing tells whether a path that the sandbox lacks was there. */
static int add_missing(struct results *results, struct sandlot_error *error)
{
    const struct nodes *candidates = &results->base.candidates;

    if (results->folder_fd >= 0 || !results->base.told)
        return 0;
    for (size_t i = 0; i < candidates->count; i++) {
        if (nodes_find(&results->after, candidates->items[i].path) ||
            nodes_hide(&results->after, candidates->items[i].path))
            continue;
        candidates->items[i].type = NODE_FILE;
        if (add_change(results, candidates->items[i].path, &candidates->items[i], NULL, error) < 0)
            return -1;
    }
    return 0;
}

/* Must its bytes be here to say what it is? */
static bool needs_bytes(const struct results *results, const struct change *change)
{
    const struct node *after = change->after;

    if (!after || after->type != NODE_FILE)
        return false;
    return results->how == JUDGE_ALL || after->bytes <= RESULTS_PATCH_MAXIMUM ||
           (change->before && change->before->type == NODE_FILE && change->before->bytes == after->bytes);
}

static int take_needed(struct results *results, struct sandlot_error *error)
{
    AUTO_FREE struct change **wanted = calloc(results->count + 1, sizeof(*wanted));
    size_t count = 0;

    if (!wanted)
        return error_no_memory(error);
    for (size_t i = 0; i < results->count; i++)
        if (needs_bytes(results, &results->changes[i]))
            wanted[count++] = &results->changes[i];
    return take_files(results, wanted, count, !results->box.native || results->how != JUDGE_LIST, error);
}

/* A path whose bytes are the same after all is no change. */
static int settle(struct results *results, struct sandlot_error *error)
{
    size_t kept = 0;

    if (take_needed(results, error) < 0)
        return -1;
    for (size_t i = 0; i < results->count; i++) {
        struct change change = results->changes[i];

        if (change.before && change.after && !change.problem && node_same(change.before, change.after)) {
            free(change.problem);
            continue;
        }
        change.kind = kind_of(change.before, change.after);
        results->changes[kept++] = change;
    }
    results->count = kept;
    return 0;
}

/* ---- what to look at first --------------------------------------------------------------------------------------- */

static const char *special_of(const struct change *change)
{
    switch (change->after ? change->after->type : NODE_NONE) {
    case NODE_FIFO:
        return "a pipe";
    case NODE_SOCKET:
        return "a socket";
    case NODE_DEVICE:
        return "a device";
    case NODE_BLOCKED:
        return "a link of the sandbox leads there";
    default:
        return NULL;
    }
}

static const char *link_risk(struct change *change)
{
    if (!change->after || change->after->type != NODE_LINK)
        return NULL;
    change->never = change->never || risk_leads_out(change->path, change->after->target);
    return change->never ? "a link that leads out of the folder" : "a symbolic link";
}

static bool is_file(const struct node *node)
{
    return node && node->type == NODE_FILE;
}

/* Of a package.json: do the scripts differ? What cannot be read counts as different. */
static const char *script_risk(struct results *results, struct change *change)
{
    AUTO_FREE char *before = NULL;
    AUTO_FREE char *after = NULL;
    size_t before_length = 0;
    size_t after_length = 0;

    if (!risk_is_package(change->path) || !is_file(change->after) || change->kind == SANDLOT_CHANGE_MODE)
        return NULL;
    if (is_file(change->before) && results->folder_fd >= 0)
        before = results_old_bytes(results, change, &before_length, NULL);
    after = change->after->bytes <= PACKAGE_MAXIMUM ? results_new_bytes(results, change, &after_length, NULL) : NULL;
    bool differ =
        !after || (is_file(change->before) && !before) || risk_of_scripts(before, before_length, after, after_length);

    return differ ? "a package manager runs its scripts" : NULL;
}

static const char *bit_risk(const struct change *change)
{
    bool now = is_file(change->after) && change->after->executable;
    bool then = is_file(change->before) && change->before->executable;

    return now == then || !change->after ? NULL : now ? "it can be executed now" : "it cannot be executed any more";
}

static void add_risk(struct change *change, const char *risk)
{
    if (!change->risk)
        change->risk = risk;
}

static void judge_risk(struct results *results, struct change *change)
{
    const char *special = special_of(change);

    change->never = change->never || special || risk_in_repository(change->path);
    add_risk(change, special);
    add_risk(change, link_risk(change));
    add_risk(change, risk_of_path(change->path));
    add_risk(change, bit_risk(change));
    add_risk(change, script_risk(results, change));
}

static int without_case(const void *left, const void *right)
{
    return strcasecmp((*(struct change *const *)left)->path, (*(struct change *const *)right)->path);
}

/* Names that fall together where case does not count, such as on other machines. */
static int judge_case(struct results *results, struct sandlot_error *error)
{
    AUTO_FREE struct change **sorted = calloc(results->count + 1, sizeof(*sorted));
    size_t count = 0;

    if (!sorted)
        return error_no_memory(error);
    for (size_t i = 0; i < results->count; i++)
        if (results->changes[i].after)
            sorted[count++] = &results->changes[i];
    qsort(sorted, count, sizeof(struct change *), without_case);
    for (size_t i = 1; i < count; i++) {
        if (strcasecmp(sorted[i - 1]->path, sorted[i]->path) != 0)
            continue;
        add_risk(sorted[i - 1], "another name differs from its only by case");
        add_risk(sorted[i], "another name differs from its only by case");
    }
    return 0;
}

static int risky_first(const void *left, const void *right)
{
    const struct change *a = left;
    const struct change *b = right;

    if (!a->risk != !b->risk)
        return a->risk ? -1 : 1;
    return strcmp(a->path, b->path);
}

/* ---- the folder -------------------------------------------------------------------------------------------------- */

/* Is it what `apply` wrote there last? */
static bool was_applied(const struct results *results, const struct node *now)
{
    const struct node *applied = nodes_find(&results->base.manifest.nodes, now->path);

    return applied && node_same(applied, now);
}

/* Was room made already for what the sandbox put in place of something of another kind? An apply that was ended there
 * goes on; and where it was not one, nothing of anybody's is lost. */
static bool has_room(const struct change *change, const struct node *now)
{
    return now->type == NODE_NONE && change->before && change->after && change->before->type != change->after->type;
}

/* Was a folder on the way to PATH put there since the sandbox began? What is in it keeps its times then. A new entry
 * changes both of a folder's times, a new name (or mode) of its own one alone. */
static bool way_moved(const struct results *results, const char *path)
{
    AUTO_FREE char *above = strdup(path);

    for (char *end = above ? strrchr(above, '/') : NULL; end; end = strrchr(above, '/')) {
        struct node now CLEANUP(node_clear) = {0};
        const char *name;

        *end = '\0';
        AUTO_CLOSE int parent = beneath_open_parent(results->folder_fd, above, &name);

        if (parent >= 0 && node_look(parent, name, &now) == 0 && now.changed_ms > results->base.since_ms &&
            now.changed_ms > now.modified_ns / 1000000)
            return true;
    }
    return !above;
}

/* Is what stands in the folder somebody else's work? */
static bool is_conflict(const struct results *results, const struct change *change, const struct node *now)
{
    const struct node nothing = {0};
    const struct node *before = change->before ? change->before : &nothing;

    if (results->base.told && results->own_folder)
        return now->type != NODE_NONE && now->type != NODE_FOLDER && !was_applied(results, now) &&
               (now->changed_ms > results->base.since_ms || way_moved(results, now->path));
    if (has_room(change, now))
        return false;
    return before->type != now->type || (now->type != NODE_NONE && !node_same(before, now));
}

/* Why nothing can be written at CHANGE's path, whose folder cannot be opened; NULL: it is not there, or something of
 * another kind, which the work itself replaces. */
static const char *barrier_of(const struct results *results, const struct change *change, int reason)
{
    const struct change *maker = reason == ELOOP || reason == ENOTDIR ? room_maker(results, change->path) : NULL;

    if (reason == ENOENT || (maker && maker->after->type == NODE_FOLDER && !maker->never))
        return NULL;
    if (reason == ELOOP)
        return "a link of this machine leads there";
    if (reason == ENOTDIR)
        return change->after ? "on this machine its folder is none" : NULL;
    return strerror(reason);
}

/* Does a link stand where a folder is to be, other than that which the sandbox began with? */
static bool bars_folder(const struct change *change, const struct node *now)
{
    return now->type == NODE_LINK && change->after && change->after->type == NODE_FOLDER &&
           (change->conflict || !change->before || change->before->type != NODE_LINK);
}

/* What stands at CHANGE's path in the folder, against what is to stand there. */
static int judge_folder(struct results *results, struct change *change, struct sandlot_error *error)
{
    struct node now CLEANUP(node_clear) = {0};
    const char *name = change->path;
    AUTO_CLOSE int parent = beneath_open_parent(results->folder_fd, change->path, &name);
    const struct node nothing = {0};

    const char *barrier = parent < 0 ? barrier_of(results, change, errno) : NULL;

    if (barrier)
        return note(change, barrier, error);
    if (parent >= 0 && node_look(parent, name, &now) < 0)
        return note(change, strerror(errno), error);
    change->stood = (struct stood){now.type, now.bytes, now.modified_ns};
    now.path = strdup(change->path);
    if (!now.path)
        return error_no_memory(error);
    if (digest_in_folder(results, results->folder_fd, &now, error) < 0)
        return -1;
    if (change->before && change->before->type == NODE_FILE && results->base.told && !results->own_folder &&
        digest_in_folder(results, results->base.fd, (struct node *)(uintptr_t)change->before, error) < 0)
        return -1;
    const struct node *after = change->after ? change->after : &nothing;

    change->there = after->type == now.type && (now.type == NODE_NONE || node_same(after, &now));
    change->conflict = !change->there && is_conflict(results, change, &now);
    if (change->there && after->closed)
        change->kind = SANDLOT_CHANGE_MODIFIED; /* its list of what was before begins further below */
    if (!bars_folder(change, &now))
        return 0;
    change->conflict = false;
    return note(change, "on this machine it is a link", error);
}

static bool same_folder(int left, int right)
{
    struct stat a;
    struct stat b;

    return fstat(left, &a) == 0 && fstat(right, &b) == 0 && a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

static int open_target(struct results *results, struct sandlot_error *error)
{
    const char *folder = results->request.folder;

    results->folder_fd =
        folder ? open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : fcntl(results->base.fd, F_DUPFD_CLOEXEC, 0);
    if (results->folder_fd < 0 && folder)
        return error_set(error, errno == ENOTDIR ? SANDLOT_CODE_NOT_A_DIRECTORY : SANDLOT_CODE_FILE_NOT_FOUND,
                         "the folder %s cannot be opened: %s", folder, strerror(errno));
    results->own_folder = same_folder(results->folder_fd, results->base.fd);
    return 0;
}

static int judge_all(struct results *results, struct sandlot_error *error)
{
    for (size_t i = 0; i < results->count; i++) {
        if (results->folder_fd >= 0 && judge_folder(results, &results->changes[i], error) < 0)
            return -1;
        judge_risk(results, &results->changes[i]);
    }
    if (room_judge(results, error) < 0 || judge_case(results, error) < 0)
        return -1;
    if (results->count)
        qsort(results->changes, results->count, sizeof(*results->changes), risky_first);
    return 0;
}

static int begin(struct results *results, bool needs_folder, struct sandlot_error *error)
{
    results->cancel_fd = cancellation_fd(results->request.cancellation);
    if (read_paths(results, error) < 0 || base_find(results->session, results->cancel_fd, &results->base, error) < 0)
        return -1;
    if (needs_folder && (results->base.told || !results->request.folder) && base_need_folder(&results->base, error) < 0)
        return -1;
    if (open_target(results, error) < 0)
        return -1;
    return box_begin(results->session, results->request.cancellation, &results->box, error);
}

int results_gather(struct sandlot_session *session, const struct sandlot_changes_request *request, enum judging how,
                   bool needs_folder, struct results *results, struct sandlot_error *error)
{
    *results = (struct results){.session = session, .how = how, .folder_fd = -1};
    results->base.fd = -1;
    results->box.stage = NO_STAGE;
    if (sized_read(&results->request, sizeof(results->request), request, sizeof(results->request.size),
                   "sandlot_changes_request", error) < 0 ||
        begin(results, needs_folder, error) < 0)
        return -1;
    if (base_list(&results->base, results->cancel_fd, &results->before, error) < 0 ||
        box_list(&results->box, &results->base, &results->after, error) < 0)
        return -1;
    if (compare_lists(results, error) < 0 || add_missing(results, error) < 0 || settle(results, error) < 0)
        return -1;
    return judge_all(results, error);
}

void results_clear(struct results *results)
{
    for (size_t i = 0; i < results->count; i++)
        free(results->changes[i].problem);
    free(results->changes);
    for (char **path = results->paths; path && *path; path++)
        free(*path);
    free(results->paths);
    nodes_clear(&results->before);
    nodes_clear(&results->after);
    base_clear(&results->base);
    box_end(&results->box);
    if (results->folder_fd >= 0)
        close(results->folder_fd);
    *results = (struct results){.folder_fd = -1};
}

static const char *type_name(enum node_type type)
{
    static const char *const names[] = {
        [NODE_NONE] = "file", [NODE_FILE] = "file",     [NODE_FOLDER] = "directory", [NODE_LINK] = "symlink",
        [NODE_FIFO] = "fifo", [NODE_SOCKET] = "socket", [NODE_DEVICE] = "device",    [NODE_BLOCKED] = "symlink"};

    return names[type];
}

static uint32_t mode_of(const struct node *node)
{
    return !is_file(node) ? 0 : node->executable ? 0755 : 0644;
}

struct sandlot_change results_public(const struct change *change)
{
    const struct node *what = change->after ? change->after : change->before;

    return (struct sandlot_change){.size = sizeof(struct sandlot_change),
                                   .path = change->path,
                                   .type = type_name(what->type),
                                   .kind = change->kind,
                                   .old_mode = mode_of(change->before),
                                   .new_mode = mode_of(change->after),
                                   .old_bytes = is_file(change->before) ? change->before->bytes : 0,
                                   .new_bytes = is_file(change->after) ? change->after->bytes : 0,
                                   .link_target = change->after ? change->after->target : NULL,
                                   .risk = change->risk ? change->risk : change->problem,
                                   .binary = change->binary,
                                   .conflict = change->conflict};
}
