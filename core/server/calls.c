/*
 * A call runs on a thread that was offered, or else on one of the pool, which grows with the need and never shrinks:
 * what a provider starts may be tied to the life of the thread that started it. One more thread sends progress.
 *
 * A call is in the list from its arrival until its answer is about to be sent; who takes it out decides what becomes of
 * it. So nothing follows an answer, and a cancelled call has none.
 */
#include "server/calls.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "base/log.h"
#include "server/answers.h"
#include "server/masking.h"
#include "server/tail.h"
#include "tools/call.h"

#include <json-c/json.h>
#include <poll.h>
#include <pthread.h>
#include <sandlot/provider.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
    MOST_THREADS = 64,
    MOST_CALLS = 4096,
    PROGRESS_MS = 1000,        /* before the first notice, and between two */
    SILENT_PROGRESS_MS = 10000 /* between two that say the same */
};

enum call_state { CALL_QUEUED, CALL_RUNNING, CALL_SUBSCRIBED };

struct call {
    struct call *next;
    struct call **at;    /* what points to it in the list */
    struct call *behind; /* in the queue */
    struct channel *channel;
    char *id;
    char *tool;
    char *arguments; /* NULL: none */
    size_t arguments_length;
    char *token; /* NULL: no progress is wanted */
    bool modern;
    enum call_state state;
    bool making;        /* waits for the sandbox */
    atomic_bool silent; /* nobody waits for an answer */
    atomic_bool cancelled;
    struct sandlot_cancellation *cancellation; /* of a call that runs */
    int64_t begun_ms;
    int64_t told_ms; /* when progress was last sent; 0: never */
    uint64_t told_total;
    pthread_mutex_t tail_lock;
    struct tail *tail; /* with a token */
};

struct calls {
    const struct calls_options *options;
    pthread_mutex_t lock;
    pthread_cond_t work;  /* there is a queue */
    pthread_cond_t timer; /* progress may be wanted earlier; by CLOCK_MONOTONIC */
    struct call *all;
    struct call *first; /* of the queue */
    struct call **last;
    size_t count; /* of those that are not answered yet, but subscriptions */
    size_t subscriptions;
    size_t idle; /* threads of the pool without work */
    size_t threads;
    size_t offered; /* threads that will come for a call */
    size_t claimed; /* calls that such threads have not done with */
    size_t running; /* calls that those and the pool's are at, MOST_THREADS at most */
    bool closed;
    bool ending; /* the threads may go */
    bool has_ticker;
    pthread_t ticker;
    pthread_t pool[MOST_THREADS];
};

struct calls *calls_new(const struct calls_options *options)
{
    struct calls *calls = calloc(1, sizeof(*calls));
    pthread_condattr_t monotonic;

    if (!calls)
        return NULL;
    calls->options = options;
    calls->last = &calls->first;
    pthread_mutex_init(&calls->lock, NULL);
    pthread_cond_init(&calls->work, NULL);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&calls->timer, &monotonic);
    pthread_condattr_destroy(&monotonic);
    return calls;
}

/* ---- one call ---------------------------------------------------------------------------------------------------- */

static void free_call(struct call *call)
{
    if (!call)
        return;
    channel_release(call->channel);
    sandlot_cancellation_free(call->cancellation);
    pthread_mutex_destroy(&call->tail_lock);
    free(call->tail);
    free(call->id);
    free(call->tool);
    free(call->arguments);
    free(call->token);
    free(call);
}

static struct call *new_call(const struct calls_request *request)
{
    struct call *call = calloc(1, sizeof(*call));

    if (!call)
        return NULL;
    pthread_mutex_init(&call->tail_lock, NULL);
    call->channel = channel_hold(request->channel);
    call->modern = request->modern;
    call->begun_ms = sandlot_now_ms();
    call->id = piece_copy(request->id);
    call->tool = request->tool ? strdup(request->tool) : NULL;
    call->arguments_length = request->arguments.length;
    call->arguments = request->arguments.text ? piece_copy(request->arguments) : NULL;
    call->token = request->token.text ? piece_copy(request->token) : NULL;
    call->tail = call->token ? calloc(1, sizeof(*call->tail)) : NULL;
    if (call->id && (!request->tool || call->tool) && (!request->arguments.text || call->arguments) &&
        (!request->token.text || (call->token && call->tail)))
        return call;
    free_call(call);
    return NULL;
}

