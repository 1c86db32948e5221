/*
 * A provider that has every function of the ABI and no sandboxes: each function tells the log what it was given, uses
 * everything that it was lent, and gives back something in every field. What a caller sees of it must be the same
 * whether it runs in the caller's process or in one of its own.
 */
#include <sandlot/provider.h>

#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define EVERY_FUNCTION_PARAMETERS(P)                          \
    P(string, text, "a text", optional, "a text")             \
    P(string, nothing, "", optional, "a text that is absent") \
    P(path, place, "/usr", optional, "a path")                \
    P(integer, number, "-7", optional, "a number")            \
    P(float, fraction, "0.5", optional, "a fraction")         \
    P(boolean, truth, "true", optional, "true or false")      \
    P(array, list, "a,b", optional, "a list")                 \
    P(table, tree, "{\"a\": 1}", optional, "a table")
SANDLOT_PARAMETERS(every_function, EVERY_FUNCTION_PARAMETERS)

enum { BLOCK = 100 * 1000 };

struct provider {
    const char *text; /* the host promises that it lives until close */
    char *block;
};

static const char *word(const char *text)
{
    return text ? text : "-";
}

__attribute__((format(printf, 2, 3))) static void say(struct sandlot_call *call, const char *format, ...)
{
    char line[1024];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(line, sizeof(line), format, arguments);
    va_end(arguments);
    call->host->log(call, SANDLOT_LOG_INFO, line);
}

static enum sandlot_status every_function_open(struct sandlot_call *call, void **provider, const char *text,
                                               const char *nothing, const char *place, int64_t number, double fraction,
                                               bool truth, const char *list, const char *tree)
{
    struct provider *made = calloc(1, sizeof(*made));

    if (!made || !(made->block = malloc(BLOCK)))
        return SANDLOT_INTERNAL;
    for (size_t i = 0; i < BLOCK; i++)
        made->block[i] = (char)('a' + i * 7 % 26);
    made->text = text;
    say(call, "open %s %s %s %" PRId64 " %g %d %s %s", word(text), word(nothing), word(place), number, fraction, truth,
        word(list), word(tree));
    say(call, "abi %u.%u deadline %d cancel %d", call->host->abi_major, call->host->abi_minor, call->deadline_ms != 0,
        call->cancel_fd >= 0);
    *provider = made;
    return SANDLOT_OK;
}

static void every_function_close(void *provider)
{
    struct provider *made = provider;

    free(made->block);
    free(made);
}

static void say_request(struct sandlot_call *call, const struct sandlot_create *request)
{
    say(call, "request %zu %s %s %s %" PRId64 " %" PRId64 " %u", request->size, word(request->sandbox_id),
        word(request->snapshot), word(request->run_label), request->idle_ttl_ms, request->hard_ttl_ms, request->flags);
    for (size_t i = 0; i < request->label_count; i++)
        say(call, "label %s=%s", request->labels[i].key, request->labels[i].value);
}

static enum sandlot_status get_or_create(struct sandlot_call *call, void *provider,
                                         const struct sandlot_create *request, void **sandbox)
{
    const struct provider *made = provider;

    say(call, "create with %s", made->text);
    say_request(call, request);
    if (request->snapshot && strcmp(request->snapshot, "missing") == 0)
        return sandlot_fail(call, SANDLOT_NOT_FOUND, "there is no snapshot %s", request->snapshot);
    call->host->progress(call, "making", 1, 2);
    call->host->created(call, request->sandbox_id ? request->sandbox_id : "every-1", "/somewhere");
    *sandbox = request->run_label && strcmp(request->run_label, "null") == 0 ? NULL : made->block;
    return SANDLOT_OK;
}

static enum sandlot_status ready(struct sandlot_call *call, void *provider, void *sandbox)
{
    const struct provider *made = provider;

    say(call, "ready %d", sandbox == made->block);
    return sandlot_fail(call, SANDLOT_UNAVAILABLE, "not yet");
}

static void release(void *provider, void *sandbox)
{
    (void)provider;
    (void)sandbox;
}

static enum sandlot_status delete_sandbox(struct sandlot_call *call, void *provider, const char *id)
{
    const char *declared = call->host->environment(call, "EVERY_DECLARED");

    (void)provider;
    say(call, "delete %s, declared %s, the same text again %d", id, word(declared),
        declared == call->host->environment(call, "EVERY_DECLARED"));
    return SANDLOT_OK;
}

