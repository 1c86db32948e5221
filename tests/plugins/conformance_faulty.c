/*
 * A provider for the tests of the conformance kit. Its sandboxes are folders below the parameter `folder`, in which
 * commands run on this machine. It keeps every promise but the one that the parameter `fault` names:
 *
 *   descriptor, thread, memory   one is left behind by every command
 *   thread_unloaded              the same with a thread, which the library does not stay loaded for
 *   shows_key                    a message holds the key
 *   shows_key_to_kit             the same, but only where the kit calls without the host
 *   wrong_key, unreachable       no sandbox can be made
 *   key_argument                 a program is started with the key among its arguments
 *   key_in_box                   commands have the key in their environment
 *   prints                       standard output is written to
 *   deletes_once                 deleting what is not there fails
 *   deletes_all                  deleting one deletes all
 *   lists_twice                  the second page of a listing is the first again
 *   never_deletes                deleting does nothing
 *   makes_unknown                attaching to an unknown id makes a sandbox
 *   unlabelled, uncounted        a listing lacks run labels, or sandboxes
 *   any_cursor                   an unknown cursor is served
 *   list_fails, list_hangs       no listing is to be had
 *   endless, circular            a listing has no last page
 *   keeps_abandoned, keeps_late  a creation that was given up is carried out all the same, at once or a little later
 *   hangs                        commands and deletions end with their deadline or when they are cancelled
 *   late                         creating minds neither deadline nor cancellation
 *   other_folder                 commands start somewhere else than told
 *   shares                       all sandboxes are one
 *   drops_nul                    NUL is left out of the output
 *   adds_one                     exit codes are one too high
 *   feeds                        none: commands are fed input, which they are not else
 *   short_input                  the same, up to 64 KiB
 *   replaces                     an environment that is given is all that a command has
 *   cuts_folder                  the path of a working directory ends at its first blank
 *   busy                         nobody looks at the clock while output comes, for 12 s
 *   says_timeout                 every exit code 124 counts as the time limit's
 *   at_the_end                   output comes after the end of the command only
 *   leaves_child                 a command that is ended leaves its children
 *   deaf                         a cancellation is not noticed
 *   crash, leave, loop           what becomes of the process when a command is to run
 *   no_key_needed                a missing key is not noticed
 */
#include <sandlot/provider.h>

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define CONFORMANCE_FAULTY_PARAMETERS(P)                         \
    P(path, folder, "", required, "where the sandboxes are")     \
    P(string, fault, "", optional, "the promise that is broken") \
    P(array, words, "a, \"b\"", optional, "a list, which is JSON when it comes")
SANDLOT_PARAMETERS(conformance_faulty, CONFORMANCE_FAULTY_PARAMETERS)

enum { PATH_SIZE = 1024, LEAK = 4096, MOST_VARIABLES = 64 };

struct faulty {
    const char *folder;
    const char *fault;
};

static bool is(const struct faulty *faulty, const char *fault)
{
    return faulty->fault && strcmp(faulty->fault, fault) == 0;
}

static enum sandlot_status conformance_faulty_open(struct sandlot_call *call, void **provider, const char *folder,
                                                   const char *fault, const char *words)
{
    if (*words != '[' || words[strlen(words) - 1] != ']')
        return sandlot_fail(call, SANDLOT_INVALID_ARGUMENT, "the list is no JSON");
    struct faulty *faulty = malloc(sizeof(*faulty));

    if (!faulty)
        return sandlot_fail(call, SANDLOT_INTERNAL, "out of memory");
    *faulty = (struct faulty){folder, fault};
    *provider = faulty;
    return SANDLOT_OK;
}

static void faulty_close(void *provider)
{
    free(provider);
}

/* ---- sandboxes --------------------------------------------------------------------------------------------------- */

static void path_of(const struct faulty *faulty, const char *id, char path[PATH_SIZE])
{
    snprintf(path, PATH_SIZE, "%s/%s", faulty->folder, id);
}

