/*
 * A minimal provider: each sandbox is a folder in /tmp, in which commands run on this machine. NOTHING IS ISOLATED; it
 * shows how a provider is written, from sandlot/provider.h alone.
 */
#include <sandlot/provider.h>

#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define PREFIX "/tmp/sandlot-minimal-"

enum { LONGEST_COMMAND = 131071 }; /* what Linux takes as one argument */

/* A sandbox's id is its folder. Others may write to /tmp: only a folder of our own counts. */
static bool is_sandbox(const char *id)
{
    struct stat status;

    return strncmp(id, PREFIX, strlen(PREFIX)) == 0 && !strchr(id + strlen(PREFIX), '/') && lstat(id, &status) == 0 &&
           S_ISDIR(status.st_mode) && status.st_uid == geteuid();
}

static enum sandlot_status attach(struct sandlot_call *call, const char *id, void **sandbox)
{
    if (!is_sandbox(id))
        return sandlot_fail(call, SANDLOT_NOT_FOUND, "there is no sandbox %s; make one with `sandlot create`", id);
    *sandbox = strdup(id);
    return *sandbox ? SANDLOT_OK : sandlot_fail(call, SANDLOT_INTERNAL, "out of memory; try again later");
}

static enum sandlot_status create(struct sandlot_call *call, void **sandbox)
{
    char id[] = PREFIX "XXXXXX";

    if (!mkdtemp(id))
        return sandlot_fail(call, SANDLOT_EXHAUSTED, "cannot make %s: %s; make room in /tmp", id, strerror(errno));
    call->host->created(call, id, id); /* from here on the host deletes it if anything goes wrong */
    return attach(call, id, sandbox);
}

static enum sandlot_status minimal_get_or_create(struct sandlot_call *call, void *provider,
                                                 const struct sandlot_create *request, void **sandbox)
{
    (void)provider;
    if (!request->sandbox_id)
        return create(call, sandbox);
    enum sandlot_status status = attach(call, request->sandbox_id, sandbox);

    if (status == SANDLOT_OK)
        call->host->created(call, request->sandbox_id, request->sandbox_id);
    return status;
}

static void minimal_release(void *provider, void *sandbox)
{
    (void)provider;
    free(sandbox);
}

/* A directory that nobody may enter or write to is opened up before what is in it is removed. Links are not followed.
 */
static bool remove_all(const char *folder)
{
    char path[PATH_MAX];
    char *const roots[] = {path, NULL};

    snprintf(path, sizeof(path), "%s", folder);
    FTS *tree = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
    const FTSENT *entry;
    int fault = tree ? 0 : errno;

    while (tree && (entry = fts_read(tree)))
        if (entry->fts_info == FTS_D)
            fchmodat(AT_FDCWD, entry->fts_accpath, 0700, AT_SYMLINK_NOFOLLOW);
        else if (remove(entry->fts_accpath) < 0 && errno != ENOENT)
            fault = errno;
    if (tree)
        fts_close(tree);
    errno = fault;
    return fault == 0;
}

static enum sandlot_status minimal_delete(struct sandlot_call *call, void *provider, const char *id)
{
    (void)provider;
    if (is_sandbox(id) && !remove_all(id))
        return sandlot_fail(call, SANDLOT_INTERNAL, "cannot delete %s: %s; remove it by hand", id, strerror(errno));
    return SANDLOT_OK;
}

/* Becomes the command, in a process group of its own, so that all of it can be ended at once. The host has threads:
 * between fork and exec only async-signal-safe functions will do (signal-safety(7)). */
static void become_command(const char *folder, const struct sandlot_command *command, int output)
{
    static const char *const nothing[] = {NULL};
    static const char problem[] = "cannot enter the working directory or start /bin/sh\n";
    const char *const *environment = command->environment ? command->environment : nothing;
    sigset_t none;

    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    signal(SIGPIPE, SIG_DFL);
    setpgid(0, 0);
    close(0);
    if (open("/dev/null", O_RDONLY) == 0 && dup2(output, 1) == 1 && dup2(output, 2) == 2 &&
        chdir(command->working_dir ? command->working_dir : folder) == 0)
        execle("/bin/sh", "sh", "-c", "--", command->command, (char *)NULL,
               environment); /* nothing of the host's environment */
    _exit(write(output, problem, sizeof(problem) - 1) < 0 ? 127 : 126);
}

/*
 * Passes output on until the command has ended. EXITED is readable then; the pipe may stay open longer, in the hands of
 * a background child, which is why its end is not waited for.
 */
