#include "resolve.h"

#include "stand_in.h"

#include <errno.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <netdb.h>
#include <poll.h>
#include <sandlot/sdk/cleanup.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>

enum { LOOKUPS = 16 };

/* A child that can be killed, for getaddrinfo(3) has no deadline. Questions go to it, and a byte comes when one is
 * answered. It may stay for the next: the C library reads its configuration anew when that has changed. */
struct child {
    int fd; /* -1: there is none */
    pid_t pid;
};

/* A name that is being looked up. */
struct lookup {
    struct child child;
    uint32_t query;
    int64_t deadline_ms;
};

/* ---- in the helper ---- */

static int64_t now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* The address of SOCKET_ADDRESS in its mapped form; false if it is of neither version. */
static bool take_address(const struct sockaddr *socket_address, address *result)
{
    if (socket_address->sa_family == AF_INET6) {
        *result = ((const struct sockaddr_in6 *)(const void *)socket_address)->sin6_addr;
        return true;
    }
    if (socket_address->sa_family != AF_INET)
        return false;
    memset(result, 0, sizeof(*result));
    memset(result->s6_addr + 10, 0xff, 2);
    memcpy(result->s6_addr + 12, &((const struct sockaddr_in *)(const void *)socket_address)->sin_addr, 4);
    return true;
}

/* The addresses of the machine's interfaces. Of more than there is place for nothing is known: then nothing is dialled.
 */
static void add_own(struct resolve_answer *answer)
{
    struct ifaddrs *all = NULL;

    if (getifaddrs(&all) < 0)
        return;
    answer->own_known = 1;
    for (const struct ifaddrs *one = all; one; one = one->ifa_next) {
        address own;

        if (!one->ifa_addr || !take_address(one->ifa_addr, &own))
            continue;
        if (answer->own_count == RESOLVE_OWN)
            answer->own_known = 0;
        else
            answer->own[answer->own_count++] = own;
    }
    freeifaddrs(all);
}

static void look_up(const char *name, struct resolve_answer *answer)
{
    const struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_family = AF_UNSPEC};
    struct addrinfo *all = NULL;

    if (stand_in_names(name, answer->addresses, RESOLVE_ADDRESSES, &answer->count))
        return;
    if (getaddrinfo(name, NULL, &hints, &all) != 0)
        return;
    for (const struct addrinfo *one = all; one && answer->count < RESOLVE_ADDRESSES; one = one->ai_next)
        if (take_address(one->ai_addr, &answer->addresses[answer->count]))
            answer->count++;
    freeaddrinfo(all);
}

static void send_answer(int socket, const struct resolve_answer *answer)
{
    if (send(socket, answer, sizeof(*answer), MSG_NOSIGNAL) < 0)
        return; /* the proxy is gone, and so will this process be */
}

static void answer_question(int socket, const struct resolve_question *question)
{
    struct resolve_answer answer = {.query = question->query};

    if (address_parse(question->name, &answer.addresses[0]))
        answer.count = 1;
    else
        look_up(question->name, &answer);
    add_own(&answer);
    send_answer(socket, &answer);
}

static void answer_nothing(int socket, uint32_t query)
{
    const struct resolve_answer answer = {.query = query};

    send_answer(socket, &answer);
}

static struct lookup *free_lookup(struct lookup *lookups)
{
    for (size_t i = 0; i < LOOKUPS; i++)
        if (lookups[i].child.fd < 0)
            return &lookups[i];
    return NULL;
}

static _Noreturn void answer_questions(int socket, int fd)
{
    struct resolve_question question;

    while (recv(fd, &question, sizeof(question), 0) == (ssize_t)sizeof(question)) {
        answer_question(socket, &question);
        send(fd, "", 1, MSG_NOSIGNAL);
    }
    _exit(0);
}

static struct child make_child(int socket)
{
    const pid_t parent = getpid();
    int pair[2];

    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
        return (struct child){-1, -1};
    const pid_t pid = fork();

    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
        close(pair[0]);
        if (getppid() == parent)
            answer_questions(socket, pair[1]);
        _exit(1);
    }
    close(pair[1]);
    if (pid < 0)
        close(pair[0]);
    return (struct child){pid < 0 ? -1 : pair[0], pid};
}

static void end_child(struct child *child)
{
    if (child->fd < 0)
        return;
    close(take_fd(&child->fd));
    kill(child->pid, SIGKILL);
    while (waitpid(child->pid, NULL, 0) < 0 && errno == EINTR)
        continue;
}

