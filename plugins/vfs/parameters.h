/* What a user may say of a sandbox in memory. */
#ifndef VFS_PARAMETERS_H
#define VFS_PARAMETERS_H

#include <sandlot/sdk/parameters.h>

#define VFS_PARAMETERS(P)                                                                            \
    P(integer, size_mb, "256", optional, "memory that the files may take, in MiB")                   \
    P(table, files, "", optional, "files of a new sandbox: path below the working directory = text") \
    P(integer, memory_mb, "1024", optional, "memory of the commands and the files together, in MiB") \
    P(integer, processes, "1024", optional, "processes and threads that the sandbox may have")       \
    P(integer, snapshots_mb, "16384", optional, "memory that snapshots and forks may share, in MiB") \
    P(path, local_library, "", optional, "file of the provider local; without it the one of this Sandlot")

struct parameters {
    VFS_PARAMETERS(PARAMETER_FIELD)
};

#endif
