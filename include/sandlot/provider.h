/*
 * sandlot/provider.h - the provider ABI, major version 1.
 *
 * A provider makes, finds, uses and deletes sandboxes of one kind: one cloud vendor's, or boxes on
 * this machine. It ships as one shared object. This header is all that it needs: it is C11 with POSIX.1-2008
 * (-std=gnu11, or -std=c11 -D_GNU_SOURCE) and C++, a provider links against nothing of Sandlot, and Sandlot calls it
 * only through the table below.
 *
 *   1. Write the functions that your vendor can serve: get_or_create and delete_sandbox are required,
 *      and execute too unless you serve files natively. Everything else may stay NULL. A capability is
 *      a pointer that is not NULL.
 *   2. Put them into one `const struct sandlot_provider`.
 *   3. Close the file with SANDLOT_ENTRY_POINT. It exports the entry function and writes the entry
 *      point, with your static metadata, into an ELF note of the shared object, where the host reads
 *      it without running any of your code.
 *
 * VERSIONS  Every struct that crosses begins with its own size in bytes; fields are only ever added at
 * the end. Read or write a field that may be newer than the other side only after SANDLOT_HAS says it is there, and
 * never assign a whole struct that the other side made. sandlot_label, sandlot_file, sandlot_network_entry,
 * sandlot_network_credential and sandlot_volume come in arrays, over which a provider steps by the size that it was built
 * with: these never grow.
 * The host refuses a provider of another ABI major; within a major both sides use what both know.
 *
 * MEMORY    Nobody frees what the other side allocated. What the host passes in stays the host's and is
 * valid until the function returns, unless a longer life is promised. Results flow into sinks or into
 * structs that the caller owns, never out of the provider's heap.
 *
 * THREADS   Any function may be called on any thread. Calls for different sandboxes run at the same
 * time. Calls for one sandbox may overlap too, unless the table has SANDLOT_SERIAL_SANDBOX; then
 * the host runs one call per sandbox at a time. open and close of one provider never overlap with anything else.
 *
 * TIME      Milliseconds in int64_t. A deadline is a point of CLOCK_MONOTONIC (clock_gettime(2)) in
 * milliseconds, 0 for none. A provider must return within a second after its deadline has passed or
 * after the call was cancelled.
 *
 * TEXT      Strings are UTF-8 and end with NUL. Bytes always carry a length. Sizes are uint64_t.
 */
#ifndef SANDLOT_PROVIDER_H
#define SANDLOT_PROVIDER_H

#include <math.h>
#include <poll.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SANDLOT_ABI_MAJOR 1
#define SANDLOT_ABI_MINOR 4

/* Is FIELD of *POINTER inside the size that the other side gave its struct? */
#define SANDLOT_HAS(pointer, field) \
    ((pointer)->size >= offsetof(__typeof__(*(pointer)), field) + sizeof((pointer)->field))

#if defined(__GNUC__)
#define SANDLOT_EXPORT __attribute__((visibility("default")))
#else
#define SANDLOT_EXPORT
#endif

/*
 * What became of a call. The list is closed within an ABI major. Every status but SANDLOT_OK comes
 * with one sentence, given to sandlot_host.fail, that says what failed, why, and what to do.
 */
enum sandlot_status {
    SANDLOT_OK = 0,
    SANDLOT_NOT_FOUND = 1,          /* there is no such sandbox, snapshot or file (any more) */
    SANDLOT_AUTH = 2,               /* credentials are missing, wrong or expired */
    SANDLOT_INVALID_ARGUMENT = 3,   /* a parameter or request that can never work */
    SANDLOT_UNSUPPORTED = 4,        /* this provider or this vendor cannot do that */
    SANDLOT_UNAVAILABLE = 5,        /* network or vendor trouble: the same call may work later */
    SANDLOT_TIMEOUT = 6,            /* the deadline passed (not: the command's own time limit) */
    SANDLOT_CANCELLED = 7,          /* the host cancelled the call */
    SANDLOT_EXHAUSTED = 8,          /* a quota or limit is used up */
    SANDLOT_DEPENDENCY_MISSING = 9, /* a library, program or kernel feature is not there */
    SANDLOT_INTERNAL = 10           /* a fault in the provider or an answer that makes no sense */
};

enum sandlot_log_level {
    SANDLOT_LOG_ERROR = 0,
    SANDLOT_LOG_WARNING = 1,
    SANDLOT_LOG_INFO = 2, /* progress of interest to a person: shown with -v */
    SANDLOT_LOG_DEBUG = 3 /* shown with -vv */
};

struct sandlot_host;

/*
 * One call. The host makes it, passes it as the first argument of every function, and it is valid
 * until that function returns. A provider may use it on other threads of its own until then.
 */
struct sandlot_call {
    size_t size;
    const struct sandlot_host *host; /* the services below; lives as long as the provider is loaded */
    int64_t deadline_ms;             /* CLOCK_MONOTONIC, 0: none */
    int cancel_fd;                   /* becomes readable (POLLIN) when the host cancels; never read from
                                        it; -1: this call cannot be cancelled */
};

/* The services that the host lends. All of them may be called on any thread. */
struct sandlot_host {
    size_t size;
    uint32_t abi_major; /* the ABI that the host was built with */
    uint32_t abi_minor;

    /*
     * Says why a call fails. MESSAGE is one sentence for a person, copied by the host: what failed,
     * why, and what to do next; no secret, no newline. Returns STATUS, so that a function can end with
     * `return call->host->fail(call, SANDLOT_AUTH, "...")`. The first message of a call counts.
     */
    enum sandlot_status (*fail)(struct sandlot_call *call, enum sandlot_status status, const char *message);

    /* Writes one line to the host's log, under the provider's name. No secret in MESSAGE. */
    void (*log)(struct sandlot_call *call, enum sandlot_log_level level, const char *message);

