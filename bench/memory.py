#!/usr/bin/env python3
"""How near kernels without products come to the bandwidth of a copy.

Norms, softmaxes and elementwise operators from `ops/`, each beside PyTorch's copy_ of
as many bytes and, where there is one, PyTorch's own operator. All run in one process,
in shuffled order, over several rounds, on two sets of tensors that take turns, so that
little of one launch's data is left in L2 for the next. A kernel's bandwidth is that of
the bytes of its inputs and outputs, each counted once; its ratio is to the copy's, the
median of the rounds' own ratios. Every output is compared with the same computed by
PyTorch in fp64 on some rows, and a second launch must give the same bits.

    bench/memory.py --tw build/tw --out memory.json --commit $(git rev-parse HEAD)
    bench/memory.py --generate DIR              only write the PTX (needs no GPU)
    bench/memory.py --force "BM=4 warps=4" ...  also time choices forced on the reasoner
"""
import argparse
import os
import re
import statistics
import sys

import common
from program import evaluate

SHAPES = [(16384, 4096), (16384, 8192), (4096, 16384), (65536, 1024), (8192, 12800), (20000, 3001), (1048576, 64), (524288, 128), (65536, 997)]
EPS = 1e-5
TOLERANCE = 0.02  # of an error, over the largest value


def silu(x):
    return x / (1 + (-x).exp())


# operator: (name of the row's length, its value in fp64, PyTorch's own)
OPERATORS = {
    "rmsnorm": ("N", lambda t, f: {"Y": t["X"] * (t["X"].square().mean(-1, True) + EPS).rsqrt() * t["gain"]},
                lambda t, f: f.rms_norm(t["X"], t["gain"].shape, t["gain"], EPS)),
    "row_softmax": ("N", lambda t, f: {"Y": t["X"].softmax(-1)}, lambda t, f: f.softmax(t["X"], -1)),
    "log_softmax": ("N", lambda t, f: {"Y": t["X"].log_softmax(-1)}, lambda t, f: f.log_softmax(t["X"], -1)),
    "layernorm": ("N", lambda t, f: {"Y": f.layer_norm(t["X"], t["gain"].shape, t["gain"], t["shift"], EPS)},
                  lambda t, f: f.layer_norm(t["X"], t["gain"].shape, t["gain"], t["shift"], EPS)),
    "residual_rmsnorm": ("N", None, None),
    "silu_multiply": ("F", lambda t, f: {"H": silu(t["G"]) * t["U"]}, None),
}


def make_cells(options):
    cells = []
    for operator in options.ops:
        row = OPERATORS[operator][0]
        for dtype in options.dtypes:
            for rows, columns in options.shapes:
                for known in options.known:
                    for force in [""] + options.force:
                        cells.append({"operator": operator, "dtype": dtype, "rows": rows, "columns": columns,
                                      "dims": {"M": rows, row: columns},
                                      "settings": ([f"{row}={columns}"] if known else []) + force.split(),
                                      "known": known, "force": force})
    return cells


def make(options, cell, folder):
    """The PTX's path, or what went wrong."""
    where = os.path.join(folder, re.sub(r"\W+", "_", " ".join([cell["operator"], cell["dtype"], *cell["settings"]])))
    path = os.path.join(where, f"{cell['operator']}.{options.target}.ptx")
    if os.path.exists(path):
        return path, None
    command = [options.tw, "gen", os.path.join(common.ROOT, "ops", cell["operator"] + ".tl"), "--cubin=never",
               "--target", options.target, "--dtype", cell["dtype"]]
    for setting in cell["settings"]:
        command += ["--set", setting]
    return common.generate(command, where)


