#include "agent.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* What still holds the output of a command that has ended need not have. So it is said to have ended when its streams
 * have, or when nothing has come for this long. */
enum { QUIET_MS = 25 };

struct output {
    struct outlet outlet;
    struct watch watch;
    struct command *command;
    int64_t last; /* when something came, in milliseconds */
    bool held;    /* there is no room for more */
    bool silent;  /* after the command's end */
    bool ended;
};

struct command {
    LIST_ENTRY(command) entry;
    struct agent *agent;
    uint32_t channel;
    pid_t pid;
    struct watch exit;
    struct output outputs[2];
    int count; /* of them */
    int status;
    bool exited, announced;
};

static int64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* ---- what it writes ---- */

static void output_end(struct output *output)
{
    watch_end(&output->watch);
    outlet_end(&output->command->agent->link, &output->outlet);
    output->ended = true;
}

/* Passes on one piece. */
static void forward(struct output *output)
{
    struct link *link = &output->command->agent->link;
    size_t room = outlet_room(link, &output->outlet);
    char piece[LINK_PIECE];
    if (room == 0) {
        output->held = true;
        watch_off(&output->watch); /* an end that cannot be read would be told again and again */
        return;
    }
    ssize_t length = read(output->watch.fd, piece, room);
    if (length > 0) {
        output->last = now_ms();
        outlet_send(link, &output->outlet, piece, (size_t)length);
    } else if (length == 0 || (errno != EAGAIN && errno != EINTR)) {
        output_end(output);
    }
}

static void output_ready(struct watch *watch, uint32_t events)
{
    (void)events;
    forward(container_of(watch, struct output, watch));
}

static void output_resume(struct outlet *outlet)
{
    struct output *output = container_of(outlet, struct output, outlet);
    if (!output->held)
        return;
    output->held = false;
    output->last = now_ms();
    watch_set(&output->watch, EPOLLIN);
    forward(output);
}

static void output_begin(struct command *command, int fd)
{
    struct output *output = &command->outputs[command->count++];
    output->command = command;
    outlet_begin(&command->agent->link, &output->outlet, command->channel, (unsigned)command->count, output_resume);
    watch_begin(&output->watch, command->agent->poll, fd, output_ready);
    watch_set(&output->watch, EPOLLIN);
}

/* ---- its end ---- */

static void command_exited(struct watch *watch, uint32_t events)
{
    struct command *command = container_of(watch, struct command, exit);
    (void)events;
    if (waitpid(command->pid, &command->status, WNOHANG) != command->pid)
        return;
    watch_end(watch);
    command->exited = true;
    for (int i = 0; i < command->count; i++)
        command->outputs[i].last = now_ms();
}

/* 0: it has ended or is silent, or in how many milliseconds it may be. */
static int64_t unsettled(struct output *output)
{
    int64_t last = output->last, left = last + QUIET_MS - now_ms();
    if (output->ended || output->silent)
        return 0;
    if (output->held)
        return INT_MAX;
    if (left > 0)
        return left;
    forward(output); /* a busy agent is silent too: only after a look at the pipe is silence the pipe's */
    if (!output->ended && (output->held || output->last != last))
        return QUIET_MS;
    output->silent = true;
    return 0;
}

static void announce(struct command *command)
{
    struct json_object *event = event_of("exit", command->channel), *code = NULL, *signal = NULL;
    int number = WTERMSIG(command->status);
    char name[32];
    if (WIFSIGNALED(command->status)) {
        snprintf(name, sizeof name, "SIG%s", sigabbrev_np(number) ? sigabbrev_np(number) : "RTMIN");
        signal = json_object_new_string(name);
    } else {
        code = json_object_new_int(WEXITSTATUS(command->status));
    }
    json_object_object_add(event, "code", code);
    json_object_object_add(event, "signal", signal);
    link_send(&command->agent->link, event);
    command->announced = true;
}

static void finish(struct command *command)
{
    link_send(&command->agent->link, event_of("closed", command->channel));
    LIST_REMOVE(command, entry);
    free(command);
}

