/* Made of process_box.sh, which says what each does: sections for scripts that work on background processes. */
#ifndef SANDLOT_OPERATIONS_DERIVED_PROCESS_BOX_H
#define SANDLOT_OPERATIONS_DERIVED_PROCESS_BOX_H

extern const char process_box_tools[];      /* first in every script; sets s_tools too */
extern const char process_box_supervisor[]; /* sets s_job; before process_box_start */
extern const char process_box_common[];     /* second in every script */

/* The last of a script, one of these. */
extern const char process_box_start[];
extern const char process_box_undo[];
extern const char process_box_list[];
extern const char process_box_look[];
extern const char process_box_signal[];
extern const char process_box_write[];

#endif
