#include "cli/json_list.h"

#include "cli/output.h"

#include <json-c/printbuf.h>
#include <stdlib.h>

static int print(struct json_object *list, struct printbuf *to, int level, int flags)
{
    struct printbuf *text = json_object_get_userdata(list);

    (void)level;
    (void)flags;
    return printbuf_memappend(to, "[", 1) < 0 || printbuf_memappend(to, text->buf, text->bpos) < 0 ||
                   printbuf_memappend(to, "]", 1) < 0
               ? -1
               : 0;
}

static void forget(struct json_object *list, void *text)
{
    (void)list;
    printbuf_free(text);
}

struct json_object *json_list_new(void)
{
    struct json_object *list = json_object_new_array();
    struct printbuf *text = list ? printbuf_new() : NULL;

    if (text)
        json_object_set_serializer(list, print, text, forget);
    else
        json_object_put(list);
    return text ? list : NULL;
}

bool json_list_add(struct json_object *list, struct json_object *element)
{
    struct printbuf *text = list ? json_object_get_userdata(list) : NULL;
    size_t length = 0;
    const char *written = text && element ? json_object_to_json_string_length(element, OUTPUT_JSON, &length) : NULL;
    const bool added = written && (text->bpos == 0 || printbuf_memappend(text, ",", 1) >= 0) &&
                       printbuf_memappend(text, written, (int)length) >= 0;

    json_object_put(element);
    return added;
}
