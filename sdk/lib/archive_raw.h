/* Archives for whatever tar(1) a sandbox has. */
#ifndef SANDLOT_SDK_ARCHIVE_RAW_H
#define SANDLOT_SDK_ARCHIVE_RAW_H

#include <sandlot/sdk/archive.h>

/*
 * tar_writer_open without gzip, for an archive in which every name stands as its bytes, with the long names of GNU: GNU
 * tar, BusyBox's and libarchive's all take these, whatever the sandbox's locale. Of the extended headers that
 * tar_writer_open makes of such names BusyBox's takes none.
 */
enum sandlot_status tar_writer_open_raw(struct sandlot_call *call, const struct sandlot_sink *sink,
                                        struct tar_writer **writer);

#endif
