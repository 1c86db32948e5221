#include "cli/json_list.h"

#include "cli/output.h"

#include <json-c/printbuf.h>
#include <stdlib.h>

struct elements {
    struct printbuf *text;
    bool failed; /* one is missing: then there is no list at all */
};

static int print(struct json_object *list, struct printbuf *to, int level, int flags)
{
    const struct elements *elements = json_object_get_userdata(list);
    const struct printbuf *text = elements->text;

    (void)level;
    (void)flags;
    return elements->failed || printbuf_memappend(to, "[", 1) < 0 ||
                   printbuf_memappend(to, text->buf, text->bpos) < 0 || printbuf_memappend(to, "]", 1) < 0
               ? -1
               : 0;
}

static void forget(struct json_object *list, void *userdata)
{
    struct elements *elements = userdata;

    (void)list;
    printbuf_free(elements->text);
    free(elements);
}

struct json_object *json_list_new(void)
{
    struct json_object *list = json_object_new_array();
    struct elements *elements = list ? calloc(1, sizeof(*elements)) : NULL;

    if (elements && (elements->text = printbuf_new())) {
        json_object_set_serializer(list, print, elements, forget);
        return list;
    }
    free(elements);
    json_object_put(list);
    return NULL;
}

bool json_list_add(struct json_object *list, struct json_object *element)
{
    struct elements *elements = list ? json_object_get_userdata(list) : NULL;
    size_t length = 0;
    const char *written = elements && element ? json_object_to_json_string_length(element, OUTPUT_JSON, &length) : NULL;
    const bool added = written && !elements->failed &&
                       (elements->text->bpos == 0 || printbuf_memappend(elements->text, ",", 1) >= 0) &&
                       printbuf_memappend(elements->text, written, (int)length) >= 0;

    if (elements)
        elements->failed = !added;
    json_object_put(element);
    return added;
}
