/* suggest.c: which edits are tried for which diagnostic, and how. */
#include "suggest/proposal.h"

enum { TRIES_FOR_ONE = 16, TRIES_FOR_ALL = 48, TRIES_OF_TILES = 2000, TRIES_OF_LONG = 4, TRIES_OF_AXES = 3, TRIES_OF_SPACES = 4, TRIES_OF_SIZES = 4, LONGEST_SOURCE = 1 << 18, LONGEST_OF_ALL = 1 << 24, TRIED_TEXT = 1 << 21, TRIED_TILES = 1 << 23 };

typedef struct Row {
    DiagCode code;
    Proposal *proposals[36]; /* the likeliest first */
} Row;

static const Row TABLE[] = {
    {TW0101, {propose_einsum, propose_notation, propose_times, propose_brace, propose_form, propose_formula}},
    {TW0102, {propose_einsum, propose_size_of_position, propose_top, propose_copy_of_each, propose_method, propose_define_shape, propose_programs, propose_target, propose_unnamed, propose_moved, propose_form, propose_axes, propose_formula, propose_bracket, propose_stage_word, propose_some_copy, propose_notation, propose_line_removal}},
    {TW0103, {propose_parts}},
    {TW0104, {propose_largest}},
    {TW0105, {propose_end}},
    {TW0106, {propose_top, propose_indexed, propose_no_loop, propose_counted, propose_returned, propose_return, propose_form, propose_moved, propose_formula, propose_axes}},
    {TW0107, {propose_line_removal}},
    {TW0108, {propose_rolled, propose_unread, propose_computed_once, propose_doubled}},
    {TW0109, {propose_line_removal}},
    {TW0110, {propose_moved}},
    {TW0112, {propose_type_word, propose_form}},
    {TW0220, {propose_own_element, propose_lacking_coordinate, propose_no_axis, propose_defined, propose_blocks, propose_one_axis, propose_declared_positions, propose_declared, propose_nearest, propose_coordinates, propose_counted_dimension, propose_usual, propose_flag, propose_tile_size}},
    {TW0221, {propose_own_element, propose_named_sizes, propose_tile_of_range, propose_whole_division, propose_formula}},
    {TW0222, {propose_largest}},
    {TW0223, {propose_formula_of_function, propose_places, propose_blocks, propose_computed, propose_bound, propose_form, propose_formula, propose_compound, propose_nearest, propose_function}},
    {TW0230, {propose_notation, propose_places_of_letters, propose_letters, propose_usual, propose_nearest, propose_get, propose_unused, propose_no_loop, propose_dimension, propose_no_axis, propose_launch_number}},
    {TW0231, {propose_own_output, propose_bound, propose_removal}},
    {TW0232, {propose_no_loop, propose_without_space, propose_removal}},
    {TW0233, {propose_einsum, propose_formula_of_function, propose_notation, propose_over_rows, propose_rounding, propose_bound, propose_moved_define, propose_same_operation, propose_halves, propose_gathered, propose_place_of_largest, propose_sorted, propose_nothing, propose_compound, propose_nearest, propose_joined, propose_transposed, propose_running_sum, propose_reduction, propose_form}},
    {TW0234, {propose_type_behind, propose_operand, propose_form, propose_condition, propose_operand_of_clause, propose_reduction, propose_form, propose_fewer_clauses, propose_fewer_operands, propose_removal}},
    {TW0235, {propose_only_place, propose_notation, propose_not_dimension, propose_bound, propose_masked, propose_split_operand, propose_computed, propose_form, propose_formula, propose_compound, propose_multiply}},
    {TW0236, {propose_form, propose_own_output, propose_to_output, propose_own_name}},
    {TW0237, {propose_result}},
    {TW0238, {propose_formula}},
    {TW0239, {propose_number}},
    {TW0240, {propose_exchanged_inputs, propose_dimension}},
    {TW0241, {propose_nearest, propose_not_new}},
    {TW0242, {propose_output}},
    {TW0244, {propose_number}},
    {TW0245, {propose_definition}},
    {TW0246, {propose_nearest, propose_dimension, propose_fewer_clauses}},
    {TW0247, {propose_nonzero}},
    {TW0248, {propose_cast}},
    {TW0249, {propose_index}},
    {TW0250, {propose_other_condition, propose_position}},
    {TW0320, {propose_other_transposes, propose_turned_tile}},
    {TW0321, {propose_other_transposes, propose_exchanged_maker, propose_sizes, propose_other_name}},
    {TW0322, {propose_other_column, propose_laid_otherwise, propose_column, propose_turned, propose_row, propose_sizes, propose_other_tile}},
    {TW0323, {propose_other_axis, propose_turned_product, propose_computed_shape, propose_exchanged_sizes, propose_other_transposes, propose_exchanged_dims, propose_fewer_clauses, propose_other_tile}},
    {TW0324, {propose_untransposed}},
    {TW0325, {propose_form, propose_stage_of_operand, propose_shape, propose_rank, propose_fewer_operands}},
    {TW0326, {propose_whole_division, propose_named_sizes, propose_some_size}},
    {TW0327, {propose_coordinates_of_element, propose_coordinates}},
    {TW0401, {propose_undone_pass, propose_own_state, propose_places, propose_declared, propose_usual, propose_nearest, propose_sum_of_softmax, propose_unused, propose_launch_number, propose_other_tile}},
    {TW0402, {propose_sketch_grid, propose_registers, propose_computed_first, propose_other_sum, propose_allocation, propose_space, propose_other_tile}},
    {TW0403, {propose_own_output, propose_renamed_kernel, propose_counter_name}},
    {TW0404, {propose_moved_define, propose_extents, propose_loop_bounds, propose_removal}},
    {TW0405, {propose_own_operation}},
    {TW0406, {propose_stored_as, propose_renamed_tile, propose_declared, propose_copy, propose_space, propose_removal, propose_other_tile}},
    {TW0407, {propose_copy_to_shared, propose_shared, propose_other_transposes, propose_other_tile}},
    {TW0408, {propose_destination}},
    {TW0409, {propose_same_copies}},
    {TW0410, {propose_size_number, propose_sizes, propose_number}},
    {TW0411, {propose_nearest, propose_coordinates}},
    {TW0412, {propose_coordinates}},
    {TW0412, {propose_stage}},
    {TW0413, {propose_turned_sizes, propose_other_tile}},
    {TW0414, {propose_ones, propose_first, propose_group, propose_coordinates, propose_lacking_coordinate}},
    {TW0415, {propose_ones, propose_group, propose_coordinates}},
    {TW0416, {propose_exchanged_maker}},
    {TW0417, {propose_declarations}},
    {TW0421, {propose_reshaped, propose_removal}},
    {TW0422, {propose_reshape}},
    {TW0424, {propose_turned_condition, propose_other_condition, propose_follow, propose_positions}},
    {TW0425, {propose_compared}},
    {TW0430, {propose_widened, propose_type}},
    {TW0432, {propose_type}},
    {TW0433, {propose_whole_tiles, propose_assigned, propose_padded}},
    {TW0434, {propose_types, propose_type}},
    {TW0440, {propose_own_state, propose_own_accumulator, propose_of_all_turns, propose_each_turn, propose_prologue, propose_maker, propose_other_tile, propose_other_input, propose_fill_before, propose_copy, propose_sum, propose_nearest, propose_unused}},
    {TW0442, {propose_counter, propose_scheduled, propose_quotient, propose_divisor, propose_taken, propose_both_products, propose_new_operand, propose_other_sum, propose_instead, propose_removal}},
    {TW0444, {propose_before_the_softmax, propose_removal}},
    {TW0445, {propose_behind_the_loop, propose_divided_behind, propose_removal}},
    {TW0447, {propose_state}},
    {TW0448, {propose_kept, propose_summed, propose_other_tile}},
    {TW0449, {propose_own_rescale, propose_other_operation, propose_other_tile}},
    {TW0450, {propose_store, propose_store_of_another}},
    {TW0451, {propose_lacking_coordinate, propose_other_place, propose_removal, propose_behind_the_loop, propose_last_store}},
    {TW0452, {propose_coordinates, propose_added, propose_lacking_coordinate}},
    {TW0453, {propose_ones, propose_exchanged_places, propose_coordinates, propose_axis, propose_unconditional, propose_lacking_coordinate}},
    {TW0454, {propose_exchanged_state, propose_sum_of_state}},
    {TW0455, {propose_removal}},
    {TW0456, {propose_in_each_turn}},
    {TW0460, {propose_assigned, propose_smaller}},
    {TW0461, {propose_assigned, propose_stream, propose_pieces, propose_spread_columns}},
    {TW0509, {propose_named_size}},
    {TW0519, {propose_told_apart}},
    {TW0521, {propose_as_defined}},
    {TW0523, {propose_compared_number, propose_else_zero, propose_twin, propose_other_beginning, propose_unused_result, propose_unread_input, propose_alike, propose_whole_counts, propose_missing_pass, propose_no_last_turn, propose_other_guard, propose_last_tile, propose_turns_of_tiles, propose_defined_number, propose_lacking_coordinates, propose_lacking_op, propose_bounds, propose_agreement, propose_turned_sides, propose_lacking_at_store, propose_undivided, propose_by_hand, propose_missing_mask, propose_likely_exprs, propose_more_turns, propose_missing_stmt, propose_changed_stmt, propose_exchanged_operands, propose_lost_pass, propose_lacking_stmt, propose_moved_stmt, propose_one_less, propose_other_operand, propose_other_exprs}},
    {TW0601, {propose_grid}},
    {TW0602, {propose_made, propose_cut_in_grid, propose_nearest, propose_copied_dimension, propose_grid_dimension, propose_copy, propose_fewer_clauses, propose_whole_copy, propose_tidying}},
    {TW0603, {propose_extents, propose_loose, propose_tidying}},
    {TW0604, {propose_own_name}},
    {TW0605, {propose_number}},
    {TW0606, {propose_wider_grid}},
    {TW0608, {propose_summed_mean}},
    {TW0609, {propose_unconditional}},
    {TW0711, {propose_declared_alike}},
    {TW0713, {propose_no_lines}},
    {TW0714, {propose_own_operation}},
    {TW0715, {propose_code}},
    {TW0718, {propose_named_result}},
    {TW0719, {propose_row}},
    {TW0721, {propose_otherwise}},
    {TW0723, {propose_form, propose_moved, propose_removal}},
    {TW0726, {propose_of_this_turn, propose_set_in_each_turn, propose_before_the_loop}},
    {TW0728, {propose_part}},
    {TW0729, {propose_place}},
    {TW0730, {propose_same_source, propose_other_input, propose_own_stage, propose_copied_stage, propose_guard, propose_all_turns, propose_prologue, propose_ring, propose_stage}},
    {TW0731, {propose_number}},
    {TW0733, {propose_own_sum, propose_rescale, propose_unconditional, propose_other_operation, propose_other_tile}},
    {TW0734, {propose_masked_copy, propose_global_element}},
    {TW0735, {propose_entry}},
    {TW0736, {propose_param}},
    {TW0755, {propose_divide}},
    {TW0776, {propose_longer_rows}},
    {TW0777, {propose_laid_across}},
    {TW0778, {propose_pieces, propose_spread_columns}},
    {TW0779, {propose_no_line}},
    {TW0790, {propose_wide_operands, propose_own_parts}},
};

