#include "direct.h"

#include "cleanup.h"
#include "stop.h"
#include "tap.h"

#include <dlfcn.h>
#include <errno.h>
#include <ffi.h>
#include <limits.h>
#include <string.h>
#include <sys/eventfd.h>

enum { MOST_ARGUMENTS = 258 };

/* A call with the way back to what listens. */
struct own_call {
    struct sandlot_call call;
    struct direct *direct;
};

static void hear(struct direct *direct, const char *text)
{
    size_t length = strlen(text);

    if (length + 1 >= HEARD_SIZE - direct->heard_length)
        length = 0; /* the first 64 KiB are enough to find a secret in */
    memcpy(direct->heard + direct->heard_length, text, length);
    direct->heard_length += length;
    direct->heard[direct->heard_length] = '\0';
}

static struct direct *direct_of(struct sandlot_call *call)
{
    return ((struct own_call *)call)->direct;
}

static enum sandlot_status on_fail(struct sandlot_call *call, enum sandlot_status status, const char *message)
{
    struct direct *direct = direct_of(call);

    if (!*direct->message)
        snprintf(direct->message, sizeof(direct->message), "%s", message ? message : "");
    hear(direct, message ? message : "");
    return status;
}

static void on_log(struct sandlot_call *call, enum sandlot_log_level level, const char *message)
{
    (void)level;
    hear(direct_of(call), message ? message : "");
}

static const char *on_environment(struct sandlot_call *call, const char *name)
{
    char longer[256];

    (void)call;
    snprintf(longer, sizeof(longer), "SANDLOT_%s", name);
    const char *value = getenv(longer);

    if (!value)
        value = getenv(name);
    return value && *value ? value : NULL;
}

static void on_progress(struct sandlot_call *call, const char *what, uint64_t done, uint64_t total)
{
    (void)done;
    (void)total;
    hear(direct_of(call), what ? what : "");
}

static void on_created(struct sandlot_call *call, const char *id, const char *working_dir)
{
    struct direct *direct = direct_of(call);

    (void)working_dir;
    snprintf(direct->id, sizeof(direct->id), "%s", id ? id : "");
}

static struct own_call begin(struct direct *direct)
{
    static const struct sandlot_host host = {.size = sizeof(host),
                                             .abi_major = SANDLOT_ABI_MAJOR,
                                             .abi_minor = SANDLOT_ABI_MINOR,
                                             .fail = on_fail,
                                             .log = on_log,
                                             .environment = on_environment,
                                             .progress = on_progress,
                                             .created = on_created};

    static int always_readable = -1;

    if (always_readable < 0)
        always_readable = eventfd(1, EFD_CLOEXEC);
    direct->message[0] = '\0';
    return (struct own_call){
        .call = {.size = sizeof(struct sandlot_call),
                 .host = &host,
                 .deadline_ms = sandlot_now_ms() + (direct->limit_ms ? direct->limit_ms : DIRECT_MS),
                 .cancel_fd = direct->cancelled ? always_readable : stop_descriptor()},
        .direct = direct};
}

bool direct_load(const struct kit *kit, struct direct *direct)
{
    struct own_call own = begin(direct);
    const char *symbol = note_value(kit->provider, "symbol");
    sandlot_entry entry = NULL;

    direct->kit = kit;
    direct->library = dlopen(kit->file, RTLD_NOW | RTLD_LOCAL);
    void *found = direct->library && symbol ? dlsym(direct->library, symbol) : NULL;

    if (!found) {
        snprintf(direct->message, sizeof(direct->message), "%s", dlerror());
        return false;
    }
    memcpy(&entry, &found, sizeof(entry)); /* ISO C has no cast from an object to a function */
    direct->table = entry(&own.call);
    if (!direct->table && !*direct->message)
        snprintf(direct->message, sizeof(direct->message), "the entry function returned NULL without a word");
    return direct->table;
}

/* ---- open -------------------------------------------------------------------------------------------------------- */

/* One argument, in the C type that its kind has. */
union argument {
    const char *text;
    int64_t integer;
    double number;
    bool boolean;
};

