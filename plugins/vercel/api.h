/*
 * Vercel's API of sandboxes, version 2 (3 for creating). A sandbox is a durable thing with a name; a session is one
 * running machine of it, with an id. Commands and files belong to a session, all else to the name.
 */
#ifndef SANDLOT_VERCEL_API_H
#define SANDLOT_VERCEL_API_H

#include "credentials.h"
#include "parameters.h"

#include <sandlot/provider.h>
#include <sandlot/sdk/rest.h>

#include <pthread.h>

/* What open makes. */
struct vercel {
    struct parameters parameters;
    pthread_mutex_t lock;       /* for the opening of the two below, which stay until close */
    struct http_client *client; /* NULL until the first request */
    struct credentials credentials;
};

void api_init(struct vercel *vercel, const struct parameters *parameters);
void api_clear(struct vercel *vercel);

/* Finds credentials and address, unless that was done. Comes before anything that needs them. */
enum sandlot_status api_open(struct sandlot_call *call, struct vercel *vercel);

/* What a request is about, which decides how the project is said in its query. */
enum api_scope {
    API_SESSION, /* not at all: a session or a snapshot belongs to one */
    API_NAME,    /* projectId */
    API_LIST     /* project */
};

/* The query of TARGET, from http_target, in place: *TARGET is NULL when out of memory. */
void api_add_scope(const struct vercel *vercel, char **target, enum api_scope scope);

/* rest_send of rest.h, for a target without team and project. Every answer is a document. */
enum sandlot_status api_send(struct sandlot_call *call, struct vercel *vercel, enum api_scope scope,
                             struct rest_request *request, struct http_response *response, struct json_object **answer);

/* Where a list goes on. */
#define API_NEXT "pagination.next"

/* One page of the list at PATH, whose entries are as ENTRY says. */
enum sandlot_status api_list(struct sandlot_call *call, struct vercel *vercel, const char *path, const char *cursor,
                             const struct sandlot_listing *listing, const struct rest_entry *entry);

/* The word for an error in BODY: "sandbox_stopped"; "" for none. */
void api_error_code(const char *body, size_t length, char code[64]);

/* SECONDS that a user has said, as milliseconds; what makes no sense is cut to what does. */
int64_t api_milliseconds(int64_t seconds);

#endif
