/*
 * Who we are to Vercel: a bearer token, and the team and project that it acts for. An access token does not say which,
 * a token of OIDC does: it is a JWT with both as claims.
 */
#ifndef SANDLOT_VERCEL_CREDENTIALS_H
#define SANDLOT_VERCEL_CREDENTIALS_H

#include <sandlot/provider.h>

#define VERCEL_SERVICE "Vercel"

struct credentials {
    const char *token; /* the host's */
    const char *name;  /* of the variable that has it */
    char *team;
    char *project;
};

/* Finds them in the environment; to be cleared, whatever is returned. SANDLOT_AUTH says what is missing. */
enum sandlot_status credentials_find_all(struct sandlot_call *call, struct credentials *credentials);

void credentials_clear(struct credentials *credentials);

#endif
