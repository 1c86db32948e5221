#include "options.h"

#include "cleanup.h"
#include "runner.h"

#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <string.h>

enum { DEFAULT_CYCLES = 300, MOST_CYCLES = 100000 };

static const char usage[] =
    "Usage: sandlot plugin check [OPTION]... FILE.so\n"
    "\n"
    "Checks a provider against all that provider.h asks of it. Prints TAP, and at the end a summary to publish.\n"
    "Sandboxes are made and deleted at the vendor when its credentials are in the environment.\n"
    "\n"
    "  --provider NAME    which provider of the file (the first)\n"
    "  --param KEY=VALUE  a parameter of the provider; may be given several times\n"
    "  --static           look at the file only: no sandboxes\n"
    "  --only GROUP       static, table, lifecycle, snapshots, execute, processes, ports, network, operations,\n"
    "                     robustness or secrets\n"
    "  --probe COMMAND    how a sandbox tries to reach \"$host\" on \"$port\": 0 if it does (curl)\n"
    "  --cycles N         how often to use a sandbox in the search for leaks (300)\n"
    "  --in-process       load the provider into this program, for a debugger\n"
    "  --report FILE      write the summary as Markdown too\n"
    "  --help             show this\n"
    "\n"
    "Status: 0 nothing failed, 1 something failed, 2 wrong usage, 3 the file cannot be read.\n";

static int complain(const char *what, const char *word)
{
    fprintf(stderr, "sandlot plugin check: %s%s; see `sandlot plugin check --help`\n", what, word);
    return EXIT_USAGE;
}

static bool is_group(const char *name)
{
    static const char *const names[] = {"static", "table",   "lifecycle",  "snapshots",  "execute", "processes",
                                        "ports",  "network", "operations", "robustness", "secrets"};

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (strcmp(names[i], name) == 0)
            return true;
    return false;
}

static int read_cycles(const char *text, int *cycles)
{
    char *end = NULL;

    errno = 0;
    long value = strtol(text, &end, 10);

    if (errno || !*text || *end || value < 3 || value > MOST_CYCLES)
        return complain("--cycles takes a number from 3 to 100000, not ", text);
    *cycles = (int)value;
    return -1;
}

static int take_option(int option, const char *value, struct kit *kit, size_t *parameter_count)
{
    switch (option) {
    case 'p':
        kit->provider_name = value;
        return -1;
    case 'P':
        if (!strchr(value, '=') || *value == '=')
            return complain("--param takes KEY=VALUE, not ", value);
        kit->parameters[(*parameter_count)++] = value;
        return -1;
    case 's':
        kit->static_only = true;
        return -1;
    case 'o':
        kit->only = value;
        return is_group(value) ? -1 : complain("there is no group ", value);
    case 'c':
        return read_cycles(value, &kit->cycles);
    case 'i':
        kit->in_process = true;
        return -1;
    case 'b':
        kit->probe = value;
        return -1;
    case 'r':
        kit->report = value;
        return -1;
    case 'h':
        fputs(usage, stdout);
        return EXIT_PASSED;
    default:
        return EXIT_USAGE; /* getopt_long has said why */
    }
}

static int take_file(int count, char **words, struct kit *kit)
{
    if (count != 1)
        return complain(count == 0 ? "which file? Name the provider's .so" : "one file at a time, not also ",
                        count == 0 ? "" : words[1]);
    kit->file = realpath(words[0], NULL);
    if (kit->file)
        return -1;
    fprintf(stderr, "sandlot plugin check: %s: %s; name the provider's shared object\n", words[0], strerror(errno));
    return EXIT_UNREADABLE;
}

int options_read(int count, char **words, struct kit *kit)
{
    static const struct option options[] = {
        {"provider", required_argument, NULL, 'p'}, {"param", required_argument, NULL, 'P'},
        {"static", no_argument, NULL, 's'},         {"only", required_argument, NULL, 'o'},
        {"cycles", required_argument, NULL, 'c'},   {"in-process", no_argument, NULL, 'i'},
        {"probe", required_argument, NULL, 'b'},    {"report", required_argument, NULL, 'r'},
        {"help", no_argument, NULL, 'h'},           {NULL, 0, NULL, 0},
    };
    static char name[] = "sandlot plugin check"; /* for getopt's messages */
    size_t parameter_count = 0;
    int status = -1;

    kit->cycles = DEFAULT_CYCLES;
    kit->parameters = calloc((size_t)count + 1, sizeof(*kit->parameters));
    if (!kit->parameters)
        return complain("out of memory", "");
    words[0] = name;
    for (int option; status < 0 && (option = getopt_long(count, words, "", options, NULL)) >= 0;)
        status = take_option(option, optarg, kit, &parameter_count);
    if (status < 0 && kit->static_only && kit->only && strcmp(kit->only, "static") != 0)
        status = complain("--static leaves nothing of --only ", kit->only);
    return status >= 0 ? status : take_file(count - optind, words + optind, kit);
}
