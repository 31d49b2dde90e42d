#!/bin/sh
# cli.sh: the command line as a person or a program meets it: exit statuses,
# where output goes, help, colour. Reports in the manner of TAP.
# shellcheck disable=SC2016,SC2317 # conditions are evaluated by verdict

. tests/lib/tap.sh
unset NO_COLOR TW_OPS

silent() { [ ! -s "$dir/$1" ]; }

expect 'no command is wrong usage' 2 "$tw"
verdict 'and shows the overview' 'in_err "Usage: tw COMMAND" && silent out'
expect '--help is not' 0 "$tw" --help
verdict 'and goes to standard output' 'in_out "Usage: tw COMMAND" && silent err'
expect 'the version' 0 "$tw" --version
verdict 'is one line' '[ "$(wc -l <"$dir/out")" -eq 1 ]'
expect 'a misspelled command' 2 "$tw" chekc
verdict 'gets a suggestion' "in_err \"did you mean 'check'?\""
expect 'a misspelled option' 2 "$tw" gen --dtpye=bf16
verdict 'gets a suggestion and a hint' "in_err \"did you mean '--dtype'?\" && in_err \"see 'tw gen --help'\""
expect 'an option of another command' 2 "$tw" fmt --dtype=bf16
verdict 'is told so' 'in_err "takes no option"'
expect 'an option without its argument' 2 "$tw" gen -o
expect 'a bad value' 2 "$tw" gen --dtype=fp3
expect 'a setting that is none' 2 "$tw" fuse --set q_heads ops/gemm_bias.tl
expect 'an unknown target' 2 "$tw" gen --target=sm_81 x.tl
verdict 'gets a suggestion' "in_err \"did you mean 'sm_80'?\""
for name in sm_100a sm_103 sm_120 compute_121; do
    expect "a newer GPU, $name" 2 "$tw" gen --target=$name x.tl
    verdict 'is told whose kernels run there' "in_err \"did you mean 'sm_89'? Newer GPUs run its kernels, too\""
done
for name in sm_90 compute_90 h100 Hopper; do
    expect "a target called $name" 2 "$tw" gen --target=$name x.tl
    verdict 'is the one that is meant' "in_err \"did you mean 'sm_90a'?\""
done
expect 'too many files' 2 "$tw" fmt a.tl b.tl
expect 'a file that is not there' 3 "$tw" fmt "$dir/none.tl"
verdict 'is named' 'in_err "none.tl: No such file"'

for command in $("$tw" --help | sed -n 's/^  \([a-z]*\)  .*/\1/p'); do
    expect "help of $command" 0 "$tw" "$command" --help
    verdict "lists its options" 'in_out "--help" && in_out "Usage: tw $command"'
    cp "$dir/out" "$dir/help"
    expect "tw help $command" 0 "$tw" help "$command"
    verdict "is the same" 'cmp -s "$dir/out" "$dir/help"'
done

expect 'targets' 0 "$tw" targets
verdict 'are listed' 'in_out sm_80'
expect 'targets as JSON' 0 "$tw" targets --json
verdict 'are an array' 'in_out "[{\"name\":"'
expect 'operators' 0 "$tw" ops
verdict 'are listed' 'in_out attention && in_out gemm_bias'
expect 'one operator' 0 "$tw" ops gemm_bias
verdict 'is printed' 'cmp -s "$dir/out" ops/gemm_bias.tl'
expect 'no such operator' 2 "$tw" ops gemm_bais
verdict 'gets a suggestion' "in_err \"did you mean 'gemm_bias'?\""
expect 'a code explained' 0 "$tw" explain tw0102
verdict 'has its title' 'in_out "TW0102 (error): "'
expect 'a code that is no more' 0 "$tw" explain TW0722
verdict 'leads to the one that says it' 'in_out TW0233'
expect 'no such code' 2 "$tw" explain TW9999