    /*
     * Looks a variable up: SANDLOT_NAME first (present but empty hides NAME), then NAME, in the
     * process environment and then in the user's .env files. NULL if it is absent or empty. The string
     * stays valid until the provider is unloaded. Use this instead of getenv: a provider in a worker
     * process sees only the variables that its entry point names.
     */
    const char *(*environment)(struct sandlot_call *call, const char *name);

    /*
     * Tells a person what is going on during long work, for example "pulling image", with DONE of
     * TOTAL bytes or steps (TOTAL 0: unknown). WHAT is copied. May be called often; the host thins it.
     */
    void (*progress)(struct sandlot_call *call, const char *what, uint64_t done, uint64_t total);

    /*
     * Inside get_or_create and fork: the vendor has answered and this is the sandbox's id. Call it as
     * soon as the id is known, before waiting for anything else: from this moment on the host
     * deletes the sandbox if anything goes wrong (one that was attached to it never deletes). WORKING_DIR is where
     * commands start, NULL for the one in the metadata; after attaching it is the only thing that this tells, and the
     * call may be left out. `ready` may call it again when it knows better. Both are copied.
     */
    void (*created)(struct sandlot_call *call, const char *id, const char *working_dir);
};

/* ---- parameters ----------------------------------------------------------------------------------------------- */

/* The type of a parameter, and the C type in which open receives it. */
enum sandlot_parameter_kind {
    SANDLOT_PARAMETER_string = 1,  /* const char *, NULL if absent without a default */
    SANDLOT_PARAMETER_path = 2,    /* const char *, made absolute by the host; shown as a string */
    SANDLOT_PARAMETER_integer = 3, /* int64_t, SANDLOT_ABSENT_INTEGER if absent without a default */
    SANDLOT_PARAMETER_float = 4,   /* double, NaN (isnan) if absent without a default */
    SANDLOT_PARAMETER_boolean = 5, /* bool, false if absent without a default */
    SANDLOT_PARAMETER_array = 6,   /* const char *, JSON text of an array, NULL if absent */
    SANDLOT_PARAMETER_table = 7    /* const char *, JSON text of an object, NULL if absent */
};

#define SANDLOT_ABSENT_INTEGER INT64_MIN

/* How a parameter is treated. */
enum sandlot_parameter_flag {
    SANDLOT_FLAG_optional = 0,
    SANDLOT_FLAG_required = 1, /* creating and attaching are refused without it; list and delete are
                                  not, and then open gets it as absent */
    SANDLOT_FLAG_secret = 2,   /* its value is kept out of every message and listing */
    SANDLOT_FLAG_required_secret = 3
};

struct sandlot_parameter {
    size_t size;
    const char *name; /* a C identifier of at most 38 bytes: the key in config.toml */
    enum sandlot_parameter_kind kind;
    uint32_t flags;           /* of enum sandlot_parameter_flag */
    const char *default_text; /* as it would be written after `--param NAME=`; "" for none */
    const char *help;         /* one line */
};

/* ---- requests and results -----------------------------------------------------------------------------------------
 */

struct sandlot_label {
    const char *key;
    const char *value;
};

/* ---- the network, since 1.2 ---------------------------------------------------------------------------------------
 *
 * What a sandbox may reach. The host asks a provider only for what its `capabilities` announce (SANDLOT_ENTRY_POINT);
 * what the provider alone can see (too many entries, a form that the vendor's grammar lacks) it refuses with
 * SANDLOT_UNSUPPORTED before it sends anything, naming each entry. It never holds something wider than what was asked.
 */

enum sandlot_network_mode {
    SANDLOT_NETWORK_OFF = 1,   /* nothing leaves the sandbox, no question for a name either */
    SANDLOT_NETWORK_ALLOW = 2, /* only what the entries name; there is at least one entry or credential */
    SANDLOT_NETWORK_OPEN = 3   /* no filter; there are no entries */
};

enum sandlot_network_kind {
    SANDLOT_NETWORK_HOST = 1,  /* the host of that name */
    SANDLOT_NETWORK_BELOW = 2, /* every name below it, at any depth, and not the name itself */
    SANDLOT_NETWORK_CIDR = 3   /* addresses */
};

/* One thing that may be reached. It never grows, for it comes in arrays. */
struct sandlot_network_entry {
    enum sandlot_network_kind kind;
    const char *text; /* "example.com", in lower case and punycode, without a final dot, also for "*.example.com"; or
                         "10.0.0.0/8", "2001:db8::1/128": canonical, always with its length, no bits behind it */
    uint16_t port;    /* 0: 80 and 443 */
};

/*
 * A header that is added outside the sandbox to requests for HOST over TLS on port 443, and with `plain` over HTTP on
 * port 80 too. HOST may be reached there without an entry. It never grows.
 */
struct sandlot_network_credential {
    const char *host;   /* as the text of an entry; never a wildcard */
    const char *header; /* its name */
    const char *value;  /* SECRET, valid during the call: never in a log, a message, an argument, a file; NULL in
                           what a provider tells by show_network */
    const char *placeholder_name; /* NULL: the header is set, whatever the program sent. Else a variable of the sandbox
                                     that holds PLACEHOLDER; only where a program sends that text in HEADER it is
                                     replaced by VALUE, in `Basic` too, and an absent header stays absent */
    const char *placeholder;      /* as VALUE is written, with letters and digits of chance, at least 16; or NULL */
    bool plain;
};

/* A whole policy. */
struct sandlot_network {
    size_t size;
    enum sandlot_network_mode mode;
    const struct sandlot_network_entry *entries;
    size_t entry_count;
    const struct sandlot_network_credential *credentials; /* at most one per host and header */
    size_t credential_count;
    const char *trusted_file; /* PEM file on this machine with authorities that are trusted towards the outside in
                                 addition; NULL: none */
};

