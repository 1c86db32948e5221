/*
 * A provider for tests that fails on request and keeps a journal. It isolates nothing.
 *
 * Its "vendor" is the folder FOLDER: sandbox ID is FOLDER/ID/, with the file `label` (the run label) and the folder
 * `files`, in which commands run on this machine. Each call adds a line to JOURNAL:
 *
 *   open                      create ID LABEL keep=0|1 snapshot=NAME|- idle_ms=N hard_ms=N
 *   close                     attach ID
 *   ready ID N                ready was asked for the Nth time
 *   execute ID COMMAND        newlines of the command as blanks
 *   release ID, delete ID, list CURSOR|- within N s (of its deadline)
 *   pause ID, resume ID, snapshot ID NAME (after "with base", if so), list_snapshots CURSOR|-, delete_snapshot NAME,
 * fork ID
 *
 * Creating goes through these steps, in this order, and each can be made to go wrong:
 *   fail_create         the vendor refuses: nothing is made
 *   (the vendor makes the sandbox)
 *   create_delay_ms     the answer takes so long; cancelled meanwhile, it leaves a sandbox whose id was never heard
 *   lost_answer         the answer never comes: UNAVAILABLE, and again a sandbox whose id was never heard
 *   (host->created)
 *   fail_after_created  an error after the id was told
 *   ready_after, fail_ready
 *
 * Statuses are written as in enum sandlot_status, in lower case: "unavailable", "exhausted". The values of `secret` and
 * of FAKE_API_KEY go to the host's log on purpose: the host must hide them.
 */
#include <sandlot/provider.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define FAKE_PARAMETERS(P)                                                                                      \
    P(path, folder, "", required, "where the sandboxes lie")                                                    \
    P(path, journal, "", optional, "file to which each call adds a line")                                       \
    P(integer, create_delay_ms, "0", optional, "how long the answer to a creation takes")                       \
    P(integer, ready_after, "0", optional, "how many looks say not yet")                                        \
    P(integer, delete_failures, "0", optional, "how many deletes fail before one works, counted in the folder") \
    P(integer, page_size, "0", optional, "sandboxes per page of a listing, 0 for all")                          \
    P(string, fail_create, "", optional, "status of a creation that makes nothing")                             \
    P(boolean, lost_answer, "false", optional, "a creation that works, but is never answered")                  \
    P(string, fail_after_created, "", optional, "status after the id was told")                                 \
    P(string, fail_ready, "", optional, "status of a look whether it is ready")                                 \
    P(string, fail_list, "", optional, "status of a listing")                                                   \
    P(integer, list_delay_ms, "0", optional, "how long the answer to a listing takes")                          \
    P(boolean, execute_unsupported_input, "false", optional, "commands cannot be fed input")                    \
    P(boolean, other_snapshot_id, "false", optional, "a snapshot is told by another text than it is listed by") \
    P(boolean, empty_fork, "false", optional, "a fork gets none of the files")                                  \
    P(string, secret, "", secret, "a secret, which goes to the log")
SANDLOT_PARAMETERS(fake, FAKE_PARAMETERS)

enum { PATH_SIZE = 4096, ID_SIZE = 64 };

struct fake {
    const char *folder; /* texts belong to the host and live until close */
    const char *journal;
    int64_t create_delay_ms;
    int64_t ready_after;
    int64_t delete_failures;
    int64_t page_size;
    const char *fail_create;
    const char *fail_after_created;
    const char *fail_ready;
    const char *fail_list;
    int64_t list_delay_ms;
    bool lost_answer;
    bool execute_unsupported_input;
    bool other_snapshot_id;
    bool empty_fork;
    pthread_mutex_t lock; /* guards the count of failed deletes */
};

struct sandbox {
    char id[ID_SIZE];
    char files[PATH_SIZE];
    int64_t looks;
};

/* ---- small helpers ----------------------------------------------------------------------------------------------- */