/* Of texts in tile IR. */
static const Row TILES[] = {
    {TW0430, {propose_tile_rounding}},
    {TW0433, {propose_resized_tiles}},
    {TW0434, {propose_tile_dtype}},
    {TW0750, {propose_tile_change}},
    {TW0751, {propose_tile_order, propose_tile_symbol, propose_tile_word}},
    {TW0752, {propose_tile_order, propose_tile_result, propose_tile_change}},
    {TW0753, {propose_tile_yield}},
    {TW0754, {propose_tile_change}},
    {TW0755, {propose_tile_type, propose_tile_rounding, propose_tile_change}},
    {TW0756, {propose_tile_change}},
    {TW0757, {propose_tile_corner, propose_tile_where, propose_tile_own_name, propose_tile_scalar, propose_tile_instances, propose_tile_change}},
    {TW0758, {propose_tile_declaration, propose_tile_change}},
    {TW0759, {propose_tile_change}},
    {TW0760, {propose_tile_change}},
    {TW0771, {propose_tile_stages}},
    {TW0772, {propose_tile_operand}},
    {TW0773, {propose_tile_operand}},
    {TW0774, {propose_tile_warps, propose_resized_tiles}},
    {TW0775, {propose_tile_warps}},
    {TW0776, {propose_resized_tiles}},
};

