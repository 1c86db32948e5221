/* Putting a new content into the place of a file, for write, edit and upload. */
#ifndef SANDLOT_OPERATIONS_DERIVED_PLACING_H
#define SANDLOT_OPERATIONS_DERIVED_PLACING_H

#include "operations/derived/script.h"

/*
 * Adds shell functions that replace the file $f:
 *
 *   s_follow     follows links from $f to the file $s_g, checks that it may be written, and makes its directories if it
 *                is not there
 *   s_beside     sets $t to where a temporary file may be made: beside $s_g, or in $TMPDIR where its directory takes no
 *                new files. s_clean removes $t from then on
 *   s_target     both, and sees to it that the mode of $t will be that of the file, whose $s_mode, $s_owner and $s_copy
 *                (has it several links?) s_place needs
 *   s_create COMMAND...   runs COMMAND with its output going to a new file $t; ends the script if that fails
 *   s_place      puts $t in the place of $s_g: by rename, or by copying where the file has several links, is a mount,
 *                or the directory takes no new files; when it is its turn, for others may be changing the file too
 *   s_turn, s_replace      the two halves of that, for who looks at the file in between; fd 5 is the file
 */
void script_add_placing(struct script *script);

#endif
