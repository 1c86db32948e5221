/* The network policy of a box, on the provider's side: asked for, changed, shown, and its log. */
#ifndef SANDLOT_LOCAL_NETWORK_POLICY_H
#define SANDLOT_LOCAL_NETWORK_POLICY_H

#include "sandbox.h"

/* What REQUEST asks for, in the text form of egress/policy.h, to be freed; *TEXT is NULL if nothing was asked. An error
 * is told to the host. */
enum sandlot_status network_ask(struct sandlot_call *call, const struct settings *settings,
                                const struct sandlot_create *request, char **text);

enum sandlot_status network_change(const struct sandbox *sandbox, struct sandlot_call *call,
                                   const struct sandlot_network *network);

enum sandlot_status network_show(const struct sandbox *sandbox, struct sandlot_call *call,
                                 const struct sandlot_network_view *view);

enum sandlot_status network_log(const struct sandbox *sandbox, struct sandlot_call *call, uint64_t after,
                                const struct sandlot_network_log *log);

#endif
