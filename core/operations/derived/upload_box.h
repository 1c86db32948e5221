/* Made of upload_box.sh, which says what each does. */
#ifndef SANDLOT_OPERATIONS_DERIVED_UPLOAD_BOX_H
#define SANDLOT_OPERATIONS_DERIVED_UPLOAD_BOX_H

extern const char upload_box_some[];
extern const char upload_box_some_end[];
extern const char upload_box_feed[];
extern const char upload_box_piece[];

#endif