__attribute__((format(printf, 2, 3))) static void note(const struct fake *fake, const char *format, ...)
{
    char line[2048];
    va_list arguments;

    if (!fake->journal)
        return;
    va_start(arguments, format);
    int length = vsnprintf(line, sizeof(line) - 1, format, arguments);
    va_end(arguments);
    if (length < 0)
        return;
    if ((size_t)length > sizeof(line) - 2)
        length = (int)sizeof(line) - 2;
    for (int i = 0; i < length; i++)
        if (line[i] == '\n')
            line[i] = ' ';
    line[length++] = '\n';
    int fd = open(fake->journal, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);

    /* One write per line, so that the lines of several processes do not mix. */
    if (fd < 0 || write(fd, line, (size_t)length) != length)
        fprintf(stderr, "fake: cannot write to the journal %s: %s\n", fake->journal, strerror(errno));
    if (fd >= 0)
        close(fd);
}

static enum sandlot_status status_of(const char *word)
{
    static const char *const words[] = {
        [SANDLOT_OK] = "ok",
        [SANDLOT_NOT_FOUND] = "not_found",
        [SANDLOT_AUTH] = "auth",
        [SANDLOT_INVALID_ARGUMENT] = "invalid_argument",
        [SANDLOT_UNSUPPORTED] = "unsupported",
        [SANDLOT_UNAVAILABLE] = "unavailable",
        [SANDLOT_TIMEOUT] = "timeout",
        [SANDLOT_CANCELLED] = "cancelled",
        [SANDLOT_EXHAUSTED] = "exhausted",
        [SANDLOT_DEPENDENCY_MISSING] = "dependency_missing",
        [SANDLOT_INTERNAL] = "internal",
    };

    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        if (strcmp(words[i], word) == 0)
            return (enum sandlot_status)i;
    return SANDLOT_INTERNAL;
}

/* Fails as asked for; SANDLOT_OK when nothing is asked for. */
static enum sandlot_status fail_on_request(struct sandlot_call *call, const char *word, const char *where)
{
    if (!word || !*word)
        return SANDLOT_OK;
    return sandlot_fail(call, status_of(word), "the test asked for a failure %s; nothing can be done about it", where);
}

static enum sandlot_status fail_errno(struct sandlot_call *call, const char *what, const char *path)
{
    return sandlot_fail(call, SANDLOT_INTERNAL, "cannot %s %s: %s; look at the test's folder", what, path,
                        strerror(errno));
}

/* list and delete are called even when a required parameter is missing. */
static enum sandlot_status fail_without_folder(struct sandlot_call *call)
{
    return call->host->fail(call, SANDLOT_INVALID_ARGUMENT, "the parameter \"folder\" is missing; set it");
}

/* FOLDER/ID, or a file in it. False if ID cannot be one of ours or the path is too long. */
static bool path_of(const struct fake *fake, const char *id, const char *name, char *path)
{
    if (!*id || *id == '.' || strchr(id, '/') || strlen(id) >= ID_SIZE)
        return false;
    int length = snprintf(path, PATH_SIZE, "%s/%s%s%s", fake->folder, id, *name ? "/" : "", name);

    return length > 0 && length < PATH_SIZE;
}

/* ---- open and close ---------------------------------------------------------------------------------------------- */

static enum sandlot_status fake_open(struct sandlot_call *call, void **provider, const char *folder,
                                     const char *journal, int64_t create_delay_ms, int64_t ready_after,
                                     int64_t delete_failures, int64_t page_size, const char *fail_create,
                                     bool lost_answer, const char *fail_after_created, const char *fail_ready,
                                     const char *fail_list, int64_t list_delay_ms, bool execute_unsupported_input,
                                     bool other_snapshot_id, bool empty_fork, const char *secret)
{
    struct fake *fake = calloc(1, sizeof(*fake));
    const char *key = call->host->environment(call, "FAKE_API_KEY");
    char line[512];

    if (!fake)
        return sandlot_fail(call, SANDLOT_INTERNAL, "out of memory");
    *fake = (struct fake){folder,
                          journal,
                          create_delay_ms,
                          ready_after,
                          delete_failures,
                          page_size,
                          fail_create,
                          fail_after_created,
                          fail_ready,
                          fail_list,
                          list_delay_ms,
                          lost_answer,
                          execute_unsupported_input,
                          other_snapshot_id,
                          empty_fork,
                          PTHREAD_MUTEX_INITIALIZER};
    snprintf(line, sizeof(line), "opened, secret %s, key %s", secret ? secret : "none", key ? key : "none");
    call->host->log(call, SANDLOT_LOG_DEBUG, line);
    note(fake, "open");
    *provider = fake;
    return SANDLOT_OK;
}

static void fake_close(void *provider)
{
    note(provider, "close");
    free(provider);
}

