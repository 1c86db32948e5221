/* What a user may say of a sandbox of Sandbox0. */
#ifndef SANDBOX0_PARAMETERS_H
#define SANDBOX0_PARAMETERS_H

#include <sandlot/sdk/parameters.h>

/* The defaults of the two lifetimes, which are those of ttl_s and hard_ttl_s too. */
#define DEFAULT_TTL_S 3600
#define DEFAULT_HARD_TTL_S 2592000

#define SANDBOX0_PARAMETERS(P)                                                                            \
    P(string, template, "default", optional, "template to start from")                                    \
    P(integer, sandbox_ttl_sec, "3600", optional,                                                         \
      "seconds until the sandbox is paused; 0: never; it counts from creation")                           \
    P(integer, sandbox_hard_ttl_sec, "2592000", optional,                                                 \
      "seconds from creation until the sandbox is deleted; 0: never")                                     \
    P(string, snapshot, "", optional, "snapshot to start from, by its id; of the same template")          \
    P(string, memory, "", optional, "memory of the sandbox, as in 512Mi or 4Gi; default: the template's") \
    P(boolean, auto_resume, "true", optional, "let a command wake the sandbox when it is paused")         \
    P(table, environment, "", optional, "variables that every command in the sandbox sees")               \
    P(table, network, "", optional, "what the sandbox may reach, as Sandbox0's `network`")                \
    P(boolean, team_credentials, "false", optional,                                                       \
      "keep the secrets of [[network.credentials]] at Sandbox0, for the team, while the sandbox lives")   \
    P(string, team_id, "", optional, "team to act for, which keys of the whole platform need")            \
    P(string, base_url, "", optional, "address of the API; default: SANDBOX0_BASE_URL, else https://api.sandbox0.ai")

struct parameters {
    SANDBOX0_PARAMETERS(PARAMETER_FIELD)
};

#endif