bool direct_value_fits(enum sandlot_parameter_kind kind, const char *text)
{
    char *end = NULL;

    errno = 0;
    switch (kind) {
    case SANDLOT_PARAMETER_string:
    case SANDLOT_PARAMETER_path:
        return true;
    case SANDLOT_PARAMETER_integer:
        (void)strtoll(text, &end, 0);
        return !*text || (!*end && errno == 0);
    case SANDLOT_PARAMETER_float:
        (void)strtod(text, &end);
        return !*text || !*end;
    case SANDLOT_PARAMETER_boolean:
        return !*text || strcmp(text, "true") == 0 || strcmp(text, "false") == 0;
    case SANDLOT_PARAMETER_array:
        return *text != '[' || text[strlen(text) - 1] == ']';
    case SANDLOT_PARAMETER_table:
        return !*text || (*text == '{' && text[strlen(text) - 1] == '}');
    }
    return false;
}

static const char *given(const struct kit *kit, const char *name)
{
    size_t length = strlen(name);

    for (const char **at = kit->parameters; *at; at++)
        if (strncmp(*at, name, length) == 0 && (*at)[length] == '=')
            return *at + length + 1;
    return NULL;
}

static ffi_type *set_argument(union argument *argument, enum sandlot_parameter_kind kind, const char *text)
{
    bool is_absent = !text || !*text;

    switch (kind) {
    case SANDLOT_PARAMETER_integer:
        argument->integer = is_absent ? SANDLOT_ABSENT_INTEGER : strtoll(text, NULL, 0);
        return &ffi_type_sint64;
    case SANDLOT_PARAMETER_float:
        argument->number = is_absent ? (double)NAN : strtod(text, NULL);
        return &ffi_type_double;
    case SANDLOT_PARAMETER_boolean:
        argument->boolean = !is_absent && strcmp(text, "true") == 0;
        return &ffi_type_uint8;
    default:
        argument->text = is_absent ? NULL : text;
        return &ffi_type_pointer;
    }
}

/* One text of a list, without the blanks around it. */
static void write_text(FILE *stream, const char *text, size_t length)
{
    while (length > 0 && strchr(" \t", *text)) {
        text++;
        length--;
    }
    while (length > 0 && strchr(" \t", text[length - 1]))
        length--;
    fputc('"', stream);
    for (size_t i = 0; i < length; i++)
        fprintf(stream,
                (unsigned char)text[i] < ' '        ? "\\u%04x"
                : text[i] == '"' || text[i] == '\\' ? "\\%c"
                                                    : "%c",
                text[i]);
    fputc('"', stream);
}

/* An array as the host gives it to open: JSON, also where TEXT is texts with commas between them. To be freed. */
static char *array_text(const char *text)
{
    char *json = NULL;
    size_t size = 0;

    if (text[strspn(text, " \t")] == '[')
        return strdup(text);
    FILE *stream = open_memstream(&json, &size);

    if (!stream)
        return NULL;
    fputc('[', stream);
    for (bool more = text[strspn(text, " \t")]; more;) {
        const size_t length = strcspn(text, ",");

        write_text(stream, text, length);
        more = text[length] == ',';
        text += length + more;
        if (more)
            fputc(',', stream);
    }
    fputc(']', stream);
    if (fclose(stream) == 0)
        return json;
    free(json);
    return NULL;
}

static void free_lists(struct direct *direct)
{
    for (char **at = direct->lists; at && *at; at++)
        free(*at);
    free(direct->lists);
    direct->lists = NULL;
}

/* What is given for PARAMETER, or its default. */
static const char *value_of(struct direct *direct, const struct sandlot_parameter *parameter, size_t *list_count)
{
    const char *text = given(direct->kit, parameter->name);

    if (parameter->kind != SANDLOT_PARAMETER_array || (!text && !*parameter->default_text))
        return text ? text : parameter->default_text;
    char *list = direct->lists ? array_text(text ? text : parameter->default_text) : NULL;

    if (list)
        direct->lists[(*list_count)++] = list;
    return list;
}

