/*
 * A provider that does to its process what must not harm the host's. The command that it is to execute says what:
 *
 *   pid         prints the number of its process; environ: its variables, one per line; descriptors: those it has
 *   lookup      prints what the host says of the variables MISBEHAVES_REGION, which is declared, and WORKER_TEST_SECRET
 *   tier        the same of MISBEHAVES_TIER, which is declared, but not for a project to set
 *   read PATH, write PATH, connect PATH: what becomes of it, "yes" or the error; /proc/host: the host's
 *   reach PID   the same for signal, memory and trace of a process, 0: the host
 *   flood       prints for ever
 *   talk        logs and fails with messages of 2 MiB
 *   crash, abort, exit, quit (with handlers), overflow (of the stack), memory (all that there is), loop (for ever)
 *   deaf        waits for ever, whatever the call says
 *   stop        stops its process
 *   replace     becomes another program
 *   close       closes every descriptor that it finds
 *   garbage     writes nonsense to every descriptor, and returns
 *   plug        makes the descriptors that it polls for the host such that reading and writing them waits, fills them,
 * and waits for ever hang_up     ends its process in the middle of output children    starts children that start
 * children, prints their number, and crashes daemon      leaves a process behind that has all its descriptors and a
 * session of its own, and crashes linger      leaves a thread behind that uses call and output for a while noise fills
 * standard output and standard error manners     changes what belongs to the process: signals, folder, umask, user
 *
 * The parameter `at` does one of these elsewhere, as "FUNCTION:WHAT": open, create (the id told before), attach, ready,
 * list, delete, release, close, destructor; "list:nothing" lists a sandbox that is NULL. `not_ready`: so many looks say
 * "not yet" after attaching, -1: all of them. `forgetful`: a sandbox is not found again by its id. `journal`: a file to
 * which deletions are written; if it is there, they work. Every sandbox is `box-1`.
 */
#include <sandlot/provider.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#define MISBEHAVES_PARAMETERS(P)                                                        \
    P(string, at, "", optional, "FUNCTION:WHAT to do in that function")                 \
    P(integer, not_ready, "0", optional, "how many looks say not yet, after attaching") \
    P(boolean, forgetful, "false", optional, "sandboxes are not found again")           \
    P(path, journal, "", optional, "file to which deletions are written")
SANDLOT_PARAMETERS(misbehaves, MISBEHAVES_PARAMETERS)

static struct {
    char at[64];
    int64_t not_ready;
    bool forgetful;
    char journal[512];
    bool attached;
} settings;

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

/* A tree of processes in the group of this one. */
static void have_children(void)
{
    for (int depth = 0; depth < 4; depth++)
        if (fork() < 0)
            _exit(1);
    /* The first one is the provider's own. */
    if (getpid() == getpgrp()) {
        usleep(200 * 1000);
        raise(SIGSEGV);
    }
    alarm(10); /* if nobody ends it, which a test has noticed by then */
    for (;;)
        pause();
}

static void leave_daemon(void)
{
    if (fork() == 0) {
        setsid();
        alarm(5);
        for (;;)
            pause();
    }
    raise(SIGSEGV);
}

static void be_noisy(void)
{
    for (int i = 0; i < 20000; i++) {
        printf("line %d on standard output\n", i);
        fprintf(stderr, "line %d on standard error\n", i);
    }
    fflush(stdout);
}

static void change_manners(void)
{
    for (int number = 1; number < 32; number++)
        if (number != SIGSEGV && number != SIGABRT)
            signal(number, SIG_IGN);
    umask(0777);
    /* Whatever of this is not allowed is not done. */
    if (chdir("/proc") < 0 || setuid(getuid() == 0 ? 65534 : 0) < 0)
        return;
}

static void plug(int fd)
{
    static const uint64_t most = UINT64_MAX - 1;
    struct stat status;

    if (fstat(fd, &status) < 0 || status.st_mode & S_IFMT || fcntl(fd, F_SETFL, 0) < 0)
        return;
    if (write(fd, &most, sizeof(most)) < 0) /* it is no eventfd(2) */
        return;
}

static enum sandlot_status talk(struct sandlot_call *call)
{
    static char text[(2 << 20) + 1];

    memset(text, 'x', sizeof(text) - 1);
    memcpy(text, "blah blah ", 10);
    call->host->log(call, SANDLOT_LOG_WARNING, text);
    return (call->host->fail)(call, SANDLOT_AUTH, text);
}

