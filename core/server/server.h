/*
 * One MCP server: what it offers, and its life. It knows no transport: those give it messages and get answers through a
 * struct channel.
 */
#ifndef SANDLOT_SERVER_SERVER_H
#define SANDLOT_SERVER_SERVER_H

#include "server/channel.h"
#include "server/holder.h"

#include <sandlot/sandlot.h>
#include <stdbool.h>
#include <stddef.h>

/* The longest message that is taken: a whole file may be written at once. */
#define SERVER_LONGEST_MESSAGE ((size_t)16 << 20)

struct server_options {
    struct holder_options sandbox;
    const char *working_dir;     /* where the provider's commands start, as far as that is known */
    const char *inside;          /* who one is in the sandbox, on what system and so on; NULL: nobody says */
    const char *network;         /* a sentence about what it may reach; NULL: it cannot be told */
    bool execute;                /* can the provider run commands? */
    bool offline;                /* they surely have no network */
    bool create_at_start;        /* else the first call of a tool makes the sandbox */
    size_t maximum_result_bytes; /* of one result's text; 0: the library's limit */
};

struct server;
struct call;

/* OPTIONS and what it points to must live as long as the server. NULL on error. */
struct server *server_new(const struct server_options *options, struct sandlot_error *error);

/* Takes one message. Never waits for a call. On any thread, but only on one at a time for one peer, unless that is
 * `many`. */
void server_receive(struct server *server, struct channel *channel, const char *text, size_t length);

/* Around server_receive, on a thread that lives as long as the server and is not needed for a while: it may run one of
 * the calls that the messages bring. server_claim says which, or NULL; server_run returns when it is done. */
void server_offer(struct server *server);
struct call *server_claim(struct server *server);
void server_run(struct server *server, struct call *call);

/* Something came that is no message and cannot be answered by its id. */
void server_refuse(struct channel *channel, enum rpc_code code, const char *why);

/* Cancels the calls of this channel without an answer: whoever asked has gone. */
void server_hang_up(struct server *server, const struct channel *channel);

/* Is a call running or waiting? */
bool server_is_busy(struct server *server);

/*
 * The end. Takes no more calls; those that run may finish until GRACE_MS are over or STOP_FD (-1: none) is readable,
 * then they are cancelled while the sandbox, if it is owned, is being deleted. 0; -1 after a warning if it is left.
 */
int server_stop(struct server *server, int grace_ms, int stop_fd);

/* Waits until all calls have ended, at most TIMEOUT_MS. */
void server_settle(struct server *server, int timeout_ms);

/* Frees it after that. False if a call is stuck in its provider: then nothing is freed, and the process must end. */
bool server_free(struct server *server);

#endif