/* With the lock held, as up to the next part. */
static void link_call(struct calls *calls, struct call *call)
{
    call->next = calls->all;
    call->at = &calls->all;
    if (call->next)
        call->next->at = &call->next;
    calls->all = call;
    if (call->state == CALL_SUBSCRIBED)
        calls->subscriptions++;
    else
        calls->count++;
}

static void unlink_call(const struct call *call)
{
    *call->at = call->next;
    if (call->next)
        call->next->at = call->at;
}

static void discount(struct calls *calls, const struct call *call)
{
    if (call->state == CALL_SUBSCRIBED)
        calls->subscriptions--;
    else
        calls->count--;
}

static void leave_queue(struct calls *calls, struct call *call)
{
    for (struct call **at = &calls->first; *at; at = &(*at)->behind) {
        if (*at != call)
            continue;
        *at = call->behind;
        if (!*at)
            calls->last = at;
        return;
    }
}

static bool matches(const struct call *call, const struct peer *peer, struct piece id)
{
    return call->channel->peer == peer && !call->silent &&
           message_same_id((struct piece){call->id, strlen(call->id)}, id);
}

/* ---- running ----------------------------------------------------------------------------------------------------- */

static void on_output(void *context, const void *bytes, size_t length)
{
    struct call *call = context;

    pthread_mutex_lock(&call->tail_lock);
    tail_add(call->tail, bytes, length);
    pthread_mutex_unlock(&call->tail_lock);
}

/* The code that the answer's meta names; "" for none. To be freed. */
static char *error_name(const struct sandlot_tool_answer *answer)
{
    struct json_object *meta = answer->meta ? json_tokener_parse(answer->meta) : NULL;
    struct json_object *name = NULL;

    json_object_object_get_ex(meta, "sandlot/error", &name);
    char *copy = strdup(name ? json_object_get_string(name) : "");

    json_object_put(meta);
    return copy;
}

/* What becomes of the server's sandbox when it has ended without us. */
static const char *after_loss(enum tenure tenure)
{
    switch (tenure) {
    case TENURE_OWNED:
        return "The sandbox has ended and its files are gone. The next call of a tool makes a new, empty one.";
    case TENURE_SCOPE:
        return "The sandbox of this scope has ended and its files are gone. The next call of a tool makes a new one.";
    default:
        return "The sandbox that this server was started for has ended, and it makes no other. Ask the user to start "
               "the server with the id of a sandbox that exists.";
    }
}

/* A failure that a model is told as the result of its tool. */
static bool fill_failure(struct sandlot_tool_answer *answer, const struct sandlot_error *error)
{
    AUTO_FREE char *name = json_quote(sandlot_code_name(error->code), strlen(sandlot_code_name(error->code)));

    answer->is_error = true;
    answer->content = answer_content(error->message ? error->message : "out of memory");
    if (name && asprintf(&answer->meta, "{\"sandlot/error\":%s}", name) < 0)
        answer->meta = NULL;
    return answer->content && answer->meta;
}

static bool fill_ending(struct sandlot_tool_answer *answer)
{
    static char text[] = "The call was cancelled because the server is ending.";
    const struct sandlot_error ending = {SANDLOT_CODE_CANCELLED, text};

    return fill_failure(answer, &ending);
}

/* Replaces what the tool said about a sandbox that is not there any more. */
static void fill_loss(struct calls *calls, struct sandlot_session *session, struct sandlot_tool_answer *answer)
{
    AUTO_FREE char *name = answer->is_error ? error_name(answer) : NULL;
    char *content;

    if (!name || strcmp(name, sandlot_code_name(SANDLOT_CODE_SANDBOX_NOT_FOUND)) != 0)
        return;
    holder_lost(calls->options->holder, session);
    content = answer_content(after_loss(holder_tenure(calls->options->holder)));
    if (!content)
        return;
    free(answer->content);
    answer->content = content;
}

