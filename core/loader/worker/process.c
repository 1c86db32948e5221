#include "loader/worker/process.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "base/log.h"
#include "base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
    END_MS = 1000,       /* what an orderly end may take */
    REAP_MS = 5000,      /* until the kernel has ended a process that was killed */
    FIRST_FREE = 10,     /* descriptors below are the worker's own */
    LONGEST_LINE = 1024, /* of what the worker prints */
    MOST_LINES = 1000,   /* of one process */
    MOST_IDLE = 64       /* connections */
};

struct worker_process {
    const struct worker_settings *settings;
    uint64_t number;
    pthread_t thread; /* starts it, carries its output to the log, and collects it */
    int control;      /* the host's end; -1: the process has been asked to end */
    int worker_control;
    pid_t pid; /* of the process and of its group */
    int pid_fd;
    int end_fd; /* eventfd: the last user has gone */
    int output;
    pthread_mutex_t lock; /* of what follows */
    pthread_cond_t changed;
    unsigned users;
    bool started;
    int start_error;
    bool lacks_pidfd; /* that is the error: the kernel knows no descriptors of processes */
    bool hides_host;
    bool reaped;
    int status; /* of waitid, if it could be had */
    int code;
    bool given_up;
    char reason[WORKER_REASON]; /* why the host has ended it; "": it was not the host */
    char last_line[160];        /* the last that it said on standard error */
    struct worker_connection *idle;
    unsigned idle_count;
    char line[LONGEST_LINE + 1]; /* not finished yet */
    size_t line_length;
    unsigned lines;
};

/* ---- its environment --------------------------------------------------------------------------------------------- */

/* What a process needs to find its way: none of it is secret, but a proxy's password is. */
static bool is_harmless(const char *name, const char *value)
{
    static const char *const names[] = {"PATH",
                                        "HOME",
                                        "USER",
                                        "LOGNAME",
                                        "TMPDIR",
                                        "TZ",
                                        "LANG",
                                        "LANGUAGE",
                                        "http_proxy",
                                        "https_proxy",
                                        "no_proxy",
                                        "all_proxy",
                                        "HTTP_PROXY",
                                        "HTTPS_PROXY",
                                        "NO_PROXY",
                                        "ALL_PROXY",
                                        "SSL_CERT_FILE",
                                        "SSL_CERT_DIR",
                                        "LD_LIBRARY_PATH",
                                        "ASAN_OPTIONS",
                                        "UBSAN_OPTIONS",
                                        "LSAN_OPTIONS"};

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (strcmp(names[i], name) == 0)
            return !strcasestr(name, "_proxy") || !strchr(value, '@');
    return strncmp(name, "LC_", 3) == 0 || strncmp(name, "XDG_", 4) == 0;
}

struct variables {
    char **items; /* ended by NULL */
    size_t count;
    bool failed;
};

static void add_variable(struct variables *variables, const char *name, const char *value)
{
    char **grown = realloc(variables->items, (variables->count + 2) * sizeof(*grown));

    variables->items = grown ? grown : variables->items;
    char *text = grown ? text_format("%s=%s", name, value) : NULL;

    variables->failed = variables->failed || !text;
    if (!text)
        return;
    variables->items[variables->count++] = text;
    variables->items[variables->count] = NULL;
}

static void add_harmless(struct variables *variables)
{
    for (char **at = environ; at && *at; at++) {
        const char *equals = strchr(*at, '=');
        AUTO_FREE char *name = equals ? strndup(*at, (size_t)(equals - *at)) : NULL;

        if (name && is_harmless(name, equals + 1))
            add_variable(variables, name, equals + 1);
    }
}

/* A declared variable as the host's lookup has it, under both of its names. */
static void add_declared(struct variables *variables, const struct environment *environment, const char *name)
{
    const char *value = environment_lookup(environment, name);

    if (!value || is_harmless(name, value))
        return;
    add_variable(variables, name, value);
    if (strncmp(name, "SANDLOT_", 8) == 0)
        return;
    AUTO_FREE char *own = text_format("SANDLOT_%s", name);

    if (own)
        add_variable(variables, own, value);
    variables->failed = variables->failed || !own;
}