/* Receives the policy that holds for a sandbox. */
struct sandlot_network_view {
    size_t size;
    void *context;
    /* Once. NOTE: NULL, or a sentence about what is the matter ("the proxy has ended, nothing leaves"). */
    void (*tell)(const struct sandlot_network_view *view, const struct sandlot_network *network, const char *note);
    /* Since 1.3. Before tell, where NOTE says that what the sandbox was given has broken and does not come back, and not
     * only what this machine lacks: every command that fails then tells it. */
    void (*broken)(const struct sandlot_network_view *view);
};

/* One decision about a connection or request, told when it has ended. */
struct sandlot_network_decision {
    size_t size;
    uint64_t number; /* 1, 2, ... in this sandbox; gaps are decisions that are no longer kept */
    int64_t at_ms;   /* UTC, since 1970: when it was made */
    bool allowed;
    uint16_t port;      /* 0: a name was looked up, and nothing dialled */
    const char *host;   /* as the program named it, in ASCII: a name or an address, at most 255 bytes */
    const char *rule;   /* the entry that allows it, as people write it; NULL: none */
    const char *reason; /* why it was denied, or why an allowed one failed, in a few words; NULL: neither */
    uint64_t bytes_in;  /* towards the sandbox */
    uint64_t bytes_out;
    int64_t duration_ms;
};

struct sandlot_network_log {
    size_t size;
    void *context;
    /* Oldest first. Strings are valid during the call only. */
    enum sandlot_status (*add)(const struct sandlot_network_log *log, const struct sandlot_network_decision *decision);
};

enum sandlot_create_flag {
    SANDLOT_CREATE_KEEP = 1 /* the sandbox is meant to outlive the process that asks. Without it, a
                               provider that can should bind the sandbox's life to this process. */
};

enum sandlot_volume_flag {
    SANDLOT_VOLUME_READ_ONLY = 1,   /* this sandbox cannot change it */
    SANDLOT_VOLUME_MANY_WRITERS = 2 /* others may write to it at the same time. Without it a second sandbox that would
                                       write is SANDLOT_EXHAUSTED, and the sentence names the one which does; it counts
                                       too for those that come later */
};

/*
 * A volume: storage with a name, of one user, that outlives sandboxes. It is made when a sandbox first asks for it, and
 * kept until delete_volume.
 */
struct sandlot_volume {
    const char *name;     /* 1 to 63 bytes of a-z, 0-9, "-", "_" and ".", the first a letter or digit */
    const char *path;     /* where it is in the sandbox: absolute, without ".", ".." or a "/" too many, not "/". The
                             provider refuses places that the sandbox needs for itself (SANDLOT_INVALID_ARGUMENT) */
    uint64_t limit_bytes; /* what it may hold; 0: as the provider likes */
    uint32_t flags;       /* of enum sandlot_volume_flag */
};

/* What get_or_create is asked for. */
struct sandlot_create {
    size_t size;
    const char *sandbox_id;             /* attach to this one, never create; NULL: create */
    const char *snapshot;               /* start from this snapshot, find or build it; NULL: none */
    const char *run_label;              /* unique for this creation, [a-z0-9-], at most 40 bytes: hand it to the vendor
                                           as label, metadata or idempotency key, so that a sandbox whose id was never heard can be
                                           found again by list */
    const struct sandlot_label *labels; /* to set where the vendor has labels; run_label is among them, under the key
                                           "sandlot-run": read it back from there in list */
    size_t label_count;
    int64_t idle_ttl_ms; /* end it after so long without use; cut it to the vendor's maximum; 0: none asked */
    int64_t hard_ttl_ms; /* end it after so long whatever happens; 0: none asked */
    uint32_t flags;      /* of enum sandlot_create_flag */
    const struct sandlot_network *network; /* since 1.2: what it may reach, from its first moment on; NULL: nothing was
                                              asked, and it gets what it always gets. Never with sandbox_id */
    const struct sandlot_volume *volumes; /* since 1.3: storage that it gets, at other places each; only for providers
                                             whose note says "volumes", and never with sandbox_id */
    size_t volume_count;
};

/*
 * Where bytes come from. The host owns it. read blocks until at least one byte is there, the input has
 * ended (*length is 0) or the call is cancelled or past its deadline.
 */
struct sandlot_source {
    size_t size;
    void *context;
    enum sandlot_status (*read)(const struct sandlot_source *source, void *buffer, size_t capacity, size_t *length);
    int poll_fd; /* readable when read would not block; -1: read never blocks for long */
};

/* Where bytes go. The host owns it. Any status but SANDLOT_OK: stop, and return that status. */
struct sandlot_sink {
    size_t size;
    void *context;
    enum sandlot_status (*write)(const struct sandlot_sink *sink, const void *bytes, size_t length);
};

/* How a command is treated. */
enum sandlot_command_flag {
    /* What it leaves running is meant to go on: the sandbox counts as in use (idle_ttl_ms) until the last of it has
     * ended, and execute still returns with the command itself. A provider whose service counts use by itself ignores
     * it. */
    SANDLOT_COMMAND_LEAVES_WORK = 1
};

/* One command for execute and terminal. */
struct sandlot_command {
    size_t size;
    const char *command;                /* one shell command line, for bash where there is one, else sh; not a login
                                           shell; NULL in terminal: the user's shell */
    const char *working_dir;            /* absolute; NULL: the sandbox's working directory; if it is not there:
                                           SANDLOT_INVALID_ARGUMENT */
    const char *const *environment;     /* "NAME=value" to add, ended by NULL; or NULL */
    int64_t timeout_ms;                 /* ends the command and all that it started; 0: no limit */
    const struct sandlot_source *input; /* standard input; NULL: empty. A provider that cannot feed input
                                           returns SANDLOT_UNSUPPORTED before anything runs. */
    uint32_t flags;                     /* since 1.1; of enum sandlot_command_flag */
};

