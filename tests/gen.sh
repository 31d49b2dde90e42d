#!/bin/sh
# gen.sh: the whole chain on fixed and on drawn cases: shapes, masks, dtypes and
# tile sizes. Every artefact (code, tile IR after each pass, PTX three ways) is
# executed and compared with the definition. A failure prints the one-line
# command that replays it. SEED and CASES draw others. Reports in TAP.

tw=${TW:-build/tw}
seed=${SEED:-1} cases=${CASES:-16}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
n=0 bad=0

# try OP OPTIONS...
try()
{
    n=$((n + 1))
    op=$1
    shift
    if "$tw" gen "ops/$op.tl" "$@" --trial -o "$dir" >"$dir/out" 2>&1 </dev/null; then
        echo "ok $n - $op $*"
    else
        echo "not ok $n - $tw gen ops/$op.tl $* --trial -o /tmp/replay"
        grep -E 'WRONG|error:' "$dir/out" | head -n 5 | sed 's/^/# /'
        bad=1
    fi
}

# right NAME "GEN OPTIONS" OPTIONS...: what tests/gen/NAME.tl becomes agrees with it, whatever its code does on the way
right()
{
    n=$((n + 1))
    file=tests/gen/$1.tl gen=$2
    shift 2
    rm -f "$dir"/*.ptx
    # shellcheck disable=SC2086 # options are words
    if "$tw" gen "$file" $gen --cubin=never -o "$dir" >"$dir/out" 2>&1 </dev/null && "$tw" emulate "$dir"/*.ptx "$@" >"$dir/out" 2>&1 </dev/null; then
        echo "ok $n - $file $gen, $*"
    else
        echo "not ok $n - $file $gen, $*"
        grep -E 'WRONG|error:' "$dir/out" | head -n 5 | sed 's/^/# /'
        bad=1
    fi
}

# unmet NAME "GEN OPTIONS" OPTIONS...: of what tests/gen/NAME.tl becomes no lanes meet in a bank of shared memory
unmet()
{
    right "$@"
    n=$((n + 1))
    # shared memory: 64 passes where 64 would do
    if awk '/shared memory:/ { n++; if ($3 != $6) bad = 1 } END { exit bad || !n }' "$dir/out"; then
        echo "ok $n - without bank conflicts"
    else
        echo "not ok $n - without bank conflicts"
        grep 'shared memory:' "$dir/out" | sed 's/^/# /'
        bad=1
    fi
}

# kernels HOW_MANY OP OPTIONS...: ops/OP.tl becomes so many
kernels()
{
    n=$((n + 1))
    many=$1 op=$2
    shift 2
    found=$("$tw" fuse "ops/$op.tl" "$@" 2>/dev/null | grep -c '^Kernel')
    if [ "$found" -eq "$many" ]; then
        echo "ok $n - ops/$op.tl $* becomes $many"
    else
        echo "not ok $n - ops/$op.tl $* becomes $found kernels, not $many"
        bad=1
    fi
}

# met OP OPTIONS...: what ops/OP.tl becomes has no two barriers one right behind the other
met()
{
    n=$((n + 1))
    op=$1
    shift
    rm -f "$dir"/*.ptx
    if "$tw" gen "ops/$op.tl" "$@" --cubin=never -o "$dir" >"$dir/out" 2>&1 </dev/null &&
        awk '/\.loc/ { next } /bar\.sync/ && met { exit 1 } { met = /bar\.sync/ }' "$dir"/*.ptx; then
        echo "ok $n - barriers of ops/$op.tl $*"
    else
        echo "not ok $n - barriers of ops/$op.tl $*"
        bad=1
    fi
}

# loads MOST NAME "GEN OPTIONS" OPTIONS...: what tests/gen/NAME.tl becomes loads no more often than so
loads()
{
    n=$((n + 1))
    most=$1 file=tests/gen/$2.tl gen=$3
    shift 3
    rm -f "$dir"/*.ptx
    # shellcheck disable=SC2086 # options are words
    "$tw" gen "$file" $gen --cubin=never -o "$dir" >"$dir/out" 2>&1 </dev/null && "$tw" emulate "$dir"/*.ptx "$@" >"$dir/out" 2>&1 </dev/null
    found=$(sed -n 's/.* ld\.global \([0-9]*\) .*/\1/p' "$dir/out")
    if [ "${found:-$((most + 1))}" -le "$most" ]; then
        echo "ok $n - $file $gen loads $found times"
    else
        echo "not ok $n - $file $gen loads ${found:-never}, not at most $most times"
        bad=1
    fi
}

# attention HEADS KV_HEADS DIM TYPE CAUSAL Q_LEN KV_LEN [MORE...]
attention()
{
    heads=$1 kv=$2 dim=$3 type=$4 causal=$5 q=$6 k=$7
    shift 7
    try attention --set q_heads="$heads" --set kv_heads="$kv" --set HeadDim="$dim" \
        --set causal="$causal" --dtype "$type" --bind batch=1 --bind q_len="$q" \
        --bind kv_len="$k" "$@"
}

attention 2 2 64 fp16 1 150 150
attention 4 2 128 bf16 1 150 215     # grouped queries, shorter than the keys
attention 4 1 64 bf16 0 100 130      # one key head for all, every key seen
attention 2 2 128 fp16 0 129 65
attention 2 1 64 bf16 1 1 300        # decoding
attention 2 1 64 bf16 1 200 30       # queries that see nothing give zeros
attention 1 1 64 bf16 1 0 64         # nothing to do
attention 1 1 64 bf16 0 64 0         # no keys
attention 2 2 64 fp16 1 70 70 --data growing
attention 2 2 64 bf16 1 70 70 --data large
try attention --set HeadDim=64 --dtype fp16 --bind batch=2 --bind q_heads=4 --bind kv_heads=2 \
    --bind q_len=70 --bind kv_len=90    # the heads are arguments
try gemm_bias --set N=256 --set K=512 --bind M=130
try gemm_weight_int8 --set N=72 --set K=128 --set BK=48 --set BN=64 --set warps=4 --set warps_n=2 --dtype fp16 --bind M=33
try gemm_weight_only --set N=256 --set K=128 --dtype e5m2 --target sm_90a --bind M=77
try attention_projection --set HeadDim=64 --dtype e5m2 --target sm_90a --bind batch=1 --bind q_heads=2 --bind kv_heads=1 --bind q_len=70 --bind kv_len=90
try gemm_bias --set N=136 --set K=72 --dtype fp16 --bind M=77
try gemm_bias --dtype bf16 --bind M=33 --bind N=65 --bind K=97
try ../tests/gen/cache_of_8_bits --set D=128 --target sm_89 --bind b=1 --bind h=4 --bind kvh=2 --bind q=1 --bind kv=100
try ../tests/gen/paged_cache --set D=64 --set page=64 --bind B=2 --bind KH=2 --bind pages=20 --bind maxp=4
try ../tests/gen/paged_cache --set D=64 --set page=64 --target sm_90a --bind B=2 --bind KH=2 --bind pages=20 --bind maxp=4
try ../tests/gen/taps_by_name --set C=64 --set F=64 --bind batch=2 --bind L=100
try ../tests/gen/columns_of_a_head --set D=64 --bind batch=1 --bind heads=3 --bind len=130
try ../tests/gen/tensors_of_the_operator --set HeadDim=64 --bind batch=2 --bind heads=2 --bind q_len=130 --bind kv_len=65
try ../tests/gen/rows_to_integers --dtype fp16 --bind M=50 --bind N=300
try ../tests/gen/rows_to_integers --target sm_90a --bind M=100 --bind N=65 --seed 959 --data uniform
try ../tests/gen/learnt_temperature --data large --seed 3 --bind batch=2 --bind heads=2 --bind q_len=7 --bind kv_len=200
try ../tests/gen/decode_by_hand --set HeadDim=128 --bind batch=2 --bind heads=3 --bind kv_len=333
try ../tests/gen/decode_by_hand --set HeadDim=64 --target sm_90a --dtype fp16 --bind batch=1 --bind heads=2 --bind kv_len=1
try ../tests/gen/paged_by_hand --set D=64 --set page=64 --bind batch=2 --bind q_heads=4 --bind kv_heads=2 --bind pages=9 --bind q_len=70 \
    --bind most=3
try ../tests/gen/paged_by_hand --set D=64 --set page=64 --dtype fp16 --target sm_75 --bind batch=2 --bind q_heads=2 --bind kv_heads=2 \
    --bind pages=9 --bind q_len=1 --bind most=3
for page in 16 64 256; do
    try attention_paged --set HeadDim=64 --set page=$page --target sm_90a --bind batch=2 --bind q_heads=4 --bind kv_heads=2 \
        --bind q_len=150 --bind pages=9 --bind most=$((200 / page + 1))
