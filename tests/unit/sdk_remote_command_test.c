/* Commands over a channel that loses, cuts, doubles and garbles, in real shells: each runs once, and what it printed
 * and how it ended arrives. */
#include <sandlot/sdk/quoting.h>
#include <sandlot/sdk/remote_command.h>
#include <sandlot/sdk/script.h>

#include "../../sdk/lib/remote_command_pace.h"
#include "sdk_support.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

enum { MOST_ANSWER = 32 * 1024 * 1024, CHUNK = 65536 };

/* The sandbox remembers for a moment only, so that the test can see it forget. */
static const struct remote_pace pace = {.linger_s = 4,
                                        .first_pause_ms = 2,
                                        .longest_pause_ms = 20,
                                        .give_up_ms = 15000,
                                        .most_failures = 6,
                                        .grace_ms = 2000};
static const struct remote_pace strict_pace = {.linger_s = 12,
                                               .first_pause_ms = 2,
                                               .longest_pause_ms = 20,
                                               .give_up_ms = 30000,
                                               .most_failures = 100,
                                               .grace_ms = 20000,
                                               .answer_ms = 300};

enum fault {
    NO_FAULT,
    STALLED,
    WAKING,
    LOST_BEFORE,
    LOST_AFTER,
    UNAVAILABLE,
    UNHEARD,
    CUT,
    DOUBLED,
    GARBLED,
    IN_BYTES,
    NOISY
};

/* A shell that stands for a service. */
struct box {
    struct remote_channel channel;
    const char *const *shell; /* the script is the next argument; NULL: it goes to sh's standard input */
    const char *path;
    enum fault fault;
    int faults;   /* how many answers are spoilt */
    size_t where; /* of the answer's bytes */
    bool reached; /* the answer was longer than that */
    atomic_int runs;
    char put_path[2][256];
    int puts;
    size_t longest; /* of the answers that do not stream */
};

static char folder[256];  /* TMPDIR of the sandbox */
static char applets[300]; /* PATH of BusyBox alone */
static char late[400];    /* PATH with the shell of late_shell */
static char file[300];    /* for commands to write to */
static const char *const in_dash[] = {"/bin/dash", "-c", NULL};
static const char *const in_bash[] = {"/bin/bash", "-c", NULL};
static const char *const in_busybox[] = {"/bin/busybox", "sh", "-c", NULL};
static struct box box;
static struct test_call call;
static struct test_sink sink;
static struct sandlot_exit result;

/* ---- the channel ------------------------------------------------------------------------------------------------ */

static void become_shell(const struct box *own, const struct remote_script *script, const int *out, const int *in)
{
    const char *arguments[5] = {"/bin/sh"};
    int count = 0;

    signal(SIGPIPE, SIG_DFL);
    dup2(out[1], STDOUT_FILENO);
    dup2(in[0], STDIN_FILENO);
    for (int fd = 3; fd < 200; fd++)
        close(fd);
    for (; own->shell && own->shell[count]; count++)
        arguments[count] = own->shell[count];
    if (own->shell)
        arguments[count] = script->text;
    setenv("TMPDIR", folder, 1);
    if (own->path)
        setenv("PATH", own->path, 1);
    execv(arguments[0], (char *const *)arguments);
    _exit(127);
}

static pid_t start_shell(const struct box *own, const struct remote_script *script, int *output)
{
    int out[2];
    int in[2];

    if (pipe2(out, O_CLOEXEC) != 0 || pipe2(in, O_CLOEXEC) != 0)
        abort();
    pid_t child = fork();

    if (child == 0)
        become_shell(own, script, out, in);
    close(out[1]);
    close(in[0]);
    if (!own->shell)
        for (size_t at = 0, length = strlen(script->text); at < length;) {
            ssize_t written = write(in[1], script->text + at, length - at);

            if (written <= 0)
                break;
            at += (size_t)written;
        }
    close(in[1]);
    *output = out[0];
    return child;
}

/* Reads what the script prints; to OUTPUT at once, or to ANSWER. */
static enum sandlot_status read_script(struct sandlot_call *channel_call, int fd, const struct sandlot_sink *output,
                                       char *answer, size_t *length)
{
    char block[CHUNK];
    enum sandlot_status status = SANDLOT_OK;

    for (;;) {
        struct pollfd fds[2] = {{fd, POLLIN, 0}, {channel_call->cancel_fd, POLLIN, 0}};

        if (poll(fds, 2, sandlot_remaining_ms(channel_call, 60000)) < 0 && errno == EINTR)
            continue;
        if (fds[1].revents)
            return sandlot_fail(channel_call, SANDLOT_CANCELLED, "the service was told to stop");
        if (channel_call->deadline_ms && sandlot_now_ms() >= channel_call->deadline_ms)
            return sandlot_fail(channel_call, SANDLOT_TIMEOUT, "the service was too slow");
        if (!fds[0].revents)
            continue;
        ssize_t got = read(fd, block, sizeof(block));

        if (got <= 0)
            return status;
        if (answer && *length + (size_t)got <= MOST_ANSWER) {
            memcpy(answer + *length, block, (size_t)got);
            *length += (size_t)got;
        } else if (!answer) {
            status = output->write(output, block, (size_t)got);
            if (status != SANDLOT_OK)
                return status;
        }
    }
}

