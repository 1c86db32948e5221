#include "loader/worker/dialogue.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

enum { FIRST_SIZE = 4096, MOST_CALLBACK_ARGUMENTS = 8 };

/* A struct of the host's whose functions the worker may call. */
struct object {
    const struct wire_struct *type;
    const void *at;
};

/* A descriptor of the host's that the worker's copy follows. */
struct watched {
    const void *owner; /* after a call of its functions the descriptor is looked at again */
    int fd;
    bool seen; /* it was readable, and the worker has been told */
};

struct dialogue {
    struct worker_connection *connection;
    const struct wire_function *function;
    const struct dialogue_rules *rules;
    struct wire_arena *arena;
    struct sandlot_call *call; /* NULL: the function has none */
    struct object *objects;    /* number N is objects[N - 1] */
    size_t object_count;
    size_t object_capacity;
    struct watched watched[CHANNEL_WATCHES];
    size_t watch_count;
    const void *self;            /* whose function is called back */
    int64_t ends_at_ms;          /* CLOCK_MONOTONIC; 0: no limit */
    enum sandlot_status stopped; /* by a sink */
    struct wire_writer out;
    unsigned char *in; /* what has come and is not used up */
    size_t in_length;
    size_t in_capacity;
    int gifts[CHANNEL_GIFTS];  /* -1: the caller has it */
    bool taken[CHANNEL_GIFTS]; /* it stands in the results */
    size_t gift_count;
    unsigned char *copy; /* a piece that is parsed where it goes */
    size_t copy_capacity;
    bool moves_many; /* the last bytes that were moved were many: more are to come at once */
};

/* ---- what the host writes ---------------------------------------------------------------------------------------- */

static uint64_t object_out(void *context, const struct wire_struct *type, const void *at)
{
    struct dialogue *dialogue = context;

    if (dialogue->object_count == dialogue->object_capacity) {
        size_t capacity = dialogue->object_capacity ? dialogue->object_capacity * 2 : 8;
        struct object *grown = realloc(dialogue->objects, capacity * sizeof(*grown));

        dialogue->out.failed = dialogue->out.failed || !grown;
        if (!grown)
            return 0;
        dialogue->objects = grown;
        dialogue->object_capacity = capacity;
    }
    dialogue->objects[dialogue->object_count++] = (struct object){type, at};
    return dialogue->object_count;
}

/* More than there is room for are not followed: such a source is read without being waited for. */
static uint64_t watch_out(void *context, const void *owner, int fd)
{
    struct dialogue *dialogue = context;

    if (dialogue->watch_count == CHANNEL_WATCHES)
        return 0;
    channel_set_watch(dialogue->connection->watches[dialogue->watch_count], false);
    dialogue->watched[dialogue->watch_count++] = (struct watched){.owner = owner, .fd = fd};
    return dialogue->watch_count;
}

static uint64_t handle_out(void *context, const void *handle)
{
    const struct dialogue *dialogue = context;

    return dialogue->rules->handle_number(dialogue->rules->context, handle);
}

/* ---- what it reads ----------------------------------------------------------------------------------------------- */

static void *self_in(void *context)
{
    const struct dialogue *dialogue = context;

    return (void *)(uintptr_t)dialogue->self;
}

static void *buffer_in(void *context, uint64_t *capacity)
{
    const struct dialogue *dialogue = context;
    struct channel_memory *memory = dialogue->connection->reader.memory;

    if (*capacity > sizeof(memory->buffer))
        *capacity = sizeof(memory->buffer);
    return memory->buffer;
}

static bool descriptor_in(void *context, uint64_t number, int *fd)
{
    struct dialogue *dialogue = context;

    if (number > dialogue->gift_count || dialogue->taken[number - 1])
        return false;
    *fd = dialogue->gifts[number - 1];
    dialogue->taken[number - 1] = true;
    return true;
}

