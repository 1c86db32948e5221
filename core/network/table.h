/* [network] or [sandboxes.providers.NAME.network], checked in every key. */
#ifndef SANDLOT_NETWORK_TABLE_H
#define SANDLOT_NETWORK_TABLE_H

#include "config/config.h"

#include <sandlot/provider.h>
#include <stdbool.h>

/* One table. The objects are the config's. */
struct network_table {
    const char *file;
    char *name; /* "[network]" */
    struct json_object *lines;
    enum sandlot_network_mode mode;  /* 0: it has neither mode nor allow */
    struct json_object *allow;       /* of texts; NULL: none */
    struct json_object *credentials; /* of tables, each checked; NULL: none are named */
    struct json_object *upstream_ca; /* a text; NULL: none is named */
    struct json_object *sets;        /* of arrays of texts; NULL: none */
};

/* Reads [network] (PROVIDER NULL) or the provider's. To be cleared in any case. 0, or -1: SANDLOT_CODE_USAGE. */
int network_table_read(const struct config *config, const char *provider, struct network_table *table,
                       struct sandlot_error *error);

void network_table_clear(struct network_table *table);

/* SANDLOT_CODE_USAGE with file, line and table. Returns -1. */
int network_table_fail(const struct network_table *table, const char *key, struct sandlot_error *error,
                       const char *format, ...) __attribute__((format(printf, 4, 5)));

/* The mode that NAME means; 0: none. */
enum sandlot_network_mode network_mode_of(const char *name);

#endif