done
try attention_paged --set HeadDim=128 --set page=16 --set causal=0 --target sm_80 --bind batch=2 --bind q_heads=2 --bind kv_heads=1 \
    --bind q_len=70 --bind pages=9 --bind most=11
try attention_paged --set HeadDim=64 --dtype fp16 --target sm_75 --bind page=7 --bind batch=1 --bind q_heads=2 --bind kv_heads=2 \
    --bind q_len=1 --bind pages=9 --bind most=11
try ../tests/gen/flat_statistics --set h=4 --set kvh=2 --set D=64 --target sm_90a --bind b=2 --bind q=129 --bind kv=129
try ../tests/gen/flat_statistics --set h=8 --set kvh=2 --set D=64 --set q=1 --set splits=1 --bind b=2 --bind kv=100
try ../tests/gen/flat_statistics --set h=8 --set kvh=2 --set D=64 --set q=3 --set splits=2 --bind b=1 --bind kv=100
try ../tests/gen/flat_statistics --set h=8 --set kvh=2 --set D=64 --set q=3 --set splits=1 --set fold=1 --target sm_90a --bind b=2 --bind kv=100
for cut in --set=fold=1 --set=splits=2 --set=fold=0; do
    try ../tests/gen/heads_joined --set h=8 --set kvh=2 --set D=80 --set q=3 $cut --target sm_90a --bind b=2 --bind kv=100
done
try ../tests/gen/keys_of_two --set D=64 --set splits=3 --target sm_86 --bind batch=1 --bind heads=2 --bind n=33 --bind t=200
try ../tests/gen/saturated_losses --data large --bind M=33 --bind N=100
try ../tests/gen/saturated_losses --data growing --dtype fp16 --target sm_75 --seed 3 --bind M=33 --bind N=100
try ../tests/gen/expected_places --set W=31 --set stages=3 --target sm_90a --bind b=3 --bind H=217
try ../tests/gen/expected_places --set W=31 --set apart=0 --target sm_89 --dtype e4m3 --bind b=5 --bind H=150
try ../tests/gen/expected_places --set W=127 --dtype fp16 --target sm_86 --bind b=3 --bind H=127    # what warps of a row leave each other takes room
try ../tests/gen/largest_gradient --set F=31 --set apart=1 --target sm_90a --dtype e4m3 --bind M=127
try ../tests/gen/largest_rounded --set BM=48 --bind M=101
try ../tests/gen/largest_rounded --set BM=48 --dtype fp16 --target sm_75 --bind M=33
try ../tests/gen/weights_of_columns --set N=1 --set K=33 --dtype fp16 --target sm_86 --bind M=7
try ../tests/gen/scales_of_keys --set D=128 --dtype fp16 --target sm_75 --bind b=1 --bind h=1 --bind q=70 --bind kv=133
try ../tests/gen/allocated_on_the_way --bind T=37
try ../tests/gen/few_rows_through_shared --bind M=9 --bind N=700
try ../tests/gen/few_rows_through_shared --dtype fp16 --target sm_75 --bind M=9 --bind N=255
try ../tests/gen/few_rows_through_shared --target sm_90a --bind M=3 --bind N=700
try ../tests/gen/sums_up_to_each_row --set D=40 --target sm_90a --bind b=2 --bind n=70
try ../tests/gen/sums_up_to_each_row --dtype fp16 --target sm_75 --bind b=1 --bind n=130 --bind D=33
try ../tests/gen/gates_summed --dtype fp16 --target sm_75 --bind b=2 --bind h=2 --bind n=133
try ../tests/gen/scales_of_blocks --set K=384 --target sm_89 --bind M=9
kernels 3 ../tests/gen/scales_of_blocks --set K=384 --target sm_89
kernels 3 ../tests/gen/integers_of_both --set N=4096 --set K=4096 --bind M=4096 --target sm_90a
kernels 1 ../tests/gen/integers_of_both --set N=4096 --set K=4096 --target sm_90a    # of how many rows is not known
try ../tests/gen/integers_of_both --set N=72 --set K=136 --set apart=1 --target sm_90a --bind M=70
try ../tests/gen/integers_of_both --set N=72 --set K=136 --set apart=1 --dtype fp16 --target sm_75 --bind M=33
kernels 2 ../tests/gen/needless_product --set N=128 --set K=128 --set apart=1 # not three
try ../tests/gen/needless_product --set N=128 --set K=128 --set apart=1 --bind M=33
kernels 1 ../tests/gen/heads_joined --set h=8 --set kvh=2 --set D=80
kernels 2 ../tests/gen/queries_absorbed --set h=16
kernels 3 ../tests/gen/attention_layer --set heads=2 --set D=64 --set E=128
try ../tests/gen/attention_layer --set heads=2 --set D=64 --set E=128 --target sm_90a --bind b=1 --bind n=77
try ../tests/gen/rotated_in_part --set D=96 --set hq=4 --set hk=2 --target sm_90a --bind b=1 --bind n=40
try ../tests/gen/experts_summed --set E=4 --set K=64 --set N=32 --bind T=70
try ../tests/gen/attention_layer --set heads=2 --set D=64 --set E=64 --set warps=8 --dtype fp16 --target sm_75 --bind b=1 --bind n=33    # of each kernel
kernels 2 ../tests/gen/latents_of_one_query --set h=16
try ../tests/gen/latents_of_one_query --set h=16 --bind b=2 --bind kv=70
try ../tests/gen/queries_absorbed --set h=16 --target sm_90a --bind b=2 --bind kv=70
for target in sm_80 sm_90a; do
    kernels 1 ../tests/gen/values_among_keys --set H=64 --target $target
    try ../tests/gen/values_among_keys --set H=16 --target $target --bind B=2 --bind L=150
done
for target in sm_80 sm_90a; do
    kernels 1 ../tests/gen/latents_in_pages --set H=16 --target $target
    try ../tests/gen/latents_in_pages --set H=16 --target $target --bind B=2 --bind pages=9 --bind most=3
    kernels 3 ../tests/gen/parts_of_heads --target $target    # one of them for O
    try ../tests/gen/parts_of_heads --target $target --bind B=1 --bind H=2 --bind n=33 --bind L=70
done
n=$((n + 1))
copies=$("$tw" fuse tests/gen/values_among_keys.tl --set H=16 | grep -c 'Copy KV')
if [ "$copies" -eq 1 ]; then echo "ok $n - values among the keys are copied with these"; else echo "not ok $n - $copies copies of the keys"; bad=1; fi
try ../tests/gen/maximum_alone --set D=64 --bind B=1 --bind H=2 --bind N=50 --bind M=60
n=$((n + 1))
if grep -q warning "$dir/out"; then echo "not ok $n - code that was worked out is warned of"; bad=1; else echo "ok $n - no warning of code that was worked out"; fi
try ../tests/gen/flat_scales --target sm_75 --dtype fp16 --bind M=33 --bind N=129
try ../tests/gen/flat_statistics --set h=1 --set kvh=1 --set D=64 --set q=1 --set b=1 --bind kv=33
# Heads that share keys as rows of one tile: decode TARGET HEADS KV_HEADS DIM Q_LEN KV_LEN [MORE...]
decode()
{
    target=$1 heads=$2 kv=$3 dim=$4 q=$5 k=$6
    shift 6
    try decode --target "$target" --set q_heads="$heads" --set kv_heads="$kv" --set HeadDim="$dim" --set q_len="$q" \
        --bind batch=2 --bind kv_len="$k" "$@"
}

decode sm_80 8 2 64 1 333 --set splits=3
decode sm_90a 8 1 128 1 70 --set splits=1
decode sm_80 16 2 64 2 129 --set splits=2
decode sm_90a 6 2 64 3 200 --set splits=1 --dtype fp16
decode sm_80 4 4 64 1 100 --set splits=2    # none share
decode sm_90a 4 1 64 16 150 --set splits=2  # warpgroups, rows that bulk copies bring
decode sm_75 4 1 64 3 0 --dtype fp16
decode sm_89 8 2 128 5 99 --set fold=0
try attention_paged --set q_heads=8 --set kv_heads=2 --set HeadDim=64 --set page=16 --set q_len=2 --target sm_90a \
    --bind batch=2 --bind pages=9 --bind most=5
try alibi --set fold=1 --set q_heads=8 --set kv_heads=2 --set HeadDim=64 --set VDim=64 --bind batch=1 --bind q_len=5 --bind kv_len=90
try sinks --set fold=1 --set q_heads=8 --set kv_heads=1 --set HeadDim=64 --bind batch=1 --bind q_len=2 --bind kv_len=90
try attention_lse --set fold=1 --set q_heads=4 --set kv_heads=2 --set HeadDim=64 --bind batch=2 --bind q_len=3 --bind kv_len=90
try decode_paged --set HeadDim=128 --set page=16 --set group=4 --set splits=3 --target sm_90a --bind batch=2 --bind kv_heads=2 \
    --bind pages=9 --bind most=20
