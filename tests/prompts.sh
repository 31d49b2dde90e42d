#!/bin/sh
# prompts.sh: a statement and an operation that are added to the language's tables stand
# in the prompts, and nobody has edited these: the sources of the prompts are compiled
# with tables that have a row more. Reports in the manner of TAP.

. tests/lib/tap.sh

mkdir "$dir/lang"
{
    cat src/lang/stmts.def
    echo 'STMT(PREFETCH, "Prefetch", "Prefetch NAME in ROUNDS: what will be copied", NULL, "Only of what loops.", "Of tiles.")'
} >"$dir/lang/stmts.def"
{
    cat src/lang/ops.def
    echo 'OP(HYPOT, "Hypot", OPC_ELEMENT, 2, hypot(a, b), "the length of (a, b)")'
} >"$dir/lang/ops.def"
cat >"$dir/main.c" <<'END'
#include "prompt/prompt.h"
int main(int argc, char **argv)
{
    Heap heap = {0};
    jmp_buf oom;
    Str text;
    (void)argv;
    if (setjmp(oom))
        return 1;
    heap.on_oom = &oom;
    text = str_new(arena_new(&heap));
    prompt_language(&text, (TlForm)(argc - 1));
    fputs(str_text(&text), stdout);
    return 0;
}
END

# What reads the tables, in front of the library, whose own tables are the old ones.
${CC:-cc} -std=c11 -D_POSIX_C_SOURCE=200809L -O0 -w -I"$dir" -Isrc -Iinclude -o "$dir/more" "$dir/main.c" \
    src/prompt/language.c src/lang/ops.c src/lang/lines.c src/lang/lexer.c \
    src/base/arena.c src/base/slab.c src/base/str.c -lm >"$dir/err" 2>&1
verdict 'the prompts compile with longer tables' '[ -x "$dir/more" ]'
"$dir/more" >"$dir/definition" 2>>"$dir/err"
"$dir/more" 1 >"$dir/sketch" 2>>"$dir/err"
"$dir/more" 1 2 >"$dir/code" 2>>"$dir/err"
verdict 'a sketch may have the statement' 'grep -qF -e "- \`Prefetch NAME in ROUNDS\`: what will be copied. Only of what loops." "$dir/sketch"'
verdict 'so may code, by another rule' 'grep -qF -e "what will be copied. Of tiles." "$dir/code"'
verdict 'a definition may not' '! grep -q Prefetch "$dir/definition"'
verdict 'the operation stands in all' '[ "$(cat "$dir/definition" "$dir/sketch" "$dir/code" | grep -c "Hypot a, b = the length of (a, b)")" -eq 3 ]'

"$tw" prompt sketch ops/gemm.tl >"$dir/prompt" 2>"$dir/err"
verdict 'the prompts of tw have neither' '! grep -qE "Prefetch|Hypot" "$dir/prompt" && grep -q "^# The language TL" "$dir/prompt"'
"$dir/more" 1 | grep -vE "^$|Prefetch|Hypot" >"$dir/rest"
verdict 'and otherwise this text' '[ "$(grep -cxFf "$dir/rest" "$dir/prompt")" -ge "$(grep -c . "$dir/rest")" ]'
for stage in sketch reason code; do
    "$tw" prompt $stage ops/attention.tl --set HeadDim=64 >"$dir/one" 2>"$dir/err"
    "$tw" prompt $stage ops/attention.tl --set HeadDim=64 >"$dir/two" 2>"$dir/err"
    verdict "the same request for $stage gives the same prompt" 'cmp -s "$dir/one" "$dir/two" && [ -s "$dir/one" ]'
done

finish
