#!/bin/sh
# emulator.sh: how fast the emulator executes, with all checks on, in a core's
# processor time: thread instructions of kernels without tensor cores, and
# multiply-adds of one that does little else.
set -eu
cd "$(dirname "$0")/.."
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

# emulate OP ARGUMENT...: leaves the JSON in $dir/out
emulate()
{
    op=$1
    shift
    build/tw gen --dtype fp16 "ops/$op.tl" -o "$dir" >/dev/null
    build/tw emulate --json --all "$dir/$op.sm_80.ptx" "$@" | tr ',' '\n' >"$dir/out"
}

# number NAME: what the first variant says
number() { sed -n "s/.*\"$1\":\([0-9.]*\).*/\1/p" "$dir/out" | head -n 1; }

for op in rmsnorm row_softmax; do
    emulate $op --bind M=256 --bind N=2048
    awk -v op=$op -v n="$(number thread)" -v t="$(number processor_seconds)" \
        'BEGIN { printf "%s: %.0f million thread instructions a second\n", op, n / t / 1e6 }'
done
emulate gemm --bind M=512 --bind N=512 --bind K=2048
awk -v t="$(number processor_seconds)" \
    'BEGIN { printf "gemm: %.0f million multiply-adds a second\n", 512 * 512 * 2048 / t / 1e6 }'
