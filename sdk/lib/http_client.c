#include "http_client.h"

#include <sandlot/sdk/cleanup.h>

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    DEFAULT_ATTEMPTS = 4,
    DEFAULT_PAUSE_MS = 250,
    DEFAULT_CONNECT_MS = 15000,
    DEFAULT_SILENCE_MS = 120000,
    DEFAULT_KEPT = 16,
    BUFFER_SIZE = 256 * 1024
};

static pthread_once_t curl_once = PTHREAD_ONCE_INIT;
static bool curl_ready;

static void start_curl(void)
{
    curl_ready = curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK;
}

/* ---- what the connections share ---------------------------------------------------------------------------------- */

static void lock_share(CURL *easy, curl_lock_data data, curl_lock_access access, void *context)
{
    struct http_client *client = context;

    (void)easy;
    (void)access;
    pthread_mutex_lock(&client->share_locks[data]);
}

static void unlock_share(CURL *easy, curl_lock_data data, void *context)
{
    struct http_client *client = context;

    (void)easy;
    pthread_mutex_unlock(&client->share_locks[data]);
}

static bool open_share(struct http_client *client)
{
    client->share = curl_share_init();
    return client->share && curl_share_setopt(client->share, CURLSHOPT_LOCKFUNC, lock_share) == CURLSHE_OK &&
           curl_share_setopt(client->share, CURLSHOPT_UNLOCKFUNC, unlock_share) == CURLSHE_OK &&
           curl_share_setopt(client->share, CURLSHOPT_USERDATA, client) == CURLSHE_OK &&
           curl_share_setopt(client->share, CURLSHOPT_SHARE, CURL_LOCK_DATA_DNS) == CURLSHE_OK &&
           curl_share_setopt(client->share, CURLSHOPT_SHARE, CURL_LOCK_DATA_SSL_SESSION) == CURLSHE_OK;
}

/* ---- connections ------------------------------------------------------------------------------------------------- */

void http_connection_free(struct http_connection *connection)
{
    if (!connection)
        return;
    if (connection->easy)
        curl_easy_cleanup(connection->easy);
    if (connection->multi)
        curl_multi_cleanup(connection->multi);
    free(connection);
}

struct http_connection *http_connection_new(void)
{
    struct http_connection *connection = calloc(1, sizeof(*connection));

    if (!connection)
        return NULL;
    connection->easy = curl_easy_init();
    connection->multi = curl_multi_init();
    if (connection->easy && connection->multi)
        return connection;
    http_connection_free(connection);
    return NULL;
}

struct http_connection *http_connection_take(struct http_client *client)
{
    pthread_mutex_lock(&client->lock);
    struct http_connection *connection = client->idle;

    if (connection) {
        client->idle = connection->next;
        client->idle_count--;
    }
    pthread_mutex_unlock(&client->lock);
    if (!connection)
        return http_connection_new();
    curl_easy_reset(connection->easy);
    return connection;
}

/* The last one used is the next one taken: the others grow old and are closed by their servers. */
void http_connection_give_back(struct http_client *client, struct http_connection *connection)
{
    pthread_mutex_lock(&client->lock);
    bool keep = client->idle_count < client->kept_connections;

    if (keep) {
        connection->next = client->idle;
        client->idle = connection;
        client->idle_count++;
    }
    pthread_mutex_unlock(&client->lock);
    if (!keep)
        http_connection_free(connection);
}

/* Sets EASY's OPTION and remembers a failure in *FAILED. */
#define SET(easy, option, value, failed) ((failed) |= curl_easy_setopt((easy), (option), (value)) != CURLE_OK)

/* ---- connections that are not made by their address -------------------------------------------------------------- */

/* (libcurl 7.88 passes over a sockopt function that says of a socket that it is connected already.) */
static curl_socket_t dial(void *context, curlsocktype purpose, struct curl_sockaddr *address)
{
    const struct http_client *client = context;
    struct sockaddr_un there = {0};

    (void)purpose;
    int fd = client->dial(client->dial_context, &there);

    address->family = AF_UNIX;
    address->addrlen = sizeof(there);
    memcpy(&address->addr, &there, sizeof(there)); /* behind it libcurl has room for any address */
    return fd < 0 ? CURL_SOCKET_BAD : fd;
}

static int hang_up(void *context, curl_socket_t fd)
{
    const struct http_client *client = context;

    if (client->hang_up)
        client->hang_up(client->dial_context, fd);
    return close(fd);
}

