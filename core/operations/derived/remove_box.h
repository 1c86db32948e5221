/* Made of remove_box.sh, which says what each does. */
#ifndef SANDLOT_OPERATIONS_DERIVED_REMOVE_BOX_H
#define SANDLOT_OPERATIONS_DERIVED_REMOVE_BOX_H

extern const char remove_box[];

#endif
