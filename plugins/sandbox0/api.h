/* Sandbox0's API below /api/v1: one address, one key, and every answer in an envelope. */
#ifndef SANDBOX0_API_H
#define SANDBOX0_API_H

#include "parameters.h"

#include <pthread.h>
#include <sandlot/provider.h>
#include <sandlot/sdk/cleanup.h>
#include <sandlot/sdk/rest.h>

#define SERVICE "Sandbox0"
#define KEYS "SANDBOX0_TOKEN|SANDBOX0_API_KEY"
#define WORKING_DIR "/workspace"
#define SANDBOXES "/api/v1/sandboxes"

/* What open makes. */
struct sandbox0 {
    struct parameters parameters;
    pthread_mutex_t lock;       /* for the opening of the client, which then stays until close */
    struct http_client *client; /* NULL until the first request */
};

void api_init(struct sandbox0 *sandbox0, const struct parameters *parameters);
void api_clear(struct sandbox0 *sandbox0);

/* Finds key and address, unless that was done. Comes before anything that uses the client. */
enum sandlot_status api_open(struct sandlot_call *call, struct sandbox0 *sandbox0);

/*
 * Opens the client, if need be, and sends ORDER: rest_send of rest.h. Every answer is an envelope, whose `data` is what
 * was asked for.
 */
enum sandlot_status api_send(struct sandlot_call *call, struct sandbox0 *sandbox0, struct rest_request order,
                             struct http_response *response, struct json_object **answer);

/* Is CODE the service's word for the error in RESPONSE? Some errors have a sentence instead. */
bool api_says(const struct http_response *response, const char *code);

#endif
