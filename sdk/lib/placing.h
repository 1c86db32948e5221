/* The shell text of placing.c. */
#ifndef SANDLOT_SDK_LIB_PLACING_H
#define SANDLOT_SDK_LIB_PLACING_H

/* Defines place; needs s. */
extern const char placing_script_text[];

#endif
