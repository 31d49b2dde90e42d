#!/usr/bin/env python3
"""Times our sm_90a kernels beside cuDNN, FlashAttention-2 and FlashAttention-3.

Attention of several head dimensions, types and ways of sharing heads, causal and full, at
16,384 tokens and sequence lengths from 512 to 16k; and one GEMM beside cuBLAS. All run in
one process on the same tensors: cuDNN and FlashAttention-2 through PyTorch's
scaled_dot_product_attention, FlashAttention-3 when its module (flash_attn_interface) is at
hand, our PTX, or a cubin of it, loaded into PyTorch's context.

First every kernel is checked: against fp64 on rows at and between tile boundaries, beside a
plain computation that rounds as often as it must (fp32 throughout, the probabilities and
the output rounded once), on several kinds of data at a ragged length, and on the data of
each cell before that is timed. Its error may be `--bound` times the plain one's, or 1.25
times cuDNN's where that is more; two runs must give the same bits, inputs must be kept.

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
import ctypes
import json
import math
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

import flash2
from program import Driver, Program, read_cubin

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)
PEERS = ["cudnn", "fa2", "fa3", "cublas"]
NAMES = {"ours": "ours", "cudnn": "cuDNN", "fa2": "FA2", "fa3": "FA3", "cublas": "cuBLAS"}
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
    operator = "gemm" if is_gemm(cell) else "attention"
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
        with tempfile.TemporaryDirectory() as where:
            command = command_of(options, cell) + ["-o", where]
            made = subprocess.run(command, capture_output=True, text=True, timeout=120)
            written = [f for f in os.listdir(where) if f.endswith(".ptx")]
            if made.returncode or not written:
                failed[name] = (made.stderr or "no PTX was written").strip()
            else:
                shutil.copy(os.path.join(where, written[0]), path)
                if options.cubin:
                    shutil.copy(os.path.join(where, written[0][:-4] + ".cubin"), path[:-4] + ".cubin")
        if name in failed:
            print(f"{' '.join(command)}\n{failed[name]}", file=sys.stderr)
    return failed


# ---- the worker: everything that needs a GPU ------------------------------------------------


def first_line(error):
    return (str(error).splitlines() or [""])[0][:160]


class Contestant:
    """Launches over sets of tensors. context: what PyTorch must be told meanwhile."""

    def __init__(self, runs, context=contextlib.nullcontext):
        self.runs, self.context = runs, context


class Clock:
    """The clock of the multiprocessors in MHz, as the driver tells it at the moment."""

    SM = 1

    def __init__(self):
        self.handle = ctypes.c_void_p()
        try:
            self.nvml = ctypes.CDLL("libnvidia-ml.so.1")
            if self.nvml.nvmlInit_v2() or self.nvml.nvmlDeviceGetHandleByIndex_v2(0, ctypes.byref(self.handle)):
                self.nvml = None
        except OSError:
            self.nvml = None

    def read(self):
        mhz = ctypes.c_uint()
        if not self.nvml or self.nvml.nvmlDeviceGetClockInfo(self.handle, self.SM, ctypes.byref(mhz)):
            return None
        return mhz.value


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
        return {name: t.to(dtype) for name, t in zip("QKVO", (q, k, v, o))}

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

    def rows(self, s):
        near = [e + d for e in range(0, s + 1, 64) for d in (-1, 0, 1)]
        if len(near) > 200:
            near = self.random.sample(near, 200)
        chosen = near + [0, s - 1] + [self.random.randrange(s) for _ in range(40)]
        return sorted({r for r in chosen if 0 <= r < s})

    def samples(self, cell, tensors):
        """For some rows of some heads: where they are, in fp64, by a plain computation."""
        torch = self.torch
        for _ in range(self.options.heads_checked):
            b, h = self.random.randrange(cell["batch"]), self.random.randrange(cell["heads"])
            rows = torch.tensor(self.rows(cell["seqlen"]), device="cuda")
            q, k, v = tensors["Q"][b, h], *(tensors[n][b, h * cell["kv_heads"] // cell["heads"]] for n in "KV")
            dead = torch.arange(cell["seqlen"], device="cuda")[None, :] > rows[:, None]

            def attend(wide, rounded):
                s = (q[rows].to(wide) @ k.to(wide).T) * cell["head_dim"] ** -0.5
                if cell["causal"]:
                    s = s.masked_fill(dead, float("-inf"))
                p = torch.softmax(s, 1)
                p = p.to(q.dtype).to(wide) if rounded else p
                out = p @ v.to(wide)
                return out.to(q.dtype).double() if rounded else out

            yield (b, h, rows), attend(torch.float64, False), attend(torch.float32, True)


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
        yield (rows,), a.double() @ b.double(), (a.float() @ b.float()).to(a.dtype).double()


class Worker:
    def __init__(self, options):
        import torch
        self.torch, self.options = torch, options
        torch.backends.cuda.matmul.allow_tf32 = False
        torch.manual_seed(options.seed)
        torch.zeros(1, device="cuda")  # PyTorch's context is now the current one
        self.driver, self.clock, self.random = Driver(), Clock(), random.Random(options.seed)
        self.attention = Attention(torch, options, self.random)
        self.gemm = Gemm(torch, options, self.random)
        self.programs, self.checked = {}, {}
        self.sms = torch.cuda.get_device_properties(0).multi_processor_count

    def work(self, cell):
        return self.gemm if is_gemm(cell) else self.attention

    def program(self, cell):
        name = cell["kernel"]
        if name not in self.programs:
            path = os.path.join(self.options.ptx, name)
            with open(path + ".ptx") as file:
                ptx = file.read()
            self.programs[name] = Program(self.driver, ptx, read_cubin(path + ".cubin", ptx))
        return self.programs[name]

    def launcher(self, cell, tensors):
        launch = self.program(cell).bind(tensors, *self.work(cell).numbers(cell))
        stream = self.torch.cuda.current_stream().cuda_stream
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
                refused[name] = first_line(error)
        return taken, {n: why for n, why in refused.items() if n not in taken}

    # -- correctness

    def errors(self, cell, tensors, outputs):
        worst = {}
        for at, exact, plain in self.work(cell).samples(cell, tensors):
            views = {name: output[at[:-1]][at[-1]].double() for name, output in outputs.items()}
            for name, view in dict(views, plain=plain).items():
                off = view - exact
                finite = bool(self.torch.isfinite(view).all())
                entry = worst.setdefault(name, {"frobenius": 0.0, "max": 0.0})
                measured = {"frobenius": (off.norm() / exact.norm()).item(), "max": off.abs().max().item()}
                for m, value in measured.items():
                    entry[m] = max(entry[m], value if finite else float("inf"))
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
        report["ok"] = repeats and report["inputs_kept"] and self.is_close(report["errors"])
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

    def time(self, contestant, launches):
        """Milliseconds a launch, and the clock meanwhile."""
        torch, runs = self.torch, contestant.runs
        start, stop = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        with contestant.context():
            for run in runs:
                run()
            start.record()
            for i in range(launches):
                runs[i % len(runs)]()
            stop.record()
        mhz = self.clock.read()
        stop.synchronize()
        return start.elapsed_time(stop) / launches, mhz

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
        ms, mhz = {name: [] for name in contestants}, {name: [] for name in contestants}
        guess = {name: self.time(c, 3)[0] for name, c in contestants.items()}
        launches = {name: max(self.options.sets, min(400, round(self.options.round_ms / g)))
                    for name, g in guess.items()}
        for _ in range(self.options.rounds):
            order = list(contestants)
            self.random.shuffle(order)
            for name in order:
                time.sleep(self.options.gap)
                elapsed, clock = self.time(contestants[name], launches[name])
                ms[name].append(elapsed)
                mhz[name].append(clock)
        return dict(self.figures(cell, ms, mhz), refused=refused, heads_repeated=repeated, launches=launches)

    def figures(self, cell, ms, mhz):
        rate = flops(cell) * 1e-9
        tflops = {name: rate / statistics.median(values) for name, values in ms.items()}
        ratios = {name: statistics.median([p / o for o, p in zip(ms["ours"], values)])
                  for name, values in ms.items() if name != "ours"}
        peak = {name: self.sms * 4096e-6 * statistics.median([c for c in clocks if c])
                for name, clocks in mhz.items() if any(clocks)}
        return {"ms": ms, "mhz": mhz, "tflops": tflops, "ratio": ratios,
                "utilisation": {name: tflops[name] / p for name, p in peak.items()}}

    # -- all cells

    def conditions(self):
        torch = self.torch
        query = ["nvidia-smi", "--query-gpu=driver_version,power.limit", "--format=csv,noheader", "-i", "0"]
        try:
            answer = subprocess.run(query, capture_output=True, text=True, timeout=20).stdout
            driver, power = (answer.strip().split(", ") + ["unknown"])[:2]
        except (OSError, subprocess.SubprocessError):
            driver = power = "unknown"
        return {"gpu": torch.cuda.get_device_properties(0).name, "sms": self.sms, "driver": driver,
                "power_limit": power, "torch": torch.__version__, "cuda": torch.version.cuda,
                "cudnn": torch.backends.cudnn.version(), "fa3": self.attention.flash3 is not None}

    def one(self, cell):
        wrong = self.check_kernel(cell)
        result = {"check": wrong or self.check(cell, cell["kind"])}
        result["resources"] = self.program(cell).resources()
        if result["check"]["ok"] or self.options.force:
            if not self.options.only_check:
                result.update(self.measure(cell))
        return result

    def run(self, cells, skip):
        flash2.say("conditions", self.conditions())
        with self.torch.no_grad():
            for i, cell in enumerate(cells):
                if i in skip:
                    continue
                flash2.say("start", i)
                try:
                    result = self.one(cell)
                except Exception as error:  # a lost device loses the process, too
                    result = {"error": f"{type(error).__name__}: {first_line(error)}"}
                flash2.say("done", [i, result])
                self.torch.cuda.synchronize()
                self.torch.cuda.empty_cache()
        flash2.say("end", None)


# ---- the parent: tables ---------------------------------------------------------------------


def mean(values):
    logs = [math.log(v) for v in values]
    return math.exp(sum(logs) / len(logs)) if logs else None


class Parent(flash2.Parent):
    def start(self):
        skip = [str(i) for i, r in enumerate(self.results) if r is not None]
        command = [sys.executable, os.path.abspath(__file__), *sys.argv[1:], "--ptx", self.options.ptx,
                   "--seed", str(self.options.seed), "--worker", ",".join(skip) or "-"]
        return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)

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

    def good(self):
        return [(c, r) for c, r in zip(self.cells, self.results) if r and "ratio" in r and r["check"]["ok"]]

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
        document = {
            "benchmark": "sm_90a kernels beside their peers", "commit": self.options.commit,
            "date": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()), "conditions": self.conditions,
            "seed": self.options.seed, "rounds": self.options.rounds, "bound": self.options.bound,
            "geometric_means": self.means(),
            "cells": [dict(c, **(r or {"error": "not run"})) for c, r in zip(self.cells, self.results)],
        }
        self.replace("hopper.json", json.dumps(document, indent=1) + "\n")
        self.replace("hopper.md", self.markdown() + "\n")

    def replace(self, name, text):
        path = os.path.join(self.options.out, name)
        with open(path + ".part", "w") as file:
            file.write(text)
        os.replace(path + ".part", path)

    def summary(self):
        for group, peers in self.means().items():
            print(f"{group:18} geometric mean " + ", ".join(f"over {NAMES[p]} {v:.3f}" for p, v in peers.items()))

    def run(self):
        for _ in range(len(self.cells) + 1):
            if self.one_worker() or time.monotonic() > self.until - 5:
                break
        self.write()
        self.summary()
        bad = sum(not (r and "error" not in r and r["check"]["ok"]) for r in self.results)
        print(f"{len(self.cells) - bad} cells passed, {bad} failed")
        return 1 if bad else 0


# ---- options --------------------------------------------------------------------------------


def words(text):
    return [w for w in text.split(",") if w]


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
    p.add_argument("--seqs", type=flash2.numbers, default=[512, 1024, 2048, 4096, 8192, 16384])
    p.add_argument("--growing-seqs", type=flash2.numbers, default=[4096])
    p.add_argument("--kinds", type=words, default=list(GROWTH), help="of data there")
    p.add_argument("--causal", type=flash2.numbers, default=[1, 0])
    p.add_argument("--gemm", type=int, default=8192, help="M, N and K")
    p.add_argument("--tokens", type=int, default=16384)
    p.add_argument("--rounds", type=int, default=5)
    p.add_argument("--round-ms", type=float, default=25, help="length of one timing")
    p.add_argument("--gap", type=float, default=0.02, help="seconds between two timings")
    p.add_argument("--sets", type=int, default=2, help="sets of tensors that take turns")
    p.add_argument("--heads-checked", type=int, default=3)
    p.add_argument("--bound", type=float, default=2, help="error allowed, over that of a plain computation")
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
        skip = {int(i) for i in options.worker.split(",") if i != "-"}
        Worker(options).run(make_cells(options), skip)
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
