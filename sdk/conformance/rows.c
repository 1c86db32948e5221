#include "rows.h"

/* The forms of a row: clang-format may lay out the macros, the tables below read as tables. */
#define READ(name, path, offset, limit, expected)                       \
    {                                                                   \
        name, OPERATION_READ, path, NULL, NULL, offset, limit, expected \
    }
#define PAGE(name, path, expected) READ(name, path, 0, NO_LIMIT, expected)
#define WRITE(name, path, content, expected)                       \
    {                                                              \
        name, OPERATION_WRITE, path, content, NULL, 0, 0, expected \
    }
#define EDIT(name, path, old, new, expected)                 \
    {                                                        \
        name, OPERATION_EDIT, path, old, new, 0, 0, expected \
    }
#define EDIT_ALL(name, path, old, new, expected)                 \
    {                                                            \
        name, OPERATION_EDIT_ALL, path, old, new, 0, 0, expected \
    }
#define LIST(name, path, expected)                             \
    {                                                          \
        name, OPERATION_LIST, path, NULL, NULL, 0, 0, expected \
    }
#define SEARCH(name, path, pattern, glob, most, expected)              \
    {                                                                  \
        name, OPERATION_SEARCH, path, pattern, glob, 0, most, expected \
    }
#define FIND(name, path, pattern, expected)                       \
    {                                                             \
        name, OPERATION_FIND, path, pattern, NULL, 0, 0, expected \
    }
#define REMOVE(name, path, expected)                             \
    {                                                            \
        name, OPERATION_REMOVE, path, NULL, NULL, 0, 0, expected \
    }
#define INSIDE(name, command, expected)                             \
    {                                                               \
        name, OPERATION_INSIDE, NULL, command, NULL, 0, 0, expected \
    }
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* clang-format off */

static const char read_preparation[] =
    "mkdir -p r/d/e && cd r && printf 'a\\nb\\nc' >r01 && printf 'a\\nb\\nc\\n' >r02 && printf 'a\\n\\n' >r03 && : >r04 && "
    "printf '\\n' >r05 && printf 'a\\r\\nb\\r\\n' >r06 && printf 'a\\rb\\rc' >r07 && printf 'a\\nb\\r\\nc\\rd' >r08 && "
    "printf 'a\\013b\\014c\\342\\200\\250d\\n' >r09 && printf '1\\n2\\n3\\n4\\n5\\n6\\n7\\n8\\n9\\n10\\n' >r10 && "
    "printf '1\\n2\\n3\\n4\\n5\\n' >r11 && i=0 && while [ $i -lt 2500 ]; do i=$((i+1)); echo $i; done >r13 && mkfifo r23 && "
    "printf 'x\\n' >r24 && chmod 000 r24 && ln -s r01 r25 && ln -s nothing r26 && ln -s r27b r27a && ln -s r27a r27b && "
    "printf 'plain text\\n' >r30.PDF && printf 'ok\\n\\377\\376 bad\\n' >r31.txt && printf '\\357\\273\\277bom\\n' >r45 && "
    "printf 'a\\000b\\n' >r46 && printf 'dots\\n' >a..b.txt && printf 'odd\\n' >\"it's \\\"\\$x\\\";\nname\" && "
    "printf '1\\n2\\n3\\n' >d/e/f && { head -c 8191 /dev/zero | tr '\\000' x; printf '\\342\\202\\254 end\\n'; } >r32 && "
    "for i in 8189 8190 8191; do { head -c $i /dev/zero | tr '\\000' x; printf '\\360\\237\\230\\200 end\\n'; } >r33-$i; done && "
    "{ i=0; while [ $i -lt 3000 ]; do i=$((i+1)); echo $i; done; printf 'bad \\377 byte\\n1\\n2\\n3\\n'; } >r34 && "
    "head -c 512001 /dev/zero >r36.png && head -c 512000 /dev/zero >r37.png && "
    "head -c 2000000 /dev/zero | tr '\\000' '\\377' >r38.dat && "
    "for i in 1 2 3 4 5 6 7 8; do head -c 100000 /dev/zero | tr '\\000' $i; echo; done >r39 && "
    "{ head -c 600000 /dev/zero | tr '\\000' x; printf '\\nsecond\\n'; } >r41 && "
    "{ head -c 6000 /dev/zero | tr '\\000' y; echo; } >r53 && awk 'BEGIN { for (i = 0; i < 40000; i++) print \"line number\", i, "
    "\"with some more text\" }' >r43";

