/* The note reader: what a note may say, and files that are damaged, cut short, foreign or lying. */
#include "registry/entry_points.h"

#include "plugins.h"
#include "support.h"

#include <elf.h>
#include <fcntl.h>

#define GOOD "[a]\nabi = 1.0\nsymbol = a\n"
#define X10 "xxxxxxxxxx"
#define X50 X10 X10 X10 X10 X10
#define X200 X50 X50 X50 X50

/* Parses TEXT; the result is "" or the problem with the whole note. */
static char *parse(const char *text, size_t length, struct entry_points *points)
{
    char *problem;

    *points = (struct entry_points){0};
    bool accepted = entry_points_parse(text, length, points, &problem);

    assert_int_equal(accepted, problem == NULL);
    return problem ? problem : strdup("");
}

static void test_damaged(void **state)
{
    static const struct {
        const char *text;
        const char *problem;
    } rows[] = {
        {"", "names no provider"},
        {"; comment\n", "names no provider"},
        {"[a]\n", "names no provider"},
        {"abi = 1.0\n", "name \"\" is empty"},
        {"[none]\nabi = 1.0\n", "word for no sandbox"},
        {"[a b]\nabi = 1.0\n", "holds a blank"},
        {"[a/b]\nabi = 1.0\n", "holds a \"/\""},
        {"[-a]\nabi = 1.0\n", "begins with"},
        {GOOD "[b]\nabi = 1.0\n[a]\nabi = 1.0\n", "the provider a stands there twice"},
        {GOOD "symbol = b\n", "the key symbol stands there twice"},
        {GOOD "package = a\npackage = b\n", "the key package stands there twice"},
        {GOOD "no value\n", "line 4 makes no sense"},
        {GOOD "[b\nabi = 1.0\n", "line 4 makes no sense"},
        {GOOD " continued\n", "begins with a blank"},
        {GOOD "description = \x01\n", "control character"},
        {GOOD "description = \x1b[31m\n", "control character"},
        {GOOD "description = \xc2\x9b\n", "control character"},
        {GOOD "description = x\r\n", "control character"},
        {GOOD "description = \xff\n", "not UTF-8"},
        {GOOD "description = " X200 "\n", "line in it is longer than 198"},
        {"[" X50 "]\nabi = 1.0\n", "longer than 49 bytes"},
        {GOOD X50 " = 1\n", "longer than 49 bytes"},
        {GOOD "parameter. = string optional x\n", "has no name"},
        {GOOD "parameter.x = string optional x\nparameter.x = string optional x\n", "the key x stands there twice"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct entry_points points;
        AUTO_FREE char *problem = parse(rows[i].text, strlen(rows[i].text), &points);

        assert_contains(problem, rows[i].problem);
        entry_points_clear(&points);
    }
}

/* A provider that cannot be used keeps its name, and says why. */
static void test_unusable_provider(void **state)
{
    static const struct {
        const char *text;
        const char *problem; /* NULL: usable */
    } rows[] = {
        {GOOD, NULL},
        {"\xef\xbb\xbf" GOOD, NULL},
        {GOOD "unknown = x\nunknown = y\n", NULL},
        {GOOD "# comment\n; comment\n\ndescription = x ; comment\n", NULL},
        {"[a]\nabi = 1.99\nsymbol = a\n", NULL},
        {"[a]\nabi = 2.0\nsymbol = a\n",
         "version 2.0 of the provider ABI, this Sandlot speaks 1.4: install a newer Sandlot"},
        {"[a]\nabi = 0.9\nsymbol = a\n", "install a newer build of the plugin"},
        {"[a]\nabi = 1\nsymbol = a\n", "which is no version"},
        {"[a]\nabi = 1.0x\nsymbol = a\n", "which is no version"},
        {"[a]\nabi = -1.0\nsymbol = a\n", "which is no version"},
        {"[a]\nabi = 99999999999.0\nsymbol = a\n", "which is no version"},
        {"[a]\nsymbol = a\n", "no key abi"},
        {"[a]\nabi = 1.0\n", "no key symbol"},
        {"[a]\nabi = 1.0\nsymbol =\n", "no key symbol"},
        {GOOD "sandbox_id = maybe\n", "neither yes nor no"},
        {GOOD "snapshot_name = true\n", "neither yes nor no"},
        {GOOD "working_dir = here\n", "no absolute path"},
        {GOOD "parameter.size = integer optional x\ndefault.size = many\n",
         "its parameter size is of the kind integer, and its default is not: ask its vendor"},
        {GOOD "default.size = many\nparameter.size = float optional x\n", "of the kind float"},
        {GOOD "parameter.on = boolean optional x\ndefault.on = maybe\n", "of the kind boolean"},
        {GOOD "parameter.all = table optional x\ndefault.all = [1]\n", "of the kind table"},
        {GOOD "parameter.all = array optional x\ndefault.all = a,,b\n", "of the kind array"},
        {GOOD "parameter.all = array optional x\ndefault.all = [1, \"2\"]\nparameter.none = integer required x\n",
         NULL},
        {GOOD
         "parameter.key = integer secret x\ndefault.key =\nparameter.later = moment optional x\ndefault.later = noon\n",
         NULL},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct entry_points points;
        AUTO_FREE char *problem = parse(rows[i].text, strlen(rows[i].text), &points);

        assert_string_equal(problem, "");
        assert_int_equal(points.count, 1);
        assert_string_equal(points.items[0].name, "a");
        if (rows[i].problem)
            assert_contains(points.items[0].problem, rows[i].problem);
        else
            assert_null(points.items[0].problem);
        entry_points_clear(&points);
    }
}

static void test_longest(void **state)
{
    /* 198 bytes are read whole: "description = " has 14. */
    AUTO_FREE char *text = text_format(GOOD "description = %.184s\n", X200);
    struct entry_points points;
    AUTO_FREE char *problem = parse(text, strlen(text), &points);

    (void)state;
    assert_string_equal(problem, "");
    assert_int_equal(strlen(points.items[0].description), 184);
    entry_points_clear(&points);
}

static void test_size_and_padding(void **state)
{
    AUTO_FREE char *large = calloc(1, SANDLOT_NOTE_MAXIMUM + 1);
    struct entry_points points;

    (void)state;
    memcpy(large, GOOD, strlen(GOOD));
    AUTO_FREE char *fits = parse(large, SANDLOT_NOTE_MAXIMUM, &points);
    assert_string_equal(fits, "");
    entry_points_clear(&points);
    AUTO_FREE char *too_large = parse(large, SANDLOT_NOTE_MAXIMUM + 1, &points);
    assert_contains(too_large, "too large");
    entry_points_clear(&points);
    large[100] = 'x';
    AUTO_FREE char *behind = parse(large, 200, &points);
    assert_contains(behind, "bytes behind the end");
    entry_points_clear(&points);
}

static void test_bounds(void **state)
{
    AUTO_FREE char *many = strdup(GOOD);
    AUTO_FREE char *crowd = NULL;
    struct entry_points points;

    (void)state;
    for (int i = 0; i < 257; i++)
        text_append(&many, "parameter.p%d = string optional x\n", i);
    for (int i = 0; i < 65; i++)
        text_append(&crowd, "[p%d]\nabi = 1.0\nsymbol = a\n", i);
    AUTO_FREE char *parameters = parse(many, strlen(many), &points);
    assert_contains(parameters, "more than 256 parameters");
    entry_points_clear(&points);
    AUTO_FREE char *providers = parse(crowd, strlen(crowd), &points);
    assert_contains(providers, "more than 64 providers");
    entry_points_clear(&points);
}

static void test_parameters(void **state)
{
    struct entry_points points;
    const char *text = GOOD "default.early = 1\nparameter.early = integer required help of it\n"
                            "parameter.secret = string required_secret\n"
                            "parameter.later = quaternion optional x\nparameter.flag = string volatile x\n"
                            "default.orphan = 5\n";
    AUTO_FREE char *problem = parse(text, strlen(text), &points);
    const struct entry_point *point = &points.items[0];

    (void)state;
    assert_string_equal(problem, "");
    assert_int_equal(point->parameter_count, 2);
    assert_string_equal(point->parameters[0].name, "early");
    assert_int_equal(point->parameters[0].kind, SANDLOT_PARAMETER_integer);
    assert_int_equal(point->parameters[0].flags, SANDLOT_FLAG_required);
    assert_string_equal(point->parameters[0].default_text, "1");
    assert_string_equal(point->parameters[0].help, "help of it");
    assert_int_equal(point->parameters[1].flags, SANDLOT_FLAG_required_secret);
    assert_string_equal(point->parameters[1].default_text, "");
    entry_points_clear(&points);
}

/* ---- files ------------------------------------------------------------------------------------------------------- */

/* Reads BYTES as a file. The result is "no note", "" or the problem with the file. */
static char *read_bytes(const void *bytes, size_t length, struct entry_points *points)
{
    AUTO_CLOSE int fd = open(support_write_bytes("file.so", bytes, length), O_RDONLY | O_CLOEXEC);
    char *problem;
    enum entry_points_result result = entry_points_read(fd, points, &problem);

    assert_int_equal(result == ENTRY_POINTS_UNUSABLE, problem != NULL);
    assert_true(result == ENTRY_POINTS_FOUND || points->count == 0);
    return problem ? problem : strdup(result == ENTRY_POINTS_NO_NOTE ? "no note" : "");
}

/* Reads plugin NAME after CHANGE. */
static char *read_plugin(const char *name, void (*change)(char *bytes, size_t *length), struct entry_points *points)
{
    size_t length;
    AUTO_FREE char *bytes = plugin_bytes(name, &length);

    if (change)
        change(bytes, &length);
    return read_bytes(bytes, length, points);
}

static void test_two_providers(void **state)
{
    struct entry_points points;
    AUTO_FREE char *problem = read_plugin("note_two", NULL, &points);

    (void)state;
    assert_string_equal(problem, "");
    assert_int_equal(points.count, 2);
    const struct entry_point *two = &points.items[strcmp(points.items[0].name, "note_two") != 0];
    const struct entry_point *second = two == &points.items[0] ? &points.items[1] : &points.items[0];

    assert_string_equal(two->name, "note_two");
    assert_string_equal(two->symbol, "note_two");
    assert_null(two->problem);
    assert_string_equal(two->working_dir, "/home/two");
    assert_false(two->supports_sandbox_id);
    assert_true(two->supports_snapshot_name);
    assert_int_equal(two->capabilities, CAPABILITY_LIST | CAPABILITY_STREAMING);
    assert_string_equal(two->credentials, "TWO_API_KEY|TWO_TOKEN TWO_PROJECT_ID");
    assert_string_equal(two->environment, "TWO_REGION TWO_URL");
    assert_string_equal(two->needs, "sh /bin/sh");
    assert_string_equal(two->package, "sandlot-provider-two");
    assert_int_equal(two->parameter_count, 4);
    assert_string_equal(two->parameters[0].default_text, "debian:12");
    assert_string_equal(second->name, "note_second");
    assert_null(second->problem);
    assert_true(second->supports_sandbox_id);
    assert_null(second->working_dir);
    entry_points_clear(&points);
}

static Elf64_Ehdr *header_of(char *bytes)
{
    return (Elf64_Ehdr *)(void *)bytes;
}

static Elf64_Nhdr *note_of(char *bytes, size_t length)
{
    char *owner = memmem(bytes, length, "sandlot\0[", 9);

    assert_non_null(owner);
    return (Elf64_Nhdr *)(void *)(owner - sizeof(Elf64_Nhdr));
}

static void no_elf(char *bytes, size_t *length)
{
    (void)length;
    bytes[0] = '#';
}

static void only_magic(char *bytes, size_t *length)
{
    (void)bytes;
    *length = 4;
}

static void empty(char *bytes, size_t *length)
{
    (void)bytes;
    *length = 0;
}

static void cut_in_half(char *bytes, size_t *length)
{
    (void)bytes;
    *length /= 2;
}

static void executable(char *bytes, size_t *length)
{
    (void)length;
    header_of(bytes)->e_type = ET_EXEC;
}

static void headers_beyond(char *bytes, size_t *length)
{
    (void)length;
    header_of(bytes)->e_phoff = UINT64_MAX - 8;
}

static void note_beyond(char *bytes, size_t *length)
{
    Elf64_Phdr *segments = (Elf64_Phdr *)(void *)(bytes + header_of(bytes)->e_phoff);

    for (int i = 0; i < header_of(bytes)->e_phnum; i++)
        if (segments[i].p_type == PT_NOTE)
            segments[i].p_offset = UINT64_MAX - *length;
}

static void huge_note(char *bytes, size_t *length)
{
    note_of(bytes, *length)->n_descsz = UINT32_MAX - 3;
}

static void owner_too_long(char *bytes, size_t *length)
{
    note_of(bytes, *length)->n_namesz = 0x7fffffff;
}

static void damaged_text(char *bytes, size_t *length)
{
    char *text = memmem(bytes, *length, "[note_", 6);

    *text = '\x02';
}

static void two_of_one_name(char *bytes, size_t *length)
{
    char *text = memmem(bytes, *length, "[note_second]\nabi", 17);

    memcpy(text, "[note_two]   \n", 14);
}

static void test_unusable_files(void **state)
{
    static const struct {
        void (*change)(char *bytes, size_t *length);
        const char *problem;
    } rows[] = {
        {no_elf, "not an ELF file"},
        {only_magic, "not an ELF file"},
        {empty, "not an ELF file"},
        {cut_in_half, "cut short"},
        {executable, "no shared object"},
        {headers_beyond, "cut short or damaged"},
        {note_beyond, "beyond its end"},
        {huge_note, "its size is wrong"},
        {owner_too_long, "its size is wrong"},
        {damaged_text, "control character"},
        {two_of_one_name, "note_two stands there twice"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct entry_points points;
        AUTO_FREE char *problem = read_plugin("note_two", rows[i].change, &points);

        assert_contains(problem, rows[i].problem);
        entry_points_clear(&points);
    }
}

static void other_machine(char *bytes, size_t *length)
{
    (void)length;
    header_of(bytes)->e_machine = header_of(bytes)->e_machine == EM_S390 ? EM_ARM : EM_S390;
}

static void renamed_symbol(char *bytes, size_t *length)
{
    for (char *at; (at = memmem(bytes, *length, "symbol = note_", 14));)
        memcpy(at, "symbol = nota_", 14);
}

static void future_abi(char *bytes, size_t *length)
{
    for (char *at; (at = memmem(bytes, *length, "abi = 1.4", 9));)
        memcpy(at, "abi = 7.0", 9);
}

/* These keep their names: a listing says which provider it is that does not work. */
static void test_unusable_but_named(void **state)
{
    static const struct {
        void (*change)(char *bytes, size_t *length);
        const char *problem;
    } rows[] = {
        {other_machine, "another architecture"},
        {renamed_symbol, "the library does not export"},
        {future_abi, "version 7.0 of the provider ABI"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct entry_points points;
        AUTO_FREE char *problem = read_plugin("note_two", rows[i].change, &points);

        assert_string_equal(problem, "");
        assert_int_equal(points.count, 2);
        assert_contains(points.items[0].problem, rows[i].problem);
        assert_contains(points.items[1].problem, rows[i].problem);
        entry_points_clear(&points);
    }
}

static void other_type(char *bytes, size_t *length)
{
    for (char *at = bytes; (at = memmem(at, *length - (size_t)(at - bytes), "sandlot\0[", 9)); at++)
        ((Elf64_Nhdr *)(void *)(at - sizeof(Elf64_Nhdr)))->n_type = 2;
}

static void other_owner(char *bytes, size_t *length)
{
    for (char *at; (at = memmem(bytes, *length, "sandlot\0[", 9));)
        memcpy(at, "sandbag", 7);
}

static void test_no_note(void **state)
{
    struct entry_points points;
    AUTO_FREE char *type = read_plugin("note_two", other_type, &points);
    AUTO_FREE char *owner = read_plugin("note_two", other_owner, &points);

    (void)state;
    assert_string_equal(type, "no note");
    assert_string_equal(owner, "no note");
}

/* Every prefix of a real file, and every single damaged byte of its headers, ends well one way or the other. */
static void test_any_damage(void **state)
{
    size_t length;
    AUTO_FREE char *bytes = plugin_bytes("note_two", &length);
    struct entry_points points;

    (void)state;
    for (size_t cut = 0; cut < length; cut += cut < 1024 ? 1 : 97) {
        AUTO_FREE char *problem = read_bytes(bytes, cut, &points);

        assert_string_not_equal(problem, "");
        entry_points_clear(&points);
    }
    for (size_t i = 4; i < 1024; i++) {
        bytes[i] = (char)~bytes[i];
        AUTO_FREE char *problem = read_bytes(bytes, length, &points);

        assert_non_null(problem);
        entry_points_clear(&points);
        bytes[i] = (char)~bytes[i];
    }
}

static void test_capability_names(void **state)
{
    (void)state;
    assert_string_equal(capability_name(CAPABILITY_LIST), "list");
    assert_string_equal(capability_name(CAPABILITY_STREAMING), "streaming");
    assert_string_equal(capability_name((enum capability)0), "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SUPPORTED_TEST(test_damaged),
        SUPPORTED_TEST(test_unusable_provider),
        SUPPORTED_TEST(test_longest),
        SUPPORTED_TEST(test_size_and_padding),
        SUPPORTED_TEST(test_bounds),
        SUPPORTED_TEST(test_parameters),
        SUPPORTED_TEST(test_two_providers),
        SUPPORTED_TEST(test_unusable_files),
        SUPPORTED_TEST(test_unusable_but_named),
        SUPPORTED_TEST(test_no_note),
        SUPPORTED_TEST(test_any_damage),
        SUPPORTED_TEST(test_capability_names),
    };

    return cmocka_run_group_tests_name("entry_points", tests, NULL, NULL);
}
