#include <sandlot/sdk/script.h>
#include <sandlot/sdk/text_sink.h>

#include "script_mark.h"

enum { SCRIPT_MS = 10 * 60 * 1000 };

enum sandlot_status script_feed(struct sandlot_call *call, const struct script_place *place, const char *script,
                                const struct sandlot_source *input, const struct sandlot_sink *output)
{
    char nothing[1];
    struct text_sink dropped;
    const struct sandlot_command command = {.size = sizeof(command),
                                            .command = script,
                                            .working_dir = place->folder ? place->folder : "/",
                                            .timeout_ms = SCRIPT_MS,
                                            .input = input,
                                            .flags = SCRIPT_MARK};
    struct sandlot_exit result = {.size = sizeof(result)};

    text_sink_init(&dropped, nothing, sizeof(nothing));
    return place->execute(call, place->provider, place->sandbox, &command, output ? output : &dropped.sink, &result);
}

enum sandlot_status script_run(struct sandlot_call *call, const struct script_place *place, const char *script,
                               const struct sandlot_sink *output)
{
    return script_feed(call, place, script, NULL, output);
}

enum sandlot_status script_read(struct sandlot_call *call, const struct script_place *place, const char *script,
                                char *text, size_t capacity)
{
    struct text_sink kept;

    text_sink_init(&kept, text, capacity);
    return script_run(call, place, script, &kept.sink);
}
