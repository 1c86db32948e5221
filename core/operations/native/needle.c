#include "operations/native/needle.h"

#include <string.h>
#if defined(__x86_64__)
#include <immintrin.h>
/* The C library knows the processor already. The compiler's own __builtin_cpu_supports would ask it anew at every
 * start, which in a virtual machine takes a tenth of a millisecond. */
#include <sys/platform/x86.h>
#endif

/* How common a byte is in programs and prose: 0 for the most common. */
static size_t rank(char byte)
{
    static const char common[] = " etaoinsrlcdpumfhg_,.)(\n-\"=;ybv/w0*x1'k:>{}2j<[]&3+\\#T4SECAIq5z";
    const char *at = byte ? memchr(common, byte, sizeof(common) - 1) : NULL;

    return at ? (size_t)(at - common) : sizeof(common);
}

struct needle needle_make(const char *text, size_t length)
{
    struct needle needle = {.text = text, .length = length};

    for (size_t i = 1; i < needle.length; i++)
        if (rank(needle.text[i]) > rank(needle.text[needle.rare]))
            needle.rare = i;
    needle.second = needle.rare == 0 && needle.length > 1 ? 1 : 0;
    for (size_t i = 0; i < needle.length; i++)
        if (i != needle.rare && rank(needle.text[i]) > rank(needle.text[needle.second]))
            needle.second = i;
    return needle;
}

static const char *find_by_byte(const struct needle *needle, const char *at, const char *end)
{
    if ((size_t)(end - at) < needle->length)
        return NULL;
    const char *last = end - needle->length + needle->rare;
    const char *candidate = at + needle->rare;

    while (candidate <= last &&
           (candidate = memchr(candidate, needle->text[needle->rare], (size_t)(last - candidate) + 1))) {
        if (memcmp(candidate - needle->rare, needle->text, needle->length) == 0)
            return candidate - needle->rare;
        candidate++;
    }
    return NULL;
}

#if defined(__x86_64__)
/* Compares both bytes at 32 places at a time. */
__attribute__((target("avx2"))) static const char *find_by_pair(const struct needle *needle, const char *at,
                                                                const char *end)
{
    const __m256i rare = _mm256_set1_epi8(needle->text[needle->rare]);
    const __m256i second = _mm256_set1_epi8(needle->text[needle->second]);

    for (; (size_t)(end - at) >= needle->length + sizeof(rare) - 1; at += sizeof(rare)) {
        __m256i here = _mm256_loadu_si256((const __m256i *)(const void *)(at + needle->rare));
        __m256i there = _mm256_loadu_si256((const __m256i *)(const void *)(at + needle->second));
        unsigned int both = (unsigned int)_mm256_movemask_epi8(
            _mm256_and_si256(_mm256_cmpeq_epi8(here, rare), _mm256_cmpeq_epi8(there, second)));

        for (; both; both &= both - 1) {
            const char *candidate = at + __builtin_ctz(both);

            if (memcmp(candidate, needle->text, needle->length) == 0)
                return candidate;
        }
    }
    return find_by_byte(needle, at, end);
}
#endif

const char *needle_find(const struct needle *needle, const char *at, const char *end)
{
    if (needle->length == 0)
        return at < end ? at : NULL;
#if defined(__x86_64__)
    if (needle->length > 1 && CPU_FEATURE_ACTIVE(AVX2))
        return find_by_pair(needle, at, end);
#endif
    return find_by_byte(needle, at, end);
}

/* Eight bytes at a time. */
int64_t count_lines(const char *at, const char *end)
{
    const uint64_t low = UINT64_C(0x7f7f7f7f7f7f7f7f);
    int64_t count = 0;

    for (; end - at >= 8; at += 8) {
        uint64_t word;

        memcpy(&word, at, sizeof(word));
        word ^= UINT64_C(0x0a0a0a0a0a0a0a0a);
        /* One bit for each byte that is zero now. */
        word = ~(((word & low) + low) | word | low) >> 7;
        count += (int64_t)((word * UINT64_C(0x0101010101010101)) >> 56);
    }
    for (; at < end; at++)
        count += *at == '\n';
    return count;
}
