#include "client.h"

#include <sandlot/sdk/cleanup.h>

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pwd.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

enum {
    ANSWER_LIMIT_MS = 60000,
    START_LIMIT_MS = 15000,
    ATTEMPTS = 5,
    LOG_MAXIMUM = 64 * 1024,
    FIRST_FREE_FD = 10 /* above those that the keeper is given */
};

static char *state_path(struct sandlot_call *call)
{
    const char *state_home = call->host->environment(call, "XDG_STATE_HOME");
    const char *home = call->host->environment(call, "HOME");
    char *path = NULL;
    char buffer[4096];
    struct passwd entry;
    struct passwd *found = NULL;

    if (state_home && *state_home == '/')
        return asprintf(&path, "%s/sandlot/local", state_home) < 0 ? NULL : path;
    if ((!home || *home != '/') && getpwuid_r(geteuid(), &entry, buffer, sizeof(buffer), &found) == 0 && found)
        home = found->pw_dir;
    return asprintf(&path, "%s/.local/state/sandlot/local", home && *home == '/' ? home : "") < 0 ? NULL : path;
}

enum sandlot_status client_init(struct client *client, struct sandlot_call *call)
{
    pthread_mutex_init(&client->lock, NULL);
    client->state_fd = -1;
    client->leases = NULL;
    client->state_path = state_path(call);
    return client->state_path ? SANDLOT_OK : sandlot_fail(call, SANDLOT_INTERNAL, "out of memory");
}

static void free_lease(struct lease *lease)
{
    close(lease->connection);
    free(lease->id);
    free(lease);
}

void client_clear(struct client *client)
{
    for (struct lease *lease = client->leases, *next; lease; lease = next) {
        next = lease->next;
        free_lease(lease);
    }
    if (client->state_fd >= 0)
        close(client->state_fd);
    free(client->state_path);
    pthread_mutex_destroy(&client->lock);
}

/* Opens the folder PATH step by step, so that its length does not matter, and makes what is missing. -1 with errno. */
static int make_folders(const char *path)
{
    const int there = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);

    if (there >= 0)
        return there;
    AUTO_FREE char *copy = strdup(path);
    AUTO_CLOSE int fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
    char *rest = copy;

    for (char *name; fd >= 0 && (name = strsep(&rest, "/"));) {
        if (!*name)
            continue;
        const int failed = mkdirat(fd, name, 0700) < 0 && errno != EEXIST ? errno : 0;
        int next = openat(fd, name, O_PATH | O_DIRECTORY | O_CLOEXEC);

        /* It may be there although none could be made, as "home" is. */
        if (next < 0) {
            errno = failed ? failed : errno;
            return -1;
        }
        close(fd);
        fd = next;
    }
    return copy ? take_fd(&fd) : -1;
}

int client_state(struct client *client, struct sandlot_call *call, enum sandlot_status *status)
{
    struct stat stat;

    pthread_mutex_lock(&client->lock);
    if (client->state_fd < 0)
        client->state_fd = make_folders(client->state_path);
    int fd = client->state_fd;

    pthread_mutex_unlock(&client->lock);
    /* To walk through it harms nothing: sockets in it are for their owner alone. Root's boxes without a view must. */
    if (fd >= 0 && fstat(fd, &stat) == 0 && stat.st_uid == geteuid() && !(stat.st_mode & 0066))
        return fd;
    *status = fd < 0
                  ? sandlot_fail(call, SANDLOT_UNAVAILABLE,
                                 "the state folder %.700s cannot be used: %s; set XDG_STATE_HOME to a folder of yours",
                                 client->state_path, strerror(errno))
                  : sandlot_fail(
                        call, SANDLOT_UNAVAILABLE,
                        "the state folder %.700s must belong to you alone; remove it, or set its owner and mode 0700",
                        client->state_path);
    return -1;
}

/* The executable of the keeper lies beside this library. To be freed. */
static char *keeper_path(void)
{
    static const char in_this_library;
    Dl_info info;
    char *path = NULL;

    if (!dladdr(&in_this_library, &info) || !info.dli_fname)
        return NULL;
    const char *slash = strrchr(info.dli_fname, '/');
    int length = slash ? (int)(slash - info.dli_fname) : 1;

    return asprintf(&path, "%.*s/sandlot-local-keeper", length, slash ? info.dli_fname : ".") < 0 ? NULL : path;
}

/* What the keeper writes on standard error; it begins anew when it has grown. */
static int open_log(int state_fd)
{
    int fd = openat(state_fd, "keeper.log", O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0600);
    struct stat status;

    if (fd >= 0 && fstat(fd, &status) == 0 && status.st_size > LOG_MAXIMUM && ftruncate(fd, 0) < 0) {
        close(fd);
        fd = -1;
    }
    return fd;
}