/* A call that has failed has no results. */
static void hand_over_gifts(struct dialogue *dialogue)
{
    for (size_t i = 0; i < dialogue->gift_count; i++)
        if (dialogue->taken[i])
            dialogue->gifts[i] = -1;
}

static const char *keep(void *context, const char *text)
{
    const struct dialogue *dialogue = context;

    return dialogue->rules->keep ? dialogue->rules->keep(dialogue->rules->context, text) : NULL;
}

/* ---- time and cancellation --------------------------------------------------------------------------------------- */

static void end_by(struct dialogue *dialogue, int64_t limit_ms)
{
    if (!dialogue->ends_at_ms || dialogue->ends_at_ms > limit_ms)
        dialogue->ends_at_ms = limit_ms;
}

/* Tells the worker of a descriptor that has become readable. */
static void pass_on(struct dialogue *dialogue, size_t index)
{
    struct watched *watched = &dialogue->watched[index];

    if (watched->seen)
        return;
    watched->seen = true;
    if (watched->owner == dialogue->call)
        end_by(dialogue, sandlot_now_ms() + DIALOGUE_GRACE_MS);
    channel_set_watch(dialogue->connection->watches[index], true);
}

/* One of OWNER's functions has been called and has changed what it has. The worker is told before it hears of the
 * result, so that it need not wait for what is there already. */
static void look_again(struct dialogue *dialogue, const void *owner)
{
    for (size_t i = 0; i < dialogue->watch_count; i++) {
        struct pollfd fd = {dialogue->watched[i].fd, POLLIN, 0};

        if (dialogue->watched[i].owner != owner || owner == dialogue->call)
            continue;
        if (poll(&fd, 1, 0) > 0) {
            pass_on(dialogue, i);
            continue;
        }
        channel_set_watch(dialogue->connection->watches[i], false);
        dialogue->watched[i].seen = false;
    }
}

/* Waits for EVENTS on the socket, and no longer than LIMIT ms (-1: as long as it takes). *THERE: they have come. */
static enum dialogue_end wait_for(struct dialogue *dialogue, short events, int limit, bool *there)
{
    const struct worker_connection *connection = dialogue->connection;
    struct pollfd fds[CHANNEL_WATCHES + 2];
    size_t count = dialogue->watch_count;
    int64_t left = dialogue->ends_at_ms ? dialogue->ends_at_ms - sandlot_now_ms() : INT_MAX;

    *there = false;
    if (left <= 0)
        return DIALOGUE_LATE;
    for (size_t i = 0; i < count; i++)
        fds[i] = (struct pollfd){dialogue->watched[i].seen ? -1 : dialogue->watched[i].fd, POLLIN, 0};
    fds[count] = (struct pollfd){connection->socket, events, 0};
    fds[count + 1] = (struct pollfd){connection->process ? worker_process_fd(connection->process) : -1, POLLIN, 0};
    if (limit < 0 || limit > left)
        limit = dialogue->ends_at_ms ? (int)(left < INT_MAX ? left : INT_MAX) : -1;
    int ready = poll(fds, count + 2, limit);

    if (ready < 0 && errno != EINTR)
        return DIALOGUE_NO_MEMORY;
    if (ready <= 0)
        return DIALOGUE_RETURNED;
    for (size_t i = 0; i < count; i++)
        if (fds[i].revents)
            pass_on(dialogue, i);
    *there = fds[count].revents != 0;
    /* What it said before its end still counts. */
    return fds[count + 1].revents && !*there ? DIALOGUE_LOST : DIALOGUE_RETURNED;
}

/* ---- bytes on the socket ----------------------------------------------------------------------------------------- */

static enum dialogue_end send_message(struct dialogue *dialogue, uint32_t type)
{
    const struct wire_writer *out = &dialogue->out;
    struct channel_header header = {(uint32_t)out->length, type};
    struct iovec parts[2] = {{&header, sizeof(header)}, {out->bytes, out->length}};
    struct msghdr message = {.msg_iov = parts, .msg_iovlen = 2};

