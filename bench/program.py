"""A PTX file of ours, launched on PyTorch's tensors through the CUDA driver.

What a launch needs stands in the comment lines at the head of the PTX (docs/abi.md):
addresses, strides and numbers; and for kernels that copy through tensor maps the maps,
for persistent ones counters and the number of multiprocessors.
"""

import ctypes
import hashlib
import json
import math
import os

ABI_VERSION = 2
MAP_BYTES = 128


def read_abi(ptx):
    """The JSON in the comment lines at the head of PTX."""
    lines = []
    for line in ptx.splitlines():
        if line.strip() and not line.startswith("//"):
            break
        if line.startswith("//tw "):
            lines.append(line[5:])
    abi = json.loads("".join(lines))
    if abi["tilewright"] != ABI_VERSION:
        raise ValueError(f"launch ABI of version {abi['tilewright']}")
    return abi


def read_cubin(path, ptx):
    """The machine code that `tw` wrote there, if it was made of this PTX (docs/cubins.md); else None."""
    if not os.path.exists(path):
        return None
    with open(path, "rb") as file:
        image = file.read()
    code, _, seal = image.rpartition(b"\n//tw cubin=1 ")
    words = dict(word.partition("=")[::2] for word in seal.decode("ascii", "replace").split())
    wanted = {"code": str(len(code)), "sha256": hashlib.sha256(code).hexdigest(),
              "ptx": hashlib.sha256(ptx.encode()).hexdigest()}
    return image if all(words.get(key) == value for key, value in wanted.items()) else None


def evaluate(expression, dims):
    """An integer expression in TL: `ceil(q_len / 128) * batch`."""
    python = expression.replace(" div ", " // ").replace(" mod ", " % ")
    names = {"__builtins__": {}, "ceil": math.ceil, "floor": math.floor, "min": min, "max": max}
    return int(eval(python, names, dict(dims)))  # the text is our own compiler's


class Driver:
    """The few functions of the CUDA driver that launching takes."""

    MAX_DYNAMIC_SHARED = 8
    REGISTERS, LOCAL_BYTES = 4, 3
    ERROR_LOG, ERROR_LOG_BYTES = 5, 6
    MULTIPROCESSORS = 16
    # CUtensorMapDataType, CUtensorMapSwizzle, CUtensorMapL2promotion (256 bytes)
    TYPES = {"fp32": 7, "fp16": 6, "bf16": 9, "e4m3": 0, "e5m2": 0, "fp64": 8, "int32": 3,
             "int64": 5, "int8": 0, "uint8": 0, "bool": 0}
    SWIZZLES = {0: 0, 32: 1, 64: 2, 128: 3}
    PROMOTION = 3

    def __init__(self):
        self.cuda = ctypes.CDLL("libcuda.so.1")

    def check(self, status, doing):
        if status:
            name = ctypes.c_char_p()
            self.cuda.cuGetErrorName(status, ctypes.byref(name))
            raise RuntimeError(f"{doing}: {(name.value or b'error').decode()} ({status})")

    def load(self, ptx):
        log = ctypes.create_string_buffer(16384)
        options = (ctypes.c_int * 2)(self.ERROR_LOG, self.ERROR_LOG_BYTES)
        values = (ctypes.c_void_p * 2)(ctypes.addressof(log), len(log) - 1)
        module = ctypes.c_void_p()
        image = ptx.encode() + b"\0" if isinstance(ptx, str) else ptx
        status = self.cuda.cuModuleLoadDataEx(ctypes.byref(module), image, 2, options, values)
        self.check(status, f"loading PTX ({log.value.decode(errors='replace').strip()})")
        return module

    def function(self, module, name, shared):
        function = ctypes.c_void_p()
        self.check(self.cuda.cuModuleGetFunction(ctypes.byref(function), module, name.encode()),
                   f"finding {name}")
        self.check(self.cuda.cuFuncSetAttribute(function, self.MAX_DYNAMIC_SHARED, shared),
                   f"{shared} bytes of shared memory")
        return function

    def attribute(self, function, which):
        value = ctypes.c_int()
        self.check(self.cuda.cuFuncGetAttribute(ctypes.byref(value), which, function), "an attribute")
        return value.value

    def multiprocessors(self):
        device, value = ctypes.c_int(), ctypes.c_int()
        self.check(self.cuda.cuCtxGetDevice(ctypes.byref(device)), "asking for the device")
        self.check(self.cuda.cuDeviceGetAttribute(ctypes.byref(value), self.MULTIPROCESSORS, device),
                   "counting multiprocessors")
        return value.value

    def encode(self, tensor, dtype, box, swizzle):
        """A tensor map, 64-byte aligned; None: the driver takes none of this tensor."""
        rank, size = tensor.dim(), tensor.element_size()
        raw = ctypes.create_string_buffer(MAP_BYTES + 64)
        at = (ctypes.addressof(raw) + 63) & ~63
        dims = list(reversed(tensor.shape))
        strides = [s * size for s in reversed(tensor.stride()[:-1])]
        if min(dims) < 1 or any(s % 16 or s >= 1 << 40 for s in strides):
            return None
        status = self.cuda.cuTensorMapEncodeTiled(
            ctypes.c_void_p(at), self.TYPES[dtype], ctypes.c_uint32(rank),
            ctypes.c_void_p(tensor.data_ptr()), (ctypes.c_uint64 * rank)(*dims),
            (ctypes.c_uint64 * rank)(*strides), (ctypes.c_uint32 * rank)(*reversed(box)),
            (ctypes.c_uint32 * rank)(*[1] * rank), 0, self.SWIZZLES[swizzle], self.PROMOTION, 0)
        return None if status else (raw, at)


