/* sandlot mcp --print-config: what to write into the configuration of a host. */
#ifndef SANDLOT_CLI_MCP_CONFIG_H
#define SANDLOT_CLI_MCP_CONFIG_H

#include "cli/context.h"

/* Prints the snippet for the host that the options name; the exit status. */
int mcp_print_config(const struct context *context);

#endif
