/* What it costs that files are in memory, and that the provider which keeps them there stands on another. */
#include "bench.h"

enum { ROUNDS = 40 };

struct life {
    struct sandlot *sandlot;
    const char *provider;
};

static void once_life(void *context)
{
    const struct life *life = context;
    struct sandlot_session *session = open_box(life->sandlot, life->provider, NULL);

    in_box(session, "true");
    close_box(session);
}

void bench_vfs(const struct bench *bench)
{
    struct life disk = {bench->sandlot, "local"};
    struct life memory = {bench->sandlot, "vfs"};
    struct contender contenders[] = {{.once = once_life, .context = &disk}, {.once = once_life, .context = &memory}};

    compete(contenders, 2, ROUNDS);
    row("vfs: create, true, delete / the same of local", contenders[1].median_us / contenders[0].median_us, 2, "x",
        "%.2f ms and %.2f ms", contenders[1].median_us / 1e3, contenders[0].median_us / 1e3);
}
