/*
 * What a hostile worker can send to the host in one call: the first byte chooses the function, the second how many
 * records the worker says that the ring has, the next ones are these, and the rest comes on the socket as messages.
 */
#include "base/log.h"
#include "loader/host.h"
#include "loader/parameters.h"
#include "loader/worker/dialogue.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { RECORD_BYTES = 64 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void ignore(void *context, enum sandlot_message_level level, const char *text)
{
    (void)context, (void)level, (void)text;
}

static uint64_t handle_number(void *context, const void *handle)
{
    (void)context;
    return handle != NULL;
}

static const char *keep(void *context, const char *text)
{
    (void)context;
    return strlen(text) < 100 ? "kept" : NULL;
}

/* Everything that is handed over must be safe to read. */
static volatile size_t read_through;

static void look(const char *text)
{
    read_through += text ? strlen(text) : 0;
}

static enum sandlot_status read_some(const struct sandlot_source *source, void *buffer, size_t capacity, size_t *length)
{
    (void)source;
    memset(buffer, 'x', capacity);
    *length = capacity;
    return SANDLOT_OK;
}

static enum sandlot_status write_some(const struct sandlot_sink *sink, const void *bytes, size_t length)
{
    (void)sink;
    for (size_t i = 0; i < length; i++)
        read_through += ((const unsigned char *)bytes)[i];
    return SANDLOT_OK;
}

static enum sandlot_status add(const struct sandlot_listing *listing, const struct sandlot_listed *sandbox)
{
    (void)listing;
    if (!sandbox)
        return SANDLOT_INTERNAL;
    look(sandbox->id);
    look(sandbox->state);
    look(sandbox->run_label);
    return SANDLOT_OK;
}

static void next(const struct sandlot_listing *listing, const char *cursor)
{
    (void)listing;
    look(cursor);
}

static void done(const struct sandlot_transfer *transfer, size_t index, const char *error, uint64_t bytes)
{
    (void)transfer, (void)index, (void)bytes;
    look(error);
}

static void window(const struct sandlot_terminal *terminal, uint16_t *rows, uint16_t *columns)
{
    (void)terminal;
    *rows = *columns = 1;
}

/* Whatever FUNCTION takes. */
static void tell(const struct sandlot_network_view *view, const struct sandlot_network *network, const char *note)
{
    (void)view;
    look(note);
    for (size_t i = 0; network && i < network->entry_count; i++)
        look(network->entries[i].text);
    for (size_t i = 0; network && i < network->credential_count; i++)
        look(network->credentials[i].host);
}

static void broken(const struct sandlot_network_view *view)
{
    (void)view;
}

static enum sandlot_status decide(const struct sandlot_network_log *log,
                                  const struct sandlot_network_decision *decision)
{
    (void)log;
    look(decision->host);
    look(decision->rule);
    look(decision->reason);
    return SANDLOT_OK;
}

static void opened(const struct sandlot_connection *connection)
{
    read_through += connection->port;
}

static void found(const struct sandlot_port_answer *answer, const struct sandlot_port_address *address)
{
    (void)answer;
    look(address ? address->url : NULL);
    look(address ? address->header : NULL);
}

static void base(const struct sandlot_changes *changes, const char *host_folder, int64_t since_ms)
{
    (void)changes;
    (void)since_ms;
    look(host_folder);
}

static enum sandlot_status add_path(const struct sandlot_changes *changes, const char *path)
{
    (void)changes;
    look(path);
    return SANDLOT_OK;
}

struct arguments {
    struct sandlot_call *call;
    int handle;
    void *handle_at;
    const char *text;
    struct sandlot_source source;
    struct sandlot_sink sink;
    struct sandlot_listing listing;
    struct sandlot_transfer transfer;
    struct sandlot_command command;
    struct sandlot_terminal terminal;
    struct sandlot_create create;
    struct sandlot_file files[2];
    struct sandlot_network network;
    struct sandlot_network_view network_view;
    struct sandlot_network_log network_log;
    struct sandlot_connection connection;
    struct sandlot_port_answer port_answer;
    struct sandlot_changes changes;
    uint64_t number;
    size_t count;
    union {
        struct sandlot_exit exit;
        struct sandlot_root root;
        struct wire_table table;
    } result;
    void *pointers[8];
    void *at[8];
};

static void *struct_for(struct arguments *arguments, const struct wire_value *value)
{
    const char *name = value->of->name;

    if (value->out) {
        memset(&arguments->result, 0, sizeof(arguments->result));
        if (value->of->sized)
            memcpy(&arguments->result, &value->of->size, sizeof(size_t));
        return &arguments->result;
    }
    return strcmp(name, "sandlot_sink") == 0           ? (void *)&arguments->sink
           : strcmp(name, "sandlot_listing") == 0      ? (void *)&arguments->listing
           : strcmp(name, "sandlot_transfer") == 0     ? (void *)&arguments->transfer
           : strcmp(name, "sandlot_command") == 0      ? (void *)&arguments->command
           : strcmp(name, "sandlot_terminal") == 0     ? (void *)&arguments->terminal
           : strcmp(name, "sandlot_create") == 0       ? (void *)&arguments->create
           : strcmp(name, "sandlot_network") == 0      ? (void *)&arguments->network
           : strcmp(name, "sandlot_network_view") == 0 ? (void *)&arguments->network_view
           : strcmp(name, "sandlot_network_log") == 0  ? (void *)&arguments->network_log
           : strcmp(name, "sandlot_connection") == 0   ? (void *)&arguments->connection
           : strcmp(name, "sandlot_port_answer") == 0  ? (void *)&arguments->port_answer
           : strcmp(name, "sandlot_changes") == 0      ? (void *)&arguments->changes
                                                       : (void *)arguments->files;
}