/* Runs the tool in SESSION. RPC_OK with the answer filled; else ERROR says why there is none. */
static enum rpc_code use_tool(struct calls *calls, struct call *call, struct sandlot_session *session,
                              struct sandlot_tool_answer *answer, struct tool_news *news, struct sandlot_error *error)
{
    struct sandlot_tool_call request = {.size = sizeof(request),
                                        .name = call->tool,
                                        .arguments = call->arguments,
                                        .maximum_bytes = calls->options->maximum_result_bytes,
                                        .output = call->tail ? on_output : NULL,
                                        .context = call,
                                        .cancellation = call->cancellation};

    if (!session)
        return fill_failure(answer, error) ? RPC_OK : RPC_INTERNAL_ERROR;
    pthread_mutex_lock(&calls->lock);
    call->making = false;
    pthread_mutex_unlock(&calls->lock);
    enum rpc_code code = RPC_OK;

    if (tool_call(session, &request, answer, news, error) == 0)
        fill_loss(calls, session, answer);
    else if (error->code == SANDLOT_CODE_USAGE)
        code = RPC_INVALID_PARAMS;
    else if (error->code == SANDLOT_CODE_CANCELLED)
        code = fill_ending(answer) ? RPC_OK : RPC_INTERNAL_ERROR; /* whoever cancels a single call wants no answer */
    else if (!fill_failure(answer, error))
        code = RPC_INTERNAL_ERROR;
    return code;
}

static void log_call(const struct call *call, const struct sandlot_tool_answer *answer, enum rpc_code code)
{
    log_info("%s, %zu bytes of arguments: %s after %lld ms", call->tool, call->arguments_length,
             call->silent       ? "cancelled"
             : code != RPC_OK   ? "refused"
             : answer->is_error ? "failed"
                                : "done",
             (long long)(sandlot_now_ms() - call->begun_ms));
}

/* The line that goes out; NULL when out of memory. */
static char *compose(const struct calls *calls, const struct call *call, struct sandlot_tool_answer *answer,
                     enum rpc_code code, const struct sandlot_error *error)
{
    if (code == RPC_INVALID_PARAMS)
        return answer_error(call->id, code, error->message, NULL);
    if (code == RPC_OK) {
        answer->content = masking_apply(answer->content);
        answer->meta = masking_apply(answer->meta);
    }
    if (code != RPC_OK || !answer->content)
        return answer_error(call->id, RPC_INTERNAL_ERROR, "out of memory", NULL);
    return answer_tool(call->id, answer->content, answer->meta, answer->is_error,
                       call->modern ? calls->options->info : NULL);
}

/* Takes the call out of the list: from then on nobody can cancel it. Does somebody wait for the answer? */
static bool close_call(struct calls *calls, struct call *call)
{
    pthread_mutex_lock(&calls->lock);
    bool wanted = !call->silent;

    unlink_call(call);
    pthread_mutex_unlock(&calls->lock);
    return wanted;
}

/* Sends TEXT, NULL if nobody waits for it. The call counts until that is done. */
static void finish(struct calls *calls, struct call *call, const char *text, enum rpc_code code)
{
    if (text)
        call->channel->send(call->channel, OUTGOING_RESULT, text, strlen(text), code);
    pthread_mutex_lock(&calls->lock);
    discount(calls, call);
    pthread_mutex_unlock(&calls->lock);
}

static void run_call(struct calls *calls, struct call *call)
{
    struct sandlot_tool_answer answer = {.size = sizeof(answer)};
    struct tool_news news = {0};
    struct sandlot_error error = {0};
    struct sandlot_session *session = holder_borrow(calls->options->holder, &call->cancelled, &error);
    enum rpc_code code = use_tool(calls, call, session, &answer, &news, &error);

    AUTO_FREE char *text = call->silent ? NULL : compose(calls, call, &answer, code, &error);

    log_call(call, &answer, code);
    bool wanted = close_call(calls, call) && text;

    if (session && wanted)
        tool_news_arrived(session, &news);
    if (session)
        holder_give_back(calls->options->holder, session);
    finish(calls, call, wanted ? text : NULL, code);
    sandlot_tool_answer_clear(&answer);
    sandlot_error_clear(&error);
    free_call(call);
}

/* With the lock held: may the next call of the queue begin? One that may not is taken by who ends another one. */
static bool has_turn(const struct calls *calls)
{
    return calls->first && calls->running < MOST_THREADS;
}

/* With the lock held: the next call of the queue, made ready; NULL if there is none, or no descriptor for it. */
static struct call *take_call(struct calls *calls)
{
    struct call *call = calls->first;

