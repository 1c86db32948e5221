#include "credentials.h"

#include <sandlot/sdk/cleanup.h>
#include <sandlot/sdk/credentials.h>
#include <sandlot/sdk/json.h>
#include <sandlot/sdk/jwt.h>
#include <string.h>
#include <time.h>

#define OIDC_TOKEN "VERCEL_OIDC_TOKEN"
#define OR_PREFIXED " (each may have SANDLOT_ before its name, as SANDLOT_VERCEL_TOKEN; the first three then together)"

/* The three parts of an access token, which count together or not at all. */
enum { TOKEN, TEAM, PROJECT, PARTS };

static const char *const part_names[PARTS] = {"VERCEL_TOKEN", "VERCEL_TEAM_ID", "VERCEL_PROJECT_ID"};
static const char *const own_names[PARTS] = {"SANDLOT_VERCEL_TOKEN", "SANDLOT_VERCEL_TEAM_ID",
                                             "SANDLOT_VERCEL_PROJECT_ID"};

/* What the middle part of a JWT says. The strings are the document's. */
struct claims {
    struct json_object *document;
    const char *team;
    const char *project;
    int64_t expires_at; /* seconds since 1970; 0: not said */
};

/* ---- tokens that speak for themselves -------------------------------------------------------------------------- */

/* Reads the claims of TOKEN, which nobody but Vercel can verify. False: it is no JWT of an owner. */
static bool read_claims(const char *token, struct claims *claims)
{
    *claims = (struct claims){.document = jwt_claims(token)};
    if (!claims->document)
        return false;
    json_find_string(claims->document, "owner_id", &claims->team, NULL);
    json_find_string(claims->document, "project_id", &claims->project, NULL);
    json_find_integer(claims->document, "exp", &claims->expires_at, NULL);
    return claims->team && *claims->team;
}

/* ---- the parts ------------------------------------------------------------------------------------------------- */

/* The names of the parts that are missing, for a sentence. */
static void name_missing(const char *const values[PARTS], const char *const names[PARTS], char *text, size_t capacity)
{
    size_t length = 0;

    text[0] = '\0';
    for (int i = 0; i < PARTS && length < capacity; i++)
        if (!values[i])
            length += (size_t)snprintf(text + length, capacity - length, "%s%s", length ? ", " : "", names[i]);
}

static int count_parts(const char *const values[PARTS])
{
    return (values[TOKEN] != NULL) + (values[TEAM] != NULL) + (values[PROJECT] != NULL);
}

static enum sandlot_status take(struct sandlot_call *call, struct credentials *credentials, const char *name,
                                const char *team, const char *project)
{
    enum sandlot_status status = credential_require(call, VERCEL_SERVICE, name, &credentials->token);

    if (status != SANDLOT_OK)
        return status;
    credentials->name = name;
    credentials->team = strdup(team);
    credentials->project = strdup(project);
    return credentials->team && credentials->project
               ? SANDLOT_OK
               : sandlot_fail(call, SANDLOT_INTERNAL, "there is not enough memory for Vercel's credentials; free some");
}

/* An access token. One that is a JWT knows its team better than a variable does. */
static enum sandlot_status take_parts(struct sandlot_call *call, struct credentials *credentials,
                                      const char *const values[PARTS])
{
    struct claims claims;
    bool speaks = read_claims(values[TOKEN], &claims);
    enum sandlot_status status =
        take(call, credentials, part_names[TOKEN], speaks ? claims.team : values[TEAM], values[PROJECT]);

    json_object_put(claims.document);
    return status;
}

static enum sandlot_status take_oidc(struct sandlot_call *call, struct credentials *credentials, const char *token,
                                     const char *const values[PARTS])
{
    struct claims claims;
    bool speaks = read_claims(token, &claims);
    bool told = values[TEAM] && values[PROJECT];
    enum sandlot_status status;

    if (claims.expires_at > 0 && claims.expires_at <= (int64_t)time(NULL))
        status =
            sandlot_fail(call, SANDLOT_AUTH,
                         OIDC_TOKEN " has expired: Vercel's tokens of that kind live about twelve hours; get a new "
                                    "one with `vercel env pull`, or unset it and set VERCEL_TOKEN, VERCEL_TEAM_ID "
                                    "and VERCEL_PROJECT_ID");
    else if (!told && (!speaks || !claims.project))
        status = sandlot_fail(call, SANDLOT_AUTH,
                              OIDC_TOKEN " does not say which team and project it is for (claims owner_id and "
                                         "project_id); get a new one with `vercel env pull`, or set VERCEL_TEAM_ID and "
                                         "VERCEL_PROJECT_ID");
    else
        status = take(call, credentials, OIDC_TOKEN, told ? values[TEAM] : claims.team,
                      told ? values[PROJECT] : claims.project);
    json_object_put(claims.document);
    return status;
}

/* Some of the three were set for Sandlot alone, but they do not make three: nothing of them counts. */
static void warn_of_dropped(struct sandlot_call *call, const char *const values[PARTS])
{
    char missing[128];
    char warning[256];

    name_missing(values, own_names, missing, sizeof(missing));
    snprintf(warning, sizeof(warning), "the SANDLOT_VERCEL_ variables are not used, for %s is missing", missing);
    call->host->log(call, SANDLOT_LOG_WARNING, warning);
}

static enum sandlot_status fail_without(struct sandlot_call *call, const char *const values[PARTS])
{
    char missing[128];

    name_missing(values, part_names, missing, sizeof(missing));
    if (count_parts(values) == 0)
        return sandlot_fail(call, SANDLOT_AUTH,
                            "there are no credentials for Vercel; set VERCEL_TOKEN, VERCEL_TEAM_ID and "
                            "VERCEL_PROJECT_ID, or " OIDC_TOKEN OR_PREFIXED);
    return sandlot_fail(call, SANDLOT_AUTH,
                        "Vercel's credentials are incomplete: %s is missing; set VERCEL_TOKEN, VERCEL_TEAM_ID and "
                        "VERCEL_PROJECT_ID, all three, or " OIDC_TOKEN OR_PREFIXED,
                        missing);
}

enum sandlot_status credentials_find_all(struct sandlot_call *call, struct credentials *credentials)
{
    const char *const oidc = call->host->environment(call, OIDC_TOKEN);
    const char *values[PARTS];
    const char *own[PARTS];

    *credentials = (struct credentials){0};
    for (int i = 0; i < PARTS; i++) {
        values[i] = call->host->environment(call, part_names[i]);
        own[i] = call->host->environment(call, own_names[i]);
    }
    bool complete = count_parts(values) == PARTS;

    if (count_parts(own) > 0 && complete)
        return take_parts(call, credentials, values);
    if (count_parts(own) > 0)
        warn_of_dropped(call, values);
    if (oidc)
        return take_oidc(call, credentials, oidc, values);
    return complete ? take_parts(call, credentials, values) : fail_without(call, values);
}

void credentials_clear(struct credentials *credentials)
{
    free(credentials->team);
    free(credentials->project);
    *credentials = (struct credentials){0};
}
