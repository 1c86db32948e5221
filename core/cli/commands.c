/* The table of commands. */
#include "cli/command.h"

#include "base/text.h"
#include "server/watcher.h"

#include <string.h>

#define COUNT (sizeof(table) / sizeof(table[0]))

/* The second words of `plugin`. The options stand in the help of the first. */
static const struct command plugin_table[] = {
    {.name = "plugin new",
     .summary = "write a project for a provider",
     .arguments = "NAME",
     .help = "Writes a project that builds, tests and installs at once, into the folder NAME, or that of --directory, "
             "which\n"
             "must be empty if it is there. NAME is a lower-case C identifier of at most 38 bytes.\n"
             "\n"
             "  --language LANGUAGE  " PLUGIN_LANGUAGES " (c)\n"
             "  --directory DIR      where the project goes (./NAME)\n"
             "\n"
             "  sandlot plugin new acme && cd acme && make && make check\n",
     .options = OPTIONS_COMMON | OPTION_LANGUAGE | OPTION_DIRECTORY,
     .minimum = 1,
     .maximum = 1,
     .missing = "the name of the provider is missing",
     .no_provider = true,
     .run = command_plugin_new},
    {.name = "plugin check",
     .summary = "run the conformance kit",
     .arguments = "FILE [ARGUMENT...]",
     .options = OPTIONS_COMMON & ~OPTION_JSON,
     .minimum = 1,
     .maximum = SIZE_MAX,
     .missing = "the file to check is missing",
     .passes_words = true,
     .no_provider = true,
     .run = command_plugin_check},
    {.name = "plugin install",
     .summary = "install a plugin file",
     .arguments = "FILE",
     .help =
         "Checks the plugin without running any of its code, and copies it into this user's plugin folder. Prints "
         "where\n"
         "it is, and on standard error what it hides, what hides it, and what it still needs.\n"
         "\n"
         "  --system             for all users: into /usr/local/lib/sandlot/providers\n"
         "  --replace            also if another file is lost by that: of the same name, or with the same provider\n",
     .options = OPTIONS_COMMON | OPTION_SYSTEM | OPTION_REPLACE,
     .minimum = 1,
     .maximum = 1,
     .missing = "the file to install is missing",
     .no_provider = true,
     .run = command_plugin_install},
    {.name = "plugin remove",
     .summary = "remove an installed plugin",
     .arguments = "NAME",
     .help = "Removes the file that provides NAME from this user's plugin folder, and prints where it was.\n"
             "\n"
             "  --system             from /usr/local/lib/sandlot/providers\n"
             "  --all                also if the file provides more than NAME\n",
     .options = OPTIONS_COMMON | OPTION_SYSTEM | OPTION_ALL,
     .minimum = 1,
     .maximum = 1,
     .missing = "the name of the plugin is missing; 'sandlot plugin list' shows those there are",
     .no_provider = true,
     .run = command_plugin_remove},
    {.name = "plugin list",
     .summary = "list plugin files",
     .arguments = "",
     .help = "Lists every plugin that is found, also those that something hides or that cannot be used, and why.\n",
     .options = OPTIONS_COMMON,
     .no_provider = true,
     .run = command_plugin_list},
};

/* The second words of `network`. */
static const struct command network_table[] = {
    {.name = "network show",
     .summary = "what a sandbox may reach",
     .arguments = "ID",
     .help =
         "Prints the mode, the entries of the list, the hosts with a credential (never a value), and where that was\n"
         "asked for.\n",
     .options = OPTIONS_COMMON,
     .minimum = 1,
     .maximum = 1,
     .missing = "the sandbox's id is missing",
     .ids = 1,
     .run = command_network_show},
    {.name = "network allow",
     .summary = "let a living sandbox reach more",
     .arguments = "ID ENTRY...",
     .help =
         "Adds entries to the list of what the sandbox may reach, and prints what holds now. Where nothing left the\n"
         "sandbox, from now on the list does. Entries are written as for --allow: 'sandlot exec --help'.\n"
         "\n"
         "  sandlot network allow ID @pypi files.example.com\n",
     .options = OPTIONS_COMMON,
     .minimum = 2,
     .maximum = SIZE_MAX,
     .missing = "the sandbox's id, or what to allow, is missing",
     .ids = 1,
     .run = command_network_allow},
    {.name = "network deny",
     .summary = "take entries from the list of a living sandbox",
     .arguments = "ID ENTRY...",
     .help =
         "Takes entries away, as they stand on the list, cuts connections that no longer fit, and prints what holds\n"
         "now. What only a wildcard, a network or a set allows is refused.\n"
         "On Kubernetes the network plugin decides what becomes of open connections.\n",
     .options = OPTIONS_COMMON,
     .minimum = 2,
     .maximum = SIZE_MAX,
     .missing = "the sandbox's id, or what to deny, is missing",
     .ids = 1,
     .run = command_network_deny},
    {.name = "network off",
     .summary = "close the network of a living sandbox",
     .arguments = "ID",
     .help = "Nothing leaves the sandbox any more; open connections are cut.\n"
             "On Kubernetes the network plugin decides what becomes of these.\n",
     .options = OPTIONS_COMMON,
     .minimum = 1,
     .maximum = 1,
     .missing = "the sandbox's id is missing",
     .ids = 1,
     .run = command_network_mode},
    {.name = "network open",
     .summary = "take the filter from the network of a living sandbox",
     .arguments = "ID",
     .help = "The sandbox may reach every host from now on, those of private networks too.\n"
             "With `local` this machine's own addresses and the metadata services of clouds stay closed.\n",
     .options = OPTIONS_COMMON,
     .minimum = 1,
     .maximum = 1,
     .missing = "the sandbox's id is missing",
     .ids = 1,
     .run = command_network_mode},
    {.name = "network log",
     .summary = "what a sandbox reached, and what it was refused",
     .arguments = "ID",
     .help =
         "Prints a line for each decision: when, allowed or denied, host and port, why, bytes and milliseconds. No\n"
         "path, no header and no secret is ever in it. The oldest are not kept for ever; their number is told.\n"
         "\n"
         "  -f, --follow         go on with what comes\n"
         "  --denied             only what was denied\n",
     .options = OPTIONS_COMMON | OPTION_FOLLOW | OPTION_DENIED,
     .minimum = 1,
     .maximum = 1,
     .missing = "the sandbox's id is missing",
     .ids = 1,
     .run = command_network_log},
    {.name = "network sets",
     .summary = "the sets of hosts with a name",
     .arguments = "[NAME]",
     .help = "Prints the sets that --allow @NAME stands for: those that ship, and those of [network.sets] in the\n"
             "configuration.\n",
     .options = OPTIONS_COMMON,
     .maximum = 1,
     .no_provider = true,
     .run = command_network_sets},
};

