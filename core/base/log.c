#include "base/log.h"

#include "base/cleanup.h"
#include "base/redact.h"
#include "base/text.h"

#include <pthread.h>
#include <stdio.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static log_receiver receiver;
static void *receiver_context;

/* A receiver may take its time, with the lock: a child that is forked off meanwhile has no thread that would give it
 * back. (The parent cannot wait for it before: the receiver may want what the thread that forks has.) */
static void forget_parent(void)
{
    pthread_mutex_init(&lock, NULL);
}

static void expect_forks(void)
{
    pthread_atfork(NULL, NULL, forget_parent);
}

static void take_lock(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, expect_forks);
    pthread_mutex_lock(&lock);
}

void log_set_receiver(log_receiver new_receiver, void *context)
{
    take_lock();
    receiver = new_receiver;
    receiver_context = context;
    pthread_mutex_unlock(&lock);
}

void log_unset_receiver(log_receiver old_receiver, const void *context)
{
    take_lock();
    if (receiver == old_receiver && receiver_context == context) {
        receiver = NULL;
        receiver_context = NULL;
    }
    pthread_mutex_unlock(&lock);
}

static void deliver(enum sandlot_message_level level, const char *text)
{
    take_lock();
    if (receiver)
        receiver(receiver_context, level, text);
    else if (level <= SANDLOT_MESSAGE_WARNING)
        fprintf(stderr, "sandlot: %s%s\n", level == SANDLOT_MESSAGE_WARNING ? "warning: " : "", text);
    pthread_mutex_unlock(&lock);
}

void log_message_v(enum sandlot_message_level level, const char *format, va_list arguments)
{
    AUTO_FREE char *raw = text_format_v(format, arguments);
    AUTO_FREE char *clean = raw ? redact(raw) : NULL;
    AUTO_FREE char *line = clean ? text_visible(clean) : NULL;

    deliver(level, line ? line : "out of memory");
}

void log_message(enum sandlot_message_level level, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    log_message_v(level, format, arguments);
    va_end(arguments);
}
