#include "operations/derived/derived.h"
#include "operations/derived/frame.h"
#include "operations/derived/remove_box.h"

int derived_remove(const struct file_call *call, struct sandlot_error *error)
{
    struct script script;

    script_init(&script);
    script_set(&script, "f", call->path);
    script_set(&script, "w", call->session->working_dir);
    script_add(&script, remove_box);
    int failed = frame_run(call, &script, NULL, error);

    script_clear(&script);
    return failed;
}
