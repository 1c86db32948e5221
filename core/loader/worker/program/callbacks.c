/* Functions that the provider calls and the host runs: libffi makes one of each row of the table. */
#include "loader/worker/program/program.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>

enum { LONGEST_MESSAGE = 65536 };

/* What the context of a struct with functions points to in this process. */
struct object {
    struct service *service;
    const struct wire_struct *type;
    uint64_t number;
};

/* A function of a struct, made callable. */
struct callback {
    struct callback *next;
    const struct wire_struct *type;
    const struct wire_function *function;
    ffi_cif cif;
    ffi_type *types[8];
    void *code;
};

static pthread_mutex_t callbacks_lock = PTHREAD_MUTEX_INITIALIZER; /* of the two lists */
static struct callback *callbacks;

static struct kept {
    struct kept *next;
    char text[];
} * kept;

const char *callbacks_keep(void *context, const char *text)
{
    (void)context;
    pthread_mutex_lock(&callbacks_lock);
    struct kept *found = kept;

    while (found && strcmp(found->text, text) != 0)
        found = found->next;
    if (!found) {
        size_t size = strlen(text) + 1;

        found = malloc(sizeof(*found) + size);
        if (found) {
            memcpy(found->text, text, size);
            found->next = kept;
            kept = found;
        }
    }
    pthread_mutex_unlock(&callbacks_lock);
    return found ? found->text : NULL;
}

/* ---- one callback ------------------------------------------------------------------------------------------------ */

static void ring_the_bell(void *context)
{
    const struct connection *connection = context;
    static const struct wire_writer nothing;

    message_send(connection, CHANNEL_DATA, &nothing, NULL, 0);
}

static void *pointer_at(const void *at)
{
    void *pointer;

    memcpy(&pointer, at, sizeof(pointer));
    return pointer;
}

/* Where argument KIND of FUNCTION stands; the table has it. */
static size_t index_of(const struct wire_function *function, enum wire_kind kind)
{
    size_t i = 0;

    while (i < function->argument_count && function->arguments[i].kind != kind)
        i++;
    return i;
}

static bool has(const struct wire_function *function, enum wire_kind kind)
{
    return index_of(function, kind) < function->argument_count;
}

/*
 * A source that may have to wait says so by its descriptor. Waiting here and not in the host leaves the connection free
 * for the provider's other threads.
 */
static void wait_for_watch(const struct object *object, const void *self)
{
    const struct wire_struct *type = object->type;
    const struct sandlot_call *call = &object->service->call;
    struct pollfd watched[2] = {{-1, POLLIN, 0}, {call->cancel_fd, POLLIN, 0}};

    for (size_t i = 0; i < type->field_count; i++)
        if (type->fields[i].kind == WIRE_WATCH)
            memcpy(&watched[0].fd, (const char *)self + type->fields[i].offset, sizeof(int));
    if (watched[0].fd < 0)
        return;
    while (poll(watched, 2, sandlot_remaining_ms(call, 1000)) <= 0)
        if (call->deadline_ms && sandlot_now_ms() >= call->deadline_ms)
            return;
}

static void write_bytes(const struct callback *callback, const struct object *object, void *result, void **arguments)
{
    struct connection *connection = object->service->connection;
    size_t bytes = index_of(callback->function, WIRE_BYTES);
    size_t length;
    int32_t status = SANDLOT_CANCELLED;

    memcpy(&length, arguments[bytes + 1], sizeof(length));
    pthread_mutex_lock(&connection->lock);
    if (connection->serving)
        status = channel_write(connection->memory, (uint32_t)object->number, pointer_at(arguments[bytes]), length,
                               ring_the_bell, connection);
    pthread_mutex_unlock(&connection->lock);
    *(ffi_sarg *)result = status;
}

/* What was asked for lies in the buffer that both sides have mapped. */
static void copy_from_buffer(const struct callback *callback, struct connection *connection, void **arguments)
{
    size_t buffer = index_of(callback->function, WIRE_BUFFER);
    size_t capacity;
    size_t length;
    const void *length_at = pointer_at(arguments[buffer + 2]);

    memcpy(&capacity, arguments[buffer + 1], sizeof(capacity));
    memcpy(&length, length_at, sizeof(length));
    connection->moves_many = length >= CHANNEL_MANY;
    if (length <= capacity && length <= sizeof(connection->memory->buffer))
        memcpy(pointer_at(arguments[buffer]), connection->memory->buffer, length);
}

/* Sends the arguments and waits for the results. Under the connection's lock. */
static void ask(const struct callback *callback, struct connection *connection, uint64_t number, void *result,
                void **arguments)
{
    struct wire_arena arena = {0};
    struct wire_side side = {.arena = &arena, .keep = callbacks_keep};
    const struct channel_pulse *host = &connection->memory->host;
    uint32_t beats = atomic_load(&host->beats);
    struct channel_header header;
    uint64_t no_handle;

    connection->out.length = 0;
    wire_put_number(&connection->out, number);
    wire_put_number(&connection->out, (uint64_t)(callback->function - callback->type->functions));
    wire_write_arguments(&connection->out, &side, callback->function, arguments);
    message_send(connection, CHANNEL_CALLBACK, &connection->out, NULL, 0);
    if (connection->moves_many && has(callback->function, WIRE_BUFFER))
        channel_watch(host, beats);
    if (!message_receive(connection->socket, &header, &connection->in, &connection->in_capacity) ||
        header.type != CHANNEL_REPLY)
        worker_give_up("the host did not answer a callback");
    struct wire_reader reader = {connection->in, connection->in + header.length, false};

    if (!wire_read_results(&reader, &side, callback->function, result, arguments, &no_handle))
        worker_give_up("the host's answer to a callback makes no sense");
    if (has(callback->function, WIRE_BUFFER))
        copy_from_buffer(callback, connection, arguments);
    wire_arena_clear(&arena);
}

