#include "intercept.h"

#include "../authorities.h"

#include <openssl/evp.h>
#include <sandlot/sdk/cleanup.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>

/* What it has of one connection. */
struct interception {
    SSL *sides[SIDES]; /* NULL: HTTP without TLS */
    bool agreed[SIDES];
    bool untrusted;               /* the outside has not agreed, */
    char reason[TLS_REASON_SIZE]; /* for that reason */
    struct mask mask;
};

int intercept_open(struct intercept *intercept, const char *bytes, size_t length, const char **problem)
{
    const char *hosts[CREDENTIALS_MOST];

    *intercept = (struct intercept){.credentials = {.count = 0}, .authorities_fd = authorities_open()};
    *problem = "the certificate authorities of this machine cannot be read; install the package ca-certificates";
    if (intercept->authorities_fd < 0)
        return -1;
    *problem = "the proxy of the sandbox does not understand what credentials are wanted";
    if (!credentials_read(bytes, length, &intercept->credentials))
        return -1;
    for (size_t i = 0; i < intercept->credentials.count; i++)
        hosts[i] = intercept->credentials.list[i].host.name;
    *problem = "the certificates of the sandbox could not be made: out of memory";
    if (authority_make(&intercept->authority, hosts, intercept->credentials.count) < 0)
        return -1;
    return tls_open(&intercept->tls, intercept->credentials.authorities, problem);
}

int intercept_trust(struct intercept *intercept)
{
    AUTO_CLOSE int authorities = take_fd(&intercept->authorities_fd);
    const char *problem;

    return tls_trust(&intercept->tls, authorities, &problem);
}

void intercept_clear(struct intercept *intercept)
{
    authority_clear(&intercept->authority);
    tls_clear(&intercept->tls);
}

/* ---- what is looked for in answers ---- */

/* VALUE, and what stands behind its first word: "Bearer x", "token x", "Basic x". */
static bool add_value(struct mask *mask, const char *value)
{
    const char *blank = strchr(value, ' ');

    return mask_add(mask, value, strlen(value)) && (!blank || mask_add(mask, blank + 1, strlen(blank + 1)));
}

/* The pair that "Basic x" stands for, and the password of it. */
static bool add_pair(struct mask *mask, const char *value)
{
    const size_t length = strlen(value);

    if (strncasecmp(value, "Basic ", 6) != 0 || length % 4 != 2)
        return true;
    AUTO_FREE char *pair = calloc(1, length);

    if (!pair)
        return false;
    EVP_DecodeBlock((unsigned char *)pair, (const unsigned char *)value + 6, (int)length - 6);
    const char *colon = strchr(pair, ':');
    const bool added = mask_add(mask, pair, strlen(pair)) && (!colon || mask_add(mask, colon + 1, strlen(colon + 1)));

    explicit_bzero(pair, length);
    return added;
}

bool intercept_mask(const struct credentials *credentials, const struct host *host, const struct written *written,
                    struct mask *mask)
{
    for (size_t i = 0; i < credentials->count; i++)
        if (host_equals(&credentials->list[i].host, host) &&
            (!add_value(mask, credentials->list[i].value) || !add_pair(mask, credentials->list[i].value)))
            return false;
    for (size_t i = 0; i < written->count; i++)
        if (!add_value(mask, written->texts[i]))
            return false;
    return true;
}

/* ---- TLS ---- */

static const struct intercept *knowledge(const struct egress *egress)
{
    return egress->secrets;
}

static bool opens(const struct egress *egress, const struct target *target)
{
    return target->tunnel && target->port == PORT_HTTPS &&
           credentials_cover(&knowledge(egress)->credentials, &target->host, target->port);
}

static bool ensure(struct connection *connection)
{
    if (!connection->interception)
        connection->interception = calloc(1, sizeof(*connection->interception));
    return connection->interception;
}

/* Makes both sides; the box's has the ClientHello before it. */
static bool begin(struct connection *connection)
{
    const struct intercept *intercept = knowledge(connection->egress);
    const char *host = connection->target.host.name;
    struct stream *box = &connection->streams[SIDE_BOX];
    X509 *leaf = authority_leaf(&intercept->authority, host);

    if (!leaf || !ensure(connection))
        return false;
    SSL **sides = connection->interception->sides;

    sides[SIDE_BOX] = tls_accept(&intercept->tls, connection->ends[SIDE_BOX].fd, leaf, intercept->authority.leaf_key,
                                 box->bytes + box->at, box->length - box->at);
    sides[SIDE_OUTSIDE] = tls_connect(&intercept->tls, connection->ends[SIDE_OUTSIDE].fd, host);
    box->at = box->cleared = box->taken = box->length = 0;
    return sides[SIDE_BOX] && sides[SIDE_OUTSIDE];
}