static const struct row read_rows[] = {
    PAGE("three lines", "r/r01", "[1-3 of 3] a\nb\nc"),
    PAGE("final newline", "r/r02", "[1-3 of 3] a\nb\nc"),
    PAGE("two newlines at the end", "r/r03", "[1-2 of 2] a\n"),
    PAGE("empty file", "r/r04", "[empty]"),
    PAGE("one newline", "r/r05", "[1-1 of 1] "),
    PAGE("CRLF", "r/r06", "[1-2 of 2] a\nb"),
    PAGE("lone CR", "r/r07", "[1-3 of 3] a\nb\nc"),
    PAGE("mixed line ends", "r/r08", "[1-4 of 4] a\nb\nc\nd"),
    PAGE("what ends no line", "r/r09", "[1-1 of 1] a\vb\fc\342\200\250d"),
    READ("offset", "r/r10", 5, NO_LIMIT, "[6-10 of 10] 6\n7\n8\n9\n10"),
    READ("limit", "r/r11", 1, 2, "[2-3 of 5, next 3] 2\n3"),
    READ("a page that ends at the end", "r/r11", 2, 3, "[3-5 of 5] 3\n4\n5"),
    PAGE("no limit given", "r/r13", "[1-2000 of 2500, next 2000] 1\n2\n3\n..."),
    READ("offset at the end", "r/r11", 5, NO_LIMIT, "!offset_out_of_range~5"),
    READ("offset beyond the end", "r/r11", 99, NO_LIMIT, "!offset_out_of_range~5 lines"),
    READ("negative offset", "r/r11", -3, NO_LIMIT, "[1-5 of 5] 1\n2\n3\n4\n5"),
    READ("limit 0", "r/r11", 0, 0, "[no lines]"),
    READ("negative limit", "r/r11", 0, -2, "[no lines]"),
    READ("limit 0 of an empty file", "r/r04", 0, 0, "[empty]"),
    PAGE("missing file", "r/missing", "!file_not_found~not found"),
    PAGE("a component is a file", "r/r01/x", "!file_not_found~not found"),
    PAGE("directory", "r/d", "!is_directory~r/d"),
    PAGE("named pipe", "r/r23", "!not_a_file"),
    PAGE("no permission", "r/r24", "!permission_denied"),
    PAGE("link to a file", "r/r25", "[1-3 of 3] a\nb\nc"),
    PAGE("broken link", "r/r26", "!file_not_found~not found"),
    PAGE("link loop", "r/r27a", "!invalid_path"),
    PAGE("suffix of a binary file", "r/r30.PDF", "[binary] plain text\n"),
    PAGE("not UTF-8 at the beginning", "r/r31.txt", "[binary] ok\n\377\376 bad\n"),
    PAGE("three bytes across byte 8192", "r/r32", "[1-1 of 1] xxx..."),
    PAGE("four bytes across byte 8192, from 8189", "r/r33-8189", "[1-1 of 1] xxx..."),
    PAGE("four bytes across byte 8192, from 8190", "r/r33-8190", "[1-1 of 1] xxx..."),
    PAGE("four bytes across byte 8192, from 8191", "r/r33-8191", "[1-1 of 1] xxx..."),
    READ("not UTF-8 on the page", "r/r34", 3000, NO_LIMIT, "[3001-3004 of 3004, lossy] bad \357\277\275 byte\n1\n2\n3"),
    READ("not UTF-8 on another page", "r/r34", 0, 5, "[1-5 of 3004, next 5] 1\n2\n3\n4\n5"),
    PAGE("a large .png", "r/r36.png", "!too_large~512000"),
    PAGE("a .png of just the limit", "r/r37.png", "[binary] \\0\\0\\0..."),
    PAGE("much that is no text", "r/r38.dat", "!too_large~512000"),
    READ("the size of a page", "r/r39", 0, 8, "[1-5 of 8, next 5, cut] 111..."),
    PAGE("one long line", "r/r41", "[1-1 of 2, next 1, cut] xxx..."),
    READ("the line after it", "r/r41", 1, NO_LIMIT, "[2-2 of 2] second"),
    READ("above 1 MiB, the last line", "r/r43", 39999, NO_LIMIT, "[40000-40000 of 40000] line number 39999 with some more text"),
    READ("above 1 MiB, beyond the end", "r/r43", 40000, NO_LIMIT, "!offset_out_of_range~40000"),
    PAGE("byte order mark", "r/r45", "[1-1 of 1] \357\273\277bom"),
    PAGE("NUL inside", "r/r46", "[1-1 of 1] a\\0b"),
    PAGE("an odd name", "r/it's \"$x\";\nname", "[1-1 of 1] odd"),
    PAGE("..", "r/../r/r01", "!invalid_path~traversal"),
    PAGE("two dots inside", "r/a..b.txt", "[1-1 of 1] dots"),
    PAGE("~", "~/x", "!invalid_path~~"),
    PAGE("an empty path", "", "!invalid_path"),
    PAGE("a path with folders", "r/d/e/f", "[1-3 of 3] 1\n2\n3"),
    PAGE("slashes and dots", "r//./d//e/f", "[1-3 of 3] 1\n2\n3"),
    PAGE("a line of 6,000", "r/r53", "[1-1 of 1] yyy..."),
};

