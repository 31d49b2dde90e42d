/* proposal.h: one edit for one diagnostic, tried before it is suggested (for this folder only). */
#ifndef TW_SUGGEST_PROPOSAL_H
#define TW_SUGGEST_PROPOSAL_H

#include "suggest/suggest.h"

enum { SUGGEST_MAX_DEPTH = 64 };

typedef struct Spared Spared; /* spared.c */

typedef struct Suggester {
    Chain *chain;
    Arena *arena;
    const Source *source;
    const Program *program;
    SuggestStage *stage;
    SuggestStage *agrees; /* the stage, which also executes what is right so far; NULL: there is nothing to compare with */
    bool fragment;
    Diag *diag;
    Witness *witness; /* where Kernels give something else than their definition, about which the diagnostic is; NULL: it is not */
    Witness *tried;   /* of an edit that was executed and did not agree: others are sooner seen not to where it did not, ... */
    Arena *kept;      /* ... with all that it stands on; NULL: there is none yet */
    bool spares;           /* what outputs show to be right is not changed, ... */
    const Spared *spared;  /* ... which is this; NULL: it was not looked for yet */
    bool strict;      /* only what was executed, and agrees, is suggested */
    int tries;
    int left; /* diagnostics, with the last edit that was tried */
    const char *drop, *set; /* of settings, while one is tried */
    const char *asked;      /* what messages then ask for, as "K=64 N=64"; NULL: nothing */
    bool whole; /* with the last edit that was tried nothing is said, and the program agrees with its definition, ... */
    bool alone; /* ... as with one that is suggested */
    bool all;   /* the edit is of what the whole unit was taken for: nothing else need be said */
    bool differed; /* with some edit nothing else is said than that the program gives something else than its definition */
    bool loose; /* what could not be said before may be left: of room, or behind a statement that was not understood */
    /* where the diagnostic lies */
    const Unit *unit;                    /* NULL: in none */
    const Stmt *path[SUGGEST_MAX_DEPTH]; /* the statements round it, the innermost last */
    int depth;
    const Stmt *stmt; /* the innermost; NULL: none */
} Suggester;

/* Tries edits; true when they were suggested. Only when `edits` is on. */
typedef bool Proposal(Suggester *s);

bool suggest_edit(Suggester *s, Span span, const char *text, const char *label);
bool suggest_helps(Suggester *s, Span span, const char *text); /* whether an edit would be suggested */
/* Several edits as one, in order of their places. */
bool suggest_edits(Suggester *s, const Fix *edits, int n, const char *label);
/* Settings of the command line, as "K=64 N=64", in place of one; NULL: none. */
bool suggest_setting(Suggester *s, const char *drop, const char *set, const char *label);
/* What diagnostics ask for by `--set`, each once, but for what the text has. NULL: nothing. */
const char *suggest_asked(Suggester *s, const Diags *diags, const char *but);
/* Another statement instead of one; `changed` is printed in canonical form. */
bool suggest_stmt(Suggester *s, const Stmt *old, Stmt *changed, const char *label);
Stmt *suggest_like(Suggester *s, const Stmt *stmt); /* a copy to change */
const char *suggest_text(Suggester *s, const Stmt *stmt);
/* The statement's whole line where nothing else stands in it. */
Span suggest_line(const Suggester *s, Span span);
const char *suggest_words(Suggester *s, const char *text, const char *from, const char *to); /* words that are `from`, as `to` */
bool suggest_among(const char *name, const char *words); /* whether it is one of the words, which spaces part */
int suggest_alike(const char *a, const char *b); /* letters that two names begin with */
int suggest_line_start(const Suggester *s, int offset);
int suggest_line_end(const Suggester *s, int offset); /* where its line stops */
const char *suggest_quoted(const Suggester *s, Span span); /* what the source has there */
const char *suggest_indent(const Suggester *s, int offset); /* blanks before a statement */
/* Of a Copy, the coordinate in whose value the diagnostic lies; NULL: in none. */
const Coord *suggest_coordinate(const Suggester *s);
Span suggest_before(const Suggester *s, const Stmt *stmt);  /* the start of its line */

/* Where the `end` of a loop or condition stops; -1: it has none. */
int suggest_end(const Suggester *s, const Stmt *stmt);

/* For suggest_each: the last product before a place that a name is the result of. */
typedef struct Maker {
    const char *name;
    int before; /* offset in the source */
    const Stmt *last; /* NULL: none */
} Maker;
void suggest_maker(void *maker, const Stmt *s);

/* Whether outputs that are right show a Kernel, or all statements within a place, to be so (spared.c). */
bool spared_unit(Suggester *s, const Unit *unit);
bool spared_place(Suggester *s, Span span);

