/* What a list of hosts adds to the making of a box, whose gate (plugins/local/keeper/gate.h) is there before its first
 * command. */
#include "bench.h"

enum { LIVES = 20, TIMES = 5, BOXES = (LIVES + 1) * TIMES };

/* Those who are made live on until all are: the end of one is no part of the making of the next. */
struct lives {
    struct sandlot *sandlot;
    const char *network; /* what is asked for; NULL: nothing */
    struct sandlot_session *sessions[BOXES];
    size_t count;
};

static void once_create(void *context)
{
    struct lives *lives = context;
    const char *const allow[] = {"example.com", "10.0.0.5:5432", NULL};
    struct sandlot_error error = {0};
    struct sandlot_session_options options = {.size = sizeof(options),
                                              .provider = "local",
                                              .network = lives->network,
                                              .allow = lives->network ? allow : NULL};
    struct sandlot_session *session = sandlot_session_open(lives->sandlot, &options, &error);

    if (!session)
        give_up("no sandbox could be made: %s", error.message);
    lives->sessions[lives->count++] = session;
}

static void end_lives(const struct lives *lives)
{
    for (size_t i = 0; i < lives->count; i++)
        close_box(lives->sessions[i]);
}

void bench_network(const struct bench *bench)
{
    struct lives plain = {bench->sandlot, NULL, {NULL}, 0};
    struct lives listed = {bench->sandlot, "allow", {NULL}, 0};
    struct contender turns[] = {{.once = once_create, .context = &listed}, {.once = once_create, .context = &plain}};

    compete_quietest(turns, 2, LIVES, TIMES);
    end_lives(&listed);
    end_lives(&plain);
    row("create: what a list of hosts adds", (turns[0].median_us - turns[1].median_us) / 1e3, 2, "ms",
        "%.2f ms and %.2f ms", turns[0].median_us / 1e3, turns[1].median_us / 1e3);
}
