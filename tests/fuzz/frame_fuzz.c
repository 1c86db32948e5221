/*
 * What comes back from a sandbox, which may be anything, for the parser of frames and for a download that lives on it.
 * The first byte says how the rest is cut into pieces; in the rest \1 stands for the beginning of the frame, whose mark
 * is another one each time, and \2 for its end. The same for background processes. A download may succeed only with
 * bytes whose sum the answer holds.
 */
#include "base/cleanup.h"
#include "operations/derived/derived.h"
#include "operations/derived/frame.h"
#include "operations/derived/transfer.h"
#include "operations/process.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { LONGEST = 1 << 20 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct {
    const uint8_t *data;
    size_t size;
    size_t piece;
    bool ended; /* the end of the frame was among what was handed over */
} answer;

/* The mark as the script tells it: "s_a=..." and "s_b='...>'". */
static void find_mark(const char *script, char mark[SCRIPT_MARK + 1])
{
    const char *first = strstr(script, "\ns_a=");
    const char *second = strstr(script, "\ns_b='");

    if (!first || !second)
        abort();
    memcpy(mark, first + 5, SCRIPT_MARK / 2);
    memcpy(mark + SCRIPT_MARK / 2, second + 6, SCRIPT_MARK / 2);
    mark[SCRIPT_MARK] = '\0';
}

static enum sandlot_status write_mark(const struct sandlot_sink *output, const char *mark, bool end)
{
    char text[SCRIPT_MARK + 4];
    int length = snprintf(text, sizeof(text), "<%s%s>", end ? "/" : "", mark);

    answer.ended = answer.ended || end;
    return output->write(output, text, (size_t)length);
}

static enum sandlot_status execute(struct sandlot_call *call, void *provider, void *sandbox,
                                   const struct sandlot_command *command, const struct sandlot_sink *output,
                                   struct sandlot_exit *result)
{
    enum sandlot_status status = SANDLOT_OK;
    char mark[SCRIPT_MARK + 1];

    (void)call, (void)provider, (void)sandbox;
    result->exit_code = 0;
    find_mark(command->command, mark);
    for (size_t at = 0; at < answer.size && status == SANDLOT_OK;) {
        size_t end = at;

        while (end < answer.size && end - at < answer.piece && answer.data[end] > 2)
            end++;
        if (end > at)
            status = output->write(output, answer.data + at, end - at);
        else if (answer.data[at] > 0)
            status = write_mark(output, mark, answer.data[at] == 2);
        at = end > at ? end : at + 1;
    }
    return status;
}

static struct registry_entry entry = {.name = (char *)"fuzz"};
static struct provider provider = {.entry = &entry,
                                   .table = {.size = sizeof(struct sandlot_provider), .execute = execute}};
static struct sandlot_session session = {.provider = &provider, .turn_fd = -1, .working_dir = (char *)"/"};

static int take_word(void *context, const char *name, const char *value, struct sandlot_error *error)
{
    (void)context, (void)error;
    if (strlen(name) > FRAME_NAME || strlen(value) > FRAME_WORD)
        abort();
    return 0;
}

static int take_data(void *context, const char *name, const void *bytes, size_t length, struct sandlot_error *error)
{
    if (strlen(name) > FRAME_NAME)
        abort();
    return length > 0 ? frame_bytes_add(context, bytes, length, error) : 0;
}

static void check(int failed, struct sandlot_error *error)
{
    if (failed != (error->code == SANDLOT_CODE_OK ? 0 : -1) || (!failed && !answer.ended))
        abort();
    sandlot_error_clear(error);
}

static void parse(const struct file_call *call)
{
    struct frame_bytes bytes = {.maximum = LONGEST};
    const struct frame_receiver receiver = {&bytes, take_word, take_data};
    struct sandlot_error error = {0};
    CLEANUP(script_clear) struct script script;

    script_init(&script);
    script_add(&script, "s_end\n");
    answer.ended = false;
    check(frame_run(call, &script, &receiver, &error), &error);
    frame_bytes_clear(&bytes);
}

