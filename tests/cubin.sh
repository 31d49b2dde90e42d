#!/bin/sh
# cubin.sh: machine code beside the PTX: written where ptxas is at hand, loaded where it
# was made of this PTX for this GPU; compared with the PTX; and what a driver makes of PTX.
# The toolkit and the driver are stand-ins (tests/assemble/ptxas, tests/gpu/fake_cuda.c); the
# real ptxas and nvdisasm have a turn where they are at hand. Reports in the manner of TAP.
# shellcheck disable=SC2016,SC2317 # conditions are evaluated by verdict

. tests/lib/tap.sh
mkdir "$dir/tmp"
TMPDIR=$dir/tmp
TW_PTXAS=tests/assemble/ptxas TW_NVDISASM=
export TMPDIR TW_PTXAS TW_NVDISASM

cat >"$dir/twice.tl" <<'TL'
Operator twice
  Input  A (batch, n, 32) fp32
  Output O (batch, n, 32) fp32
  Compute Multiply A, 2 and get O
end
TL
ptx=$dir/twice.sm_80.ptx cubin=$dir/twice.sm_80.cubin

# ---- written --------------------------------------------------------------------------------

FAKE_CUBIN='\177ELF fault=cubin\n'
export FAKE_CUBIN
expect 'gen writes a cubin where ptxas is at hand' 0 "$tw" gen "$dir/twice.tl" -o "$dir"
verdict 'and says so' 'in_out "twice.sm_80.cubin: " && in_out "bytes of machine code"'
verdict 'it names the PTX' 'tail -n 1 "$cubin" | grep -qF " ptx=$(sha256sum <"$ptx" | cut -d " " -f 1) target=sm_80 ptxas=99.1.42 "'
verdict 'the image is as ptxas wrote it' '[ "$(head -c 17 "$cubin" | tail -c 13)" = " fault=cubin" ]'
verdict 'and the JSON names it' 'grep -qF "twice.sm_80.cubin\"" "$dir/twice.json"'
rm "$cubin"
expect 'not with --cubin=never' 0 "$tw" gen "$dir/twice.tl" -o "$dir" --cubin=never
verdict 'then there is none' '[ ! -e "$cubin" ] && grep -qF "\"ptxas\":null" "$dir/twice.json"'
expect 'figures alone with --ptxas' 0 "$tw" gen "$dir/twice.tl" -o "$dir" --cubin=never --ptxas
verdict 'then there is none either' '[ ! -e "$cubin" ] && grep -qF "\"version\":\"99.1.42\"" "$dir/twice.json"'
expect 'without ptxas there is none' 0 env TW_PTXAS= "$tw" gen "$dir/twice.tl" -o "$dir"
verdict 'which is no failure' '[ ! -e "$cubin" ] && ! in_out cubin'
expect 'unless there must be one' 3 env TW_PTXAS= "$tw" gen "$dir/twice.tl" -o "$dir" --cubin=always
expect 'a program that is named must be there' 3 "$tw" gen "$dir/twice.tl" -o "$dir" --ptxas=/nowhere/ptxas
verdict 'and the message names it' 'in_err "/nowhere/ptxas is no program that can be run"'
again() { echo "$1" >"$dir/spills"; shift; FAKE_SPILLS=$dir/spills "$tw" gen "$dir/twice.tl" -o "$dir" "$@"; }
expect 'what is spilled is chosen again' 0 again 2
verdict 'with more registers left, until nothing is' 'in_out "with twice.spare=16, without which ptxas would spill 32 bytes" && [ "$(cat "$dir/spills")" = 0 ]'
verdict 'as the code says' 'grep -q "^    spare = 16$" "$dir/twice.code.tl" && grep -qF "\"spared\":{\"settings\":\"twice.spare=16\",\"spilled\":32,\"serialised\":false}" "$dir/twice.json"'
expect 'where no choice helps' 0 again 99
verdict 'the first is taken' '! in_out spare && ! grep -q spare "$dir/twice.code.tl" && [ "$(cat "$dir/spills")" = 94 ]'
expect 'where it was said how much is spare' 0 again 9 --set spare=8
verdict 'that is left as it is' 'grep -q "^    spare = 8$" "$dir/twice.code.tl" && [ "$(cat "$dir/spills")" = 8 ]'
rm -f "$cubin"
expect 'a ptxas that fails is none' 0 env FAKE_EXIT=255 "$tw" gen "$dir/twice.tl" -o "$dir"
verdict 'which is said' '[ ! -e "$cubin" ] && in_out "no cubin: ptxas 99.1.42 cannot assemble this"'
expect 'unless it was asked for' 1 env FAKE_EXIT=255 "$tw" gen "$dir/twice.tl" -o "$dir" --ptxas
expect 'or there must be a cubin' 1 env FAKE_EXIT=255 "$tw" gen "$dir/twice.tl" -o "$dir" --cubin=always
expect 'another word than always' 2 "$tw" gen "$dir/twice.tl" -o "$dir" --cubin=sometimes
mkdir "$dir/compiled"
expect 'compile writes one beside NAME.ptx' 0 "$tw" compile "$dir/twice.code.tl" -o "$dir/compiled/twice.ptx"
verdict 'and says so' 'in_out "compiled/twice.cubin: " && [ -s "$dir/compiled/twice.cubin" ]'
expect 'and none beside other names' 0 "$tw" compile "$dir/twice.code.tl" -o "$dir/compiled/other"
verdict 'without a word' '[ ! -s "$dir/out" ] && [ "$(ls "$dir/compiled" | wc -l)" -eq 3 ]'
expect 'unless it must' 2 "$tw" compile "$dir/twice.code.tl" --cubin=always
verdict 'nothing is left where temporary files go' '[ -z "$(ls "$dir/tmp")" ]'

