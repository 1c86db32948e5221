#include "process.h"

#include "message.h"

#include <sandlot/sdk/pause.h>

#include <string.h>

enum {
    FIRST_PAUSE_MS = 20,
    START_MS = 300 * 1000, /* for a worker that still brings the sandbox up, where nobody has set a deadline */
    AGAIN_MS = 10 * 1000,  /* for one that has been there before */
    MOST_BREAKS = 10,      /* of a stream, one after the other, with nothing in between */
    MOST_RESUMES = 9
};

static bool is_transient(const struct refusal *refusal)
{
    return refusal->code <= GRPC_UNAUTHENTICATED && (GRPC_TRANSIENT & GRPC_BIT(refusal->code));
}

/* ---- starting --------------------------------------------------------------------------------------------------- */

static size_t count_words(const char *const *argv)
{
    size_t count = 0;

    while (argv[count])
        count++;
    return count;
}

/* A new sandbox is ready when its worker takes a command; there is nothing to look at before. */
static enum sandlot_status start_patiently(struct sandlot_call *call, struct sandbox *sandbox, const struct rpc *rpc)
{
    bool fresh = sandbox->made_here && !sandbox->proven;
    struct pause pause = {.service = "Modal", .first_ms = FIRST_PAUSE_MS, .limit_ms = fresh ? START_MS : AGAIN_MS};
    struct refusal refusal = {0};
    enum sandlot_status status;

    do {
        status = sandbox_call(call, sandbox, rpc, &refusal, NULL);
        if (status == SANDLOT_OK && refusal.code == GRPC_OK)
            sandbox->proven = true;
        if (status != SANDLOT_OK || refusal.code == GRPC_OK)
            return status;
    } while (is_transient(&refusal) && pause_again(call, &pause, &status));
    return status == SANDLOT_OK ? sandbox_fail(call, sandbox, "start a command", &refusal) : status;
}

enum sandlot_status process_start(struct sandlot_call *call, struct sandbox *sandbox, const char *const *argv,
                                  const char *id, int64_t timeout_s, bool listened, struct process *process)
{
    Modal__TaskExecStartRequest request = MODAL__TASK_EXEC_START_REQUEST__INIT;
    const struct rpc rpc = {.name = "TaskExecStart",
                            .request = &request.base,
                            .accepted = GRPC_TRANSIENT | GRPC_BIT(GRPC_NOT_FOUND) | GRPC_BIT(GRPC_FAILED_PRECONDITION) |
                                        GRPC_BIT(GRPC_RESOURCE_EXHAUSTED)};
    enum sandlot_status status = sandbox_reach(call, sandbox);

    *process = (struct process){.sandbox = sandbox};
    if (id)
        snprintf(process->id, sizeof(process->id), "%s", id);
    else
        grpc_new_key(process->id);
    request.task_id = (char *)sandbox_task(sandbox);
    request.exec_id = process->id;
    request.command_args = (char **)argv;
    request.n_command_args = count_words(argv);
    request.stdout_config = listened ? MODAL__OUTPUT__PIPE : MODAL__OUTPUT__DEVNULL;
    request.stderr_config = MODAL__OUTPUT__DEVNULL;
    request.timeout_secs = (uint32_t)timeout_s;
    return status == SANDLOT_OK ? start_patiently(call, sandbox, &rpc) : status;
}

/* ---- listening -------------------------------------------------------------------------------------------------- */

struct listening {
    struct sandlot_call *call;
    struct process *process;
    const struct sandlot_sink *output;
};

static enum sandlot_status pass_on(void *context, const void *message, size_t length)
{
    struct listening *listening = context;
    AUTO_MESSAGE Modal__TaskExecStdioReadResponse *answer = NULL;
    enum sandlot_status status =
        api_unpack(listening->call, "TaskExecStdioRead", &modal__task_exec_stdio_read_response__descriptor, message,
                   length, &answer);

    if (status != SANDLOT_OK || answer->data.len == 0)
        return status;
    listening->process->received += answer->data.len;
    return listening->output->write(listening->output, answer->data.data, answer->data.len);
}

enum sandlot_status process_read(struct sandlot_call *call, struct process *process, const struct sandlot_sink *output)
{
    Modal__TaskExecStdioReadRequest request = MODAL__TASK_EXEC_STDIO_READ_REQUEST__INIT;
    struct listening listening = {.call = call, .process = process, .output = output};
    const struct rpc rpc = {.name = "TaskExecStdioRead",
                            .request = &request.base,
                            .accepted = GRPC_TRANSIENT | GRPC_BIT(GRPC_NOT_FOUND) | GRPC_BIT(GRPC_FAILED_PRECONDITION),
                            .on_message = pass_on,
                            .context = &listening};
    const struct pause none = {.service = "Modal", .first_ms = FIRST_PAUSE_MS, .looks = MOST_BREAKS + 1};
    struct pause pause = none;

