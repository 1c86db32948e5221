#include "loader/worker/abi.h"

/* A size crosses as 64 bits and is written back through the caller's pointer. */
_Static_assert(sizeof(size_t) == sizeof(uint64_t), "the worker process needs a machine of 64 bits");

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))
#define FIELD(type, kind_, name)                               \
    {                                                          \
        .kind = (kind_), .offset = offsetof(struct type, name) \
    }
#define STRUCT_FIELD(type, kind_, name, of_)                                 \
    {                                                                        \
        .kind = (kind_), .offset = offsetof(struct type, name), .of = &(of_) \
    }
#define PLAIN(type, fields_, sized_)                                                        \
    {                                                                                       \
        .name = #type, .size = sizeof(struct type), .sized = (sized_), .fields = (fields_), \
        .field_count = COUNT_OF(fields_)                                                    \
    }
#define WITH_FUNCTIONS(type, functions_)                                                  \
    .name = #type, .size = sizeof(struct type), .sized = true, .functions = (functions_), \
    .function_count = COUNT_OF(functions_), .context_offset = offsetof(struct type, context)
#define ARGUMENTS(...)                                     \
    .arguments = (const struct wire_value[]){__VA_ARGS__}, \
    .argument_count = COUNT_OF(((const struct wire_value[]){__VA_ARGS__}))

#define A(kind_)        \
    {                   \
        .kind = (kind_) \
    }
#define A_STRUCT(of_)                     \
    {                                     \
        .kind = WIRE_STRUCT, .of = &(of_) \
    }
#define A_ARRAY(of_)                     \
    {                                    \
        .kind = WIRE_ARRAY, .of = &(of_) \
    }
#define OUT(kind_)                   \
    {                                \
        .kind = (kind_), .out = true \
    }
#define OUT_STRUCT(of_)                                \
    {                                                  \
        .kind = WIRE_STRUCT, .out = true, .of = &(of_) \
    }

/* ---- plain data -------------------------------------------------------------------------------------------------- */

static const struct wire_value label_fields[] = {
    FIELD(sandlot_label, WIRE_TEXT, key),
    FIELD(sandlot_label, WIRE_TEXT, value),
};
static const struct wire_struct label = PLAIN(sandlot_label, label_fields, false);

static const struct wire_value network_entry_fields[] = {
    FIELD(sandlot_network_entry, WIRE_INT32, kind),
    FIELD(sandlot_network_entry, WIRE_TEXT, text),
    FIELD(sandlot_network_entry, WIRE_UINT16, port),
};
static const struct wire_struct network_entry = PLAIN(sandlot_network_entry, network_entry_fields, false);

static const struct wire_value network_credential_fields[] = {
    FIELD(sandlot_network_credential, WIRE_TEXT, host),
    FIELD(sandlot_network_credential, WIRE_TEXT, header),
    FIELD(sandlot_network_credential, WIRE_TEXT, value),
    FIELD(sandlot_network_credential, WIRE_TEXT, placeholder_name),
    FIELD(sandlot_network_credential, WIRE_TEXT, placeholder),
    FIELD(sandlot_network_credential, WIRE_BOOL, plain),
};
static const struct wire_struct network_credential =
    PLAIN(sandlot_network_credential, network_credential_fields, false);

static const struct wire_value network_fields[] = {
    FIELD(sandlot_network, WIRE_INT32, mode),
    STRUCT_FIELD(sandlot_network, WIRE_ARRAY, entries, network_entry),
    FIELD(sandlot_network, WIRE_COUNT, entry_count),
    STRUCT_FIELD(sandlot_network, WIRE_ARRAY, credentials, network_credential),
    FIELD(sandlot_network, WIRE_COUNT, credential_count),
    FIELD(sandlot_network, WIRE_TEXT, trusted_file),
};
static const struct wire_struct network = PLAIN(sandlot_network, network_fields, true);

