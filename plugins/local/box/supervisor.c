#include "supervisor.h"

#include "box.h"
#include "processes.h"
#include "pty.h"

#include <sandlot/sdk/cleanup.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sandlot/provider.h>
#include <signal.h>
#include <stdarg.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>

enum {
    TIMEOUT_GRACE_MS = 2000, /* between SIGTERM and SIGKILL after a timeout */
    KILL_GRACE_MS = 300,     /* the same when the caller is gone or in a hurry */
    KILL_MS = 600,           /* how long to go on killing */
    PAUSE_MS = 20,           /* between two rounds of that */
    ANSWER_MS = 1000,
    ARGUMENT_MAXIMUM = 128 * 1024, /* the kernel's limit for one argument, with its NUL */
    SCRIPT_FD = 3,
    EXIT_TIMED_OUT = 124
};

struct command {
    struct run_request request;
    const char *text; /* empty: an interactive shell, in a terminal only */
    const char *directory;
    const char **environment;
    int input;
    int output;
    bool in_terminal; /* input and output are one and the same, the command's side of the terminal */
    int controller;   /* its other side, for the caller; -1: none */
};

/* What the child between vfork and exec needs; it shares the memory of its parent, so it can tell what failed. */
struct spawn {
    const struct profile *profile;
    const struct command *command;
    const char *arguments[5];
    int script;
    const char *volatile failed; /* the step that failed */
    volatile int error;
};

struct run {
    const struct profile *profile;
    int connection;
    pid_t shell;
    int status; /* of the shell, once it has ended */
    bool ended; /* the shell */
    bool alone; /* no descendant is left */
};

