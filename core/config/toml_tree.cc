#include "config/toml_tree.h"

#define TOML_HEADER_ONLY 1
#define TOML_EXCEPTIONS 0
#define TOML_ENABLE_FORMATTERS 0
// The parser, and later the destructor of what it made, recurse once per level: see MOST_KEY_PARTS.
#define TOML_MAX_NESTED_VALUES 32
#include <cstdio>
#include <string>
#include <string_view>

namespace
{

// Thrown where the parser finds itself in a state that it thought impossible: a config file must not end the process.
struct parser_gave_up {
};

} // namespace

#define TOML_ASSERT(condition) ((condition) ? static_cast<void>(0) : throw parser_gave_up{})
#include <toml++/impl/preprocessor.h>
// toml++ 3.3 asserts that a table's name begins like a name, just before it says so in a proper error with its
// position. This kind of assertion is left out, so that `[=` gets that error.
#undef TOML_ASSERT_ASSUME
#define TOML_ASSERT_ASSUME(condition) static_cast<void>(0)
#include <toml++/toml.h>

namespace
{

// toml++ bounds nested values, but `a.a.a.a = 1` makes a table per part without any bound, and half a million of them
// overflow the stack. More parts than this are refused before the parser sees them; together with the nesting of
// values this keeps every tree below MOST_KEY_PARTS * (TOML_MAX_NESTED_VALUES + 2) levels while it is parsed.
constexpr int MOST_KEY_PARTS = 16;
// What this file itself accepts when it walks the tree.
constexpr int MOST_LEVELS = 48;

struct walk {
    toml_problem *problem;
};

json_object *fail(walk &state, const toml::source_position &at, const char *message)
{
    if (state.problem->message[0] == '\0') {
        state.problem->line = static_cast<int>(at.line);
        state.problem->column = static_cast<int>(at.column);
        std::snprintf(state.problem->message, sizeof(state.problem->message), "%s", message);
    }
    return nullptr;
}

std::string text_of(const toml::date &date)
{
    char text[32];

    std::snprintf(text, sizeof(text), "%04u-%02u-%02u", static_cast<unsigned>(date.year),
                  static_cast<unsigned>(date.month), static_cast<unsigned>(date.day));
    return text;
}

std::string text_of(const toml::time &time)
{
    char text[32];

    std::snprintf(text, sizeof(text), "%02u:%02u:%02u", static_cast<unsigned>(time.hour),
                  static_cast<unsigned>(time.minute), static_cast<unsigned>(time.second));
    std::string result = text;

    if (time.nanosecond != 0) {
        std::snprintf(text, sizeof(text), ".%09u", static_cast<unsigned>(time.nanosecond));
        result += text;
        result.erase(result.find_last_not_of('0') + 1);
    }
    return result;
}

std::string text_of(const toml::date_time &moment)
{
    std::string result = text_of(moment.date) + "T" + text_of(moment.time);

    if (!moment.offset)
        return result;
    int minutes = moment.offset->minutes;

    if (minutes == 0)
        return result + "Z";
    char text[16];
    int size = minutes < 0 ? -minutes : minutes;

    std::snprintf(text, sizeof(text), "%c%02d:%02d", minutes < 0 ? '-' : '+', (size / 60) % 100, size % 60);
    return result + text;
}

json_object *string_of(std::string_view text)
{
    return json_object_new_string_len(text.data(), static_cast<int>(text.size()));
}

json_object *value_of(const toml::node &node)
{
    if (auto *value = node.as_string())
        return string_of(value->get());
    if (auto *value = node.as_integer())
        return json_object_new_int64(value->get());
    if (auto *value = node.as_floating_point())
        return json_object_new_double(value->get());
    if (auto *value = node.as_boolean())
        return json_object_new_boolean(value->get());
    if (auto *value = node.as_date())
        return string_of(text_of(value->get()));
    if (auto *value = node.as_time())
        return string_of(text_of(value->get()));
    if (auto *value = node.as_date_time())
        return string_of(text_of(value->get()));
    return nullptr;
}

json_object *convert(walk &state, const toml::node &node, json_object **lines, int level);

json_object *convert_array(walk &state, const toml::array &array, int level)
{
    json_object *result = json_object_new_array();

    for (const toml::node &item : array) {
        json_object *ignored = nullptr;
        json_object *value = convert(state, item, &ignored, level + 1);

        json_object_put(ignored);
        if (!value) {
            json_object_put(result);
            return nullptr;
        }
        json_object_array_add(result, value);
    }
    return result;
}

json_object *convert_table(walk &state, const toml::table &table, json_object **lines, int level)
{
    json_object *result = json_object_new_object();

    *lines = json_object_new_object();
    json_object_object_add(*lines, "", json_object_new_int(static_cast<int>(table.source().begin.line)));
    for (const auto &[key, node] : table) {
        std::string name{key.str()};
        json_object *line = nullptr;
        json_object *value = nullptr;

        if (name.find('\0') != std::string::npos)
            fail(state, key.source().begin, "a key holds a NUL character");
        else
            value = convert(state, node, &line, level + 1);
        if (!value) {
            json_object_put(line);
            json_object_put(result);
            return nullptr;
        }
        json_object_object_add(result, name.c_str(), value);
        if (name.empty())
            json_object_put(line); // "" stands for the table itself
        else
            json_object_object_add(*lines, name.c_str(), line);
    }
    return result;
}

// The value of NODE, and in *LINES where it begins; *LINES may be filled when this fails.
json_object *convert(walk &state, const toml::node &node, json_object **lines, int level)
{
    if (level > MOST_LEVELS)
        return fail(state, node.source().begin, "tables and arrays are nested too deeply (more than 48 levels)");
    if (const toml::table *table = node.as_table())
        return convert_table(state, *table, lines, level);
    *lines = json_object_new_int(static_cast<int>(node.source().begin.line));
    if (const toml::array *array = node.as_array())
        return convert_array(state, *array, level);
    json_object *value = value_of(node);

    return value ? value : fail(state, node.source().begin, "out of memory");
}

// Skips the string that begins at AT and returns the position behind it. What is not closed ends with the text, or
// with the line for the forms that cannot span lines; the parser will say what is wrong with it.
size_t skip_string(std::string_view text, size_t at)
{
    const char quote = text[at];
    const bool escapes = quote == '"';
    const bool long_form = text.compare(at, 3, std::string(3, quote)) == 0;
    size_t end = at + (long_form ? 3 : 1);

    for (; end < text.size(); end++) {
        if (escapes && text[end] == '\\') {
            end++;
        } else if (!long_form && (text[end] == quote || text[end] == '\n')) {
            return end + 1;
        } else if (long_form && text.compare(end, 3, std::string(3, quote)) == 0) {
            // Up to two more quotes may stand before the closing three.
            for (end += 3; end < text.size() && text[end] == quote;)
                end++;
            return end;
        }
    }
    return text.size();
}

// The position of a dot that makes a key of more than MOST_KEY_PARTS parts; npos if there is none. Exact for text that
// is valid up to there, and the parser stops at what is not.
size_t find_long_key(std::string_view text)
{
    int dots = 0;

    for (size_t at = 0; at < text.size();) {
        const char c = text[at];

        if (c == '"' || c == '\'') {
            at = skip_string(text, at);
            continue;
        }
        if (c == '#')
            at = text.find('\n', at);
        if (at == std::string_view::npos)
            break;
        if (c == '.' && ++dots >= MOST_KEY_PARTS)
            return at;
        if (std::string_view("=[]{},\n#").find(c) != std::string_view::npos)
            dots = 0;
        at++;
    }
    return std::string_view::npos;
}

json_object *parse(std::string_view document, json_object **lines, toml_problem *problem)
{
    walk state{problem};

    if (size_t at = find_long_key(document); at != std::string_view::npos) {
        toml::source_position position{1, 1};

        for (char c : document.substr(0, at)) {
            position.column = c == '\n' ? 1 : position.column + 1;
            position.line += c == '\n';
        }
        return fail(state, position, "a key has too many parts (more than 16)");
    }
    toml::parse_result parsed = toml::parse(document);

    if (!parsed) {
        const toml::parse_error &error = parsed.error();

        return fail(state, error.source().begin, std::string{error.description()}.c_str());
    }
    json_object *tree = convert(state, parsed.table(), lines, 0);

    if (!tree) {
        json_object_put(*lines);
        *lines = nullptr;
    }
    return tree;
}

} // namespace

extern "C" json_object *toml_parse(const char *text, size_t length, json_object **lines, toml_problem *problem)
{
    *lines = nullptr;
    *problem = {};
    try {
        return parse(std::string_view{text, length}, lines, problem);
    } catch (const parser_gave_up &) {
        std::snprintf(problem->message, sizeof(problem->message), "the parser lost its way");
        return nullptr;
    }
}
