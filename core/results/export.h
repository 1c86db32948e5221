/* What has changed, as a patch or an archive. */
#ifndef SANDLOT_RESULTS_EXPORT_H
#define SANDLOT_RESULTS_EXPORT_H

#include "results/judge.h"
#include "results/writer.h"

/* Writes the changes as FORMAT. SKIP_LARGE: a file that no patch can hold is passed over instead of an error. 0 or -1;
 * a sink that wants no more is no error. */
int export_write(struct results *results, enum sandlot_export_format format, bool skip_large, writer_sink sink,
                 void *context, struct sandlot_error *error);

/* Is it in a patch, apart from its size? */
bool export_is_patched(const struct change *change);

/* Is it too large for one? */
bool export_too_large(const struct change *change);

/* CHANGE as an object of JSON, the same in every answer. */
struct json_object *export_object(const struct sandlot_change *change);

#endif