static enum sandlot_status in_bytes(const struct sandlot_sink *output, const char *answer, size_t length)
{
    enum sandlot_status status = SANDLOT_OK;

    for (size_t i = 0; i < length && status == SANDLOT_OK; i++)
        status = output->write(output, answer + i, 1);
    return status;
}

/* Blanks, prompts and CRLF, as terminals make them. */
static enum sandlot_status noisy(const struct sandlot_sink *output, const char *answer, size_t length)
{
    enum sandlot_status status = output->write(output, "Welcome!\r\n$ \0\xff end 0", 20);

    for (size_t i = 0; i < length && status == SANDLOT_OK; i++) {
        bool line = answer[i] == '\n';

        status = line ? output->write(output, "\r\n", 2) : output->write(output, answer + i, 1);
    }
    return status == SANDLOT_OK ? output->write(output, "logout", 6) : status;
}

static enum sandlot_status pass_spoilt(struct box *own, const struct sandlot_sink *output, char *answer, size_t length)
{
    enum sandlot_status status;

    own->reached = own->where < length;
    switch (own->fault) {
    case LOST_AFTER:
        return SANDLOT_OK;
    case CUT:
        status = output->write(output, answer, own->where < length ? own->where : length);
        return status == SANDLOT_OK ? SANDLOT_UNAVAILABLE : status;
    case GARBLED:
        if (own->reached)
            answer[own->where] = answer[own->where] == '1' ? '2' : '1';
        return output->write(output, answer, length);
    case DOUBLED:
        status = output->write(output, answer, length);
        return status == SANDLOT_OK ? output->write(output, answer, length) : status;
    case IN_BYTES:
        return in_bytes(output, answer, length);
    case NOISY:
        return noisy(output, answer, length);
    default:
        return output->write(output, answer, length);
    }
}

/* Until the time of the script is over. */
static enum sandlot_status stall(struct sandlot_call *channel_call)
{
    while (sandlot_remaining_ms(channel_call, 60000) > 0)
        poll(NULL, 0, sandlot_remaining_ms(channel_call, 60000));
    return sandlot_fail(channel_call, SANDLOT_TIMEOUT, "the service was too slow");
}

/* Longer than the script's time. */
static enum sandlot_status wake(struct sandlot_call *channel_call)
{
    int64_t deadline_ms = channel_call->deadline_ms;

    remote_wait_begin(channel_call);
    while (sandlot_now_ms() <= deadline_ms)
        poll(NULL, 0, 50);
    remote_wait_end(channel_call);
    assert_true(sandlot_remaining_ms(channel_call, 60000) > 0);
    return SANDLOT_UNAVAILABLE;
}

static enum sandlot_status on_run(struct sandlot_call *channel_call, void *context, const struct remote_script *script,
                                  const struct sandlot_sink *output, char *reason, size_t capacity)
{
    struct box *own = context;
    bool spoilt = !script->urgent && own->faults > 0;
    size_t length = 0;
    int fd;

    own->runs++;
    assert_true(strlen(script->text) <= REMOTE_SCRIPT_MAXIMUM);
    assert_int_equal(strlen(script->id), 36);
    for (const char *at = script->text; *at; at++)
        assert_true((*at >= ' ' && *at <= '~') || *at == '\n');
    own->faults -= spoilt;
    if (spoilt && own->fault == STALLED)
        return stall(channel_call);
    if (spoilt && own->fault == WAKING)
        return wake(channel_call);
    if (spoilt && (own->fault == LOST_BEFORE || own->fault == UNAVAILABLE)) {
        if (own->fault == UNAVAILABLE)
            snprintf(reason, capacity, "the gateway is away");
        return own->fault == UNAVAILABLE ? SANDLOT_UNAVAILABLE : SANDLOT_OK;
    }
    char *answer = spoilt || !own->channel.streams ? malloc(MOST_ANSWER) : NULL;
    pid_t child = start_shell(own, script, &fd);
    if (spoilt && own->fault == UNHEARD) { /* it runs on while the next one is sent */
        close(fd);
        free(answer);
        return SANDLOT_UNAVAILABLE;
    }
    enum sandlot_status status = read_script(channel_call, fd, output, answer, &length);

    close(fd);
    own->longest = length > own->longest ? length : own->longest;
    if (status == SANDLOT_OK)
        waitpid(child, NULL, 0);
    if (status == SANDLOT_OK && answer)
        status = spoilt ? pass_spoilt(own, output, answer, length) : output->write(output, answer, length);
    free(answer);
    return status;
}

static enum sandlot_status on_put(struct sandlot_call *channel_call, void *context, const char *path,
                                  const struct sandlot_source *source, uint64_t length)
{
    struct box *own = context;
    FILE *target = fopen(path, "wxe");
    char block[CHUNK];
    size_t got;

    (void)channel_call;
    (void)length;
    assert_non_null(target);
    snprintf(own->put_path[own->puts++ % 2], sizeof(own->put_path[0]), "%s", path);
    while (source->read(source, block, sizeof(block), &got) == SANDLOT_OK && got > 0)
        assert_int_equal(fwrite(block, 1, got, target), got);
    assert_int_equal(fclose(target), 0);
    return SANDLOT_OK;
}

/* ---- around each test -------------------------------------------------------------------------------------------- */