/* What the command line mends, wherever it is said. */
static const struct {
    DiagCode code;
    Proposal *proposals[3];
} SETTINGS[] = {
    {TW0108, {propose_no_choice}},
    {TW0210, {propose_near_setting, propose_no_setting}},
    {TW0211, {propose_near_number, propose_no_setting}},
    {TW0502, {propose_no_choice}},
    {TW0503, {propose_no_choice}},
    {TW0504, {propose_no_choice}},
    {TW0505, {propose_no_choice}},
    {TW0506, {propose_no_choice}},
    {TW0508, {propose_no_choice}},
    {TW0509, {propose_no_choice}},
    {TW0519, {propose_no_choice}},
    {TW0520, {propose_no_parts}},
    {TW0522, {propose_known_sizes}},
    {TW0605, {propose_known_sizes, propose_no_choice}},
    {TW0610, {propose_near_number, propose_no_setting}},
    {TW0611, {propose_room}},
    {TW0612, {propose_near_setting, propose_no_setting}},
};

/* ---- one try ------------------------------------------------------------------------------ */

/* What is said of room has numbers that any other size changes. */
static bool says_like(const Diag *a, const Diag *b)
{
    bool room = a->code == TW0460 || a->code == TW0461;
    return a->code == b->code && (room || strcmp(a->message, b->message) == 0);
}

static int count_like(const Diags *diags, const Diag *like)
{
    int n = 0;

    for (int i = 0; i < diags->list.len; i++)
        n += says_like(&diags->list.data[i], like);
    return n;
}

static bool is_of_words(const Diag *d)
{
    return d->code < TW0210;
}

/* What has no meaning in its place: behind it only errors are looked for. */
static bool is_of_names(const Diag *d)
{
    return d->code == TW0223 || d->code == TW0235 || d->code == TW0401;
}

static bool is_of_types(DiagCode code)
{
    return code == TW0430 || code == TW0431 || code == TW0432 || code == TW0434 || code == TW0521 || code == TW0711;
}

/* Where shared memory does not suffice nothing is said of schedules yet: then a program that
 * is right, though no schedule has room for it, is better. Likewise nothing was said of what
 * statements mean where one was not understood. */
static bool was_hidden(const Diag *about, const Diag *now)
{
    if (about->code == TW0605 && (now->code == TW0610 || now->code == TW0611 || now->code == TW0612 || now->code == TW0522)) /* sizes are chosen when the others are known */
        return true;
    if (is_of_names(about) && diag_info(now->code)->severity != SEV_ERROR)
        return true;
    if (now->code == TW0442 && diag_info(about->code)->severity == SEV_ERROR) /* what is never used is looked for in what has no error */
        return true;
    if (about->code == TW0434 && !is_of_types(now->code)) /* nothing else was looked at yet */
        return true;
    return (about->code == TW0460 && now->code == TW0778) || (is_of_words(about) && !is_of_words(now));
}

/* The diagnostic is gone, and there is none that was not there before. */
static bool is_better(const Diags *before, const Diag *about, const Diags *after, bool loose)
{
    int n = 0;

    if (after->full || count_like(after, about) >= count_like(before, about))
        return false;
    for (int i = 0; i < after->list.len; i++) {
        const Diag *now = &after->list.data[i];

        if ((loose && was_hidden(about, now)) || (now->code == TW0522 && about->code != TW0522)) /* no edit leaves the sizes open */
            continue;
        n++;
        if (!count_like(before, now))
            return false;
    }
    return n < before->list.len;
}

static void drop_settings(Chain *chain, const char *names)
{
    for (; *names; names += strspn(names, " ")) {
        size_t len = strcspn(names, " ");
        chain_unset(chain, arena_strndup(chain->arena, names, len));
        names += len;
    }
}

/* Each word of a text. */
static bool take_settings(Chain *chain, const char *set)
{
    for (; set && *set; set += strspn(set, " ")) {
        size_t len = strcspn(set, " ");
        if (chain_set(chain, arena_strndup(chain->arena, set, len)))
            return false;
        set += len;
    }
    return true;
}