/* libcurl looks the host of the URL up all the same: it is to be an address. */
static bool configure_dial(const struct http_client *client, CURL *easy)
{
    bool failed = false;

    SET(easy, CURLOPT_OPENSOCKETFUNCTION, dial, failed);
    SET(easy, CURLOPT_OPENSOCKETDATA, (void *)client, failed);
    SET(easy, CURLOPT_CLOSESOCKETFUNCTION, hang_up, failed);
    SET(easy, CURLOPT_CLOSESOCKETDATA, (void *)client, failed);
    SET(easy, CURLOPT_TCP_KEEPALIVE, 0L, failed);
    return !failed;
}

static void set_blob(CURL *easy, CURLoption option, char *text, bool *failed)
{
    struct curl_blob blob = {text, text ? strlen(text) : 0, CURL_BLOB_NOCOPY};

    if (text)
        SET(easy, option, &blob, *failed);
}

static void configure_tls(const struct http_client *client, CURL *easy, bool *failed)
{
    if (client->ca_file && !client->authorities)
        SET(easy, CURLOPT_CAINFO, client->ca_file, *failed);
    set_blob(easy, CURLOPT_CAINFO_BLOB, client->authorities, failed);
    set_blob(easy, CURLOPT_SSLCERT_BLOB, client->certificate, failed);
    set_blob(easy, CURLOPT_SSLKEY_BLOB, client->certificate_key, failed);
    SET(easy, CURLOPT_SSL_VERIFYPEER, client->unverified ? 0L : 1L, *failed);
    SET(easy, CURLOPT_SSL_VERIFYHOST, client->unverified ? 0L : 2L, *failed);
}

bool http_configure(const struct http_client *client, CURL *easy, const char *url)
{
    bool secure = http_is_secure(url);
    /* What is not HTTP/1 from its first byte on does not pass through a proxy of HTTP. */
    const char *proxy = client->http2 && !secure ? NULL : client->proxies[secure];
    bool failed = false;

    SET(easy, CURLOPT_URL, url, failed);
    SET(easy, CURLOPT_SHARE, client->share, failed);
    SET(easy, CURLOPT_PROTOCOLS_STR, "http,https", failed);
    SET(easy, CURLOPT_USERAGENT, client->user_agent, failed);
    /* Without these three, libcurl would read the process environment, which is not the provider's. */
    SET(easy, CURLOPT_PROXY, proxy ? proxy : "", failed);
    SET(easy, CURLOPT_NOPROXY, client->no_proxy ? client->no_proxy : "", failed);
    if (client->connect_to)
        SET(easy, CURLOPT_CONNECT_TO, client->connect_to, failed);
    configure_tls(client, easy, &failed);
    SET(easy, CURLOPT_CONNECTTIMEOUT_MS, (long)client->connect_ms, failed);
    SET(easy, CURLOPT_NOSIGNAL, 1L, failed);
    SET(easy, CURLOPT_TCP_KEEPALIVE, 1L, failed);
    SET(easy, CURLOPT_PATH_AS_IS, 1L, failed);
    SET(easy, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L, failed);
    SET(easy, CURLOPT_BUFFERSIZE, (long)BUFFER_SIZE, failed);
    SET(easy, CURLOPT_UPLOAD_BUFFERSIZE, (long)BUFFER_SIZE, failed);
    if (client->http2)
        SET(easy, CURLOPT_HTTP_VERSION, (long)(secure ? CURL_HTTP_VERSION_2TLS : CURL_HTTP_VERSION_2_PRIOR_KNOWLEDGE),
            failed);
    /* A body that has its announced length would be taken for the end, before the trailers. */
    if (client->http2)
        SET(easy, CURLOPT_IGNORE_CONTENT_LENGTH, 1L, failed);
    /* Where nobody negotiated HTTP/2, libcurl 7 greets a kept connection as if it were a new one, and breaks it. */
    if (client->http2 && !secure && curl_version_info(CURLVERSION_NOW)->version_num < 0x080000)
        SET(easy, CURLOPT_FORBID_REUSE, 1L, failed);
    /* A name lookup that was cancelled goes on in its thread; nobody waits for it. */
    SET(easy, CURLOPT_QUICK_EXIT, 1L, failed);
    if (client->unix_socket)
        SET(easy, CURLOPT_UNIX_SOCKET_PATH, client->unix_socket, failed);
    failed |= client->dial && !configure_dial(client, easy);
    return !failed;
}

/* ---- the client ------------------------------------------------------------------------------------------------- */

