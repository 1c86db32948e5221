/*
 * Deno's two APIs: that of sandboxes, which each region has at an address of its own, and the console, which knows them
 * all. Both want the same token.
 */
#ifndef SANDLOT_DENO_API_H
#define SANDLOT_DENO_API_H

#include "parameters.h"

#include <sandlot/sdk/clients.h>
#include <sandlot/sdk/rest.h>

#define DENO_SERVICE "Deno"
#define DENO_CREDENTIALS "DENO_DEPLOY_TOKEN"
#define LABEL_RUN "sandlot-run"

enum {
    ID_SIZE = 32,
    ANSWER_MS = 10 * 1000 /* Deno's own client waits no longer: the answer sometimes never comes */
};

/* What open makes. */
struct deno {
    struct parameters parameters;
    struct clients clients; /* of the regions that were asked for, and of the console */
};

void api_init(struct deno *deno, const struct parameters *parameters);
void api_clear(struct deno *deno);

/* Is ID one that Deno gives? Then its region is known from it. */
bool api_is_id(const char *id);

/* The client for the sandboxes of the region that TEXT begins with (three letters). Finds token and address. */
enum sandlot_status api_region(struct sandlot_call *call, struct deno *deno, const char *text,
                               struct http_client **client);

/* The same for the region of sandbox ID; SANDLOT_NOT_FOUND if there can be none of that id. */
enum sandlot_status api_region_of(struct sandlot_call *call, struct deno *deno, const char *id,
                                  struct http_client **client);

enum sandlot_status api_console(struct sandlot_call *call, struct deno *deno, struct http_client **client);

/* One page of the console's list at TARGET (from http_target, taken over), an array whose entries are as ENTRY
 * says. */
enum sandlot_status api_list(struct sandlot_call *call, struct deno *deno, char *target, const char *cursor,
                             const struct sandlot_listing *listing, const struct rest_entry *entry);

/* The URL of a port that has the name NAME, to be freed: as safe as that of the API, which in tests is on this machine.
 */
char *api_port_url(const struct deno *deno, const char *name);

#endif