# ---- inspected ------------------------------------------------------------------------------

listing=tests/assemble/flow
expect 'machine code as it was meant' 0 "$tw" inspect tests/assemble/flow.ptx $listing.sass
verdict 'is shown in a table' 'in_out "flow_any" && in_out "  as it was meant" && [ ! -s "$dir/err" ]'
expect 'a wait that moved' 1 "$tw" inspect tests/assemble/flow.ptx ${listing}_moved.sass
verdict 'is shown in the PTX' 'in_err "flow.ptx:" && in_err "TW0912" && in_out "not as it was meant"'
expect 'products that were serialised' 1 "$tw" inspect tests/assemble/flow.ptx ${listing}_serialised.sass --json
verdict 'are in JSON' 'in_out "\"ok\":false,\"machine_code\":{\"as_meant\":false" && in_out "TW0911"'
expect 'registers spilled in a loop' 1 "$tw" inspect tests/assemble/flow.ptx ${listing}_spilled.sass
verdict 'are said' 'in_err "TW0914"'
expect 'a listing of something else' 1 "$tw" inspect tests/assemble/flow.ptx "$dir/twice.tl"
expect 'what is no PTX' 2 "$tw" inspect "$dir/twice.tl"
expect 'no cubin beside it' 3 "$tw" inspect "$ptx"
"$tw" gen "$dir/twice.tl" -o "$dir" >/dev/null
expect 'no disassembler' 3 env TW_NVDISASM= "$tw" inspect "$ptx"
verdict 'which is said' 'in_err "there shall be no disassembler"'
expect 'a disassembler that is not there' 3 env TW_NVDISASM=/nowhere/nvdisasm "$tw" inspect "$ptx"

# With the real ones, where they are at hand: what ptxas makes of a kernel is what was meant.
real() { env -u TW_PTXAS -u TW_NVDISASM -u FAKE_CUBIN "$@"; }
if real "$tw" gen ops/gemm_gelu.tl --set N=512 --set K=256 --target sm_90a --cubin=always -o "$dir/real" >"$dir/out" 2>"$dir/err"; then
    verdict 'ptxas assembles a kernel' '[ -s "$dir/real/gemm_gelu.sm_90a.cubin" ]'
    if in_out 'Machine code'; then
        verdict 'as it was meant' 'in_out "  as it was meant"'
        expect 'and so says inspect' 0 real "$tw" inspect "$dir/real/gemm_gelu.sm_90a.ptx"
    fi
fi

# ---- loaded ---------------------------------------------------------------------------------

