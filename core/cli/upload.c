/* sandlot upload: files of this machine into the sandbox. */
#include "cli/command.h"
#include "cli/transfer_command.h"

int command_upload(const struct options *options)
{
    return transfer_command(options, TRANSFER_UPLOAD);
}
