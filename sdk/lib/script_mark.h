/* How remote_command_run tells a script of the SDK from a command of somebody who watches it. */
#ifndef SANDLOT_SDK_SCRIPT_MARK_H
#define SANDLOT_SDK_SCRIPT_MARK_H

/* Among the flags of struct sandlot_command, where no host sets it; an execute that does not know it ignores it. */
enum { SCRIPT_MARK = 1 << 30 };

#endif
