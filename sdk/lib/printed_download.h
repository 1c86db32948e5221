/* The shell text of printed_download.c. */
#ifndef SANDLOT_SDK_LIB_PRINTED_DOWNLOAD_H
#define SANDLOT_SDK_LIB_PRINTED_DOWNLOAD_H

/* Defines why PATH. */
extern const char printed_download_why_script[];

/* Defines get NUMBER PATH. */
extern const char printed_download_get_script[];

#endif
