/* Where Modal is and who asks: the parameters, the environment, and the profile in ~/.modal.toml, in this order. */
#ifndef SANDLOT_MODAL_SETTINGS_H
#define SANDLOT_MODAL_SETTINGS_H

#include "parameters.h"
#include "profile.h"

#include <sandlot/provider.h>

/* The strings but the address live as long as `profile` and the provider. */
struct settings {
    struct profile profile;
    const char *token_id;
    const char *token_secret;
    const char *token_from; /* where they came from, for messages */
    char *server_url;
    const char *environment;     /* "": the workspace's default */
    const char *builder_version; /* of images; NULL: the service is asked */
    int64_t longest_asked_ms;    /* for all pauses that a busy service asks for, as in grpc_options */
    bool first_generation;       /* sandboxes of Modal's older kind are wanted */
};

/* SETTINGS is to be cleared, whatever is returned. */
enum sandlot_status settings_read(struct sandlot_call *call, const struct parameters *parameters,
                                  struct settings *settings);
void settings_clear(struct settings *settings);

/* Is SERVER_URL on this machine? Then sandboxes are reached without TLS, whatever their addresses say. */
bool settings_is_local(const char *server_url);

#endif
