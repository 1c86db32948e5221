/*
 * The hands of an agent: tool calls in, answers out, one JSON object per line, all in one sandbox.
 *
 *   {"id":1,"name":"write_file","arguments":{"file_path":"a.txt","content":"hello\n"}}
 *   {"id":2,"name":"execute","arguments":{"command":"wc -c a.txt"}}
 *
 * The first line that it prints has the tools, as a model wants to see them; every other line is one answer. What talks
 * to a model puts those tools into its requests, and hands over here what the model calls. Ctrl-C cancels the call
 * under way; the sandbox is deleted however the program ends. Only sandlot/sandlot.h and json-c are needed:
 *
 *   cc -o agent agent.c $(pkg-config --cflags --libs sandlot json-c)
 */
#include <sandlot/sandlot.h>

#include <json-c/json.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct sandlot_cancellation *cancellation;

static void on_signal(int number)
{
    (void)number;
    sandlot_cancel(cancellation); /* may be called here */
}

/* Without SA_RESTART, so that waiting for the next line ends too. */
static void cancel_on_signals(void)
{
    struct sigaction action = {.sa_handler = on_signal};

    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
}

static void complain(struct sandlot_error *error)
{
    fprintf(stderr, "%s: %s\n", sandlot_code_name(error->code), error->message ? error->message : "no reason");
    sandlot_error_clear(error);
}

/* What went wrong besides the tools' own errors, as an answer: the model asked for something that is none of them. */
static void print_refusal(struct json_object *id, const char *message)
{
    struct json_object *text = json_object_new_string(message);

    printf("{\"id\":%s,\"is_error\":true,\"content\":[{\"type\":\"text\",\"text\":%s}]}\n",
           id ? json_object_to_json_string_ext(id, JSON_C_TO_STRING_PLAIN) : "null",
           json_object_to_json_string_ext(text, JSON_C_TO_STRING_PLAIN));
    json_object_put(text);
}

/* Calls the tool that REQUEST names and prints its answer. False once the program is to end. */
static bool answer(struct sandlot_session *session, struct json_object *request)
{
    struct json_object *id = json_object_object_get(request, "id");
    struct json_object *arguments = json_object_object_get(request, "arguments");
    const struct sandlot_tool_call call = {
        .size = sizeof(call),
        .name = json_object_get_string(json_object_object_get(request, "name")),
        .arguments = arguments ? json_object_to_json_string_ext(arguments, JSON_C_TO_STRING_PLAIN) : NULL,
        .cancellation = cancellation};
    struct sandlot_tool_answer reply = {.size = sizeof(reply)};
    struct sandlot_error error = {0};

    if (sandlot_call_tool(session, &call, &reply, &error) == 0) {
        /* Content and meta are JSON already. */
        printf("{\"id\":%s,\"is_error\":%s,\"content\":%s,\"meta\":%s}\n",
               id ? json_object_to_json_string_ext(id, JSON_C_TO_STRING_PLAIN) : "null",
               reply.is_error ? "true" : "false", reply.content, reply.meta);
        sandlot_tool_answer_clear(&reply);
    } else if (error.code == SANDLOT_CODE_USAGE) {
        print_refusal(id, error.message);
    } else {
        bool cancelled = error.code == SANDLOT_CODE_CANCELLED;

        complain(&error);
        return !cancelled;
    }
    sandlot_error_clear(&error);
    return true;
}

static void answer_all(struct sandlot_session *session)
{
    char *line = NULL;
    size_t capacity = 0;
    bool more = true;

    while (more && getline(&line, &capacity, stdin) > 0) {
        struct json_object *request = json_tokener_parse(line);

        if (json_object_is_type(request, json_type_object))
            more = answer(session, request);
        else
            print_refusal(NULL, "one JSON object per line is wanted, with id, name and arguments");
        json_object_put(request);
        fflush(stdout);
    }
    free(line);
}

static void print_tools(const struct sandlot_session *session)
{
    char *tools = sandlot_tools(sandlot_session_can_execute(session));

    printf("{\"tools\":%s}\n", tools ? tools : "[]");
    fflush(stdout);
    free(tools);
}

int main(void)
{
    struct sandlot_error error = {0};
    struct sandlot *sandlot = sandlot_open(NULL, &error);
    struct sandlot_session_options options = {.size = sizeof(options)};

    cancellation = sandlot_cancellation_new();
    cancel_on_signals();
    options.cancellation = cancellation;
    struct sandlot_session *session = sandlot && cancellation ? sandlot_session_open(sandlot, &options, &error) : NULL;
    int status = session ? 0 : 1;

    if (session) {
        print_tools(session);
        answer_all(session);
        if (sandlot_session_close(session, &error) < 0)
            status = 1;
    }
    if (status)
        complain(&error);
    sandlot_close(sandlot);
    sandlot_cancellation_free(cancellation);
    return status;
}
