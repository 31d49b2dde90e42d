#!/usr/bin/env python3
"""Times our sm_90a kernels beside cuDNN, FlashAttention-2 and FlashAttention-3.

Attention of several head dimensions, types and ways of sharing heads, causal and full, at
16,384 tokens and sequence lengths from 512 to 16k; and one GEMM beside cuBLAS. All run in
one process on the same tensors: cuDNN and FlashAttention-2 through PyTorch's
scaled_dot_product_attention, FlashAttention-3 when its module (flash_attn_interface) is at
hand, our PTX, or a cubin of it, loaded into PyTorch's context.

First every kernel is checked: against fp64 on rows at and between tile boundaries, beside
plain computations that round as often as they must (fp32 throughout, the weights and the
output rounded once; the worst of three counts), on several kinds of data at a ragged length,
and on the data of each cell before that is timed. Its error may be `--bound` times the plain
one's, or 1.25 times cuDNN's where that is more; two runs must give the same bits, inputs must
be kept.

Data are random normal; at `--growing-seqs` also such that the maximum of a row grows in
nearly every block, twelvefold over the row ("growing", from the first key to the last, and
"falling", the other way: which of them grows depends on the order in which keys are taken),
and a hundred times steeper ("steep", "plunging").

Timing: rounds, in each of which the contestants come in a shuffled order with short gaps,
many launches between two CUDA events over several sets of tensors. Figures are medians over
the rounds, ratios medians of the rounds' own ratios, the utilisation that of the tensor
cores at the clock which was read while the launches ran.

FLOPs: 2 * B * H * S^2 * (D + DV), half of that when causal; 2 * M * N * K.

    bench/hopper.py --out DIR                   DIR/hopper.json, DIR/hopper.md
    bench/hopper.py --generate DIR [--cubin]    only write the kernels (needs no GPU)
    bench/hopper.py --ptx DIR --out DIR         use kernels that were written before

Needs Python 3.9 or newer and PyTorch; the parent process needs neither a GPU nor PyTorch. A
worker that hangs or crashes loses one cell and is started again.
"""
import argparse
import contextlib
import os
import shutil
import statistics
import sys
import tempfile
import time

import common
from common import ROOT, Contestant, mean, numbers, words

PEERS = ["cudnn", "fa2", "fa3", "cublas"]
NAMES = {"ours": "ours", "cudnn": "cuDNN", "fa2": "FA2", "fa3": "FA3", "cublas": "cuBLAS"}
CONVENTION = "2 * B * H * S^2 * (D + DV), halved when causal; 2 * M * N * K"
RAGGED = 1000  # a length at which every kernel is checked
GROWTH = {"growing": (0.2, 12), "falling": (12, 0.2), "steep": (0.2, 1200), "plunging": (1200, 0.2)}

# heads, heads of keys and values, head dimension of keys, of values, element type
CASES = {
    "d64": (32, 32, 64, 64, "bf16"),
    "d128": (16, 16, 128, 128, "bf16"),
    "d128-fp16": (16, 16, 128, 128, "fp16"),
    "d256": (8, 8, 256, 256, "bf16"),
    "192-128": (16, 16, 192, 128, "bf16"),
    "gqa-16-4": (16, 4, 128, 128, "bf16"),
    "gqa-64-8": (64, 8, 128, 128, "bf16"),
    "mqa-16-1": (16, 1, 128, 128, "bf16"),
    "d64-lse": (32, 32, 64, 64, "bf16"),  # with the log-sum-exp of each row as a second output
}


# ---- cells: one row of the table ------------------------------------------------------------