static enum sandlot_status list(struct sandlot_call *call, void *provider, const char *cursor,
                                const struct sandlot_listing *listing)
{
    (void)provider;
    say(call, "list %s", word(cursor));
    for (int i = 0; i < 3; i++) {
        char id[32];
        struct sandlot_listed listed = {sizeof(listed), id, "running", 1000 + i, i == 1 ? NULL : "label"};

        snprintf(id, sizeof(id), "every-%d", i);
        enum sandlot_status status = listing->add(listing, &listed);

        if (status != SANDLOT_OK)
            return status;
    }
    listing->next(listing, "the next page");
    return SANDLOT_OK;
}

/* How long the input is, and a sum of it. */
static enum sandlot_status drink(const struct sandlot_source *source, uint64_t *length, uint64_t *sum)
{
    unsigned char buffer[70000];
    size_t got = 1;
    enum sandlot_status status = SANDLOT_OK;

    for (*length = *sum = 0; status == SANDLOT_OK && got > 0; *length += got) {
        got = 0;
        status = source->read(source, buffer, sizeof(buffer), &got);
        for (size_t i = 0; i < got; i++)
            *sum = *sum * 31 + buffer[i];
    }
    return status;
}

static enum sandlot_status say_command(struct sandlot_call *call, const struct sandlot_command *command)
{
    uint64_t length;
    uint64_t sum;

    say(call, "command %s in %s for %" PRId64, word(command->command), word(command->working_dir), command->timeout_ms);
    for (size_t i = 0; command->environment && command->environment[i]; i++)
        say(call, "variable %s", command->environment[i]);
    if (!command->input)
        return SANDLOT_OK;
    enum sandlot_status status = drink(command->input, &length, &sum);

    say(call, "input %" PRIu64 " %" PRIu64 " waits %d", length, sum, command->input->poll_fd >= 0);
    return status;
}

/* The command is how many bytes to print. */
static enum sandlot_status execute(struct sandlot_call *call, void *provider, void *sandbox,
                                   const struct sandlot_command *command, const struct sandlot_sink *output,
                                   struct sandlot_exit *result)
{
    const struct provider *made = provider;
    enum sandlot_status status = say_command(call, command);

    say(call, "sandbox %d exit %d", sandbox == made->block, result->exit_code);
    for (long left = atol(command->command); status == SANDLOT_OK && left > 0; left -= BLOCK)
        status = output->write(output, made->block, left < BLOCK ? (size_t)left : BLOCK);
    result->exit_code = 77;
    result->timed_out = true;
    result->note = "a static note";
    return status;
}

static enum sandlot_status upload(struct sandlot_call *call, void *provider, void *sandbox,
                                  const struct sandlot_file *files, size_t count,
                                  const struct sandlot_transfer *transfer)
{
    (void)provider;
    (void)sandbox;
    for (size_t i = 0; i < count; i++) {
        uint64_t length;
        uint64_t sum;
        enum sandlot_status status = drink(files[i].source, &length, &sum);

        say(call, "upload %s %" PRIu64 " %o: %" PRIu64 " %" PRIu64 " sink %d", files[i].path, files[i].length,
            files[i].mode, length, sum, files[i].sink != NULL);
        if (status != SANDLOT_OK)
            return status;
        transfer->done(transfer, i, i == 1 ? "permission_denied" : NULL, length);
    }
    return SANDLOT_OK;
}

static enum sandlot_status download(struct sandlot_call *call, void *provider, void *sandbox,
                                    const struct sandlot_file *files, size_t count,
                                    const struct sandlot_transfer *transfer)
{
    const struct provider *made = provider;

    (void)sandbox;
    for (size_t i = 0; i < count; i++) {
        uint64_t bytes = 0;

        say(call, "download %s source %d", files[i].path, files[i].source != NULL);
        for (size_t j = 0; j < 30 * i; j++, bytes += BLOCK - j) {
            enum sandlot_status status = files[i].sink->write(files[i].sink, made->block, BLOCK - j);

            if (status != SANDLOT_OK)
                return status;
        }
        transfer->done(transfer, i, NULL, bytes);
    }
    return SANDLOT_OK;
}

static enum sandlot_status open_root(struct sandlot_call *call, void *provider, void *sandbox,
                                     struct sandlot_root *root)
{
    int ends[2];

