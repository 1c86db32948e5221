#include "summary.h"

#include <sandlot/provider.h>
#include <sandlot/sandlot.h>
#include <sha256.h>
#include <string.h>
#include <sys/utsname.h>

/* The lines that both forms have, each as printf's arguments. */
static void print_identity(FILE *file, const struct kit *kit, const char *before)
{
    const char *abi = kit->provider ? note_value(kit->provider, "abi") : NULL;
    const char *slash = strrchr(kit->file, '/');
    char digest[SHA256_DIGEST_STRING_LENGTH];
    struct utsname machine = {.machine = "?"};

    uname(&machine);
    fprintf(file, "%sprovider: %s, ABI %s\n", before, kit->provider ? kit->provider->name : "none",
            abi ? abi : "unknown");
    fprintf(file, "%sfile: %s, %llu bytes, SHA-256 %s\n", before, slash ? slash + 1 : kit->file,
            (unsigned long long)kit->object.size, SHA256File(kit->file, digest) ? digest : "unknown");
    fprintf(file, "%shost: Sandlot %s, ABI %d.%d, %s %s\n", before, sandlot_version(), SANDLOT_ABI_MAJOR,
            SANDLOT_ABI_MINOR, machine.sysname, machine.machine);
}

void summary_print(const struct run *run, const struct kit *kit)
{
    print_identity(stdout, kit, "# ");
    for (size_t i = 0; i < run->total_count; i++)
        printf("# %s: %u passed, %u failed, %u skipped\n", run->totals[i].group, run->totals[i].passed,
               run->totals[i].failed, run->totals[i].skipped);
    for (size_t i = 0; i < run->figure_count; i++)
        printf("# %s: %.1f %s\n", run->figures[i].name, run->figures[i].value, run->figures[i].unit);
    printf("# result: %s\n", run->failed ? "FAILED" : "passed");
}

bool summary_write(const struct run *run, const struct kit *kit, const char *path)
{
    FILE *file = fopen(path, "we");

    if (!file)
        return false;
    fprintf(file, "# Conformance of %s\n\n", kit->provider ? kit->provider->name : "a file without provider");
    print_identity(file, kit, "- ");
    fprintf(file, "- result: %s\n\n| group | passed | failed | skipped |\n|---|---|---|---|\n",
            run->failed ? "**failed**" : "**passed**");
    for (size_t i = 0; i < run->total_count; i++)
        fprintf(file, "| %s | %u | %u | %u |\n", run->totals[i].group, run->totals[i].passed, run->totals[i].failed,
                run->totals[i].skipped);
    fprintf(file, "\n| figure | value |\n|---|---|\n");
    for (size_t i = 0; i < run->figure_count; i++)
        fprintf(file, "| %s | %.1f %s |\n", run->figures[i].name, run->figures[i].value, run->figures[i].unit);
    return fclose(file) == 0;
}