def attention_cell(options, case, causal, seqlen, kind):
    heads, kv_heads, d, dv, dtype = CASES[case]
    return {"case": case, "causal": causal, "dtype": dtype, "heads": heads, "kv_heads": kv_heads,
            "head_dim": d, "value_dim": dv, "seqlen": seqlen, "kind": kind,
            "batch": max(1, options.tokens // seqlen),
            "kernel": f"attention_{case}_{'causal' if causal else 'full'}"}


def gemm_cell(size):
    return {"case": "gemm", "dtype": "bf16", "size": size, "kind": "normal", "kernel": f"gemm_{size}"}


def make_cells(options):
    cells = []
    for case in options.cases:
        if case == "gemm":
            cells.append(gemm_cell(options.gemm))
            continue
        for causal in options.causal:
            cells += [attention_cell(options, case, causal, s, "normal") for s in options.seqs]
            cells += [attention_cell(options, case, causal, s, kind)
                      for s in options.growing_seqs for kind in options.kinds]
    return cells


def has_lse(cell):
    return cell["case"].endswith("-lse")


def is_gemm(cell):
    return cell["case"] == "gemm"


def flops(cell):
    if is_gemm(cell):
        return 2 * cell["size"] ** 3
    dense = (2 * cell["batch"] * cell["heads"] * cell["seqlen"] ** 2 *
             (cell["head_dim"] + cell["value_dim"]))
    return dense / 2 if cell["causal"] else dense


def group_of(cell):
    """What stands in one table: all lengths of a case and mask."""
    return "gemm" if is_gemm(cell) else f"{cell['case']} {'causal' if cell['causal'] else 'full'}"


def cell_text(cell):
    if is_gemm(cell):
        return f"gemm {cell['size']}^3"
    return f"{group_of(cell):16} {cell['seqlen']:>6} {cell['kind']:8}"


# ---- making kernels -------------------------------------------------------------------------


def command_of(options, cell):
    operator = "gemm" if is_gemm(cell) else "attention_lse" if has_lse(cell) else "attention"
    command = [options.tw, "gen", os.path.join(options.ops, operator + ".tl"), "--target", options.target,
               "--dtype", cell["dtype"]]
    settings = {"N": cell["size"], "K": cell["size"]} if is_gemm(cell) else {
        "q_heads": cell["heads"], "kv_heads": cell["kv_heads"], "HeadDim": cell["head_dim"],
        "VDim": cell["value_dim"], "causal": int(cell["causal"])}
    for name, value in settings.items():
        command += ["--set", f"{name}={value}"]
    return command + [f"--cubin={'always' if options.cubin else 'never'}"] + options.gen


def generate(options, folder):
    """One file a kernel, by `tw gen`; the messages of those that failed."""
    failed = {}
    for cell in make_cells(options):
        name = cell["kernel"]
        path = os.path.join(folder, name + ".ptx")
        if name in failed or os.path.exists(path):
            continue
        command = command_of(options, cell)
        with tempfile.TemporaryDirectory() as where:
            made, message = common.generate(command, where)
            if made:
                shutil.copy(made, path)
                if options.cubin:
                    shutil.copy(made[:-4] + ".cubin", path[:-4] + ".cubin")
        if message:
            failed[name] = message
            print(f"{' '.join(command)}\n{failed[name]}", file=sys.stderr)
    return failed


# ---- the worker: everything that needs a GPU ------------------------------------------------


class Attention:
    def __init__(self, torch, options, chance):
        self.torch, self.options, self.random = torch, options, chance
        self.attend = torch.nn.functional.scaled_dot_product_attention
        try:
            from flash_attn_interface import flash_attn_func
            self.flash3 = flash_attn_func
        except ImportError:
            self.flash3 = None

    output, inputs = "O", "QKV"

    def tensors(self, cell, kind):
        torch = self.torch
        dtype = {"bf16": torch.bfloat16, "fp16": torch.float16}[cell["dtype"]]
        b, s = cell["batch"], cell["seqlen"]

        def fresh(heads, width):
            return torch.randn((b, s, heads, width), device="cuda").transpose(1, 2)

        q = fresh(cell["heads"], cell["head_dim"])
        k = fresh(cell["kv_heads"], cell["head_dim"])
        v, o = fresh(cell["kv_heads"], cell["value_dim"]), fresh(cell["heads"], cell["value_dim"])
        if kind in GROWTH:
            k = k * torch.linspace(*GROWTH[kind], s, device="cuda")[None, None, :, None]
        elif kind == "large":
            q, k = q * 8, k * 8
        elif kind == "negative":
            q, k = q.abs() * 2, -k.abs() * 3
        tensors = {name: t.to(dtype) for name, t in zip("QKVO", (q, k, v, o))}
        if has_lse(cell):
            tensors["LSE"] = torch.full((b, cell["heads"], s, 1), float("nan"), device="cuda")
        return tensors

    def numbers(self, cell):
        dims = {"batch": cell["batch"], "q_len": cell["seqlen"], "kv_len": cell["seqlen"],
                "q_heads": cell["heads"], "kv_heads": cell["kv_heads"], "HeadDim": cell["head_dim"],
                "VDim": cell["value_dim"]}
        return dims, {"scale": cell["head_dim"] ** -0.5}

    # -- peers: each one a function of tensors that gives a function without arguments

    def through_torch(self, cell, repeat):
        shared = cell["heads"] != cell["kv_heads"]
        extra = {"enable_gqa": True} if shared and not repeat else {}

        def of(tensors):
            q, k, v = (tensors[n] for n in "QKV")
            if shared and repeat:  # a backend that does not share heads gets copies of them
                times = cell["heads"] // cell["kv_heads"]
                k, v = (x.repeat_interleave(times, dim=1) for x in (k, v))
            return lambda: self.attend(q, k, v, is_causal=bool(cell["causal"]), **extra)

        return of

    def through_flash3(self, cell):
        def of(tensors):
            q, k, v = (tensors[n].transpose(1, 2) for n in "QKV")

            def run():
                out = self.flash3(q, k, v, causal=bool(cell["causal"]))
                return (out[0] if isinstance(out, tuple) else out).transpose(1, 2)

            return run

        return of

    def peers(self, cell):
        """Candidates, each a context and a function of tensors; of one name the first that runs counts."""
        from torch.nn.attention import SDPBackend, sdpa_kernel
        backends = {"cudnn": SDPBackend.CUDNN_ATTENTION, "fa2": SDPBackend.FLASH_ATTENTION}
        found = []
        for name, backend in backends.items():
            for repeat in (False, True) if cell["heads"] != cell["kv_heads"] else (False,):
                found.append((name, lambda backend=backend: sdpa_kernel(backend),
                              self.through_torch(cell, repeat), repeat))
        if self.flash3:
            found.append(("fa3", contextlib.nullcontext, self.through_flash3(cell), False))
        return found

    # -- what is right

    def lse_error(self, cell, tensors):
        """The largest of some rows, over the 1e-3 + 2e-6 of its magnitude that is allowed."""
        torch, worst = self.torch, 0.0
        for _ in range(self.options.heads_checked):
            b, h = self.random.randrange(cell["batch"]), self.random.randrange(cell["heads"])
            rows = torch.tensor(common.boundary_rows(self.random, cell["seqlen"], 200), device="cuda")
            k = tensors["K"][b, h * cell["kv_heads"] // cell["heads"]].double()
            s = tensors["Q"][b, h][rows].double() @ k.T * cell["head_dim"] ** -0.5
            if cell["causal"]:
                s = s.masked_fill(torch.arange(cell["seqlen"], device="cuda")[None, :] > rows[:, None], float("-inf"))
            exact = torch.logsumexp(s, 1)
            off = (tensors["LSE"][b, h, rows, 0].double() - exact).abs() / (1e-3 + 2e-6 * exact.abs())
            worst = max(worst, off.nan_to_num(float("inf")).max().item())
        return worst

    def samples(self, cell, tensors):
        """For some rows of some heads: where they are, in fp64, by plain computations."""
        torch = self.torch
        for _ in range(self.options.heads_checked):
            b, h = self.random.randrange(cell["batch"]), self.random.randrange(cell["heads"])
            rows = torch.tensor(common.boundary_rows(self.random, cell["seqlen"], 200), device="cuda")
            q, k, v = tensors["Q"][b, h], *(tensors[n][b, h * cell["kv_heads"] // cell["heads"]] for n in "KV")
            dead = torch.arange(cell["seqlen"], device="cuda")[None, :] > rows[:, None] if cell["causal"] else None

            yield (b, h, rows), *common.attention_rows(torch, q[rows], k, v, cell["head_dim"] ** -0.5, dead)


class Gemm:
    def __init__(self, torch, options, chance):
        self.torch, self.options, self.random = torch, options, chance

    output, inputs = "C", "AB"

    def tensors(self, cell, kind):
        torch = self.torch
        n = cell["size"]
        del kind  # there is no softmax to grow
        return {name: torch.randn((n, n), device="cuda").to(torch.bfloat16) for name in "ABC"}

    def numbers(self, cell):
        return {name: cell["size"] for name in "MNK"}, {}

    def peers(self, cell):
        del cell
        torch = self.torch

        def of(tensors):
            out = torch.empty_like(tensors["C"])
            return lambda: torch.matmul(tensors["A"], tensors["B"], out=out)

        return [("cublas", contextlib.nullcontext, of, False)]

    def samples(self, cell, tensors):
        torch = self.torch
        rows = torch.tensor(sorted(self.random.sample(range(cell["size"]), 64)), device="cuda")
        a, b = tensors["A"][rows], tensors["B"]
        yield (rows,), a.double() @ b.double(), [(a.float() @ b.float()).to(a.dtype).double()]


class Worker(common.Worker):
    def __init__(self, options):
        super().__init__(options)
        self.attention = Attention(self.torch, options, self.random)
        self.gemm = Gemm(self.torch, options, self.random)
        self.checked = {}

    def work(self, cell):
        return self.gemm if is_gemm(cell) else self.attention

    def program(self, cell):
        return self.load(os.path.join(self.options.ptx, cell["kernel"] + ".ptx"))

    def launcher(self, cell, tensors):
        launch, stream = self.program(cell).bind(tensors, *self.work(cell).numbers(cell)), self.stream()
        return lambda: launch(stream)

    def peers(self, cell, tensors):
        """Of each peer that takes the cell: context, function of tensors, whether heads were repeated."""
        taken, refused = {}, {}
        for name, context, of, repeated in self.work(cell).peers(cell):
            if name in taken:
                continue
            try:
                with context():
                    of(tensors)()
                self.torch.cuda.synchronize()
                taken[name] = (context, of, repeated)
            except Exception as error:  # not for this head dimension, or not in this build
                refused[name] = common.first_line(error)
        return taken, {n: why for n, why in refused.items() if n not in taken}

    # -- correctness

    def errors(self, cell, tensors, outputs):
        worst = {}
        for at, exact, plain in self.work(cell).samples(cell, tensors):
            for name, output in outputs.items():
                common.worse(worst, name, common.error_of(self.torch, [output[at[:-1]][at[-1]]], exact))
            common.worse(worst, "plain", common.error_of(self.torch, plain, exact))
        return worst

    def is_close(self, errors):
        peer = errors.get("cudnn") or errors.get("cublas") or errors.get("fa2") or errors["plain"]
        return all(errors["ours"][m] <= max(self.options.bound * errors["plain"][m], 1.25 * peer[m])
                   for m in ("frobenius", "max"))

    def check(self, cell, kind):
        torch, work = self.torch, self.work(cell)
        tensors = work.tensors(cell, kind)
        before = {n: tensors[n].clone() for n in work.inputs}
        run, outputs = self.launcher(cell, tensors), {}
        for attempt in ("ours", "again"):
            tensors[work.output].fill_(float("nan"))
            run()
            torch.cuda.synchronize()
            outputs[attempt] = tensors[work.output].clone()
        repeats = torch.equal(outputs["ours"], outputs.pop("again"))
        for name, (context, of, _) in self.peers(cell, tensors)[0].items():
            with context():
                outputs[name] = of(tensors)()
        report = {"kind": kind, "errors": self.errors(cell, tensors, outputs), "repeats": repeats,
                  "inputs_kept": all(torch.equal(before[n], tensors[n]) for n in work.inputs)}
        if not is_gemm(cell) and has_lse(cell):
            report["lse_error"] = work.lse_error(cell, tensors)
        report["ok"] = repeats and report["inputs_kept"] and self.is_close(report["errors"]) and report.get("lse_error", 0) <= 1
        return report

    def check_kernel(self, cell):
        """Once a kernel: a ragged length, every kind of data. The first report that is not right, or None."""
        name = cell["kernel"]
        if name not in self.checked:
            self.checked[name] = None
            kinds = [] if is_gemm(cell) else ["normal", "large", "negative", *GROWTH]
            for kind in kinds:
                report = self.check(dict(cell, batch=2, seqlen=RAGGED), kind)
                if not report["ok"]:
                    self.checked[name] = report
                    break
        return self.checked[name]

    # -- time

    def contestants(self, cell):
        work = self.work(cell)
        sets = [work.tensors(cell, cell["kind"]) for _ in range(self.options.sets)]
        peers, refused = self.peers(cell, sets[0])
        found = {"ours": Contestant([self.launcher(cell, t) for t in sets])}
        for name, (context, of, _) in peers.items():
            found[name] = Contestant([of(t) for t in sets], context)
        return found, refused, [name for name, peer in peers.items() if peer[2]]

    def measure(self, cell):
        contestants, refused, repeated = self.contestants(cell)
        ms, mhz, launches = self.rounds(contestants, least=self.options.sets, gap=self.options.gap)
        return dict(self.figures(cell, ms, mhz), refused=refused, heads_repeated=repeated, launches=launches)

    def figures(self, cell, ms, mhz):
        rate = flops(cell) * 1e-9
        tflops = {name: rate / statistics.median(values) for name, values in ms.items()}
        ratios = {name: statistics.median([p / o for o, p in zip(ms["ours"], values)])
                  for name, values in ms.items() if name != "ours"}
        known = self.flops_per_clock() or 0
        peak = {name: known * 1e-6 * statistics.median([c for c in clocks if c])
                for name, clocks in mhz.items() if known and any(clocks)}
        return {"ms": ms, "mhz": mhz, "tflops": tflops, "ratio": ratios,
                "utilisation": {name: tflops[name] / p for name, p in peak.items()}}

    # -- all cells

    def conditions(self):
        return super().conditions(cudnn=self.torch.backends.cudnn.version(), fa3=self.attention.flash3 is not None)

    def one(self, cell):
        wrong = self.check_kernel(cell)
        result = {"check": wrong or self.check(cell, cell["kind"])}
        result["resources"] = self.program(cell).resources()
        if result["check"]["ok"] or self.options.force:
            if not self.options.only_check:
                result.update(self.measure(cell))
        return result


# ---- results --------------------------------------------------------------------------------


def place_of(cell):
    """Case, axis and place on it: lengths of a case, or kinds of data at one length of it."""
    if is_gemm(cell):
        return f"gemm {cell['dtype']}", "M = N = K", cell["size"]
    if cell["kind"] != "normal":
        return f"{group_of(cell)}, by data", "data, keys", f"{cell['kind']}, {cell['seqlen']}"
    return group_of(cell), "sequence length", cell["seqlen"]


def to_result(cell, r):
    """A cell and what the worker said of it, as it is recorded."""
    names = ("size",) if is_gemm(cell) else ("batch", "heads", "kv_heads", "seqlen", "head_dim", "value_dim")
    more = {k: r[k] for k in ("error", "check", "resources", "launches", "refused", "heads_repeated") if k in r}
    if "check" in r and not r["check"]["ok"]:
        more["ok"] = False
    return common.result_cell(*place_of(cell), {"flops": flops(cell)}, r.get("ms", {}), r.get("mhz"),
                              shape=" ".join(f"{n}={cell[n]}" for n in names), data=cell["kind"],
                              dtype=cell["dtype"], kernel=cell["kernel"], **more)


# ---- the parent: tables ---------------------------------------------------------------------


class Parent(common.Parent):
    def present(self):
        """The contestants that some cell has, ours first."""
        seen = {name for r in self.results if r and "tflops" in r for name in r["tflops"]}
        return ["ours"] + [name for name in PEERS if name in seen]

    def line(self, index):
        cell, r = self.cells[index], self.results[index]
        if "error" in r:
            return f"{cell_text(cell)}  {r['error']}"
        errors = r["check"]["errors"]
        error = max(errors["ours"][m] / errors["plain"][m] for m in ("frobenius", "max"))
        verdict = f"error / plain {error:.2f} {'ok' if r['check']['ok'] else 'WRONG on ' + r['check']['kind']}"
        if "tflops" not in r:
            return f"{cell_text(cell)}  {verdict}"
        figures = " ".join(f"{NAMES[n]} {r['tflops'][n]:.0f}" +
                           (f" ({r['ratio'][n]:.3f})" if n in r["ratio"] else "")
                           for n in ["ours"] + PEERS if n in r["tflops"])
        used = r["utilisation"].get("ours")
        return f"{cell_text(cell)}  {figures}{f' {used:.0%} utilised' if used else ''}  {verdict}"

    def means(self):
        """By group and peer, over the lengths, on normal data."""
        found = {}
        for group in dict.fromkeys(group_of(c) for c in self.cells):
            for peer in PEERS:
                value = mean([r["ratio"][peer] for c, r in self.good() if group_of(c) == group and
                              c["kind"] == "normal" and peer in r["ratio"]])
                if value:
                    found.setdefault(group, {})[peer] = value
        return found

    # -- markdown

    def cell_row(self, cell, r, names):
        what = f"{cell['size']}^3" if is_gemm(cell) else str(cell["seqlen"])
        if not r or "tflops" not in r:
            why = (r or {}).get("error") or ("WRONG" if r and not r["check"]["ok"] else "not run")
            return [what, cell["kind"], why] + [""] * (2 * len(names) - 1 + 1)
        errors = r["check"]["errors"]
        row = [what, cell["kind"]] + [f"{r['tflops'][n]:.0f}" if n in r["tflops"] else "" for n in names]
        row += [f"{r['ratio'][n]:.3f}" if n in r["ratio"] else "" for n in names[1:]]
        row.append(f"{r['utilisation']['ours']:.0%}" if "ours" in r["utilisation"] else "")
        return row + [f"{max(errors['ours'][m] / errors['plain'][m] for m in ('frobenius', 'max')):.2f}"]

    def markdown(self):
        names = self.present()
        heads = (["length", "data"] + [NAMES[n] for n in names] + [f"over {NAMES[n]}" for n in names[1:]] +
                 ["utilised", "error / plain"])
        lines = ["# Kernels for Hopper beside their peers", "", self.conditions_text(), ""]
        means = self.means()
        for group in dict.fromkeys(group_of(c) for c in self.cells):
            lines += [f"## {group}", "", "| " + " | ".join(heads) + " |", "|" + " --- |" * len(heads)]
            for cell, r in zip(self.cells, self.results):
                if group_of(cell) == group:
                    lines.append("| " + " | ".join(self.cell_row(cell, r, names)) + " |")
            for peer, value in means.get(group, {}).items():
                lines += ["", f"Geometric mean over {NAMES[peer]}, normal data: **{value:.3f}**."]
            lines.append("")
        return "\n".join(lines)

    def conditions_text(self):
        c = self.conditions
        machine = ", ".join(f"{k} {v}" for k, v in c.items()) or "not known"
        return (f"TFLOPS, medians of {self.options.rounds} shuffled rounds in one process; {self.options.tokens} "
                f"tokens. Ratios are above 1 where ours is faster. Utilisation of the tensor cores is at the clock "
                f"read meanwhile. The error is the larger of relative Frobenius and largest error, over that of a "
                f"plain computation that rounds P and O once. Commit {self.options.commit}; "
                f"{time.strftime('%Y-%m-%d', time.gmtime())}; {machine}.")

    def write(self):
        if not self.options.out:
            return
        os.makedirs(self.options.out, exist_ok=True)
        cells = [to_result(c, r or {"error": "not run"}) for c, r in zip(self.cells, self.results)]
        common.write_results(os.path.join(self.options.out, "hopper.json"), common.results(
            "sm_90a kernels beside their peers", NAMES, cells, self.conditions, self.options,
            notes=[f"{self.options.tokens} tokens.", "FLOPs: " + CONVENTION + "."], bound=self.options.bound,
            geometric_means=self.means()))
        common.write(os.path.join(self.options.out, "hopper.md"), self.markdown() + "\n")

    def summary(self):
        for group, peers in self.means().items():
            print(f"{group:18} geometric mean " + ", ".join(f"over {NAMES[p]} {v:.3f}" for p, v in peers.items()))


# ---- options --------------------------------------------------------------------------------


def parse(arguments):
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--tw", default=os.path.join(ROOT, "build", "tw"), help="the compiler")
    p.add_argument("--ops", default=os.path.join(ROOT, "ops"), help="the folder of the definitions")
    p.add_argument("--target", default="sm_90a")
    p.add_argument("--gen", action="append", default=[], metavar="WORD", help="a further argument of tw gen")
    p.add_argument("--generate", metavar="DIR", help="only write the kernels there")
    p.add_argument("--cubin", action="store_true", help="assemble them with ptxas as well")
    p.add_argument("--ptx", metavar="DIR", help="kernels that were written before")
    p.add_argument("--out", metavar="DIR", help="where results go")
    p.add_argument("--commit", default="unknown", help="recorded with the results")
    p.add_argument("--cases", type=words, default=[*CASES, "gemm"], help="of " + ", ".join([*CASES, "gemm"]))
    p.add_argument("--seqs", type=numbers, default=[512, 1024, 2048, 4096, 8192, 16384])
    p.add_argument("--growing-seqs", type=numbers, default=[4096])
    p.add_argument("--kinds", type=words, default=list(GROWTH), help="of data there")
    p.add_argument("--causal", type=numbers, default=[1, 0])
    p.add_argument("--gemm", type=int, default=8192, help="M, N and K")
    p.add_argument("--tokens", type=int, default=16384)
    p.add_argument("--rounds", type=int, default=5)
    p.add_argument("--round-ms", type=float, default=25, help="length of one timing")
    p.add_argument("--gap", type=float, default=0.02, help="seconds between two timings")
    p.add_argument("--sets", type=int, default=2, help="sets of tensors that take turns")
    p.add_argument("--heads-checked", type=int, default=3)
    p.add_argument("--bound", type=float, default=2, help="error allowed, over that of plain computations")
    p.add_argument("--only-check", action="store_true", help="time nothing")
    p.add_argument("--force", action="store_true", help="time what is wrong as well")
    p.add_argument("--seed", type=int, default=int(time.time()) & 0xffff)
    p.add_argument("--timeout", type=float, default=60, help="seconds for one cell")
    p.add_argument("--limit", type=float, default=3600, help="seconds for everything")
    p.add_argument("--worker", help=argparse.SUPPRESS)
    options = p.parse_args(arguments)
    unknown = [c for c in options.cases if c != "gemm" and c not in CASES] + \
              [k for k in options.kinds if k not in GROWTH]
    if unknown:
        p.error(f"unknown: {', '.join(unknown)}")
    return options


def main():
    options = parse(sys.argv[1:])
    if options.worker:
        Worker(options).run(make_cells(options), common.skipped(options))
        return 0
    if options.generate:
        os.makedirs(options.generate, exist_ok=True)
        return 1 if generate(options, options.generate) else 0
    if options.ptx:
        return Parent(options, make_cells(options)).run()
    with tempfile.TemporaryDirectory() as folder:
        options.ptx = folder
        failed = generate(options, folder)
        status = Parent(options, make_cells(options)).run()
    return 1 if failed else status


if __name__ == "__main__":
    sys.exit(main())
