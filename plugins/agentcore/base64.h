/* Bytes as AgentCore takes them. */
#ifndef SANDLOT_AGENTCORE_BASE64_H
#define SANDLOT_AGENTCORE_BASE64_H

#include <stddef.h>

/* Writes LENGTH bytes as base64 to OUT, without a NUL. Returns the number of characters: four for every three begun. */
size_t base64_write(char *out, const unsigned char *bytes, size_t length);

#endif
