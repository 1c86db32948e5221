/* sandlot download: files of the sandbox onto this machine. */
#include "cli/command.h"
#include "cli/transfer_command.h"

int command_download(const struct options *options)
{
    return transfer_command(options, TRANSFER_DOWNLOAD);
}