#define SANDLOT_EXIT_UNKNOWN (-1)

/* How a command ended. The caller sets size and zeroes the rest. */
struct sandlot_exit {
    size_t size;
    int exit_code;    /* 0 to 255, 128 + n for signal n, 124 after a timeout; or SANDLOT_EXIT_UNKNOWN */
    bool timed_out;   /* the command's own time limit ended it */
    const char *note; /* NULL, or a static sentence about an end that the exit code does not explain,
                         such as a limit of the sandbox that killed the command */
};

/* One sandbox of a listing. Strings are valid during the call of add only. */
struct sandlot_listed {
    size_t size;
    const char *id;
    const char *state;     /* the vendor's word, in lower case; "paused": rests until it is used */
    int64_t created_at_ms; /* UTC, since 1970; 0: unknown */
    const char *run_label; /* the label of the creation; NULL: none, not one of ours */
};

struct sandlot_listing {
    size_t size;
    void *context;
    enum sandlot_status (*add)(const struct sandlot_listing *listing, const struct sandlot_listed *sandbox);
    /* More pages follow; pass CURSOR to the next list. Not called: this was the last. */
    void (*next)(const struct sandlot_listing *listing, const char *cursor);
};

/* One file of upload or download. PATH is absolute, inside the sandbox. */
struct sandlot_file {
    size_t size;
    const char *path;
    const struct sandlot_source *source; /* upload: the content */
    uint64_t length;                     /* upload: its length, UINT64_MAX if unknown */
    uint32_t mode;                       /* upload: permission bits of a new file; 0: 0666 less the umask */
    const struct sandlot_sink *sink;     /* download: where the content goes */
};

/* Receives the fate of each file, once each, in any order. ERROR: NULL or one of "file_not_found",
 * "permission_denied", "is_directory", "invalid_path", or a sentence where none of these fits. */
struct sandlot_transfer {
    size_t size;
    void *context;
    void (*done)(const struct sandlot_transfer *transfer, size_t index, const char *error, uint64_t bytes);
};

/* Direct access to a sandbox's files, for providers on this machine. */
struct sandlot_root {
    size_t size;
    int fd;       /* O_PATH descriptor of the sandbox's "/"; the host closes it and follows paths with
                     openat2(2), RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS. Where a
                     wall keeps the provider's process from writing there, commands are used instead */
    uint32_t uid; /* act on files as this user and group of the machine (setfsuid(2)) */
    uint32_t gid;
    int alive_fd; /* readable (POLLIN or POLLHUP) once the sandbox has ended; the host closes it; -1 (also what the
                     caller sets): cannot be told */
};

/* An interactive terminal. */
struct sandlot_terminal {
    size_t size;
    const struct sandlot_command *command; /* its input is the keyboard; timeout_ms as in execute */
    const struct sandlot_sink *output;
    const char *term; /* value for TERM */
    int resized_fd;   /* readable when the window has another size; then ask for it */
    void *context;
    void (*window)(const struct sandlot_terminal *terminal, uint16_t *rows, uint16_t *columns);
};

/*
 * Since 1.3. One connection to a server in the sandbox. INPUT is what the client sends; that it has ended means that the
 * client has closed its side only, and the server may still answer. OUTPUT is what the server sends.
 */
struct sandlot_connection {
    size_t size;
    uint16_t port; /* 1 to 65535, on the sandbox's own loopback */
    const struct sandlot_source *input;
    const struct sandlot_sink *output; /* blocks while the client does not read */
    void *context;
    /* Once, when the server has accepted and before any output. */
    void (*opened)(const struct sandlot_connection *connection);
    /* At most once: the server has closed its side, no output follows, and input may go on. Where a provider cannot tell
     * it is left out, and connect_port returns. */
    void (*closed)(const struct sandlot_connection *connection);
};

/* Since 1.3. Where the vendor's own network reaches a port. Strings are valid during the call of found only. */
struct sandlot_port_address {
    size_t size;
    const char *url;       /* "https://host[:port]", without a path */
    const char *header;    /* "Name: value" that every request needs, a SECRET; NULL: none */
    int64_t expires_at_ms; /* UTC, since 1970; 0: with the sandbox */
    bool is_public;        /* whoever knows the URL gets in */
};

struct sandlot_port_answer {
    size_t size;
    void *context;
    void (*found)(const struct sandlot_port_answer *answer, const struct sandlot_port_address *address);
};

/* What `changes` tells, since 1.3. */
struct sandlot_changes {
    size_t size;
    void *context;
    /* At most once and first: the folder of this machine, absolute, as which the working directory began, and since
     * when it may differ (UTC, milliseconds since 1970). Not called: the base is no folder of this machine. */
    void (*base)(const struct sandlot_changes *changes, const char *host_folder, int64_t since_ms);
    /* PATH, relative to the working directory, any bytes, may differ from the base; of a folder all that is below it
     * may, and "." is the working directory itself. In any order, may repeat. Any status but SANDLOT_OK: stop, and
     * return that status. */
    enum sandlot_status (*add)(const struct sandlot_changes *changes, const char *path);
};

/* One volume of a listing. Strings are valid during the call of add only. */
struct sandlot_listed_volume {
    size_t size;
    const char *name;
    uint64_t bytes;       /* what it holds; UINT64_MAX: unknown */
    uint64_t limit_bytes; /* what it may hold; 0: unknown, or there is no limit */
    uint32_t writers;     /* living sandboxes that have it, and may write */
    uint32_t readers;     /* or may only read */
    int64_t used_at_ms;   /* when a sandbox last got or had it: UTC, since 1970; 0: unknown */
};

