/* What is read of a folder's manifest, and of a sandbox's list of its files: the first byte says which. */
#include "operations/derived/contents.h"
#include "results/manifest.h"
#include "results/risk.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int look(void *context, const struct content *content, struct sandlot_error *error)
{
    (void)error;
    *(size_t *)context += content->path[0] + (content->digest ? 1u : 0u) + (content->target ? 1u : 0u);
    if (node_path_valid(content->path) && risk_of_path(content->path))
        *(size_t *)context += risk_leads_out(content->path, content->target ? content->target : "");
    return 0;
}

/* What can be read is written, and read again as the same. */
static void check_manifest(const struct manifest *manifest)
{
    struct sandlot_error error = {0};
    struct manifest back = {0};
    size_t length = 0;
    char *text = manifest_write(manifest, &length);

    if (!text || manifest_read(text, length, &back, &error) < 0 || back.nodes.count != manifest->nodes.count)
        abort();
    for (size_t i = 0; i < back.nodes.count; i++)
        if (!node_same(&back.nodes.items[i], &manifest->nodes.items[i]))
            abort();
    manifest_clear(&back);
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct sandlot_error error = {0};
    struct manifest manifest = {0};
    size_t seen = 0;

    if (size == 0)
        return 0;
    if (data[0] & 1)
        contents_read((const char *)data + 1, size - 1, look, &seen, &error);
    else if (manifest_read((const char *)data + 1, size - 1, &manifest, &error) == 0)
        check_manifest(&manifest);
    manifest_clear(&manifest);
    sandlot_error_clear(&error);
    return 0;
}