static void fill(struct arguments *arguments, const struct wire_function *function)
{
    arguments->text = "text";
    arguments->source = (struct sandlot_source){sizeof(struct sandlot_source), NULL, read_some, -1};
    arguments->sink = (struct sandlot_sink){sizeof(struct sandlot_sink), NULL, write_some};
    arguments->listing = (struct sandlot_listing){sizeof(struct sandlot_listing), NULL, add, next};
    arguments->transfer = (struct sandlot_transfer){sizeof(struct sandlot_transfer), NULL, done};
    arguments->command = (struct sandlot_command){.size = sizeof(struct sandlot_command), .input = &arguments->source};
    arguments->terminal = (struct sandlot_terminal){
        sizeof(struct sandlot_terminal), &arguments->command, &arguments->sink, "xterm", -1, NULL, window};
    arguments->create = (struct sandlot_create){.size = sizeof(struct sandlot_create)};
    for (size_t i = 0; i < 2; i++)
        arguments->files[i] =
            (struct sandlot_file){sizeof(struct sandlot_file), "/path", &arguments->source, 1, 0, &arguments->sink};
    arguments->network = (struct sandlot_network){.size = sizeof(struct sandlot_network), .mode = SANDLOT_NETWORK_OFF};
    arguments->network_view = (struct sandlot_network_view){sizeof(struct sandlot_network_view), NULL, tell, broken};
    arguments->network_log = (struct sandlot_network_log){sizeof(struct sandlot_network_log), NULL, decide};
    arguments->connection = (struct sandlot_connection){
        sizeof(struct sandlot_connection), 80, &arguments->source, &arguments->sink, NULL, opened, opened};
    arguments->port_answer = (struct sandlot_port_answer){sizeof(struct sandlot_port_answer), NULL, found};
    arguments->changes = (struct sandlot_changes){sizeof(struct sandlot_changes), NULL, base, add_path};
    arguments->count = 2;
    arguments->handle_at = &arguments->handle;
    for (size_t i = 0; i < function->argument_count; i++) {
        const struct wire_value *value = &function->arguments[i];

        arguments->at[i] = &arguments->pointers[i];
        if (value->kind == WIRE_CALL)
            arguments->pointers[i] = arguments->call;
        else if (value->kind == WIRE_HANDLE || value->kind == WIRE_LAST_HANDLE)
            arguments->pointers[i] = &arguments->handle;
        else if (value->kind == WIRE_NEW_HANDLE)
            arguments->pointers[i] = &arguments->handle_at;
        else if (value->kind == WIRE_TEXT)
            arguments->pointers[i] = (void *)(uintptr_t)arguments->text;
        else if (value->kind == WIRE_COUNT)
            arguments->at[i] = &arguments->count;
        else if (value->kind == WIRE_UINT64 || value->kind == WIRE_INT64 || value->kind == WIRE_UINT16)
            arguments->at[i] = &arguments->number;
        else
            arguments->pointers[i] = struct_for(arguments, value);
    }
}

/* What the worker has done to the memory that both have, and what it sends. */
static void play_worker(const struct worker_connection *connection, int socket, const uint8_t *data, size_t size)
{
    struct channel_memory *memory = connection->reader.memory;
    size_t in_ring = size > 1 ? (size - 1 < RECORD_BYTES ? size - 1 : RECORD_BYTES) : 0;

    if (size > 0) {
        memcpy(memory->records, data + 1, in_ring);
        atomic_store(&memory->put, data[0] == 255 ? UINT32_MAX : data[0]);
    }
    for (size_t at = 1 + in_ring; at < size;) {
        ssize_t sent = send(socket, data + at, size - at, MSG_DONTWAIT | MSG_NOSIGNAL);

        if (sent <= 0)
            break;
        at += (size_t)sent;
    }
    shutdown(socket, SHUT_WR);
}

static void check_table(const struct wire_table *table)
{
    struct sandlot_provider provider = {.parameters = table->parameters, .parameter_count = table->parameter_count};
    struct sandlot_error error = {0};

    look(table->name);
    parameters_check(&provider, &error);
    sandlot_error_clear(&error);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct dialogue_rules rules = {.handle_number = handle_number, .keep = keep};
    uint64_t number = size > 0 ? data[0] % WIRE_FUNCTION_COUNT : 0;
    const struct wire_function *function = &wire_functions[number];
    int others[CHANNEL_DESCRIPTORS];
    struct arguments arguments = {0};
    struct wire_arena arena = {0};
    struct host_call call;
    ffi_arg result = 0;
    uint64_t handle;

    if (size == 0 || number == WIRE_OPEN)
        return 0;
    log_set_receiver(ignore, NULL);
    struct worker_connection *connection = worker_connection_new(others);

    if (!connection)
        abort();
    host_call_init(&call, "fuzz", NULL, sandlot_now_ms() + 1000, -1);
    arguments.call = &call.call;
    fill(&arguments, function);
    play_worker(connection, others[0], data + 1, size - 1);
    enum dialogue_end end = dialogue_run(connection, number, function, &rules, &arena, &result, arguments.at, &handle);

    if (end == DIALOGUE_LATE || end == DIALOGUE_NO_MEMORY)
        abort();
    if (end == DIALOGUE_RETURNED && number == WIRE_LOAD)
        check_table(&arguments.result.table);
    close(others[0]);
    close(others[1]);
    worker_connection_free(connection);
    host_call_clear(&call);
    wire_arena_clear(&arena);
    return 0;
}
