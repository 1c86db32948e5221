/* libyaml reads events; here they become objects. */
#include "yaml_document.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <yaml.h>

enum { DEEPEST = 32, MOST_VALUES = 100000, MOST_ANCHORS = 64 };

struct anchor {
    char *name;
    struct json_object *value;
};

struct reading {
    yaml_parser_t parser;
    struct anchor anchors[MOST_ANCHORS];
    size_t anchor_count;
    size_t values;
    const char *fault;
};

static bool next_event(struct reading *reading, yaml_event_t *event)
{
    if (yaml_parser_parse(&reading->parser, event))
        return true;
    reading->fault = reading->parser.problem ? reading->parser.problem : "it is no YAML";
    return false;
}

static void *fault(struct reading *reading, const char *what)
{
    if (!reading->fault)
        reading->fault = what;
    return NULL;
}

static bool remember(struct reading *reading, const char *name, struct json_object *value)
{
    if (!name)
        return true;
    char *copy = reading->anchor_count < MOST_ANCHORS ? strdup(name) : NULL;

    if (!copy) {
        fault(reading, "it has too many anchors");
        return false;
    }
    reading->anchors[reading->anchor_count++] = (struct anchor){copy, json_object_get(value)};
    return true;
}

/* NULL is also the value null: only `fault` tells. */
static struct json_object *recall(struct reading *reading, const char *name)
{
    for (size_t i = reading->anchor_count; i > 0; i--)
        if (strcmp(reading->anchors[i - 1].name, name) == 0)
            return json_object_get(reading->anchors[i - 1].value);
    return fault(reading, "an alias names nothing");
}

static struct json_object *read_scalar(struct reading *reading, const yaml_event_t *event)
{
    const char *text = (const char *)event->data.scalar.value;
    size_t length = event->data.scalar.length;

    if (event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE) {
        if (length == 0 || strcmp(text, "~") == 0 || strcmp(text, "null") == 0)
            return NULL;
        if (strcmp(text, "true") == 0 || strcmp(text, "false") == 0)
            return json_object_new_boolean(*text == 't');
    }
    if (memchr(text, '\0', length))
        return fault(reading, "a text has a NUL");
    struct json_object *made = json_object_new_string_len(text, (int)length);

    return made ? made : fault(reading, "there is not enough memory");
}

static struct json_object *read_value(struct reading *reading, yaml_event_t *event, int depth);

static bool read_item(struct reading *reading, struct json_object *array, yaml_event_t *event, int depth)
{
    struct json_object *item = read_value(reading, event, depth);

    if (!reading->fault && json_object_array_add(array, item) == 0)
        return true;
    json_object_put(item);
    fault(reading, "there is not enough memory");
    return false;
}

/* EVENT is the key. A merge key (<<) is a key like others: no tool writes it into what is read here. */
static bool read_member(struct reading *reading, struct json_object *object, const yaml_event_t *event, int depth)
{
    char *key = event->type == YAML_SCALAR_EVENT ? strdup((const char *)event->data.scalar.value) : NULL;
    struct json_object *value = NULL;
    yaml_event_t next;

    if (!key)
        fault(reading, "a key is no text");
    if (key && next_event(reading, &next)) {
        value = read_value(reading, &next, depth);
        yaml_event_delete(&next);
    }
    bool added = !reading->fault && json_object_object_add(object, key, value) == 0;

    if (!added) {
        json_object_put(value);
        fault(reading, "there is not enough memory");
    }
    free(key);
    return added;
}

/* A sequence or mapping whose begin has been read. */
static struct json_object *read_collection(struct reading *reading, bool mapping, int depth)
{
    struct json_object *made = mapping ? json_object_new_object() : json_object_new_array();
    bool going = made != NULL;
    yaml_event_t event;

    if (!made)
        fault(reading, "there is not enough memory");
    while (going && next_event(reading, &event)) {
        bool end = event.type == YAML_SEQUENCE_END_EVENT || event.type == YAML_MAPPING_END_EVENT;

        if (!end)
            going = mapping ? read_member(reading, made, &event, depth) : read_item(reading, made, &event, depth);
        yaml_event_delete(&event);
        if (end)
            break;
    }
    if (!reading->fault)
        return made;
    json_object_put(made);
    return NULL;
}

static struct json_object *read_value(struct reading *reading, yaml_event_t *event, int depth)
{
    struct json_object *made = NULL;
    const char *anchor = NULL;

    if (depth >= DEEPEST || ++reading->values > MOST_VALUES)
        return fault(reading, "it is too deep or too large");
    switch (event->type) {
    case YAML_SCALAR_EVENT:
        anchor = (const char *)event->data.scalar.anchor;
        made = read_scalar(reading, event);
        break;
    case YAML_SEQUENCE_START_EVENT:
        anchor = (const char *)event->data.sequence_start.anchor;
        made = read_collection(reading, false, depth + 1);
        break;
    case YAML_MAPPING_START_EVENT:
        anchor = (const char *)event->data.mapping_start.anchor;
        made = read_collection(reading, true, depth + 1);
        break;
    case YAML_ALIAS_EVENT:
        return recall(reading, (const char *)event->data.alias.anchor);
    default:
        return fault(reading, "a value is missing");
    }
    if (!reading->fault && remember(reading, anchor, made))
        return made;
    json_object_put(made);
    return NULL;
}

static struct json_object *read_document(struct reading *reading)
{
    struct json_object *made = NULL;
    yaml_event_t event;
    bool going = true;

    while (going && next_event(reading, &event)) {
        if (event.type != YAML_STREAM_START_EVENT && event.type != YAML_DOCUMENT_START_EVENT) {
            made = event.type == YAML_STREAM_END_EVENT ? fault(reading, "it is empty") : read_value(reading, &event, 0);
            going = false;
        }
        yaml_event_delete(&event);
    }
    return made;
}

struct json_object *yaml_read(const char *text, size_t length, char *reason, size_t capacity)
{
    struct reading reading = {0};
    struct json_object *made = NULL;

    if (!yaml_parser_initialize(&reading.parser)) {
        snprintf(reason, capacity, "there is not enough memory");
        return NULL;
    }
    yaml_parser_set_input_string(&reading.parser, (const unsigned char *)text, length);
    made = read_document(&reading);
    if (!made && !reading.fault)
        reading.fault = "it is empty";
    if (reading.fault)
        snprintf(reason, capacity, "%s (line %zu)", reading.fault, reading.parser.mark.line + 1);
    for (size_t i = 0; i < reading.anchor_count; i++) {
        free(reading.anchors[i].name);
        json_object_put(reading.anchors[i].value);
    }
    yaml_parser_delete(&reading.parser);
    return made;
}

/* json-c itself takes every text that is not empty for true, "False" too. */
bool yaml_is_true(struct json_object *value)
{
    static const char *const words[] = {"true", "yes", "on", "y"};
    const char *text = json_object_is_type(value, json_type_string) ? json_object_get_string(value) : "";
    bool found = json_object_is_type(value, json_type_boolean) && json_object_get_boolean(value);

    for (size_t i = 0; i < sizeof(words) / sizeof(*words) && !found; i++)
        found = strcasecmp(text, words[i]) == 0;
    return found;
}
