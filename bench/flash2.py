#!/usr/bin/env python3
"""Times our attention kernels beside PyTorch's FlashAttention-2 backend.

Both run in one process on the same tensors; the kernel's PTX is loaded into
PyTorch's own context through the CUDA driver, and launched as the `//tw ` lines
at its head say. Before anything is timed, the output is checked against fp64 on
rows at and between tile boundaries: its error may be `--bound` times that of a
plain computation in the same precision (fp32 throughout, the probabilities and
the output rounded once), or, where tensor cores make more than that of large
scores, 1.25 times FlashAttention-2's. It must not depend on what the output held
before, and must be the same twice.

Timing: rounds, each of which runs both in a shuffled order, many launches
between two CUDA events, over several sets of inputs. A cell's figures are
medians over the rounds, its ratio the median of the rounds' own ratios.

FLOPs: 4 * S^2 * D * H * B, half of that when causal.

    bench/flash2.py --tw build/tw --out results.json --commit $(git rev-parse HEAD)
    bench/flash2.py --generate DIR        only write the PTX (needs no GPU)
    bench/flash2.py --ptx DIR             use PTX that was written before

Needs Python 3.9 or newer and PyTorch; the parent process needs neither a GPU
nor PyTorch. A worker that hangs or crashes loses one cell and is started again.
"""
import argparse
import os
import statistics
import sys
import time

import common
from common import ROOT, numbers

CONVENTION = "4 * S^2 * D * H * B, halved when causal"
CONTESTANTS = {"ours": "ours", "fa2": "FA2"}


# ---- cells: one row of the table ------------------------------------------------


def kernel_name(head_dim, causal, dtype, hidden):
    mask = "causal" if causal else "full"
    return f"attention_d{head_dim}_h{hidden // head_dim}_{mask}_{dtype}"


def make_cells(options):
    return [
        {
            "head_dim": d, "causal": causal, "dtype": dtype, "seqlen": s,
            "heads": options.hidden // d, "batch": max(1, options.tokens // s),
            "kernel": kernel_name(d, causal, dtype, options.hidden),
        }
        for dtype in options.dtypes for d in options.dims for causal in options.causal
        for s in options.seqs
    ]


def flops(cell):
    dense = 4 * cell["seqlen"] ** 2 * cell["head_dim"] * cell["heads"] * cell["batch"]
    return dense / 2 if cell["causal"] else dense


def worst_error(result, who):
    """Of both kinds of data and both measures, over the plain computation's."""
    return max(
        result["check"][k][who][m] / result["check"][k]["plain"][m]
        for k in ("normal", "growing") for m in ("frobenius", "max"))


def cell_text(cell):
    return (f"{cell['dtype']} d{cell['head_dim']:<3} {'causal' if cell['causal'] else 'full':6} "
            f"{cell['seqlen']:>6}")


# ---- generating PTX ---------------------------------------------------------------


def generate(options, folder):
    """One PTX file a kernel, by `tw gen`; the names of those that failed."""
    failed = {}
    for cell in make_cells(options):
        name = cell["kernel"]
        path = os.path.join(folder, name + ".ptx")
        if name in failed or os.path.exists(path):
            continue
        where = os.path.join(folder, name)
        command = [
            options.tw, "gen", options.ops, "--target", "sm_80", "--cubin=never", "--dtype", cell["dtype"],
            "--set", f"q_heads={cell['heads']}", "--set", f"kv_heads={cell['heads']}",
            "--set", f"HeadDim={cell['head_dim']}", "--set", f"causal={int(cell['causal'])}",
        ]
        made, wrong = common.generate(command, where)
        if wrong:
            failed[name] = wrong
            print(f"{' '.join(command)}\n{wrong}", file=sys.stderr)
            continue
        os.replace(made, path)
    return failed


# ---- the worker: everything that needs a GPU ------------------------------------------