static const struct wire_value network_decision_fields[] = {
    FIELD(sandlot_network_decision, WIRE_UINT64, number),    FIELD(sandlot_network_decision, WIRE_INT64, at_ms),
    FIELD(sandlot_network_decision, WIRE_BOOL, allowed),     FIELD(sandlot_network_decision, WIRE_UINT16, port),
    FIELD(sandlot_network_decision, WIRE_TEXT, host),        FIELD(sandlot_network_decision, WIRE_TEXT, rule),
    FIELD(sandlot_network_decision, WIRE_TEXT, reason),      FIELD(sandlot_network_decision, WIRE_UINT64, bytes_in),
    FIELD(sandlot_network_decision, WIRE_UINT64, bytes_out), FIELD(sandlot_network_decision, WIRE_INT64, duration_ms),
};
static const struct wire_struct network_decision = PLAIN(sandlot_network_decision, network_decision_fields, true);

static const struct wire_value volume_fields[] = {
    FIELD(sandlot_volume, WIRE_TEXT, name),
    FIELD(sandlot_volume, WIRE_TEXT, path),
    FIELD(sandlot_volume, WIRE_UINT64, limit_bytes),
    FIELD(sandlot_volume, WIRE_UINT32, flags),
};
static const struct wire_struct volume = PLAIN(sandlot_volume, volume_fields, false);

static const struct wire_value create_fields[] = {
    FIELD(sandlot_create, WIRE_TEXT, sandbox_id),
    FIELD(sandlot_create, WIRE_TEXT, snapshot),
    FIELD(sandlot_create, WIRE_TEXT, run_label),
    STRUCT_FIELD(sandlot_create, WIRE_ARRAY, labels, label),
    FIELD(sandlot_create, WIRE_COUNT, label_count),
    FIELD(sandlot_create, WIRE_INT64, idle_ttl_ms),
    FIELD(sandlot_create, WIRE_INT64, hard_ttl_ms),
    FIELD(sandlot_create, WIRE_UINT32, flags),
    STRUCT_FIELD(sandlot_create, WIRE_STRUCT, network, network),
    STRUCT_FIELD(sandlot_create, WIRE_ARRAY, volumes, volume),
    FIELD(sandlot_create, WIRE_COUNT, volume_count),
};
static const struct wire_struct create = PLAIN(sandlot_create, create_fields, true);

static const struct wire_value exit_fields[] = {
    FIELD(sandlot_exit, WIRE_INT32, exit_code),
    FIELD(sandlot_exit, WIRE_BOOL, timed_out),
    FIELD(sandlot_exit, WIRE_KEPT_TEXT, note),
};
static const struct wire_struct ended = PLAIN(sandlot_exit, exit_fields, true);

static const struct wire_value listed_fields[] = {
    FIELD(sandlot_listed, WIRE_TEXT, id),
    FIELD(sandlot_listed, WIRE_TEXT, state),
    FIELD(sandlot_listed, WIRE_INT64, created_at_ms),
    FIELD(sandlot_listed, WIRE_TEXT, run_label),
};
static const struct wire_struct listed = PLAIN(sandlot_listed, listed_fields, true);

static const struct wire_value listed_volume_fields[] = {
    FIELD(sandlot_listed_volume, WIRE_TEXT, name),          FIELD(sandlot_listed_volume, WIRE_UINT64, bytes),
    FIELD(sandlot_listed_volume, WIRE_UINT64, limit_bytes), FIELD(sandlot_listed_volume, WIRE_UINT32, writers),
    FIELD(sandlot_listed_volume, WIRE_UINT32, readers),     FIELD(sandlot_listed_volume, WIRE_INT64, used_at_ms),
};
static const struct wire_struct listed_volume = PLAIN(sandlot_listed_volume, listed_volume_fields, true);

static const struct wire_value root_fields[] = {
    FIELD(sandlot_root, WIRE_DESCRIPTOR, fd),
    FIELD(sandlot_root, WIRE_UINT32, uid),
    FIELD(sandlot_root, WIRE_UINT32, gid),
    FIELD(sandlot_root, WIRE_DESCRIPTOR, alive_fd),
};
static const struct wire_struct root = PLAIN(sandlot_root, root_fields, true);

static const struct wire_value port_address_fields[] = {
    FIELD(sandlot_port_address, WIRE_TEXT, url),
    FIELD(sandlot_port_address, WIRE_TEXT, header),
    FIELD(sandlot_port_address, WIRE_INT64, expires_at_ms),
    FIELD(sandlot_port_address, WIRE_BOOL, is_public),
};
static const struct wire_struct port_address = PLAIN(sandlot_port_address, port_address_fields, true);