    if (out->failed || out->length > CHANNEL_LARGEST_CALL)
        return DIALOGUE_NO_MEMORY;
    while (parts[0].iov_len + parts[1].iov_len > 0) {
        ssize_t sent = sendmsg(dialogue->connection->socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT);

        if (sent < 0 && errno == EAGAIN) {
            bool there;
            enum dialogue_end end = wait_for(dialogue, POLLOUT, -1, &there);

            if (end != DIALOGUE_RETURNED)
                return end;
        }
        if (sent < 0 && errno != EAGAIN && errno != EINTR)
            return DIALOGUE_LOST;
        for (size_t i = 0; sent > 0 && i < 2; i++) {
            size_t part = (size_t)sent < parts[i].iov_len ? (size_t)sent : parts[i].iov_len;

            parts[i].iov_base = (char *)parts[i].iov_base + part;
            parts[i].iov_len -= part;
            sent -= (ssize_t)part;
        }
    }
    channel_beat(&dialogue->connection->reader.memory->host);
    return DIALOGUE_RETURNED;
}

/* Takes descriptors that came along; more than we have room for are closed. */
static void take_gifts(struct dialogue *dialogue, struct msghdr *message)
{
    for (struct cmsghdr *header = CMSG_FIRSTHDR(message); header; header = CMSG_NXTHDR(message, header)) {
        if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS)
            continue;
        size_t count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);

        for (size_t i = 0; i < count; i++) {
            int fd;

            memcpy(&fd, CMSG_DATA(header) + i * sizeof(fd), sizeof(fd));
            if (dialogue->gift_count < CHANNEL_GIFTS)
                dialogue->gifts[dialogue->gift_count++] = fd;
            else
                close(fd);
        }
    }
}

static bool grow(unsigned char **bytes, size_t *capacity, size_t wanted)
{
    if (*capacity >= wanted)
        return true;
    unsigned char *grown = realloc(*bytes, wanted);

    if (!grown)
        return false;
    *bytes = grown;
    *capacity = wanted;
    return true;
}

/* Takes what is on the socket now, as far as there is room. */
static enum dialogue_end receive(struct dialogue *dialogue)
{
    _Alignas(struct cmsghdr) char control[CMSG_SPACE(CHANNEL_GIFTS * sizeof(int))];
    struct iovec part = {dialogue->in + dialogue->in_length, dialogue->in_capacity - dialogue->in_length};
    struct msghdr message = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof(control)};
    ssize_t length = recvmsg(dialogue->connection->socket, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);

    if (length < 0 && (errno == EAGAIN || errno == EINTR))
        return DIALOGUE_RETURNED;
    if (length <= 0)
        return DIALOGUE_LOST;
    take_gifts(dialogue, &message);
    dialogue->in_length += (size_t)length;
    return DIALOGUE_RETURNED;
}

/* Is a whole message there? */
static bool has_message(const struct dialogue *dialogue, struct channel_header *header)
{
    if (dialogue->in_length < sizeof(*header))
        return false;
    memcpy(header, dialogue->in, sizeof(*header));
    return dialogue->in_length - sizeof(*header) >= header->length;
}

/* How much room the message that has begun needs; 0: it is too large. */
static size_t room_for(const struct dialogue *dialogue)
{
    struct channel_header header;

    if (dialogue->in_length < sizeof(header))
        return FIRST_SIZE;
    memcpy(&header, dialogue->in, sizeof(header));
    if (header.length > CHANNEL_LARGEST_ANSWER)
        return 0;
    return sizeof(header) + header.length > FIRST_SIZE ? sizeof(header) + header.length : FIRST_SIZE;
}

static void use_up(struct dialogue *dialogue, const struct channel_header *header)
{
    size_t used = sizeof(*header) + header->length;

    dialogue->in_length -= used;
    memmove(dialogue->in, dialogue->in + used, dialogue->in_length);
}