static const char write_preparation[] =
    "mkdir -p w/dir w/noentry && cd w && printf old >w03 && printf old >w14 && chmod 444 w14 && chmod 555 noentry && "
    "printf '#!/bin/sh\\n' >w15 && chmod 755 w15 && printf old >target && ln -s target w16 && : >file && printf one >hard && "
    "ln hard hard2";

static const struct row write_rows[] = {
    WRITE("new file", "w/w01", "exact\n", "ok"),
    INSIDE("its bytes", "cat w/w01", "exact\n"),
    WRITE("missing folders", "w/x/y/z", "deep", "ok"),
    INSIDE("its bytes", "cat w/x/y/z", "deep"),
    WRITE("existing file", "w/w03", "new content", "ok"),
    INSIDE("its bytes", "cat w/w03", "new content"),
    WRITE("empty content", "w/w04", "", "ok"),
    INSIDE("an empty file", "[ -f w/w04 ] && wc -c <w/w04 | tr -d ' '", "0\n"),
    WRITE("shell characters", "w/w05", "$VAR `id` \"q\" 's' \\\\ \t %%s", "ok"),
    INSIDE("its bytes", "cat w/w05", "$VAR `id` \"q\" 's' \\\\ \t %%s"),
    WRITE("CRLF", "w/w06", "a\r\nb\r\n", "ok"),
    INSIDE("its bytes", "cat w/w06", "a\r\nb\r\n"),
    WRITE("newlines at the end", "w/w07", "a\n\n\n", "ok"),
    INSIDE("its bytes", "cat w/w07", "a\n\n\n"),
    WRITE("Unicode", "w/w08", "gr\303\274\303\237e \360\237\230\200", "ok"),
    INSIDE("its bytes", "cat w/w08", "gr\303\274\303\237e \360\237\230\200"),
    WRITE("text in a .png", "w/w10.png", "aGVsbG8=", "ok"),
    INSIDE("its bytes", "cat w/w10.png", "aGVsbG8="),
    WRITE("a directory", "w/dir", "x", "!is_directory~w/dir"),
    WRITE("a parent is a file", "w/file/x", "x", "!invalid_path"),
    INSIDE("that file is as it was", "[ -f w/file ] && [ ! -s w/file ] && echo same", "same\n"),
    WRITE("a directory without permission", "w/noentry/x", "x", "!permission_denied"),
    WRITE("a file without permission", "w/w14", "x", "!permission_denied"),
    WRITE("a script", "w/w15", "#!/bin/sh\necho hi\n", "ok"),
    INSIDE("it is still executable", "ls -l w/w15 | cut -c 1-10; w/w15", "-rwxr-xr-x\nhi\n"),
    WRITE("a link", "w/w16", "through", "ok"),
    INSIDE("it is still a link", "[ -h w/w16 ] && cat w/target", "through"),
    WRITE("spaces and Unicode in the path", "w/gr\303\274\303\237e und so/a b", "x", "ok"),
    INSIDE("its bytes", "cat 'w/gr\303\274\303\237e und so/a b'", "x"),
    WRITE("slashes and dots", ".//w///./w18", "x", "ok"),
    INSIDE("its bytes", "cat w/w18", "x"),
    WRITE("a text that looks like an error", "w/w19", "Error: something", "ok"),
    WRITE("a hard link", "w/hard", "two", "ok"),
    INSIDE("both names have it", "cat w/hard2", "two"),
    WRITE("..", "w/../x", "x", "!invalid_path"),
};