static void free_variables(struct variables *variables)
{
    for (size_t i = 0; i < variables->count; i++)
        free(variables->items[i]);
    free(variables->items);
}

static bool make_environment(const struct worker_settings *settings, struct variables *variables)
{
    add_harmless(variables);
    for (const char *const *list = settings->variables; *list; list++) {
        AUTO_FREE char *names = strdup(*list);
        char *rest = NULL;

        variables->failed = variables->failed || !names;
        for (char *name = names ? strtok_r(names, "| \t", &rest) : NULL; name; name = strtok_r(NULL, "| \t", &rest))
            add_declared(variables, settings->environment, name);
    }
    if (!variables->items && !variables->failed)
        variables->items = calloc(1, sizeof(*variables->items));
    return variables->items && !variables->failed;
}

/* ---- the host's own memory --------------------------------------------------------------------------------------- */

static struct {
    pthread_mutex_t lock;
    bool wanted;
    unsigned workers; /* that live */
    int before;       /* what the process was, without any */
} hiding = {.lock = PTHREAD_MUTEX_INITIALIZER};

void worker_process_hide_host(void)
{
    hiding.wanted = true;
}

static void hide_host(struct worker_process *process)
{
    if (!hiding.wanted)
        return;
    pthread_mutex_lock(&hiding.lock);
    if (hiding.workers++ == 0) {
        hiding.before = prctl(PR_GET_DUMPABLE, 0, 0, 0, 0);
        prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
    }
    process->hides_host = true;
    pthread_mutex_unlock(&hiding.lock);
}

static void show_host(const struct worker_process *process)
{
    if (!process->hides_host)
        return;
    pthread_mutex_lock(&hiding.lock);
    if (--hiding.workers == 0 && hiding.before == 1)
        prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
    pthread_mutex_unlock(&hiding.lock);
}

/* ---- starting ---------------------------------------------------------------------------------------------------- */

/* The actions of posix_spawn: its own socket, nothing to read, its output to the host, and nothing else of ours. */
static int add_actions(posix_spawn_file_actions_t *actions, int control, int output)
{
    int error = posix_spawn_file_actions_addopen(actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);

    error = error ? error : posix_spawn_file_actions_adddup2(actions, output, STDOUT_FILENO);
    error = error ? error : posix_spawn_file_actions_adddup2(actions, output, STDERR_FILENO);
    error = error ? error : posix_spawn_file_actions_adddup2(actions, control, 3);
    return error ? error : posix_spawn_file_actions_addclosefrom_np(actions, 4);
}

/* A session of its own: Ctrl-C at the terminal is for the host, which then cancels what is to be cancelled. */
static int add_attributes(posix_spawnattr_t *attributes)
{
    sigset_t all;
    sigset_t none;

    sigfillset(&all);
    sigemptyset(&none);
    int error =
        posix_spawnattr_setflags(attributes, POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);

    error = error ? error : posix_spawnattr_setsigdefault(attributes, &all);
    return error ? error : posix_spawnattr_setsigmask(attributes, &none);
}

/* What the program is called with, to be freed; NULL when out of memory. */
static char **make_arguments(const struct worker_settings *settings, char *memory)
{
    static char confined[] = "confined";
    size_t count = 0;

    while (settings->view && settings->view[count])
        count++;
    char **arguments = calloc(count + 4, sizeof(*arguments));

    if (!arguments)
        return NULL;
    arguments[0] = (char *)(uintptr_t)settings->program;
    arguments[1] = memory;
    if (settings->view)
        arguments[2] = confined;
    for (size_t i = 0; i < count; i++)
        arguments[3 + i] = settings->view[i];
    return arguments;
}

/* *PID of the new process; 0 or an errno. */
static int spawn(const struct worker_process *process, int output, pid_t *pid)
{
    const char *program = process->settings->program;
    struct variables variables = {0};
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    char memory[32];

    snprintf(memory, sizeof(memory), "%llu", (unsigned long long)process->settings->memory);
    AUTO_FREE char **arguments = make_arguments(process->settings, memory);

    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
    int error = arguments && make_environment(process->settings, &variables) ? 0 : ENOMEM;

    error = error ? error : add_actions(&actions, process->worker_control, output);
    error = error ? error : add_attributes(&attributes);
    error = error ? error : posix_spawn(pid, program, &actions, &attributes, arguments, variables.items);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    free_variables(&variables);
    return error;
}

