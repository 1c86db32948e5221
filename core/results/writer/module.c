/* What the module shows: one table. */
#include "results/writer/archive.h"
#include "results/writer/patch.h"

extern const struct writer_module sandlot_results_writer;

__attribute__((visibility("default"))) const struct writer_module sandlot_results_writer = {
    .version = SANDLOT_VERSION,
    .patch = patch_write,
    .archive_open = archive_begin,
    .archive_add = archive_add,
    .archive_close = archive_end,
};
