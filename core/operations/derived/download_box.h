/* Made of download_box.sh, which says what each does. */
#ifndef SANDLOT_OPERATIONS_DERIVED_DOWNLOAD_BOX_H
#define SANDLOT_OPERATIONS_DERIVED_DOWNLOAD_BOX_H

extern const char download_box[];
extern const char download_box_some[];

#endif