/* ---- the ring ---------------------------------------------------------------------------------------------------- */

/* Feeds one piece to its sink. What a sink may parse is copied first, so that it does not change while it is read. */
static enum dialogue_end feed(struct dialogue *dialogue, const struct channel_piece *piece)
{
    const struct object *object = &dialogue->objects[piece->stream - 1];
    const struct sandlot_sink *sink = object->at;
    const void *bytes = piece->bytes;

    if (dialogue->stopped != SANDLOT_OK)
        return DIALOGUE_RETURNED;
    if (!dialogue->function->in_place) {
        if (!grow(&dialogue->copy, &dialogue->copy_capacity, piece->length))
            return DIALOGUE_NO_MEMORY;
        bytes = memcpy(dialogue->copy, bytes, piece->length);
    }
    dialogue->stopped = sink->write(sink, bytes, piece->length);
    atomic_store(&dialogue->connection->reader.memory->stopped, (int32_t)dialogue->stopped);
    return DIALOGUE_RETURNED;
}

/* The worker names any of the call's structs: not all of their functions take as many arguments as that of a sink. */
static bool is_sink(const struct dialogue *dialogue, uint32_t stream)
{
    if (stream == 0 || stream > dialogue->object_count)
        return false;
    const struct wire_function *function = &dialogue->objects[stream - 1].type->functions[0];

    return function->argument_count > 1 && function->arguments[1].kind == WIRE_BYTES;
}

/* One piece of what is in the ring. *MORE: there was one. */
static enum dialogue_end drain_once(struct dialogue *dialogue, bool *more)
{
    struct channel_reader *reader = &dialogue->connection->reader;
    struct channel_piece piece;
    enum channel_look look = channel_look(reader, &piece);

    *more = look == CHANNEL_PIECE_READY;
    if (look == CHANNEL_NONSENSE || (*more && !is_sink(dialogue, piece.stream)))
        return DIALOGUE_NONSENSE;
    if (!*more)
        return DIALOGUE_RETURNED;
    enum dialogue_end end = feed(dialogue, &piece);

    channel_take(reader, &piece);
    dialogue->moves_many = piece.length >= CHANNEL_MANY;
    return end;
}

/* All that was put in before now, which is before the message that has just come. *ANY: there was something. */
static enum dialogue_end drain(struct dialogue *dialogue, bool *any)
{
    const struct channel_reader *reader = &dialogue->connection->reader;
    uint32_t until = atomic_load(&reader->memory->put);
    enum dialogue_end end = DIALOGUE_RETURNED;
    bool more = until != reader->taken;

    *any = more;
    /* What is looked at below may have become less meanwhile, and this would go on for as long as the worker likes. */
    if (until - reader->taken > CHANNEL_RECORDS)
        return DIALOGUE_NONSENSE;
    while (end == DIALOGUE_RETURNED && more) {
        end = drain_once(dialogue, &more);
        more = more && (int32_t)(until - reader->taken) > 0;
    }
    return end;
}

/* ---- callbacks --------------------------------------------------------------------------------------------------- */

/* Whose function is called: the call's services are object 0. NULL: there is no such function. */
static const struct wire_function *find_callback(struct dialogue *dialogue, struct wire_reader *reader,
                                                 const void **functions)
{
    uint64_t number = wire_get_number(reader);
    uint64_t index = wire_get_number(reader);
    bool of_call = number == 0 && dialogue->call;

    if (reader->failed || number > dialogue->object_count || (number == 0 && !of_call))
        return NULL;
    const struct wire_struct *type = of_call ? &wire_host : dialogue->objects[number - 1].type;

    if (index >= type->function_count)
        return NULL;
    dialogue->self = of_call ? dialogue->call : dialogue->objects[number - 1].at;
    *functions = of_call ? dialogue->call->host : dialogue->self;
    return &type->functions[index];
}

