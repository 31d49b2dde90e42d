/* print.c: statements and units in canonical form.
 *
 *   Operator scale_rows                 two spaces a level, declarations in
 *     Input  X     (rows, cols)         columns, comments above what they are
 *     Input  Gains (rows, 1)            about, at most one blank line in a row
 *
 *     # both operands broadcast
 *     Compute Multiply X, Gains and get O
 *   end
 */
#include "lang/lang.h"
#include "lang/print.h"

enum { KEYWORD_COLUMN = 6 }; /* "Output": declarations keep their names in a column */

/* ---- pieces -------------------------------------------------------------------------- */

static void indent_to(Str *out, int indent)
{
    for (int i = 0; i < indent; i++)
        str_add(out, "  ");
}

/* One line of a comment; "" is a blank line, "#" a comment of nothing. */
static void print_comment_line(Str *out, const char *line, size_t len, int indent)
{
    if (len > 0) {
        indent_to(out, indent);
        str_addc(out, '#');
        if (len > 1 || *line != '#') {
            str_addc(out, ' ');
            str_addn(out, line, len);
        }
    }
    str_addc(out, '\n');
}

static void print_comment(Str *out, const char *comment, int indent)
{
    while (comment) {
        size_t len = strcspn(comment, "\n");

        print_comment_line(out, comment, len, indent);
        comment = comment[len] ? comment + len + 1 : NULL;
    }
}

static void print_labelled(Str *out, const char *label, const Expr *e)
{
    if (e) {
        str_add(out, label);
        lang_print_expr(out, e);
    }
}

static void print_shape(Str *out, const Stmt *s)
{
    if (s->has_shape) {
        str_add(out, " (");
        print_list(out, s->shape, s->n_shape, ", ");
        str_addc(out, ')');
    }
}

static void print_dtype(Str *out, const Stmt *s)
{
    if (s->has_dtype)
        str_printf(out, " %s", dtype_name(s->dtype));
}

static void print_coords(Str *out, const Stmt *s)
{
    for (int i = 0; i < s->n_coords; i++) {
        const Coord *coord = &s->coords[i];

        if (i > 0)
            str_add(out, ", ");
        if (coord->name)
            str_add(out, coord->name);
        if (coord->name && coord->value)
            str_add(out, " = ");
        if (coord->value)
            lang_print_expr(out, coord->value);
    }
}

/* ---- statements ----------------------------------------------------------------------- */

/* A declaration's first words; `column` is how wide its name's column is. */
static void print_declared(Str *out, const Stmt *s, int column)
{
    str_printf(out, "%-*s %-*s", KEYWORD_COLUMN, stmt_keyword(s->kind), column, s->name);
}

static void print_copy(Str *out, const Stmt *s)
{
    str_add(out, "Copy ");
    if (s->target)
        lang_print_expr(out, s->target);
    else
        str_add(out, s->name);
    print_shape(out, s);
    if (s->as)
        str_printf(out, " as %s", s->as);
    if (s->n_coords > 0) {
        str_add(out, " in coordinate [");
        print_coords(out, s);
        str_addc(out, ']');
    }
    str_printf(out, " from %s to %s", space_name(s->space), space_name(s->to_space));
    if (s->stage) {
        print_labelled(out, " [stage = ", s->stage);
        str_addc(out, ']');
    }
    print_labelled(out, " where ", s->where);
    print_labelled(out, " else ", s->otherwise);
    if (s->result == RESULT_ACCUMULATE)
        str_add(out, " and accumulate");
}

static void print_result(Str *out, const Stmt *s)
{
    static const char *const words[] = {
        [RESULT_GET] = " and get ", [RESULT_GET_NEW] = " and get new ", [RESULT_ACCUMULATE] = " and accumulate "};

    if (s->result != RESULT_NONE) {
        print_labelled(out, words[s->result], s->dest);
        print_shape(out, s);
    }
}

static void print_operands(Str *out, const Stmt *s)
{
    bool condition = s->op_known && s->op == OP_WHERE;

    for (int i = 0; i < s->n_args; i++) {
        str_add(out, i > 0 ? ", " : " ");
        if (condition && i == 0)
            lang_print_expr(out, s->args[i]);
        else
            print_operand(out, s->args[i]);
    }
}

