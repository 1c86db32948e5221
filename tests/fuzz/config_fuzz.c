/* The config reader: any bytes as a config file. It never refuses; what it accepts keeps the promises of config.h. */
#include "base/log.h"
#include "config/config.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void swallow(void *context, enum sandlot_message_level level, const char *text)
{
    (void)context;
    if (level > SANDLOT_MESSAGE_DEBUG || strchr(text, '\n'))
        abort();
}

static void check(const struct config *config)
{
    if (config->problem && config->provider_count)
        abort();
    for (size_t i = 0; i < config->provider_count; i++) {
        const struct config_provider *provider = &config->providers[i];

        if (config_name_problem(provider->name) || config_find(config, provider->name) != provider)
            abort();
        if (provider->params && !json_object_is_type(provider->params, json_type_object))
            abort();
        if (provider->working_dir && *provider->working_dir != '/')
            abort();
        config_parameter_line(provider, "image");
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    log_set_receiver(swallow, NULL);
    struct config *config = config_parse("config.toml", (const char *)data, size);

    if (config)
        check(config);
    config_free(config);
    return 0;
}