try decode_paged --set HeadDim=32 --dtype fp16 --bind page=3 --set group=7 --set splits=4 --bind batch=2 --bind kv_heads=1 --bind pages=9 --bind most=40
try decode_paged --set HeadDim=64 --set page=64 --set group=8 --set splits=1 --bind batch=2 --bind kv_heads=2 --bind pages=9 --bind most=3
try attention_paged --set HeadDim=168 --set page=16 --dtype e4m3 --target sm_90a --bind batch=2 --bind q_heads=2 --bind kv_heads=1 \
    --bind q_len=70 --bind pages=20 --bind most=9 # rows that no number of threads is a multiple of
try attention_projection --set HeadDim=136 --bind batch=1 --bind q_heads=2 --bind kv_heads=1 --bind q_len=70 --bind kv_len=90
for data in barred hidden; do
    for target in sm_80 sm_90a; do
        try ../tests/gen/masks_added --set HeadDim=128 --target $target --data $data --bind batch=1 --bind heads=1 --bind q_len=77 \
            --bind kv_len=333
    done
    try attention_bias --set HeadDim=64 --dtype fp16 --target sm_75 --data $data --bind batch=1 --bind q_heads=2 --bind kv_heads=1 \
        --bind q_len=70 --bind kv_len=150
done
for t in "sm_75 --dtype fp16" sm_80 sm_90a; do
    # shellcheck disable=SC2086 # a target and its type
    {
        try ../tests/gen/balanced --target $t --set n=8 --bind B=3
        try ../tests/gen/balanced --target $t --bind B=3 --bind n=37
        try ../tests/gen/divisors_beyond --target $t --bind M=20 --bind N=33 --bind K=37
        try ../tests/gen/divisors_beyond --target $t --set K=70 --bind M=20 --bind N=33
    }
done
for t in "sm_75 --dtype fp16" sm_80 sm_90a; do
    # shellcheck disable=SC2086 # a target and its type
    try ../tests/gen/least_added --set D=32 --target $t --bind b=3 --bind h=2 --bind n=150
    try ../tests/gen/least_added --target $t --bind b=2 --bind h=2 --bind n=50 --bind D=200 # scores come from a kernel before
done
try ../tests/gen/masks_added --set HeadDim=128 --set low=-1e9 --bind batch=1 --bind heads=1 --bind q_len=77 --bind kv_len=333
for t in "sm_75 --dtype fp16" "sm_80" "sm_90a"; do
    # shellcheck disable=SC2086 # a target and its type
    try ../tests/gen/mask_by_bits --set D=64 --target $t --bind batch=2 --bind q_heads=2 --bind kv_heads=1 --bind q_len=13 --bind kv_len=150
done
try ../tests/gen/two_adapters --set r=16 --set K=64 --set N=96 --target sm_90a --bind T=45 --bind A=4
try ../tests/gen/gathered_rows --set K=64 --set N=128 --target sm_90a --bind tokens=50 --bind groups=3 --bind slots=70
for t in sm_80 sm_90a; do
    try ../tests/gen/less_by_distance --set D=64 --target $t --bind batch=1 --bind heads=3 --bind q_len=70 --bind kv_len=133
done
# Words that bits are taken of: one for as many neighbours as share it, on its way a turn ahead, also where there is none.
for t in "sm_75 --dtype fp16" sm_80 sm_90a; do
    for bits in 2 4 8; do
        # shellcheck disable=SC2086 # a target and its type
        try ../tests/gen/words_along_sums --set Bits=$bits --set M=8 --target $t --bind N=70 --bind K=1000
    done
    # shellcheck disable=SC2086
    try ../tests/gen/words_along_sums --set M=8 --set splits=4 --target $t --bind N=33 --bind K=72
done
loads 1200 words_along_sums "--set M=8 --set Group=128 --set K=1024 --set N=64" # 3 kernels: 2 x 65,536 / 8 words, as many scales
# Elements that lie beside each other come several at once, of several operations, too.
loads 100 pairs_turned "--set D=64" --bind L=5 --bind H=8
loads 110 four_taps "" --bind b=2 --bind n=8 --bind C=256
loads 170 four_taps "--dtype fp32" --bind b=2 --bind n=8 --bind C=256
for t in "sm_75 --dtype fp16" sm_80 "sm_90a --dtype fp32"; do
    for d in 64 40 6; do
        # shellcheck disable=SC2086 # a target and its type
        try ../tests/gen/pairs_turned --set D=$d --target $t --bind L=5 --bind H=9
    done
done
# Parts of a loop that begin at a multiple of what its stages are.
for stages in 2 3 4 5 6 8; do
    met gemm_gptq --set N=4096 --set K=4096 --set gemm_gptq.stages=$stages --bind M=8
    met gemm --set K=4096 --set splits=4 --set gemm.stages=$stages --bind M=64 --bind N=512
done
met attention_lse --set HeadDim=64 --set splits=4 --set kv_len=4096 --bind q_len=1
# Registers that are left to the assembler.
try ../tests/gen/power_of_scores --set spare=64 --set D=96 --bind batch=1 --bind heads=2 --bind q_len=37 --bind kv_len=133
for t in sm_80 sm_90a; do
    try ../tests/gen/cosine_of_rows --set spare=8 --target $t --bind M=9 --bind N=3001
done
try ../tests/gen/smoothed --target sm_90a --bind M=70 --bind N=133
# Operands that a kernel ahead makes once.
try layernorm_gemm --set apart=1 --set N=136 --set K=72 --bind M=77
try rmsnorm_swiglu --set apart=1 --set F=136 --set K=256 --target sm_90a --bind M=70
try gemm_gptq --set apart=1 --set N=256 --set K=256 --dtype fp16 --target sm_75 --bind M=77
try gemm_weight_int8 --set apart=1 --target sm_90a --bind M=33 --bind N=136 --bind K=144
try qk_norm_attention --set apart=1 --set HeadDim=64 --bind batch=1 --bind q_heads=4 --bind kv_heads=2 --bind q_len=70 --bind kv_len=90
try rotary_attention --set apart=1 --set Half=32 --target sm_90a --bind batch=1 --bind q_heads=2 --bind kv_heads=1 --bind q_len=70 --bind kv_len=90
try attention_kv_int8 --set apart=1 --set HeadDim=64 --dtype fp16 --bind batch=1 --bind q_heads=2 --bind kv_heads=1 --bind q_len=7 --bind kv_len=90
for half in 32 64 100; do
    for t in "sm_75 --dtype fp16" "sm_80" "sm_90a"; do
        # shellcheck disable=SC2086 # a target and its type
        try ../tests/gen/parts_beside --set Half=$half --target $t --bind batch=2 --bind len=37
    done
done
wide="--target sm_90a --set N=4096 --set K=4096"
# shellcheck disable=SC2086 # options are words
{
    kernels 2 layernorm_gemm $wide # however many rows
    kernels 1 layernorm_gemm $wide --set apart=0
    kernels 1 layernorm_gemm --target sm_90a --set N=64 --set K=4096 --bind M=65536 # one tile of columns
    kernels 1 layernorm_gemm --target sm_90a
    kernels 2 gemm_gptq $wide --bind M=2048
    kernels 1 gemm_gptq $wide # weights, which a launch of few rows should not widen
    kernels 2 gemm_gptq $wide --bind M=16 # parts, combined
    kernels 1 gemm_gptq $wide --set BM=128 --bind M=2048
    kernels 2 gemm_gptq $wide --set gemm_gptq_2.BM=128 --bind M=2048 # as a search names it
}
for t in sm_80 sm_90a "sm_75 --dtype fp16"; do
    # shellcheck disable=SC2086 # options are words
    try ../tests/gen/orders_by_hand --set D=32 --target $t --bind batch=2 --bind heads=3 --bind q_len=70 --bind kv_len=150
