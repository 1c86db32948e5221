#include "server/watcher.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "base/log.h"
#include "base/text.h"
#include "session/session.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
    LIMIT_MS = 2 * 60 * 1000, /* for all that is left to do */
    LOOK_FOR_MS = 10 * 1000,  /* how long a sandbox may take to appear that was asked for and not yet named */
    ONE_SANDBOX_MS = 30 * 1000,
    PAUSE_MS = 1000
};

/* ---- the server's side ------------------------------------------------------------------------------------------- */

/* "PID:START" of this process, as the ledger tells processes apart; to be freed. */
static char *describe_self(void)
{
    struct ledger_record self = {0};

    ledger_own(&self);
    char *text = text_format("%ld:%llu", (long)self.owner, (unsigned long long)self.owner_start);

    free(self.boot_id);
    free(self.host);
    return text;
}

/* The words of its command line, ended by NULL; to be freed, but not what it points to. */
static const char **command_line(const char *config_file, const char *const *parameters, const char *self)
{
    size_t count = 0;

    while (parameters && parameters[count])
        count++;
    const char **words = calloc(2 * count + 6, sizeof(*words));
    size_t next = 0;

    if (!words)
        return NULL;
    words[next++] = "sandlot";
    words[next++] = WATCHER_COMMAND;
    if (config_file) {
        words[next++] = "--config";
        words[next++] = config_file;
    }
    for (size_t i = 0; i < count; i++) {
        words[next++] = "--param";
        words[next++] = parameters[i];
    }
    words[next] = self;
    return words;
}

/* Its standard input is the pipe; it has no other descriptor of ours, and a session of its own. The signals that end a
 * server stay blocked in it from its first moment. */
static int spawn(const char *const *words, int pipe_fd)
{
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attributes;
    sigset_t ending;
    pid_t pid;

    sigemptyset(&ending);
    sigaddset(&ending, SIGINT);
    sigaddset(&ending, SIGTERM);
    sigaddset(&ending, SIGHUP);
    posix_spawn_file_actions_init(&files);
    posix_spawnattr_init(&attributes);
    posix_spawn_file_actions_adddup2(&files, pipe_fd, STDIN_FILENO);
    posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_addopen(&files, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_addclosefrom_np(&files, STDERR_FILENO + 1);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK);
    posix_spawnattr_setsigmask(&attributes, &ending);
    int failed = posix_spawn(&pid, "/proc/self/exe", &files, &attributes, (char *const *)(uintptr_t)words, environ);

    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&files);
    return failed;
}

bool watcher_start(const char *config_file, const char *const *parameters)
{
    int ends[2];
    AUTO_FREE char *self = describe_self();
    AUTO_FREE const char **words = self ? command_line(config_file, parameters, self) : NULL;

    if (!words)
        return false;
    int failed = pipe2(ends, O_CLOEXEC) < 0 ? errno : 0;

    if (!failed) {
        failed = spawn(words, ends[0]);
        close(ends[0]);
        /* The writing end stays open until this process ends: that is the signal. */
        if (failed)
            close(ends[1]);
    }
    if (failed)
        log_warning("the watcher could not be started (%s); if this server is killed, `sandlot gc` deletes its sandbox",
                    strerror(failed));
    return !failed;
}

/* ---- the watcher's side ------------------------------------------------------------------------------------------ */

struct watch {
    pid_t owner;
    uint64_t owner_start;
    struct sandlot *sandlot;
    const char *const *parameters;
    int64_t ended_ms; /* when the server was seen to be gone */
};

static bool is_of_server(const struct watch *watch, const struct ledger_record *record,
                         const struct ledger_record *self)
{
    return record->owner == watch->owner && record->owner_start == watch->owner_start && !record->kept &&
           record->pid_namespace == self->pid_namespace && record->boot_id && self->boot_id &&
           strcmp(record->boot_id, self->boot_id) == 0;
}

/* Deletes the sandbox of RECORD, and the record. 0 if nothing is left of it. */
static int clean_up(const struct watch *watch, struct ledger_record *record)
{
    struct provider *provider = runtime_load(watch->sandlot, record->provider, watch->parameters, true, NULL);
    int64_t deadline_ms = sandlot_now_ms() + ONE_SANDBOX_MS;
    int result = -1;

    if (!provider)
        return -1;
    int found = record->id ? 1 : session_find_by_label(provider, record->label, deadline_ms, -1, &record->id, NULL);

    if (found > 0)
        result = session_delete_at_provider(provider, record->id, deadline_ms, -1, NULL);
    else if (found == 0 && sandlot_now_ms() - watch->ended_ms > LOOK_FOR_MS)
        result = 0; /* the request never arrived */
    if (result == 0)
        result = ledger_remove(record->label, NULL);
    provider_unload(provider);
    return result;
}

/* One look at the ledger; true when nothing is left of the server. */
static bool clean_up_all(const struct watch *watch)
{
    struct ledger_record self = {0};
    struct ledger_record **records;
    size_t count;
    bool clean = true;

    if (ledger_read_open(&records, &count, NULL) < 0)
        return false;
    ledger_own(&self);
    for (size_t i = 0; i < count; i++)
        if (is_of_server(watch, records[i], &self) && clean_up(watch, records[i]) < 0)
            clean = false;
    free(self.boot_id);
    free(self.host);
    ledger_free_records(records, count);
    return clean;
}

static void wait_for_end_of_input(void)
{
    char byte;
    ssize_t got;

    do
        got = read(STDIN_FILENO, &byte, 1);
    while (got > 0 || (got < 0 && errno == EINTR));
}

int watcher_run(const char *server, const char *config_file, const char *const *parameters)
{
    struct sandlot_options options = {.size = sizeof(options), .config_file = config_file};
    struct timespec pause = {.tv_sec = PAUSE_MS / 1000};
    char *end;
    struct watch watch = {.owner = (pid_t)strtol(server, &end, 10), .parameters = parameters};

    if (*end != ':' || watch.owner <= 0)
        return 2;
    watch.owner_start = strtoull(end + 1, NULL, 10);
    wait_for_end_of_input();
    watch.ended_ms = sandlot_now_ms();
    watch.sandlot = sandlot_open(&options, NULL);
    if (!watch.sandlot)
        return 1;
    bool clean = clean_up_all(&watch);

    while (!clean && sandlot_now_ms() - watch.ended_ms < LIMIT_MS) {
        nanosleep(&pause, NULL);
        clean = clean_up_all(&watch);
    }
    sandlot_close(watch.sandlot);
    return clean ? 0 : 1;
}