static void print_compute(Str *out, const Stmt *s)
{
    str_printf(out, "Compute %s", s->op_known ? op_info(s->op)->name : s->op_name);
    print_operands(out, s);
    if (s->result == RESULT_NONE)
        print_shape(out, s);
    if (s->over)
        str_printf(out, " over %s", s->over);
    print_labelled(out, " to ", s->to);
    print_labelled(out, " by ", s->by);
    print_labelled(out, " step ", s->step);
    if (s->n_with > 0) {
        str_add(out, " with ");
        print_list(out, s->with, s->n_with, " and ");
    }
    print_labelled(out, " with empty rows ", s->empty_rows);
    print_labelled(out, " where ", s->where);
    print_labelled(out, " else ", s->otherwise);
    print_labelled(out, " as ", s->value);
    print_result(out, s);
}

static void print_allocate(Str *out, const Stmt *s)
{
    str_printf(out, "Allocate %s in %s", s->name, space_name(s->space));
    print_shape(out, s);
    print_dtype(out, s);
    print_labelled(out, " with offset ", s->offset);
}

static void print_reshape(Str *out, const Stmt *s)
{
    str_printf(out, "Reshape %s from (", s->name);
    print_list(out, s->shape, s->n_shape, ", ");
    str_add(out, ") to (");
    print_list(out, s->to_shape, s->n_to_shape, ", ");
    str_addc(out, ')');
}

static void print_for(Str *out, const Stmt *s)
{
    str_printf(out, "for %s", s->name);
    if (s->over) {
        str_printf(out, " over %s", s->over);
        print_labelled(out, " by ", s->by);
    } else {
        print_labelled(out, " = ", s->lo);
        print_labelled(out, ":", s->hi);
    }
}

static void print_grid(Str *out, const Stmt *s)
{
    str_add(out, s->n_coords > 0 && !s->coords[0].value ? "Grid over " : "Grid ");
    print_coords(out, s);
}

/* The statement's first line, without indentation and line end. */
static void print_line(Str *out, const Stmt *s, int column)
{
    switch (s->kind) {
    case STMT_INPUT: case STMT_OUTPUT:
        print_declared(out, s, s->has_shape || s->has_dtype ? column : 0);
        print_shape(out, s);
        print_dtype(out, s);
        break;
    case STMT_PARAM: case STMT_LET:
        print_declared(out, s, 0);
        print_labelled(out, " = ", s->value);
        break;
    case STMT_INDEX:
        print_declared(out, s, column);
        str_printf(out, " over %s", s->over);
        print_labelled(out, " from ", s->value);
        break;
    case STMT_ASSIGN:
        str_add(out, s->name);
        print_labelled(out, " = ", s->value);
        break;
    case STMT_GRID: print_grid(out, s); break;
    case STMT_ALLOCATE: print_allocate(out, s); break;
    case STMT_COPY: print_copy(out, s); break;
    case STMT_COMPUTE: print_compute(out, s); break;
    case STMT_RESHAPE: print_reshape(out, s); break;
    case STMT_FOR: print_for(out, s); break;
    case STMT_IF: print_labelled(out, "if ", s->where); break;
    case STMT_DEFINE:
        str_printf(out, "Define %s(", s->name);
        print_list(out, s->shape, s->n_shape, ", ");
        str_addc(out, ')');
        break;
    case STMT_SCHEDULE: str_printf(out, "Schedule %s", s->name); break;
    case STMT_COUNT: break;
    }
    str_addc(out, '\n');
}

/* ---- blocks ---------------------------------------------------------------------------------- */

static bool has_column(const Stmt *s)
{
    return s->kind == STMT_INPUT || s->kind == STMT_OUTPUT || s->kind == STMT_INDEX;
}

static bool same_column(const Stmt *a, const Stmt *b)
{
    return has_column(a) && has_column(b) && (a->kind == STMT_INDEX) == (b->kind == STMT_INDEX);
}

