#include "operations/derived/transfer.h"

#include "base/error.h"
#include "base/text.h"

#include <errno.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum {
    SLOWEST_RATE = 16, /* bytes per ms: what is slower is given up */
    LONGEST_STEP_MS = 24 * 60 * 60 * 1000
};

int transfer_pause_ms = 200;

struct file_call transfer_step(const struct file_call *call, uint64_t bytes)
{
    struct file_call step = *call;
    uint64_t extra = bytes / SLOWEST_RATE;
    int64_t deadline_ms =
        sandlot_now_ms() + FILE_STALL_MS + (extra < LONGEST_STEP_MS ? (int64_t)extra : LONGEST_STEP_MS);

    if (step.deadline_ms == 0 || step.deadline_ms > deadline_ms)
        step.deadline_ms = deadline_ms;
    return step;
}

bool transfer_again(const struct file_call *call, int tries, const struct sandlot_error *why)
{
    struct pollfd cancel = {call->cancel_fd, POLLIN, 0};
    bool passing = why->code == SANDLOT_CODE_NETWORK || why->code == SANDLOT_CODE_TIMEOUT ||
                   why->code == SANDLOT_CODE_TRUNCATED_TRANSPORT;

    if (!passing || tries >= TRANSFER_TRIES || (call->deadline_ms && sandlot_now_ms() >= call->deadline_ms))
        return false;
    return poll(&cancel, 1, transfer_pause_ms << (tries - 1)) <= 0;
}

void sums_init(struct sums *sums)
{
    sums->cksum = (struct cksum){0};
    MD5Init(&sums->md5);
}

void sums_add(struct sums *sums, const void *bytes, size_t length)
{
    cksum_add(&sums->cksum, bytes, length);
    MD5Update(&sums->md5, bytes, length);
}

/* In hex, of all so far. */
static void md5_text(const struct sums *sums, char text[MD5_DIGEST_STRING_LENGTH])
{
    MD5_CTX copy = sums->md5;

    MD5End(&copy, text);
}

void sums_text(const struct sums *sums, char text[SUMS_TEXT])
{
    char md5[MD5_DIGEST_STRING_LENGTH];

    md5_text(sums, md5);
    snprintf(text, SUMS_TEXT, "%lu %s", (unsigned long)cksum_value(&sums->cksum), md5);
}

bool sums_match(const struct sums *sums, const char *text)
{
    char sum[SUMS_TOLD + 1];

    snprintf(sum, sizeof(sum), "%lu%llu", (unsigned long)cksum_value(&sums->cksum),
             (unsigned long long)sums->cksum.bytes);
    if (strcmp(text, sum) == 0)
        return true;
    md5_text(sums, sum);
    return strncmp(text, sum, strlen(sum)) == 0 && strcmp(text + strlen(sum), "-") == 0;
}

void script_add_sums(struct script *script)
{
    script_add(
        script,
        "if command -v cksum; then s_q=cksum; elif command -v md5sum; then s_q=md5sum; else s_q=; fi >/dev/null\n"
        "[ \"$s_q\" ] || s_need cksum\n"
        "s_sum() { echo \"$1:\"; $s_q; echo ';'; }\n"
        "s_same() {\n"
        "s_x=$($s_q)\n"
        "[ \"${s_x%% *}\" = \"$1\" ] || [ \"${s_x%% *}\" = \"$2\" ] || s_fail damaged\n"
        "}\n");
}

/* Until something can be read. */
static int wait_for_input(const struct file_call *call, int fd, struct sandlot_error *error)
{
    struct pollfd fds[2] = {{fd, POLLIN, 0}, {call->cancel_fd, POLLIN, 0}};

    for (;;) {
        int64_t left = call->deadline_ms ? call->deadline_ms - sandlot_now_ms() : FILE_STALL_MS;
        int ready = poll(fds, 2, left <= 0 ? 0 : left < FILE_STALL_MS ? (int)left : FILE_STALL_MS);

        if (ready < 0 && errno == EINTR)
            continue;
        if (ready < 0)
            return error_set(error, SANDLOT_CODE_INTERNAL_ERROR, "cannot read what is to be uploaded to '%s': %s",
                             call->shown, strerror(errno));
        if (fds[1].revents)
            return error_set(error, SANDLOT_CODE_CANCELLED, "the transfer of '%s' was cancelled", call->shown);
        if (ready == 0)
            return error_set(error, SANDLOT_CODE_TIMEOUT, "nothing more came of what is to be uploaded to '%s'",
                             call->shown);
        return 0;
    }
}

ptrdiff_t transfer_read(const struct file_call *call, int fd, void *buffer, size_t size, struct sandlot_error *error)
{
    size_t length = 0;

    while (length < size) {
        if (wait_for_input(call, fd, error) < 0)
            return -1;
        ssize_t got = read(fd, (char *)buffer + length, size - length);

        if (got < 0 && errno != EINTR && errno != EAGAIN)
            return error_set(error, SANDLOT_CODE_INTERNAL_ERROR, "cannot read what is to be uploaded to '%s': %s",
                             call->shown, strerror(errno));
        if (got == 0)
            break;
        length += got > 0 ? (size_t)got : 0;
    }
    return (ptrdiff_t)length;
}