static const char edit_preparation[] =
    "mkdir -p e/dir && cd e && printf 'one two three\\n' >e01 && printf 'x x x\\n' >e02 && cp e02 e03 && printf 'a.b*c\\naxbxc\\n' >e06 && "
    "printf 'KEY\\nKEY\\n' >e07 && printf 'a\\nb\\nc\\n' >e08 && printf 'keep drop keep\\n' >e09 && printf 'once\\n' >e10 && "
    "printf 'x x\\n' >e11 && printf 'text\\n' >e12 && : >e14 && printf 'a\\r\\nb\\r\\nc\\r\\n' >e15 && cp e15 e16 && cp e15 e17 && "
    "printf 'a\\nb\\nc\\n' >e18 && printf 'a\\nb\\n--\\na\\r\\nb\\r\\n' >e19 && printf 'x\\r\\ny\\r\\nx\\r\\ny\\r\\n' >e20 && printf aaa >e21 && "
    "printf 'a a' >e22 && printf 'bad \\377\\n' >e23 && printf '\\357\\273\\277first\\n' >e24 && printf 'x\\n' >e26 && chmod 000 e26 && "
    "printf 'x\\n' >e27 && chmod 444 e27 && printf 'old\\n' >e28 && chmod 755 e28 && ln e28 e28b && printf last >e31 && "
    "printf 'gr\\303\\274\\303\\237e\\n' >e32 && printf 'e\\314\\201\\n' >e33 && printf 'a\\000b c\\n' >nul && "
    "printf '    indented\\n' >indented && awk 'BEGIN { for (i = 0; i < 20000; i++) print \"word and more\" }' >many";

