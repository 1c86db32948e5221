/*
 * sandlot/sdk/http_relay.h - ports of sandboxes that a service has at URLs of their own: from one function that finds
 * the URL of a port come both functions of the ABI, connect_port and port_url.
 *
 *   static enum sandlot_status find(struct sandlot_call *call, void *provider, void *sandbox, uint16_t port,
 *                                   int64_t ttl_ms, struct http_relay_place *place);
 *   struct acme_sandbox { ... struct http_relay_places places; };
 *
 *   HTTP_RELAY(acme, find, struct acme_sandbox, places)
 *   ... .connect_port = acme_connect_port, .port_url = acme_port_url, and M(capabilities, "ports urls")
 *
 * Such a URL carries HTTP/1 and WebSockets and nothing else. A connection's one request gets the host of the URL and
 * the header that lets it in; `Connection` becomes "close" unless the request upgrades, so that the next request is a
 * connection of its own; all other bytes pass as they are, both ways. What does not begin as HTTP/1 is refused.
 *
 * Where a port is, is remembered until it expires, or until an answer is one of those by which a service says that it
 * does not know the header any more (401, 403) or the sandbox (404, 410).
 *
 * Of what goes through such a URL a service may hear nothing, and end the sandbox as one that nobody uses. For those
 * `live_on` is called while connections are open:
 *
 *   static void live_on(struct sandlot_call *call, void *sandbox);
 *
 *   HTTP_RELAY_IN_USE(acme, find, live_on, struct acme_sandbox, places)
 */
#ifndef SANDLOT_SDK_HTTP_RELAY_H
#define SANDLOT_SDK_HTTP_RELAY_H

#include <sandlot/sdk/http.h>

#include <pthread.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Where a port is. Texts are to be freed by whoever gets it. */
struct http_relay_place {
    struct http_client *client; /* whose TLS settings and proxies lead there; lives as long as the provider */
    char *url;                  /* "https://host[:port]", nothing else: all else is refused */
    char *header;               /* "Name: value", a secret; NULL: none */
    int64_t expires_at_ms;      /* UTC, since 1970; 0: with the sandbox */
    bool is_public;             /* whoever knows the URL gets in */
};

/* What is remembered of one sandbox's ports. */
struct http_relay_places {
    pthread_mutex_t lock;
    struct http_relay_known *known;
};

void http_relay_places_init(struct http_relay_places *places);
void http_relay_places_clear(struct http_relay_places *places);

/* What a provider says. */
struct http_relay {
    /* Asks for the place of PORT; TTL_MS as in port_url. Anything but SANDLOT_OK has been told: SANDLOT_UNSUPPORTED
     * says what has to be declared when a sandbox is made. */
    enum sandlot_status (*find)(struct sandlot_call *call, void *provider, void *sandbox, uint16_t port, int64_t ttl_ms,
                                struct http_relay_place *place);
    size_t places_at; /* where in the handle of a sandbox its struct http_relay_places is */
    /* SANDBOX is in use: makes it live longer if its time is nearly up, and else returns at once. Called when a
     * connection is made and then about every second until that ends, by the thread of the connection: so by several at
     * the same time, and each lets nothing pass meanwhile. CALL is an attempt of five seconds at most; what is told to
     * it fails nobody. NULL: use is no matter. */
    void (*live_on)(struct sandlot_call *call, void *sandbox);
};

/* connect_port and port_url of the ABI. */
enum sandlot_status http_relay_connect(struct sandlot_call *call, const struct http_relay *relay, void *provider,
                                       void *sandbox, const struct sandlot_connection *connection);
enum sandlot_status http_relay_url(struct sandlot_call *call, const struct http_relay *relay, void *provider,
                                   void *sandbox, uint16_t port, int64_t ttl_ms,
                                   const struct sandlot_port_answer *answer);

/* Defines both, as PREFIX_connect_port and PREFIX_port_url. The handle of a sandbox is a TYPE_, whose MEMBER_ is a
 * struct http_relay_places. */
#define HTTP_RELAY(prefix, find_, type_, member_) HTTP_RELAY_IN_USE(prefix, find_, NULL, type_, member_)

/* The same with `live_on`. */
#define HTTP_RELAY_IN_USE(prefix, find_, live_on_, type_, member_)                                             \
    static const struct http_relay prefix##_relay = {find_, offsetof(type_, member_), live_on_};               \
    static enum sandlot_status prefix##_connect_port(struct sandlot_call *call, void *provider, void *sandbox, \
                                                     const struct sandlot_connection *connection)              \
    {                                                                                                          \
        return http_relay_connect(call, &prefix##_relay, provider, sandbox, connection);                       \
    }                                                                                                          \
    static enum sandlot_status prefix##_port_url(struct sandlot_call *call, void *provider, void *sandbox,     \
                                                 uint16_t port, int64_t ttl_ms,                                \
                                                 const struct sandlot_port_answer *answer)                     \
    {                                                                                                          \
        return http_relay_url(call, &prefix##_relay, provider, sandbox, port, ttl_ms, answer);                 \
    }

#ifdef __cplusplus
}
#endif

#endif
