/* propose_copies.c: Copies and grids that are said in other words than coordinates.
 *
 *   Copy A[m * BM:(m + 1) * BM, :] from global to shared     Copy A (BM, K) in coordinate [M = m] from global to shared
 *   Copy A to A_s                                            Copy A (BM, BK) as A_s in coordinate [M = m, K = k] from global to shared
 *   Grid (ceil(N / BN), ceil(M / BM))                        Grid n = ceil(N / BN), m = ceil(M / BM)
 *
 * Sizes are those that are allocated; coordinates what is said, or as other Copies have them.
 */
#include "suggest/cuts.h"
#include "suggest/forms.h"

/* ---- where a tile lies ----------------------------------------------------------------------- */

typedef struct Assigned {
    const char *name;
    const Expr *value; /* NULL: none */
} Assigned;

static void find_assigned(void *user, const Stmt *stmt)
{
    Assigned *a = user;

    if ((stmt->kind == STMT_ASSIGN || stmt->kind == STMT_LET) && strcmp(stmt->name, a->name) == 0)
        a->value = stmt->value;
}

/* What a name stands for, if it is assigned. */
static const Expr *assigned(Suggester *s, const Expr *e)
{
    Assigned a = {e->kind == EXPR_NAME ? e->name : "", NULL};

    if (e->kind == EXPR_NAME)
        suggest_each(&s->unit->body, find_assigned, &a);
    return a.value ? a.value : e;
}

/* Of elements from `begin` on, tiles of a size: which of them; "": the first; NULL: that is not known. */
static const char *tile_at(Cuts *cuts, const Expr *item, const char *size, const char *dim)
{
    Suggester *s = cuts->s;
    const Expr *begin = item->kind == EXPR_RANGE ? item->a : item;
    const char *coord = cut_of(cuts, dim)->coord;

    if (!begin)
        return "";
    if (expr_is_name(begin, coord ? coord : ""))
        return coord;
    begin = assigned(s, begin);
    if (begin->kind == EXPR_INT && begin->i == 0)
        return "";
    if (!size)
        return suggest_expr(s, begin);
    if (begin->kind != EXPR_BINARY || begin->op != EO_MUL)
        return NULL;
    return strcmp(suggest_expr(s, begin->b), size) == 0 ? suggest_expr(s, begin->a)
         : strcmp(suggest_expr(s, begin->a), size) == 0 ? suggest_expr(s, begin->b) : NULL;
}

/* The coordinates that are said between brackets, one for each dimension, or those of other Copies. */
static bool add_coordinates(Cuts *cuts, Str *text, const Stmt *tensor, const Stmt *tile, const Expr *place)
{
    Suggester *s = cuts->s;
    bool any = false;

    if (place && place->n_args != tensor->n_shape)
        return false;
    for (int i = 0; i < tensor->n_shape; i++) {
        const char *dim = suggest_expr(s, tensor->shape[i]);
        const Cut *cut = cut_of(cuts, dim);
        int at = i - (tensor->n_shape - tile->n_shape);
        const char *size = at >= 0 ? suggest_expr(s, tile->shape[at]) : NULL;
        const char *coord = place ? tile_at(cuts, place->args[i], size, dim) : size && strcmp(size, dim) == 0 ? "" : cut->coord;

        if (!coord && place)
            return false;
        if (coord && *coord && tensor->shape[i]->kind == EXPR_NAME) {
            str_printf(text, "%s%s = %s", any ? ", " : " in coordinate [", dim, coord);
            any = true;
        }
    }
    str_add(text, any ? "]" : "");
    return true;
}

/* Of a row or a column that a tensor of one dimension has, the size that is not 1. */
static const Stmt *of_one_dimension(Suggester *s, const Stmt *tile, const Stmt *tensor)
{
    Stmt *less = tensor->n_shape == 1 && tile->n_shape == 2 ? suggest_like(s, tile) : NULL;

    if (!less)
        return tile;
    less->shape = expr_is_one(tile->shape[0]) ? tile->shape + 1 : tile->shape;
    less->n_shape = 1;
    return less;
}

static bool try_copy(Suggester *s, const Stmt *tensor, const char *name, const Expr *place, bool in, const char *suffix, Span span)
{
    Cuts cuts = cuts_of(s);
    const Stmt *tile = cuts_tile(&cuts, name, SPACE_SHARED);
    Str text = str_new(s->arena);

    if (!tile)
        tile = cuts_tile(&cuts, name, SPACE_REGISTER);
    tile = tile ? of_one_dimension(s, tile, tensor) : NULL;
    if (!tile || tile->n_shape > 2 || tile->n_shape > tensor->n_shape)
        return false;
    str_printf(&text, "Copy %s (", in ? tensor->name : name);
    for (int i = 0; i < tile->n_shape; i++)
        str_printf(&text, "%s%s", i ? ", " : "", suggest_expr(s, tile->shape[i]));
    str_add(&text, ")");
    if (strcmp(tensor->name, name) != 0)
        str_printf(&text, " as %s", in ? name : tensor->name);
    if (!add_coordinates(&cuts, &text, tensor, tile, place))
        return false;
    str_printf(&text, " from %s to %s%s", in ? "global" : space_name(tile->space), in ? space_name(tile->space) : "global", suffix);
    return suggest_edit(s, span, str_text(&text), "a tile, and which one");
}