static void misbehave(const char *how)
{
    static const char *const sleep_arguments[] = {"sleep", "60", NULL};

    if (strcmp(how, "crash") == 0)
        raise(SIGSEGV);
    else if (strcmp(how, "quit") == 0)
        exit(0);
    else if (strcmp(how, "stop") == 0)
        raise(SIGSTOP);
    else if (strcmp(how, "replace") == 0)
        execv("/bin/sleep", (char *const *)(uintptr_t)sleep_arguments);
    else if (strcmp(how, "children") == 0)
        have_children();
    else if (strcmp(how, "daemon") == 0)
        leave_daemon();
    else if (strcmp(how, "noise") == 0)
        be_noisy();
    else if (strcmp(how, "manners") == 0)
        change_manners();
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

/* Is something to be done in FUNCTION? */
static void misbehave_at(const char *function)
{
    size_t length = strlen(function);

    if (strncmp(settings.at, function, length) == 0 && settings.at[length] == ':')
        misbehave(settings.at + length + 1);
}

__attribute__((destructor)) static void at_the_end(void)
{
    misbehave_at("destructor");
}

static enum sandlot_status misbehaves_open(struct sandlot_call *call, void **provider, const char *at,
                                           int64_t not_ready, bool forgetful, const char *journal)
{
    (void)call;
    snprintf(settings.at, sizeof(settings.at), "%s", at ? at : "");
    snprintf(settings.journal, sizeof(settings.journal), "%s", journal ? journal : "");
    settings.not_ready = not_ready;
    settings.forgetful = forgetful;
    misbehave_at("open");
    *provider = NULL;
    return SANDLOT_OK;
}

static void close_provider(void *provider)
{
    (void)provider;
    misbehave_at("close");
}

static enum sandlot_status get_or_create(struct sandlot_call *call, void *provider,
                                         const struct sandlot_create *request, void **sandbox)
{
    (void)provider;
    *sandbox = NULL;
    if (request->sandbox_id && settings.forgetful)
        return sandlot_fail(call, SANDLOT_NOT_FOUND, "there is no sandbox %s", request->sandbox_id);
    call->host->created(call, "box-1", "/");
    misbehave_at(request->sandbox_id ? "attach" : "create");
    settings.attached = request->sandbox_id != NULL;
    return SANDLOT_OK;
}

static enum sandlot_status ready(struct sandlot_call *call, void *provider, void *sandbox)
{
    (void)provider;
    (void)sandbox;
    misbehave_at("ready");
    if (!settings.attached || settings.not_ready == 0)
        return SANDLOT_OK;
    settings.not_ready -= settings.not_ready > 0;
    return sandlot_fail(call, SANDLOT_UNAVAILABLE, "box-1 is still starting");
}

static void release(void *provider, void *sandbox)
{
    (void)provider;
    (void)sandbox;
    misbehave_at("release");
}

static enum sandlot_status delete_sandbox(struct sandlot_call *call, void *provider, const char *id)
{
    bool again = access(settings.journal, F_OK) == 0;
    FILE *journal = *settings.journal ? fopen(settings.journal, "a") : NULL;

    (void)call;
    (void)provider;
    if (!again)
        misbehave_at("delete");
    if (journal) {
        fprintf(journal, "delete %s\n", id);
        fclose(journal);
    }
    return SANDLOT_OK;
}

static enum sandlot_status list(struct sandlot_call *call, void *provider, const char *cursor,
                                const struct sandlot_listing *listing)
{
    const struct sandlot_listed box = {.size = sizeof(box), .id = "box-1", .state = "running"};

    (void)call;
    (void)provider;
    (void)cursor;
    enum sandlot_status status = listing->add(listing, strcmp(settings.at, "list:nothing") == 0 ? NULL : &box);

    misbehave_at("list");
    return status;
}

/* What a thread uses that does not end with its call. */
struct lingering {
    struct sandlot_call *call;
    const struct sandlot_sink *output;
};

static void *linger(void *context)
{
    struct lingering lingering = *(struct lingering *)context;

    free(context);
    for (int i = 0; i < 200; i++) {
        usleep(1000);
        lingering.call->host->log(lingering.call, SANDLOT_LOG_INFO, "still here");
        lingering.output->write(lingering.output, "late", 4);
    }
    return NULL;
}

static void leave_thread(struct sandlot_call *call, const struct sandlot_sink *output)
{
    struct lingering *lingering = malloc(sizeof(*lingering));
    pthread_t thread;

    if (!lingering)
        return;
    *lingering = (struct lingering){call, output};
    if (pthread_create(&thread, NULL, linger, lingering) == 0)
        pthread_detach(thread);
    else
        free(lingering);
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

/* ---- reaching beyond its process ---- */

static enum sandlot_status tell(const struct sandlot_sink *output, const char *what, bool done)
{
    char line[128];

    snprintf(line, sizeof(line), "%s: %s\n", what, done ? "yes" : strerror(errno));
    return put(output, line);
}

/* With "/proc/host" for the process that started this one. */
static void expand_path(const char *path, char *expanded, size_t size)
{
    static const char host[] = "/proc/host";
    bool of_host = strncmp(path, host, strlen(host)) == 0;

    if (of_host)
        snprintf(expanded, size, "/proc/%d%s", (int)getppid(), path + strlen(host));
    else
        snprintf(expanded, size, "%s", path);
}

static bool read_some(const char *path)
{
    char bytes[16];
    DIR *folder = opendir(path);

    if (folder)
        closedir(folder);
    if (folder || errno != ENOTDIR)
        return folder != NULL;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    bool got = fd >= 0 && read(fd, bytes, sizeof(bytes)) >= 0;
    int error = errno;

    if (fd >= 0)
        close(fd);
    errno = error;
    return got;
}

static bool write_some(const char *path)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);

    if (fd >= 0)
        close(fd);
    return fd >= 0;
}

