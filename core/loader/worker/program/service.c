/* Calls of the host: arguments are rebuilt, the provider's function is called through libffi, results go back. */
#include "loader/worker/program/program.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* What the provider has stored, by the number that the host has for it. */
struct handle {
    bool used;
    void *pointer;
    struct wire_arena arena; /* arguments that live as long as it does */
    unsigned char *bytes;
};

static struct {
    pthread_mutex_t lock;
    struct handle *items;
    size_t count;
} handles = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* ---- handles ----------------------------------------------------------------------------------------------------- */

/* The number of the new handle. */
static uint64_t add_handle(void *pointer)
{
    size_t i = 0;

    pthread_mutex_lock(&handles.lock);
    while (i < handles.count && handles.items[i].used)
        i++;
    if (i == handles.count) {
        struct handle *grown = realloc(handles.items, (handles.count + 1) * sizeof(*grown));

        if (!grown)
            worker_give_up("out of memory");
        handles.items = grown;
        handles.count++;
    }
    handles.items[i] = (struct handle){.used = true, .pointer = pointer};
    pthread_mutex_unlock(&handles.lock);
    return i + 1;
}

static bool find_handle(void *context, uint64_t number, void **pointer)
{
    struct service *service = context;

    service->last_handle = number;
    *pointer = NULL;
    if (number == 0) /* a provider without open */
        return true;
    pthread_mutex_lock(&handles.lock);
    bool found = number <= handles.count && handles.items[number - 1].used;

    if (found)
        *pointer = handles.items[number - 1].pointer;
    pthread_mutex_unlock(&handles.lock);
    return found;
}

/* The arguments of the call that made it live as long as the handle. */
static void keep_with_handle(uint64_t number, struct service *service, unsigned char **bytes)
{
    pthread_mutex_lock(&handles.lock);
    handles.items[number - 1].arena = service->arena;
    handles.items[number - 1].bytes = *bytes;
    pthread_mutex_unlock(&handles.lock);
    service->arena = (struct wire_arena){0};
    *bytes = NULL;
}

static void remove_handle(uint64_t number)
{
    pthread_mutex_lock(&handles.lock);
    struct handle *handle = &handles.items[number - 1];

    wire_arena_clear(&handle->arena);
    free(handle->bytes);
    *handle = (struct handle){0};
    pthread_mutex_unlock(&handles.lock);
}

/* ---- one call ---------------------------------------------------------------------------------------------------- */

static bool call_in(void *context, int64_t deadline_ms, uint64_t watch, void **call)
{
    struct service *service = context;
    bool watched = watch > 0 && watch <= CHANNEL_WATCHES;

    service->call = (struct sandlot_call){
        .size = sizeof(service->call),
        .host = callbacks_host(),
        .deadline_ms = deadline_ms,
        .cancel_fd = watched ? service->connection->watches[watch - 1] : -1,
    };
    *call = &service->call;
    return service->call.host != NULL;
}

static int watch_in(void *context, uint64_t number)
{
    const struct service *service = context;

    return number <= CHANNEL_WATCHES ? service->connection->watches[number - 1] : -1;
}

static bool object_in(void *context, const struct wire_struct *type, uint64_t number, void *object)
{
    return callbacks_bind(context, type, number, object);
}

static uint64_t descriptor_out(void *context, int fd)
{
    struct service *service = context;

    if (service->gift_count == CHANNEL_GIFTS)
        return 0;
    service->gifts[service->gift_count++] = fd;
    return service->gift_count;
}

/* Where FUNCTION has an argument of KIND; SIZE_MAX: nowhere. */
static size_t argument_of(const struct wire_function *function, enum wire_kind kind)
{
    for (size_t i = 0; i < function->argument_count; i++)
        if (function->arguments[i].kind == kind)
            return i;
    return SIZE_MAX;
}

static void *argument_at(void *const *arguments, size_t i)
{
    void *pointer;

    memcpy(&pointer, arguments[i], sizeof(pointer));
    return pointer;
}