/* ---- what is moved ---------------------------------------------------------------------------------- */

static const Expr *place_of(const Expr *e)
{
    while (e && (e->kind == EXPR_SPACE || e->kind == EXPR_TRANSPOSE))
        e = e->a;
    return e && e->kind == EXPR_INDEX ? e : NULL;
}

/* Of a part, or of an address as `A + offset`: A. */
static const char *first_name(const Expr *e)
{
    while (e && e->a)
        e = e->a;
    return e && e->kind == EXPR_NAME ? e->name : NULL;
}

static const Expr *reference(Suggester *s, const char *text)
{
    Source *source = arena_new_of(s->arena, Source);
    const char *line = arena_printf(s->arena, "x = %s", text);
    const Program *program;
    Diags *diags;

    *source = (Source){"reference", line, strlen(line)};
    diags = diags_new(s->arena, source);
    program = lang_parse(s->arena, s->chain->syms, source, diags);
    return diags->errors || program->units.len != 1 || program->units.data[0]->body.len != 1 ? NULL
           : program->units.data[0]->body.data[0]->value;
}

/* In a sketch, where tiles have neither sizes nor places; what is read into registers no product takes. */
static bool try_sketched(Suggester *s, const Stmt *tensor, const char *name, bool in, const char *suffix, Span span)
{
    static const char *const ways[] = {"global to shared", "global to register", "register to global"};
    const char *as = strcmp(tensor->name, name) == 0 || suggest_among(name, "shared register") ? "" : arena_printf(s->arena, " as %s", in ? name : tensor->name);

    for (int i = in ? 0 : 2; i < (in ? 2 : 3); i++)
        if (suggest_edit(s, span, arena_printf(s->arena, "Copy %s%s from %s%s", in ? tensor->name : name, as, ways[i], suffix), "from which memory to which"))
            return true;
    return false;
}

static bool try_move(Suggester *s, const Expr *from, const Expr *to, const char *suffix, Span span)
{
    Cuts cuts = cuts_of(s);
    const char *source = first_name(from), *dest = first_name(to);
    const Stmt *read = cuts_tensor(&cuts, source), *written = cuts_tensor(&cuts, dest);

    if (!source || !dest)
        return false;
    if (cuts.allocated.len == 0 && from->kind == EXPR_NAME && to->kind == EXPR_NAME)
        return read && read->kind == STMT_INPUT ? try_sketched(s, read, dest, true, suffix, span) : written && try_sketched(s, written, source, false, suffix, span);
    if (read && read->kind == STMT_INPUT)
        return try_copy(s, read, dest, place_of(from), true, suffix, span);
    return written && try_copy(s, written, source, place_of(to), false, suffix, span);
}

/* A tensor that pointers of a name are to: `c_ptr`, `C`. */
static const Stmt *pointed(const Cuts *cuts, const char *text)
{
    size_t len = strcspn(text, "+ ,()[");

    if (len > 4 && strncmp(text + len - 4, "_ptr", 4) == 0)
        len -= 4;
    for (int i = 0; i < cuts->tensors.len; i++) {
        const char *name = cuts->tensors.data[i]->name;
        if (strlen(name) == len && text_equal_nocase(arena_strndup(cuts->s->arena, text, len), name))
            return cuts->tensors.data[i];
    }
    return NULL;
}

/* What lies at a pointer: the tile of that tensor which other Copies take. */
static bool try_pointer(Suggester *s, const char *at, const char *tile, bool in, const char *suffix)
{
    Cuts cuts = cuts_of(s);
    const Stmt *tensor = pointed(&cuts, at);

    if (!tensor)
        tensor = cuts_tensor(&cuts, tile);
    return tensor && (tensor->kind == STMT_INPUT) == in && try_copy(s, tensor, tile, NULL, in, suffix, form_line(s));
}

