/* sandlot cp: upload or download, by which of the two paths begins with an id. */
#include "base/cleanup.h"
#include "cli/command.h"
#include "cli/names.h"
#include "cli/transfer_command.h"
#include "cli/usage.h"

#include <string.h>

/* The path behind "ID:"; NULL: WORD is a path of this machine. As with scp, a colon behind a "/" is one of a name. */
static char *remote_path(char *word)
{
    size_t length = strcspn(word, ":/");

    return length > 0 && word[length] == ':' ? word + length + 1 : NULL;
}

int command_cp(const struct options *options)
{
    char **words = options->arguments;
    char *from = remote_path(words[0]);
    char *to = remote_path(words[1]);

    if (!from == !to)
        return usage_error(options->command, from ? "both are paths in sandboxes; download the one, and upload it again"
                                                  : "neither is a path in a sandbox; write that one as ID:PATH");
    const char *word = from ? words[0] : words[1];
    AUTO_FREE char *id = strndup(word, strcspn(word, ":"));
    char here[] = "."; /* as with scp: where commands start */
    char *pair[] = {from ? from : words[0], from ? words[1] : to, NULL};
    struct options transfer = *options;

    if (!id)
        return usage_error(options->command, "out of memory");
    if (!*pair[from ? 0 : 1])
        pair[from ? 0 : 1] = here;
    AUTO_FREE char *named = names_to_id(options, id);

    transfer.sandbox_id = named ? named : id;
    transfer.arguments = pair;
    return transfer_command(&transfer, from ? TRANSFER_DOWNLOAD : TRANSFER_UPLOAD);
}