    calls->first = call->behind;
    if (!calls->first)
        calls->last = &calls->first;
    calls->running++;
    call->state = CALL_RUNNING;
    call->making = true;
    call->cancellation = sandlot_cancellation_new();
    return call;
}

void calls_offer(struct calls *calls)
{
    pthread_mutex_lock(&calls->lock);
    calls->offered++;
    pthread_mutex_unlock(&calls->lock);
}

struct call *calls_claim(struct calls *calls)
{
    pthread_mutex_lock(&calls->lock);
    struct call *call = has_turn(calls) ? take_call(calls) : NULL;

    calls->offered--;
    calls->claimed += call != NULL;
    pthread_mutex_unlock(&calls->lock);
    return call;
}

void calls_run(struct calls *calls, struct call *call)
{
    run_call(calls, call);
    pthread_mutex_lock(&calls->lock);
    calls->claimed--;
    calls->running--;
    if (calls->first)
        pthread_cond_signal(&calls->work);
    pthread_mutex_unlock(&calls->lock);
}

static void *work(void *argument)
{
    struct calls *calls = argument;

    pthread_mutex_lock(&calls->lock);
    for (;;) {
        if (has_turn(calls)) {
            struct call *call = take_call(calls);

            pthread_mutex_unlock(&calls->lock);
            run_call(calls, call);
            pthread_mutex_lock(&calls->lock);
            calls->running--;
            continue;
        }
        if (calls->ending)
            break;
        calls->idle++;
        pthread_cond_wait(&calls->work, &calls->lock);
        calls->idle--;
    }
    pthread_mutex_unlock(&calls->lock);
    return NULL;
}

/* ---- progress ---------------------------------------------------------------------------------------------------- */

/* What to say about a call; NULL: nothing is known. *NEWS: it has printed since. To be freed. */
static char *progress_text(struct calls *calls, struct call *call, size_t *length, bool *news)
{
    const char *text = NULL;

    *news = false;
    if (call->state == CALL_QUEUED)
        text = "waiting for other calls to end…";
    else if (call->making && holder_is_making(calls->options->holder))
        text = "creating sandbox…";
    if (text) {
        *length = strlen(text);
        return strdup(text);
    }
    pthread_mutex_lock(&call->tail_lock);
    char *line = tail_line(call->tail, length);

    *news = call->tail->total != call->told_total;
    call->told_total = call->tail->total;
    pthread_mutex_unlock(&call->tail_lock);
    return line;
}

static void tell(struct calls *calls, struct call *call, int64_t now_ms)
{
    size_t length = 0;
    bool news;
    AUTO_FREE char *message = progress_text(calls, call, &length, &news);

    if (call->told_ms && !news && now_ms - call->told_ms < SILENT_PROGRESS_MS)
        return;
    AUTO_FREE char *text = notice_progress(call->token, now_ms - call->begun_ms, message, length);

    call->told_ms = now_ms;
    if (text)
        call->channel->send(call->channel, OUTGOING_PROGRESS, text, strlen(text), RPC_OK);
}

/* With the lock held: tells about those whose turn it is. When to look again; INT64_MAX: nobody wants progress. */
static int64_t tell_all(struct calls *calls)
{
    int64_t now_ms = sandlot_now_ms();
    int64_t next_ms = INT64_MAX;

    for (struct call *call = calls->all; call; call = call->next) {
        if (!call->token || call->silent)
            continue;
        int64_t due_ms = (call->told_ms ? call->told_ms : call->begun_ms) + PROGRESS_MS;

        if (due_ms <= now_ms) {
            tell(calls, call, now_ms);
            due_ms = now_ms + PROGRESS_MS;
        }
        next_ms = due_ms < next_ms ? due_ms : next_ms;
    }
    return next_ms;
}

static void *tick(void *argument)
{
    struct calls *calls = argument;

    pthread_mutex_lock(&calls->lock);
    while (!calls->ending) {
        int64_t next_ms = tell_all(calls);
        struct timespec until = {.tv_sec = next_ms / 1000, .tv_nsec = next_ms % 1000 * 1000000};

        if (next_ms == INT64_MAX)
            pthread_cond_wait(&calls->timer, &calls->lock);
        else
            pthread_cond_timedwait(&calls->timer, &calls->lock, &until);
    }
    pthread_mutex_unlock(&calls->lock);
    return NULL;
}

