/* What a user may say of an E2B sandbox. */
#ifndef SANDLOT_E2B_PARAMETERS_H
#define SANDLOT_E2B_PARAMETERS_H

#include <sandlot/sdk/parameters.h>

#define E2B_PARAMETERS(P)                                                                                          \
    P(string, template, "base", optional, "template to start from, by its name or id; also a snapshot's id")       \
    P(string, user, "", optional, "user of commands and files; default: the template's, mostly `user`")            \
    P(table, environment, "", optional, "variables that every command in the sandbox sees")                        \
    P(table, metadata, "", optional, "metadata of the sandbox at E2B, besides Sandlot's own")                      \
    P(boolean, auto_pause, "false", optional, "pause at the end of its time instead of deleting")                  \
    P(boolean, auto_resume, "false", optional, "let requests from outside wake it, too; needs auto_pause")         \
    P(boolean, keep_memory, "true", optional, "pausing keeps memory and processes; false: only the files")         \
    P(boolean, internet, "true", optional, "let what runs in the sandbox reach the internet")                      \
    P(table, network, "", secret, "what it may reach and who may reach it, as E2B's `network`")                    \
    P(array, volume_mounts, "", optional, "volumes, as E2B's `volumeMounts`")                                      \
    P(integer, life_maximum_s, "86400", optional, "longest life that your plan allows; Hobby: 3600")               \
    P(string, domain, "", optional, "domain of the service; default: E2B_DOMAIN, else e2b.app")                    \
    P(string, sandbox_url, "", optional, "address of all sandboxes; default: E2B_SANDBOX_URL, else by the domain") \
    P(string, base_url, "", optional, "address of the API; default: E2B_API_URL, else https://api.DOMAIN")

struct parameters {
    E2B_PARAMETERS(PARAMETER_FIELD)
};

#endif
