/* machine.h: is machine code what was meant? PTX beside what a disassembler shows.
 *
 * An assembler may move a wait for asynchronous products, add waits, or spill in a loop,
 * and the kernel is right all the same, and slow. What matters for speed keeps its shape
 * in machine code, so both texts are read as a sequence of the same few events:
 *
 *     event      PTX                    machine code (nvdisasm -c, cuobjdump -sass)
 *     fence      wgmma.fence            WARPGROUP.ARRIVE
 *     product    wgmma.mma_async        HGMMA, IGMMA, QGMMA
 *     commit     wgmma.commit_group     the product has `gsb0`
 *     wait n     wgmma.wait_group n     WARPGROUP.DEPBAR.LE gsb0, n
 *     multiply   mma.sync               HMMA, IMMA, QMMA
 *     exp        ex2.approx             MUFU.EX2
 *     local      -                      LDL, STL
 *
 * Vocabulary
 *   entry      a kernel of the text
 *   hot        within an innermost loop that multiplies
 *   gap        how many exps stand between an event and the one before it
 */
#ifndef TW_ASSEMBLE_MACHINE_H
#define TW_ASSEMBLE_MACHINE_H

#include "assemble/assemble.h"

typedef enum MachineKind {
    MACHINE_FENCE, MACHINE_PRODUCT, MACHINE_COMMIT, MACHINE_WAIT, MACHINE_MULTIPLY, MACHINE_EXP, MACHINE_LOCAL
} MachineKind;

typedef struct MachineEvent {
    MachineKind kind;
    int pending; /* WAIT: groups that may still be in flight */
    int at;      /* its line's first byte in the text */
    bool hot;    /* LOCAL */
} MachineEvent;

typedef struct MachineCode {
    const char *entry;
    int at; /* where it begins in the text */
    VEC(MachineEvent) events;
} MachineCode;

typedef VEC(MachineCode) MachineCodes;

void machine_read_ptx(Arena *arena, const char *ptx, MachineCodes *codes);
/* What nvdisasm -c or cuobjdump -sass wrote. */
void machine_read_sass(Arena *arena, const char *sass, MachineCodes *codes);
const MachineCode *machine_find(const MachineCodes *codes, const char *entry); /* NULL: none */

/* Events of an entry, counted. */
typedef struct MachineCount {
    int products, waits, multiplies, exps, local, hot_local;
} MachineCount;
MachineCount machine_count(const MachineCode *code);

/* What stands otherwise in machine code than in PTX: a diagnostic each, at the PTX
 * (TW0911 to TW0914). How many there are. */
int machine_compare(Diags *diags, const Source *ptx, const MachineCode *meant, const MachineCode *made);

/* The disassembler that TW_NVDISASM names, else nvdisasm or cuobjdump as asm_find finds them. */
bool machine_tool(Arena *arena, const char *named, AsmTool *tool, const char **error);
/* The text of a cubin. False: *error. */
bool machine_disassemble(Arena *arena, const AsmTool *tool, const char *cubin, size_t bytes, const char **text,
                         const char **error);

#endif
