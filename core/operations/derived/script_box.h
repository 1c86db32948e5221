/* Made of script_box.sh, which says what each does. */
#ifndef SANDLOT_OPERATIONS_DERIVED_SCRIPT_BOX_H
#define SANDLOT_OPERATIONS_DERIVED_SCRIPT_BOX_H

extern const char script_box_prologue[];
extern const char script_box_rare[];

#endif