static enum sandlot_status watch(struct sandlot_call *call, const struct sandlot_command *command, int exited, int pipe,
                                 const struct sandlot_sink *output, bool *timed_out)
{
    int64_t end = command->timeout_ms > 0 ? sandlot_now_ms() + command->timeout_ms : INT64_MAX;
    struct pollfd watched[] = {{exited, POLLIN, 0}, {pipe, POLLIN, 0}, {call->cancel_fd, POLLIN, 0}};
    int reads_left = 64; /* after the end: a background child may go on writing for ever */
    char buffer[8192];

    for (;;) {
        int64_t left = end - sandlot_now_ms();

        *timed_out = left <= 0;
        if (*timed_out)
            return SANDLOT_OK;
        if (call->deadline_ms && sandlot_remaining_ms(call, 1) == 0)
            return sandlot_fail(call, SANDLOT_TIMEOUT, "the command took too long; allow it more time");
        if (poll(watched, 3, sandlot_remaining_ms(call, left < 1000 ? (int)left : 1000)) <= 0)
            continue;
        if (watched[2].revents)
            return sandlot_fail(call, SANDLOT_CANCELLED, "the command was cancelled; run it again if it is needed");
        if (watched[0].revents && (!watched[1].revents || --reads_left == 0))
            return SANDLOT_OK;
        ssize_t length = watched[1].revents ? read(pipe, buffer, sizeof(buffer)) : 0;
        enum sandlot_status status = length > 0 ? output->write(output, buffer, (size_t)length) : SANDLOT_OK;

        if (status != SANDLOT_OK)
            return status;
        if (watched[1].revents && length <= 0)
            watched[1].fd = -1; /* the command closed its output and goes on */
    }
}

static enum sandlot_status run(struct sandlot_call *call, const char *folder, const struct sandlot_command *command,
                               const int pipe[2], const struct sandlot_sink *output, struct sandlot_exit *result)
{
    pid_t child = fork();
    int how = 0;

    if (child == 0)
        become_command(folder, command, pipe[1]);
    close(pipe[1]);
    if (child < 0)
        return sandlot_fail(call, SANDLOT_EXHAUSTED, "cannot start a process: %s; end some", strerror(errno));
    setpgid(child, child); /* here too: whoever comes first */
    int exited = (int)syscall(SYS_pidfd_open, child, 0);
    enum sandlot_status status = exited >= 0 ? watch(call, command, exited, pipe[0], output, &result->timed_out)
                                             : sandlot_fail(call, SANDLOT_DEPENDENCY_MISSING,
                                                            "pidfd_open: %s; Linux 5.3 is needed", strerror(errno));

    if (status != SANDLOT_OK || result->timed_out)
        kill(-child, SIGKILL);
    while (waitpid(child, &how, 0) < 0 && errno == EINTR)
        continue;
    if (exited >= 0)
        close(exited);
    result->exit_code = result->timed_out ? 124 : WIFSIGNALED(how) ? 128 + WTERMSIG(how) : WEXITSTATUS(how);
    return status;
}

/* What cannot run is refused before anything does. */
static enum sandlot_status check(struct sandlot_call *call, const struct sandlot_command *command)
{
    struct stat status;

    if (command->input)
        return sandlot_fail(call, SANDLOT_UNSUPPORTED, "commands here cannot be fed input; upload it as a file");
    if (command->working_dir && (stat(command->working_dir, &status) < 0 || !S_ISDIR(status.st_mode)))
        return sandlot_fail(call, SANDLOT_INVALID_ARGUMENT, "there is no folder %s to start in; make it first",
                            command->working_dir);
    if (strlen(command->command) > LONGEST_COMMAND)
        return sandlot_fail(call, SANDLOT_INVALID_ARGUMENT, "the command is longer than %d bytes; run it from a file",
                            LONGEST_COMMAND);
    return SANDLOT_OK;
}

static enum sandlot_status minimal_execute(struct sandlot_call *call, void *provider, void *sandbox,
                                           const struct sandlot_command *command, const struct sandlot_sink *output,
                                           struct sandlot_exit *result)
{
    (void)provider;
    int pipe[2];
    enum sandlot_status status = check(call, command);

    if (status != SANDLOT_OK)
        return status;
    if (pipe2(pipe, O_CLOEXEC) < 0)
        return sandlot_fail(call, SANDLOT_EXHAUSTED, "cannot make a pipe: %s; close some files", strerror(errno));
    status = run(call, sandbox, command, pipe, output, result);
    close(pipe[0]);
    return status;
}

static const struct sandlot_provider minimal_provider = {
    SANDLOT_TABLE_WITHOUT_PARAMETERS(minimal), .flags = SANDLOT_STREAMS_OUTPUT,
    .get_or_create = minimal_get_or_create,    .release = minimal_release,
    .delete_sandbox = minimal_delete,          .execute = minimal_execute,
};

#define MINIMAL_METADATA(M)                                                \
    M(description, "Folders in /tmp without any isolation, as an example") \
    M(working_dir, "/tmp")                                                 \
    M(capabilities, "streaming")
SANDLOT_ENTRY_POINT(minimal, MINIMAL_METADATA, SANDLOT_NO_PARAMETERS);
