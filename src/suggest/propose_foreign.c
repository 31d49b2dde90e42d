/* propose_foreign.c: statements in the words of other languages, written as TL's.
 *
 *   for (k = 0; k < n; k++) {          for k = 0:n
 *   for k in range(0, K, BK):          for k = 0:ceil(K / BK)
 *   As = T.alloc_shared((BM, BK))      Allocate As in shared (BM, BK)
 *   T.gemm(A, B, C)                    Compute GEMM A, B and accumulate C
 *
 * What a form says may have several meanings, of which the stage likes one: then it
 * has several rows.
 */
#include "suggest/forms.h"

typedef struct Form {
    const char *from, *to;
} Form;

static const Form FORMS[] = {
    /* loops that count elements: tiles are counted instead */
    {"for $k in range(0, $B, $C)", "for $k = 0:ceil($B / $C)"},
    {"for ($k = 0; $k < $B; $k += $C)", "for $k = 0:ceil($B / $C)"},
    {"for $k = 0:$B:$C", "for $k = 0:ceil($B / $C)"},
    {"for $k in 0:$B:$C", "for $k = 0:ceil($B / $C)"},
    {"for $k = 0:$B step $C", "for $k = 0:ceil($B / $C)"},
    {"for $k = 0:$B by $C", "for $k = 0:ceil($B / $C)"},
    {"for $k = 0 to $B step $C", "for $k = 0:ceil($B / $C)"},
    {"for $k = 0 to $B by $C", "for $k = 0:ceil($B / $C)"},
    {"for $k = $A:$B step $C", "for $k = ($A) div $C:ceil(($B) / $C)"},
    {"for $k in range($A, $B, $C)", "for $k = ($A) div $C:ceil(($B) / $C)"},
    {"for ($k = $A; $k < $B; $k += $C)", "for $k = ($A) div $C:ceil(($B) / $C)"},
    /* loops */
    {"for $k = $A to $B - 1", "for $k = $A:$B"},
    {"for $k in $A to $B - 1", "for $k = $A:$B"},
    {"for $k from $A to $B - 1", "for $k = $A:$B"},
    {"for $k = $A to $B", "for $k = $A:$B"},
    {"for $k = $A to $B", "for $k = $A:$B + 1"},
    {"for $k in $A to $B", "for $k = $A:$B"},
    {"for $k from $A to $B", "for $k = $A:$B"},
    {"for $k = $A..$B", "for $k = $A:$B"},
    {"for $k in $A..$B", "for $k = $A:$B"},
    {"for ($k = $A; $k < $B; $k++)", "for $k = $A:$B"},
    {"for ($k = $A; $k < $B; ++$k)", "for $k = $A:$B"},
    {"for ($k = $A; $k < $B; $k += 1)", "for $k = $A:$B"},
    {"for $k in $f($A, $B, $C)", "for $k = $A:$B"},
    {"for $k in $f($A, $B, $C)", "for $k = 0:$A"},
    {"for $k in $f($A, $B)", "for $k = $A:$B"},
    {"for $k in $f($A, $B)", "for $k = 0:$A"},
    {"for $k in $f($B)", "for $k = 0:$B"},
    {"for ($k = $A:$B)", "for $k = $A:$B"},
    {"for ($k in $A:$B)", "for $k = $A:$B"},
    {"for $k < $B", "for $k = 0:$B"},
    {"for $k over $d step $C", "for $k over $d"},
    {"for $k over $d in tiles of $C", "for $k over $d"},
    {"for $k over $d in blocks of $C", "for $k over $d"},
    {"for $k over $d in steps of $C", "for $k over $d"},
    /* products: summed up where there is a sum to add to */
    {"gemm($m, $A, $B, $c)", "Compute GEMM $A, $B and accumulate $c"},
    {"gemm($m, $A, $B, $c)", "Compute GEMM $A, $B.T and accumulate $c"},
    {"gemm($m, $A, $B, $c)", "Compute GEMM $A, $B.T and get $c"},
    {"gemm($m, $A, $B, $c)", "Compute GEMM $A, $B and get $c"},
    {"gemm($A, $B, $c, transpose_B=True)", "Compute GEMM $A, $B.T and accumulate $c"},
    {"gemm($A, $B, $c, transpose_B=True)", "Compute GEMM $A, $B.T and get $c"},
    {"gemm($A, $B, $c)", "Compute GEMM $A, $B and accumulate $c"},
    {"gemm($A, $B, $c)", "Compute GEMM $A, $B and get $c"},
    {"Compute GEMM $A, $B, $c", "Compute GEMM $A, $B and accumulate $c"},
    {"Compute GEMM $A, $B, $c", "Compute GEMM $A, $B and get $c"},
    /* what reduces does so along the last dimension */
    {"Compute $f $A over last dim and get $c", "Compute $f $A and get $c"},
    {"Compute $f $A over last dimension and get $c", "Compute $f $A and get $c"},
    {"Compute $f $A over last axis and get $c", "Compute $f $A and get $c"},
    {"Compute $f $A over the last dim and get $c", "Compute $f $A and get $c"},
    {"Compute $f $A over the last dimension and get $c", "Compute $f $A and get $c"},
    {"Compute $f $A over the last axis and get $c", "Compute $f $A and get $c"},
    {"Compute $f $A along last dim and get $c", "Compute $f $A and get $c"},
    {"Compute $f $A along last dimension and get $c", "Compute $f $A and get $c"},
    {"Compute $f $A along last axis and get $c", "Compute $f $A and get $c"},
    {"Compute $f $A along the last dim and get $c", "Compute $f $A and get $c"},
    {"Compute $f $A along the last dimension and get $c", "Compute $f $A and get $c"},
    {"Compute $f $A along the last axis and get $c", "Compute $f $A and get $c"},
    {"Compute Reshape $A to ($S) and get new $c", "Compute Reshape $A and get new $c ($S)"},
    {"Compute Reshape $A to ($S) and get $c", "Compute Reshape $A and get $c ($S)"},
    {"Copy $A to global atomically", "Copy $A to global and accumulate"},
    {"Copy $A to global with atomicAdd", "Copy $A to global and accumulate"},
    {"Copy $A to global using atomicAdd", "Copy $A to global and accumulate"},
    {"Copy $A to global with atomic add", "Copy $A to global and accumulate"},
    /* results */
    {"Compute $f $A and add to $c", "Compute $f $A and accumulate $c"},
    {"Compute $f $A and add into $c", "Compute $f $A and accumulate $c"},
    {"Compute $f $A and add $c", "Compute $f $A and accumulate $c"},
    {"Compute $f $A to $c", "Compute $f $A and get $c"},
    {"Compute $f $A as $c", "Compute $f $A and get $c"},
    {"Compute Add $c, GEMM($A, $B) and get new $c", "Compute GEMM $A, $B and accumulate $c"},
    {"Compute Add $c, GEMM($A, $B) and get $c", "Compute GEMM $A, $B and accumulate $c"},
    {"Compute Add $c, GEMM($A, $B)", "Compute GEMM $A, $B and accumulate $c"},
    {"Compute $f $A, get $c", "Compute $f $A and get $c"},
    /* tensors, and what has them */
    {"Compute $o $A, new $c", "Compute $o $A and get new $c"},
    {"int $i = $A", "$i = $A"},
    {"const int $i = $A", "$i = $A"},
    {"float $i = $A", "$i = $A"},
    {"$a[:, :] = $b * $C", "Compute Multiply $b, $C and get new $a"},
    {"$a[:, :] = $b / $C", "Compute Divide $b, $C and get new $a"},
    {"$a[:, :] = $b + $C", "Compute Add $b, $C and get new $a"},
    {"$a[:, :] = $b - $C", "Compute Subtract $b, $C and get new $a"},
    {"$a[:, :] = $V", "Compute Fill $a, $V"},
    {"$a[:] = $V", "Compute Fill $a, $V"},
    {"reduce_sum($a, $c, dim=$A)", "Compute RowSum $a and get $c"},
    {"reduce_max($a, $c, dim=$A)", "Compute RowMax $a and get $c"},
    {"reduce_max($a, $c, dim=$A, clear=$B)", "Compute RowMax $a and get $c"},
    {"$a[$I, $J] = $V", "Compute Where row($a) == $I and col($a) == $J, $V, $a and get new $a"},
    {"Alloc_fragment $x ($S)", "Allocate $x in register ($S)"},
    {"Alloc_shared $x ($S)", "Allocate $x in shared ($S)"},
    {"Input $x (*, $S) $t", "Input $x (rows, $S) $t"},
    {"Input $x (*, $S)", "Input $x (rows, $S)"},
    {"Allocate $x in $p ($S) of $t", "Allocate $x in $p ($S) $t"},
    {"Allocate $x in $p [$S] $t", "Allocate $x in $p ($S) $t"},
    {"Allocate $x in $p [$S]", "Allocate $x in $p ($S)"},
    {"Tensor $x ($S)", "Input $x ($S)"},
    {"$x: Tensor($S)", "Input $x ($S)"},
    {"in $x ($S)", "Input $x ($S)"},
    {"out $x ($S)", "Output $x ($S)"},
    {"$w tensor $x ($S)", "$w $x ($S)"},
    {"$w float $x ($S)", "$w $x ($S) fp32"},
    {"$w half $x ($S)", "$w $x ($S) fp16"},
    {"$w $x ($S) of $t", "$w $x ($S) $t"},
    {"$w $x ($S) in $t", "$w $x ($S) $t"},
    {"$w $x ($S) dtype=$t", "$w $x ($S) $t"},
    {"$w $x ($S), $t", "$w $x ($S) $t"},
    {"$w $x ($S), dtype=$t", "$w $x ($S) $t"},
    {"$w $x shape ($S)", "$w $x ($S)"},
    {"$w $x of shape ($S)", "$w $x ($S)"},
    {"$w $x {$S}", "$w $x ($S)"},
    {"$w $x ($a x $b)", "$w $x ($a, $b)"},
    {"$w $x ($a x $b x $c)", "$w $x ($a, $b, $c)"},
    {"$w $x ($a x $b x $c x $d)", "$w $x ($a, $b, $c, $d)"},
    {"Operator $f($A) -> $B", "Operator $f"},
    {"Operator $a-$b", "Operator $a_$b"},
    {"Operator $a-$b-$c", "Operator $a_$b_$c"},
    /* what only someone who looks on is told */
    {"print($A)", ""},
    {"printf($A)", ""},
    {"assert $A", ""},
    {"assert($A)", ""},
    {"Compute $f $A along axis $B and get $c", "Compute $f $A and get $c"},
    {"Compute $f $A over axis $B and get $c", "Compute $f $A and get $c"},
    {"Compute $f $A on axis $B and get $c", "Compute $f $A and get $c"},
    {"Compute $f $A along dim $B and get $c", "Compute $f $A and get $c"},
    {"Compute $f $A over dim $B and get $c", "Compute $f $A and get $c"},
    {"Compute $f $A dim $B and get $c", "Compute $f $A and get $c"},
    {"Compute $f $A axis $B and get $c", "Compute $f $A and get $c"},
    {"Compute $f $A along dimension $B and get $c", "Compute $f $A and get $c"},
    {"Compute $f $A, and get $c", "Compute $f $A and get $c"},
    {"Compute $f $A and get $c.", "Compute $f $A and get $c"},
    {"Compute $f $A and get $c in $t", "Compute $f $A and get $c"},
    {"Compute GEMM $A @ $B and get $c", "Compute GEMM $A, $B and get $c"},
    {"Compute GEMM $A * $B and get $c", "Compute GEMM $A, $B and get $c"},
    {"Compute $f $A and $b and get $c", "Compute $f $A, $b and get $c"},
    {"Compute Mask $A with $B and get $c", "Compute Mask $A where $B and get $c"},
    {"Compute Mask $A where $B, else $C and get $c", "Compute Mask $A where $B else $C and get $c"},
    {"Compute Mask $A where $B, otherwise $C and get $c", "Compute Mask $A where $B else $C and get $c"},
    {"Compute CausalMask $A and get $c", "Compute Mask $A where col <= row and get $c"},
    {"Compute Causal Mask $A and get $c", "Compute Mask $A where col <= row and get $c"},
    {"Compute Define $c ($A) = $B", "Compute Define $c ($A) as $B"},
    {"Compute Define $c ($A) := $B", "Compute Define $c ($A) as $B"},
    {"Compute Reshape $k ($S) and get $c", "Compute Reshape $k and get $c ($S)"},
    {"$c = $f $A", "Compute $f $A and get $c"},
    {"Param $k: $A", "Param $k = $A"},
    {"Let $k: $A", "Let $k = $A"},
    {"Compute Reduce $A with sum over $d and get $c", "Compute RowSum $A over $d and get $c"},
    {"Compute Reduce $A with max over $d and get $c", "Compute RowMax $A over $d and get $c"},
    {"Compute $f $a $b.T and get $c", "Compute $f $a, $b.T and get $c"},
    {"Compute $f $a.T $b and get $c", "Compute $f $a.T, $b and get $c"},
    {"Compute $f $a $b and get $c", "Compute $f $a, $b and get $c"},
    {"Compute $f $a $b.T and accumulate $c", "Compute $f $a, $b.T and accumulate $c"},
    {"Compute $f $a $b and accumulate $c", "Compute $f $a, $b and accumulate $c"},
    {"Compute $E and get $c $t", "Compute $E and get $c"},
    {"Compute $f $A, transpose($b) and get $c", "Compute $f $A, $b.T and get $c"},
    {"Compute $f $A, trans($b) and get $c", "Compute $f $A, $b.T and get $c"},
    {"Compute $f $A, $b.t() and get $c", "Compute $f $A, $b.T and get $c"},
    {"Compute $f $A, $b.transpose($B) and get $c", "Compute $f $A, $b.T and get $c"},
    /* conditions */
    {"Compute Mask $x with causal", "Compute Mask $x where col <= row"},
    {"Compute Mask $x, causal", "Compute Mask $x where col <= row"},
    {"Compute Mask $x causal", "Compute Mask $x where col <= row"},
    {"Compute CausalMask $x", "Compute Mask $x where col <= row"},
    {"Compute Where $x, $C, $V and get $Y", "Compute Where $C, $x, $V and get $Y"},
    {"Compute Where $x, $C, $V", "Compute Where $C, $x, $V and get new $x"},
    /* what takes several operations */
    {"Compute Variance $A over $d and get $c", "Compute RowMean $A over $d and get mean_of\nCompute Subtract $A, mean_of and get centred\n"
     "Compute Square centred and get new centred\nCompute RowMean centred over $d and get $c"},
    {"Compute Fill $c = $V", "Compute Fill $c, $V"},
    {"Compute Fill $c with $V", "Compute Fill $c, $V"},
    {"Fill $c with $V", "Compute Fill $c, $V"},
    {"mma_sync($c, $A, $B, $c)", "Compute GEMM $A, $B and accumulate $c"},
    {"mma_sync($c, $A, $B, $c)", "Compute GEMM $A, $B.T and accumulate $c"},
    {"wgmma($c, $A, $B)", "Compute GEMM $A, $B and accumulate $c"},
    {"wgmma($A, $B, $c)", "Compute GEMM $A, $B and accumulate $c"},
    {"wgmma($A, $B, $c)", "Compute GEMM $A, $B.T and accumulate $c"},
    {"wgmma($A, $B, $c)", "Compute GEMM $A, $B.T and get $c"},
    {"mma($c, $A, $B)", "Compute GEMM $A, $B and accumulate $c"},
    /* copies and headers */
    {"Copy $a[$S] ($A) in coordinate [$B] from global to shared", "Copy $a ($A) in coordinate [$B] from global to shared [stage = $S]"},
    {"Copy $a ($A) at ($B) from $s to $t", "Copy $a ($A) in coordinate [$B] from $s to $t"},
    {"Copy $a ($A) at [$B] from $s to $t", "Copy $a ($A) in coordinate [$B] from $s to $t"},
    {"Copy $a ($A) coordinates [$B] from $s to $t", "Copy $a ($A) in coordinate [$B] from $s to $t"},
    {"Grid ($A)", "Grid over $A"},
    {"__global__ void $k($A)", "Kernel $k"},
    {"__global__ void __launch_bounds__($B) $k($A)", "Kernel $k"},
    {"@$X", ""},
    {"Copy async $X", "Copy $X"},
    {"async Copy $X", "Copy $X"},
    {"Copy $X with stages = $B", "Copy $X"},
    {"Copy $k.T ($A, $B) $X", "Copy $k ($B, $A) $X"},
    {"Input $a: ($A), dtype=$t", "Input $a ($A) $t"},
    {"Input $a ($A), dtype=$t", "Input $a ($A) $t"},
    {"Output $a: ($A), dtype=$t", "Output $a ($A) $t"},
    {"Output $a ($A), dtype=$t", "Output $a ($A) $t"},
    {"Inputs: $X", "Input $X"},
    {"Outputs: $X", "Output $X"},
    {"Kernel $k($A)", "Kernel $k"},
    {"Operator $k($A)", "Operator $k"},
    {"def $k($A)", "Kernel $k"},
    {"Store $c ($A) in coordinate [$X] to global", "Copy $c ($A) in coordinate [$X] from register to global"},
    {"Store $c ($A) in coordinate [$X]", "Copy $c ($A) in coordinate [$X] from register to global"},
    {"Store $c ($A) to global in coordinate [$X]", "Copy $c ($A) in coordinate [$X] from register to global"},
    {"Load $c ($A) in coordinate [$X] to $s", "Copy $c ($A) in coordinate [$X] from global to $s"},
    {"Load $c ($A) in coordinate [$X] into $s", "Copy $c ($A) in coordinate [$X] from global to $s"},
    {"Load $c ($A) in coordinate [$X]", "Copy $c ($A) in coordinate [$X] from global to shared"},
    {"Load $c ($A) in coordinate [$X]", "Copy $c ($A) in coordinate [$X] from global to register"},
    {"Load $c to $s", "Copy $c from global to $s"},
    {"Load $c into $s", "Copy $c from global to $s"},
    {"Store $c to global", "Copy $c from register to global"},
    /* names and their values */
    {"constexpr $k = $V", "$k = $V"},
    {"static constexpr $k = $V", "$k = $V"},
    {"let $k = $V", "$k = $V"},
    {"float $k = $V", "$k = $V"},
    {"$k: constexpr = $V", "$k = $V"},
    {"$k: $t = $V", "$k = $V"},
    /* what a tile begins with */
    {"clear($c)", "Compute Fill $c, 0"},
    {"clear $c", "Compute Fill $c, 0"},
    {"zero($c)", "Compute Fill $c, 0"},
    {"zero $c", "Compute Fill $c, 0"},
    {"fill($c, $V)", "Compute Fill $c, $V"},
    {"fill $c with $V", "Compute Fill $c, $V"},
    {"set $c to $V", "Compute Fill $c, $V"},
    {"set $c = $V", "Compute Fill $c, $V"},
    {"init $c to $V", "Compute Fill $c, $V"},
    {"init $c = $V", "Compute Fill $c, $V"},
    {"initialize $c to $V", "Compute Fill $c, $V"},
    {"initialize $c = $V", "Compute Fill $c, $V"},
    {"initialize $c with $V", "Compute Fill $c, $V"},
    {"$c = zeros([$A], dtype=$t)", "Allocate $c in register ($A) $t\nCompute Fill $c, 0"},
    {"$c = zeros([$A], dtype=$t)", "Allocate $c in register ($A) $t"},
    {"$c = zeros([$A], dtype=$t)", "Allocate $c in shared ($A)"},
    {"$c = zeros(($A), dtype=$t)", "Allocate $c in register ($A) $t\nCompute Fill $c, 0"},
    {"$c = zeros(($A), dtype=$t)", "Allocate $c in register ($A) $t"},
    {"$c = full([$A], $V, dtype=$t)", "Allocate $c in register ($A) $t\nCompute Fill $c, $V"},
    {"$c = full(($A), $V, dtype=$t)", "Allocate $c in register ($A) $t\nCompute Fill $c, $V"},
    {"$c = $a.to($t)", "Compute Cast $a, $t and get $c"},
    {"$c = $a.to($t)", "Compute Cast $a, $t and get new $c"},
    {"$c = zeros($A)", "Compute Fill $c, 0"},
    {"$c = zeros_like($A)", "Compute Fill $c, 0"},
    {"$c = full($A, $V, $T)", "Compute Fill $c, $V"},
    {"$c = full($A, $V)", "Compute Fill $c, $V"},
    /* tiles */
    {"$a = alloc_shared(($A), $T)", "Allocate $a in shared ($A) $T"},
    {"$a = alloc_shared(($A), $T)", "Allocate $a in shared ($A)"},
    {"$a = alloc_shared(($A))", "Allocate $a in shared ($A)"},
    {"$a = alloc_shared([$A], $T)", "Allocate $a in shared ($A) $T"},
    {"$a = alloc_shared([$A], $T)", "Allocate $a in shared ($A)"},
    {"$a = alloc_fragment(($A), $T)", "Allocate $a in register ($A) $T"},
    {"$a = alloc_fragment(($A), $T)", "Allocate $a in register ($A) fp32"},
    {"$a = alloc_fragment(($A))", "Allocate $a in register ($A)"},
    {"$a = alloc_fragment([$A], $T)", "Allocate $a in register ($A) $T"},
    {"$a = alloc_fragment([$A], $T)", "Allocate $a in register ($A) fp32"},
    {"$a = shared(($A), $T)", "Allocate $a in shared ($A) $T"},
    {"$a = shared($A)", "Allocate $a in shared ($A)"},
    {"$a = register(($A), $T)", "Allocate $a in register ($A) $T"},
    {"$a = register($A)", "Allocate $a in register ($A)"},
    {"__shared__ $t $a[$A][$B]", "Allocate $a in shared ($A, $B) $t"},
    {"$t $a[$A][$B]", "Allocate $a in register ($A, $B) $t"},
    {"Allocate $t $a in $s ($A)", "Allocate $a in $s ($A) $t"},
    {"Allocate $s $a ($A) $t", "Allocate $a in $s ($A) $t"},
    {"Allocate $s $a ($A)", "Allocate $a in $s ($A)"},
    {"Allocate $a in $s ($A) $t = $V", "Allocate $a in $s ($A) $t\nCompute Fill $a, $V"},
    {"Allocate $a in $s ($A) = $V", "Allocate $a in $s ($A)\nCompute Fill $a, $V"},
    {"Allocate $a in $s ($A) init $V", "Allocate $a in $s ($A)\nCompute Fill $a, $V"},
    {"Allocate $a in $s ($A) initialized to $V", "Allocate $a in $s ($A)\nCompute Fill $a, $V"},
    {"Allocate $a in $s ($A) with value $V", "Allocate $a in $s ($A)\nCompute Fill $a, $V"},
    {"shared $a ($A)", "Allocate $a in shared ($A)"},
    {"register $a ($A)", "Allocate $a in register ($A)"},
    /* what has no meaning here */
    {"store $x", ""},
    {"$k = threadIdx.$t", ""},
    {"$k = threadIdx.$t $A", ""},
    {"$k = $A threadIdx.$t", ""},
    {"$k = $A threadIdx.$t $B", ""},
    {"if $C return $X", ""},
    {"if $C return", ""},
    {"if $C: return", ""},
    {"return $X", ""},
    {"return", ""},
    {"copy($a, $a)", ""},
    {"$k = $A", "$k = $A"}, /* behind all others: a number that had a type */
    {"/* $X */", "# $X"},
};

