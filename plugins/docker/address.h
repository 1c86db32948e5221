/* Where the engine is, as the docker command finds it: parameters, variables, contexts, and the usual sockets. */
#ifndef SANDLOT_DOCKER_ADDRESS_H
#define SANDLOT_DOCKER_ADDRESS_H

#include "parameters.h"

struct address {
    char *said;     /* as somebody wrote it, without a password: for messages */
    char *base_url; /* for requests */
    char *socket;   /* the path of a UNIX socket; NULL: none */
    char *ssh;      /* what is behind ssh://; NULL: not by ssh */
    char *ca;       /* PEM texts for TLS; NULL: what the system trusts, and no certificate of ours */
    char *certificate;
    char *key;
};

/* Sends nothing. What makes no sense is SANDLOT_INVALID_ARGUMENT; no engine anywhere is SANDLOT_DEPENDENCY_MISSING, a
 * socket that we may not use SANDLOT_AUTH. To be cleared in any case. */
enum sandlot_status address_find(struct sandlot_call *call, const struct parameters *parameters,
                                 struct address *address);
void address_clear(struct address *address);

/* The folder of docker's configuration, to be freed; NULL when out of memory. */
char *address_config_folder(struct sandlot_call *call);

/* The document in file NAME of that folder, or NULL: there is none, or it is none. */
struct json_object *address_config(struct sandlot_call *call);

#endif