/* In how many milliseconds it wants another look. */
static int64_t settle(struct command *command)
{
    int64_t wait = 0;
    for (int i = 0; !command->announced && i < command->count; i++) {
        int64_t one = unsettled(&command->outputs[i]);
        wait = one > wait ? one : wait;
    }
    if (wait > 0)
        return wait;
    if (!command->announced)
        announce(command);
    bool open = false;
    for (int i = 0; i < command->count; i++)
        open = open || !command->outputs[i].ended;
    if (!open)
        finish(command);
    return INT_MAX;
}

int commands_settle(struct agent *agent)
{
    int64_t wait = INT_MAX;
    struct command *next;
    for (struct command *command = LIST_FIRST(&agent->commands); command; command = next) {
        next = LIST_NEXT(command, entry);
        int64_t one = command->exited ? settle(command) : INT_MAX;
        wait = one < wait ? one : wait;
    }
    return wait == INT_MAX ? -1 : (int)wait;
}

/* ---- its beginning ---- */

/* The ends of a command's three pipes, of which some may be -1. */
struct pipes {
    int ours[3], theirs[3];
};

struct launch {
    char **words, **environment;
    const char *folder;
    int stdio[3];
};

static void close_ends(const int ends[3])
{
    for (int i = 0; i < 3; i++)
        if (ends[i] >= 0)
            close(ends[i]);
}

/* Of all three descriptors that are wanted, or none. */
static bool open_pipes(struct pipes *pipes, bool input, bool error)
{
    const bool wanted[3] = {input, true, error};
    *pipes = (struct pipes){{-1, -1, -1}, {-1, -1, -1}};
    for (int i = 0; i < 3; i++) {
        int ends[2];
        if (!wanted[i])
            continue;
        if (pipe2(ends, O_CLOEXEC) != 0) {
            close_ends(pipes->ours);
            close_ends(pipes->theirs);
            return false;
        }
        pipes->ours[i] = ends[i == 0];
        pipes->theirs[i] = ends[i != 0];
        fcntl(pipes->ours[i], F_SETFL, O_NONBLOCK);
    }
    return true;
}

/* In the child, which has its parent's memory. Returns only if it cannot be done. */
static void become(const struct launch *launch)
{
    sigset_t none;
    setsid();
    for (int i = 0; i < 3; i++)
        dup2(launch->stdio[i], i);
    if (chdir(launch->folder) != 0)
        return;
    for (int i = 1; i < 32; i++)
        signal(i, SIG_DFL);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    execvp(launch->words[0], launch->words);
}

/* The process, or -1 with errno; the program is looked for in the PATH of its own environment. */
static pid_t start(const struct launch *launch)
{
    char **own = environ;
    volatile int problem = 0;
    environ = launch->environment;
    pid_t pid = vfork();
    if (pid == 0) {
        become(launch);
        problem = errno;
        _exit(127);
    }
    environ = own;
    if (pid > 0 && problem != 0) {
        waitpid(pid, NULL, 0);
        errno = problem;
        return -1;
    }
    return pid;
}

/* The program with its arguments; they live as long as MESSAGE. */
static char **words_of(struct json_object *message)
{
    static const char *const as_root[] = {"unshare", "--user", "--map-root-user", "--"};
    struct json_object *argv = json_object_object_get(message, "argv");
    size_t before = is_set(message, "sudo") ? sizeof as_root / sizeof *as_root : 0,
           count = json_object_array_length(argv);
    const char **words = claim((before + count + 1) * sizeof *words);
    memcpy(words, as_root, before * sizeof *words);
    for (size_t i = 0; i < count; i++)
        words[before + i] = json_object_get_string(json_object_array_get_idx(argv, i));
    return (char **)words;
}

static size_t add_variables(char **variables, size_t count, struct json_object *from, struct json_object *except)
{
    json_object_object_foreach(from, key, value)
    {
        const char *text = value ? json_object_get_string(value) : "null";
        if (json_object_object_get_ex(except, key, NULL))
            continue;
        variables[count] = claim(strlen(key) + strlen(text) + 2);
        sprintf(variables[count++], "%s=%s", key, text);
    }
    return count;
}

