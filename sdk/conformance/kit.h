/* What one run of the kit is about: shared by all groups, read only once they run. */
#ifndef SANDLOT_CONFORMANCE_KIT_H
#define SANDLOT_CONFORMANCE_KIT_H

#include "note.h"
#include "object.h"

#include <stdbool.h>
#include <stddef.h>

enum { FOLDER_SIZE = 4096, LABEL_SIZE = 32, TOKEN_SIZE = 24, ALL_IS_TOLD_MS = 3000 };

/* The sandboxes that the run made, as far as was told. */
struct sandboxes {
    char **ids;
    bool *gone;
    size_t count;
    /* Point of CLOCK_MONOTONIC when a creation that was given up will have come to something or nothing; 0: none was.
     */
    int64_t settled_ms;
};

struct kit {
    char *file;                /* absolute */
    const char **parameters;   /* "KEY=VALUE", ended by NULL */
    const char *provider_name; /* as asked for; NULL: the only one, or the first */
    const char *only;          /* one group; NULL: all */
    const char *probe;         /* how a sandbox tries to reach $host on $port; NULL: by curl */
    const char *report;        /* file for the summary as Markdown; NULL: none */
    int cycles;                /* of the search for leaks */
    bool static_only;
    bool in_process;
    char folder[FOLDER_SIZE]; /* private: configuration, ledger, local files */
    bool keeps_folder;        /* it is not removed: it knows of sandboxes that are left */
    char label[LABEL_SIZE];   /* what the labels of this run's sandboxes begin with, where the kit calls the provider */
    char token[TOKEN_SIZE];   /* before every line of a group */
    bool first_creation;      /* no sandbox was made yet: when that fails for good, the rest is pointless */
    int64_t cleanup_end_ms;   /* cleaning up ends then, whatever is left; 0: this is not that group */
    struct object object;
    struct note note;
    struct sandboxes sandboxes;           /* of the groups that are through */
    const struct note_provider *provider; /* the one that is checked; NULL: the note names none */
};

/* The name of the configuration in which the provider runs in a process of its own, or in ours. */
const char *kit_configuration(const struct kit *kit, bool in_process);

/* The same with a credential for example.com, whose value is in SANDLOT_KIT_NETWORK_CREDENTIAL. */
#define KIT_CREDENTIAL_CONFIGURATION "credential.toml"

/* Which variables have to be set before anything can be tried with the vendor, "A, B" in BUFFER; NULL: none. */
const char *kit_missing_credentials(const struct kit *kit, char *buffer, size_t size);

/* The variable that holds credential NUMBER, one of the alternatives, and its value; NULL: no more, or *VALUE NULL: it
 * is not set. The name lives in BUFFER. */
const char *kit_credential(const struct kit *kit, size_t number, char *buffer, size_t size, const char **value);

/* Does the note say that the provider has this capability? */
bool kit_has(const struct kit *kit, const char *capability);

/* The groups. Each runs in a process of its own. */
void group_static(const struct kit *kit);
void group_loading(const struct kit *kit); /* the last part of it alone */
void group_table(const struct kit *kit);
void group_lifecycle(const struct kit *kit);
void group_snapshots(const struct kit *kit);
void group_execute(const struct kit *kit);
void group_processes(const struct kit *kit);
void group_ports(const struct kit *kit);
void group_network(const struct kit *kit);
void group_operations(const struct kit *kit);
void group_robustness(const struct kit *kit);
void group_secrets(const struct kit *kit);
void group_leftovers(const struct kit *kit);

#endif
