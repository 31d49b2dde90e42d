/* positions.c: positions where rows and columns run along one dimension.
 *
 *   Input Q (len, D); Input K (len, D)
 *   Index query over len                 S is (len, len): its rows are of the first position
 *   Index key   over len                 over len, its columns of the second
 *   Compute GEMM Q, K.T and get S
 *   Compute Mask S where key <= query
 *
 * One named row or col is that, whatever the order. A single position does not say, nor
 * do those behind the second.
 */
#include "lang/lang.h"

typedef struct Indices {
    const char *over;
    const Stmt *first, *second;
    int n;
} Indices;

static void find_indices(const Block *block, Indices *found)
{
    for (int i = 0; i < block->len; i++) {
        const Stmt *s = block->data[i];

        find_indices(&s->body, found);
        find_indices(&s->orelse, found);
        if (s->kind != STMT_INDEX || !s->over || strcmp(s->over, found->over) != 0)
            continue;
        if (found->n++ == 0)
            found->first = s;
        else if (found->n == 2)
            found->second = s;
    }
}

static IndexSide side_of_name(const char *name)
{
    return text_equal_nocase(name, "row") ? INDEX_ROWS : text_equal_nocase(name, "col") ? INDEX_COLS : INDEX_UNSAID;
}

static IndexSide opposite(IndexSide side)
{
    return side == INDEX_ROWS ? INDEX_COLS : side == INDEX_COLS ? INDEX_ROWS : INDEX_UNSAID;
}

IndexSide index_side(const Block *body, const char *name, const char *over)
{
    Indices found = {.over = over};
    IndexSide side = side_of_name(name);

    find_indices(body, &found);
    if (side != INDEX_UNSAID || found.n < 2)
        return side;
    bool is_first = strcmp(found.first->name, name) == 0;
    if (!is_first && strcmp(found.second->name, name) != 0)
        return INDEX_UNSAID;
    side = opposite(side_of_name(is_first ? found.second->name : found.first->name));
    return side != INDEX_UNSAID ? side : is_first ? INDEX_ROWS : INDEX_COLS;
}
