/*
 * The keeper: one process per user that owns this user's boxes. A client starts it when there is none, with the
 * state folder as descriptor 3, a pipe for "ready" as descriptor 4, no arguments and no environment; so there is
 * nothing in its memory that a box could ever read there. It ends by itself soon after its last box and its last
 * client.
 */
#include "../box/walls.h"
#include "../protocol.h"
#include "serve.h"

#include <sandlot/sdk/cleanup.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sandlot/provider.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>

enum {
    STATE_FD = 3,
    READY_FD = 4,
    FEWEST_DESCRIPTORS = 32, /* with fewer no box comes to be */
    LINGER_MS = 10000,       /* how long it stays without boxes and clients */
    LOCK_LIMIT_MS = 5000,    /* for another keeper to serve, or to end */
    LOCK_PAUSE_MS = 2,
    PENDING_PAUSE_MS = 20
};

static volatile sig_atomic_t told_to_end;
static int signal_fd = -1;
static pid_t keeper_pid;

static void note_signal(int number)
{
    (void)number;
    /* A box begins as a copy of this process and must not take the signals meant for it as its own. */
    if (getpid() != keeper_pid)
        return;
    told_to_end = 1;
    if (write(signal_fd, &(uint64_t){1}, sizeof(uint64_t)) < 0)
        return;
}

/* Tells the client that started this process: "+", or a sentence why not. */
static void report(const char *text)
{
    if (write(READY_FD, text, strlen(text)) < 0)
        return; /* that client is gone; others will come */
}

static bool other_keeper_serves(void)
{
    int fd = protocol_connect(STATE_FD, "keeper.socket");

    if (fd >= 0)
        close(fd);
    return fd >= 0;
}

/* 1: this process is the keeper; 0: another one serves already; -1: neither, with the REASON. */
static int become_the_keeper(char *reason, size_t size)
{
    int lock = openat(STATE_FD, "keeper.lock", O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);

    for (int64_t end = sandlot_now_ms() + LOCK_LIMIT_MS; lock >= 0 && sandlot_now_ms() < end;) {
        if (flock(lock, LOCK_EX | LOCK_NB) == 0)
            return 1; /* held until this process ends */
        if (errno != EWOULDBLOCK) {
            snprintf(reason, size,
                     "keeper.lock in Sandlot's state folder cannot be locked: %s; set XDG_STATE_HOME to a folder on a "
                     "disk of this machine",
                     strerror(errno));
            return -1;
        }
        if (other_keeper_serves()) {
            close(lock);
            return 0;
        }
        poll(NULL, 0, LOCK_PAUSE_MS);
    }
    if (lock < 0)
        snprintf(reason, size,
                 "keeper.lock in Sandlot's state folder cannot be opened: %s; make sure that there is room "
                 "and that it may be written to",
                 strerror(errno));
    else
        snprintf(reason, size,
                 "another keeper holds the lock but does not serve; end the process sandlot-local-keeper");
    return -1;
}

/* Every box needs a few descriptors, and there may be a thousand of them. False: there can be none, as REASON says. */
static bool allow_many_descriptors(char *reason, size_t size)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
        return true;
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
    snprintf(reason, size, "only %llu files may be open, which are too few; raise the limit (ulimit -n)",
             (unsigned long long)limit.rlim_max);
    return limit.rlim_max >= FEWEST_DESCRIPTORS;
}

/* Those of whoever happened to start this process hold for all boxes of the user, whoever makes them: how much time and
 * memory one may have its own limits say. */
static void lift_limits(void)
{
    static const int lifted[] = {RLIMIT_CPU, RLIMIT_FSIZE, RLIMIT_DATA, RLIMIT_AS};
    const struct rlimit none = {RLIM_INFINITY, RLIM_INFINITY};
    struct rlimit limit;

    for (size_t i = 0; i < sizeof(lifted) / sizeof(*lifted); i++)
        if (setrlimit(lifted[i], &none) < 0 && getrlimit(lifted[i], &limit) == 0) {
            limit.rlim_cur = limit.rlim_max; /* only root may have more than that */
            setrlimit(lifted[i], &limit);
        }
}

static void watch_signals(void)
{
    struct sigaction action = {.sa_handler = note_signal};

    keeper_pid = getpid();
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGINT, &action, NULL);
    action.sa_handler = SIG_IGN;
    sigaction(SIGHUP, &action, NULL);
    sigaction(SIGPIPE, &action, NULL);
}

static int add_source(const struct keeper *keeper, int fd, struct source *source)
{
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = source};

    return epoll_ctl(keeper->epoll_fd, EPOLL_CTL_ADD, fd, &event);
}