done
for t in sm_80 sm_90a; do
    try ../tests/gen/logarithm_of_distance --set D=64 --target $t --bind b=1 --bind h=2 --bind q=70 --bind kv=133
    try ../tests/gen/within_chunks --set D=64 --target $t --bind b=1 --bind h=2 --bind n=130 --bind chunk=48
    try ../tests/gen/squared_scores --set D=64 --target $t --bind b=1 --bind h=2 --bind n=133
    for name in root_of_distance dropped_weights products_of_places waves_of_distance tanh_of_elements two_maps_capped slopes_capped weights_added scores_gated \
                keys_by_hash caps_shifted exponentials_summed noise_of_places squares_modulo gradient_of_caps scores_in_both; do
        try ../tests/gen/$name --set D=64 --target $t --bind b=1 --bind h=2 --bind q=70 --bind kv=133
    done
    try ../tests/gen/steps_of_w --set D=64 --target $t --bind b=1 --bind h=2 --bind q=70 --bind kv=133 --bind w=5
    try ../tests/gen/dropped_by_words --set D=64 --target $t --bind b=1 --bind h=2 --bind q=70 --bind kv=133 --bind seed=-987654321
    try ../tests/gen/roots --target $t --bind M=40 --bind N=53
    try ../tests/gen/unit_rows --set D=64 --dtype fp16 --target $t --bind n=70
    try ../tests/gen/dimensions_of_one_name --dtype fp16 --target $t --bind n=70 --bind H=2 --bind B=3
    try ../tests/gen/transposes_of_one_name --dtype fp16 --target $t --bind n=40
    try ../tests/gen/gathered_twice --dtype fp16 --target $t --bind a=5 --bind b=7 --bind c=3 --bind n=37 --bind m=19
    try ../tests/gen/rounded_in_both_spaces --target $t --set n=33 --set D=16
    try ../tests/gen/codes_and_their_use --dtype fp32 --set D=64 --target $t --bind n=33 --bind codes=31
    try ../tests/gen/splits_before_heads --set HeadDim=64 --target $t --bind batch=2 --bind q_heads=4 --bind kv_heads=2 --bind q_len=70 --bind kv_len=200
    try ../tests/gen/sums_by_gates --target $t --bind m=133 --bind E=70
    try ../tests/gen/entries_of_one_name --target $t --bind n=33
    try ../tests/gen/columns_copied_first --set D=64 --set c=64 --target $t
    try ../tests/gen/columns_copied_first --target $t --bind c=70 --bind D=40
    try ../tests/gen/gram_by_places --target $t --bind n=70 --bind E=20
    try ../tests/gen/experts_together --set experts=16 --target $t --bind tokens=70
    try ../tests/gen/experts_together --target $t --bind experts=150 --bind tokens=50
    try ../tests/gen/column_beside_row --target $t --bind n=70 --bind E=40
    try ../tests/gen/column_beside_row --set n=48 --set E=64 --target $t
    try ../tests/gen/few_rows_of_a_loop --set n=2 --set m=7 --target $t --bind E=48
    try ../tests/gen/few_rows_of_a_loop --set n=3 --set m=17 --target $t --bind E=40
    try ../tests/gen/one_number_beside --target $t --bind n=37 --bind D=70 --bind m=300
    try ../tests/gen/outside_of_computed --dtype fp16 --target $t --bind n=17 --bind D=64
    try ../tests/gen/softmax_of_scaled_bytes --dtype fp16 --set N=40 --target $t --bind M=9
    try ../tests/gen/rows_of_long_integers --dtype fp16 --set N=1001 --target $t --bind M=5
    try ../tests/gen/rows_of_long_integers --dtype fp16 --set N=16384 --target $t --bind M=2
    try ../tests/gen/places_in_rows_of_one --dtype fp16 --set N=1 --target $t --bind M=8
done
# Rows that a cluster keeps, of several inputs, of integers, and with a number a row.
for name in divergence softmax_of_scaled_bytes first_of_the_largest; do
    try ../tests/gen/$name --dtype fp16 --set N=40000 --target sm_90a --bind M=2
done
for t in sm_75 sm_80 sm_86 sm_90a; do # of any length, beside what one loop alone reads
    try ../tests/gen/softmax_beside_residual --dtype fp16 --target $t --bind n=5 --bind E=1600
    try ../tests/gen/softmax_beside_residual --dtype fp16 --target $t --bind n=1 --bind E=40000
done
try layernorm --set N=70000 --target sm_90a --bind M=2
try residual_rmsnorm --set N=33001 --target sm_90a --bind M=2
try row_softmax --target sm_90a --bind M=2 --bind N=70001
for t in sm_80 sm_90a; do
    try ../tests/gen/ring_to_the_end --target $t --bind M=70 --bind N=70 --bind K=200
done
for columns in 1 64 65 300 512 513 1500; do
    try silu_multiply --target sm_90a --bind M=37 --bind F=$columns
done
try ../tests/gen/nibbles --set group=64 --target sm_90a --bind M=33 --bind N=72 --bind K=192
try ../tests/gen/scales_of_columns --set D=96 --target sm_90a --bind batch=1 --bind q_heads=2 --bind kv_heads=1 --bind q_len=9 --bind kv_len=150
try ../tests/gen/channels_mixed --target sm_90a --bind images=2 --bind C=70 --bind K=136 --bind pixels=77
try ../tests/gen/shown_weights --set D=64 --target sm_90a --bind b=1 --bind h=2 --bind L=70
try ../tests/gen/bytes_scaled --target sm_90a --bind M=33 --bind N=72 --bind K=100
try ../tests/gen/bias_of_pairs --set D=32 --set Z=16 --target sm_90a --bind h=2 --bind N=75
# Exponentials of what takes several steps are made value by value: each directly behind the last step of its own.
n=$((n + 1))
"$tw" gen ops/softcap.tl --set HeadDim=128 --target sm_90a --cubin=never -o "$dir/steps" >"$dir/out" 2>&1 </dev/null
behind=$(awk '/ex2.approx/ && last ~ /mul.f32/ { n++ } { last = $0 } END { print n + 0 }' "$dir/steps/softcap.sm_90a.ptx")
if [ "$behind" -ge 64 ]; then
    echo "ok $n - a cap's exponentials come value by value"
else
    echo "not ok $n - $behind exponentials of softcap stand behind the product that they are of"
    bad=1
fi
# Sums that only divide are of the weights as they are multiplied: the rounding of one that is all of its row cancels.
for t in sm_80 sm_90a; do
    try ../tests/gen/power_attention --set D=64 --target $t --bind batch=1 --bind q_heads=4 --bind kv_heads=2 --bind q_len=70 --bind kv_len=150
    right power_attention "--set D=64 --target $t" --bind batch=1 --bind q_heads=2 --bind kv_heads=2 --bind q_len=1 --bind kv_len=1 --data=large --seed=2
    try ../tests/gen/retention_norm --set HeadDim=128 --target $t --bind batch=1 --bind heads=2 --bind len=33
    right retention_norm "--set HeadDim=128 --target $t" --bind batch=1 --bind heads=2 --bind len=1 --seed=3
done
try ../tests/gen/integers --bind M=21 --bind N=64
try ../tests/gen/letters_declared --bind n=33 --bind m=45 --bind C=5 --bind R=20 --bind k=3 --bind row=2
try ../tests/gen/mean_of_one_column --set M=1 --set N=77 --set P=131
try ../tests/gen/few_rows_weighed --set K=64 --set L=16 --set P=64 --set b=3 --dtype fp16 --target sm_90a --bind h=2
try ../tests/gen/fractions_of_elements --bind b=3 --bind n=13 --bind m=45 --bind lim=7
try ../tests/gen/fractions_of_elements --set lim=7 --bind b=3 --bind n=1 --bind m=345
try ../tests/gen/square_of_shifted_rows --set M=40 --set K=8
try ../tests/gen/square_of_shifted_rows --set K=16 --target sm_90a --bind M=70
try ../tests/gen/integers --target sm_90a --bind M=7 --bind N=77
try ../tests/gen/integers --dtype fp16 --target sm_75 --set N=32 --bind M=5
try ../tests/gen/numbers_of_the_launch --bind p=1.5 --bind M=21 --bind N=64
try ../tests/gen/numbers_of_the_launch --dtype fp16 --target sm_75 --bind p=0.3 --bind M=5 --bind N=33
try ../tests/gen/strides --set D=64 --bind batch=1 --bind heads=4 --bind len=150
try ../tests/gen/choices --set D=64 --bind b=2 --bind h=3 --bind q=70 --bind kv=133
try ../tests/gen/choices --set D=64 --target sm_90a --bind b=1 --bind h=3 --bind q=70 --bind kv=70
try ../tests/gen/tile_read_twice --target sm_90a --bind T=33 --bind D=32
try ../tests/gen/bias_of_a_table --target sm_90a --set D=104 --set heads=3 --bind q_len=77 --bind kv_len=131
try ../tests/gen/square_pairs --set N=35 --set Z=16 --bind h=4
try ../tests/gen/pairs_multiplied --set N=20 --set C=16 --bind batch=2 --bind heads=9
try ../tests/gen/pairs_multiplied --set N=20 --set C=16 --set batch=3 --set fold=1 --bind heads=9
try pairwise_distance --target sm_90a --bind M=70 --bind N=90 --bind D=100
for target in sm_75 sm_80 sm_90a; do
    try ../tests/gen/large_numbers --set D=64 --dtype fp16 --target $target --bind b=2 --bind h=2 --bind q=70 --bind kv=90
    try ../tests/gen/masked_with_a_number --set D=64 --dtype fp16 --target $target --bind b=1 --bind h=2 --bind q=70 --bind kv=50
