# tap.sh: what scripts that meet `tw` as a user does begin with: `. tests/lib/tap.sh`. Their
# commands' outputs lie in $dir/out and $dir/err; they report in the manner of TAP, and end
# with `finish`.
# shellcheck shell=sh disable=SC2034,SC2317 # used by those who read it

tw=${TW:-build/tw}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
: >"$dir/out" >"$dir/err"
n=0 bad=0

# expect NAME STATUS COMMAND...: runs it with its outputs in $dir/out, $dir/err
expect()
{
    name=$1 want=$2
    shift 2
    "$@" >"$dir/out" 2>"$dir/err" </dev/null
    verdict "$name" "[ $? -eq $want ]"
}

# verdict NAME CONDITION
verdict()
{
    n=$((n + 1))
    if eval "$2"; then
        echo "ok $n - $1"
    else
        echo "not ok $n - $1"
        sed 's/^/# out: /' "$dir/out" | head -n 30
        sed 's/^/# err: /' "$dir/err" | head -n 20
        bad=1
    fi
}

in_out() { grep -qF -e "$1" "$dir/out"; }
in_err() { grep -qF -e "$1" "$dir/err"; }
finish() { echo "1..$n"; exit $bad; }

# emulated_gpu: from here on the driver is one whose GPU is the PTX emulator; where there can be none, this is the end
emulated_gpu()
{
    case $tw in *san*) finish ;; esac # the stand-in is linked with what has no sanitizers
    if ! ${CC:-cc} -std=c11 -D_POSIX_C_SOURCE=200809L -Isrc -O1 -shared -fPIC -Wl,-Bsymbolic -Wl,-soname,libcuda.so.1 \
        tests/gpu/emulated_cuda.c "$(dirname "$tw")/libtilewright.a" -lm -o "$dir/libcuda.so.1" 2>"$dir/err"; then
        echo "# the stand-in for the driver cannot be made here"
        finish
    fi
    export LD_LIBRARY_PATH="$dir"
}
