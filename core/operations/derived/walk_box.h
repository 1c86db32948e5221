/* Made of walk_box.sh, which says what each does. */
#ifndef SANDLOT_OPERATIONS_DERIVED_WALK_BOX_H
#define SANDLOT_OPERATIONS_DERIVED_WALK_BOX_H

extern const char walk_box[];

#endif
