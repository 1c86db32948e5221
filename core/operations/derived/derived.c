/* Files of a sandbox through commands in it: what is needed is a POSIX shell and the small tools that BusyBox has too.
 */
#include "operations/derived/derived.h"

const struct file_route derived_route = {
    .read = derived_read,
    .write = derived_write,
    .edit = derived_edit,
    .list = derived_list,
    .find = derived_find,
    .search = derived_search,
    .remove = derived_remove,
    .upload = derived_upload,
    .upload_some = derived_upload_some,
    .download = derived_download,
    .download_some = derived_download_some,
    .make_directory = derived_make_directory,
    .tree = derived_tree,
};