/* Up to where a statement of ours ends: a colon may stay behind the header of a loop. */
static Span statement_of(const Suggester *s, Span line, bool loop)
{
    while ((size_t)line.end < s->source->len && strchr(loop ? " \t\r;{" : " \t\r;{:", s->source->text[line.end]))
        line.end++;
    return line;
}

/* Further lines stand as far to the right as the first. */
static const char *with_indent(Suggester *s, const char *text, const char *indent)
{
    Str out = str_new(s->arena);

    for (; *text; text++) {
        str_addc(&out, *text);
        if (*text == '\n')
            str_add(&out, indent);
    }
    return str_text(&out);
}

bool propose_form(Suggester *s)
{
    Span line = form_line(s);
    const char *text = form_plain(s, line);
    Holes holes;

    for (size_t i = 0; strlen(text) <= FORM_LONGEST && i < TW_COUNT(FORMS); i++) {
        const char *to = FORMS[i].to;

        if (!form_match(FORMS[i].from, text, &holes))
            continue;
        if (strcmp(FORMS[i].from, to) == 0 && formula_of_tensors(s, form_hole(s, text, &holes, 'A'))) /* no number: a name would only seem to do */
            return propose_formula(s);
        to = with_indent(s, to, suggest_indent(s, line.start));
        if (!*to ? !s->loose && suggest_edit(s, suggest_line(s, line), "", "remove it")
                 : suggest_edit(s, statement_of(s, line, strncmp(to, "for", 3) == 0), form_filled(s, to, text, &holes), "as TL says it"))
            return true;
    }
    return false;
}