static bool connect_to(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    memcpy(address.sun_path, path, strnlen(path, sizeof(address.sun_path) - 1));
    bool connected = fd >= 0 && connect(fd, (const struct sockaddr *)&address, sizeof(address)) == 0;
    int error = errno;

    if (fd >= 0)
        close(fd);
    errno = error;
    return connected;
}

/* Other processes of this user. */
static enum sandlot_status reach_process(const struct sandlot_sink *output, pid_t pid)
{
    char byte;
    struct iovec here = {&byte, 1};
    struct iovec there = {(void *)(uintptr_t)&settings, 1};
    enum sandlot_status status = tell(output, "signal", kill(pid, 0) == 0);

    /* An address that may not be there is another error than a process that may not be read. */
    if (status == SANDLOT_OK)
        status = tell(output, "memory", process_vm_readv(pid, &here, 1, &there, 1, 0) >= 0 || errno == EFAULT);
    bool traced = ptrace(PTRACE_ATTACH, pid, NULL, NULL) == 0;
    int error = errno;

    if (traced && waitpid(pid, NULL, 0) == pid)
        ptrace(PTRACE_DETACH, pid, NULL, NULL);
    errno = error;
    if (status == SANDLOT_OK)
        status = tell(output, "trace", traced);
    if (status == SANDLOT_OK)
        status = tell(output, "priority", setpriority(PRIO_PROCESS, (id_t)pid, getpriority(PRIO_PROCESS, 0)) == 0);
    if (status == SANDLOT_OK)
        status = tell(output, "all priorities", setpriority(PRIO_USER, 0, getpriority(PRIO_PROCESS, 0)) == 0);
    return status;
}

/* False: COMMAND is something else. */
static bool reach(const char *command, const struct sandlot_sink *output, enum sandlot_status *status)
{
    char path[512];
    const char *argument = strchr(command, ' ');

    expand_path(argument ? argument + 1 : "", path, sizeof(path));
    if (strncmp(command, "read ", 5) == 0)
        *status = tell(output, "read", read_some(path));
    else if (strncmp(command, "write ", 6) == 0)
        *status = tell(output, "write", write_some(path));
    else if (strncmp(command, "connect ", 8) == 0)
        *status = tell(output, "connect", connect_to(path));
    else if (strncmp(command, "reach ", 6) == 0)
        *status = reach_process(output, atoi(path) ? atoi(path) : getppid());
    else
        return false;
    return true;
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
    if (reach(how, output, &status))
        return status;
    if (strcmp(how, "lookup") == 0)
        return look_up(call, output);
    if (strcmp(how, "talk") == 0)
        return talk(call);
    if (strcmp(how, "tier") == 0) {
        const char *tier = call->host->environment(call, "MISBEHAVES_TIER");

        return put(output, tier ? tier : "-");
    }
    if (strcmp(how, "environ") == 0)
        return show_environment(output);
    if (strcmp(how, "descriptors") == 0)
        return show_descriptors(output);
    while (strcmp(how, "flood") == 0 && status == SANDLOT_OK)
        status = put(output, "flood flood flood flood flood flood flood flood flood");
    if (strcmp(how, "linger") == 0)
        leave_thread(call, output);
    if (strcmp(how, "hang_up") == 0) {
        put(output, "the beginning");
        _exit(0);
    }
    if (strcmp(how, "copy") == 0) {
        struct sandlot_call *copy = malloc(sizeof(*copy));

        *copy = *call;
        return copy->host->fail(copy, SANDLOT_UNAVAILABLE, "of a copy");
    }
    if (strcmp(how, "plug") == 0) {
        each_descriptor(plug);
        put(output, "plugged");
        how = "deaf";
    }
    misbehave(how);
    snprintf(text, sizeof(text), "%d", (int)getpid());
    return status == SANDLOT_OK && strcmp(how, "pid") == 0 ? put(output, text) : status;
}

static const struct sandlot_provider misbehaves_provider = {
    SANDLOT_TABLE(misbehaves),
    .flags = SANDLOT_STREAMS_OUTPUT,
    .close = close_provider,
    .get_or_create = get_or_create,
    .ready = ready,
    .release = release,
    .delete_sandbox = delete_sandbox,
    .list = list,
    .execute = execute,
};

#define MISBEHAVES_METADATA(M)                                    \
    M(description, "Crashes and worse on request, for tests")     \
    M(capabilities, "list streaming")                             \
    M(credentials, "MISBEHAVES_KEY|MISBEHAVES_TOKEN")             \
    M(environment, "MISBEHAVES_REGION MISBEHAVES_TIER")           \
    M(project, "MISBEHAVES_REGION")                               \
    M(reads, "~/.misbehaves $MISBEHAVES_FILE $MISBEHAVES_FOLDER") \
    M(writes, "~/.cache/misbehaves")
SANDLOT_ENTRY_POINT(misbehaves, MISBEHAVES_METADATA, MISBEHAVES_PARAMETERS);
