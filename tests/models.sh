#!/bin/sh
# models.sh: `tw models`: what it lists, and asking a model for a word. Reports in TAP.

tw=${TW:-build/tw}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
n=0 bad=0
unset OPENAI_API_KEY TW_API_KEY TW_LIBCURL
DEEPSEEK_API_KEY=sk-0123456789
export DEEPSEEK_API_KEY

# expect NAME STATUS PATTERN COMMAND...: the pattern (grep) stands in what is printed
expect()
{
    name=$1 status=$2 pattern=$3
    shift 3
    n=$((n + 1))
    "$@" >"$dir/out" 2>&1 </dev/null
    got=$?
    if [ $got -eq "$status" ] && grep -q -e "$pattern" "$dir/out" && ! grep -q sk-0123456789 "$dir/out"; then
        echo "ok $n - $name"
    else
        echo "not ok $n - $name (status $got)"
        sed 's/^/# /' "$dir/out" | head -n 8
        bad=1
    fi
}

expect 'the list' 0 '^deepseek .*DEEPSEEK_API_KEY .* set .*https://api.deepseek.com' "$tw" models
expect 'what is not set' 0 '^openai .*OPENAI_API_KEY .*not set' "$tw" models
expect 'the list as JSON' 0 '"name":"openai","variables":"OPENAI_API_KEY","set":false' "$tw" models --json
expect 'no libcurl' 0 'nobody is asked over the network: /no/such' env TW_LIBCURL=/no/such "$tw" models
expect 'no libcurl, as JSON' 0 '"missing":"/no/such' env TW_LIBCURL=/no/such "$tw" models --json
expect 'a program' 0 'Reply with the single word' "$tw" models exec:cat
expect 'a program, as JSON' 0 '"answer":{"text":"ready\\n","reasoning":"","finish":"done"' "$tw" models --json 'exec:echo ready'
expect 'escapes are not for the terminal' 0 '^.\{0,3\}\[2Jx$' "$tw" models 'exec:printf "\033[2Jx"'
expect 'what a program costs' 0 'a guess), \$0.0' "$tw" models --price 1000/5000 --budget 1 'exec:echo ready'
expect 'a program that fails' 1 'TW1019' "$tw" models 'exec:exit 3'
expect 'no model' 1 'TW1001' "$tw" models nobody
expect 'no key' 1 'set OPENAI_API_KEY' "$tw" models gpt-x
expect 'without libcurl' 1 'TW1004.*' env TW_LIBCURL=/no/such "$tw" models deepseek-chat
expect 'without libcurl, as JSON' 1 '"code":"TW1004"' env TW_LIBCURL=/no/such "$tw" models --json deepseek-chat
expect 'an address' 1 'TW1005' "$tw" models gpt-x --base-url ftp://localhost
expect 'nobody there' 1 'TW1006' "$tw" models gpt-x --base-url http://127.0.0.1:1/v1
expect 'a key in place of its file is not repeated' 1 'TW1003' "$tw" models gpt-x --key-file sk-0123456789
expect 'a key that others read' 1 'TW1003' "$tw" models gpt-x --key-file README.md
expect 'a budget without a price' 1 'TW1011' "$tw" models exec:cat --budget 2
expect 'a budget in tokens' 1 'TW1011' "$tw" models exec:cat --budget 3t

# Ctrl-C ends the question, and the program that was asked with it. (A shell's background
# jobs ignore it, so another process has to send it.)
expect 'Ctrl-C' 130 'TW1018' "$tw" models "exec:echo begun; echo \$\$ >$dir/child; kill -INT \$PPID; exec sleep 100"
n=$((n + 1))
if kill -0 "$(cat "$dir/child")" 2>/dev/null; then
    echo "not ok $n - the program is still there"
    bad=1
else
    echo "ok $n - the program is gone"
fi
for value in x 0 -1 1x inf 1tt; do
    expect "--budget $value" 2 'neither dollars' "$tw" models "--budget=$value"
done
for value in x 1 1/ /1 1/2/3 -1/2; do
    expect "--price $value" 2 'not two prices' "$tw" models "--price=$value"
done
expect '--temperature' 2 'not a number' "$tw" models --temperature=warm
expect '--max-tokens' 2 'not a whole number' "$tw" models --max-tokens=0

echo "1..$n"
exit $bad