struct sandlot_volume_listing {
    size_t size;
    void *context;
    enum sandlot_status (*add)(const struct sandlot_volume_listing *listing,
                               const struct sandlot_listed_volume *volume);
    /* More pages follow; pass CURSOR to the next list_volumes. Not called: this was the last. */
    void (*next)(const struct sandlot_volume_listing *listing, const char *cursor);
};

/* ---- the table ------------------------------------------------------------------------------------------------------
 */

enum sandlot_provider_flag {
    SANDLOT_SERIAL_SANDBOX = 1, /* calls for one sandbox must not overlap */
    SANDLOT_STREAMS_OUTPUT = 2, /* execute writes output as it appears, not after the end */
    SANDLOT_ENDS_WITH_POWER = 4 /* no sandbox outlives a power failure of this machine, so that the
                                   host need not wait for its disk before it asks for one */
};

/*
 * A provider. PROVIDER is what open stored, SANDBOX what get_or_create stored (NULL is fine for both).
 * "Required" functions must be there; all others may be NULL.
 */
struct sandlot_provider {
    size_t size;
    uint32_t abi_major; /* SANDLOT_ABI_MAJOR and _MINOR of the header that it was built with */
    uint32_t abi_minor;
    const char *name; /* must equal the name in the entry point */
    uint32_t flags;   /* of enum sandlot_provider_flag */

    const struct sandlot_parameter *parameters; /* from SANDLOT_TABLE; open takes one argument for each */
    size_t parameter_count;

    /*
     * Takes the parameters and makes what the other functions work with. Its type is
     *   enum sandlot_status open(struct sandlot_call *call, void **provider, <one argument per parameter>)
     * as SANDLOT_PARAMETERS declares it; the host builds the call from the table through libffi. The strings among
     * the arguments stay valid until close. Sends no request: an error that needs none (a missing key,
     * a bad combination) is best reported by the function that needs it. NULL only if there are no parameters.
     */
    void (*open)(void);

    /* Frees what open made. Called once, after the last other call has returned. */
    void (*close)(void *provider);

    /*
     * Required. Creates a sandbox, or attaches to request->sandbox_id. Tells the id by host->created as
     * soon as it is known, and stores in *SANDBOX what the functions below need. After a failure that
     * followed host->created the host deletes the sandbox (but never one that was attached to). An unknown id is
     * SANDLOT_NOT_FOUND. May return before commands can run if `ready` is there.
     */
    enum sandlot_status (*get_or_create)(struct sandlot_call *call, void *provider,
                                         const struct sandlot_create *request, void **sandbox);

    /*
     * One look whether SANDBOX can run commands: SANDLOT_OK; SANDLOT_UNAVAILABLE for "not yet", and the
     * host asks again with growing pauses up to start_timeout_s; anything else ends the wait. NULL: a
     * sandbox is ready when get_or_create returns.
     */
    enum sandlot_status (*ready)(struct sandlot_call *call, void *provider, void *sandbox);

    /* Frees the handle SANDBOX. The sandbox itself lives on. Called once per get_or_create that stored one. */
    void (*release)(void *provider, void *sandbox);

    /* Required. Ends the sandbox ID for good. Deleting what is not there (any more) is SANDLOT_OK. A handle of the same
     * sandbox may still be open, and is released afterwards. */
    enum sandlot_status (*delete_sandbox)(struct sandlot_call *call, void *provider, const char *id);

    /*
     * One page of the sandboxes that the credentials can see; CURSOR is NULL for the first page. With an
     * unknown cursor: SANDLOT_INVALID_ARGUMENT.
     */
    enum sandlot_status (*list)(struct sandlot_call *call, void *provider, const char *cursor,
                                const struct sandlot_listing *listing);

    /*
     * Runs one command and returns when the command itself has ended, though a background child may
     * still hold its output. Standard output and error go to OUTPUT together, in the order written, byte for byte. A
     * command that ran is SANDLOT_OK whatever its exit code; one that hit command->timeout_ms too, with
     * result->timed_out. When the call is cancelled, the command and all that it started are ended within a second.
     */
    enum sandlot_status (*execute)(struct sandlot_call *call, void *provider, void *sandbox,
                                   const struct sandlot_command *command, const struct sandlot_sink *output,
                                   struct sandlot_exit *result);

    /*
     * Moves COUNT files through the vendor's own transfer interface, in exact bytes and constant memory.
     * Missing folders are created, a file that exists is replaced whole and keeps its mode. Each file's fate goes to
     * TRANSFER; the status is for what concerns them all. NULL: the host does it through execute.
     */
    enum sandlot_status (*upload)(struct sandlot_call *call, void *provider, void *sandbox,
                                  const struct sandlot_file *files, size_t count,
                                  const struct sandlot_transfer *transfer);
    enum sandlot_status (*download)(struct sandlot_call *call, void *provider, void *sandbox,
                                    const struct sandlot_file *files, size_t count,
                                    const struct sandlot_transfer *transfer);

    /* Native files: opens the sandbox's root for the host, which owns the descriptors afterwards. Counts as a use of
     * the sandbox: while its files are in use the host asks again from time to time. SANDLOT_UNSUPPORTED: this one
     * sandbox's files cannot be reached directly; the host goes through execute. */
    enum sandlot_status (*open_root)(struct sandlot_call *call, void *provider, void *sandbox,
                                     struct sandlot_root *root);

    /* An interactive terminal; returns when its command has ended. */
    enum sandlot_status (*terminal)(struct sandlot_call *call, void *provider, void *sandbox,
                                    const struct sandlot_terminal *terminal, struct sandlot_exit *result);

    /* Stops a sandbox so that it can be resumed with its files, or more. */
    enum sandlot_status (*pause)(struct sandlot_call *call, void *provider, const char *id);
    enum sandlot_status (*resume)(struct sandlot_call *call, void *provider, const char *id);

