#!/bin/sh
# run_gpu.sh: everything that one visit to a machine with a GPU is for: kernels
# made from ops/, verified, timed alone, timed beside FlashAttention-2, and those that
# only move data beside a copy.
# Prints as it goes; whatever is slow or hangs is ended and counted as failed.
#
#   bench/run_gpu.sh [flash2.py's options]
#
# Environment:
#   TW       the compiler (build/tw)
#   OUT      where results go (build/bench): gpu.txt, memory.json, flash2.json
#   COMMIT   recorded with the results (asked of git when not given)
#   LIMIT    seconds for everything (540)
#   STEPS    which of "verify bench memory flash2 hopper" to do (all but the last,
#            which is for sm_90a: bench/hopper.py)

set -u
cd "$(dirname "$0")/.." || exit 3

TW=${TW:-build/tw}
OUT=${OUT:-build/bench}
COMMIT=${COMMIT:-$(git rev-parse HEAD 2>/dev/null || echo unknown)}
LIMIT=${LIMIT:-540}
STEPS=${STEPS:-verify bench memory flash2}
started=$(date +%s)
failed=0

mkdir -p "$OUT"
ptx=$(mktemp -d)
trap 'rm -rf "$ptx"' EXIT

left() { echo $((LIMIT - $(date +%s) + started)); }
wants() { case " $STEPS " in *" $1 "*) return 0 ;; esac; return 1; }

# NAME OPERATOR SHAPE SETTINGS...: SHAPE is what is bound at launch, `,` between.
kernels()
{
    cat <<'TABLE'
gqa_causal_d128_bf16  attention  batch=2,q_len=1024,kv_len=1024  bf16 q_heads=32 kv_heads=8 HeadDim=128 causal=1
gqa_full_d128_fp16    attention  batch=1,q_len=1000,kv_len=1500  fp16 q_heads=8 kv_heads=2 HeadDim=128 causal=0
mha_causal_d64_bf16   attention  batch=1,q_len=4096,kv_len=4096  bf16 q_heads=4 kv_heads=4 HeadDim=64 causal=1
mqa_full_d64_fp16     attention  batch=2,q_len=700,kv_len=700    fp16 q_heads=8 kv_heads=1 HeadDim=64 causal=0
mha_causal_d128_16k   attention  batch=1,q_len=16384,kv_len=16384 bf16 q_heads=16 kv_heads=16 HeadDim=128 causal=1
gemm_bias_bf16        gemm_bias  M=1000                          bf16 N=1024 K=512
gemm_bias_fp16        gemm_bias  M=777,N=520,K=264               fp16
TABLE
}

# Words of $2 (`,` or space between), each after the option $1.
each() { for word in $(echo "$2" | tr ',' ' '); do printf '%s %s ' "$1" "$word"; done; }

make_kernel() # NAME OPERATOR DTYPE SETTINGS
{
    # shellcheck disable=SC2046 # words are meant
    "$TW" gen "ops/$2.tl" --target sm_80 --dtype "$3" $(each --set "$4") -o "$ptx/$1" </dev/null >/dev/null
}

step() # WHAT NAME OPERATOR SHAPE
{
    seconds=$(left)
    [ "$seconds" -gt 10 ] || { echo "$1 $2: no time left"; return 1; }
    [ "$seconds" -lt 120 ] || seconds=120
    # shellcheck disable=SC2046
    timeout -k 5 "$seconds" "$TW" "$1" "$ptx/$2/$3.sm_80.ptx" $(each --bind "$4") </dev/null
    status=$?
    [ $status -eq 0 ] || echo "$1 $2: exit status $status"
    return $status
}

try_kernels()
{
    kernels | while read -r name operator shape dtype settings; do
        echo "== $name"
        make_kernel "$name" "$operator" "$dtype" "$settings" || { echo "FAILED gen $name"; continue; }
        for what in verify bench; do
            wants $what || continue
            step $what "$name" "$operator" "$shape" || echo "FAILED $what $name"
        done
    done
}

nvidia-smi --query-gpu=name,driver_version,power.limit --format=csv,noheader 2>/dev/null ||
    echo "no nvidia-smi here"
if wants verify || wants bench; then
    try_kernels 2>&1 | tee "$OUT/gpu.txt"
    failed=$(grep -c '^FAILED' "$OUT/gpu.txt")
fi
if wants memory; then
    timeout -k 5 "$(left)" python3 bench/memory.py --tw "$TW" --out "$OUT/memory.json" --commit "$COMMIT" \
        2>&1 | tee "$OUT/memory.txt"
    grep -q ' 0 failed$' "$OUT/memory.txt" || failed=$((failed + 1))
fi
if wants flash2; then
    python3 bench/flash2.py --tw "$TW" --out "$OUT/flash2.json" --commit "$COMMIT" \
        --limit "$(left)" "$@" 2>&1 | tee "$OUT/flash2.txt"
    grep -q ' 0 failed$' "$OUT/flash2.txt" || failed=$((failed + 1))
fi
if wants hopper; then
    python3 bench/hopper.py --tw "$TW" --out "$OUT" --commit "$COMMIT" --limit "$(left)" 2>&1 | tee "$OUT/hopper.txt"
    grep -q ' 0 failed$' "$OUT/hopper.txt" || failed=$((failed + 1))
fi
echo "run_gpu: $failed failed, $(($(date +%s) - started)) s"
[ "$failed" -eq 0 ]