class Worker(common.Worker):
    # -- tensors

    def tensors(self, cell, kind="normal"):
        torch = self.torch
        dtype = {"bf16": torch.bfloat16, "fp16": torch.float16}[cell["dtype"]]
        b, s, h, d = cell["batch"], cell["seqlen"], cell["heads"], cell["head_dim"]
        shape = (b, s, h, d) if self.options.layout == "bshd" else (b, h, s, d)
        q, k, v, o = (torch.randn(shape, device="cuda", dtype=torch.float32).to(dtype) for _ in range(4))
        if self.options.layout == "bshd":
            q, k, v, o = (t.transpose(1, 2) for t in (q, k, v, o))
        if kind == "growing":
            k.mul_(torch.linspace(0.2, 12, s, device="cuda")[None, None, :, None].to(dtype))
        return {"Q": q, "K": k, "V": v, "O": o}

    def program(self, cell):
        return self.load(os.path.join(self.options.ptx, cell["kernel"] + ".ptx"))

    def launcher(self, cell, tensors):
        dims = {"batch": cell["batch"], "q_len": cell["seqlen"], "kv_len": cell["seqlen"],
                "q_heads": cell["heads"], "kv_heads": cell["heads"], "HeadDim": cell["head_dim"],
                "VDim": cell["head_dim"]}
        params = {"scale": cell["head_dim"] ** -0.5}
        launch, stream = self.program(cell).bind(tensors, dims, params), self.stream()
        return lambda: launch(stream)

    def peer(self, cell, tensors):
        attend = self.torch.nn.functional.scaled_dot_product_attention
        q, k, v = (tensors[n] for n in "QKV")
        return lambda: attend(q, k, v, is_causal=bool(cell["causal"]))

    # -- correctness

    def errors(self, cell, tensors, theirs):
        """Worst errors over some heads: ours, the peer's and those of plain computations."""
        torch, worst = self.torch, {}
        rows = torch.tensor(common.boundary_rows(self.random, cell["seqlen"], 300), device="cuda")
        dead = torch.arange(cell["seqlen"], device="cuda")[None, :] > rows[:, None] if cell["causal"] else None
        for _ in range(self.options.heads_checked):
            b, h = self.random.randrange(cell["batch"]), self.random.randrange(cell["heads"])
            q, k, v = (tensors[n][b, h] for n in "QKV")
            exact, plain = common.attention_rows(torch, q[rows], k, v, cell["head_dim"] ** -0.5, dead)
            for who, outputs in {"ours": [tensors["O"][b, h][rows]], "peer": [theirs[b, h][rows]], "plain": plain}.items():
                common.worse(worst, who, common.error_of(torch, outputs, exact))
        return worst

    def is_close(self, errors):
        return all(
            errors["ours"][m] <= max(self.options.bound * errors["plain"][m], 1.25 * errors["peer"][m])
            for m in ("frobenius", "max"))

    def check(self, cell):
        torch = self.torch
        report = {}
        for kind in ("normal", "growing"):
            tensors = self.tensors(cell, kind)
            before = {n: tensors[n].clone() for n in "QKV"}
            run = self.launcher(cell, tensors)
            tensors["O"].fill_(float("nan"))
            run()
            torch.cuda.synchronize()
            first = tensors["O"].clone()
            theirs = self.peer(cell, tensors)()
            report[kind] = self.errors(cell, tensors, theirs)
            report[kind]["close"] = self.is_close(report[kind])
            report[kind]["against_peer"] = ((first.float() - theirs.float()).norm() /
                                            theirs.float().norm()).item()
            tensors["O"].fill_(float("nan"))
            run()
            torch.cuda.synchronize()
            report[kind]["repeats"] = torch.equal(first, tensors["O"])
            report[kind]["inputs_kept"] = all(torch.equal(before[n], tensors[n]) for n in "QKV")
            del tensors, before, first, theirs
        report["ok"] = all(r["close"] and r["against_peer"] < 0.03 and r["repeats"] and r["inputs_kept"]
                           for r in (report["normal"], report["growing"]))
        return report

    # -- time

    def measure(self, cell):
        sets = [self.tensors(cell) for _ in range(self.options.sets)]
        ms, mhz, launches = self.rounds({
            "ours": common.Contestant([self.launcher(cell, t) for t in sets]),
            "fa2": common.Contestant([self.peer(cell, t) for t in sets])}, least=len(sets))
        ratios = [p / o for o, p in zip(ms["ours"], ms["fa2"])]
        rate = flops(cell) * 1e-9
        return {
            "ms": ms, "mhz": mhz, "launches": launches,
            "tflops": {name: rate / statistics.median(values) for name, values in ms.items()},
            "ratio": statistics.median(ratios), "ratio_min": min(ratios), "ratio_max": max(ratios),
        }

    def conditions(self):
        return super().conditions(layout=self.options.layout,
                                  peer="torch scaled_dot_product_attention, SDPBackend.FLASH_ATTENTION")

    def one(self, cell):
        result = {"check": self.check(cell)}
        result["resources"] = self.program(cell).resources()
        if not self.options.only_check:
            result.update(self.measure(cell))
        return result

    def run(self, cells, skip):
        from torch.nn.attention import SDPBackend, sdpa_kernel
        with sdpa_kernel(SDPBackend.FLASH_ATTENTION):
            super().run(cells, skip)


# ---- results --------------------------------------------------------------------------------


def case_of(cell):
    return f"d{cell['head_dim']} {'causal' if cell['causal'] else 'full'} {cell['dtype']}"


def to_result(cell, r):
    """A cell and what the worker said of it, as it is recorded."""
    shape = (f"batch={cell['batch']} heads={cell['heads']} seqlen={cell['seqlen']} "
             f"head_dim={cell['head_dim']}")
    more = {k: r[k] for k in ("error", "check", "resources", "launches") if k in r}
    if "check" in r and not r["check"]["ok"]:
        more["ok"] = False
    return common.result_cell(case_of(cell), "sequence length", cell["seqlen"], {"flops": flops(cell)},
                              r.get("ms", {}), r.get("mhz"), shape=shape, kernel=cell["kernel"], **more)


