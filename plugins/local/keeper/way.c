#include "way.h"

#include "../protocol.h"
#include "boxes.h"

#include <sandlot/sdk/cleanup.h>

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sandlot/provider.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

enum { CONTROL_FD = 3, FIXED_FDS = 2, FIRST_FREE_FD = 10, SEND_LIMIT_MS = 1000, PREPARE_MS = 20000 };

int way_open_program(const char *name)
{
    char path[PATH_MAX + 32];
    const ssize_t length = readlink("/proc/self/exe", path, PATH_MAX - 1);

    path[length > 0 ? length : 0] = '\0';
    char *slash = strrchr(path, '/');

    if (!slash)
        return -1;
    snprintf(slash, sizeof(path) - (size_t)(slash - path), "/%s", name);
    return open(path, O_PATH | O_CLOEXEC);
}

static void init(struct way *way, struct box *box)
{
    *way = (struct way){.knock = {SOURCE_KNOCK},
                        .answers = {SOURCE_EGRESS},
                        .box = box,
                        .listener_fd = -1,
                        .control_fd = -1,
                        .pid = -1};
}

/* Becomes the user that the box is on the machine. By the system calls themselves: the keeper has threads, of which
 * this copy has none. */
static bool become(const struct box *box)
{
    if (geteuid() == box->host_uid)
        return true;
    return syscall(SYS_setgroups, 0, NULL) == 0 &&
           syscall(SYS_setresgid, box->host_uid, box->host_uid, box->host_uid) == 0 &&
           syscall(SYS_setresuid, box->host_uid, box->host_uid, box->host_uid) == 0;
}

/* In the child: gives it the descriptors FDS as 3 and up, the last of which may be -1, and nothing else of the
 * keeper's.
 */
static _Noreturn void become_egress(const struct box *box, pid_t keeper, int program_fd, const int fds[FIXED_FDS + 1])
{
    char *const arguments[] = {(char[]){"sandlot-egress"}, NULL};
    char *const environment[] = {NULL};
    const int program = fcntl(program_fd, F_DUPFD_CLOEXEC, FIRST_FREE_FD);
    const int count = FIXED_FDS + (fds[FIXED_FDS] >= 0);
    int high[FIXED_FDS + 1];

    for (int i = 0; i < count; i++)
        high[i] = fcntl(fds[i], F_DUPFD_CLOEXEC, FIRST_FREE_FD);
    for (int i = 0; i < count; i++)
        if (dup2(high[i], CONTROL_FD + i) < 0)
            _exit(1);
    /* Its standard descriptors are /dev/null; the keeper's third one is its log. */
    if (dup2(0, 2) < 0 || close_range((unsigned)(CONTROL_FD + count), ~0U, CLOSE_RANGE_CLOEXEC) < 0 || !become(box))
        _exit(1);
    prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    if (getppid() == keeper)
        fexecve(program, arguments, environment);
    _exit(1);
}

/* What the keeper has of the way, which from now on its caller has: first the listener, if it is there. */
static size_t take_sockets(struct way *way, int fds[GATE_SOCKETS + 1])
{
    size_t count = 0;

    if (way->listener_fd >= 0)
        fds[count++] = take_fd(&way->listener_fd);
    for (size_t i = 0; i < way->gate.count; i++)
        fds[count++] = way->gate.fds[i];
    way->gate.count = 0;
    return count;
}

/* With all sockets that the proxy has not got yet. */
static int send_policy(struct way *way)
{
    AUTO_FREE char *text = NULL;
    int fds[GATE_SOCKETS + 1];
    const size_t count = take_sockets(way, fds);
    int result = -1;

    if (asprintf(&text, "%s\n%s", way->box->id, way->policy ? way->policy : "") < 0)
        text = NULL;
    way->sent++;
    if (text && protocol_send(way->control_fd, MESSAGE_NETWORK, text, strlen(text), fds, count,
                              sandlot_now_ms() + SEND_LIMIT_MS) == PROTOCOL_OK)
        result = 0;
    for (size_t i = 0; i < count; i++)
        close(fds[i]);
    return result;
}

/* The process of the way is gone, or to go: nothing leaves the box from here on. */
static void abandon(struct way *way)
{
    if (way->pid > 0) {
        kill(way->pid, SIGKILL);
        while (waitpid(way->pid, NULL, 0) < 0 && errno == EINTR)
            continue;
    }
    if (way->control_fd >= 0)
        close(take_fd(&way->control_fd));
    if (way->listener_fd >= 0)
        close(take_fd(&way->listener_fd));
    gate_sockets_close(&way->gate);
    way->pid = -1;
    way->dead = true;
}