static const struct wire_value parameter_fields[] = {
    FIELD(sandlot_parameter, WIRE_TEXT, name),    FIELD(sandlot_parameter, WIRE_INT32, kind),
    FIELD(sandlot_parameter, WIRE_UINT32, flags), FIELD(sandlot_parameter, WIRE_TEXT, default_text),
    FIELD(sandlot_parameter, WIRE_TEXT, help),
};
static const struct wire_struct parameter = PLAIN(sandlot_parameter, parameter_fields, true);

static const struct wire_value table_fields[] = {
    FIELD(wire_table, WIRE_UINT64, size),
    FIELD(wire_table, WIRE_UINT32, abi_major),
    FIELD(wire_table, WIRE_UINT32, abi_minor),
    FIELD(wire_table, WIRE_TEXT, name),
    FIELD(wire_table, WIRE_UINT32, flags),
    FIELD(wire_table, WIRE_UINT64, functions),
    STRUCT_FIELD(wire_table, WIRE_ARRAY, parameters, parameter),
    FIELD(wire_table, WIRE_COUNT, parameter_count),
};
static const struct wire_struct table = PLAIN(wire_table, table_fields, false);

/* ---- structs with functions that are called back ----------------------------------------------------------------- */

static const struct wire_function source_functions[] = {
    {.name = "read",
     .offset = offsetof(struct sandlot_source, read),
     .result = WIRE_INT32,
     ARGUMENTS(A(WIRE_SELF), A(WIRE_BUFFER), A(WIRE_CAPACITY), OUT(WIRE_UINT64))},
};
static const struct wire_value source_fields[] = {FIELD(sandlot_source, WIRE_WATCH, poll_fd)};
static const struct wire_struct source = {
    WITH_FUNCTIONS(sandlot_source, source_functions),
    .fields = source_fields,
    .field_count = COUNT_OF(source_fields),
};

static const struct wire_function sink_functions[] = {
    {.name = "write",
     .offset = offsetof(struct sandlot_sink, write),
     .result = WIRE_INT32,
     ARGUMENTS(A(WIRE_SELF), A(WIRE_BYTES), A(WIRE_LENGTH))},
};
static const struct wire_struct sink = {WITH_FUNCTIONS(sandlot_sink, sink_functions)};

static const struct wire_function listing_functions[] = {
    {.name = "add",
     .offset = offsetof(struct sandlot_listing, add),
     .result = WIRE_INT32,
     ARGUMENTS(A(WIRE_SELF), A_STRUCT(listed))},
    {.name = "next", .offset = offsetof(struct sandlot_listing, next), ARGUMENTS(A(WIRE_SELF), A(WIRE_TEXT))},
};
static const struct wire_struct listing = {WITH_FUNCTIONS(sandlot_listing, listing_functions)};

static const struct wire_function volume_listing_functions[] = {
    {.name = "add",
     .offset = offsetof(struct sandlot_volume_listing, add),
     .result = WIRE_INT32,
     ARGUMENTS(A(WIRE_SELF), A_STRUCT(listed_volume))},
    {.name = "next", .offset = offsetof(struct sandlot_volume_listing, next), ARGUMENTS(A(WIRE_SELF), A(WIRE_TEXT))},
};
static const struct wire_struct volume_listing = {WITH_FUNCTIONS(sandlot_volume_listing, volume_listing_functions)};

static const struct wire_function network_view_functions[] = {
    {.name = "tell",
     .offset = offsetof(struct sandlot_network_view, tell),
     ARGUMENTS(A(WIRE_SELF), A_STRUCT(network), A(WIRE_TEXT))},
    {.name = "broken", .offset = offsetof(struct sandlot_network_view, broken), ARGUMENTS(A(WIRE_SELF))},
};
static const struct wire_struct network_view = {WITH_FUNCTIONS(sandlot_network_view, network_view_functions)};

static const struct wire_function network_log_functions[] = {
    {.name = "add",
     .offset = offsetof(struct sandlot_network_log, add),
     .result = WIRE_INT32,
     ARGUMENTS(A(WIRE_SELF), A_STRUCT(network_decision))},
};
static const struct wire_struct network_log = {WITH_FUNCTIONS(sandlot_network_log, network_log_functions)};

