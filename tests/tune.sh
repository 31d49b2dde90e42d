#!/bin/sh
# tune.sh: `tw tune` and what it remembers, as a person meets them, on a driver whose GPU
# is the PTX emulator (tests/gpu/emulated_cuda.c). Reports in the manner of TAP.
# shellcheck disable=SC2016,SC2317 # conditions are evaluated by verdict

. tests/lib/tap.sh
export XDG_CACHE_HOME="$dir/cache" TW_PTXAS=

expect 'lists of sizes are as long as each other' 2 "$tw" tune ops/gemm.tl --bind M=1,2 --bind N=1,2,3
verdict 'or it is said' 'in_err "M=1,2 has 2 values, N=1,2,3 has 3"'
expect 'with -o there is one shape' 2 "$tw" tune ops/gemm.tl --bind M=1,2 -o "$dir/o"
expect 'nothing is remembered at first' 0 "$tw" tune --list
verdict 'and nothing printed' '[ ! -s "$dir/out" ]'
expect '--tuned without anything tuned' 3 "$tw" gen ops/gemm.tl --tuned -o "$dir/o"
verdict 'says what finds it' "in_err \"'tw tune' finds one\""
expect 'a time that is none' 2 "$tw" tune ops/gemm.tl --time=0
(unset XDG_CACHE_HOME HOME; expect 'no home' 3 "$tw" tune --list) >/dev/null || bad=1

emulated_gpu

small="--set D=32 --bind N=40 --bind M=48"
cat >"$dir/op.tl" <<'TL'
Operator weigh
  Input  A (N, D) bf16
  Input  B (M, D) bf16
  Input  V (M, D) bf16
  Output O (N, D) bf16
  Compute GEMM A, B.T and get S
  Compute Softmax S and get P
  Compute GEMM P, V and get O
end
TL
# shellcheck disable=SC2086
tune() { "$tw" tune "$dir/op.tl" $small --top 1 --time 300 --jobs 2 --rounds 3 "$@"; }

expect 'a search' 0 tune --regret -o "$dir/p"
verdict 'has a winner, of several that were timed' 'in_out "  * " && in_out "TFLOPS" && in_out " invalid, "'
verdict 'says what is lost' 'in_out "regret: untuned takes "'
verdict 'and writes the kernel' '[ -s "$dir/p/weigh.sm_80.ptx" ]'
expect 'it is remembered' 0 "$tw" tune --list
verdict 'with its sizes' 'in_out "weigh, sm_80, Emulated GPU (driver 12080), M 64 N 64"'
# shellcheck disable=SC2086
expect 'gen takes it when asked' 0 "$tw" gen "$dir/op.tl" --set D=32 --tuned -o "$dir/o"
verdict 'and says so' 'in_out "Tuned on Emulated GPU at M 64 N 64"'
verdict 'in the record as well' 'grep -qF "\"tuned\":{\"settings\":" "$dir/o/weigh.json"'
expect 'gen does not when not asked' 0 "$tw" gen "$dir/op.tl" --set D=32 -o "$dir/o"
verdict 'and says nothing' '! in_out Tuned && grep -qF "\"tuned\":null" "$dir/o/weigh.json"'
expect 'other sizes were not tuned' 3 "$tw" gen "$dir/op.tl" --set D=32 --bind N=4096 --tuned -o "$dir/o"
verdict 'and those that were are listed' 'in_err "M 64 N 64, Emulated GPU"'
for f in "$XDG_CACHE_HOME"/tilewright/tune/*.json; do echo '{"version":1,' >"$f"; done
expect 'a damaged file is as if it were not there' 3 "$tw" gen "$dir/op.tl" --set D=32 --tuned -o "$dir/o"
expect 'in lists' 0 "$tw" tune --list
verdict 'it is counted' 'in_err "1 file cannot be read"'
threads=$("$tw" gen "$dir/op.tl" --set D=32 -o "$dir/o" | sed -n 's/^  weigh: \([0-9]*\) threads.*/\1/p')
expect 'a wrong kernel' 1 env EMULATED_WRONG="weigh:$threads" "$tw" tune "$dir/op.tl" --set D=32 --bind N=40 --bind M=48 \
    --top 1 --time 300 --jobs 2 --rounds 3
verdict 'after a damaged file that is ignored' 'in_err "is ignored: line"'
verdict 'is found out' 'in_out "wrong: (untuned)"'
# shellcheck disable=SC2086
# so many searches that no machine has done them all by then
expect 'Ctrl-C' 130 timeout --preserve-status -s INT 3 "$tw" tune "$dir/op.tl" --set D=64 --bind N=40,41,42,43,44,45,46,47,48 \
    --bind M=48,49,50,51,52,53,54,55,56 --time 600 --jobs 2
verdict 'keeps what is known' 'in_err "interrupted; what is known is kept"'
expect 'and it is remembered' 0 "$tw" tune --list --json
verdict 'with the other search' '[ "$(grep -c weigh "$dir/out")" -ge 2 ]'
expect 'with an assembler' 1 env TW_PTXAS=tests/assemble/ptxas FAKE_EXIT=255 FAKE_ARCHS="$dir/archs" "$tw" tune "$dir/op.tl" --set D=64 \
    --bind N=40 --bind M=48 --top 1 --time 300 --jobs 2
verdict 'it makes code for the GPU at hand' '[ "$(sort -u "$dir/archs")" = sm_90 ]'
expect 'all is forgotten' 0 "$tw" tune --forget
expect 'and gone' 0 "$tw" tune --list
verdict 'from the list' '[ ! -s "$dir/out" ]'
finish