const char *suggest_asked(Suggester *s, const Diags *diags, const char *but)
{
    static const char words[] = "--set ";
    Str text = str_new(s->arena);

    for (int i = 0; i < diags->list.len; i++) {
        const Diag *d = &diags->list.data[i];
        const char *at = d->code == TW0605 || d->code == TW0522 ? strstr(d->message, words) : NULL;
        const char *name = at ? arena_strndup(s->arena, at + strlen(words), strcspn(at + strlen(words), "=")) : NULL;

        if (!at || strcmp(suggest_words(s, but, name, ""), but) != 0 || strcmp(suggest_words(s, str_text(&text), name, ""), str_text(&text)) != 0)
            continue;
        at += strlen(words);
        str_printf(&text, "%s%.*s", text.len ? " " : "", (int)strcspn(at, " ;,"), at);
    }
    return text.len ? str_text(&text) : NULL;
}

static bool helps(Suggester *s, Arena *own, const char *text)
{
    Source *source = arena_new_of(own, Source);
    Diags *diags = diags_new(own, source);
    Chain *like = s->chain, *chain = chain_like(own, like, diags);
    bool done;

    if (s->drop)
        drop_settings(chain, s->drop);
    if (!take_settings(chain, s->set))
        return false;
    *source = (Source){like->diags->source ? like->diags->source->path : "trial", text, strlen(text)};
    chain->proves = true;
    chain->keeps_witness = s->strict && !s->witness && !s->kept && !s->set && !s->drop;
    done = s->stage(chain, source, s->fragment);
    if (chain->witness) {
        s->tried = chain->witness;
        s->kept = own;
    }
    s->asked = s->set ? suggest_asked(s, diags, s->set) : NULL;
    s->left = diags->list.len;
    s->differed |= diags->list.len == 1 && diags->list.data[0].code == TW0523;
    s->whole = chain->executed && diags->list.len == 0;
    return is_better(like->diags, s->diag, diags, s->loose) && (done || diags->errors) && !chain->failure && (!s->strict || chain->executed);
}

static const char *edited(Arena *arena, const Source *source, Span span, const char *text)
{
    Str out = str_new(arena);

    str_addn(&out, source->text, (size_t)span.start);
    str_add(&out, text);
    str_addn(&out, source->text + span.end, source->len - (size_t)span.end);
    return str_text(&out);
}

/* What the stage says of an edited text. */
static const Diags *asked(Suggester *s, Arena *own, const char *text)
{
    Source *source = arena_new_of(own, Source);
    Diags *diags = diags_new(own, source);

    *source = (Source){"trial", text, strlen(text)};
    s->stage(chain_like(own, s->chain, diags), source, s->fragment);
    return diags;
}

/* Said of the same words elsewhere: one name that is wrong in several places. */
static bool is_sibling(const Suggester *s, const Diag *other)
{
    const Diag *d = s->diag;
    int len = d->span.end - d->span.start;

    return other->code == d->code && other->source == d->source && other->span.end - other->span.start == len &&
           strcmp(other->message, d->message) == 0 &&
           strncmp(s->source->text + other->span.start, s->source->text + d->span.start, (size_t)len) == 0;
}

/* The text with the edit made; where it is of the very words that the diagnostic is said of, made wherever the same is
 * said of them. */
static const char *edited_alike(Suggester *s, Arena *arena, Span span, const char *text)
{
    const Diags *diags = s->chain->diags;
    Str out = str_new(arena);
    int at = 0;

    if (span.start != s->diag->span.start || span.end != s->diag->span.end)
        return edited(arena, s->source, span, text);
    for (;;) { /* the next place behind those that are done */
        const Diag *next = NULL;
        for (int i = 0; i < diags->list.len; i++) {
            const Diag *d = &diags->list.data[i];
            if (d->span.start >= at && (d == s->diag || is_sibling(s, d)) && (!next || d->span.start < next->span.start))
                next = d;
        }
        if (!next || next->span.end <= next->span.start)
            break;
        str_addn(&out, s->source->text + at, (size_t)(next->span.start - at));
        str_add(&out, text);
        at = next->span.end;
    }
    if (at < span.end) /* nothing is said of any words */
        return edited(arena, s->source, span, text);
    str_addn(&out, s->source->text + at, s->source->len - (size_t)at);
    return str_text(&out);
}

/* What gives something else where the program does is no better: seen sooner than by the stage, so it is no try. */
static bool may_agree(const Suggester *s, const char *text)
{
    Source source = {s->source->path, text, strlen(text)};

    if (s->witness)
        return witness_agrees(s->witness, &source);
    return !s->strict || !s->tried || s->stage != s->agrees || witness_agrees(s->tried, &source);
}

/* What a try was made in, unless others are compared with what it showed. */
static void done_with(Suggester *s, Arena *own)
{
    if (own != s->kept)
        arena_free(own);
}

static void drop_kept(Suggester *s)
{
    if (s->kept)
        arena_free(s->kept);
}

bool suggest_helps(Suggester *s, Span span, const char *text)
{
    Arena *own;
    const char *whole;
    bool good;

    if (s->tries <= 0 || span.start < 0 || span.end < span.start || (size_t)span.end > s->source->len || spared_place(s, span))
        return false;
    own = arena_new(arena_heap(s->chain->arena));
    whole = edited_alike(s, own, span, text);
    good = may_agree(s, whole) && s->tries-- > 0 && helps(s, own, whole);
    done_with(s, own);
    return good;
}

