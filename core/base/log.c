#include "base/log.h"

#include "base/cleanup.h"
#include "base/redact.h"
#include "base/text.h"

#include <pthread.h>
#include <stdio.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static log_receiver receiver;
static void *receiver_context;

void log_set_receiver(log_receiver new_receiver, void *context)
{
    pthread_mutex_lock(&lock);
    receiver = new_receiver;
    receiver_context = context;
    pthread_mutex_unlock(&lock);
}

void log_unset_receiver(log_receiver old_receiver, const void *context)
{
    pthread_mutex_lock(&lock);
    if (receiver == old_receiver && receiver_context == context) {
        receiver = NULL;
        receiver_context = NULL;
    }
    pthread_mutex_unlock(&lock);
}

static void deliver(enum sandlot_message_level level, const char *text)
{
    pthread_mutex_lock(&lock);
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