done
try ../tests/gen/pooled --bind b=2 --bind C=3 --bind L=50
for hw in 1 7 300; do
    try ../tests/gen/regrouped --set C=32 --bind batch=2 --bind HW=$hw
done
try ../tests/gen/regrouped --set C=32 --dtype fp16 --target sm_75 --bind batch=1 --bind HW=77
try ../tests/gen/kept_output --bind M=20 --bind N=96
try ../tests/gen/slots --set HeadDim=64 --dtype fp16 --bind batch=1 --bind heads=2 --bind q_len=200 --bind kv_len=1
try ../tests/gen/own_softmax --set D=64 --bind batch=1 --bind heads=2 --bind q_len=100 --bind kv_len=150
try ../tests/gen/lengths --set HeadDim=64 --target sm_90a --bind batch=3 --bind heads=2 --bind q_len=150 --bind kv_len=170 \
    --bind window=40
try ../tests/gen/lengths --set HeadDim=128 --target sm_90a --bind batch=2 --bind heads=1 --bind q_len=70 --bind kv_len=300 \
    --bind window=-1
try ../tests/gen/words --bind M=21 --bind N=77 --bind p=1021 --bind seed=12345
try ../tests/gen/words --dtype fp16 --target sm_75 --bind M=30 --bind N=33 --bind p=-1000003 --bind seed=7
try ../tests/gen/words --target sm_90a --bind M=5 --bind N=300 --bind p=65536 --bind seed=-3
try ../tests/gen/hashes --bind M=21 --bind N=77 --bind seed=12345 --bind keep=0.75
try ../tests/gen/hashes --dtype fp16 --target sm_75 --bind M=200 --bind N=33 --bind seed=7 --bind keep=0.5
try ../tests/gen/hashes --target sm_90a --bind M=5 --bind N=300 --bind seed=-3 --bind keep=0.25
try ../tests/gen/chosen_of_the_launch --bind E=7 --bind M=6 --bind N=11 --bind k=4
try ../tests/gen/chosen_of_the_launch --dtype fp16 --target sm_75 --data ones --bind E=3 --bind M=5 --bind N=7 --bind k=2
try ../tests/gen/whole_numbers --bind M=9 --bind N=64
try ../tests/gen/blocks_of_8_bits --target sm_89 --bind M=21 --bind N=384
try attention --set HeadDim=64 --dtype fp32 --target sm_75 --bind batch=1 --bind q_heads=2 --bind kv_heads=1 --bind q_len=37 --bind kv_len=50
for k in 1 33 200; do
    try ../tests/gen/ring_by_hand --bind M=100 --bind N=70 --bind K=$k
done
for target in sm_80 sm_90a; do
    try ../tests/gen/elements_of_tiles --set D=64 --target $target --bind heads=2 --bind len=150
    try ../tests/gen/elements_in_sketches --set D=64 --target $target --bind heads=2 --bind q_len=70 --bind kv_len=130
    try ../tests/gen/result_through_shared --target $target --bind M=50 --bind N=70 --bind K=33
    try ../tests/gen/weights_through_shared --target $target --bind B=1 --bind H=2 --bind Hk=1 --bind L=33 --bind S=70
done
try ../tests/gen/parts_in_turns --set D=192 --set DV=128 --bind heads=2 --bind len=150
try ../tests/gen/parts_in_turns --set D=128 --set DV=64 --dtype fp16 --target sm_75 --bind heads=1 --bind len=70
try ../tests/gen/parts_in_turns --set D=192 --set DV=192 --target sm_90a --bind heads=1 --bind len=70
try ../tests/gen/ring_by_hand --dtype fp16 --target sm_75 --bind M=70 --bind N=100 --bind K=100
for t in sm_80 sm_90a; do
    try ../tests/gen/named_elements --set E=4 --target $t --bind N=90 --bind K=64 --bind tiles=4
    try ../tests/gen/named_length --set D=64 --target $t --bind B=2 --bind H=2 --bind Nq=5 --bind Nk=120
    try ../tests/gen/column_sums --target $t --bind M=300 --bind N=90
    try ../tests/gen/columns_online --set D=64 --target $t --bind H=2 --bind Nq=70 --bind Nk=90
    try ../tests/gen/means_of_rows --set D=96 --target $t --bind M=70
    try ../tests/gen/loss_of_tokens --set K=64 --target $t --bind T=37 --bind Vv=333
    try ../tests/gen/group_norm --set C=32 --target $t --bind B=3 --bind G=2 --bind L=50
done
try ../tests/gen/heads_as_rows --set G=8 --set D=128 --target sm_90a --bind B=3 --bind T=200
try ../tests/gen/three_positions --set D=64 --bind n=37
try ../tests/gen/state_of_a_step --set D=32 --bind H=2
try ../tests/gen/state_of_a_step --set D=64 --dtype fp16 --target sm_75 --bind H=1
try ../tests/gen/single_query --bind H=3
try ../tests/gen/gelu_gradient --data negative --bind M=37 --bind N=100
try ../tests/gen/weights_of_heads --set D=64 --bind B=1 --bind H=4 --bind n=13
try ../tests/gen/features_normalised --set D=64 --set H=2 --set n=50
try ../tests/gen/normalized_and_rotated --set h=4 --set g=2 --set R=16 --set D=64 --target sm_90a --bind b=1 --bind n=77
try ../tests/gen/normalized_and_rotated --set h=2 --set g=1 --set R=8 --set D=64 --set apart=1 --target sm_90a --bind b=2 --bind n=33
try ../tests/gen/pages_of_8_bits --set D=64 --set page=16 --set g=2 --set hg=4 --target sm_89 --bind b=2 --bind pages=5 --bind most=3
try ../tests/gen/pages_of_8_bits --set D=64 --set page=64 --set g=2 --set hg=4 --target sm_90a --bind b=2 --bind pages=5 --bind most=3
try ../tests/gen/pages_of_scaled_bytes --set D=64 --set page=16 --set g=2 --set hg=4 --bind b=2 --bind pages=5 --bind most=3
try ../tests/gen/pages_of_scaled_bytes --set D=64 --set page=64 --set g=2 --set hg=4 --target sm_90a --bind b=2 --bind pages=5 --bind most=3
try ../tests/gen/means_of_outer_products --set C=32 --set BM=64 --set apart=1 --bind s=70 --bind n=5
try ../tests/gen/means_of_outer_products --set C=32 --target sm_90a --bind s=33 --bind n=7
try ../tests/gen/keys_rotated_by_hand --set D=64 --target sm_90a --bind b=1 --bind n=150
try ../tests/gen/keys_rotated_in_a_formula --set D=64 --bind b=1 --bind n=70
try ../tests/gen/keys_rotated_in_a_formula --set D=64 --target sm_90a --bind b=1 --bind n=150
try ../tests/gen/features_normalised --set D=64 --bind H=2 --bind n=50
try ../tests/gen/numbers_as_sizes --bind H=4
try ../tests/gen/numbers_as_sizes --dtype fp16 --target sm_75 --bind H=3
try ../tests/gen/numbers_in_products --target sm_90a
try ../tests/gen/size_of_an_earlier_kernel --set D=16 --bind B=2 --bind q=5 --bind n=128 --bind t=3
try ../tests/gen/dimensions_as_sizes --set BM=64 --set BN=96 --bind row=3 --bind col=21
try ../tests/gen/heads_called_row --set row=8 --set col=2 --set BM=128 --set BN=1 --bind BK=2 --bind m=333 --target sm_90a
try ../tests/gen/named_as_sizes --bind M=37 --bind N=40 --bind K=50 --bind BN=2
try ../tests/gen/named_as_sizes --set BM=5 --set BN=-1 --set warps=7 --bind M=37 --bind N=40 --bind K=50
try ../tests/gen/names_of_places --bind row=37 --bind col=17 --bind N=40
try ../tests/gen/names_of_places --dtype fp16 --target sm_75 --bind row=5 --bind col=70 --bind N=9
try ../tests/gen/whole_numbers --dtype fp16 --target sm_75 --bind M=5 --bind N=33
try ../tests/gen/more_functions --target sm_90a --bind M=9 --bind N=200
try ../tests/gen/more_functions --dtype fp16 --target sm_75 --bind M=5 --bind N=33
try ../tests/gen/lookups --bind M=21 --bind N=64 --bind K=9
try ../tests/gen/bias_by_buckets --set D=64 --target sm_90a --bind b=1 --bind h=2 --bind n=75
for target in sm_80 sm_90a; do
    try ../tests/gen/capped --set HeadDim=128 --target $target --bind batch=1 --bind heads=2 --bind q_len=77 --bind kv_len=150 --seed 2
    try ../tests/gen/capped --set HeadDim=128 --set maximum=0 --target $target --bind batch=1 --bind heads=2 --bind q_len=150 \
        --bind kv_len=150 --seed 2
