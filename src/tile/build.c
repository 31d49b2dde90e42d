/* build.c: making, changing and copying tile programs.
 *
 * Everything lives in the program's arena; removing an operation unlinks it and
 * no more. Names are not copied: they live as long as the symbols do.
 */
#include "tile/tile.h"

/* Rows and columns of a tile stay below this, which bounds `row` and `col`. */
enum { ELEMENT_LIMIT = 1 << 20 };

/* ---- tables -------------------------------------------------------------- */

static const struct {
    const char *text;
    TileLevel level;
} OPS[] = {
#define TILE_OP(id, text, level, help) {text, level},
#include "tile/tile_ops.def"
#undef TILE_OP
};

const char *tile_op_text(TileOpKind kind)
{
    return OPS[kind].text;
}

TileLevel tile_op_level(TileOpKind kind)
{
    return OPS[kind].level;
}

/* ---- making -------------------------------------------------------------- */

TileProgram *tile_program_new(Arena *arena, AffCtx *aff, const char *name)
{
    TileProgram *program = arena_new_of(arena, TileProgram);
    program->arena = arena;
    program->aff = aff;
    program->name = name;
    program->row = aff_sym_new(aff, "row", AFF_ROW, 0, ELEMENT_LIMIT - 1);
    program->col = aff_sym_new(aff, "col", AFF_COL, 0, ELEMENT_LIMIT - 1);
    return program;
}

static bool is_dim(const TileProgram *program, const char *name)
{
    for (int i = 0; i < program->dims.len; i++)
        if (strcmp(program->dims.data[i]->name, name) == 0)
            return true;
    return false;
}

void tile_add_dim(TileProgram *program, const AffSym *dim)
{
    AffSym *places[] = {program->row, program->col};

    vec_push(program->arena, &program->dims, dim);
    for (size_t i = 0; i < TW_COUNT(places); i++)
        while (is_dim(program, places[i]->name))
            places[i]->name = arena_printf(program->arena, "%s_", places[i]->name);
}

TileKernel *tile_kernel_new(TileProgram *program, const char *name)
{
    TileKernel *kernel = arena_new_of(program->arena, TileKernel);
    kernel->name = name;
    kernel->warps = 4;
    kernel->warps_n = 1;
    kernel->stages = 1;
    kernel->body = tile_block_new(program);
    vec_push(program->arena, &program->kernels, kernel);
    return kernel;
}

TileBlock *tile_block_new(TileProgram *program)
{
    return arena_new_of(program->arena, TileBlock);
}

/* ---- elements of tensors in expressions ------------------------------------------- */

bool tile_is_table(const TileTensor *tensor)
{
    return !dtype_is_float(tensor->dtype) && (!tensor->written || tensor->holds_places) && tensor->rank > 0;
}

/* Elements of a table: of so many bits that fp64 holds their differences, and 0 outside of the tensor. */
static AffSym *table_symbol(TileProgram *program, const TileTensor *t)
{
    if (t->holds_places) return aff_sym_new(program->aff, t->name, AFF_TABLE, t->least, t->most);
    bool truth = t->dtype == DT_BOOL;
    int64_t lo = truth ? 0 : (int64_t)dtype_round(t->dtype, -0x1p52), hi = truth ? 1 : (int64_t)dtype_round(t->dtype, 0x1p52);
    return aff_sym_new(program->aff, t->name, AFF_TABLE, lo, hi);
}

const Aff *tile_element(TileProgram *program, TileTensor *tensor, const Aff *const *coords)
{
    if (!tensor->table)
        tensor->table = table_symbol(program, tensor);
    return aff_element(program->aff, tensor->table, coords, tensor->rank);
}

TileTensor *tile_tensor(const TileProgram *program, const char *name)
{
    for (int i = 0; i < program->tensors.len; i++)
        if (text_equal(program->tensors.data[i]->name, name))
            return program->tensors.data[i];
    return NULL;
}

TileTensor *tile_table_of(const TileProgram *program, const AffSym *table)
{
    for (int i = 0; i < program->tensors.len; i++)
        if (program->tensors.data[i]->table == table)
            return program->tensors.data[i];
    return NULL;
}

