/* Made of edit_box.sh, which says what each does. */
#ifndef SANDLOT_OPERATIONS_DERIVED_EDIT_BOX_H
#define SANDLOT_OPERATIONS_DERIVED_EDIT_BOX_H

extern const char edit_box_checking[];
extern const char edit_box_replacing[];
extern const char edit_box_holding[];
extern const char edit_box_editing[];
extern const char edit_box_with_awk[];

#endif
