#!/bin/sh
# workflow.sh: the workflow with models as a user meets it. The transcripts that it plays
# (tests/transcripts) were written by hand, as a model would write them; the models that
# it asks are small shell scripts. Reports in the manner of TAP.
# shellcheck disable=SC2016,SC2317 # conditions are evaluated by verdict

. tests/lib/tap.sh
TW_OPS=ops
export TW_OPS

attention() { "$tw" gen ops/attention.tl --set HeadDim=64 --rounds 4 "$@"; }

# ---- transcripts played again
expect 'a transcript plays' 0 attention --model replay:tests/transcripts/attention -o "$dir/a" --transcript "$dir/run"
verdict 'wrong answers are told to be so' 'in_err "sketch, answer 1" && in_err "wrong, TW1043" && in_err "wrong, TW0420"'
verdict 'a missing Divide and a wrong head are found by execution' \
    'grep -q TW1043 "$dir/run/sketch-1.diagnostics.txt" && grep -q "q_heads 2 to 5" "$dir/run/reason-2.diagnostics.txt"'
verdict 'the next prompt holds them' \
    'grep -q "needs a Reshape first" "$dir/run/reason-2.prompt.md" && grep -q "fix: reshape it" "$dir/run/reason-2.prompt.md"'
verdict 'the last answer is what is compiled' 'grep -q "BM = 64" "$dir/a/attention.code.tl"'
"$tw" prompt sketch ops/attention.tl --set HeadDim=64 >"$dir/prompt" 2>/dev/null
verdict 'tw prompt prints what is sent' 'cmp -s "$dir/prompt" "$dir/run/sketch-1.prompt.md"'
"$tw" prompt reason "$dir/a/attention.sketch.tl" --set HeadDim=64 >"$dir/prompt" 2>/dev/null
verdict 'for each stage' 'cmp -s "$dir/prompt" "$dir/run/reason-1.prompt.md"'
expect 'what was played is a transcript itself' 0 attention --model "replay:$dir/run" -o "$dir/b"
for kind in sketch.tl code.tl sm_80.ptx sm_80.h; do
    verdict "and gives the same attention.$kind" 'cmp -s "$dir/a/attention.$kind" "$dir/b/attention.$kind"'
done
verdict 'it is not copied' '[ ! -e "$dir/b/attention.transcript" ]'
expect 'too few rounds' 1 "$tw" gen ops/attention.tl --set HeadDim=64 --rounds 1 --model replay:tests/transcripts/attention -o "$dir/c"
verdict 'are told' 'in_err "no answer of replay:tests/transcripts/attention for the stage" && [ ! -e "$dir/c" ]'
expect 'and as JSON' 1 "$tw" gen ops/attention.tl --set HeadDim=64 --rounds 1 --json --model replay:tests/transcripts/attention -o "$dir/c"
verdict 'they are an object' 'in_out "{\"ok\":false,\"diagnostics\":[{" && in_out TW1043'
expect 'one stage alone' 0 attention --sketch-by replay:tests/transcripts/attention -o "$dir/d"
verdict 'the others are built in' 'in_err "sketch, answer 2" && ! in_err "reason, answer"'
cp -r tests/transcripts/attention "$dir/gap"
rm "$dir/gap/sketch-1.answer.md"
expect 'a transcript with a gap' 3 attention --model "replay:$dir/gap" -o "$dir/d"
verdict 'is told, and nobody takes its place' 'in_err TW1047 && in_err "no answer 1 for the stage"'
expect 'no transcript' 3 attention --model "replay:$dir/none" -o "$dir/d"
verdict 'is told' 'in_err "no transcript is there"'
expect 'nobody of that name' 2 attention --model nobody:x -o "$dir/d"
expect 'a translator without anything to compile with' 3 attention --translate-by exec:cat -o "$dir/d"
verdict 'is told where CUTLASS is looked for' 'in_err TW1053 && in_err "--cutlass DIR"'

# ---- a request in plain words
words="sliding-window attention with sinks, 8 kv heads, head dim 64"
expect 'a request in plain words' 0 "$tw" gen "$words" --set q_heads=16 --model replay:tests/transcripts/words -o "$dir/w" \
    --trial --bind batch=1 --bind q_len=20 --bind kv_len=70
