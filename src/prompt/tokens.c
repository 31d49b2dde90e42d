/* tokens.c: how long a text is to a model, guessed from above.
 *
 * Byte-pair encodings of today take common words whole, rarer ones in pieces of some
 * four letters, digits by up to three, signs one by one or in pairs, and the blank
 * before a word with it.
 */
#include "prompt/prompt.h"

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

int prompt_tokens(const char *text)
{
    long tokens = 0;

    while (*text) {
        const char *from = text;

        if (is_letter(*text)) {
            while (is_letter(*text))
                text++;
            tokens += (text - from + 5) / 6;
        } else if (is_digit(*text)) {
            while (is_digit(*text))
                text++;
            tokens += (text - from + 1) / 2;
        } else if (*text == ' ') {
            while (*text == ' ')
                text++;
            tokens += text - from > 1; /* a single one belongs to what follows */
        } else {
            text++;
            tokens++;
        }
    }
    return tokens > INT32_MAX ? INT32_MAX : (int)tokens;
}
