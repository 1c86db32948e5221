/* What a sandbox may reach: entries as people write them, hostile ones too, what a change makes of a list, commands
 * that give secrets, and all of it without memory. */
#include "base/redact.h"
#include "network/change.h"
#include "network/entry.h"
#include "network/output_of.h"
#include "network/policy.h"

#include "failing_allocator.h"
#include "lacking_libraries.h"
#include "support.h"

#include <poll.h>

/* An entry, and what it is: "host NAME PORT", "below ...", "cidr ..."; or, behind "!", a part of what is wrong with it.
 */
struct row {
    const char *written;
    const char *result;
};

static char *describe(const char *written)
{
    static const char *const kinds[] = {"", "host", "below", "cidr"};
    struct network_entry entry;
    AUTO_FREE char *problem = NULL;

    if (!network_entry_parse(written, &entry, &problem))
        return text_format("!%s", problem ? problem : "out of memory");
    char *text = text_format("%s %s %u", kinds[entry.kind], entry.text, (unsigned)entry.port);

    network_entry_clear(&entry);
    return text;
}

/* The first that is not as it is to be, to be freed; NULL: all are. */
static char *find_wrong(const struct row *rows, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        AUTO_FREE char *result = describe(rows[i].written);
        bool right = *rows[i].result == '!' ? *result == '!' && strstr(result, rows[i].result + 1)
                                            : strcmp(result, rows[i].result) == 0;

        if (!right)
            return text_format("%s: %s instead of %s", rows[i].written, result, rows[i].result);
    }
    return NULL;
}

static void check_rows(const struct row *rows, size_t count)
{
    AUTO_FREE char *wrong = find_wrong(rows, count);

    if (wrong)
        fail_msg("%s", wrong);
}

static bool entries_are_judged_without_libraries(void)
{
    static const struct row rows[] = {
        {"*.com", "!install the package libpsl5"},
        {"*.example.com", "!install the package libpsl5"},
        {"m\xc3\xbcnchen.example", "!install the package libidn2-0"},
        {"example.com", "host example.com 0"},
        {"xn--mnchen-3ya.example", "host xn--mnchen-3ya.example 0"},
    };
    AUTO_FREE char *wrong = find_wrong(rows, sizeof(rows) / sizeof(rows[0]));

    if (wrong)
        fprintf(stderr, "%s\n", wrong);
    return !wrong;
}

/* What the libraries that know names would have to judge is refused then. */
static void test_entries_without_libraries(void **state)
{
    (void)state;
    assert_without_libraries(entries_are_judged_without_libraries);
}

static void test_entries(void **state)
{
    static const struct row rows[] = {
        {"example.com", "host example.com 0"},
        {"EXAMPLE.com.", "host example.com 0"},
        {"example.com.:443", "host example.com 443"},
        {"localhost", "host localhost 0"},
        {"a_b.example.com:65535", "host a_b.example.com 65535"},
        {"*.example.com", "below example.com 0"},
        {"*.example.com:8443", "below example.com 8443"},
        {"*.githubusercontent.com", "below githubusercontent.com 0"},
        {"*.s3.amazonaws.com", "below s3.amazonaws.com 0"},
        {"*.corp", "below corp 0"},
        {"m\xc3\xbcnchen.example", "host xn--mnchen-3ya.example 0"},
        {"M\xc3\x9cNCHEN.example", "host xn--mnchen-3ya.example 0"},
        {"mu\xcc\x88nchen.example", "host xn--mnchen-3ya.example 0"},
        {"xn--mnchen-3ya.example", "host xn--mnchen-3ya.example 0"},
        {"ex\xd0\xb0mple.com", "host xn--exmple-4nf.com 0"}, /* a Cyrillic letter: another name */
        {"a\xe3\x80\x82"
         "b.example",
         "host a.b.example 0"}, /* an ideographic full stop is a dot */
        {"10.0.0.5", "cidr 10.0.0.5/32 0"},
        {"10.0.0.5:5432", "cidr 10.0.0.5/32 5432"},
        {"10.0.0.0/8", "cidr 10.0.0.0/8 0"},
        {"10.0.0.5/32", "cidr 10.0.0.5/32 0"},
        {"2001:DB8::1", "cidr 2001:db8::1/128 0"},
        {"2001:db8:0:0::/32", "cidr 2001:db8::/32 0"},
        {"[2001:db8::1]", "cidr 2001:db8::1/128 0"},
        {"[2001:db8::1]:5432", "cidr 2001:db8::1/128 5432"},
        {"::1", "cidr ::1/128 0"},
        {"3com.com", "host 3com.com 0"},
        {"1.2.3.4.example.com", "host 1.2.3.4.example.com 0"},
    };

    (void)state;
    check_rows(rows, sizeof(rows) / sizeof(rows[0]));
}

