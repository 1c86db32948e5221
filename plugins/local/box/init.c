#include "init.h"

#include "box.h"
#include "processes.h"
#include "uses.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sandlot/provider.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
    CLIENTS = 128,          /* connections; more wait in the listener's queue */
    COMMANDS = 64,          /* that run at a time */
    LASTING = 256,          /* supervisors that stay for what their commands have left to go on */
    DRAINS = 256,           /* pipes that background jobs still write to */
    DRAIN_AFTER_MS = 10000, /* when the reader of a pipe keeps silent for so long, it has read what it wanted */
    DRAIN_BYTES = 1024 * 1024,
    SWEEP_MS = 1000,
    ANSWER_MS = 100
};

/* One connection. While a supervisor runs it belongs to that. */
struct client {
    int fd;           /* -1: free */
    pid_t supervisor; /* 0: no command runs */
    int done_fd;      /* a byte comes when the supervisor leaves the connection, and stays; -1: it will not */
    int output;       /* the reading end of the running command's output, -1: none */
    uint32_t note;    /* enum run_note, if the keeper has had the running command killed */
};

/*
 * The reading end of the output of a command that has ended while a job of it lives on. Its caller is left the time to
 * read the rest; then what comes is thrown away, so that the job neither blocks nor dies of SIGPIPE.
 */
struct drain {
    int fd;
    int client;       /* the index of the caller; -1: it has moved on */
    int64_t after_ms; /* CLOCK_MONOTONIC */
};

struct init {
    const struct init_setup *setup;
    int timer_fd;
    int alive[2];       /* a pipe in which nothing is ever written: whoever has the reading end sees the box end */
    int64_t started_ms; /* CLOCK_BOOTTIME, as all of the time to live: it goes on while the machine sleeps */
    int64_t used_ms;
    size_t running;
    atomic_bool *answered;  /* of each place, shared with its supervisor: it has told the end, and is about to go */
    pid_t lasting[LASTING]; /* supervisors whose commands have ended */
    size_t lasting_count;
    struct client clients[CLIENTS];
    struct drain drains[DRAINS];
    size_t drain_count;
    struct uses uses;
};

enum {
    SLOT_LISTENER,
    SLOT_KEEPER,
    SLOT_SIGNAL,
    SLOT_TIMER,
    SLOT_DRAINS, /* as many as there are, then the uses, and then the clients */
    SLOTS = SLOT_DRAINS + DRAINS + USES + CLIENTS
};

static int64_t boot_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_BOOTTIME, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Ends the box. The kernel kills what is left in a process namespace; without one that is to be done here. */
static _Noreturn void end_box(const struct init *init, enum box_exit status)
{
    if (init->setup->confinement == CONFINEMENT_LANDLOCK)
        processes_kill(getpid(), NULL, 0, processes_now_ms() + SWEEP_MS);
    _exit(status);
}

/* ---- time to live ---- */

static bool is_over(int64_t start_ms, int64_t length_ms, int64_t now_ms)
{
    return length_ms > 0 && now_ms - start_ms >= length_ms;
}

/* Does something run that the box is to stay for? */
static bool is_used(const struct init *init)
{
    return init->running || init->lasting_count || init->uses.count;
}

/* Sets the timer to the next moment at which a time to live may be over. It is not moved with each use, but looked at
 * when it rings. */
static void set_timer(const struct init *init, int64_t now_ms)
{
    const int64_t hard_ms = init->setup->hard_ttl_ms;
    const int64_t idle_ms = init->setup->idle_ttl_ms;
    int64_t next_ms = hard_ms > 0 ? init->started_ms + hard_ms : INT64_MAX;
    const int64_t idle_at_ms = (is_used(init) ? now_ms : init->used_ms) + idle_ms;

    if (idle_ms > 0 && idle_at_ms < next_ms)
        next_ms = idle_at_ms;
    if (next_ms == INT64_MAX)
        return;
    const struct itimerspec when = {
        .it_value = {.tv_sec = (time_t)(next_ms / 1000), .tv_nsec = (long)(next_ms % 1000) * 1000000 + 1}};

    timerfd_settime(init->timer_fd, TFD_TIMER_ABSTIME, &when, NULL);
}

static void look_at_time(const struct init *init)
{
    const int64_t now_ms = boot_ms();
    uint64_t rings;

    if (read(init->timer_fd, &rings, sizeof rings) < 0 && errno != EAGAIN)
        end_box(init, BOX_EXIT_BROKEN);
    if (is_over(init->started_ms, init->setup->hard_ttl_ms, now_ms))
        end_box(init, BOX_EXIT_HARD_TTL);
    if (!is_used(init) && is_over(init->used_ms, init->setup->idle_ttl_ms, now_ms))
        end_box(init, BOX_EXIT_IDLE_TTL);
    set_timer(init, now_ms);
}

