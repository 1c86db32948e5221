/*
 * The provider `agentcore`: sessions of Amazon Bedrock AgentCore's code interpreter. create.c and sandbox.c make and
 * find them, lifecycle.c lists and ends them; invoke.c uses their tools, nursery.c and command.c run commands by these,
 * staging.c, upload.c and download.c move files; api.c signs and sends.
 */
#include "api.h"
#include "check.h"
#include "command.h"
#include "download.h"
#include "lifecycle.h"
#include "sandbox.h"
#include "upload.h"

PARAMETER_OBJECT(agentcore, AGENTCORE_PARAMETERS, struct agentcore, api_init, api_clear)

static const struct sandlot_provider agentcore_provider = {
    SANDLOT_TABLE(agentcore),
    .close = agentcore_close,
    .get_or_create = sandbox_get_or_create,
    .release = sandbox_release,
    .delete_sandbox = lifecycle_delete,
    .list = lifecycle_list,
    .execute = command_execute,
    .upload = upload_files,
    .download = download_files,
    .check = check_credentials,
};

#define AGENTCORE_METADATA(M)                                                                          \
    M(description, "Code interpreters of Amazon Bedrock AgentCore")                                    \
    M(package, "sandlot-provider-agentcore")                                                           \
    M(working_dir, WORKING_DIR)                                                                        \
    M(capabilities, "list upload download check")                                                      \
    M(inside_network, "There is what the interpreter was made with; AWS's own reaches storage alone.") \
    M(environment, "AWS_ENDPOINT_URL_BEDROCK_AGENTCORE " HTTP_ENVIRONMENT)                             \
    M(environment, "AWS_USE_FIPS_ENDPOINT AWS_USE_DUALSTACK_ENDPOINT")                                 \
    AWS_METADATA(M)                                                                                    \
    M(inside, "A Linux machine of Amazon Bedrock AgentCore; you are an ordinary user.")                \
    M(inside, "You may write in the working directory. Its files are gone after eight hours at most.")
SANDLOT_ENTRY_POINT(agentcore, AGENTCORE_METADATA, AGENTCORE_PARAMETERS);
