#include "serve.h"

#include "../protocol.h"
#include "building.h"
#include "hold.h"
#include "reach.h"
#include "settle.h"
#include "volumes.h"

#include <sandlot/sdk/cleanup.h>

#include <errno.h>
#include <inttypes.h>
#include <sandlot/provider.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>

enum { SEND_LIMIT_MS = 2000 };

struct connection {
    struct source source;
    struct connection *next;
    int fd;
    struct box *held; /* the box that is stopped as long as this connection wants it */
    struct hold hold;
    struct box *leased;  /* the box that ends with this connection */
    struct box *awaited; /* the box whose end this connection wants to hear of */
    struct box *changed; /* the box whose change of policy this connection waits for, */
    unsigned change;     /* and the number of that among all that were sent */
};

static void answer(const struct connection *connection, uint32_t kind, const void *body, size_t length)
{
    /* A client that does not take its answer is as good as gone; its connection ends soon. */
    if (protocol_send(connection->fd, kind, body, length, NULL, 0, sandlot_now_ms() + SEND_LIMIT_MS) != PROTOCOL_OK)
        shutdown(connection->fd, SHUT_RDWR);
}

__attribute__((format(printf, 3, 4))) static void fail(const struct connection *connection, enum sandlot_status status,
                                                       const char *format, ...)
{
    struct failure failure = {.status = status};
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(failure.message, sizeof(failure.message), format, arguments);
    va_end(arguments);
    answer(connection, MESSAGE_FAILED, &failure, offsetof(struct failure, message) + strlen(failure.message) + 1);
}

/* Only processes of the same user may order boxes; the mode of the state folder says the same. */
static bool is_own_user(int fd)
{
    struct ucred peer;
    socklen_t length = sizeof(peer);

    return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &length) == 0 && peer.uid == geteuid();
}

static void add_connection(struct keeper *keeper, int fd)
{
    struct connection *connection = calloc(1, sizeof(*connection));
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = connection};

    if (!connection || epoll_ctl(keeper->epoll_fd, EPOLL_CTL_ADD, fd, &event) < 0) {
        free(connection);
        close(fd);
        return;
    }
    connection->source.kind = SOURCE_CONNECTION;
    connection->fd = fd;
    connection->next = keeper->connections;
    keeper->connections = connection;
}

void serve_new_connections(struct keeper *keeper, int listener)
{
    for (int fd; (fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC)) >= 0;) {
        if (!is_own_user(fd)) {
            close(fd);
            continue;
        }
        settle_descriptor(&fd);
        add_connection(keeper, fd);
    }
}

static void end_connection(struct keeper *keeper, struct connection *connection)
{
    hold_end(&connection->hold);
    /* Whoever made a layer of it was killed, or has failed. */
    keeper->unswept = keeper->unswept || connection->held;
    if (connection->leased) {
        connection->leased->lease = NULL;
        boxes_end(connection->leased, NULL);
    }
    for (struct connection **at = &keeper->connections; *at; at = &(*at)->next)
        if (*at == connection) {
            *at = connection->next;
            break;
        }
    close(connection->fd);
    free(connection);
}

/* Takes what the credentials are told in out of the MESSAGE. */
static void create(struct keeper *keeper, struct connection *connection, struct received *message)
{
    const int secrets_fd = received_take_fd(message, 0);
    struct settings settings;
    uint32_t status = SANDLOT_INTERNAL;
    char reason[1024] = "";

    if (connection->leased || !settings_read(message->body, &settings)) {
        if (secrets_fd >= 0)
            close(secrets_fd);
        fail(connection, SANDLOT_INTERNAL, "the keeper does not understand what box is wanted");
        return;
    }
    struct box *box = building_make(keeper, &settings, secrets_fd, &status, reason, sizeof(reason));

    settings_clear(&settings);
    if (!box) {
        fail(connection, status, "%s", reason);
        return;
    }
    box->lease = connection;
    connection->leased = box;
    answer(connection, MESSAGE_CREATED, box->id, strlen(box->id));
}

/* The client has noted the id of its box and wants it to live on. */
static void keep(struct connection *connection)
{
    if (connection->leased)
        connection->leased->lease = NULL;
    connection->leased = NULL;
}

static bool is_held(const struct keeper *keeper, const struct box *box)
{
    const struct connection *connection = keeper->connections;

    while (connection && connection->held != box)
        connection = connection->next;
    return connection;
}

