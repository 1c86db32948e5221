/*
 * A provider for tests that can only run commands: sandboxes of the provider `local`, beside which it is built, without
 * its access to files. Its channel may be made as bad as those of some vendors:
 *
 *   channel=exact   the output as it is
 *   channel=text    a terminal's: the command itself before the output, and a prompt; NUL dropped, "\n" as "\r\n",
 * bytes that are not ASCII as "?", lines wrapped at 200 columns, something more at the end
 *
 * count_file gets one line per command. lose_file has a number: the answers of so many commands are lost, though they
 * are carried out. Where hold_file is there it is removed, and the answer of a command that was carried out comes only
 * when the call is cancelled.
 */
#include "../../plugins/local/parameters.h"

#include <sandlot/provider.h>

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ONLY_EXECUTE_PARAMETERS(P)                                                    \
    LOCAL_PARAMETERS(P)                                                               \
    P(string, channel, "exact", optional, "exact, or text for a worse")               \
    P(path, count_file, "", optional, "file to which each command adds a line")       \
    P(path, lose_file, "", optional, "file with the number of answers that are lost") \
    P(path, hold_file, "", optional, "file that holds one answer back until the call is cancelled")
SANDLOT_PARAMETERS(only_execute, ONLY_EXECUTE_PARAMETERS)

enum { COLUMNS = 200 };

struct only_execute {
    const struct sandlot_provider *local;
    void *instance; /* of local */
    bool text;
    const char *count_file; /* belongs to the host */
    const char *lose_file;  /* likewise */
    const char *hold_file;  /* likewise */
};

typedef enum sandlot_status (*local_open_function)(struct sandlot_call *, void **LOCAL_PARAMETERS(SANDLOT_ARGUMENT_));

/* The table of local, in whose folder its keeper is found. */
static const struct sandlot_provider *find_local(struct sandlot_call *call)
{
    static const char in_this_library;
    Dl_info info;
    char path[4096];

    if (!dladdr(&in_this_library, &info) || !info.dli_fname)
        return NULL;
    const char *slash = strrchr(info.dli_fname, '/');

    snprintf(path, sizeof(path), "%.*s/../../builtins/local.so", slash ? (int)(slash - info.dli_fname) : 1,
             slash ? info.dli_fname : ".");
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    void *symbol = library ? dlsym(library, "local") : NULL;
    sandlot_entry entry;

    if (!symbol) {
        sandlot_fail(call, SANDLOT_DEPENDENCY_MISSING, "%.900s cannot be loaded; build it", path);
        return NULL;
    }
    memcpy(&entry, &symbol, sizeof(entry));
    return entry(call);
}

#define PASS(kind, name, default_, flag, help) , name

static enum sandlot_status only_execute_open(struct sandlot_call *call,
                                             void **provider ONLY_EXECUTE_PARAMETERS(SANDLOT_ARGUMENT_))
{
    struct only_execute *own = calloc(1, sizeof(*own));

    if (!own)
        return sandlot_fail(call, SANDLOT_INTERNAL, "out of memory");
    own->text = strcmp(channel, "text") == 0;
    own->count_file = count_file;
    own->lose_file = lose_file;
    own->hold_file = hold_file;
    own->local = find_local(call);
    enum sandlot_status status = SANDLOT_DEPENDENCY_MISSING;

    if (own->local)
        status = ((local_open_function)own->local->open)(call, &own->instance LOCAL_PARAMETERS(PASS));
    if (status == SANDLOT_OK)
        *provider = own;
    else
        free(own);
    return status;
}

static void only_execute_close(void *provider)
{
    struct only_execute *own = provider;

    own->local->close(own->instance);
    free(own);
}

static enum sandlot_status only_execute_get_or_create(struct sandlot_call *call, void *provider,
                                                      const struct sandlot_create *request, void **sandbox)
{
    const struct only_execute *own = provider;

    return own->local->get_or_create(call, own->instance, request, sandbox);
}

static void only_execute_release(void *provider, void *sandbox)
{
    const struct only_execute *own = provider;

    own->local->release(own->instance, sandbox);
}

static enum sandlot_status only_execute_delete(struct sandlot_call *call, void *provider, const char *id)
{
    const struct only_execute *own = provider;

    return own->local->delete_sandbox(call, own->instance, id);
}

static enum sandlot_status only_execute_list(struct sandlot_call *call, void *provider, const char *cursor,
                                             const struct sandlot_listing *listing)
{
    const struct only_execute *own = provider;

    return own->local->list(call, own->instance, cursor, listing);
}

/* ---- the channel ---- */

struct channel {
    const struct sandlot_sink *output;
    size_t column;
    char out[8192];
    size_t length;
};

static enum sandlot_status flush(struct channel *channel)
{
    size_t length = channel->length;

    channel->length = 0;
    return length > 0 ? channel->output->write(channel->output, channel->out, length) : SANDLOT_OK;
}

static void put_line_end(struct channel *channel)
{
    channel->out[channel->length++] = '\r';
    channel->out[channel->length++] = '\n';
    channel->column = 0;
}

static enum sandlot_status spoil(const struct sandlot_sink *sink, const void *bytes, size_t length)
{
    struct channel *channel = sink->context;
    const unsigned char *text = bytes;
    enum sandlot_status status = SANDLOT_OK;

