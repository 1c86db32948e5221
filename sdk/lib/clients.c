#include <sandlot/sdk/clients.h>
#include <sandlot/sdk/http.h>

#include <stdlib.h>
#include <string.h>
#include <strings.h>

struct clients_entry {
    struct clients_entry *next;
    void *client;
    char address[];
};

void clients_init(struct clients *clients, void *context, clients_open open, void (*close)(void *client))
{
    *clients = (struct clients){.context = context, .open = open, .close = close};
    pthread_mutex_init(&clients->lock, NULL);
}

static size_t trimmed_length(const char *address)
{
    size_t length = strlen(address);

    while (length > 0 && address[length - 1] == '/')
        length--;
    return length;
}

static struct clients_entry *find(struct clients_entry *entry, const char *address, size_t length)
{
    while (entry && (strncmp(entry->address, address, length) != 0 || entry->address[length]))
        entry = entry->next;
    return entry;
}

/* NULL with *STATUS if that fails. */
static struct clients_entry *open_entry(struct sandlot_call *call, struct clients *clients, const char *address,
                                        size_t length, enum sandlot_status *status)
{
    struct clients_entry *entry = calloc(1, sizeof(*entry) + length + 1);

    if (!entry) {
        *status = sandlot_fail(call, SANDLOT_INTERNAL, "there is not enough memory for a connection; free some");
        return NULL;
    }
    memcpy(entry->address, address, length);
    *status = clients->open(call, clients->context, entry->address, &entry->client);
    if (*status != SANDLOT_OK) {
        free(entry);
        return NULL;
    }
    entry->next = clients->first;
    clients->first = entry;
    return entry;
}

enum sandlot_status clients_get(struct sandlot_call *call, struct clients *clients, const char *address, void *client)
{
    size_t length = trimmed_length(address);
    enum sandlot_status status = SANDLOT_OK;

    pthread_mutex_lock(&clients->lock);
    struct clients_entry *entry = find(clients->first, address, length);

    if (!entry)
        entry = open_entry(call, clients, address, length, &status);
    *(void **)client = entry ? entry->client : NULL;
    pthread_mutex_unlock(&clients->lock);
    return status;
}

void clients_clear(struct clients *clients)
{
    while (clients->first) {
        struct clients_entry *entry = clients->first;

        clients->first = entry->next;
        clients->close(entry->client);
        free(entry);
    }
    pthread_mutex_destroy(&clients->lock);
}

void clients_close_http(void *client)
{
    http_client_close(client);
}

bool clients_are_as_safe(const char *home, const char *address)
{
    if (strncasecmp(address, "https://", 8) == 0)
        return true;
    return strncasecmp(address, "http://", 7) == 0 && strncasecmp(home, "http://", 7) == 0;
}

enum sandlot_status clients_open_once(struct sandlot_call *call, pthread_mutex_t *lock,
                                      struct http_client *const *client,
                                      enum sandlot_status (*open)(struct sandlot_call *call, void *context),
                                      void *context)
{
    pthread_mutex_lock(lock);
    enum sandlot_status status = *client ? SANDLOT_OK : open(call, context);

    pthread_mutex_unlock(lock);
    return status;
}
