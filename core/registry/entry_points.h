/*
 * Reads the entry points of a shared object from its ELF note, with libelf and inih, without executing or
 * even mapping any of its code. The file is a stranger's: nothing in it may crash or stall the reader.
 */
#ifndef SANDLOT_REGISTRY_ENTRY_POINTS_H
#define SANDLOT_REGISTRY_ENTRY_POINTS_H

#include <sandlot/provider.h>
#include <sandlot/sandlot.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum capability {
    CAPABILITY_LIST = 1 << 0,
    CAPABILITY_UPLOAD = 1 << 1,
    CAPABILITY_DOWNLOAD = 1 << 2,
    CAPABILITY_FILES = 1 << 3,
    CAPABILITY_PAUSE = 1 << 4,
    CAPABILITY_SNAPSHOT = 1 << 5,
    CAPABILITY_FORK = 1 << 6,
    CAPABILITY_TERMINAL = 1 << 7,
    CAPABILITY_STREAMING = 1 << 8,
    CAPABILITY_CHECK = 1 << 9,
    CAPABILITY_NETWORK_LIVE = 1 << 10,
    CAPABILITY_NETWORK_LOG = 1 << 11,
    /* What no function tells: the kinds of a network policy that the provider can hold. */
    CAPABILITY_NETWORK_OFF = 1 << 12,
    CAPABILITY_NETWORK_OPEN = 1 << 13,
    CAPABILITY_NETWORK_HOSTS = 1 << 14,
    CAPABILITY_NETWORK_PORTS = 1 << 15,
    CAPABILITY_NETWORK_CIDRS = 1 << 16,
    CAPABILITY_NETWORK_CREDENTIALS = 1 << 17,
    CAPABILITY_PORTS = 1 << 18,
    CAPABILITY_URLS = 1 << 19,
    CAPABILITY_CHANGES = 1 << 20,
    CAPABILITY_VOLUMES = 1 << 21,
    CAPABILITY_SNAPSHOT_BASE = 1 << 22,
    CAPABILITY_LAST = CAPABILITY_SNAPSHOT_BASE,
    CAPABILITIES_TOLD = CAPABILITY_NETWORK_OFF | CAPABILITY_NETWORK_OPEN | CAPABILITY_NETWORK_HOSTS |
                        CAPABILITY_NETWORK_PORTS | CAPABILITY_NETWORK_CIDRS | CAPABILITY_NETWORK_CREDENTIALS
};

/* The word of one capability, as in the note and in `providers --json`. */
const char *capability_name(enum capability capability);

/* A parameter as the note tells it; for listings. Calls go by the loaded table. */
struct parameter_note {
    char *name;
    enum sandlot_parameter_kind kind;
    uint32_t flags;
    char *default_text; /* "" for none */
    char *help;
};

/* One provider of a note. Texts are NULL where the note is silent. */
struct entry_point {
    char *name;
    char *symbol;
    unsigned int abi_major;
    unsigned int abi_minor;
    char *description;
    char *working_dir;
    bool supports_sandbox_id;
    bool supports_snapshot_name;
    uint32_t capabilities; /* of enum capability */
    char *credentials;
    char *environment;
    char *project; /* the variables that the .env file of a project may set, besides the credentials */
    char *reads;   /* files and folders that its worker may read besides its own; writes: folders that it may fill */
    char *writes;
    bool confined; /* it works behind the worker's wall */
    char *needs;
    char *package;
    char *inside;
    char *inside_unless;
    char *inside_network; /* of the network, where no policy was asked for */
    struct parameter_note *parameters;
    size_t parameter_count;
    char *problem; /* why this provider cannot be used ("its symbol acme is not exported"); NULL: usable */
};

struct entry_points {
    struct entry_point *items;
    size_t count;
};

enum entry_points_result {
    ENTRY_POINTS_FOUND,
    ENTRY_POINTS_NO_NOTE, /* a proper shared object, but not a plugin of ours */
    ENTRY_POINTS_UNUSABLE /* *problem says why: not ELF, other architecture, damaged or too large note, ... */
};

/* Reads the open file FD. On FOUND, *POINTS is to be cleared by entry_points_clear; on UNUSABLE, *PROBLEM to be freed
 * (NULL when out of memory). */
enum entry_points_result entry_points_read(int fd, struct entry_points *points, char **problem);

/* The text part alone, LENGTH bytes of INI text with padding; the fuzzers come in here too. Adds to POINTS. False:
 * *PROBLEM says why. */
bool entry_points_parse(const char *text, size_t length, struct entry_points *points, char **problem);

void entry_points_clear(struct entry_points *points);

#endif