    request.task_id = (char *)sandbox_task(process->sandbox);
    request.exec_id = process->id;
    for (;;) {
        uint64_t before = process->received;
        struct refusal refusal = {0};

        request.offset = before;
        enum sandlot_status status = sandbox_call(call, process->sandbox, &rpc, &refusal, NULL);

        if (status != SANDLOT_OK || refusal.code == GRPC_OK)
            return status;
        if (process->received > before)
            pause = none;
        bool expired = refusal.code == GRPC_UNAUTHENTICATED; /* the key, on the way */

        if ((!is_transient(&refusal) && !expired) || !pause_again(call, &pause, &status))
            return status == SANDLOT_OK ? sandbox_fail(call, process->sandbox, "give the output of a command", &refusal)
                                        : status;
    }
}

/* ---- feeding ---------------------------------------------------------------------------------------------------- */

/* How much has really come, after a write that was refused: its first answer may have been lost. */
static enum sandlot_status ask_written(struct sandlot_call *call, struct process *process, uint64_t *written)
{
    Modal__TaskExecRequest request = MODAL__TASK_EXEC_REQUEST__INIT;
    const struct rpc rpc = {.name = "TaskExecStdinStatus",
                            .request = &request.base,
                            .answer = &modal__task_exec_stdin_status_response__descriptor};
    AUTO_MESSAGE Modal__TaskExecStdinStatusResponse *answer = NULL;

    request.task_id = (char *)sandbox_task(process->sandbox);
    request.exec_id = process->id;
    enum sandlot_status status = sandbox_call(call, process->sandbox, &rpc, NULL, &answer);

    if (status != SANDLOT_OK)
        return status;
    *written = answer->num_bytes_written;
    process->closed = answer->closed;
    return SANDLOT_OK;
}

static enum sandlot_status write_once(struct sandlot_call *call, struct process *process, const void *bytes,
                                      size_t length, bool last, bool after_cancel, struct refusal *refusal)
{
    Modal__TaskExecStdinWriteRequest request = MODAL__TASK_EXEC_STDIN_WRITE_REQUEST__INIT;
    const struct rpc rpc = {.name = "TaskExecStdinWrite",
                            .request = &request.base,
                            .accepted = GRPC_BIT(GRPC_NOT_FOUND) | GRPC_BIT(GRPC_FAILED_PRECONDITION) |
                                        GRPC_BIT(GRPC_ABORTED) | GRPC_BIT(GRPC_OUT_OF_RANGE),
                            .after_cancel = after_cancel};

    request.task_id = (char *)sandbox_task(process->sandbox);
    request.exec_id = process->id;
    request.offset = process->sent;
    request.data = (ProtobufCBinaryData){.len = length, .data = (uint8_t *)bytes};
    request.eof = last;
    return sandbox_call(call, process->sandbox, &rpc, refusal, NULL);
}

enum sandlot_status process_write(struct sandlot_call *call, struct process *process, const void *bytes, size_t length,
                                  bool last)
{
    uint64_t begin = process->sent;

    for (int resumes = 0; !process->closed; resumes++) {
        size_t done = (size_t)(process->sent - begin);
        struct refusal refusal = {0};
        uint64_t written = 0;
        enum sandlot_status status =
            write_once(call, process, (const char *)bytes + done, length - done, last, false, &refusal);

        if (status != SANDLOT_OK)
            return status;
        if (refusal.code == GRPC_OK) {
            process->sent = begin + length;
            process->closed = last;
            return SANDLOT_OK;
        }
        if (refusal.code == GRPC_NOT_FOUND || resumes >= MOST_RESUMES)
            return sandbox_fail(call, process->sandbox, "take the input of a command", &refusal);
        status = ask_written(call, process, &written);
        if (status != SANDLOT_OK)
            return status;
        if (process->closed)
            return SANDLOT_OK; /* it reads no more; what it says tells why */
        if (written < begin || written > begin + length)
            return sandbox_fail(call, process->sandbox, "take the input of a command in order", &refusal);
        process->sent = written;
        if (written == begin + length && !last)
            return SANDLOT_OK;
    }
    return SANDLOT_OK;
}

void process_abandon(struct sandlot_call *call, struct process *process)
{
    struct refusal refusal;

    if (!process->closed)
        write_once(call, process, "", 0, true, true, &refusal);
}