    /* Keeps the state of sandbox ID under NAME. The snapshot's id, if it has another, goes to RESULT as text: what
     * list_snapshots lists, and get_or_create and delete_snapshot take. A snapshot whose id is not its name is listed
     * with its name as run_label. */
    enum sandlot_status (*snapshot)(struct sandlot_call *call, void *provider, const char *id, const char *name,
                                    const struct sandlot_sink *result);
    enum sandlot_status (*list_snapshots)(struct sandlot_call *call, void *provider, const char *cursor,
                                          const struct sandlot_listing *listing);
    enum sandlot_status (*delete_snapshot)(struct sandlot_call *call, void *provider, const char *name);

    /* Makes a second sandbox that starts with the files of ID; its id goes to host->created. Since 1.3 request->network
     * says what it may reach, as in get_or_create: a provider that cannot hold that in a fork is SANDLOT_UNSUPPORTED.
     * NULL: nothing is known of it, and it gets what ID has. One of an earlier version is never asked with a policy. */
    enum sandlot_status (*fork)(struct sandlot_call *call, void *provider, const char *id,
                                const struct sandlot_create *request);

    /*
     * Since 1.1. For providers that look for their credentials where no list of variables tells: could a request be
     * made? Decided by what lies on this machine, within a second: sends nothing, starts no program. SANDLOT_OK: yes,
     * or it cannot be told; anything else, SANDLOT_AUTH mostly, says what is missing. `sandlot providers` asks it of
     * the providers that ship with Sandlot, and of others when they are named. NULL: `credentials` tells all.
     */
    enum sandlot_status (*check)(struct sandlot_call *call, void *provider);

    /*
     * Since 1.2. Gives a living sandbox another policy, the whole of it anew. When it returns SANDLOT_OK the policy is in
     * force, and connections that no longer fit are cut. Credentials stay as they were made: `network` never has any.
     */
    enum sandlot_status (*set_network)(struct sandlot_call *call, void *provider, void *sandbox,
                                       const struct sandlot_network *network);

    /* Since 1.2. Tells the policy that holds now. NULL: the host tells what it remembers to have asked for. */
    enum sandlot_status (*show_network)(struct sandlot_call *call, void *provider, void *sandbox,
                                        const struct sandlot_network_view *view);

    /* Since 1.2. Tells the decisions whose number is above AFTER and which are still kept; returns at once when there are no
     * more. NULL: there is no log. */
    enum sandlot_status (*network_log)(struct sandlot_call *call, void *provider, void *sandbox, uint64_t after,
                                       const struct sandlot_network_log *log);

    /*
     * Since 1.3. Carries one connection; returns when both directions have ended, or the call is cancelled. Before
     * `opened`: SANDLOT_UNAVAILABLE, nothing listens there; SANDLOT_UNSUPPORTED, this port can never be reached (the
     * sentence says what to declare at creation); SANDLOT_NOT_FOUND, the sandbox has gone. After it a connection that
     * breaks is SANDLOT_OK. Any number at a time, with SANDLOT_SERIAL_SANDBOX too, whose turn it does not take. Counts
     * as use of the sandbox while it lasts.
     */
    enum sandlot_status (*connect_port)(struct sandlot_call *call, void *provider, void *sandbox,
                                        const struct sandlot_connection *connection);

    /* Since 1.3. The vendor's own address of PORT. TTL_MS: wanted life of a token in it, 0: the vendor's default. found is
     * called once with SANDLOT_OK. */
    enum sandlot_status (*port_url)(struct sandlot_call *call, void *provider, void *sandbox, uint16_t port,
                                    int64_t ttl_ms, const struct sandlot_port_answer *answer);

    /*
     * Since 1.3. Tells what may have changed in the working directory since the sandbox began. A hint, which the host
     * checks by the bytes; it must not leave out what did change. SANDLOT_UNSUPPORTED, before anything was told: this
     * one sandbox cannot tell, and the sentence says why.
     */
    enum sandlot_status (*changes)(struct sandlot_call *call, void *provider, void *sandbox,
                                   const struct sandlot_changes *changes);

    /* Since 1.3. One page of the volumes of this user; CURSOR as for list. */
    enum sandlot_status (*list_volumes)(struct sandlot_call *call, void *provider, const char *cursor,
                                        const struct sandlot_volume_listing *listing);

    /* Since 1.3. Removes a volume with all that it holds. Deleting what is not there (any more) is SANDLOT_OK. One that a
     * living sandbox has is SANDLOT_EXHAUSTED, and the sentence names that sandbox. */
    enum sandlot_status (*delete_volume)(struct sandlot_call *call, void *provider, const char *name);

    /* Since 1.4. As snapshot; where the sandbox began as a folder of this machine, to which snapshot refers, what is in
     * that folder now is kept too, so that the snapshot needs nothing outside of it. NULL: snapshots refer to none, or
     * cannot do without. */
    enum sandlot_status (*snapshot_with_base)(struct sandlot_call *call, void *provider, const char *id,
                                              const char *name, const struct sandlot_sink *result);
};

/* The entry function that SANDLOT_ENTRY_POINT exports: shows the provider's table to the host, or returns NULL after
 * host->fail when it cannot work with this host. CALL is valid until it returns. */
typedef const struct sandlot_provider *(*sandlot_entry)(struct sandlot_call *call);

/* ---- declaring parameters and the entry point ----------------------------------------------------------------- */

