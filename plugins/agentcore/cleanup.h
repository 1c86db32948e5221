/* Owned resources that release themselves at the end of their scope. */
#ifndef SANDLOT_AGENTCORE_CLEANUP_H
#define SANDLOT_AGENTCORE_CLEANUP_H

#include <sandlot/sdk/http.h>
#include <sandlot/sdk/json.h>

#include <stdlib.h>

#define CLEANUP(function) __attribute__((cleanup(function)))

static inline void cleanup_free(void *pointer)
{
    free(*(void **)pointer);
}

static inline void cleanup_document(struct json_object **document)
{
    json_object_put(*document);
}

#define AUTO_FREE CLEANUP(cleanup_free)
#define AUTO_DOCUMENT CLEANUP(cleanup_document)
#define AUTO_RESPONSE CLEANUP(http_response_clear)

#endif
