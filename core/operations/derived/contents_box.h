/* Made of contents_box.sh, which says what each does: sections of a script that lists a directory with digests. */
#ifndef SANDLOT_OPERATIONS_DERIVED_CONTENTS_BOX_H
#define SANDLOT_OPERATIONS_DERIVED_CONTENTS_BOX_H

extern const char contents_box_files[];  /* sets s_files */
extern const char contents_box_others[]; /* sets s_others */
extern const char contents_box[];        /* the last of the script */

#endif
