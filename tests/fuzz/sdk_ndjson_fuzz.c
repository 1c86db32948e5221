/* Lines of JSON, any bytes cut anywhere: bounds are kept, and the cut makes no difference. */
#include <sandlot/sdk/json.h>
#include <sandlot/sdk/ndjson.h>

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { LIMIT = 256 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct told {
    uint64_t sum;
    size_t count;
};

static enum sandlot_status on_value(void *context, struct json_object *value)
{
    static const char *const paths[] = {"", "a", "a.b", "[0]", "[0].a[1]", "\"x.y\""};
    struct told *told = context;
    const char *text = json_object_to_json_string_ext(value, JSON_C_TO_STRING_PLAIN);

    for (size_t i = 0; i < sizeof(paths) / sizeof(*paths); i++) {
        const char *string = NULL;
        struct json_error error = {""};
        int64_t number;

        if (!json_read_string(value, paths[i], &string, &error) && error.text[0] == '\0')
            abort();
        json_find_integer(value, paths[i], &number, &error);
        told->sum = told->sum * 31 + (string ? strlen(string) + 1 : 0);
    }
    for (; *text; text++)
        told->sum = told->sum * 31 + (unsigned char)*text;
    told->count++;
    return SANDLOT_OK;
}

static enum sandlot_status read_all(const uint8_t *data, size_t size, size_t piece, struct told *told)
{
    struct ndjson reader;

    *told = (struct told){0};
    ndjson_init(&reader, NULL, LIMIT, on_value, told);
    for (size_t at = 0; at < size; at += piece)
        ndjson_add(&reader, data + at, size - at < piece ? size - at : piece);
    enum sandlot_status status = ndjson_end(&reader);

    ndjson_clear(&reader);
    return status;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct told pieces;
    struct told whole;

    if (size < 1)
        return 0;
    enum sandlot_status one = read_all(data + 1, size - 1, data[0] % 32 + 1U, &pieces);
    enum sandlot_status other = read_all(data + 1, size - 1, size, &whole);

    if (one != other || pieces.sum != whole.sum || pieces.count != whole.count)
        abort();
    return 0;
}