/* A descriptor that none of the worker's first ones can be. */
static int move_up(int fd)
{
    if (fd < 0 || fd >= FIRST_FREE)
        return fd;
    int moved = fcntl(fd, F_DUPFD_CLOEXEC, FIRST_FREE);
    int error = moved < 0 && errno == EINVAL ? EMFILE : errno; /* no number so high may be open */

    close(fd);
    errno = error;
    return moved;
}

/* ---- its output -------------------------------------------------------------------------------------------------- */

static void finish_line(struct worker_process *process)
{
    process->line[process->line_length] = '\0';
    process->line_length = 0;
    AUTO_FREE char *clean = text_utf8_replace(process->line, strlen(process->line), NULL);

    if (!clean || !*clean || process->lines > MOST_LINES)
        return;
    if (++process->lines > MOST_LINES) {
        log_warning("%s: the provider prints too much; the rest is left out", process->settings->provider);
        return;
    }
    log_warning("%s: %s", process->settings->provider, clean);
    pthread_mutex_lock(&process->lock);
    snprintf(process->last_line, sizeof(process->last_line), "%.*s", (int)sizeof(process->last_line) - 1, clean);
    pthread_mutex_unlock(&process->lock);
}

/* False at the end. */
static bool read_output(struct worker_process *process)
{
    char buffer[4096];
    ssize_t got = read(process->output, buffer, sizeof(buffer));

    for (ssize_t i = 0; i < got; i++) {
        if (buffer[i] != '\n')
            process->line[process->line_length++] = buffer[i];
        if (buffer[i] == '\n' || process->line_length == LONGEST_LINE)
            finish_line(process);
    }
    return got > 0 || (got < 0 && (errno == EAGAIN || errno == EINTR));
}

/* What it printed before it died; a child of it may hold the pipe open for ever. */
static void read_rest(struct worker_process *process)
{
    struct pollfd output = {process->output, POLLIN, 0};

    for (int i = 0; i < 64 && poll(&output, 1, 0) > 0 && read_output(process); i++)
        continue;
    if (process->line_length > 0)
        finish_line(process);
}

/* ---- watching ---------------------------------------------------------------------------------------------------- */

static void kill_now(const struct worker_process *process)
{
    if (process->pid_fd >= 0)
        syscall(SYS_pidfd_send_signal, process->pid_fd, SIGKILL, NULL, 0);
}

/* What it has started and left in its group ends with it, unless it came to its orderly end. While it has not been
 * collected its number is that of no other group. */
static void kill_group(const struct worker_process *process)
{
    kill(-process->pid, SIGKILL);
}

/* Collects the process, which has ended or is killed now. Nothing can be done about one that does not even end by that:
 * the kernel has it in its hands, or it has become another user's. */
static void reap(struct worker_process *process, bool is_orderly)
{
    siginfo_t info = {0};
    int result = -1;

    if (worker_process_wait(process, REAP_MS)) {
        if (!is_orderly)
            kill_group(process);
        do
            result = waitid(P_PIDFD, (id_t)process->pid_fd, &info, WEXITED);
        while (result < 0 && errno == EINTR);
    }
    read_rest(process);
    pthread_mutex_lock(&process->lock);
    process->code = result == 0 ? info.si_code : 0;
    process->status = result == 0 ? info.si_status : 0;
    process->reaped = true;
    process->given_up = true;
    pthread_cond_broadcast(&process->changed);
    pthread_mutex_unlock(&process->lock);
}

static void watch(struct worker_process *process)
{
    struct pollfd watched[] = {
        {process->pid_fd, POLLIN, 0}, {process->output, POLLIN, 0}, {process->end_fd, POLLIN, 0}};
    int64_t end_at = 0;

    while (!watched[0].revents) {
        int limit = end_at ? (int)(end_at - sandlot_now_ms()) : -1;

        if ((end_at && limit <= 0) || (poll(watched, 3, limit) < 0 && errno != EINTR))
            break;
        if (watched[1].revents && !read_output(process))
            watched[1].fd = -1;
        if (watched[2].revents) {
            end_at = sandlot_now_ms() + END_MS;
            watched[2].fd = -1;
        }
    }
    if (!watched[0].revents)
        kill_now(process);
    reap(process, end_at && watched[0].revents);
}