/* `Copy A[...] from global to shared`, `Copy A to A_s`, `copy(A[...], A_s)`, `As = load(A[...])`, `C[...] = acc`, `atomicAdd(&C[...], acc)`. */
bool propose_moved(Suggester *s)
{
    static const struct { const char *form; char from, to; const char *suffix; } forms[] = {
        {"Copy $X from $X to $Y", 'X', 'Y', ""}, {"Copy $X from global to $Y", 'X', 'Y', ""}, {"Copy $x from register to $Y", 'x', 'Y', ""}, {"Copy $x from shared to $Y", 'x', 'Y', ""},
        {"Copy $X to $Y", 'X', 'Y', ""}, {"Copy $X into $Y", 'X', 'Y', ""}, {"Copy $X -> $Y", 'X', 'Y', ""}, {"copy($X, $Y)", 'X', 'Y', ""},
        {"Load $X to $Y", 'X', 'Y', ""}, {"Load $X into $Y", 'X', 'Y', ""}, {"Store $X to $Y", 'X', 'Y', ""}, {"Store $X into $Y", 'X', 'Y', ""},
        {"store($Y, $x)", 'x', 'Y', ""}, {"store($Y, $x, $Z)", 'x', 'Y', ""}, {"$y = load($X)", 'X', 'y', ""}, {"$Y = $x", 'x', 'Y', ""},
        {"atomicAdd(&$Y, $x)", 'x', 'Y', " and accumulate"}, {"atomicAdd($Y, $x)", 'x', 'Y', " and accumulate"},
        {"atomic_add($Y, $x)", 'x', 'Y', " and accumulate"}, {"atomic_add($Y, $x, $Z)", 'x', 'Y', " and accumulate"},
    };
    const char *text = form_plain(s, form_line(s));
    const Stmt *copy = s->stmt && s->stmt->kind == STMT_COPY && s->stmt->target ? s->stmt : NULL;
    Holes holes;

    if (!s->unit || strlen(text) > FORM_LONGEST)
        return false;
    if (copy) {
        Cuts cuts = cuts_of(s);
        const Stmt *tensor = cuts_tensor(&cuts, copy->name);
        bool in = copy->space == SPACE_GLOBAL;
        return tensor && place_of(copy->target) &&
               try_copy(s, tensor, copy->as && in ? copy->as : copy->name, place_of(copy->target), in, "", copy->span);
    }
    for (size_t i = 0; i < TW_COUNT(forms); i++) {
        if (!form_match(forms[i].form, text, &holes))
            continue;
        const char *from = form_hole(s, text, &holes, forms[i].from), *to = form_hole(s, text, &holes, forms[i].to);
        const Expr *source = reference(s, from), *dest = reference(s, to);
        if (source && dest && try_move(s, source, dest, forms[i].suffix, form_line(s)))
            return true;
        return try_pointer(s, forms[i].from == 'X' ? from : to, forms[i].from == 'X' ? to : from, forms[i].from == 'X', forms[i].suffix);
    }
    return false;
}

/* A coordinate that is said as a range of elements. */
bool propose_tile_of_range(Suggester *s)
{
    Cuts cuts = cuts_of(s);
    const Stmt *copy = s->stmt && s->stmt->kind == STMT_COPY ? s->stmt : NULL, *tensor = copy ? cuts_tensor(&cuts, copy_tensor(copy)) : NULL;
    Stmt *changed;

    if (!tensor || copy->listed)
        return false;
    changed = suggest_like(s, copy);
    changed->coords = arena_array(s->arena, Coord, copy->n_coords + 1);
    for (int i = 0; i < copy->n_coords; i++) {
        const Coord *coord = &copy->coords[i];
        int dim = i;
        changed->coords[i] = *coord;
        if (!coord->value || coord->value->kind != EXPR_RANGE)
            continue;
        for (int k = 0; coord->name && k < tensor->n_shape; k++)
            if (expr_is_name(tensor->shape[k], coord->name))
                dim = k;
        int at = dim - (tensor->n_shape - copy->n_shape);
        const char *name = suggest_expr(s, tensor->shape[dim < tensor->n_shape ? dim : 0]);
        const char *tile = tile_at(&cuts, coord->value, at >= 0 && at < copy->n_shape ? suggest_expr(s, copy->shape[at]) : NULL, name);
        if (!tile)
            return false;
        changed->coords[i].value = expr_name(s->arena, *tile ? tile : "0");
    }
    return suggest_stmt(s, copy, changed, "which tile");
}

typedef struct Indexed {
    Suggester *s;
    VEC(Fix) edits;
} Indexed;

static void find_indexed(void *user, const Stmt *stmt)
{
    Indexed *indexed = user;
    Stmt *changed = stmt->kind == STMT_COPY && stmt->target && place_of(stmt->target) && !stmt->listed ? suggest_like(indexed->s, stmt) : NULL;

    if (!changed)
        return;
    changed->target = NULL;
    vec_push(indexed->s->arena, &indexed->edits, ((Fix){stmt->span, suggest_text(indexed->s, changed), NULL}));
}

