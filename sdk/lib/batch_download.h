/* The shell text of batch_download.c. */
#ifndef SANDLOT_SDK_LIB_BATCH_DOWNLOAD_H
#define SANDLOT_SDK_LIB_BATCH_DOWNLOAD_H

/* Defines chunk FIRST PATH...; needs most. */
extern const char batch_chunk_script[];

#endif