bool tile_by_rows(const TileOp *op)
{
    bool copies = op->kind == TILE_LOAD || op->kind == TILE_STORE || op->kind == TILE_COPY_ASYNC || op->kind == TILE_AWAIT;
    for (int d = 0; copies && op->tensor && op->coords && op->row_dim < 0 && d < op->tensor->rank; d++)
        if (op->coords[d] && aff_uses_kind(op->coords[d], AFF_ROW))
            return true;
    return false;
}

const Aff *tile_row_coord(const TileProgram *program, const TileOp *op, int d, const Aff *row)
{
    if (d == op->row_dim)
        return aff_add(program->aff, op->coords[d], row);
    return op->row_dim < 0 ? aff_subst(program->aff, op->coords[d], program->row, row) : op->coords[d];
}

TileType tile_type(DType dtype, int rows, int cols, Space space)
{
    return (TileType){.kind = TT_TILE, .dtype = dtype, .rows = rows, .cols = cols, .space = space};
}

bool tile_type_equal(TileType a, TileType b)
{
    return a.kind == b.kind && a.dtype == b.dtype && a.rows == b.rows && a.cols == b.cols &&
           (a.space == b.space || a.kind != TT_TILE) && a.stages == b.stages &&
           a.pending == b.pending && lay_equal(a.layout, b.layout);
}

TileValue *tile_value_new(TileProgram *program, TileKernel *kernel, TileType type, const char *name)
{
    TileValue *value = arena_new_of(program->arena, TileValue);
    value->id = kernel->next_value++;
    value->name = name;
    value->type = type;
    return value;
}

TileOp *tile_op_new(TileProgram *program, TileKernel *kernel, TileOpKind kind, int n_args,
                    TileValue *const *args, int n_results, const TileType *types)
{
    Arena *arena = program->arena;
    TileOp *op = arena_new_of(arena, TileOp);
    op->kind = kind;
    op->row_dim = op->col_dim = -1;
    op->n_args = n_args;
    op->args = arena_array(arena, TileValue *, n_args);
    for (int i = 0; i < n_args; i++)
        op->args[i] = args[i];
    op->n_results = n_results;
    op->results = arena_array(arena, TileValue *, n_results);
    for (int i = 0; i < n_results; i++) {
        op->results[i] = tile_value_new(program, kernel, types[i], NULL);
        op->results[i]->def = op;
    }
    return op;
}

/* ---- asking --------------------------------------------------------------- */

const AffSym *tile_window_symbol(TileProgram *program, const char *name, const TileTensor *tensor)
{
    return aff_sym_new(program->aff, name, AFF_WINDOW, 0, TILE_CHUNK / dtype_bytes(tensor->dtype) - 1);
}

bool tile_in_window(const TileOp *op)
{
    return op->tensor && op->col_dim >= 0 && aff_uses_kind(op->coords[op->col_dim], AFF_WINDOW);
}

/* Whether an expression's values, from where the window begins on, are multiples of n: it is one that is, less the window's. */
static bool begins_between(const Aff *column, int64_t n)
{
    if (column->kind == AFF_ADD)
        return begins_between(column->a, n) && begins_between(column->b, n);
    bool less = column->kind == AFF_MUL && column->b->kind == AFF_CONST && column->b->value == -1;
    if (less && column->a->kind == AFF_SYM && column->a->sym->kind == AFF_WINDOW)
        return true;
    return aff_divisor(column) % n == 0;
}

bool tile_begins_between(const TileOp *op, int n)
{
    return begins_between(op->coords[op->col_dim], n);
}

bool tile_in_chunks(const TileOp *op)
{
    if (!op->tensor || op->col_dim != op->tensor->rank - 1)
        return false;
    const TileType *tile = op->n_results ? &op->results[0]->type : &op->args[0]->type;
    int columns = TILE_CHUNK / dtype_bytes(op->tensor->dtype);
    return tile->cols >= columns && tile_begins_between(op, columns);
}

int tile_row_alignment(const TileTensor *t)
{
    int64_t bytes = t->rank ? aff_divisor(t->dims[t->rank - 1]) % TILE_CHUNK * dtype_bytes(t->dtype) : 1;
    int n = TILE_CHUNK;
    while (bytes % n) n /= 2;
    return n;
}

