/* Ports of a sandbox: one connection to a server in it, and the vendor's own address of one. */
#include "base/cleanup.h"
#include "base/error.h"
#include "base/sized.h"
#include "session/lifecycle.h"
#include "session/session.h"

#include <stdlib.h>
#include <string.h>

enum { URL_MS = 60 * 1000 };

int session_check_ports(const struct sandlot *sandlot, const char *provider, uint32_t capabilities, bool url,
                        struct sandlot_error *error)
{
    const enum capability wanted = url ? CAPABILITY_URLS : CAPABILITY_PORTS;
    const bool has_other = capabilities & (url ? CAPABILITY_PORTS : CAPABILITY_URLS);

    if (capabilities & wanted)
        return 0;
    AUTO_FREE char *names = lifecycle_who_can(sandlot, wanted);
    const char *other =
        url ? "; leave --url out to reach one from here" : "; ask for its own address of a port with --url";

    return error_set(error, SANDLOT_CODE_NOT_SUPPORTED, "%s: ports of a sandbox %s with this provider%s%s%s", provider,
                     url ? "have no URL" : "cannot be reached", has_other ? other : "",
                     names ? "; of the providers here these can: " : "", names ? names : "");
}

int session_connect_port(struct sandlot_session *session, const struct sandlot_connection *connection, int cancel_fd,
                         enum sandlot_status *status, struct sandlot_error *error)
{
    struct provider *provider = session->provider;
    struct host_call call;

    host_call_init(&call, provider->entry->name, provider->environment, 0, cancel_fd);
    *status = provider->table.connect_port(&call.call, provider->instance, session->sandbox, connection);
    int failed = host_call_error(&call, *status, "cannot reach the port", true, error);

    host_call_clear(&call);
    return failed;
}

/* ---- addresses --------------------------------------------------------------------------------------------------- */

struct found {
    struct sandlot_port_answer answer;
    struct sandlot_port_url url;
    bool failed; /* no memory, or no address */
};

/* Is URL http or https, a host and perhaps a port? Programs hand it on: to a browser, to a head of HTTP. */
static bool is_origin(const char *url)
{
    const char *host = strncmp(url, "https://", 8) == 0 ? url + 8 : strncmp(url, "http://", 7) == 0 ? url + 7 : "";

    return *host &&
           strspn(host, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._:[]") == strlen(host);
}

/* Is HEADER "Name: value" in printable ASCII, one field and no more? */
static bool is_field(const char *header)
{
    const char *colon = strstr(header, ": ");
    const char *at = header;

    while (*at >= ' ' && *at <= '~')
        at++;
    return *at == '\0' && colon && colon > header && !memchr(header, ' ', (size_t)(colon - header));
}

/* What every provider tells of an address. */
#define SMALLEST_ADDRESS SIZED_UP_TO(struct sandlot_port_address, is_public)

static void take(const struct sandlot_port_answer *answer, const struct sandlot_port_address *address)
{
    struct found *found = answer->context;

    sandlot_port_url_clear(&found->url);
    found->failed = !address || address->size < SMALLEST_ADDRESS || !address->url || !is_origin(address->url) ||
                    (address->header && !is_field(address->header));
    if (found->failed)
        return;
    found->url.url = strdup(address->url);
    found->url.header = address->header ? strdup(address->header) : NULL;
    found->url.expires_at_ms = address->expires_at_ms;
    found->url.is_public = address->is_public;
    found->failed = !found->url.url || (address->header && !found->url.header);
}

static int ask(const struct sandlot_session *session, uint16_t port, int64_t ttl_ms, struct found *found,
               struct sandlot_error *error)
{
    const struct provider *provider = session->provider;
    struct host_call call;

    host_call_init(&call, provider->entry->name, provider->environment, sandlot_now_ms() + URL_MS, -1);
    enum sandlot_status status =
        provider->table.port_url(&call.call, provider->instance, session->sandbox, port, ttl_ms, &found->answer);

    if (status == SANDLOT_OK && (found->failed || !found->url.url))
        status = sandlot_fail(
            &call.call, SANDLOT_INTERNAL,
            "the provider told no address that is http or https, a host and a port, with at most one header; "
            "report it to its author");
    int failed = host_call_error(&call, status, "cannot tell the address of the port", true, error);

    host_call_clear(&call);
    return failed;
}

int sandlot_port_url(struct sandlot_session *session, uint16_t port, int64_t ttl_ms, struct sandlot_port_url *url,
                     struct sandlot_error *error)
{
    struct found found = {.url = {.size = sizeof(found.url)}};

    if (sized_check(url, SIZED_UP_TO(struct sandlot_port_url, is_public), "sandlot_port_url", error) < 0)
        return -1;
    if (port == 0 || ttl_ms < 0)
        return error_set(error, SANDLOT_CODE_USAGE, "a port is a number from 1 to 65535, a lifetime not negative");
    if (session_check_ports(session->sandlot, session->provider->entry->name,
                            provider_capabilities(&session->provider->table), true, error) < 0)
        return -1;
    found.answer = (struct sandlot_port_answer){sizeof(found.answer), &found, take};
    if (ask(session, port, ttl_ms, &found, error) < 0) {
        sandlot_port_url_clear(&found.url);
        return -1;
    }
    sized_write(url, &found.url, sizeof(found.url));
    return 0;
}

void sandlot_port_url_clear(struct sandlot_port_url *url)
{
    if (!url)
        return;
    free(TAKE(url->url));
    free(TAKE(url->header));
}
