/* What the provider of Kubernetes makes of a file that somebody has edited, and of a stranger's Status. */
#include "status.h"
#include "yaml_document.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What was read can be written as JSON; what was not says why. */
static void read_yaml(const char *text, size_t size)
{
    char reason[128] = "";
    struct json_object *document = yaml_read(text, size, reason, sizeof(reason));

    if (!document && !*reason)
        abort();
    if (document && !json_object_to_json_string(document))
        abort();
    json_object_put(document);
}

static void read_status(const char *text, size_t size)
{
    struct exec_status status;

    if (!status_read(text, size, &status))
        return;
    if (status.exit_code < 0 || status.exit_code > 255 || (status.ran && *status.why))
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 1)
        return 0;
    if (data[0] % 2)
        read_yaml((const char *)data + 1, size - 1);
    else
        read_status((const char *)data + 1, size - 1);
    return 0;
}