/* A copy of TEXT; NULL stays NULL. Remembers a failure in *FAILED. */
static char *copy(const char *text, bool *failed)
{
    char *made = text ? strdup(text) : NULL;

    *failed |= text && !made;
    return made;
}

static char *copy_variable(struct sandlot_call *call, const char *const *names, bool *failed)
{
    for (; *names; names++) {
        const char *value = call->host->environment(call, *names);

        if (value && *value)
            return copy(value, failed);
    }
    return NULL;
}

static void read_environment(struct sandlot_call *call, struct http_client *client, bool direct, bool *failed)
{
    /* HTTP_PROXY in capitals is left out: a CGI program would take it from a header of its request. */
    static const char *const plain[] = {"http_proxy", "all_proxy", "ALL_PROXY", NULL};
    static const char *const secure[] = {"https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY", NULL};
    static const char *const none[] = {"no_proxy", "NO_PROXY", NULL};
    static const char *const certificates[] = {"SSL_CERT_FILE", NULL};

    client->proxies[0] = direct ? NULL : copy_variable(call, plain, failed);
    client->proxies[1] = direct ? NULL : copy_variable(call, secure, failed);
    client->no_proxy = copy_variable(call, none, failed);
    if (!client->ca_file)
        client->ca_file = copy_variable(call, certificates, failed);
}

static void copy_headers(struct http_client *client, const struct http_options *options, bool *failed)
{
    size_t count = 0;
    size_t used = 0;

    while (options->headers && options->headers[count])
        count++;
    client->headers = calloc(count + 2, sizeof(*client->headers));
    *failed |= !client->headers;
    if (!client->headers)
        return;
    if (options->bearer) {
        client->headers[used] = sdk_format("Authorization: Bearer %s", options->bearer);
        *failed |= !client->headers[used++];
        sdk_secrets_add(&client->secrets, options->bearer);
    }
    for (size_t i = 0; i < count && !*failed; i++) {
        client->headers[used++] = copy(options->headers[i], failed);
        http_learn_header(client, options->headers[i]);
    }
}

static int *copy_statuses(const int *statuses, bool *failed)
{
    size_t count = 0;

    while (statuses && statuses[count])
        count++;
    int *copied = calloc(count + 1, sizeof(*copied));

    *failed |= !copied;
    if (copied && count)
        memcpy(copied, statuses, count * sizeof(*copied));
    return copied;
}

static void learn_passwords(struct http_client *client)
{
    const char *const urls[] = {client->base_url, client->proxies[0], client->proxies[1]};

    for (size_t i = 0; i < sizeof(urls) / sizeof(*urls); i++)
        if (urls[i])
            http_learn_password(client, urls[i]);
}

static void copy_tls(struct http_client *client, const struct http_tls *tls, bool *failed)
{
    if (!tls)
        return;
    client->authorities = copy(tls->authorities, failed);
    client->certificate = copy(tls->certificate, failed);
    client->certificate_key = copy(tls->key, failed);
    client->unverified = tls->unverified;
}

/* A proxy of the service's own is for all connections, whatever they are for. */
static void copy_way(struct http_client *client, const struct http_options *options, bool *failed)
{
    AUTO_FREE char *line = options->connect_to ? sdk_format("::%s", options->connect_to) : NULL;

    client->connect_to = line ? curl_slist_append(NULL, line) : NULL;
    *failed |= options->connect_to && !client->connect_to;
    for (int secure = 0; options->proxy && secure < 2; secure++) {
        free(client->proxies[secure]);
        client->proxies[secure] = copy(options->proxy, failed);
    }
    if (options->proxy) {
        free(client->no_proxy);
        client->no_proxy = NULL;
    }
}

static int positive(int value, int otherwise)
{
    return value > 0 ? value : otherwise;
}

static struct http_client *make_client(struct sandlot_call *call, const struct http_options *options)
{
    struct http_client *client = calloc(1, sizeof(*client));
    bool failed = false;

