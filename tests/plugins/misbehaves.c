/*
 * A provider that does to its process what must not harm the host's. The command that it is to execute says what:
 *
 *   pid         prints the number of its process; environ: its variables, one per line; descriptors: those it has
 *   lookup      prints what the host says of the variables MISBEHAVES_REGION, which is declared, and WORKER_TEST_SECRET
 *   flood       prints for ever
 *   crash, abort, exit, overflow (of the stack), memory (all that there is), loop (for ever)
 *   deaf        waits for ever, whatever the call says
 *   close       closes every descriptor that it finds
 *   garbage     writes nonsense to every descriptor, and returns
 *   hang_up     ends its process in the middle of output
 *
 * The parameter `in_create` does one of these once a sandbox is made, the id told before; `forgetful`: a sandbox is not
 * found again by its id. Every sandbox is `box-1`.
 */
#include <sandlot/provider.h>

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define MISBEHAVES_PARAMETERS(P)                                            \
    P(string, in_create, "", optional, "what to do when a sandbox is made") \
    P(boolean, forgetful, "false", optional, "sandboxes are not found again")
SANDLOT_PARAMETERS(misbehaves, MISBEHAVES_PARAMETERS)

static struct {
    const char *in_create;
    bool forgetful;
} settings;

static enum sandlot_status misbehaves_open(struct sandlot_call *call, void **provider, const char *in_create,
                                           bool forgetful)
{
    (void)call;
    settings.in_create = in_create;
    settings.forgetful = forgetful;
    *provider = NULL;
    return SANDLOT_OK;
}

static volatile char sink_of_bytes;

/* A frame per call, each of which is used after the next one. */
static int overflow(int depth) // NOLINT(misc-no-recursion)
{
    volatile char frame[4096];

    frame[0] = (char)depth;
    int deeper = depth < 0 ? 0 : overflow(depth + 1);

    sink_of_bytes = frame[0];
    return deeper + frame[0];
}

static void use_all_memory(void)
{
    for (;;) {
        volatile char *block = malloc(64 << 20);

        block[0] = 1;
        block[4096] = 1;
    }
}

/* Calls EACH for every descriptor but the standard ones. */
static void each_descriptor(void (*each)(int fd))
{
    for (int fd = 3; fd < 256; fd++)
        if (fcntl(fd, F_GETFD) >= 0)
            each(fd);
}

static void close_it(int fd)
{
    close(fd);
}

static void soil(int fd)
{
    char nonsense[4096];

    for (size_t i = 0; i < sizeof(nonsense); i++)
        nonsense[i] = (char)(i * 37 + (size_t)fd);
    /* What a descriptor refuses is all the same: it is nonsense. */
    if (send(fd, nonsense, sizeof(nonsense), MSG_DONTWAIT | MSG_NOSIGNAL) < 0 &&
        (fcntl(fd, F_SETFL, O_NONBLOCK) < 0 || write(fd, nonsense, 8) < 0))
        return;
}

static void misbehave(const char *how)
{
    if (strcmp(how, "crash") == 0)
        raise(SIGSEGV);
    else if (strcmp(how, "abort") == 0)
        abort();
    else if (strcmp(how, "exit") == 0)
        _exit(5);
    else if (strcmp(how, "overflow") == 0)
        sink_of_bytes = (char)overflow(1);
    else if (strcmp(how, "memory") == 0)
        use_all_memory();
    else if (strcmp(how, "close") == 0)
        each_descriptor(close_it);
    else if (strcmp(how, "garbage") == 0)
        each_descriptor(soil);
    while (strcmp(how, "loop") == 0)
        sink_of_bytes++;
    while (strcmp(how, "deaf") == 0)
        pause();
}

