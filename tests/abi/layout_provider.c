/*
 * The layout of ABI 1.0 as it was released: every field of every struct that crosses with its place and type, and every
 * number. Compiled, never run, for today's header and for the one of 1.0; a line that fails is a change that breaks
 * binaries which are out in the world. A later minor version adds lines and changes none.
 *
 * For machines with pointers and longs of 64 bits, which are all that Sandlot runs on.
 */
#include <sandlot/provider.h>

_Static_assert(sizeof(void *) == 8 && sizeof(long) == 8, "the numbers below are those of LP64");
_Static_assert(SANDLOT_ABI_MAJOR == 1, "a new major version has a layout of its own: keep this one beside it");

/* The types say how large a field is, and how a function is called. */
#define FIELD(structure, place, field, ...)                                                                      \
    _Static_assert(offsetof(struct structure, field) == (place), "struct " #structure ": " #field " has moved"); \
    _Static_assert(__builtin_types_compatible_p(__typeof__(((struct structure *)NULL)->field), __VA_ARGS__),     \
                   "struct " #structure ": " #field " has another type")
#define FROZEN_SIZE(structure, bytes) \
    _Static_assert(sizeof(struct structure) == (bytes), "struct " #structure " may never grow")
/* Fields are added at the end, and only with a new minor version. */
#define SIZE(structure, bytes)                                                                                         \
    _Static_assert(SANDLOT_ABI_MINOR == 0 ? sizeof(struct structure) == (bytes) : sizeof(struct structure) >= (bytes), \
                   "struct " #structure " has another size without a new minor version, or became smaller")
#define VALUE(name, number) _Static_assert((name) == (number), #name " has another value")

FIELD(sandlot_call, 0, size, size_t);
FIELD(sandlot_call, 8, host, const struct sandlot_host *);
FIELD(sandlot_call, 16, deadline_ms, int64_t);
FIELD(sandlot_call, 24, cancel_fd, int);
SIZE(sandlot_call, 32);

FIELD(sandlot_host, 0, size, size_t);
FIELD(sandlot_host, 8, abi_major, uint32_t);
FIELD(sandlot_host, 12, abi_minor, uint32_t);
FIELD(sandlot_host, 16, fail, enum sandlot_status (*)(struct sandlot_call *, enum sandlot_status, const char *));
FIELD(sandlot_host, 24, log, void (*)(struct sandlot_call *, enum sandlot_log_level, const char *));
FIELD(sandlot_host, 32, environment, const char *(*)(struct sandlot_call *, const char *));
FIELD(sandlot_host, 40, progress, void (*)(struct sandlot_call *, const char *, uint64_t, uint64_t));
FIELD(sandlot_host, 48, created, void (*)(struct sandlot_call *, const char *, const char *));
SIZE(sandlot_host, 56);

FIELD(sandlot_parameter, 0, size, size_t);
FIELD(sandlot_parameter, 8, name, const char *);
FIELD(sandlot_parameter, 16, kind, enum sandlot_parameter_kind);
FIELD(sandlot_parameter, 20, flags, uint32_t);
FIELD(sandlot_parameter, 24, default_text, const char *);
FIELD(sandlot_parameter, 32, help, const char *);
SIZE(sandlot_parameter, 40);

FIELD(sandlot_label, 0, key, const char *);
FIELD(sandlot_label, 8, value, const char *);
FROZEN_SIZE(sandlot_label, 16);

FIELD(sandlot_create, 0, size, size_t);
FIELD(sandlot_create, 8, sandbox_id, const char *);
FIELD(sandlot_create, 16, snapshot, const char *);
FIELD(sandlot_create, 24, run_label, const char *);
FIELD(sandlot_create, 32, labels, const struct sandlot_label *);
FIELD(sandlot_create, 40, label_count, size_t);
FIELD(sandlot_create, 48, idle_ttl_ms, int64_t);
FIELD(sandlot_create, 56, hard_ttl_ms, int64_t);
FIELD(sandlot_create, 64, flags, uint32_t);
#if SANDLOT_ABI_MINOR >= 2
FIELD(sandlot_create, 72, network, const struct sandlot_network *);
#endif
#if SANDLOT_ABI_MINOR >= 3
FIELD(sandlot_create, 80, volumes, const struct sandlot_volume *);
FIELD(sandlot_create, 88, volume_count, size_t);
#endif
SIZE(sandlot_create, 72);

#if SANDLOT_ABI_MINOR >= 2
FIELD(sandlot_network_entry, 0, kind, enum sandlot_network_kind);
FIELD(sandlot_network_entry, 8, text, const char *);
FIELD(sandlot_network_entry, 16, port, uint16_t);
FROZEN_SIZE(sandlot_network_entry, 24);

FIELD(sandlot_network_credential, 0, host, const char *);
FIELD(sandlot_network_credential, 8, header, const char *);
FIELD(sandlot_network_credential, 16, value, const char *);
FIELD(sandlot_network_credential, 24, placeholder_name, const char *);
FIELD(sandlot_network_credential, 32, placeholder, const char *);
FIELD(sandlot_network_credential, 40, plain, bool);
FROZEN_SIZE(sandlot_network_credential, 48);

FIELD(sandlot_network, 0, size, size_t);
FIELD(sandlot_network, 8, mode, enum sandlot_network_mode);
FIELD(sandlot_network, 16, entries, const struct sandlot_network_entry *);
FIELD(sandlot_network, 24, entry_count, size_t);
FIELD(sandlot_network, 32, credentials, const struct sandlot_network_credential *);
FIELD(sandlot_network, 40, credential_count, size_t);
FIELD(sandlot_network, 48, trusted_file, const char *);
SIZE(sandlot_network, 56);

FIELD(sandlot_network_view, 0, size, size_t);
FIELD(sandlot_network_view, 8, context, void *);
FIELD(sandlot_network_view, 16, tell,
      void (*)(const struct sandlot_network_view *, const struct sandlot_network *, const char *));
#if SANDLOT_ABI_MINOR >= 3
FIELD(sandlot_network_view, 24, broken, void (*)(const struct sandlot_network_view *));
#endif
SIZE(sandlot_network_view, 24);

FIELD(sandlot_network_decision, 0, size, size_t);
FIELD(sandlot_network_decision, 8, number, uint64_t);
FIELD(sandlot_network_decision, 16, at_ms, int64_t);
FIELD(sandlot_network_decision, 24, allowed, bool);
FIELD(sandlot_network_decision, 26, port, uint16_t);
FIELD(sandlot_network_decision, 32, host, const char *);
FIELD(sandlot_network_decision, 40, rule, const char *);
FIELD(sandlot_network_decision, 48, reason, const char *);
FIELD(sandlot_network_decision, 56, bytes_in, uint64_t);
FIELD(sandlot_network_decision, 64, bytes_out, uint64_t);
FIELD(sandlot_network_decision, 72, duration_ms, int64_t);
SIZE(sandlot_network_decision, 80);

FIELD(sandlot_network_log, 0, size, size_t);
FIELD(sandlot_network_log, 8, context, void *);
FIELD(sandlot_network_log, 16, add,
      enum sandlot_status (*)(const struct sandlot_network_log *, const struct sandlot_network_decision *));
SIZE(sandlot_network_log, 24);

#if SANDLOT_ABI_MINOR >= 3
FIELD(sandlot_connection, 0, size, size_t);
FIELD(sandlot_connection, 8, port, uint16_t);
FIELD(sandlot_connection, 16, input, const struct sandlot_source *);
FIELD(sandlot_connection, 24, output, const struct sandlot_sink *);
FIELD(sandlot_connection, 32, context, void *);
FIELD(sandlot_connection, 40, opened, void (*)(const struct sandlot_connection *));
FIELD(sandlot_connection, 48, closed, void (*)(const struct sandlot_connection *));
SIZE(sandlot_connection, 56);

FIELD(sandlot_port_address, 0, size, size_t);
FIELD(sandlot_port_address, 8, url, const char *);
FIELD(sandlot_port_address, 16, header, const char *);
FIELD(sandlot_port_address, 24, expires_at_ms, int64_t);
FIELD(sandlot_port_address, 32, is_public, bool);
SIZE(sandlot_port_address, 40);

FIELD(sandlot_port_answer, 0, size, size_t);
FIELD(sandlot_port_answer, 8, context, void *);
FIELD(sandlot_port_answer, 16, found,
      void (*)(const struct sandlot_port_answer *, const struct sandlot_port_address *));
SIZE(sandlot_port_answer, 24);
#endif
#endif

#if SANDLOT_ABI_MINOR >= 3
FIELD(sandlot_volume, 0, name, const char *);
FIELD(sandlot_volume, 8, path, const char *);
FIELD(sandlot_volume, 16, limit_bytes, uint64_t);
FIELD(sandlot_volume, 24, flags, uint32_t);
FROZEN_SIZE(sandlot_volume, 32);

FIELD(sandlot_listed_volume, 0, size, size_t);
FIELD(sandlot_listed_volume, 8, name, const char *);
FIELD(sandlot_listed_volume, 16, bytes, uint64_t);
FIELD(sandlot_listed_volume, 24, limit_bytes, uint64_t);
FIELD(sandlot_listed_volume, 32, writers, uint32_t);
FIELD(sandlot_listed_volume, 36, readers, uint32_t);
FIELD(sandlot_listed_volume, 40, used_at_ms, int64_t);
SIZE(sandlot_listed_volume, 48);

FIELD(sandlot_volume_listing, 0, size, size_t);
FIELD(sandlot_volume_listing, 8, context, void *);
FIELD(sandlot_volume_listing, 16, add,
      enum sandlot_status (*)(const struct sandlot_volume_listing *, const struct sandlot_listed_volume *));
FIELD(sandlot_volume_listing, 24, next, void (*)(const struct sandlot_volume_listing *, const char *));
SIZE(sandlot_volume_listing, 32);

FIELD(sandlot_changes, 0, size, size_t);
FIELD(sandlot_changes, 8, context, void *);
FIELD(sandlot_changes, 16, base, void (*)(const struct sandlot_changes *, const char *, int64_t));
FIELD(sandlot_changes, 24, add, enum sandlot_status (*)(const struct sandlot_changes *, const char *));
SIZE(sandlot_changes, 32);
#endif

FIELD(sandlot_source, 0, size, size_t);
FIELD(sandlot_source, 8, context, void *);
FIELD(sandlot_source, 16, read, enum sandlot_status (*)(const struct sandlot_source *, void *, size_t, size_t *));
FIELD(sandlot_source, 24, poll_fd, int);
SIZE(sandlot_source, 32);

FIELD(sandlot_sink, 0, size, size_t);
FIELD(sandlot_sink, 8, context, void *);
FIELD(sandlot_sink, 16, write, enum sandlot_status (*)(const struct sandlot_sink *, const void *, size_t));
SIZE(sandlot_sink, 24);

FIELD(sandlot_command, 0, size, size_t);
FIELD(sandlot_command, 8, command, const char *);
FIELD(sandlot_command, 16, working_dir, const char *);
FIELD(sandlot_command, 24, environment, const char *const *);
FIELD(sandlot_command, 32, timeout_ms, int64_t);
FIELD(sandlot_command, 40, input, const struct sandlot_source *);
#if SANDLOT_ABI_MINOR >= 1
FIELD(sandlot_command, 48, flags, uint32_t);
VALUE(SANDLOT_COMMAND_LEAVES_WORK, 1);
#endif
SIZE(sandlot_command, 48);

FIELD(sandlot_exit, 0, size, size_t);
FIELD(sandlot_exit, 8, exit_code, int);
FIELD(sandlot_exit, 12, timed_out, bool);
FIELD(sandlot_exit, 16, note, const char *);
SIZE(sandlot_exit, 24);

FIELD(sandlot_listed, 0, size, size_t);
FIELD(sandlot_listed, 8, id, const char *);
FIELD(sandlot_listed, 16, state, const char *);
FIELD(sandlot_listed, 24, created_at_ms, int64_t);
FIELD(sandlot_listed, 32, run_label, const char *);
SIZE(sandlot_listed, 40);

FIELD(sandlot_listing, 0, size, size_t);
FIELD(sandlot_listing, 8, context, void *);
FIELD(sandlot_listing, 16, add, enum sandlot_status (*)(const struct sandlot_listing *, const struct sandlot_listed *));
FIELD(sandlot_listing, 24, next, void (*)(const struct sandlot_listing *, const char *));
SIZE(sandlot_listing, 32);

FIELD(sandlot_file, 0, size, size_t);
FIELD(sandlot_file, 8, path, const char *);
FIELD(sandlot_file, 16, source, const struct sandlot_source *);
FIELD(sandlot_file, 24, length, uint64_t);
FIELD(sandlot_file, 32, mode, uint32_t);
FIELD(sandlot_file, 40, sink, const struct sandlot_sink *);
FROZEN_SIZE(sandlot_file, 48);

FIELD(sandlot_transfer, 0, size, size_t);
FIELD(sandlot_transfer, 8, context, void *);
FIELD(sandlot_transfer, 16, done, void (*)(const struct sandlot_transfer *, size_t, const char *, uint64_t));
SIZE(sandlot_transfer, 24);

FIELD(sandlot_root, 0, size, size_t);
FIELD(sandlot_root, 8, fd, int);
FIELD(sandlot_root, 12, uid, uint32_t);
FIELD(sandlot_root, 16, gid, uint32_t);
FIELD(sandlot_root, 20, alive_fd, int);
SIZE(sandlot_root, 24);

FIELD(sandlot_terminal, 0, size, size_t);
FIELD(sandlot_terminal, 8, command, const struct sandlot_command *);
FIELD(sandlot_terminal, 16, output, const struct sandlot_sink *);
FIELD(sandlot_terminal, 24, term, const char *);
FIELD(sandlot_terminal, 32, resized_fd, int);
FIELD(sandlot_terminal, 40, context, void *);
FIELD(sandlot_terminal, 48, window, void (*)(const struct sandlot_terminal *, uint16_t *, uint16_t *));
SIZE(sandlot_terminal, 56);

FIELD(sandlot_provider, 0, size, size_t);
FIELD(sandlot_provider, 8, abi_major, uint32_t);
FIELD(sandlot_provider, 12, abi_minor, uint32_t);
FIELD(sandlot_provider, 16, name, const char *);
FIELD(sandlot_provider, 24, flags, uint32_t);
FIELD(sandlot_provider, 32, parameters, const struct sandlot_parameter *);
FIELD(sandlot_provider, 40, parameter_count, size_t);
FIELD(sandlot_provider, 48, open, void (*)(void));
FIELD(sandlot_provider, 56, close, void (*)(void *));
FIELD(sandlot_provider, 64, get_or_create,
      enum sandlot_status (*)(struct sandlot_call *, void *, const struct sandlot_create *, void **));
FIELD(sandlot_provider, 72, ready, enum sandlot_status (*)(struct sandlot_call *, void *, void *));
FIELD(sandlot_provider, 80, release, void (*)(void *, void *));
FIELD(sandlot_provider, 88, delete_sandbox, enum sandlot_status (*)(struct sandlot_call *, void *, const char *));
FIELD(sandlot_provider, 96, list,
      enum sandlot_status (*)(struct sandlot_call *, void *, const char *, const struct sandlot_listing *));
FIELD(sandlot_provider, 104, execute,
      enum sandlot_status (*)(struct sandlot_call *, void *, void *, const struct sandlot_command *,
                              const struct sandlot_sink *, struct sandlot_exit *));
FIELD(sandlot_provider, 112, upload,
      enum sandlot_status (*)(struct sandlot_call *, void *, void *, const struct sandlot_file *, size_t,
                              const struct sandlot_transfer *));
FIELD(sandlot_provider, 120, download,
      enum sandlot_status (*)(struct sandlot_call *, void *, void *, const struct sandlot_file *, size_t,
                              const struct sandlot_transfer *));
FIELD(sandlot_provider, 128, open_root,
      enum sandlot_status (*)(struct sandlot_call *, void *, void *, struct sandlot_root *));
FIELD(sandlot_provider, 136, terminal,
      enum sandlot_status (*)(struct sandlot_call *, void *, void *, const struct sandlot_terminal *,
                              struct sandlot_exit *));
FIELD(sandlot_provider, 144, pause, enum sandlot_status (*)(struct sandlot_call *, void *, const char *));
FIELD(sandlot_provider, 152, resume, enum sandlot_status (*)(struct sandlot_call *, void *, const char *));
FIELD(sandlot_provider, 160, snapshot,
      enum sandlot_status (*)(struct sandlot_call *, void *, const char *, const char *, const struct sandlot_sink *));
FIELD(sandlot_provider, 168, list_snapshots,
      enum sandlot_status (*)(struct sandlot_call *, void *, const char *, const struct sandlot_listing *));
FIELD(sandlot_provider, 176, delete_snapshot, enum sandlot_status (*)(struct sandlot_call *, void *, const char *));
FIELD(sandlot_provider, 184, fork,
      enum sandlot_status (*)(struct sandlot_call *, void *, const char *, const struct sandlot_create *));
#if SANDLOT_ABI_MINOR >= 1
FIELD(sandlot_provider, 192, check, enum sandlot_status (*)(struct sandlot_call *, void *));
#endif
#if SANDLOT_ABI_MINOR >= 2
FIELD(sandlot_provider, 200, set_network,
      enum sandlot_status (*)(struct sandlot_call *, void *, void *, const struct sandlot_network *));
FIELD(sandlot_provider, 208, show_network,
      enum sandlot_status (*)(struct sandlot_call *, void *, void *, const struct sandlot_network_view *));
FIELD(sandlot_provider, 216, network_log,
      enum sandlot_status (*)(struct sandlot_call *, void *, void *, uint64_t, const struct sandlot_network_log *));
#endif
#if SANDLOT_ABI_MINOR >= 3
FIELD(sandlot_provider, 224, connect_port,
      enum sandlot_status (*)(struct sandlot_call *, void *, void *, const struct sandlot_connection *));
FIELD(sandlot_provider, 232, port_url,
      enum sandlot_status (*)(struct sandlot_call *, void *, void *, uint16_t, int64_t,
                              const struct sandlot_port_answer *));
FIELD(sandlot_provider, 240, changes,
      enum sandlot_status (*)(struct sandlot_call *, void *, void *, const struct sandlot_changes *));
FIELD(sandlot_provider, 248, list_volumes,
      enum sandlot_status (*)(struct sandlot_call *, void *, const char *, const struct sandlot_volume_listing *));
FIELD(sandlot_provider, 256, delete_volume, enum sandlot_status (*)(struct sandlot_call *, void *, const char *));
#endif
#if SANDLOT_ABI_MINOR >= 4
FIELD(sandlot_provider, 264, snapshot_with_base,
      enum sandlot_status (*)(struct sandlot_call *, void *, const char *, const char *, const struct sandlot_sink *));
#endif
SIZE(sandlot_provider, 192);

VALUE(SANDLOT_OK, 0);
VALUE(SANDLOT_NOT_FOUND, 1);
VALUE(SANDLOT_AUTH, 2);
VALUE(SANDLOT_INVALID_ARGUMENT, 3);
VALUE(SANDLOT_UNSUPPORTED, 4);
VALUE(SANDLOT_UNAVAILABLE, 5);
VALUE(SANDLOT_TIMEOUT, 6);
VALUE(SANDLOT_CANCELLED, 7);
VALUE(SANDLOT_EXHAUSTED, 8);
VALUE(SANDLOT_DEPENDENCY_MISSING, 9);
VALUE(SANDLOT_INTERNAL, 10);
_Static_assert(sizeof(enum sandlot_status) == 4, "enum sandlot_status has another size");

VALUE(SANDLOT_LOG_ERROR, 0);
VALUE(SANDLOT_LOG_WARNING, 1);
VALUE(SANDLOT_LOG_INFO, 2);
VALUE(SANDLOT_LOG_DEBUG, 3);
_Static_assert(sizeof(enum sandlot_log_level) == 4, "enum sandlot_log_level has another size");

VALUE(SANDLOT_PARAMETER_string, 1);
VALUE(SANDLOT_PARAMETER_path, 2);
VALUE(SANDLOT_PARAMETER_integer, 3);
VALUE(SANDLOT_PARAMETER_float, 4);
VALUE(SANDLOT_PARAMETER_boolean, 5);
VALUE(SANDLOT_PARAMETER_array, 6);
VALUE(SANDLOT_PARAMETER_table, 7);
_Static_assert(sizeof(enum sandlot_parameter_kind) == 4, "enum sandlot_parameter_kind has another size");

VALUE(SANDLOT_FLAG_optional, 0);
VALUE(SANDLOT_FLAG_required, 1);
VALUE(SANDLOT_FLAG_secret, 2);
VALUE(SANDLOT_FLAG_required_secret, 3);
_Static_assert(sizeof(enum sandlot_parameter_flag) == 4, "enum sandlot_parameter_flag has another size");

VALUE(SANDLOT_CREATE_KEEP, 1);
_Static_assert(sizeof(enum sandlot_create_flag) == 4, "enum sandlot_create_flag has another size");

#if SANDLOT_ABI_MINOR >= 2
VALUE(SANDLOT_NETWORK_OFF, 1);
VALUE(SANDLOT_NETWORK_ALLOW, 2);
VALUE(SANDLOT_NETWORK_OPEN, 3);
_Static_assert(sizeof(enum sandlot_network_mode) == 4, "enum sandlot_network_mode has another size");
VALUE(SANDLOT_NETWORK_HOST, 1);
VALUE(SANDLOT_NETWORK_BELOW, 2);
VALUE(SANDLOT_NETWORK_CIDR, 3);
_Static_assert(sizeof(enum sandlot_network_kind) == 4, "enum sandlot_network_kind has another size");
#endif

VALUE(SANDLOT_SERIAL_SANDBOX, 1);
VALUE(SANDLOT_STREAMS_OUTPUT, 2);
VALUE(SANDLOT_ENDS_WITH_POWER, 4);
_Static_assert(sizeof(enum sandlot_provider_flag) == 4, "enum sandlot_provider_flag has another size");

VALUE(SANDLOT_ABSENT_INTEGER, INT64_MIN);
VALUE(SANDLOT_EXIT_UNKNOWN, -1);
VALUE(SANDLOT_NOTE_TYPE, 1);
VALUE(SANDLOT_NOTE_MAXIMUM, 65536);
VALUE(SANDLOT_LINE_MAXIMUM, 190);
_Static_assert(sizeof(SANDLOT_NOTE_OWNER) == 8, "the owner of the note has another name");

/* The entry function. */
_Static_assert(__builtin_types_compatible_p(sandlot_entry, const struct sandlot_provider *(*)(struct sandlot_call *)),
               "sandlot_entry has another type");

/* What the macros for parameters make of a kind. */
#define ARGUMENT(kind, type) \
    _Static_assert(__builtin_types_compatible_p(SANDLOT_C_##kind, type), #kind " has another type")
ARGUMENT(string, const char *);
ARGUMENT(path, const char *);
ARGUMENT(integer, int64_t);
ARGUMENT(float, double);
ARGUMENT(boolean, bool);
ARGUMENT(array, const char *);
ARGUMENT(table, const char *);
