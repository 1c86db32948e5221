/* Putting a new content into the place of a file, for write, edit and upload. */
#ifndef SANDLOT_OPERATIONS_DERIVED_WRITE_H
#define SANDLOT_OPERATIONS_DERIVED_WRITE_H

#include "operations/derived/script.h"

/*
 * Adds shell functions that replace the file $f:
 *
 *   s_target     follows links from $f to the file $s_g, checks that it may be written, and makes its directories if it
 *                is not there; sets $t to where a temporary file may be made, whose mode will be that of the file:
 * beside it, or in $TMPDIR where its directory takes no new files. Of a file that is there $s_size is the size and
 * $s_state, with it, what tells whether it has changed. s_clean removes $t from then on s_create COMMAND...  runs
 * COMMAND with its output going to a new file $t; ends the script if that fails s_check SUM SIZE     ends the script as
 * damaged if $t has not the cksum(1) SUM and SIZE bytes s_place      puts $t in the place of $s_g: by rename, or by
 * copying where the file has several links, is a mount, or the directory takes no new files
 */
void script_add_placing(struct script *script);

#endif