/* `Copy K[j] from global to shared` in a sketch, which works coordinates out: that one, then all. */
bool propose_whole_copy(Suggester *s)
{
    Indexed one = {.s = s}, all = {.s = s};

    if (!s->stmt)
        return false;
    find_indexed(&one, s->stmt);
    if (one.edits.len == 0 || suggest_edits(s, one.edits.data, one.edits.len, "stage 1b works out which tile"))
        return one.edits.len > 0;
    suggest_each(&s->unit->body, find_indexed, &all);
    return suggest_edits(s, all.edits.data, all.edits.len, "stage 1b works out which tiles");
}

/* Another Copy writes the tensor, or the one at hand does. */
typedef struct Written {
    const char *name;
    bool found;
} Written;

static void find_written(void *user, const Stmt *stmt)
{
    Written *w = user;

    w->found |= stmt->kind == STMT_COPY && stmt->to_space == SPACE_GLOBAL && copy_tensor(stmt) && strcmp(copy_tensor(stmt), w->name) == 0;
}

/* `Copy C_out ... from register to global`, and no tensor is called so: the output that nothing writes. */
bool propose_stored_as(Suggester *s)
{
    const Stmt *copy = s->stmt && s->stmt->kind == STMT_COPY && s->stmt->to_space == SPACE_GLOBAL && !s->stmt->as ? s->stmt : NULL;
    Cuts cuts = cuts_of(s);

    for (int i = 0; copy && i < cuts.tensors.len; i++) {
        Written w = {.name = cuts.tensors.data[i]->name};
        Stmt *changed = suggest_like(s, copy);

        suggest_each(&s->unit->body, find_written, &w);
        changed->as = w.name;
        if (cuts.tensors.data[i]->kind == STMT_OUTPUT && !w.found &&
            suggest_stmt(s, copy, changed, arena_printf(s->arena, "'%s' is written there", w.name)))
            return true;
    }
    return false;
}

/* ---- grids ------------------------------------------------------------------------------------------- */

/* The parts of a list, at the commas outside of brackets. */
static int split(Suggester *s, const char *text, const char *parts[], int most)
{
    int n = 0, depth = 0, from = 0;

    for (int at = 0;; at++) {
        depth += (text[at] == '(' || text[at] == '[') - (text[at] == ')' || text[at] == ']');
        if (text[at] && (text[at] != ',' || depth > 0))
            continue;
        from += (int)strspn(text + from, " ");
        if (n == most || at == from)
            return 0;
        parts[n++] = arena_strndup(s->arena, text + from, (size_t)(at - from));
        if (!text[at])
            return n;
        from = at + 1;
    }
}

static bool is_dimension(const Cuts *cuts, const char *name)
{
    for (int i = 0; i < cuts->tensors.len; i++)
        for (int k = 0; k < cuts->tensors.data[i]->n_shape; k++)
            if (expr_is_name(cuts->tensors.data[i]->shape[k], name))
                return true;
    return false;
}

/* An axis of the grid: `m = ceil(M / BM)`; where no tile along the dimension has a size, `b = batch`. */
static const char *axis_of(Suggester *s, const Cut *cut)
{
    return arena_printf(s->arena, cut->size ? "%s = ceil(%s / %s)" : "%s = %s", cut->coord, cut->dim, cut->size);
}

/* `m`: of the dimension that it is a coordinate of; `ceil(M / BM)`: the coordinate that its dimension has. */
static const char *axis(Cuts *cuts, const char *part, int place)
{
    Suggester *s = cuts->s;
    const Expr *e = reference(s, part);
    static const char *const places[] = {"x", "y", "z"};

    for (int i = 0; e && i < cuts->list.len; i++) {
        const Cut *cut = &cuts->list.data[i];
        bool named = e->kind == EXPR_NAME && !is_dimension(cuts, e->name);

        if (named && cut->coord && strcmp(cut->coord, e->name) == 0)
            return axis_of(s, cut);
        if (!named && is_dimension(cuts, cut->dim) && expr_mentions(e, cut->dim)) {
            const Expr *coord = cut->coord ? reference(s, cut->coord) : NULL;
            return arena_printf(s->arena, "%s = %s", coord && coord->kind == EXPR_NAME ? cut->coord : places[place], part);
        }
    }
    return NULL;
}

bool propose_axes(Suggester *s)
{
    static const char *const forms[] = {"Grid ($A)", "Grid [$A]", "Grid = ($A)", "Grid: $A", "Grid $A"};
    Cuts cuts = cuts_of(s);
    const char *text = form_plain(s, form_line(s)), *parts[3];
    Str grid = str_new(s->arena);
    Holes holes;
    size_t i = 0;
    int n;

    while (i < TW_COUNT(forms) && !form_match(forms[i], text, &holes))
        i++;
    if (!s->unit || strlen(text) > FORM_LONGEST || i == TW_COUNT(forms))
        return false;
    n = split(s, form_hole(s, text, &holes, 'A'), parts, 3);
    for (int k = 0; k < n; k++) {
        const char *one = axis(&cuts, parts[k], k);
        if (!one)
            return false;
        str_printf(&grid, "%s%s", k ? ", " : "Grid ", one);
    }
    return n > 0 && suggest_edit(s, form_line(s), str_text(&grid), "each coordinate, and how far it goes");
}