bool tile_reads_lines(const TileOp *op)
{
    if (op->kind != TILE_GATHER || op->n_args || op->tensor->written) return false;
    const TileType *t = &op->results[0]->type;
    int bytes = dtype_bytes(op->tensor->dtype);
    bool number = op->tensor->dtype == DT_F32 || (dtype_is_narrow(op->tensor->dtype) && bytes == 2);
    return number && t->layout.kind == LAY_ROWS && (t->rows > 1 || t->cols > 1) && tile_row_alignment(op->tensor) > bytes;
}

bool tile_reads_words(const TileOp *op)
{
    return op->kind == TILE_INDEX && op->results[0]->type.layout.kind == LAY_ROWS && aff_uses_kind(op->index, AFF_TABLE);
}

/* ---- changing ------------------------------------------------------------- */

void tile_append(TileProgram *program, TileBlock *block, TileOp *op)
{
    vec_push(program->arena, &block->ops, op);
}

void tile_insert(TileProgram *program, TileBlock *block, int at, TileOp *op)
{
    tile_append(program, block, op);
    for (int i = block->ops.len - 1; i > at; i--)
        block->ops.data[i] = block->ops.data[i - 1];
    block->ops.data[at] = op;
}

void tile_remove(TileBlock *block, int at)
{
    block->ops.len--;
    for (int i = at; i < block->ops.len; i++)
        block->ops.data[i] = block->ops.data[i + 1];
}

void tile_replace_uses(TileBlock *block, const TileValue *from, TileValue *to)
{
    for (int i = 0; i < block->ops.len; i++) {
        TileOp *op = block->ops.data[i];
        for (int k = 0; k < op->n_args; k++)
            if (op->args[k] == from)
                op->args[k] = to;
        for (int k = 0; k < op->n_regions; k++)
            tile_replace_uses(op->regions[k], from, to);
    }
}

bool tile_has(const TileBlock *block, TileOpKind kind)
{
    for (int i = 0; i < block->ops.len; i++) {
        const TileOp *op = block->ops.data[i];
        if (op->kind == kind)
            return true;
        for (int k = 0; k < op->n_regions; k++)
            if (op->regions[k] && tile_has(op->regions[k], kind))
                return true;
    }
    return false;
}

bool tile_adds(const TileBlock *block)
{
    for (int i = 0; i < block->ops.len; i++) {
        const TileOp *op = block->ops.data[i];
        if (op->kind == TILE_STORE && op->onto)
            return true;
        for (int k = 0; k < op->n_regions; k++)
            if (op->regions[k] && tile_adds(op->regions[k]))
                return true;
    }
    return false;
}

int tile_count(const TileBlock *block, TileOpKind kind)
{
    int n = 0;
    for (int i = 0; i < block->ops.len; i++) {
        const TileOp *op = block->ops.data[i];
        n += op->kind == kind;
        for (int k = 0; k < op->n_regions; k++)
            if (op->regions[k])
                n += tile_count(op->regions[k], kind);
    }
    return n;
}

bool tile_stores_to(const TileBlock *block, const TileTensor *tensor)
{
    for (int i = 0; i < block->ops.len; i++) {
        const TileOp *op = block->ops.data[i];
        if (op->kind == TILE_STORE && op->tensor == tensor)
            return true;
        for (int r = 0; r < op->n_regions; r++)
            if (tile_stores_to(op->regions[r], tensor))
                return true;
    }
    return false;
}

bool tile_is_storage(const TileOp *op)
{
    bool constant = op->kind == TILE_FILL && op->results[0]->type.space == SPACE_SHARED;
    return constant || op->kind == TILE_BUFFER || op->kind == TILE_RING;
}

/* A tile of few numbers may be smaller than what the next one has to begin at a multiple of. */
int64_t tile_place_bytes(const TileOp *storage)
{
    const TileType *t = &storage->results[0]->type;
    int64_t bytes = lay_shared_bytes(t->rows, t->cols, dtype_bytes(t->dtype));
    return storage->kind == TILE_RING ? (bytes + TILE_BOX_ALIGN - 1) / TILE_BOX_ALIGN * TILE_BOX_ALIGN : bytes;
}