/* Goes on with one side. False: it has failed, for REASON. */
static bool agree(struct connection *connection, enum side side, char reason[TLS_REASON_SIZE])
{
    struct interception *interception = connection->interception;

    if (interception->agreed[side])
        return true;
    switch (tls_agree(interception->sides[side], reason)) {
    case TLS_AGREED:
        interception->agreed[side] = true;
        return true;
    case TLS_READ:
        connection->ends[side].wanted |= EPOLLIN;
        return true;
    case TLS_WRITE:
        connection->ends[side].wanted |= EPOLLOUT;
        return true;
    case TLS_FAILED:
        break;
    }
    return false;
}

/* Where the outside fails, the box is told within its own TLS, whose answers programs show. */
static enum verdict secure(struct connection *connection)
{
    char failure[TLS_REASON_SIZE];
    char reason[TLS_REASON_SIZE + 32];

    if (!connection->interception && !begin(connection))
        return VERDICT_END;
    struct interception *interception = connection->interception;

    if (!interception->untrusted && !agree(connection, SIDE_OUTSIDE, interception->reason))
        interception->untrusted = true;
    if (!agree(connection, SIDE_BOX, failure)) {
        snprintf(reason, sizeof(reason), "the program did not agree: %s", failure);
        return connection_refuse(connection, "", interception->untrusted ? interception->reason : reason, "");
    }
    connection->secured = interception->agreed[SIDE_BOX];
    if (!connection->secured || (!interception->agreed[SIDE_OUTSIDE] && !interception->untrusted))
        return VERDICT_WAIT;
    return interception->untrusted
               ? connection_refuse(connection, "502 Bad Gateway", interception->reason, "Nothing was sent to it.")
               : VERDICT_NEXT;
}

static ssize_t receive(struct connection *connection, enum side side, char *bytes, size_t size)
{
    return tls_receive(connection->interception->sides[side], bytes, size);
}

static ssize_t send_to(struct connection *connection, enum side side, const char *bytes, size_t length)
{
    return tls_send(connection->interception->sides[side], bytes, length);
}

static bool pending(const struct connection *connection, enum side side)
{
    return SSL_pending(connection->interception->sides[side]) > 0;
}

static void finish(struct connection *connection, enum side side)
{
    tls_finish(connection->interception->sides[side]);
}

static void clear(struct connection *connection)
{
    struct interception *interception = connection->interception;

    if (connection->secured && connection->whole)
        tls_finish(interception->sides[SIDE_BOX]);
    for (size_t side = 0; side < SIDES; side++)
        SSL_free(interception->sides[side]);
    mask_clear(&interception->mask);
    free(interception);
    connection->interception = NULL;
}

/* ---- requests and answers ---- */

static void request_written(struct written *written)
{
    written_clear(written);
    free(written);
}

static bool request(struct connection *connection, const struct target *target, struct head *head,
                    struct written **written)
{
    const struct credentials *credentials = &knowledge(connection->egress)->credentials;

    /* On port 443 only within TLS: a request that came without it goes nowhere. */
    if ((target->port == PORT_HTTPS && !connection->secured) ||
        !credentials_cover(credentials, &target->host, target->port))
        return true;
    *written = calloc(1, sizeof(**written));
    if (*written && ensure(connection)) {
        mask_clear(&connection->interception->mask);
        if (credentials_apply(credentials, &target->host, target->port, head, *written) &&
            intercept_mask(credentials, &target->host, *written, &connection->interception->mask))
            return true;
    }
    if (*written)
        request_written(*written);
    *written = NULL;
    return false;
}

static void answer_head(struct connection *connection, char *head, size_t length)
{
    mask_text(&connection->interception->mask, head, length);
}

static bool answer_body(struct connection *connection)
{
    struct stream *answer = &connection->streams[SIDE_OUTSIDE];
    struct mask *mask = &connection->interception->mask;

    while (answer->taken < answer->length && !answer->body.ended) {
        enum body_part part;
        char *at = answer->bytes + answer->taken;
        const long taken = body_step(&answer->body, at, answer->length - answer->taken, &part);

        if (taken < 0)
            return false;
        if (part == BODY_DATA || part == BODY_TRAILER)
            mask_feed(mask, answer->bytes, answer->taken, (size_t)taken);
        if (part == BODY_EXTENSION)
            memset(at, '*', (size_t)taken);
        answer->taken += (size_t)taken;
    }
    if (answer->body.ended || answer->ended)
        mask_release(mask, answer->bytes, false);
    /* Else its buffer could be full of what waits for more. */
    if (answer->taken - mask_held(mask, answer->taken) > STREAM_SIZE / 2)
        mask_release(mask, answer->bytes, true);
    answer->cleared = mask_held(mask, answer->taken);
    return true;
}

static void moved(struct connection *connection, enum side side, size_t count)
{
    if (side == SIDE_OUTSIDE)
        mask_moved(&connection->interception->mask, count);
}

const struct interceptor interceptor = {
    .opens = opens,
    .secure = secure,
    .request = request,
    .request_written = request_written,
    .answer_head = answer_head,
    .answer_body = answer_body,
    .moved = moved,
    .receive = receive,
    .send = send_to,
    .pending = pending,
    .finish = finish,
    .clear = clear,
};