static const struct wire_function changes_functions[] = {
    {.name = "base",
     .offset = offsetof(struct sandlot_changes, base),
     ARGUMENTS(A(WIRE_SELF), A(WIRE_TEXT), A(WIRE_INT64))},
    {.name = "add",
     .offset = offsetof(struct sandlot_changes, add),
     .result = WIRE_INT32,
     ARGUMENTS(A(WIRE_SELF), A(WIRE_TEXT))},
};
static const struct wire_struct changes = {WITH_FUNCTIONS(sandlot_changes, changes_functions)};

static const struct wire_function transfer_functions[] = {
    {.name = "done",
     .offset = offsetof(struct sandlot_transfer, done),
     ARGUMENTS(A(WIRE_SELF), A(WIRE_UINT64), A(WIRE_TEXT), A(WIRE_UINT64))},
};
static const struct wire_struct transfer = {WITH_FUNCTIONS(sandlot_transfer, transfer_functions)};

static const struct wire_value command_fields[] = {
    FIELD(sandlot_command, WIRE_TEXT, command),
    FIELD(sandlot_command, WIRE_TEXT, working_dir),
    FIELD(sandlot_command, WIRE_TEXTS, environment),
    FIELD(sandlot_command, WIRE_INT64, timeout_ms),
    STRUCT_FIELD(sandlot_command, WIRE_STRUCT, input, source),
    FIELD(sandlot_command, WIRE_UINT32, flags),
};
static const struct wire_struct command = PLAIN(sandlot_command, command_fields, true);

static const struct wire_value file_fields[] = {
    FIELD(sandlot_file, WIRE_TEXT, path),
    STRUCT_FIELD(sandlot_file, WIRE_STRUCT, source, source),
    FIELD(sandlot_file, WIRE_UINT64, length),
    FIELD(sandlot_file, WIRE_UINT32, mode),
    STRUCT_FIELD(sandlot_file, WIRE_STRUCT, sink, sink),
};
static const struct wire_struct file = PLAIN(sandlot_file, file_fields, true);

static const struct wire_function terminal_functions[] = {
    {.name = "window",
     .offset = offsetof(struct sandlot_terminal, window),
     ARGUMENTS(A(WIRE_SELF), OUT(WIRE_UINT16), OUT(WIRE_UINT16))},
};
static const struct wire_value terminal_fields[] = {
    STRUCT_FIELD(sandlot_terminal, WIRE_STRUCT, command, command),
    STRUCT_FIELD(sandlot_terminal, WIRE_STRUCT, output, sink),
    FIELD(sandlot_terminal, WIRE_TEXT, term),
    FIELD(sandlot_terminal, WIRE_WATCH, resized_fd),
};
static const struct wire_struct terminal = {
    WITH_FUNCTIONS(sandlot_terminal, terminal_functions),
    .fields = terminal_fields,
    .field_count = COUNT_OF(terminal_fields),
};

static const struct wire_function connection_functions[] = {
    {.name = "opened", .offset = offsetof(struct sandlot_connection, opened), ARGUMENTS(A(WIRE_SELF))},
    {.name = "closed", .offset = offsetof(struct sandlot_connection, closed), ARGUMENTS(A(WIRE_SELF))},
};
static const struct wire_value connection_fields[] = {
    FIELD(sandlot_connection, WIRE_UINT16, port),
    STRUCT_FIELD(sandlot_connection, WIRE_STRUCT, input, source),
    STRUCT_FIELD(sandlot_connection, WIRE_STRUCT, output, sink),
};
static const struct wire_struct connection = {
    WITH_FUNCTIONS(sandlot_connection, connection_functions),
    .fields = connection_fields,
    .field_count = COUNT_OF(connection_fields),
};

static const struct wire_function port_answer_functions[] = {
    {.name = "found",
     .offset = offsetof(struct sandlot_port_answer, found),
     ARGUMENTS(A(WIRE_SELF), A_STRUCT(port_address))},
};
static const struct wire_struct port_answer = {WITH_FUNCTIONS(sandlot_port_answer, port_answer_functions)};