static _Noreturn void fail(int connection, uint32_t status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static _Noreturn void fail(int connection, uint32_t status, const char *format, ...)
{
    struct failure failure = {.status = status};
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(failure.message, sizeof failure.message, format, arguments);
    va_end(arguments);
    protocol_send(connection, MESSAGE_FAILED, &failure, offsetof(struct failure, message) + strlen(failure.message) + 1,
                  NULL, 0, processes_now_ms() + ANSWER_MS);
    _exit(0);
}

/* ---- the request ---- */

/* The next string of a body, NULL when there is none. */
static const char *next_string(const char **at, const char *end)
{
    const char *start = *at;
    const char *nul = start < end ? memchr(start, '\0', (size_t)(end - start)) : NULL;

    if (nul)
        *at = nul + 1;
    return nul ? start : NULL;
}

static bool has_name(const char *const *environment, size_t count, const char *entry)
{
    const size_t length = (size_t)(strchrnul(entry, '=') - entry) + 1;

    for (size_t i = 0; i < count; i++)
        if (strncmp(environment[i], entry, length) == 0)
            return true;
    return false;
}

static size_t count_entries(const char *const *entries)
{
    size_t count = 0;

    while (entries && entries[count])
        count++;
    return count;
}

/* Adds those of ENTRIES that name what the command does not have yet. Returns how many it has. */
static size_t add_missing(struct command *command, size_t used, const char *const *entries)
{
    for (; entries && *entries; entries++)
        if (!has_name(command->environment, used, *entries))
            command->environment[used++] = *entries;
    return used;
}

/* The request's variables, those of the image and the fixed ones that it does not replace, and PWD. */
static bool read_environment(struct command *command, const struct profile *profile, const char **at, const char *end)
{
    const size_t count = command->request.environment_count;
    static char pwd[4096 + 8];
    size_t used = 0;

    if (count > (size_t)(end - *at))
        return false;
    command->environment = calloc(
        count + count_entries(profile->image_environment) + count_entries(profile->environment) + 2, sizeof(char *));
    if (!command->environment)
        return false;
    for (; used < count; used++) {
        const char *entry = next_string(at, end);

        if (!entry || !strchr(entry, '=') || *entry == '=')
            return false;
        command->environment[used] = entry;
    }
    used = add_missing(command, used, profile->image_environment);
    used = add_missing(command, used, profile->environment);
    if (snprintf(pwd, sizeof pwd, "PWD=%s", command->directory) < (int)sizeof pwd &&
        !has_name(command->environment, count, pwd))
        command->environment[used++] = pwd;
    return true;
}

/* The command, the working directory and the environment, which both kinds of request have, from AT on. */
static bool read_strings(struct command *command, const struct profile *profile, const char *at, const char *end)
{
    command->text = next_string(&at, end);
    command->directory = command->text ? next_string(&at, end) : NULL;
    if (!command->directory)
        return false;
    if (!*command->directory || strcmp(command->directory, BOX_WORKSPACE) == 0)
        command->directory = profile->workspace;
    return read_environment(command, profile, &at, end);
}

static bool read_command(struct command *command, const struct profile *profile, struct received *message)
{
    const size_t head = sizeof command->request;

    if (message->header.length < head)
        return false;
    memcpy(&command->request, message->body, head);
    command->output = received_take_fd(message, 0);
    command->input = command->request.has_input ? received_take_fd(message, 2) : profile->null_fd;
    return command->output >= 0 && command->input >= 0 &&
           read_strings(command, profile, message->body + head, message->body + message->header.length);
}

/* A MESSAGE_TERMINAL, except for the terminal itself, whose size goes to REQUEST. */
static bool read_terminal(struct command *command, const struct profile *profile, const struct received *message,
                          struct terminal_request *request)
{
    const size_t head = sizeof *request;

    if (message->header.length < head)
        return false;
    memcpy(request, message->body, head);
    if (request->rows - 1 >= UINT16_MAX || request->columns - 1 >= UINT16_MAX)
        return false;
    command->request = request->run;
    command->in_terminal = true;
    return read_strings(command, profile, message->body + head, message->body + message->header.length);
}

static void open_terminal(struct command *command, const struct terminal_request *request, int connection)
{
    struct pty pty;

    if (pty_open((uint16_t)request->rows, (uint16_t)request->columns, &pty) < 0)
        fail(
            connection, errno == ENOENT || errno == EACCES || errno == EPERM ? SANDLOT_UNSUPPORTED : SANDLOT_EXHAUSTED,
            "no terminal can be opened in the sandbox: /dev/ptmx: %s; end other terminals, or run commands without one",
            strerror(errno));
    command->controller = pty.controller;
    command->input = pty.terminal;
    command->output = pty.terminal;
}

/* Reads what MESSAGE asks for and opens what it needs, or answers why not. */
static void prepare(struct command *command, const struct profile *profile, int connection, struct received *message)
{
    struct terminal_request terminal;
    const bool in_terminal = message->header.kind == MESSAGE_TERMINAL;

    if (!(in_terminal ? read_terminal(command, profile, message, &terminal) : read_command(command, profile, message)))
        fail(connection, SANDLOT_INVALID_ARGUMENT,
             "the request to run a command is malformed; use one build of Sandlot on both sides");
    if (in_terminal)
        open_terminal(command, &terminal, connection);
}

/* ---- the start ---- */

static _Noreturn void give_up(struct spawn *spawn, const char *step)
{
    spawn->error = errno;
    spawn->failed = step;
    _exit(127);
}

static int change_directory(const struct profile *profile, const char *directory)
{
    if (profile->workspace_fd >= 0 && strcmp(directory, profile->workspace) == 0)
        return fchdir(profile->workspace_fd);
    return chdir(directory);
}

/* Gives the script its descriptor, or sees to it that there is none. */
static int place_script(int script)
{
    if (script < 0)
        return 0;
    if (script == SCRIPT_FD)
        return fcntl(script, F_SETFD, 0);
    return dup2(script, SCRIPT_FD);
}

/* The child between vfork and exec: only system calls, no memory but SPAWN. */
static _Noreturn void become_command(struct spawn *spawn)
{
    const struct profile *profile = spawn->profile;
    const struct command *command = spawn->command;
    sigset_t none;

    /* A session of its own: no terminal but the one it may get here, and no job control signals from outside. */
    setsid();
    if (change_directory(profile, command->directory) < 0)
        give_up(spawn, "directory");
    if (command->in_terminal && pty_control(command->input) < 0)
        give_up(spawn, "terminal");
    if (dup2(command->input, 0) < 0 || dup2(command->output, 1) < 0 || dup2(command->output, 2) < 0)
        give_up(spawn, "descriptors");
    walls_limits_apply(&profile->limits);
    if (profile->ruleset >= 0 && walls_landlock_enter(profile->ruleset) < 0)
        give_up(spawn, "Landlock");
    if (place_script(spawn->script) < 0)
        give_up(spawn, "descriptors");
    /* Everything is close-on-exec already; this holds even if something was forgotten. */
    if (close_range(spawn->script < 0 ? 3U : SCRIPT_FD + 1U, ~0U, CLOSE_RANGE_CLOEXEC) < 0)
        give_up(spawn, "descriptors");
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    execve(profile->shell, (char *const *)(uintptr_t)spawn->arguments, (char *const *)(uintptr_t)command->environment);
    give_up(spawn, "shell");
}

/*
 * A command that is longer than one argument may be goes through a file in memory that the shell reads. It closes that
 * descriptor first, so that what it starts has 0, 1 and 2 only.
 */
static int write_script(const char *text)
{
    static const char prologue[] = "exec 3<&-;";
    AUTO_CLOSE int fd = memfd_create("command", MFD_CLOEXEC);
    const size_t length = strlen(text);

    if (fd < 0 || write(fd, prologue, sizeof prologue - 1) != (ssize_t)sizeof prologue - 1)
        return -1;
    for (size_t done = 0; done < length;) {
        const ssize_t written = write(fd, text + done, length - done);

        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            return -1;
        done += (size_t)written;
    }
    return take_fd(&fd);
}

static _Noreturn void explain(int connection, const struct spawn *spawn)
{
    const char *directory = spawn->command->directory;
    const int error = spawn->error;

    if (strcmp(spawn->failed, "directory") == 0 && (error == ENOENT || error == ENOTDIR))
        fail(connection, SANDLOT_INVALID_ARGUMENT,
             "the working directory %.500s is not found in the sandbox; create it first or name another one",
             directory);
    if (strcmp(spawn->failed, "directory") == 0)
        fail(connection, SANDLOT_INVALID_ARGUMENT,
             "the working directory %.500s cannot be entered (%s); change its mode or name another one", directory,
             strerror(error));
    if (strcmp(spawn->failed, "shell") == 0 && error == E2BIG)
        fail(connection, SANDLOT_INVALID_ARGUMENT,
             "the environment is too long for the kernel; pass large values by a file");
    if (strcmp(spawn->failed, "shell") == 0)
        fail(connection, SANDLOT_DEPENDENCY_MISSING,
             "the shell %s cannot be started in the sandbox (%s); use a root file system that has one",
             spawn->profile->shell, strerror(error));
    fail(connection, SANDLOT_INTERNAL,
         "the command cannot be started (%s: %s); delete the sandbox and create another one", spawn->failed,
         strerror(error));
}

/* Starts the shell, and answers for it if that fails. */
static pid_t start_shell(const struct profile *profile, const struct command *command, int connection)
{
    const char *name = strrchr(profile->shell, '/') + 1;
    const bool script = strlen(command->text) >= ARGUMENT_MAXIMUM;
    struct spawn spawn = {.profile = profile,
                          .command = command,
                          .arguments = {name, "-c", "--", script ? ". /proc/self/fd/3" : command->text, NULL},
                          .script = script ? write_script(command->text) : -1};

    if (command->in_terminal && !*command->text) {
        spawn.arguments[1] = "-i";
        spawn.arguments[2] = NULL;
    }
    if (script && spawn.script < 0)
        fail(connection, SANDLOT_EXHAUSTED, "the command is too long for what memory there is: %s; put it into a file",
             strerror(errno));
    const pid_t pid = vfork();

    if (pid == 0)
        become_command(&spawn);
    if (pid < 0)
        fail(connection, SANDLOT_EXHAUSTED,
             "no process can be started in the sandbox (%s); end background jobs or raise "
             "the parameter processes",
             strerror(errno));
    if (spawn.script >= 0)
        close(spawn.script);
    if (spawn.failed)
        explain(connection, &spawn);
    return pid;
}

/* ---- the wait ---- */

/* Buries what has died, and notes the shell and the last one. */
static void reap(struct run *run)
{
    int status;
    pid_t pid;

    while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
        if (pid == run->shell) {
            run->status = status;
            run->ended = true;
        }
    run->alone = pid < 0;
}

/* True if somebody wants the command to end: the caller says so, or is gone. */
static bool is_unwanted(int connection)
{
    struct received message;
    const enum protocol_result result = protocol_receive(connection, &message, 0, -1);

    if (result != PROTOCOL_OK)
        return result != PROTOCOL_TIMEOUT;
    const bool kill_it = message.header.kind == MESSAGE_KILL;

    received_clear(&message);
    return kill_it;
}

/* True if a signal was read that is not about children: init is about to die. */
static bool read_signals(int signal_fd)
{
    struct signalfd_siginfo signal;
    bool ending = false;

    while (read(signal_fd, &signal, sizeof signal) == (ssize_t)sizeof signal)
        ending = ending || signal.ssi_signo != SIGCHLD;
    return ending;
}

static int milliseconds_until(int64_t deadline_ms)
{
    const int64_t left = deadline_ms - processes_now_ms();

    return left <= 0 ? 0 : left > INT32_MAX ? INT32_MAX : (int)left;
}

enum outcome { OUTCOME_ENDED, OUTCOME_TIMED_OUT, OUTCOME_UNWANTED };

/* Waits for the end of the shell, DEADLINE_MS (0: none), or the end of interest in it. */
static enum outcome wait_for_shell(struct run *run, int64_t deadline_ms)
{
    struct pollfd fds[2] = {{run->profile->signal_fd, POLLIN, 0}, {run->connection, POLLIN, 0}};

    for (;;) {
        const int ready = poll(fds, 2, deadline_ms ? milliseconds_until(deadline_ms) : -1);

        if (ready > 0 && fds[0].revents && read_signals(run->profile->signal_fd))
            return OUTCOME_UNWANTED;
        reap(run);
        if (run->ended)
            return OUTCOME_ENDED;
        if (ready > 0 && fds[1].revents && is_unwanted(run->connection))
            return OUTCOME_UNWANTED;
        if (deadline_ms && processes_now_ms() >= deadline_ms)
            return OUTCOME_TIMED_OUT;
    }
}

/* Waits until no descendant is left, or UNTIL_MS. */
static void wait_until_alone(struct run *run, int64_t until_ms)
{
    struct pollfd fd = {run->profile->signal_fd, POLLIN, 0};

    for (;;) {
        reap(run);
        if (run->alone || processes_now_ms() >= until_ms)
            return;
        poll(&fd, 1, milliseconds_until(until_ms));
        read_signals(fd.fd);
    }
}

/* Ends the shell and everything below it, with or without a session or parent of its own. */
static void end_all(struct run *run, int grace_ms)
{
    const pid_t self = getpid();

    processes_signal(self, SIGTERM);
    wait_until_alone(run, processes_now_ms() + grace_ms);
    const int64_t until = processes_now_ms() + KILL_MS;

    while (!run->alone && processes_now_ms() < until) {
        processes_kill(self, NULL, 0, until);
        wait_until_alone(run, processes_now_ms() + PAUSE_MS);
    }
}

/* ---- the answer ---- */

/* How many processes of the box its memory limit has killed so far. */
static long memory_kills(int fd)
{
    char text[512];
    const ssize_t length = fd >= 0 ? pread(fd, text, sizeof text - 1, 0) : 0;

    if (length <= 0)
        return 0;
    text[length] = '\0';
    const char *found = strstr(text, "oom_kill ");

    return found ? strtol(found + strlen("oom_kill "), NULL, 10) : 0;
}

static struct run_result result_of(const struct run *run, enum outcome outcome, bool memory)
{
    struct run_result result = {.exit_code = 128 + SIGKILL};

    if (run->ended)
        result.exit_code = WIFEXITED(run->status) ? WEXITSTATUS(run->status) : 128 + WTERMSIG(run->status);
    if (outcome == OUTCOME_TIMED_OUT) {
        result.exit_code = EXIT_TIMED_OUT;
        result.timed_out = 1;
    } else if (memory && result.exit_code != 0) {
        result.note = RUN_NOTE_MEMORY;
    } else if (result.exit_code == 128 + SIGXFSZ) {
        result.note = RUN_NOTE_DISK;
    }
    return result;
}

/* Gives the caller its side of the terminal, and keeps none: when the caller closes it the terminal hangs up. */
static void hand_over_terminal(int connection, int controller)
{
    /* A caller that is gone shows as the end of the connection. */
    protocol_send(connection, MESSAGE_TERMINAL_IS, NULL, 0, &controller, 1, processes_now_ms() + ANSWER_MS);
    close(controller);
}

bool supervisor_stays(const struct received *message)
{
    struct run_request request;

    if (message->header.kind != MESSAGE_RUN || message->header.length < sizeof request)
        return false;
    memcpy(&request, message->body, sizeof request);
    return request.flags & SANDLOT_COMMAND_LEAVES_WORK;
}

/* Stays until nothing is left of what the command has started: as long the box counts as in use. */
static void stay(struct run *run, int done_fd)
{
    struct pollfd fd = {run->profile->signal_fd, POLLIN, 0};

    while (write(done_fd, "", 1) < 0 && errno == EINTR)
        continue;
    close(done_fd);
    close(run->connection);
    for (reap(run); !run->alone; reap(run)) {
        poll(&fd, 1, -1);
        if (read_signals(fd.fd))
            end_all(run, KILL_GRACE_MS);
    }
}

_Noreturn void supervisor_run(const struct profile *profile, int connection, int done_fd, struct received *message,
                              atomic_bool *answered)
{
    struct run run = {.profile = profile, .connection = connection};
    struct command command = {.output = -1, .controller = -1};

    prepare(&command, profile, connection, message);
    prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
    /* Only where init may die without the kernel ending all below it; see init.c. */
    if (profile->ruleset >= 0)
        prctl(PR_SET_PDEATHSIG, SIGTERM, 0, 0, 0);
    const long kills = memory_kills(profile->memory_events_fd);
    const int64_t timeout_ms = command.request.timeout_ms;
    const int64_t deadline_ms = timeout_ms > 0 ? processes_now_ms() + timeout_ms : 0;

    run.shell = start_shell(profile, &command, connection);
    /* The reader of the output must see its end when the command's last process is gone. */
    close(command.output);
    if (command.controller >= 0)
        hand_over_terminal(connection, command.controller);
    const enum outcome outcome = wait_for_shell(&run, deadline_ms);

    if (outcome != OUTCOME_ENDED)
        end_all(&run, outcome == OUTCOME_TIMED_OUT ? TIMEOUT_GRACE_MS : KILL_GRACE_MS);
    const struct run_result result = result_of(&run, outcome, memory_kills(profile->memory_events_fd) > kills);

    atomic_store(answered, true);
    protocol_send(connection, MESSAGE_ENDED, &result, sizeof result, NULL, 0, processes_now_ms() + ANSWER_MS);
    if (done_fd >= 0 && outcome == OUTCOME_ENDED)
        stay(&run, done_fd);
    _exit(0);
}
