#!/bin/sh
# cute.sh: tw translate as a person meets it; and, where nvcc is on the PATH and
# CUTLASS_DIR says where CUTLASS is, what nvcc makes of it, executed by the emulator.
# Reports in the manner of TAP.

tw=${TW:-build/tw}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
n=0 bad=0

# verdict NAME STATUS
verdict()
{
    n=$((n + 1))
    if [ "$2" -eq 0 ]; then
        echo "ok $n - $1"
    else
        echo "not ok $n - $1"
        sed 's/^/# /' "$dir/log" | head -n 20
        bad=1
    fi
}

# code NAME TARGET SETTINGS...: $dir/NAME.code.tl from the definition
code()
{
    op=$1 target=$2
    shift 2
    "$tw" gen "ops/$op.tl" --target "$target" --dtype fp16 "$@" -o "$dir" >"$dir/log" 2>&1
}

code gemm_bias sm_80
verdict 'there is code' $?
"$tw" translate "$dir/gemm_bias.code.tl" --dtype fp16 >"$dir/log" 2>&1 && grep -q 'tw::gemm<Place>' "$dir/log"
verdict 'it is translated to standard output' $?
"$tw" translate "$dir/gemm_bias.code.tl" --dtype fp16 -o "$dir/out" >"$dir/log" 2>&1 &&
    [ -s "$dir/out/gemm_bias.sm_80.cu" ] && cmp -s "$dir/out/tilewright_cute.cuh" include/tilewright_cute.cuh
verdict 'or into a folder, with its header' $?
"$tw" translate "$dir/gemm_bias.code.tl" --to cuda >"$dir/log" 2>&1
[ $? -eq 2 ] && grep -q 'there is only cute' "$dir/log"
verdict 'another language is wrong usage' $?
"$tw" translate "$dir/gemm_bias.code.tl" --cutlass "$dir" >"$dir/log" 2>&1
[ $? -eq 2 ] && grep -q 'want a folder' "$dir/log"
verdict 'to compile it needs a folder' $?
"$tw" translate "$dir/gemm_bias.code.tl" --dtype fp16 -o "$dir/out" --cutlass "$dir" >"$dir/log" 2>&1
[ $? -eq 3 ] && grep -q 'no cute/tensor.hpp' "$dir/log"
verdict 'and CUTLASS where it is said to be' $?

# compiled NAME TARGET SETTINGS -- BINDINGS: translated, compiled, executed
compiled()
{
    name=$1 target=$2 sets=$3 binds=$4
    if ! command -v nvcc >/dev/null || [ -z "$CUTLASS_DIR" ]; then
        n=$((n + 1))
        echo "ok $n - $name for $target compiles and agrees # skip no nvcc, or no CUTLASS_DIR"
        return
    fi
    # shellcheck disable=SC2086 # several options each
    code "$name" "$target" $sets &&
        "$tw" translate "$dir/$name.code.tl" --target "$target" --dtype fp16 $sets --against "ops/$name.tl" \
            -o "$dir/out" --cutlass "$CUTLASS_DIR" >"$dir/log" 2>&1 &&
        "$tw" emulate "$dir/out/$name.$target.ptx" $binds >"$dir/log" 2>&1
    verdict "$name for $target compiles and agrees" $?
}

heads='--set q_heads=4 --set kv_heads=2 --set HeadDim=64'
compiled attention sm_80 "$heads" '--bind batch=1 --bind q_len=70 --bind kv_len=90'
compiled attention sm_75 "$heads" '--bind batch=1 --bind q_len=70 --bind kv_len=90'
compiled attention sm_89 "$heads" '--bind batch=1 --bind q_len=70 --bind kv_len=90'
compiled attention sm_90a "$heads" '--bind batch=1 --bind q_len=300 --bind kv_len=500'
compiled gemm_bias sm_80 '' '--bind M=150 --bind N=200 --bind K=136'
compiled attention_fp8 sm_89 "$heads" '--bind batch=1 --bind q_len=70 --bind kv_len=90'
compiled attention_fp8 sm_90a "$heads" '--bind batch=1 --bind q_len=150 --bind kv_len=190'
compiled attention_kv_int8 sm_90a "$heads" '--bind batch=1 --bind q_len=150 --bind kv_len=190'
compiled attention_backward sm_90a '--set HeadDim=64' '--bind batch=1 --bind heads=1 --bind q_len=70 --bind kv_len=90'
compiled rmsnorm sm_89 '' '--bind M=5 --bind N=700'

echo "1..$n"
exit $bad
