#include "policy.h"

#include <stdlib.h>
#include <string.h>

#define EVERY_ADDRESS "0.0.0.0/0"
#define EVERY_DOMAIN "*"

static const struct network_limits limits = {.service = "Modal", .no_ipv6 = true, .no_ports = true};

void policy_lists_clear(struct policy_lists *lists)
{
    for (size_t i = 0; i < lists->count; i++)
        free(lists->texts[i]);
    free(lists->texts);
    *lists = (struct policy_lists){0};
}

enum sandlot_status policy_check(struct sandlot_call *call, const struct modal *modal,
                                 const struct sandlot_network *network)
{
    const struct parameters *wanted = &modal->parameters;
    enum sandlot_status status = network_exclude(call, network, "network_block", wanted->network_block);

    if (status == SANDLOT_OK)
        status = network_exclude(call, network, "network_allow_list", parameter_is_said(wanted->network_allow_list));
    if (status == SANDLOT_OK)
        status = network_exclude(call, network, "domain_allow_list", parameter_is_said(wanted->domain_allow_list));
    return status == SANDLOT_OK ? network_check(call, &limits, network) : status;
}

/* ---- what is written --------------------------------------------------------------------------------------------- */

/* Adds the entries that are WHICH. */
static bool add_entries(const struct sandlot_network *network, int which, struct policy_lists *lists)
{
    bool whole = true;

    for (size_t i = 0; whole && i < network->entry_count; i++) {
        if (!network_is(&network->entries[i], which))
            continue;
        lists->texts[lists->count] = network_text(&network->entries[i]);
        whole = lists->texts[lists->count++] != NULL;
    }
    return whole;
}

static enum sandlot_status write_lists(struct sandlot_call *call, const struct sandlot_network *network,
                                       struct policy_lists *lists, Modal__NetworkAccess *access)
{
    lists->texts = calloc(network->entry_count + 1, sizeof(*lists->texts));
    if (!lists->texts || !add_entries(network, NETWORK_CIDRS, lists) || !add_entries(network, NETWORK_NAMES, lists))
        return api_no_memory(call);
    access->allowed_cidrs = lists->texts;
    access->n_allowed_cidrs = network_count(network, NETWORK_CIDRS);
    access->allowed_domains = lists->texts + access->n_allowed_cidrs;
    access->n_allowed_domains = lists->count - access->n_allowed_cidrs;
    return SANDLOT_OK;
}

enum sandlot_status policy_write(struct sandlot_call *call, const struct sandlot_network *network,
                                 struct policy_lists *lists, Modal__NetworkAccess *access)
{
    *access = (Modal__NetworkAccess)MODAL__NETWORK_ACCESS__INIT;
    access->network_access_type = network->mode == SANDLOT_NETWORK_OFF    ? MODAL__NETWORK_ACCESS_TYPE__BLOCKED
                                  : network->mode == SANDLOT_NETWORK_OPEN ? MODAL__NETWORK_ACCESS_TYPE__OPEN
                                                                          : MODAL__NETWORK_ACCESS_TYPE__ALLOWLIST;
    return network->mode == SANDLOT_NETWORK_ALLOW ? write_lists(call, network, lists, access) : SANDLOT_OK;
}

/* ---- a living sandbox -------------------------------------------------------------------------------------------- */

/* A worker takes lists alone: with everything on them for open, and nothing for off. */
static void write_as_lists(Modal__NetworkAccess *access)
{
    static const char *const addresses[] = {EVERY_ADDRESS};
    static const char *const domains[] = {EVERY_DOMAIN};

    if (access->network_access_type == MODAL__NETWORK_ACCESS_TYPE__OPEN) {
        access->allowed_cidrs = (char **)addresses;
        access->allowed_domains = (char **)domains;
        access->n_allowed_cidrs = access->n_allowed_domains = 1;
    }
    access->network_access_type = MODAL__NETWORK_ACCESS_TYPE__ALLOWLIST;
}

static enum sandlot_status send(struct sandlot_call *call, struct sandbox *sandbox, Modal__NetworkAccess *access)
{
    Modal__TaskSetNetworkAccessRequest request = MODAL__TASK_SET_NETWORK_ACCESS_REQUEST__INIT;
    const struct rpc rpc = {.name = "TaskSetNetworkAccess",
                            .request = &request.base,
                            .accepted = GRPC_BIT(GRPC_NOT_FOUND) | GRPC_BIT(GRPC_FAILED_PRECONDITION) |
                                        GRPC_BIT(GRPC_UNIMPLEMENTED)};
    struct refusal refusal = {0};

    request.task_id = (char *)sandbox_task(sandbox);
    request.network_access = access;
    enum sandlot_status status = sandbox_call(call, sandbox, &rpc, &refusal, NULL);

    if (status != SANDLOT_OK || refusal.code == GRPC_OK)
        return status;
    if (refusal.code == GRPC_UNIMPLEMENTED)
        return sandlot_fail(call, SANDLOT_UNSUPPORTED,
                            "the worker of this sandbox cannot change what a living one may reach; create another "
                            "sandbox with the policy that it is to have");
    return sandbox_fail(call, sandbox, "change the network", &refusal);
}

enum sandlot_status policy_change(struct sandlot_call *call, void *provider, void *handle,
                                  const struct sandlot_network *network)
{
    struct sandbox *sandbox = handle;
    struct policy_lists lists = {0};
    Modal__NetworkAccess access;
    enum sandlot_status status = network_check(call, &limits, network);

    (void)provider;
    if (status == SANDLOT_OK)
        status = policy_write(call, network, &lists, &access);
    if (status == SANDLOT_OK)
        status = sandbox_reach(call, sandbox);
    if (status == SANDLOT_OK) {
        write_as_lists(&access);
        status = send(call, sandbox, &access);
    }
    policy_lists_clear(&lists);
    return status;
}
