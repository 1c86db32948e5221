/* What the tunnels of LangSmith are carried in: frames in pieces of every size, of other streams, and those that break
 * the rules. */
#include "../../plugins/langsmith/yamux.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

/* What a session has given. */
struct seen {
    struct yamux yamux;
    char text[256];
    size_t length;
    uint32_t ping;
    int pings;
};

static void feed(struct seen *seen, const void *bytes, size_t length)
{
    struct yamux_input input = {bytes, length};
    struct yamux_piece piece;

    while (yamux_take(&seen->yamux, &input, &piece)) {
        if (piece.kind == YAMUX_PING) {
            seen->ping = piece.ping;
            seen->pings++;
            continue;
        }
        assert_true(seen->length + piece.length <= sizeof(seen->text));
        memcpy(seen->text + seen->length, piece.bytes, piece.length);
        seen->length += piece.length;
    }
}

#define HEAD(kind, flags, stream, length) "\0" kind "\0" flags "\0\0\0" stream "\0\0" length

/* An answer to the opening, data of ours and of a stream that is not, a ping and an answer to one, room, the end. */
static const char session[] = HEAD("\1", "\2", "\1", "\0\0")
    HEAD("\0", "\0", "\1", "\0\3") "abc" HEAD("\0", "\0", "\2", "\0\2") "no" HEAD("\2", "\1", "\0", "\1\7")
        HEAD("\2", "\2", "\0", "\1\10") HEAD("\1", "\0", "\1", "\1\0") HEAD("\0", "\4", "\1", "\0\2") "de";

static void frames_in_pieces(void **state)
{
    (void)state;
    for (size_t cut = 1; cut < sizeof(session); cut++) {
        struct seen seen = {.length = 0};

        yamux_init(&seen.yamux);
        for (size_t at = 0; at < sizeof(session) - 1; at += cut) {
            assert_false(seen.yamux.ended);
            feed(&seen, session + at, cut < sizeof(session) - 1 - at ? cut : sizeof(session) - 1 - at);
        }
        assert_int_equal(seen.length, 5);
        assert_memory_equal(seen.text, "abcde", 5);
        assert_int_equal(seen.pings, 1);
        assert_int_equal(seen.ping, 0x107);
        assert_int_equal(seen.yamux.may_send, YAMUX_WINDOW + 256);
        assert_int_equal(seen.yamux.may_come, YAMUX_WINDOW - 5);
        assert_true(seen.yamux.ended);
        assert_false(seen.yamux.broken);
    }
}

static void what_ends_it(void **state)
{
    static const struct {
        const char *name, *frame;
    } rows[] = {{"a reset", HEAD("\1", "\10", "\1", "\0\0")},
                {"a goodbye", HEAD("\3", "\0", "\0", "\0\0")},
                {"another version", "\1\0\0\0\0\0\0\1\0\0\0\0"},
                {"an unknown kind", HEAD("\7", "\0", "\1", "\0\0")},
                {"more than there is room for", "\0\0\0\0\0\0\0\1\0\4\0\1"}};

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct seen seen = {.length = 0};

        yamux_init(&seen.yamux);
        feed(&seen, rows[i].frame, YAMUX_HEAD);
        if (!seen.yamux.broken)
            fail_msg("%s", rows[i].name);
        feed(&seen, session, sizeof(session) - 1);
        assert_int_equal(seen.length, 0);
    }
}

/* Of another stream, and without end: both may be told, and neither counts. */
static void what_is_none_of_ours(void **state)
{
    struct seen seen = {.length = 0};

    (void)state;
    yamux_init(&seen.yamux);
    feed(&seen, HEAD("\1", "\10", "\3", "\0\0"), YAMUX_HEAD);
    feed(&seen, HEAD("\1", "\4", "\3", "\0\0"), YAMUX_HEAD);
    feed(&seen, "\0\1\0\0\0\0\0\1\377\377\377\377", YAMUX_HEAD);
    assert_false(seen.yamux.broken || seen.yamux.ended);
    assert_int_equal(seen.yamux.may_send, UINT32_MAX);
}

static void heads(void **state)
{
    unsigned char head[YAMUX_HEAD];

    (void)state;
    yamux_write(head, YAMUX_ROOM, YAMUX_OPEN, 0x01020304);
    assert_memory_equal(head, "\0\1\0\1\0\0\0\1\1\2\3\4", YAMUX_HEAD);
    yamux_write(head, YAMUX_PING, YAMUX_ANSWER, 7);
    assert_memory_equal(head, "\0\2\0\2\0\0\0\0\0\0\0\7", YAMUX_HEAD);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(frames_in_pieces), cmocka_unit_test(what_ends_it),
                                       cmocka_unit_test(what_is_none_of_ours), cmocka_unit_test(heads)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
