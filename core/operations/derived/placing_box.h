/* Made of placing_box.sh, which says what each does. */
#ifndef SANDLOT_OPERATIONS_DERIVED_PLACING_BOX_H
#define SANDLOT_OPERATIONS_DERIVED_PLACING_BOX_H

extern const char placing_box[];
extern const char placing_box_links[];
extern const char placing_box_no_folder[];
extern const char placing_box_over[];

#endif
