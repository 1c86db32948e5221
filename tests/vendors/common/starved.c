/*
 * Memory runs out at one place after the other while a provider works, against an emulator of its service:
 *
 *   starved LIBRARY SYMBOL BASE_URL STRIDE
 *
 * Each function of its table is called again and again, and the first, the second, the third... allocation fails, every
 * STRIDE-th of them, until one call gets through without. Nothing may crash or hang, a failure must be told and be one
 * of this machine's, what is reported as done must be done, and after close as much is allocated as before open. Prints
 * a line for each function, "ok" or "not ok", as the tests do. Parameters as in calls.c.
 */
#include "../../unit/failing_allocator.h"
#include "opening.h"

#include <unistd.h>

struct json_object;
struct json_tokener;
struct archive;
struct archive_entry;
struct wslay_queue;

static void count_on(const long *left)
{
    atomic_store(&countdown, *left);
}

/*
 * Neither the parser of json-c 0.16 nor the strings of libarchive survive a lack of memory, libcurl then sends a
 * request without its query, and libwslay forgets to free what it could not append; nothing around them can help: they
 * are left out.
 */
// NOLINTBEGIN(readability-inconsistent-declaration-parameter-name,bugprone-macro-parentheses)
#define LEFT_OUT(result, name, parameters, statement)                                 \
    __attribute__((visibility("default"))) result name parameters                     \
    {                                                                                 \
        result(*next) parameters;                                                     \
        __attribute__((cleanup(count_on))) const long left = atomic_load(&countdown); \
                                                                                      \
        atomic_store(&countdown, -1);                                                 \
        *(void **)&next = dlsym(RTLD_NEXT, #name);                                    \
        statement;                                                                    \
    }

LEFT_OUT(struct json_object *, json_tokener_parse_ex, (struct json_tokener * tokener, const char *text, int length),
         return next(tokener, text, length))
LEFT_OUT(int, curl_url_get, (void *url, int part, char **text, unsigned flags), return next(url, part, text, flags))
LEFT_OUT(int, archive_write_header, (struct archive * archive, struct archive_entry *entry),
         return next(archive, entry))
LEFT_OUT(int, wslay_queue_push, (struct wslay_queue * queue, void *data), return next(queue, data))
LEFT_OUT(int, archive_read_next_header, (struct archive * archive, struct archive_entry **entry),
         return next(archive, entry))
LEFT_OUT(void, archive_entry_set_pathname, (struct archive_entry * entry, const char *name), next(entry, name))
// NOLINTEND(readability-inconsistent-declaration-parameter-name,bugprone-macro-parentheses)

#define LABELS "sandlot-starved-%u"

enum { MOST_ALLOCATIONS = 20000, BYTES = 70000, LABEL = 41 };

static const char word[] = "starved";

/* What one call has done. */
static struct {
    char id[256]; /* of a sandbox that was made */
    bool told;    /* why it failed */
    char why[512];
    size_t bytes; /* of output, or of a file that came down */
    size_t files;
    size_t failed_files;
    bool listed;
    bool judged;  /* the call itself is over */
    bool reached; /* the allocation that was to fail */
} seen;

/* A provider, with a sandbox that no failure has touched. */
static struct {
    const struct sandlot_provider *table;
    void *provider;
    void *sandbox;
    char id[256];
} scene;

static enum sandlot_status on_fail(struct sandlot_call *call, enum sandlot_status status, const char *message)
{
    (void)call;
    seen.told = message && *message;
    snprintf(seen.why, sizeof(seen.why), "%s", message ? message : "");
    return status;
}

static void on_log(struct sandlot_call *call, enum sandlot_log_level level, const char *message)
{
    (void)call, (void)level, (void)message;
}

static const char *on_environment(struct sandlot_call *call, const char *name)
{
    const char *value = getenv(name);

    (void)call;
    return value && *value ? value : NULL;
}

static void on_progress(struct sandlot_call *call, const char *what, uint64_t done, uint64_t total)
{
    (void)call, (void)what, (void)done, (void)total;
}

static void on_created(struct sandlot_call *call, const char *id, const char *working_dir)
{
    (void)call, (void)working_dir;
    snprintf(seen.id, sizeof(seen.id), "%s", id);
}

static const struct sandlot_host host = {.size = sizeof(host),
                                         .abi_major = SANDLOT_ABI_MAJOR,
                                         .abi_minor = SANDLOT_ABI_MINOR,
                                         .fail = on_fail,
                                         .log = on_log,
                                         .environment = on_environment,
                                         .progress = on_progress,
                                         .created = on_created};

static struct sandlot_call begin(void)
{
    return (struct sandlot_call){sizeof(struct sandlot_call), &host, sandlot_now_ms() + LIMIT_MS, -1};
}

static enum sandlot_status on_write(const struct sandlot_sink *sink, const void *bytes, size_t length)
{
    (void)sink, (void)bytes;
    seen.bytes += length;
    return SANDLOT_OK;
}

static const struct sandlot_sink counting = {sizeof(counting), NULL, on_write};

static enum sandlot_status on_add(const struct sandlot_listing *listing, const struct sandlot_listed *listed)
{
    (void)listing;
    seen.listed = seen.listed || strcmp(listed->id, scene.id) == 0;
    return SANDLOT_OK;
}

static void on_next(const struct sandlot_listing *listing, const char *next)
{
    (void)listing, (void)next;
}

static const struct sandlot_listing listing = {.size = sizeof(listing), .add = on_add, .next = on_next};

static void on_done(const struct sandlot_transfer *transfer, size_t index, const char *error, uint64_t bytes)
{
    (void)transfer, (void)index, (void)bytes;
    seen.files++;
    seen.failed_files += error != NULL;
}

static const struct sandlot_transfer transfer = {sizeof(transfer), NULL, on_done};

/* From here on nothing fails. */
static void call_is_over(void)
{
    const bool reached = atomic_exchange(&countdown, -1) < 0;

    seen.reached = seen.judged ? seen.reached : reached;
    seen.judged = true;
}

/* ---- one call of each, and whether what it reports is so ---- */

static unsigned created; /* how often that was asked for */

static enum sandlot_status create(struct sandlot_call *call, const char *id, void **sandbox)
{
    char label[LABEL];

    snprintf(label, sizeof(label), LABELS, created++);
    const struct sandlot_label labels[] = {{"sandlot", "1"}, {"sandlot-run", label}};
    const struct sandlot_create request = {
        .size = sizeof(request), .sandbox_id = id, .run_label = label, .labels = labels, .label_count = 2};

    return scene.table->get_or_create(call, scene.provider, &request, sandbox);
}

static enum sandlot_status on_lost(const struct sandlot_listing *lost, const struct sandlot_listed *listed)
{
    if (listed->run_label && strcmp(listed->run_label, lost->context) == 0)
        snprintf(seen.id, sizeof(seen.id), "%s", listed->id);
    return SANDLOT_OK;
}

/* As the host does with what was made, whose id was lost with the answer: its label finds it. */
static void find_lost(struct sandlot_call *call)
{
    char label[LABEL];
    const struct sandlot_listing lost = {.size = sizeof(lost), .context = label, .add = on_lost, .next = on_next};

    snprintf(label, sizeof(label), LABELS, created - 1);
    if (scene.table->list)
        scene.table->list(call, scene.provider, NULL, &lost);
}

static enum sandlot_status try_create(struct sandlot_call *call)
{
    void *sandbox = NULL;
    enum sandlot_status status = create(call, NULL, &sandbox);

    call_is_over();
    if (sandbox)
        scene.table->release(scene.provider, sandbox);
    struct sandlot_call again = begin();

    if (status != SANDLOT_OK && !*seen.id)
        find_lost(&again);
    if (*seen.id)
        scene.table->delete_sandbox(&again, scene.provider, seen.id);
    return status;
}

static enum sandlot_status try_attach(struct sandlot_call *call)
{
    void *sandbox = NULL;
    enum sandlot_status status = create(call, scene.id, &sandbox);

    call_is_over();
    if (sandbox)
        scene.table->release(scene.provider, sandbox);
    return status;
}

static enum sandlot_status try_list(struct sandlot_call *call)
{
    enum sandlot_status status = scene.table->list(call, scene.provider, NULL, &listing);

    if (status == SANDLOT_OK && !seen.listed)
        snprintf(seen.why, sizeof(seen.why), "the sandbox is not listed");
    return status == SANDLOT_OK && !seen.listed ? SANDLOT_NOT_FOUND : status;
}

static enum sandlot_status try_execute(struct sandlot_call *call)
{
    static const char *const environment[] = {"WORD=starved", NULL};
    const struct sandlot_command command = {
        .size = sizeof(command), .command = "printf $WORD; exit 7", .environment = environment, .timeout_ms = 60000};
    struct sandlot_exit result = {.size = sizeof(result)};
    enum sandlot_status status =
        scene.table->execute(call, scene.provider, scene.sandbox, &command, &counting, &result);

    if (status == SANDLOT_OK && (result.exit_code != 7 || seen.bytes != sizeof(word) - 1)) {
        snprintf(seen.why, sizeof(seen.why), "code %d, %zu bytes", result.exit_code, seen.bytes);
        return SANDLOT_NOT_FOUND;
    }
    return status;
}

static enum sandlot_status on_read(const struct sandlot_source *source, void *buffer, size_t capacity, size_t *length)
{
    size_t *left = source->context;

    *length = *left < capacity ? *left : capacity;
    memset(buffer, 'x', *length);
    *left -= *length;
    return SANDLOT_OK;
}

static enum sandlot_status fates(enum sandlot_status status, size_t bytes)
{
    const bool whole = seen.files == 1 && (seen.failed_files == 1 || seen.bytes == bytes);

    if (status != SANDLOT_OK || whole)
        return status;
    snprintf(seen.why, sizeof(seen.why), "%zu fates, %zu bytes", seen.files, seen.bytes);
    return SANDLOT_NOT_FOUND;
}

static enum sandlot_status try_upload(struct sandlot_call *call)
{
    size_t left = BYTES;
    const struct sandlot_source source = {sizeof(source), &left, on_read, -1};
    const struct sandlot_file file = {.size = sizeof(file), .path = "/tmp/starved", .source = &source, .length = BYTES};

    return fates(scene.table->upload(call, scene.provider, scene.sandbox, &file, 1, &transfer), 0);
}

static enum sandlot_status try_download(struct sandlot_call *call)
{
    const struct sandlot_file file = {.size = sizeof(file), .path = "/tmp/starved", .sink = &counting};

    return fates(scene.table->download(call, scene.provider, scene.sandbox, &file, 1, &transfer), BYTES);
}

static enum sandlot_status try_pause(struct sandlot_call *call)
{
    return scene.table->pause(call, scene.provider, scene.id);
}

static enum sandlot_status try_resume(struct sandlot_call *call)
{
    return scene.table->resume(call, scene.provider, scene.id);
}

static enum sandlot_status try_list_snapshots(struct sandlot_call *call)
{
    return scene.table->list_snapshots(call, scene.provider, NULL, &listing);
}

static enum sandlot_status try_delete_snapshot(struct sandlot_call *call)
{
    enum sandlot_status status = scene.table->delete_snapshot(call, scene.provider, "nothing-of-that-name");

    return status == SANDLOT_NOT_FOUND ? SANDLOT_OK : status; /* so it is */
}

static enum sandlot_status try_delete(struct sandlot_call *call)
{
    return scene.table->delete_sandbox(call, scene.provider, scene.id);
}

/* ---- all of them ---- */

/*
 * A lack of memory is this machine's fault: nothing was refused, and nothing is not there. Where a request cannot be
 * written an argument may be at fault, too; then the lack of memory is named.
 */
static bool is_sound(enum sandlot_status status)
{
    if (status == SANDLOT_OK)
        return true;
    return seen.told && (status == SANDLOT_INTERNAL || status == SANDLOT_UNAVAILABLE || strstr(seen.why, "memory"));
}

static bool sweep(const char *name, enum sandlot_status (*attempt)(struct sandlot_call *call), long stride)
{
    long at = 0;

    for (; at < MOST_ALLOCATIONS; at += stride) {
        struct sandlot_call call = begin();

        memset(&seen, 0, sizeof(seen));
        atomic_store(&countdown, at);
        enum sandlot_status status = attempt(&call);

        call_is_over();
        if (!is_sound(status)) {
            printf("not ok %s under a lack of memory\n# allocation %ld: status %d, %s%s\n", name, at, (int)status,
                   seen.why, seen.told ? "" : ", which nobody was told");
            return false;
        }
        if (!seen.reached)
            break;
    }
    printf("ok %s under a lack of memory, at %ld places\n", name, at / stride);
    return true;
}

static bool set_scene(const char *base_url)
{
    struct sandlot_call call = begin();

    scene.provider = scene.sandbox = NULL;
    if (open_provider(&call, scene.table, base_url, &scene.provider) != SANDLOT_OK ||
        create(&call, NULL, &scene.sandbox) != SANDLOT_OK)
        return false;
    memcpy(scene.id, seen.id, sizeof(scene.id));
    while (scene.table->ready && scene.table->ready(&call, scene.provider, scene.sandbox) == SANDLOT_UNAVAILABLE)
        usleep(20000);
    memset(&seen, 0, sizeof(seen));
    return !scene.table->upload || try_upload(&call) == SANDLOT_OK; /* what comes down */
}

/* False: the sandbox is still there. */
static bool leave_scene(void)
{
    struct sandlot_call call = begin();
    const bool gone = scene.table->delete_sandbox(&call, scene.provider, scene.id) == SANDLOT_OK;

    scene.table->release(scene.provider, scene.sandbox);
    scene.table->close(scene.provider);
    return gone;
}

/* What is called. */
struct row {
    const char *name;
    enum sandlot_status (*attempt)(struct sandlot_call *call);
    bool there;
    long slower; /* what takes a service long is asked for less often */
};

/* Each of them once, with memory for all: what libraries make once for ever is there then, and what the provider cannot
 * do in this way is known. */
static bool warm_up(const char *base_url, struct row *rows, size_t count)
{
    bool works = set_scene(base_url);

    for (size_t i = 0; works && i < count; i++) {
        struct sandlot_call call = begin();

        memset(&seen, 0, sizeof(seen));
        rows[i].there = rows[i].there && rows[i].attempt(&call) != SANDLOT_UNSUPPORTED;
    }
    return works && leave_scene();
}

static bool sweep_all(const char *base_url, long stride)
{
    const struct sandlot_provider *table = scene.table;
    struct row rows[] = {{"get_or_create of an id", try_attach, true, 1},
                         {"get_or_create", try_create, true, 8},
                         {"list", try_list, table->list, 1},
                         {"execute", try_execute, table->execute, 1},
                         {"upload", try_upload, table->upload, 1},
                         {"download", try_download, table->download, 1},
                         {"list_snapshots", try_list_snapshots, table->list_snapshots, 1},
                         {"delete_snapshot", try_delete_snapshot, table->delete_snapshot, 1},
                         {"pause", try_pause, table->pause, 4},
                         {"resume", try_resume, table->resume, 4},
                         {"delete_sandbox", try_delete, true, 1}};
    bool sound = warm_up(base_url, rows, sizeof(rows) / sizeof(rows[0]));

    if (!sound)
        printf("not ok everything, with memory for all\n# %s\n", seen.why);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const long before = atomic_load(&allocated);

        if (!rows[i].there)
            continue;
        if (!set_scene(base_url)) {
            printf("not ok %s: a sandbox\n# %s\n", rows[i].name, seen.why);
            return false;
        }
        sound = sweep(rows[i].name, rows[i].attempt, stride * rows[i].slower) && sound;
        if (!leave_scene()) {
            printf("not ok %s: its sandbox can be deleted\n# %s: %s\n", rows[i].name, scene.id, seen.why);
            sound = false;
        }
        const long more = atomic_load(&allocated) - before;

        if (more > 0) {
            printf("not ok %s leaves nothing\n# %ld blocks\n", rows[i].name, more);
            sound = false;
        }
        fflush(stdout);
    }
    return sound;
}

int main(int count, char **words)
{
    static char lines[BUFSIZ]; /* or the first one would be an allocation of ours */
    struct sandlot_call call = begin();
    void *library = count == 5 ? dlopen(words[1], RTLD_NOW | RTLD_GLOBAL) : NULL;
    sandlot_entry entry = NULL;

    setvbuf(stdout, lines, _IOLBF, sizeof(lines));
    if (library)
        *(void **)&entry = dlsym(library, words[2]);
    scene.table = entry ? entry(&call) : NULL;
    if (!scene.table || strtol(words[4], NULL, 10) < 1) {
        fprintf(stderr, "usage: starved LIBRARY SYMBOL BASE_URL STRIDE\n");
        return 100;
    }
    return sweep_all(words[3], strtol(words[4], NULL, 10)) ? 0 : 1;
}
