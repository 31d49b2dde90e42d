#!/bin/sh
# ops.sh: every definition in ops/ keeps what its heading promises. The operator
# is called as its file, `tw check` and `tw fmt` have nothing to say, `tw ops`
# has a line for it, and the heading's own two commands (`tw gen ...`, `tw
# emulate ...`) give a kernel that agrees with the definition on a ragged shape,
# without bank conflicts.
# Some are taken to other element types and targets as well. Reports in TAP.

tw=${TW:-build/tw}
TW_OPS=ops
export TW_OPS
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
n=0 bad=0

# report NAME STATUS: one line of TAP, with what the tool wrote when it failed
report()
{
    n=$((n + 1))
    if [ "$2" -eq 0 ]; then
        echo "ok $n - $1"
    else
        echo "not ok $n - $1"
        grep -E 'WRONG|error:' "$dir/out" | head -n 5 | sed 's/^/# /'
        bad=1
    fi
}

# heading OP COMMAND: what follows `tw COMMAND` in the heading
heading()
{
    sed -n "s/^#   tw $2 //p; /^Operator/q" "ops/$1.tl"
}

# kernel OP [OPTIONS...]: the heading's commands, for `tw gen` with further options
kernel()
{
    op=$1
    shift
    gen=$(heading "$op" gen) launch=$(heading "$op" emulate)
    launch=${launch#* }
    rm -f "$dir/$op".*
    # shellcheck disable=SC2086 # commands of a heading are words
    "$tw" gen $gen "$@" -o "$dir" >"$dir/out" 2>&1 </dev/null
    report "tw gen $gen $*" $?
    # shellcheck disable=SC2086
    "$tw" emulate "$dir/$op".sm_*.ptx $launch >"$dir/out" 2>&1 </dev/null
    report "tw emulate what $op gave, $launch" $?
    # shared memory: 64 passes where 64 would do
    awk '/shared memory:/ { n++; if ($3 != $6) bad = 1 } END { exit bad || !n }' "$dir/out"
    report "$op has no bank conflicts" $?
}

# text OP: all that needs no kernel
text()
{
    {
        "$tw" check "ops/$1.tl" >"$dir/out" 2>&1 && [ ! -s "$dir/out" ] &&
            grep -q "^Operator $1\$" "ops/$1.tl"
    } </dev/null
    report "$1: checks, and is called as its file" $?
    "$tw" fmt "ops/$1.tl" 2>"$dir/out" </dev/null | cmp -s - "ops/$1.tl"
    report "$1: is formatted" $?
    "$tw" ops "$1" 2>"$dir/out" </dev/null | cmp -s - "ops/$1.tl" &&
        grep -q "^$1  *[A-Z].*[.]\$" "$dir/list" &&
        [ "$(heading "$1" gen | cut -d ' ' -f 1)" = "ops/$1.tl" ] &&
        [ "$(heading "$1" emulate | cut -d ' ' -f 1)" = "$1.$(heading "$1" gen | sed 's/.*--target //').ptx" ]
    report "$1: listed by tw ops, with its commands" $?
}

"$tw" ops >"$dir/list" 2>&1 </dev/null
for file in ops/*.tl; do
    op=$(basename "$file" .tl)
    text "$op"
    kernel "$op"
done

kernel attention_lse --dtype fp16
kernel layernorm_gemm --dtype fp16
kernel sinks_window --target sm_86 --set HeadDim=128
kernel swiglu --target sm_86
kernel alibi --target sm_75 --dtype fp16
kernel row_softmax --target sm_89 --dtype fp32
for dim in 40 80 96 192; do
    kernel attention --target sm_75 --dtype fp16 --set HeadDim=$dim
    kernel softcap --dtype fp16 --set HeadDim=$dim
    kernel sinks --target sm_89 --dtype e4m3 --set HeadDim=$dim
done
kernel gemm_bias --target sm_89 --dtype e4m3
kernel attention_projection --target sm_89 --dtype e5m2
kernel mlp --target sm_89 --dtype e4m3
kernel attention --target sm_90a --set HeadDim=128
kernel linear_attention --target sm_90a --dtype fp16
kernel chunked_linear_attention --target sm_90a --dtype fp16
kernel gated_mlp --target sm_90a
kernel softcap --target sm_90a --dtype e5m2
kernel differential_attention --target sm_90a
kernel gemm_gptq --target sm_90a
for op in gemm_weight_only gemm_weight_int8 attention_kv_int8 attention_fp8 rotary_attention qk_norm_attention; do
    kernel "$op" --target sm_90a
    grep -q '"name":"role prepare"' "$dir/$op.json"
    report "$op: a role prepares the second operand" $?
done
for dim in 64 80 128; do
    kernel qk_norm_attention --target sm_90a --dtype fp32 --set HeadDim=$dim
done
# Weights in 8 bits whose exact sums divide are those of the maximum, of which the largest is 1.
for set in sums=exact splits=2; do
    kernel attention_fp8 --target sm_89 --set $set
    "$tw" emulate "$dir/attention_fp8.sm_89.ptx" --bind batch=1 --bind q_len=70 --bind kv_len=90 --data=large >"$dir/out" 2>&1 </dev/null
    report "attention_fp8, $set: a weight that is all of its row shows no rounding" $?
done
# Of operands of 8 bits kernels ahead widen, rather than that scores go through memory, and none where that is little work.
wide()
{
    "$tw" fuse "$@" --target sm_90a --dtype e4m3 2>/dev/null </dev/null | sed -n 's/^# leaves \([^ ]*\) in memory.*/\1/p' | sort | tr '\n' ' '
}