    (void)provider;
    (void)sandbox;
    say(call, "root %d %d", root->fd, root->alive_fd);
    if (pipe2(ends, O_CLOEXEC) < 0)
        return SANDLOT_INTERNAL;
    close(ends[1]); /* readable at once: the sandbox has ended */
    root->fd = open("/usr", O_PATH | O_DIRECTORY | O_CLOEXEC);
    root->uid = 12;
    root->gid = 34;
    root->alive_fd = ends[0];
    return SANDLOT_OK;
}

static enum sandlot_status terminal(struct sandlot_call *call, void *provider, void *sandbox,
                                    const struct sandlot_terminal *terminal, struct sandlot_exit *result)
{
    uint16_t rows = 0;
    uint16_t columns = 0;
    struct pollfd resized = {terminal->resized_fd, POLLIN, 0};

    (void)provider;
    (void)sandbox;
    enum sandlot_status status = say_command(call, terminal->command);
    int changed = poll(&resized, 1, 1000);

    terminal->window(terminal, &rows, &columns);
    say(call, "terminal %s %d %u x %u", terminal->term, changed, rows, columns);
    if (status == SANDLOT_OK)
        status = terminal->output->write(terminal->output, "shown", 5);
    result->exit_code = 3;
    return status;
}

static enum sandlot_status pause_sandbox(struct sandlot_call *call, void *provider, const char *id)
{
    (void)provider;
    say(call, "pause %s", id);
    return SANDLOT_OK;
}

static enum sandlot_status resume(struct sandlot_call *call, void *provider, const char *id)
{
    (void)provider;
    say(call, "resume %s", id);
    return SANDLOT_EXHAUSTED;
}

static enum sandlot_status snapshot(struct sandlot_call *call, void *provider, const char *id, const char *name,
                                    const struct sandlot_sink *result)
{
    (void)provider;
    say(call, "snapshot %s %s", id, name);
    return result->write(result, "snap-9", 6);
}

static enum sandlot_status snapshot_with_base(struct sandlot_call *call, void *provider, const char *id,
                                              const char *name, const struct sandlot_sink *result)
{
    (void)provider;
    say(call, "snapshot with base %s %s", id, name);
    return result->write(result, "base-9", 6);
}

static enum sandlot_status delete_snapshot(struct sandlot_call *call, void *provider, const char *name)
{
    (void)provider;
    say(call, "delete snapshot %s", name);
    return SANDLOT_OK;
}

static enum sandlot_status fork_sandbox(struct sandlot_call *call, void *provider, const char *id,
                                        const struct sandlot_create *request)
{
    (void)provider;
    say(call, "fork %s", id);
    say_request(call, request);
    call->host->created(call, "every-2", NULL);
    return SANDLOT_OK;
}

static enum sandlot_status check(struct sandlot_call *call, void *provider)
{
    (void)provider;
    say(call, "check");
    return call->host->environment(call, "EVERY_DECLARED")
               ? SANDLOT_OK
               : call->host->fail(call, SANDLOT_AUTH, "EVERY_DECLARED is not set; set it");
}

static const struct sandlot_provider every_function_provider = {
    SANDLOT_TABLE(every_function),
    .flags = SANDLOT_STREAMS_OUTPUT | SANDLOT_ENDS_WITH_POWER,
    .close = every_function_close,
    .get_or_create = get_or_create,
    .ready = ready,
    .release = release,
    .delete_sandbox = delete_sandbox,
    .list = list,
    .execute = execute,
    .upload = upload,
    .download = download,
    .open_root = open_root,
    .terminal = terminal,
    .pause = pause_sandbox,
    .resume = resume,
    .snapshot = snapshot,
    .snapshot_with_base = snapshot_with_base,
    .list_snapshots = list,
    .delete_snapshot = delete_snapshot,
    .fork = fork_sandbox,
    .check = check,
};

#define EVERY_FUNCTION_METADATA(M)                                                             \
    M(description, "Has every function and tells what it was given, for tests")                \
    M(snapshot_name, "yes")                                                                    \
    M(capabilities, "snapshot-base")                                                           \
    M(capabilities, "list upload download files pause snapshot fork terminal streaming check") \
    M(environment, "EVERY_DECLARED")
SANDLOT_ENTRY_POINT(every_function, EVERY_FUNCTION_METADATA, EVERY_FUNCTION_PARAMETERS);
