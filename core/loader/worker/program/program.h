/* The parts of sandlot-worker: the process that loads one provider's library and calls it for the host. */
#ifndef SANDLOT_LOADER_WORKER_PROGRAM_H
#define SANDLOT_LOADER_WORKER_PROGRAM_H

#include "loader/worker/channel.h"
#include "loader/worker/wire.h"

#include <pthread.h>

/* The worker's end of a connection. One call at a time, on a thread of its own. */
struct connection {
    int socket;
    struct channel_memory *memory;
    int watches[CHANNEL_WATCHES];
    pthread_mutex_t lock; /* of everything that is sent, and of what follows */
    bool serving;         /* a call is being served: the host listens */
    bool moves_many;      /* the last answer had many bytes: so will the next */
    struct wire_writer out;
    unsigned char *in; /* the last reply */
    size_t in_capacity;
};

/* The call of a connection that is being served, or was the last. */
struct service {
    struct sandlot_call call;
    struct service *next;
    struct connection *connection;
    struct wire_arena arena;
    int gifts[CHANNEL_GIFTS]; /* descriptors that go with the answer */
    size_t gift_count;
    uint64_t last_handle; /* number of the last handle among its arguments */
};

/* ---- messages.c ---- */

/* Ends the process: the host is gone or does not speak our language. */
void worker_give_up(const char *why) __attribute__((noreturn));

/* Reads the next message: its body goes to *BYTES, which grows. False: the host has closed the connection. */
bool message_receive(int socket, struct channel_header *header, unsigned char **bytes, size_t *capacity);

/* Sends OUT, with the descriptors. Under the connection's lock. */
void message_send(const struct connection *connection, uint32_t type, const struct wire_writer *out, const int *gifts,
                  size_t gift_count);

/* ---- wall.c ---- */

/* Confines this process, before it has threads, to the system's files and PLACES, each with "r" (to be read) or "w" (to
 * be used as one likes) before it, ended by NULL; to the network; and to itself among all processes. Gives up where the
 * kernel refuses what it has. Without Landlock files stay open. */
void wall_raise(char *const *places);

/* ---- provider.c: the library ---- */

struct provider_function {
    const struct wire_function *function;
    void (*pointer)(void); /* NULL: the provider does not have it */
    ffi_cif cif;
    ffi_type **types;
};

/* Function NUMBER of wire_functions; NULL: there is none. */
const struct provider_function *provider_function(uint64_t number);

/* ---- service.c: calls ---- */

/* Serves calls until the host closes the connection. For pthread_create. */
void *service_run(void *context);

/* Is CALL one that the host made, and no copy? */
bool service_has(const void *call);

/* ---- callbacks.c: what the provider may call during a call ---- */

/* Makes OBJECT, a struct of TYPE, one whose functions go to the host, which knows it as NUMBER. */
bool callbacks_bind(struct service *service, const struct wire_struct *type, uint64_t number, void *object);

/* The services of the host; NULL when there is no memory. */
const struct sandlot_host *callbacks_host(void);

/* A copy of TEXT that lives as long as the process, the same for the same text. */
const char *callbacks_keep(void *context, const char *text);

#endif
