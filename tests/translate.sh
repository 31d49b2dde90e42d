#!/bin/sh
# translate.sh: a model that translates, as a user meets it: its answers played again, with
# a stand-in for the compiler (tests/foreign/bin/nvcc); and, where CUTLASS_DIR says where
# CUTLASS is, with the real one. Reports in the manner of TAP.
# shellcheck disable=SC2016,SC2317 # conditions are evaluated by verdict

. tests/lib/tap.sh
TW_OPS=ops
export TW_OPS

# Where there can be no sandbox (some containers), the user has to say so.
scale()
{
    "$tw" gen tests/foreign/scale.tl --rounds 4 --no-sandbox "$@"
}
replay() { scale --model replay:tests/transcripts/translate "$@"; }
cutlass=tests/foreign/cutlass
TW_NVCC=tests/foreign/bin/nvcc
export TW_NVCC

# ---- a transcript played again
expect 'a translation plays' 0 replay --cutlass $cutlass -o "$dir/a" --transcript "$dir/run"
verdict 'what was wrong with each answer is told' \
    'in_err "translate, answer 1" && in_err "wrong, TW1049" && in_err "wrong, TW1051" && in_err "wrong, TW1043"'
verdict 'with its place in the answer' \
    'grep -q "translate-1.cu:2:1: error: stdio.h may not be included" "$dir/run/translate-1.diagnostics.txt" &&
     grep -q "translate-2.cu:2.:1.: error: identifier" "$dir/run/translate-2.diagnostics.txt"'
verdict 'to the model as well' 'grep -q "planted_error" "$dir/run/translate-3.prompt.md" && grep -q "TW1051" "$dir/run/translate-3.prompt.md"'
verdict 'the C++ is written, with its header and entries' \
    'grep -q "__global__ void __launch_bounds__(32) scale_any(" "$dir/a/scale.sm_80.cu" && [ -s "$dir/a/tilewright_cute.cuh" ]'
verdict 'so is what it became' 'grep -q "entry scale_any" "$dir/a/scale.sm_80.ptx"'
"$tw" prompt translate tests/foreign/scale.tl >"$dir/prompt" 2>/dev/null
verdict 'tw prompt prints what is sent' 'cmp -s "$dir/prompt" "$dir/run/translate-1.prompt.md"'
"$tw" prompt translate "$dir/a/scale.code.tl" >"$dir/prompt" 2>/dev/null
verdict 'of code as well' 'cmp -s "$dir/prompt" "$dir/run/translate-1.prompt.md"'
expect 'the PTX is one like any other' 0 "$tw" emulate "$dir/a/scale.sm_80.ptx" --bind M=50
expect 'what was played is a transcript itself' 0 scale --model "replay:$dir/run" --cutlass $cutlass -o "$dir/b"
verdict 'and gives the same PTX' 'cmp -s "$dir/a/scale.sm_80.ptx" "$dir/b/scale.sm_80.ptx"'
verdict 'and the same C++' 'cmp -s "$dir/a/scale.sm_80.cu" "$dir/b/scale.sm_80.cu"'
expect 'three answers are too few' 1 "$tw" gen tests/foreign/scale.tl --no-sandbox --rounds 3 --cutlass $cutlass \
    --translate-by replay:tests/transcripts/translate -o "$dir/c"
verdict 'and nothing is written' '[ ! -e "$dir/c" ]'

# ---- a model that is asked
printf '#!/bin/sh\necho x >>"$0.count"\ncat >"$0.prompt"\ncat tests/transcripts/translate/translate-4.answer.md\n' >"$dir/model"
chmod +x "$dir/model"
expect 'a model translates alone' 0 scale --translate-by "exec:$dir/model" --cutlass $cutlass -o "$dir/m"
verdict 'asked once' '[ "$(wc -l <"$dir/model.count")" -eq 1 ] && cmp -s "$dir/model.prompt" "$dir/m/scale.transcript/translate-1.prompt.md"'
verdict 'the others are built in' '! in_err "sketch, answer" && grep -q "\"stage\":\"translate\"" "$dir/m/scale.json"'
expect 'a model for all stages' 1 scale --model "exec:$dir/model" -o "$dir/n"
verdict 'writes the sketch, and nothing that cannot be compiled' 'in_err "sketch, answer 1" && ! in_err "translate, answer"'

# ---- functions in brief
sed -e '/^template/,/^    int m = /d' -e 's|^// shared memory.*|&\nscale_block(...) {|' tests/transcripts/translate/translate-4.answer.md >"$dir/brief.md"
printf '#!/bin/sh\ncat >"$0.prompt"\ncat "%s"\n' "$dir/brief.md" >"$dir/brief"
chmod +x "$dir/brief"
expect 'how a function begins need not be repeated' 0 scale --translate-by "exec:$dir/brief" --cutlass $cutlass -o "$dir/br"
verdict 'and stands in the C++' 'grep -q "^scale_block(...) {" "$dir/br/scale.transcript/translate-1.cu" &&
    grep -q "^    float const \*X, float \*Y," "$dir/br/scale.sm_80.cu" && ! grep -q "(\.\.\.)" "$dir/br/scale.sm_80.cu"'

