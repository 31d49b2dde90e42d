#!/bin/sh
# bench.sh: `tw bench` as a person meets it: recorded results as a table, as JSON
# and as a page; timing on a driver that is a stand-in; and, where there is a
# Chromium, the page in it: nothing in the console, nothing wider than the
# screen, on a phone and on a desk. Reports in TAP.
# shellcheck disable=SC2016,SC2317 # conditions are evaluated by verdict

. tests/lib/tap.sh
recorded=$(ls bench/results/*.json)

# ---- recorded results -----------------------------------------------------------------

all=
for file in $recorded; do
    expect "$file" 0 "$tw" bench --from "$file" --html "$dir/page.html"
    verdict 'has a table' 'in_out "contestant" && ! grep -q WRONG "$dir/out"'
    expect 'is written' 0 "$tw" bench --from "$file" --json -o "$dir/again.json"
    expect 'and read again' 0 "$tw" bench --from "$dir/again.json" --html "$dir/page2.html"
    verdict 'to the same page' 'cmp -s "$dir/page.html" "$dir/page2.html"'
    all="$all --from $file"
done
# shellcheck disable=SC2086 # words are meant
expect 'several on one page' 0 "$tw" bench $all --html "$dir/page.html" -o "$dir/table"
verdict 'with the table elsewhere' '[ -s "$dir/table" ] && [ ! -s "$dir/out" ]'
expect 'no results' 1 "$tw" bench --from ops/gemm.tl
verdict 'are told so' 'in_err TW0904'
expect 'no file' 3 "$tw" bench --from "$dir/none.json"
# shellcheck disable=SC2086
expect 'several as JSON' 2 "$tw" bench $all --json
expect 'kernels beside records' 2 "$tw" bench --from "$dir/again.json" x.ptx

# ---- timing, on a driver that is a stand-in -------------------------------------------

if ${CC:-cc} -D_POSIX_C_SOURCE=200809L -shared -fPIC -O1 -Wl,-soname,libcuda.so.1 -o "$dir/libcuda.so.1" \
    tests/gpu/fake_cuda.c 2>"$dir/err"; then
    bench() { LD_LIBRARY_PATH=$dir LSAN_OPTIONS=detect_leaks=0 "$tw" bench "$@"; }
    cp tests/gpu/twice.ptx "$dir/other.ptx"
    { cat tests/gpu/twice.ptx && printf '// fault=illegal'; } >"$dir/illegal.ptx"
    one='--bind batch=1 --rounds 2'
    # shellcheck disable=SC2086
    {
        expect 'one shape' 0 bench tests/gpu/twice.ptx $one --bind n=2
        verdict 'has its time and clock' 'grep -q "batch=1 n=2 *1 .* 1500$" "$dir/out"'
        expect 'shapes and peers' 0 bench tests/gpu/twice.ptx "$dir/other.ptx" $one --bind n=1,0.0009765625k,2 \
            --html "$dir/timed.html"
        verdict 'are beside each other' '[ "$(grep -c "other .* 1.000$" "$dir/out")" -eq 3 ]'
        verdict 'and have a page' 'grep -q "Fake GPU" "$dir/timed.html"'
        expect 'the same as JSON' 0 bench tests/gpu/twice.ptx tests/gpu/twice.ptx $one --bind n=1,2 --json
        cp "$dir/out" "$dir/timed.json"
        verdict 'is a record' 'in_out "\"tilewright_results\": 1" && in_out "twice (2)"'
        expect 'that is read' 0 "$tw" bench --from "$dir/timed.json"
        expect 'lists that do not go together' 2 bench tests/gpu/twice.ptx --bind n=1,2 --bind batch=1,2,3
        verdict 'are told so' 'in_err "n has 2 values and batch 3"'
        expect 'a list with a hole' 2 bench tests/gpu/twice.ptx --bind n=1,,2
        expect 'a name that there is not' 2 bench tests/gpu/twice.ptx --bind zork=1,2
        expect 'a kernel that fails' 1 bench "$dir/illegal.ptx" $one --bind n=1,2
        verdict 'says why' 'in_err "illegal memory access"'
    }
else
    echo "# no shared library can be made here: nothing is timed"
fi

# ---- the page in a browser ------------------------------------------------------------

browser=
for name in chromium chromium-browser google-chrome; do
    [ -n "$browser" ] || browser=$(command -v $name)
done

# The page in a frame of the width of a screen, with its policy taken out and a
# script put in that tells how wide it is: a window cannot be as narrow as a phone.
# measure PAGE WIDTH: "screen page" in $dir/out, the console in $dir/err
measure()
{
    tell='<script>parent.postMessage(document.documentElement.clientWidth+" "+document.documentElement.scrollWidth,"*")</script>'
    sed -e '/^<meta http-equiv="Content-Security-Policy"/d' -e 's/<details>/<details open="">/' \
        -e "s#</body>#$tell</body>#" "$1" >"$dir/inner.html"
    cat >"$dir/outer.html" <<PAGE
<!DOCTYPE html><title>none</title>
<script>onmessage = function (e) { document.title = "measured " + e.data; }</script>
<iframe src="inner.html" style="width:$2px;height:800px;border:0"></iframe>
PAGE
    look "file://$dir/outer.html"
}

# look ADDRESS: the document as the browser has it, and what it complains of
look() { look_once "$1" || look_once "$1"; }

look_once()
{
    timeout 60 "$browser" --headless --no-sandbox --disable-gpu --disable-dev-shm-usage --hide-scrollbars \
        --user-data-dir="$dir/profile" --virtual-time-budget=2000 --enable-logging=stderr --log-level=0 \
        --dump-dom "$1" >"$dir/out" 2>"$dir/err" </dev/null && [ -s "$dir/out" ]
}

if [ -n "$browser" ] && look 'data:text/html,<title>here</title>' && grep -q '<title>here' "$dir/out"; then
    for page in page timed; do
        [ -e "$dir/$page.html" ] || continue
        look "file://$dir/$page.html"
        verdict "$page in a browser" '[ "$(grep -c "<h3>" "$dir/out")" -eq "$(grep -c "<h3>" "$dir/$page.html")" ]'
        verdict 'says nothing in the console' '! grep -q CONSOLE "$dir/err"'
        for width in 360 1280; do
            measure "$dir/$page.html" $width
            verdict "$page fits $width pixels" 'grep -q "<title>measured $width $width<" "$dir/out"'
        done
    done
else
    echo "# no browser here: the page is not looked at in one"
fi

finish