/* ---- creating and deleting --------------------------------------------------------------------------------------- */

/* Waits like a slow vendor would, but not past the deadline or a cancellation. */
static enum sandlot_status wait_for_answer(struct sandlot_call *call, int64_t delay_ms)
{
    int64_t end = sandlot_now_ms() + delay_ms;

    for (int64_t left; (left = end - sandlot_now_ms()) > 0;) {
        struct pollfd cancel = {call->cancel_fd, POLLIN, 0};
        int limit = sandlot_remaining_ms(call, left < 1000 ? (int)left : 1000);

        if (poll(&cancel, 1, limit) > 0)
            return sandlot_fail(call, SANDLOT_CANCELLED, "cancelled while the vendor was asked; run it again");
        if (call->deadline_ms && sandlot_now_ms() >= call->deadline_ms)
            return sandlot_fail(call, SANDLOT_TIMEOUT, "the vendor did not answer in time; try again later");
    }
    return SANDLOT_OK;
}

/* The vendor's part of a creation. */
static enum sandlot_status make_sandbox(struct sandlot_call *call, const struct fake *fake,
                                        const struct sandlot_create *request, struct sandbox *sandbox)
{
    const char *label = request->run_label ? request->run_label : "";
    char path[PATH_SIZE];

    snprintf(path, sizeof(path), "%s/fake-%.40s-XXXXXX", fake->folder, label);
    if (!mkdtemp(path))
        return fail_errno(call, "make a sandbox in", fake->folder);
    snprintf(sandbox->id, sizeof(sandbox->id), "%s", strrchr(path, '/') + 1);
    if (!path_of(fake, sandbox->id, "files", sandbox->files) || mkdir(sandbox->files, 0700) < 0)
        return fail_errno(call, "make the files of", sandbox->id);
    note(fake, "create %s %s keep=%d snapshot=%s idle_ms=%" PRId64 " hard_ms=%" PRId64, sandbox->id,
         *label ? label : "-", (request->flags & SANDLOT_CREATE_KEEP) != 0, request->snapshot ? request->snapshot : "-",
         request->idle_ttl_ms, request->hard_ttl_ms);
    return SANDLOT_OK;
}

static enum sandlot_status create(struct sandlot_call *call, const struct fake *fake,
                                  const struct sandlot_create *request, struct sandbox *sandbox)
{
    enum sandlot_status status = fail_on_request(call, fake->fail_create, "before anything was made");

    if (status == SANDLOT_OK)
        status = make_sandbox(call, fake, request, sandbox);
    if (status == SANDLOT_OK)
        status = wait_for_answer(call, fake->create_delay_ms);
    if (status == SANDLOT_OK && fake->lost_answer)
        status = sandlot_fail(call, SANDLOT_UNAVAILABLE, "the connection broke before the answer; try again later");
    if (status != SANDLOT_OK)
        return status;
    call->host->created(call, sandbox->id, sandbox->files);
    return fail_on_request(call, fake->fail_after_created, "after the id was told");
}

static enum sandlot_status attach(struct sandlot_call *call, const struct fake *fake, const char *id,
                                  struct sandbox *sandbox)
{
    if (!path_of(fake, id, "files", sandbox->files) || access(sandbox->files, X_OK) < 0)
        return sandlot_fail(call, SANDLOT_NOT_FOUND, "there is no sandbox %s; `sandlot list` shows those that exist",
                            id);
    snprintf(sandbox->id, sizeof(sandbox->id), "%s", id);
    note(fake, "attach %s", id);
    call->host->created(call, id, sandbox->files);
    return SANDLOT_OK;
}

static bool snapshot_path(const struct fake *fake, const char *name, char *path);
static enum sandlot_status copy_files(struct sandlot_call *call, const char *from, const char *to);

static enum sandlot_status fake_get_or_create(struct sandlot_call *call, void *provider,
                                              const struct sandlot_create *request, void **result)
{
    struct sandbox *sandbox = calloc(1, sizeof(*sandbox));
    char snapshot[PATH_SIZE];

    if (!sandbox)
        return sandlot_fail(call, SANDLOT_INTERNAL, "out of memory");
    enum sandlot_status status = request->sandbox_id ? attach(call, provider, request->sandbox_id, sandbox)
                                                     : create(call, provider, request, sandbox);

    /* Those who only want to see what the provider is asked for name snapshots that are not there. */
    if (status == SANDLOT_OK && request->snapshot && snapshot_path(provider, request->snapshot, snapshot) &&
        access(snapshot, X_OK) == 0)
        status = copy_files(call, snapshot, sandbox->files);

    if (status == SANDLOT_OK)
        *result = sandbox;
    else
        free(sandbox);
    return status;
}

