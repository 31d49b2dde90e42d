#!/bin/sh
# wrong.sh: the witnesses can see. Code and PTX are damaged by one edit each, and
# the definition, the checks or the emulator must notice. Reports in TAP.

tw=${TW:-build/tw}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
n=0 bad=0

options='--set q_heads=2 --set kv_heads=1 --set HeadDim=64 --dtype bf16'
shape='--bind batch=1 --bind q_len=150 --bind kv_len=150'

# shellcheck disable=SC2086 # lists of words
"$tw" gen ops/attention.tl $options -o "$dir" >/dev/null || exit 1
code=$dir/attention.code.tl ptx=$dir/attention.sm_80.ptx

# notice WHAT STATUS COMMAND...: the command must end with the status
notice()
{
    n=$((n + 1)) what=$1 want=$2
    shift 2
    "$@" >"$dir/out" 2>&1 </dev/null
    status=$?
    if [ $status -eq "$want" ]; then
        echo "ok $n - $what"
    else
        echo "not ok $n - $what: exit status $status"
        tail -n 5 "$dir/out" | sed 's/^/# /'
        bad=1
    fi
}

# edit FILE SCRIPT: a damaged copy in $dir/bad; it must differ
edit()
{
    sed "$2" "$1" >"$dir/bad"
    ! cmp -s "$1" "$dir/bad" || { echo "not ok $((n + 1)) - nothing to damage: $2"; exit 1; }
}

# shellcheck disable=SC2086
wrong_code()
{
    edit "$code" "$2"
    cp "$dir/bad" "$dir/bad.tl"
    notice "code: $1" 1 "$tw" run "$dir/bad.tl" --against ops/attention.tl $options $shape
}

# shellcheck disable=SC2086
wrong_ptx()
{
    edit "$ptx" "$2"
    notice "PTX: $1" 1 "$tw" emulate "$dir/bad" $shape
}

# shellcheck disable=SC2086
notice 'the right code passes' 0 "$tw" run "$code" --against ops/attention.tl $options $shape
# shellcheck disable=SC2086
notice 'the right PTX passes' 0 "$tw" emulate "$ptx" $shape

wrong_code 'no mask' '/Compute Mask/d'
wrong_code 'a mask that is one off' 's/row(S)/row(S) + 1/'
wrong_code 'no scale' '/Compute Multiply S, scale/d'
wrong_code 'no division by the sum' '/Compute Divide/d'
wrong_code 'another head of K' 's/kv_heads = h div[^,]*,/kv_heads = 0 * h,/;s/Copy K \(.*\)kv_len = j/Copy K \1kv_len = 0 * j/'
wrong_code 'a loop that ends early' 's/ceil(kv_len \/ BN)/kv_len div BN/'
wrong_ptx 'no barriers' '/bar.sync/d;/barrier.sync/d'
wrong_ptx 'no waits for copies' '/cp.async.wait/d'
wrong_ptx 'a copy from elsewhere' '0,/cp.async.cg/s/\(cp.async.cg[^,]*\), \[\(%[a-z0-9]*\)/\1, [\2+16/'
wrong_ptx 'exponentials gone wrong' 's/ex2.approx/rcp.approx/'
wrong_ptx 'one product too few' '0,/mma.sync/{/mma.sync/d}'
wrong_ptx 'an instruction that there is not' '0,/mma.sync/s/mma.sync/mma.sink/'
wrong_ptx 'the last store left out' "$(grep -n 'st\.global' "$ptx" | tail -n 1 | cut -d: -f1)d"

edit "$ptx" '1,5s/"tilewright": 2/"tilewright": 99/'
# shellcheck disable=SC2086
notice 'PTX: an ABI of another version' 1 "$tw" emulate "$dir/bad" $shape
head -c 3000 "$ptx" >"$dir/bad"
# shellcheck disable=SC2086
notice 'PTX: a truncated file' 1 "$tw" emulate "$dir/bad" $shape
notice 'a shape that was compiled otherwise' 2 "$tw" emulate "$ptx" --set HeadDim=128
notice 'a dimension that there is not' 2 "$tw" emulate "$ptx" --bind qlen=3

echo "1..$n"
exit $bad
