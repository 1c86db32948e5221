/* A provider without a note: not found by its file, but usable by class_path. */
#include "nothing.h"

static const struct sandlot_provider table = {
    SANDLOT_TABLE_WITHOUT_PARAMETERS(no_note),
    NOTHING_FUNCTIONS,
};

SANDLOT_EXPORT const struct sandlot_provider *no_note(struct sandlot_call *call);

const struct sandlot_provider *no_note(struct sandlot_call *call)
{
    (void)call;
    return &table;
}