/* An edit by a rule within what was put at a place, of something that was not said before. */
static const Fix *rule_within(const Suggester *s, const Diags *after, Span put)
{
    for (int i = 0; i < after->list.len; i++) {
        const Diag *d = &after->list.data[i];

        if (d->fix.text && diag_mend(d->code)->sure && d->fix.span.start >= put.start && d->fix.span.end <= put.end && !count_like(s->chain->diags, d))
            return &d->fix;
    }
    return NULL;
}

/* The text of an edit with what rules say of it, as that a place in it does not follow its tile. */
static const char *ruled(Suggester *s, Span span, const char *text)
{
    Arena *own = arena_new(arena_heap(s->chain->arena));
    Span put = {span.start, span.start + (int)strlen(text)};
    const Fix *fix = s->tries > 0 ? rule_within(s, asked(s, own, edited(own, s->source, span, text)), put) : NULL;
    const char *changed = text;

    if (fix)
        changed = arena_printf(s->arena, "%.*s%s%s", fix->span.start - put.start, text, fix->text, text + (fix->span.end - put.start));
    arena_free(own);
    return fix && suggest_helps(s, span, changed) ? changed : text;
}

bool suggest_edit(Suggester *s, Span span, const char *text, const char *label)
{
    bool good = suggest_helps(s, span, text);

    s->alone |= good && s->whole;
    if (good && s->left)
        text = ruled(s, span, text);
    if (good)
        diag_fix(s->chain->diags, s->diag, span, text, label);
    return good;
}

bool suggest_setting(Suggester *s, const char *drop, const char *set, const char *label)
{
    Arena *own;
    bool good;

    if (s->tries-- <= 0)
        return false;
    own = arena_new(arena_heap(s->chain->arena));
    s->drop = drop;
    s->set = set;
    good = helps(s, own, s->source->text);
    s->drop = s->set = NULL;
    arena_free(own);
    if (good)
        diag_option(s->chain->diags, s->diag, drop, set, label);
    return good;
}

/* ---- several edits ------------------------------------------------------------------------- */

int suggest_line_start(const Suggester *s, int offset)
{
    while (offset > 0 && s->source->text[offset - 1] != '\n')
        offset--;
    return offset;
}

int suggest_line_end(const Suggester *s, int offset)
{
    while ((size_t)offset < s->source->len && s->source->text[offset] != '\n')
        offset++;
    return offset;
}

/* At the start of a line that is this one. */
static int line_end(const Suggester *s, int offset)
{
    return offset > 0 && s->source->text[offset - 1] == '\n' ? offset : suggest_line_end(s, offset);
}

bool suggest_edits(Suggester *s, const Fix *edits, int n, const char *label)
{
    Span whole = {suggest_line_start(s, edits[0].span.start), line_end(s, edits[n - 1].span.end)};
    Str text = str_new(s->arena);
    int at = whole.start;

    for (int i = 0; i < n; i++) {
        if (edits[i].span.start < at)
            return false;
        str_addn(&text, s->source->text + at, (size_t)(edits[i].span.start - at));
        str_add(&text, edits[i].text);
        at = edits[i].span.end;
    }
    str_addn(&text, s->source->text + at, (size_t)(whole.end - at));
    return suggest_edit(s, whole, str_text(&text), label);
}

/* ---- names ------------------------------------------------------------------------------------- */

bool suggest_among(const char *name, const char *words)
{
    char word[32];

    for (size_t n; *words; words += n + (words[n] == ' ')) {
        n = strcspn(words, " ");
        snprintf(word, sizeof word, "%.*s", (int)n, words);
        if (op_same_letters(name, word))
            return true;
    }
    return false;
}

int suggest_alike(const char *a, const char *b)
{
    int n = 0;

    while (a[n] && a[n] == b[n])
        n++;
    return n;
}

/* ---- statements ------------------------------------------------------------------------------- */

Stmt *suggest_like(Suggester *s, const Stmt *stmt)
{
    Stmt *like = arena_new_of(s->arena, Stmt);

    *like = *stmt;
    like->comment = NULL;
    like->gap = false;
    return like;
}

const char *suggest_text(Suggester *s, const Stmt *stmt)
{
    Str text = str_new(s->arena);

    lang_print_stmt(&text, stmt, 0);
    while (text.len && text.data[text.len - 1] == '\n')
        text.data[--text.len] = '\0';
    return str_text(&text);
}

bool suggest_stmt(Suggester *s, const Stmt *old, Stmt *changed, const char *label)
{
    return suggest_edit(s, old->span, suggest_text(s, changed), label);
}

static bool is_blank(const Suggester *s, int from, int to)
{
    for (int i = from; i < to; i++)
        if (s->source->text[i] != ' ' && s->source->text[i] != '\t' && s->source->text[i] != '\r')
            return false;
    return true;
}

Span suggest_line(const Suggester *s, Span span)
{
    int start = suggest_line_start(s, span.start), end = line_end(s, span.end);

    if (!is_blank(s, start, span.start) || !is_blank(s, span.end, end))
        return span;
    return (Span){start, (size_t)end < s->source->len ? end + 1 : end};
}

const char *suggest_quoted(const Suggester *s, Span span)
{
    return arena_strndup(s->arena, s->source->text + span.start, (size_t)(span.end - span.start));
}

const char *suggest_indent(const Suggester *s, int offset)
{
    int start = suggest_line_start(s, offset), end = start;

    while (s->source->text[end] == ' ' || s->source->text[end] == '\t')
        end++;
    return arena_strndup(s->arena, s->source->text + start, (size_t)(end - start));
}

Span suggest_before(const Suggester *s, const Stmt *stmt)
{
    int start = suggest_line_start(s, stmt->span.start);

    return (Span){start, start};
}