static void *supervise(void *context)
{
    struct worker_process *process = context;
    int ends[2];
    int error = pipe2(ends, O_CLOEXEC) < 0 ? errno : 0;

    if (!error) {
        int output = move_up(ends[1]);

        process->output = ends[0];
        fcntl(process->output, F_SETFL, O_NONBLOCK);
        error = output < 0 ? errno : spawn(process, output, &process->pid);
        if (output >= 0)
            close(output);
    }
    if (!error) {
        process->pid_fd = (int)syscall(SYS_pidfd_open, process->pid, 0);
        error = process->pid_fd < 0 ? errno : 0;
        process->lacks_pidfd = error == ENOSYS;
        if (error) {
            kill(process->pid, SIGKILL);
            waitpid(process->pid, NULL, 0);
        }
    }
    pthread_mutex_lock(&process->lock);
    process->started = true;
    process->start_error = error;
    pthread_cond_broadcast(&process->changed);
    pthread_mutex_unlock(&process->lock);
    if (!error)
        watch(process);
    return NULL;
}

/* The thread is the parent of the process, which is killed with it. No signal of the host's is for it. */
static int start_thread(struct worker_process *process)
{
    sigset_t all;
    sigset_t before;

    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    int error = pthread_create(&process->thread, NULL, supervise, process);

    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return error;
}

static void free_process(struct worker_process *process)
{
    show_host(process);
    while (process->idle) {
        struct worker_connection *connection = process->idle;

        process->idle = connection->next;
        worker_connection_free(connection);
    }
    const int fds[] = {process->control, process->worker_control, process->pid_fd, process->end_fd, process->output};

    for (size_t i = 0; i < sizeof(fds) / sizeof(fds[0]); i++)
        if (fds[i] >= 0)
            close(fds[i]);
    pthread_cond_destroy(&process->changed);
    pthread_mutex_destroy(&process->lock);
    free(process);
}

static struct worker_process *new_process(const struct worker_settings *settings)
{
    static _Atomic uint64_t last;
    struct worker_process *process = calloc(1, sizeof(*process));
    pthread_condattr_t attributes;

    if (!process)
        return NULL;
    *process = (struct worker_process){.settings = settings,
                                       .number = atomic_fetch_add(&last, 1) + 1,
                                       .control = -1,
                                       .worker_control = -1,
                                       .pid_fd = -1,
                                       .end_fd = -1,
                                       .output = -1,
                                       .users = 1};
    pthread_mutex_init(&process->lock, NULL);
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&process->changed, &attributes);
    pthread_condattr_destroy(&attributes);
    return process;
}

