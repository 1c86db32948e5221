#include "api.h"

#include <sandlot/sdk/cleanup.h>
#include <sandlot/sdk/credentials.h>
#include <sandlot/sdk/text_format.h>

#include <ctype.h>
#include <string.h>

enum { REGION_LENGTH = 3, ID_PREFIX = 4, ID_RANDOM = 20 };

static const char placeholder[] = "{region}";

/* ---- token and addresses ----------------------------------------------------------------------------------------- */

/* A personal token says nothing of the organization that it is used for. */
static enum sandlot_status find_organization(struct sandlot_call *call, const struct deno *deno, const char *token,
                                             const char **organization)
{
    *organization = parameter_or_variable(call, deno->parameters.org, "DENO_DEPLOY_ORG");
    if (*organization || strncmp(token, "ddo_", 4) == 0)
        return SANDLOT_OK;
    return sandlot_fail(call, SANDLOT_AUTH,
                        DENO_CREDENTIALS " is no token of an organization (ddo_...), so Deno must be told which one it "
                                         "is for; set DENO_DEPLOY_ORG or the parameter org");
}

static enum sandlot_status open_client(struct sandlot_call *call, void *deno, const char *url, void **client)
{
    struct http_client *made = NULL;
    const char *token;
    const char *organization = NULL;
    AUTO_FREE char *header = NULL;
    enum sandlot_status status = credential_require(call, DENO_SERVICE, DENO_CREDENTIALS, &token);

    if (status == SANDLOT_OK)
        status = find_organization(call, deno, token, &organization);
    if (status != SANDLOT_OK)
        return status;
    if (organization && asprintf(&header, "X-Deno-Org: %s", organization) < 0)
        return http_no_memory(call);
    AUTO_FREE char *key_from = credential_source(call, DENO_CREDENTIALS);
    const char *const headers[] = {header, NULL};
    const struct http_options options = {.service = DENO_SERVICE,
                                         .base_url = url,
                                         .bearer = token,
                                         .headers = headers,
                                         .key_from = key_from,
                                         .id_header = "x-deno-trace-id"};

    status = http_client_open(call, &options, &made);
    *client = made;
    return status;
}

void api_init(struct deno *deno, const struct parameters *parameters)
{
    deno->parameters = *parameters;
    clients_init(&deno->clients, deno, open_client, clients_close_http);
}

void api_clear(struct deno *deno)
{
    clients_clear(&deno->clients);
}

/* URL with the region in the place that is left for it; to be freed. */
static char *fill_in(const char *url, const char *region)
{
    const char *place = strstr(url, placeholder);

    if (!place)
        return strdup(url);
    return text_format("%.*s%s%s", (int)(place - url), url, region, place + strlen(placeholder));
}

static char *region_url(struct sandlot_call *call, const struct deno *deno, const char *region)
{
    const char *domain = call->host->environment(call, "DENO_SANDBOX_BASE_DOMAIN");
    const char *whole = parameter_or_variable(call, deno->parameters.base_url, "DENO_SANDBOX_ENDPOINT");
    char *url = whole ? fill_in(whole, region) : NULL;
    char *host = url && whole != deno->parameters.base_url ? strstr(url, "://") : NULL;

    if (host)
        host[3 + strcspn(host + 3, "/?#")] = '\0'; /* Deno's SDK replaces the path of that variable by its own */
    if (whole)
        return url;
    return text_format("https://%s.%s", region, domain ? domain : "sandbox-api.deno.net");
}

/* What is said of the console itself goes before the address of sandboxes, which is a guess for it. */
static char *console_url(struct sandlot_call *call, const struct deno *deno)
{
    const struct parameters *parameters = &deno->parameters;
    const char *variable = call->host->environment(call, "DENO_DEPLOY_ENDPOINT");

    if (parameters->console_url)
        return strdup(parameters->console_url);
    if (!variable && parameters->base_url)
        return fill_in(parameters->base_url, parameters->region);
    return strdup(variable ? variable : "https://console.deno.com");
}

char *api_port_url(const struct deno *deno, const char *name)
{
    const char *url = deno->parameters.base_url;
    bool plain = url && strncmp(url, "http://", 7) == 0;

    return text_format("http%s://%s", plain ? "" : "s", name);
}