/*
 * One list declares the parameters:
 *
 *   #define ACME_PARAMETERS(P)                                                              \
 *       P(string,  image,     "debian:12", optional, "image to start from")              \
 *       P(integer, memory_mb, "512",       optional, "memory of the sandbox in MiB")     \
 *       P(string,  base_url,  "",          optional, "address of the API")
 *   SANDLOT_PARAMETERS(acme, ACME_PARAMETERS)
 *
 * It makes the table acme_parameters and declares
 *
 *   static enum sandlot_status acme_open(struct sandlot_call *call, void **provider,
 *                                        const char *image, int64_t memory_mb, const char *base_url);
 *
 * so that the compiler checks the function that follows against the list. Kind, name and flag are plain words,
 * default and help string literals without newline, the default "" where there is none.
 *
 * Three parameters belong to the host and every provider has them: `start_timeout_s` (seconds until a new sandbox must
 * be ready, 180), `ttl_s` and `hard_ttl_s` (3600 and 2592000; they arrive as idle_ttl_ms and hard_ttl_ms of the
 * request).
 *
 * An integer or float whose name ends in `_s`, `_sec` or `_seconds` is a time in seconds, in `_ms` one in
 * milliseconds: people may write it with units ("5m", "1h30m"), and open gets the number.
 */
#define SANDLOT_C_string const char *
#define SANDLOT_C_path const char *
#define SANDLOT_C_integer int64_t
#define SANDLOT_C_float double
#define SANDLOT_C_boolean bool
#define SANDLOT_C_array const char *
#define SANDLOT_C_table const char *

#define SANDLOT_ARGUMENT_(kind, name, default_, flag, help) , SANDLOT_C_##kind name
#define SANDLOT_ROW_(kind, name, default_, flag, help) \
    {sizeof(struct sandlot_parameter), #name, SANDLOT_PARAMETER_##kind, SANDLOT_FLAG_##flag, default_, help},

#define SANDLOT_PARAMETERS(prefix, LIST)                                                             \
    static enum sandlot_status prefix##_open(struct sandlot_call *, void **LIST(SANDLOT_ARGUMENT_)); \
    static const struct sandlot_parameter prefix##_parameters[] = {                                  \
        LIST(SANDLOT_ROW_){0, NULL, SANDLOT_PARAMETER_string, 0, NULL, NULL}};

