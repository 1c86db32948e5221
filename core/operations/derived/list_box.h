/* Made of list_box.sh, which says what each does. */
#ifndef SANDLOT_OPERATIONS_DERIVED_LIST_BOX_H
#define SANDLOT_OPERATIONS_DERIVED_LIST_BOX_H

extern const char list_box[];

#endif