static const struct row hostile[] = {
    {"", "!is empty"},
    {"*", "!mode open"},
    {"*:443", "!mode open"},
    {"*.", "!empty part"},
    {"**.example.com", "!alone in front"},
    {"a.*.com", "!alone in front"},
    {"*example.com", "!alone in front"},
    {"*.*.example.com", "!alone in front"},
    {"*.com", "!below com"},
    {"*.co.uk", "!below co.uk"},
    {"*.CO.UK.", "!below co.uk"},
    {"*.xn--p1ai", "!below xn--p1ai"},
    {"https://x", "!scheme"},
    {"x/y", "!path"},
    {"x/", "!path"},
    {"x/24", "!path"},
    {"u@x", "!user"},
    {"u:p@x", "!user"},
    {"x?y", "!more than a host"},
    {"x#y", "!more than a host"},
    {"x\\y", "!more than a host"},
    {"x%00.example.com", "!%"},
    {"fe80::1%eth0", "!%"},
    {"x y", "!blank"},
    {" x", "!blank"},
    {"x\n", "!blank"},
    {"x\ty", "!blank"},
    {"\x7f", "!control"},
    {"x\xff", "!UTF-8"},
    {"x:", "!port"},
    {"x:0", "!port"},
    {"x:080", "!port"},
    {"x:+80", "!port"},
    {"x:-1", "!port"},
    {"x:65536", "!port"},
    {"x:70000", "!port"},
    {"x:99999999999", "!port"},
    {"x:80:80", "!no address"},
    {":80", "!no host"},
    {".", "!empty part"},
    {"..", "!empty part"},
    {".x", "!empty part"},
    {"a..b", "!empty part"},
    {"x..", "!empty part"},
    {"-x.com", "!begins or ends"},
    {"x-.com", "!begins or ends"},
    {"x,y", "!no name of a host"},
    {"x;y", "!no name of a host"},
    {"$(x)", "!no name of a host"},
    {"0x7f.1", "!number"},
    {"0x7f000001", "!number"},
    {"127.1", "!number"},
    {"127.0.0.0x1", "!number"},
    {"2130706433", "!number"},
    {"017700000001", "!number"},
    {"010.0.0.1", "!number"},
    {"1.2.3.4.5", "!number"},
    {"256.1.1.1", "!number"},
    {"1.2.3.4.", "!number"},
    {"example.0x1f", "!number"},
    {"example.0xyz", "!number"},
    {"*.1", "!number"},
    {"\xef\xbc\x91\xef\xbc\x92\xef\xbc\x97.0.0.1", "!clothes of a name"},
    {"10.0.0.1/8", "!10.0.0.0/8"},
    {"2001:db8::1/32", "!2001:db8::/32"},
    {"10.0.0.0/33", "!length"},
    {"10.0.0.0/", "!length"},
    {"10.0.0.0/08", "!length"},
    {"10.0.0.0/8:80", "!length"},
    {"10.0.0.0/-8", "!length"},
    {"0.0.0.0/0", "!mode open"},
    {"::/0", "!mode open"},
    {"::ffff:127.0.0.1", "!IPv4 address inside"},
    {"[::ffff:127.0.0.1]:80", "!IPv4 address inside"},
    {"[::1", "!in brackets"},
    {"[::1]x", "!in brackets"},
    {"[::1]:", "!port"},
    {"[example.com]", "!in brackets"},
    {"[127.0.0.1]", "!in brackets"},
    {"1::2::3", "!no address"},
    {"xn--\xc3\xbc.example", "!IDNA"},
    {"xn--a.example", "!IDNA"},
};

