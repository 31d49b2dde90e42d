/* ptx.h: what the files that turn PTX text into decoded code share.
 *
 *   ptx_lex.c     characters: spaces, comments, words, numbers
 *   ptx_names.c   registers, variables and labels, by scope
 *   ptx_parse.c   directives and statements; fills a Stmt an instruction
 *   ptx_variables.c, ptx_call.c  what a module has beside entries
 *   ptx_decode.c  a Stmt becomes an Inst: finds the row of opcodes.def, then
 *                 decode_*.c check modifiers and operands, a family a function
 */
#ifndef TW_EMU_PTX_H
#define TW_EMU_PTX_H

#include "emu/machine.h"

enum { MAX_MODS = 20, MAX_ARGS = 12, MAX_ITEMS = 144, MAX_SCOPES = 64 };

typedef enum SymbolKind { SYM_REGISTER, SYM_RANGE, SYM_SHARED, SYM_DYNAMIC, SYM_LOCAL, SYM_PARAM, SYM_VARIABLE } SymbolKind;

typedef struct Symbol {
    SymbolKind kind;
    const char *name;
    EmuType type;
    int slot;         /* SYM_REGISTER; SYM_VARIABLE: of the module, from 1 */
    int32_t *slots;   /* SYM_RANGE: a slot a number, 0: not used yet */
    int count;
    int64_t offset;   /* variables and parameters */
    int shadowed;     /* the symbol that this one hides, -1: none */
} Symbol;

/* A branch whose target is found when the body has ended. */
typedef struct Fixup {
    int inst;
    int *to;    /* where else than in inst the target is wanted; NULL */
    int scope;
    const char *name;
    Span span;
} Fixup;

/* A function of the module, whose text is read anew at every call (ptx_call.c). */
typedef struct Function {
    const char *name;
    const char *at; /* behind ".func" */
    int line;
} Function;

/* The call that is being read: where ret goes. */
typedef struct Call {
    const struct Call *outer;
    const char *name, *end;
    int scope;
} Call;

/* A list of .branchtargets. */
typedef struct TargetList {
    const char *key;
    BranchTargets *targets;
} TargetList;

/* Interned name to index. */
typedef struct NameMap {
    const char **names;
    int *values;
    int count, cap;
} NameMap;

/* Constants of an entry, by value. */
typedef struct ConstMap {
    int *index; /* + 1; 0: free */
    int cap;
} ConstMap;

typedef struct Parser {
    Arena *arena;
    Diags *diags;
    const Source *source;
    Syms *syms;
    const char *at, *end;
    int line;
    EmuModule *module;
    bool version_seen;
    int module_shared, dynamic_align; /* bytes */

    Entry *entry; /* the one being parsed */
    VEC(Symbol) symbols;
    NameMap names, labels; /* labels: to their place in the code */
    int scopes[MAX_SCOPES]; /* symbols.len where each open scope began */
    int scope_ids[MAX_SCOPES];
    int depth;
    VEC(int) scope_parent; /* by scope id */
    VEC(Fixup) fixups;
    VEC(TargetList) target_lists;
    const char *last_label;
    VEC(Function) functions;
    const Call *call; /* NULL: none */
    int calls;        /* so far in this entry */
    int carry_slot;   /* 0: none yet */
    ConstMap constants;
    int registers; /* declared so far */
    int shared_width, global_width; /* narrowest access */
    NameMap opcodes;   /* opcode to row of the family table */
    NameMap alu;       /* name to first row of emu_alu_rows */
    NameMap types;
    NameMap specials;
} Parser;

typedef enum ArgKind {
    ARG_REGISTER, ARG_INT, ARG_FLOAT, ARG_SYMBOL, ARG_LABEL, ARG_SPECIAL, ARG_CLOCK, ARG_VECTOR, ARG_ADDRESS,
    ARG_PAIR, ARG_SINK
} ArgKind;

typedef struct Arg {
    ArgKind kind;
    bool negated; /* !%p */
    Span span;
    int slot;          /* ARG_REGISTER */
    uint64_t bits;     /* ARG_INT; ARG_FLOAT: of a double; ARG_SPECIAL: which */
    const Symbol *symbol;
    const char *name;  /* ARG_LABEL, ARG_CLOCK */
    int first, count;  /* ARG_VECTOR, ARG_ADDRESS, ARG_PAIR: in Stmt.items; an
                        * address has one item, or two: [base, {coordinates}] */
    int64_t offset;    /* ARG_ADDRESS */
} Arg;

typedef struct Stmt {
    Span span;   /* of the opcode with its modifiers */
    int line;
    const char *opcode;
    const char *mods[MAX_MODS];
    int mod_count;
    uint32_t used; /* modifiers that the decoder has understood */
    bool guarded, guard_not;
    int guard_slot;
    int argc;
    Arg args[MAX_ARGS];
    int item_count;
    Arg items[MAX_ITEMS]; /* not cleared: those in use are */
} Stmt;

/* ---- ptx_lex.c ---- */
int emu_ptx_peek(Parser *p);                /* the next character after white space; 0: the end */
bool emu_ptx_accept(Parser *p, char c);
bool emu_ptx_expect(Parser *p, char c);     /* diagnoses */
Span emu_ptx_span(const Parser *p, const char *from);
Span emu_ptx_here(const Parser *p);
Span emu_ptx_word(Parser *p);               /* letters, digits, _ $ % ; empty when there is none */
Span emu_ptx_dotted(Parser *p);             /* the same with dots and :: */
const char *emu_ptx_text(Parser *p, Span span); /* interned */
bool emu_ptx_int(Parser *p, int64_t *value); /* an optional sign, then an integer */
bool emu_ptx_number(Parser *p, Arg *arg);
void emu_ptx_skip_line(Parser *p);
void emu_ptx_skip_statement(Parser *p);     /* past the next ';', or up to a brace */
void emu_ptx_skip_string(Parser *p);

