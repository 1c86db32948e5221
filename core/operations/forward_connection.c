#include "operations/forward_connection.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "operations/input.h"
#include "operations/listening.h"

#include <errno.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

/* One connection in the shape of the ABI. */
struct carrying {
    struct sandlot_connection connection;
    struct sandlot_sink sink;
    struct input input;
    struct forward_work *work;
    int fd;
    bool opened;
};

void forward_ring(int fd)
{
    static const uint64_t one = 1;

    /* An eventfd that is full is readable all the same. */
    while (write(fd, &one, sizeof(one)) < 0 && errno == EINTR)
        continue;
}

static void tell(const struct forward_work *work, const struct sandlot_error *problem)
{
    if (work->request.connection)
        work->request.connection(work->request.context, problem);
}

/* ---- what the provider calls ------------------------------------------------------------------------------------- */

/* Waits until the client takes more. False: the forwarding ends. */
static bool wait_for_client(const struct carrying *carrying)
{
    struct pollfd fds[2] = {{carrying->fd, POLLOUT, 0}, {cancellation_fd(carrying->work->stop), POLLIN, 0}};

    poll(fds, 2, -1);
    return fds[1].revents == 0;
}

static enum sandlot_status to_client(const struct sandlot_sink *sink, const void *bytes, size_t length)
{
    const struct carrying *carrying = sink->context;
    const char *at = bytes;

    while (length > 0) {
        ssize_t sent = send(carrying->fd, at, length, MSG_NOSIGNAL | MSG_DONTWAIT);

        if (sent < 0 && errno != EAGAIN && errno != EINTR)
            return SANDLOT_CANCELLED; /* the client has gone */
        if (sent < 0 && errno == EAGAIN && !wait_for_client(carrying))
            return SANDLOT_CANCELLED;
        at += sent > 0 ? sent : 0;
        length -= sent > 0 ? (size_t)sent : 0;
    }
    return SANDLOT_OK;
}

static void on_opened(const struct sandlot_connection *connection)
{
    struct carrying *carrying = connection->context;

    if (carrying->opened)
        return;
    carrying->opened = true;
    atomic_store(&carrying->work->look, FORWARD_NO_LOOK);
    tell(carrying->work, NULL);
}

static void on_closed(const struct sandlot_connection *connection)
{
    const struct carrying *carrying = connection->context;

    shutdown(carrying->fd, SHUT_WR);
}

/* ---- what became of it ------------------------------------------------------------------------------------------- */

static void say_closed(const struct forward_work *work, const char *others, struct sandlot_error *problem)
{
    sandlot_error_clear(problem);
    error_set(problem, SANDLOT_CODE_PORT_CLOSED, "nothing listens on port %u in the sandbox%s%s",
              (unsigned)work->request.port, others ? "; " : "", others ? others : "");
}

/* Nothing listens, if the sandbox agrees: then PROBLEM says what does. Of refusals one after the other only the first
 * looks, which may be a request at the vendor. */
static void look_around(struct forward_work *work, struct sandlot_error *problem)
{
    enum forward_look before = atomic_exchange(&work->look, FORWARD_LOOKED);
    struct listening listening;

    if (before == FORWARD_PORT_CLOSED) {
        atomic_store(&work->look, before);
        say_closed(work, NULL, problem);
        return;
    }
    if (before == FORWARD_LOOKED || !listening_look(work->session, work->stop, &listening) ||
        listening_has(&listening, work->request.port))
        return;
    AUTO_FREE char *others = listening_text(&listening);

    atomic_store(&work->look, FORWARD_PORT_CLOSED);
    say_closed(work, others, problem);
}

/* After `opened` an end is an end, however it came about; only that the provider has died is worth a word. */
static void settle(struct carrying *carrying, enum sandlot_status status, struct sandlot_error *problem)
{
    struct forward_work *work = carrying->work;
    bool is_over = status == SANDLOT_OK || cancellation_check(cancellation_fd(work->stop), NULL) < 0;

    if (status == SANDLOT_NOT_FOUND)
        forward_ring(work->gone_fd);
    if (is_over || (carrying->opened && problem->code != SANDLOT_CODE_PROVIDER_CRASHED))
        return;
    if (status == SANDLOT_UNAVAILABLE)
        look_around(work, problem);
    tell(work, problem);
}

static void carry(struct forward_work *work, int fd)
{
    struct sandlot_error problem = {0};
    struct carrying carrying = {.work = work, .fd = fd};
    enum sandlot_status status;
    const int stop_fd = cancellation_fd(work->stop);

    input_init(&carrying.input, fd, 0, stop_fd);
    carrying.sink = (struct sandlot_sink){sizeof(carrying.sink), &carrying, to_client};
    carrying.connection = (struct sandlot_connection){.size = sizeof(carrying.connection),
                                                      .port = work->request.port,
                                                      .input = &carrying.input.source,
                                                      .output = &carrying.sink,
                                                      .context = &carrying,
                                                      .opened = on_opened,
                                                      .closed = on_closed};
    session_connect_port(work->session, &carrying.connection, stop_fd, &status, &problem);
    settle(&carrying, status, &problem);
    sandlot_error_clear(&problem);
}

static void *run(void *argument)
{
    struct forward_connection *connection = argument;

    carry(connection->work, connection->fd);
    close(connection->fd);
    atomic_store(&connection->ended, true);
    forward_ring(connection->work->ended_fd);
    return NULL;
}

bool forward_connection_start(struct forward_connection *connection, struct forward_work *work, int fd)
{
    connection->work = work;
    connection->fd = fd;
    atomic_store(&connection->ended, false);
    connection->used = pthread_create(&connection->thread, NULL, run, connection) == 0;
    if (!connection->used)
        close(fd);
    return connection->used;
}