verdict 'becomes a definition that is shown' 'in_out "Operator window_sinks"'
verdict 'what does not fit is told' 'in_err "define, answer 1" && in_err TW1041 && in_err TW0320'
verdict 'and all after agrees with it' '[ -s "$dir/w/window_sinks.sm_80.ptx" ] && ! in_out WRONG'
expect 'blanks are none' 3 "$tw" gen '   ' --model "exec:touch $dir/asked; cat" -o "$dir/w"
verdict 'so that nobody is asked' '[ ! -e "$dir/asked" ] && in_err "cannot open"'
expect 'takes a model' 1 "$tw" gen "$words" -o "$dir/w"
verdict 'as it says' 'in_err "takes a model"'

# ---- models that are asked: scripts that count how often
cat >"$dir/model" <<'END'
#!/bin/sh
# Answers with the built-in sketch, the first time with a draft; fails when told to.
echo x >>"$COUNT"
cat >"$COUNT.prompt"
[ -z "$FAIL" ] || [ "$(wc -l <"$COUNT")" -lt "$FAIL" ] || exit 1
[ "$(wc -l <"$COUNT")" -gt 1 ] || { echo '<think>Kernel x</think> A draft: Kernel gemm ...'; exit; }
echo 'Here it is.'
echo '```tl'
"$TW" fuse ops/gemm.tl
echo '```'
END
chmod +x "$dir/model"
COUNT=$dir/count TW=$tw DEEPSEEK_API_KEY=sk-hidden OPENAI_API_KEY=sk-hidden ANTHROPIC_API_KEY=sk-hidden
export COUNT TW DEEPSEEK_API_KEY OPENAI_API_KEY ANTHROPIC_API_KEY
gemm() { "$tw" gen ops/gemm.tl --sketch-by "exec:$dir/model" -o "$dir/m" "$@"; }

FAIL=2 expect 'a model that fails in the middle' 3 gemm
verdict 'has been asked twice' '[ "$(wc -l <"$COUNT")" -eq 2 ] && [ -s "$dir/m/gemm.transcript/sketch-1.answer.md" ]'
verdict 'the run is not at its end' '[ ! -e "$dir/m/gemm.transcript/result.json" ]'
expect 'the same command goes on' 0 gemm
verdict 'and asks only what was not answered' '[ "$(wc -l <"$COUNT")" -eq 3 ] && in_err "from the transcript"'
verdict 'what was thought is kept apart' 'grep -q "Kernel x" "$dir/m/gemm.transcript/sketch-1.thoughts.md"'
verdict 'the result is told' 'grep -q "{\"ok\":true," "$dir/m/gemm.transcript/result.json"'
verdict 'a transcript holds no key' '! grep -rq sk-hidden "$dir/m"'
verdict 'nor does the model get more than the prompt' 'cmp -s "$COUNT.prompt" "$dir/m/gemm.transcript/sketch-2.prompt.md"'
expect 'once more is another run' 0 gemm
verdict 'with a folder of its own' '[ -e "$dir/m/gemm.transcript.2/result.json" ]'
asked=$(wc -l <"$COUNT")
expect 'a folder that is named is gone on with' 0 gemm --transcript "$dir/m/gemm.transcript"
verdict 'so nobody is asked' '[ "$(wc -l <"$COUNT")" -eq "$asked" ]'
expect 'but not for another run' 3 gemm --transcript "$dir/m/gemm.transcript" --set K=64
verdict 'which is told' 'in_err TW1048'

rm -f "$COUNT"
expect 'a budget for one question' 3 gemm --transcript "$dir/paid" --budget 3000t
verdict 'is told to be spent' 'in_err TW1011 && [ "$(wc -l <"$COUNT")" -eq 1 ]'
sed -i 's/"tokens_in":[0-9]*/"tokens_in":-1000000/' "$dir/paid/sketch-1.json"
expect 'an edit that fills the purse' 3 gemm --transcript "$dir/paid" --budget 1000t
verdict 'does not' 'in_err TW1011 && in_err "from the transcript" && [ "$(wc -l <"$COUNT")" -eq 1 ]'

