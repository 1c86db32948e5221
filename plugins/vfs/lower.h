/*
 * The provider `local`, used by what every provider shows of itself: its library, its entry function, its table. What
 * it keeps goes to a state folder of ours, because it asks the host where that is, and the host of its `open` is us.
 */
#ifndef VFS_LOWER_H
#define VFS_LOWER_H

#include <sandlot/provider.h>

struct lower {
    void *library;
    const struct sandlot_provider *table;
    void *instance;
    bool opened;
};

/* One of its parameters as it would be written after `--param NAME=`. */
struct lower_parameter {
    const char *name;
    const char *text;
};

/*
 * Loads the library FILE, NULL: that of the Sandlot that runs this, and opens the provider with PARAMETERS, which end
 * with a NULL name; all others have their defaults. STATE_HOME takes the place of XDG_STATE_HOME. Strings must live
 * until lower_close, which is to be called in any case.
 */
enum sandlot_status lower_open(struct sandlot_call *call, struct lower *lower, const char *file, const char *state_home,
                               const struct lower_parameter *parameters);
void lower_close(struct lower *lower);

#endif