/* Calls f for each statement of the unit, those of blocks within included. */
void suggest_each(const Block *block, void (*f)(void *user, const Stmt *s), void *user);

/* propose_names.c */
Proposal propose_declared, propose_nearest, propose_function, propose_other_name, propose_dimension, propose_output, propose_result,
    propose_position, propose_not_new, propose_index, propose_letters, propose_cast, propose_declared_alike, propose_own_name, propose_number, propose_unused, propose_defined, propose_renamed_kernel, propose_moved_define, propose_not_dimension, propose_own_output, propose_launch_number;
/* propose_stmts.c */
Proposal propose_removal, propose_unconditional, propose_masked, propose_whole_tiles, propose_fill_before, propose_tidying, propose_line_removal, propose_operand_of_clause, propose_type_behind, propose_reduction, propose_other_axis, propose_get, propose_condition,
    propose_fewer_clauses, propose_named_result, propose_multiply, propose_no_line, propose_no_lines, propose_scheduled, propose_fewer_operands, propose_untransposed, propose_reshaped,
    propose_other_transposes, propose_turned_product, propose_exchanged_maker, propose_split_operand, propose_behind_the_loop, propose_last_store, propose_other_place, propose_cut_in_grid, propose_whole_division,
    propose_coordinates_of_element, propose_without_space, propose_compared, propose_before_the_loop, propose_place, propose_bracket, propose_divided_behind, propose_summed_mean, propose_in_each_turn;
/* propose_memory.c */
Proposal propose_copy, propose_store, propose_store_of_another, propose_return, propose_coordinates, propose_shared, propose_copy_to_shared, propose_registers, propose_sizes, propose_size_number, propose_column, propose_turned,
    propose_reshape, propose_follow, propose_type, propose_loop_bounds, propose_grid, propose_rank,
    propose_part, propose_group, propose_first, propose_space, propose_allocation, propose_turned_sizes, propose_wider_grid, propose_exchanged_sizes, propose_destination, propose_computed_first, propose_laid_otherwise, propose_copy_of_each, propose_loose, propose_define_shape, propose_to_output, propose_renamed_tile, propose_other_sum;
/* propose_widened.c */
Proposal propose_widened;
/* propose_foreign.c */
Proposal propose_form, propose_target, propose_brace, propose_unnamed, propose_end, propose_type_word, propose_times, propose_stage_word;
/* propose_formula.c */
Proposal propose_formula, propose_computed, propose_bound, propose_returned;
/* propose_ops.c */
Proposal propose_compound, propose_nothing, propose_transposed, propose_running_sum, propose_same_operation, propose_halves, propose_gathered, propose_place_of_largest, propose_over_rows;
/* propose_sorted.c */
Proposal propose_sorted;
/* propose_einsum.c */
Proposal propose_einsum;
/* propose_indexed.c */
Proposal propose_indexed, propose_places_of_letters, propose_only_place;
/* propose_notation.c */
Proposal propose_notation;
/* propose_unread.c */
Proposal propose_unread_input, propose_unused_result;
/* propose_shapes.c */
Proposal propose_worked_out;
/* propose_functions.c */
Proposal propose_formula_of_function;
/* propose_tensors.c */
Proposal propose_method, propose_no_axis, propose_places, propose_row, propose_turned_tile, propose_laid_across, propose_exchanged_dims, propose_exchanged_inputs, propose_shape, propose_computed_shape;
/* propose_loops.c */
Proposal propose_no_loop, propose_counted;
/* propose_stages.c */
Proposal propose_stage, propose_copied_stage, propose_all_turns, propose_guard, propose_prologue, propose_ring, propose_own_stage, propose_stage_of_operand;
/* propose_copies.c */
Proposal propose_moved, propose_stored_as, propose_axes, propose_blocks, propose_counter, propose_extents, propose_missing_grid, propose_late_grid, propose_tile_of_range, propose_whole_copy, propose_added, propose_programs, propose_one_axis, propose_sketch_grid, propose_some_copy;
/* propose_stream.c */
Proposal propose_stream;
/* propose_sizes.c */
Proposal propose_smaller, propose_assigned, propose_padded;
/* propose_parts.c */
Proposal propose_parts, propose_entry, propose_otherwise, propose_masked_copy, propose_global_element;
/* propose_values.c */
Proposal propose_param, propose_counted_dimension, propose_tile_size, propose_missing_size, propose_usual, propose_some_size, propose_named_sizes, propose_nonzero, propose_largest, propose_types, propose_own_operation, propose_as_defined,
    propose_grid_dimension, propose_copied_dimension, propose_positions, propose_axis, propose_exchanged_axes, propose_missing_pass, propose_undone_pass, propose_lost_pass, propose_last_tile, propose_flag, propose_declared_positions, propose_operand, propose_counter_name, propose_definition, propose_longer_rows;