# ---- what is missing
expect 'no CUTLASS' 3 replay -o "$dir/d"
verdict 'is told' 'in_err TW1053 && in_err "--cutlass DIR says where they are"'
expect 'none where it should be' 3 replay --cutlass tests -o "$dir/d"
verdict 'is told, too' 'in_err "no cute/tensor.hpp below tests"'
TW_NVCC='' TW_NVRTC='' expect 'no compiler' 3 replay --cutlass $cutlass -o "$dir/d"
verdict 'is told as well' 'in_err "no NVRTC or nvcc was found"'

# ---- a GPU: the PTX emulator in place of the driver
on_gpu()
{
    mkdir "$dir/gpu"
    ${CC:-cc} -std=c11 -D_POSIX_C_SOURCE=200809L -Isrc -O1 -shared -fPIC -Wl,-Bsymbolic -Wl,-soname,libcuda.so.1 \
        tests/gpu/emulated_cuda.c "$(dirname "$tw")/libtilewright.a" -lm -o "$dir/gpu/libcuda.so.1" 2>"$dir/err" || return 1
    before=$LD_LIBRARY_PATH
    export LD_LIBRARY_PATH="$dir/gpu"
}
case $tw in
*san*) false ;; # the stand-in is linked with what has no sanitizers
*) on_gpu ;;
esac && {
    expect 'a translation on a GPU' 0 replay --cutlass $cutlass --bind M=50 -o "$dir/g" --transcript "$dir/gpu/run"
    verdict 'is verified and timed beside the built-in kernel' 'in_err "answer 4 of replay:" &&
        grep -qE "right; [0-9.]+ ms on Emulated GPU, [0-9.]+ of the built-in kernel.s speed \([0-9.]+ ms\)" "$dir/err" &&
        grep -q "^On the GPU" "$dir/out"'
    verdict 'as the record says' 'grep -qE "\"measured\":\{\"ok\":true,\"gpu\":\"Emulated GPU\",\"ms\":[0-9.]+,\"built_in_ms\":[0-9.]+" "$dir/g/scale.json" &&
        grep -q "\"measured\":{\"ok\":true" "$dir/gpu/run/translate-4.json"'
    EMULATED_WRONG=scale:32 expect 'one that is wrong there' 1 "$tw" gen tests/foreign/scale.tl --no-sandbox --rounds 2 \
        --translate-by "exec:$dir/model" --cutlass $cutlass --bind M=50 -o "$dir/w" --transcript "$dir/gpu/wrong"
    verdict 'goes back to the model, which hears what and where' \
        'grep -qF "on the GPU (Emulated GPU), M=50, normal, contiguous: it left 1600 of 1600 elements of Y unwritten" \
            "$dir/gpu/wrong/translate-2.prompt.md" && in_err TW1061 && [ ! -e "$dir/w" ]'
    printf '#!/bin/sh\ncat >"$0.prompt"\necho x >>"$0.count"\ncat tests/transcripts/translate/translate-4.answer.md\n' >"$dir/hangs"
    chmod +x "$dir/hangs"

    # ---- a kernel that never ends: a limit on its time, and the model hears of it
    printf '#!/bin/sh\necho x >>"$0.count"\ncat >"$0.$(wc -l <"$0.count")"\n[ "$(wc -l <"$0.count")" -ne 2 ] || : >"%s"\ncat tests/transcripts/translate/translate-4.answer.md\n' "$dir/mended" >"$dir/learns"
    chmod +x "$dir/learns"
    EMULATED_HANG=scale:32 EMULATED_HASTE=1 EMULATED_MENDED="$dir/mended" expect 'one that never ends' 0 scale --translate-by "exec:$dir/learns" \
        --cutlass $cutlass --bind M=50 -o "$dir/h" --transcript "$dir/gpu/learns"
    verdict 'is ended at a limit, and the model hears of it' 'in_err "answer 1" && in_err "wrong, TW1061" &&
        grep -q "the kernel hung: its process was ended at the time limit" "$dir/learns.2"'
    verdict 'the next answer is right' 'in_err "answer 2" && grep -qE "right; [0-9.]+ ms on Emulated GPU" "$dir/err" && [ -e "$dir/h/scale.sm_80.ptx" ]'
    expect 'and plays again' 0 scale --model "replay:$dir/gpu/learns" --cutlass $cutlass --bind M=50 -o "$dir/h2"

    # ---- Ctrl-C while it runs
    # A shell starts what runs in the background without SIGINT, so that it is given back.
    printf '#include <signal.h>\n#include <unistd.h>\nint main(int n, char **argv) { (void)n; signal(SIGINT, SIG_DFL); execv(argv[1], argv + 1); return 127; }\n' >"$dir/start.c"
    ${CC:-cc} -o "$dir/start" "$dir/start.c" 2>"$dir/err"
    # interrupted NAME COMMAND...: while a kernel hangs; status, and what hung is gone soon after
    interrupted()
    {
        name=$1
        shift
        rm -f "$dir/sign"
        EMULATED_SIGN="$dir/sign" "$dir/start" "$@" >"$dir/out" 2>"$dir/err" </dev/null &
        pid=$!
        for _ in $(seq 400); do
            [ ! -s "$dir/sign" ] || break
            sleep 0.05
        done
        child=$(cat "$dir/sign")
        before=$(date +%s)
        kill -INT $pid
        wait $pid
        status=$?
        verdict "$name" '[ $status -eq 130 ] && [ $(($(date +%s) - before)) -le 5 ] && ! kill -0 "$child" 2>/dev/null'
    }
    EMULATED_HANG=scale:32 interrupted 'Ctrl-C while a kernel runs' "$tw" gen tests/foreign/scale.tl --no-sandbox \
        --translate-by "exec:$dir/hangs" --cutlass $cutlass --bind M=50 -o "$dir/k"
    verdict 'ends it, and the run can be gone on with' 'in_err "the same command goes on with it" && [ ! -e "$dir/k/scale.transcript/result.json" ]'
    expect 'as it is' 0 "$tw" gen tests/foreign/scale.tl --no-sandbox --translate-by "exec:$dir/hangs" --cutlass $cutlass --bind M=50 -o "$dir/k"
    verdict 'with nothing asked twice' '[ "$(wc -l <"$dir/hangs.count")" -eq 1 ]'
    EMULATED_HANG=scale:32 interrupted 'so it is for verify' "$tw" verify "$dir/k/scale.sm_80.ptx" --bind M=50
    EMULATED_HANG=scale:32 interrupted 'and for bench' "$tw" bench "$dir/k/scale.sm_80.ptx" --bind M=50
    printf '#!/bin/sh\ncat >"$0.asked"\ngiven=$(sed -n "/^\`\`\`tl/,/^\`\`\`$/p" "$0.asked" | grep -v "^\`" | tac | sed "/^\\(Operator\\|Kernel\\)/q" | tac)\n' >"$dir/pupil"
    printf 'case $(sed -n 3p "$0.asked") in\n*sketch*code*|*code*) echo "$given" | "$TW" reason ;;\n*) echo "$given" | "$TW" fuse ;;\nesac\n' >>"$dir/pupil"
    chmod +x "$dir/pupil"
    TW=$tw expect 'a study there' 0 "$tw" study tests/foreign/scale.tl --model "exec:$dir/pupil" --mode two-stage -o "$dir/s"
    verdict 'times what was right' 'grep -qE "two-stage,1,1,2,.*,1(\.0[0-9]*)?,$|two-stage,1,1,2,.*,0\.99[0-9]*,$" "$dir/s/study.csv"'
    TW=$tw EMULATED_HANG=scale:32 interrupted 'Ctrl-C while a study measures' "$tw" study tests/foreign/scale.tl --model "exec:$dir/pupil" --mode two-stage -o "$dir/s2"
    TW=$tw expect 'which is gone on with' 0 "$tw" study tests/foreign/scale.tl --model "exec:$dir/pupil" --mode two-stage -o "$dir/s2"
    rm -r "$dir/s"
    TW=$tw EMULATED_WRONG=scale:32 expect 'a study of what is wrong there' 0 "$tw" study tests/foreign/scale.tl --model "exec:$dir/pupil" --mode two-stage -o "$dir/s"
    verdict 'counts that' 'grep -q "two-stage,0,0,2,.*,,TW1061:1$" "$dir/s/study.csv"'
    export LD_LIBRARY_PATH="$before"
}

# ---- the real one: the same answers, the same verdicts
if [ -n "$CUTLASS_DIR" ]; then
    unset TW_NVCC
    expect 'a real compiler' 0 replay --cutlass "$CUTLASS_DIR" -o "$dir/r" --transcript "$dir/real"
    verdict 'says the same' 'in_err "wrong, TW1049" && in_err "wrong, TW1051" && in_err "wrong, TW1043" && in_err "answer 4"'
    expect 'what it made computes' 0 "$tw" emulate "$dir/r/scale.sm_80.ptx" --bind M=50
    TW_NVRTC='' expect 'nvcc does, too' 0 replay --cutlass "$CUTLASS_DIR" -o "$dir/v" --transcript "$dir/nvcc"
else
    n=$((n + 1))
    echo "ok $n - a real compiler # skip no CUTLASS_DIR"
fi

finish
