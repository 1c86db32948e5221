#include "batch.h"

#include <sandlot/sdk/attempt.h>
#include <sandlot/sdk/script.h>
#include <stdlib.h>

bool batch_open(struct batch *batch)
{
    batch->told = calloc(batch->count + 1, sizeof(*batch->told));
    return batch->told != NULL;
}

void batch_tell(struct batch *batch, size_t index, uint64_t bytes)
{
    if (!batch->told[index])
        batch->transfer->done(batch->transfer, index, NULL, bytes);
    batch->told[index] = true;
}

bool batch_is_final(enum sandlot_status status)
{
    return status == SANDLOT_AUTH || status == SANDLOT_CANCELLED || status == SANDLOT_TIMEOUT ||
           status == SANDLOT_NOT_FOUND;
}

/* Some of the files, by their numbers among all. */
struct some {
    struct batch *batch;
    struct sandlot_file files[BATCH_MOVED];
    size_t numbers[BATCH_MOVED];
    size_t count;
};

static void tell_number(const struct sandlot_transfer *transfer, size_t index, const char *error, uint64_t bytes)
{
    const struct some *some = transfer->context;
    size_t number = index < some->count ? some->numbers[index] : SIZE_MAX;

    if (number == SIZE_MAX || some->batch->told[number])
        return;
    some->batch->told[number] = true;
    some->batch->transfer->done(some->batch->transfer, number, error, bytes);
}

static enum sandlot_status move_some(struct some *some)
{
    const struct batch *batch = some->batch;
    const struct sandlot_transfer transfer = {.size = sizeof(transfer), .context = some, .done = tell_number};
    const struct batch_vendor *vendor = batch->vendor;
    enum sandlot_status status = some->count == 0 ? SANDLOT_OK
                                                  : vendor->move(batch->call, vendor->provider, vendor->sandbox,
                                                                 some->files, some->count, &transfer);

    some->count = 0;
    return status;
}

enum sandlot_status batch_move_rest(struct batch *batch, const struct sandlot_source *others)
{
    struct some some = {.batch = batch};
    enum sandlot_status status = SANDLOT_OK;

    for (size_t i = 0; i < batch->count && status == SANDLOT_OK; i++) {
        if (batch->told[i])
            continue;
        some.files[some.count] = batch->files[i];
        if (others && others[i].read)
            some.files[some.count].source = &others[i];
        some.numbers[some.count++] = i;
        if (some.count == BATCH_MOVED)
            status = move_some(&some);
    }
    return status == SANDLOT_OK ? move_some(&some) : status;
}

/* Its failure need not be that of the files: there is another way. */
enum sandlot_status batch_run(struct batch *batch, const char *script, const struct sandlot_source *input,
                              const struct sandlot_sink *output)
{
    const struct script_place place = {
        .provider = batch->vendor->provider, .sandbox = batch->vendor->sandbox, .execute = batch->vendor->execute};
    struct attempt attempt;

    attempt_begin(&attempt, batch->call, 0);
    enum sandlot_status status = script_feed(&attempt.call, &place, script, input, output);

    return batch_is_final(status) ? attempt_fail(&attempt, status) : status;
}
