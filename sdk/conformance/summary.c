#include "summary.h"

#include "tap.h"

#include <sandlot/provider.h>
#include <sandlot/sandlot.h>
#include <sha256.h>
#include <string.h>
#include <sys/utsname.h>

/* Notes and file names are the vendor's: nothing in them may begin a line. */
static const char *provider_name(const struct kit *kit)
{
    const char *name = kit->provider ? kit->provider->name : "none";

    return shown(name, strlen(name));
}

/* The lines that both forms have, each as printf's arguments. */
static void print_identity(FILE *file, const struct kit *kit, const char *before)
{
    const char *abi = kit->provider ? note_value(kit->provider, "abi") : NULL;
    const char *name = strrchr(kit->file, '/') + 1;
    char digest[SHA256_DIGEST_STRING_LENGTH];
    struct utsname machine = {.machine = "?"};

    uname(&machine);
    fprintf(file, "%sprovider: %s, ABI %s\n", before, provider_name(kit), abi ? shown(abi, strlen(abi)) : "unknown");
    fprintf(file, "%sfile: %s, %llu bytes, SHA-256 %s\n", before, shown(name, strlen(name)),
            (unsigned long long)kit->object.size, SHA256File(kit->file, digest) ? digest : "unknown");
    fprintf(file, "%shost: Sandlot %s, ABI %d.%d, %s %s\n", before, sandlot_version(), SANDLOT_ABI_MAJOR,
            SANDLOT_ABI_MINOR, machine.sysname, machine.machine);
}

static bool is_missing(const struct total *total)
{
    return total->omitted && strcmp(total->omitted, SUMMARY_NOT_ASKED_FOR) != 0;
}

/* " (lifecycle, execute not run: set ACME_API_KEY)": the groups that were to run and did not, by their reasons. */
static void print_missing(FILE *file, const struct run *run)
{
    const char *why = NULL;

    for (size_t i = 0; i < run->total_count; i++) {
        const struct total *total = &run->totals[i];

        if (!is_missing(total))
            continue;
        if (why && strcmp(why, total->omitted) != 0)
            fprintf(file, " not run: %s; ", shown(why, strlen(why)));
        else
            fputs(why ? ", " : " (", file);
        fputs(total->group, file);
        why = total->omitted;
    }
    if (why)
        fprintf(file, " not run: %s)", shown(why, strlen(why)));
}

/* The result in a word, with what makes it less than it seems. */
static void print_result(FILE *file, const struct run *run, const struct kit *kit, const char *mark)
{
    bool is_incomplete = false;

    for (size_t i = 0; i < run->total_count; i++)
        is_incomplete |= is_missing(&run->totals[i]);
    const char *word = run->failed           ? "FAILED"
                       : run->interrupted_ms ? "interrupted"
                       : is_incomplete       ? "incomplete"
                                             : "passed";

    fprintf(file, "%s%s%s", mark, word, mark);
    if (is_incomplete)
        print_missing(file, run);
    else if (!run->failed && (kit->static_only || kit->only))
        fprintf(file, " (only: %s)", kit->static_only ? "static" : kit->only);
}

void summary_print(const struct run *run, const struct kit *kit)
{
    print_identity(stdout, kit, "# ");
    for (size_t i = 0; i < run->total_count; i++) {
        const struct total *total = &run->totals[i];

        if (is_missing(total))
            printf("# %s: not run\n", total->group);
        else if (!total->omitted)
            printf("# %s: %u passed, %u failed, %u skipped\n", total->group, total->passed, total->failed,
                   total->skipped);
    }
    for (size_t i = 0; i < run->figure_count; i++)
        printf("# %s: %.1f %s\n", run->figures[i].name, run->figures[i].value, run->figures[i].unit);
    fputs("# result: ", stdout);
    print_result(stdout, run, kit, "");
    putchar('\n');
}

bool summary_write(const struct run *run, const struct kit *kit, const char *path)
{
    FILE *file = fopen(path, "we");

    if (!file)
        return false;
    fprintf(file, "# Conformance of %s\n\n", provider_name(kit));
    print_identity(file, kit, "- ");
    fputs("- result: ", file);
    print_result(file, run, kit, "**");
    fputs("\n\n| group | passed | failed | skipped |\n|---|---|---|---|\n", file);
    for (size_t i = 0; i < run->total_count; i++) {
        const struct total *total = &run->totals[i];

        if (total->omitted)
            fprintf(file, "| %s | not run: %s | | |\n", total->group, shown(total->omitted, strlen(total->omitted)));
        else
            fprintf(file, "| %s | %u | %u | %u |\n", total->group, total->passed, total->failed, total->skipped);
    }
    fprintf(file, "\n| figure | value |\n|---|---|\n");
    for (size_t i = 0; i < run->figure_count; i++)
        fprintf(file, "| %s | %.1f %s |\n", run->figures[i].name, run->figures[i].value, run->figures[i].unit);
    return fclose(file) == 0;
}