/* `Schedule` alone: for the target at hand. */
bool propose_target(Suggester *s)
{
    Span line = form_line(s);
    Holes holes;

    return form_match("Schedule", form_plain(s, line), &holes) &&
           suggest_edit(s, (Span){line.end, line.end}, arena_printf(s->arena, " %s", s->chain->target->name), "for which target");
}

/* `torch.bfloat16`: the type, without its module. */
bool propose_type_word(Suggester *s)
{
    static const struct { const char *word, *type; } types[] = {
        {"bfloat16", "bf16"}, {"float16", "fp16"}, {"half", "fp16"}, {"float32", "fp32"}, {"float64", "fp64"}, {"float8_e4m3", "e4m3"}, {"float8_e5m2", "e5m2"},
        {"float", "fp32"}, {"int32", "int32"}, {"int64", "int64"}, {"int8", "int8"}, {"uint8", "uint8"}, {"bool", "bool"}, {"tf32", "fp32"},
    };
    const char *text = s->source->text;
    Span span = s->diag->span;

    span.end = span.start + (int)strspn(text + span.start, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.");
    const char *word = arena_strndup(s->arena, text + span.start, (size_t)(span.end - span.start)), *last = strrchr(word, '.');
    last = last ? last + 1 : word;
    for (size_t i = 0; i < TW_COUNT(types); i++)
        if (strncmp(last, types[i].word, strlen(types[i].word)) == 0)
            return suggest_edit(s, span, types[i].type, "the type itself");
    return false;
}

/* `2N`: a product. */
bool propose_times(Suggester *s)
{
    Span word = s->diag->span;
    int digits = word.start + (int)strspn(s->source->text + word.start, "0123456789");

    return digits > word.start && digits < word.end && suggest_edit(s, (Span){digits, digits}, " * ", "a product is written out");
}

/* `from global to shared[j % 2]`: the stage has its name. */
bool propose_stage_word(Suggester *s)
{
    int at = s->diag->span.start, space = at - 1;

    if (at == 0 || s->source->text[space] != '[')
        return false;
    bool apart = space > 0 && s->source->text[space - 1] == ' ';
    return suggest_edit(s, (Span){space, at}, apart ? "[stage = " : " [stage = ", "which stage of the ring");
}

/* A block begins with its header, and ends with `end`. */
bool propose_brace(Suggester *s)
{
    char brace = s->source->text[s->diag->span.start];
    Span before = s->diag->span;

    while (before.start > 0 && strchr(" \t", s->source->text[before.start - 1]))
        before.start--;
    if (brace == '}')
        return suggest_edit(s, s->diag->span, "end", "a block ends with 'end'");
    return brace == '{' && suggest_edit(s, before, "", "a block ends with 'end'");
}

static bool is_axis(const char *word)
{
    static const char *const axes[] = {"dim", "dims", "axis", "axes", "keepdim", "keepdims", "dtype", "inplace"};

    return text_among(axes, (int)TW_COUNT(axes), word);
}

/* `Softmax S, dim = -1`: rows are the last dimension. `TopK P, k = 2`: the operand alone. */
bool propose_unnamed(Suggester *s)
{
    const char *text = s->source->text;
    Span span = s->diag->span, name = span;
    int depth = 0;

    while (text[span.end] && strchr(" \t", text[span.end]))
        span.end++;
    if (text[span.end] != '=' || form_match("Compute Fill $A", form_plain(s, form_line(s)), &(Holes){0}))
        return false;
    while (span.start > 0 && strchr(" \t,", text[span.start - 1]))
        span.start--;
    for (span.end++; text[span.end] && strchr(" \t", text[span.end]);)
        span.end++;
    if (!form_match("Compute $A", form_plain(s, form_line(s)), &(Holes){0}) && text[span.start] != ',')
        return false;
    const char *word = arena_strndup(s->arena, text + name.start, strspn(text + name.start, "abcdefghijklmnopqrstuvwxyz_"));
    if (!is_axis(word) && suggest_edit(s, (Span){name.start, span.end}, "", "operands have no names"))
        return true;
    for (; text[span.end] && !strchr("\n#,", text[span.end]); span.end++) {
        depth += (text[span.end] == '(') - (text[span.end] == ')');
        if (depth < 0 || (depth == 0 && text[span.end] == ' '))
            break;
    }
    return suggest_edit(s, span, "", "an operation of rows is along the last dimension");
}

/* ---- blocks that are left open --------------------------------------------------------------------- */

static int indent_of(const char *text, int at)
{
    int n = 0;

    while (text[at + n] == ' ' || text[at + n] == '\t')
        n++;
    return n;
}

/* An `end` wherever the text goes back to the left without one. */
bool propose_end(Suggester *s)
{
    const char *text = s->source->text;
    int last = 0;

    for (int at = 0; (size_t)at < s->source->len && !s->loose;) {
        int indent = indent_of(text, at), next = at;
        const char *word = text + at + indent;
        bool closes = strncmp(word, "end", 3) == 0 || strncmp(word, "el", 2) == 0;

        while ((size_t)next < s->source->len && text[next] != '\n')
            next++;
        if (next > at + indent && *word != '#') {
            if (indent < last && !closes && at > s->diag->span.start &&
                suggest_edit(s, (Span){at, at}, arena_printf(s->arena, "%.*send\n", indent, text + at), "close what stands further to the right"))
                return true;
            last = indent;
        }
        at = next + 1;
    }
    return false;
}
