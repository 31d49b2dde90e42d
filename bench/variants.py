#!/usr/bin/env python3
"""What a variant of attention costs beside the plain kernel, a live tile.

All kernels are made from `ops/` for one head dimension and run in one process, in
shuffled order, over several rounds. A tile of scores is live when its mask keeps at
least one score. A kernel's cost is its time over the scores in live tiles of its own
size; the table shows that cost over the plain causal kernel's of the same length:
the median of the rounds' own ratios.

    bench/variants.py --tw build/tw --out variants.json --commit $(git rev-parse HEAD)
    bench/variants.py --generate DIR      only write the PTX (needs no GPU)

The operators' outputs are not checked here: `tw verify` is for that.
"""
import argparse
import os
import re
import statistics
import sys
import tempfile

import common
from program import evaluate

WINDOW = 1024

# What decides about a tile: is a score at distance q_pos - kv_pos from `low` to `high`
# kept for some query and key of it?
FULL, CAUSAL, WINDOWED = (None, None), (0, None), (0, WINDOW - 1)

VARIANTS = [
    # name             operator           settings                  kept distances
    ("plain",          "attention",       ["causal=1"],             CAUSAL),
    ("log-sum-exp",    "attention_lse",   ["causal=1"],             CAUSAL),
    ("soft cap",       "softcap",         ["causal=1"],             CAUSAL),
    ("ALiBi",          "alibi",           ["causal=1"],             CAUSAL),
    ("sink",           "sinks",           ["causal=1"],             CAUSAL),
    ("window",         "sliding_window",  [f"window={WINDOW}"],     WINDOWED),
    ("window and cap", "softcap_window",  [f"window={WINDOW}"],     WINDOWED),
    ("window and sink", "sinks_window",   [f"window={WINDOW}"],     WINDOWED),
    ("sigmoid",        "sigmoid_attention", ["causal=1"],           CAUSAL),
    ("full",           "attention",       ["causal=0"],             FULL),
]


def make(options, name, operator, settings, folder):
    """The PTX of one variant and its tile of scores, or what went wrong."""
    where = os.path.join(folder, re.sub(r"\W", "_", name))
    command = [options.tw, "gen", os.path.join(common.ROOT, "ops", operator + ".tl"), "--cubin=never",
               "--target", options.target, "--dtype", options.dtype]
    for setting in (f"q_heads={options.heads}", f"kv_heads={options.heads}", f"HeadDim={options.dim}", *settings):
        command += ["--set", setting]
    _, wrong = common.generate(command, where)
    if wrong:
        return None, wrong
    files = {os.path.splitext(f)[1]: os.path.join(where, f) for f in os.listdir(where)
             if not f.endswith(".sketch.tl")}
    with open(files[".tl"]) as file:
        code = file.read()
    tile = [int(re.search(rf"^  {side} = (\d+)$", code, re.M).group(1)) for side in ("BM", "BN")]
    return {"ptx": files[".ptx"], "tile": tile, "command": command}, None


def live_scores(length, tile, kept):
    """Scores in tiles of which `kept` leaves any, for one head."""
    rows, columns = tile
    low, high = kept
    tiles = 0
    for first in range(0, length, rows):
        last = min(first + rows, length) - 1
        begin = 0 if high is None else max(0, first - high) // columns
        end = length - 1 if low is None else last - low
        tiles += end // columns - begin + 1
    return tiles * rows * columns


def tensors_of(torch, abi, dims):
    types = {"bf16": torch.bfloat16, "fp16": torch.float16, "fp32": torch.float32}
    made = {}
    for tensor in abi["tensors"]:
        shape = [evaluate(d, dims) for d in tensor["dims"]]
        made[tensor["name"]] = torch.randn(shape, device="cuda").to(types[tensor["dtype"]])
    if "Slopes" in made:  # the powers of 2^(-8 / heads) that ALiBi has
        heads = made["Slopes"].shape[0]
        exponents = -8 * torch.arange(1, heads + 1, device="cuda") / heads
        made["Slopes"].copy_(torch.exp2(exponents).reshape(made["Slopes"].shape))
    return made