/* ---- ptx_names.c ---- */
int emu_names_get(const NameMap *map, const char *name); /* -1: none */
void emu_names_put(Arena *arena, NameMap *map, const char *name, int value);
void emu_ptx_scope_open(Parser *p);
void emu_ptx_scope_close(Parser *p);
Symbol *emu_ptx_declare(Parser *p, Span span, SymbolKind kind, const char *name);
const Symbol *emu_ptx_lookup(Parser *p, const char *name);
/* The slot of a register named so, -1 when none is declared. */
int emu_ptx_register(Parser *p, const char *name);
int emu_ptx_new_slot(Parser *p, const char *name, EmuType type);
void emu_ptx_label(Parser *p, Span span);
void emu_ptx_label_named(Parser *p, Span span, const char *name);
void emu_ptx_resolve_labels(Parser *p);
/* A list of .branchtargets under the label just read, and the list of a label. */
void emu_ptx_target_list(Parser *p, const char *const *names, const Span *spans, int count);
const BranchTargets *emu_ptx_targets(Parser *p, const char *name);
Place emu_ptx_place(const Parser *p, int slot);
Place emu_ptx_constant(Parser *p, uint64_t value, bool wide);
Place emu_ptx_variable(Parser *p, int variable, uint64_t offset); /* the address of a module's variable */
Place emu_ptx_carry(Parser *p); /* of add.cc … */
Place emu_ptx_special(Parser *p, Special special);
Place emu_ptx_dynamic_base(Parser *p, bool wide); /* where dynamic shared memory starts */

/* ---- ptx_parse.c ---- */
/* What a declaration of a variable or a parameter says. */
typedef struct Variable {
    Span span;
    const char *name;
    int64_t bytes, align;
    EmuType type;
    bool open; /* name[] */
} Variable;
bool emu_ptx_is(Parser *p, Span word, const char *text);
bool emu_ptx_declaration(Parser *p, Variable *v, int64_t limit);
/* Puts a variable into local memory; NULL: there is no room. */
Symbol *emu_ptx_local(Parser *p, const Variable *v);
void emu_ptx_body(Parser *p); /* behind "{" */
void emu_ptx_skip_definition(Parser *p);

/* ---- ptx_variables.c ---- */
void emu_ptx_module_variable(Parser *p, bool constant, bool external);

/* ---- ptx_call.c ---- */
void emu_ptx_find_functions(Parser *p);
bool emu_ptx_is_function(Parser *p, const char *name);
void emu_ptx_call(Parser *p, Stmt *s);

/* ---- ptx_decode.c ---- */
void emu_ptx_decode_setup(Parser *p);
void emu_ptx_decode(Parser *p, Stmt *s);

/* What a decoder works on: operands are gathered, then emu_ptx_emit makes the Inst. */
typedef struct Decoding {
    Parser *p;
    Stmt *s;
    Place op[MAX_OPERANDS];
    int nd, ns;
    bool bad;
    uint8_t cls;
} Decoding;

bool emu_mod(Decoding *d, const char *name);             /* present? then it is used */
bool emu_mod_one_of(Decoding *d, const char *const *names, int count, int *which);
void emu_mod_unknown(Decoding *d, const char *name);     /* present? then it is refused, whatever the operands */
EmuType emu_need_type(Decoding *d);
Space emu_mod_space(Decoding *d);                        /* .global, .shared …; generic where there is none */
void emu_mod_ignore_hints(Decoding *d);                  /* cache hints of loads and stores */
void emu_bad_operands(Decoding *d, const char *why);
bool emu_need_args(Decoding *d, int least, int most);
/* Operands of a type; exact: the register's size must be the type's. */
void emu_dst(Decoding *d, const Arg *arg, EmuType type);
void emu_dst_wide(Decoding *d, const Arg *arg, EmuType type); /* register may be wider */
void emu_src(Decoding *d, const Arg *arg, EmuType type);
void emu_src_wide(Decoding *d, const Arg *arg, EmuType type);
void emu_src_pred(Decoding *d, const Arg *arg);
void emu_src_condition(Decoding *d, const Arg *arg); /* a predicate, or 0 or 1 for all lanes */
void emu_dst_items(Decoding *d, const Arg *arg, EmuType type, int count);
void emu_src_items(Decoding *d, const Arg *arg, EmuType type, int count);
/* [base + offset]: adds the base (4 or 8 bytes) and returns the offset. */
int64_t emu_src_address(Decoding *d, const Arg *arg, bool *wide);
const Arg *emu_item(const Decoding *d, const Arg *arg, int k);
void emu_narrowest(Decoding *d, Space space, int bytes);
Inst *emu_ptx_emit(Decoding *d, Exec exec);              /* NULL when something was wrong */

/* mma of integers, bits or doubles, whose types have been taken; false: it is none. */
bool emu_decode_mma_exact(Decoding *d, EmuType a, EmuType b, EmuType to);
void emu_decode_bulk(Decoding *d); /* cp.async.bulk */
#define FAMILY(name, cls) void emu_decode_##name(Decoding *d);
#include "emu/families.def"
#undef FAMILY

#endif