static int set_up(void **state)
{
    (void)state;
    box = (struct box){.channel = {.context = &box, .run = on_run, .put = on_put, .hold_ms = 8000, .streams = true},
                       .shell = in_dash};
    test_call_open(&call, 120000);
    test_sink_open(&sink, true);
    unlink(file);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++)
        if (*box.put_path[i])
            assert_int_equal(access(box.put_path[i], F_OK), -1);
    test_call_close(&call);
    test_sink_close(&sink);
    while (waitpid(-1, NULL, WNOHANG) > 0)
        continue;
    return 0;
}

static enum sandlot_status run_command(const struct sandlot_command *command)
{
    test_sink_close(&sink);
    test_sink_open(&sink, sink.keep);
    call.status = SANDLOT_OK;
    result = (struct sandlot_exit){.size = sizeof(result)};
    return remote_command_run_at(&call.call, &box.channel, command, &sink.sink, &result, &pace);
}

static enum sandlot_status run_text(const char *text)
{
    const struct sandlot_command command = {.size = sizeof(command), .command = text, .timeout_ms = 120000};

    return run_command(&command);
}

static const char *printed(void)
{
    return sink.bytes ? sink.bytes : "";
}

/* TEXT prints OUTPUT and ends with CODE. */
static void expect(const char *text, const char *output, int code)
{
    enum sandlot_status status = run_text(text);

    if (status != SANDLOT_OK || strcmp(printed(), output) != 0 || result.exit_code != code)
        print_error("%s: status %d, code %d, '%s', %s\n", text, status, result.exit_code, printed(), call.message);
    assert_int_equal(status, SANDLOT_OK);
    assert_string_equal(printed(), output);
    assert_int_equal(result.exit_code, code);
}

static void assert_has(const char *text, const char *part)
{
    if (!strstr(text, part))
        print_error("'%s' is not in: %s\n", part, text);
    assert_non_null(strstr(text, part));
}

/* Waits until PREDICATE is true; if it never is, whoever runs the test ends it. */
static void await(bool (*predicate)(void))
{
    while (!predicate())
        usleep(20000);
}

/* ---- what commands see ------------------------------------------------------------------------------------------- */

static void check_commands(void)
{
    expect("echo out; echo err >&2; printf '%s' \"a'b\\\"c\"; exit 7", "out\nerr\na'b\"c", 7);
    expect("true", "", 0);
    expect("nonsense_of_a_name 2>/dev/null", "", 127);
    expect("printf 'a\\n\\n'; kill -9 $$", "a\n\n", 137);
    expect("exec sh -c 'kill -TERM $$'", "", 143);
    expect("kill -INT $$", "", 130);
    expect("cat; read x; echo $?", "1\n", 0);
    expect("for i in 1 2 3; do echo o$i; echo e$i >&2; done", "o1\ne1\no2\ne2\no3\ne3\n", 0);
    expect("echo '\xc3\xa4\xe2\x82\xac'", "\xc3\xa4\xe2\x82\xac\n", 0);
    expect("cat <<'E'\n$x `y` \\\t%s\nE\n\n", "$x `y` \\\t%s\n", 0);
    expect("set | grep ^s_; env | grep ^s_; jobs; printf '\\037'", "\037", 0);
    expect("sleep 20 & echo done", "done\n", 0);
}

static void test_dash(void **state)
{
    (void)state;
    check_commands();
    expect("echo $0 $#", "bash 0\n", 0);
    assert_true(box.runs == 13);
}

static void test_bash(void **state)
{
    (void)state;
    box.shell = in_bash;
    box.channel.streams = false;
    check_commands();
    assert_true(box.runs == 12);
}

static void test_busybox(void **state)
{
    (void)state;
    box.shell = in_busybox;
    box.path = applets;
    check_commands();
    expect("echo $0", "sh\n", 0);
}

/* A service that writes the script to the standard input of a shell. */
static void test_standard_input(void **state)
{
    (void)state;
    box.shell = NULL;
    box.channel.streams = false;
    check_commands();
}

static void test_binary(void **state)
{
    (void)state;
    assert_int_equal(run_text("i=0; while [ $i -lt 256 ]; do printf \"\\\\$(printf %o $i)\"; i=$((i+1)); done"),
                     SANDLOT_OK);
    assert_int_equal(sink.length, 256);
    for (int i = 0; i < 256; i++)
        assert_int_equal((unsigned char)sink.bytes[i], i);
}

static void test_environment(void **state)
{
    static const char *const variables[] = {"ONE=it's \"$x\"\n\\", "TWO=\xc3\xa4\t", "PATH=/nowhere", "EMPTY=", NULL};
    static const char *const wrong[] = {"a-b=1", NULL};
    struct sandlot_command command = {.size = sizeof(command),
                                      .command =
                                          "printf '<%s>' \"$ONE\" \"$TWO\" \"$PATH\" \"${EMPTY-unset}\" \"$PWD\"",
                                      .environment = variables,
                                      .working_dir = folder};
    char expected[512];

    (void)state;
    snprintf(expected, sizeof(expected), "<it's \"$x\"\n\\><\xc3\xa4\t></nowhere><><%s>", folder);
    assert_int_equal(run_command(&command), SANDLOT_OK);
    assert_string_equal(printed(), expected);
    command.environment = wrong;
    assert_int_equal(run_command(&command), SANDLOT_INVALID_ARGUMENT);
    assert_has(call.message, "\"a-b\"");
}