/* ---- output of background jobs ---- */

static void remove_drain(struct init *init, size_t i)
{
    close(init->drains[i].fd);
    init->drains[i] = init->drains[--init->drain_count];
}

/* The caller of CLIENT has read what it wanted of its earlier commands. */
static void release_drains(struct init *init, int client)
{
    for (size_t i = 0; i < init->drain_count; i++)
        if (init->drains[i].client == client)
            init->drains[i].client = -1;
}

static bool is_open_drain(const struct drain *drain, int64_t now_ms)
{
    return drain->client < 0 || now_ms >= drain->after_ms;
}

/* Keeps the reading end FD for as long as somebody writes. */
static void add_drain(struct init *init, int fd, int client)
{
    struct pollfd writers = {fd, 0, 0};

    /* Nobody writes any more: the caller has the other copy and reads the rest from it. */
    if (poll(&writers, 1, 0) != 0 || init->drain_count == DRAINS) {
        close(fd);
        return;
    }
    init->drains[init->drain_count++] = (struct drain){fd, client, processes_now_ms() + DRAIN_AFTER_MS};
}

/* Throws away what is there. False when there are no writers left. */
static bool drain(const struct init *init, int fd)
{
    const ssize_t moved = splice(fd, NULL, init->setup->profile.null_fd, NULL, DRAIN_BYTES, SPLICE_F_NONBLOCK);

    return moved > 0 || (moved < 0 && (errno == EAGAIN || errno == EINTR));
}

static void serve_drains(struct init *init, const struct pollfd *fds, size_t count)
{
    const int64_t now_ms = processes_now_ms();

    /* From the end, because a removal moves the last one to the free place. */
    for (size_t i = count; i-- > 0;) {
        if (!fds[i].revents)
            continue;
        if (!is_open_drain(&init->drains[i], now_ms) || !drain(init, init->drains[i].fd))
            remove_drain(init, i);
    }
}

/* ---- connections ---- */

static void answer(int fd, uint32_t kind, const void *body, size_t length)
{
    protocol_send(fd, kind, body, length, NULL, 0, processes_now_ms() + ANSWER_MS);
}

static void answer_failure(int fd, uint32_t status, const char *sentence)
{
    struct failure failure = {.status = status};

    snprintf(failure.message, sizeof failure.message, "%s", sentence);
    answer(fd, MESSAGE_FAILED, &failure, offsetof(struct failure, message) + strlen(failure.message) + 1);
}

static void drop_client(struct init *init, size_t i)
{
    release_drains(init, (int)i);
    /* Supervisors of other commands hold copies of the descriptor, and the caller is to see the end nevertheless. */
    shutdown(init->clients[i].fd, SHUT_RDWR);
    close(init->clients[i].fd);
    init->clients[i].fd = -1;
}

/* A free place for a connection, CLIENTS if there is none. */
static size_t free_place(const struct init *init)
{
    size_t i = 0;

    while (i < CLIENTS && init->clients[i].fd >= 0)
        i++;
    return i;
}

static void accept_client(struct init *init)
{
    const size_t i = free_place(init);
    const int fd = i < CLIENTS ? accept4(init->setup->listener_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK) : -1;

    if (fd >= 0)
        init->clients[i] = (struct client){.fd = fd, .output = -1, .done_fd = -1};
}

/* How many commands run. A caller may start its next one as soon as it was told the end: the supervisor that told it
 * does not count, however long it takes to go. */
static size_t count_commands(const struct init *init)
{
    size_t count = 0;

    for (size_t i = 0; i < CLIENTS; i++)
        count += init->clients[i].supervisor && !atomic_load(&init->answered[i]);
    return count;
}