static bool is_sandbox(const struct faulty *faulty, const char *id)
{
    char path[PATH_SIZE];
    struct stat status;

    path_of(faulty, id, path);
    return strncmp(id, "box-", 4) == 0 && !strchr(id, '/') && stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

/* The label is the target of a link beside the folder, made before it. */
static bool make(const struct faulty *faulty, const char *id, const char *label)
{
    char path[PATH_SIZE];
    char beside[PATH_SIZE];

    path_of(faulty, id, path);
    if (snprintf(beside, sizeof(beside), "%s.label", path) >= (int)sizeof(beside))
        return false;
    return (symlink(label, beside) == 0 || errno == EEXIST) && (mkdir(path, 0755) == 0 || errno == EEXIST);
}

/* The walls of a sandbox are lines in a file beside it, which the test's probe reads. */
static void write_entry(const struct faulty *faulty, FILE *file, const struct sandlot_network_entry *entry)
{
    static const char *const kinds[] = {"", "host", "below", "cidr"};
    const unsigned int port = is(faulty, "any_port") ? 0 : entry->port;

    fprintf(file, "%s %s %u\n", kinds[entry->kind], entry->text, port);
    if (entry->kind == SANDLOT_NETWORK_BELOW && is(faulty, "bare_too"))
        fprintf(file, "host %s %u\n", entry->text, port);
    if (entry->kind == SANDLOT_NETWORK_CIDR && is(faulty, "near_too"))
        fprintf(file, "cidr 1.0.0.1/32 %u\n", port);
}

static bool write_walls(const struct faulty *faulty, const char *path, const struct sandlot_network *network)
{
    char beside[PATH_SIZE];
    char secret[PATH_SIZE];

    if (!network || snprintf(beside, sizeof(beside), "%s.network", path) >= (int)sizeof(beside) ||
        snprintf(secret, sizeof(secret), "%s/secret", path) >= (int)sizeof(secret))
        return !network;
    FILE *file = fopen(beside, "we");

    if (!file)
        return false;
    if (network->mode == SANDLOT_NETWORK_OPEN || is(faulty, "no_walls"))
        fputs("open - 0\n", file);
    for (size_t i = 0; i < network->entry_count; i++)
        write_entry(faulty, file, &network->entries[i]);
    for (size_t i = 0; i < network->credential_count; i++)
        fprintf(file, "host %s 443\n", network->credentials[i].host);
    FILE *leak = network->credential_count > 0 && is(faulty, "secret_inside") ? fopen(secret, "we") : NULL;

    if (leak) {
        fputs(network->credentials[0].value, leak);
        fclose(leak);
    }
    return fclose(file) == 0;
}

static bool wall_in(const struct faulty *faulty, const char *id, const struct sandlot_create *request)
{
    char path[PATH_SIZE];

    path_of(faulty, id, path);
    return write_walls(faulty, path, SANDLOT_HAS(request, network) ? request->network : NULL);
}

static enum sandlot_status faulty_set_network(struct sandlot_call *call, void *provider, void *sandbox,
                                              const struct sandlot_network *network)
{
    return is(provider, "stands_still") || write_walls(provider, sandbox, network)
               ? SANDLOT_OK
               : sandlot_fail(call, SANDLOT_INTERNAL, "cannot write the walls: %s", strerror(errno));
}

static enum sandlot_status check_key(struct sandlot_call *call, const struct faulty *faulty)
{
    const char *key = call->host->environment(call, "CONFORMANCE_FAULTY_KEY");

    if (!key && !is(faulty, "no_key_needed"))
        return sandlot_fail(call, SANDLOT_AUTH, "there is no key; set CONFORMANCE_FAULTY_KEY");
    if (is(faulty, "prints"))
        printf("a line on standard output\n");
    if (is(faulty, "wrong_key"))
        return sandlot_fail(call, SANDLOT_AUTH, "the key was refused; correct CONFORMANCE_FAULTY_KEY");
    if (is(faulty, "unreachable"))
        return sandlot_fail(call, SANDLOT_UNAVAILABLE, "the service cannot be reached; look at the network");
    if (key && is(faulty, "shows_key"))
        return sandlot_fail(call, SANDLOT_AUTH, "the key %s was refused; correct CONFORMANCE_FAULTY_KEY", key);
    if (key && is(faulty, "key_argument")) {
        pid_t child = fork();

        if (child == 0) {
            execl("/bin/sh", "sh", "-c", "sleep 3; :", key, (char *)NULL);
            _exit(127);
        }
        while (child > 0 && waitpid(child, NULL, 0) < 0 && errno == EINTR)
            continue;
    }
    return SANDLOT_OK;
}

static enum sandlot_status attach(struct sandlot_call *call, const struct faulty *faulty, const char *id,
                                  void **sandbox)
{
    char path[PATH_SIZE];

    path_of(faulty, id, path);
    call->host->created(call, id, is(faulty, "other_folder") ? "/dev/null/else" : path);
    *sandbox = strdup(path);
    return *sandbox ? SANDLOT_OK : sandlot_fail(call, SANDLOT_INTERNAL, "out of memory");
}

/* Waits for the deadline or the cancellation, like a client of a service that does not answer. */
static enum sandlot_status hang(struct sandlot_call *call)
{
    while (!sandlot_cancelled(call) && sandlot_remaining_ms(call, 10) > 0)
        usleep(10000);
    return sandlot_fail(call, sandlot_cancelled(call) ? SANDLOT_CANCELLED : SANDLOT_TIMEOUT,
                        "the service does not answer; try again later");
}

/* The request has reached the service, which makes the sandbox; the answer reaches nobody. */
static enum sandlot_status give_up(struct sandlot_call *call, const struct faulty *faulty, const char *id,
                                   const char *label)
{
    pid_t service = is(faulty, "keeps_late") ? fork() : -1;

    if (service == 0)
        usleep(1500000);
    if (service <= 0)
        make(faulty, id, label);
    if (service == 0)
        _exit(0);
    return hang(call);
}

static enum sandlot_status faulty_get_or_create(struct sandlot_call *call, void *provider,
                                                const struct sandlot_create *request, void **sandbox)
{
    const struct faulty *faulty = provider;
    char id[64];
    enum sandlot_status status = check_key(call, faulty);

    if (status != SANDLOT_OK)
        return status;
    if (is(faulty, "late") && (sandlot_cancelled(call) || sandlot_remaining_ms(call, 1000) < 10))
        usleep(1800000);
    if (is(faulty, "shows_key_to_kit") && request->run_label && strncmp(request->run_label, "sandlot-kit-", 12) == 0)
        return sandlot_fail(call, SANDLOT_AUTH, "the key %s was refused",
                            call->host->environment(call, "CONFORMANCE_FAULTY_KEY"));
    snprintf(id, sizeof(id), "box-%s", request->run_label && !is(faulty, "shares") ? request->run_label : "one");
    if (!request->sandbox_id && strncmp(faulty->fault ? faulty->fault : "", "keeps_", 6) == 0 &&
        (sandlot_cancelled(call) || sandlot_remaining_ms(call, 1000) < 10))
        return give_up(call, faulty, id, request->run_label ? request->run_label : "");
    if (!request->sandbox_id)
        return make(faulty, id, request->run_label ? request->run_label : "") && wall_in(faulty, id, request)
                   ? attach(call, faulty, id, sandbox)
                   : sandlot_fail(call, SANDLOT_EXHAUSTED, "cannot make %s: %s", id, strerror(errno));
    if (!is_sandbox(faulty, request->sandbox_id) &&
        !(is(faulty, "makes_unknown") && make(faulty, request->sandbox_id, "-")))
        return sandlot_fail(call, SANDLOT_NOT_FOUND, "there is no sandbox %s", request->sandbox_id);
    return attach(call, faulty, request->sandbox_id, sandbox);
}

static void faulty_release(void *provider, void *sandbox)
{
    (void)provider;
    free(sandbox);
}

static int remove_one(const char *path, const struct stat *status, int type, struct FTW *where)
{
    (void)status;
    (void)type;
    (void)where;
    return remove(path);
}

static void delete_others(const struct faulty *faulty, const char *id)
{
    char path[PATH_SIZE];
    DIR *directory = opendir(faulty->folder);

    for (const struct dirent *entry; directory && (entry = readdir(directory));) {
        path_of(faulty, entry->d_name, path);
        if (is_sandbox(faulty, entry->d_name) && strcmp(entry->d_name, id) != 0)
            nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    }
    if (directory)
        closedir(directory);
}

static enum sandlot_status faulty_delete(struct sandlot_call *call, void *provider, const char *id)
{
    const struct faulty *faulty = provider;
    char path[PATH_SIZE];
    char beside[PATH_SIZE];

    if (is(faulty, "never_deletes"))
        return SANDLOT_OK;
    if (is(faulty, "hangs"))
        return hang(call);
    if (is(faulty, "deletes_all"))
        delete_others(faulty, id);
    if (!is_sandbox(faulty, id))
        return is(faulty, "deletes_once") ? sandlot_fail(call, SANDLOT_NOT_FOUND, "there is no sandbox %s", id)
                                          : SANDLOT_OK;
    path_of(faulty, id, path);
    if (snprintf(beside, sizeof(beside), "%s.label", path) < (int)sizeof(beside))
        unlink(beside);
    if (snprintf(beside, sizeof(beside), "%s.network", path) < (int)sizeof(beside))
        unlink(beside);
    return nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS) == 0
               ? SANDLOT_OK
               : sandlot_fail(call, SANDLOT_INTERNAL, "cannot delete %s: %s", id, strerror(errno));
}