cat >"$dir/slow" <<'END'
#!/bin/sh
cat >/dev/null
[ -e "$COUNT.go" ] || { : >"$COUNT.waits"; sleep 60; }
"$TW" fuse ops/gemm.tl
END
chmod +x "$dir/slow"
# A shell starts what runs in the background without SIGINT, so that it is given back.
cat >"$dir/start.c" <<'END'
#include <signal.h>
#include <unistd.h>
int main(int argc, char **argv)
{
    (void)argc;
    signal(SIGINT, SIG_DFL);
    execv(argv[1], argv + 1);
    return 127;
}
END
${CC:-cc} -o "$dir/start" "$dir/start.c" 2>"$dir/err"
"$dir/start" "$tw" gen ops/gemm.tl --sketch-by "exec:$dir/slow" -o "$dir/i" >"$dir/out" 2>"$dir/err" </dev/null &
pid=$!
for _ in $(seq 100); do
    [ ! -e "$COUNT.waits" ] || break
    sleep 0.05
done
kill -INT $pid
wait $pid
status=$?
verdict 'Ctrl-C ends a run that waits' '[ $status -eq 130 ] && in_err "given up"'
: >"$COUNT.go"
expect 'which can be gone on with' 0 "$tw" gen ops/gemm.tl --sketch-by "exec:$dir/slow" -o "$dir/i"
verdict 'in its folder' '[ -e "$dir/i/gemm.transcript/result.json" ]'

# ---- answers that are none: a round each, told to the model
cat >"$dir/mute" <<'END'
#!/bin/sh
# First what $SAYS prints, then the built-in sketch.
echo x >>"$COUNT"
cat >"$COUNT.asked"
[ "$(wc -l <"$COUNT")" -gt 1 ] || { eval "$SAYS"; exit; }
"$TW" fuse ops/gemm.tl
END
chmod +x "$dir/mute"
mute()
{
    name=$1 SAYS=$2 code=$3 size=$4 n_of_runs=$((n_of_runs + 1))
    export SAYS
    rm -f "$COUNT"
    expect "$name" 0 "$tw" gen ops/gemm.tl --sketch-by "exec:$dir/mute" -o "$dir/mute.$n_of_runs"
    verdict 'is a round' '[ "$(wc -l <"$COUNT")" -eq 2 ] && in_err "answer 1" && in_err "wrong, $code"'
    verdict 'is told, in few words' 'grep -q "$code" "$COUNT.asked" && [ "$(wc -c <"$COUNT.asked")" -lt 50000 ]'
    verdict 'and kept' '[ -e "$dir/mute.$n_of_runs/gemm.transcript/sketch-1.answer.md" ] &&
        [ "$(wc -c <"$dir/mute.$n_of_runs/gemm.transcript/sketch-1.answer.md")" -le "$size" ]'
    rm "$dir/mute.$n_of_runs/gemm.transcript/result.json"
    expect 'so that it is not asked for again' 0 "$tw" gen ops/gemm.tl --sketch-by "exec:$dir/mute" -o "$dir/mute.$n_of_runs"
    verdict 'by anybody' '[ "$(wc -l <"$COUNT")" -eq 2 ]'
}
n_of_runs=0
mute 'an empty answer' 'true' TW1016 0
mute 'an answer of blanks' 'printf "  \n\n"' TW1016 10
mute 'an answer that was only thought' 'echo "<think>Kernel f</think>"' TW1016 1
mute 'a megabyte of one line' 'echo "Kernel f"; head -c 1000000 /dev/zero | tr "\\0" x' TW0 1100000
mute 'a first line of a megabyte' 'printf "Kernel f # "; head -c 1000000 /dev/zero | tr "\\0" x; echo; echo end' TW 1100000
mute 'an answer without an end' 'yes' TW1017 1048576
verdict 'replayed, it is the same' '"$tw" gen ops/gemm.tl --sketch-by "replay:$dir/mute.$n_of_runs/gemm.transcript" -o "$dir/r" 2>"$dir/err" >"$dir/out" &&
    cmp -s "$dir/r/gemm.sm_80.ptx" "$dir/mute.$n_of_runs/gemm.sm_80.ptx"'
