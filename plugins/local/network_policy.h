/* The network policy of a box, on the provider's side: asked for, changed, shown, and its log. */
#ifndef SANDLOT_LOCAL_NETWORK_POLICY_H
#define SANDLOT_LOCAL_NETWORK_POLICY_H

#include "sandbox.h"

/* What REQUEST asks for of a network. */
struct network_request {
    char *text;        /* in the text form of egress/policy.h; NULL: nothing */
    char *credentials; /* settings.credentials */
    int secrets_fd;    /* the memory file of credentials.h; -1: there is none */
};

/* To be cleared in any case. An error is told to the host. */
enum sandlot_status network_ask(struct sandlot_call *call, const struct settings *settings,
                                const struct sandlot_create *request, struct network_request *asked);
void network_request_clear(struct network_request *asked);

enum sandlot_status network_change(const struct sandbox *sandbox, struct sandlot_call *call,
                                   const struct sandlot_network *network);

enum sandlot_status network_show(const struct sandbox *sandbox, struct sandlot_call *call,
                                 const struct sandlot_network_view *view);

/* Tells the host of a list that holds for SANDBOX, but that some of its programs have no way to. */
void network_warn(const struct sandbox *sandbox, struct sandlot_call *call);

enum sandlot_status network_log(const struct sandbox *sandbox, struct sandlot_call *call, uint64_t after,
                                const struct sandlot_network_log *log);

#endif
