/*
 * POST /files writes as the bytes come, over what is there, and knows no modes. So files are staged. Small ones travel
 * with the script that places them, as words of its command line; then this is all one request.
 */
#include "command.h"
#include "files.h"

#include <sandlot/sdk/attempt.h>
#include <sandlot/sdk/kept_source.h>
#include <sandlot/sdk/staged_words.h>

#include <string.h>

enum { FATES_SIZE = 16384, PLAIN_MODE = 0644, KEPT_BYTES = 1 << 20 };

/* ---- forms ------------------------------------------------------------------------------------------------------- */

/* Every daemon knows forms; only newer ones take plain bytes. *LOST: no answer came, so that the files may be there. */
static enum sandlot_status send_form(struct sandlot_call *call, struct sandbox *sandbox, const struct http_part *parts,
                                     size_t count, bool *lost)
{
    for (int attempt = 1;; attempt++) {
        AUTO_WAY struct sandbox_way way;
        AUTO_RESPONSE struct http_response response = {0};
        struct attempt first;

        sandbox_find_files(call, sandbox, NULL, &way);
        const struct http_request request = {.method = "POST",
                                             .target = way.target,
                                             .headers = way.headers,
                                             .parts = parts,
                                             .part_count = count,
                                             .repeatable = true}; /* it writes the same files again */

        attempt_begin(&first, call, 0);
        enum sandlot_status status = http_send(&first.call, sandbox->e2b->daemons, &request, &response);

        *lost = status == SANDLOT_UNAVAILABLE && response.status == 0;
        if (status == SANDLOT_OK)
            return status;
        if (attempt > 1 || !sandbox_may_sleep(response.status))
            return attempt_fail(&first, response.status == 507 ? SANDLOT_EXHAUSTED : status);
        status = sandbox_wake(call, sandbox);
        if (status != SANDLOT_OK)
            return status;
        for (size_t i = 0; i < count; i++)
            if (kept_source_rewind(parts[i].body.rewind_context) != SANDLOT_OK)
                return attempt_fail(&first, SANDLOT_UNAVAILABLE);
    }
}

static enum sandlot_status send_files(struct sandlot_call *call, struct sandbox *sandbox,
                                      const struct sandlot_file *files, size_t count, bool *lost)
{
    AUTO_FREE struct http_part *parts = calloc(count, sizeof(*parts));
    AUTO_FREE struct kept_source *kept = calloc(count, sizeof(*kept));

    if (!parts || !kept)
        return http_no_memory(call);
    for (size_t i = 0; i < count; i++) {
        kept_source_open(&kept[i], files[i].source, KEPT_BYTES);
        parts[i] = (struct http_part){.name = "file",
                                      .file_name = files[i].path,
                                      .type = "application/octet-stream",
                                      .body = {.source = &kept[i].source,
                                               .length = files[i].length,
                                               .rewind = kept_source_rewind,
                                               .rewind_context = &kept[i]}};
    }
    enum sandlot_status status = send_form(call, sandbox, parts, count, lost);

    for (size_t i = 0; i < count; i++)
        kept_source_close(&kept[i]);
    return status;
}

enum sandlot_status upload_new_file(struct sandlot_call *call, void *context, const char *path,
                                    const struct sandlot_source *source, uint64_t length)
{
    const struct sandlot_file file = {.size = sizeof(file), .path = path, .source = source, .length = length};
    bool lost;

    return send_files(call, context, &file, 1, &lost);
}

/* ---- uploading --------------------------------------------------------------------------------------------------- */

/* All in one request. What has no fate afterwards is left to the host, which asks again. */
static enum sandlot_status carry(struct sandlot_call *call, struct sandbox *sandbox, struct staged_files *staged)
{
    AUTO_FREE char *text = malloc(FATES_SIZE);
    struct staged_words words;
    enum sandlot_status status = staged_words_make(call, staged, &words);

    if (status == SANDLOT_OK)
        status =
            text ? command_run_with(call, sandbox, words.script, words.words, text, FATES_SIZE) : http_no_memory(call);
    if (status == SANDLOT_OK)
        staged_upload_fates(staged, text);
    staged->lost = status == SANDLOT_UNAVAILABLE;
    staged_words_clear(&words);
    return status;
}

static enum sandlot_status store(struct sandlot_call *call, void *sandbox, struct staged_files *staged)
{
    return staged_words_fit(staged) ? carry(call, sandbox, staged)
                                    : send_files(call, sandbox, staged->files, staged->count, &staged->lost);
}

STAGED_UPLOAD(upload_files, command_execute, .clean_up = command_clean_up, .store = store, .mode = PLAIN_MODE,
              .least = STAGED_WORDS_FILES + 1)