static const struct row edit_rows[] = {
    EDIT("one occurrence", "e/e01", "two", "2", "1"),
    INSIDE("the file", "cat e/e01", "one 2 three\n"),
    EDIT("three occurrences", "e/e02", "x", "y", "!multiple_occurrences~multiple"),
    EDIT("it says how many", "e/e02", "x", "y", "!multiple_occurrences~3"),
    INSIDE("unchanged", "cat e/e02", "x x x\n"),
    EDIT_ALL("replace all", "e/e03", "x", "y", "3"),
    INSIDE("the file", "cat e/e03", "y y y\n"),
    EDIT("not there", "e/e01", "absent", "y", "!string_not_found~not found"),
    EDIT("missing file", "e/missing", "x", "y", "!file_not_found~not found"),
    EDIT("regular expression characters", "e/e06", "a.b*c", "[x]", "1"),
    INSIDE("the file", "cat e/e06", "[x]\naxbxc\n"),
    EDIT_ALL("replacement characters", "e/e07", "KEY", "$& $1 $$ \\1 \\\\n & \\", "2"),
    INSIDE("the file", "cat e/e07", "$& $1 $$ \\1 \\\\n & \\\n$& $1 $$ \\1 \\\\n & \\\n"),
    EDIT("across lines", "e/e08", "a\nb", "A\nB", "1"),
    INSIDE("the file", "cat e/e08", "A\nB\nc\n"),
    EDIT("empty new text", "e/e09", " drop", "", "1"),
    INSIDE("the file", "cat e/e09", "keep keep\n"),
    EDIT("old is new", "e/e10", "once", "once", "1"),
    EDIT("old is new, twice", "e/e11", "x", "x", "!multiple_occurrences"),
    EDIT("empty old text", "e/e12", "", "x", "!empty_old_string"),
    EDIT_ALL("empty old text, all", "e/e12", "", "x", "!empty_old_string"),
    INSIDE("unchanged", "cat e/e12", "text\n"),
    EDIT("empty old text, empty file", "e/e14", "", "filled\n", "1"),
    INSIDE("the file", "cat e/e14", "filled\n"),
    EDIT("CRLF file, LF text over lines", "e/e15", "a\nb", "A\nB", "1"),
    INSIDE("the file", "cat e/e15", "A\r\nB\r\nc\r\n"),
    EDIT("CRLF file, one line", "e/e16", "b", "B", "1"),
    INSIDE("the file", "cat e/e16", "a\r\nB\r\nc\r\n"),
    EDIT("CRLF file, new text with LF", "e/e17", "b", "1\n2", "1"),
    INSIDE("the file", "cat e/e17", "a\r\n1\n2\r\nc\r\n"),
    EDIT("LF file, CRLF text", "e/e18", "a\r\nb", "A\r\nB", "1"),
    INSIDE("the file", "cat e/e18", "A\nB\nc\n"),
    EDIT_ALL("mixed line ends", "e/e19", "a\nb", "A\nB", "1"),
    INSIDE("the file", "cat e/e19", "A\nB\n--\na\r\nb\r\n"),
    EDIT("CRLF file, two occurrences", "e/e20", "x\ny", "z", "!multiple_occurrences"),
    INSIDE("unchanged", "cat e/e20", "x\r\ny\r\nx\r\ny\r\n"),
    EDIT("overlapping", "e/e21", "aa", "b", "1"),
    INSIDE("the file", "cat e/e21", "ba"),
    EDIT_ALL("the new text holds the old", "e/e22", "a", "aa", "2"),
    INSIDE("the file", "cat e/e22", "aa aa"),
    EDIT("not UTF-8", "e/e23", "bad", "good", "!not_a_text_file"),
    INSIDE("unchanged", "cat e/e23", "bad \377\n"),
    EDIT("byte order mark", "e/e24", "first", "second", "1"),
    INSIDE("the file", "cat e/e24", "\357\273\277second\n"),
    EDIT("directory", "e/dir", "x", "y", "!not_a_file"),
    EDIT("unreadable", "e/e26", "x", "y", "!permission_denied"),
    EDIT("read-only", "e/e27", "x", "y", "!permission_denied"),
    EDIT("mode and hard link", "e/e28", "old", "new", "1"),
    INSIDE("both are kept", "cat e/e28b; ls -l e/e28 | cut -c 1-10", "new\n-rwxr-xr-x\n"),
    EDIT("a final newline too many", "e/e31", "last\n", "x", "!string_not_found~newline"),
    EDIT("Unicode", "e/e32", "gr\303\274\303\237e", "gr\303\266\303\237e \360\237\230\200", "1"),
    INSIDE("the file", "cat e/e32", "gr\303\266\303\237e \360\237\230\200\n"),
    EDIT("composed and decomposed", "e/e33", "\303\251", "x", "!string_not_found"),
    INSIDE("unchanged", "cat e/e33", "e\314\201\n"),
    EDIT_ALL("20,000 occurrences", "e/many", "word", "term", "20000"),
    INSIDE("the file", "grep -c '^term and more$' e/many", "20000\n"),
    EDIT("a NUL in the file", "e/nul", " c", " d", "1"),
    PAGE("the file", "e/nul", "[1-1 of 1] a\\0b d"),
    EDIT("other indentation", "e/indented", "\tindented", "x", "!string_not_found~indent"),
};

