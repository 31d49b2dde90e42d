/* words.h: what a text in tile IR says, word by word (for this folder only). */
#ifndef TW_SUGGEST_WORDS_H
#define TW_SUGGEST_WORDS_H

#include "suggest/proposal.h"

enum { MOST_WORDS = 512 };

/* What names, numbers and operations are made of. */
#define WORD_LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_."

/* Each once, in order. */
typedef struct Words {
    const char *data[MOST_WORDS];
    int n;
} Words;

void words_add(Words *words, const char *word); /* but for an empty one, and where there are too many */

bool letter_among(char c, const char *set);              /* no zero byte is, though every string ends in one */
bool word_begins(const char *text, const char *word);    /* whether it is the text's first word */

#endif