/* `Grid over M, N` in code: how far each goes. */
bool propose_extents(Suggester *s)
{
    Cuts cuts = cuts_of(s);
    const Stmt *grid = NULL;
    Str text = str_new(s->arena);

    for (int i = 0; s->unit && i < s->unit->body.len; i++)
        if (s->unit->body.data[i]->kind == STMT_GRID)
            grid = s->unit->body.data[i];
    for (int i = 0; grid && i < grid->n_coords; i++) {
        const Cut *cut = cut_of(&cuts, grid->coords[i].name);
        if (grid->coords[i].value || !cut->coord || !cuts.allocated.len)
            return false;
        str_printf(&text, "%s%s", i ? ", " : "Grid ", axis_of(s, cut));
    }
    return grid && grid->n_coords && suggest_edit(s, grid->span, str_text(&text), "each coordinate, and how far it goes");
}

static void note_names(void *user, const Stmt *stmt)
{
    Str *names = user;

    if (stmt->kind == STMT_FOR || stmt->kind == STMT_ASSIGN || stmt->kind == STMT_LET || stmt->kind == STMT_PARAM)
        str_printf(names, " %s ", stmt->name);
}

/* Behind it a Grid has all dimensions; what is assigned may be of its coordinates. */
static const Stmt *last_declared(const Unit *unit)
{
    const Stmt *last = NULL;

    for (int i = 0; unit && i < unit->body.len; i++) {
        const Stmt *s = unit->body.data[i];
        bool declares = s->kind == STMT_INPUT || s->kind == STMT_OUTPUT || s->kind == STMT_PARAM || s->kind == STMT_LET;

        last = declares ? s : last;
    }
    return last;
}

/* A kernel without a Grid, whose coordinates nothing declares. */
bool propose_missing_grid(Suggester *s)
{
    const Stmt *at = s->stmt;
    s->stmt = NULL; /* all Copies count, that at hand as well */
    Cuts cuts = cuts_of(s);
    s->stmt = at;
    Str grid = str_new(s->arena), known = str_new(s->arena);
    const Stmt *last = last_declared(s->unit);
    int n = 0;

    if (!s->unit || s->unit->kind != UNIT_KERNEL || !last || !cuts.allocated.len || block_find(&s->unit->body, STMT_GRID, NULL))
        return false;
    suggest_each(&s->unit->body, note_names, &known);
    for (int i = cuts.list.len - 1; i >= 0; i--) {
        const Cut *cut = &cuts.list.data[i];
        const Expr *e = cut->coord && is_dimension(&cuts, cut->dim) ? reference(s, cut->coord) : NULL;
        if (!e || e->kind != EXPR_NAME || strstr(str_text(&known), arena_printf(s->arena, " %s ", cut->coord)))
            continue;
        str_printf(&grid, "%s%s", n++ ? ", " : "Grid ", axis_of(s, cut));
    }
    return n && suggest_edit(s, (Span){last->span.end, last->span.end},
                             arena_printf(s->arena, "\n%s%s", suggest_indent(s, last->span.start), str_text(&grid)), "the blocks, and their coordinates");
}

static bool takes_coordinate(const Suggester *s, const Stmt *stmt, const Stmt *grid)
{
    const char *text = s->source->text + stmt->span.start, *block = strstr(text, "blockIdx.");
    bool takes = block && block < s->source->text + stmt->span.end;

    for (int i = 0; i < grid->n_coords; i++)
        takes |= grid->coords[i].name && expr_mentions(stmt->value, grid->coords[i].name);
    return takes;
}

/* The Grid stands behind what takes its coordinates. */
bool propose_late_grid(Suggester *s)
{
    const Stmt *grid = s->unit && s->stmt ? block_find(&s->unit->body, STMT_GRID, NULL) : NULL, *first = NULL;

    for (int i = 0; grid && !first && s->unit->body.data[i] != grid; i++)
        first = takes_coordinate(s, s->unit->body.data[i], grid) ? s->unit->body.data[i] : NULL;
    if (!first || first->span.start > s->stmt->span.start || grid->span.start < s->stmt->span.start)
        return false;
    Fix edits[] = {{suggest_before(s, first), arena_printf(s->arena, "%s%s\n", suggest_indent(s, first->span.start), suggest_text(s, grid)), NULL},
                   {suggest_line(s, grid->span), "", NULL}};
    return suggest_edits(s, edits, 2, "before what takes its coordinates");
}

