/* How remote_command_run spends time. */
#ifndef SANDLOT_SDK_REMOTE_COMMAND_PACE_H
#define SANDLOT_SDK_REMOTE_COMMAND_PACE_H

#include <sandlot/sdk/remote_command.h>

struct remote_pace {
    int linger_s;           /* how long the sandbox remembers the end of a command after telling it */
    int64_t first_pause_ms; /* after an answer that was lost; then twice as long each time */
    int64_t longest_pause_ms;
    int64_t give_up_ms; /* without progress */
    int most_failures;  /* in a row */
    int64_t grace_ms;   /* beyond a command's time limit, which the sandbox itself keeps */
    int64_t answer_ms;  /* how long the answer to the last script of a command with a time limit may take beyond that
                           script's end; 0: as long as the channel waits */
};

/* remote_command_run at another pace: for tests. */
enum sandlot_status remote_command_run_at(struct sandlot_call *call, const struct remote_channel *channel,
                                          const struct sandlot_command *command, const struct sandlot_sink *output,
                                          struct sandlot_exit *result, const struct remote_pace *pace);

#endif