static const char list_preparation[] =
    "mkdir -p l/sub l/empty l/hidden l/odd l/links l/bytes && cd l && printf 12345 >b && : >a && mkdir locked && chmod 000 locked && "
    ": >hidden/.x && : >hidden/y && ln -s ../sub links/dir && ln -s ../b links/file && ln -s nowhere links/broken && "
    ": >'odd/with space' && : >\"odd/quote'\\\"\" && : >'odd/tab\tx' && : >'odd/new\nline' && : >'odd/[x]*?' && "
    ": >'odd/gr\303\274\303\237e' && : >odd/-dash && : >bytes/good && mkdir many && cd many && "
    "i=1000 && while [ $i -lt 3000 ]; do i=$((i+1)); : >$i; done";

static const struct row list_rows[] = {
    LIST("files and folders", "l", "a|b|bytes/|empty/|hidden/|links/|locked/|many/|odd/|sub/"),
    LIST("empty folder", "l/empty", ""),
    LIST("missing", "l/missing", "!path_not_found~not found"),
    LIST("a file", "l/a", "!not_a_directory"),
    LIST("unreadable", "l/locked", "!permission_denied"),
    LIST("hidden names", "l/hidden", ".x|y"),
    LIST("slashes at the end", "l//", "a|b|bytes/|empty/|hidden/|links/|locked/|many/|odd/|sub/"),
    LIST("links", "l/links", "broken@|dir/@|file@"),
    LIST("odd names", "l/odd", "-dash|[x]*?|gr\303\274\303\237e|new\nline|quote'\"|tab\tx|with space"),
    LIST("2,000 names", "l/many", "1001|1002|1003|..."),
    LIST("..", "l/../l", "!invalid_path"),
};

static const char search_preparation[] =
    "mkdir -p g/src/deep g/.hid && cd g && printf 'needle one\\nother\\n  needle two' >a.py && printf 'needle\\n' >src/b.py && "
    "printf 'needle\\n' >src/deep/c.py && printf 'needle\\n' >d.md && printf 'needle\\n' >.hid/e.py && printf 'needle\\n' >.f.py && "
    "printf 'a.b(c)\\naxbxcx\\n' >regex && printf 'Needle\\n' >case && printf 'x:needle:y\\n' >colon:name && "
    "printf 'needle\\n' >'new\nline' && printf 'needle\\000\\n' >binary && printf 'bad \\377 needle\\n' >latin && "
    "printf 'crlf needle\\r\\n' >crlf && printf 'tail text' >t1 && printf 'tail text' >t2 && printf -- '-dash text\\n' >dash && "
    "printf 'it\\047s \"$x\" \\\\n\\n' >quotes && printf 'gr\\303\\266\\303\\237e\\n' >unicode && ln -s a.py link && ln -s .. loop && "
    "awk 'BEGIN { for (i = 0; i < 20000; i++) print \"many lines\" }' >many";