static enum sandlot_status list_one(const struct faulty *faulty, const struct sandlot_listing *listing, const char *id)
{
    char beside[PATH_SIZE];
    char label[64] = "";

    snprintf(beside, sizeof(beside), "%s/%s.label", faulty->folder, id);
    if (readlink(beside, label, sizeof(label) - 1) < 0)
        label[0] = '\0';
    struct sandlot_listed listed = {.size = sizeof(listed),
                                    .id = id,
                                    .state = "running",
                                    .run_label = *label && !is(faulty, "unlabelled") ? label : NULL};

    return listing->add(listing, &listed);
}

static enum sandlot_status faulty_list(struct sandlot_call *call, void *provider, const char *cursor,
                                       const struct sandlot_listing *listing)
{
    const struct faulty *faulty = provider;
    enum sandlot_status status = SANDLOT_OK;

    char next[32];

    if (is(faulty, "list_hangs"))
        return hang(call);
    if (is(faulty, "list_fails"))
        return sandlot_fail(call, SANDLOT_UNAVAILABLE, "the service is being mended; try again later");
    if (is(faulty, "endless") || is(faulty, "circular")) {
        snprintf(next, sizeof(next), "%d", is(faulty, "circular") ? 1 : cursor ? atoi(cursor) + 1 : 1);
        listing->next(listing, next);
        return SANDLOT_OK;
    }
    if (is(faulty, "lists_twice") && !cursor)
        listing->next(listing, "again");
    if (cursor && !is(faulty, "any_cursor") && !(is(faulty, "lists_twice") && strcmp(cursor, "again") == 0))
        return sandlot_fail(call, SANDLOT_INVALID_ARGUMENT, "there is no such page; begin again");
    DIR *directory = opendir(faulty->folder);

    for (const struct dirent *entry; directory && status == SANDLOT_OK && (entry = readdir(directory));)
        if (is_sandbox(faulty, entry->d_name) && !is(faulty, "uncounted"))
            status = list_one(faulty, listing, entry->d_name);
    if (directory)
        closedir(directory);
    return status;
}

