/* Answers that were unpacked release themselves at the end of their scope, as in sandlot/sdk/cleanup.h. */
#ifndef SANDLOT_MODAL_MESSAGE_H
#define SANDLOT_MODAL_MESSAGE_H

#include <sandlot/sdk/cleanup.h>
#include <sandlot/sdk/grpc.h>

#include <protobuf-c/protobuf-c.h>

/* An answer of whatever type. */
static inline void cleanup_message(void *pointer)
{
    ProtobufCMessage *message = *(ProtobufCMessage **)pointer;

    if (message)
        protobuf_c_message_free_unpacked(message, NULL);
}

#define AUTO_MESSAGE CLEANUP(cleanup_message)
#define AUTO_ANSWER CLEANUP(grpc_answer_clear)

#endif
