/*
 * What a sandbox may reach: each word of the network that the provider announces is tried with a sandbox that was made
 * so. What is to be reached comes first: a sandbox that reaches nothing at all would pass the rest.
 */
#include "cleanup.h"
#include "live.h"
#include "stop.h"
#include "tap.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

/* Hosts of others, which answer on 80 and 443. Each is what its name says only in the checks below. */
#define LISTED "example.com"
#define BELOW "www.example.org"
#define BARE "example.org"
#define OTHER "example.net"
#define ADDRESS "1.1.1.1"
#define NEAR "1.0.0.1"

/* As the group's help says: $host and $port are set. */
static const char usual_probe[] =
    "scheme=https; [ \"$port\" != 80 ] || scheme=http; curl -sSk -o /dev/null -m 20 \"$scheme://$host:$port/\"";
static const char variable[] = "SANDLOT_KIT_NETWORK_CREDENTIAL";

/* ---- looking out of a sandbox ------------------------------------------------------------------------------------ */

/* A place, and whether it is to be reached. */
struct place {
    const char *host;
    unsigned int port;
    bool reached;
};

static void check_place(const struct kit *kit, struct sandlot_session *session, const char *policy,
                        const struct place *place)
{
    const char *probe = kit->probe ? kit->probe : usual_probe;
    AUTO_FREE char *script = NULL;

    if (asprintf(&script, "host=%s port=%u; if ( %s ) >/dev/null 2>&1; then echo reached; else echo not; fi",
                 place->host, place->port, probe) < 0)
        return;
    struct outcome outcome = live_run(session, script);
    const char *wanted = place->reached ? "reached\n" : "not\n";

    tap_check(
        outcome_is(&outcome, 0, wanted, strlen(wanted)),
        say("%s: %s:%u is %s", policy, place->host, place->port, place->reached ? "reached" : "not reached"), wanted,
        outcome_shown(&outcome),
        place->reached
            ? "What the policy lists has to work, from the first command on; a sandbox needs a way out for it."
            : "Ask for nothing wider than the policy says, and refuse what cannot be held; provider.h says what each "
              "kind of entry means.");
    outcome_clear(&outcome);
}

static void check_places(const struct kit *kit, struct sandlot_session *session, const char *policy,
                         const struct place *places, size_t count)
{
    for (size_t i = 0; i < count; i++)
        check_place(kit, session, policy, &places[i]);
}

/* Makes a sandbox with MODE or the list ALLOW. NULL: that was told. */
static struct sandlot_session *make(const struct live *live, const char *policy, const char *mode,
                                    const char *const *allow)
{
    struct sandlot_session_options options = live_options(live);
    struct sandlot_error error = {0};

    options.network = mode;
    options.allow = allow;
    struct sandlot_session *session = live_open(live, &options, &error);

    tap_check(session, say("%s: a sandbox", policy), "a sandbox is made with what its words announce",
              error_shown(&error), "Hold the policy of request->network, or do not announce the word.");
    sandlot_error_clear(&error);
    return session;
}

#define CHECK(kit, session, policy, ...)                                              \
    do {                                                                              \
        const struct place places[] = {__VA_ARGS__};                                  \
                                                                                      \
        check_places(kit, session, policy, places, sizeof(places) / sizeof(*places)); \
    } while (0)

/* ---- each word --------------------------------------------------------------------------------------------------- */

static void check_off(const struct live *live)
{
    struct sandlot_session *session = make(live, "off", "off", NULL);

    if (!session)
        return;
    CHECK(live->kit, session, "off", {LISTED, 443, false}, {OTHER, 80, false}, {ADDRESS, 443, false});
    live_close(session, true, NULL);
}

static void change(struct sandlot_session *session, const char *name, const char *mode, const char *allow,
                   const char *deny)
{
    const char *const allowed[] = {allow, NULL};
    const char *const denied[] = {deny, NULL};
    const struct sandlot_network_change wanted = {.size = sizeof(wanted),
                                                  .mode = mode,
                                                  .allow = allow ? allowed : NULL,
                                                  .deny = deny ? denied : NULL,
                                                  .cancellation = stop_cancellation()};
    struct sandlot_error error = {0};

    tap_check(sandlot_change_network(session, &wanted, &error) == 0, name, "success", error_shown(&error),
              "set_network gets the whole policy anew; or do not announce network-live.");
    sandlot_error_clear(&error);
}

static void check_open(const struct live *live)
{
    struct sandlot_session *session = make(live, "open", "open", NULL);

    if (!session)
        return;
    CHECK(live->kit, session, "open", {LISTED, 443, true}, {OTHER, 80, true}, {ADDRESS, 443, true});
    if (kit_has(live->kit, "network-live") && kit_has(live->kit, "network-off")) {
        change(session, "while it lives: open no more", "off", NULL, NULL);
        CHECK(live->kit, session, "open no more", {LISTED, 443, false});
        change(session, "while it lives: open again", "open", NULL, NULL);
        CHECK(live->kit, session, "open again", {LISTED, 443, true});
    }
    live_close(session, true, NULL);
}

