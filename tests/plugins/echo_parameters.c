/* Tells the log all of its parameters: of every kind, and more numbers than there are registers for them. */
#include "nothing.h"

#include <inttypes.h>

#define ECHO_PARAMETERS(P)                         \
    P(string, text, "", optional, "a string")      \
    P(integer, i1, "1", optional, "an integer")    \
    P(float, f1, "1.5", optional, "a float")       \
    P(boolean, yes, "true", optional, "a boolean") \
    P(integer, i2, "2", optional, "an integer")    \
    P(float, f2, "2.5", optional, "a float")       \
    P(integer, i3, "3", optional, "an integer")    \
    P(float, f3, "3.5", optional, "a float")       \
    P(path, folder, "", optional, "a path")        \
    P(integer, i4, "4", optional, "an integer")    \
    P(float, f4, "4.5", optional, "a float")       \
    P(integer, i5, "5", optional, "an integer")    \
    P(float, f5, "5.5", optional, "a float")       \
    P(array, list, "", optional, "an array")       \
    P(integer, i6, "6", optional, "an integer")    \
    P(float, f6, "6.5", optional, "a float")       \
    P(integer, i7, "7", optional, "an integer")    \
    P(float, f7, "7.5", optional, "a float")       \
    P(boolean, no, "", optional, "a boolean")      \
    P(integer, i8, "", optional, "an integer")     \
    P(float, f8, "8.5", optional, "a float")       \
    P(table, map, "", optional, "a table")         \
    P(float, f9, "9.5", optional, "a float")       \
    P(float, f10, "", optional, "a float")         \
    P(string, password, "", secret, "a secret")
SANDLOT_PARAMETERS(echo_parameters, ECHO_PARAMETERS)

static const char *or_null(const char *text)
{
    return text ? text : "NULL";
}

static enum sandlot_status echo_parameters_open(struct sandlot_call *call, void **provider, const char *text,
                                                int64_t i1, double f1, bool yes, int64_t i2, double f2, int64_t i3,
                                                double f3, const char *folder, int64_t i4, double f4, int64_t i5,
                                                double f5, const char *list, int64_t i6, double f6, int64_t i7,
                                                double f7, bool no, int64_t i8, double f8, const char *map, double f9,
                                                double f10, const char *password)
{
    char line[2048];

    *provider = NULL;
    snprintf(line, sizeof(line), "text=%s folder=%s list=%s map=%s password=%s yes=%d no=%d", or_null(text),
             or_null(folder), or_null(list), or_null(map), or_null(password), yes, no);
    call->host->log(call, SANDLOT_LOG_INFO, line);
    snprintf(line, sizeof(line),
             "integers=%" PRId64 ",%" PRId64 ",%" PRId64 ",%" PRId64 ",%" PRId64 ",%" PRId64 ",%" PRId64 ",%s", i1, i2,
             i3, i4, i5, i6, i7, i8 == SANDLOT_ABSENT_INTEGER ? "absent" : "present");
    call->host->log(call, SANDLOT_LOG_INFO, line);
    snprintf(line, sizeof(line), "floats=%g,%g,%g,%g,%g,%g,%g,%g,%g,%s", f1, f2, f3, f4, f5, f6, f7, f8, f9,
             isnan(f10) ? "absent" : "present");
    call->host->log(call, SANDLOT_LOG_INFO, line);
    return SANDLOT_OK;
}

static void echo_parameters_close(void *provider)
{
    (void)provider;
}

static const struct sandlot_provider echo_parameters_provider = {
    SANDLOT_TABLE(echo_parameters),
    NOTHING_FUNCTIONS,
    .close = echo_parameters_close,
};

#define METADATA(M)                                       \
    M(description, "Tells the log all of its parameters") \
    M(credentials, "ECHO_API_KEY|ECHO_API_LOGIN")         \
    M(environment, "ECHO_REGION ECHO_SESSION_TOKEN")
SANDLOT_ENTRY_POINT(echo_parameters, METADATA, ECHO_PARAMETERS);