rm -f "$COUNT"
expect 'nothing but empty answers' 1 "$tw" gen ops/gemm.tl --sketch-by 'exec:cat >/dev/null; echo x >>$COUNT' -o "$dir/mute" --transcript "$dir/mute.none" --rounds 2
verdict 'end when the rounds are spent' '[ "$(wc -l <"$COUNT")" -eq 2 ] && ! in_out sm_80.ptx'

# ---- a study
cat >"$dir/pupil" <<'END'
#!/bin/sh
# Has tw write sketches and code, softmaxes at its second attempt; none in one go.
echo x >>"$COUNT"
cat >"$COUNT.asked"
given() { awk '/^```tl/ { p = ""; on = 1; next } /^```/ { if (on) last = p; on = 0 } on { p = p $0 "\n" } END { printf "%s", last }' "$COUNT.asked"; }
case $(sed -n 3p "$COUNT.asked") in
"Write the sketch"*)
    if given | grep -q softmax && ! grep -q '^# Your last answer' "$COUNT.asked"; then
        echo 'Kernel row_softmax'; echo end
    else
        given | "$TW" fuse
    fi ;;
"Write the code of this sketch"*) given | "$TW" reason ;;
*) echo 'I would rather not.' ;;
esac
END
chmod +x "$dir/pupil"
rm -f "$COUNT"
study() { "$tw" study ops/gemm.tl ops/row_softmax.tl --model "exec:$dir/pupil" --model builtin --rounds 2 -o "$dir/study" "$@"; }
expect 'a study' 0 study
verdict 'has a line for each author and mode' \
    'grep -qE "^exec:.* two-stage +2 +50 % +100 % +5 " "$dir/out" && grep -qE "^exec:.* one-stage +2 +0 % +0 % +4 .*TW1041:4" "$dir/out" && grep -qE "^builtin +two-stage +2 +100 % +100 %" "$dir/out"'
verdict 'for CUDA as well, which nobody built in writes' \
    'grep -qE "^exec:.* chain-of-thought +2 +0 % +0 % +4 .* - +TW1041:4" "$dir/out" && grep -qE "^exec:.* vanilla +2 +0 %" "$dir/out" && ! grep -qE "^builtin +(vanilla|chain)" "$dir/out"'
verdict 'and one for each run' '[ "$(wc -l <"$dir/study/study.csv")" -eq 13 ] && grep -q "^row_softmax,.*two-stage,0,1,3," "$dir/study/study.csv"'
asked=$(wc -l <"$COUNT")
verdict 'asks for each answer once' '[ "$asked" -eq 17 ]'
verdict 'for CUDA in words of their own' 'grep -q "Think step by step" "$dir"/study/gemm/chain-of-thought/*/think-1.prompt.md &&
    grep -q "__device__ void gemm_block(" "$dir"/study/gemm/vanilla/*/vanilla-1.prompt.md && ! grep -q "step by step" "$dir"/study/gemm/vanilla/*/vanilla-1.prompt.md'