def cell_of(options, name, length, kernel, plain, ms, mhz, resources):
    """A variant beside the plain kernel. What counts as work is what lies in live tiles."""
    heads = max(1, options.tokens // length) * options.heads

    def work(of):
        return {"flops": 4 * options.dim * heads * live_scores(length, of["tile"], of["kept"])}

    return common.result_cell(
        f"{length} keys", "variant", name, {"variant": work(kernel), "plain": work(plain)}, ms, mhz,
        shape=f"seqlen={length} heads={options.heads} head_dim={options.dim} tokens={options.tokens}",
        tile=kernel["tile"], resources=resources)


def measure(options, made):
    worker = common.Worker(options)
    torch, programs = worker.torch, {name: worker.load(kernel["ptx"]) for name, kernel in made.items()}
    stream, cells = worker.stream(), []
    for length in options.seqs:
        dims = {"batch": max(1, options.tokens // length), "q_len": length, "kv_len": length,
                "q_heads": options.heads, "kv_heads": options.heads, "HeadDim": options.dim,
                "VDim": options.dim}
        runs = {}
        for name, program in programs.items():
            params = dict.fromkeys(program.abi["params"], 0.5)
            launch = program.bind(tensors_of(torch, program.abi, dims), dims, params)
            runs[name] = common.Contestant([lambda launch=launch: launch(stream)])
        ms, mhz, _ = worker.rounds(runs)
        cost = {n: [t / live_scores(length, made[n]["tile"], made[n]["kept"]) for t in ms[n]] for n in ms}
        for name in runs:
            ratios = [mine / plain for mine, plain in zip(cost[name], cost["plain"])]
            resources = programs[name].resources()
            both = {"variant": name, "plain": "plain"}
            cells.append(cell_of(options, name, length, made[name], made["plain"],
                                 {who: ms[of] for who, of in both.items()},
                                 {who: mhz[of] for who, of in both.items()}, resources))
            print(f"{name:16} {length:6} tile {made[name]['tile'][0]}x{made[name]['tile'][1]} "
                  f"{statistics.median(ms[name]):8.3f} ms  {statistics.median(ratios):.3f} of plain a live tile "
                  f"({min(ratios):.3f} to {max(ratios):.3f}), {resources['registers']} registers, "
                  f"{resources['local_bytes']} bytes spilt", flush=True)
    return document(options, cells, worker.conditions(layout=options.layout))


def document(options, cells, conditions):
    return common.results(
        f"variants of attention beside the plain kernel, head dimension {options.dim}, {options.dtype}",
        {"variant": "variant", "plain": "plain"}, cells, conditions, options, data="random normal",
        notes=["FLOPs: 4 * D for each score in a tile that the mask does not leave empty, so the ratio is the "
               "speed a live tile beside the plain causal kernel's of the same length."])


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--tw", default="build/tw")
    parser.add_argument("--target", default="sm_80")
    parser.add_argument("--dtype", default="bf16")
    parser.add_argument("--dim", type=int, default=128)
    parser.add_argument("--heads", type=int, default=16)
    parser.add_argument("--tokens", type=int, default=16384)
    parser.add_argument("--seqs", type=int, nargs="+", default=[4096, 16384])
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--round-ms", type=float, default=60, dest="round_ms")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", default="variants.json")
    parser.add_argument("--commit", default="unknown")
    parser.add_argument("--generate", metavar="DIR", help="write the PTX there and stop")
    options = parser.parse_args()
    options.layout = "bhsd"

    with tempfile.TemporaryDirectory() as scratch:
        return work(options, options.generate or scratch)


def work(options, folder):
    made, failed = {}, 0
    for name, operator, settings, kept in VARIANTS:
        kernel, wrong = make(options, name, operator, settings, folder)
        if wrong:
            failed += 1
            print(f"{name}: {wrong}", file=sys.stderr)
        else:
            made[name] = {**kernel, "kept": kept}
    if not options.generate:
        common.write_results(options.out, measure(options, made))
    print(f"variants: {len(made)} kernels, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
