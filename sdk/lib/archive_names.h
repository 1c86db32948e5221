/* Which names an archive may hold. */
#ifndef SANDLOT_SDK_ARCHIVE_NAMES_H
#define SANDLOT_SDK_ARCHIVE_NAMES_H

/* NAME without leading "./" and trailing "/", shortened in place; "." for the folder itself. NULL if it is empty,
 * absolute, or has a "..". */
char *sdk_archive_name(char *name);

#endif
