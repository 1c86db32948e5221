#include "outside_guard.h"

#include "../network_link.h"
#include "routes.h"
#include "tap_filter.h"
#include "tap_link.h"

#include <sandlot/sdk/cleanup.h>

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <poll.h>
#include <sandlot/provider.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

enum { CONTROL_FD = 3, NETWORK_FD, USER_FD, FIXED_FDS = 3, FIRST_FREE_FD = 10, LINK_LIMIT_MS = 10000, LOOK_MS = 10 };

/* The guard, which has no other copy. */
struct state {
    int machine_fd; /* routes of the machine */
    int box_fd;     /* and of the box */
    int errors_fd;  /* what pasta complains of */
    int go_fd;      /* pasta waits here for the number of `place` */
    int tap_fd;     /* pasta's device; -1: there is none yet */
    int pasta_fd;   /* a pidfd */
    pid_t pasta;
    pid_t place;      /* a process that is only there for its network namespace */
    bool versions[2]; /* of the internet, 4 and 6, those that the machine has a default route of */
    struct tap_filter filter;
    char said[OUTSIDE_GUARD_TEXT]; /* the last that pasta complained of */
};

static _Noreturn void give_up(const char *format, ...) __attribute__((format(printf, 1, 2)));

static _Noreturn void give_up(const char *format, ...)
{
    char text[OUTSIDE_GUARD_TEXT];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    send(CONTROL_FD, text, strlen(text), MSG_NOSIGNAL | MSG_DONTWAIT);
    _exit(1);
}

/* ---- descriptors and rights ---- */

/* Gives this process the descriptors that it needs, and nothing else of the keeper's. */
static void keep_descriptors(const struct outside_guard *guard)
{
    const int fds[FIXED_FDS] = {guard->keeper_fd, guard->network_fd, guard->user_fd};
    int high[FIXED_FDS];

    for (int i = 0; i < FIXED_FDS; i++)
        high[i] = fcntl(fds[i], F_DUPFD_CLOEXEC, FIRST_FREE_FD);
    for (int i = 0; i < FIXED_FDS; i++)
        if (dup3(high[i], CONTROL_FD + i, O_CLOEXEC) < 0)
            _exit(1);
    if (dup2(0, 2) < 0 || close_range(CONTROL_FD + FIXED_FDS, ~0U, 0) < 0)
        _exit(1);
}

/* Who the box's user is in its own user namespace, which this process has entered. */
static unsigned user_inside(void)
{
    AUTO_CLOSE int fd = open("/proc/self/uid_map", O_RDONLY | O_CLOEXEC);
    char text[64] = "";

    if (fd < 0 || read(fd, text, sizeof(text) - 1) <= 0)
        give_up("the box's user is not known: %s", strerror(errno));
    return (unsigned)strtoul(text, NULL, 10);
}

/* Enters the box's user namespace as its user, with all rights in it and none elsewhere. */
static void enter_user(void)
{
    const bool root = geteuid() == 0;

    if (root && syscall(SYS_setgroups, 0, NULL) < 0)
        give_up("the groups of root cannot be left: %s", strerror(errno));
    /* Safe: from this machine's rights to those of a box. */
    if (setns(USER_FD, CLONE_NEWUSER) < 0)
        give_up("the box's user namespace cannot be entered: %s", strerror(errno));
    const unsigned id = root ? user_inside() : geteuid();

    if (root && (syscall(SYS_setresgid, id, id, id) < 0 || syscall(SYS_setresuid, id, id, id) < 0))
        give_up("the box's user cannot be taken on: %s", strerror(errno));
}

static bool set_rights(uint64_t rights, bool pass_on)
{
    struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
    struct __user_cap_data_struct data[2];

    for (int i = 0; i < 2; i++) {
        data[i].effective = data[i].permitted = (uint32_t)(rights >> 32 * i);
        data[i].inheritable = pass_on ? data[i].permitted : 0;
    }
    return syscall(SYS_capset, &header, data) == 0;
}

/* ---- pasta ---- */

static const uint64_t PASTA_RIGHTS =
    UINT64_C(1) << CAP_SYS_ADMIN | UINT64_C(1) << CAP_NET_ADMIN | UINT64_C(1) << CAP_NET_BIND_SERVICE;