/* ---- taking calls ------------------------------------------------------------------------------------------------ */

/* Signals are for the main thread. */
static bool start_thread(pthread_t *thread, void *(*function)(void *), void *argument)
{
    sigset_t all;
    sigset_t old;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    bool started = pthread_create(thread, NULL, function, argument) == 0;

    pthread_sigmask(SIG_SETMASK, &old, NULL);
    return started;
}

/* With the lock held: a thread for what waits in the queue. False: there is none at all. */
static bool provide_thread(struct calls *calls)
{
    size_t ready = calls->idle + calls->offered;
    size_t waiting = 0;

    for (const struct call *call = calls->first; call && waiting <= ready; call = call->behind)
        waiting++;
    /* A thread that was woken and has not run yet counts as idle still. */
    if (waiting > ready && calls->threads < MOST_THREADS && start_thread(&calls->pool[calls->threads], work, calls))
        calls->threads++;
    if (waiting > calls->offered)
        pthread_cond_signal(&calls->work);
    return calls->threads + calls->offered > 0;
}

/* With the lock held. */
static void provide_ticker(struct calls *calls)
{
    if (!calls->has_ticker)
        calls->has_ticker = start_thread(&calls->ticker, tick, calls);
    else
        pthread_cond_signal(&calls->timer);
}

bool calls_submit(struct calls *calls, const struct calls_request *request)
{
    struct call *call = new_call(request);

    if (!call)
        return false;
    pthread_mutex_lock(&calls->lock);
    bool taken = !calls->closed && calls->count < MOST_CALLS;

    if (taken) {
        link_call(calls, call);
        *calls->last = call;
        calls->last = &call->behind;
        taken = provide_thread(calls);
        if (!taken) {
            leave_queue(calls, call);
            unlink_call(call);
            discount(calls, call);
        } else if (request->token.text) {
            provide_ticker(calls);
        }
    }
    pthread_mutex_unlock(&calls->lock);
    if (!taken)
        free_call(call);
    return taken;
}

bool calls_subscribe(struct calls *calls, struct channel *channel, struct piece id)
{
    struct call *call = new_call(&(struct calls_request){.channel = channel, .id = id, .modern = true});

    if (!call)
        return false;
    call->state = CALL_SUBSCRIBED;
    pthread_mutex_lock(&calls->lock);
    bool taken = !calls->closed && calls->subscriptions < MOST_CALLS;

    if (taken)
        link_call(calls, call);
    pthread_mutex_unlock(&calls->lock);
    if (!taken)
        free_call(call);
    return taken;
}

bool calls_has(struct calls *calls, const struct peer *peer, struct piece id)
{
    bool found = false;

    pthread_mutex_lock(&calls->lock);
    for (const struct call *call = calls->all; call && !found; call = call->next)
        found = matches(call, peer, id);
    pthread_mutex_unlock(&calls->lock);
    return found;
}

size_t calls_count(struct calls *calls)
{
    pthread_mutex_lock(&calls->lock);
    size_t count = calls->count;

    pthread_mutex_unlock(&calls->lock);
    return count;
}

/* ---- cancelling -------------------------------------------------------------------------------------------------- */

/* With the lock held: ends one call. It is returned if it never ran, for the caller to free without the lock. */
static struct call *cancel(struct calls *calls, struct call *call, bool silent)
{
    if (silent)
        call->silent = true;
    if (call->state == CALL_RUNNING) {
        call->cancelled = true;
        if (call->cancellation)
            sandlot_cancel(call->cancellation);
        return NULL;
    }
    if (call->state == CALL_QUEUED)
        leave_queue(calls, call);
    unlink_call(call);
    discount(calls, call);
    return call;
}

void calls_cancel(struct calls *calls, const struct peer *peer, struct piece id)
{
    struct call *found = NULL;
    size_t count = 0;

    pthread_mutex_lock(&calls->lock);
    for (struct call *call = calls->all; call; call = call->next) {
        if (!matches(call, peer, id))
            continue;
        found = call;
        count++;
    }
    struct call *never_ran = count == 1 ? cancel(calls, found, true) : NULL;

    pthread_mutex_unlock(&calls->lock);
    free_call(never_ran);
    holder_wake(calls->options->holder);
}