printf 'Operator f\n  Input X (M, N)\n  Output Y (M, N)\n  Compute Cast X, bf16 and get Y\nend\n' >"$dir/cast.tl"
for stage in fuse "gen -o $dir"; do
    expect "$stage: a type that nobody gave and the target lacks" 1 "$tw" $stage ops/gemm.tl --target sm_75
    verdict 'is said once, of the definition' '[ "$(grep -c TW0434 "$dir/err")" -eq 1 ] && in_err "ops/gemm.tl:" && in_err "sm_75 has fp16: give that with --dtype"'
done
expect 'a type that the target lacks in a definition that takes several kernels' 1 "$tw" gen tests/gen/blocks_of_8_bits.tl -o "$dir"
verdict 'is what is said' 'in_err TW0434 && ! in_err TW0506'
"$tw" fuse ops/gemm.tl >"$dir/bf16.tl"
for stage in reason check; do
    expect "$stage: a type that is written and the target lacks" 1 "$tw" $stage "$dir/bf16.tl" --target sm_75
    verdict 'is to be written anew' 'in_err "sm_75 has fp16: write that instead; or compile for a target that has this type: --target sm_80"'
done
sed 's/ bf16//' "$dir/bf16.tl" >"$dir/untyped.tl"
"$tw" reason "$dir/bf16.tl" | sed 's/ bf16//' >"$dir/untyped.code.tl"
for stage in reason check 'compile --dtype bf16'; do
    expect "$stage: a type that nobody wrote" 1 "$tw" $stage "$dir/untyped$(case $stage in comp*) echo .code ;; esac).tl" --target sm_75
    verdict 'is to be given' 'in_err "sm_75 has fp16: give that with --dtype"'
done
expect 'a type that the target lacks' 1 "$tw" gen "$dir/cast.tl" --dtype fp16 --target sm_75 -o "$dir"
verdict 'is said of the definition' 'in_err "cast.tl:4:3: error: the result is bf16"'
decode='--set q_heads=8 --set kv_heads=2 --set HeadDim=128 --set q_len=1 --bind batch=2 --bind kv_len=8192 --target sm_90a'
# shellcheck disable=SC2086 # words are meant
{
    expect 'a sketch for a launch' 0 "$tw" fuse ops/decode.tl $decode -o "$dir/decode.sketch.tl"
    expect 'code for it' 0 "$tw" reason "$dir/decode.sketch.tl" $decode -o "$dir/decode.code.tl"
    mkdir -p "$dir/once"
    expect 'both at once' 0 "$tw" gen ops/decode.tl $decode --cubin never -o "$dir/once"
    verdict 'are the same' 'cmp -s "$dir/decode.code.tl" "$dir/once/decode.code.tl"'
    for command in fuse gen; do
        expect "$command with a launch misspelt" 2 "$tw" $command ops/decode.tl $decode --bind kvlen=3 -o "$dir"
        verdict 'says what may be meant' "in_err \"did you mean 'kv_len'?\""
    done
    expect 'reason with a launch misspelt' 2 "$tw" reason "$dir/decode.sketch.tl" $decode --bind kvlen=3
    verdict 'says so' "in_err \"'kvlen' is neither a dimension nor a parameter\""
}
printf 'Operator f\n  Input X (M, N)\n  Input y (M) int32\n  Output L (1, 1) fp32\n  Compute RowMax X and get m\n' >"$dir/rows.tl"
printf '  Compute Define t (M, 1) as X[row, y[row]]\n  Compute Subtract m, t and get d\n  Compute ColSum d and get L\nend\n' >>"$dir/rows.tl"
expect 'a size that the launch gives' 0 "$tw" gen "$dir/rows.tl" --bind M=3 --bind N=7 --cubin never -o "$dir"
verdict 'and could be compiled in' 'in_err "set N=7 compiles it in"'