/* ---- commands ---------------------------------------------------------------------------------------------------- */

/* One command under way. */
struct run {
    struct sandlot_call *call;
    const struct faulty *faulty;
    const struct sandlot_sink *output;
    int64_t end_ms;
    int exited; /* readable once the command has ended */
    int pipe;
    char *kept; /* output that is held back */
    size_t kept_length;
};

/* It comes back to the code of this library all the time. */
static void *wait_for_ever(void *nothing)
{
    (void)nothing;
    for (;;)
        usleep(1000);
    return NULL;
}

/* A thread may not even have begun when this library is unloaded, and would then run into nothing. */
static void stay_loaded(void)
{
    static const char here;
    Dl_info library;

    if (dladdr(&here, &library))
        dlopen(library.dli_fname, RTLD_NOW | RTLD_NOLOAD | RTLD_NODELETE);
}

static void leave_thread(const struct faulty *faulty)
{
    pthread_t thread;

    if (is(faulty, "thread"))
        stay_loaded();
    if (pthread_create(&thread, NULL, wait_for_ever, NULL) == 0)
        pthread_detach(thread);
}

static void leave_something(const struct faulty *faulty)
{
    static void *volatile lost;

    if (is(faulty, "descriptor"))
        open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (is(faulty, "thread") || is(faulty, "thread_unloaded"))
        leave_thread(faulty);
    if (is(faulty, "memory") && (lost = malloc(LEAK)))
        memset(lost, 1, LEAK);
}