/* SESSION, which reaches LESS, is to reach MORE instead. */
static void check_changes(const struct kit *kit, struct sandlot_session *session, const char *more, const char *less)
{
    if (!kit_has(kit, "network-live"))
        return;
    change(session, "while it lives: a host more and one less", NULL, more, less);
    CHECK(kit, session, "changed", {more, 443, true}, {less, 443, false});
    if (!kit_has(kit, "network-off"))
        return;
    change(session, "while it lives: off", "off", NULL, NULL);
    CHECK(kit, session, "changed to off", {more, 443, false});
}

static void check_hosts(const struct live *live)
{
    static const char *const allow[] = {LISTED, "*." BARE, NULL};
    struct sandlot_session *session = make(live, "hosts", NULL, allow);

    if (!session)
        return;
    CHECK(live->kit, session, "hosts", {LISTED, 443, true}, {BELOW, 443, true}, {BARE, 443, false}, {OTHER, 443, false},
          {ADDRESS, 443, false});
    check_changes(live->kit, session, OTHER, LISTED);
    live_close(session, true, NULL);
}

static void check_one_port(const struct live *live)
{
    const bool names = kit_has(live->kit, "network-hosts");
    const char *const host = names ? LISTED : ADDRESS;
    const char *const allow[] = {names ? LISTED ":443" : ADDRESS ":443", NULL};
    struct sandlot_session *session = make(live, "one port", NULL, allow);

    if (!session)
        return;
    CHECK(live->kit, session, "one port", {host, 443, true}, {host, 80, false});
    live_close(session, true, NULL);
}

static void check_addresses(const struct live *live)
{
    static const char *const allow[] = {ADDRESS, NULL};
    struct sandlot_session *session = make(live, "addresses", NULL, allow);

    if (!session)
        return;
    CHECK(live->kit, session, "addresses", {ADDRESS, 443, true}, {NEAR, 443, false}, {LISTED, 443, false});
    if (!kit_has(live->kit, "network-hosts"))
        check_changes(live->kit, session, NEAR, ADDRESS);
    live_close(session, true, NULL);
}

/* ---- credentials ------------------------------------------------------------------------------------------------- */

/* The credential is the configuration's, which says that its host is LISTED. That the header arrives only the other
 * side sees. */
static void check_credential(const struct live *live)
{
    static const char *const allow[] = {OTHER, NULL};
    struct sandlot_session *session = make(live, "a credential", NULL, allow);
    AUTO_FREE char *script = NULL;

    if (!session)
        return;
    CHECK(live->kit, session, "a credential", {LISTED, 443, true}, {OTHER, 443, true}, {BELOW, 443, false});
    if (asprintf(&script, "env | grep -c %.7s''%s; grep -rlsF %.7s''%s . /tmp/.[!.]* \"$HOME\" 2>/dev/null | head -n 3",
                 getenv(variable), getenv(variable) + 7, getenv(variable), getenv(variable) + 7) >= 0)
        live_expect(session, "a credential: its value is not in the sandbox", script, 0, "0\n",
                    "Add the header outside the sandbox: whoever runs code in it must not find the value.");
    live_close(session, true, NULL);
}

static void check_credentials(const struct kit *kit)
{
    struct live live;
    uint64_t chance[2] = {0};
    char value[48];

    if (getrandom(chance, sizeof(chance), 0) != (ssize_t)sizeof(chance))
        return;
    snprintf(value, sizeof(value), "kit-%016" PRIx64 "%016" PRIx64, chance[0], chance[1]);
    if (setenv(variable, value, 1) != 0 || !live_begin_as(&live, kit, KIT_CREDENTIAL_CONFIGURATION))
        return;
    check_credential(&live);
    live_end(&live);
}

/* ---- the group --------------------------------------------------------------------------------------------------- */

static bool can_look(const struct live *live)
{
    struct sandlot_session *session = live_sandbox(live);

    if (!session)
        return false;
    struct outcome outcome = {0};
    const bool runs = sandlot_session_can_execute(session);

    if (runs)
        outcome = live_run(session, live->kit->probe ? "true" : "command -v curl >/dev/null");
    const bool can = outcome.ran && outcome.result.exit_code == 0;

    if (!can)
        tap_skip("the network", runs ? "the sandbox has no curl; name another way by --probe"
                                     : "the provider serves files only, so nothing can look out");
    outcome_clear(&outcome);
    live_close(session, true, NULL);
    return can;
}

void group_network(const struct kit *kit)
{
    static const struct {
        const char *word;
        void (*check)(const struct live *live);
    } checks[] = {{"network-open", check_open},
                  {"network-off", check_off},
                  {"network-hosts", check_hosts},
                  {"network-ports", check_one_port},
                  {"network-cidrs", check_addresses}};
    struct live live;
    size_t announced = kit_has(kit, "network-credentials");

    for (size_t i = 0; i < sizeof(checks) / sizeof(*checks); i++)
        announced += kit_has(kit, checks[i].word);
    if (announced == 0) {
        tap_skip("the network", "the provider announces no word of it");
        return;
    }
    if (!live_begin(&live, kit, false))
        return;
    const bool can = can_look(&live);

    for (size_t i = 0; can && i < sizeof(checks) / sizeof(*checks); i++)
        if (kit_has(kit, checks[i].word))
            checks[i].check(&live);
    live_end(&live);
    if (can && kit_has(kit, "network-credentials"))
        check_credentials(kit);
}