    if (!client)
        return NULL;
    pthread_mutex_init(&client->lock, NULL);
    for (size_t i = 0; i < CURL_LOCK_DATA_LAST; i++)
        pthread_mutex_init(&client->share_locks[i], NULL);
    sdk_secrets_init(&client->secrets);
    client->base_url = copy(options->base_url, &failed);
    client->service = options->service ? copy(options->service, &failed) : http_shown_url(options->base_url, false);
    client->user_agent = copy(options->user_agent ? options->user_agent : "sandlot-provider", &failed);
    client->ca_file = copy(options->ca_file, &failed);
    client->attempts = positive(options->attempts, DEFAULT_ATTEMPTS);
    client->pause_ms = positive(options->pause_ms, DEFAULT_PAUSE_MS);
    client->connect_ms = positive(options->connect_ms, DEFAULT_CONNECT_MS);
    client->silence_ms = options->silence_ms > 0 ? options->silence_ms : DEFAULT_SILENCE_MS;
    client->kept_connections = positive(options->kept_connections, DEFAULT_KEPT);
    client->http2 = options->http2;
    client->repeated = copy_statuses(options->repeated, &failed);
    client->repeat_header = copy(options->repeat_header, &failed);
    client->key_from = copy(options->key_from, &failed);
    client->id_header = copy(options->id_header, &failed);
    client->unix_socket = copy(options->unix_socket, &failed);
    client->dial = options->dial;
    client->hang_up = options->hang_up;
    client->dial_context = options->dial_context;
    copy_headers(client, options, &failed);
    read_environment(call, client, options->direct || options->unix_socket || options->dial, &failed);
    copy_tls(client, options->tls, &failed);
    copy_way(client, options, &failed);
    learn_passwords(client);
    if (!failed && client->service && open_share(client)) {
        for (size_t end = strlen(client->base_url); end > 0 && client->base_url[end - 1] == '/'; end--)
            client->base_url[end - 1] = '\0'; /* targets begin with one */
        return client;
    }
    http_client_close(client);
    return NULL;
}

enum sandlot_status http_client_open(struct sandlot_call *call, const struct http_options *options,
                                     struct http_client **client)
{
    *client = NULL;
    pthread_once(&curl_once, start_curl);
    if (!curl_ready)
        return sandlot_fail(call, SANDLOT_INTERNAL, "libcurl could not be set up; check its installation");
    CURLU *url = curl_url();
    CURLUcode read =
        url && options->base_url ? curl_url_set(url, CURLUPART_URL, options->base_url, 0) : CURLUE_MALFORMED_INPUT;
    bool valid = read == CURLUE_OK && (strncasecmp(options->base_url, "http://", 7) == 0 ||
                                       strncasecmp(options->base_url, "https://", 8) == 0);

    curl_url_cleanup(url);
    if (!url || read == CURLUE_OUT_OF_MEMORY)
        return sandlot_fail(call, SANDLOT_INTERNAL, "there is not enough memory for a connection to %s; free some",
                            options->service);
    if (!valid)
        return sandlot_fail(call, SANDLOT_INVALID_ARGUMENT,
                            "the address of %s is no http:// or https:// URL; write it with its scheme (parameter "
                            "base_url, or the variable it came from)",
                            options->service ? options->service : "the service");
    if (options->user_agent && !http_is_value(options->user_agent))
        return sandlot_fail(call, SANDLOT_INVALID_ARGUMENT,
                            "the name of the user agent has a newline or another character that cannot be sent; check "
                            "the parameters");
    *client = make_client(call, options);
    if (!*client)
        return sandlot_fail(call, SANDLOT_INTERNAL, "there is not enough memory for an HTTP client; free some");
    return SANDLOT_OK;
}

void http_client_add_secret(struct http_client *client, const char *text)
{
    sdk_secrets_add(&client->secrets, text);
}

void http_client_close(struct http_client *client)
{
    if (!client)
        return;
    while (client->idle) {
        struct http_connection *connection = client->idle;

        client->idle = connection->next;
        http_connection_free(connection);
    }
    if (client->share)
        curl_share_cleanup(client->share);
    for (char **header = client->headers; header && *header; header++) {
        explicit_bzero(*header, strlen(*header));
        free(*header);
    }
    free(client->headers);
    sdk_secrets_clear(&client->secrets);
    for (size_t i = 0; i < CURL_LOCK_DATA_LAST; i++)
        pthread_mutex_destroy(&client->share_locks[i]);
    pthread_mutex_destroy(&client->lock);
    if (client->certificate_key)
        explicit_bzero(client->certificate_key, strlen(client->certificate_key));
    free(client->certificate_key);
    free(client->certificate);
    free(client->authorities);
    curl_slist_free_all(client->connect_to);
    free(client->key_from);
    free(client->id_header);
    free(client->unix_socket);
    free(client->repeat_header);
    free(client->repeated);
    free(client->proxies[0]);
    free(client->proxies[1]);
    free(client->no_proxy);
    free(client->ca_file);
    free(client->user_agent);
    free(client->service);
    free(client->base_url);
    free(client);
}
