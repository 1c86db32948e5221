#include "operations/derived/placing.h"

#include "operations/derived/placing_box.h"

void script_add_placing(struct script *script)
{
    script_add(script, placing_box_links);
    script_add(script, placing_box_no_folder);
    script_add(script, placing_box_over);
    script_add(script, placing_box);
}