[ "$(wide ops/attention_bias.tl --set HeadDim=128)" = "K_wide V_wide " ] &&
    [ "$(wide ops/attention_bias.tl --set HeadDim=256)" = "K_wide Q_wide V_wide " ]
report "attention_bias: operands of 8 bits are widened ahead, and scores stay in registers" $?
[ "$(wide ops/attention_fp8.tl --set HeadDim=128 --set q_heads=4 --set kv_heads=2 --set q_len=70 --set kv_len=90)" = "Q_wide " ]
report "attention_fp8: scores that are small stay in registers, too" $?
[ "$(wide ops/attention_fp8.tl --set HeadDim=256 --set q_heads=16 --set kv_heads=16 --bind batch=4 --bind q_len=70 --bind kv_len=70)" = "" ] &&
    [ "$(wide ops/attention_fp8.tl --set HeadDim=256 --set q_heads=16 --set kv_heads=16 --bind batch=4 --bind q_len=2048 --bind kv_len=2048)" = "K_wide Q_wide V_wide " ]
report "attention_fp8: kernels ahead widen where there is much to do" $?
grep -q '"softmax":"checked","sums":"ones"' "$dir/differential_attention.json"
report "differential_attention: the tensor cores sum the rows of both softmaxes" $?

# In several kernels: where the sizes say so, and where it is asked for.
# shellcheck disable=SC2046 # commands of a heading are words
"$tw" fuse $(heading decode gen) >"$dir/out" 2>&1 </dev/null && grep -q '^Kernel decode_combine' "$dir/out"
report "decode: cut into parts by its sizes" $?
# shellcheck disable=SC2046
! "$tw" fuse $(heading decode gen) --set splits=1 2>/dev/null </dev/null | grep -q _combine
report "decode: one kernel when asked for" $?
# Tiles are chosen for the sizes of the launch, and good for others.
"$tw" gen ops/gemm.tl --set N=512 --set K=4096 --bind M=16 --target sm_90a --cubin=never -o "$dir/few" >"$dir/out" 2>&1 </dev/null &&
    grep -q '^  BM = 16$' "$dir/few/gemm.code.tl" && grep -q '^Kernel gemm_combine' "$dir/few/gemm.code.tl"
