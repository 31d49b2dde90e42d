#!/bin/sh
# verify.sh: `tw verify` as a person meets it, on a driver whose GPU is the PTX emulator
# (tests/gpu/emulated_cuda.c). Reports in the manner of TAP.
# shellcheck disable=SC2016,SC2317 # conditions are evaluated by verdict

. tests/lib/tap.sh

emulated_gpu

cat >"$dir/logs.tl" <<'TL'
Operator logs
  Input  X (M, N)
  Output Y (M, N)
  Compute Log X and get Y
end
TL
expect 'a kernel' 0 "$tw" gen "$dir/logs.tl" --target sm_80 --cubin=never -o "$dir/o"
expect 'is right' 0 "$tw" verify "$dir/o/logs.sm_80.ptx" --bind M=5 --bind N=40
verdict 'where there is something to compare' 'in_out ", 0 wrong" && in_out "normal, contiguous"'
verdict 'and says where there is nothing: negative numbers have no logarithm' \
    'grep -q "negative, contiguous .*the definition gives no number here" "$dir/out"'
expect 'in JSON as well' 0 "$tw" verify --json "$dir/o/logs.sm_80.ptx" --bind M=5 --bind N=40
verdict 'it is no number, and no fault' 'in_out "\"undefined\":true" && in_out "{\"ok\":true"'

sed 's/Log X/Log X2/; s/  Compute/  Compute Square X and get X1\n  Compute Negate X1 and get X2\n  Compute/' "$dir/logs.tl" >"$dir/none.tl"
expect 'a definition that gives no number of any data' 0 "$tw" gen "$dir/none.tl" --target sm_80 --cubin=never -o "$dir/n"
expect 'is verified by nothing' 1 "$tw" verify "$dir/n/logs.sm_80.ptx" --bind M=5 --bind N=40
verdict 'which is said' 'in_out "WRONG: the definition gives no number here, and nothing could be compared"'

cat >"$dir/roots.tl" <<'TL'
Operator roots
  Input  X (M, N)
  Output Y (M, N)
  Compute Define Y (M, N) as X[row, col] * sqrt(N - 20)
end
TL
expect 'a definition that gives no number at some shapes' 0 "$tw" gen "$dir/roots.tl" --target sm_80 --cubin=never -o "$dir/r"
expect 'is verified by the others' 0 "$tw" verify "$dir/r/roots.sm_80.ptx" --bind M=5 --bind N=40
verdict 'and where it gives none, that is said' 'in_out " 0 wrong" && in_out "the definition gives no number here"'
finish