/* propose_agree.c */
Proposal propose_agreement, propose_compared_number, propose_turns_of_tiles, propose_more_turns, propose_of_all_turns, propose_of_this_turn, propose_set_in_each_turn;
/* propose_exprs.c */
Proposal propose_exchanged_places, propose_other_condition, propose_whole_counts, propose_likely_exprs, propose_other_exprs;
/* propose_another.c */
Proposal propose_own_state, propose_own_accumulator, propose_summed, propose_own_sum, propose_into_branch;
/* propose_lacking.c */
Proposal propose_taken, propose_made, propose_missing_mask, propose_masked_as_defined, propose_defined_tile, propose_other_column, propose_lacking_op, propose_lacking_at_store, propose_lacking_stmt, propose_exchanged_operands;
/* propose_changed.c */
Proposal propose_else_zero, propose_divide, propose_other_input, propose_other_operation, propose_defined_number, propose_missing_stmt, propose_changed_stmt, propose_other_operand, propose_moved_stmt, propose_one_less, propose_other_beginning;
/* propose_undivided.c */
Proposal propose_undivided;
/* propose_alike.c */
Proposal propose_alike, propose_own_element, propose_same_source;
/* propose_turned.c */
Proposal propose_turned_condition, propose_turned_sides;
/* propose_last_turn.c, propose_guarded.c */
Proposal propose_no_last_turn, propose_other_guard;
/* propose_bounds.c */
Proposal propose_bounds;
/* propose_ones.c */
Proposal propose_ones;
/* propose_by_hand.c */
Proposal propose_by_hand;
/* propose_coords.c */
Proposal propose_lacking_coordinates, propose_lacking_coordinate;
/* propose_made.c, propose_untaken.c */
Proposal propose_other_tile, propose_maker;
/* propose_shifted.c */
Proposal propose_shifted;
/* propose_twin.c */
Proposal propose_twin, propose_as_its_twin;
/* propose_spaces.c */
Proposal propose_exchanged_spaces, propose_allocated_space, propose_same_copies;
/* propose_lost_softmax.c */
Proposal propose_lost_softmax;
/* propose_join.c */
Proposal propose_joined;
/* propose_top.c */
Proposal propose_top;
/* propose_elements.c */
Proposal propose_elements;
/* propose_rows.c */
Proposal propose_rows;
/* propose_pieces.c */
Proposal propose_pieces;
/* propose_unused.c */
Proposal propose_each_turn, propose_divisor, propose_new_operand, propose_both_products, propose_instead;
/* propose_tile.c */
Proposal propose_tile_word, propose_tile_type, propose_tile_yield;
/* propose_tile_change.c */
Proposal propose_tile_declaration, propose_tile_order, propose_tile_result, propose_tile_operand, propose_tile_change;
/* propose_tile_symbol.c */
Proposal propose_tile_symbol, propose_tile_corner, propose_tile_where, propose_tile_own_name, propose_tile_scalar, propose_tile_instances;
/* propose_tile_size.c */
Proposal propose_resized_tiles, propose_tile_warps, propose_tile_stages;
/* propose_tile_type.c */
Proposal propose_tile_dtype, propose_tile_rounding;
/* propose_translation.c */
Proposal propose_wide_operands, propose_own_parts;
/* propose_long.c */
Proposal propose_unread, propose_computed_once, propose_doubled;
/* propose_rolled.c */
Proposal propose_rolled;
/* propose_spread.c */
Proposal propose_spread_columns;
/* propose_dims.c */
Proposal propose_named_size, propose_told_apart, propose_size_of_position;
bool suggest_wherever_declared(Suggester *s, Fix rule); /* an edit of a declaration in the Operator, and of those that repeat it */
/* propose_rounding.c */
Proposal propose_rounding;
/* propose_code.c */
Proposal propose_code;
/* propose_inputs.c */
Proposal propose_declarations;
/* propose_settings.c */
Proposal propose_no_setting, propose_no_parts, propose_near_setting, propose_near_number, propose_no_choice, propose_room, propose_known_sizes;
/* propose_softmax.c */
Proposal propose_rescale, propose_own_rescale, propose_before_the_softmax, propose_quotient, propose_sum_of_softmax, propose_exchanged_state, propose_sum_of_state, propose_state, propose_kept, propose_sum;

#endif