/* ---- coordinates of a loop --------------------------------------------------------------------------- */

typedef struct Counted {
    Cuts *cuts;
    const Stmt *loop;
    Fix edits[16];
    int n;
} Counted;

/* The loop's counter along the dimension that its bound is made of. */
static void count(void *user, const Stmt *copy)
{
    Counted *c = user;
    Suggester *s = c->cuts->s;
    const Stmt *tensor = copy->kind == STMT_COPY && copy->space == SPACE_GLOBAL && !copy->listed ? cuts_tensor(c->cuts, copy->name) : NULL;

    for (int i = 0; tensor && i < tensor->n_shape && c->n < (int)TW_COUNT(c->edits); i++) {
        const char *dim = tensor->shape[i]->kind == EXPR_NAME ? tensor->shape[i]->name : NULL;
        const Coord *said = NULL;

        if (!dim || !expr_mentions(c->loop->hi, dim))
            continue;
        for (int k = 0; k < copy->n_coords; k++)
            if (copy->coords[k].name ? strcmp(copy->coords[k].name, dim) == 0 : k == i)
                said = &copy->coords[k];
        if (said && said->value->kind == EXPR_INT)
            c->edits[c->n++] = (Fix){said->value->span, c->loop->name, NULL};
        else if (!said && copy->n_coords && copy->coords[0].name)
            c->edits[c->n++] = (Fix){{copy->coords[0].span.start, copy->coords[0].span.start}, arena_printf(s->arena, "%s = %s, ", dim, c->loop->name), NULL};
    }
}

/* A loop whose Copies do not say which turn it is. */
bool propose_counter(Suggester *s)
{
    Cuts cuts = cuts_of(s);
    Counted c = {.cuts = &cuts, .loop = s->stmt && s->stmt->kind == STMT_FOR && s->stmt->hi ? s->stmt : NULL};

    if (c.loop)
        suggest_each(&c.loop->body, count, &c);
    return c.n && suggest_edits(s, c.edits, c.n, "the tile of each turn");
}

/* ---- coordinates of a block that are assigned ---------------------------------------------------------- */

/* `m = program_id(0)`, `m = blockIdx.y`: along which axis of the grid; -1: neither. */
static int axis_read(const Stmt *stmt)
{
    const Expr *e = stmt->kind == STMT_ASSIGN ? stmt->value : NULL;
    bool called = e && e->kind == EXPR_CALL && e->n_args == 1 && e->args[0]->kind == EXPR_INT && strcmp(e->name, "program_id") == 0;

    if (called)
        return e->args[0]->i >= 0 && e->args[0]->i < 3 ? (int)e->args[0]->i : -1;
    return e && e->kind == EXPR_NAME && strncmp(e->name, "blockIdx.", 9) == 0 ? e->name[9] - 'x' : -1;
}

/* An axis that the Grid lacks, assigned beside it. */
static bool try_in_grid(Suggester *s, Cuts *cuts)
{
    const Stmt *grid = NULL, *assigned = NULL;

    for (int i = 0; i < s->unit->body.len; i++) {
        const Stmt *stmt = s->unit->body.data[i];
        grid = stmt->kind == STMT_GRID ? stmt : grid;
        assigned = axis_read(stmt) >= 0 && stmt->span.start <= s->diag->span.start && stmt->span.end >= s->diag->span.end ? stmt : assigned;
    }
    const char *one = grid && assigned ? axis(cuts, assigned->name, 0) : NULL;
    if (!one)
        return false;
    Fix less = {suggest_line(s, assigned->span), "", NULL}, more = {{grid->span.end, grid->span.end}, arena_printf(s->arena, ", %s", one), NULL};
    bool before = assigned->span.start < grid->span.start;
    return suggest_edits(s, (Fix[]){before ? less : more, before ? more : less}, 2, "an axis of the Grid");
}

/* Whether tiles have no sizes anywhere. */
static void note_sizes(void *user, const Stmt *stmt)
{
    bool *sized = user;

    *sized |= stmt->kind == STMT_ALLOCATE || (stmt->kind == STMT_COPY && (stmt->n_shape || stmt->n_coords));
}

static const char *dimension_in(const Cuts *cuts, const Expr *e)
{
    for (int i = 0; i < cuts->tensors.len; i++)
        for (int k = 0; k < cuts->tensors.data[i]->n_shape; k++)
            if (cuts->tensors.data[i]->shape[k]->kind == EXPR_NAME && expr_mentions(e, cuts->tensors.data[i]->shape[k]->name))
                return cuts->tensors.data[i]->shape[k]->name;
    return NULL;
}