static void test_hostile_entries(void **state)
{
    (void)state;
    check_rows(hostile, sizeof(hostile) / sizeof(hostile[0]));
    char name[400];

    memset(name, 'a', sizeof(name) - 1);
    name[sizeof(name) - 1] = '\0';
    AUTO_FREE char *long_label = describe(name);

    assert_non_null(strstr(long_label, "more than 63"));
    for (size_t i = 50; i < sizeof(name) - 1; i += 50)
        name[i] = '.';
    AUTO_FREE char *long_name = describe(name);

    assert_non_null(strstr(long_name, "longer than 253"));
}

/* What is written is what was read. */
static void test_texts(void **state)
{
    static const char *const same[] = {"example.com",      "example.com:22", "*.example.com", "*.example.com:8443",
                                       "10.0.0.5",         "10.0.0.5:5432",  "10.0.0.0/8",    "2001:db8::1",
                                       "[2001:db8::1]:80", "2001:db8::/32"};

    (void)state;
    for (size_t i = 0; i < sizeof(same) / sizeof(same[0]); i++) {
        struct network_entry entry;
        AUTO_FREE char *problem = NULL;

        assert_true(network_entry_parse(same[i], &entry, &problem));
        AUTO_FREE char *text = network_entry_text(entry.kind, entry.text, entry.port);

        assert_string_equal(text, same[i]);
        network_entry_clear(&entry);
    }
}

#define CREDENTIAL_STATE                                                                                           \
    "{\"mode\":\"allow\",\"allow\":[\"a.example.com\"],\"credentials\":[{\"host\":\"git.example.com\",\"header\":" \
    "\"A\"}],"                                                                                                     \
    "\"source\":\"x\"}"

/* What CHANGE makes of STATE: the list ("a, b"), behind the mode; or, behind "!", the reason why not. */
static char *change_text(const struct config *config, struct json_object *state,
                         const struct sandlot_network_change *change, struct json_object **changed)
{
    struct network_policy policy CLEANUP(network_policy_clear) = {0};
    struct sandlot_error error = {0};
    char *text = NULL;

    if (network_change_make(config, state, change, &policy, changed, &error) < 0) {
        text = text_format("!%s", error.message);
        sandlot_error_clear(&error);
        return text;
    }
    text = strdup(network_mode_name(policy.mode));
    for (size_t i = 0; i < policy.written_count; i++)
        text_append(&text, "%s%s", i ? ", " : " ", policy.written[i]);
    return text;
}

/* A list, what is taken from it, and what is left; or, behind "!", a part of the reason why not. */
static void test_denying(void **state)
{
    static const struct {
        const char *list[4];
        const char *denied;
        const char *left;
    } rows[] = {
        {{"a.example.com", "b.example.com"}, "a.example.com", "allow b.example.com"},
        {{"a.example.com", "b.example.com"}, "A.example.com.", "allow b.example.com"},
        {{"a.example.com", "a.example.com"}, "b.example.com", "!not on the list"},
        {{"*.example.com"}, "a.example.com", "!allowed by *.example.com,"},
        {{"*.example.com"}, "example.com", "!not on the list"},
        {{"*.example.com"}, "evilexample.com", "!not on the list"},
        {{"*.example.com"}, "a.examp1e.com", "!not on the list"},
        {{"*.example.com"}, "*.a.example.com", "!allowed by *.example.com,"},
        {{"*.example.com"}, "*.example.com", "off"},
        {{"*.example.com"}, "*.example.com:443", "!allowed by *.example.com,"},
        {{"*.example.com"}, "*.example.org", "!not on the list"},
        {{"*.example.com:8443"}, "a.example.com:443", "!not on the list"},
        {{"example.com"}, "*.example.com", "!not on the list"},
        {{"example.com"}, "example.com:443", "!allowed by example.com,"},
        {{"example.com"}, "example.com:80", "!allowed by example.com,"},
        {{"example.com"}, "example.com:22", "!not on the list"},
        {{"example.com:22"}, "example.com", "!not on the list"},
        {{"example.com:22"}, "example.com:443", "!not on the list"},
        {{"10.0.0.0/8"}, "10.1.2.3", "!allowed by 10.0.0.0/8,"},
        {{"10.0.0.0/8"}, "11.1.2.3", "!not on the list"},
        {{"10.0.0.0/8"}, "10.0.0.0/7", "!not on the list"},
        {{"10.0.0.0/8"}, "a.example.com", "!not on the list"},
        {{"a.example.com"}, "10.1.2.3", "!not on the list"},
        {{"2001:db8::/32"}, "10.1.2.3", "!not on the list"},
        {{"2001:db8::/32"}, "2001:db8:1::1", "!allowed by 2001:db8::/32,"},
        {{"a.example.com"}, "x y", "!blank"},
    };
    const struct config config = {.file = NULL};

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const char *const denied[] = {rows[i].denied, NULL};
        const struct sandlot_network_change add = {.size = sizeof(add), .allow = rows[i].list};
        const struct sandlot_network_change deny = {.size = sizeof(deny), .deny = denied};
        struct json_object *full = NULL;
        struct json_object *rest = NULL;
        AUTO_FREE char *before = change_text(&config, NULL, &add, &full);
        AUTO_FREE char *left = change_text(&config, full, &deny, &rest);

        if (*rows[i].left == '!' ? *left != '!' || !strstr(left, rows[i].left + 1) : strcmp(left, rows[i].left) != 0)
            fail_msg("%s: without %s: %s", before, rows[i].denied, left);
        json_object_put(full);
        json_object_put(rest);
    }
}