static void test_working_dir(void **state)
{
    struct sandlot_command command = {.size = sizeof(command), .command = "pwd; echo $PWD", .working_dir = "/usr"};

    (void)state;
    assert_int_equal(run_command(&command), SANDLOT_OK);
    assert_string_equal(printed(), "/usr\n/usr\n");
    command.working_dir = "/no/such place";
    assert_int_equal(run_command(&command), SANDLOT_INVALID_ARGUMENT);
    assert_string_equal(call.message,
                        "the working directory /no/such place is not found in the sandbox; create it first "
                        "or name another one");
    command.working_dir = "/etc/passwd";
    assert_int_equal(run_command(&command), SANDLOT_INVALID_ARGUMENT);
    command.working_dir = NULL;
    box.channel.working_dir = "/var";
    assert_int_equal(run_command(&command), SANDLOT_OK);
    assert_string_equal(printed(), "/var\n/var\n");
}

/* ---- much -------------------------------------------------------------------------------------------------------- */

static void check_large(void)
{
    char *expected = malloc(8000000);
    size_t length = 0;

    for (int i = 1; length < 7000000; i++)
        length += (size_t)sprintf(expected + length, "%d\n", i);
    assert_int_equal(run_text("i=1; seq 1 2000000 | head -c 7000000; exit 5"), SANDLOT_OK);
    assert_int_equal(result.exit_code, 5);
    assert_int_equal(sink.length, 7000000);
    assert_memory_equal(sink.bytes, expected, 7000000);
    free(expected);
}

/* What is left of one file is no reason to wait for more, while the next one is there: patience has grown by then. */
static void test_no_waiting_between_files(void **state)
{
    (void)state;
    box.channel.streams = false;
    box.channel.answer_bytes = 1000000;
    sink.keep = false;
    assert_int_equal(run_text("head -c 24000000 /dev/zero"), SANDLOT_OK); /* more than is kept for us at a time */
    assert_int_equal(sink.length, 24000000);
}

static enum sandlot_status execute_here(struct sandlot_call *own, void *provider, void *sandbox,
                                        const struct sandlot_command *command, const struct sandlot_sink *output,
                                        struct sandlot_exit *exit)
{
    (void)provider;
    (void)sandbox;
    return remote_command_run_at(own, &box.channel, command, output, exit, &pace);
}

/* Who watches a command gets the first line long before the second; nobody watches a script of the SDK, which is one
 * request however slow it is. */
static void test_scripts_are_answered_at_their_end(void **state)
{
    static const char slow[] = "echo first; sleep 3; echo second";
    const struct script_place place = {.execute = execute_here};
    char said[64];

    (void)state;
    box.channel.streams = false;
    expect(slow, "first\nsecond\n", 0);
    assert_true(box.runs > 1);
    box.runs = 0;
    assert_int_equal(script_read(&call.call, &place, slow, said, sizeof(said)), SANDLOT_OK);
    assert_string_equal(said, "first\nsecond\n");
    assert_int_equal(box.runs, 1);
}

static void test_large_output(void **state)
{
    uint32_t sum = 0;
    static const char zeros[CHUNK];

    (void)state;
    check_large();
    box.channel.streams = false;
    check_large();
    assert_true(box.longest > 4 << 20);
    box.channel.answer_bytes = 1 << 20;
    box.longest = 0;
    check_large();
    assert_true(box.longest < 2 << 20); /* base64 is longer than what it stands for */
    box.channel.streams = true;
    sink.keep = false;
    for (int i = 0; i < 1024; i++)
        sum = test_sum(sum, zeros, sizeof(zeros));
    int64_t begin = sandlot_now_ms();

    assert_int_equal(run_text("head -c 67108864 /dev/zero"), SANDLOT_OK);
    print_message("64 MiB in %d ms\n", (int)(sandlot_now_ms() - begin));
    assert_int_equal(sink.length, 67108864);
    assert_true(sink.sum == sum);
}

static void test_long_command(void **state)
{
    enum { LENGTH = 200000 };
    char *text = malloc(LENGTH + 100);
    int length = sprintf(text, "echo $0 $#; cat <<'E' | wc -c\n");

    (void)state;
    memset(text + length, 'x', LENGTH);
    memcpy(text + length + LENGTH, "\nE\n", 4);
    expect(text, "bash 0\n200001\n", 0);
    assert_int_equal(box.puts, 1);
    box.shell = in_busybox;
    box.path = applets;
    expect(text, "sh 0\n200001\n", 0);
    text[length + 90000] = '\0';
    expect(text, "sh 0\n90000\n", 0);
    box.channel.put = NULL;
    memset(text + length, 'x', LENGTH);
    assert_int_equal(run_text(text), SANDLOT_INVALID_ARGUMENT);
    assert_has(call.message, "98304 bytes");
    free(text);
}

