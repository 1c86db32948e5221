#include "operations/native/native.h"

const struct file_route native_route = {
    .read = native_read,
    .write = native_write,
    .edit = native_edit,
    .list = native_list,
    .find = native_find,
    .search = native_search,
    .remove = native_remove,
    .upload = native_upload,
    .download = native_download,
    .make_directory = native_make_directory,
    .tree = native_tree,
};