static bool call_back(const struct wire_function *function, const void *functions, void **arguments, ffi_arg *result)
{
    ffi_type *types[MOST_CALLBACK_ARGUMENTS];
    ffi_cif cif;
    void (*pointer)(void);

    memcpy(&pointer, (const char *)functions + function->offset, sizeof(pointer));
    if (function->argument_count > MOST_CALLBACK_ARGUMENTS || !wire_prepare(function, &cif, types))
        return false;
    ffi_call(&cif, pointer, result, arguments);
    return true;
}

/* Has a source given many bytes? */
static bool moved_many(const struct wire_function *function, void *const *arguments)
{
    const size_t *length = NULL;

    for (size_t i = 0; i + 2 < function->argument_count; i++)
        if (function->arguments[i].kind == WIRE_BUFFER)
            memcpy(&length, arguments[i + 2], sizeof(length));
    return length && *length >= CHANNEL_MANY;
}

static enum dialogue_end serve_callback(struct dialogue *dialogue, struct wire_reader *reader)
{
    struct wire_arena arena = {0};
    struct wire_side side = {.context = dialogue, .arena = &arena, .self_in = self_in, .buffer_in = buffer_in};
    const void *functions = NULL;
    const struct wire_function *function = find_callback(dialogue, reader, &functions);
    void **arguments = function ? wire_read_arguments(reader, &side, function) : NULL;
    ffi_arg result = 0;
    enum dialogue_end end = DIALOGUE_NONSENSE;

    if (arguments) {
        bool permitted =
            !dialogue->rules->permit || dialogue->rules->permit(dialogue->rules->context, function, arguments);

        dialogue->out.length = 0;
        if (permitted && !call_back(function, functions, arguments, &result))
            dialogue->out.failed = true;
        look_again(dialogue, dialogue->self);
        wire_write_results(&dialogue->out, &side, function, &result, arguments, 0);
        dialogue->moves_many = moved_many(function, arguments);
        end = send_message(dialogue, CHANNEL_REPLY);
    }
    wire_arena_clear(&arena);
    return end;
}

/* ---- the whole --------------------------------------------------------------------------------------------------- */

/* Results may hold texts, which the caller is to have as long as its arena. */
static enum dialogue_end read_return(struct dialogue *dialogue, const struct wire_reader *body, void *result,
                                     void *const *arguments, uint64_t *new_handle)
{
    size_t length = (size_t)(body->end - body->at);
    unsigned char *bytes = wire_allocate(dialogue->arena, length + 1);
    struct wire_side side = {
        .context = dialogue, .arena = dialogue->arena, .descriptor_in = descriptor_in, .keep = keep};

    if (!bytes)
        return DIALOGUE_NO_MEMORY;
    memcpy(bytes, body->at, length);
    struct wire_reader reader = {bytes, bytes + length, false};

    if (!wire_read_results(&reader, &side, dialogue->function, result, arguments, new_handle))
        return DIALOGUE_NONSENSE;
    /* The provider had gone on when a sink had enough; in one process it would have been told. */
    if (dialogue->function->result == WIRE_INT32 && dialogue->stopped != SANDLOT_OK &&
        *(ffi_sarg *)result == SANDLOT_OK)
        *(ffi_sarg *)result = dialogue->stopped;
    if (dialogue->function->result != WIRE_INT32 || *(ffi_sarg *)result == SANDLOT_OK)
        hand_over_gifts(dialogue);
    return DIALOGUE_RETURNED;
}

