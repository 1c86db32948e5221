/*
 * sandlot/sdk/clients.h - one client for each address: for services that say in their answers where a sandbox, a region
 * or a worker is reached, and for any client that is opened when it is first needed.
 *
 *   static enum sandlot_status open_client(struct sandlot_call *call, void *acme, const char *address, void **client)
 *   {
 *       ... http_client_open(call, &options, &made) ...
 *   }
 *
 *   clients_init(&acme->clients, acme, open_client, clients_close_http);        in open, which sends nothing
 *   ...
 *   status = clients_get(call, &acme->clients, sandbox->address, &client);      struct http_client *client
 *   ...
 *   clients_clear(&acme->clients);                                              in close
 *
 * Before a key is sent to an address that came in an answer, look where it leads: see clients_are_as_safe. Threads:
 * any.
 */
#ifndef SANDLOT_SDK_CLIENTS_H
#define SANDLOT_SDK_CLIENTS_H

#include <sandlot/provider.h>

#include <pthread.h>

struct http_client;

#ifdef __cplusplus
extern "C" {
#endif

/* Opens a *CLIENT for ADDRESS. Must not wait for anything: others wait for it. */
typedef enum sandlot_status (*clients_open)(struct sandlot_call *call, void *context, const char *address,
                                            void **client);

/* private */
struct clients {
    pthread_mutex_t lock;
    struct clients_entry *first;
    void *context;
    clients_open open;
    void (*close)(void *client);
};

void clients_init(struct clients *clients, void *context, clients_open open, void (*close)(void *client));

/* The client for ADDRESS, opened now if there is none yet; it lives until clients_clear. Slashes at the end do not make
 * it another one. CLIENT: the address of a pointer to whatever OPEN makes, which is NULL after a failure. */
enum sandlot_status clients_get(struct sandlot_call *call, struct clients *clients, const char *address, void *client);

/* Closes all of them. */
void clients_clear(struct clients *clients);

/*
 * For a provider with one client alone: has OPEN set *CLIENT of CONTEXT, under LOCK, unless it is set already. It then
 * stays until `close` closes it. OPEN must not wait for anything.
 */
enum sandlot_status clients_open_once(struct sandlot_call *call, pthread_mutex_t *lock,
                                      struct http_client *const *client,
                                      enum sandlot_status (*open)(struct sandlot_call *call, void *context),
                                      void *context);

/* For clients of http.h. */
void clients_close_http(void *client);

/* May what is sent to the address HOME, a key say, be sent to ADDRESS too? To https it may, to http only if HOME is
 * that. */
bool clients_are_as_safe(const char *home, const char *address);

#ifdef __cplusplus
}
#endif

#endif
