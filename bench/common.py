"""What the side-by-side benchmarks share: workers, timing, results.

A benchmark is a parent that needs neither a GPU nor PyTorch, and a worker that it starts:
the worker goes through the cells and says what it does, the parent takes that down; a
worker that hangs or crashes loses one cell and is started again. Timing is in rounds, in
each of which the contestants come in a shuffled order, many launches between two CUDA
events over several sets of tensors. Results are written as docs/bench.md says, so that
`tw bench --from FILE --html PAGE` shows them.
"""
import contextlib
import ctypes
import json
import math
import os
import queue
import random
import subprocess
import sys
import threading
import time

from program import Driver, Program, read_cubin

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)
VERSION = 1  # of results

# Of one multiprocessor's tensor cores in a clock, 16-bit operands: src/target has the sources.
TENSOR_FLOPS = {(7, 5): 1024, (8, 0): 2048, (8, 6): 512, (8, 9): 512, (9, 0): 4096}


def numbers(text):
    return [int(float(x[:-1]) * 1024) if x.endswith("k") else int(x) for x in text.split(",")]


def words(text):
    return [w for w in text.split(",") if w]


def mean(values):
    """The geometric one; None of nothing."""
    logs = [math.log(v) for v in values]
    return math.exp(sum(logs) / len(logs)) if logs else None


def first_line(error):
    return (str(error).splitlines() or [""])[0][:160]


def generate(command, where, seconds=120):
    """Runs `tw gen`, whose output goes to the folder: the PTX's path, what went wrong."""
    os.makedirs(where, exist_ok=True)
    made = subprocess.run([*command, "-o", where], capture_output=True, text=True, timeout=seconds)
    written = [f for f in os.listdir(where) if f.endswith(".ptx")]
    if made.returncode or not written:
        return None, (made.stderr or "no PTX was written").strip()
    return os.path.join(where, written[0]), None


# ---- results --------------------------------------------------------------------------------


def result_cell(case, axis, x, work, ms, mhz=None, **more):
    """One cell of results: {"flops": N} or {"bytes": N} for all contestants, or by contestant."""
    shared = work if "flops" in work or "bytes" in work else {}
    times = {}
    for name, values in ms.items():
        times[name] = {"ms": values, **({} if shared else work[name])}
        if mhz and any(mhz.get(name, [])):
            times[name]["mhz"] = mhz[name]
    return {"case": case, "axis": axis, "x": x, **shared, **more, "times": times}


def results(benchmark, contestants, cells, conditions, options, **more):
    """The document. contestants: labels by name, ours first; of those only that some cell has."""
    seen = {name for cell in cells for name in cell.get("times", {})}
    kept = {name: label for name, label in contestants.items() if name in seen or not seen}
    return {
        "tilewright_results": VERSION, "benchmark": benchmark, "commit": options.commit,
        "date": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()), "rounds": options.rounds,
        "seed": options.seed, "flops_per_clock": conditions.get("flops_per_clock"),
        "conditions": {k: v for k, v in conditions.items() if k != "flops_per_clock"}, **more,
        "contestants": [{"name": name, "label": label} for name, label in kept.items()],
        "cells": cells,
    }


def write(path, text):
    """The whole file or none of it."""
    with open(path + ".part", "w") as file:
        file.write(text)
    os.replace(path + ".part", path)