/* Of a constant a product may read as much as its step can reach of a panel (ptx/wgmma.c). */
enum { CONSTANT_BYTES = 16 * 128 };

int64_t tile_storage_bytes(const TileOp *storage)
{
    int64_t bytes = tile_place_bytes(storage) * tile_places(storage);
    return storage->kind == TILE_FILL && bytes < CONSTANT_BYTES ? CONSTANT_BYTES : bytes;
}

int64_t tile_storage_begin(const TileOp *storage, int64_t at)
{
    int64_t to = tile_storage_bytes(storage) >= 1024 ? 1024 : 128;
    return (at + to - 1) / to * to;
}

int tile_places(const TileOp *storage)
{
    int stages = storage->kind == TILE_FILL ? 1 : storage->results[0]->type.stages;
    return storage->kind == TILE_RING ? storage->count * stages : stages;
}

int tile_index_of(const TileBlock *block, const TileOp *op)
{
    for (int i = 0; i < block->ops.len; i++)
        if (block->ops.data[i] == op)
            return i;
    return -1;
}

int tile_param_of(const TileBlock *block, const TileValue *value)
{
    for (int i = 0; i < block->params.len; i++)
        if (block->params.data[i] == value)
            return i;
    return -1;
}

int tile_role_warps(const TileOp *roles)
{
    int warps = 0;
    for (int i = 0; i < roles->n_regions; i++)
        if (roles->roles[i].warps > warps) warps = roles->roles[i].warps;
    return warps;
}

int tile_warps(const TileKernel *kernel)
{
    int64_t extent, parts = 1;
    for (int i = 0; i < kernel->grid.len && !tile_has(kernel->body, TILE_ROLES); i++)
        if (kernel->grid.data[i].within && aff_is_const(kernel->grid.data[i].extent, &extent) && extent > 0 &&
            parts <= kernel->warps)
            parts *= extent;
    return kernel->warps % parts ? kernel->warps : (int)(kernel->warps / parts);
}

const TileAxis *tile_within(const TileKernel *kernel)
{
    for (int i = 0; i < kernel->grid.len; i++)
        if (kernel->grid.data[i].within)
            return &kernel->grid.data[i];
    return NULL;
}

const TileAxis *tile_cluster(const TileKernel *kernel)
{
    return kernel->grid.len > 0 && kernel->grid.data[0].cluster ? &kernel->grid.data[0] : NULL;
}

int tile_cluster_blocks(const TileKernel *kernel)
{
    int64_t extent;
    const TileAxis *axis = tile_cluster(kernel);
    return axis && aff_is_const(axis->extent, &extent) ? (int)extent : 1;
}

int tile_instances(const TileKernel *kernel, const AffSym *per)
{
    int64_t extent;
    for (int i = 0; per && i < kernel->grid.len; i++)
        if (kernel->grid.data[i].sym == per && aff_is_const(kernel->grid.data[i].extent, &extent))
            return (int)extent;
    return 1;
}

int tile_place_words(const TileKernel *kernel)
{
    enum { LEAST = 8 };
    int axes = 0;
    for (int i = 0; i < kernel->grid.len; i++) axes += !kernel->grid.data[i].within;
    return axes > LEAST ? axes : LEAST;
}

bool tile_op_uses(const TileOp *op, const TileValue *value)
{
    for (int k = 0; k < op->n_args; k++)
        if (op->args[k] == value)
            return true;
    for (int r = 0; r < op->n_regions; r++)
        if (tile_count_uses(op->regions[r], value) > 0)
            return true;
    return false;
}

bool tile_used_in(const TileBlock *block, int begin, int end, const TileValue *value)
{
    for (int i = begin; i < end; i++)
        if (tile_op_uses(block->ops.data[i], value)) return true;
    return false;
}

int tile_first_use(const TileBlock *block, int from, const TileValue *value)
{
    for (int i = from; i < block->ops.len; i++)
        if (tile_op_uses(block->ops.data[i], value)) return i;
    return -1;
}

bool tile_has_steps(const TileProgram *program, const Aff *a)
{
    if (!a || a->kind == AFF_CONST || a->kind == AFF_SYM || a->kind == AFF_AT)
        return false;
    bool quotient = a->kind == AFF_DIV || a->kind == AFF_MOD;
    if (quotient && aff_uses(a->a, program->row) && aff_uses(a->a, program->col))
        return true;
    return tile_has_steps(program, a->a) || tile_has_steps(program, a->b);
}

