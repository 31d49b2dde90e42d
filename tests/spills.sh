#!/bin/sh
# spills.sh: ptxas spills nothing at choices that are near what a thread has. All of ops/ goes
# through bench/spills.sh, which takes long. Reports in TAP; skipped without ptxas.

tw=${TW:-build/tw}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
n=0 bad=0

command -v ptxas >/dev/null || { echo '1..0 # SKIP there is no ptxas'; exit 0; }

# clean OP TARGET DTYPE DIM|SIZE [MASK]
clean()
{
    n=$((n + 1))
    if TW=$tw TARGETS=$2 DTYPES=$3 DIMS=$4 SIZES=$4 MASKS=${5:-1} sh bench/spills.sh "$1" >"$dir/out" 2>&1 && grep -q '  0$' "$dir/out"; then
        echo "ok $n - $*"
    else
        echo "not ok $n - $*"
        sed 's/^/# /' "$dir/out"
        bad=1
    fi
}

# unspilled WITHOUT SAID NAME TARGET OPTIONS...: of what ptxas says of tests/gen/NAME.tl, without what a sed script takes away, nothing is of spills,
# or of products that wait for each other (C75xx)
unspilled()
{
    n=$((n + 1))
    without=$1 said=$2 file=tests/gen/$3.tl target=$4
    shift 4
    rm -f "$dir"/*
    if "$tw" gen "$file" --target "$target" "$@" --cubin=never -o "$dir" >"$dir/out" 2>&1 </dev/null &&
        ptxas -v -arch="$target" "$dir"/*.ptx -o /dev/null >"$dir/out" 2>&1 &&
        ! sed "$without" "$dir/out" | grep -E 'C75|[1-9][0-9]* bytes spill' >"$dir/bad"; then
        echo "ok $n - $file $target $*$said"
    else
        echo "not ok $n - $file $target $*$said"
        sed 's/^/# /' "$dir/out"
        bad=1
    fi
}

# whole NAME TARGET OPTIONS...: no entry spills
whole()
{
    unspilled '' '' "$@"
}

# fast NAME TARGET OPTIONS...: the entry for aligned rows does not
fast()
{
    unspilled "/entry function '[^']*_any'/,/spill/d" ' in the entry for aligned rows' "$@"
}

# elsewhere OP TARGET ARCH OPTIONS...: nor is anything spilled of ops/OP.tl where the driver compiles PTX for a target for a newer GPU
elsewhere()
{
    n=$((n + 1))
    op=$1 target=$2 arch=$3
    shift 3
    rm -f "$dir"/*
    if TW_PTXAS='' "$tw" gen "ops/$op.tl" --target "$target" "$@" -o "$dir" >"$dir/out" 2>&1 </dev/null &&
        ptxas -v -arch="$arch" "$dir"/*.ptx -o /dev/null >"$dir/out" 2>&1 && ! grep -E '[1-9][0-9]* bytes spill' "$dir/out" >"$dir/bad"; then
        echo "ok $n - $op $target on $arch $*"
    else
        echo "not ok $n - $op $target on $arch $*"
        sed 's/^/# /' "$dir/out"
        bad=1
    fi
}

# again NAME TARGET OPTIONS...: what ptxas would spill of tests/gen/NAME.tl it does not spill of what tw chooses then
again()
{
    n=$((n + 1))
    file=tests/gen/$1.tl target=$2
    shift 2
    if "$tw" gen "$file" --target "$target" "$@" --ptxas --cubin=never -o "$dir" >"$dir/out" 2>&1 </dev/null &&
        ! grep -q '[1-9][0-9]* bytes spilled' "$dir/out"; then
        echo "ok $n - $file $target $* with ptxas"
    else
        echo "not ok $n - $file $target $* with ptxas"
        sed 's/^/# /' "$dir/out"
        bad=1
    fi
}

for d in 64 72 96 128; do
    whole ../../ops/differential_attention sm_90a --set HeadDim=$d # two softmaxes, whose sums are revised apart
done
for d in 32 64 128; do
    whole difference_of_sums sm_90a --set D=$d # the same, with a product each: turns that fill registers stay
done
again power_of_scores sm_80 --set D=96
whole power_of_scores sm_80 --set D=96 # a function that is three steps
for target in sm_80 sm_90a; do
    whole cosine_of_rows $target # rows that much is made of at once
done
whole ../../ops/attention sm_80 --set HeadDim=64 --set VDim=128 # values in rows of another length than keys
whole keys_as_values sm_89 --set D=128 # one tile that two products read in both orders,
whole keys_as_values sm_90a --set D=96 # and whose turns stay as they are
for dim in 64 128 136 192; do
    whole means_of_blocks sm_90a --set D=$dim # elements a length of the launch from each other, which a role reads
done
for dim in 80 96; do
    whole keys_normalized sm_90a --dtype e4m3 --set D=$dim --set spare=0 # rows that lanes share by shorter stretches
    whole keys_layer_normalized sm_90a --dtype e4m3 --set D=$dim # the same, beside two rows of numbers
done
for dim in 136 160 192; do
    whole keys_normalized sm_90a --dtype e4m3 --set D=$dim # slabs of bytes beside a long row, none of which is read ahead
done
whole keys_layer_normalized sm_90a --dtype e4m3 --set D=192
for dim in 136 160; do
    whole keys_layer_normalized sm_90a --set D=$dim # rows of which no number of lanes has registers for its part: as many as may be
done
whole keys_layer_normalized sm_90a --dtype e4m3 --set D=208 # slabs of no fewer rows than a slice may have
for target in sm_80 sm_89 sm_90a; do
    whole words_of_listed_rows $target --set K=512 --set spare=0 # places of rows beside words that are read ahead
    whole words_of_listed_rows $target --set K=4096 --set spare=0
done
for dim in 128 136; do
    whole rows_beyond_products sm_80 --set D=$dim # rows that last over a loop of products
    whole rows_beyond_products sm_86 --set D=$dim
    whole rows_beyond_products sm_90a --set D=$dim --set F=256
done
whole latents_looked_up sm_75 --dtype fp16 --set heads=32 --set page=4 # loops that add products of tiles on their way,
whole ../../ops/three_gemms sm_75 --dtype fp16 --set L=64 --set N=4096 # and one of a single turn
for dim in 64 80 96 112; do
    whole two_values sm_80 --set D=$dim # sums beside each other, and outputs of a later loop
done
whole two_values sm_89 --dtype fp16 --set D=64
whole gradients_capped sm_90a --dtype fp16 --set D=128 # no sixteen warps, which have half of the registers each
whole scales_of_keys sm_75 --dtype fp16 --set D=128 # rows that a turn loads, in turns that load their tiles themselves
clean documents sm_75 fp16 80 # elements that a mask reads, in turns that load their tiles themselves
clean documents sm_80 fp16 112 # the same, of columns that are fetched for the next steps as well
elsewhere documents sm_80 sm_90 --dtype fp16 --set HeadDim=160
elsewhere documents sm_80 sm_90 --dtype fp16 --set HeadDim=176
elsewhere gemm_scaled sm_80 sm_90 --dtype fp16 --set N=256 --set K=256 # rows and columns of numbers behind a loop
elsewhere gated_attention sm_80 sm_90 --dtype fp16 --set HeadDim=64 # a tile that is loaded behind a loop
clean swiglu sm_75 fp16 64 # two sums beside each other in half of the registers
whole softmax_of_integers sm_75 --dtype fp16 --set D=96 # and numbers that become integers
for dim in 128 136 160; do
    whole pages_of_scaled_bytes sm_90a --set D=$dim --set page=64 --set g=2 --set hg=4 # scales in pages, by roles that have what one other leaves
done
whole masks_of_integers sm_80 # rows of several tensors that shared memory keeps
whole names_of_places sm_86 # and that much is made of, in parts of them
whole weights_of_columns sm_75 --dtype fp16 --set N=1 --set K=33 # quotients for more blocks than have registers for them
whole outputs_of_experts sm_90a --set E=8 --set D=64 # elements of many tensors, for any alignment,
whole outputs_of_experts sm_86 --set E=8 --set D=128
whole products_of_flat_places sm_90a --dtype fp16 # and where quotients of columns say
fast heads_mixed sm_90a # elements where quotients of columns say
for heads in 16 64; do
    whole wide_latents sm_90a --set heads=$heads --set Latent=512 --set Rope=64 # sums whose rows warps share
    whole wide_latents sm_80 --set heads=$heads --set Latent=512 --set Rope=64
done
whole wide_sums_normalized sm_75 --dtype fp16 --set D=64 --set E=512 # and rows that are reduced behind them
whole two_adapters sm_90a --set r=16 --set K=64 --set N=96 # a comparison a row beside products
for dim in 128 512; do
    whole matches_on_the_diagonal sm_90a --set D=$dim # numbers of rows from around the loop, beside a product
done
whole angles_of_rows sm_90a --set kept=8 # for more blocks than have room for what is kept
for target in sm_80 sm_90a; do
    whole mask_by_bits $target --set D=128 # quotients of elements
done
whole mask_by_bits sm_75 --dtype fp16 --set D=64 # the same beside a product that goes on
whole mask_by_bits sm_86 --set D=128 # the same for any alignment
clean gemm_gptq sm_90a bf16 4096        # words that are taken apart beside products
clean gemm_gptq sm_90a bf16 -           # the same, strides of the launch
clean gemm_gptq sm_80 fp16 4096         # the same beside products
clean gemm_gptq sm_75 fp16 1024         # the same beside tiles that threads load
whole gathered_rows sm_90a --set K=64 --set N=128 # rows that lanes bring, beside a copier
whole less_by_distance sm_90a --set D=160 # a distance with a sign
whole smoothed sm_90a # parts of a tile that is made of places
whole counts_of_pairs sm_90a # rows of numbers beside operands that are prepared
whole scales_of_columns sm_90a --set D=96 # the same, long rows, and values that wait for a second number of their row
whole scales_of_columns sm_90a --set D=128
for target in sm_80 sm_86; do
    whole six_at_once $target # elements of more tensors than a turn has registers for
done
for target in sm_75 sm_80 sm_86 sm_90a; do
    whole words $target --dtype fp16 # quotients of many integers
done
whole normalized_and_rotated sm_75 --dtype fp16 # the same, of one row, and for any alignment
whole nibbles sm_90a --set group=64 --set N=4096 --set K=4096 # elements that are read one by one, beside products,
whole nibbles sm_90a --set group=64 # and tested against sizes
whole lengths_of_rows sm_80 --set D=64 # a number of each row that a mask reads
whole bytes_scaled sm_90a # rows of numbers that outputs meet
whole latents_looked_up sm_90a --set heads=16 --set page=64 # coordinates of many boxes in two copies
whole channels_mixed sm_90a # more coordinates than a warpgroup that copies keeps
whole shown_weights sm_90a --set D=64 # the same, in two copies of a turn
whole bias_of_pairs sm_90a --set D=32 --set Z=16 # rows of elements that lie a length apart
whole exponentials_beside sm_90a --set D=64 # scores that are wanted behind their product
for target in sm_75 sm_80 sm_89; do
    whole many_inputs $target --dtype fp16 # tiles that go straight to registers
done
whole logarithm_of_distance sm_80 --set D=64 # several steps from places, beside scores that leave no room for that
whole root_of_distance sm_90a --set D=128 # roots, by warpgroups that have no registers for a tile of them
whole root_of_distance sm_80 --set D=64 # the same, group after group, beside scores that leave no room for many
whole waves_of_distance sm_80 --set D=64 # longer functions
whole waves_of_distance sm_90a --set D=64 # the same for any alignment
for target in sm_80 sm_89 sm_90a; do
    whole dropped_weights $target --set D=128 # a hash of each element's place, which its mask waits for
    whole products_of_places $target --set D=64 # products of positions
done
whole dropped_weights sm_75 --dtype fp16 --set D=64
whole dropped_weights sm_80 --set D=80 # the same, beside the product that follows
whole two_maps_capped sm_90a --set D=96 # two products at once, and functions in steps
whole slopes_capped sm_80 --set D=128 # arithmetic in many steps between two products that leave it little
whole slopes_capped sm_90a --set D=160 # the same for any alignment
for target in sm_80 sm_90a; do # the same in fewer steps, tiles that fill a thread's registers
    whole ../../ops/softcap $target --dtype fp16 --set HeadDim=128 --set BM=128 --set BN=64 --set warps=4 --set stages=2
    whole ../../ops/alibi $target --dtype fp16 --set HeadDim=128 --set BM=128 --set BN=64 --set warps=4 --set stages=2
done
for target in sm_80 sm_86; do
    whole own_softmax $target --set D=96 # beside an operand from around the loop
done
whole scores_gated sm_80 --set D=192 # the same, two tiles side by side
whole scores_gated sm_90a --set D=192 # the same for any alignment
whole weights_added sm_80 --set D=40 # the same, on one product for two sums
whole weights_added sm_90a --set D=192
whole weights_added sm_75 --dtype fp16 --set D=192
for dim in 64 160; do
    whole keys_by_hash sm_90a --set D=$dim # quotients of elements of scores, beside a product that is under way
    whole caps_shifted sm_90a --set D=$dim # polynomials beside another tile, the same
done
for dim in 64 128; do
    whole exponentials_summed sm_80 --set D=$dim # sums of rows that nothing waits for, between two products
    whole exponentials_summed sm_90a --set D=$dim # the same, beside the product
done
whole exponentials_summed sm_90a --set D=160 # the same: no turn of half the width
whole noise_of_places sm_80 --set D=96 # a hash that a score's arithmetic takes
whole noise_of_places sm_90a --set D=192
for target in sm_80 sm_90a; do
    whole squares_modulo $target --set D=192 # remainders of products of places
    whole gradient_of_caps $target --set D=80 # a tile beside the one that a mask leaves out
done
whole gradient_of_caps sm_80 --set D=64
whole dropped_by_words sm_80 --set D=160 # remainders by 2^32
whole dropped_by_words sm_89 --set D=80
whole steps_of_w sm_89 --set D=96 # quotients of places, in few steps
whole steps_of_w sm_90a --set D=128 # the same, by a number of the launch, made beside a product
whole dilated_and_global sm_80 --set D=192 # quotients of each place, beside elements that are read
for dim in 64 96 256; do
    whole scores_shown sm_90a --set D=$dim # a tile that is stored behind the product that follows it
done
whole scores_in_both sm_80 --set D=128 # arithmetic that waits for rows beside two tiles
whole caps_shifted sm_80 --set D=128 # numbers from around the loop beside long arithmetic
whole tanh_of_elements sm_90a --set D=128 # functions of what is read, beside products that are under way
whole within_chunks sm_80 --set D=64 # quotients by a number of the launch
for target in sm_80 sm_86; do
    whole squared_scores $target --set D=64 # products with nothing but arithmetic between, that is in steps
    whole squared_scores $target --set D=64 --set causal=0
done
for target in sm_80 sm_89 sm_90a; do
    whole divergence $target # rows of which much is wanted at once
    whole ratio_of_softmaxes $target # the same, quotients of tiles
    whole four_taps $target # elements that are all on their way
done
whole gates_summed sm_75 --dtype fp16 --set spare=0 # a tile that one warp loads at once
whole keys_rotated_in_a_formula sm_90a --set D=96 # a role that prepares tiles of many: slabs as wide as it has registers for,
whole cache_of_8_bits sm_90a # one column of them below another, with what a mask makes of columns
for target in sm_80 sm_90a; do
    whole rows_looked_up $target # rows that are read one by one, of which nothing is copied
    whole size_of_an_earlier_kernel $target
done
whole terms_of_places sm_89 --set D=96 # many terms decide on an element
whole masks_by_the_dozen sm_80 --set D=64 # the same, of many masks
whole divisors_beyond sm_80 # elements that are made of places in 64 bits, for several blocks
whole distances_by_a_metric sm_90a --set D=128 # a warpgroup that copies rows for each other from two tensors
whole norm_to_bytes sm_90a # tiles that are loaded again for each pass
for width in 64 128 256; do # rows of a sum of products, whole in their warps
    whole sums_both_ways sm_75 --dtype fp16 --set N=$width --set K=128
    whole sums_both_ways sm_80 --set N=$width --set K=128
    whole sums_both_ways sm_90a --set N=$width --set K=128
done
clean sigmoid_attention sm_90a e4m3 96 # the same beside a warpgroup that prepares them: no turn of half the width
clean attention sm_90a e4m3 40         # operands of 8 bits, widened
clean gemm sm_90a bf16 -               # sums that leave what copies follow from little
clean gated_mlp sm_90a bf16 -          # elements one by one, for any alignment
clean linear_attention sm_75 fp16 128  # tiles that threads load at once
clean attention_lse sm_90a bf16 64     # lanes of a role that store meet again
clean linear_attention sm_89 e4m3 128 0 # products with nothing but arithmetic between
clean attention_lse sm_75 fp16 256     # several outputs beside tiles that threads load
clean differential_attention sm_80 bf16 160 # two operands in registers
clean alibi sm_90a bf16 128 0          # distances, which rare code makes anew
clean attention sm_90a bf16 160        # registers nearly full: no turn of half the width
clean sinks sm_80 bf16 128 0           # the entry for any alignment: places wanted behind the loop
clean attention_backward sm_80 bf16 64 0 # the same, rows of three products
clean gemm_gelu sm_75 fp16 -            # elements of tiles that threads hold
clean attention sm_90a bf16 136        # an odd number of narrow panels
clean softcap sm_86 bf16 128 0         # functions in steps, two blocks a multiprocessor
clean attention_lse sm_80 bf16 192/128 # a second output beside tiles of three panels
clean attention_paged sm_80 bf16 128    # tiles that lie where elements say
clean attention_paged sm_90a bf16 128   # the same, pages of any size
clean decode_paged sm_90a bf16 128      # rows that lie each where elements say, in blocks of one warp
clean decode_paged sm_90a e4m3 240      # the same, elements of 8 bits
clean mlp sm_80 bf16 -                 # a function in many steps, four blocks a multiprocessor
clean rmsnorm_swiglu sm_86 fp16 -      # a row in registers beside three tiles
clean rotary_attention sm_90a bf16 96  # tables that nothing reads in the loop
clean rotary_attention sm_90a bf16 128 # three tiles that a loop streams, and one beside them
clean qk_norm_attention sm_90a bf16 136 # arithmetic behind the loop of a role with all registers
clean qk_norm_attention sm_90a bf16 160 # an operand that is rounded before the loop
clean differential_attention sm_80 bf16 64 # four products in a turn
clean linear_attention sm_80 bf16 176   # registers that are scarce beside two tiles
clean attention_backward sm_80 bf16 56 0 # what follows two products is made anew behind the loop
clean attention sm_89 bf16 88 0         # half of a thread's registers
clean softcap sm_89 e4m3 96 0           # operands of 8 bits, a third of the registers
clean mlp sm_80 bf16 1024               # a function in many steps behind the loop
clean attention sm_75 fp16 48           # tiles on their way through half of the registers
clean attention_lse sm_75 fp16 248      # tiles on their way beside a wide sum
clean differential_attention sm_75 fp16 176 # four products
clean attention_projection sm_75 fp16 136 0 # a tile that is loaded behind the loop
clean rmsnorm_gemm sm_75 fp16 4096      # an operand that is computed, tiles on their way
clean softcap sm_89 fp16 128 0          # the warp's number, in the entry for any alignment
clean gated_mlp sm_75 fp16 1024         # what follows a sum alone is made anew behind the loop
clean attention_lse sm_90a bf16 56      # the same of two outputs, by 16 warps
clean attention_backward sm_90a fp16 192 0 # more than two products in a turn, for any alignment
clean attention_backward sm_75 fp16 64  # products that ptxas would mix
clean attention_backward sm_75 fp16 176 # the same, beside wide sums
clean attention_backward sm_80 bf16 144 0 # the same, and rows that come from around the loop
clean attention_backward sm_90a bf16 128 0 # the same, for any alignment
clean attention_kv_int8 sm_90a bf16 96  # scores beside operands that a warpgroup prepares
clean rmsnorm_gemm sm_90a fp16 1024     # a warpgroup that copies in two loops
clean rmsnorm_gemm sm_90a bf16 -        # three copies in a turn

echo "1..$n"
exit $bad
