/* Background processes where only commands reach the files: one script for each question. */
#include "operations/process.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "operations/derived/frame.h"
#include "operations/derived/process_box.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum {
    LIST_MAXIMUM = 8 << 20,  /* bytes of all processes with the beginnings of their commands */
    PIECE_MAXIMUM = 1 << 20, /* bytes of log in one answer; what is more is fetched as a file */
    ANSWER_MAXIMUM = PIECE_MAXIMUM + PROCESS_COMMAND + 1,
    MOST_PIECES = 256,        /* of a log, as many as it has segments */
    WORD_IDS = 240,           /* of those that there are */
    FETCH_MS = 10 * 60 * 1000 /* for one segment of a log, of 16 MiB at most */
};

/* ---- list ---- */

static int take_list(void *context, const char *name, const void *bytes, size_t length, struct sandlot_error *error)
{
    (void)name;
    return frame_bytes_add(context, bytes, length, error);
}

/* One process: TEXT is "NUMBER,FACTS\nCOMMAND". */
static int read_entry(const char *text, size_t length, struct sandlot_process *process, struct sandlot_error *error)
{
    const char *line_end = memchr(text, '\n', length);
    const char *comma = line_end ? memchr(text, ',', (size_t)(line_end - text)) : NULL;
    uint64_t number;
    char facts[FRAME_WORD + 1];

    if (!comma || !process_number(text, (size_t)(comma - text), &number) || line_end - comma > FRAME_WORD)
        return frame_damaged(error, "a line of the list of processes makes no sense");
    snprintf(facts, sizeof(facts), "%.*s", (int)(line_end - comma - 1), comma + 1);
    process_set_id(process, number);
    size_t command = length - (size_t)(line_end + 1 - text);

    if (command > PROCESS_COMMAND + 1)
        return frame_damaged(error, "a command in the list of processes is too long");
    if (process_read_facts(facts, process, error) < 0)
        return -1;
    return process_set_command(process, line_end + 1, command) ? 0 : error_no_memory(error);
}

static int read_entries(const struct frame_bytes *list, bool (*each)(void *context, struct sandlot_process *process),
                        void *context, struct sandlot_error *error)
{
    const char *at = list->bytes;
    const char *end = at + list->length;

    for (size_t count = 0; at < end && count < PROCESS_MOST; count++) {
        const char *nul = memchr(at, '\0', (size_t)(end - at));
        struct sandlot_process process = {.size = sizeof(process)};

        if (!nul)
            return frame_damaged(error, "the end of the list of processes is missing");
        if (read_entry(at, (size_t)(nul - at), &process, error) < 0) {
            sandlot_process_clear(&process);
            return -1;
        }
        if (!each(context, &process))
            return 0;
        at = nul + 1;
    }
    return 0;
}

static void begin_script(struct script *script)
{
    script_init(script);
    script_add(script, "s_home=${HOME-}\n");
    script_add(script, process_box_tools);
}

static int list(const struct file_call *call, bool (*each)(void *context, struct sandlot_process *process),
                void *context, struct sandlot_error *error)
{
    struct frame_bytes received = {.maximum = LIST_MAXIMUM};
    const struct frame_receiver receiver = {.context = &received, .data = take_list};
    struct script script;

    begin_script(&script);
    script_add(&script, "s_all=1\n");
    script_add(&script, process_box_common);
    script_add(&script, process_box_list);
    int failed = frame_run(call, &script, &receiver, error);

    script_clear(&script);
    if (!failed && received.bytes)
        failed = read_entries(&received, each, context, error);
    frame_bytes_clear(&received);
    return failed;
}

/* ---- look ---- */

/* LENGTH bytes of the log, from byte AT on. */
struct piece {
    uint64_t at;
    size_t length;
};

/* What one script tells of one process. Whoever wants the log gets it when the script has ended: how long that takes
 * him is no matter of the command's deadline. */
struct receiving {
    const struct process_look *look;
    struct process_sight *sight;
    struct frame_bytes bytes; /* of all pieces, and of the record that comes */
    struct piece pieces[MOST_PIECES];
    size_t count;
    uint64_t at; /* of what comes next */
    bool has_facts;
    char refused[FRAME_WORD + 1];
    char segment[FRAME_WORD + 1]; /* what is to be fetched as a file; "": nothing */
};