cut -d, -f1-9 "$dir/study/study.csv" >"$dir/rows"
rm "$dir/study/gemm/two-stage"/*/reason-1.answer.md
expect 'a study that was interrupted' 0 study
verdict 'asks only what was not answered' '[ "$(wc -l <"$COUNT")" -eq $((asked + 1)) ]'
cut -d, -f1-8 "$dir/study/study.csv" >"$dir/out"
verdict 'and comes to the same' '[ "$(cut -d, -f1-8 "$dir/rows")" = "$(cat "$dir/out")" ]'
# Ctrl-C at the third question of a study
rm -f "$COUNT"
cat >"$dir/pupil.slow" <<'END'
#!/bin/sh
[ -e "$COUNT.go" ] || [ "$(wc -l <"$COUNT")" -lt 2 ] || { : >"$COUNT.waits"; sleep 60; }
exec "$(dirname "$0")/pupil"
END
chmod +x "$dir/pupil.slow"
: >"$COUNT"
rm -f "$COUNT.go" "$COUNT.waits"
set -- "$tw" study ops/gemm.tl ops/row_softmax.tl --model "exec:$dir/pupil.slow" --mode two-stage --rounds 2 -o "$dir/cut"
"$dir/start" "$@" >"$dir/out" 2>"$dir/err" </dev/null &
pid=$!
for _ in $(seq 200); do
    [ ! -e "$COUNT.waits" ] || break
    sleep 0.05
done
kill -INT $pid
wait $pid
status=$?
verdict 'Ctrl-C ends a study' '[ $status -eq 130 ] && in_err "goes on with it"'
verdict 'what was done is in its tables' '[ "$(wc -l <"$dir/cut/study.csv")" -eq 2 ] && grep -q "^gemm,.*,two-stage,1,1,2," "$dir/cut/study.csv"'
: >"$COUNT.go"
expect 'and the same command goes on' 0 "$@"
verdict 'asking nothing twice' '[ "$(wc -l <"$COUNT")" -eq 5 ] && [ "$(wc -l <"$dir/cut/study.csv")" -eq 3 ]'
expect 'as JSON' 0 study --json --mode one-stage
verdict 'it is an object' 'in_out "{\"ok\":true,\"target\":\"sm_80\",\"rows\":["'
expect 'a mode that there is not' 2 study --mode three-stage
expect 'or nearly' 2 study --mode chain-of-thougt
verdict 'is told' 'in_err "did you mean '"'chain-of-thought'"'"'
expect 'what nobody built in writes' 2 "$tw" study ops/gemm.tl --mode vanilla,chain-of-thought -o "$dir/nobody"
verdict 'is told, and who could' 'in_err "nobody built in writes that; --model SPEC" && [ ! -e "$dir/nobody" ]'
mkdir "$dir/no.ops"
expect 'no operators' 3 env TW_OPS="$dir/no.ops" "$tw" study --model builtin -o "$dir/nobody"
verdict 'are told' 'in_err "no operator in the folder"'
: >"$dir/empty.tl"
rm -f "$COUNT"
expect 'one that cannot be studied' 1 "$tw" study ops/gemm.tl "$dir/empty.tl" --model "exec:$dir/pupil" -o "$dir/nobody"
verdict 'is told before anybody is asked' 'in_err "empty.tl holds no definition" && in_err "cannot be studied" && [ ! -e "$COUNT" ]'
cat >"$dir/cuda" <<'END'
#!/bin/sh
cat >/dev/null
echo '```cpp'
cat tests/cuda/scaled.cu
echo '```'
END
chmod +x "$dir/cuda"
expect 'CUDA where there is nothing to compile it with' 0 env PATH=/usr/bin:/bin TW_NVCC= TW_NVRTC= \
    "$tw" study tests/cuda/scaled.tl --model "exec:$dir/cuda" --mode vanilla --rounds 1 -o "$dir/vanilla"
verdict 'is a failure with a code' 'in_out TW1053:1'

# ---- answers of somebody hostile
hostile()
{
    expect "$1" 1 "$tw" gen ops/gemm.tl --sketch-by "exec:$2" --rounds 1 -o "$dir/h" --transcript "$dir/h.$n"
    verdict 'is an answer that is wrong, and no more' 'in_err "error:" && [ ! -e "$dir/h" ] && [ ! -e "$dir/pwned" ]'
}
hostile 'a megabyte of noise' 'cat >/dev/null; head -c 1000000 /dev/urandom'
hostile 'a megabyte of fences' 'cat >/dev/null; yes "\`\`\`" | head -c 1000000'
hostile 'nothing but fences' 'cat >/dev/null; printf "\`\`\`\n\`\`\`\n"'
hostile 'a shell script' "cat >/dev/null; printf '\`\`\`sh\ntouch $dir/pwned\n\`\`\`\nKernel \$(touch $dir/pwned)\nend\n'"
hostile 'a kernel without end' 'cat >/dev/null; echo "Kernel f"; yes "  for i over K" | head -c 1000000'

finish