static void run_command(struct init *init, struct client *client, struct received *message)
{
    atomic_bool *answered = &init->answered[client - init->clients];

    if (count_commands(init) >= COMMANDS) {
        answer_failure(client->fd, SANDLOT_EXHAUSTED,
                       "the sandbox runs 64 commands already; wait until one of them has ended");
        return;
    }
    int done[2] = {-1, -1};

    /* Without that pipe it is a command like any other. */
    if (supervisor_stays(message) && pipe2(done, O_CLOEXEC | O_NONBLOCK) < 0)
        done[0] = done[1] = -1;
    atomic_store(answered, false);
    const pid_t pid = _Fork(); /* not fork(3), which would look for the stacks of the keeper's threads */

    if (pid == 0)
        supervisor_run(&init->setup->profile, client->fd, done[1], message, answered);
    if (done[1] >= 0)
        close(done[1]);
    if (pid < 0) {
        if (done[0] >= 0)
            close(done[0]);
        answer_failure(
            client->fd, SANDLOT_EXHAUSTED,
            "no process can be started in the sandbox; end background jobs or raise the parameter processes");
        return;
    }
    client->supervisor = pid;
    client->done_fd = done[0];
    client->output = received_take_fd(message, 1);
    init->running++;
}

static void hand_out_root(const struct init *init, const struct client *client)
{
    if (init->setup->confinement == CONFINEMENT_LANDLOCK) {
        answer_failure(client->fd, SANDLOT_UNSUPPORTED,
                       "a sandbox with confinement landlock has no root of its own; use its files through commands");
        return;
    }
    const int fds[2] = {open("/", O_PATH | O_DIRECTORY | O_CLOEXEC), init->alive[0]};

    if (fds[0] < 0) {
        answer_failure(client->fd, SANDLOT_EXHAUSTED, "the sandbox has no descriptor left; end some of its commands");
        return;
    }
    protocol_send(client->fd, MESSAGE_ROOT_IS, NULL, 0, fds, 2, processes_now_ms() + ANSWER_MS);
    close(fds[0]);
}

/* It is connected by who gets it: nothing here waits. */
static void hand_out_socket(struct init *init, const struct client *client, struct received *message)
{
    uint32_t family = 0;

    if (init->setup->confinement == CONFINEMENT_LANDLOCK) {
        answer_failure(client->fd, SANDLOT_UNSUPPORTED,
                       "a sandbox with confinement landlock has no network of its own, so nothing can listen there; "
                       "use confinement full");
        return;
    }
    if (message->header.length == sizeof family)
        memcpy(&family, message->body, sizeof family);
    const int use = received_take_fd(message, 0);
    const bool has_room = use < 0 || uses_add(&init->uses, use);
    const int fd = has_room ? socket(family == AF_INET6 ? AF_INET6 : AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0) : -1;

    if (fd < 0) {
        answer_failure(client->fd, SANDLOT_EXHAUSTED,
                       "the sandbox can have no more connections to its ports; end some of them");
        return;
    }
    protocol_send(client->fd, MESSAGE_SOCKET_IS, NULL, 0, &fd, 1, processes_now_ms() + ANSWER_MS);
    close(fd);
}

static void serve_client(struct init *init, size_t i)
{
    struct client *client = &init->clients[i];
    struct received message;
    const enum protocol_result result = protocol_receive(client->fd, &message, 0, -1);

    if (result == PROTOCOL_TIMEOUT)
        return;
    if (result != PROTOCOL_OK) {
        drop_client(init, i);
        return;
    }
    init->used_ms = boot_ms();
    release_drains(init, (int)i);
    if (message.header.kind == MESSAGE_RUN || message.header.kind == MESSAGE_TERMINAL)
        run_command(init, client, &message);
    else if (message.header.kind == MESSAGE_ROOT)
        hand_out_root(init, client);
    else if (message.header.kind == MESSAGE_SOCKET)
        hand_out_socket(init, client, &message);
    else if (message.header.kind != MESSAGE_KILL) /* which comes late when its command has just ended */
        answer_failure(client->fd, SANDLOT_UNSUPPORTED,
                       "this request is unknown to the sandbox; it was created by another build of Sandlot");
    received_clear(&message);
}

/* ---- the dead ---- */

/* A command has killed its supervisor: nobody knows any more which processes are its own, so all go that no other
 * command owns. */
static void sweep(const struct init *init)
{
    pid_t supervisors[CLIENTS + LASTING];
    size_t count = 0;

    for (size_t i = 0; i < CLIENTS; i++)
        if (init->clients[i].fd >= 0 && init->clients[i].supervisor)
            supervisors[count++] = init->clients[i].supervisor;
    for (size_t i = 0; i < init->lasting_count; i++)
        supervisors[count++] = init->lasting[i];
    processes_kill(getpid(), supervisors, count, processes_now_ms() + SWEEP_MS);
}

/* The supervisor died before it could answer: by the keeper's order, or because its command killed it. */
static void answer_for_supervisor(const struct init *init, const struct client *client)
{
    const struct run_result result = {.exit_code = 128 + SIGKILL,
                                      .note = client->note ? client->note : (uint32_t)RUN_NOTE_SUPERVISOR};

    if (!client->note)
        sweep(init);
    answer(client->fd, MESSAGE_ENDED, &result, sizeof result);
}

