#include "cli/lifecycle.h"

#include "base/error.h"
#include "cli/command.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/usage.h"

/* One way to name the sandbox, and only one. 0, or the exit status after the complaint. */
static int check(const struct options *options)
{
    bool by_option = options->given & OPTION_SANDBOX_ID;

    if (by_option && options->argument_count)
        return usage_error(options->command, "the id is given twice: as '%s', and with --sandbox-id",
                           options->arguments[0]);
    if (!by_option && !options->argument_count)
        return usage_error(options->command, "the id is missing; 'sandlot list' prints those there are");
    if (!by_option && !*options->arguments[0])
        return usage_error(options->command, "the id is empty; 'sandlot list' prints those there are");
    return 0;
}

static int work_on(const struct context *context, const char *doing, lifecycle_work work)
{
    const char *id = context->options->sandbox_id;
    const struct sandlot_target target = context_target(context);
    struct sandlot_error error = {0};

    progress_begin("%s sandbox %s", doing, id);
    int failed = work(context, &target, id, &error);

    progress_end();
    if (failed && error.code == SANDLOT_CODE_SANDBOX_NOT_FOUND && !context->owner.record)
        owner_advise(id, &error);
    int status = failed ? report_error(context->options, &error) : 0;

    sandlot_error_clear(&error);
    return context_status(status);
}

int lifecycle_command(const struct options *options, const char *doing, lifecycle_work work)
{
    struct options own = *options;
    struct context context;
    int status = check(options);

    if (status)
        return status;
    if (options->argument_count)
        own.sandbox_id = options->arguments[0];
    status = context_open(&context, &own);
    if (status == 0)
        status = context_resolve(&context);
    if (status == 0)
        status = work_on(&context, doing, work);
    context_close(&context);
    return status;
}
