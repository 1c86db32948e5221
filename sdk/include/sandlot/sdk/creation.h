/*
 * sandlot/sdk/creation.h - one sandbox, asked for until it is known what came of it: never two, and none that nobody
 * knows of.
 *
 *   static enum sandlot_status ask(struct sandlot_call *call, void *context, struct http_response *response,
 *                                  enum creation_next *next)
 *   {
 *       enum sandlot_status status = rest_send(call, acme->client, &request, response, &answer);
 *
 *       *next = status == SANDLOT_UNAVAILABLE ? CREATION_UNCLEAR : CREATION_OVER;
 *       if (status == SANDLOT_OK && response->status == 429) {      which the request accepts
 *           *next = CREATION_REFUSED;
 *           return http_response_fail(call, acme->client, NULL, response);
 *       }
 *       return status == SANDLOT_OK ? take(call, answer) : status;  call->host->created, and what is to be kept
 *   }
 *
 *   const struct creation creation = {.service = "Acme", .context = &wanted, .ask = ask, .look_up = look_up};
 *   enum sandlot_status status = creation_run(call, &creation);
 *
 * For services that know no idempotency key, and where no name is unique that we may choose: there a request may simply
 * be repeated. Requests of ASK are to be marked never_repeat. Threads: as for the call.
 */
#ifndef SANDLOT_SDK_CREATION_H
#define SANDLOT_SDK_CREATION_H

#include <sandlot/sdk/http.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What is to be done after an asking. */
enum creation_next {
    CREATION_OVER,    /* nothing: what ASK returned is what came of it */
    CREATION_CHANGED, /* ask at once, whatever ASK returned and as often as it says so: the next request differs */
    CREATION_REFUSED, /* nothing was made, for a reason that passes: ask again after a pause */
    CREATION_UNCLEAR  /* there may be a sandbox: look it up, and ask again after a pause if there is none */
};

/* How a sandbox is made. What is 0 or NULL has the default that stands beside it. */
struct creation {
    const char *service; /* "Acme", for messages */
    void *context;       /* of the functions */

    /*
     * Asks once. SANDLOT_OK: there is a sandbox, and the host was told of it. RESPONSE is empty before, and cleared by
     * the caller; the pause that it asks for is kept. Its messages count only if there is no other asking. *NEXT is
     * CREATION_OVER before. CALL is one of attempt.h, whose end may be put off: see linger.h.
     */
    enum sandlot_status (*ask)(struct sandlot_call *call, void *context, struct http_response *response,
                               enum creation_next *next);

    /* *FOUND (false before): a sandbox is there by an asking whose answer was lost; the host was told of it. If the
     * look itself fails, the failure of the asking is that of the creation: there is to be no second sandbox. */
    enum sandlot_status (*look_up)(struct sandlot_call *call, void *context, bool *found);

    int askings;             /* at most, CREATION_CHANGED not counted; default 4 */
    int64_t longest_wish_ms; /* of the service, to be left alone, that is granted; default 60000 */
    bool lingers;            /* an answer is waited for a moment longer than the call lasts */
};

/* Asks until it is known what came of it. The status of the last asking, which has been told to CALL; or
 * SANDLOT_CANCELLED or SANDLOT_TIMEOUT, after which the host looks for the run label. */
enum sandlot_status creation_run(struct sandlot_call *call, const struct creation *creation);

#ifdef __cplusplus
}
#endif

#endif
