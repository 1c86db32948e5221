/* What both directions of batches share. */
#ifndef SANDLOT_SDK_LIB_BATCH_H
#define SANDLOT_SDK_LIB_BATCH_H

#include <sandlot/sdk/batch.h>

enum { BATCH_SMALL = 64 * 1024, BATCH_TOGETHER = 4 << 20 };

/* Files on their way, and what is known of them. */
struct batch {
    struct sandlot_call *call;
    const struct batch_vendor *vendor;
    const struct sandlot_file *files;
    size_t count;
    const struct sandlot_transfer *transfer;
    bool *told; /* of each: its fate is known, or nobody but the host can find out */
};

/* BATCH.told is to be freed. False when out of memory. */
bool batch_open(struct batch *batch);

void batch_tell(struct batch *batch, size_t index, uint64_t bytes);

/* Is nothing to be hoped from another way? */
bool batch_is_final(enum sandlot_status status);

/* Gives the vendor's own way those that are not told. OTHERS, unless NULL: what to read instead of a file whose source
 * was read already. */
enum sandlot_status batch_move_rest(struct batch *batch, const struct sandlot_source *others);

/* Runs SCRIPT in the sandbox. */
enum sandlot_status batch_run(struct batch *batch, const char *script, const struct sandlot_source *input,
                              const struct sandlot_sink *output);

#endif
