/* sandlot shell: an interactive terminal in a sandbox. */
#include "base/cleanup.h"
#include "base/error.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/raw_mode.h"
#include "cli/sandbox.h"
#include "cli/usage.h"
#include "operations/terminal.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>

/* Written to by the handler of SIGWINCH. */
static int resized_fd = -1;

static void on_resize(int number)
{
    static const uint64_t once = 1;
    const int saved = errno;

    (void)number;
    /* A counter that is full is as readable as one that is not. */
    if (write(resized_fd, &once, sizeof(once)) < 0)
        errno = saved;
}

static bool watch_size(void)
{
    const struct sigaction action = {.sa_handler = on_resize, .sa_flags = SA_RESTART};

    resized_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    return resized_fd >= 0 && sigaction(SIGWINCH, &action, NULL) == 0;
}

static void unwatch_size(void)
{
    signal(SIGWINCH, SIG_DFL);
    if (resized_fd >= 0)
        close(resized_fd);
    resized_fd = -1;
}

static void window(void *context, uint16_t *rows, uint16_t *columns)
{
    struct winsize size = {0};

    (void)context;
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0) {
        *rows = size.ws_row;
        *columns = size.ws_col;
    }
}

/* As it comes: programs for terminals need their sequences. */
static bool on_output(void *context, const void *bytes, size_t length)
{
    *(bool *)context = true;
    return output_write(bytes, length);
}

static const char *terminal_name(void)
{
    const char *name = getenv("TERM");

    return name && terminal_name_is_valid(name) ? name : "xterm";
}

static void greet(const struct options *options, const struct sandlot_session *session)
{
    const bool stays = options->sandbox_id || options->scope;

    if (options->verbosity >= 0)
        progress_line("sandlot: this is sandbox %s (%s); it %s when the %s ends", sandlot_session_id(session),
                      sandlot_session_provider(session), stays ? "stays" : "is deleted",
                      options->argument_count ? "command" : "shell");
}

static int run(const struct context *context, struct sandlot_session *session, const char *command, int *exit_code,
               struct sandlot_error *error)
{
    const struct options *options = context->options;
    AUTO_FREE char *directory = options->cwd ? sandbox_directory(options, session) : NULL;
    bool printed = false;
    int failed = -1;

    if (options->cwd && !directory)
        return error_no_memory(error);
    greet(options, session);
    if (!watch_size() || raw_mode_enter() < 0) {
        error_set(error, SANDLOT_CODE_INTERNAL_ERROR, "the terminal cannot be prepared: %s; use 'sandlot exec'",
                  strerror(errno));
    } else {
        const struct sandlot_terminal_request request = {.size = sizeof(request),
                                                         .command = command,
                                                         .working_dir = directory,
                                                         .environment = options->environment,
                                                         .term = terminal_name(),
                                                         .input_fd = STDIN_FILENO,
                                                         .resized_fd = resized_fd,
                                                         .window = window,
                                                         .output = on_output,
                                                         .context = &printed,
                                                         .cancellation = context->cancellation};

        failed = sandlot_run_terminal(session, &request, exit_code, error);
        raw_mode_leave();
        /* Whatever the sandbox has printed last, what we have to say stands on a line of its own. */
        if (failed && printed)
            progress_line("%s", "");
    }
    unwatch_size();
    return failed;
}

/* The exit status that passes the shell's own through. */
static int shell_status(int exit_code)
{
    if (exit_code >= 0)
        return exit_code;
    progress_line("sandlot: the provider did not say how the shell ended");
    return 1;
}

/* INPUT is the command. */
static int run_and_close(const struct context *context, struct sandlot_session *session, const void *input)
{
    struct sandlot_error error = {0};
    struct sandlot_error closing = {0};
    int exit_code = -1;
    int status = 1;
    int outcome = run(context, session, input, &exit_code, &error);

    sandbox_close(context, session, &closing);
    if (outcome == 0)
        status = shell_status(exit_code);
    else if (!output_failed()) /* else the broken output is what is wrong, and context_status tells */
        status = report_error(context->options, &error);
    if (status == 0 && error_is_set(&closing))
        status = error_exit_status(closing.code);
    sandlot_error_clear(&error);
    sandlot_error_clear(&closing);
    return context_status(status);
}

/* Told by what the provider says of itself, before there is a sandbox. 0 or the exit status after the complaint. */
static int check_provider(const struct context *context)
{
    const struct registry_entry *entry = registry_find(context->sandlot->registry, context->provider, NULL);
    struct sandlot_error error = {0};

    /* What is wrong with one that cannot be used is told when it is opened. */
    if (!entry || entry->problem || entry->note.capabilities & CAPABILITY_TERMINAL)
        return 0;
    error_set(&error, SANDLOT_CODE_NOT_SUPPORTED,
              "%s: terminals are not supported by this provider; run single commands with 'sandlot exec'",
              context->provider);
    int status = report_error(context->options, &error);

    sandlot_error_clear(&error);
    return status;
}

int command_shell(const struct options *options)
{
    const bool has_command = options->argument_count > 0;
    AUTO_FREE char *command = has_command ? text_shell_join(options->arguments, options->argument_count) : NULL;

    if (has_command && (!command || !command[strspn(command, " \t\n")]))
        return usage_error(options->command, "the command is empty; leave it out for a shell");
    if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO))
        return usage_error(options->command, "standard input and output must be a terminal; use 'sandlot exec' to run "
                                             "commands without one");
    return sandbox_command(options, check_provider, run_and_close, command);
}
