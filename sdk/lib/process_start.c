/* From the words of a program to a process. */
#include "process_child.h"
#include "text.h"

#include <sandlot/sdk/cleanup.h>

#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#define DEFAULT_PATH "/usr/local/bin:/usr/bin:/bin"

enum { FIRST_FREE = 3, OLD_KERNEL_DESCRIPTORS = 65536 };

/* What the new process needs; made before fork(2), because afterwards nothing may be allocated (signal-safety(7)). */
struct start {
    const char *path;
    char *const *arguments;
    char *const *environment;
    pid_t parent;
    int folder;                /* -1: stays where it is */
    int input, output, errors; /* its ends */
    int report;
};

/* ---- in the new process ------------------------------------------------------------------------------------------ */

/* By rt_sigaction(2) itself: the C library keeps two signals to itself, and leaves them ignored in what its own
 * posix_spawn(3) has started, such as this host. */
static void default_signals(void)
{
    static const unsigned long by_default[8]; /* the kernel's struct sigaction, whose SIG_DFL is 0 everywhere */
    sigset_t none;

    for (int number = 1; number < NSIG; number++)
        syscall(SYS_rt_sigaction, number, by_default, NULL, (NSIG - 1) / 8);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

/* Leaves the program nothing but 0, 1 and 2. What the report is written to closes itself by exec. */
static void close_the_rest(void)
{
    if (syscall(SYS_close_range, FIRST_FREE, ~0U, CLOSE_RANGE_CLOEXEC) == 0)
        return;
    for (int fd = FIRST_FREE; fd < OLD_KERNEL_DESCRIPTORS; fd++) /* Linux before 5.11 */
        fcntl(fd, F_SETFD, FD_CLOEXEC);
}

_Noreturn static void become_program(const struct start *start)
{
    setsid();
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != start->parent) /* it died before the line above */
        _exit(127);
    default_signals();
    if (dup2(start->input, 0) == 0 && dup2(start->output, 1) == 1 && dup2(start->errors, 2) == 2 &&
        (start->folder < 0 || fchdir(start->folder) == 0)) {
        close_the_rest();
        execve(start->path, start->arguments, start->environment);
    }
    int why = errno;

    _exit(write(start->report, &why, sizeof(why)) == sizeof(why) ? 127 : 126);
}

/* ---- the environment --------------------------------------------------------------------------------------------- */

static bool same_variable(const char *a, const char *b)
{
    size_t length = strcspn(a, "=");

    return strncmp(a, b, length) == 0 && b[length] == '=' && a[length] == '=';
}

static bool has_variable(const char *const *list, const char *assignment)
{
    for (; list && *list; list++)
        if (same_variable(*list, assignment))
            return true;
    return false;
}

static size_t count_of(const char *const *list)
{
    size_t count = 0;

    while (list && list[count])
        count++;
    return count;
}

/* The strings stay where they are; the array is to be freed. NULL when out of memory. */
static const char **make_environment(const struct process_options *options)
{
    const char *const *own = (const char *const *)environ;
    size_t added = count_of(options->environment);
    const char **all = calloc(added + count_of(own) + 1, sizeof(*all));
    size_t count = 0;

    for (size_t i = 0; all && i < added; i++)
        if (!has_variable(options->environment + i + 1, options->environment[i])) /* the last one counts */
            all[count++] = options->environment[i];
    for (; all && own && *own; own++)
        if ((!options->clean_environment || same_variable("PATH=", *own)) && !has_variable(options->environment, *own))
            all[count++] = *own;
    return all;
}

/* ---- the program ------------------------------------------------------------------------------------------------- */

const char *sdk_program_name(const struct process_options *options)
{
    const char *slash = strrchr(options->arguments[0], '/');

    return slash ? slash + 1 : options->arguments[0];
}

static bool is_program(const char *path)
{
    struct stat status;

    return stat(path, &status) == 0 && S_ISREG(status.st_mode) && access(path, X_OK) == 0;
}

