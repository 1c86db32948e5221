/* What the provider of Modal makes of a stranger's messages, and of a file that somebody has edited. */
#include "modal.pb-c.h"
#include "profile.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What can be read can be written, in as many bytes as are announced. */
static void read_message(const ProtobufCMessageDescriptor *type, const uint8_t *data, size_t size)
{
    ProtobufCMessage *message = protobuf_c_message_unpack(type, NULL, size, data);

    if (!message)
        return;
    size_t length = protobuf_c_message_get_packed_size(message);
    uint8_t *bytes = malloc(length + 1);

    if (!bytes || protobuf_c_message_pack(message, bytes) != length)
        abort();
    protobuf_c_message_free_unpacked(message, NULL);
    free(bytes);
}

static void read_profile(const uint8_t *data, size_t size)
{
    struct profile profile;
    char reason[80] = "";
    bool read = profile_read((const char *)data, size, size % 2 ? "team" : NULL, &profile, reason, sizeof(reason));

    if (!read && (!*reason || profile.name || profile.token_id))
        abort();
    if (read && size % 2 && profile.name && strcmp(profile.name, "team") != 0)
        abort();
    profile_clear(&profile);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const ProtobufCMessageDescriptor *const types[] = {&modal__sandbox_list_response__descriptor,
                                                              &modal__sandbox_create_response__descriptor,
                                                              &modal__sandbox_get_task_id_response__descriptor,
                                                              &modal__image_join_streaming_response__descriptor,
                                                              &modal__image_list_tags_response__descriptor,
                                                              &modal__task_exec_stdio_read_response__descriptor,
                                                              &modal__rpc_status__descriptor,
                                                              &modal__environment_get_or_create_response__descriptor};
    size_t count = sizeof(types) / sizeof(*types);

    if (size < 1)
        return 0;
    if (data[0] % (count + 1) == count)
        read_profile(data + 1, size - 1);
    else
        read_message(types[data[0] % (count + 1)], data + 1, size - 1);
    return 0;
}