/* What the next message says. *RETURNED: it was the last one. */
static enum dialogue_end serve_message(struct dialogue *dialogue, const struct channel_header *header, void *result,
                                       void *const *arguments, uint64_t *new_handle, bool *returned)
{
    const unsigned char *body = dialogue->in + sizeof(*header);
    struct wire_reader reader = {body, body + header->length, false};
    enum dialogue_end end = DIALOGUE_NONSENSE;
    bool any;

    if (header->type == CHANNEL_DATA)
        end = DIALOGUE_RETURNED;
    else if (header->type == CHANNEL_CALLBACK || header->type == CHANNEL_RETURN)
        end = drain(dialogue, &any);
    if (end != DIALOGUE_RETURNED || header->type == CHANNEL_DATA)
        return end;
    *returned = header->type == CHANNEL_RETURN;
    return *returned ? read_return(dialogue, &reader, result, arguments, new_handle)
                     : serve_callback(dialogue, &reader);
}

/* Waits until there is a message or something in the ring, or time is up. */
static enum dialogue_end listen_once(struct dialogue *dialogue)
{
    const struct channel_reader *reader = &dialogue->connection->reader;
    const struct channel_pulse *worker = &reader->memory->worker;
    uint32_t beats = atomic_load(&worker->beats);
    size_t room = room_for(dialogue);
    bool any;
    bool there;
    enum dialogue_end end = drain(dialogue, &any);

    if (end != DIALOGUE_RETURNED)
        return end;
    if (room == 0)
        return DIALOGUE_NONSENSE;
    if (!grow(&dialogue->in, &dialogue->in_capacity, room))
        return DIALOGUE_NO_MEMORY;
    if (!any && dialogue->moves_many)
        channel_watch(worker, beats);
    bool asleep = !any && channel_fall_asleep(reader);

    end = wait_for(dialogue, POLLIN, asleep ? -1 : 0, &there);
    if (asleep)
        channel_wake_up(reader);
    return end == DIALOGUE_RETURNED && there ? receive(dialogue) : end;
}

static enum dialogue_end converse(struct dialogue *dialogue, uint64_t number, void *result, void *const *arguments,
                                  uint64_t *new_handle)
{
    struct wire_side side = {
        .context = dialogue, .object_out = object_out, .watch_out = watch_out, .handle_out = handle_out};
    bool returned = false;

    wire_put_number(&dialogue->out, number);
    wire_write_arguments(&dialogue->out, &side, dialogue->function, arguments);
    atomic_store(&dialogue->connection->reader.memory->stopped, SANDLOT_OK);
    enum dialogue_end end = send_message(dialogue, CHANNEL_CALL);

    while (end == DIALOGUE_RETURNED && !returned) {
        struct channel_header header;

        if (has_message(dialogue, &header)) {
            end = serve_message(dialogue, &header, result, arguments, new_handle, &returned);
            if (end == DIALOGUE_RETURNED)
                use_up(dialogue, &header);
        } else {
            end = listen_once(dialogue);
        }
    }
    return end == DIALOGUE_RETURNED && dialogue->in_length > 0 ? DIALOGUE_NONSENSE : end;
}

enum dialogue_end dialogue_run(struct worker_connection *connection, uint64_t number,
                               const struct wire_function *function, const struct dialogue_rules *rules,
                               struct wire_arena *arena, void *result, void *const *arguments, uint64_t *new_handle)
{
    struct dialogue dialogue = {.connection = connection, .function = function, .rules = rules, .arena = arena};

    if (function->argument_count > 0 && function->arguments[0].kind == WIRE_CALL)
        memcpy(&dialogue.call, arguments[0], sizeof(dialogue.call));
    if (!dialogue.call)
        dialogue.ends_at_ms = sandlot_now_ms() + DIALOGUE_CALLLESS_MS;
    else if (dialogue.call->deadline_ms)
        dialogue.ends_at_ms = dialogue.call->deadline_ms + DIALOGUE_GRACE_MS;
    enum dialogue_end end = converse(&dialogue, number, result, arguments, new_handle);

    for (size_t i = 0; i < dialogue.gift_count; i++)
        if (dialogue.gifts[i] >= 0)
            close(dialogue.gifts[i]);
    free(dialogue.copy);
    free(dialogue.in);
    free(dialogue.out.bytes);
    free(dialogue.objects);
    return end;
}