/* The second words of `snapshots`. */
static const struct command snapshots_table[] = {
    {.name = "snapshots delete",
     .summary = "delete snapshots",
     .arguments = "NAME...",
     .help = "Deletes the snapshots; one that fails does not stop the others, and one that is not there (any more)\n"
             "counts as deleted. A NAME is what 'sandlot snapshots' lists as id.\n"
             "\n"
             "  sandlot snapshots delete --sandbox daytona before-the-change\n",
     .options = OPTIONS_COMMON,
     .minimum = 1,
     .maximum = SIZE_MAX,
     .missing = "the name is missing; 'sandlot snapshots' prints those there are",
     .run = command_snapshots_delete},
};

/* The second words of `volumes`. */
static const struct command volumes_table[] = {
    {.name = "volumes delete",
     .summary = "delete volumes",
     .arguments = "NAME...",
     .help =
         "Deletes the volumes with all that they hold; one that fails does not stop the others, and one that is not\n"
         "there (any more) counts as deleted. A volume that a living sandbox has is refused.\n"
         "\n"
         "  sandlot volumes delete npm\n",
     .options = OPTIONS_COMMON,
     .minimum = 1,
     .maximum = SIZE_MAX,
     .missing = "the name is missing; 'sandlot volumes' prints those there are",
     .run = command_volumes_delete},
};