static enum sandlot_status fake_ready(struct sandlot_call *call, void *provider, void *handle)
{
    const struct fake *fake = provider;
    struct sandbox *sandbox = handle;

    note(fake, "ready %s %" PRId64, sandbox->id, ++sandbox->looks);
    enum sandlot_status status = fail_on_request(call, fake->fail_ready, "while it starts");

    if (status == SANDLOT_OK && sandbox->looks <= fake->ready_after)
        status = sandlot_fail(call, SANDLOT_UNAVAILABLE, "the sandbox is still starting; wait a little");
    return status;
}

static void fake_release(void *provider, void *handle)
{
    const struct sandbox *sandbox = handle;

    note(provider, "release %s", sandbox->id);
    free(handle);
}

/* Counts failed deletes in the folder, so that the next process goes on where this one stopped. */
static bool delete_should_fail(struct fake *fake)
{
    char path[PATH_SIZE];
    char text[16] = "";

    if (fake->delete_failures <= 0)
        return false;
    snprintf(path, sizeof(path), "%s/.failed_deletes", fake->folder);
    pthread_mutex_lock(&fake->lock);
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    bool fails = fd >= 0 && read(fd, text, sizeof(text) - 1) >= 0 && atoi(text) < fake->delete_failures;

    if (fails) {
        int length = snprintf(text, sizeof(text), "%d", atoi(text) + 1);

        fails = pwrite(fd, text, (size_t)length, 0) == length;
    }
    if (fd >= 0)
        close(fd);
    pthread_mutex_unlock(&fake->lock);
    return fails;
}

static int remove_one(const char *path, const struct stat *status, int type, struct FTW *where)
{
    (void)status;
    (void)type;
    (void)where;
    return remove(path);
}

static enum sandlot_status fake_delete(struct sandlot_call *call, void *provider, const char *id)
{
    const struct fake *fake = provider;
    char path[PATH_SIZE];

    if (!fake->folder)
        return fail_without_folder(call);
    note(fake, "delete %s", id);
    if (delete_should_fail(provider))
        return sandlot_fail(call, SANDLOT_UNAVAILABLE, "the test asked for a delete that fails; try again");
    if (!path_of(fake, id, "", path) || access(path, F_OK) < 0)
        return SANDLOT_OK;
    if (nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS) != 0 && access(path, F_OK) == 0)
        return fail_errno(call, "delete", path);
    return SANDLOT_OK;
}

/* ---- listing ----------------------------------------------------------------------------------------------------- */

static int is_candidate(const struct dirent *entry)
{
    return strncmp(entry->d_name, "fake-", 5) == 0;
}

/* The label in "fake-LABEL-RANDOM", for 6 random characters; "" if there is none. */
static void label_of(const char *id, char label[ID_SIZE])
{
    size_t length = strlen(id);
    size_t around = strlen("fake-") + strlen("-XXXXXX");

    snprintf(label, ID_SIZE, "%.*s", length > around ? (int)(length - around) : 0, id + strlen("fake-"));
}

/* Adds one sandbox to LISTING, unless it was deleted meanwhile. */
static enum sandlot_status list_one(const struct fake *fake, const char *id, const struct sandlot_listing *listing)
{
    char path[PATH_SIZE];
    char label[ID_SIZE];
    struct stat status;

    if (!path_of(fake, id, "", path) || stat(path, &status) < 0)
        return SANDLOT_OK;
    label_of(id, label);
    struct sandlot_listed listed = {
        .size = sizeof(listed),
        .id = id,
        .state = "running",
        .created_at_ms = (int64_t)status.st_mtim.tv_sec * 1000 + status.st_mtim.tv_nsec / 1000000,
        .run_label = *label ? label : NULL,
    };

    return listing->add(listing, &listed);
}