/* After the call has returned there is nobody to ask. */
static void ask_if_served(const struct callback *callback, struct connection *connection, uint64_t number, void *result,
                          void **arguments)
{
    pthread_mutex_lock(&connection->lock);
    if (connection->serving)
        ask(callback, connection, number, result, arguments);
    else
        wire_no_result(callback->function, result);
    pthread_mutex_unlock(&connection->lock);
}

/* Of a struct with a context, whose functions may wait or move bytes. */
static void run_of_object(const struct callback *callback, void *self, void *result, void **arguments)
{
    const struct object *object = pointer_at((char *)self + callback->type->context_offset);

    if (has(callback->function, WIRE_BYTES)) {
        write_bytes(callback, object, result, arguments);
        return;
    }
    if (has(callback->function, WIRE_BUFFER))
        wait_for_watch(object, self);
    ask_if_served(callback, object->service->connection, object->number, result, arguments);
}

/* What stands in the place of a message that is longer than people read and a message to the host may be; NULL: it is
 * not. Cut at a blank, lest half a secret is left that the host does not recognize. To be freed. */
static char *shortened(const struct wire_function *function, void *const *arguments)
{
    const bool is_message = function == &wire_host.functions[WIRE_HOST_FAIL] ||
                            function == &wire_host.functions[WIRE_HOST_LOG] ||
                            function == &wire_host.functions[WIRE_HOST_PROGRESS];
    const char *text = is_message ? pointer_at(arguments[index_of(function, WIRE_TEXT)]) : NULL;
    size_t length = text ? strnlen(text, LONGEST_MESSAGE + 1) : 0;
    char *cut = NULL;

    if (length <= LONGEST_MESSAGE)
        return NULL;
    while (length > 0 && text[length] != ' ' && text[length] != '\n')
        length--;
    if (asprintf(&cut, "%.*s ... (it goes on)", (int)length, text) < 0)
        worker_give_up("out of memory");
    return cut;
}

/* Behind every function that the provider is lent. */
static void run(ffi_cif *cif, void *result, void **arguments, void *data)
{
    const struct callback *callback = data;
    void *self = pointer_at(arguments[0]);

    (void)cif;
    if (callback->type != &wire_host) {
        run_of_object(callback, self, result, arguments);
        return;
    }
    if (!service_has(self))
        worker_give_up(
            "the provider gave the host a struct sandlot_call that is not the host's, such as a copy; it has to "
            "hand on the pointer that it got");
    const struct service *service = (const struct service *)((char *)self - offsetof(struct service, call));
    char *cut = shortened(callback->function, arguments);

    if (cut)
        memcpy(arguments[index_of(callback->function, WIRE_TEXT)], &cut, sizeof(cut));
    ask_if_served(callback, service->connection, 0, result, arguments);
    free(cut);
}

/* ---- making them ------------------------------------------------------------------------------------------------- */

static struct callback *make(const struct wire_struct *type, const struct wire_function *function)
{
    struct callback *callback = calloc(1, sizeof(*callback));

    if (!callback)
        return NULL;
    callback->type = type;
    callback->function = function;
    ffi_closure *closure = ffi_closure_alloc(sizeof(*closure), &callback->code);

    if (closure && wire_prepare(function, &callback->cif, callback->types) &&
        ffi_prep_closure_loc(closure, &callback->cif, run, callback, callback->code) == FFI_OK)
        return callback;
    if (closure)
        ffi_closure_free(closure);
    free(callback);
    return NULL;
}

/* The function as C code; made once. NULL when there is no memory. */
static void *code_of(const struct wire_struct *type, const struct wire_function *function)
{
    pthread_mutex_lock(&callbacks_lock);
    struct callback *found = callbacks;

    while (found && found->function != function)
        found = found->next;
    if (!found) {
        found = make(type, function);
        if (found) {
            found->next = callbacks;
            callbacks = found;
        }
    }
    pthread_mutex_unlock(&callbacks_lock);
    return found ? found->code : NULL;
}

static bool set_functions(const struct wire_struct *type, void *object)
{
    for (size_t i = 0; i < type->function_count; i++) {
        void *code = code_of(type, &type->functions[i]);

        if (!code)
            return false;
        memcpy((char *)object + type->functions[i].offset, &code, sizeof(code));
    }
    return true;
}

bool callbacks_bind(struct service *service, const struct wire_struct *type, uint64_t number, void *object)
{
    struct object *mine = wire_allocate(&service->arena, sizeof(*mine));

    if (!mine || !set_functions(type, object))
        return false;
    *mine = (struct object){.service = service, .type = type, .number = number};
    memcpy((char *)object + type->context_offset, &mine, sizeof(mine));
    return true;
}

const struct sandlot_host *callbacks_host(void)
{
    static pthread_mutex_t once = PTHREAD_MUTEX_INITIALIZER;
    static struct sandlot_host host;

    pthread_mutex_lock(&once);
    if (host.size == 0 && set_functions(&wire_host, &host)) {
        host.abi_major = SANDLOT_ABI_MAJOR;
        host.abi_minor = SANDLOT_ABI_MINOR;
        host.size = sizeof(host);
    }
    pthread_mutex_unlock(&once);
    return host.size ? &host : NULL;
}