static enum sandlot_status get_or_create(struct sandlot_call *call, void *provider,
                                         const struct sandlot_create *request, void **sandbox)
{
    (void)provider;
    *sandbox = NULL;
    if (request->sandbox_id && settings.forgetful)
        return sandlot_fail(call, SANDLOT_NOT_FOUND, "there is no sandbox %s", request->sandbox_id);
    call->host->created(call, "box-1", "/");
    if (!request->sandbox_id && settings.in_create)
        misbehave(settings.in_create);
    return SANDLOT_OK;
}

static enum sandlot_status delete_sandbox(struct sandlot_call *call, void *provider, const char *id)
{
    (void)call;
    (void)provider;
    (void)id;
    return SANDLOT_OK;
}

static enum sandlot_status put(const struct sandlot_sink *output, const char *text)
{
    return output->write(output, text, strlen(text));
}

static enum sandlot_status show_environment(const struct sandlot_sink *output)
{
    enum sandlot_status status = SANDLOT_OK;

    for (char **at = environ; at && *at && status == SANDLOT_OK; at++) {
        status = put(output, *at);
        status = status == SANDLOT_OK ? put(output, "\n") : status;
    }
    return status;
}

static enum sandlot_status look_up(struct sandlot_call *call, const struct sandlot_sink *output)
{
    const char *declared = call->host->environment(call, "MISBEHAVES_REGION");
    const char *other = call->host->environment(call, "WORKER_TEST_SECRET");
    char text[256];

    snprintf(text, sizeof(text), "%s %s", declared ? declared : "-", other ? other : "-");
    return put(output, text);
}

/* What each descriptor leads to, without those of this look. */
static enum sandlot_status show_descriptors(const struct sandlot_sink *output)
{
    enum sandlot_status status = SANDLOT_OK;
    DIR *folder = opendir("/proc/self/fd");

    for (const struct dirent *entry; folder && status == SANDLOT_OK && (entry = readdir(folder));) {
        char target[256];
        ssize_t length = readlinkat(dirfd(folder), entry->d_name, target, sizeof(target) - 1);

        if (length < 0 || atoi(entry->d_name) == dirfd(folder))
            continue;
        target[length] = '\n';
        status = output->write(output, target, (size_t)length + 1);
    }
    if (folder)
        closedir(folder);
    return status;
}

static enum sandlot_status execute(struct sandlot_call *call, void *provider, void *sandbox,
                                   const struct sandlot_command *command, const struct sandlot_sink *output,
                                   struct sandlot_exit *result)
{
    const char *how = command->command;
    enum sandlot_status status = SANDLOT_OK;
    char text[32];

    (void)provider;
    (void)sandbox;
    result->exit_code = 0;
    if (strcmp(how, "lookup") == 0)
        return look_up(call, output);
    if (strcmp(how, "environ") == 0)
        return show_environment(output);
    if (strcmp(how, "descriptors") == 0)
        return show_descriptors(output);
    while (strcmp(how, "flood") == 0 && status == SANDLOT_OK)
        status = put(output, "flood flood flood flood flood flood flood flood flood");
    if (strcmp(how, "hang_up") == 0) {
        put(output, "the beginning");
        _exit(0);
    }
    misbehave(how);
    snprintf(text, sizeof(text), "%d", (int)getpid());
    return status == SANDLOT_OK && strcmp(how, "pid") == 0 ? put(output, text) : status;
}

static const struct sandlot_provider misbehaves_provider = {
    SANDLOT_TABLE(misbehaves),
    .flags = SANDLOT_STREAMS_OUTPUT,
    .get_or_create = get_or_create,
    .delete_sandbox = delete_sandbox,
    .execute = execute,
};

#define MISBEHAVES_METADATA(M)                                \
    M(description, "Crashes and worse on request, for tests") \
    M(capabilities, "streaming")                              \
    M(credentials, "MISBEHAVES_KEY|MISBEHAVES_TOKEN")         \
    M(environment, "MISBEHAVES_REGION")
SANDLOT_ENTRY_POINT(misbehaves, MISBEHAVES_METADATA, MISBEHAVES_PARAMETERS);