static enum sandlot_status list_page(struct sandlot_call *call, const struct fake *fake, const char *cursor,
                                     const struct sandlot_listing *listing, struct dirent **entries, int count)
{
    int at = 0;

    while (cursor && at < count && strcmp(entries[at]->d_name, cursor) != 0)
        at++;
    if (cursor && at == count)
        return sandlot_fail(call, SANDLOT_INVALID_ARGUMENT, "there is no page \"%s\"; begin with the first one",
                            cursor);
    enum sandlot_status status = SANDLOT_OK;
    int64_t left = fake->page_size > 0 ? fake->page_size : count;

    for (; status == SANDLOT_OK && at < count && left > 0; at++, left--)
        status = list_one(fake, entries[at]->d_name, listing);
    if (status == SANDLOT_OK && at < count)
        listing->next(listing, entries[at]->d_name);
    return status;
}

/* The cursor is the first id of the next page. */
static enum sandlot_status fake_list(struct sandlot_call *call, void *provider, const char *cursor,
                                     const struct sandlot_listing *listing)
{
    const struct fake *fake = provider;
    struct dirent **entries = NULL;

    if (!fake->folder)
        return fail_without_folder(call);
    note(fake, "list %s within %d s", cursor ? cursor : "-", sandlot_remaining_ms(call, 1000 * 1000) / 1000);
    enum sandlot_status wanted = fail_on_request(call, fake->fail_list, "of the listing");

    if (wanted == SANDLOT_OK)
        wanted = wait_for_answer(call, fake->list_delay_ms);
    if (wanted != SANDLOT_OK)
        return wanted;
    int count = scandir(fake->folder, &entries, is_candidate, alphasort);

    if (count < 0)
        return fail_errno(call, "read", fake->folder);
    enum sandlot_status status = list_page(call, fake, cursor, listing, entries, count);

    for (int i = 0; i < count; i++)
        free(entries[i]);
    free(entries);
    return status;
}

/* One command on its way. */
struct run {
    struct sandlot_call *call;
    const struct sandlot_command *command;
    const struct sandlot_sink *output;
    pid_t pid;  /* and process group */
    int exited; /* pidfd of the shell: readable when it has ended */
    int pipe;   /* its output */
};

/* ---- pausing, snapshots, forks ------------------------------------------------------------------------------------
 */

/* A sandbox that is paused has the file `paused`. */
static enum sandlot_status set_paused(struct sandlot_call *call, const struct fake *fake, const char *id, bool paused)
{
    char path[PATH_SIZE];

    note(fake, "%s %s", paused ? "pause" : "resume", id);
    if (!path_of(fake, id, "files", path) || access(path, X_OK) < 0)
        return sandlot_fail(call, SANDLOT_NOT_FOUND, "there is no sandbox %s", id);
    path_of(fake, id, "paused", path);
    int fd = paused ? open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600) : -1;

    if (paused ? fd < 0 : unlink(path) < 0 && errno != ENOENT)
        return fail_errno(call, "pause or resume", id);
    if (fd >= 0)
        close(fd);
    return SANDLOT_OK;
}

static enum sandlot_status fake_pause(struct sandlot_call *call, void *provider, const char *id)
{
    return set_paused(call, provider, id, true);
}

static enum sandlot_status fake_resume(struct sandlot_call *call, void *provider, const char *id)
{
    return set_paused(call, provider, id, false);
}

static enum sandlot_status drop_output(const struct sandlot_sink *sink, const void *bytes, size_t length)
{
    (void)sink;
    (void)bytes;
    (void)length;
    return SANDLOT_OK;
}

static enum sandlot_status start_and_finish(struct run *run, const char *folder, int input, char **environment,
                                            struct sandlot_exit *result);

/* Copies what is in the folder FROM to TO, which it makes. */
static enum sandlot_status copy_files(struct sandlot_call *call, const char *from, const char *to)
{
    const struct sandlot_command command = {
        .size = sizeof(command), .command = "mkdir -p \"$TO\" && cp -a . \"$TO\"", .timeout_ms = 60 * 1000};
    const struct sandlot_sink nothing = {.size = sizeof(nothing), .write = drop_output};
    struct sandlot_exit result = {.size = sizeof(result)};
    struct run run = {.call = call, .command = &command, .output = &nothing};
    char target[PATH_SIZE + 8];
    char path[] = "PATH=/usr/bin:/bin";
    char *environment[] = {path, target, NULL};
    int input = open("/dev/null", O_RDONLY | O_CLOEXEC);