static const struct wire_function host_functions[] = {
    [WIRE_HOST_FAIL] = {.name = "fail",
                        .offset = offsetof(struct sandlot_host, fail),
                        .result = WIRE_INT32,
                        ARGUMENTS(A(WIRE_CALL), A(WIRE_INT32), A(WIRE_TEXT))},
    [WIRE_HOST_LOG] = {.name = "log",
                       .offset = offsetof(struct sandlot_host, log),
                       ARGUMENTS(A(WIRE_CALL), A(WIRE_INT32), A(WIRE_TEXT))},
    [WIRE_HOST_ENVIRONMENT] = {.name = "environment",
                               .offset = offsetof(struct sandlot_host, environment),
                               .result = WIRE_KEPT_TEXT,
                               ARGUMENTS(A(WIRE_CALL), A(WIRE_TEXT))},
    [WIRE_HOST_PROGRESS] = {.name = "progress",
                            .offset = offsetof(struct sandlot_host, progress),
                            ARGUMENTS(A(WIRE_CALL), A(WIRE_TEXT), A(WIRE_UINT64), A(WIRE_UINT64))},
    [WIRE_HOST_CREATED] = {.name = "created",
                           .offset = offsetof(struct sandlot_host, created),
                           ARGUMENTS(A(WIRE_CALL), A(WIRE_TEXT), A(WIRE_TEXT))},
};
const struct wire_struct wire_host = {
    .name = "sandlot_host",
    .size = sizeof(struct sandlot_host),
    .sized = true,
    .functions = host_functions,
    .function_count = COUNT_OF(host_functions),
};

/* ---- the functions of a provider --------------------------------------------------------------------------------- */

/* A function that returns a status and begins with the call and the provider. */
#define PROVIDER(name_, ...)                                                                  \
    .name = #name_, .offset = offsetof(struct sandlot_provider, name_), .result = WIRE_INT32, \
    ARGUMENTS(A(WIRE_CALL), A(WIRE_HANDLE), __VA_ARGS__)

const struct wire_function wire_functions[WIRE_FUNCTION_COUNT] = {
    [WIRE_LOAD] = {.name = "load",
                   .result = WIRE_INT32,
                   ARGUMENTS(A(WIRE_CALL), A(WIRE_TEXT), A(WIRE_TEXT), OUT_STRUCT(table))},
    /* Its arguments follow from the parameters: wire_describe_open. */
    [WIRE_OPEN] = {.name = "open", .offset = offsetof(struct sandlot_provider, open), .result = WIRE_INT32},
    [WIRE_GET_OR_CREATE] = {PROVIDER(get_or_create, A_STRUCT(create), A(WIRE_NEW_HANDLE))},
    [WIRE_READY] = {PROVIDER(ready, A(WIRE_HANDLE))},
    {.name = "close", .offset = offsetof(struct sandlot_provider, close), ARGUMENTS(A(WIRE_LAST_HANDLE))},
    {.name = "release",
     .offset = offsetof(struct sandlot_provider, release),
     ARGUMENTS(A(WIRE_HANDLE), A(WIRE_LAST_HANDLE))},
    {PROVIDER(delete_sandbox, A(WIRE_TEXT))},
    {PROVIDER(list, A(WIRE_TEXT), A_STRUCT(listing))},
    {PROVIDER(execute, A(WIRE_HANDLE), A_STRUCT(command), A_STRUCT(sink), OUT_STRUCT(ended))},
    {PROVIDER(upload, A(WIRE_HANDLE), A_ARRAY(file), A(WIRE_COUNT), A_STRUCT(transfer))},
    {PROVIDER(download, A(WIRE_HANDLE), A_ARRAY(file), A(WIRE_COUNT), A_STRUCT(transfer)), .in_place = true},
    {PROVIDER(open_root, A(WIRE_HANDLE), OUT_STRUCT(root))},
    {PROVIDER(terminal, A(WIRE_HANDLE), A_STRUCT(terminal), OUT_STRUCT(ended))},
    {PROVIDER(pause, A(WIRE_TEXT))},
    {PROVIDER(resume, A(WIRE_TEXT))},
    {PROVIDER(snapshot, A(WIRE_TEXT), A(WIRE_TEXT), A_STRUCT(sink))},
    {PROVIDER(list_snapshots, A(WIRE_TEXT), A_STRUCT(listing))},
    {PROVIDER(delete_snapshot, A(WIRE_TEXT))},
    {PROVIDER(fork, A(WIRE_TEXT), A_STRUCT(create))},
    {.name = "check",
     .offset = offsetof(struct sandlot_provider, check),
     .result = WIRE_INT32,
     ARGUMENTS(A(WIRE_CALL), A(WIRE_HANDLE))},
    {PROVIDER(set_network, A(WIRE_HANDLE), A_STRUCT(network))},
    {PROVIDER(show_network, A(WIRE_HANDLE), A_STRUCT(network_view))},
    {PROVIDER(network_log, A(WIRE_HANDLE), A(WIRE_UINT64), A_STRUCT(network_log))},
    {PROVIDER(connect_port, A(WIRE_HANDLE), A_STRUCT(connection))},
    {PROVIDER(port_url, A(WIRE_HANDLE), A(WIRE_UINT16), A(WIRE_INT64), A_STRUCT(port_answer))},
    {PROVIDER(changes, A(WIRE_HANDLE), A_STRUCT(changes))},
    {PROVIDER(list_volumes, A(WIRE_TEXT), A_STRUCT(volume_listing))},
    {PROVIDER(delete_volume, A(WIRE_TEXT))},
    {PROVIDER(snapshot_with_base, A(WIRE_TEXT), A(WIRE_TEXT), A_STRUCT(sink))},
};

