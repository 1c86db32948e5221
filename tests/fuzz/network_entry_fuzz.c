/* Entries of what a sandbox may reach: any bytes. What is taken is canonical, and reads as itself. */
#include "network/entry.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const struct network_entry *entry)
{
    char *text = network_entry_text(entry->kind, entry->text, entry->port);
    char *problem = NULL;
    struct network_entry again;

    if (!text || strpbrk(entry->text, " *%@\\\"'$") || !network_entry_parse(text, &again, &problem) ||
        !network_entry_equal(entry, &again))
        abort();
    network_entry_clear(&again);
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *written = malloc(size + 1);
    char *problem = NULL;
    struct network_entry entry;

    if (!written)
        return 0;
    memcpy(written, data, size);
    written[size] = '\0';
    if (network_entry_parse(written, &entry, &problem))
        check(&entry);
    else if (!problem || entry.text)
        abort();
    network_entry_clear(&entry);
    free(problem);
    free(written);
    return 0;
}
