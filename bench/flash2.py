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
import json
import math
import os
import queue
import random
import statistics
import subprocess
import sys
import threading
import time

from program import Driver, Program

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)
CONVENTION = "4 * S^2 * D * H * B, halved when causal"


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
        os.makedirs(where, exist_ok=True)
        command = [
            options.tw, "gen", options.ops, "-o", where, "--target", "sm_80", "--cubin=never", "--dtype", cell["dtype"],
            "--set", f"q_heads={cell['heads']}", "--set", f"kv_heads={cell['heads']}",
            "--set", f"HeadDim={cell['head_dim']}", "--set", f"causal={int(cell['causal'])}",
        ]
        made = subprocess.run(command, capture_output=True, text=True, timeout=60)
        written = [f for f in os.listdir(where) if f.endswith(".ptx")]
        if made.returncode or not written:
            failed[name] = (made.stderr or "no PTX was written").strip()
            print(f"{' '.join(command)}\n{failed[name]}", file=sys.stderr)
            continue
        os.replace(os.path.join(where, written[0]), path)
    return failed


# ---- the worker: everything that needs a GPU ------------------------------------------


class Worker:
    def __init__(self, options):
        import torch
        self.torch = torch
        self.options = options
        torch.backends.cuda.matmul.allow_tf32 = False
        torch.manual_seed(options.seed)
        torch.zeros(1, device="cuda")  # PyTorch's context is now the current one
        self.driver = Driver()
        self.programs = {}
        self.random = random.Random(options.seed)

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

    def launcher(self, cell, tensors):
        name = cell["kernel"]
        if name not in self.programs:
            with open(os.path.join(self.options.ptx, name + ".ptx")) as file:
                self.programs[name] = Program(self.driver, file.read())
        dims = {"batch": cell["batch"], "q_len": cell["seqlen"], "kv_len": cell["seqlen"],
                "q_heads": cell["heads"], "kv_heads": cell["heads"], "HeadDim": cell["head_dim"],
                "VDim": cell["head_dim"]}
        params = {"scale": cell["head_dim"] ** -0.5}
        launch = self.programs[name].bind(tensors, dims, params)
        stream = self.torch.cuda.current_stream().cuda_stream
        return lambda: launch(stream)

    def peer(self, cell, tensors):
        attend = self.torch.nn.functional.scaled_dot_product_attention
        q, k, v = (tensors[n] for n in "QKV")
        return lambda: attend(q, k, v, is_causal=bool(cell["causal"]))

    # -- correctness

    def rows(self, s):
        near = [e + d for e in range(0, s + 1, 64) for d in (-1, 0, 1)]
        if len(near) > 300:
            near = self.random.sample(near, 300)
        chosen = near + [0, s - 1] + [self.random.randrange(s) for _ in range(40)]
        return sorted({r for r in chosen if 0 <= r < s})

    def reference(self, cell, tensors, b, h, rows):
        """Rows of one head: in fp64, and by a plain computation that rounds P and O once."""
        torch = self.torch
        q, k, v = (tensors[n][b, h] for n in "QKV")
        scale = cell["head_dim"] ** -0.5
        index = torch.tensor(rows, device="cuda")
        dead = torch.arange(cell["seqlen"], device="cuda")[None, :] > index[:, None]

        def attend(wide, rounded):
            s = (q[index].to(wide) @ k.to(wide).T) * scale
            if cell["causal"]:
                s = s.masked_fill(dead, float("-inf"))
            p = torch.softmax(s, 1)
            if rounded:
                p = p.to(q.dtype).to(wide)
            out = p @ v.to(wide)
            return out.to(q.dtype).double() if rounded else out

        return attend(torch.float64, False), attend(torch.float32, True)

    def errors(self, cell, tensors, theirs):
        """Worst errors over some heads: ours, the peer's and the plain computation's."""
        worst = {who: {"frobenius": 0.0, "max": 0.0} for who in ("ours", "peer", "plain")}
        rows = self.rows(cell["seqlen"])
        for _ in range(self.options.heads_checked):
            b, h = self.random.randrange(cell["batch"]), self.random.randrange(cell["heads"])
            exact, plain = self.reference(cell, tensors, b, h, rows)
            outputs = {"ours": tensors["O"][b, h][rows], "peer": theirs[b, h][rows], "plain": plain}
            for who, output in outputs.items():
                off = output.double() - exact
                finite = bool(self.torch.isfinite(output).all())
                frobenius = (off.norm() / exact.norm()).item() if finite else float("inf")
                worst[who]["frobenius"] = max(worst[who]["frobenius"], frobenius)
                largest = off.abs().max().item() if finite else float("inf")
                worst[who]["max"] = max(worst[who]["max"], largest)
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

    def time(self, runs, launches):
        torch = self.torch
        start, stop = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        for run in runs:
            run()
        start.record()
        for i in range(launches):
            runs[i % len(runs)]()
        stop.record()
        stop.synchronize()
        return start.elapsed_time(stop) / launches

    def clock(self):
        try:
            import pynvml
            pynvml.nvmlInit()
            handle = pynvml.nvmlDeviceGetHandleByIndex(0)
            return pynvml.nvmlDeviceGetClockInfo(handle, pynvml.NVML_CLOCK_SM)
        except Exception:  # a figure that is nice to have
            return None

    def measure(self, cell):
        sets = [self.tensors(cell) for _ in range(self.options.sets)]
        contestants = {"ours": [self.launcher(cell, t) for t in sets],
                       "peer": [self.peer(cell, t) for t in sets]}
        ms = {name: [] for name in contestants}
        clocks = []
        guess = max(self.time(runs, 4) for runs in contestants.values())
        launches = max(len(sets), min(400, round(self.options.round_ms / guess)))
        for _ in range(self.options.rounds):
            order = list(contestants)
            self.random.shuffle(order)
            for name in order:
                ms[name].append(self.time(contestants[name], launches))
            clocks.append(self.clock())
        ratios = [p / o for o, p in zip(ms["ours"], ms["peer"])]
        rate = flops(cell) * 1e-9
        return {
            "ours_ms": ms["ours"], "peer_ms": ms["peer"], "launches": launches, "sm_mhz": clocks,
            "ours_tflops": rate / statistics.median(ms["ours"]),
            "peer_tflops": rate / statistics.median(ms["peer"]),
            "ratio": statistics.median(ratios), "ratio_min": min(ratios), "ratio_max": max(ratios),
        }

    def conditions(self):
        torch = self.torch
        query = ["nvidia-smi", "--query-gpu=driver_version,power.limit", "--format=csv,noheader", "-i", "0"]
        try:
            answer = subprocess.run(query, capture_output=True, text=True, timeout=20).stdout
            driver, power = (answer.strip().split(", ") + ["unknown"])[:2]
        except (OSError, subprocess.SubprocessError):
            driver = power = "unknown"
        gpu = torch.cuda.get_device_properties(0)
        return {"gpu": gpu.name, "sms": gpu.multi_processor_count, "driver": driver,
                "power_limit": power,
                "torch": torch.__version__, "cuda": torch.version.cuda, "layout": self.options.layout,
                "peer": "torch scaled_dot_product_attention, SDPBackend.FLASH_ATTENTION"}

    def run(self, cells, skip):
        from torch.nn.attention import SDPBackend, sdpa_kernel
        say("conditions", self.conditions())
        with self.torch.no_grad(), sdpa_kernel(SDPBackend.FLASH_ATTENTION):
            for i, cell in enumerate(cells):
                if i in skip:
                    continue
                say("start", i)
                try:
                    result = {"check": self.check(cell)}
                    result["resources"] = self.programs[cell["kernel"]].resources()
                    if not self.options.only_check:
                        result.update(self.measure(cell))
                except Exception as error:  # a lost device loses the process, too
                    result = {"error": f"{type(error).__name__}: {error}"}
                say("done", [i, result])
                self.torch.cuda.synchronize()
                self.torch.cuda.empty_cache()
        say("end", None)