bool wire_describe_open(const struct sandlot_parameter *parameters, size_t count, struct wire_value *arguments,
                        struct wire_function *function)
{
    static const enum wire_kind kinds[] = {
        [SANDLOT_PARAMETER_string] = WIRE_TEXT,   [SANDLOT_PARAMETER_path] = WIRE_TEXT,
        [SANDLOT_PARAMETER_integer] = WIRE_INT64, [SANDLOT_PARAMETER_float] = WIRE_DOUBLE,
        [SANDLOT_PARAMETER_boolean] = WIRE_BOOL,  [SANDLOT_PARAMETER_array] = WIRE_TEXT,
        [SANDLOT_PARAMETER_table] = WIRE_TEXT,
    };

    if (count > WIRE_MOST_PARAMETERS)
        return false;
    arguments[0] = (struct wire_value)A(WIRE_CALL);
    arguments[1] = (struct wire_value)A(WIRE_NEW_HANDLE);
    for (size_t i = 0; i < count; i++) {
        if (parameters[i].kind < SANDLOT_PARAMETER_string || parameters[i].kind > SANDLOT_PARAMETER_table)
            return false;
        arguments[2 + i] = (struct wire_value)A(kinds[parameters[i].kind]);
    }
    *function = wire_functions[WIRE_OPEN];
    function->arguments = arguments;
    function->argument_count = 2 + count;
    function->keep_arguments = true;
    return true;
}

/* ---- for libffi -------------------------------------------------------------------------------------------------- */

static ffi_type *type_of(enum wire_kind kind)
{
    switch (kind) {
    case WIRE_NOTHING:
        return &ffi_type_void;
    case WIRE_BOOL:
        return &ffi_type_uint8;
    case WIRE_UINT16:
        return &ffi_type_uint16;
    case WIRE_INT32:
    case WIRE_WATCH:
    case WIRE_DESCRIPTOR:
        return &ffi_type_sint32;
    case WIRE_UINT32:
        return &ffi_type_uint32;
    case WIRE_INT64:
        return &ffi_type_sint64;
    case WIRE_UINT64:
    case WIRE_COUNT:
    case WIRE_LENGTH:
    case WIRE_CAPACITY:
        return &ffi_type_uint64;
    case WIRE_DOUBLE:
        return &ffi_type_double;
    default:
        return &ffi_type_pointer;
    }
}

size_t wire_width(enum wire_kind kind)
{
    return kind == WIRE_NOTHING ? 0 : type_of(kind)->size;
}

bool wire_prepare(const struct wire_function *function, ffi_cif *cif, ffi_type **types)
{
    for (size_t i = 0; i < function->argument_count; i++)
        types[i] = function->arguments[i].out ? &ffi_type_pointer : type_of(function->arguments[i].kind);
    return ffi_prep_cif(cif, FFI_DEFAULT_ABI, (unsigned int)function->argument_count, type_of(function->result),
                        types) == FFI_OK;
}
