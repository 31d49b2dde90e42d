#!/bin/sh
# spills.sh: registers and spills that ptxas reports for the kernels of ops/, at
# the choices that the reasoner makes: each operator's heading tells how it is
# made, with nothing chosen again for what is spilled (--set spare=0), with other head dimensions or sizes, element types and targets put in, causal and not. A
# line a kernel, both entries; the exit status is 1 where any spills, or ptxas says that products wait (C75xx), which
# has a line as well.
#
#   bench/spills.sh [OPERATOR...]        all of ops/
#
# Environment: TW (build/tw), TARGETS, DTYPES, DIMS (of heads; 192/128: values are narrower), SIZES (of
# K, L, N and F where there are no heads; -: as they are), MASKS (0, 1: causal): lists to go through.
# Does nothing where there is no ptxas.

tw=${TW:-build/tw}
TARGETS=${TARGETS:-sm_75 sm_80 sm_86 sm_89 sm_90a}
DTYPES=${DTYPES:-fp16 bf16 e4m3}
DIMS=${DIMS:-40 64 80 96 128 160 192 256 192/128}
SIZES=${SIZES:-- 1024 4096}
MASKS=${MASKS:-1 0}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
status=0

if ! ptxas=$(command -v ptxas); then
    echo "# SKIP there is no ptxas"
    exit 0
fi

# has TARGET DTYPE: whether the target multiplies the type
has()
{
    "$tw" targets | grep "^$1 " | grep -q "[ ,]$2[ ,]"
}

# row OP TARGET DTYPE DIM MASK OPTIONS...: a kernel's lines
row()
{
    op=$1 target=$2 dtype=$3 dim=$4 mask=$5
    shift 5
    [ "$mask" = - ] || set -- "$@" --set causal="$mask"
    rm -f "$dir"/*
    "$tw" gen "ops/$op.tl" --target "$target" --dtype "$dtype" "$@" --set spare=0 --ptxas="$ptxas" --cubin=never -o "$dir" >"$dir/out" 2>&1 </dev/null ||
        echo "$(sed -n 's/.*error: //p' "$dir/out" | head -n 1)" >"$dir/error"
    # ptxas 13.0, NAME: 254 registers, 16 bytes spilled
    sed -n 's/^ *ptxas [^,]*, \([^:]*\): \([0-9]*\) registers, \([0-9]*\) bytes spilled.*/\1 \2 \3/p
            s/^ *ptxas [^,]*, \([^:]*\): \([0-9]*\) registers$/\1 \2 0/p' "$dir/out" >"$dir/rows"
    while read -r entry registers spilled; do
        printf '%-32s %-6s %-5s %7s %6s %9s %8s\n' "$entry" "$target" "$dtype" "$dim" "$mask" "$registers" "$spilled"
    done <"$dir/rows"
    [ -s "$dir/rows" ] || printf '%-32s %-6s %-5s %7s %6s %s\n' "$op" "$target" "$dtype" "$dim" "$mask" "no kernel: $(cat "$dir/error")"
    grep -q ' [^0 ][0-9]*$' "$dir/rows" && status=1
    grep -o '(C75.*' "$dir/out" && status=1
}

printf '%-32s %-6s %-5s %7s %6s %9s %8s\n' entry target dtype dim causal registers spilled
[ $# -gt 0 ] || set -- $(ls ops | sed 's/\.tl$//')
for op; do
    gen=$(sed -n "s/^#   tw gen [^ ]* *//p; /^Operator/q" "ops/$op.tl" | sed 's/--dtype.*//')
    dims=-
    case $gen in
    *HeadDim=* | *Half=*) dims=$DIMS ;;
    *[KLNF]=*) dims=$SIZES ;;
    esac
    grep -q '^  Param  causal' "ops/$op.tl" && masks=$MASKS || masks=-
    for target in $TARGETS; do
        for dtype in $DTYPES; do
            has "$target" "$dtype" || continue
            for dim in $dims; do
                half=0 values= sizes=
                case $dim in
                */*) grep -q '^  Param  VDim' "ops/$op.tl" || continue
                     values="--set VDim=${dim#*/}" ;;
                esac
                [ "$dim" = - ] || half=$((${dim%/*} / 2)) sizes="s/--set \([FKLN]\)=[0-9]*/--set \1=${dim%/*}/g"
                for mask in $masks; do
                    # shellcheck disable=SC2046,SC2086 # options are words
                    row "$op" "$target" "$dtype" "$dim" "$mask" \
                        $(echo "$gen" | sed "s/HeadDim=[0-9]*/HeadDim=${dim%/*}/; s/Half=[0-9]*/Half=$half/; $sizes") $values
                done
            done
        done
    done
done
exit $status
