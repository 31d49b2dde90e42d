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
