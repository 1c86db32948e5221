#include "server/http.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "base/text.h"
#include "loader/module.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

enum { SETTLE_MS = 1000, BACKLOG = 64 };

/* ---- the module -------------------------------------------------------------------------------------------------- */

const struct http_module *http_load(struct sandlot_error *error)
{
    static const char *const libraries[] = {"libmicrohttpd", NULL};
    static const struct module module = {
        .file = HTTP_MODULE_NAME,
        .symbol = HTTP_MODULE_SYMBOL,
        .what = "the HTTP transport",
        .instead = "serve over standard input and output (leave --http out)",
        .libraries = libraries,
        .needs = "--http needs the library libmicrohttpd",
        .install = "install it: apt-get install libmicrohttpd12",
    };

    return module_load(&module, error);
}

/* ---- where it listens -------------------------------------------------------------------------------------------- */

/* Takes ADDRESS apart; false if it is not of the form. Both to be freed. */
static bool split_address(const char *address, char **host, char **port)
{
    const char *text = address ? address : "";
    const char *bracket = *text == '[' ? strchr(text, ']') : NULL;
    const char *colon = bracket ? (bracket[1] == ':' ? bracket + 1 : NULL) : strrchr(text, ':');
    bool only_port = *text && strspn(text, "0123456789") == strlen(text);

    if ((*text == '[' && (!bracket || (bracket[1] && !colon))) || (!bracket && colon && strchr(text, ':') != colon))
        return false;
    if (only_port)
        *host = strdup("");
    else if (bracket)
        *host = strndup(text + 1, (size_t)(bracket - text - 1));
    else
        *host = strndup(text, colon ? (size_t)(colon - text) : strlen(text));
    *port = strdup(only_port ? text : colon ? colon + 1 : HTTP_PORT);
    return *host && *port;
}

static struct addrinfo *look_up(const char *address)
{
    static const struct addrinfo hints = {
        .ai_flags = AI_NUMERICHOST | AI_NUMERICSERV | AI_PASSIVE, .ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
    AUTO_FREE char *host = NULL;
    AUTO_FREE char *port = NULL;
    struct addrinfo *found = NULL;
    int64_t number;

    if (!split_address(address, &host, &port) || !text_parse_integer(port, &number) || number < 0 || number > 65535)
        return NULL;
    const char *numeric = !*host || strcmp(host, "localhost") == 0 ? HTTP_ADDRESS : host;

    return getaddrinfo(numeric, port, &hints, &found) == 0 ? found : NULL;
}

/* What the socket is bound to, as a URL has it; to be freed. */
static char *name_of(int fd)
{
    struct sockaddr_storage bound = {0};
    socklen_t length = sizeof(bound);
    char host[INET6_ADDRSTRLEN + 20];
    char port[8];

    if (getsockname(fd, (struct sockaddr *)&bound, &length) < 0 ||
        getnameinfo((struct sockaddr *)&bound, length, host, sizeof(host), port, sizeof(port),
                    NI_NUMERICHOST | NI_NUMERICSERV) != 0)
        return NULL;
    return text_format(bound.ss_family == AF_INET6 ? "[%s]:%s" : "%s:%s", host, port);
}

int http_listen(const char *address, char **name, struct sandlot_error *error)
{
    struct addrinfo *found = look_up(address);
    static const int on = 1;

    *name = NULL;
    if (!found)
        return error_set(
            error, SANDLOT_CODE_USAGE,
            "--http takes ADDRESS:PORT with an address in numbers, such as 127.0.0.1:0 or [::1]:8080, not '%s'",
            address);
    int fd = socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    bool listens = fd >= 0 && setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) == 0 &&
                   bind(fd, found->ai_addr, found->ai_addrlen) == 0 && listen(fd, BACKLOG) == 0;
    int problem = errno;

    freeaddrinfo(found);
    *name = listens ? name_of(fd) : NULL;
    if (*name)
        return fd;
    if (fd >= 0)
        close(fd);
    if (listens)
        return error_no_memory(error);
    return error_set(
        error, SANDLOT_CODE_INTERNAL_ERROR,
        "the server cannot listen on %s: %s; choose another one with --http ADDRESS:PORT (port 0: a free one)",
        address ? address : HTTP_ADDRESS, strerror(problem));
}

bool http_is_loopback(const char *name)
{
    return strncmp(name, "127.", 4) == 0 || strncmp(name, "[::1]:", 6) == 0;
}

char *http_address_of(const char *name, bool *all)
{
    char *address = strndup(name, (size_t)(strrchr(name, ':') - name));

    *all = address && (strcmp(address, "0.0.0.0") == 0 || strcmp(address, "[::]") == 0);
    return address;
}

/* ---- serving ----------------------------------------------------------------------------------------------------- */

int http_serve(const struct http_module *module, const struct http_options *options, enum http_end *end, bool *left,
               bool *stuck, struct sandlot_error *error)
{
    static const struct http_host host = {server_receive, server_hang_up, server_is_busy};
    struct server *server = options->server;
    const char *why = NULL;
    struct http *http = module->start(&host, options, &why);

    if (http)
        *end = module->serve(http);
    else
        error_set(error, SANDLOT_CODE_INTERNAL_ERROR, "the HTTP server cannot start: %s", why);
    *left = server_stop(server, 0, -1) < 0;
    server_settle(server, SETTLE_MS); /* so that cancelled calls can say so */
    if (http)
        module->finish(http);
    *stuck = !server_free(server);
    if (http && !*stuck)
        module->free(http);
    return http ? 0 : -1;
}