/* `Grid m = ceil(M / 64)` of a sketch, which leaves sizes open. */
bool propose_sketch_grid(Suggester *s)
{
    const Stmt *grid = s->unit ? block_find(&s->unit->body, STMT_GRID, NULL) : NULL;
    Cuts cuts = cuts_of(s);
    Str text = str_new(s->arena);
    bool sized = false;

    if (!grid)
        return false;
    suggest_each(&s->unit->body, note_sizes, &sized);
    for (int i = 0; i < grid->n_coords; i++) {
        const char *dim = grid->coords[i].value ? dimension_in(&cuts, grid->coords[i].value) : NULL;
        sized |= !dim;
        str_printf(&text, "%s%s", i ? ", " : "Grid over ", dim ? dim : "");
    }
    if (sized || !suggest_edit(s, grid->span, str_text(&text), "a sketch leaves sizes open"))
        return false;
    s->diag->code = TW0603;
    s->diag->span = grid->span;
    s->diag->message = "the Grid is that of code, and no tile has a size: a sketch says over which dimensions blocks go";
    s->diag->note = NULL;
    return s->all = true;
}

/* One Grid in place of them all. */
bool propose_blocks(Suggester *s)
{
    Cuts cuts = cuts_of(s);
    const Stmt *axes[3] = {NULL};
    Fix edits[3];
    Str grid = str_new(s->arena);
    int n = 0;

    for (int i = 0; s->unit && i < s->unit->body.len; i++) {
        const Stmt *stmt = s->unit->body.data[i];
        int which = axis_read(stmt);
        if (stmt->kind == STMT_GRID)
            return try_in_grid(s, &cuts);
        if (which >= 0 && axes[which])
            return false;
        if (which < 0)
            continue;
        axes[which] = stmt;
        edits[n] = (Fix){n ? suggest_line(s, stmt->span) : stmt->span, "", NULL};
        n++;
    }
    for (int i = 0; i < n; i++) {
        const char *one = axes[i] ? axis(&cuts, axes[i]->name, i) : NULL;
        if (!one)
            return false;
        str_printf(&grid, "%s%s", i ? ", " : "Grid ", one);
    }
    if (n)
        edits[0].text = str_text(&grid);
    return n && suggest_edits(s, edits, n, "each coordinate, and how far it goes");
}

/* ---- several blocks that write one tile --------------------------------------------------------------------- */

typedef struct Axis {
    const char *name;
    bool used;
} Axis;

static void find_use(void *user, const Stmt *stmt)
{
    Axis *axis = user;

    axis->used |= expr_mentions(stmt->lo, axis->name) || expr_mentions(stmt->hi, axis->name) || expr_mentions(stmt->value, axis->name) ||
                  expr_mentions(stmt->where, axis->name);
    for (int i = 0; stmt->kind == STMT_COPY && i < stmt->n_coords; i++)
        axis->used |= expr_mentions(stmt->coords[i].value, axis->name);
}

/* What each block has is a part of a sum. */
static bool try_added(Suggester *s, const Stmt *copy, const Stmt *output)
{
    Stmt *changed = suggest_like(s, copy);

    changed->result = RESULT_ACCUMULATE;
    if (suggest_stmt(s, copy, changed, "blocks add up their parts"))
        return true;
    Fix edits[2] = {{output->dtype_span, "fp32", NULL}, {copy->span, suggest_text(s, changed), NULL}};
    return output->has_dtype && suggest_edits(s, edits, 2, "blocks add up their parts, in fp32");
}

/* An axis of the grid that the tile does not depend on: parts of a sum, or blocks that all do the same. */
bool propose_added(Suggester *s)
{
    Cuts cuts = cuts_of(s);
    const Stmt *copy = s->stmt && s->stmt->kind == STMT_COPY && s->stmt->result == RESULT_NONE && !s->stmt->listed ? s->stmt : NULL;
    const Stmt *output = copy ? cuts_tensor(&cuts, copy_tensor(copy)) : NULL;

    for (int i = 0; output && i < s->unit->body.len; i++) {
        const Stmt *grid = s->unit->body.data[i];
        for (int k = 0; grid->kind == STMT_GRID && k < grid->n_coords; k++) {
            Axis axis = {grid->coords[k].name, false};
            Stmt *less = suggest_like(s, grid);
            if (!axis.name || !strstr(s->diag->message, arena_printf(s->arena, "'%s'", axis.name)))
                continue;
            suggest_each(&s->unit->body, find_use, &axis);
            if (axis.used)
                return try_added(s, copy, output);
            less->coords = arena_array(s->arena, Coord, grid->n_coords);
            less->n_coords = 0;
            for (int m = 0; m < grid->n_coords; m++)
                if (m != k)
                    less->coords[less->n_coords++] = grid->coords[m];
            return less->n_coords && suggest_stmt(s, grid, less, "blocks that would all do the same");
        }
    }
    return false;
}

/* ---- coordinates of a block by a function --------------------------------------------------------------------- */

enum { MOST_AXES = 3 };

