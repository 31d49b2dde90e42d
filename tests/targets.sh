#!/bin/sh
# targets.sh: what an inner loop costs on each target, as the emulator counts.
# Reports in TAP.

tw=${TW:-build/tw}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
n=0 bad=0

# verdict NAME STATUS: 0 is well
verdict()
{
    n=$((n + 1))
    if [ "$2" -eq 0 ]; then
        echo "ok $n - $1"
    else
        echo "not ok $n - $1"
        sed 's/^/# /' "$dir/out" | head -n 5
        bad=1
    fi
}

# counts FILE LENGTH: emulates so many keys with 128 queries
counts()
{
    "$tw" emulate "$dir/attention.sm_75.ptx" --json --bind batch=1 --bind q_heads=1 --bind kv_heads=1 \
        --bind q_len=128 --bind "kv_len=$2" >"$dir/$1" </dev/null
}

# count FILE CLASS: warp instructions of a class
count()
{
    sed -n "s/.*\"PTX, aligned\".*\"$2\":\([0-9]*\).*/\1/p" "$dir/$1"
}

# Two lengths differ by so many turns of the inner loop. Of what the tensor cores
# do, only the two products count as such: 2 x 128 x 256 x 128 multiply-adds in
# steps of 16 x 8 x 8. The sums of P on the side are among the others.
for causal in 0 1; do
    "$tw" gen ops/attention.tl --target sm_75 --dtype fp16 --set HeadDim=128 --set causal=$causal -o "$dir" \
        >"$dir/out" 2>&1 </dev/null && counts short 512 && counts long 768
    verdict "kernel for sm_75, causal = $causal" $?
    mma=$((2 * 128 * 256 * 128 / (16 * 8 * 8)))
    all=$(($(count long warp) - $(count short warp)))
    echo "# sm_75, head dimension 128, causal = $causal: $all warp instructions for $mma mma.m16n8k8" | tee "$dir/out"
    [ "$(($(count long mma) - $(count short mma)))" -ge $mma ] && [ $(((all - mma) * 10)) -le $((mma * 13)) ]
    verdict "at most 1.3 other instructions for each mma of sm_75, causal = $causal" $?
done

echo "1..$n"
exit $bad