/* ---- clients ----------------------------------------------------------------------------------------------------- */

static bool is_region(const char *text)
{
    return islower((unsigned char)text[0]) && islower((unsigned char)text[1]) && islower((unsigned char)text[2]);
}

bool api_is_id(const char *id)
{
    return strncmp(id, "sbx_", ID_PREFIX) == 0 && is_region(id + ID_PREFIX) && id[ID_PREFIX + REGION_LENGTH] == '_' &&
           strspn(id + ID_PREFIX + REGION_LENGTH + 1, "0123456789abcdefghjkmnpqrstuvwxyz") == ID_RANDOM &&
           id[ID_PREFIX + REGION_LENGTH + 1 + ID_RANDOM] == '\0';
}

/* The client for URL, which is released. */
static enum sandlot_status get_client(struct sandlot_call *call, struct deno *deno, char *url,
                                      struct http_client **client)
{
    AUTO_FREE char *address = url;

    return address ? clients_get(call, &deno->clients, address, client) : http_no_memory(call);
}

enum sandlot_status api_region(struct sandlot_call *call, struct deno *deno, const char *text,
                               struct http_client **client)
{
    char name[REGION_LENGTH + 1];

    snprintf(name, sizeof(name), "%s", text);
    if (!is_region(name))
        return sandlot_fail(call, SANDLOT_INVALID_ARGUMENT,
                            "'%.40s' is no region of Deno; set the parameter region to ord or ams", text);
    return get_client(call, deno, region_url(call, deno, name), client);
}

enum sandlot_status api_region_of(struct sandlot_call *call, struct deno *deno, const char *id,
                                  struct http_client **client)
{
    if (!api_is_id(id))
        return sandlot_fail(call, SANDLOT_NOT_FOUND,
                            "Deno has no sandbox '%.128s': its ids look like sbx_ord_ and twenty characters more; "
                            "`sandlot list` shows those that there are",
                            id);
    return api_region(call, deno, id + ID_PREFIX, client);
}

enum sandlot_status api_console(struct sandlot_call *call, struct deno *deno, struct http_client **client)
{
    return get_client(call, deno, console_url(call, deno), client);
}

/* ---- requests ---------------------------------------------------------------------------------------------------- */

/* Where the next page is, from the header Link: `<URL?cursor=TEXT>; rel="next"`. To be freed, as it stands in the URL;
 * NULL: this was the last one. */
static char *next_cursor(const struct http_response *response)
{
    const char *link = http_header(response, "Link");
    const char *next = link ? strstr(link, "rel=\"next\"") : NULL;
    const char *cursor = NULL;

    for (const char *at = next ? strstr(link, "cursor=") : NULL; at && at < next; at = strstr(at + 1, "cursor="))
        cursor = at + strlen("cursor=");
    return cursor ? strndup(cursor, strcspn(cursor, "&>")) : NULL;
}

/* A cursor goes back as it came, encoded already. */
static bool add_cursor(char **target, const char *cursor)
{
    char *longer;

    if (!cursor || !*target)
        return *target;
    if (asprintf(&longer, "%s%ccursor=%s", *target, strchr(*target, '?') ? '&' : '?', cursor) < 0)
        return false;
    free(*target);
    *target = longer;
    return true;
}

enum sandlot_status api_list(struct sandlot_call *call, struct deno *deno, char *target, const char *cursor,
                             const struct sandlot_listing *listing, const struct rest_entry *entry)
{
    AUTO_RESPONSE struct http_response response = {0};
    AUTO_DOCUMENT struct json_object *answer = NULL;
    struct http_client *client = NULL;
    bool added = add_cursor(&target, cursor);
    const struct rest_request request = {.method = "GET", .target = target, .answered = true};
    enum sandlot_status status = added ? api_console(call, deno, &client) : http_no_memory(call);

    if (status != SANDLOT_OK)
        return rest_drop(&request, status);
    status = rest_send(call, client, &request, &response, &answer);
    AUTO_FREE char *next = next_cursor(&response);

    return status == SANDLOT_OK ? rest_list_entries(call, listing, answer, next, entry) : status;
}
