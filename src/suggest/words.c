/* words.c: what a text in tile IR says, word by word. */
#include "suggest/words.h"

void words_add(Words *words, const char *word)
{
    if (words->n < MOST_WORDS && *word && !text_among(words->data, words->n, word))
        words->data[words->n++] = word;
}

bool letter_among(char c, const char *set)
{
    return c && strchr(set, c);
}

bool word_begins(const char *text, const char *word)
{
    size_t len = strlen(word);

    return strncmp(text, word, len) == 0 && !letter_among(text[len], WORD_LETTERS);
}