    snprintf(target, sizeof(target), "TO=%s", to);
    enum sandlot_status status = access(from, X_OK) < 0
                                     ? sandlot_fail(call, SANDLOT_NOT_FOUND, "there is nothing to copy at %s", from)
                                     : start_and_finish(&run, from, input, environment, &result);

    close(input);
    return status == SANDLOT_OK && result.exit_code ? fail_errno(call, "copy to", to) : status;
}

/* Snapshots are folders too: FOLDER/snapshot-NAME. */
static bool snapshot_path(const struct fake *fake, const char *name, char *path)
{
    char id[ID_SIZE];

    snprintf(id, sizeof(id), "snapshot-%.40s", name);
    return path_of(fake, id, "", path);
}

static enum sandlot_status fake_snapshot(struct sandlot_call *call, void *provider, const char *id, const char *name,
                                         const struct sandlot_sink *result)
{
    char from[PATH_SIZE];
    char to[PATH_SIZE];

    const struct fake *fake = provider;

    note(provider, "snapshot %s %s", id, name);
    if (!path_of(provider, id, "files", from) || !snapshot_path(provider, name, to))
        return sandlot_fail(call, SANDLOT_INVALID_ARGUMENT, "that is no id, or no name");
    enum sandlot_status status = copy_files(call, from, to);

    return status == SANDLOT_OK && fake->other_snapshot_id ? result->write(result, "other", 5) : status;
}

/* No sandbox of it began as a folder. */
static enum sandlot_status fake_snapshot_with_base(struct sandlot_call *call, void *provider, const char *id,
                                                   const char *name, const struct sandlot_sink *result)
{
    note(provider, "with base");
    return fake_snapshot(call, provider, id, name, result);
}

static int is_snapshot(const struct dirent *entry)
{
    return strncmp(entry->d_name, "snapshot-", strlen("snapshot-")) == 0;
}

/* The cursor is the first folder of the next page. */
static enum sandlot_status fake_list_snapshots(struct sandlot_call *call, void *provider, const char *cursor,
                                               const struct sandlot_listing *listing)
{
    const struct fake *fake = provider;
    struct dirent **entries = NULL;
    int count = scandir(fake->folder, &entries, is_snapshot, alphasort);
    enum sandlot_status status = SANDLOT_OK;
    int64_t left = fake->page_size > 0 ? fake->page_size : count;

    (void)call;
    note(fake, "list_snapshots %s", cursor ? cursor : "-");
    for (int i = 0; i < count; i++) {
        const char *name = entries[i]->d_name;
        const struct sandlot_listed listed = {
            .size = sizeof(listed), .id = name + strlen("snapshot-"), .state = "ready", .created_at_ms = 1000};

        if (status == SANDLOT_OK && left >= 0 && (!cursor || strcmp(name, cursor) >= 0)) {
            if (left-- > 0)
                status = listing->add(listing, &listed);
            else
                listing->next(listing, name);
        }
        free(entries[i]);
    }
    free(entries);
    return status;
}

static enum sandlot_status fake_delete_snapshot(struct sandlot_call *call, void *provider, const char *name)
{
    char path[PATH_SIZE];

    note(provider, "delete_snapshot %s", name);
    if (!snapshot_path(provider, name, path) || access(path, F_OK) < 0)
        return sandlot_fail(call, SANDLOT_NOT_FOUND, "there is no snapshot %s", name);
    return nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS) == 0 ? SANDLOT_OK : fail_errno(call, "delete", path);
}

/* With the same faults as a creation. */
static enum sandlot_status fake_fork(struct sandlot_call *call, void *provider, const char *id,
                                     const struct sandlot_create *request)
{
    char from[PATH_SIZE];
    struct sandbox copy = {.looks = 0};

    note(provider, "fork %s", id);
    if (!path_of(provider, id, "files", from) || access(from, X_OK) < 0)
        return sandlot_fail(call, SANDLOT_NOT_FOUND, "there is no sandbox %s", id);
    enum sandlot_status status = create(call, provider, request, &copy);

    if (!*copy.files || ((const struct fake *)provider)->empty_fork)
        return status;
    return copy_files(call, from, copy.files) == SANDLOT_OK ? status : SANDLOT_INTERNAL;
}

/* ---- executing --------------------------------------------------------------------------------------------------- */