class Program:
    """A PTX file, ready to be launched on tensors. image: a cubin of it, or None."""

    TYPES = {"address": ctypes.c_uint64, "counter": ctypes.c_uint64, "stride": ctypes.c_int64,
             "dim": ctypes.c_int32, "param": ctypes.c_float}

    def __init__(self, driver, ptx, image=None):
        self.driver = driver
        self.abi = read_abi(ptx)
        self.module = driver.load(image or ptx)
        self.entries, self.launches = [], []
        for kernel in self.abi["kernels"]:
            names = [kernel["entry"], kernel.get("entry_any", kernel["entry"])]
            how = [kernel, kernel.get("any", kernel)]
            self.launches.append(how)
            self.entries.append([driver.function(self.module, n, h["shared_bytes"])
                                 for n, h in zip(names, how)])

    def resources(self):
        function = self.entries[0][0]
        return {"registers": self.driver.attribute(function, Driver.REGISTERS),
                "local_bytes": self.driver.attribute(function, Driver.LOCAL_BYTES)}

    def is_aligned(self, tensors):
        def fits(tensor, unit):
            return tensor.data_ptr() % unit == 0 and all(
                s * tensor.element_size() % unit == 0 for s in tensor.stride()[:-1])

        return all(fits(tensors[t["name"]], t["alignment"]) for t in self.abi["tensors"])

    def maps(self, tensors):
        """All tensor maps in order; None: one of them cannot be."""
        dtypes = {t["name"]: t["dtype"] for t in self.abi["tensors"]}
        made = [self.driver.encode(tensors[m["tensor"]], dtypes[m["tensor"]], m["box"], m["swizzle"])
                for m in self.abi["maps"]]
        return None if None in made else made

    def counters(self, device):
        """Zeroed words, one a kernel, far apart."""
        import torch
        words = torch.zeros(len(self.abi["kernels"]) * 64, dtype=torch.int32, device=device)
        torch.cuda.synchronize()
        return words

    def grid(self, launch, dims):
        blocks = evaluate(launch["blocks"], dims)
        if launch["persistent"]:
            blocks = min(blocks, launch["persistent"] * self.driver.multiprocessors())
        return blocks

    def seen(self, tensors, dims):
        """Tensors in the shape that the kernels take, which may be another than the definition's (docs/abi.md)."""
        shapes = {t["name"]: [evaluate(str(d), dims) for d in t["dims"]] for t in self.abi["tensors"]}
        return {name: t if name not in shapes or list(t.shape) == shapes[name] else t.view(shapes[name])
                for name, t in tensors.items()}

    def bind(self, tensors, dims, params):
        """A function that launches once on the given stream; it is not for two streams at once."""
        tensors = self.seen(tensors, dims)
        maps = self.maps(tensors) if self.is_aligned(tensors) else None
        fast = maps is not None
        counters = self.counters(next(iter(tensors.values())).device)
        unused = ctypes.create_string_buffer(MAP_BYTES)
        values, places = [], []
        for arg in self.abi["args"]:
            if arg["kind"] == "map":
                values.append(maps[arg["map"]][0] if fast else unused)
                places.append(maps[arg["map"]][1] if fast else ctypes.addressof(unused))
                continue
            if arg["kind"] == "address":
                value = tensors[arg["tensor"]].data_ptr()
            elif arg["kind"] == "counter":
                value = counters.data_ptr() + 256 * arg["kernel"]
            elif arg["kind"] == "stride":
                value = tensors[arg["tensor"]].stride(arg["axis"])
            elif arg["kind"] == "dim":
                value = dims[arg["name"]]
            else:
                value = params[arg["name"]]
            values.append(self.TYPES[arg["kind"]](value))
            places.append(ctypes.addressof(values[-1]))
        pointers = (ctypes.c_void_p * len(places))(*places)
        which = 0 if fast else 1
        launches = []
        for entries, how in zip(self.entries, self.launches):
            grid = self.grid(how[which], dims)
            if grid > 0:
                launches.append((entries[which], *map(ctypes.c_uint, (
                    grid, 1, 1, how[which]["threads"], 1, 1, how[which]["shared_bytes"]))))
        keep = (values, maps, counters, tensors)

        def launch(stream, _keep=keep):
            for arguments in launches:
                self.driver.check(
                    self.driver.cuda.cuLaunchKernel(*arguments, ctypes.c_void_p(stream), pointers, None),
                    "launching")

        return launch