    for (size_t i = 0; i < length && status == SANDLOT_OK; i++) {
        if (text[i] == '\0')
            continue;
        if (text[i] == '\n' || channel->column == COLUMNS)
            put_line_end(channel);
        if (text[i] != '\n') {
            channel->out[channel->length++] = text[i] < 0x80 ? (char)text[i] : '?';
            channel->column++;
        }
        if (channel->length > sizeof(channel->out) - 4)
            status = flush(channel);
    }
    return status == SANDLOT_OK ? flush(channel) : status;
}

static enum sandlot_status execute_badly(struct sandlot_call *call, const struct only_execute *own, void *sandbox,
                                         const struct sandlot_command *command, const struct sandlot_sink *output,
                                         struct sandlot_exit *result)
{
    struct channel *channel = calloc(1, sizeof(*channel));
    const struct sandlot_sink sink = {sizeof(sink), channel, spoil};

    if (!channel)
        return sandlot_fail(call, SANDLOT_INTERNAL, "out of memory");
    channel->output = output;
    enum sandlot_status status = spoil(&sink, "\033[?2004h$ ", 10);

    if (status == SANDLOT_OK)
        status = spoil(&sink, command->command, strlen(command->command));
    if (status == SANDLOT_OK)
        status = spoil(&sink, "\n", 1);
    if (status == SANDLOT_OK)
        status = own->local->execute(call, own->instance, sandbox, command, &sink, result);
    if (status == SANDLOT_OK)
        status = spoil(&sink, "\n$ exit\nlogout\n", 15);
    free(channel);
    return status;
}

static bool count(const char *path)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    bool written = fd >= 0 && write(fd, "execute\n", 8) == 8;

    if (fd >= 0)
        close(fd);
    return written;
}

/* Is the next answer to be lost? Then there is one fewer to lose. */
static bool loses(const char *path)
{
    char text[2] = "0";
    int fd = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
    bool lost = fd >= 0 && pread(fd, text, 1, 0) == 1 && text[0] > '0';

    text[0]--;
    lost = lost && pwrite(fd, text, 1, 0) == 1;
    if (fd >= 0)
        close(fd);
    return lost;
}

static enum sandlot_status swallow(const struct sandlot_sink *sink, const void *bytes, size_t length)
{
    (void)sink;
    (void)bytes;
    (void)length;
    return SANDLOT_OK;
}

static enum sandlot_status execute_in_vain(struct sandlot_call *call, const struct only_execute *own, void *sandbox,
                                           const struct sandlot_command *command, struct sandlot_exit *result)
{
    const struct sandlot_sink sink = {sizeof(sink), NULL, swallow};
    enum sandlot_status status = own->local->execute(call, own->instance, sandbox, command, &sink, result);

    return status == SANDLOT_OK ? sandlot_fail(call, SANDLOT_UNAVAILABLE, "the answer was lost") : status;
}

static enum sandlot_status execute_and_wait(struct sandlot_call *call, const struct only_execute *own, void *sandbox,
                                            const struct sandlot_command *command, struct sandlot_exit *result)
{
    const struct sandlot_sink sink = {sizeof(sink), NULL, swallow};
    struct pollfd cancel = {call->cancel_fd, POLLIN, 0};
    enum sandlot_status status = own->local->execute(call, own->instance, sandbox, command, &sink, result);

    if (status != SANDLOT_OK)
        return status;
    unlink(own->hold_file);
    poll(&cancel, 1, sandlot_remaining_ms(call, 60000));
    return sandlot_fail(call, SANDLOT_CANCELLED, "the command was cancelled");
}

static enum sandlot_status only_execute_execute(struct sandlot_call *call, void *provider, void *sandbox,
                                                const struct sandlot_command *command,
                                                const struct sandlot_sink *output, struct sandlot_exit *result)
{
    const struct only_execute *own = provider;

    if (own->count_file && !count(own->count_file))
        return sandlot_fail(call, SANDLOT_INTERNAL, "%.900s: %s", own->count_file, strerror(errno));
    if (own->hold_file && access(own->hold_file, F_OK) == 0)
        return execute_and_wait(call, own, sandbox, command, result);
    if (loses(own->lose_file))
        return execute_in_vain(call, own, sandbox, command, result);
    if (own->text)
        return execute_badly(call, own, sandbox, command, output, result);
    return own->local->execute(call, own->instance, sandbox, command, output, result);
}

static const struct sandlot_provider only_execute_provider = {
    SANDLOT_TABLE(only_execute),     .close = only_execute_close,           .get_or_create = only_execute_get_or_create,
    .release = only_execute_release, .delete_sandbox = only_execute_delete, .list = only_execute_list,
    .execute = only_execute_execute,
};

#define METADATA(M)                                 \
    M(description, "Sandboxes without their files") \
    M(working_dir, "/workspace")                    \
    M(capabilities, "list")                         \
    M(confined, "no")                               \
    M(environment, "XDG_STATE_HOME")
SANDLOT_ENTRY_POINT(only_execute, METADATA, ONLY_EXECUTE_PARAMETERS);