/* The first fields of a provider's table, for a provider with or without parameters. */
#define SANDLOT_TABLE(prefix)                                                                                \
    .size = sizeof(struct sandlot_provider), .abi_major = SANDLOT_ABI_MAJOR, .abi_minor = SANDLOT_ABI_MINOR, \
    .name = #prefix, .parameters = prefix##_parameters,                                                      \
    .parameter_count = sizeof(prefix##_parameters) / sizeof(prefix##_parameters[0]) - 1,                     \
    .open = (void (*)(void))prefix##_open
#define SANDLOT_TABLE_WITHOUT_PARAMETERS(prefix)                                                             \
    .size = sizeof(struct sandlot_provider), .abi_major = SANDLOT_ABI_MAJOR, .abi_minor = SANDLOT_ABI_MINOR, \
    .name = #prefix
#define SANDLOT_NO_PARAMETERS(P)

/*
 * The entry point, once per provider, at the end of the file:
 *
 *   #define ACME_METADATA(M)                                  \
 *       M(description, "Sandboxes of Acme")                   \
 *       M(working_dir, "/home/acme")                          \
 *       M(capabilities, "list streaming")                     \
 *       M(credentials, "ACME_API_KEY")
 *   SANDLOT_ENTRY_POINT(acme, ACME_METADATA, ACME_PARAMETERS)
 *
 * uses the table `acme_provider` and exports the function `acme`, the SYMBOL of `class_path = "lib.so:acme"`.
 * Keys, all optional; each line at most 190 bytes (checked when you compile). Lists of words (capabilities, credentials,
 * environment, project, reads, writes, needs) may stand in several lines, M(environment, ...) twice, say:
 *
 *   description    one line for `sandlot providers`
 *   working_dir    where commands start; without it /workspace
 *   sandbox_id     "no" if a sandbox cannot be attached to by its id (default "yes")
 *   snapshot_name  "yes" if request->snapshot is understood (default "no")
 *   capabilities   of: list upload download files pause snapshot snapshot-base fork terminal streaming check
 *                  network-live network-log ports urls changes volumes. Must agree with the table (files: open_root;
 *                  pause: pause and resume; snapshot-base: snapshot_with_base; network-live: set_network; ports:
 *                  connect_port; urls: port_url; volumes: list_volumes and delete_volume, and request->volumes is
 *                  heeded); the host refuses a provider whose note disagrees.
 *                  And, since 1.2, what it can hold of a network policy, which no function tells: network-off,
 *                  network-open, network-hosts (HOST and BELOW), network-ports (one port of a host, whichever),
 *                  network-cidrs, network-credentials
 *   credentials    variables without which nothing works, separated by blanks; A|B for alternatives
 *   environment    other variables that the provider looks up, separated by blanks
 *   project        those of all these that the .env file of a project may set, besides the credentials: such a file
 *                  comes with a repository, so nothing that shapes requests (addresses, headers, files of keys)
 *   reads          files and folders of the user that it reads, separated by blanks: "/PATH", "~/PATH", "$VARIABLE" or
 *                  "$VARIABLE/PATH". In a worker it sees no others of the user's
 *   writes         the same for folders that it fills; they are made if they are not there
 *   confined       "no" if it cannot work behind the worker's wall, because it mounts, starts programs with other rights
 *                  or talks to a service of this machine. A user then has to say isolation = "unconfined"
 *   needs          programs (looked up in PATH) or absolute files it cannot work without, separated by blanks
 *   package        the Debian package to install when something of it is missing
 *   inside         what agents are told of a sandbox: who one is there, on what system, where one may write, whether
 *                  there is a network. Sentences, which may stand in several lines
 *   inside_unless  the parameters which, if one of them is given, make that untrue, separated by blanks
 *   inside_network the same about the network, told where no policy was asked for
 *
 * THE NOTE  An ELF note (elf(5)) in section .note.sandlot, owner "sandlot", type 1, whose description is INI text, one
 * section per provider. Padding after the text is NUL. The host takes at most 64 KiB per file. A provider written in
 * another language writes the same bytes; the keys besides those above are `abi` ("1.3"), `symbol`, and per parameter
 * `parameter.NAME` (kind, flag, help) and `default.NAME`. No value may hold " ;", which would begin a comment.
 */
#define SANDLOT_NOTE_OWNER "sandlot"
#define SANDLOT_NOTE_TYPE 1
#define SANDLOT_NOTE_MAXIMUM 65536
#define SANDLOT_LINE_MAXIMUM 190

#define SANDLOT_TEXT__(x) #x
#define SANDLOT_TEXT_(x) SANDLOT_TEXT__(x)
#ifdef __cplusplus
#define SANDLOT_STATIC_ASSERT_ static_assert
#define SANDLOT_C_LINKAGE_ extern "C"
#else
#define SANDLOT_STATIC_ASSERT_ _Static_assert
#define SANDLOT_C_LINKAGE_
#endif

#define SANDLOT_METADATA_LINE_(key, value) #key " = " value "\n"
#define SANDLOT_METADATA_CHECK_(key, value) \
    SANDLOT_STATIC_ASSERT_(sizeof(#key " = " value) <= SANDLOT_LINE_MAXIMUM, "metadata " #key " is too long");
#define SANDLOT_PARAMETER_LINE_(kind, name, default_, flag, help) \
    "parameter." #name " = " #kind " " #flag " " help "\ndefault." #name " = " default_ "\n"
#define SANDLOT_PARAMETER_CHECK_(kind, name, default_, flag, help)                                            \
    SANDLOT_STATIC_ASSERT_(sizeof(#name) <= 39, "the name of parameter " #name " is too long");               \
    SANDLOT_STATIC_ASSERT_(sizeof("parameter." #name " = " #kind " " #flag " " help) <= SANDLOT_LINE_MAXIMUM, \
                           "the help of parameter " #name " is too long");                                    \
    SANDLOT_STATIC_ASSERT_(sizeof("default." #name " = " default_) <= SANDLOT_LINE_MAXIMUM,                   \
                           "the default of parameter " #name " is too long");

#define SANDLOT_NOTE_TEXT_(prefix, METADATA, LIST)                              \
    "[" #prefix "]\nabi = " SANDLOT_TEXT_(SANDLOT_ABI_MAJOR) "." SANDLOT_TEXT_( \
        SANDLOT_ABI_MINOR) "\nsymbol = " #prefix "\n" METADATA(SANDLOT_METADATA_LINE_) LIST(SANDLOT_PARAMETER_LINE_)

#define SANDLOT_ENTRY_POINT(prefix, METADATA, LIST)                                                     \
    SANDLOT_STATIC_ASSERT_(sizeof(#prefix) <= 41, "the name of the provider is too long");              \
    METADATA(SANDLOT_METADATA_CHECK_)                                                                   \
    LIST(SANDLOT_PARAMETER_CHECK_)                                                                      \
    static const struct {                                                                               \
        uint32_t owner_size, text_size, type;                                                           \
        char owner[8];                                                                                  \
        char text[(sizeof(SANDLOT_NOTE_TEXT_(prefix, METADATA, LIST)) + 3) / 4 * 4];                    \
    } prefix##_note __attribute__((used, section(".note.sandlot"), aligned(4))) = {                     \
        8, sizeof(prefix##_note.text), SANDLOT_NOTE_TYPE, SANDLOT_NOTE_OWNER,                           \
        SANDLOT_NOTE_TEXT_(prefix, METADATA, LIST)};                                                    \
    SANDLOT_C_LINKAGE_ SANDLOT_EXPORT const struct sandlot_provider *prefix(struct sandlot_call *call); \
    SANDLOT_EXPORT const struct sandlot_provider *prefix(struct sandlot_call *call)                     \
    {                                                                                                   \
        (void)call;                                                                                     \
        return &prefix##_provider;                                                                      \
    }                                                                                                   \
    SANDLOT_STATIC_ASSERT_(1, "")

/* ---- small helpers --------------------------------------------------------------------------------------------------
 */

/* CLOCK_MONOTONIC in milliseconds, the clock of deadlines. */
static inline int64_t sandlot_now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Milliseconds until the deadline, at least 0; LIMIT if that is nearer or there is no deadline. */
static inline int sandlot_remaining_ms(const struct sandlot_call *call, int limit)
{
    if (call->deadline_ms == 0)
        return limit;
    int64_t left = call->deadline_ms - sandlot_now_ms();
    return left <= 0 ? 0 : left < limit ? (int)left : limit;
}

/* Has the host cancelled this call? */
static inline bool sandlot_cancelled(const struct sandlot_call *call)
{
    struct pollfd cancel = {call->cancel_fd, POLLIN, 0};

    return call->cancel_fd >= 0 && poll(&cancel, 1, 0) > 0;
}

/* host->fail with printf's formatting; messages are cut at 1 KiB, between words, lest half a secret is left that nobody
 * recognizes. */
#if defined(__GNUC__)
__attribute__((format(printf, 3, 4)))
#endif
static inline enum sandlot_status
sandlot_fail(struct sandlot_call *call, enum sandlot_status status, const char *format, ...)
{
    char message[1024];
    va_list arguments;

    va_start(arguments, format);
    int length = vsnprintf(message, sizeof(message), format, arguments);
    va_end(arguments);
    if (length >= (int)sizeof(message)) {
        size_t at = sizeof(message) - sizeof(" ...");

        while (at > 0 && message[at] != ' ')
            at--;
        snprintf(message + at, sizeof(" ..."), " ...");
    }
    return (call->host->fail)(call, status, message); /* in parentheses: cmocka has a macro of that name */
}

#ifdef __cplusplus
}
#endif

#endif