/* Starts PATH in a session of its own with nothing of this process but the given descriptors. 0 or an errno. */
static int spawn(const char *path, int state_fd, int log_fd, int ready_fd, pid_t *pid)
{
    char *const arguments[] = {(char[]){"sandlot-local-keeper"}, NULL};
    char *const environment[] = {NULL};
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t none;
    sigset_t all;

    sigemptyset(&none);
    sigfillset(&all);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &all);
    posix_spawn_file_actions_init(&actions);
    int error = posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDWR, 0);

    error = error ? error : posix_spawn_file_actions_adddup2(&actions, 0, 1);
    error = error ? error : posix_spawn_file_actions_adddup2(&actions, log_fd, 2);
    error = error ? error : posix_spawn_file_actions_adddup2(&actions, state_fd, 3);
    error = error ? error : posix_spawn_file_actions_adddup2(&actions, ready_fd, 4);
    error = error ? error : posix_spawn(pid, path, &actions, &attributes, arguments, environment);
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    return error;
}

/* Waits for the keeper's "+". */
static enum sandlot_status wait_until_ready(struct sandlot_call *call, int ready_fd)
{
    struct pollfd fds[2] = {{ready_fd, POLLIN, 0}, {call->cancel_fd, POLLIN, 0}};
    char text[1024];
    int ready;

    while ((ready = poll(fds, 2, sandlot_remaining_ms(call, START_LIMIT_MS))) < 0 && errno == EINTR)
        ;
    if (fds[1].revents)
        return sandlot_fail(call, SANDLOT_CANCELLED, "cancelled while the keeper of local sandboxes was starting");
    if (ready <= 0)
        return sandlot_fail(call, SANDLOT_TIMEOUT, "the keeper of local sandboxes did not start in time; try again");
    ssize_t got = read(ready_fd, text, sizeof(text) - 1);

    text[got > 0 ? got : 0] = '\0';
    if (strcmp(text, "+") == 0)
        return SANDLOT_OK;
    return sandlot_fail(call, SANDLOT_DEPENDENCY_MISSING, "the keeper of local sandboxes could not start: %s",
                        got > 0 ? text : "it ended at once; keeper.log in Sandlot's state folder may say why");
}

static enum sandlot_status start_keeper(struct sandlot_call *call, int state_fd)
{
    AUTO_FREE char *path = keeper_path();
    int ready[2];

    if (!path || pipe2(ready, O_CLOEXEC) < 0)
        return sandlot_fail(call, SANDLOT_INTERNAL, "the keeper of local sandboxes could not be started: %s",
                            strerror(errno));
    AUTO_CLOSE int reading = ready[0];
    AUTO_CLOSE int log = open_log(state_fd);
    AUTO_CLOSE int high_log = fcntl(log, F_DUPFD_CLOEXEC, FIRST_FREE_FD);
    AUTO_CLOSE int high_state = fcntl(state_fd, F_DUPFD_CLOEXEC, FIRST_FREE_FD);
    int high_ready = fcntl(ready[1], F_DUPFD_CLOEXEC, FIRST_FREE_FD);
    pid_t pid = -1;

    close(ready[1]);
    int error =
        high_log < 0 || high_state < 0 || high_ready < 0 ? errno : spawn(path, high_state, high_log, high_ready, &pid);

    if (high_ready >= 0)
        close(high_ready);
    if (error == EMFILE || error == EINVAL) /* fcntl(2) says the latter where the number asked for is not allowed */
        return sandlot_fail(call, SANDLOT_UNAVAILABLE,
                            "the keeper of local sandboxes could not be started: this process may not open enough "
                            "files; raise the limit (ulimit -n)");
    if (error == EAGAIN || error == ENOMEM)
        return sandlot_fail(call, SANDLOT_UNAVAILABLE,
                            "the keeper of local sandboxes could not be started: %s; end processes of this user, or "
                            "raise the limits of their number (ulimit -u) and memory (ulimit -v, -d)",
                            strerror(error));
    if (error)
        return sandlot_fail(call, SANDLOT_DEPENDENCY_MISSING,
                            "the keeper of local sandboxes, %.600s, could not be started: %s; install Sandlot anew",
                            path, strerror(error));
    enum sandlot_status status = wait_until_ready(call, reading);

    /* The process that was started ends as soon as it has left its work to a child (or has given up). */
    if (status != SANDLOT_OK)
        kill(pid, SIGKILL);
    while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
        ;
    return status;
}