/* Where the program lies, to be freed; NULL with errno: ENOENT if it is nowhere in PATH. */
static char *find_program(const char *name)
{
    const char *variable = getenv("PATH");

    if (strchr(name, '/'))
        return strdup(name);
    for (const char *at = variable && *variable ? variable : DEFAULT_PATH; *name;) {
        size_t length = strcspn(at, ":");
        char *path = sdk_format("%.*s%s%s", (int)length, at, length ? "/" : "./", name);

        if (!path || is_program(path))
            return path;
        free(path);
        if (!at[length])
            break;
        at += length + 1;
    }
    errno = ENOENT;
    return NULL;
}

static enum sandlot_status cannot_run(struct sandlot_call *call, const struct process_options *options, int why)
{
    const char *program = options->arguments[0];

    if (why == E2BIG)
        return sandlot_fail(call, SANDLOT_INVALID_ARGUMENT,
                            "the words for %s are longer than a program of this machine can be given; pass less at a "
                            "time, or pass it as input",
                            sdk_program_name(options));
    if (why == EAGAIN || why == ENOMEM || why == EMFILE || why == ENFILE)
        return sandlot_fail(call, SANDLOT_EXHAUSTED, "%s cannot be started: %s; end other work and try again",
                            sdk_program_name(options), strerror(why));
    if (why == ENOENT && !strchr(program, '/'))
        return sandlot_fail(call, SANDLOT_DEPENDENCY_MISSING,
                            "the program %s is not in PATH; install it, or add its folder to PATH", program);
    return sandlot_fail(call, SANDLOT_DEPENDENCY_MISSING, "the program %s cannot be run: %s; install it again", program,
                        strerror(why));
}

static enum sandlot_status open_folder(struct sandlot_call *call, const char *path, int *folder)
{
    *folder = path ? open(path, O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;
    if (!path || *folder >= 0)
        return SANDLOT_OK;
    if (errno == EMFILE || errno == ENFILE || errno == ENOMEM)
        return sandlot_fail(call, SANDLOT_EXHAUSTED, "the working directory %s cannot be opened: %s; end other work",
                            path, strerror(errno));
    return sandlot_fail(call, SANDLOT_INVALID_ARGUMENT,
                        "the working directory %s cannot be entered: %s; choose one that is there", path,
                        strerror(errno));
}

/* ---- pipes ------------------------------------------------------------------------------------------------------- */

/* Moves a descriptor away from 0, 1 and 2, which the new process sets anew one after the other. */
static bool lift(int *fd)
{
    if (*fd >= FIRST_FREE)
        return true;
    int lifted = fcntl(*fd, F_DUPFD_CLOEXEC, FIRST_FREE);

    if (lifted < 0)
        return false;
    close(*fd);
    *fd = lifted;
    return true;
}

/* OURS does not block. */
static bool make_pipe(int *ours, int *theirs, bool to_them)
{
    int ends[2];

    if (pipe2(ends, O_CLOEXEC) < 0)
        return false;
    *ours = ends[to_them];
    *theirs = ends[!to_them];
    return lift(ours) && lift(theirs) && fcntl(*ours, F_SETFL, O_NONBLOCK) == 0;
}

static bool open_nothing(int *fd, int flags)
{
    *fd = open("/dev/null", flags | O_CLOEXEC);
    return *fd >= 0 && lift(fd);
}

/* What belongs to the new process, and is closed on this side. */
struct ends {
    int folder, input, output, errors, report;
};

static void close_ends(const struct ends *ends)
{
    const int all[] = {ends->folder, ends->input, ends->output, ends->errors, ends->report};

    for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
        if (all[i] >= 0)
            close(all[i]);
}

static bool make_pipes(const struct process_options *options, struct sdk_child *child, struct ends *ends)
{
    bool made = options->input ? make_pipe(&child->input, &ends->input, true) : open_nothing(&ends->input, O_RDONLY);

    made = made &&
           (options->output ? make_pipe(&child->output, &ends->output, false) : open_nothing(&ends->output, O_WRONLY));
    if (made && options->errors)
        made = make_pipe(&child->errors, &ends->errors, false);
    else if (made)
        made = (ends->errors = fcntl(ends->output, F_DUPFD_CLOEXEC, FIRST_FREE)) >= 0;
    return made && make_pipe(&child->report, &ends->report, false);
}

/* ---- start ------------------------------------------------------------------------------------------------------- */

/*
 * fork(2) with no handler of the host running in the new process, and a descriptor of that: where the host ignores
 * SIGCHLD, a short program could be gone before pidfd_open(2). Linux before 5.2 leaves the descriptor at -1.
 */
static pid_t fork_program(const struct start *start, int *exited)
{
    sigset_t all;
    sigset_t before;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pid_t pid = (pid_t)syscall(SYS_clone, CLONE_PIDFD | SIGCHLD, NULL, exited, NULL, NULL);

    if (pid == 0)
        become_program(start);
    int saved = errno;

    pthread_sigmask(SIG_SETMASK, &before, NULL);
    errno = saved;
    return pid;
}

static enum sandlot_status fork_and_watch(struct sandlot_call *call, const struct process_options *options,
                                          const struct start *start, struct sdk_child *child)
{
    child->pid = fork_program(start, &child->exited);
    if (child->pid < 0)
        return cannot_run(call, options, errno);
    if (child->exited >= 0)
        return SANDLOT_OK;
    sdk_child_kill(child);
    sdk_child_wait(child);
    return sandlot_fail(
        call, SANDLOT_DEPENDENCY_MISSING,
        "%s cannot be watched, because this kernel knows no descriptors of processes; Linux 5.3 is needed",
        sdk_program_name(options));
}

static enum sandlot_status start_with(struct sandlot_call *call, const struct process_options *options,
                                      struct sdk_child *child, struct ends *ends)
{
    enum sandlot_status status = open_folder(call, options->working_dir, &ends->folder);