done
try ../tests/gen/lookups --dtype fp16 --target sm_75 --bind M=5 --bind N=33 --bind K=3
for t in "sm_75 --dtype fp16" sm_80 sm_90a; do
    # shellcheck disable=SC2086 # a target and its type
    try ../tests/gen/chunk_inverse --set C=16 --set D=32 --target $t --data small --bind batch=1 --bind heads=2
done
try ../tests/gen/groups_first --set G=2 --set H=6 --bind n=33 --bind k=20
try ../tests/gen/groups_first --target sm_90a --bind G=2 --bind H=4 --bind n=70 --bind k=20
try ../tests/gen/largest_of_several --bind M=9 --bind N=30
try ../tests/gen/largest_of_several --set c=5 --target sm_90a --bind M=11 --bind N=3
try ../tests/gen/distances_of_heads --set D=64 --set q_len=1 --bind batch=2 --bind q_heads=4 --bind kv_heads=2 --bind kv_len=70
try ../tests/gen/distances_of_heads --set D=64 --set q_len=1 --set kv_len=1 --target sm_90a --bind batch=2 --bind q_heads=4 --bind kv_heads=2
for t in sm_80 sm_90a; do
    try ../tests/gen/counts_of_pairs --target $t --bind n=300 --bind C=9
done
try ../tests/gen/output_read_again --set N=128 --bind M=9
try ../tests/gen/places_regrouped --bind heads=3 --bind n=4 --bind m=5
for cols in 24 128; do
    try ../tests/gen/columns_then_rows --set M=12 --set N=$cols --bind B=3
done
try ../tests/gen/columns_then_rows --target sm_90a --set M=70 --set N=32 --bind B=3
try ../tests/gen/sizes_of_no_tensor --set A=2 --bind M=12 --bind N=40
try ../tests/gen/sizes_of_no_tensor --set N=40 --target sm_90a --bind M=8 --bind A=3
try ../tests/gen/blocks_of_a_length --set N=8 --set B=2 --bind M=33
try ../tests/gen/leads_equal_to_columns --set B=4 --set M=16 --set N=8
try ../tests/gen/leads_of_other_names --set N=24 --set M=16 --bind B=2
for t in "sm_75 --dtype fp16" sm_80 sm_90a; do
    # shellcheck disable=SC2086 # a target and its type
    try ../tests/gen/chosen_and_multiplied --set M=5 --set N=40 --target $t --bind B=2
done
try ../tests/gen/chosen_of_chosen --set N=48 --set k=40 --bind M=21
try ../tests/gen/places_by_numbers --bind B=2 --bind M=20 --bind N=30 --bind P=9 --bind Q=7 --bind R=8
try ../tests/gen/columns_in_parts --set M=33 --set N=40
try ../tests/gen/columns_in_parts --set M=200 --set N=40 --target sm_90a
try ../tests/gen/named_coordinates --bind M=3 --bind N=8 --bind K=5
try ../tests/gen/six_at_once --target sm_90a --bind M=100 --bind B=7
try ../tests/gen/one_turn_and_more --set M=33 --target sm_90a --data small --bind N=24
try ../tests/gen/outer_of_columns --set M=12 --set N=24 --target sm_90a --bind B=2
try ../tests/gen/squares_of_three --set M=33 --set N=8
for t in "sm_75 --dtype fp16" sm_80 sm_90a; do
    # shellcheck disable=SC2086 # a target and its type
    try ../tests/gen/masks_of_integers --target $t --bind M=21 --bind N=40
done
try ../tests/gen/tables_of_tables --bind B=2 --bind M=12 --bind N=24
for len in 1 4; do
    try ../tests/gen/entries_as_numbers --set n=$len --set heads=8 --set kvh=2 --bind b=2 --bind m=70
done
try ../tests/gen/entries_beside_columns --set M=12 --set N=8 --set B=2 --target sm_90a --bind A=3
try ../tests/gen/columns_of_integers --set N=40 --set A=2 --bind M=5
try ../tests/gen/columns_of_integers --set N=40 --set A=2 --bind M=5 --dtype fp16 --target sm_75
try ../tests/gen/rows_looked_up --set N=8 --set A=1 --bind M=33
for len in 700 14336; do # beside rows that are kept parts of others have no room there
    try ../tests/gen/parts_beside_rows --target sm_86 --bind M=3 --bind N=$len
done
try ../tests/gen/parts_beside_rows --target sm_75 --dtype fp16 --set kept=2 --bind M=3 --bind N=1000
try ../tests/gen/squares_of_bytes --target sm_89 --bind B=2 --bind M=33 --bind N=64
try ../tests/gen/exponentials_in_full --dtype fp32 --target sm_80 --bind M=9 --bind N=100 --data=large
try ../tests/gen/exponentials_in_full --dtype fp32 --target sm_90a --set N=700 --bind M=5 --data=growing
for type in fp16 bf16 fp32; do
    try ../tests/gen/gelu_of_negatives --dtype $type --bind m=33 --bind E=70 --data=negative
done
for data in normal negative large tiny; do
    try ../tests/gen/angles --dtype fp32 --bind m=33 --bind E=70 --data=$data
    try ../tests/gen/powers_in_full --dtype fp32 --bind m=33 --bind E=70 --data=$data
    try ../tests/gen/powers_of_large_numbers --bind M=33 --bind N=70 --data=$data
done
try ../tests/gen/residual_of_joined_rows --set N=3 --target sm_90a --bind N=3 --bind C=6 --bind L=17
try ../tests/gen/product_with_one_row --set N=1 --target sm_86 --bind M=70 --bind K=33
try ../tests/gen/product_with_one_row --set N=1 --set K=33 --target sm_90a --bind M=2
try ../tests/gen/product_with_one_row --set N=1 --set M=1 --target sm_80 --bind K=70
right softmax_of_integers "--set D=64 --target sm_80" --bind n=33 --bind m=70
right softmax_of_integers "--set D=64 --target sm_90a" --bind n=33 --bind m=70
right rows_beyond_products "--set D=72" --bind T=70 --bind F=96 # rows that last over a loop
right keys_as_values "--set D=80 --target sm_90a" --bind batch=1 --bind heads=2 --bind q_len=70 --bind kv_len=133
right means_of_blocks "--set D=64 --target sm_90a" --bind batch=1 --bind heads=2 --bind len=160 # elements a length of the launch from each other
right means_of_blocks "--set D=192 --target sm_90a" --bind batch=1 --bind heads=1 --bind len=96
right rotated_in_image "--set D=128 --target sm_90a" --bind b=1 --bind h=2 --bind n=100 # whose neighbours no bulk copy brings, so that no role makes it
right sums_shown "--set D=96 --set E=56 --target sm_90a" --bind b=1 --bind h=2 --bind s=33 --bind t=65 --data negative
right sums_shown "--set D=64 --set E=64 --target sm_80" --bind b=1 --bind h=2 --bind s=33 --bind t=65 --data negative
right heads_mixed "--set D=64 --target sm_90a" --bind batch=1 --bind heads=8 --bind q_len=17 --bind kv_len=72 # and where quotients of columns say
right products_of_flat_places "--target sm_90a" --bind b=1 --bind h=3 --bind q=5 --bind kv=37 # the same, for any alignment
right first_of_the_largest "" --bind M=3 --bind N=0
right first_of_the_largest "" --bind M=3 --bind N=70
for k in 1 40 64 72 200; do
    right ring_of_few_turns "--set K=$k" --bind M=17 --bind N=129
    right ring_by_hand "--set K=$k" --bind M=17 --bind N=129
done
right parts_of_keys "--set D=64" --bind batch=1 --bind heads=1 --bind q_len=17 --bind kv_len=1
right heads_packed_by_hand "--set D=64 --set q_heads=6 --set kv_heads=2" --bind batch=1 --bind q_len=33 --bind kv_len=101
right types_of_the_kernel "--target sm_80" --bind tokens=33 --bind vocab=200
try ../tests/gen/sizes_of_the_kernel --target sm_80 --bind M=50 --bind K=70
try ../tests/gen/sizes_of_the_kernel --target sm_90a --bind M=50 --bind K=70 --bind N=64
right softmax_in_registers "--set N=24" --bind M=17
try ../tests/gen/scores_of_heads --set H=4 --set D=64 --set b=1 --set q=40 --set kv=1
try ../tests/gen/scores_of_heads --set H=4 --set D=64 --target sm_90a --bind b=1 --bind q=40 --bind kv=90
for target in sm_80 sm_90a; do # weights that a table names
    try ../tests/gen/experts_of_groups --target $target --set K=96 --set N=160 --bind groups=3 --bind experts=5 --bind rows=70
    try ../tests/gen/experts_of_blocks --target $target --set K=128 --set N=256 --bind T=192 --bind experts=5