static void hold_box(const struct keeper *keeper, struct connection *connection, const char *id)
{
    struct box *box = boxes_find(keeper, id);

    if (!box || box->ending || box->end_reason)
        fail(connection, SANDLOT_NOT_FOUND, "sandbox %.64s was not found; `sandlot list` shows what there is", id);
    else if (box->landlock || connection->held)
        fail(connection, SANDLOT_INTERNAL, "the keeper cannot stop this sandbox");
    else if (is_held(keeper, box))
        fail(connection, SANDLOT_UNAVAILABLE, "another snapshot of sandbox %s is being made; try again", id);
    else if (!hold_begin(&connection->hold, box->process.pid))
        fail(connection, SANDLOT_UNAVAILABLE,
             "the processes of sandbox %s could not be stopped for a moment; the machine is busy, try again", id);
    else {
        char most[24];

        connection->held = box;
        snprintf(most, sizeof(most), "%" PRIu64, guard_estimate(box->guarded));
        answer(connection, MESSAGE_DONE, most, strlen(most));
    }
}

static void turn_box(struct keeper *keeper, const struct connection *connection, const char *id, bool rebase)
{
    const enum turn_result result =
        connection->held && connection->hold.idle ? boxes_turn(keeper, connection->held, id, rebase) : TURN_NOT;

    if (result == TURN_DONE)
        answer(connection, MESSAGE_DONE, NULL, 0);
    else if (result == TURN_NOT)
        fail(connection, SANDLOT_UNSUPPORTED, "the files of the sandbox have to be copied");
    /* Of one that is broken its end tells. */
}

static void release_box(struct connection *connection)
{
    hold_end(&connection->hold);
    if (connection->held)
        answer(connection, MESSAGE_DONE, NULL, 0);
    connection->held = NULL;
}

/* The client has seen tar succeed in its box. */
static void take_unpacked(struct connection *connection)
{
    struct box *box = connection->leased;

    if (!box || !box->unpacks) {
        fail(connection, SANDLOT_INTERNAL, "this connection has no box that unpacks an archive");
        return;
    }
    box->unpacked = true;
    connection->awaited = box;
    boxes_end(box, NULL);
}

static void delete_box(struct keeper *keeper, struct connection *connection, const char *id)
{
    struct box *box = boxes_find(keeper, id);

    if (!box) {
        answer(connection, MESSAGE_DONE, NULL, 0);
        return;
    }
    connection->awaited = box;
    boxes_end(box, NULL);
}

static const char way_ended[] =
    "the proxy of this sandbox has ended, so nothing leaves it any more; create another sandbox";

/* The body: the box's id, a line feed, its new policy. */
static void change_network(struct keeper *keeper, struct connection *connection, char *body)
{
    char reason[512];
    char *policy = body + strcspn(body, "\n");

    if (!*policy) {
        fail(connection, SANDLOT_INTERNAL, "the keeper does not understand what is to be changed");
        return;
    }
    *policy++ = '\0';
    struct box *box = boxes_find(keeper, body);

    if (!box || box->ending) {
        fail(connection, SANDLOT_NOT_FOUND, "sandbox %.64s was not found; `sandlot list` shows what there is", body);
        return;
    }
    switch (reach_change(keeper, box, policy, reason, sizeof(reason))) {
    case 1:
        answer(connection, MESSAGE_DONE, NULL, 0);
        break;
    case 0:
        connection->changed = box;
        connection->change = box->way.sent;
        break;
    default:
        fail(connection, SANDLOT_UNAVAILABLE, "%s", *reason ? reason : way_ended);
    }
}

void serve_way(struct keeper *keeper, struct way *way)
{
    const enum way_answer heard = way_heard(keeper, way);

    for (struct connection *connection = keeper->connections; connection; connection = connection->next) {
        if (connection->changed != way->box || heard == WAY_NOTHING)
            continue;
        if (heard == WAY_DONE && connection->change > way->taken)
            continue;
        connection->changed = NULL;
        if (heard == WAY_DONE)
            answer(connection, MESSAGE_DONE, NULL, 0);
        else
            fail(connection, SANDLOT_UNAVAILABLE, "%s", way_ended);
    }
}

static void list(const struct keeper *keeper, const struct connection *connection)
{
    for (const struct box *box = keeper->boxes; box; box = box->next) {
        AUTO_FREE char *text = NULL;

        if (box->ending || box->end_reason || box->unpacks)
            continue;
        if (fields_add(&text, "id", box->id) && fields_add(&text, "run_label", box->run_label) &&
            fields_add_number(&text, "created_ms", box->created_ms))
            answer(connection, MESSAGE_LISTED, text, strlen(text));
    }
    answer(connection, MESSAGE_DONE, NULL, 0);
}

/* Whom the volumes are told, and whose boxes may have them. */
struct telling {
    const struct keeper *keeper;
    const struct connection *connection;
};

static void tell_volume(void *context, const struct volume_facts *facts)
{
    const struct telling *telling = context;
    struct timespec now;
    uint32_t writers;
    uint32_t readers;
    AUTO_FREE char *text = NULL;
    const bool used_now = boxes_with_volume(telling->keeper, facts->name, &writers, &readers);

    clock_gettime(CLOCK_REALTIME, &now);
    if (fields_add(&text, "name", facts->name) && fields_add_number(&text, "limit_mb", facts->limit_mb) &&
        fields_add_number(&text, "used_ms", used_now ? (int64_t)now.tv_sec * 1000 : facts->used_ms) &&
        fields_add_number(&text, "writers", writers) && fields_add_number(&text, "readers", readers))
        answer(telling->connection, MESSAGE_LISTED, text, strlen(text));
}