/* Does the answer hold, blanks apart, the sum of BYTES? */
static bool tells_sum(const char *bytes, size_t length)
{
    AUTO_FREE char *visible = calloc(1, answer.size + 1);
    struct sums sums;
    size_t count = 0;

    sums_init(&sums);
    sums_add(&sums, bytes, length);
    for (size_t i = 0; visible && i < answer.size; i++)
        if (answer.data[i] > ' ' && answer.data[i] < 0x7f)
            visible[count++] = (char)answer.data[i];
    for (char *at = visible; at && (at = strstr(at, "sum:")); at += 4) {
        AUTO_FREE char *told = strdup(at + 4);

        if (told && strchr(told, ';')) {
            *strchr(told, ';') = '\0';
            if (sums_match(&sums, told))
                return true;
        }
    }
    return false;
}

static void download(const struct file_call *call)
{
    struct sandlot_error error = {0};
    uint64_t length = 0;
    AUTO_CLOSE int fd = memfd_create("download", MFD_CLOEXEC);
    static char bytes[LONGEST];

    answer.ended = false;
    int failed = derived_download(call, fd, &length, &error);
    ssize_t got = pread(fd, bytes, sizeof(bytes), 0);

    if (!failed && (got < 0 || (uint64_t)got != length || !tells_sum(bytes, (size_t)got)))
        abort();
    check(failed, &error);
}

static void download_some(const struct file_call *call)
{
    static char bytes[LONGEST];
    struct small_file files[] = {{.path = "/x"}, {.path = "/y"}, {.path = "/z"}};
    const size_t count = sizeof(files) / sizeof(files[0]);
    size_t length = 0;

    answer.ended = false;
    size_t tried = derived_download_some(call, files, count, bytes, sizeof(bytes));

    if (tried == 0 || tried > count)
        abort();
    for (size_t i = 0; i < count; i++) {
        if (!files[i].moved)
            continue;
        if (!answer.ended || (const char *)files[i].bytes != bytes + length)
            abort();
        length += files[i].length;
    }
    if (length > 0 && !tells_sum(bytes, length))
        abort();
}

static bool see_process(void *context, struct sandlot_process *process)
{
    (void)context;
    if (!process->command || strlen(process->id) >= sizeof(process->id) || process->exit_code > 255)
        abort();
    sandlot_process_clear(process);
    return true;
}

static bool see_output(void *context, uint64_t offset, const void *bytes, size_t length)
{
    uint64_t *seen = context;

    (void)offset;
    *seen += length;
    return length > 0 && bytes;
}

static void processes(const struct file_call *call)
{
    uint64_t seen = 0;
    const struct process_look look = {.number = 1,
                                      .id = "p1",
                                      .log = true,
                                      .most = 4096,
                                      .with_command = true,
                                      .output = see_output,
                                      .context = &seen};
    struct process_sight sight = {.process.size = sizeof(sight.process)};
    struct sandlot_error error = {0};

    answer.ended = false;
    check(derived_processes.list(call, see_process, NULL, &error), &error);
    answer.ended = false;
    check(derived_processes.look(call, &look, &sight, &error), &error);
    if (seen > look.most || seen != sight.handed)
        abort();
    sandlot_process_clear(&sight.process);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct file_call call = {.session = &session,
                                   .verb = FILE_DOWNLOAD,
                                   .path = "/x",
                                   .shown = "x",
                                   .deadline_ms = sandlot_now_ms() + 60000,
                                   .cancel_fd = -1};

    if (size == 0)
        return 0;
    transfer_pause_ms = 0;
    answer.data = data + 1;
    answer.size = size - 1;
    answer.piece = data[0] + 1U;
    parse(&call);
    processes(&call);
    download(&call);
    download_some(&call);
    return 0;
}