mkdir "$dir/lib"
if ! ${CC:-cc} -D_POSIX_C_SOURCE=200809L -shared -fPIC -O1 -Wl,-soname,libcuda.so.1 -o "$dir/lib/libcuda.so.1" \
    tests/gpu/fake_cuda.c 2>"$dir/err"; then
    echo "# SKIP the rest: no compiler makes a stand-in for the driver"
    finish
fi
LD_LIBRARY_PATH=$dir/lib FAKE_CAPABILITY=80
export LD_LIBRARY_PATH FAKE_CAPABILITY

# The stand-in's kernel is launched otherwise; the other entry is a schedule of its own.
patch_ptx()
{
    sed -e 's/"persistent": 0, "threads": 32, "shared_bytes": 0}/"persistent": 0, "threads": 64, "shared_bytes": 60000}/' \
        -e 's/"blocks": "batch \* ceil(n \/ 16)",/"any": {"blocks": "max(batch * ceil(n \/ 16), batch)", "persistent": 0, "threads": 64, "shared_bytes": 60000}, &/' \
        "$ptx" >"$dir/patched" && mv "$dir/patched" "$ptx"
}
seal() # as tw does it
{
    size=$(head -c 18 "$cubin.code" | wc -c)
    { cat "$cubin.code"; printf '\n//tw cubin=1 code=%s sha256=%s ptx=%s target=sm_80 ptxas=13.0 local twice=0 twice_any=0\n' \
        "$size" "$(sha256sum <"$cubin.code" | cut -d ' ' -f 1)" "$(sha256sum <"$ptx" | cut -d ' ' -f 1)"; } >"$cubin"
}
try() { "$tw" "$@" --bind batch=1 --bind n=1 --rounds=1; }

"$tw" gen "$dir/twice.tl" -o "$dir" --cubin=never >/dev/null
patch_ptx
printf '\177ELF fault=cubin\n' >"$cubin.code"
expect 'PTX alone is compiled by the driver' 0 try bench "$ptx"
verdict 'which bench says' 'in_out "twice: 40 registers, 16 bytes of local memory, compiled by the driver"'
seal
expect 'a cubin beside it is loaded' 0 try bench "$ptx"
verdict 'which bench says' 'in_out "from the cubin" && [ ! -s "$dir/err" ]'
expect 'unless it shall not' 0 try bench "$ptx" --cubin=never
verdict 'which is said' 'in_out "compiled by the driver"'
expect 'JSON says from what' 0 try bench "$ptx" --json
verdict 'with its entries' 'in_out "twice.sm_80, twice: 40 registers, 16 bytes of local memory, from the cubin\""'
expect 'for another GPU the driver compiles' 0 env FAKE_CAPABILITY=86 "$tw" bench "$ptx" --bind batch=1 --bind n=1 --rounds=1
verdict 'the PTX' 'in_out "compiled by the driver"'
expect 'unless the cubin must be used' 3 env FAKE_CAPABILITY=86 "$tw" bench "$ptx" --bind batch=1 --bind n=1 --rounds=1 --cubin=always
verdict 'and the message says why' 'in_err "the cubin is for sm_80; this is Fake GPU of compute capability 8.6"'
echo '// another text' >>"$ptx"
expect 'a stale cubin is not loaded' 0 try bench "$ptx"
verdict 'and the user is told' 'in_out "compiled by the driver" && in_err "was made of other PTX than"'
expect 'nor where there must be one' 3 try bench "$ptx" --cubin=always
echo ' ' >>"$cubin"
expect 'nor a damaged one' 0 try bench "$ptx"
verdict 'of which the user is told as well' 'in_err "does not say what it was made of; it is not used"'
rm "$cubin"
echo '// fault=spill' >>"$ptx"
expect 'a driver that spills' 0 try bench "$ptx"
verdict 'gets the more conservative schedule' 'in_out "twice_any: 40 registers, 16 bytes of local memory"'
verdict 'and the user is told' 'in_err "warning: the driver spilled registers of twice: 640 bytes" && in_err "twice_any is launched instead"'
expect 'JSON has it too' 0 try bench "$ptx" --json
verdict 'entry by entry' 'in_out "twice_any: 40 registers, 16 bytes of local memory" && in_out "\"twice.sm_80: the driver spilled"'
finish