done
for target in sm_75 sm_80 sm_90a; do # sums that no warp has the registers for: warps share their rows
    type=bf16
    [ $target = sm_75 ] && type=fp16
    try ../tests/gen/wide_latents --dtype $type --target $target --set heads=16 --set Latent=512 --set Rope=64 --bind batch=2 --bind kv_len=150
    try ../tests/gen/wide_sums_normalized --dtype $type --target $target --set D=64 --set E=512 --bind heads=1 --bind q_len=70 --bind kv_len=130
done
try ../tests/gen/wide_latents --dtype fp16 --set heads=16 --set Latent=512 --set Rope=64 --bind batch=2 --bind kv_len=200 --data large # the sum is of what the products see
try ../tests/gen/wide_latents --dtype e4m3 --target sm_89 --set heads=33 --set Latent=512 --set Rope=64 --bind batch=1 --bind kv_len=70
right distances_by_a_metric "--set D=64 --target sm_90a" --bind M=150 --bind N=70
right terms_of_places "--set D=64 --target sm_80" --bind B=1 --bind H=1 --bind n=100
right terms_of_places "--set D=64 --target sm_90a" --bind B=1 --bind H=1 --bind n=100
right matches_on_the_diagonal "--set D=64 --target sm_90a" --bind n=70 --bind m=150
right difference_of_sums "--set D=32 --target sm_90a" --bind batch=1 --bind heads=2 --bind q_len=70 --bind kv_len=300
right masks_by_the_dozen "--set D=64 --target sm_90a" --bind B=1 --bind H=1 --bind n=100
right masks_by_the_dozen "--set D=128 --target sm_80" --bind B=1 --bind H=1 --bind n=100 # bounds of turns as many as no extreme can say
for turns in 8 32; do # which shared memory has room for in smaller tiles
    try row_softmax --set kept=$turns --set warps=$((64 / turns * 2)) --dtype fp32 --target sm_86 --bind M=3 --bind N=1500
done
# rings that leave no room for their barriers, in a kernel that is asked for what it does without roles as well
try attention --set HeadDim=64 --set skew=off --target sm_90a:shared_per_block=48k --bind batch=1 --bind q_heads=1 --bind kv_heads=1 --bind q_len=70 --bind kv_len=90
for dim in 96 160; do # rows that lanes share by shorter stretches
    unmet keys_normalized "--set D=$dim --dtype e4m3 --target sm_90a" --bind b=1 --bind h=1 --bind kh=1 --bind q=20 --bind kv=100
done
unmet keys_layer_normalized "--set D=96 --dtype e4m3 --target sm_90a" --bind b=1 --bind h=1 --bind kh=1 --bind q=20 --bind kv=100
# rings that fit but for the bytes between them
right queries_beside_bias "--target sm_90a:shared_per_block=32k" --bind b=1 --bind h=1 --bind q=17 --bind kv=50
for rows in 96 192; do
    try weight_gradient --set BM=$rows --bind tokens=70 --bind in=200 --bind out=40 # shares of columns that begin with panels
done
unmet warps_share_rows "--set warps=8 --set warps_n=8 --set BM=16 --set BN=128 --target sm_80" --bind b=1 --bind h=1 --bind q=20 --bind kv=150
unmet warps_share_rows "--set warps=16 --set warps_n=16 --set BM=16 --set BN=128 --target sm_80" --bind b=1 --bind h=1 --bind q=20 --bind kv=150
for target in sm_75 sm_89; do
    type=$([ $target = sm_75 ] && echo fp16 || echo bf16)
    right words_of_listed_rows "--set K=512 --dtype $type --target $target" --bind M=270 --bind N=40 --bind T=9 # places made in the turn
done
for target in sm_89 sm_90a; do
    right rounded_with_its_scale "--target $target" --bind M=33 --bind N=40 --bind K=72
done
right far_places "--dtype bf16 --target sm_80" --bind b=1 --bind h=1 --bind q=3 --bind kv=70000 # 32 bits are too few for their products
right far_places "--dtype bf16 --target sm_90a" --bind b=1 --bind h=1 --bind q=3 --bind kv=70000
for target in sm_80 sm_90a; do # turns that ids of documents, or a row's own number, leave
    try documents --dtype bf16 --target $target --set q_heads=2 --set kv_heads=1 --set HeadDim=64 --bind batch=2 --bind q_len=200 --bind kv_len=300
    try ../tests/gen/padded_keys --dtype bf16 --target $target --set q_heads=2 --set kv_heads=1 --set HeadDim=64 --bind batch=2 --bind q_len=70 --bind kv_len=300
    try ../tests/gen/keys_from_a_row --dtype bf16 --target $target --set q_heads=2 --set kv_heads=2 --set HeadDim=64 --bind batch=2 --bind q_len=130 --bind kv_len=300
done
try documents --dtype bf16 --target sm_90a --set q_heads=2 --set kv_heads=2 --set HeadDim=64 --set splits=3 --bind batch=1 --bind q_len=100 --bind kv_len=500 # a part without turns
for target in sm_80 sm_90a; do # turns that a list names: of a table, of whose blocks a tile has one, two or many, and of ids that were asked for
    try block_sparse --dtype bf16 --target $target --set q_heads=2 --set kv_heads=1 --set HeadDim=128 --bind batch=2 --bind q_len=200 --bind kv_len=300 --bind q_blocks=2 --bind kv_blocks=3
    try block_sparse --dtype bf16 --target $target --set q_heads=2 --set kv_heads=1 --set HeadDim=64 --set block=48 --bind batch=1 --bind q_len=200 --bind kv_len=500 --bind q_blocks=5 --bind kv_blocks=11
    try block_sparse --dtype bf16 --target $target --set q_heads=2 --set kv_heads=1 --set HeadDim=64 --set block=64 --set BM=128 --set causal=0 --set splits=3 --bind batch=1 --bind q_len=100 --bind kv_len=700 --bind q_blocks=2 --bind kv_blocks=11
    try documents --dtype bf16 --target $target --set q_heads=2 --set kv_heads=1 --set HeadDim=64 --set ends=listed --bind batch=2 --bind q_len=200 --bind kv_len=300
done
try block_sparse --dtype bf16 --target sm_80 --set q_heads=1 --set kv_heads=1 --set HeadDim=16 --set block=16 --set BM=64 --set BN=16 --bind batch=1 --bind q_len=70 --bind kv_len=2100 --bind q_blocks=5 --bind kv_blocks=132 # a list in three parts
try block_sparse --dtype fp16 --target sm_75 --set HeadDim=40 --set block=32 --bind batch=1 --bind q_heads=3 --bind kv_heads=1 --bind q_len=150 --bind kv_len=290 --bind q_blocks=5 --bind kv_blocks=10
try block_sparse --dtype bf16 --target sm_90a --set HeadDim=64 --bind batch=1 --bind q_heads=1 --bind kv_heads=1 --bind q_len=70 --bind kv_len=150 --bind q_blocks=0 --bind kv_blocks=0 # empty lists
try block_sparse --dtype bf16 --target sm_80 --set HeadDim=64 --bind batch=1 --bind q_heads=1 --bind kv_heads=1 --bind q_len=70 --bind kv_len=0 --bind q_blocks=1 --bind kv_blocks=1
right neighbours_turned "--set D=64 --target sm_90a" --bind b=1 --bind h=2 --bind n=100 # no box begins within 16 bytes
right neighbours_turned "--set D=64 --target sm_80" --bind b=1 --bind h=2 --bind n=100
try documents --dtype fp16 --target sm_75 --set HeadDim=40 --bind batch=1 --bind q_heads=3 --bind kv_heads=1 --bind q_len=150 --bind kv_len=70
for cols in 8 40; do
    try ../tests/gen/cast_to_bytes --set N=$cols --target sm_89 --bind B=2 --bind M=12
    try ../tests/gen/cast_to_bytes --set N=$cols --target sm_90a --bind B=2 --bind M=12
