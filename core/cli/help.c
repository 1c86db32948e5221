/* sandlot help, --help, and what a command line without a command gets. */
#include "cli/command.h"
#include "cli/output.h"
#include "cli/usage.h"

#include <stdio.h>

static const char sandbox_options[] =
    "Which sandbox:\n"
    "  --sandbox [NAME]     the provider; bare: the configured default; absent: local\n";
static const char attach_options[] = "  --sandbox-id ID      use this sandbox, which is then never deleted\n";
static const char scope_option[] = "  --scope KEY          or the live sandbox of this scope\n";
static const char create_options[] =
    "  --sandbox-snapshot-name NAME\n"
    "                       start from this snapshot\n"
    "  --sandbox-setup PATH run this script in a new sandbox first\n"
    "  --scope KEY          reuse the live sandbox of this scope, or make it and leave it running\n"
    "  --network MODE       what a new sandbox may reach: off (nothing), open (all, also private networks) or allow\n"
    "  --allow ENTRY        let it reach example.com, *.example.com, host:5432, 10.0.0.0/8 or a set such as @pypi,\n"
    "                       and nothing else; may be repeated. 'sandlot network sets' prints the sets\n"
    "  --volume NAME:/PATH[:ro]\n"
    "                       storage that outlives it, at that path, or to read only; may be repeated.\n"
    "                       'sandlot volumes' lists what there is\n";
static const char parameter_options[] = "  --param KEY=VALUE    one parameter of the provider; may be repeated\n\n";
static const char common_options[] = "Everywhere:\n"
                                     "  --config FILE        instead of $SANDLOT_CONFIG or the default file\n";
static const char json_option[] = "  --json               one JSON object on standard output\n";
static const char last_options[] = "  -q, -v, -vv          less, more, all progress on standard error\n"
                                   "  -h, --help, --version\n";

static void print_overview(void)
{
    size_t count;
    const struct command *all = commands(&count);

    output_format("Usage: sandlot [OPTIONS] COMMAND [OPTIONS] [--] [ARGUMENTS]\n\n"
                  "Runs commands in sandboxes: isolated boxes on this machine or at a vendor.\n\n"
                  "Commands:\n");
    for (size_t i = 0; i < count; i++)
        if (!all[i].hidden)
            output_format("  %-12s %s\n", all[i].name, all[i].summary);
    output_format("\n%s%s%s%s%s%s%s", sandbox_options, attach_options, create_options, parameter_options,
                  common_options, json_option, last_options);
    output_format("\nExamples:\n"
                  "  sandlot exec -- uname -a            in a fresh local sandbox\n"
                  "  sandlot exec --param workspace=. -- make test\n"
                  "  sandlot providers                   what else there is\n"
                  "  sandlot doctor                      when something does not work\n"
                  "\n'sandlot COMMAND --help' tells more; see also sandlot(1).\n");
}

static void print_command(const struct command *command)
{
    bool takes_options = command->run != command_help;

    output_format("Usage: sandlot %s [OPTIONS]%s%s\n\n%s", command->name, *command->arguments ? " " : "",
                  command->arguments, command->help);
    if (!command->no_provider)
        output_format("\n%s%s%s%s", sandbox_options, command->options & OPTION_SANDBOX_ID ? attach_options : "",
                      command->options & OPTION_SETUP                                           ? create_options
                      : command->options & OPTION_SCOPE && command->options & OPTION_SANDBOX_ID ? scope_option
                                                                                                : "",
                      parameter_options);
    else if (takes_options)
        output_format("\n");
    if (takes_options)
        output_format("%s%s%s", common_options, command->options & OPTION_JSON ? json_option : "", last_options);
}

int help_print(const struct command *command)
{
    if (command)
        print_command(command);
    else
        print_overview();
    return output_status(0);
}

int command_help(const struct options *options)
{
    const char *name = options->argument_count ? options->arguments[0] : NULL;
    const struct command *command = name ? command_find(name) : NULL;

    if (name && !command) {
        const char *nearest = command_nearest(name);

        return usage_error(NULL, "there is no command '%s'%s%s%s", name, nearest ? "; did you mean '" : "",
                           nearest ? nearest : "", nearest ? "'?" : "; 'sandlot help' lists those there are");
    }
    return help_print(command);
}