/* The connection is free for the next command. */
static void command_left(struct init *init, size_t i)
{
    struct client *client = &init->clients[i];

    client->supervisor = 0;
    if (client->done_fd >= 0)
        close(client->done_fd);
    client->done_fd = -1;
    init->running--;
    init->used_ms = boot_ms();
}

/* The command of a supervisor that stays has ended, unless that has died. */
static void supervisor_left(struct init *init, size_t i)
{
    struct client *client = &init->clients[i];
    char done;

    if (read(client->done_fd, &done, 1) != 1) {
        close(client->done_fd);
        client->done_fd = -1;
        return;
    }
    if (init->lasting_count < LASTING)
        init->lasting[init->lasting_count++] = client->supervisor;
    command_left(init, i);
    if (client->output >= 0)
        add_drain(init, client->output, (int)i);
    client->output = -1;
}

static void lasting_ended(struct init *init, pid_t pid)
{
    for (size_t i = 0; i < init->lasting_count; i++)
        if (init->lasting[i] == pid) {
            init->lasting[i] = init->lasting[--init->lasting_count];
            init->used_ms = boot_ms();
            return;
        }
}

static void command_ended(struct init *init, size_t i, int status)
{
    struct client *client = &init->clients[i];

    command_left(init, i);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        answer_for_supervisor(init, client);
    client->note = RUN_NOTE_NONE;
    if (client->output >= 0)
        add_drain(init, client->output, (int)i);
    client->output = -1;
}

/* A supervisor has ended, or was stopped: then its command wants to outlive its deadline, which comes to the same as
 * killing it. */
static void supervisor_changed(struct init *init, size_t i, int status)
{
    if (WIFSTOPPED(status))
        kill(init->clients[i].supervisor, SIGKILL);
    else
        command_ended(init, i, status);
}

static void reap(struct init *init)
{
    struct signalfd_siginfo signal;
    bool ending = false;
    int status;
    pid_t pid;

    while (read(init->setup->profile.signal_fd, &signal, sizeof signal) == (ssize_t)sizeof signal)
        ending = ending || signal.ssi_signo != SIGCHLD;
    while ((pid = waitpid(-1, &status, WNOHANG | WUNTRACED)) > 0) {
        if (!WIFSTOPPED(status))
            lasting_ended(init, pid);
        for (size_t i = 0; i < CLIENTS; i++)
            if (init->clients[i].fd >= 0 && init->clients[i].supervisor == pid)
                supervisor_changed(init, i, status);
    }
    if (ending)
        end_box(init, BOX_EXIT_ENDED);
}

/* ---- the loop ---- */

/* How many places for connections to look at: behind them all are free. */
static size_t used_places(const struct init *init)
{
    size_t count = CLIENTS;

    while (count > 0 && init->clients[count - 1].fd < 0)
        count--;
    return count;
}

/* Writes down what to wait for; returns for how long. CLIENTS_AT: the slots of the connections, COUNT of them. */
static int fill_poll(const struct init *init, struct pollfd *fds, size_t clients_at, size_t count)
{
    const int64_t now_ms = processes_now_ms();
    int64_t wait_ms = -1;

    fds[SLOT_LISTENER] = (struct pollfd){free_place(init) < CLIENTS ? init->setup->listener_fd : -1, POLLIN, 0};
    fds[SLOT_KEEPER] = (struct pollfd){init->setup->keeper_fd, POLLIN, 0};
    fds[SLOT_SIGNAL] = (struct pollfd){init->setup->profile.signal_fd, POLLIN, 0};
    fds[SLOT_TIMER] = (struct pollfd){init->timer_fd, POLLIN, 0};
    for (size_t i = 0; i < count; i++)
        fds[clients_at + i] =
            (struct pollfd){init->clients[i].supervisor ? init->clients[i].done_fd : init->clients[i].fd, POLLIN, 0};
    for (size_t i = 0; i < init->drain_count; i++) {
        const struct drain *drain = &init->drains[i];
        const bool open = is_open_drain(drain, now_ms);
        const int64_t left_ms = drain->after_ms - now_ms;

        fds[SLOT_DRAINS + i] = (struct pollfd){drain->fd, open ? POLLIN : 0, 0};
        if (!open && (wait_ms < 0 || left_ms < wait_ms))
            wait_ms = left_ms;
    }
    uses_fill_poll(&init->uses, fds + SLOT_DRAINS + init->drain_count);
    return (int)wait_ms;
}