done
try ../tests/gen/product_of_integers --set M=5 --set B=2 --set N=64
try ../tests/gen/product_of_integers --set N=64 --target sm_90a --bind M=70 --bind B=2
try ../tests/gen/many_inputs --dtype fp16 --target sm_75 --bind M=33 --bind N=70
try ../tests/gen/many_inputs --target sm_89 --bind M=5 --bind N=333
try ../tests/gen/gates_of_channels --set C=32 --bind N=3 --bind H=7 --bind W=5
try ../tests/gen/gates_of_channels --dtype fp16 --target sm_75 --set C=32 --set H=7 --set W=8 --bind N=3
try ../tests/gen/gates_of_groups --set C=32 --bind N=5 --bind L=40
try ../tests/gen/keys_less_a_query --set D=64 --bind H=2 --bind n=77
try ../tests/gen/keys_less_a_query --target sm_90a --bind D=64 --bind H=2 --bind n=77
try ../tests/gen/columns_less_a_query --set D=64 --bind n=77
try ../tests/gen/entry_of_square_matrices --set D=32 --target sm_90a --bind M=33
try ../tests/gen/entry_of_square_matrices --dtype fp16 --target sm_75 --bind D=40 --bind M=33
try ../tests/gen/entries_of_square_scores --set D=32 --bind b=2 --bind N=37
try ../tests/gen/entries_of_square_scores --set N=37 --set b=37 --bind D=32
try ../tests/gen/rows_turned_of_squares --bind b=2 --bind M=45
try ../tests/gen/rows_turned_of_squares --target sm_90a --set M=40 --bind b=2
try ../tests/gen/shape_that_it_has --set N=8 --set P=3 --set b=4
try ../tests/gen/shape_that_it_has --target sm_90a --bind b=4 --bind P=3 --bind N=8
try ../tests/gen/row_beside_a_column --set L=1 --bind M=32
try ../tests/gen/row_beside_rows --set L=1 --set M=32
try ../tests/gen/single_row_beside_products --set K=1 --bind M=64
try ../tests/gen/single_row_beside_products --set K=1 --set M=1
try ../tests/gen/single_column_streamed --set M=40 --set N=1 --set L=32
try ../tests/gen/single_column_streamed --dtype fp16 --target sm_75 --set M=1 --set N=1 --set L=1
try ../tests/gen/largest_beside_products --bind b=2 --bind K=20 --bind L=40
for target in sm_80 sm_90a; do # softmax steps in branches within branches, and behind those
    try ../tests/gen/steps_in_nested_branches --target $target --bind L=70 --bind S=200 --data growing
    try ../tests/gen/steps_behind_nested_branches --target $target --bind L=70 --bind S=200 --data growing
    try ../tests/gen/second_step_in_branches --target $target --bind L=70 --bind S=200 --data growing
    try ../tests/gen/same_weights_thrice --target $target --bind M=70 # what a loop of three turns leaves
    try ../tests/gen/loops_of_one_turn --target $target --bind M=33 --bind N=70
    try ../tests/gen/first_stages_guarded --target $target --bind M=70 --bind N=80 --bind K=40
    try ../tests/gen/first_stages_guarded --target $target --bind M=70 --bind N=80 --bind K=200
    try ../tests/gen/sums_of_one_column --target $target --bind T=70 --bind C=256 --bind F=192
    try ../tests/gen/bias_where_asked_for --target $target --bind M=70 --bind N=80 --bind K=40
    try ../tests/gen/bias_where_asked_for --set addbias=0 --target $target --bind M=70 --bind N=80 --bind K=40
    try ../tests/gen/residual_in_the_last_turn --target $target --bind M=70 --bind N=80 --bind K=100
    for name in in_registers summed_on changed_in_turns of_a_corner; do # tiles in registers that one branch sets
        try ../tests/gen/residual_$name --target $target --bind M=130 --bind N=80 --bind K=150
    done
    for name in value_of_each_branch value_behind_a_loop; do # names that are others in each block
        try ../tests/gen/$name --target $target --bind M=70 --bind N=80 --bind K=64
    done
    for name in bound_that_is_carried wrapped_in_its_turn residual_of_two_branches; do
        try ../tests/gen/$name --target $target --bind M=130 --bind N=140 --bind K=150
    done
    for name in in_stages one_by_one for_many_rows; do # stages that stay as a loop before has copied them
        try ../tests/gen/weights_$name --target $target --bind M=130
    done
    try ../tests/gen/last_tile_behind_the_loop --target $target --bind B=1 --bind H=2 --bind L=70 --bind S=100 # what the last turns of a loop copied
    try ../tests/gen/last_tile_behind_the_loop --target $target --bind B=1 --bind H=1 --bind L=33 --bind S=20
    try ../tests/gen/epilogue_of_each_tile --target $target --bind M=130 --bind N=70 --bind K=150
    try ../tests/gen/ring_through_two_loops --target $target --bind M=70 --bind N=40 --bind K=100
    try ../tests/gen/column_through_shared --target $target --bind T=33 --bind D=70 --bind N=20 # columns that shared memory takes no rows of
    try ../tests/gen/scales_copied_ahead --target $target --bind M=70 --bind K=150 --bind N=80
    try ../tests/gen/maxima_through_shared --target $target --bind M=70 --bind K=150
    for name in of_grouped_heads of_heads_behind said_as_rows; do
        try ../tests/gen/scales_$name --target $target --bind B=1 --bind H=4 --bind Hk=2 --bind L=70 --bind S=100
    done
    try ../tests/gen/two_buffers_by_name --target $target --bind M=130 --bind N=70 --bind K=150 # rings of two tiles a turn
    try ../tests/gen/both_stages_a_turn --target $target --bind M=70 --bind N=40 --bind K=128
    try ../tests/gen/two_tiles_a_turn --target $target --bind B=1 --bind H=2 --bind Hk=1 --bind L=70 --bind S=230 --data growing
    try ../tests/gen/keys_of_either_tensor --target $target --bind B=1 --bind H=2 --bind L=70 --bind S=100 # what both branches copy
    try ../tests/gen/counted_on --target $target --bind M=70 --bind N=80 --bind K=200 # names that are given values again
    try ../tests/gen/counted_in_two_loops --target $target --bind M=70 --bind N=80 --bind K=200
    try ../tests/gen/stages_by_turns --target $target --bind M=70 --bind N=80 --bind K=200
    try ../tests/gen/stages_going_round --target $target --bind M=70 --bind N=80 --bind K=200
    try ../tests/gen/bound_of_a_branch --target $target --bind M=70 --bind N=80 --bind K=200
    try ../tests/gen/parts_counted_on --target $target --bind M=70 --bind N=80
    try ../tests/gen/copied_ahead_to_the_last --target $target --bind M=70 --bind N=80 --bind K=200
    try ../tests/gen/first_stages_in_the_first_turn --target $target --bind M=70 --bind N=80 --bind K=200
    try ../tests/gen/guarded_in_one_branch --target $target --bind M=130 --bind N=80 --bind K=150
    try ../tests/gen/stages_of_both_branches --target $target --bind M=130 --bind N=80 --bind K=150
done

# The drawn ones: awk's generator differs between implementations, this does not.
state=$seed
draw() # N: a number below it into $drawn
{
    state=$(((state * 1103515245 + 12345) & 2147483647))
    drawn=$((state / 65536 % $1))
}
pick() # WORD...: one of them into $picked
{
    draw $#
    shift "$drawn"
    picked=$1
}

i=0
while [ $i -lt "$cases" ]; do
    i=$((i + 1))
    pick bf16 fp16; type=$picked
    if [ $((i % 4)) -eq 0 ]; then
        pick 64 128 200 256; cols=$picked
        pick 32 64 160 200; inner=$picked
        draw 260; rows=$drawn
        pick 32 64 128; tile=$picked
        try gemm_bias --set N="$cols" --set K="$inner" --set BM="$tile" --dtype "$type" --bind M="$rows" \
            --seed "$i"
    else
        pick 64 128; dim=$picked
        draw 2; causal=$drawn
        pick 1 2 3; group=$picked
        draw 270; q=$drawn
        draw 270; k=$drawn
        pick 64 128; tile=$picked
        attention "$group" 1 "$dim" "$type" "$causal" "$q" "$k" --set BM="$tile" --seed "$i"
    fi
done

# Stages that lanes have read are given back behind a proxy fence, and those that only products of warpgroups read without one.
fences()
{
    n=$((n + 1))
    "$tw" gen "ops/$1.tl" --set HeadDim=128 --target sm_90a --cubin=never -o "$dir" >"$dir/out" 2>&1 </dev/null
    found=$(awk '/fence.proxy.async/ { at = NR } /mbarrier.arrive.shared/ && at && NR - at <= 3 { n++ } END { print n + 0 }' "$dir/$1.sm_90a.ptx")
    if [ "$found" -eq "$2" ]; then
        echo "ok $n - $1 gives $2 stages back behind a fence"
    else
        echo "not ok $n - $1 gives $found stages back behind a fence, must be $2"
        bad=1
    fi
}
fences attention 0
fences attention_bias 3

echo "1..$n"
exit $bad
