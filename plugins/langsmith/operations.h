/* What is done in a sandbox, by the file that it stands in. */
#ifndef SANDLOT_LANGSMITH_OPERATIONS_H
#define SANDLOT_LANGSMITH_OPERATIONS_H

#include "sandbox.h"

/* command.c: commands, over the data plane. */
FUNCTION_OF(sandlot_provider, execute, command_execute);

/* Runs SCRIPT, which removes what is of no use, in less than a second, and never minds what comes of it. */
void command_clean_up(struct sandlot_call *call, struct sandbox *sandbox, const char *script);

/* files.c: files, over the data plane. */
FUNCTION_OF(sandlot_provider, upload, files_upload);
FUNCTION_OF(sandlot_provider, download, files_download);

/* Writes LENGTH bytes of SOURCE to the file PATH. */
enum sandlot_status files_put(struct sandlot_call *call, struct sandbox *sandbox, const char *path,
                              const struct sandlot_source *source, uint64_t length);

/* ports.c: where LangSmith has the ports of a sandbox, "service URLs". */
FUNCTION_OF(http_relay, find, ports_find);

/* tunnel.c: any bytes to ports. As connect_port of the ABI. *MISSING: this deployment has no tunnel; then nobody has
 * been told anything. */
enum sandlot_status tunnel_connect(struct sandlot_call *call, struct sandbox *sandbox,
                                   const struct sandlot_connection *connection, bool *missing);

#endif