static void test_input(void **state)
{
    struct test_source source;
    struct sandlot_command command = {
        .size = sizeof(command), .command = "wc -c; ls -a /tmp | grep -c \"$NAME\"", .input = &source.source};

    (void)state;
    test_source_open(&source, 8 * 1024 * 1024);
    assert_int_equal(run_command(&command), SANDLOT_OK);
    assert_int_equal(atoi(printed()), 8 * 1024 * 1024);
    test_source_open(&source, 3000);
    command.command = "cat";
    assert_int_equal(run_command(&command), SANDLOT_OK);
    assert_int_equal(sink.length, 3000);
    /* Refused, or not begun: nothing is left. */
    command.working_dir = "/no/such";
    test_source_open(&source, 3000);
    assert_int_equal(run_command(&command), SANDLOT_INVALID_ARGUMENT);
    box.channel.put = NULL;
    assert_int_equal(run_command(&command), SANDLOT_UNSUPPORTED);
}

static int64_t put_left_ms[2]; /* of the call, before the first byte and behind the last */
static int64_t put_deadline_ms;

/* A service that takes everything, and then says nothing until its time is over. */
static enum sandlot_status on_stalled_put(struct sandlot_call *channel_call, void *context, const char *path,
                                          const struct sandlot_source *source, uint64_t length)
{
    char block[CHUNK];
    size_t got = 1;

    (void)context, (void)path, (void)length;
    put_deadline_ms = channel_call->deadline_ms;
    put_left_ms[0] = channel_call->deadline_ms - sandlot_now_ms();
    while (got > 0)
        assert_int_equal(source->read(source, block, sizeof(block), &got), SANDLOT_OK);
    put_left_ms[1] = channel_call->deadline_ms - sandlot_now_ms();
    return SANDLOT_TIMEOUT;
}

/* A service that does not take the input has the command's time limit and a little more, and the source all its own. */
static void test_stalled_input(void **state)
{
    enum { LIMIT_MS = 1000, LENGTH = 256 * 1000 };

    struct test_source source;
    const struct sandlot_command command = {
        .size = sizeof(command), .command = "cat", .timeout_ms = LIMIT_MS, .input = &source.source};
    int empty[2];

    (void)state;
    box.channel.put = on_stalled_put;
    test_source_open(&source, LENGTH);
    assert_int_equal(run_command(&command), SANDLOT_UNAVAILABLE);
    assert_has(call.message, "the command was not started");
    assert_true(put_left_ms[0] <= LIMIT_MS + pace.answer_ms);
    assert_true(put_left_ms[1] <= LIMIT_MS + pace.answer_ms + LENGTH / 256);
    assert_int_equal(pipe(empty), 0);
    test_source_open(&source, LENGTH);
    source.source.poll_fd = empty[0];
    assert_int_equal(run_command(&command), SANDLOT_UNAVAILABLE);
    assert_int_equal(put_deadline_ms, call.call.deadline_ms);
    close(empty[0]);
    close(empty[1]);
}

/* ---- time -------------------------------------------------------------------------------------------------------- */

static char marked[24];

/* Does any process have the text `marked` among its arguments? */
static bool nothing_marked(void)
{
    char command[128];

    snprintf(command, sizeof(command), "pgrep -f '[s]leep %s' >/dev/null", marked);
    int status = system(command);

    return WIFEXITED(status) && WEXITSTATUS(status) == 1;
}

static void test_time_limit(void **state)
{
    struct sandlot_command command = {.size = sizeof(command), .timeout_ms = 3000};
    char text[300];

    (void)state;
    snprintf(marked, sizeof(marked), "1%d", (int)getpid());
    snprintf(text, sizeof(text),
             "echo begun; setsid sh -c 'trap \"\" 15; sleep %s & sleep %s' & (setsid sleep %s &) & "
             "env -i $(command -v setsid) $(command -v sleep) %s & sleep %s",
             marked, marked, marked, marked, marked);
    command.command = text;
    for (int i = 0; i < 2; i++) {
        int64_t begin = sandlot_now_ms();

        assert_int_equal(run_command(&command), SANDLOT_OK);
        assert_true(result.timed_out);
        assert_int_equal(result.exit_code, 124);
        assert_string_equal(printed(), "begun\n");
        assert_true(sandlot_now_ms() - begin >= 2950);
        await(nothing_marked);
        box.shell = in_busybox;
        box.path = applets;
    }
}

static void *cancel_soon(void *context)
{
    (void)context;
    usleep(400000);
    test_call_cancel(&call);
    return NULL;
}

static void test_cancel(void **state)
{
    pthread_t thread;
    char text[200];

    (void)state;
    snprintf(marked, sizeof(marked), "2%d", (int)getpid());
    snprintf(text, sizeof(text), "setsid sleep %s & sleep %s", marked, marked);
    pthread_create(&thread, NULL, cancel_soon, NULL);
    assert_int_equal(run_text(text), SANDLOT_CANCELLED);
    assert_int_equal(call.status, SANDLOT_CANCELLED);
    await(nothing_marked);
    pthread_join(thread, NULL);
}

static void test_deadline(void **state)
{
    char text[200];

    (void)state;
    snprintf(marked, sizeof(marked), "3%d", (int)getpid());
    snprintf(text, sizeof(text), "sleep %s", marked);
    call.call.deadline_ms = sandlot_now_ms() + 500;
    assert_int_equal(run_text(text), SANDLOT_TIMEOUT);
    assert_true(sandlot_now_ms() >= call.call.deadline_ms);
    await(nothing_marked);
    /* And while nothing answers. */
    box.fault = UNAVAILABLE;
    box.faults = 1000000;
    call.call.deadline_ms = sandlot_now_ms() + 10;
    assert_int_equal(run_text("true"), SANDLOT_TIMEOUT);
}