for op in ops/*.tl; do
    expect "$op is all well" 0 "$tw" check "$op"
    verdict 'without a word' 'silent out && silent err'
    expect "$op formats" 0 "$tw" fmt "$op" -o "$dir/one.tl"
    expect "and again" 0 "$tw" fmt "$dir/one.tl" -o "$dir/two.tl"
    verdict 'to the same text' 'cmp -s "$dir/one.tl" "$dir/two.tl"'
done

printf 'Operator x\n  Input A (M, N)\n  Compute Frobnicate A and get B\nend\n' >"$dir/bad.tl"
expect 'a wrong program' 1 "$tw" check "$dir/bad.tl"
verdict 'is shown with line and column' 'in_err "bad.tl:3:" && silent out'
verdict 'without colour in a file' '! grep -q "$(printf "\033")" "$dir/err"'
expect 'with colour when asked for' 1 "$tw" check --color=always "$dir/bad.tl"
verdict 'it has escapes' 'grep -q "$(printf "\033")" "$dir/err"'
expect 'wrong usage as JSON' 2 "$tw" run --json --bind 3 ops/gemm.tl
verdict 'wrong usage as JSON is said' 'in_out "{\"ok\":false,\"error\":"'
expect 'as JSON' 1 "$tw" check --json "$dir/bad.tl"
verdict 'on standard output' 'in_out "\"code\":\"TW" && silent err'

gemm_code()
{
    "$tw" fuse ops/gemm_bias.tl | "$tw" reason >"$dir/code.tl"
    "$tw" compile "$dir/code.tl" --against ops/gemm_bias.tl "$@" >"$dir/code.ptx"
}
expect 'a setting that code does not know' 1 gemm_code --set=zork=3
verdict 'is named' 'in_err "zork [TW0210]"'
expect 'a dimension of code out of range' 1 gemm_code --set=N=0.5
verdict 'is told once' '[ "$(grep -c TW0211 "$dir/err")" -eq 1 ]'
expect 'warps of code by hand' 0 "$tw" gen tests/gen/ring_by_hand.tl --set=K=64 --set=warps=2 --cubin=never -o "$dir"
verdict 'go before those of its schedule' 'in_out "64 threads"'
expect 'warps that are not shared out' 1 "$tw" gen tests/gen/ring_by_hand.tl --set=K=64 --set=warps=3 --set=warps_n=2 -o "$dir"
verdict 'are told so' 'in_err "divides their number"'
expect 'no warps' 1 "$tw" gen tests/gen/ring_by_hand.tl --set=warps=0 -o "$dir"
expect 'parts of code by hand' 1 "$tw" gen tests/gen/ring_by_hand.tl --set=splits=2 -o "$dir"
verdict 'are its own matter' 'in_err "a Kernel says its flow itself"'
expect 'choices that a definition need not know' 0 "$tw" check ops/attention.tl --set=HeadDim=64 --set=warps=4 --set=BM=64
expect 'a size of a Kernel beside its definition' 0 "$tw" check tests/gen/ring_by_hand.tl --set=STAGES=2 --set=K=200
expect 'is compiled in' 0 "$tw" gen tests/gen/ring_by_hand.tl --set=STAGES=2 --set=K=16 --cubin=never -o "$dir"
expect 'and known to what is compared with it' 0 "$tw" emulate "$dir/ring_by_hand.sm_80.ptx" --bind=M=20 --bind=N=40
expect 'what neither has' 1 "$tw" check tests/gen/ring_by_hand.tl --set=STAGE=2
expect 'a setting of one letter' 1 "$tw" gen ops/gemm.tl --set=Z=2 --cubin=never -o "$dir"
verdict 'is taken for no other' 'in_err "leave it to tw" && ! in_err "in place of"'
printf 'Operator f\n  Input X (L, C)\n  Output Y (Lo, C)\n  Let Lo = L - 2\n  Compute Define Y (Lo, C) as X[row + 2, col]\nend\n' >"$dir/short.tl"
expect 'a size below 0' 1 "$tw" run "$dir/short.tl" --bind=L=1 --bind=C=4
verdict 'is named' 'in_err "would have the size -1"'
expect 'dimensions of code can be set' 0 gemm_code --set=N=24 --set=K=40
expect 'and are compiled in' 0 "$tw" emulate "$dir/code.ptx" --bind=M=20
verdict 'as the report says' '! in_out "N="'
expect 'of two settings of one name' 0 "$tw" gen ops/gemm_bias.tl --set=K=16 --set=K=40 -o "$dir"
expect 'the last one counts' 0 "$tw" emulate "$dir/gemm_bias.sm_80.ptx" --bind=M=20 --bind=K=40

"$tw" fuse ops/gemm_bias.tl --set=N=24 | "$tw" reason --set=N=24 --dtype=fp16 >"$dir/fixed.tl"
expect 'sizes and types that code fixes' 0 "$tw" run "$dir/fixed.tl" --against ops/gemm_bias.tl --bind=M=20 --bind=K=40
verdict 'are those of the definition' 'in_out "at M=20 K=40," && ! in_out WRONG'
expect 'those of tile IR too' 0 "$tw" compile "$dir/fixed.tl" --dump=lower -o "$dir/fixed.tile"
expect 'are taken' 0 "$tw" run "$dir/fixed.tile" --against ops/gemm_bias.tl --bind=M=20 --bind=K=40
expect 'and compiled with them' 0 "$tw" compile "$dir/fixed.tl" --against ops/gemm_bias.tl -o "$dir/fixed.ptx" --cubin=never
expect 'PTX has them' 0 "$tw" emulate "$dir/fixed.ptx" --bind=M=20 --bind=K=40
awk 'BEGIN { print "Kernel k\n  Input X (M, 256) bf16\n  Output Y (M, 256) bf16\n  Grid m = ceil(M / 4)\n  Allocate X in register (4, 256) bf16\n  Allocate Y in register (4, 256) fp32\n  Copy X (4, 256) in coordinate [M = m] from global to register\n  Compute Add X, 1 and get Y"
    for (i = 0; i < 6000; i++) print "  Compute Add Y, " i % 7 " and get new Y"
    print "  Copy Y (4, 256) in coordinate [M = m] from register to global\n  Schedule sm_80\n    warps = 1\n  end\nend" }' >"$dir/long.tl"
expect 'thousands of operations in a row take seconds' 0 timeout 25 "$tw" compile "$dir/long.tl" -o "$dir/long.ptx" --cubin=never
expect 'folders are made on the way' 0 "$tw" gen ops/gemm_bias.tl --set=N=24 --set=K=16 --cubin=never -o "$dir/new/in/new"
verdict 'and hold the kernel' '[ -s "$dir/new/in/new/gemm_bias.sm_80.ptx" ]'
expect 'but not below a file' 3 "$tw" gen ops/gemm_bias.tl --cubin=never -o /dev/null/new
expect 'without a definition as well' 0 "$tw" compile "$dir/fixed.tl" -o "$dir/fixed.ptx" --cubin=never
expect 'as --against takes them' 0 "$tw" emulate "$dir/fixed.ptx" --against ops/gemm_bias.tl --bind=M=20 --bind=K=40
cat ops/gemm_bias.tl "$dir/fixed.tl" >"$dir/beside.tl"
expect 'a definition beside the code' 0 "$tw" compile "$dir/beside.tl" -o "$dir/beside.ptx" --cubin=never
expect 'is what it must agree with' 0 "$tw" emulate "$dir/beside.ptx" --bind=M=20 --bind=K=40
expect 'through gen' 0 "$tw" gen "$dir/beside.tl" --cubin=never -o "$dir/beside"
expect 'as well' 0 "$tw" emulate "$dir/beside/gemm_bias.sm_80.ptx" --bind=M=20 --bind=K=40
verdict 'with the sizes that the code fixes' 'in_out "at M=20 K=40," && ! in_out WRONG'

cat >"$dir/many.tl" <<'TL'
Operator many
  Input  Q (x, y)
  Input  K (u, v, y)
  Input  s (u, v)
  Output O (x, n)
  Output P (x, n)
  Let    n = u * v
  Compute Define F (n, y) as K[row div v, row % v, col]
  Compute Define G (n, y) as K[row div v, row % v, col] * s[row div v, row % v]
  Compute GEMM Q, F.T and get O
  Compute GEMM Q, G.T and get P
end
TL
expect 'of many that multiply each other' 0 "$tw" run "$dir/many.tl"
verdict 'they are less' 'in_out "at x=65 y=65 u=65 v=65"'
expect 'dimensions that nothing gives have defaults' 0 "$tw" run ops/attention.tl
expect 'tile IR' 0 "$tw" compile "$dir/code.tl" --dump=stage -o "$dir/stage.tile"
expect 'compiles from there' 0 "$tw" compile "$dir/stage.tile"
verdict 'to PTX' 'in_out ".version"'
expect 'and goes on to another pass' 0 "$tw" compile "$dir/stage.tile" --dump=assign
verdict 'which it names' 'in_out " after assign"'
expect 'but not back' 1 "$tw" compile "$dir/stage.tile" --dump=expand
expect 'nor with other sizes' 2 "$tw" compile "$dir/stage.tile" --set BM=32
sed 's/ after stage/ after lunch/' "$dir/stage.tile" >"$dir/lunch.tile"
expect 'nor behind a pass that there is not' 1 "$tw" compile "$dir/lunch.tile"
verdict 'of which it tells' 'in_err "TW0754"'
expect 'counts that fit what is compiled in' 0 "$tw" run ops/attention.tl --set HeadDim=64 --set kv_heads=6
verdict 'are taken' 'in_out "O (2, 6, "'
expect 'a bound on the work' 1 "$tw" run "$dir/stage.tile" --steps=10
verdict 'says how to lift it' 'in_err "--steps=0"'
expect 'a bound on the work of a definition' 1 "$tw" run ops/gemm.tl --bind M=1000 --bind N=1000 --set K=64 --steps=1e6
verdict 'says so as well' 'in_err "--steps=0"'
expect 'before it asks for memory' 1 timeout 10 "$tw" run ops/gemm.tl --bind M=100000 --bind N=100000 --bind K=100000
verdict 'of any size' 'in_err "--steps=0"'
printf 'Operator norm\n  Input X (B, G, C, L)\n  Output Y (B, G, C, L)\n  Compute Reshape X and get F (B, G, C * L)\n  Compute Softmax F and get N\n  Compute Reshape N and get Y (B, G, C, L)\nend\n' >"$dir/groups.tl"
expect 'sizes that nobody gave are small enough' 0 timeout 60 "$tw" run "$dir/groups.tl"
expect 'is no TL' 2 "$tw" fmt "$dir/stage.tile"
verdict 'but runs' 'in_err "is tile IR"'
expect 'a name that tile IR does not know' 2 "$tw" run "$dir/stage.tile" --bind=zork=3
expect 'PTX is no TL either' 2 "$tw" fuse "$dir/code.ptx"
expect 'a sketch is not code' 1 "$tw" compile "$dir/gemm_bias.sketch.tl"
verdict 'and is called so' 'in_err "is a sketch"'
expect 'a definition is not compared with itself' 2 "$tw" run ops/gemm_bias.tl --against=ops/gemm_bias.tl
expect 'a dump as JSON' 0 "$tw" compile "$dir/code.tl" --dump=stage --json
verdict 'is an object' 'in_out "{\"ok\":true,\"tile\":"'
expect 'an operator as JSON' 0 "$tw" ops gemm_bias --json
verdict 'is an object' 'in_out "{\"ok\":true,\"definition\":"'
expect 'no name to write to' 2 "$tw" fmt ops/gemm_bias.tl -o ''
expect 'a large grid is sampled' 0 "$tw" emulate "$dir/code.ptx" --bind=M=33000
verdict 'and says so' 'in_out "64 blocks of 258"'
sed 's/^\.maxntid/.reqnctapercluster 2\n&/' "$dir/code.ptx" >"$dir/clusters.ptx"
expect 'of clusters as well' 0 "$tw" emulate "$dir/clusters.ptx" --bind=M=33000
verdict 'of which it takes as many blocks' 'in_out "64 blocks of 258"'
expect 'all of it is run where that is asked for' 0 "$tw" emulate "$dir/code.ptx" --bind=M=200 --all
verdict 'and the rate is told' 'in_out "million thread instructions a second"'
expect 'nothing to compute' 0 "$tw" emulate "$dir/code.ptx" --bind=M=0
verdict 'is reported' 'grep -q "PTX, aligned  *0 " "$dir/out"'
{ printf '\357\273\277' && cat ops/gemm_bias.tl; } >"$dir/bom.tl"
expect 'a byte-order mark' 0 "$tw" check "$dir/bom.tl"
verdict 'says nothing' 'silent err'

"$tw" fmt - <ops/gemm_bias.tl >"$dir/out" 2>"$dir/err"
verdict 'a dash is standard input' '[ -s "$dir/out" ] && silent err'
"$tw" fmt ops/gemm_bias.tl >&- 2>"$dir/err"
status=$?
verdict 'a closed standard output is an error' '[ $status -eq 3 ] && in_err "standard output"'
if [ -w /dev/full ]; then
    "$tw" fmt ops/gemm_bias.tl >/dev/full 2>"$dir/err"
    status=$?
    verdict 'a full device is an error' '[ $status -eq 3 ] && in_err "No space left"'
fi
expect 'a folder that is not there' 3 "$tw" fmt ops/gemm_bias.tl -o "$dir/no/file"
verdict 'is named' 'in_err "no/file"'

# ---- suggested edits are made

sed 1d tests/check/listing_1_in_a_program.tl >"$dir/fix.tl"
cp "$dir/fix.tl" "$dir/before.tl"
chmod 640 "$dir/fix.tl"
ln -s fix.tl "$dir/link.tl"
expect '--fix --dry-run shows a diff' 0 "$tw" check "$dir/fix.tl" --fix --dry-run
verdict 'and leaves the file alone' 'in_out "+    Reshape" && cmp -s "$dir/fix.tl" "$dir/before.tl"'
cp "$dir/out" "$dir/fix.diff"
expect '--fix makes the edit behind a link' 0 "$tw" check "$dir/link.tl" --fix
verdict 'and says so' 'in_err "1 edit" && silent out && [ -L "$dir/link.tl" ]'
verdict 'the file keeps who may read it' '[ "$(stat -c %a "$dir/fix.tl")" = 640 ]'
if command -v patch >/dev/null; then
    (cd "$dir" && patch -s -o patched.tl before.tl fix.diff) >"$dir/out" 2>&1
    verdict 'the diff is that edit' 'cmp -s "$dir/patched.tl" "$dir/fix.tl"'
fi
expect 'nothing is left to say' 0 "$tw" check "$dir/fix.tl"
expect 'a guess is not made' 1 "$tw" check tests/check/name_misspelt.tl --fix --dry-run
verdict 'only suggested' 'silent out && in_err "fix:"'
expect '--dry-run alone is wrong usage' 2 "$tw" check "$dir/fix.tl" --dry-run
printf '.version 8.0\n.target sm_80\n.address_size 64\n' >"$dir/empty.ptx"
expect '--fix of PTX is wrong usage' 2 "$tw" check --fix "$dir/empty.ptx"

finish
