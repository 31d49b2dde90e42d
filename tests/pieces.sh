#!/bin/sh
# pieces.sh: a translation that is asked for a kernel at a time, with a stand-in for the compiler
# (tests/foreign/bin/nvcc). Reports in the manner of TAP.
# shellcheck disable=SC2016,SC2317 # conditions are evaluated by verdict

. tests/lib/tap.sh
TW_OPS=ops
export TW_OPS

cutlass=tests/foreign/cutlass

# The compiler's stand-in has our own PTX of the whole.
one_by_one() { "$tw" gen ops/rotary_attention.tl --set Half=40 --cubin never "$@"; }
mkdir -p "$dir/foreign/bin" "$dir/foreign/ptx"
cp tests/foreign/bin/nvcc "$dir/foreign/bin"
expect 'an operator of two kernels' 0 one_by_one -o "$dir/two"
cp "$dir/two/rotary_attention.sm_80.ptx" "$dir/foreign/ptx/scale.ptx"
shared=$(sed -n 's/.*rotary_attention_2: .* threads, \([0-9]*\) bytes of shared memory.*/\1/p' "$dir/out")
cat >"$dir/kernels" <<'EOF'
#!/bin/sh
cat >"$0.asked"
k=$(sed -n '/^# The code/,$p' "$0.asked" | sed -n 's/^Kernel //p')
echo "$k" >>"$0.count"
[ "$(wc -l <"$0.count")" -ne 2 ] || k=nothing
printf '```\n// shared memory of %s_block: %s bytes\n%s_block(...) {\n}\n```\n' "$k" "$1" "$k"
EOF
chmod +x "$dir/kernels"
TW_NVCC="$dir/foreign/bin/nvcc" expect 'is asked for a kernel at a time' 0 one_by_one --no-sandbox \
    --translate-by "exec:$dir/kernels $shared" --cutlass $cutlass -o "$dir/one"
verdict 'each as often as it takes' '[ "$(tr "\n" " " <"$dir/kernels.count")" = "rotary_attention rotary_attention_2 rotary_attention_2 " ] &&
    in_err "translate of rotary_attention_2, answer 2 of" && in_err "translate of rotary_attention_2, answer 3 of"'
verdict 'and they stand beside each other' 'grep -q "^using of_rotary_attention::rotary_attention_block;" "$dir/one/rotary_attention.sm_80.cu"'
TW_NVCC="$dir/foreign/bin/nvcc" expect 'which plays again' 0 one_by_one --no-sandbox \
    --model "replay:$dir/one/rotary_attention.transcript" --cutlass $cutlass -o "$dir/again"
verdict 'to the same C++' 'cmp -s "$dir/one/rotary_attention.sm_80.cu" "$dir/again/rotary_attention.sm_80.cu"'
"$tw" prompt translate ops/rotary_attention.tl --set Half=40 >"$dir/prompt" 2>/dev/null
sed -n '/^======== 1/,/^======== 2/p' "$dir/prompt" | sed '1,2d;$d' >"$dir/first"
verdict 'tw prompt prints each of them' 'printf "\n" | cat "$dir/one/rotary_attention.transcript/translate-1.prompt.md" - | cmp -s - "$dir/first"'

echo "1..$n"
exit $bad
