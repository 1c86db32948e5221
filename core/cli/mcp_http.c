#include "cli/mcp_http.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "base/path.h"
#include "base/redact.h"
#include "base/text.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "config/environment.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/random.h>

#define TOKEN_VARIABLE "SANDLOT_MCP_TOKEN"

enum { TOKEN_BYTES = 32, SHORTEST_TOKEN = 16, LONGEST_TOKEN = 4096 };

/* ---- the token --------------------------------------------------------------------------------------------------- */

/* To be freed; NULL if there is no randomness or no memory. */
static char *make_token(void)
{
    unsigned char bytes[TOKEN_BYTES];
    char *token = malloc(2 * sizeof(bytes) + 1);

    if (!token || getrandom(bytes, sizeof(bytes), 0) != (ssize_t)sizeof(bytes)) {
        free(token);
        return NULL;
    }
    for (size_t i = 0; i < sizeof(bytes); i++) {
        token[2 * i] = "0123456789abcdef"[bytes[i] >> 4];
        token[2 * i + 1] = "0123456789abcdef"[bytes[i] & 15];
    }
    token[2 * sizeof(bytes)] = '\0';
    return token;
}

/* Can TOKEN be sent in a header field? WHERE is what it was read from. */
static int check_token(const char *token, const char *where, struct sandlot_error *error)
{
    size_t length = strlen(token);

    for (size_t i = 0; i < length; i++)
        if (token[i] <= ' ' || token[i] > '~')
            return error_set(
                error, SANDLOT_CODE_USAGE,
                "the token in %s holds a blank or a character that is not ASCII; write letters, digits and "
                "punctuation on one line",
                where);
    if (length == 0 || length > LONGEST_TOKEN)
        return error_set(error, SANDLOT_CODE_USAGE,
                         "the token in %s has %zu characters and needs 1 to %d; make one with: openssl rand -hex 32",
                         where, length, LONGEST_TOKEN);
    return 0;
}

static char *read_token_file(const char *file, struct sandlot_error *error)
{
    size_t length = 0;
    char *token = path_read_file(file, LONGEST_TOKEN + 2, &length);

    if (!token) {
        error_set(error, SANDLOT_CODE_USAGE, "the token cannot be read from %s: %s", file,
                  errno == EFBIG ? "it is larger than any token" : path_read_problem(errno));
        return NULL;
    }
    while (length > 0 && strchr(" \t\r\n", token[length - 1]))
        token[--length] = '\0';
    return token;
}

/* *MADE: nobody has said one. */
static int choose_token(struct mcp_http *http, const struct context *context, bool *made, struct sandlot_error *error)
{
    const char *file = context->options->token_file;
    const char *variable = environment_lookup(context->sandlot->environment, TOKEN_VARIABLE);

    *made = !file && !variable;
    if (context->options->given & OPTION_NO_AUTH) {
        *made = false;
        return 0;
    }
    http->token = file ? read_token_file(file, error) : variable ? strdup(variable) : make_token();
    if (!http->token)
        return error_is_set(error) ? -1 : error_no_memory(error);
    if (!*made)
        redact_add(http->token);
    return check_token(http->token, file ? file : TOKEN_VARIABLE, error);
}

static bool is_guessable(const char *token)
{
    return token && strlen(token) < SHORTEST_TOKEN;
}

/* A token that can be guessed is the operator's own affair where only users of this machine can try, and no further. */
static int check_reach(const struct mcp_http *http, struct sandlot_error *error)
{
    if (!is_guessable(http->token) || http_is_loopback(http->name))
        return 0;
    return error_set(error, SANDLOT_CODE_USAGE,
                     "a token of %zu characters can be guessed, and every machine may try at %s: it needs %d at least; "
                     "make one with: openssl rand -hex 32",
                     strlen(http->token), http->name, SHORTEST_TOKEN);
}

/* ---- opening and serving ----------------------------------------------------------------------------------------- */

static void say_where(const struct mcp_http *http, bool made)
{
    progress_line("sandlot: MCP server at http://%s/mcp", http->name);
    if (made)
        progress_line("sandlot: clients must send the header: Authorization: Bearer %s", http->token);
    if (is_guessable(http->token))
        progress_line("sandlot: the token is so short that users of this machine can guess it; make a longer one with: "
                      "openssl rand -hex 32");
    if (!http->token)
        progress_line("sandlot: without a token: %s that can reach the port can run commands in the sandbox",
                      http_is_loopback(http->name) ? "every user of this machine" : "every machine");
}

int mcp_http_open(struct mcp_http *http, const struct context *context)
{
    struct sandlot_error error = {0};
    bool made = false;
    int status = 0;

    *http = (struct mcp_http){.module = http_load(&error), .listen_fd = -1};
    if (http->module && choose_token(http, context, &made, &error) == 0)
        http->listen_fd = http_listen(context->options->http, &http->name, &error);
    if (http->listen_fd < 0 || check_reach(http, &error) < 0)
        status = report_error(context->options, &error);
    else
        say_where(http, made);
    sandlot_error_clear(&error);
    return status;
}

/* Writes the port to the file of --port-file, all at once. */
static int write_port(const struct mcp_http *http, const char *file, struct sandlot_error *error)
{
    AUTO_FREE char *absolute = path_absolute(file, NULL);
    AUTO_FREE char *folder = absolute ? path_parent(absolute) : NULL;
    AUTO_FREE char *text = text_format("%s\n", strrchr(http->name, ':') + 1);

    if (!folder || !text)
        return error_no_memory(error);
    AUTO_CLOSE int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    if (fd >= 0 && path_write_atomically(fd, strrchr(absolute, '/') + 1, text, strlen(text), false) == 0)
        return 0;
    return error_set(error, SANDLOT_CODE_USAGE, "the port cannot be written to %s: %s", file, strerror(errno));
}

static int serve(struct mcp_http *http, const struct context *context, struct server *server, bool *left, bool *stuck,
                 struct sandlot_error *error)
{
    const struct options *options = context->options;
    bool all = false;
    enum http_end end = HTTP_STOPPED;

    http->address = http_address_of(http->name, &all);
    const struct http_options request = {
        .server = server,
        .access = {.token = http->token, .origins = options->origins, .address = all ? NULL : http->address},
        .listen_fd = http->listen_fd,
        .stop_fd = cancellation_fd(context->cancellation),
        .idle_timeout_ms = options->idle_timeout_ms,
        .longest_message = SERVER_LONGEST_MESSAGE};

    http->listen_fd = -1;
    int result = http_serve(http->module, &request, &end, left, stuck, error);

    if (result == 0 && end == HTTP_IDLE)
        progress_note("sandlot: no message for %lld s", (long long)(options->idle_timeout_ms / 1000));
    return result;
}

int mcp_http_serve(struct mcp_http *http, const struct context *context, struct server *server, bool *left, bool *stuck)
{
    const char *file = context->options->port_file;
    struct sandlot_error error = {0};
    int status = 0;

    if (file && write_port(http, file, &error) < 0)
        *stuck = !server_free(server);
    else
        serve(http, context, server, left, stuck, &error);
    if (file)
        unlink(file);
    if (error_is_set(&error))
        status = report_error(context->options, &error);
    sandlot_error_clear(&error);
    return status;
}

void mcp_http_close(struct mcp_http *http)
{
    if (http->listen_fd >= 0)
        close(http->listen_fd);
    free(http->name);
    free(http->token);
    free(http->address);
}
