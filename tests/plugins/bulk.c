/*
 * A provider whose functions cost nothing, for measuring what is around them. It has one sandbox, `bulk`, with files
 * called by their length: downloading /1000 gives 1000 bytes.
 */
#include <sandlot/provider.h>

#include <stdlib.h>
#include <string.h>

static char block[128 * 1024];

static enum sandlot_status get_or_create(struct sandlot_call *call, void *provider,
                                         const struct sandlot_create *request, void **sandbox)
{
    (void)provider;
    (void)request;
    memset(block, 'x', sizeof(block));
    call->host->created(call, "bulk", "/");
    *sandbox = block;
    return SANDLOT_OK;
}

static enum sandlot_status delete_sandbox(struct sandlot_call *call, void *provider, const char *id)
{
    (void)call;
    (void)provider;
    (void)id;
    return SANDLOT_OK;
}

static enum sandlot_status execute(struct sandlot_call *call, void *provider, void *sandbox,
                                   const struct sandlot_command *command, const struct sandlot_sink *output,
                                   struct sandlot_exit *result)
{
    (void)call;
    (void)provider;
    (void)sandbox;
    (void)command;
    (void)output;
    result->exit_code = 0;
    return SANDLOT_OK;
}

static enum sandlot_status download(struct sandlot_call *call, void *provider, void *sandbox,
                                    const struct sandlot_file *files, size_t count,
                                    const struct sandlot_transfer *transfer)
{
    (void)call;
    (void)provider;
    (void)sandbox;
    for (size_t i = 0; i < count; i++) {
        uint64_t size = strtoull(strrchr(files[i].path, '/') + 1, NULL, 10);
        enum sandlot_status status = SANDLOT_OK;

        for (uint64_t left = size; status == SANDLOT_OK && left > 0;) {
            size_t piece = left < sizeof(block) ? (size_t)left : sizeof(block);

            status = files[i].sink->write(files[i].sink, block, piece);
            left -= piece;
        }
        if (status != SANDLOT_OK)
            return status;
        transfer->done(transfer, i, NULL, size);
    }
    return SANDLOT_OK;
}

static enum sandlot_status upload(struct sandlot_call *call, void *provider, void *sandbox,
                                  const struct sandlot_file *files, size_t count,
                                  const struct sandlot_transfer *transfer)
{
    (void)call;
    (void)provider;
    (void)sandbox;
    for (size_t i = 0; i < count; i++) {
        static _Thread_local char taken[sizeof(block)];
        enum sandlot_status status;
        uint64_t size = 0;
        size_t length;

        do {
            length = 0;
            status = files[i].source->read(files[i].source, taken, sizeof(taken), &length);
            size += length;
        } while (status == SANDLOT_OK && length > 0);
        if (status != SANDLOT_OK)
            return status;
        transfer->done(transfer, i, NULL, size);
    }
    return SANDLOT_OK;
}

static const struct sandlot_provider bulk_provider = {
    SANDLOT_TABLE_WITHOUT_PARAMETERS(bulk),
    .flags = SANDLOT_STREAMS_OUTPUT | SANDLOT_ENDS_WITH_POWER,
    .get_or_create = get_or_create,
    .delete_sandbox = delete_sandbox,
    .execute = execute,
    .upload = upload,
    .download = download,
};

#define BULK_METADATA(M)                                        \
    M(description, "Costs nothing, for measurements and tests") \
    M(working_dir, "/")                                         \
    M(capabilities, "upload download streaming")
SANDLOT_ENTRY_POINT(bulk, BULK_METADATA, SANDLOT_NO_PARAMETERS);