static void end_process(const struct faulty *faulty)
{
    if (is(faulty, "crash")) {
        signal(SIGSEGV, SIG_DFL); /* no sanitizer makes an ordinary end of it */
        raise(SIGSEGV);
    }
    if (is(faulty, "leave"))
        _exit(0);
    while (is(faulty, "loop"))
        pause();
}

static enum sandlot_status keep(struct run *run, const char *bytes, size_t length)
{
    char *grown = realloc(run->kept, run->kept_length + length + 1);

    if (!grown)
        return sandlot_fail(run->call, SANDLOT_INTERNAL, "out of memory");
    memcpy(grown + run->kept_length, bytes, length);
    run->kept = grown;
    run->kept_length += length;
    return SANDLOT_OK;
}

static enum sandlot_status pass_on(struct run *run, char *bytes, size_t length)
{
    size_t kept = 0;

    for (size_t i = 0; i < length; i++)
        if (bytes[i] || !is(run->faulty, "drops_nul"))
            bytes[kept++] = bytes[i];
    return is(run->faulty, "at_the_end") ? keep(run, bytes, kept) : run->output->write(run->output, bytes, kept);
}

/* Until the command has ended or has to be. */
static enum sandlot_status watch(struct run *run, bool *timed_out)
{
    int cancel = is(run->faulty, "deaf") ? -1 : run->call->cancel_fd;
    struct pollfd watched[] = {{run->exited, POLLIN, 0}, {run->pipe, POLLIN, 0}, {cancel, POLLIN, 0}};
    char buffer[65536];
    int64_t heard_ms = 0;

    for (;;) {
        int64_t left = run->end_ms - sandlot_now_ms();

        *timed_out = left <= 0;
        if (*timed_out && !(is(run->faulty, "busy") && sandlot_now_ms() - heard_ms < 500 && left > -12000))
            return SANDLOT_OK;
        if (poll(watched, 3, left < 1000 ? (int)left : 1000) <= 0)
            continue;
        if (watched[2].revents)
            return sandlot_fail(run->call, SANDLOT_CANCELLED, "the command was cancelled");
        if (!watched[1].revents && watched[0].revents)
            return SANDLOT_OK;
        ssize_t length = watched[1].revents ? read(run->pipe, buffer, sizeof(buffer)) : 0;
        enum sandlot_status status = length > 0 ? pass_on(run, buffer, (size_t)length) : SANDLOT_OK;

        if (status != SANDLOT_OK)
            return status;
        if (watched[1].revents && length <= 0)
            watched[1].fd = -1;
        heard_ms = length > 0 ? sandlot_now_ms() : heard_ms;
    }
}

/* "NAME=VALUE" */
static const char *key_variable(struct sandlot_call *call)
{
    static char variable[256];
    const char *key = call->host->environment(call, "CONFORMANCE_FAULTY_KEY");

    snprintf(variable, sizeof(variable), "CONFORMANCE_FAULTY_KEY=%s", key ? key : "");
    return variable;
}

/* Reads all of the input; -1: that cannot be done. */
static int keep_input(const struct faulty *faulty, const struct sandlot_source *input)
{
    char buffer[4096];
    size_t length = 0;
    size_t left = is(faulty, "short_input") ? 65536 : SIZE_MAX;
    int kept = memfd_create("input", MFD_CLOEXEC);

    while (kept >= 0 && left > 0 && input->read(input, buffer, sizeof(buffer), &length) == SANDLOT_OK && length > 0) {
        if (write(kept, buffer, length) != (ssize_t)length)
            break;
        left -= left < length ? left : length;
    }
    if (kept >= 0)
        lseek(kept, 0, SEEK_SET);
    return kept;
}

static void become_command(const struct faulty *faulty, const char *folder, const struct sandlot_command *command,
                           int input, int output, const char *key)
{
    const char *variables[MOST_VARIABLES + 3] = {"KIT_ALWAYS=1", key, NULL};
    size_t count = is(faulty, "replaces") && command->environment ? 0 : key ? 2 : 1;
    sigset_t none;

    for (size_t i = 0; command->environment && command->environment[i] && i < MOST_VARIABLES; i++)
        variables[count++] = command->environment[i];
    variables[count] = NULL;
    if (command->working_dir)
        folder = is(faulty, "cuts_folder") ? strndup(command->working_dir, strcspn(command->working_dir, " "))
                                           : command->working_dir;

    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    setpgid(0, 0);
    if (dup2(input, 0) == 0 && dup2(output, 1) == 1 && dup2(output, 2) == 2 && chdir(folder) == 0)
        execle("/bin/sh", "sh", "-c", "--", command->command, (char *)NULL, variables);
    _exit(126);
}

