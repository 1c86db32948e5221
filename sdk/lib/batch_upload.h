/* The shell text of batch_upload.c. */
#ifndef SANDLOT_SDK_LIB_BATCH_UPLOAD_H
#define SANDLOT_SDK_LIB_BATCH_UPLOAD_H

/* Unpacks standard input into a new folder s, and runs what is in it. */
extern const char batch_unpacking_script[];

/* Defines D, disks, F, keep and move. */
extern const char batch_placing_script[];

#endif