/* The widest name among the declarations in a row that contain number i. */
static int column_at(const Block *block, int i)
{
    int column = 0, first = i;

    if (!has_column(block->data[i]))
        return 0;
    while (first > 0 && same_column(block->data[first - 1], block->data[i]))
        first--;
    for (; first < block->len && same_column(block->data[first], block->data[i]); first++) {
        int len = (int)strlen(block->data[first]->name);

        column = len > column ? len : column;
    }
    return column;
}

static void print_stmt(Str *out, const Stmt *s, int indent, int column);

static void print_block(Str *out, const Block *block, int indent)
{
    int column = 0;

    for (int i = 0; i < block->len; i++) {
        const Stmt *s = block->data[i];

        if (i == 0 || !same_column(block->data[i - 1], s))
            column = column_at(block, i);
        if (s->gap && i > 0)
            str_addc(out, '\n');
        print_stmt(out, s, indent, column);
    }
    print_comment(out, block->comment, indent);
}

/* `else if` holds a condition that is all of the else branch. Its comment becomes
 * the last of the branch before, for comments above `else` are read as that. */
static void print_else(Str *out, const Block *orelse, int indent)
{
    const Stmt *inner = orelse->len == 1 && orelse->data[0]->kind == STMT_IF ? orelse->data[0] : NULL;

    if (orelse->len == 0 && !orelse->comment)
        return;
    if (inner && !orelse->comment)
        print_comment(out, inner->comment, indent + 1);
    indent_to(out, indent);
    if (!inner || orelse->comment) {
        str_add(out, "else\n");
        print_block(out, orelse, indent + 1);
        return;
    }
    str_add(out, "else ");
    print_line(out, inner, 0);
    print_block(out, &inner->body, indent + 1);
    print_else(out, &inner->orelse, indent);
}

static bool has_body(const Stmt *s)
{
    return s->kind == STMT_FOR || s->kind == STMT_IF || s->kind == STMT_DEFINE || s->kind == STMT_SCHEDULE;
}

static void print_stmt(Str *out, const Stmt *s, int indent, int column)
{
    print_comment(out, s->comment, indent);
    indent_to(out, indent);
    print_line(out, s, column);
    if (!has_body(s))
        return;
    print_block(out, &s->body, indent + 1);
    print_else(out, &s->orelse, indent);
    indent_to(out, indent);
    str_add(out, "end\n");
}

void lang_print_stmt(Str *out, const Stmt *stmt, int indent)
{
    print_stmt(out, stmt, indent, 0);
}

/* ---- units ------------------------------------------------------------------------------------- */

void lang_print_unit(Str *out, const Unit *unit)
{
    if (unit->kind == UNIT_FRAGMENT) {
        print_block(out, &unit->body, 0);
        return;
    }
    print_comment(out, unit->comment, 0);
    str_printf(out, "%s %s\n", unit->kind == UNIT_OPERATOR ? "Operator" : "Kernel", unit->name);
    print_block(out, &unit->body, 1);
    str_add(out, "end\n");
}

/* Two fragments in a row would read as one: then fences keep all units apart. */
static bool needs_fences(const Program *program)
{
    for (int i = 1; i < program->units.len; i++)
        if (program->units.data[i]->kind == UNIT_FRAGMENT && program->units.data[i - 1]->kind == UNIT_FRAGMENT)
            return true;
    return false;
}

/* Comments behind the last unit; behind a fragment they read as its own. */
static void print_last_comment(Str *out, const Program *program, bool fences)
{
    int n = program->units.len;
    bool joins = n > 0 && program->units.data[n - 1]->kind == UNIT_FRAGMENT && !fences;

    if (!program->comment)
        return;
    if (n > 0 && !joins)
        str_addc(out, '\n');
    if (fences)
        str_add(out, "```\n");
    print_comment(out, program->comment, 0);
    if (fences)
        str_add(out, "```\n");
}

void lang_print(Str *out, const Program *program)
{
    bool fences = needs_fences(program);

    for (int i = 0; i < program->units.len; i++) {
        if (i > 0)
            str_addc(out, '\n');
        if (fences)
            str_add(out, "```\n");
        lang_print_unit(out, program->units.data[i]);
        if (fences)
            str_add(out, "```\n");
    }
    print_last_comment(out, program, fences);
}