/* A credential's host stays allowed; what only looks like it has none. */
static void test_denying_beside_a_credential(void **state)
{
    static const struct {
        const char *denied;
        const char *left;
    } rows[] = {
        {"a.example.com", "allow"},
        {"git.example.com", "!has a credential"},
        {"*.git.example.com", "!not on the list"},
        {"hub.example.com", "!not on the list"},
    };
    const struct config config = {.file = NULL};
    struct json_object *told = json_tokener_parse(CREDENTIAL_STATE);

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const char *const denied[] = {rows[i].denied, NULL};
        const struct sandlot_network_change deny = {.size = sizeof(deny), .deny = denied};
        struct json_object *rest = NULL;
        AUTO_FREE char *left = change_text(&config, told, &deny, &rest);

        if (*rows[i].left == '!' ? !strstr(left, rows[i].left + 1) : strcmp(left, rows[i].left) != 0)
            fail_msg("%s: %s", rows[i].denied, left);
        if (rest)
            assert_int_equal(json_object_array_length(json_object_object_get(rest, "credentials")), 1);
        json_object_put(rest);
    }
    json_object_put(told);
}

static void test_changes(void **state)
{
    static const char *const same[] = {"a.example.com", "b.example.com", "b.example.com", NULL};
    static const struct sandlot_network_change twice = {.size = sizeof(twice), .allow = same};
    static const struct sandlot_network_change open = {.size = sizeof(open), .mode = "open"};
    static const struct sandlot_network_change off = {.size = sizeof(off), .mode = "off"};
    static const struct sandlot_network_change closed = {.size = sizeof(closed), .mode = "closed"};
    static const struct {
        const char *before;
        const struct sandlot_network_change *change;
        const char *after;
    } rows[] = {
        {CREDENTIAL_STATE, &twice, "allow a.example.com, b.example.com"},
        {CREDENTIAL_STATE, &open, "open"},
        {"{\"mode\":\"off\"}", &open, "open"},
        {CREDENTIAL_STATE, &off, "off"},
        {CREDENTIAL_STATE, &closed, "!a network is off, allow or open, not \"closed\""},
        {"{\"mode\":\"open\"}", &twice,
         "!the sandbox's network is open: there is no list to change; `network off` closes it first, where the "
         "provider can hold that, or make another sandbox with --allow"},
    };
    const struct config config = {.file = NULL};

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct json_object *before = json_tokener_parse(rows[i].before);
        struct json_object *changed = NULL;
        AUTO_FREE char *after = change_text(&config, before, rows[i].change, &changed);

        assert_string_equal(after, rows[i].after);
        json_object_put(before);
        json_object_put(changed);
    }
}

#define LIST(entries) "{\"mode\":\"allow\",\"allow\":[" entries "]}"