/* The keeper has found the box beyond a limit that the kernel does not watch: everything in it but init is to die. */
static void obey(struct init *init, char order)
{
    for (size_t i = 0; i < CLIENTS; i++)
        init->clients[i].note = init->clients[i].supervisor ? (uint32_t)order : RUN_NOTE_NONE;
    /* In a process namespace -1 means all of the box; without one it would mean all of the user's. */
    if (init->setup->confinement == CONFINEMENT_FULL)
        kill(-1, SIGKILL);
    else
        processes_kill(getpid(), NULL, 0, processes_now_ms() + SWEEP_MS);
}

static void look_at_keeper(struct init *init)
{
    char order;
    const ssize_t got = recv(init->setup->keeper_fd, &order, 1, MSG_DONTWAIT);

    if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR))
        end_box(init, BOX_EXIT_ENDED);
    if (got == 1 && (order == KEEPER_ORDER_MEMORY || order == KEEPER_ORDER_DISK || order == KEEPER_ORDER_VOLUME))
        obey(init, order);
}

/* Something has come from a connection, or from the supervisor that has it. */
static void serve_place(struct init *init, size_t i)
{
    const struct client *client = &init->clients[i];

    if (client->supervisor && client->done_fd >= 0)
        supervisor_left(init, i);
    else if (client->fd >= 0 && !client->supervisor)
        serve_client(init, i);
}

static void turn(struct init *init)
{
    struct pollfd fds[SLOTS];
    const size_t drains = init->drain_count;
    const size_t uses = init->uses.count;
    const size_t clients = SLOT_DRAINS + drains + uses;
    const size_t places = used_places(init);
    const int wait_ms = fill_poll(init, fds, clients, places);

    /* No more slots than are needed: poll(2) refuses more than the limit of open files, whatever is in them. */
    if (poll(fds, clients + places, wait_ms) < 0 && errno != EINTR)
        end_box(init, BOX_EXIT_BROKEN);
    if (fds[SLOT_KEEPER].revents)
        look_at_keeper(init);
    if (fds[SLOT_TIMER].revents)
        look_at_time(init);
    serve_drains(init, fds + SLOT_DRAINS, drains);
    if (uses_end(&init->uses, fds + SLOT_DRAINS + drains, uses))
        init->used_ms = boot_ms();
    if (fds[SLOT_SIGNAL].revents)
        reap(init);
    for (size_t i = 0; i < places; i++)
        if (fds[clients + i].fd >= 0 && fds[clients + i].revents)
            serve_place(init, i);
    if (fds[SLOT_LISTENER].revents)
        accept_client(init);
}

int init_prepare(struct init_setup *setup)
{
    sigset_t signals;

    /* What the keeper ignores or handles is not to reach commands. By rt_sigaction(2) itself: signal(2) refuses the two
     * that the C library keeps to itself, and leaves ignored in what its own posix_spawn(3) has started. */
    static const unsigned long by_default[8]; /* the kernel's struct sigaction, whose SIG_DFL is 0 everywhere */

    for (int number = 1; number < NSIG; number++)
        syscall(SYS_rt_sigaction, number, by_default, NULL, (NSIG - 1) / 8);
    sigemptyset(&signals);
    sigaddset(&signals, SIGCHLD);
    if (setup->confinement == CONFINEMENT_LANDLOCK)
        sigaddset(&signals, SIGTERM); /* the keeper has died: end all in order, for nobody else will */
    if (sigprocmask(SIG_SETMASK, &signals, NULL) < 0)
        return -1;
    setup->profile.signal_fd = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
    return setup->profile.signal_fd < 0 ? -1 : 0;
}

_Noreturn void init_serve(const struct init_setup *setup)
{
    struct init init = {.setup = setup, .started_ms = boot_ms()};

    init.used_ms = init.started_ms;
    for (size_t i = 0; i < CLIENTS; i++)
        init.clients[i].fd = -1;
    init.timer_fd = timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK);
    const size_t size = CLIENTS * sizeof *init.answered;
    /* cppcheck-suppress invalidFunctionArg ; -1 is what MAP_ANONYMOUS wants */
    init.answered = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (init.answered == MAP_FAILED || init.timer_fd < 0 || pipe2(init.alive, O_CLOEXEC) < 0 ||
        prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) < 0)
        _exit(BOX_EXIT_BROKEN);
    set_timer(&init, init.started_ms);
    for (;;)
        turn(&init);
}
