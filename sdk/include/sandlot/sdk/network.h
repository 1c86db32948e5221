/*
 * sandlot/sdk/network.h - a network policy (struct sandlot_network) in the words of a vendor, and refused where the
 * vendor has none for it.
 *
 * The host asks a provider only for what its `capabilities` announce. What is left is to refuse what only the provider
 * knows, before any request, and to write the rest down:
 *
 *   static const struct network_limits limits = {.service = "Acme", .most_names = 10, .no_ipv6 = true};
 *   const struct sandlot_network *network = network_asked(request);
 *   enum sandlot_status status = network_check(call, &limits, network);
 *
 *   if (status == SANDLOT_OK && network && network->mode == SANDLOT_NETWORK_ALLOW)
 *       network_add(&body, "egress.allow", network, NETWORK_ALL); {"egress":{"allow":["a.org","*.b.org","10.0.0.0/8"]}}
 *
 * A policy is read and never changed here, and may be used by several threads. The values of credentials are secrets:
 * no sentence of these functions has one.
 */
#ifndef SANDLOT_SDK_NETWORK_H
#define SANDLOT_SDK_NETWORK_H

#include <sandlot/provider.h>
#include <sandlot/sdk/json.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What REQUEST asks for; NULL: nothing. Belongs to the host. */
const struct sandlot_network *network_asked(const struct sandlot_create *request);

/* ---- what cannot be held ---------------------------------------------------------------------------------------- */

/* Where a vendor holds less than the words that its provider announces. 0 and false: no such limit. */
struct network_limits {
    const char *service; /* the vendor, for sentences */
    /* Why a sandbox cannot be without a network: "Acme WHY; allow the hosts that it needs". NULL: it can. */
    const char *never_off;
    size_t most_names;    /* entries that are names or wildcards */
    size_t most_networks; /* entries that are addresses */
    size_t most_credential_hosts;
    bool no_ipv6;
    bool no_ports; /* not one port of a host or network */
};

/*
 * SANDLOT_UNSUPPORTED, with a sentence that names each entry that is in the way (eight of them, and how many more there
 * are). Of credentials it also refuses, for no vendor has it, what asks for a placeholder, for plain HTTP, and for
 * authorities of one's own. NETWORK NULL: SANDLOT_OK.
 */
enum sandlot_status network_check(struct sandlot_call *call, const struct network_limits *limits,
                                  const struct sandlot_network *network);

/* The same for the entries of which CANNOT is true: "SERVICE cannot hold a.org, b.org: WHY". */
enum sandlot_status network_refuse(struct sandlot_call *call, const char *service,
                                   const struct sandlot_network *network,
                                   bool (*cannot)(const struct sandlot_network_entry *entry), const char *why);

/* SANDLOT_INVALID_ARGUMENT if a policy is asked for and the vendor's own PARAMETER says something of the network too.
 */
enum sandlot_status network_exclude(struct sandlot_call *call, const struct sandlot_network *network,
                                    const char *parameter, bool is_said);

/* SANDLOT_UNSUPPORTED if a policy is asked for a copy, of a vendor that takes none for it. */
enum sandlot_status network_refuse_fork(struct sandlot_call *call, const char *service,
                                        const struct sandlot_create *request);

/* SANDLOT_UNSUPPORTED for a change of a sandbox that HAS_CREDENTIALS, of a vendor that would forget them with it. */
enum sandlot_status network_refuse_change(struct sandlot_call *call, const char *service, bool has_credentials);

/* ---- what is written -------------------------------------------------------------------------------------------- */

/* Which entries. */
enum { NETWORK_NAMES = 1 /* HOST and BELOW */, NETWORK_CIDRS = 2, NETWORK_ALL = 3 };

/* Is ENTRY one of WHICH? */
bool network_is(const struct sandlot_network_entry *entry, int which);
size_t network_count(const struct sandlot_network *network, int which);

/* As vendors write it: "example.com", "*.example.com", "10.0.0.0/8"; without the port. To be freed; NULL: no memory. */
char *network_text(const struct sandlot_network_entry *entry);

/* Sets the array at PATH, which may be empty, to those entries that are WHICH. */
void network_add(struct json_builder *body, const char *path, const struct sandlot_network *network, int which);

/* Those entries with SEPARATOR between them, "" for none; to be freed; NULL: no memory. */
char *network_join(const struct sandlot_network *network, int which, char separator);

/* ---- credentials ------------------------------------------------------------------------------------------------ */

/* Is credential INDEX the first one of its host? Those that are stand for all hosts, each once. */
bool network_begins_host(const struct sandlot_network *network, size_t index);

/* Is HOST itself an entry, on whatever port? */
bool network_lists(const struct sandlot_network *network, const char *host);

/* {"Authorization": "..."}: all headers that HOST gets, with their SECRET values; to be put. NULL: no memory. */
struct json_object *network_headers(const struct sandlot_network *network, const char *host);

/* Calls ADD (http_client_add_secret, grpc_client_add_secret) with each value, so that no message of CLIENT shows one.
 */
#define network_hide(network, add, client)                                               \
    for (size_t hidden = 0; (network) && hidden < (network)->credential_count; hidden++) \
    add(client, (network)->credentials[hidden].value)

#ifdef __cplusplus
}
#endif

#endif
