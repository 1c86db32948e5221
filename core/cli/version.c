/* sandlot version: the same as --version. */
#include "cli/command.h"
#include "cli/output.h"

#include <sandlot/sandlot.h>

int command_version(const struct options *options)
{
    output_format(options->json ? "{\"version\":\"%s\"}\n" : "sandlot %s\n", SANDLOT_VERSION);
    return output_status(0);
}