/* Gives the question to the spare child. */
static void start_lookup(int socket, struct child *spare, struct lookup *lookup,
                         const struct resolve_question *question)
{
    if (spare->fd < 0)
        *spare = make_child(socket);
    *lookup = (struct lookup){*spare, question->query, now_ms() + RESOLVE_LIMIT_MS};
    *spare = (struct child){-1, -1};
    if (lookup->child.fd >= 0 &&
        send(lookup->child.fd, question, sizeof(*question), MSG_NOSIGNAL) == (ssize_t)sizeof(*question))
        return;
    end_child(&lookup->child);
    answer_nothing(socket, question->query);
}

static void take_question(int socket, struct child *spare, struct lookup *lookups)
{
    struct resolve_question question;
    const ssize_t got = recv(socket, &question, sizeof(question), MSG_DONTWAIT);

    if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR))
        _exit(0);
    if (got != (ssize_t)sizeof(question))
        return;
    question.name[HOST_SIZE - 1] = '\0';
    start_lookup(socket, spare, free_lookup(lookups), &question);
}

/* Its child has answered, and is the spare one now; or it has ended, or is killed because its time is over. */
static void end_lookup(int socket, struct child *spare, struct lookup *lookup)
{
    char done;
    const bool answered = recv(lookup->child.fd, &done, 1, MSG_DONTWAIT) == 1;

    if (!answered)
        answer_nothing(socket, lookup->query);
    if (answered && spare->fd < 0) {
        *spare = lookup->child;
        lookup->child.fd = -1;
    }
    end_child(&lookup->child);
}

static _Noreturn void help(int socket)
{
    struct lookup lookups[LOOKUPS];
    struct child spare = make_child(socket);

    for (size_t i = 0; i < LOOKUPS; i++)
        lookups[i].child.fd = -1;
    for (;;) {
        struct pollfd fds[LOOKUPS + 1] = {{free_lookup(lookups) ? socket : -1, POLLIN, 0}};
        int64_t next_ms = INT64_MAX;

        for (size_t i = 0; i < LOOKUPS; i++) {
            fds[i + 1] = (struct pollfd){lookups[i].child.fd, POLLIN, 0};
            if (lookups[i].child.fd >= 0 && lookups[i].deadline_ms < next_ms)
                next_ms = lookups[i].deadline_ms;
        }
        const int64_t left_ms = next_ms == INT64_MAX ? -1 : next_ms - now_ms();

        if (poll(fds, LOOKUPS + 1, next_ms == INT64_MAX ? -1 : left_ms < 0 ? 0 : (int)left_ms) < 0 && errno != EINTR)
            _exit(1);
        for (size_t i = 0; i < LOOKUPS; i++)
            if (lookups[i].child.fd >= 0 && (fds[i + 1].revents || now_ms() >= lookups[i].deadline_ms))
                end_lookup(socket, &spare, &lookups[i]);
        if (fds[0].revents)
            take_question(socket, &spare, lookups);
    }
}

/* ---- in the proxy ---- */

int resolve_start(void)
{
    int pair[2];

    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
        return -1;
    const pid_t parent = getpid();
    const pid_t pid = fork();

    if (pid == 0) {
        /* Of the proxy's descriptors it has but its end of the pair. */
        prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
        prctl(PR_SET_NAME, "sandlot-names", 0, 0, 0);
        if (getppid() != parent || dup2(pair[1], 3) < 0 || close_range(4, ~0U, 0) < 0)
            _exit(1);
        fcntl(3, F_SETFD, FD_CLOEXEC);
        help(3);
    }
    close(pair[1]);
    if (pid > 0 && fcntl(pair[0], F_SETFL, O_NONBLOCK) == 0)
        return pair[0];
    close(pair[0]);
    return -1;
}

bool resolve_ask(int socket, uint32_t query, const struct host *host)
{
    struct resolve_question question = {.query = query};

    strcpy(question.name, host->name);
    return send(socket, &question, sizeof(question), MSG_NOSIGNAL | MSG_DONTWAIT) == (ssize_t)sizeof(question);
}

int resolve_take(int socket, struct resolve_answer *answer)
{
    const ssize_t got = recv(socket, answer, sizeof(*answer), MSG_DONTWAIT);

    if (got < 0 && (errno == EAGAIN || errno == EINTR))
        return 0;
    return got == (ssize_t)sizeof(*answer) && answer->count <= RESOLVE_ADDRESSES && answer->own_count <= RESOLVE_OWN
               ? 1
               : -1;
}

bool resolve_is_own(const struct resolve_answer *answer, const address *value)
{
    for (size_t i = 0; i < answer->own_count; i++)
        if (address_equals(&answer->own[i], value))
            return true;
    return false;
}
