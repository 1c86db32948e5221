#include <sandlot/sdk/snapshot_name.h>

#include <string.h>

bool snapshot_name_valid(const char *name)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
    const size_t length = strlen(name);

    return length > 0 && length <= SNAPSHOT_NAME_LONGEST && *name != '.' && strspn(name, letters) == length;
}

enum sandlot_status snapshot_name_check(struct sandlot_call *call, const char *name)
{
    return snapshot_name_valid(name)
               ? SANDLOT_OK
               : sandlot_fail(call, SANDLOT_INVALID_ARGUMENT,
                              "\"%.80s\" is no name for a snapshot; take up to %d of the letters a-z, A-Z, 0-9, "
                              "\".\", \"_\" and \"-\", the first no \".\"",
                              name, SNAPSHOT_NAME_LONGEST);
}