/* The whole input in a file of memory: no thread has to feed it while the command runs. -1: *STATUS says why. */
static int spool_input(struct sandlot_call *call, const struct sandlot_source *input, enum sandlot_status *status)
{
    int fd = memfd_create("input", MFD_CLOEXEC);

    *status = fd < 0 ? fail_errno(call, "keep", "the input") : SANDLOT_OK;
    while (input && *status == SANDLOT_OK) {
        char buffer[16384];
        size_t length = 0;

        *status = input->read(input, buffer, sizeof(buffer), &length);
        if (*status != SANDLOT_OK || length == 0)
            break;
        if (write(fd, buffer, length) != (ssize_t)length)
            *status = fail_errno(call, "keep", "the input");
    }
    if (*status == SANDLOT_OK && lseek(fd, 0, SEEK_SET) == 0)
        return fd;
    if (fd >= 0)
        close(fd);
    return -1;
}

/* A small environment of our own, and what the command adds. The array is to be freed, its texts are not. */
static char **make_environment(const struct sandlot_command *command, char *home)
{
    static char path[] = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
    size_t count = 0;

    while (command->environment && command->environment[count])
        count++;
    char **environment = calloc(count + 3, sizeof(*environment));

    if (!environment)
        return NULL;
    environment[0] = path;
    environment[1] = home;
    for (size_t i = 0; i < count; i++)
        environment[2 + i] = (char *)(uintptr_t)command->environment[i];
    return environment;
}

/* Starts the shell in a process group of its own, with default signals. Returns an errno. */
static int spawn_shell(struct run *run, const char *folder, int input, int output, char **environment)
{
    char shell[] = "sh";
    char option[] = "-c";
    char end[] = "--";
    char *arguments[] = {shell, option, end, (char *)(uintptr_t)run->command->command, NULL};
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t all;
    sigset_t none;

    sigfillset(&all);
    sigemptyset(&none);
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
    posix_spawnattr_setsigdefault(&attributes, &all);
    posix_spawnattr_setsigmask(&attributes, &none);
    int error = posix_spawn_file_actions_addchdir_np(&actions, folder);

    error = error ? error : posix_spawn_file_actions_adddup2(&actions, input, 0);
    error = error ? error : posix_spawn_file_actions_adddup2(&actions, output, 1);
    error = error ? error : posix_spawn_file_actions_adddup2(&actions, output, 2);
    error = error ? error : posix_spawn(&run->pid, "/bin/sh", &actions, &attributes, arguments, environment);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    return error;
}

/* Passes on what is in the pipe. False at its end. */
static bool pump(const struct run *run, enum sandlot_status *status)
{
    char buffer[16384];
    ssize_t length = read(run->pipe, buffer, sizeof(buffer));

    if (length > 0)
        *status = run->output->write(run->output, buffer, (size_t)length);
    return length > 0 || (length < 0 && (errno == EAGAIN || errno == EINTR));
}

/* Watches the command until it has ended, or should: SANDLOT_OK, a status of the sink, or why it must be killed. */
static enum sandlot_status watch(struct run *run, bool *timed_out)
{
    enum { MOST_AFTER_END = 64 }; /* reads: a background child may go on writing for ever */
    int after_end = 0;
    int64_t timeout = run->command->timeout_ms > 0 ? sandlot_now_ms() + run->command->timeout_ms : INT64_MAX;
    struct pollfd watched[] = {{run->exited, POLLIN, 0}, {run->pipe, POLLIN, 0}, {run->call->cancel_fd, POLLIN, 0}};

    if (run->exited < 0)
        return fail_errno(run->call, "watch", "the command");
    for (enum sandlot_status status = SANDLOT_OK;;) {
        int64_t left = timeout - sandlot_now_ms();

        *timed_out = left <= 0;
        if (*timed_out)
            return SANDLOT_OK;
        if (run->call->deadline_ms && sandlot_now_ms() >= run->call->deadline_ms)
            return sandlot_fail(run->call, SANDLOT_TIMEOUT,
                                "the command took longer than the call may; allow more time");
        if (poll(watched, 3, sandlot_remaining_ms(run->call, left < 1000 ? (int)left : 1000)) < 0 && errno != EINTR)
            return fail_errno(run->call, "wait for", "the command");
        if (watched[2].revents)
            return sandlot_fail(run->call, SANDLOT_CANCELLED,
                                "the command was cancelled; run it again if it is needed");
        if (watched[1].revents && !pump(run, &status))
            watched[1].fd = -1;
        if (status != SANDLOT_OK)
            return status;
        if (watched[0].revents && (!watched[1].revents || ++after_end > MOST_AFTER_END))
            return SANDLOT_OK;
    }
}