class Bench(common.Worker):
    def tensors(self, abi, dims):
        torch = self.torch
        types = {"bf16": torch.bfloat16, "fp16": torch.float16, "fp32": torch.float32}
        made = {}
        for tensor in abi["tensors"]:
            shape = [evaluate(str(d), dims) for d in tensor["dims"]]
            made[tensor["name"]] = torch.empty(shape, device="cuda", dtype=types[tensor["dtype"]]).normal_()
        return made

    def check(self, cell, launch, tensors, stream):
        """The largest error, over the largest value; None: nothing to compare with."""
        torch, exact = self.torch, OPERATORS[cell["operator"]][1]
        launch(stream)
        torch.cuda.synchronize()
        first = {n: t.clone() for n, t in tensors.items()}
        launch(stream)
        torch.cuda.synchronize()
        if any(not torch.equal(first[n], t) for n, t in tensors.items()):
            return float("inf")
        if not exact:
            return None
        some = sorted({0, 1, cell["rows"] // 2 + 1, cell["rows"] - 1})
        rows = {n: (t[some] if t.dim() > 1 else t).double() for n, t in tensors.items()}
        worst = 0
        for name, value in exact(rows, torch.nn.functional).items():
            worst = max(worst, ((rows[name] - value).abs().max() / value.abs().max()).item())
        return worst

    def contestants(self, cell, program):
        """Functions that launch once, by name, two of each; and the bytes that a launch moves."""
        torch, stream = self.torch, self.stream()
        own = OPERATORS[cell["operator"]][2]
        runs, sets = {"ours": []}, [self.tensors(program.abi, cell["dims"]) for _ in range(2)]
        total = sum(t.numel() * t.element_size() for t in sets[0].values())
        error = None
        for tensors in sets:
            launch = program.bind(tensors, cell["dims"], {"eps": EPS})
            error = self.check(cell, launch, tensors, stream) if error is None else error
            runs["ours"].append(lambda launch=launch: launch(stream))
            if own:
                runs.setdefault("torch", []).append(lambda t=tensors: own(t, torch.nn.functional))
            a, b = (torch.empty(total // 2, device="cuda", dtype=torch.uint8) for _ in range(2))
            runs.setdefault("copy", []).append(lambda a=a, b=b: b.copy_(a))
        return runs, total, error

    def measure(self, cell, path):
        program = self.load(path)
        runs, total, error = self.contestants(cell, program)
        ms, mhz, _ = self.rounds({name: common.Contestant(r) for name, r in runs.items()}, least=4, most=4000)
        ratios = [c / o for c, o in zip(ms["copy"], ms["ours"])]
        return {**{k: cell[k] for k in ("operator", "dtype", "rows", "columns", "known", "force")}, "ms": ms,
                "mhz": mhz, "bytes": total,
                "gbs": {n: total / statistics.median(t) / 1e6 for n, t in ms.items()}, "error": error,
                "ratio": statistics.median(ratios), "least": min(ratios), "most": max(ratios),
                **program.resources()}


def to_result(r):
    """What was measured of a cell, as it is recorded."""
    case = f"{r['operator']} {r['dtype']}, row length {'compiled in' if r['known'] else 'open'}"
    return common.result_cell(
        case + (f", {r['force']}" if r["force"] else ""), "rows x columns", f"{r['rows']} x {r['columns']}",
        {"bytes": r["bytes"]}, r["ms"], r["mhz"], largest_error=r["error"],
        resources={k: r[k] for k in ("registers", "local_bytes")}, ok=(r["error"] or 0) <= TOLERANCE)


def document(options, cells, conditions):
    return common.results(
        "memory-bound kernels beside a copy", {"ours": "ours", "copy": "copy", "torch": "PyTorch"},
        cells, conditions, options, data="random normal",
        notes=["A kernel's bytes are those of its inputs and outputs, each counted once; the copy moves as many."])


def line(r):
    name = f"{r['operator']:16} {r['dtype']} {r['rows']:6}x{r['columns']:<6} {'known' if r['known'] else 'open ':5}"
    torch = f"{r['gbs']['torch']:6.0f}" if "torch" in r["gbs"] else "     -"
    error = "-" if r["error"] is None else f"{r['error']:.1e}"
    return (f"{name} {r['gbs']['ours']:6.0f} GB/s, copy {r['gbs']['copy']:6.0f}, torch {torch}: "
            f"{r['ratio']:.3f} ({r['least']:.3f} to {r['most']:.3f}), error {error}, {r['registers']} registers, "
            f"{r['local_bytes']} spilt {r['force']}")


def shape(text):
    rows, columns = text.split("x")
    return int(rows), int(columns)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--tw", default="build/tw")
    parser.add_argument("--target", default="sm_80")
    parser.add_argument("--ops", nargs="+", default=list(OPERATORS), choices=list(OPERATORS))
    parser.add_argument("--dtypes", nargs="+", default=["bf16"])
    parser.add_argument("--shapes", type=shape, nargs="+", default=SHAPES, metavar="MxN")
    parser.add_argument("--known", type=int, nargs="+", default=[1, 0], help="1: rows' length compiled in; 0: not")
    parser.add_argument("--force", action="append", default=[], metavar="SETTINGS")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--round-ms", type=float, default=8, dest="round_ms")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", default="memory.json")
    parser.add_argument("--commit", default="unknown")
    parser.add_argument("--generate", metavar="DIR", help="write the PTX there and stop")
    options = parser.parse_args()

    folder = options.generate or os.path.splitext(options.out)[0] + ".ptx"
    bench, results, failed = None, [], 0
    cells = make_cells(options)
    for cell in cells:
        path, wrong = make(options, cell, folder)
        if path and not options.generate:
            bench = bench or Bench(options)
            try:
                results.append(bench.measure(cell, path))
                print(line(results[-1]), flush=True)
                if (results[-1]["error"] or 0) > TOLERANCE:
                    wrong = f"error {results[-1]['error']}"
            except Exception as error:  # one cell is lost
                wrong = f"{type(error).__name__}: {error}"
            bench.torch.cuda.empty_cache()
        if wrong:
            failed += 1
            print(f"{cell['operator']} {cell['settings']}: {wrong}", file=sys.stderr)
    if results:
        common.write_results(options.out, document(options, [to_result(r) for r in results], bench.conditions()))
        mine = [r["ratio"] for r in results if not r["force"]]
        print(f"memory: least {min(mine):.3f}, geometric mean {statistics.geometric_mean(mine):.3f} of a copy")
    print(f"{len(cells) - failed} cells passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