static _Noreturn void become_pasta(pid_t guard, int go_fd, int errors_fd)
{
    char place[64] = "";
    pid_t number;
    char *const words[] = {
        (char[]){"pasta"}, (char[]){"--foreground"}, (char[]){"--quiet"}, (char[]){"--netns-only"}, (char[]){"--netns"},
        place, (char[]){"--no-netns-quit"},
        /* A network of its own, so that nothing of the machine's shows, or hides what has the same address. */
        (char[]){"--ns-ifname"}, (char[]){LINK_NAME}, (char[]){"--address"}, (char[]){LINK_ADDRESS},
        (char[]){"--netmask"}, (char[]){LINK_BITS}, (char[]){"--gateway"}, (char[]){LINK_GATEWAY},
        (char[]){"--address"}, (char[]){LINK_ADDRESS_6}, (char[]){"--gateway"}, (char[]){LINK_GATEWAY_6},
        (char[]){"--no-dhcp"}, (char[]){"--no-dhcpv6"}, (char[]){"--no-ra"},
        /* Nothing of the machine's loopback, but the resolver that the machine itself asks. */
        (char[]){"--no-map-gw"}, (char[]){"--dns-forward"}, (char[]){LINK_RESOLVER}, (char[]){"--tcp-ports"},
        (char[]){"none"}, (char[]){"--udp-ports"}, (char[]){"none"}, (char[]){"--tcp-ns"}, (char[]){"none"},
        (char[]){"--udp-ns"}, (char[]){"none"}, NULL};
    char *const environment[] = {(char[]){"PATH=/usr/bin:/bin"}, NULL};

    signal(SIGPIPE, SIG_DFL); /* it gives up where that was another's business before */
    signal(SIGHUP, SIG_DFL);
    if (dup2(errors_fd, 1) < 0 || dup2(errors_fd, 2) < 0 || !set_rights(PASTA_RIGHTS, true))
        _exit(1);
    for (int right = 0; right < 64; right++)
        if (PASTA_RIGHTS >> right & 1)
            prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, right, 0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    if (getppid() != guard || read(go_fd, &number, sizeof(number)) != (ssize_t)sizeof(number))
        _exit(1);
    snprintf(place, sizeof(place), "/proc/%d/ns/net", number);
    execve(LINK_PROGRAM, words, environment);
    _exit(1);
}

/* It is made in the machine's network, where its sockets are to be, and waits. */
static void make_pasta(struct state *state)
{
    const pid_t self = getpid();
    int go[2];
    int errors[2];

    if (pipe2(go, O_CLOEXEC) < 0 || pipe2(errors, O_CLOEXEC | O_NONBLOCK) < 0)
        give_up("no pipes can be made: %s", strerror(errno));
    state->pasta = _Fork();
    if (state->pasta == 0)
        become_pasta(self, go[0], errors[1]);
    if (state->pasta < 0)
        give_up("no process can be made: %s", strerror(errno));
    close(go[0]);
    close(errors[1]);
    state->go_fd = go[1];
    state->errors_fd = errors[0];
    state->pasta_fd = (int)syscall(SYS_pidfd_open, state->pasta, 0);
}

/* Closes all that it has when it stands. */
static _Noreturn void become_place(pid_t guard)
{
    if (set_rights(0, false) && prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) == 0 &&
        prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) == 0 && getppid() == guard && close_range(0, ~0U, 0) == 0)
        pause();
    _exit(1);
}

/* pasta finds the box's network by the number of a process, which must have no right that pasta has not. */
static void make_place(struct state *state)
{
    const pid_t self = getpid();
    int stands[2];
    char byte;

    if (pipe2(stands, O_CLOEXEC) < 0)
        give_up("no pipe can be made: %s", strerror(errno));
    state->place = _Fork();
    if (state->place < 0)
        give_up("no process can be made: %s", strerror(errno));
    if (state->place == 0)
        become_place(self);
    close(stands[1]);
    while (read(stands[0], &byte, 1) < 0 && errno == EINTR) /* it ends when the other side is closed */
        continue;
    close(stands[0]);
}

/* Notes the last line of what it complains of, without which its pipe would fill. */
static void hear_errors(struct state *state)
{
    char text[OUTSIDE_GUARD_TEXT];
    ssize_t got;

    while ((got = read(state->errors_fd, text, sizeof(text) - 1)) > 0) {
        text[got] = '\0';
        for (char *at = text, *line; (line = strsep(&at, "\n"));)
            if (*line && !strstr(line, "syslog"))
                snprintf(state->said, sizeof(state->said), "%.400s", line);
    }
}

static bool pasta_ended(const struct state *state)
{
    return waitpid(state->pasta, NULL, WNOHANG) != 0;
}

/* ---- what stays closed ---- */

/* The filter keeps it closed; the route says so at once to who asks. */
static bool refuse_network(void *context, const address *network, unsigned bits)
{
    struct state *state = context;

    return tap_filter_close(&state->filter, network, bits) && routes_refuse(state->box_fd, network, bits) == 0;
}