/* What is told of a state, in a sentence; and whether what a provider tells is what was remembered. */
static void test_states(void **state)
{
    static const struct {
        const char *state;
        const char *sentence;
    } sentences[] = {
        {"{\"mode\":\"off\"}", "Its network is off: nothing outside can be reached."},
        {"{\"mode\":\"open\"}", "Its network is open."},
        {CREDENTIAL_STATE, "Of the network it reaches these and nothing else: a.example.com, git.example.com."},
    };
    static const struct {
        const char *remembered;
        const char *told;
        bool agree;
    } rows[] = {
        {"{\"mode\":\"off\"}", "{\"mode\":\"off\"}", true},
        {"{\"mode\":\"off\"}", "{\"mode\":null}", true},
        {"{\"mode\":\"off\"}", "{\"mode\":\"open\"}", false},
        {"{\"mode\":null}", "{\"mode\":\"open\"}", false},
        {"{}", "{\"mode\":\"off\"}", false},
        {LIST("\"B.example.com.\", \"a.example.com\""), LIST("\"a.example.com\", \"b.example.com\""), true},
        {LIST("\"a.example.com\""), LIST("\"a.example.com\", \"b.example.com\""), false},
        {LIST("\"a.example.com\""), LIST("\"b.example.com\""), false},
        {LIST("\"a.example.com\""), LIST("\"a.example.com:443\""), false},
        {LIST("\"@gone\""), LIST("\"a.example.com\""), false},
        {LIST(""), LIST(""), true},
    };
    const struct config config = {.file = NULL};

    (void)state;
    for (size_t i = 0; i < sizeof(sentences) / sizeof(sentences[0]); i++) {
        struct json_object *told = json_tokener_parse(sentences[i].state);
        AUTO_FREE char *sentence = network_sentence(told);

        assert_string_equal(sentence, sentences[i].sentence);
        json_object_put(told);
    }
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct json_object *remembered = json_tokener_parse(rows[i].remembered);
        struct json_object *told = json_tokener_parse(rows[i].told);

        if (network_state_agrees(&config, remembered, told) != rows[i].agree)
            fail_msg("%s, %s", rows[i].remembered, rows[i].told);
        json_object_put(remembered);
        json_object_put(told);
    }
}

static void test_commands(void **state)
{
    size_t length;
    const char *why;
    AUTO_FREE char *text = output_of("printf 'a\\0b'; echo no >&2", 20000, 10, -1, &length, &why);

    (void)state;
    assert_int_equal(length, 3);
    assert_memory_equal(text, "a\0b", 4);
    assert_null(output_of("echo 12345678901", 20000, 10, -1, &length, &why));
    assert_non_null(strstr(why, "more than"));
    assert_null(output_of("echo x; exit 1", 20000, 10, -1, &length, &why));
    assert_non_null(strstr(why, "failed"));
    /* One that hangs, and one whose child does. */
    assert_null(output_of("exec sleep 600", 50, 10, -1, &length, &why));
    assert_non_null(strstr(why, "longer than"));
    assert_null(output_of("sleep 600 & exit 0", 50, 10, -1, &length, &why));
    assert_null(output_of("exec >&-; exec sleep 600", 50, 10, -1, &length, &why));
    assert_non_null(strstr(why, "longer than"));
    int ends[2];

    /* Whatever either has started ends with it, and with that the last who hold the pipe. */
    assert_int_equal(pipe(ends), 0);
    assert_null(output_of("sleep 600 & exec sleep 600", 50, 10, -1, &length, &why));
    close(ends[1]);
    assert_int_equal(poll(&(struct pollfd){ends[0], POLLIN, 0}, 1, 60000), 1);
    close(ends[0]);
    assert_int_equal(pipe(ends), 0);
    close(ends[1]);
    assert_null(output_of("exec sleep 600", 20000, 10, ends[0], &length, &why));
    assert_non_null(strstr(why, "cancellation"));
    close(ends[0]);
}

/* ---- credentials ---- */