int tile_terms(const Aff *a)
{
    if (!a || a->kind == AFF_CONST || a->kind == AFF_SYM || a->kind == AFF_AT || !aff_uses_place(a))
        return 0;
    bool term = a->kind == AFF_LE || a->kind == AFF_EQ || a->kind == AFF_MIN || a->kind == AFF_MAX || a->kind == AFF_DIV || a->kind == AFF_MOD;
    return term + tile_terms(a->a) + tile_terms(a->b);
}

static int quotients(const Aff *a)
{
    if (!a || a->kind == AFF_CONST || a->kind == AFF_SYM || a->kind == AFF_AT || !aff_uses_place(a))
        return 0;
    return (a->kind == AFF_DIV || a->kind == AFF_MOD) + quotients(a->a) + quotients(a->b);
}

static bool has_many_terms(const Aff *cond)
{
    if (cond->kind == AFF_AND)
        return has_many_terms(cond->a) || has_many_terms(cond->b);
    return tile_terms(cond) > TILE_TERMS;
}

bool tile_decides_by_many(const Aff *cond)
{
    return has_many_terms(cond) || quotients(cond) > TILE_TERMS;
}

bool tile_masks_in_steps(const TileProgram *program, const TileOp *op)
{
    if (op->kind != TILE_MASK || aff_uses_kind(op->cond, AFF_TABLE))
        return false;
    return tile_decides_by_many(op->cond) || tile_has_steps(program, op->cond);
}

static bool divides_columns(const Aff *a)
{
    int64_t number;
    if (!a || !aff_uses_kind(a, AFF_COL)) return false;
    bool quotient = a->kind == AFF_DIV || a->kind == AFF_MOD;
    return (quotient && !aff_is_const(a->b, &number)) || divides_columns(a->a) || divides_columns(a->b);
}

bool tile_is_scattered(const TileOp *op)
{
    bool scattered = false;
    for (int d = 0; op->kind == TILE_GATHER && d < op->tensor->rank; d++) scattered |= divides_columns(op->coords[d]);
    return scattered;
}

bool tile_is_strided(const TileOp *op)
{
    bool strided = false;
    for (int d = 0; op->kind == TILE_GATHER && d < op->tensor->rank - 1; d++) strided |= aff_uses_kind(op->coords[d], AFF_COL);
    return strided;
}

void tile_groups(int *parent, int n)
{
    for (int i = 0; i < n; i++) parent[i] = i;
}

int tile_group_of(int *parent, int id)
{
    while (parent[id] != id) id = parent[id] = parent[parent[id]];
    return id;
}

int tile_count_uses(const TileBlock *block, const TileValue *value)
{
    int uses = 0;
    for (int i = 0; i < block->ops.len; i++) {
        const TileOp *op = block->ops.data[i];
        for (int k = 0; k < op->n_args; k++)
            uses += op->args[k] == value;
        for (int k = 0; k < op->n_regions; k++)
            uses += tile_count_uses(op->regions[k], value);
    }
    return uses;
}

void tile_count_all_uses(const TileBlock *block, int *uses)
{
    for (int i = 0; i < block->ops.len; i++) {
        const TileOp *op = block->ops.data[i];
        for (int k = 0; k < op->n_args; k++)
            uses[op->args[k]->id]++;
        for (int k = 0; k < op->n_regions; k++)
            tile_count_all_uses(op->regions[k], uses);
    }
}

/* ---- copying --------------------------------------------------------------- */

typedef struct Clone {
    Arena *arena;
    TileProgram *to;
    TileValue **values; /* by id; made at first sight */
    int n_values;
} Clone;

#define copy_of(arena, T, from) ((T *)copy_bytes((arena), (from), sizeof(T)))
static void *copy_bytes(Arena *arena, const void *from, size_t size)
{
    void *to = arena_alloc(arena, size);
    memcpy(to, from, size);
    return to;
}