report "gemm: small tiles, in parts, for few rows" $?
"$tw" gen ops/attention.tl --set q_heads=4 --set kv_heads=4 --set HeadDim=64 --bind q_len=200 --bind kv_len=333 --target sm_90a --explain \
    --cubin=never -o "$dir/some" >"$dir/out" 2>&1 </dev/null && ! grep -q '^  launch ' "$dir/out" &&
    "$tw" gen ops/attention.tl --set q_heads=4 --set kv_heads=4 --set HeadDim=64 --bind batch=1 --bind q_len=200 --bind kv_len=333 --target sm_90a \
        --explain --cubin=never -o "$dir/all" >"$dir/out" 2>&1 </dev/null && grep -q '^  launch  *q_len=200 batch=1 kv_len=333 ' "$dir/out"
report "attention: what it is chosen for is said, where all of the grid is known" $?
"$tw" gen ops/gemm.tl --set N=512 --set K=4096 --bind M=8192 --target sm_90a --cubin=never -o "$dir/many" >"$dir/out" 2>&1 </dev/null &&
    grep -q '^  BM = 128$' "$dir/many/gemm.code.tl" && ! grep -q '^Kernel gemm_combine' "$dir/many/gemm.code.tl"
report "gemm: large tiles for many rows" $?
"$tw" emulate "$dir/few/gemm.sm_90a.ptx" --bind M=40 >"$dir/out" 2>&1 </dev/null
report "gemm: right with more rows than it was chosen for" $?

# folds OPTIONS...: whether heads that share keys become rows of one tile
folds()
{
    "$tw" fuse ops/decode.tl --set HeadDim=128 --set q_heads=32 --set kv_heads=8 "$@" 2>/dev/null </dev/null | grep -q 'Grid over packed'
}

folds --set q_len=1 && folds --bind q_len=4 --target sm_90a && folds --set fold=1
report "decode: heads that share keys are rows of one tile" $?

! folds && ! folds --bind q_len=4096 && ! folds --bind q_len=4096 --target sm_90a && ! folds --set q_len=1 --set fold=0 &&
    ! folds --set q_len=1 --set q_heads=8
report "decode: heads are apart where they fill tiles, or share nothing" $?
kernel rmsnorm_swiglu --set splits=2
kernel attention_lse --set splits=3 --target sm_75 --dtype fp16
kernel log_softmax --set splits=4
kernel three_gemms --set splits=2

# From sketches beside the definition.
kernel attention_backward --set HeadDim=128
kernel attention_backward --dtype fp16 --target sm_75 --set causal=0
# shellcheck disable=SC2046
"$tw" gen $(heading attention_backward gen) -o "$dir" 2>/dev/null </dev/null | grep -q 'not from the fuser'
report "attention_backward: tw gen says where the flow is from" $?
[ "$(grep -c '^Kernel keys' ops/attention_backward.tl)" = 4 ] && [ "$(grep -c '^Kernel keys' "$dir/attention_backward.sketch.tl")" = 1 ]
report "attention_backward: of several ways the sketch has the one that is taken" $?
for target in sm_89 sm_90a; do
    kernel attention_backward --target $target --dtype e4m3
    "$tw" emulate "$dir/attention_backward.$target.ptx" --bind batch=1 --bind heads=2 --bind q_len=70 --bind kv_len=90 --data=large \
        >"$dir/out" 2>&1 </dev/null
    report "attention_backward: of 8 bits gradients are rounded as the definition scales them ($target)" $?
done
"$tw" run ops/attention_backward.tl --set HeadDim=16 --bind q_len=5 --bind kv_len=7 >"$dir/out" 2>&1 </dev/null
report "attention_backward: tw run executes the definition" $?
# shellcheck disable=SC2046
"$tw" gen $(heading attention_backward gen) --target sm_90a --cubin=never -o "$dir" >/dev/null 2>&1 </dev/null
"$tw" emulate "$dir/attention_backward.sm_90a.ptx" --bind batch=2 --bind heads=2 --bind q_len=69 --bind kv_len=67 2>&1 </dev/null | grep -q 'wgmma.*cp.async.bulk'
report "attention_backward: of any length workspaces have rows that bulk copies take" $?

