/* A secret that is added outside the sandbox, to requests for one host: where its value comes from, and what stands for
 * it in the sandbox. */
#ifndef SANDLOT_NETWORK_CREDENTIAL_H
#define SANDLOT_NETWORK_CREDENTIAL_H

#include <sandlot/sandlot.h>
#include <stdbool.h>

enum network_secret_source { NETWORK_FROM_ENVIRONMENT, NETWORK_FROM_FILE, NETWORK_FROM_COMMAND };

struct network_credential {
    char *host; /* canonical */
    char *header;
    char *user; /* of Basic; NULL: the value is the header's as it is */
    char *placeholder_name;
    enum network_secret_source source;
    char *from; /* the variable, the absolute file, or the command line */
    bool plain;
    char *value;       /* NULL until network_credential_read */
    char *placeholder; /* likewise; NULL without a name */
};

/* What is wrong with the name of a header that is to be set; NULL: nothing. */
const char *network_header_problem(const char *header);

/* What is wrong with the name of a variable that is to hold a placeholder; NULL: nothing. */
const char *network_variable_problem(const char *name);

/* Reads the value and makes the placeholder; hides the value from every message. 0; -1: SANDLOT_CODE_AUTH names the
 * host and where the value was to come from, never what came. CANCEL_FD: -1 or what ends a command. */
int network_credential_read(struct network_credential *credential, int cancel_fd, struct sandlot_error *error);

/* Frees it, and leaves no value in memory. */
void network_credential_clear(struct network_credential *credential);

#endif