static char **environment_of(struct agent *agent, struct json_object *message)
{
    struct json_object *own = json_object_object_get(message, "env");
    size_t count =
        (size_t)json_object_object_length(agent->environment) + (own ? (size_t)json_object_object_length(own) : 0);
    char **variables = claim((count + 1) * sizeof *variables);
    count = add_variables(variables, 0, agent->environment, own);
    if (own)
        add_variables(variables, count, own, NULL);
    return variables;
}

static pid_t launch(struct agent *agent, struct json_object *message, const char *folder, const struct pipes *pipes)
{
    struct launch launch = {words_of(message), environment_of(agent, message), folder, {0}};
    memcpy(launch.stdio, pipes->theirs, sizeof launch.stdio);
    if (launch.stdio[0] < 0)
        launch.stdio[0] = agent->nothing;
    if (launch.stdio[2] < 0)
        launch.stdio[2] = launch.stdio[1];
    pid_t pid = start(&launch);
    int problem = errno;
    if (pid < 0 && problem == ENOENT)
        refuse(agent, message, "ENOENT", NULL, "%s: no such file or directory", launch.words[0]);
    else if (pid < 0)
        refuse(agent, message, code_of(problem), NULL, "spawn %s %s", launch.words[0], code_of(problem));
    for (char **variable = launch.environment; *variable; variable++)
        free(*variable);
    free(launch.environment);
    free(launch.words);
    return pid;
}

static void command_begin(struct agent *agent, struct json_object *message, pid_t pid, const struct pipes *pipes)
{
    struct command *command = claim(sizeof *command);
    struct json_object *result = json_object_new_object();
    command->agent = agent;
    command->channel = channel_of(message);
    command->pid = pid;
    LIST_INSERT_HEAD(&agent->commands, command, entry);
    watch_begin(&command->exit, agent->poll, pidfd_open(pid, 0), command_exited);
    watch_set(&command->exit, EPOLLIN);
    for (int i = 1; i < 3; i++)
        if (pipes->ours[i] >= 0)
            output_begin(command, pipes->ours[i]);
    if (pipes->ours[0] >= 0)
        input_feed(input_of(agent, command->channel), pipes->ours[0]);
    json_object_object_add(result, "pid", json_object_new_int(pid));
    answer(agent, message, result);
}

void commands_run(struct agent *agent, struct json_object *message)
{
    const char *folder = path_of(agent, message, "cwd");
    struct stat status;
    struct pipes pipes;
    if (json_object_array_length(json_object_object_get(message, "argv")) == 0) {
        refuse(agent, message, "ERR_INVALID_ARG_TYPE", NULL, "there is no program");
        return;
    }
    if (stat(folder, &status) != 0 || !S_ISDIR(status.st_mode)) {
        refuse(agent, message, "ENOENT", "cwd", "%s: no such file or directory", folder);
        return;
    }
    if (!open_pipes(&pipes, is_set(message, "input"), !is_set(message, "merged"))) {
        refuse_errno(agent, message, "pipe", folder);
        return;
    }
    pid_t pid = launch(agent, message, folder, &pipes);
    close_ends(pipes.theirs);
    if (pid > 0)
        command_begin(agent, message, pid, &pipes);
    else
        close_ends(pipes.ours);
}

/* ---- signals ---- */

/* -1: there is none of this name */
static int signal_of(struct json_object *message)
{
    const char *name = text_of(message, "signal");
    if (!name || strncmp(name, "SIG", 3) != 0)
        return -1;
    for (int number = 1; number < NSIG; number++)
        if (sigabbrev_np(number) && strcmp(sigabbrev_np(number), name + 3) == 0)
            return number;
    return -1;
}

void commands_kill(struct agent *agent, struct json_object *message)
{
    struct json_object *result = json_object_new_object();
    struct command *command = LIST_FIRST(&agent->commands);
    int number = signal_of(message);
    while (command && command->channel != channel_of(message))
        command = LIST_NEXT(command, entry);
    bool killed = command && number > 0 && kill(is_set(message, "group") ? -command->pid : command->pid, number) == 0;
    json_object_object_add(result, "killed", json_object_new_boolean(killed));
    answer(agent, message, result);
}