    if (status != SANDLOT_OK)
        return status;
    AUTO_FREE char *path = find_program(options->arguments[0]);

    if (!path)
        return cannot_run(call, options, errno);
    AUTO_FREE const char **environment = make_environment(options);

    if (!environment)
        return cannot_run(call, options, ENOMEM);
    if (!make_pipes(options, child, ends))
        return cannot_run(call, options, errno);
    struct start start = {.path = path,
                          .arguments = (char *const *)(uintptr_t)options->arguments,
                          .environment = (char *const *)(uintptr_t)environment,
                          .parent = getpid(),
                          .folder = ends->folder,
                          .input = ends->input,
                          .output = ends->output,
                          .errors = ends->errors,
                          .report = ends->report};

    return fork_and_watch(call, options, &start, child);
}

enum sandlot_status sdk_child_start(struct sandlot_call *call, const struct process_options *options,
                                    struct sdk_child *child)
{
    struct ends ends = {-1, -1, -1, -1, -1};

    *child = (struct sdk_child){.exited = -1, .report = -1, .input = -1, .output = -1, .errors = -1};
    enum sandlot_status status = start_with(call, options, child, &ends);

    close_ends(&ends);
    return status;
}

enum sandlot_status sdk_child_report(struct sandlot_call *call, const struct process_options *options,
                                     struct sdk_child *child)
{
    int why = 0;
    ssize_t length = read(child->report, &why, sizeof(why)); /* so small that it comes whole */

    close(child->report);
    child->report = -1;
    return length == (ssize_t)sizeof(why) ? cannot_run(call, options, why) : SANDLOT_OK;
}

void sdk_child_close(struct sdk_child *child)
{
    const int all[] = {child->exited, child->report, child->input, child->output, child->errors};

    for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
        if (all[i] >= 0)
            close(all[i]);
}
