#include "cli/progress.h"

#include "base/cleanup.h"
#include "base/text.h"
#include "cli/terminal_filter.h"
#include "cli/transfer_text.h"

#include <pthread.h>
#include <sandlot/provider.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>

enum { FIRST_FRAME_MS = 300, FRAME_MS = 120, LINE_PAUSE_MS = 1000, DEFAULT_COLUMNS = 80 };

/* A process has one standard error; this is all that is known about it. LOCK guards everything below. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t stop = PTHREAD_COND_INITIALIZER;
static int verbosity;
static bool terminal; /* standard error is one */
static bool moving;   /* and it can show a line that moves */
static bool running;  /* the drawing thread is there */
static bool drawn;    /* the moving line is on the screen */
static pthread_t drawer;
static char *subject; /* the work that is going on */
static char *detail;  /* how far it is */
static int64_t begun_ms;
static struct terminal_filter filter;

bool progress_has_colours(void)
{
    const char *type = getenv("TERM");
    const char *no_colour = getenv("NO_COLOR");

    return type && *type && strcmp(type, "dumb") != 0 && !(no_colour && *no_colour);
}

void progress_init(int new_verbosity)
{
    verbosity = new_verbosity;
    terminal = isatty(STDERR_FILENO) == 1;
    moving = terminal && verbosity >= 0 && progress_has_colours();
}

/* With the lock held, as all that follow up to the public functions. */
static void erase(void)
{
    if (drawn)
        fputs("\r\033[K", stderr);
    drawn = false;
}

static size_t columns(void)
{
    struct winsize size;

    return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 1 ? size.ws_col : DEFAULT_COLUMNS;
}

static void draw(unsigned int frame)
{
    static const char spinner[] = "|/-\\";
    int64_t seconds = (sandlot_now_ms() - begun_ms) / 1000;
    AUTO_FREE char *line = text_format("%c %s%s%s (%lld s)", spinner[frame % 4], subject, detail ? ": " : "",
                                       detail ? detail : "", (long long)seconds);

    if (!line)
        return;
    /* Never wider than the window: a line that wraps cannot be erased. */
    fprintf(stderr, "\r%.*s\033[K", (int)columns() - 1, line);
    drawn = true;
}

static void wait_frame(int64_t milliseconds)
{
    struct timespec until;

    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += (long)milliseconds * 1000000;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    pthread_cond_timedwait(&stop, &lock, &until);
}

static void *draw_until_stopped(void *nothing)
{
    pthread_mutex_lock(&lock);
    wait_frame(FIRST_FRAME_MS); /* what is over at once is not worth a flicker */
    for (unsigned int frame = 0; running; frame++) {
        draw(frame);
        wait_frame(FRAME_MS);
    }
    erase();
    pthread_mutex_unlock(&lock);
    return nothing;
}

/* Signals are for the main thread, whose system calls they interrupt. */
static void start_drawing(void)
{
    sigset_t all;
    sigset_t old;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    running = true;
    if (pthread_create(&drawer, NULL, draw_until_stopped, NULL) != 0)
        running = false;
    pthread_sigmask(SIG_SETMASK, &old, NULL);
}

static void print_line(const char *text)
{
    erase();
    fprintf(stderr, "%s\n", text);
}

void progress_begin(const char *format, ...)
{
    va_list arguments;

    progress_end();
    va_start(arguments, format);
    char *text = text_format_v(format, arguments);
    va_end(arguments);
    if (!text)
        return;
    pthread_mutex_lock(&lock);
    subject = text;
    begun_ms = sandlot_now_ms();
    if (verbosity >= 1 || (verbosity >= 0 && terminal && !moving))
        fprintf(stderr, "%s...\n", subject);
    if (moving)
        start_drawing();
    pthread_mutex_unlock(&lock);
}

/* "what", "what 3/7", "what 3"; to be freed. */
static char *describe(const char *what, uint64_t done, uint64_t total)
{
    AUTO_FREE char *clean = text_visible(what);

    if (!clean || (!done && !total))
        return TAKE(clean);
    if (!total)
        return text_format("%s %llu", clean, (unsigned long long)done);
    return text_format("%s %llu/%llu", clean, (unsigned long long)done, (unsigned long long)total);
}

/* Providers report often. A line is due for another kind of work, for the end of it, and once a second between. */
static bool is_due(const char *what, bool complete)
{
    static char last_what[128];
    static int64_t last_ms;
    int64_t now_ms = sandlot_now_ms();

    if (strncmp(last_what, what, sizeof(last_what) - 1) == 0 && !complete && now_ms - last_ms < LINE_PAUSE_MS)
        return false;
    snprintf(last_what, sizeof(last_what), "%s", what);
    last_ms = now_ms;
    return true;
}

/* Takes TEXT as how far it is, of the kind WHAT. */
static void show(char *text, const char *what, bool complete)
{
    pthread_mutex_lock(&lock);
    bool same = text && detail && strcmp(text, detail) == 0;

    free(detail);
    detail = text;
    if (text && !same && verbosity >= 1 && is_due(what, complete))
        print_line(detail);
    pthread_mutex_unlock(&lock);
}

void progress_report(void *context, const char *what, uint64_t done, uint64_t total)
{
    (void)context;
    show(describe(what, done, total), what, total > 0 && done >= total);
}

void progress_transfer(uint64_t done, uint64_t total)
{
    show(transfer_text(done, total, sandlot_now_ms() - begun_ms), "bytes", total > 0 && done >= total);
}

void progress_end(void)
{
    pthread_mutex_lock(&lock);
    bool join = running;

    running = false;
    pthread_cond_signal(&stop);
    pthread_mutex_unlock(&lock);
    if (join)
        pthread_join(drawer, NULL);
    free(TAKE(subject));
    free(TAKE(detail));
}

__attribute__((format(printf, 1, 0))) static void print_formatted(const char *format, va_list arguments)
{
    AUTO_FREE char *text = text_format_v(format, arguments);

    pthread_mutex_lock(&lock);
    print_line(text ? text : "sandlot: out of memory");
    pthread_mutex_unlock(&lock);
}

void progress_note(const char *format, ...)
{
    va_list arguments;

    if (verbosity < 1)
        return;
    va_start(arguments, format);
    print_formatted(format, arguments);
    va_end(arguments);
}

void progress_line(const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    print_formatted(format, arguments);
    va_end(arguments);
}

void progress_bytes(const void *bytes, size_t length)
{
    pthread_mutex_lock(&lock);
    erase();
    if (terminal) {
        AUTO_FREE char *clean = malloc(length + TERMINAL_FILTER_SLACK);

        if (clean)
            fwrite(clean, 1, terminal_filter(&filter, bytes, length, clean), stderr);
    } else {
        fwrite(bytes, 1, length, stderr);
    }
    pthread_mutex_unlock(&lock);
}

void progress_message(void *context, enum sandlot_message_level level, const char *text)
{
    (void)context;
    /* Levels count up from errors; what is shown goes up to warnings, with -v to information, with -vv to details. */
    if ((int)level > (int)SANDLOT_MESSAGE_WARNING + verbosity)
        return;
    pthread_mutex_lock(&lock);
    erase();
    fprintf(stderr, "sandlot: %s%s\n", level == SANDLOT_MESSAGE_WARNING ? "warning: " : "", text);
    pthread_mutex_unlock(&lock);
}