static TileValue *clone_value(Clone *c, TileValue *value)
{
    if (!value || value->id < 0 || value->id >= c->n_values)
        return value; /* malformed: the verifier's business */
    if (!c->values[value->id])
        c->values[value->id] = copy_of(c->arena, TileValue, value);
    return c->values[value->id];
}

static TileValue **clone_values(Clone *c, TileValue *const *values, int n)
{
    TileValue **copies = arena_array(c->arena, TileValue *, n);
    for (int i = 0; i < n; i++)
        copies[i] = clone_value(c, values[i]);
    return copies;
}

static TileTensor *clone_tensor_ref(Clone *c, TileTensor *tensor)
{
    if (!tensor || tensor->index < 0 || tensor->index >= c->to->tensors.len)
        return tensor;
    return c->to->tensors.data[tensor->index];
}

static TileBlock *clone_block(Clone *c, const TileBlock *from);

static TileOp *clone_op(Clone *c, const TileOp *from)
{
    TileOp *op = copy_of(c->arena, TileOp, from);
    op->args = clone_values(c, from->args, from->n_args);
    op->results = clone_values(c, from->results, from->n_results);
    for (int i = 0; i < op->n_results; i++)
        op->results[i]->def = op;
    op->regions = arena_array(c->arena, TileBlock *, from->n_regions);
    for (int i = 0; i < op->n_regions; i++)
        op->regions[i] = clone_block(c, from->regions[i]);
    op->tensor = clone_tensor_ref(c, from->tensor);
    if (from->coords && from->tensor) {
        op->coords = arena_array(c->arena, const Aff *, from->tensor->rank);
        for (int i = 0; i < from->tensor->rank; i++)
            op->coords[i] = from->coords[i];
    }
    if (from->roles) {
        op->roles = arena_array(c->arena, TileRole, from->n_regions);
        for (int i = 0; i < from->n_regions; i++)
            op->roles[i] = from->roles[i];
    }
    return op;
}

static TileBlock *clone_block(Clone *c, const TileBlock *from)
{
    TileBlock *block = arena_new_of(c->arena, TileBlock);
    for (int i = 0; i < from->params.len; i++)
        vec_push(c->arena, &block->params, clone_value(c, from->params.data[i]));
    for (int i = 0; i < from->ops.len; i++)
        vec_push(c->arena, &block->ops, clone_op(c, from->ops.data[i]));
    return block;
}

static TileKernel *clone_kernel(Clone *c, const TileKernel *from)
{
    TileKernel *kernel = copy_of(c->arena, TileKernel, from);
    memset(&kernel->grid, 0, sizeof kernel->grid);
    for (int i = 0; i < from->grid.len; i++)
        vec_push(c->arena, &kernel->grid, from->grid.data[i]);
    kernel->window.tensor = clone_tensor_ref(c, from->window.tensor);
    c->n_values = from->next_value;
    c->values = arena_array(c->arena, TileValue *, from->next_value);
    kernel->body = clone_block(c, from->body);
    if (from->plain)
        kernel->plain = clone_kernel(c, from->plain);
    return kernel;
}

TileKernel *tile_kernel_clone(TileProgram *program, const TileKernel *kernel)
{
    Clone c = {.arena = program->arena, .to = program};
    return clone_kernel(&c, kernel);
}

TileProgram *tile_clone(Arena *arena, const TileProgram *program)
{
    TileProgram *to = arena_new_of(arena, TileProgram);
    to->arena = arena;
    to->aff = program->aff;
    to->source = program->source;
    to->name = program->name;
    to->after = program->after;
    to->row = program->row;
    to->col = program->col;
    Clone c = {.arena = arena, .to = to};
    for (int i = 0; i < program->tensors.len; i++)
        vec_push(arena, &to->tensors, copy_of(arena, TileTensor, program->tensors.data[i]));
    for (int i = 0; i < program->dims.len; i++)
        vec_push(arena, &to->dims, program->dims.data[i]);
    for (int i = 0; i < program->params.len; i++)
        vec_push(arena, &to->params, program->params.data[i]);
    for (int i = 0; i < program->requires.len; i++)
        vec_push(arena, &to->requires, program->requires.data[i]);
    for (int i = 0; i < program->kernels.len; i++)
        vec_push(arena, &to->kernels, clone_kernel(&c, program->kernels.data[i]));
    return to;
}