void calls_hang_up(struct calls *calls, const struct channel *channel)
{
    struct call *never_ran = NULL;

    pthread_mutex_lock(&calls->lock);
    for (struct call *call = calls->all, *next; call; call = next) {
        next = call->next;
        struct call *gone = call->channel == channel ? cancel(calls, call, true) : NULL;

        if (gone) {
            gone->behind = never_ran;
            never_ran = gone;
        }
    }
    pthread_mutex_unlock(&calls->lock);
    while (never_ran) {
        struct call *call = never_ran;

        never_ran = call->behind;
        free_call(call);
    }
    holder_wake(calls->options->holder);
}

/* ---- the end ----------------------------------------------------------------------------------------------------- */

static void answer_subscription(const struct calls *calls, const struct call *call)
{
    AUTO_FREE char *meta = NULL;

    if (asprintf(&meta, "\"" META_PREFIX "subscriptionId\":%s", call->id) < 0) {
        meta = NULL;
        return;
    }
    AUTO_FREE char *text = answer_result(call->id, "", calls->options->info, meta);

    if (text)
        call->channel->send(call->channel, OUTGOING_ANSWER, text, strlen(text), RPC_OK);
}

static void answer_never_ran(const struct calls *calls, const struct call *call)
{
    AUTO_FREE char *content = answer_content("The server ended before this call began.");
    AUTO_FREE char *text =
        content ? answer_tool(call->id, content, NULL, true, call->modern ? calls->options->info : NULL) : NULL;

    if (text)
        call->channel->send(call->channel, OUTGOING_ANSWER, text, strlen(text), RPC_OK);
}

/* Ends all calls in one of the STATES, a set of bits, and answers those that never ran. */
static void end_calls(struct calls *calls, unsigned int states)
{
    struct call *never_ran = NULL;

    pthread_mutex_lock(&calls->lock);
    calls->closed = true;
    for (struct call *call = calls->all, *next; call; call = next) {
        next = call->next;
        struct call *gone = states & 1U << call->state ? cancel(calls, call, false) : NULL;

        if (gone) {
            gone->behind = never_ran;
            never_ran = gone;
        }
    }
    pthread_mutex_unlock(&calls->lock);
    while (never_ran) {
        struct call *call = never_ran;

        never_ran = call->behind;
        if (call->state == CALL_SUBSCRIBED)
            answer_subscription(calls, call);
        else
            answer_never_ran(calls, call);
        free_call(call);
    }
}

void calls_close(struct calls *calls)
{
    end_calls(calls, 1U << CALL_SUBSCRIBED);
}

void calls_cancel_all(struct calls *calls)
{
    end_calls(calls, 1U << CALL_QUEUED | 1U << CALL_RUNNING | 1U << CALL_SUBSCRIBED);
    holder_wake(calls->options->holder);
}

/* Nothing is left to do, and no thread from elsewhere is in here. */
static bool is_done(struct calls *calls)
{
    pthread_mutex_lock(&calls->lock);
    bool done = calls->count + calls->offered + calls->claimed == 0;

    pthread_mutex_unlock(&calls->lock);
    return done;
}

bool calls_wait(struct calls *calls, int64_t until_ms, int stop_fd)
{
    enum { LOOK_MS = 5 };
    struct pollfd stop = {stop_fd, POLLIN, 0};

    while (!is_done(calls)) {
        if (sandlot_now_ms() >= until_ms || poll(&stop, 1, LOOK_MS) > 0)
            return is_done(calls);
    }
    return true;
}

void calls_free(struct calls *calls)
{
    if (!calls)
        return;
    pthread_mutex_lock(&calls->lock);
    calls->ending = true;
    pthread_cond_broadcast(&calls->work);
    pthread_cond_broadcast(&calls->timer);
    pthread_mutex_unlock(&calls->lock);
    for (size_t i = 0; i < calls->threads; i++)
        pthread_join(calls->pool[i], NULL);
    if (calls->has_ticker)
        pthread_join(calls->ticker, NULL);
    pthread_cond_destroy(&calls->timer);
    pthread_cond_destroy(&calls->work);
    pthread_mutex_destroy(&calls->lock);
    free(calls);
}
