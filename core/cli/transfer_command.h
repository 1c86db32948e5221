/* What upload and download have in common: pairs of arguments, and a result for each file. */
#ifndef SANDLOT_CLI_TRANSFER_COMMAND_H
#define SANDLOT_CLI_TRANSFER_COMMAND_H

#include "cli/options.h"

enum transfer_direction { TRANSFER_UPLOAD, TRANSFER_DOWNLOAD };

/* Runs the command; the exit status. */
int transfer_command(const struct options *options, enum transfer_direction direction);

#endif