static int take_word(void *context, const char *name, const char *value, struct sandlot_error *error)
{
    struct receiving *receiving = context;

    if (strcmp(name, "facts") == 0) {
        receiving->has_facts = true;
        return process_read_facts(value, &receiving->sight->process, error);
    }
    if (strcmp(name, "at") == 0)
        return frame_number(value, &receiving->at, error);
    snprintf(strcmp(name, "segment") == 0 ? receiving->segment : receiving->refused, sizeof(receiving->refused), "%s",
             value);
    return 0;
}

/* LENGTH bytes at sight->next for the caller, no more than were wanted. */
static void hand_out(const struct process_look *look, struct process_sight *sight, const char *bytes, size_t length)
{
    if (length > look->most - sight->handed)
        length = (size_t)(look->most - sight->handed);
    if (length == 0 || sight->stopped)
        return;
    sight->stopped = !look->output(look->context, sight->next, bytes, length);
    sight->next += length;
    sight->handed += length;
}

/* The last LENGTH bytes that came are those at receiving->at. */
static int add_piece(struct receiving *receiving, size_t length, struct sandlot_error *error)
{
    struct piece *last = receiving->count > 0 ? &receiving->pieces[receiving->count - 1] : NULL;

    if (last && last->at + last->length == receiving->at)
        last->length += length;
    else if (receiving->count == MOST_PIECES)
        return frame_damaged(error, "a log has more gaps than segments");
    else
        receiving->pieces[receiving->count++] = (struct piece){receiving->at, length};
    receiving->at += length;
    return 0;
}

static size_t length_of_pieces(const struct receiving *receiving)
{
    size_t length = 0;

    for (size_t i = 0; i < receiving->count; i++)
        length += receiving->pieces[i].length;
    return length;
}

static int take_data(void *context, const char *name, const void *bytes, size_t length, struct sandlot_error *error)
{
    struct receiving *receiving = context;
    struct frame_bytes *all = &receiving->bytes;

    if (frame_bytes_add(all, bytes, length, error) < 0)
        return -1;
    if (length > 0)
        return 0;
    /* Now it is known to be whole. */
    const size_t begin = length_of_pieces(receiving);

    length = all->length - begin;
    if (strcmp(name, "bytes") == 0)
        return add_piece(receiving, length, error);
    if (!process_set_command(&receiving->sight->process, all->bytes + begin,
                             length <= PROCESS_COMMAND ? length : PROCESS_COMMAND + 1))
        return error_no_memory(error);
    all->length = begin;
    return 0;
}

static void hand_out_pieces(const struct receiving *receiving)
{
    struct process_sight *sight = receiving->sight;
    const char *bytes = receiving->bytes.bytes;

    for (size_t i = 0; i < receiving->count && !sight->stopped && sight->handed < receiving->look->most; i++) {
        sight->next = receiving->pieces[i].at;
        hand_out(receiving->look, sight, bytes, receiving->pieces[i].length);
        bytes += receiving->pieces[i].length;
    }
    if (!sight->stopped && sight->handed < receiving->look->most)
        sight->next = receiving->at;
}

/* What lies in the segment, which FD holds, from the byte on that is wanted. */
static int hand_out_file(const struct process_look *look, struct process_sight *sight, int fd, uint64_t first,
                         struct sandlot_error *error)
{
    AUTO_FREE char *buffer = malloc(PIECE_MAXIMUM);

    if (!buffer)
        return error_no_memory(error);
    while (!sight->stopped && sight->handed < look->most) {
        ssize_t got = pread(fd, buffer, PIECE_MAXIMUM, (off_t)(sight->next - first));

        if (got <= 0)
            break;
        hand_out(look, sight, buffer, (size_t)got);
    }
    return 0;
}

/* What came of fetching a segment: FETCH_GONE: it has been removed meanwhile, being the oldest. */
enum fetched { FETCH_FAILED = -1, FETCH_DONE, FETCH_GONE };