static void test_names_of_headers_and_variables(void **state)
{
    static const char *const kept_headers[] = {"",
                                               "A:b",
                                               "A b",
                                               "A\r\nB",
                                               "M\xc3\xbc",
                                               "host",
                                               "Host",
                                               "Content-Length",
                                               "Transfer-Encoding",
                                               "Connection",
                                               "Upgrade",
                                               "Keep-Alive",
                                               "TE",
                                               "Trailer",
                                               "Expect",
                                               "Proxy-Authorization",
                                               "proxy-connection",
                                               "Content-Encoding",
                                               "Accept-Encoding"};
    static const char *const kept_variables[] = {"",
                                                 "1X",
                                                 "A-B",
                                                 "A B",
                                                 "A=B",
                                                 "PATH",
                                                 "path",
                                                 "HOME",
                                                 "SHELL",
                                                 "IFS",
                                                 "ENV",
                                                 "BASH_ENV",
                                                 "LD_PRELOAD",
                                                 "HTTPS_PROXY",
                                                 "no_proxy",
                                                 "SSL_CERT_FILE",
                                                 "CURL_CA_BUNDLE",
                                                 "CURL_HOME",
                                                 "GIT_SSH_COMMAND",
                                                 "REQUESTS_CA_BUNDLE",
                                                 "CARGO_HTTP_CAINFO",
                                                 "PIP_CERT",
                                                 "NODE_OPTIONS",
                                                 "PYTHONPATH",
                                                 "PERL5LIB",
                                                 "RUBYLIB",
                                                 "JAVA_TOOL_OPTIONS",
                                                 "GLIBC_TUNABLES",
                                                 "GCONV_PATH",
                                                 "LOCPATH",
                                                 "TMPDIR",
                                                 "USER",
                                                 "LOGNAME",
                                                 "PWD",
                                                 "TERM",
                                                 "LANG",
                                                 "LC_ALL",
                                                 "PROMPT_COMMAND"};
    static const char *const headers[] = {"Authorization", "X-Api-Key", "PRIVATE-TOKEN",
                                          "Hosts",         "Te-x",      "a1!#$%&'*+-.^_`|~"};
    static const char *const variables[] = {"GH_TOKEN", "_x1", "PATHS", "OPENAI_API_KEY", "TERMINAL"};

    (void)state;
    for (size_t i = 0; i < sizeof(kept_headers) / sizeof(*kept_headers); i++)
        if (!network_header_problem(kept_headers[i]))
            fail_msg("%s", kept_headers[i]);
    for (size_t i = 0; i < sizeof(kept_variables) / sizeof(*kept_variables); i++)
        if (!network_variable_problem(kept_variables[i]))
            fail_msg("%s", kept_variables[i]);
    for (size_t i = 0; i < sizeof(headers) / sizeof(*headers); i++)
        assert_null(network_header_problem(headers[i]));
    for (size_t i = 0; i < sizeof(variables) / sizeof(*variables); i++)
        assert_null(network_variable_problem(variables[i]));
    assert_string_equal(network_header_problem(""), "is empty");
}

/* The value, and what stands in the header for it: no message of this process shows either from then on. */
static void test_values_are_hidden(void **state)
{
    struct network_credential credential CLEANUP(network_credential_clear) = {.host = strdup("h.example"),
                                                                              .source = NETWORK_FROM_COMMAND,
                                                                              .from = strdup("printf hidden-value"),
                                                                              .user = strdup("me")};

    (void)state;
    redact_clear();
    assert_int_equal(network_credential_read(&credential, -1, NULL), 0);
    assert_string_equal(credential.value, "Basic bWU6aGlkZGVuLXZhbHVl");
    AUTO_FREE char *shown = redact("no: Basic bWU6aGlkZGVuLXZhbHVl, hidden-value");

    assert_string_equal(shown, "no: Basic ***, ***");
    redact_clear();
}