# shellcheck disable=SC2046
"$tw" gen $(heading qk_norm_attention gen) --set HeadDim=128 --target sm_90a --cubin=never -o "$dir" >/dev/null 2>&1 </dev/null
grep -q 'warps = 8' "$dir/qk_norm_attention.code.tl"
report "qk_norm_attention: cut where each kernel is a good one" $?

# shellcheck disable=SC2046
"$tw" gen $(heading gemm_gelu gen) --set BM=128 --set BN=128 --set warps=4 --cubin=never -o "$dir" >/dev/null 2>&1 </dev/null
[ "$(grep -c 'selp.b32 .*, 0xBF38AA3B, ' "$dir/gemm_gelu.sm_80.ptx")" -eq 28 ]
report "gemm_gelu: 8 of 128 values wait for those before the last 8, in both entries" $?

# Behind the loop the entry for any alignment has the block's number once more, in the loop its lane's for each operation.
# shellcheck disable=SC2046
"$tw" gen $(heading attention gen) --cubin=never -o "$dir" >/dev/null 2>&1 </dev/null
awk '/^[.]visible/ { entry++ } /%ctaid.x;/ { blocks[entry]++ } /and.b32 .*, -2147483648;/ { anew[entry]++ }
     /bar.warp.sync/ { stretches[entry]++ }
     END { exit !(blocks[1] == 1 && blocks[2] == 2 && anew[2] > anew[1] + 4 && stretches[2] > 32 && !stretches[1]) }' \
    "$dir/attention.sm_80.ptx"
report "attention: what follows from numbers of lanes and blocks is made anew in the entry for any alignment" $?

# The same where an entry for aligned rows has few registers beside its tiles, and beside a second output's addresses.
for op in linear_attention:176 attention_lse:160; do
    # shellcheck disable=SC2046
    "$tw" gen $(heading ${op%:*} gen) --set HeadDim=${op#*:} --cubin=never -o "$dir" >/dev/null 2>&1 </dev/null
    awk '/^[.]visible/ { entry++ } /%ctaid.x;/ { blocks[entry]++ } /bar.warp.sync/ { stretches[entry]++ }
         END { exit !(blocks[1] == 2 && stretches[1] > 8 && stretches[1] < stretches[2]) }' "$dir/${op%:*}.sm_80.ptx"
    report "${op%:*}: the same for aligned rows, where tiles leave few registers" $?
done

# A length of the launch divides every element's place: by its reciprocal, which each entry makes once.
"$tw" gen tests/gen/regrouped.tl --set C=32 --cubin=never -o "$dir" >/dev/null 2>&1 </dev/null
awk '/^[.]visible/ { entry++ } /div.u32 %r[0-9]*, -1, / { reciprocals[entry]++ } /rem.u32/ { bad++ }
     END { for (i = 1; i <= entry; i++) if (reciprocals[i] != 1) bad++; exit !(entry == 16 && !bad) }' "$dir/regrouped.sm_80.ptx"
report "regrouped: one reciprocal for the quotients of all elements" $?

# What the operator gives is an output, though a later kernel of its own reads it.
"$tw" gen tests/gen/output_read_again.tl --set N=128 --cubin=never -o "$dir" >/dev/null 2>&1 </dev/null
tr -d '\n' <"$dir/output_read_again.sm_80.ptx" | sed 's://tw ::g' | grep -q '"name": "gs",[^}]*"written": true, *"workspace": false'
report "output_read_again: an output is no workspace" $?

# With nothing said ptxas may spill registers of an entry for any addresses; rows in a window leave room as those without do.
# shellcheck disable=SC2046
"$tw" gen $(heading rmsnorm gen) -o "$dir" >/dev/null 2>&1 </dev/null
awk '/^[.]visible/ { any = /_any[(]/; entries += any } any && /^[.]minnctapersm [0-9]+$/ { told++ }
     END { exit !(entries > 1 && told == entries) }' "$dir"/rmsnorm.*.ptx
report "rmsnorm: entries for any addresses take the registers that they need" $?

echo "1..$n"
exit $bad