# ---- the parent -----------------------------------------------------------------------------


class Parent(common.Parent):
    def line(self, index):
        cell, r = self.cells[index], self.results[index]
        if "error" in r:
            return f"{cell_text(cell)}  {r['error']}"
        verdict = f"{worst_error(r, 'ours'):>7.2f} {worst_error(r, 'peer'):>7.2f}  "
        verdict += "ok" if r["check"]["ok"] else "WRONG"
        if "ratio" not in r:
            return f"{cell_text(cell)} {'':25} {verdict}"
        return (f"{cell_text(cell)} {r['tflops']['ours']:>8.1f} {r['tflops']['fa2']:>8.1f} {r['ratio']:>7.3f}"
                f" {verdict}")

    def geometric_mean(self, keep=lambda cell: True):
        return common.mean([r["ratio"] for c, r in self.good() if keep(c)])

    def write(self):
        if not self.options.out:
            return
        cells = [to_result(c, r or {"error": "not run"}) for c, r in zip(self.cells, self.results)]
        common.write_results(self.options.out, common.results(
            "attention beside FlashAttention-2", CONTESTANTS, cells, self.conditions, self.options,
            data="random normal", notes=[f"FLOPs: {CONVENTION}."], bound=self.options.bound,
            geometric_mean=self.geometric_mean()))

    def summary(self):
        for d in self.options.dims:
            for causal in self.options.causal:
                mean = self.geometric_mean(lambda c: c["head_dim"] == d and c["causal"] == causal)
                if mean:
                    print(f"d{d} {'causal' if causal else 'full'}: geometric mean of ratios {mean:.3f}")
        if self.good():
            least = min(self.good(), key=lambda x: x[1]["ratio"])
            print(f"all: {self.geometric_mean():.3f}; least {least[1]['ratio']:.3f} "
                  f"({' '.join(cell_text(least[0]).split())})")

    def run(self):
        print(f"{'':24} {'TFLOPS':>17} {'':7} {'error / plain':>15}\n"
              f"{'type dim mask     length':24} {'ours':>8} {'FA2':>8} {'ratio':>7} {'ours':>7} {'FA2':>7}",
              flush=True)
        return super().run()


# ---- options --------------------------------------------------------------------------------


def parse(arguments):
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--tw", default=os.path.join(ROOT, "build", "tw"), help="the compiler")
    p.add_argument("--ops", default=os.path.join(ROOT, "ops", "attention.tl"), help="the definition")
    p.add_argument("--generate", metavar="DIR", help="only write the PTX there")
    p.add_argument("--ptx", metavar="DIR", help="PTX that was written before")
    p.add_argument("--out", metavar="FILE", help="results as JSON")
    p.add_argument("--commit", default="unknown", help="recorded with the results")
    p.add_argument("--dims", type=numbers, default=[64, 128])
    p.add_argument("--seqs", type=numbers, default=[512, 1024, 2048, 4096, 8192, 16384])
    p.add_argument("--dtypes", type=lambda t: t.split(","), default=["bf16", "fp16"])
    p.add_argument("--causal", type=numbers, default=[0, 1])
    p.add_argument("--tokens", type=int, default=16384)
    p.add_argument("--hidden", type=int, default=2048)
    p.add_argument("--layout", choices=["bshd", "bhsd"], default="bshd", help="dimensions as they lie in memory")
    p.add_argument("--rounds", type=int, default=7)
    p.add_argument("--round-ms", type=float, default=25, help="length of one timing")
    p.add_argument("--sets", type=int, default=2, help="sets of tensors that take turns")
    p.add_argument("--heads-checked", type=int, default=3)
    p.add_argument("--bound", type=float, default=2, help="error allowed, over that of a plain computation")
    p.add_argument("--only-check", action="store_true", help="time nothing")
    p.add_argument("--seed", type=int, default=int(time.time()) & 0xffff)
    p.add_argument("--timeout", type=float, default=60, help="seconds for one cell")
    p.add_argument("--limit", type=float, default=3600, help="seconds for everything")
    p.add_argument("--worker", help=argparse.SUPPRESS)
    return p.parse_args(arguments)


def main():
    options = parse(sys.argv[1:])
    if options.worker:
        Worker(options).run(make_cells(options), common.skipped(options))
        return 0
    if options.generate:
        os.makedirs(options.generate, exist_ok=True)
        return 1 if generate(options, options.generate) else 0
    if not options.ptx:
        import tempfile
        with tempfile.TemporaryDirectory() as folder:
            options.ptx = folder
            failed = generate(options, folder)
            cells = [c for c in make_cells(options) if c["kernel"] not in failed]
            status = Parent(options, make_cells(options)).run() if cells else 1
        return 1 if failed else status
    return Parent(options, make_cells(options)).run()


if __name__ == "__main__":
    sys.exit(main())
