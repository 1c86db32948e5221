/* What a box may reach: the list, and the decision on one destination. No sockets, no names looked up. */
#ifndef SANDLOT_EGRESS_POLICY_H
#define SANDLOT_EGRESS_POLICY_H

#include "host.h"

enum { POLICY_ENTRIES = 4096, RULE_SIZE = HOST_SIZE + 18, PORT_HTTP = 80, PORT_HTTPS = 443 };

enum policy_kind { POLICY_HOST, POLICY_BELOW, POLICY_NETWORK, POLICY_ALL };

struct policy_entry {
    enum policy_kind kind;
    uint16_t port; /* 0: 80 and 443 */
    uint8_t bits;  /* POLICY_NETWORK: of the mapped form */
    struct host host;
};

/* The text form of the policy that keeps nothing but what address_each_closed() names. */
#define POLICY_OPEN "open\n"

struct policy {
    bool open;
    struct policy_entry *entries; /* none: nothing may leave */
    size_t count;
};

/* Why something is refused, for the log and for the one who asked. */
extern const char policy_not_listed[];
extern const char policy_other_port[];
extern const char policy_tls_only[]; /* on port 443 */

/*
 * Reads the text form, one entry a line: "host NAME PORT", "below NAME PORT" or "network ADDRESS/BITS PORT";
 * "credential NAME PORT" is "host" for one that is listed only because something is added to its requests; or
 * POLICY_OPEN. False if it is malformed or memory is short; *POLICY then lets nothing out. To be cleared with
 * policy_clear.
 */
bool policy_read(const char *text, struct policy *policy);

void policy_clear(struct policy *policy);

/* The entry that lets HOST be reached on PORT; NULL with *REASON. A name is judged by what it is called alone. */
const struct policy_entry *policy_find(const struct policy *policy, const struct host *host, uint16_t port,
                                       const char **reason);

/* Is there an entry for the name HOST, whatever its port? */
bool policy_names(const struct policy *policy, const struct host *host);

/*
 * May a connection go to the address VALUE on PORT, once its host is allowed? A public address always; one of a private
 * network if an entry covers it; any other only if an entry names that very address with a port. CLASS is the
 * address's.
 */
bool policy_admits(const struct policy *policy, const address *value, enum address_class class, uint16_t port);

/* The entry as it is written in a list. */
void policy_rule(const struct policy_entry *entry, char rule[RULE_SIZE]);

#endif