/* `m = program_id(0)`, in whatever module: one Grid in place of such lines. */
bool propose_programs(Suggester *s)
{
    Cuts cuts = cuts_of(s);
    const char *names[MOST_AXES] = {NULL}, *text = s->source->text;
    Span lines[MOST_AXES];
    Fix edits[MOST_AXES];
    Str grid = str_new(s->arena);
    Suggester at = *s;
    Diag diag = *s->diag;
    int n = 0;

    at.diag = &diag;
    for (int i = s->unit ? s->unit->span.start : 0; s->unit && i < s->unit->end; i += (int)strcspn(text + i, "\n") + 1) {
        Holes holes;
        diag.span = (Span){i, i};
        Span line = form_line(&at);
        const char *plain = form_plain(s, line);
        if (strlen(plain) > FORM_LONGEST || !form_match("$m = program_id($A)", plain, &holes))
            continue;
        const char *which = form_hole(s, plain, &holes, 'A');
        which = strncmp(which, "axis", 4) == 0 ? which + 4 + strspn(which + 4, " =") : which;
        if (n == MOST_AXES || *which < '0' || *which > '2' || names[*which - '0'])
            return false;
        names[*which - '0'] = form_hole(s, plain, &holes, 'm');
        lines[n++] = line;
    }
    for (int i = 0; i < n; i++) {
        const char *one = names[i] ? axis(&cuts, names[i], i) : NULL;
        if (!one)
            return false;
        str_printf(&grid, "%s%s", i ? ", " : "Grid ", one);
    }
    for (int i = 0; i < n; i++)
        edits[i] = (Fix){i ? suggest_line(s, lines[i]) : lines[i], i ? "" : str_text(&grid), NULL};
    return n && suggest_edits(s, edits, n, "each coordinate, and how far it goes");
}

/* A coordinate of Copies that neither the Grid nor a loop names: one more axis. */
bool propose_one_axis(Suggester *s)
{
    const Stmt *at = s->stmt;
    const Stmt *grid = NULL;
    const char *name = suggest_quoted(s, s->diag->span), *one;
    s->stmt = NULL; /* all Copies count */
    Cuts cuts = cuts_of(s);
    s->stmt = at;

    for (int i = 0; s->unit && i < s->unit->body.len; i++)
        grid = s->unit->body.data[i]->kind == STMT_GRID ? s->unit->body.data[i] : grid;
    if (!grid || !cuts.allocated.len || !s->stmt || s->stmt->kind != STMT_COPY || grid->n_coords == 0 || !grid->coords[0].value)
        return false;
    one = axis(&cuts, name, 0);
    return one && suggest_edit(s, (Span){grid->span.end, grid->span.end}, arena_printf(s->arena, ", %s", one), "an axis of the Grid");
}

/* `Copy A (BM, BK), B (BK, BN) from global to shared`: a Copy for each. */
bool propose_copy_of_each(Suggester *s)
{
    Span span = form_line(s);
    const char *text = form_plain(s, span), *from = strstr(text, " from "), *indent = suggest_indent(s, span.start);
    Str copies = str_new(s->arena);
    int open = 0, n = 0;

    if (strncmp(text, "Copy ", 5) != 0 || !from)
        return false;
    for (const char *at = text + 5, *begin = at; at <= from; at++) {
        open += *at == '(' || *at == '[' ? 1 : *at == ')' || *at == ']' ? -1 : 0;
        if (at < from && (*at != ',' || open))
            continue;
        begin += strspn(begin, " ");
        str_printf(&copies, "%s%sCopy %.*s%s", n ? "\n" : "", n ? indent : "", (int)(at - begin), begin, from);
        begin = at + 1;
        n++;
    }
    return n > 1 && suggest_edit(s, span, str_text(&copies), "a Copy for each");
}

/* `Load the tile of A into shared`: in whatever words, the tile that is allocated, where other Copies are. */
bool propose_some_copy(Suggester *s)
{
    static const char *const verbs[] = {"Load", "Copy", "Fetch", "Read", "Store", "Write", "Move", "Save"};
    const char *text = form_plain(s, form_line(s));
    Cuts cuts = cuts_of(s);
    bool moves = false;

    for (size_t i = 0; i < TW_COUNT(verbs); i++)
        moves |= text_equal_nocase(arena_strndup(s->arena, text, strcspn(text, " (")), verbs[i]);
    for (int i = 0; moves && strlen(text) <= FORM_LONGEST && i < cuts.tensors.len; i++) {
        const Stmt *tensor = cuts.tensors.data[i];
        if (strcmp(suggest_words(s, text, tensor->name, ""), text) != 0 &&
            try_copy(s, tensor, tensor->name, NULL, tensor->kind == STMT_INPUT, "", form_line(s)))
            return true;
    }
    return false;
}
