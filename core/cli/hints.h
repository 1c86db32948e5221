/* What people type who know other tools, and what it is called here. */
#ifndef SANDLOT_CLI_HINTS_H
#define SANDLOT_CLI_HINTS_H

/* The sentence about a command or an option of that name; NULL: there is none. */
const char *hint_for(const char *word);

#endif