def finite(value):
    """The same without infinities and NaNs, which JSON does not have."""
    if isinstance(value, dict):
        return {k: finite(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [finite(v) for v in value]
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


def write_results(path, document):
    write(path, json.dumps(finite(document), indent=1, allow_nan=False) + "\n")


# ---- timing ---------------------------------------------------------------------------------


class Contestant:
    """Functions that launch, one for each set of tensors. context: what PyTorch must be told meanwhile."""

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


def boundary_rows(chance, length, most):
    """Rows at and between boundaries of tiles, and some others."""
    near = [e + d for e in range(0, length + 1, 64) for d in (-1, 0, 1)]
    if len(near) > most:
        near = chance.sample(near, most)
    chosen = near + [0, length - 1] + [chance.randrange(length) for _ in range(40)]
    return sorted({r for r in chosen if 0 <= r < length})


# ---- what is right --------------------------------------------------------------------------


def attention_rows(torch, q, k, v, scale, dead=None):
    """Rows of attention in fp64, and by plain computations, in fp32, that round weights and outputs once.

    q (rows, head dimension), k and v (keys, head dimension); dead (rows, keys): where keys do not count. The weights
    that are rounded are the probabilities, or exponentials on two bases, divided by their sum behind the product: a
    row in which one key has most of the weight hangs on two roundings, and one plain computation may be lucky there.
    """

    def scores(wide):
        s = (q.to(wide) @ k.to(wide).T) * scale
        return s if dead is None else s.masked_fill(dead, float("-inf"))

    exact = torch.softmax(scores(torch.float64), 1) @ v.double()
    s, plain = scores(torch.float32), []
    for base in (torch.logsumexp(s, 1, True), s.amax(1, True), s.amax(1, True) + 0.3):
        p = torch.exp(s - base)
        out = (p.to(q.dtype).float() @ v.float()) / p.sum(1, True)
        plain.append(out.to(q.dtype).double())
    return exact, plain


def error_of(torch, outputs, exact):
    """The worst of some outputs: relative Frobenius error, largest error; infinite where one is no number."""
    worst = {"frobenius": 0.0, "max": 0.0}
    for output in outputs:
        off = output.double() - exact
        finite = bool(torch.isfinite(output).all())
        measured = {"frobenius": (off.norm() / exact.norm()).item(), "max": off.abs().max().item()}
        worst = {m: max(worst[m], value if finite else float("inf")) for m, value in measured.items()}
    return worst


def worse(errors, name, error):
    """Keeps the larger of what is known of a name and what was measured now."""
    known = errors.setdefault(name, error)
    errors[name] = {m: max(known[m], value) for m, value in error.items()}


# ---- the worker: everything that needs a GPU ------------------------------------------------


def say(kind, value):
    print(json.dumps([kind, value]), flush=True)


class Worker:
    """PyTorch, the driver, kernels of ours. A benchmark gives `one`, which makes a cell's result."""

    def __init__(self, options):
        import torch
        self.torch, self.options = torch, options
        torch.backends.cuda.matmul.allow_tf32 = False
        torch.manual_seed(options.seed)
        torch.zeros(1, device="cuda")  # PyTorch's context is now the current one
        self.driver, self.clock, self.random = Driver(), Clock(), random.Random(options.seed)
        self.programs = {}
        self.gpu = torch.cuda.get_device_properties(0)

    def load(self, path):
        """A kernel by the path of its PTX; the cubin beside it counts where it was made of this PTX."""
        if path not in self.programs:
            with open(path) as file:
                ptx = file.read()
            image = read_cubin(os.path.splitext(path)[0] + ".cubin", ptx)
            self.programs[path] = Program(self.driver, ptx, image)
        return self.programs[path]

    def stream(self):
        return self.torch.cuda.current_stream().cuda_stream

    def flops_per_clock(self):
        """Of the whole GPU's tensor cores; None: not known."""
        known = TENSOR_FLOPS.get((self.gpu.major, self.gpu.minor))
        return known and known * self.gpu.multi_processor_count

    def conditions(self, **more):
        query = ["nvidia-smi", "--query-gpu=driver_version,power.limit", "--format=csv,noheader", "-i", "0"]
        try:
            answer = subprocess.run(query, capture_output=True, text=True, timeout=20).stdout
            driver, power = (answer.strip().split(", ") + ["unknown"])[:2]
        except (OSError, subprocess.SubprocessError):
            driver = power = "unknown"
        return {"gpu": self.gpu.name, "sms": self.gpu.multi_processor_count, "driver": driver,
                "power_limit": power, "torch": self.torch.__version__, "cuda": self.torch.version.cuda,
                "flops_per_clock": self.flops_per_clock(), **more}

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

    def rounds(self, contestants, least=2, most=400, gap=0.0):
        """Times and clocks by contestant and round, and how many launches a time is of."""
        ms, mhz = {name: [] for name in contestants}, {name: [] for name in contestants}
        guess = {name: self.time(c, max(3, len(c.runs)))[0] for name, c in contestants.items()}
        launches = {name: max(least, min(most, round(self.options.round_ms / g))) for name, g in guess.items()}
        for _ in range(self.options.rounds):
            order = list(contestants)
            self.random.shuffle(order)
            for name in order:
                if gap:
                    time.sleep(gap)
                elapsed, clock = self.time(contestants[name], launches[name])
                ms[name].append(elapsed)
                mhz[name].append(clock)
        return ms, mhz, launches

    def one(self, cell):
        raise NotImplementedError

    def run(self, cells, skip):
        say("conditions", self.conditions())
        with self.torch.no_grad():
            for i, cell in enumerate(cells):
                if i in skip:
                    continue
                say("start", i)
                try:
                    result = self.one(cell)
                except Exception as error:  # a lost device loses the process, too
                    result = {"error": f"{type(error).__name__}: {first_line(error)}"}
                say("done", [i, result])
                self.torch.cuda.synchronize()
                self.torch.cuda.empty_cache()
        say("end", None)


def skipped(options):
    """The cells that the parent has already, as it told the worker."""
    return {int(i) for i in options.worker.split(",") if i != "-"}


# ---- the parent: starts workers, reads what they say, gives up on one that hangs ------------


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
    """A benchmark gives `line`, `write` and `summary`."""

    def __init__(self, options, cells):
        self.options, self.cells = options, cells
        self.results = [None] * len(cells)
        self.conditions = {}
        self.until = time.monotonic() + options.limit

    def start(self):
        skip = [str(i) for i, r in enumerate(self.results) if r is not None]
        command = [sys.executable, os.path.abspath(sys.argv[0]), *sys.argv[1:], "--ptx", self.options.ptx,
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

    def good(self):
        return [(c, r) for c, r in zip(self.cells, self.results) if r and "ratio" in r and r["check"]["ok"]]

    def line(self, index):
        raise NotImplementedError

    def write(self):
        raise NotImplementedError

    def summary(self):
        raise NotImplementedError

    def run(self):
        for _ in range(len(self.cells) + 1):
            if self.one_worker() or time.monotonic() > self.until - 5:
                break
        self.write()
        self.summary()
        bad = sum(not (r and "error" not in r and r["check"]["ok"]) for r in self.results)
        print(f"{len(self.cells) - bad} cells passed, {bad} failed")
        return 1 if bad else 0
