/* sha256.c: SHA-256, as FIPS 180-4 has it, so that `sha256sum` gives the same: what
 * names a file's contents where another file must belong to it. */
#include "base/base.h"

typedef struct Sha {
    uint32_t state[8];
    uint32_t words[64];
} Sha;

static const uint32_t rounds[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

static uint32_t rotate(uint32_t x, int n)
{
    return x >> n | x << (32 - n);
}

static void expand(Sha *sha, const unsigned char *block)
{
    uint32_t *w = sha->words;

    for (int i = 0; i < 16; i++)
        w[i] = (uint32_t)block[4 * i] << 24 | (uint32_t)block[4 * i + 1] << 16 | (uint32_t)block[4 * i + 2] << 8 |
               block[4 * i + 3];
    for (int i = 16; i < 64; i++) {
        uint32_t a = w[i - 15], b = w[i - 2];

        w[i] = w[i - 16] + (rotate(a, 7) ^ rotate(a, 18) ^ a >> 3) + w[i - 7] +
               (rotate(b, 17) ^ rotate(b, 19) ^ b >> 10);
    }
}

static void take_block(Sha *sha, const unsigned char *block)
{
    uint32_t s[8];

    expand(sha, block);
    memcpy(s, sha->state, sizeof s);
    for (int i = 0; i < 64; i++) {
        uint32_t sum1 = rotate(s[4], 6) ^ rotate(s[4], 11) ^ rotate(s[4], 25);
        uint32_t sum0 = rotate(s[0], 2) ^ rotate(s[0], 13) ^ rotate(s[0], 22);
        uint32_t t1 = s[7] + sum1 + ((s[4] & s[5]) ^ (~s[4] & s[6])) + rounds[i] + sha->words[i];
        uint32_t t2 = sum0 + ((s[0] & s[1]) ^ (s[0] & s[2]) ^ (s[1] & s[2]));

        memmove(s + 1, s, 7 * sizeof *s);
        s[4] += t1;
        s[0] = t1 + t2;
    }
    for (int i = 0; i < 8; i++)
        sha->state[i] += s[i];
}

/* The last bytes, a one, zeros, and how many bits there were. */
static void take_end(Sha *sha, const unsigned char *rest, size_t left, uint64_t bits)
{
    unsigned char block[128] = {0};
    size_t size = left < 56 ? 64 : 128;

    memcpy(block, rest, left);
    block[left] = 0x80;
    for (int i = 0; i < 8; i++)
        block[size - 1 - (size_t)i] = (unsigned char)(bits >> 8 * i);
    take_block(sha, block);
    if (size == 128)
        take_block(sha, block + 64);
}

const char *sha256_text(Arena *arena, const void *data, size_t len)
{
    Sha sha = {.state = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab,
                         0x5be0cd19}};
    const unsigned char *at = data;
    size_t whole = len / 64 * 64;
    Str out = str_new(arena);

    for (size_t i = 0; i < whole; i += 64)
        take_block(&sha, at + i);
    take_end(&sha, len > whole ? at + whole : (const unsigned char *)"", len - whole, (uint64_t)len * 8);
    for (int i = 0; i < 8; i++)
        str_printf(&out, "%08x", (unsigned)sha.state[i]);
    return str_text(&out);
}