/* A file that goes while it is fetched is not found, or has changed; what else is wrong the next question tells. */
static enum fetched what_failed(const struct sandlot_error *why, struct sandlot_error *error)
{
    if (why->code == SANDLOT_CODE_FILE_NOT_FOUND || why->code == SANDLOT_CODE_PROVIDER_ERROR)
        return FETCH_GONE;
    error_set(error, why->code, "%s", why->message);
    return FETCH_FAILED;
}

/* RECEIVING->segment is "FIRST,AT,PATH": more than an answer is to carry. By the way that files go, which is the
 * provider's own where it has one. */
static enum fetched fetch(const struct file_call *call, struct receiving *receiving, struct sandlot_error *error)
{
    unsigned long long first;
    unsigned long long at;
    int path_at = 0;
    uint64_t bytes = 0;
    AUTO_CLOSE int fd = memfd_create("sandlot-log", MFD_CLOEXEC);

    if (fd < 0)
        return error_no_memory(error);
    if (sscanf(receiving->segment, "%18llu,%18llu,%n", &first, &at, &path_at) != 2 ||
        receiving->segment[path_at] != '/' || at < first)
        return frame_damaged(error, "the place of a part of a log makes no sense");
    struct file_call fetching = *call;

    fetching.verb = FILE_DOWNLOAD;
    fetching.path = fetching.shown = receiving->segment + path_at;
    fetching.deadline_ms = sandlot_now_ms() + FETCH_MS;
    CLEANUP(sandlot_error_clear) struct sandlot_error why = {0};

    if (derived_route.download(&fetching, fd, &bytes, &why) < 0)
        return what_failed(&why, error);
    receiving->sight->next = at;
    return hand_out_file(receiving->look, receiving->sight, fd, first, error);
}

static int refused_error(const struct process_look *look, const char *refused, struct sandlot_error *error)
{
    if (strncmp(refused, "absent,", strlen("absent,")) == 0)
        return process_error_absent(error, look->id, refused + strlen("absent,"));
    if (strcmp(refused, "one") == 0)
        return process_error_one_log(error, look->id);
    return frame_damaged(error, "there is no answer about the process");
}

/* MOST: bytes of log in the answer; less than PIECE_MAXIMUM: nothing is to be fetched as a file. */
static void make_look(struct script *script, const struct process_look *look, uint64_t most)
{
    begin_script(script);
    script_format(script,
                  "s_number=%" PRIu64 "\ns_log=%s\ns_from=%" PRId64 "\ns_hold=%" PRId64 "\ns_size=%" PRIu64 "\n",
                  look->number, look->log ? look->errors ? "e" : "o" : "", look->from, look->hold_ms / 10,
                  look->most < most ? look->most : most);
    script_format(script, "s_told=%s\ns_looked=\n", look->with_command ? "1" : "");
    script_add(script, process_box_common);
    script_add(script, process_box_look);
}

static enum fetched ask(const struct file_call *call, const struct process_look *look, uint64_t most,
                        struct process_sight *sight, struct sandlot_error *error)
{
    struct receiving receiving = {.look = look, .sight = sight, .bytes.maximum = ANSWER_MAXIMUM};
    const struct frame_receiver receiver = {.context = &receiving, .word = take_word, .data = take_data};
    struct script script;

    receiving.at = look->from > 0 ? (uint64_t)look->from : 0;
    make_look(&script, look, most);
    int failed = frame_run(call, &script, &receiver, error);

    script_clear(&script);
    if (!failed && !receiving.has_facts)
        failed = refused_error(look, receiving.refused, error);
    if (!failed)
        hand_out_pieces(&receiving);
    frame_bytes_clear(&receiving.bytes);
    return failed ? FETCH_FAILED : *receiving.segment ? fetch(call, &receiving, error) : FETCH_DONE;
}

static int look(const struct file_call *call, const struct process_look *look, struct process_sight *sight,
                struct sandlot_error *error)
{
    process_set_id(&sight->process, look->number);
    enum fetched fetched = ask(call, look, PIECE_MAXIMUM, sight, error);

    /* What comes next is the answer, and it may go as fast: the script has it before it can. */
    if (fetched == FETCH_GONE)
        fetched = ask(call, look, PIECE_MAXIMUM - 1, sight, error);
    return fetched == FETCH_DONE ? 0 : -1;
}

const struct process_route derived_processes = {.list = list, .look = look};