def say(kind, value):
    print(json.dumps([kind, value]), flush=True)


# ---- the parent: starts workers, reads what they say, gives up on one that hangs ---------


class Reader:
    """Lines of a process's output, with a limit on the time between two."""

    def __init__(self, process):
        self.lines = queue.Queue()
        self.thread = threading.Thread(target=self.pump, args=(process.stdout,), daemon=True)
        self.thread.start()

    def pump(self, stream):
        for line in stream:
            self.lines.put(line)
        self.lines.put(None)

    def next(self, seconds):
        try:
            line = self.lines.get(timeout=max(0.1, seconds))
        except queue.Empty:
            return ["hung", None]
        if line is None:
            return ["gone", None]
        try:
            return json.loads(line)
        except ValueError:
            return ["noise", line.rstrip()]


class Parent:
    def __init__(self, options, cells):
        self.options, self.cells = options, cells
        self.results = [None] * len(cells)
        self.conditions = {}
        self.until = time.monotonic() + options.limit

    def start(self):
        skip = [str(i) for i, r in enumerate(self.results) if r is not None]
        command = [sys.executable, os.path.abspath(__file__), *sys.argv[1:], "--ptx", self.options.ptx,
                   "--seed", str(self.options.seed), "--worker", ",".join(skip) or "-"]
        return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)

    def one_worker(self):
        """True when the worker came to its end."""
        process = self.start()
        reader = Reader(process)
        current, allowed, done = None, 180, 0  # importing PyTorch can take a while
        try:
            while True:
                left = self.until - time.monotonic()
                kind, value = reader.next(min(allowed, left))
                if kind == "conditions":
                    self.conditions = value
                elif kind == "start":
                    current, allowed = value, self.options.timeout
                elif kind == "done":
                    self.take(*value)
                    current, done = None, done + 1
                elif kind == "end":
                    return True
                elif kind in ("hung", "gone"):
                    what = "no answer in time" if kind == "hung" else "the process ended"
                    if left <= 1:
                        what = "the time limit of the whole run"
                    if current is not None:
                        self.take(current, {"error": what})
                    elif not done:
                        print(f"the worker cannot start: {what}", file=sys.stderr)
                    return left <= 1 or (current is None and not done)
                else:
                    print(value, file=sys.stderr)
        finally:
            process.kill()
            process.wait()

    def take(self, index, result):
        self.results[index] = result
        print(self.line(index), flush=True)
        self.write()

    def line(self, index):
        cell, r = self.cells[index], self.results[index]
        if "error" in r:
            return f"{cell_text(cell)}  {r['error']}"
        verdict = f"{worst_error(r, 'ours'):>7.2f} {worst_error(r, 'peer'):>7.2f}  "
        verdict += "ok" if r["check"]["ok"] else "WRONG"
        if "ratio" not in r:
            return f"{cell_text(cell)} {'':25} {verdict}"
        return (f"{cell_text(cell)} {r['ours_tflops']:>8.1f} {r['peer_tflops']:>8.1f} {r['ratio']:>7.3f}"
                f" {verdict}")

    def good(self):
        return [(c, r) for c, r in zip(self.cells, self.results) if r and "ratio" in r and r["check"]["ok"]]

    def geometric_mean(self, keep=lambda cell: True):
        logs = [math.log(r["ratio"]) for c, r in self.good() if keep(c)]
        return math.exp(sum(logs) / len(logs)) if logs else None

    def write(self):
        if not self.options.out:
            return
        document = {
            "benchmark": "attention beside FlashAttention-2", "commit": self.options.commit,
            "date": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()), "flops": CONVENTION,
            "conditions": self.conditions, "seed": self.options.seed, "rounds": self.options.rounds, "bound": self.options.bound,
            "geometric_mean": self.geometric_mean(),
            "cells": [dict(c, **(r or {"error": "not run"})) for c, r in zip(self.cells, self.results)],
        }
        temporary = self.options.out + ".part"
        with open(temporary, "w") as file:
            json.dump(document, file, indent=1)
            file.write("\n")
        os.replace(temporary, self.options.out)

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
        for _ in range(len(self.cells) + 1):
            if self.one_worker() or time.monotonic() > self.until - 5:
                break
        self.write()
        self.summary()
        bad = sum(not (r and "error" not in r and r["check"]["ok"]) for r in self.results)
        print(f"{len(self.cells) - bad} cells passed, {bad} failed")
        return 1 if bad else 0


# ---- options --------------------------------------------------------------------------------


def numbers(text):
    return [int(float(x[:-1]) * 1024) if x.endswith("k") else int(x) for x in text.split(",")]


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
        skip = {int(i) for i in options.worker.split(",") if i != "-"}
        Worker(options).run(make_cells(options), skip)
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
