/* Owned resources that release themselves at the end of their scope. */
#ifndef SANDLOT_MODAL_CLEANUP_H
#define SANDLOT_MODAL_CLEANUP_H

#include <sandlot/sdk/grpc.h>
#include <sandlot/sdk/json.h>

#include <protobuf-c/protobuf-c.h>
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

/* An answer that was unpacked, of whatever type. */
static inline void cleanup_message(void *pointer)
{
    ProtobufCMessage *message = *(ProtobufCMessage **)pointer;

    if (message)
        protobuf_c_message_free_unpacked(message, NULL);
}

#define AUTO_FREE CLEANUP(cleanup_free)
#define AUTO_DOCUMENT CLEANUP(cleanup_document)
#define AUTO_MESSAGE CLEANUP(cleanup_message)
#define AUTO_ANSWER CLEANUP(grpc_answer_clear)

#endif