static enum sandlot_status finish(struct run *run, pid_t child, struct sandlot_exit *result)
{
    int how = 0;
    enum sandlot_status status = watch(run, &result->timed_out);

    if (status != SANDLOT_OK || result->timed_out)
        kill(is(run->faulty, "leaves_child") ? child : -child, SIGKILL);
    while (waitpid(child, &how, 0) < 0 && errno == EINTR)
        continue;
    result->exit_code = result->timed_out ? 124 : WIFSIGNALED(how) ? 128 + WTERMSIG(how) : WEXITSTATUS(how);
    if (is(run->faulty, "says_timeout") && result->exit_code == 124)
        result->timed_out = true;
    if (is(run->faulty, "adds_one") && result->exit_code > 0)
        result->exit_code++;
    if (status == SANDLOT_OK && run->kept_length > 0)
        status = run->output->write(run->output, run->kept, run->kept_length);
    free(run->kept);
    return status;
}

static enum sandlot_status faulty_execute(struct sandlot_call *call, void *provider, void *sandbox,
                                          const struct sandlot_command *command, const struct sandlot_sink *output,
                                          struct sandlot_exit *result)
{
    int pipe[2];
    struct stat folder;

    if (command->input && !is(provider, "feeds") && !is(provider, "short_input"))
        return sandlot_fail(call, SANDLOT_UNSUPPORTED, "commands here cannot be fed input");
    if (command->working_dir && stat(command->working_dir, &folder) < 0)
        return sandlot_fail(call, SANDLOT_INVALID_ARGUMENT, "there is no folder %s", command->working_dir);
    if (strlen(command->command) > 131071)
        return sandlot_fail(call, SANDLOT_INVALID_ARGUMENT, "the command is too long");
    end_process(provider);
    if (is(provider, "hangs"))
        return hang(call);
    if (pipe2(pipe, O_CLOEXEC) < 0)
        return sandlot_fail(call, SANDLOT_EXHAUSTED, "cannot make a pipe: %s", strerror(errno));
    int input = command->input ? keep_input(provider, command->input) : open("/dev/null", O_RDONLY | O_CLOEXEC);
    pid_t child = fork();

    if (child == 0)
        become_command(provider, sandbox, command, input, pipe[1],
                       is(provider, "key_in_box") ? key_variable(call) : NULL);
    close(input);
    close(pipe[1]);
    setpgid(child, child);
    struct run run = {.call = call,
                      .faulty = provider,
                      .output = output,
                      .end_ms = command->timeout_ms > 0 ? sandlot_now_ms() + command->timeout_ms : INT64_MAX,
                      .exited = (int)syscall(SYS_pidfd_open, child, 0),
                      .pipe = pipe[0]};
    enum sandlot_status status = finish(&run, child, result);

    close(run.exited);
    close(pipe[0]);
    leave_something(provider);
    return status;
}

static const struct sandlot_provider conformance_faulty_provider = {
    SANDLOT_TABLE(conformance_faulty),
    .flags = SANDLOT_STREAMS_OUTPUT,
    .close = faulty_close,
    .get_or_create = faulty_get_or_create,
    .release = faulty_release,
    .delete_sandbox = faulty_delete,
    .list = faulty_list,
    .execute = faulty_execute,
    .set_network = faulty_set_network,
};

#define CONFORMANCE_FAULTY_METADATA(M)                                                     \
    M(description, "Breaks one promise on request, for tests")                             \
    M(capabilities, "list streaming network-open network-off network-hosts network-ports") \
    M(capabilities, "network-cidrs network-credentials network-live")                      \
    M(credentials, "CONFORMANCE_FAULTY_KEY")
SANDLOT_ENTRY_POINT(conformance_faulty, CONFORMANCE_FAULTY_METADATA, CONFORMANCE_FAULTY_PARAMETERS);