const Coord *suggest_coordinate(const Suggester *s)
{
    for (int i = 0; s->stmt && s->stmt->kind == STMT_COPY && i < s->stmt->n_coords; i++) {
        const Expr *value = s->stmt->coords[i].value;

        if (value && value->span.start <= s->diag->span.start && s->diag->span.end <= value->span.end)
            return &s->stmt->coords[i];
    }
    return NULL;
}

void suggest_each(const Block *block, void (*f)(void *user, const Stmt *s), void *user)
{
    for (int i = 0; i < block->len; i++) {
        f(user, block->data[i]);
        suggest_each(&block->data[i]->body, f, user);
        suggest_each(&block->data[i]->orelse, f, user);
    }
}

static int skip_blank_lines(const Suggester *s, int at)
{
    while ((size_t)at < s->source->len && strchr(" \t\r\n", s->source->text[at]))
        at++;
    return at;
}

int suggest_end(const Suggester *s, const Stmt *stmt)
{
    const Block *block = stmt->orelse.len ? &stmt->orelse : &stmt->body;
    const Stmt *last = block->len ? block->data[block->len - 1] : NULL;
    int at = last ? last->span.end : stmt->span.end;

    if (last && (last->kind == STMT_FOR || last->kind == STMT_IF))
        at = suggest_end(s, last);
    if (at < 0)
        return -1;
    at = skip_blank_lines(s, at);
    if (strncmp(s->source->text + at, "end", 3) != 0)
        return -1;
    return suggest_line_end(s, at);
}

/* ---- where a diagnostic lies ------------------------------------------------------------------- */

/* A block's statements come after its header, in order. */
static void descend(Suggester *s, const Block *block, int offset)
{
    const Stmt *found = NULL;

    for (int i = 0; i < block->len; i++)
        if (block->data[i]->span.start <= offset)
            found = block->data[i];
    if (!found || s->depth >= SUGGEST_MAX_DEPTH)
        return;
    s->path[s->depth++] = found;
    if (offset < found->span.end)
        return;
    if (found->orelse.len && found->orelse.data[0]->span.start <= offset)
        descend(s, &found->orelse, offset);
    else
        descend(s, &found->body, offset);
}

static void locate(Suggester *s)
{
    int offset = s->diag->span.start;

    s->unit = NULL;
    s->stmt = NULL;
    s->depth = 0;
    for (int i = 0; s->program && i < s->program->units.len; i++)
        if (s->program->units.data[i]->span.start <= offset)
            s->unit = s->program->units.data[i];
    if (s->unit)
        descend(s, &s->unit->body, offset);
    if (s->depth && offset < s->path[s->depth - 1]->span.end)
        s->stmt = s->path[s->depth - 1];
}

/* ---- entry -------------------------------------------------------------------------------------- */

static bool suggest_one(Suggester *s)
{
    const Row *rows = s->program ? TABLE : TILES;
    size_t n = s->program ? TW_COUNT(TABLE) : TW_COUNT(TILES);

    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < TW_COUNT(rows[i].proposals) && rows[i].code == s->diag->code && rows[i].proposals[k]; k++)
            if (rows[i].proposals[k](s))
                return true;
    return false;
}

/* Whether there is an edit, by a rule, that the stage finds better: one that is not is forgotten. */
static bool holds(Suggester *s, Fix fix)
{
    s->diag->fix = (Fix){0};
    return fix.text && suggest_edit(s, fix.span, fix.text, fix.label);
}

/* Whether something else is said of the line as well. */
static bool says_more_of_line(const Suggester *s)
{
    const Diags *diags = s->chain->diags;
    bool more = false;

    for (int i = 0; i < diags->list.len; i++)
        more |= diags->list.data[i].span.start > s->diag->span.start && suggest_line_start(s, diags->list.data[i].span.start) == suggest_line_start(s, s->diag->span.start);
    return more;
}

static bool is_of_tiles(DiagCode code)
{
    return code == TW0414 || code == TW0415 || code == TW0453;
}

/* Another tile may have been meant, or one that is to be made. */
static bool is_of_a_tile(DiagCode code)
{
    return code == TW0322 || code == TW0323 || code == TW0402 || code == TW0413 || code == TW0440;
}

/* Said where a statement is missing, or another in its place. */
static bool is_of_a_step(DiagCode code)
{
    return code == TW0440 || code == TW0421 || code == TW0442 || code == TW0446 || code == TW0733;
}

/* A stage that does not hold what is read, a tile outside of its tensor, what no read finds. */
static bool is_of_a_ring(DiagCode code)
{
    return code == TW0730 || code == TW0412 || code == TW0442;
}

/* A Copy that writes what is read, or reads what nothing has written. */
static bool is_of_a_direction(const Suggester *s)
{
    return s->diag->code == TW0236 || s->diag->code == TW0440;
}

/* Of a name that nothing makes: a nearly equal one, or the step that lacks. */
static bool made_or_meant(Suggester *s)
{
    bool found;

    s->strict = true;
    s->tries = 1;
    found = propose_nearest(s);
    s->strict = false;
    return found || propose_maker(s) || propose_made(s);
}

/* What leaves both alike, before what mends the place alone. */
static bool tile_that_agrees(Suggester *s, Fix rule)
{
    bool found;

    if (!s->agrees || s->stage != s->agrees)
        return false;
    if (s->diag->code == TW0401)
        return made_or_meant(s);
    if (!is_of_a_tile(s->diag->code))
        return false;
    s->strict = true;
    s->tries = 1;
    found = holds(s, rule);
    s->strict = false;
    return found || (s->diag->code == TW0440 && (propose_maker(s) || propose_made(s))) || propose_other_tile(s);
}

