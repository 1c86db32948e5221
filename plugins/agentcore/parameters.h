/* What a user may say of a session of AgentCore's code interpreter. */
#ifndef SANDLOT_AGENTCORE_PARAMETERS_H
#define SANDLOT_AGENTCORE_PARAMETERS_H

#include <sandlot/provider.h>
#include <sandlot/sdk/parameters.h>

#define AGENTCORE_PARAMETERS(P)                                                                                  \
    P(string, interpreter, "aws.codeinterpreter.v1", optional,                                                   \
      "code interpreter to use: AWS's own, or the id or ARN of one of yours")                                    \
    P(string, region, "", optional, "region; default: AWS_REGION, AWS_DEFAULT_REGION, the profile's, us-west-2") \
    P(string, profile, "", optional, "profile in the shared files of AWS; default: AWS_PROFILE, else default")   \
    P(array, certificates, "", optional, "certificates for the session, as AgentCore's `certificates`")          \
    P(array, filesystems, "", optional, "file systems to mount, as AgentCore's `filesystemConfigurations`")      \
    P(string, base_url, "", optional,                                                                            \
      "address of the API; default: AWS_ENDPOINT_URL_BEDROCK_AGENTCORE, else AgentCore's in the region")

/* The same as a struct; the strings belong to the host. */
struct parameters {
    AGENTCORE_PARAMETERS(PARAMETER_FIELD)
};

#endif
