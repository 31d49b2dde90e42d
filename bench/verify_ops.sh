#!/bin/sh
# verify_ops.sh: every operator of ops/ generated for every target and verified on
# the GPU at hand, which runs the PTX of older ones as well. The settings and the
# shape are those of the examples at the head of each file.
#
#   bench/verify_ops.sh [TARGET...]      (sm_75 sm_80 sm_86 sm_89 sm_90a)
#
# Environment: TW the compiler (build/tw), JOBS how many at a time (8), LIMIT seconds
# for each (90), OUT where the logs go (build/bench/ops), OPS which files (all).
# Prints a line each, and says how many failed.

set -u
cd "$(dirname "$0")/.." || exit 3
TW=${TW:-build/tw}
JOBS=${JOBS:-8}
LIMIT=${LIMIT:-90}
OUT=${OUT:-build/bench/ops}
OPS=${OPS:-ops/*.tl}
export TW LIMIT OUT

if [ "${1:-}" = --one ]; then # FILE TARGET
    case $3 in # which have no 8-bit operands
    sm_75 | sm_80 | sm_86) ! grep -Eq '^  (Input|Output) .*\) e[45]m[23]' "$2" || exit 0 ;;
    esac
    name=$(basename "$2" .tl)
    where=$OUT/$name.$3
    mkdir -p "$where"
    type=bf16
    [ "$3" != sm_75 ] || type=fp16 # Turing has no bf16
    settings=$(sed -n "s/^# *tw gen ops\/$name.tl \(.*\)--dtype.*/\1/p" "$2" | head -n 1)
    shape=$(sed -n "s/^# *tw emulate [^ ]* \(.*\)/\1/p" "$2" | head -n 1)
    # shellcheck disable=SC2086 # words are meant
    if ! "$TW" gen "$2" $settings --dtype $type --target "$3" -o "$where" >"$where/gen.txt" 2>&1 </dev/null; then
        echo "FAILED  gen     $name $3"
    elif timeout -k 5 "$LIMIT" "$TW" verify "$where/$name.$3.ptx" $shape >"$where/verify.txt" 2>&1 </dev/null; then
        echo "ok      $name $3: $(head -n 1 "$where/verify.txt")"
    else
        echo "FAILED  verify  $name $3: $(head -n 1 "$where/verify.txt")"
    fi
    exit 0
fi

mkdir -p "$OUT"
[ $# -gt 0 ] || set -- sm_75 sm_80 sm_86 sm_89 sm_90a
for target in "$@"; do
    for op in $OPS; do echo "$op $target"; done
done | xargs -P "$JOBS" -n 2 "$0" --one | sort >"$OUT/summary.txt"
cat "$OUT/summary.txt"
failed=$(grep -c '^FAILED' "$OUT/summary.txt")
echo "verify_ops: $(grep -c '^ok' "$OUT/summary.txt") right, $failed failed"
[ "$failed" -eq 0 ]