/* The number of what the provider has stored, 0 if it failed or stores nothing; ends what it has freed. */
static uint64_t settle_handles(struct service *service, const struct wire_function *function, void *const *arguments,
                               bool done, unsigned char **bytes)
{
    size_t made = argument_of(function, WIRE_NEW_HANDLE);
    size_t freed = argument_of(function, WIRE_LAST_HANDLE);
    uint64_t number = 0;

    if (freed != SIZE_MAX && service->last_handle > 0)
        remove_handle(service->last_handle); /* the last of its arguments, by the table */
    if (made == SIZE_MAX || !done)
        return 0;
    void *stored;

    memcpy(&stored, argument_at(arguments, made), sizeof(stored));
    number = add_handle(stored);
    if (function->keep_arguments)
        keep_with_handle(number, service, bytes);
    return number;
}

static void set_serving(struct connection *connection, bool serving)
{
    pthread_mutex_lock(&connection->lock);
    connection->serving = serving;
    pthread_mutex_unlock(&connection->lock);
}

static void answer(struct service *service, const struct wire_function *function, const ffi_arg *result,
                   void *const *arguments, bool done, uint64_t handle)
{
    struct connection *connection = service->connection;
    struct wire_side side = {.context = service, .descriptor_out = done ? descriptor_out : NULL};

    pthread_mutex_lock(&connection->lock);
    connection->serving = false; /* a thread that the provider left behind has nobody to talk to any more */
    connection->out.length = 0;
    wire_write_results(&connection->out, &side, function, result, arguments, handle);
    message_send(connection, CHANNEL_RETURN, &connection->out, service->gifts, service->gift_count);
    pthread_mutex_unlock(&connection->lock);
    for (size_t i = 0; i < service->gift_count; i++)
        close(service->gifts[i]);
}

static void serve(struct service *service, struct wire_reader *reader, unsigned char **bytes)
{
    struct wire_side side = {.context = service,
                             .arena = &service->arena,
                             .call_in = call_in,
                             .watch_in = watch_in,
                             .object_in = object_in,
                             .handle_in = find_handle,
                             .keep = callbacks_keep};
    const struct provider_function *called = provider_function(wire_get_number(reader));
    void **arguments = called && called->pointer ? wire_read_arguments(reader, &side, called->function) : NULL;
    ffi_arg result = 0;

    if (!arguments)
        worker_give_up("the host sent a call that makes no sense");
    set_serving(service->connection, true);
    ffi_call((ffi_cif *)(uintptr_t)&called->cif, called->pointer, &result, arguments);
    bool done = called->function->result == WIRE_NOTHING || (int32_t)result == SANDLOT_OK;
    /* Results that point into memory which the handle keeps are not touched by that. */
    uint64_t handle = settle_handles(service, called->function, arguments, done, bytes);

    answer(service, called->function, &result, arguments, done, handle);
    wire_arena_clear(&service->arena);
    service->arena = (struct wire_arena){0};
}

static struct {
    pthread_mutex_t lock;
    struct service *first;
} services = {.lock = PTHREAD_MUTEX_INITIALIZER};

bool service_has(const void *call)
{
    pthread_mutex_lock(&services.lock);
    const struct service *found = services.first;

    while (found && &found->call != call)
        found = found->next;
    pthread_mutex_unlock(&services.lock);
    return found != NULL;
}

static void enlist(struct service *service)
{
    pthread_mutex_lock(&services.lock);
    service->next = services.first;
    services.first = service;
    pthread_mutex_unlock(&services.lock);
}

static void strike_off(const struct service *service)
{
    pthread_mutex_lock(&services.lock);
    for (struct service **at = &services.first; *at; at = &(*at)->next)
        if (*at == service) {
            *at = service->next;
            break;
        }
    pthread_mutex_unlock(&services.lock);
}

void *service_run(void *context)
{
    struct connection *connection = context;
    struct service service = {.connection = connection};
    struct channel_header header;
    unsigned char *bytes = NULL;
    size_t capacity = 0;

    enlist(&service);
    while (message_receive(connection->socket, &header, &bytes, &capacity)) {
        struct wire_reader reader = {bytes, bytes + header.length, false};

        if (header.type != CHANNEL_CALL)
            worker_give_up("the host sent a message that is no call");
        service.last_handle = 0;
        service.gift_count = 0;
        serve(&service, &reader, &bytes);
    }
    strike_off(&service);
    free(bytes);
    close(connection->socket);
    for (size_t i = 0; i < CHANNEL_WATCHES; i++)
        close(connection->watches[i]);
    channel_unmap(connection->memory);
    pthread_mutex_destroy(&connection->lock);
    free(connection->out.bytes);
    free(connection->in);
    free(connection);
    return NULL;
}