static const struct row search_rows[] = {
    SEARCH("everywhere below, by path and line", "g", "needle", NULL, 0,
           "g/.f.py:1:needle|g/.hid/e.py:1:needle|g/a.py:1:needle one|g/a.py:3:  needle two|g/colon:name:1:x:needle:y|"
           "g/crlf:1:crlf needle|g/d.md:1:needle|g/latin:1:bad \357\277\275 needle|g/new\nline:1:needle|g/src/b.py:1:needle|"
           "g/src/deep/c.py:1:needle"),
    SEARCH("regular expression characters", "g", "a.b(c)", NULL, 0, "g/regex:1:a.b(c)"),
    SEARCH("case", "g", "Needle", NULL, 0, "g/case:1:Needle"),
    SEARCH("no match", "g", "absent-text", NULL, 0, ""),
    SEARCH("missing path", "g/missing", "needle", NULL, 0, "!path_not_found~not found"),
    SEARCH("one file", "g/d.md", "needle", NULL, 0, "g/d.md:1:needle"),
    SEARCH("glob of names", "g", "needle", "*.py", 0,
           "g/.hid/e.py:1:needle|g/a.py:1:needle one|g/a.py:3:  needle two|g/src/b.py:1:needle|g/src/deep/c.py:1:needle"),
    SEARCH("glob with folders", "g", "needle", "src/**/*.py", 0, "g/src/b.py:1:needle|g/src/deep/c.py:1:needle"),
    SEARCH("anchored glob", "g", "needle", "/*.py", 0, "g/a.py:1:needle one|g/a.py:3:  needle two"),
    SEARCH("alternatives", "g/src", "needle", "*.{py,md}", 0, "g/src/b.py:1:needle|g/src/deep/c.py:1:needle"),
    SEARCH(".. in the glob", "g", "needle", "../*", 0, "!invalid_pattern"),
    SEARCH("at most two", "g/a.py", "e", NULL, 2, "g/a.py:1:needle one|g/a.py:2:other..."),
    SEARCH("at most two, of two", "g/a.py", "needle", NULL, 2, "g/a.py:1:needle one|g/a.py:3:  needle two"),
    SEARCH("last lines without newline", "g", "tail text", NULL, 0, "g/t1:1:tail text|g/t2:1:tail text"),
    SEARCH("a leading dash", "g/dash", "-dash", NULL, 0, "g/dash:1:-dash text"),
    SEARCH("quotes", "g/quotes", "it's \"$x\" \\n", NULL, 0, "g/quotes:1:it's \"$x\" \\n"),
    SEARCH("a newline", "g", "a\nb", NULL, 0, "!invalid_pattern"),
    SEARCH("Unicode", "g", "gr\303\266\303\237", NULL, 0, "g/unicode:1:gr\303\266\303\237e"),
    SEARCH("an empty text", "g/regex", "", NULL, 0, "g/regex:1:a.b(c)|g/regex:2:axbxcx"),
    SEARCH("20,000 lines, the first", "g/many", "many lines", NULL, 1, "g/many:1:many lines..."),
};

static const char find_preparation[] =
    "mkdir -p b/sub/nested b/.hidden/nested b/.github/workflows c d/in d/many && cd b && : >a.py && : >sub/b.py && : >sub/nested/c.py && "
    ": >readme.md && : >.hidden.py && : >.hidden/x.py && : >.hidden/nested/y.py && : >.github/workflows/ci.yml && cd ../c && "
    ": >'{p}.q' && : >'{x}a.q' && : >'{x}b.q' && : >probe.q && : >Upper.q && cd ../d && : >in/real && ln -s in/real inside && "
    "ln -s nowhere broken && ln -s in dirlink && : >'with space.o' && : >\"qu'ote.o\" && : >'new\nline.o' && : >'gr\303\274\303\237e.o'";