/* The rule's edit, or another that so many tries find. Returns how many they were. */
static int try_best(Suggester *s, Fix rule, int most)
{
    s->loose = false;
    locate(s);
    s->tries = 1;
    if (s->diag->code == TW0220 && (propose_late_grid(s) || propose_missing_grid(s) || propose_one_axis(s))) /* a name that is nearly the same is that of a size */
        return 1;
    s->tries = TRIES_OF_SIZES;
    if (s->diag->code == TW0220 && propose_missing_size(s)) /* likewise */
        return 1;
    s->tries = 1;
    if (s->diag->code == TW0440 && propose_into_branch(s)) /* before it is set elsewhere, where the branch is not taken */
        return 1;
    if (s->diag->code == TW0440 && propose_sum_of_softmax(s)) /* a sum that is set to 0 before it divides is none */
        return 1;
    if ((s->diag->code == TW0440 || s->diag->code == TW0401) && propose_lost_softmax(s)) /* likewise */
        return 1;
    if (is_of_a_step(s->diag->code) && propose_as_its_twin(s))
        return 1;
    s->tries = TRIES_OF_SPACES;
    if (s->diag->code == TW0442 && propose_instead(s)) /* before stages and coordinates, of which there are many */
        return 1;
    s->tries = 1;
    if (is_of_a_ring(s->diag->code) && propose_shifted(s)) /* before more copies, or a stage of another turn */
        return 1;
    if (s->diag->code == TW0446 && propose_masked_as_defined(s))
        return 1;
    s->tries = TRIES_OF_SIZES;
    if (s->diag->code == TW0440 && propose_defined_tile(s))
        return 1;
    s->tries = TRIES_OF_SPACES;
    if ((s->diag->code == TW0402 && propose_allocated_space(s)) || (is_of_a_direction(s) && propose_exchanged_spaces(s))) /* before a tile more, or another name */
        return 1;
    if (s->diag->code == TW0402 && propose_worked_out(s)) /* by all statements, not by the first alone */
        return 1;
    s->tries = TRIES_OF_AXES;
    if (is_of_tiles(s->diag->code) && propose_exchanged_axes(s)) /* before each place that counts on them */
        return 1;
    s->loose = true; /* the whole kernel rather than a line */
    if ((s->diag->code == TW0106 || s->diag->code == TW0102) && (propose_rows(s) || propose_elements(s))) {
        s->all = s->left == 0;
        return 1;
    }
    s->tries = 2;
    s->loose = s->diag->code == TW0106 && says_more_of_line(s); /* the whole line rather than its first word */
    if (s->diag->code == TW0106 && (propose_form(s) || (s->loose && (propose_moved(s) || propose_some_copy(s)))))
        return 1;
    s->loose = false;
    if (tile_that_agrees(s, rule))
        return 1;
    s->tries = 1;
    if (suggest_wherever_declared(s, rule))
        return 1;
    s->tries = 1;
    if (holds(s, rule))
        return 0;
    s->tries = most;
    if (suggest_one(s) || diag_info(s->diag->code)->severity != SEV_ERROR)
        return most - s->tries;
    s->loose = true;
    s->tries = s->tries < 4 ? 4 : s->tries;
    if ((s->diag->code != TW0106 || !propose_form(s)) && !holds(s, rule))
        suggest_one(s);
    return most;
}

/* Where executing it says whether the right step is suggested; of other mistakes there may be a second one. */
static bool is_told_by_numbers(const Suggester *s)
{
    DiagCode code = s->diag->code;

    return s->chain->diags->list.len == 1 && (code == TW0442 || code == TW0445 || code == TW0448 || code == TW0323);
}

/* One behind which the program is executed and agrees with its definition; else one that leaves fewer complaints,
 * since there may be a second mistake. */
static int suggest_best(Suggester *s, int most)
{
    Fix rule = s->diag->fix;
    SuggestStage *stage = s->stage;
    int tries = 0;

    s->differed = false;
    if (s->agrees) {
        s->stage = s->agrees;
        tries = try_best(s, rule, most);
        s->stage = stage;
    }
    if (s->agrees && (s->diag->fix.text || (s->differed && is_told_by_numbers(s))))
        return tries;
    return tries + try_best(s, rule, most);
}

/* One edit mends both, or none is to be made of each. */
static bool says_again(const Suggester *s, const Diag *before)
{
    const Fix *fix = &s->diag->fix, *other = &before->fix;

    if (fix->text && other->text)
        if (is_of_words(before) && is_of_words(s->diag) && other->span.start <= s->diag->span.start && other->span.end >= s->diag->span.end && *other->text)
            return true; /* the line is another then */
    if (fix->text && other->text)
        return (s->diag->code == before->code || fix->span.end > fix->span.start) && fix->span.start == other->span.start &&
               fix->span.end == other->span.end && strcmp(fix->text, other->text) == 0;
    if (s->diag->code == TW0434 && before->code == TW0434 && !fix->text && other->text) /* the types of all */
        return other->span.start <= s->diag->span.start && other->span.end >= s->diag->span.end;
    return !fix->text && !other->text && is_sibling(s, before);
}

/* What was said of a sketch as of code is said of its Grid alone. */
static void drop_others(Suggester *s)
{
    Diags *diags = s->chain->diags;

    diags->list.data[0] = *s->diag;
    diags->list.len = diags->errors = 1;
}

