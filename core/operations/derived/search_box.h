/* Made of search_box.sh, which says what each does. */
#ifndef SANDLOT_OPERATIONS_DERIVED_SEARCH_BOX_H
#define SANDLOT_OPERATIONS_DERIVED_SEARCH_BOX_H

extern const char search_box[];

#endif
