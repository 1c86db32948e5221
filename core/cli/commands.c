/* The table of commands. */
#include "cli/command.h"

#include "base/text.h"

#include <string.h>

#define COUNT (sizeof(table) / sizeof(table[0]))

static const struct command table[] = {
    {.name = "exec",
     .summary = "run one command in a sandbox",
     .arguments = "[--] COMMAND [ARGUMENT...]",
     .help = "Runs COMMAND in a sandbox and streams its output. Without --sandbox-id or --scope the sandbox\n"
             "is made for this command and deleted afterwards. A single word is a shell command line;\n"
             "several words are quoted and joined.\n"
             "\n"
             "  --timeout SECONDS    end it and all that it started after so long (1800; at most 3600; 0: never)\n"
             "  --cwd DIR            where it starts\n"
             "  --env NAME=VALUE     set a variable for it; may be repeated\n"
             "  --stdin              pass standard input through\n"
             "\n"
             "The exit status is that of the command, 124 if it timed out; with --json 0, and the object says.\n"
             "\n"
             "  sandlot exec -- make test\n"
             "  sandlot exec 'cd /tmp && ls | wc -l'\n"
             "  sandlot exec --param workspace=. --timeout 60 -- ./run.sh\n"
             "  sandlot exec --sandbox-id ID --json -- cat /etc/os-release\n",
     .options =
         OPTIONS_COMMON | OPTIONS_CREATE | OPTION_SANDBOX_ID | OPTION_TIMEOUT | OPTION_CWD | OPTION_ENV | OPTION_STDIN,
     .minimum = 1,
     .maximum = SIZE_MAX,
     .missing = "the command is missing; write what to run behind --",
     .passes_words = true,
     .run = command_exec},
    {.name = "create",
     .summary = "make a sandbox that stays, and print its id",
     .arguments = "",
     .help = "Makes a sandbox, prints its id and leaves it running. It ends by 'sandlot delete' or when its\n"
             "time to live is over (parameters ttl_s and hard_ttl_s).\n"
             "\n"
             "  id=$(sandlot create --param workspace=.)\n"
             "  sandlot exec --sandbox-id \"$id\" -- make test\n"
             "  sandlot delete \"$id\"\n",
     .options = OPTIONS_COMMON | OPTIONS_CREATE,
     .run = command_create},
    {.name = "list",
     .summary = "list sandboxes",
     .arguments = "",
     .help = "Lists the sandboxes of the provider.\n"
             "\n"
             "  --all                those of every provider that has its credentials, and what the ledger knows\n",
     .options = OPTIONS_COMMON | OPTION_ALL,
     .run = command_list},
    {.name = "delete",
     .summary = "end sandboxes",
     .arguments = "ID...",
     .help = "Ends sandboxes and prints the ids that are gone. One that does not exist counts as deleted; one\n"
             "that fails does not stop the others.\n",
     .options = OPTIONS_COMMON,
     .minimum = 1,
     .maximum = SIZE_MAX,
     .missing = "the id is missing; 'sandlot list' prints those there are",
     .run = command_delete},
    {.name = "gc",
     .summary = "delete what dead runs left behind",
     .arguments = "",
     .help = "Deletes the sandboxes of runs that were killed before they could clean up, at every provider, and\n"
             "prints them. What 'create' or --scope left on purpose stays.\n",
     .options = OPTIONS_COMMON,
     .no_provider = true,
     .run = command_gc},
    {.name = "providers",
     .summary = "list providers, or tell everything about one",
     .arguments = "[NAME]",
     .help = "Lists the providers: where each comes from, and whether it is ready or why not. With NAME: its file,\n"
             "what it shadows, what it can do, its variables and parameters. Runs no code of a provider.\n"
             "With -v also the files in the plugin folders that are no providers.\n",
     .options = OPTIONS_COMMON,
     .maximum = 1,
     .no_provider = true,
     .run = command_providers},
    {.name = "doctor",
     .summary = "check this machine: what works, what does not, what to do",
     .arguments = "",
     .help = "Makes, uses and deletes a local sandbox, looks at what this machine offers, and tells what each\n"
             "provider lacks. The exit status is 0 if the local sandbox works, else 3.\n",
     .options = OPTIONS_COMMON,
     .no_provider = true,
     .run = command_doctor},
    {.name = "help",
     .summary = "print this, or the help of one command",
     .arguments = "[COMMAND]",
     .help = "Prints the overview, or what one command does.\n",
     .options = OPTIONS_COMMON,
     .maximum = 1,
     .no_provider = true,
     .run = command_help},
};

const struct command *commands(size_t *count)
{
    *count = COUNT;
    return table;
}

const struct command *command_find(const char *name)
{
    for (size_t i = 0; i < COUNT; i++)
        if (strcmp(table[i].name, name) == 0)
            return &table[i];
    return NULL;
}

const char *command_nearest(const char *name)
{
    const char *names[COUNT];

    for (size_t i = 0; i < COUNT; i++)
        names[i] = table[i].name;
    return text_nearest(name, names, COUNT);
}