/* What is wrong in one place and shows in several is said once. */
static void drop_repeats(Suggester *s)
{
    Diags *diags = s->chain->diags;
    int kept = 0;

    for (int i = 0; i < diags->list.len; i++) {
        bool again = false;
        s->diag = &diags->list.data[i];
        for (int k = 0; k < kept && s->diag->source == s->source; k++)
            again |= says_again(s, &diags->list.data[k]);
        if (!again)
            diags->list.data[kept++] = *s->diag;
    }
    diags->list.len = kept;
}

static bool same_fix(const Diag *a, const Diag *b)
{
    return a->fix.text && b->fix.text && a->fix.span.start == b->fix.span.start && a->fix.span.end == b->fix.span.end && strcmp(a->fix.text, b->fix.text) == 0;
}

/* Warnings that the edit of the one of this code does away with as well came of the same mistake; what has that edit itself
 * says it better. */
static void drop_mended(Suggester *s, DiagCode code)
{
    Diags *diags = s->chain->diags;
    Arena *own = arena_new(arena_heap(s->chain->arena));
    const Diags *after = NULL;
    Diag of = {0};
    int kept = 0;

    for (int i = 0; i < diags->list.len && !after; i++) {
        of = diags->list.data[i];
        if (of.code == code && of.source == s->source && of.fix.text)
            after = asked(s, own, edited(own, s->source, of.fix.span, of.fix.text));
    }
    for (int i = 0; i < diags->list.len && after; i++) {
        const Diag *d = &diags->list.data[i];
        if (d->code == code || d->source != s->source || same_fix(d, &of) || count_like(after, d))
            diags->list.data[kept++] = *d;
    }
    if (after)
        diags->list.len = kept;
    arena_free(own);
}

static int suggest_best_setting(Suggester *s, int most)
{
    s->loose = s->diag->code == TW0605;
    s->tries = most;
    for (size_t i = 0; i < TW_COUNT(SETTINGS); i++)
        for (size_t k = 0; k < TW_COUNT(SETTINGS[i].proposals) && SETTINGS[i].code == s->diag->code && SETTINGS[i].proposals[k]; k++)
            if (SETTINGS[i].proposals[k](s))
                return most - s->tries;
    return most - s->tries;
}

/* What is too long is read again as far as it is not, and then as it is in fewer words. */
static void shorten(Suggester *s)
{
    for (int i = 0; i < s->chain->diags->list.len; i++) {
        s->diag = &s->chain->diags->list.data[i];
        if (s->diag->code == TW0108 && s->diag->source == s->source && s->source->len <= LONGEST_OF_ALL) {
            suggest_best(s, TRIES_OF_LONG);
            return;
        }
    }
}

/* One edit leaves nothing to say of a program that agrees with its definition: what else is said came of the same mistake, the
 * same of other places need not be said, and no edit is made for the rest. */
static void drop_other_edits(Suggester *s)
{
    Diags *diags = s->chain->diags;
    const Diag *mended = s->diag;
    DiagCode code = mended->code;
    int kept = 0;

    for (int i = 0; i < diags->list.len; i++) {
        Diag d = diags->list.data[i];
        bool other = &diags->list.data[i] != mended && d.source == s->source;

        if (other)
            d.fix = (Fix){0};
        if (!other || d.code != code)
            diags->list.data[kept++] = d;
    }
    diags->list.len = kept;
}

bool suggest_all(Chain *chain, const Source *source, const Program *program, SuggestStage *stage, SuggestStage *agrees, bool fragment)
{
    Suggester s = {.chain = chain, .arena = chain->arena, .source = source, .program = program, .stage = stage,
                   .agrees = agrees, .fragment = fragment};
    bool tiles = !program; /* their text is soon read, and says less of what was meant */
    int left = tiles ? TRIES_OF_TILES : TRIES_FOR_ALL, for_one = tiles ? TRIES_OF_TILES : TRIES_FOR_ONE, text = tiles ? TRIED_TILES : TRIED_TEXT;

    if (chain->edits && source->len > LONGEST_SOURCE)
        shorten(&s);
    if (!chain->edits || source->len > LONGEST_SOURCE || chain->diags->full)
        return false;
    if ((int64_t)source->len * left > text) /* each try reads all of it */
        left = text / (int)source->len;
    for (int i = 0; i < chain->diags->list.len && left > 0; i++) {
        int most = left < for_one ? left : for_one;

        s.diag = &chain->diags->list.data[i];
        if (s.diag->source == source)
            left -= suggest_best(&s, most);
        if (s.all || (tiles && s.diag->fix.text && s.left == 0)) { /* the others came of it */
            drop_others(&s);
            drop_kept(&s);
            return false;
        }
        if (s.alone && s.diag->fix.text) {
            drop_other_edits(&s);
            drop_repeats(&s);
            drop_kept(&s);
            return true;
        }
        s.alone = false;
        if (!s.diag->fix.text)
            left -= suggest_best_setting(&s, most);
    }
    drop_repeats(&s);
    drop_kept(&s);
    return false;
}

void suggest_of(Chain *chain, const Source *source, const Program *program, SuggestStage *stage, DiagCode code, Witness *witness)
{
    Suggester s = {.chain = chain, .arena = chain->arena, .source = source, .program = program, .stage = stage, .witness = witness, .strict = true};

    for (int i = 0; chain->edits && source->len <= LONGEST_SOURCE && i < chain->diags->list.len; i++) {
        s.diag = &chain->diags->list.data[i];
        if (s.diag->code != code || s.diag->source != source)
            continue;
        s.spares = true;
        suggest_best(&s, TRIES_FOR_ALL);
        s.spares = false;
        if (!s.diag->fix.text && s.spared)
            suggest_best(&s, TRIES_FOR_ALL);
    }
    if (chain->edits) {
        drop_mended(&s, code);
        drop_repeats(&s);
    }
}