static const struct command table[] = {
    {.name = "exec",
     .summary = "run one command in a sandbox",
     .arguments = "[--] COMMAND [ARGUMENT...]",
     .help =
         "Runs COMMAND in a sandbox and streams its output. Without --sandbox-id or --scope the sandbox\n"
         "is made for this command and deleted afterwards. A single word is a shell command line;\n"
         "several words are quoted and joined.\n"
         "\n"
         "  --timeout TIME       end it and all that it started after so long: 90s, 5m, 1h; a bare number is\n"
         "                       seconds (1800; at most 3600; 0: never)\n"
         "  --cwd DIR            where it starts\n"
         "  -e, --env NAME=VALUE set a variable for it; may be repeated\n"
         "  --stdin              pass standard input through\n"
         "\n"
         "  -d, --detach         start it in the background and print its id (p1), for 'sandlot logs', 'wait', "
         "'kill',\n"
         "                       'input' and 'ps'; it runs until it ends, or the sandbox does. Without a --timeout it\n"
         "                       has no limit\n"
         "  --stdin-open         with --detach: 'sandlot input' can feed it; else its input is empty\n"
         "  --log-limit MIB      with --detach: how much of what it prints is kept, the newest part (64)\n"
         "\n"
         "The exit status is that of the command, 124 if it timed out; with --json 0, and the object says.\n"
         "'sandlot run' is the same.\n"
         "\n"
         "  sandlot exec --param workspace=. -- make test\n"
         "  sandlot exec 'cd /tmp && ls | wc -l'\n"
         "  sandlot exec --timeout 60 -- python3 -c 'print(6 * 7)'\n"
         "  sandlot exec --sandbox-id ID --json -- cat /etc/os-release\n"
         "  sandlot exec --sandbox-id ID --detach -- npm run dev\n",
     .options = OPTIONS_COMMON | OPTIONS_CREATE | OPTION_SANDBOX_ID | OPTION_TIMEOUT | OPTION_CWD | OPTION_ENV |
                OPTION_STDIN | OPTION_DETACH | OPTION_STDIN_OPEN | OPTION_LOG_LIMIT,
     .minimum = 1,
     .maximum = SIZE_MAX,
     .missing = "the command is missing; write what to run behind --",
     .passes_words = true,
     .run = command_exec},
    {.name = "ps",
     .summary = "list background processes in a sandbox",
     .arguments = "",
     .help =
         "Lists what 'sandlot exec --detach' has started in the sandbox and still runs.\n"
         "\n"
         "  --all                those that have ended, too: the newest 64, each for a day\n"
         "\n"
         "'lost' is a process whose end nobody saw: the sandbox was restarted, or all of its processes were killed.\n",
     .options = OPTIONS_COMMON | OPTIONS_CREATE | OPTION_SANDBOX_ID | OPTION_ALL,
     .run = command_ps},
    {.name = "logs",
     .summary = "print what a background process has printed",
     .arguments = "PROCESS",
     .help =
         "Prints what the process has printed, byte for byte, or the newest part of it that is kept; what is not any\n"
         "more is counted on standard error.\n"
         "\n"
         "  -f, --follow         go on until the process ends; Ctrl-C ends nothing but this command\n"
         "  --from BYTE          begin with this byte of all that it printed; below 0: so many from the end\n"
         "  --tail LINES         the last lines only\n"
         "  --max-bytes N        no more than so many, such as 500K or 20M\n"
         "\n"
         "  sandlot logs --sandbox-id ID p1 --tail 20 -f\n",
     .options = OPTIONS_COMMON | OPTIONS_CREATE | OPTION_SANDBOX_ID | OPTION_FOLLOW | OPTION_FROM | OPTION_TAIL |
                OPTION_MAX_BYTES,
     .minimum = 1,
     .maximum = 1,
     .missing = "the id of the process is missing; 'sandlot ps' lists those there are",
     .run = command_logs},
    {.name = "wait",
     .summary = "wait until a background process ends",
     .arguments = "PROCESS",
     .help =
         "Waits until the process has ended, and ends with its exit status; 124 if it still runs after --timeout; 3\n"
         "if nobody saw its end. Ctrl-C ends nothing but this command.\n"
         "\n"
         "  --timeout TIME       wait no longer than this: 90s, 5m, 1h (without it: as long as it takes)\n",
     .options = OPTIONS_COMMON | OPTIONS_CREATE | OPTION_SANDBOX_ID | OPTION_TIMEOUT,
     .minimum = 1,
     .maximum = 1,
     .missing = "the id of the process is missing; 'sandlot ps' lists those there are",
     .run = command_wait},
    {.name = "kill",
     .summary = "end background processes, or send them a signal",
     .arguments = "PROCESS...",
     .help =
         "Ends each process with all that it started: TERM, and after a while KILL for what is left.\n"
         "\n"
         "  --grace TIME         how long it has between the two (5s)\n"
         "  --signal NAME        only send this: TERM, INT, HUP, QUIT, USR1, USR2, STOP or CONT to its group, KILL to\n"
         "                       all that it started\n",
     .options = OPTIONS_COMMON | OPTIONS_CREATE | OPTION_SANDBOX_ID | OPTION_SIGNAL | OPTION_GRACE,
     .minimum = 1,
     .maximum = SIZE_MAX,
     .missing = "the id of the process is missing; 'sandlot ps' lists those there are",
     .run = command_kill},
    {.name = "input",
     .summary = "write to the standard input of a background process",
     .arguments = "PROCESS",
     .help = "Passes standard input on to a process that was started with --detach --stdin-open. A program that reads\n"
             "nothing for ten seconds ends the command with status 1, and what it has got is told.\n"
             "\n"
             "  --close              then end its input\n"
             "\n"
             "  echo reload | sandlot input --sandbox-id ID p1\n",
     .options = OPTIONS_COMMON | OPTIONS_CREATE | OPTION_SANDBOX_ID | OPTION_CLOSE,
     .minimum = 1,
     .maximum = 1,
     .missing = "the id of the process is missing; 'sandlot ps' lists those there are",
     .run = command_input},
    {.name = "shell",
     .summary = "an interactive terminal in a sandbox",
     .arguments = "[-- COMMAND [ARGUMENT...]]",
     .help = "Runs a shell, or COMMAND, in a terminal in the sandbox. Without --sandbox-id or --scope the sandbox is\n"
             "made for it and deleted when it ends. Needs a terminal; for scripts there is 'sandlot exec'.\n"
             "\n"
             "  --cwd DIR            where it starts\n"
             "  -e, --env NAME=VALUE set a variable for it; may be repeated\n"
             "\n"
             "Every key goes into the sandbox, Ctrl-C too. What the sandbox prints reaches your terminal unfiltered,\n"
             "since programs with a screen need that: software that you do not trust can change the terminal's title\n"
             "and colours, and, where your terminal allows it, the clipboard. 'sandlot exec' filters.\n"
             "\n"
             "The exit status is that of the shell.\n"
             "\n"
             "  sandlot shell\n"
             "  sandlot shell --param workspace=. -- vi README.md\n",
     .options = (OPTIONS_COMMON & ~OPTION_JSON) | OPTIONS_CREATE | OPTION_SANDBOX_ID | OPTION_CWD | OPTION_ENV,
     .maximum = SIZE_MAX,
     .passes_words = true,
     .run = command_shell},
    {.name = "read",
     .summary = "print a page of a file in the sandbox",
     .arguments = "PATH",
     .help = "Prints lines of the file, numbered; with --json as they are, binary files as base64.\n"
             "A relative PATH starts at the working directory; '..' and '~' are refused.\n"
             "\n"
             "  --offset N           lines to skip (0)\n"
             "  --limit N            lines at most (2000)\n"
             "\n"
             "  sandlot read --sandbox-id ID src/main.c --offset 100 --limit 50\n",
     .options = OPTIONS_COMMON | OPTIONS_CREATE | OPTION_SANDBOX_ID | OPTION_OFFSET | OPTION_LIMIT,
     .minimum = 1,
     .maximum = 1,
     .missing = "the path of the file is missing",
     .run = command_read},
    {.name = "write",
     .summary = "write standard input to a file in the sandbox",
     .arguments = "PATH",
     .help = "Creates the file, with its parent directories, or replaces it as a whole. Its mode stays.\n"
             "\n"
             "  sandlot write --sandbox-id ID notes/todo.txt < todo.txt\n",
     .options = OPTIONS_COMMON | OPTIONS_CREATE | OPTION_SANDBOX_ID,
     .minimum = 1,
     .maximum = 1,
     .missing = "the path of the file is missing",
     .run = command_write},
    {.name = "edit",
     .summary = "replace text in a file in the sandbox",
     .arguments = "PATH [--old TEXT --new TEXT]",
     .help = "Replaces a text, taken literally, that must occur once. Without --old and --new, standard input\n"
             "holds a JSON object with \"old_string\", \"new_string\" and, if wanted, \"replace_all\".\n"
             "\n"
             "  --old TEXT           what is there\n"
             "  --new TEXT           what is to be there\n"
             "  --replace-all        every occurrence\n"
             "\n"
             "  sandlot edit --sandbox-id ID app.py --old 'DEBUG = True' --new 'DEBUG = False'\n",
     .options = OPTIONS_COMMON | OPTIONS_CREATE | OPTION_SANDBOX_ID | OPTION_OLD | OPTION_NEW | OPTION_REPLACE_ALL,
     .minimum = 1,
     .maximum = 1,
     .missing = "the path of the file is missing",
     .run = command_edit},
    {.name = "ls",
     .summary = "list a directory in the sandbox",
     .arguments = "[PATH]",
     .help = "Lists what is in the directory, hidden names too, a '/' behind directories. Without PATH the working\n"
             "directory.\n",
     .options = OPTIONS_COMMON | OPTIONS_CREATE | OPTION_SANDBOX_ID,
     .maximum = 1,
     .run = command_ls},
    {.name = "grep",
     .summary = "search files in the sandbox for a text",
     .arguments = "TEXT [PATH]",
     .help = "Prints the lines that hold TEXT, taken literally, in the file PATH or in all files below the directory\n"
             "PATH (the working directory). Binary files and links are passed over.\n"
             "\n"
             "  --glob PATTERN       only files that match, as for 'sandlot glob'\n"
             "  --max-count N        at most so many lines\n"
             "\n"
             "For regular expressions: sandlot exec --sandbox-id ID -- grep -rnE PATTERN\n",
     .options = OPTIONS_COMMON | OPTIONS_CREATE | OPTION_SANDBOX_ID | OPTION_GLOB | OPTION_MAX_COUNT,
     .minimum = 1,
     .maximum = 2,
     .missing = "the text to look for is missing",
     .run = command_grep},
    {.name = "glob",
     .summary = "find files in the sandbox by a pattern",
     .arguments = "PATTERN [PATH]",
     .help = "Prints the files below PATH (the working directory) that match. A pattern without '/' matches names\n"
             "at any depth; one with '/' the path below PATH. '*' and '?' within a name, '**' for any number of\n"
             "directories, [abc], [!abc], {one,other}. A name that begins with '.' needs a pattern that does.\n"
             "\n"
             "  --dirs               directories too\n"
             "\n"
             "  sandlot glob --sandbox-id ID 'src/**/*.{c,h}'\n",
     .options = OPTIONS_COMMON | OPTIONS_CREATE | OPTION_SANDBOX_ID | OPTION_DIRS,
     .minimum = 1,
     .maximum = 2,
     .missing = "the pattern is missing",
     .run = command_glob},
    {.name = "rm",
     .summary = "remove a file or a directory in the sandbox",
     .arguments = "PATH",
     .help = "Removes the file, the link itself, or the directory with all that is in it.\n",
     .options = OPTIONS_COMMON | OPTIONS_CREATE | OPTION_SANDBOX_ID,
     .minimum = 1,
     .maximum = 1,
     .missing = "the path of what is to go is missing",
     .run = command_rm},
    {.name = "upload",
     .summary = "copy files into the sandbox",
     .arguments = "LOCAL REMOTE [LOCAL REMOTE...]",
     .help = "Copies files in exact bytes. A relative REMOTE begins at the working directory; missing directories\n"
             "are made, a file that is there is replaced as a whole. One that fails does not stop the others. '-' is\n"
             "standard input. A REMOTE that ends in '/', and any other directory, takes the file under\n"
             "its name.\n"
             "\n"
             "  -r                   directories too, with all that is in them\n"
             "\n"
             "  sandlot upload --sandbox-id ID -r ./src /workspace/src\n",
     .options = OPTIONS_COMMON | OPTIONS_CREATE | OPTION_SANDBOX_ID | OPTION_RECURSIVE,
     .minimum = 2,
     .maximum = SIZE_MAX,
     .missing = "the arguments are missing: pairs of LOCAL and REMOTE",
     .run = command_upload},
    {.name = "download",
     .summary = "copy files out of the sandbox",
     .arguments = "REMOTE LOCAL [REMOTE LOCAL...]",
     .help = "Copies files in exact bytes. A relative REMOTE begins at the working directory. A LOCAL directory\n"
             "takes the file under its name. A file appears only when all of it is there. '-' is standard output.\n"
             "\n"
             "  -r                   directories too, with all that is in them\n"
             "  --max-bytes N        what all files together may be, such as 500K, 20M or 2G; one that would be more "
             "is an\n"
             "                       error and is not written, and the others go on\n"
             "\n"
             "  sandlot download --sandbox-id ID /workspace/report.pdf .\n",
     .options = OPTIONS_COMMON | OPTIONS_CREATE | OPTION_SANDBOX_ID | OPTION_RECURSIVE | OPTION_MAX_BYTES,
     .minimum = 2,
     .maximum = SIZE_MAX,
     .missing = "the arguments are missing: pairs of REMOTE and LOCAL",
     .run = command_download},
    {.name = "cp",
     .summary = "copy into a sandbox, or out of it",
     .arguments = "LOCAL ID:REMOTE | ID:REMOTE LOCAL",
     .help = "The same as 'sandlot upload' or 'sandlot download' with --sandbox-id ID, for one pair.\n"
             "\n"
             "  -r                   a directory, with all that is in it\n"
             "  --max-bytes N        out of a sandbox: no more than so many bytes, as for 'sandlot download'\n"
             "\n"
             "  sandlot cp notes.txt ID:\n"
             "  sandlot cp ID:/workspace/report.pdf .\n",
     .options = OPTIONS_COMMON | OPTION_RECURSIVE | OPTION_MAX_BYTES,
     .minimum = 2,
     .maximum = 2,
     .missing = "the arguments are missing: LOCAL and ID:REMOTE, or ID:REMOTE and LOCAL",
     .run = command_cp},
    {.name = "import",
     .summary = "put a folder into a sandbox, and remember what it was",
     .arguments = "ID DIR",
     .help =
         "Uploads the folder DIR into the sandbox's working directory and remembers, on this machine, what it was,\n"
         "so that 'sandlot diff', 'export' and 'apply' can tell what has become of it. A sandbox of 'local' with\n"
         "--param workspace=DIR needs none of this. --sandbox-id ID or --scope KEY may stand for ID.\n"
         "\n"
         "  --exclude GLOB       leave these out, on the way in and on the way back; may be repeated\n"
         "\n"
         "  id=$(sandlot create --sandbox e2b)\n"
         "  sandlot import \"$id\" . --exclude node_modules\n",
     .options = OPTIONS_COMMON | OPTION_SANDBOX_ID | OPTION_SCOPE | OPTION_EXCLUDE,
     .maximum = 2,
     .missing = "the arguments are missing: ID and DIR, the sandbox and the folder",
     .run = command_import},
    {.name = "diff",
     .summary = "show what a sandbox has changed in the folder that it began with",
     .arguments = "ID [PATH...]",
     .help = "Shows what differs from the folder that the sandbox began with (--param workspace=DIR of 'local', or\n"
             "'sandlot import'): first what to look at before it is taken over, with the reason, then a patch.\n"
             "--sandbox-id ID or --scope KEY may stand for ID. Nothing of the sandbox or its repository runs here.\n"
             "\n"
             "  --stat               one line for each path\n"
             "\n"
             "To take commits home: 'git bundle create' in the sandbox, 'sandlot download', then 'git fetch FILE'.\n",
     .options = OPTIONS_COMMON | OPTION_SANDBOX_ID | OPTION_SCOPE | OPTION_STAT,
     .maximum = SIZE_MAX,
     .missing = "the id of the sandbox is missing",
     .run = command_diff},
    {.name = "export",
     .summary = "write what a sandbox has changed as a patch or an archive",
     .arguments = "ID [PATH...]",
     .help = "Writes what 'sandlot diff' shows as a patch in git's format, binary files included, or as a tar whose\n"
             "first file, SANDLOT-CHANGES.json, lists all changes, also what was removed. What to look at is said on\n"
             "standard error; what lies in .git, and links that lead out, are left out.\n"
             "\n"
             "  --format FORMAT      patch or tar (by the name of the file; else patch)\n"
             "  --output FILE        instead of standard output\n"
             "\n"
             "  sandlot export \"$id\" >work.patch && git apply work.patch\n",
     .options = OPTIONS_COMMON | OPTION_SANDBOX_ID | OPTION_SCOPE | OPTION_FORMAT | OPTION_OUTPUT,
     .maximum = SIZE_MAX,
     .missing = "the id of the sandbox is missing",
     .run = command_export},
    {.name = "apply",
     .summary = "bring what a sandbox has changed into a folder of this machine",
     .arguments = "ID [DIR [PATH...]]",
     .help =
         "Writes what 'sandlot diff' shows into DIR, or into the folder that the sandbox began with: each file as\n"
         "a whole or not at all, through no link. What has a risk is left out and listed, with status 1. If a path\n"
         "was changed on this machine too, nothing is written.\n"
         "\n"
         "  --dry-run            write nothing, only say what would be done\n"
         "  --risky              what has a risk too; .git and links that lead out are left out even then\n"
         "  --force PATH         overwrite this path although it was changed here; may be repeated\n"
         "\n"
         "  sandlot apply \"$id\" --dry-run\n",
     .options = OPTIONS_COMMON | OPTION_SANDBOX_ID | OPTION_SCOPE | OPTION_DRY_RUN | OPTION_RISKY | OPTION_FORCE,
     .maximum = SIZE_MAX,
     .missing = "the id of the sandbox is missing",
     .run = command_apply},
    {.name = "create",
     .summary = "make a sandbox that stays, and print its id",
     .arguments = "",
     .help =
         "Makes a sandbox, prints its id and leaves it running. It ends by 'sandlot delete' or when its\n"
         "time to live is over (parameters ttl_s and hard_ttl_s).\n"
         "\n"
         "  --name NAME          what to call it: 1 to 63 of a-z, 0-9, '.' and '-'. Every command takes that in place\n"
         "                       of the id. No two that live have the same\n"
         "\n"
         "  id=$(sandlot create --param workspace=.)\n"
         "  sandlot exec --sandbox-id \"$id\" -- make test\n"
         "  sandlot delete \"$id\"\n",
     .options = OPTIONS_COMMON | OPTIONS_CREATE | OPTION_NAME,
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
     .help = "Ends sandboxes and prints the ids that are gone; one that fails does not stop the others. The ledger of\n"
             "what you have made tells whose each is. An id that is not in it is looked for among the sandboxes of\n"
             "'local', and else is an error, status 3. With --sandbox NAME that provider is asked, and one that it\n"
             "does not have counts as deleted.\n"
             "\n"
             "  --if-exists          an id that nobody knows counts as deleted\n"
             "  --all                all that you have made and that no running command uses; with --sandbox NAME\n"
             "                       those of that provider\n"
             "  --scope KEY          the sandbox of this scope\n",
     .options = OPTIONS_COMMON | OPTION_ALL | OPTION_SCOPE | OPTION_IF_EXISTS,
     .maximum = SIZE_MAX,
     .ids = SIZE_MAX,
     .run = command_delete},
    {.name = "pause",
     .summary = "stop a sandbox until it is used again",
     .arguments = "ID",
     .help =
         "Stops the sandbox and keeps its files; whether also its memory and processes, its provider tells. Using it\n"
         "with --sandbox-id resumes it. One that is paused already is fine.\n",
     .options = OPTIONS_COMMON | OPTION_SANDBOX_ID,
     .maximum = 1,
     .ids = 1,
     .run = command_pause},
    {.name = "resume",
     .summary = "wake a paused sandbox",
     .arguments = "ID",
     .help = "Starts the sandbox again. One that runs already is fine.\n",
     .options = OPTIONS_COMMON | OPTION_SANDBOX_ID,
     .maximum = 1,
     .ids = 1,
     .run = command_resume},
    {.name = "fork",
     .summary = "make a second sandbox with the files of one",
     .arguments = "ID",
     .help =
         "Makes a sandbox that begins with the files of ID, prints its id and leaves it running, as 'sandlot create'\n"
         "does. It has the time to live of a new one, and may reach what ID may. Whether processes go on in it, its\n"
         "provider tells.\n",
     .options = OPTIONS_COMMON | OPTION_SANDBOX_ID,
     .maximum = 1,
     .ids = 1,
     .run = command_fork},
    {.name = "snapshot",
     .summary = "keep the state of a sandbox",
     .arguments = "ID",
     .help = "Keeps the sandbox's files, or what its provider keeps, and prints what --sandbox-snapshot-name takes to\n"
             "start from them, as 'sandlot snapshots' lists it.\n"
             "\n"
             "  --name NAME          what it is called (sandlot- and eight digits). A name that is taken is an error,\n"
             "                       where the provider's snapshots have names\n"
             "  --replace            delete the snapshot that has the name first\n"
             "  --with-base          keep the folder too that the sandbox began as (local, workspace), which the\n"
             "                       snapshot refers to else\n"
             "\n"
             "  sandlot snapshot ID --name ready\n"
             "  sandlot create --sandbox daytona --sandbox-snapshot-name ready\n",
     .options = OPTIONS_COMMON | OPTION_SANDBOX_ID | OPTION_NAME | OPTION_REPLACE | OPTION_WITH_BASE,
     .maximum = 1,
     .ids = 1,
     .run = command_snapshot},
    {.name = "snapshots",
     .summary = "list snapshots, or delete them",
     .arguments = "[delete NAME...]",
     .help = "Lists the snapshots of the provider. 'sandlot snapshots delete NAME...' deletes some.\n",
     .options = OPTIONS_COMMON,
     .run = command_snapshots,
     .below = snapshots_table,
     .below_count = sizeof(snapshots_table) / sizeof(snapshots_table[0])},
    {.name = "volumes",
     .summary = "list volumes, or delete them",
     .arguments = "[delete NAME...]",
     .help = "Lists the volumes of the provider: storage that outlives sandboxes, which '--volume NAME:/PATH' of the "
             "commands\n"
             "that make one asks for: what each holds and may hold, how many living sandboxes write to it or only read "
             "it,\n"
             "and when one last had it. 'sandlot volumes delete NAME...' deletes some. Limits, and whether several "
             "sandboxes\n"
             "may write at a time, are said in [sandboxes.volumes.NAME] of the configuration.\n"
             "\n"
             "  sandlot exec --volume npm:/home/sandlot/.npm -- npm ci\n",
     .options = OPTIONS_COMMON,
     .run = command_volumes,
     .below = volumes_table,
     .below_count = sizeof(volumes_table) / sizeof(volumes_table[0])},
    {.name = "gc",
     .summary = "delete what dead runs left behind",
     .arguments = "",
     .help = "Deletes the sandboxes of runs that were killed before they could clean up, at every provider, and\n"
             "prints them. What 'create' or --scope left on purpose stays.\n"
             "\n"
             "  --forget ID          delete nothing, and forget this sandbox, by its id or its label, because its\n"
             "                       provider is gone for good; may be repeated. If it still runs, nothing here will\n"
             "                       end it any more: it costs what it costs until its vendor ends it\n",
     .options = OPTIONS_COMMON | OPTION_FORGET,
     .no_provider = true,
     .run = command_gc},
    {.name = "port",
     .summary = "reach servers in a sandbox",
     .arguments = "ID [LOCAL:]PORT...",
     .help =
         "Listens on this machine until it is ended, and carries each connection to a server in the sandbox, bytes as\n"
         "they are. Prints where once it listens: '127.0.0.1:3000 -> 8080'. Without LOCAL that is the same number if\n"
         "it is free and above 1023, else a free one; 0 is a free one too.\n"
         "\n"
         "  --address ADDR       listen there, not on 127.0.0.1 and ::1: whoever reaches it reaches the sandbox\n"
         "  --url                print the vendor's own address of PORT instead, and end\n"
         "  --show-token         with the secret header that its requests need\n"
         "\n"
         "Ends with status 3 when the sandbox has gone. Development servers that look at the Host header work through\n"
         "the listener of 'local' as they are; for other hosts Vite has 'server.allowedHosts'.\n"
         "\n"
         "  sandlot port box-abcdefghijkl 3000\n"
         "  sandlot port ID 8080:80 5432\n",
     .options = OPTIONS_COMMON | OPTION_ADDRESS | OPTION_URL | OPTION_SHOW_TOKEN,
     .minimum = 2,
     .maximum = SIZE_MAX,
     .ids = 1,
     .missing = "the sandbox's id or the port is missing",
     .run = command_port},
    {.name = "network",
     .summary = "what a sandbox may reach, and what it reached",
     .arguments = "show|allow|deny|off|open|log|sets",
     .help = "Shows and changes what a living sandbox may reach. Options and entries: 'sandlot exec --help'.\n"
             "\n"
             "  network show ID           the mode, the list, and where that comes from\n"
             "  network allow ID ENTRY... let it reach more\n"
             "  network deny ID ENTRY...  take entries away\n"
             "  network off ID            nothing leaves any more\n"
             "  network open ID           no filter any more\n"
             "  network log ID            what was decided; -f goes on, --denied leaves the rest out\n"
             "  network sets [NAME]       what @NAME stands for\n"
             "\n"
             "A sandbox gets its policy when it is made: --network and --allow of the commands that make one, or\n"
             "[network] in the configuration. Not every provider can change it later.\n",
     .options = OPTIONS_COMMON,
     .minimum = 1,
     .missing = "what about the network? 'show', 'allow', 'deny', 'off', 'open', 'log' or 'sets'",
     .no_provider = true,
     .run = command_network,
     .below = network_table,
     .below_count = sizeof(network_table) / sizeof(network_table[0])},
    {.name = "mcp",
     .summary = "offer a sandbox to an agent, as an MCP server",
     .arguments = "",
     .help =
         "Speaks the Model Context Protocol on standard input and output: the tools ls, read_file, write_file,\n"
         "edit_file, glob, grep, execute, process and delete, all in one sandbox. It is made by the first call of a\n"
         "tool and deleted when the client closes the pipe, also if this process is killed. With --sandbox-id or\n"
         "--scope it stays.\n"
         "\n"
         "  --create lazy|start  make the sandbox for the first call, or in the background at once (lazy)\n"
         "  --idle-timeout TIME  end after so long without a message: 90s, 5m, 1h, or seconds (0: never)\n"
         "  --max-result-bytes N of text in one result (40000)\n"
         "  --print-config HOST  print what to write into the configuration of claude, codex, cursor, vscode or\n"
         "                       langchain, with the other options given here, and do nothing else\n"
         "\n"
         "  --http [ADDRESS:PORT] serve over HTTP instead, at /mcp (127.0.0.1 and a free port)\n"
         "  --port-file FILE     write the number of the port there once the server listens\n"
         "  --token-file FILE    the bearer token that clients must send; else $SANDLOT_MCP_TOKEN, else one is\n"
         "                       made up and printed on standard error\n"
         "  --allow-origin URL   let pages of that origin use the server, besides those of this machine; may be\n"
         "                       repeated\n"
         "  --no-auth            take every message without a token, from whoever can reach the port\n"
         "                       (of web pages only from those of --allow-origin)\n"
         "\n"
         "With -v each call is noted on standard error: tool, sizes, time and fate, never contents.\n"
         "\n"
         "  sandlot mcp --param workspace=/home/me/project\n"
         "  sandlot mcp --scope review --print-config claude\n"
         "  sandlot mcp --http --token-file ~/.sandlot-token\n",
     .options = (OPTIONS_COMMON & ~OPTION_JSON) | OPTIONS_CREATE | OPTION_SANDBOX_ID | OPTION_CREATE_MODE |
                OPTION_IDLE_TIMEOUT | OPTION_MAX_RESULT_BYTES | OPTION_PRINT_CONFIG | OPTION_HTTP | OPTION_PORT_FILE |
                OPTION_TOKEN_FILE | OPTION_ALLOW_ORIGIN | OPTION_NO_AUTH,
     .run = command_mcp},
    {.name = WATCHER_COMMAND,
     .summary = "",
     .arguments = "PID:START",
     .help = "Deletes what an MCP server has left, once standard input has ended. 'sandlot mcp' starts it by itself.\n",
     .options = OPTIONS_COMMON,
     .minimum = 1,
     .maximum = 1,
     .missing = "this command is only for 'sandlot mcp' itself",
     .hidden = true,
     .run = command_mcp_watch},
    {.name = "providers",
     .summary = "list providers, or tell everything about one",
     .arguments = "[NAME]",
     .help =
         "Lists the providers: where each comes from, and whether it is ready or why not. With NAME: its file,\n"
         "what it shadows, what it can do, its variables and parameters. A provider that ships with Sandlot, or the\n"
         "one that is named, may look for its credentials where it alone knows; no other code of one is run.\n"
         "With -v also the files in the plugin folders that are no providers.\n",
     .options = OPTIONS_COMMON,
     .maximum = 1,
     .no_provider = true,
     .run = command_providers},
    {.name = "plugin",
     .summary = "write, check, install and remove providers",
     .arguments = "new|check|install|remove|list",
     .help = "For those who write providers, and those who install them:\n"
             "\n"
             "  plugin new NAME           write a project that builds, tests and installs at once\n"
             "  plugin check FILE         run the conformance kit; 'sandlot plugin check --help' tells its options\n"
             "  plugin install FILE       copy a plugin into this user's plugin folder\n"
             "  plugin remove NAME        take it away again\n"
             "  plugin list               every plugin file, also those that cannot be used\n"
             "\n"
             "  --language LANGUAGE  new: " PLUGIN_LANGUAGES " (c)\n"
             "  --directory DIR      new: where the project goes (./NAME)\n"
             "  --system             install, remove: for all users, in /usr/local/lib/sandlot/providers\n"
             "  --replace            install: also if another file is lost by that\n"
             "  --all                remove: also if the file provides more than NAME\n"
             "\n"
             "  sandlot plugin new acme && cd acme && make && make check && make install\n",
     .options = OPTIONS_COMMON,
     .minimum = 1,
     .missing = "what about plugins? 'new', 'check', 'install', 'remove' or 'list'",
     .no_provider = true,
     .run = command_plugin,
     .below = plugin_table,
     .below_count = sizeof(plugin_table) / sizeof(plugin_table[0])},
    {.name = "doctor",
     .summary = "check this machine: what works, what does not, what to do",
     .arguments = "",
     .help = "Makes, uses and deletes a local sandbox, looks at what this machine offers, and tells what each\n"
             "provider lacks. The exit status is 0 if the local sandbox works, else 3.\n",
     .options = OPTIONS_COMMON,
     .no_provider = true,
     .run = command_doctor},
    {.name = "version",
     .summary = "print the version",
     .arguments = "",
     .help = "Prints the version.\n",
     .options = OPTIONS_COMMON,
     .no_provider = true,
     .run = command_version},
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
    if (strcmp(name, "run") == 0)
        name = "exec"; /* as it is called elsewhere */
    for (size_t i = 0; i < COUNT; i++)
        if (strcmp(table[i].name, name) == 0)
            return &table[i];
    return NULL;
}

const char *command_nearest(const char *name)
{
    const char *names[COUNT];
    size_t count = 0;

    for (size_t i = 0; i < COUNT; i++)
        if (!table[i].hidden)
            names[count++] = table[i].name;
    return text_nearest(name, names, count);
}

/* The second word of a command's name. */
static const char *last_word(const struct command *command)
{
    return strrchr(command->name, ' ') + 1;
}

const struct command *command_find_below(const struct command *group, const char *word)
{
    for (size_t i = 0; i < group->below_count; i++)
        if (strcmp(last_word(&group->below[i]), word) == 0)
            return &group->below[i];
    return NULL;
}

const char *command_nearest_below(const struct command *group, const char *word)
{
    const char *names[COUNT];
    size_t count = 0;

    for (size_t i = 0; i < group->below_count && count < COUNT; i++)
        names[count++] = last_word(&group->below[i]);
    return text_nearest(word, names, count);
}