enum sandlot_status direct_open(struct direct *direct, const char *secret)
{
    struct own_call own = begin(direct);
    struct sandlot_call *call = &own.call;
    void **provider = &direct->provider;
    static union argument values[MOST_ARGUMENTS];
    ffi_type *types[MOST_ARGUMENTS] = {&ffi_type_pointer, &ffi_type_pointer};
    void *arguments[MOST_ARGUMENTS] = {&call, &provider};
    size_t count = direct->table->parameter_count;
    size_t list_count = 0;
    ffi_arg status = SANDLOT_OK;
    ffi_cif cif;

    direct->opened = true;
    if (!direct->table->open)
        return SANDLOT_OK;
    if (count > MOST_ARGUMENTS - 2)
        return SANDLOT_INVALID_ARGUMENT;
    free_lists(direct);
    direct->lists = calloc(count + 1, sizeof(*direct->lists));
    for (size_t i = 0; i < count; i++) {
        const struct sandlot_parameter *parameter = &direct->table->parameters[i];
        const char *text = value_of(direct, parameter, &list_count);
        bool is_secret = (parameter->flags & SANDLOT_FLAG_secret) && parameter->kind == SANDLOT_PARAMETER_string;

        types[i + 2] = set_argument(&values[i], parameter->kind, secret && is_secret ? secret : text);
        arguments[i + 2] = &values[i];
    }
    if (ffi_prep_cif(&cif, FFI_DEFAULT_ABI, (unsigned)count + 2, &ffi_type_sint32, types) != FFI_OK)
        return SANDLOT_INTERNAL;
    ffi_call(&cif, direct->table->open, &status, arguments);
    direct->opened = (enum sandlot_status)status == SANDLOT_OK;
    return (enum sandlot_status)status;
}

/* ---- calls ------------------------------------------------------------------------------------------------------- */

/* May the vendor have made a sandbox, although no id was told? */
static bool is_uncertain(enum sandlot_status status)
{
    return status == SANDLOT_OK || status == SANDLOT_UNAVAILABLE || status == SANDLOT_TIMEOUT ||
           status == SANDLOT_CANCELLED || status == SANDLOT_INTERNAL;
}

enum sandlot_status direct_create(struct direct *direct, const char *purpose)
{
    struct own_call own = begin(direct);
    const char *run_label = say("%s%s", direct->kit->label, purpose);
    struct sandlot_label label = {"sandlot-run", run_label};
    struct sandlot_create request = {
        .size = sizeof(request), .run_label = run_label, .labels = &label, .label_count = 1, .hard_ttl_ms = 3600000};
    void *sandbox = NULL;

    direct->id[0] = '\0';
    if (stop_requested())
        return SANDLOT_CANCELLED; /* whatever the provider makes of it */
    enum sandlot_status status = direct->table->get_or_create(&own.call, direct->provider, &request, &sandbox);

    if (status == SANDLOT_OK && direct->table->release)
        direct->table->release(direct->provider, sandbox);
    if (*direct->id)
        tap_record("made", direct->id);
    else if (is_uncertain(status))
        tap_record("abandoned", "");
    return status;
}

enum sandlot_status direct_delete(struct direct *direct, const char *id)
{
    struct own_call own = begin(direct);
    enum sandlot_status status = direct->table->delete_sandbox(&own.call, direct->provider, id);

    if (status == SANDLOT_OK)
        tap_record("gone", id);
    return status;
}

enum sandlot_status direct_list(struct direct *direct, const char *cursor, const struct sandlot_listing *listing)
{
    struct own_call own = begin(direct);

    return direct->table->list(&own.call, direct->provider, cursor, listing);
}

void direct_close(struct direct *direct)
{
    if (direct->opened && direct->table->close)
        direct->table->close(direct->provider);
    direct->opened = false;
    free_lists(direct);
}

const char *status_name(enum sandlot_status status)
{
    static const char *const names[] = {"ok",          "not_found",          "auth",    "invalid_argument",
                                        "unsupported", "unavailable",        "timeout", "cancelled",
                                        "exhausted",   "dependency_missing", "internal"};

    return (unsigned)status < sizeof(names) / sizeof(names[0]) ? names[status] : "a status that is not in the list";
}