/* All that must be there before the first client is served. Returns the listener, -1 with REASON. */
static int open_keeper(struct keeper *keeper, char *reason, size_t size)
{
    static struct source listening = {SOURCE_LISTENER};
    static struct source waking = {SOURCE_WAKE};

    if (state_open(&keeper->state, STATE_FD, reason, size) < 0)
        return -1;
    cgroups_find(&keeper->cgroups);
    network_start(&keeper->network);
    keeper->egress_program = way_open_program("sandlot-egress");
    keeper->credentials_program = way_open_program("sandlot-egress-credentials");
    keeper->filter = walls_filter_new(reason, size);
    if (!keeper->filter)
        return -1;
    boxes_sweep(keeper);
    keeper->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    keeper->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    signal_fd = keeper->wake_fd;
    unlinkat(STATE_FD, "keeper.socket", 0);
    int listener = protocol_listen(STATE_FD, "keeper.socket");

    if (listener >= 0 && fcntl(listener, F_SETFL, O_NONBLOCK) == 0 && add_source(keeper, listener, &listening) == 0 &&
        add_source(keeper, keeper->wake_fd, &waking) == 0 && guard_start(keeper->state.boxes_fd, keeper->wake_fd) == 0)
        return listener;
    snprintf(reason, size, "the keeper could not start to serve: %s", strerror(errno));
    return -1;
}

static void handle(struct keeper *keeper, const struct epoll_event *event, int listener)
{
    struct source *source = event->data.ptr;
    uint64_t count;

    switch (source->kind) {
    case SOURCE_LISTENER:
        serve_new_connections(keeper, listener);
        break;
    case SOURCE_WAKE:
        if (read(keeper->wake_fd, &count, sizeof(count)) > 0)
            boxes_heed_guard(keeper);
        break;
    case SOURCE_CONNECTION:
        serve_connection(keeper, (struct connection *)source);
        break;
    case SOURCE_BOX:
        serve_end_of_box(keeper, (struct box *)source);
        break;
    case SOURCE_KNOCK:
        way_knocked(keeper, (struct way *)(void *)((char *)source - offsetof(struct way, knock)));
        break;
    case SOURCE_EGRESS:
        serve_way(keeper, (struct way *)(void *)((char *)source - offsetof(struct way, answers)));
        break;
    case SOURCE_OUTSIDE:
        outside_heard(keeper, (struct outside *)source);
        break;
    }
}

/* Handles what there is until it is time to end. */
static void run(struct keeper *keeper, int listener)
{
    struct epoll_event event;
    int64_t idle_since = sandlot_now_ms();

    while (!told_to_end) {
        bool idle = !keeper->boxes && !keeper->connections;
        int pending = boxes_tend(keeper);
        int64_t end = idle_since + LINGER_MS - sandlot_now_ms();

        if (idle && end <= 0 && pending < 0 && state_is_clean())
            return;
        int timeout = pending >= 0 ? pending : !idle ? -1 : end > PENDING_PAUSE_MS ? (int)end : PENDING_PAUSE_MS;
        /* One at a time: handling one event can free what another one in the same batch points to. */
        int count = epoll_wait(keeper->epoll_fd, &event, 1, timeout);

        if (count > 0)
            handle(keeper, &event, listener);
        if (!idle)
            idle_since = sandlot_now_ms();
    }
}

static void end_all(struct keeper *keeper)
{
    while (keeper->boxes) {
        boxes_end(keeper->boxes, "the keeper of this user's boxes was told to end");
        serve_end_of_box(keeper, keeper->boxes);
    }
    boxes_tend(keeper);
}

int main(void)
{
    struct keeper keeper = {0};
    char reason[1024] = "";

    close_range(READY_FD + 1, ~0U, 0);
    fcntl(STATE_FD, F_SETFD, FD_CLOEXEC);
    fcntl(READY_FD, F_SETFD, FD_CLOEXEC);
    if (chdir("/") < 0)
        return 1;
    umask(0077);
    int own = become_the_keeper(reason, sizeof(reason));

    if (own <= 0) {
        report(own == 0 ? "+" : reason);
        return own < 0;
    }
    /* The client waits for this process; the one that stays belongs to nobody's terminal, session or process group. */
    pid_t child = fork();

    if (child != 0)
        return child < 0;
    lift_limits();
    watch_signals();
    int listener = allow_many_descriptors(reason, sizeof(reason)) ? open_keeper(&keeper, reason, sizeof(reason)) : -1;

    report(listener >= 0 ? "+" : reason);
    close(READY_FD);
    if (listener < 0)
        return 1;
    run(&keeper, listener);
    /* Who connected but was not served finds the connection closed, and starts another keeper. */
    unlinkat(STATE_FD, "keeper.socket", 0);
    close(listener);
    end_all(&keeper);
    return 0;
}