/* What is the machine's own, in either form. The box has a loopback of its own. */
static bool refuse_own(void *context, const struct route *route)
{
    const address translated = address_nat64(&route->network);
    struct state *state = context;

    if (route->by_default)
        state->versions[!address_is_version_4(&route->network)] = true;
    if (!route->own || address_class(&route->network) == ADDRESS_LOOPBACK)
        return true;
    if (address_is_version_4(&route->network) && !refuse_network(context, &translated, route->bits))
        return false;
    return refuse_network(context, &route->network, route->bits);
}

static bool filter_tap(const struct state *state)
{
    return state->tap_fd < 0 || tap_filter_attach(&state->filter, state->tap_fd) == 0;
}

/* Reads all that is the machine's own now. */
static bool refuse_all_own(struct state *state)
{
    const int64_t deadline_ms = sandlot_now_ms() + LINK_LIMIT_MS;
    bool all = false;

    if (routes_ask(state->machine_fd) < 0)
        return false;
    while (!all)
        if (routes_hear(state->machine_fd, deadline_ms, refuse_own, state, &all) < 0 && errno != ENOBUFS)
            return false;
    return filter_tap(state);
}

/* What is new of it. Where news were lost, all is read again. */
static bool refuse_new(struct state *state)
{
    bool all = false;

    while (routes_hear(state->machine_fd, 0, refuse_own, state, &all) == 0)
        continue;
    return errno == EAGAIN ? filter_tap(state) : errno == ENOBUFS && refuse_all_own(state);
}

/* ---- the box's side ---- */

/* Nothing leaves by the device before it is filtered: until then it is down. */
static void start_pasta(struct state *state)
{
    const int64_t end = sandlot_now_ms() + LINK_LIMIT_MS;

    if (write(state->go_fd, &state->place, sizeof(state->place)) != (ssize_t)sizeof(state->place))
        give_up("pasta could not be told to begin: %s", strerror(errno));
    while ((state->tap_fd = tap_link_find(state->pasta_fd)) < 0) {
        hear_errors(state);
        if (pasta_ended(state) || sandlot_now_ms() > end)
            give_up("pasta says: %s", *state->said ? state->said : "nothing; look at the system's log");
        poll(NULL, 0, LOOK_MS);
    }
    if (!filter_tap(state))
        give_up("its device cannot be filtered: %s", strerror(errno));
    if (tap_link_up(state->versions[0], state->versions[1]) < 0)
        give_up("its device cannot be set up: %s", strerror(errno));
}

/* Until the keeper wishes no more, or pasta ends, or something new could not be closed. */
static void watch(struct state *state)
{
    struct pollfd fds[] = {{CONTROL_FD, POLLIN, 0},
                           {state->pasta_fd, POLLIN, 0},
                           {state->machine_fd, POLLIN, 0},
                           {state->errors_fd, POLLIN, 0}};
    const size_t count = sizeof(fds) / sizeof(*fds);

    while (poll(fds, count, -1) > 0 || errno == EINTR) {
        if (fds[0].revents || fds[1].revents || (fds[2].revents && !refuse_new(state)))
            return;
        if (fds[3].revents)
            hear_errors(state);
        if (fds[3].revents & POLLHUP)
            fds[3].fd = -1;
    }
}

_Noreturn void outside_guard_become(const struct outside_guard *guard)
{
    static struct state state = {.tap_fd = -1};

    prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    if (getppid() != guard->keeper)
        _exit(1);
    prctl(PR_SET_NAME, "sandlot-outside", 0, 0, 0);
    keep_descriptors(guard);
    state.machine_fd = routes_open();
    enter_user();
    prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0); /* forgotten with the user */
    if (getppid() != guard->keeper)
        _exit(1);
    make_pasta(&state);
    /* Safe: into the box's network, where there is nothing but its loopback. */
    if (setns(NETWORK_FD, CLONE_NEWNET) < 0)
        give_up("the box's network cannot be entered: %s", strerror(errno));
    state.box_fd = routes_open();
    make_place(&state);
    if (!set_rights(UINT64_C(1) << CAP_NET_ADMIN | UINT64_C(1) << CAP_SYS_PTRACE, false))
        give_up("the guard cannot give its rights away: %s", strerror(errno));
    if (state.machine_fd < 0 || state.box_fd < 0 || !address_each_closed(refuse_network, &state) ||
        !refuse_all_own(&state))
        give_up("this machine's addresses cannot be closed in it: %s", strerror(errno));
    start_pasta(&state);
    if (send(CONTROL_FD, &(char){OUTSIDE_GUARD_READY}, 1, MSG_NOSIGNAL) == 1)
        watch(&state);
    kill(state.pasta, SIGKILL);
    while (waitpid(state.pasta, NULL, 0) < 0 && errno == EINTR)
        continue;
    close(state.tap_fd); /* with which the device goes, before the keeper hears of it */
    _exit(0);
}