/* 0 or an errno. */
static int start(struct worker_process *process)
{
    int ends[2];

    process->end_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (process->end_fd < 0 || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
        return errno;
    process->control = ends[0];
    process->worker_control = move_up(ends[1]);
    int error = process->worker_control < 0 ? errno : start_thread(process);

    if (error)
        return error;
    pthread_mutex_lock(&process->lock);
    while (!process->started) /* posix_spawn returns when the program runs, or cannot */
        pthread_cond_wait(&process->changed, &process->lock);
    error = process->start_error;
    pthread_mutex_unlock(&process->lock);
    close(take_fd(&process->worker_control));
    if (error)
        pthread_join(process->thread, NULL);
    return error;
}

static void tell_failure(const struct worker_settings *settings, int failed, bool lacks_pidfd,
                         struct sandlot_error *error)
{
    static const char what[] = "cannot start the worker process of the provider";

    if (lacks_pidfd)
        error_set(
            error, SANDLOT_CODE_PROVIDER_UNAVAILABLE,
            "%s: %s: there is no pidfd_open(2) here; use Linux 5.3 or later, do not run Sandlot under a tool that "
            "lacks it, such as an older valgrind, or set isolation = \"none\"",
            settings->provider, what);
    else if (failed == EMFILE || failed == ENFILE)
        error_set(error, SANDLOT_CODE_PROVIDER_UNAVAILABLE,
                  "%s: %s: %s; close what is not needed, or raise the limit (ulimit -n)", settings->provider, what,
                  strerror(failed));
    else if (failed == EAGAIN || failed == ENOMEM)
        error_set(error, SANDLOT_CODE_PROVIDER_UNAVAILABLE,
                  "%s: %s: %s; end processes of this user, or raise the limits of their number (ulimit -u) and memory "
                  "(ulimit -v, -d)",
                  settings->provider, what, strerror(failed));
    else
        error_set(error, SANDLOT_CODE_PROVIDER_UNAVAILABLE,
                  "%s: %s: %s: %s; install Sandlot again, or set isolation = \"none\"", settings->provider, what,
                  settings->program, strerror(failed));
}

struct worker_process *worker_process_start(const struct worker_settings *settings, struct sandlot_error *error)
{
    struct worker_process *process = new_process(settings);

    if (process)
        hide_host(process);
    int failed = process ? start(process) : ENOMEM;

    if (!failed)
        return process;
    tell_failure(settings, failed, process && process->lacks_pidfd, error);
    if (process)
        free_process(process);
    return NULL;
}

/* ---- its users --------------------------------------------------------------------------------------------------- */

struct worker_process *worker_process_hold(struct worker_process *process)
{
    pthread_mutex_lock(&process->lock);
    process->users++;
    pthread_mutex_unlock(&process->lock);
    return process;
}

void worker_process_let_go(struct worker_process *process)
{
    static const uint64_t one = 1;
    static const char goodbye = 'E';

    if (!process)
        return;
    pthread_mutex_lock(&process->lock);
    bool last = --process->users == 0;

    pthread_mutex_unlock(&process->lock);
    if (!last)
        return;
    if (send(process->control, &goodbye, 1, MSG_NOSIGNAL | MSG_DONTWAIT) != 1)
        kill_now(process); /* it does not listen any more, or has ended already */
    if (write(process->end_fd, &one, sizeof(one)) != (ssize_t)sizeof(one))
        kill_now(process);
    pthread_join(process->thread, NULL);
    free_process(process);
}

bool worker_process_wait(struct worker_process *process, int limit_ms)
{
    struct pollfd ended = {process->pid_fd, POLLIN, 0};

    return poll(&ended, 1, limit_ms) > 0;
}

uint64_t worker_process_number(const struct worker_process *process)
{
    return process->number;
}

bool worker_process_is_dead(struct worker_process *process)
{
    struct pollfd ended = {process->pid_fd, POLLIN, 0};

    pthread_mutex_lock(&process->lock);
    bool given_up = process->given_up;

    pthread_mutex_unlock(&process->lock);
    return given_up || poll(&ended, 1, 0) > 0;
}

int worker_process_fd(const struct worker_process *process)
{
    return process->pid_fd;
}

void worker_process_kill(struct worker_process *process, const char *reason)
{
    struct pollfd ended = {process->pid_fd, POLLIN, 0};

    pthread_mutex_lock(&process->lock);
    if (!process->given_up && poll(&ended, 1, 0) == 0)
        snprintf(process->reason, sizeof(process->reason), "%s", reason);
    process->given_up = true;
    pthread_mutex_unlock(&process->lock);
    kill_now(process);
}

/* Under the lock. */
static void tell_reason(const struct worker_process *process, char *reason)
{
    const char *name = process->code == CLD_EXITED ? NULL : sigabbrev_np(process->status);
    size_t used;

    if (*process->reason)
        snprintf(reason, WORKER_REASON, "%s", process->reason);
    else if (!process->reaped)
        snprintf(reason, WORKER_REASON, "does not answer any more");
    else if (process->code == CLD_EXITED)
        snprintf(reason, WORKER_REASON, "ended its process by itself with status %d", process->status);
    else if (process->code == 0)
        snprintf(reason, WORKER_REASON, "crashed");
    else
        snprintf(reason, WORKER_REASON, "crashed (SIG%s)", name ? name : "nal unknown");
    used = strlen(reason);
    if (*process->last_line && used < WORKER_REASON)
        snprintf(reason + used, WORKER_REASON - used, " after \"%s\"", process->last_line);
}

void worker_process_reason(struct worker_process *process, char *reason)
{
    struct timespec until;

    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += REAP_MS / 1000;
    pthread_mutex_lock(&process->lock);
    while (!process->reaped && pthread_cond_timedwait(&process->changed, &process->lock, &until) == 0)
        continue;
    tell_reason(process, reason);
    pthread_mutex_unlock(&process->lock);
}

/* ---- connections ------------------------------------------------------------------------------------------------- */

void worker_connection_free(struct worker_connection *connection)
{
    if (!connection)
        return;
    if (connection->socket >= 0)
        close(connection->socket);
    for (size_t i = 0; i < CHANNEL_WATCHES; i++)
        if (connection->watches[i] >= 0)
            close(connection->watches[i]);
    channel_unmap(connection->reader.memory);
    free(connection);
}

static bool fill(struct worker_connection *connection, int *others)
{
    int ends[2];

    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
        return false;
    connection->socket = ends[0];
    others[0] = ends[1];
    others[1] = channel_make_memory();
    connection->reader.memory = others[1] >= 0 ? channel_map(others[1]) : NULL;
    for (size_t i = 0; i < CHANNEL_WATCHES; i++) {
        others[2 + i] = connection->watches[i] = channel_make_watch();
        if (connection->watches[i] < 0)
            return false;
    }
    return connection->reader.memory != NULL;
}

/* The worker's ends; the watches are the host's too. */
static void close_others(const int *others)
{
    for (size_t i = 0; i < 2; i++)
        if (others[i] >= 0)
            close(others[i]);
}

struct worker_connection *worker_connection_new(int *others)
{
    struct worker_connection *connection = calloc(1, sizeof(*connection));

    others[0] = others[1] = -1;
    if (!connection)
        return NULL;
    connection->socket = -1;
    for (size_t i = 0; i < CHANNEL_WATCHES; i++)
        connection->watches[i] = -1;
    if (fill(connection, others))
        return connection;
    int error = errno;

    close_others(others);
    worker_connection_free(connection);
    errno = error;
    return NULL;
}

/* Hands the worker its ends. Its socket has room for many of these; it never blocks for one that does not read. */
static bool hand_over(const struct worker_process *process, const int *others)
{
    _Alignas(struct cmsghdr) char control[CMSG_SPACE(CHANNEL_DESCRIPTORS * sizeof(int))] = {0};
    static char connect = 'C';
    struct iovec part = {&connect, 1};
    struct msghdr message = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof(control)};
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);

    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(CHANNEL_DESCRIPTORS * sizeof(int));
    memcpy(CMSG_DATA(header), others, CHANNEL_DESCRIPTORS * sizeof(int));
    return sendmsg(process->control, &message, MSG_NOSIGNAL | MSG_DONTWAIT) == 1;
}

struct worker_connection *worker_process_connect(struct worker_process *process)
{
    int others[CHANNEL_DESCRIPTORS];

    pthread_mutex_lock(&process->lock);
    struct worker_connection *connection = process->idle;

    if (connection) {
        process->idle = connection->next;
        process->idle_count--;
    }
    pthread_mutex_unlock(&process->lock);
    if (connection)
        return connection;
    connection = worker_connection_new(others);
    if (!connection)
        return NULL;
    connection->process = process;
    bool handed_over = hand_over(process, others);
    int error = errno;

    close_others(others);
    if (handed_over)
        return connection;
    worker_connection_free(connection);
    errno = error;
    return NULL;
}

void worker_process_disconnect(struct worker_connection *connection, bool reusable)
{
    struct worker_process *process = connection->process;

    pthread_mutex_lock(&process->lock);
    reusable = reusable && process->idle_count < MOST_IDLE;
    if (reusable) {
        connection->next = process->idle;
        process->idle = connection;
        process->idle_count++;
    }
    pthread_mutex_unlock(&process->lock);
    if (!reusable)
        worker_connection_free(connection);
}