/* For those who ask what holds. */
static void note_end(const struct keeper *keeper, const struct way *way)
{
    char name[BOX_ID_SIZE + 16];

    snprintf(name, sizeof(name), "%s/network.ended", way->box->id);
    AUTO_CLOSE int fd = openat(keeper->state.boxes_fd, name, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
}

void way_break(const struct keeper *keeper, struct way *way)
{
    abandon(way);
    note_end(keeper, way);
}

/* Starts PROGRAM_FD for the box of WAY. 0 or -1. */
static int launch(const struct keeper *keeper, struct way *way, int program_fd, int secrets_fd)
{
    char name[BOX_ID_SIZE + 16];
    int pair[2];

    snprintf(name, sizeof(name), "%s/network.log", way->box->id);
    AUTO_CLOSE int log = openat(keeper->state.boxes_fd, name, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);

    if (log < 0 || program_fd < 0 || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
        return -1;
    AUTO_CLOSE int theirs = pair[1];
    const int fds[FIXED_FDS + 1] = {theirs, log, secrets_fd};
    const pid_t self = getpid();

    way->control_fd = pair[0];
    way->pid = _Fork(); /* the keeper has threads: thread.h */
    if (way->pid == 0)
        become_egress(way->box, self, program_fd, fds);
    return way->pid < 0 ? -1 : 0;
}

/* Gives the running proxy the listener and the policy. */
static int hand_over(const struct keeper *keeper, struct way *way)
{
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = &way->answers};

    if (fcntl(way->listener_fd, F_SETFL, O_NONBLOCK) < 0 ||
        epoll_ctl(keeper->epoll_fd, EPOLL_CTL_ADD, way->control_fd, &event) < 0)
        return -1;
    return send_policy(way);
}

/* What a prepared proxy says first: the certificate, or a failure. */
static bool take_certificate(struct received *message, struct trusted *trusted, uint32_t *status, char *reason,
                             size_t size)
{
    const size_t head = offsetof(struct failure, message);

    if (message->header.kind == MESSAGE_AUTHORITY) {
        trusted->certificate = strdup(message->body);
        trusted->truststore_fd = received_take_fd(message, 0);
        return trusted->certificate;
    }
    if (message->header.kind == MESSAGE_FAILED && message->header.length == sizeof(struct failure)) {
        memcpy(status, message->body, sizeof(*status));
        snprintf(reason, size, "%.500s", message->body + head);
    }
    return false;
}

bool way_prepare(struct keeper *keeper, struct box *box, int secrets_fd, struct trusted *trusted, uint32_t *status,
                 char *reason, size_t size)
{
    struct received message;

    init(&box->way, box);
    *status = SANDLOT_DEPENDENCY_MISSING;
    snprintf(reason, size,
             "the proxy for the credentials of the sandbox, sandlot-egress-credentials, could not be started or ended "
             "at once; install Sandlot anew");
    if (launch(keeper, &box->way, keeper->credentials_program, secrets_fd) < 0 ||
        protocol_receive(box->way.control_fd, &message, sandlot_now_ms() + PREPARE_MS, -1) != PROTOCOL_OK)
        return false;
    const bool taken = take_certificate(&message, trusted, status, reason, size);

    received_clear(&message);
    return taken;
}

/* Has the keeper hear of a knock at the sockets of the gate, or no longer. 0, or -1 with errno. */
static int watch_gate(const struct keeper *keeper, struct way *way, int operation)
{
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = &way->knock};
    int result = 0;

    for (size_t i = 0; i < way->gate.count; i++)
        if (epoll_ctl(keeper->epoll_fd, operation, way->gate.fds[i], &event) < 0)
            result = -1;
    return result;
}

int way_begin(struct keeper *keeper, struct box *box, int listener_fd, struct gate_sockets *gate, char *policy)
{
    struct way *way = &box->way;
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = &way->knock};

    if (!way->box)
        init(way, box);
    way->listener_fd = listener_fd;
    way->gate = *gate;
    way->policy = policy;
    if (way->pid > 0)
        return hand_over(keeper, way);
    if (epoll_ctl(keeper->epoll_fd, EPOLL_CTL_ADD, listener_fd, &event) < 0)
        return -1;
    return watch_gate(keeper, way, EPOLL_CTL_ADD);
}

void way_knocked(struct keeper *keeper, struct way *way)
{
    /* Another of its sockets may have been knocked at in the same moment. */
    if (way->control_fd >= 0 || way->dead)
        return;
    epoll_ctl(keeper->epoll_fd, EPOLL_CTL_DEL, way->listener_fd, NULL);
    watch_gate(keeper, way, EPOLL_CTL_DEL);
    if (launch(keeper, way, keeper->egress_program, -1) == 0 && hand_over(keeper, way) == 0)
        return;
    way_break(keeper, way);
}

enum way_answer way_heard(const struct keeper *keeper, struct way *way)
{
    struct received message;
    const enum protocol_result result = protocol_receive(way->control_fd, &message, 0, -1);

    if (result == PROTOCOL_TIMEOUT)
        return WAY_NOTHING;
    if (result == PROTOCOL_OK) {
        received_clear(&message);
        way->taken++;
        return WAY_DONE;
    }
    way_break(keeper, way);
    return WAY_ENDED;
}

int way_change(struct keeper *keeper, struct way *way, struct gate_sockets *gate, char *policy)
{
    if (way->dead || way->box == NULL) {
        gate_sockets_close(gate);
        free(policy);
        return -1;
    }
    free(way->policy);
    way->policy = policy;
    gate_sockets_close(&way->gate); /* which takes them out of epoll, too */
    way->gate = *gate;
    if (way->control_fd < 0)
        return watch_gate(keeper, way, EPOLL_CTL_ADD) == 0 ? 1 : -1;
    if (send_policy(way) == 0)
        return 0;
    abandon(way);
    return -1;
}

void way_end(struct way *way)
{
    if (!way->box)
        return;
    abandon(way);
    free(way->policy);
    way->policy = NULL;
}
