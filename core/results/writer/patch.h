/* Patches in git's format, of single files whose bytes are at hand. */
#ifndef SANDLOT_RESULTS_WRITER_PATCH_H
#define SANDLOT_RESULTS_WRITER_PATCH_H

#include "results/writer.h"

/* As `patch` of struct writer_module. */
const char *patch_write(const char *path, const struct writer_side *before, const struct writer_side *after,
                        writer_sink sink, void *context);

#endif