/* Lets the command run to its end or ends it with all that it started, and tells how it ended. */
static enum sandlot_status finish(struct run *run, struct sandlot_exit *result)
{
    bool timed_out = false;
    enum sandlot_status status = watch(run, &timed_out);
    int how = 0;

    if (status != SANDLOT_OK || timed_out)
        kill(-run->pid, SIGKILL);
    while (waitpid(run->pid, &how, 0) < 0 && errno == EINTR)
        continue;
    result->timed_out = timed_out;
    result->exit_code = timed_out ? 124 : WIFSIGNALED(how) ? 128 + WTERMSIG(how) : WEXITSTATUS(how);
    return status;
}

static enum sandlot_status start_and_finish(struct run *run, const char *folder, int input, char **environment,
                                            struct sandlot_exit *result)
{
    int ends[2];

    if (pipe2(ends, O_CLOEXEC) < 0)
        return fail_errno(run->call, "make", "a pipe");
    int error = spawn_shell(run, folder, input, ends[1], environment);

    close(ends[1]);
    enum sandlot_status status;

    if (error) {
        status =
            sandlot_fail(run->call, SANDLOT_INVALID_ARGUMENT,
                         "cannot start a command in %s: %s; check that the folder exists", folder, strerror(error));
    } else {
        run->pipe = ends[0];
        fcntl(run->pipe, F_SETFL, O_NONBLOCK);
        run->exited = (int)syscall(SYS_pidfd_open, run->pid, 0);
        status = finish(run, result);
        if (run->exited >= 0)
            close(run->exited);
    }
    close(ends[0]);
    return status;
}

static enum sandlot_status fake_execute(struct sandlot_call *call, void *provider, void *handle,
                                        const struct sandlot_command *command, const struct sandlot_sink *output,
                                        struct sandlot_exit *result)
{
    const struct fake *fake = provider;
    const struct sandbox *sandbox = handle;
    struct run run = {.call = call, .command = command, .output = output};
    enum sandlot_status status;
    char home[PATH_SIZE + 8];

    if (command->input && fake->execute_unsupported_input)
        return sandlot_fail(call, SANDLOT_UNSUPPORTED, "commands here cannot be fed input; upload it as a file");
    note(fake, "execute %s %s", sandbox->id, command->command);
    int input = spool_input(call, command->input, &status);

    if (input < 0)
        return status;
    snprintf(home, sizeof(home), "HOME=%s", sandbox->files);
    char **environment = make_environment(command, home);

    if (environment)
        status = start_and_finish(&run, command->working_dir ? command->working_dir : sandbox->files, input,
                                  environment, result);
    else
        status = sandlot_fail(call, SANDLOT_INTERNAL, "out of memory");
    free(environment);
    close(input);
    return status;
}

/* ---- the table --------------------------------------------------------------------------------------------------- */

static const struct sandlot_provider fake_provider = {
    SANDLOT_TABLE(fake),
    .flags = SANDLOT_STREAMS_OUTPUT,
    .close = fake_close,
    .get_or_create = fake_get_or_create,
    .ready = fake_ready,
    .release = fake_release,
    .delete_sandbox = fake_delete,
    .list = fake_list,
    .execute = fake_execute,
    .pause = fake_pause,
    .resume = fake_resume,
    .snapshot = fake_snapshot,
    .snapshot_with_base = fake_snapshot_with_base,
    .fork = fake_fork,
    .list_snapshots = fake_list_snapshots,
    .delete_snapshot = fake_delete_snapshot,
};

#define FAKE_METADATA(M)                                                            \
    M(description, "Runs commands on this machine and fails on request, for tests") \
    M(snapshot_name, "yes")                                                         \
    M(capabilities, "list streaming pause snapshot snapshot-base fork")             \
    M(environment, "FAKE_API_KEY")                                                  \
    M(project, "FAKE_API_KEY")
SANDLOT_ENTRY_POINT(fake, FAKE_METADATA, FAKE_PARAMETERS);