static const struct row find_rows[] = {
    FIND("*.py", "b", "*.py", "b/.hidden/nested/y.py|b/.hidden/x.py|b/a.py|b/sub/b.py|b/sub/nested/c.py"),
    FIND("**/*.py", "b", "**/*.py", "b/a.py|b/sub/b.py|b/sub/nested/c.py"),
    FIND("/*.py", "b", "/*.py", "b/a.py"),
    FIND("sub/*.py", "b", "sub/*.py", "b/sub/b.py"),
    FIND("sub/**/*.py", "b", "sub/**/*.py", "b/sub/b.py|b/sub/nested/c.py"),
    FIND("a.py/**", "b", "a.py/**", ""),
    FIND("*.yml", "b", "*.yml", "b/.github/workflows/ci.yml"),
    FIND("**/*.yml", "b", "**/*.yml", ""),
    FIND(".github/**/*.yml", "b", ".github/**/*.yml", "b/.github/workflows/ci.yml"),
    FIND(".*.py", "b", ".*.py", "b/.hidden.py"),
    FIND(".hidden/*.py", "b", ".hidden/*.py", "b/.hidden/x.py"),
    FIND(".hidden/**/*.py", "b", ".hidden/**/*.py", "b/.hidden/nested/y.py|b/.hidden/x.py"),
    FIND("*.{py,md}", "b", "*.{py,md}", "b/.hidden/nested/y.py|b/.hidden/x.py|b/a.py|b/readme.md|b/sub/b.py|b/sub/nested/c.py"),
    FIND("{a,{b,c}}.py", "b", "{a,{b,c}}.py", "b/a.py|b/sub/b.py|b/sub/nested/c.py"),
    FIND("[ab].py", "b", "[ab].py", "b/a.py|b/sub/b.py"),
    FIND("[!a].py", "b", "[!a].py", "b/.hidden/nested/y.py|b/.hidden/x.py|b/sub/b.py|b/sub/nested/c.py"),
    FIND("[^a].py", "b", "[^a].py", "b/.hidden/nested/y.py|b/.hidden/x.py|b/sub/b.py|b/sub/nested/c.py"),
    FIND("sub//b.py", "b", "sub//b.py", "b/sub/b.py"),
    FIND("*.{py", "b", "*.{py", ""),
    FIND("[", "b", "[", ""),
    FIND("missing path", "b/missing", "*", "!path_not_found~not found"),
    FIND("a file", "b/a.py", "*", "!not_a_directory"),
    FIND("..", "b", "../*", "!invalid_pattern"),
    FIND("too many alternatives", "b", "{a,b,c,d}{a,b,c,d}{a,b,c,d}{a,b,c,d}{a,b,c,d}{a,b,c,d}", "!pattern_too_broad"),
    FIND("a link inside", "d", "inside", "d/inside"),
    FIND("a broken link", "d", "broken", ""),
    FIND("a link to a folder is not entered", "d", "real", "d/in/real"),
    FIND("odd names", "d", "*.o", "d/gr\303\274\303\237e.o|d/new\nline.o|d/qu'ote.o|d/with space.o"),
    FIND("case", "c", "upper.q", ""),
    FIND("the right case", "c", "Upper.q", "c/Upper.q"),
    FIND("a group of one", "c", "{p}.q", "c/{p}.q"),
    FIND("and one that expands", "c", "{x}{a,b}.q", "c/{x}a.q|c/{x}b.q"),
    FIND("empty alternatives", "c", "{a,}{a,}probe.q", "c/probe.q"),
};

static const char remove_preparation[] =
    "mkdir -p x/tree/deep x/kept x/locked && cd x && : >d01 && : >tree/deep/file && ln -s nowhere d04 && : >kept/file && ln -s kept d05 && "
    ": >locked/file && chmod 555 locked && : >-rf && : >'a b' && : >\"q'uote\"";

static const struct row remove_rows[] = {
    REMOVE("a file", "x/d01", "ok"),
    REMOVE("a folder with content", "x/tree", "ok"),
    REMOVE("missing", "x/d01", "!file_not_found~not found"),
    REMOVE("a broken link", "x/d04", "ok"),
    REMOVE("a link to a folder", "x/d05", "ok"),
    REMOVE("no permission", "x/locked/file", "!permission_denied"),
    REMOVE("a leading dash", "x/-rf", "ok"),
    REMOVE("a space", "x/a b", "ok"),
    REMOVE("a quote", "x/q'uote", "ok"),
    INSIDE("what is left", "ls -A x; ls x/kept", "kept\nlocked\nfile\n"),
    REMOVE("the root", "/", "!invalid_path"),
    REMOVE("the root, spelt otherwise", "/./", "!invalid_path"),
    REMOVE("..", "x/../x", "!invalid_path"),
    REMOVE("the working directory", ".", "!invalid_path"),
};

/* clang-format on */

const struct row_set row_sets[] = {
    {"read", read_preparation, read_rows, COUNT(read_rows)},
    {"write", write_preparation, write_rows, COUNT(write_rows)},
    {"edit", edit_preparation, edit_rows, COUNT(edit_rows)},
    {"list", list_preparation, list_rows, COUNT(list_rows)},
    {"search", search_preparation, search_rows, COUNT(search_rows)},
    {"find", find_preparation, find_rows, COUNT(find_rows)},
    {"remove", remove_preparation, remove_rows, COUNT(remove_rows)},
};
const size_t row_set_count = COUNT(row_sets);
