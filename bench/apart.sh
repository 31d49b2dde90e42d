#!/bin/sh
# apart.sh: operands of products that every block makes anew, beside the same made once
# by kernels ahead (docs/fuser.md), and which of the two is chosen.
#
#   bench/apart.sh
#
# Environment: TW the compiler (build/tw), TARGET (sm_90a), ROUNDS (30), JOBS how many are
# compiled at a time (8), LIMIT seconds for each case (30), OUT where the kernels go
# (build/bench/apart). Prints a line a case: milliseconds of each, their ratio, and whether
# `tw gen` makes the operands apart.

set -u
cd "$(dirname "$0")/.." || exit 3
TW=${TW:-build/tw}
TARGET=${TARGET:-sm_90a}
ROUNDS=${ROUNDS:-30}
JOBS=${JOBS:-8}
LIMIT=${LIMIT:-30}
OUT=${OUT:-build/bench/apart}
export TW TARGET OUT

wide="--set N=4096 --set K=4096"
long="--bind batch=4 --bind q_heads=16 --bind q_len=4096 --bind kv_len=4096"
cases()
{
    for m in 16 256 1024 4096; do echo "layernorm_gemm $m $wide --bind M=$m"; done
    for m in 16 128 512 4096; do echo "rmsnorm_gemm $m $wide --bind M=$m"; done
    for m in 256 2048; do echo "rmsnorm_swiglu $m --set F=11008 --set K=4096 --bind M=$m"; done
    for m in 64 128 256 512 2048; do echo "gemm_gptq $m $wide --dtype fp16 --bind M=$m"; done
    for m in 128 512 2048 8192; do echo "gemm_weight_int8 $m $wide --bind M=$m"; done
    echo "qk_norm_attention 4096 --set HeadDim=128 $long --bind kv_heads=16"
    echo "rotary_attention 4096 --set Half=64 $long --bind kv_heads=16"
    echo "attention_fp8 4096 --set HeadDim=128 $long --bind kv_heads=16"
    echo "attention_kv_int8 4096 --set HeadDim=128 $long --bind kv_heads=4"
}

if [ "${1:-}" = --make ]; then # OP NAME OPTIONS...
    op=$2 name=$2-$3
    shift 3
    for apart in 0 1 auto; do
        mkdir -p "$OUT/$name/$apart"
        [ $apart = auto ] || set -- --set apart=$apart "$@"
        "$TW" gen "ops/$op.tl" "$@" --target "$TARGET" -o "$OUT/$name/$apart" >"$OUT/$name/$apart.txt" 2>&1 </dev/null
        [ $apart = auto ] || shift 2
    done
    exit 0
fi

cases | sed 's/^/--make /' | xargs -P "$JOBS" -L 1 "$0"
printf '%-20s %6s %9s %9s %6s  %s\n' operator rows one apart ratio chosen
cases | while read -r op rows rest; do
    at=$OUT/$op-$rows
    binds=$(echo "$rest" | grep -o -e '--bind [^ ]*')
    for apart in 0 1; do # their names are those of the contestants
        for kind in ptx cubin; do
            [ ! -e "$at/$apart/$op.$TARGET.$kind" ] || mv "$at/$apart/$op.$TARGET.$kind" "$at/apart$apart.$kind"
        done
    done
    chosen=one
    cmp -s "$at/auto/$op.$TARGET.ptx" "$at/apart0.ptx" || chosen=other
    ! cmp -s "$at/auto/$op.$TARGET.ptx" "$at/apart1.ptx" || chosen=apart
    # shellcheck disable=SC2086 # options are words
    timeout -k 5 "$LIMIT" "$TW" bench "$at/apart0.ptx" "$at/apart1.ptx" $binds --rounds "$ROUNDS" 2>"$at/error.txt" </dev/null |
        awk -v op="$op" -v rows="$rows" -v chosen="$chosen" '{ for (i = 1; i < NF; i++) if ($i == "apart0" || $i == "apart1") ms[$i] = $(i + 1) }
            END { if (ms["apart1"] > 0 && ms["apart0"] > 0)
                      printf "%-20s %6d %9.4f %9.4f %6.3f  %s\n", op, rows, ms["apart0"], ms["apart1"], ms["apart1"] / ms["apart0"], chosen
                  else printf "%-20s %6d  not timed\n", op, rows }'
done
