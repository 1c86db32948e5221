/*
 * sandlot-worker: runs one provider apart from the host. Started by the loader, never by hand.
 *
 *   sandlot-worker MEMORY [confined [PLACE...]]
 *
 * with the control socket as descriptor 3. MEMORY: how many bytes it may use, 0: no limit. PLACE: what it sees besides
 * the system's own files, see wall_raise.
 *
 * On the control socket the host hands over connections, one message each with its descriptors, or asks for an orderly
 * end with a message without any. When the socket ends, so has the host, and this process ends at once.
 */
#include "loader/worker/program/program.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

enum { CONTROL = 3 };

/* AddressSanitizer reserves more than any limit, and shows what it is for by itself. */
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define LIMITS_MEMORY 0
#endif
#endif
#if !defined(LIMITS_MEMORY) && defined(__SANITIZE_ADDRESS__)
#define LIMITS_MEMORY 0
#endif
#ifndef LIMITS_MEMORY
#define LIMITS_MEMORY 1
#endif

static void limit_resources(const char *memory)
{
    static const struct rlimit no_core;
    rlim_t bytes = strtoull(memory, NULL, 10);
    const struct rlimit data = {bytes, bytes};

    setrlimit(RLIMIT_CORE, &no_core);
    if (bytes > 0 && LIMITS_MEMORY)
        setrlimit(RLIMIT_DATA, &data);
}

/* Takes the descriptors of one connection out of MESSAGE. 0: it has none. */
static size_t take_descriptors(struct msghdr *message, int *descriptors)
{
    const struct cmsghdr *header = CMSG_FIRSTHDR(message);

    if (!header || header->cmsg_type != SCM_RIGHTS)
        return 0;
    size_t count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);

    memcpy(descriptors, CMSG_DATA(header), count * sizeof(int));
    return count;
}

static void start_connection(const int *descriptors)
{
    struct connection *connection = calloc(1, sizeof(*connection));
    pthread_t thread;

    if (!connection)
        worker_give_up("out of memory");
    connection->socket = descriptors[0];
    connection->memory = channel_map(descriptors[1]);
    memcpy(connection->watches, descriptors + 2, sizeof(connection->watches));
    pthread_mutex_init(&connection->lock, NULL);
    close(descriptors[1]);
    if (!connection->memory || pthread_create(&thread, NULL, service_run, connection) != 0)
        worker_give_up("no memory for another connection");
    pthread_detach(thread);
}

/* Waits for what the host hands over. False: it asks for an orderly end. */
static bool take_connection(void)
{
    _Alignas(struct cmsghdr) char control[CMSG_SPACE(CHANNEL_DESCRIPTORS * sizeof(int))];
    int descriptors[CHANNEL_DESCRIPTORS];
    char byte;
    struct iovec part = {&byte, 1};
    struct msghdr message = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof(control)};
    ssize_t got = recvmsg(CONTROL, &message, MSG_CMSG_CLOEXEC);

    if (got < 0 && errno == EINTR)
        return true;
    if (got <= 0)
        _exit(EXIT_SUCCESS); /* the host has gone: nobody is left to wait for the provider */
    size_t count = take_descriptors(&message, descriptors);

    if (count == CHANNEL_DESCRIPTORS)
        start_connection(descriptors);
    else if (count > 0)
        worker_give_up("the host handed over what is no connection");
    return count > 0;
}

/* Descriptors that are left open go to the programs that a provider starts, and this one must not. */
static bool has_control(void)
{
    int type;
    socklen_t size = sizeof(type);

    return getsockopt(CONTROL, SOL_SOCKET, SO_TYPE, &type, &size) == 0 && fcntl(CONTROL, F_SETFD, FD_CLOEXEC) == 0;
}

static void do_nothing(int signal_number)
{
    (void)signal_number;
}

/* A connection that breaks is no reason to die. A handler and not SIG_IGN, which the programs that a provider starts
 * would inherit. */
static void survive_broken_pipes(void)
{
    const struct sigaction action = {.sa_handler = do_nothing, .sa_flags = SA_RESTART};

    sigaction(SIGPIPE, &action, NULL);
}

int main(int argument_count, char **arguments)
{
    bool is_confined = argument_count > 2 && strcmp(arguments[2], "confined") == 0;

    if (argument_count < 2 || (argument_count > 2 && !is_confined) || !has_control()) {
        fprintf(stderr,
                "sandlot-worker is started by Sandlot for a provider with isolation = \"process\", not by hand\n");
        return 2;
    }
    /* The thread that started this process lives as long as it wants it. */
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    survive_broken_pipes();
    limit_resources(arguments[1]);
    if (is_confined)
        wall_raise(arguments + 3);
    while (take_connection())
        continue;
    return EXIT_SUCCESS; /* with the library's own clean-up */
}
