/* Two providers in one file; `note_two` says everything that a note can say. */
#include "nothing.h"

#define NOTE_TWO_PARAMETERS(P)                                     \
    P(string, image, "debian:12", optional, "image to start from") \
    P(integer, memory_mb, "512", optional, "memory in MiB")        \
    P(string, api_key, "", required_secret, "key of the account")  \
    P(boolean, fast, "", optional, "")
SANDLOT_PARAMETERS(note_two, NOTE_TWO_PARAMETERS)

static enum sandlot_status note_two_open(struct sandlot_call *call, void **provider, const char *image,
                                         int64_t memory_mb, const char *api_key, bool fast)
{
    (void)call;
    (void)image;
    (void)memory_mb;
    (void)api_key;
    (void)fast;
    *provider = NULL;
    return SANDLOT_OK;
}

static const struct sandlot_provider note_two_provider = {SANDLOT_TABLE(note_two), NOTHING_FUNCTIONS};
static const struct sandlot_provider note_second_provider = {SANDLOT_TABLE_WITHOUT_PARAMETERS(note_second),
                                                             NOTHING_FUNCTIONS};

#define NOTE_TWO_METADATA(M)                               \
    M(description, "First of two in one file")             \
    M(working_dir, "/home/two")                            \
    M(sandbox_id, "no")                                    \
    M(snapshot_name, "yes")                                \
    M(capabilities, "list streaming levitation")           \
    M(credentials, "TWO_API_KEY|TWO_TOKEN TWO_PROJECT_ID") \
    M(environment, "TWO_REGION")                           \
    M(environment, "TWO_URL")                              \
    M(needs, "sh /bin/sh")                                 \
    M(package, "sandlot-provider-two")
SANDLOT_ENTRY_POINT(note_two, NOTE_TWO_METADATA, NOTE_TWO_PARAMETERS);

#define NOTE_SECOND_METADATA(M) M(description, "Second of two in one file")
SANDLOT_ENTRY_POINT(note_second, NOTE_SECOND_METADATA, SANDLOT_NO_PARAMETERS);
