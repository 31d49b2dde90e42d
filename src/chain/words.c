/* words.c: what a text in tile IR says, word by word. */
#include "chain/words.h"

void words_add(Words *words, const char *word)
{
    if (words->n < MOST_WORDS && *word && !text_among(words->data, words->n, word))
        words->data[words->n++] = word;
}