static void list_volumes(const struct keeper *keeper, const struct connection *connection)
{
    struct telling telling = {keeper, connection};

    volumes_each(&keeper->state, tell_volume, &telling);
    answer(connection, MESSAGE_DONE, NULL, 0);
}

static void delete_volume(const struct keeper *keeper, const struct connection *connection, const char *name)
{
    uint32_t writers;
    uint32_t readers;
    const struct box *box = boxes_with_volume(keeper, name, &writers, &readers);

    if (!settings_volume_valid(name))
        fail(connection, SANDLOT_INTERNAL, "the keeper does not understand which volume is meant");
    else if (box)
        fail(connection, SANDLOT_EXHAUSTED, "the sandbox %s has the volume %s; delete that sandbox first", box->id,
             name);
    else if (state_discard(&keeper->state, keeper->state.volumes_fd, name) < 0)
        fail(connection, SANDLOT_UNAVAILABLE,
             "the volume %s cannot be removed: %s; make sure that Sandlot's state folder may be written to", name,
             strerror(errno));
    else
        answer(connection, MESSAGE_DONE, NULL, 0);
}

/* A client of another build. Without boxes this keeper makes way at once: the client finds its connection closed. */
static void refuse_build(struct keeper *keeper, const struct connection *connection)
{
    size_t count = 0;

    for (const struct box *box = keeper->boxes; box; box = box->next)
        count++;
    if (count == 0)
        raise(SIGTERM);
    else
        fail(connection, SANDLOT_UNAVAILABLE,
             "%zu sandboxes of another version of Sandlot are alive; delete them with that version, wait until they "
             "end, or end their keeper, and them with it: kill %d",
             count, (int)getpid());
}

static void handle(struct keeper *keeper, struct connection *connection, struct received *message)
{
    if (message->header.build != PROTOCOL_VERSION) {
        refuse_build(keeper, connection);
        return;
    }
    switch (message->header.kind) {
    case MESSAGE_CREATE:
        create(keeper, connection, message);
        break;
    case MESSAGE_KEEP:
        keep(connection);
        break;
    case MESSAGE_HOLD:
        hold_box(keeper, connection, message->body);
        break;
    case MESSAGE_TURN:
    case MESSAGE_REBASE:
        turn_box(keeper, connection, message->body, message->header.kind == MESSAGE_REBASE);
        break;
    case MESSAGE_RELEASE:
        release_box(connection);
        break;
    case MESSAGE_SWEEP:
        boxes_sweep_layers(keeper);
        answer(connection, MESSAGE_DONE, NULL, 0);
        break;
    case MESSAGE_UNPACKED:
        take_unpacked(connection);
        break;
    case MESSAGE_DELETE:
        delete_box(keeper, connection, message->body);
        break;
    case MESSAGE_NETWORK:
        change_network(keeper, connection, message->body);
        break;
    case MESSAGE_VOLUMES:
        list_volumes(keeper, connection);
        break;
    case MESSAGE_DELETE_VOLUME:
        delete_volume(keeper, connection, message->body);
        break;
    case MESSAGE_LIST:
        state_sweep_downloads(&keeper->state);
        list(keeper, connection);
        break;
    default:
        fail(connection, SANDLOT_INTERNAL, "the keeper does not know messages of kind %u", message->header.kind);
    }
}

void serve_connection(struct keeper *keeper, struct connection *connection)
{
    struct received message;

    switch (protocol_receive(connection->fd, &message, 0, -1)) {
    case PROTOCOL_OK:
        handle(keeper, connection, &message);
        received_clear(&message);
        break;
    case PROTOCOL_TIMEOUT:
        break;
    default:
        end_connection(keeper, connection);
    }
}

void serve_end_of_box(struct keeper *keeper, struct box *box)
{
    struct box *dead = box; /* compared with only, once it is freed */

    if (box->lease)
        box->lease->leased = NULL;
    boxes_bury(keeper, box);
    for (struct connection *connection = keeper->connections; connection; connection = connection->next) {
        if (connection->changed == dead) {
            connection->changed = NULL;
            fail(connection, SANDLOT_NOT_FOUND, "the sandbox ended while its network was being changed");
        }
        if (connection->held == dead) {
            connection->held = NULL;
            keeper->unswept = true;
            hold_end(&connection->hold);
            fail(connection, SANDLOT_NOT_FOUND, "the sandbox ended while its snapshot was being made");
        }
        if (connection->awaited == dead) {
            connection->awaited = NULL;
            answer(connection, MESSAGE_DONE, NULL, 0);
        }
    }
}