/* A connection to the keeper; -1 with *STATUS SANDLOT_OK: none serves. */
static int connect_keeper(struct sandlot_call *call, int state_fd, bool start, enum sandlot_status *status)
{
    *status = SANDLOT_OK;
    for (int i = 0; i < ATTEMPTS; i++) {
        int fd = protocol_connect(state_fd, "keeper.socket");

        if (fd >= 0)
            return fd;
        if (errno != ENOENT && errno != ECONNREFUSED) {
            *status = sandlot_fail(call, SANDLOT_UNAVAILABLE,
                                   "the keeper of local sandboxes cannot be reached: %s; try again", strerror(errno));
            return -1;
        }
        if (!start)
            return -1;
        *status = start_keeper(call, state_fd);
        if (*status != SANDLOT_OK)
            return -1;
    }
    *status = sandlot_fail(call, SANDLOT_UNAVAILABLE,
                           "the keeper of local sandboxes ends as soon as it is started; keeper.log "
                           "in Sandlot's state folder may say why");
    return -1;
}

enum sandlot_status client_failure(struct sandlot_call *call, const struct received *reply)
{
    const size_t head = offsetof(struct failure, message);
    uint32_t status;

    if (reply->header.length < head)
        return sandlot_fail(call, SANDLOT_INTERNAL, "a local sandbox gave an answer that makes no sense");
    memcpy(&status, reply->body, sizeof(status));
    if (status == SANDLOT_OK || status > SANDLOT_INTERNAL)
        status = SANDLOT_INTERNAL;
    return sandlot_fail(call, (enum sandlot_status)status, "%s", reply->body + head);
}

enum sandlot_status client_broken(struct sandlot_call *call, enum protocol_result result, const char *peer)
{
    switch (result) {
    case PROTOCOL_CANCELLED:
        return sandlot_fail(call, SANDLOT_CANCELLED, "cancelled while waiting for %s", peer);
    case PROTOCOL_TIMEOUT:
        return sandlot_fail(call, SANDLOT_TIMEOUT, "%s did not answer in time; try again", peer);
    case PROTOCOL_CLOSED:
        return sandlot_fail(call, SANDLOT_UNAVAILABLE, "%s ended before it answered; try again", peer);
    default:
        return sandlot_fail(call, SANDLOT_INTERNAL, "no message could be exchanged with %s: %s", peer, strerror(errno));
    }
}

enum sandlot_status client_ask(struct client *client, struct sandlot_call *call, uint32_t kind, const char *body,
                               bool start, struct received *reply, int *connection)
{
    return client_ask_with(client, call, kind, body, -1, start, reply, connection);
}

enum sandlot_status client_ask_with(struct client *client, struct sandlot_call *call, uint32_t kind, const char *body,
                                    int handed_fd, bool start, struct received *reply, int *connection)
{
    enum sandlot_status status = SANDLOT_OK;
    enum protocol_result result = PROTOCOL_CLOSED;
    int state_fd = client_state(client, call, &status);

    *connection = -1;
    if (state_fd < 0)
        return status;
    /* A keeper that has just decided to end closes the connection without an answer; then there is a new one to be
     * asked. */
    for (int i = 0; i < ATTEMPTS && result == PROTOCOL_CLOSED; i++) {
        AUTO_CLOSE int fd = connect_keeper(call, state_fd, start, &status);
        int64_t deadline_ms = sandlot_now_ms() + sandlot_remaining_ms(call, ANSWER_LIMIT_MS);

        if (fd < 0)
            return status;
        result = protocol_send(fd, kind, body, strlen(body), &handed_fd, handed_fd >= 0, deadline_ms);
        if (result == PROTOCOL_OK)
            result = protocol_receive(fd, reply, deadline_ms, call->cancel_fd);
        if (result == PROTOCOL_OK)
            *connection = take_fd(&fd);
    }
    if (result != PROTOCOL_OK)
        return client_broken(call, result, "the keeper of local sandboxes");
    if (reply->header.kind != MESSAGE_FAILED)
        return SANDLOT_OK;
    status = client_failure(call, reply);
    received_clear(reply);
    close(*connection);
    *connection = -1;
    return status;
}

bool client_lease(struct client *client, const char *id, int connection)
{
    struct lease *lease = malloc(sizeof(*lease));
    char *copy = strdup(id);

    if (!lease || !copy) {
        free(lease);
        free(copy);
        close(connection);
        return false;
    }
    pthread_mutex_lock(&client->lock);
    *lease = (struct lease){client->leases, copy, connection};
    client->leases = lease;
    pthread_mutex_unlock(&client->lock);
    return true;
}

void client_release_lease(struct client *client, const char *id)
{
    struct lease *found = NULL;

    pthread_mutex_lock(&client->lock);
    for (struct lease **at = &client->leases; *at && !found; at = &(*at)->next)
        if (strcmp((*at)->id, id) == 0) {
            found = *at;
            *at = found->next;
            break;
        }
    pthread_mutex_unlock(&client->lock);
    if (found)
        free_lease(found);
}
