/* One entry of a list of what a sandbox may reach, as people write it: "example.com", "*.example.com", "host:5432",
 * "10.0.0.0/8". What it could be mistaken for is refused. Knows no sets. */
#ifndef SANDLOT_NETWORK_ENTRY_H
#define SANDLOT_NETWORK_ENTRY_H

#include <sandlot/provider.h>
#include <stdbool.h>

struct network_entry {
    enum sandlot_network_kind kind;
    char *text; /* as sandlot_network_entry has it */
    uint16_t port;
};

/* Reads WRITTEN. False: *PROBLEM says what is wrong with it ("holds a path: ..."), to be freed; NULL when out of
 * memory.
 */
bool network_entry_parse(const char *written, struct network_entry *entry, char **problem);

/* As people write it, canonical; to be freed. */
char *network_entry_text(enum sandlot_network_kind kind, const char *text, uint16_t port);

bool network_entry_equal(const struct network_entry *one, const struct network_entry *other);

void network_entry_clear(struct network_entry *entry);

#endif