static void test_sink_refuses(void **state)
{
    char text[200];

    (void)state;
    snprintf(marked, sizeof(marked), "4%d", (int)getpid());
    snprintf(text, sizeof(text), "echo 123456; sleep %s", marked);
    const struct sandlot_command command = {.size = sizeof(command), .command = text};

    sink.stop_at = 4;
    sink.answer = SANDLOT_EXHAUSTED;
    result = (struct sandlot_exit){.size = sizeof(result)};
    assert_int_equal(remote_command_run_at(&call.call, &box.channel, &command, &sink.sink, &result, &pace),
                     SANDLOT_EXHAUSTED);
    await(nothing_marked);
}

/* Tells the command, by a file, that its first output was seen. */
static enum sandlot_status on_first(const struct sandlot_sink *own, const void *bytes, size_t length)
{
    (void)own;
    (void)bytes;
    if (length > 0)
        close(open(file, O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
    return SANDLOT_OK;
}

/* Output arrives while the command runs, on either kind of channel, and nothing is asked in vain. */
static void test_streaming(void **state)
{
    char text[sizeof(file) + 64];
    const struct sandlot_command command = {.size = sizeof(command), .command = text};
    const struct sandlot_sink first = {.size = sizeof(first), .write = on_first};

    (void)state;
    snprintf(text, sizeof(text), "echo x; until [ -e '%s' ]; do sleep 0.05; done; echo y", file);
    for (int i = 0; i < 2; i++) {
        unlink(file);
        box.runs = 0;
        assert_int_equal(remote_command_run_at(&call.call, &box.channel, &command, &first, &result, &pace), SANDLOT_OK);
        assert_true(box.runs == (i == 0 ? 1 : 2));
        box.channel.streams = false;
    }
    /* No longer than the service bears. */
    box.channel.hold_ms = 400;
    box.runs = 0;
    expect("sleep 1; echo z", "z\n", 0);
    assert_true(box.runs >= 2);
}

/* ---- faults ------------------------------------------------------------------------------------------------------ */

static const char *appending(const char *then)
{
    static char text[1024];

    snprintf(text, sizeof(text), "echo line >> %s; %s", file, then);
    return text;
}

static void assert_ran_once(void)
{
    struct stat status;

    assert_int_equal(stat(file, &status), 0);
    assert_int_equal(status.st_size, 5);
    unlink(file);
}

static void test_faults(void **state)
{
    static const enum fault faults[] = {LOST_BEFORE, LOST_AFTER, UNAVAILABLE, DOUBLED, IN_BYTES, NOISY};

    (void)state;
    for (size_t i = 0; i < sizeof(faults) / sizeof(*faults); i++)
        for (int times = 1; times <= 4; times += 3) {
            box.fault = faults[i];
            box.faults = times;
            expect(appending("echo hello; exit 3"), "hello\n", 3);
            assert_ran_once();
        }
    assert_int_equal(call.status, SANDLOT_OK);
}

/* Cut at, or garbled in, each byte of an answer. */
/* A shell that begins the reading end of the pipe half a second after the writing one, as on a busy machine. */
static const char late_shell[] =
    "#!/bin/sh\n"
    "case $2 in *'s_supervise | s_pump'*)\n"
    "    set -- -c \"${2%'s_supervise | s_pump'*}\"'mkfifo \"$s_dir/fifo\"; exec 3<>\"$s_dir/fifo\"\n"
    "        s_supervise >&3 3>&- & sleep 0.5; (exec <\"$s_dir/fifo\" 3>&-; s_pump) & exec 3>&-; wait' sh ;;\n"
    "esac\n"
    "exec /bin/sh \"$@\"\n";

static void make_late_shell(void)
{
    char shell[300];

    snprintf(shell, sizeof(shell), "%s/late", folder);
    snprintf(late, sizeof(late), "%s:%s", shell, getenv("PATH"));
    assert_int_equal(mkdir(shell, 0700), 0);
    strcat(shell, "/sh");
    FILE *to = fopen(shell, "we");

    assert_non_null(to);
    fputs(late_shell, to);
    assert_int_equal(fclose(to), 0);
    assert_int_equal(chmod(shell, 0700), 0);
}

static void test_late_reader(void **state)
{
    (void)state;
    make_late_shell();
    box.path = late;
    expect("echo hello; exit 3", "hello\n", 3);
}

/* A second script while the first is still at its beginning. */
static void test_both_at_once(void **state)
{
    (void)state;
    box.fault = UNHEARD;
    for (int round = 0; round < 20; round++) {
        box.faults = 1 + round % 2;
        expect(appending("echo hello; exit 3"), "hello\n", 3);
        assert_ran_once();
    }
    while (waitpid(-1, NULL, 0) > 0)
        continue;
}

static void check_each_byte(enum fault fault, size_t step)
{
    box.fault = fault;
    box.reached = true;
    for (box.where = 0; box.reached; box.where += step) {
        box.faults = 1;
        expect(appending("echo hello; exit 31"), "hello\n", 31);
        assert_ran_once();
    }
    assert_true(box.where > 150);
}

static void test_cut_anywhere(void **state)
{
    (void)state;
    check_each_byte(CUT, 3);
}

static void test_garbled_anywhere(void **state)
{
    (void)state;
    check_each_byte(GARBLED, 4);
    box.shell = in_busybox; /* another checksum */
    box.path = applets;
    check_each_byte(GARBLED, 17);
}

/* A long answer that breaks again and again goes on where it broke. */
static void test_cut_often(void **state)
{
    (void)state;
    box.fault = CUT;
    box.faults = 5;
    box.where = 1500000;
    check_large();
    assert_true(box.runs < 20);
}

static void test_gives_up(void **state)
{
    (void)state;
    box.fault = UNAVAILABLE;
    box.faults = 1000;
    assert_int_equal(run_text("true"), SANDLOT_UNAVAILABLE);
    assert_int_equal(box.runs, 6);
    assert_has(call.message, "the gateway is away");
    assert_has(call.message, "may still run");
    /* What the channel says of an attempt is not what the host hears in the end. */
    box.faults = 2;
    call.message[0] = '\0';
    assert_int_equal(run_text("true"), SANDLOT_OK);
    assert_string_equal(call.message, "");
}

/* A test of a service that never answers need not wait as long as a user would. */
static void test_gives_up_sooner(void **state)
{
    const struct sandlot_command command = {.size = sizeof(command), .command = "true"};

    (void)state;
    box.fault = UNAVAILABLE;
    box.faults = 1000;
    setenv("SANDLOT_TEST_GIVE_UP_MS", "1", 1);
    result = (struct sandlot_exit){.size = sizeof(result)};
    assert_int_equal(remote_command_run(&call.call, &box.channel, &command, &sink.sink, &result), SANDLOT_UNAVAILABLE);
    unsetenv("SANDLOT_TEST_GIVE_UP_MS");
    assert_int_equal(box.runs, 2);
}

static enum sandlot_status run_limited(const char *text, int64_t timeout_ms)
{
    const struct sandlot_command command = {.size = sizeof(command), .command = text, .timeout_ms = timeout_ms};

    call.status = SANDLOT_OK;
    result = (struct sandlot_exit){.size = sizeof(result)};
    return remote_command_run_at(&call.call, &box.channel, &command, &sink.sink, &result, &strict_pace);
}

/* A dead line is given up soon after the command's limit, not with the call. */
static void test_stalled(void **state)
{
    (void)state;
    box.fault = STALLED;
    box.faults = 1000;
    assert_int_equal(run_limited("true", 200), SANDLOT_UNAVAILABLE);
    assert_has(call.message, "did not tell what became of the command");
    assert_has(call.message, "the service was too slow");
}

static int64_t run_left_ms; /* of the channel's call */

static enum sandlot_status on_timed_run(struct sandlot_call *channel_call, void *context,
                                        const struct remote_script *script, const struct sandlot_sink *output,
                                        char *reason, size_t capacity)
{
    (void)context, (void)script, (void)output, (void)reason, (void)capacity;
    run_left_ms = channel_call->deadline_ms - sandlot_now_ms();
    return sandlot_fail(channel_call, SANDLOT_AUTH, "that is all it wanted to know");
}

/* What people wait for at a dead line is some seconds more than their limit, at the pace of the product too. */
static void test_grace(void **state)
{
    enum { LIMIT_MS = 2000, GRACE_MS = 10 * 1000 };

    const struct sandlot_command command = {.size = sizeof(command), .command = "true", .timeout_ms = LIMIT_MS};

    (void)state;
    box.channel.run = on_timed_run;
    assert_int_equal(remote_command_run(&call.call, &box.channel, &command, &sink.sink, &result), SANDLOT_AUTH);
    assert_true(run_left_ms <= LIMIT_MS + GRACE_MS);
}

/* But a sandbox that wakes for longer than the command may run is waited for, and then the limit begins. */
static void test_waking(void **state)
{
    (void)state;
    box.fault = WAKING;
    box.faults = 1;
    assert_int_equal(run_limited("echo awake", 4000), SANDLOT_OK);
    assert_string_equal(printed(), "awake\n");
    assert_int_equal(result.exit_code, 0);
}

/* Every process of the sandbox is killed, the supervisor too. */
static void test_lost(void **state)
{
    char text[400];

    (void)state;
    snprintf(text, sizeof(text), "echo before; sleep 0.2; kill -9 $(cut -d ' ' -f1 %s/.sandlot-$SANDLOT_JOB/super)",
             folder);
    assert_int_equal(run_text(text), SANDLOT_OK);
    assert_string_equal(printed(), "before\n");
    assert_int_equal(result.exit_code, SANDLOT_EXIT_UNKNOWN);
    assert_non_null(result.note);
}

/* ---- many -------------------------------------------------------------------------------------------------------- */

struct errand {
    pthread_t thread;
    struct test_call call;
    struct test_sink sink;
    int number;
    enum sandlot_status status;
    struct sandlot_exit result;
};

static void *run_errand(void *context)
{
    struct errand *errand = context;
    char text[100];
    const struct sandlot_command command = {.size = sizeof(command), .command = text};

    snprintf(text, sizeof(text), "echo %d; seq 1 2000; exit %d", errand->number, errand->number);
    errand->status =
        remote_command_run_at(&errand->call.call, &box.channel, &command, &errand->sink.sink, &errand->result, &pace);
    return NULL;
}

static void test_many(void **state)
{
    static struct errand errands[16];

    (void)state;
    for (int i = 0; i < 16; i++) {
        errands[i].number = i;
        errands[i].result.size = sizeof(errands[i].result);
        test_call_open(&errands[i].call, 120000);
        test_sink_open(&errands[i].sink, true);
        pthread_create(&errands[i].thread, NULL, run_errand, &errands[i]);
    }
    for (int i = 0; i < 16; i++) {
        pthread_join(errands[i].thread, NULL);
        assert_int_equal(errands[i].status, SANDLOT_OK);
        assert_int_equal(errands[i].result.exit_code, i);
        assert_int_equal(errands[i].sink.length, 8893 + 2 + (i > 9));
        test_sink_close(&errands[i].sink);
        test_call_close(&errands[i].call);
    }
}

/* ---- what stays -------------------------------------------------------------------------------------------------- */

static bool folder_is_empty(void)
{
    DIR *list = opendir(folder);
    int count = 0;

    for (const struct dirent *entry; (entry = readdir(list));)
        count += strncmp(entry->d_name, ".sandlot-", 9) == 0;
    closedir(list);
    return count == 0;
}

/* What cleans up runs though the call is over, and what it says of a failure is nobody's. */
static void test_clean_up(void **state)
{
    char script[400];

    (void)state;
    snprintf(script, sizeof(script), "echo nobody hears this; : >'%s'\n", file);
    test_call_cancel(&call);
    remote_clean_up(&call.call, &box.channel, script);
    assert_int_equal(access(file, F_OK), 0);
    assert_int_equal(box.runs, 1);
    assert_int_equal(call.status, SANDLOT_OK);
}

/* A restart of the sandbox has left one folder, another is of a job that lives, the third may have one at once. */
static void leave_folders(void)
{
    char command[1600];

    snprintf(command, sizeof(command),
             "cd %s && mkdir .sandlot-0 '.sandlot-1 1' .sandlot-2 && cp /proc/%d/stat .sandlot-0/super && touch -d '20 "
             "minutes ago' .sandlot-[02]",
             folder, (int)getpid());
    assert_int_equal(system(command), 0);
}

static bool is_left(const char *name)
{
    char path[300];

    snprintf(path, sizeof(path), "%s/%s", folder, name);
    return access(path, F_OK) == 0;
}

/* They are looked at in the order of their names. */
static bool last_is_gone(void)
{
    return !is_left(".sandlot-2");
}

static void test_sweep(void **state)
{
    char command[400];

    (void)state;
    for (int round = 0; round < 2; round++) {
        leave_folders();
        expect("true", "", 0);
        await(last_is_gone);
        assert_true(is_left(".sandlot-0"));
        assert_true(is_left(".sandlot-1 1"));
        snprintf(command, sizeof(command), "cd %s && rm -r .sandlot-0 '.sandlot-1 1'", folder);
        assert_int_equal(system(command), 0);
        box.shell = in_busybox;
        box.path = applets;
    }
}

/* Last, after all the others. */
static void test_nothing_stays(void **state)
{
    (void)state;
    await(folder_is_empty);
}

static int open_folder(void **state)
{
    char command[1200];

    (void)state;
    snprintf(folder, sizeof(folder), "%s/remote-command-XXXXXX", getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp");
    if (!mkdtemp(folder))
        return -1;
    snprintf(applets, sizeof(applets), "%s/bin", folder);
    snprintf(file, sizeof(file), "%s/file", folder);
    snprintf(command, sizeof(command),
             "mkdir %s && for a in $(busybox --list); do ln -s \"$(command -v busybox)\" %s/$a; done; rm -f %s/bash",
             applets, applets, applets);
    return system(command);
}

static int close_folder(void **state)
{
    char command[300];

    (void)state;
    snprintf(command, sizeof(command), "rm -rf %s", folder);
    return system(command);
}

#define EACH(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        EACH(test_dash),
        EACH(test_bash),
        EACH(test_busybox),
        EACH(test_standard_input),
        EACH(test_binary),
        EACH(test_environment),
        EACH(test_working_dir),
        EACH(test_large_output),
        EACH(test_no_waiting_between_files),
        EACH(test_scripts_are_answered_at_their_end),
        EACH(test_long_command),
        EACH(test_input),
        EACH(test_stalled_input),
        EACH(test_time_limit),
        EACH(test_cancel),
        EACH(test_deadline),
        EACH(test_sink_refuses),
        EACH(test_streaming),
        EACH(test_faults),
        EACH(test_late_reader),
        EACH(test_both_at_once),
        EACH(test_cut_anywhere),
        EACH(test_garbled_anywhere),
        EACH(test_cut_often),
        EACH(test_gives_up),
        EACH(test_gives_up_sooner),
        EACH(test_stalled),
        EACH(test_grace),
        EACH(test_waking),
        EACH(test_lost),
        EACH(test_many),
        EACH(test_clean_up),
        EACH(test_sweep),
        EACH(test_nothing_stays),
    };

    signal(SIGPIPE, SIG_IGN);
    return cmocka_run_group_tests(tests, open_folder, close_folder);
}
