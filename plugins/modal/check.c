/* Whether there is a token, as settings.c finds it. */
#include "check.h"

#include "api.h"
#include "settings.h"

enum sandlot_status check_credentials(struct sandlot_call *call, void *provider)
{
    const struct modal *modal = provider;
    struct settings settings = {0};
    enum sandlot_status status = settings_read(call, &modal->parameters, &settings);

    settings_clear(&settings);
    return status;
}