/* What a source gives, and the value that it becomes; or, behind "!", a part of the reason why not. */
static void test_values(void **state)
{
    static const struct {
        enum network_secret_source source;
        const char *from;
        const char *user;
        const char *placeholder_name;
        const char *value;
    } rows[] = {
        {NETWORK_FROM_COMMAND, "printf 'Bearer x'", NULL, NULL, "Bearer x"},
        {NETWORK_FROM_COMMAND, "echo x", NULL, NULL, "x"},
        {NETWORK_FROM_COMMAND, "printf 'x\\r\\n'", NULL, NULL, "x"},
        {NETWORK_FROM_COMMAND, "echo x", "me", NULL, "Basic bWU6eA=="},
        {NETWORK_FROM_COMMAND, "echo x", "me", "A_NAME", "x"},
        {NETWORK_FROM_COMMAND, "printf 'x\\n\\n'", NULL, NULL, "!more than one line"},
        {NETWORK_FROM_COMMAND, "printf 'x\\ry'", NULL, NULL, "!more than one line"},
        {NETWORK_FROM_COMMAND, "printf 'x\\033y'", NULL, NULL, "!a control character"},
        {NETWORK_FROM_COMMAND, "printf 'x\\0y'", NULL, NULL, "!a NUL character"},
        {NETWORK_FROM_COMMAND, "printf '\\r\\n'", NULL, NULL, "!gives nothing"},
        {NETWORK_FROM_COMMAND, "true", NULL, NULL, "!gives nothing"},
        {NETWORK_FROM_COMMAND, "printf x; kill -KILL $$", NULL, NULL, "!failed"},
        {NETWORK_FROM_ENVIRONMENT, "NETWORK_TEST_EMPTY", NULL, NULL, "!is not set"},
        {NETWORK_FROM_ENVIRONMENT, "NETWORK_TEST_ABSENT", NULL, NULL, "!is not set"},
        {NETWORK_FROM_FILE, "/nowhere", NULL, NULL, "!is not there"},
        {NETWORK_FROM_FILE, "/", NULL, NULL, "!regular file"},
    };

    (void)state;
    setenv("NETWORK_TEST_EMPTY", "", 1);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct network_credential credential CLEANUP(network_credential_clear) = {
            .host = strdup("h.example"),
            .source = rows[i].source,
            .from = strdup(rows[i].from),
            .user = rows[i].user ? strdup(rows[i].user) : NULL,
            .placeholder_name = rows[i].placeholder_name ? strdup(rows[i].placeholder_name) : NULL};
        struct sandlot_error error = {0};
        const int result = network_credential_read(&credential, -1, &error);
        const char *got = result == 0 ? credential.value : error.message;
        const bool fails = *rows[i].value == '!';

        if (fails != (result < 0) || (fails ? !strstr(got, rows[i].value + 1) : strcmp(got, rows[i].value) != 0))
            fail_msg("%s: %s", rows[i].from, got);
        assert_int_equal(!credential.placeholder, fails || !rows[i].placeholder_name);
        sandlot_error_clear(&error);
    }
}

#define DOCUMENT                                                                                          \
    "[network]\nallow = ['a.example.com', '10.0.0.0/8', '*.m\xc3\xbcnchen.example']\nupstream_ca = 'x'\n" \
    "[[network.credentials]]\nhost = 'b.example.com'\nheader = 'Authorization'\nenv = 'NETWORK_TEST'\n"   \
    "placeholder = 'NETWORK_NAME'\nbasic = 'me'\n"

/* Never a policy that lacks something. */
static bool find_whole(const struct config *config)
{
    struct network_policy policy;
    struct network_view view = {0};
    bool whole = network_policy_find(config, "local", NULL, NULL, &policy, NULL) == 0 &&
                 network_policy_read_secrets(&policy, -1, NULL) == 0 && network_view_make(&policy, &view, NULL) == 0;

    if (whole) {
        assert_int_equal(view.network.mode, SANDLOT_NETWORK_ALLOW);
        assert_int_equal(view.network.entry_count, 3);
        assert_int_equal(view.network.credential_count, 1);
        assert_string_equal(view.network.credentials[0].value, "network-test-value");
        assert_int_equal(strlen(view.network.credentials[0].placeholder), strlen("network-test-value"));
        assert_non_null(view.network.trusted_file);
    }
    network_view_clear(&view);
    network_policy_clear(&policy);
    return whole;
}

static void test_without_memory(void **state)
{
    struct config *config = config_parse("/c.toml", DOCUMENT, strlen(DOCUMENT));

    (void)state;
    setenv("NETWORK_TEST", "network-test-value", 1);
    assert_true(find_whole(config));
    for (long n = 0; ALLOCATOR_REPLACED && n < 100000; n++) {
        atomic_store(&countdown, n);
        bool whole = find_whole(config);
        bool untouched = atomic_exchange(&countdown, -1) >= 0;

        if (untouched) {
            assert_true(whole);
            break;
        }
    }
    config_free(config);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_entries_without_libraries),
        cmocka_unit_test(test_entries),
        cmocka_unit_test(test_hostile_entries),
        cmocka_unit_test(test_texts),
        cmocka_unit_test(test_denying),
        cmocka_unit_test(test_denying_beside_a_credential),
        cmocka_unit_test(test_changes),
        cmocka_unit_test(test_states),
        cmocka_unit_test(test_commands),
        cmocka_unit_test(test_names_of_headers_and_variables),
        cmocka_unit_test(test_values_are_hidden),
        cmocka_unit_test(test_values),
        cmocka_unit_test(test_without_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
