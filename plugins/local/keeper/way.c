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

enum { CONTROL_FD = 3, FIXED_FDS = 3, FIRST_FREE_FD = 10, SEND_LIMIT_MS = 1000 };

int way_open_program(void)
{
    char path[PATH_MAX + 32];
    const ssize_t length = readlink("/proc/self/exe", path, PATH_MAX - 1);

    path[length > 0 ? length : 0] = '\0';
    char *slash = strrchr(path, '/');

    if (!slash)
        return -1;
    strcpy(slash, "/sandlot-egress");
    return open(path, O_PATH | O_CLOEXEC);
}

int way_begin(struct keeper *keeper, struct box *box, int listener_fd, char *policy)
{
    struct way *way = &box->way;
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = &way->knock};

    *way = (struct way){.knock = {SOURCE_KNOCK},
                        .answers = {SOURCE_EGRESS},
                        .box = box,
                        .listener_fd = listener_fd,
                        .control_fd = -1,
                        .pid = -1,
                        .policy = policy};
    return epoll_ctl(keeper->epoll_fd, EPOLL_CTL_ADD, listener_fd, &event);
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

/* In the child: gives it the descriptors FDS as 3 and up, and nothing else of the keeper's. */
static _Noreturn void become_egress(const struct box *box, pid_t keeper, int program_fd, const int fds[FIXED_FDS])
{
    char *const arguments[] = {(char[]){"sandlot-egress"}, NULL};
    char *const environment[] = {NULL};
    const int program = fcntl(program_fd, F_DUPFD_CLOEXEC, FIRST_FREE_FD);
    int high[FIXED_FDS];

    for (int i = 0; i < FIXED_FDS; i++)
        high[i] = fcntl(fds[i], F_DUPFD_CLOEXEC, FIRST_FREE_FD);
    for (int i = 0; i < FIXED_FDS; i++)
        if (dup2(high[i], CONTROL_FD + i) < 0)
            _exit(1);
    /* Its standard descriptors are /dev/null; the keeper's third one is its log. */
    if (dup2(0, 2) < 0 || close_range(CONTROL_FD + FIXED_FDS, ~0U, CLOSE_RANGE_CLOEXEC) < 0 || !become(box))
        _exit(1);
    prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    if (getppid() == keeper)
        fexecve(program, arguments, environment);
    _exit(1);
}

static int send_policy(struct way *way)
{
    AUTO_FREE char *text = NULL;

    if (asprintf(&text, "%s\n%s", way->box->id, way->policy ? way->policy : "") < 0) {
        text = NULL;
        return -1;
    }
    way->sent++;
    return protocol_send(way->control_fd, MESSAGE_NETWORK, text, strlen(text), NULL, 0,
                         sandlot_now_ms() + SEND_LIMIT_MS) == PROTOCOL_OK
               ? 0
               : -1;
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

static int start(struct keeper *keeper, struct way *way)
{
    char name[BOX_ID_SIZE + 16];
    int pair[2];

    snprintf(name, sizeof(name), "%s/network.log", way->box->id);
    AUTO_CLOSE int log = openat(keeper->state.boxes_fd, name, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);

    if (log < 0 || keeper->egress_program < 0 || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
        return -1;
    AUTO_CLOSE int theirs = pair[1];
    const int fds[FIXED_FDS] = {theirs, way->listener_fd, log};
    const pid_t self = getpid();
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = &way->answers};

    way->control_fd = pair[0];
    way->pid = _Fork(); /* the keeper has threads: thread.h */
    if (way->pid == 0)
        become_egress(way->box, self, keeper->egress_program, fds);
    if (way->pid < 0 || epoll_ctl(keeper->epoll_fd, EPOLL_CTL_ADD, way->control_fd, &event) < 0)
        return -1;
    return send_policy(way);
}

void way_knocked(struct keeper *keeper, struct way *way)
{
    epoll_ctl(keeper->epoll_fd, EPOLL_CTL_DEL, way->listener_fd, NULL);
    if (start(keeper, way) == 0) {
        close(take_fd(&way->listener_fd));
        return;
    }
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

int way_change(struct way *way, char *policy)
{
    if (way->dead || way->box == NULL) {
        free(policy);
        return -1;
    }
    free(way->policy);
    way->policy = policy;
    if (way->control_fd < 0)
        return 1;
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
