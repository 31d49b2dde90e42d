#!/usr/bin/env python3
"""Fused operators of many kinds beside what torch.compile makes of them.

Each cell is an operator twice: as a definition in TL, of `ops/` or written out here, and as a function of
PyTorch, which torch.compile turns into kernels (attention by flex_attention, or, without anything beside it,
scaled_dot_product_attention; all else by Inductor). Both are
captured in CUDA graphs, so that launches cost neither of them anything, and run in one process on the same
tensors, in shuffled order, over several rounds. Outputs are compared with each other; how exact ours are, `tw verify`
says.

    bench/compiled.py --tw build/tw --out compiled.json --commit $(git rev-parse HEAD)
    bench/compiled.py --only rmsnorm,alibi      some cells, by parts of their names
    bench/compiled.py --generate DIR            only write the PTX (needs no GPU)
"""
import argparse
import os
import re
import statistics
import sys
import tempfile

import common
from program import evaluate

TOLERANCE = 0.02  # relative Frobenius error
GIVEN_BY_THE_LAUNCH = ("batch", "q_len", "kv_len", "M")


# ---- attention: score and mask functions of flex_attention ------------------------------------------

HEADS = {"batch": 2, "q_heads": 16, "kv_heads": 4, "q_len": 4096, "kv_len": 4096, "HeadDim": 128}
QKV = """
  Input  Q (batch, q_heads, q_len, HeadDim)
  Input  K (batch, kv_heads, kv_len, HeadDim)
  Input  V (batch, kv_heads, kv_len, HeadDim)
"""
AROUND = """
  Output O (batch, q_heads, q_len, HeadDim)
  Param  scale = 1 / sqrt(HeadDim)
  Index  i over q_len from kv_len - q_len
  Index  j over kv_len
  Compute GEMM Q, K.T and get S
  Compute Multiply S, scale and get new S
"""
BEHIND = """
  Compute Softmax S and get P
  Compute GEMM P, V and get O
"""


def attention(inputs, steps, score=None, mask=None, init=None, **dims):
    """A cell of attention. score(t) and mask(t) give flex_attention's functions from the tensors by name."""
    return {"tl": QKV + inputs + AROUND + steps + BEHIND, "dims": {**HEADS, **dims}, "init": init or {},
            "flex": (score, mask)}


def tanh_cap(t):
    return lambda s, b, h, i, j: 30 * (s / 30).tanh()


CAUSAL = "  Compute Mask S where j <= i\n"


def causal(t):
    back = t["K"].shape[2] - t["Q"].shape[2]
    return lambda b, h, i, j: j <= i + back


ATTENTION = {
    "causal": attention("", CAUSAL, mask=causal),
    "causal, d 64": attention("", CAUSAL, mask=causal, HeadDim=64, q_heads=32, kv_heads=8),
    "window of 1024": attention("", "  Compute Mask S where j <= i and i - j < 1024\n",
                                mask=lambda t: lambda b, h, i, j: (j <= i) & (i - j < 1024)),
    "both sides, 256": attention("", "  Compute Mask S where abs(i - j) <= 256\n",
                                 mask=lambda t: lambda b, h, i, j: (i - j).abs() <= 256),
    "soft cap, causal": attention("", "  Compute Divide S, 30 and get new S\n  Compute Tanh S and get new S\n"
                                  "  Compute Multiply S, 30 and get new S\n" + CAUSAL, tanh_cap, causal),
    "ALiBi, causal": attention("  Input Slopes (q_heads) fp32\n",
                               "  Compute Define D (q_heads, q_len, kv_len) as Slopes[q_heads] * (j - i)\n"
                               "  Compute Add S, D and get new S\n" + CAUSAL,
                               lambda t: lambda s, b, h, i, j: s + t["Slopes"][h] * (j - i), causal,
                               {"Slopes": lambda x: x.abs_() * 0.1}),
    "documents, causal": attention("  Input Seg (batch, kv_len) int32\n",
                                   "  Compute Mask S where j <= i and Seg[batch, i] == Seg[batch, j]\n",
                                   mask=lambda t: lambda b, h, i, j: (j <= i) & (t["Seg"][b, i] == t["Seg"][b, j]),
                                   init={"Seg": lambda x: x.copy_((x.new_ones(x.shape).cumsum(1) - 1) // 700)}),
    "prefix of 1000": attention("", "  Compute Mask S where j <= i or j < 1000\n",
                                mask=lambda t: lambda b, h, i, j: (j <= i) | (j < 1000)),
    "relative bias": attention("  Input Table (q_heads, 512) fp32\n",
                               "  Compute Define B (q_heads, q_len, kv_len) as Table[q_heads, min(511, max(0, i - j))]\n"
                               "  Compute Add S, B and get new S\n" + CAUSAL,
                               lambda t: lambda s, b, h, i, j: s + t["Table"][h, (i - j).clamp(0, 511)], causal),
    "every fourth key": attention("", "  Compute Mask S where j <= i and (i - j) % 4 == 0\n",
                                  mask=lambda t: lambda b, h, i, j: (j <= i) & ((i - j) % 4 == 0)),
    "blocks of 128 from a table": attention("  Input Keep (32, 32) int32\n",
                                            "  Compute Mask S where Keep[i div 128, j div 128] == 1\n",
                                            mask=lambda t: lambda b, h, i, j: t["Keep"][i // 128, j // 128] == 1,
                                            init={"Keep": lambda x: x.random_(0, 4)}),
    "additive bias": attention("  Input Bias (q_heads, q_len, kv_len)\n", "  Compute Add S, Bias and get new S\n",
                               lambda t: lambda s, b, h, i, j: s + t["Bias"][h, i, j]),
    "one query, 32k keys": attention("", "", q_len=1, kv_len=32768, batch=8, q_heads=32, kv_heads=8),
    "windows of 49 tokens, bias": attention("  Input Bias (q_heads, q_len, kv_len)\n", "  Compute Add S, Bias and get new S\n",
                                            lambda t: lambda s, b, h, i, j: s + t["Bias"][h, i, j], q_heads=8, kv_heads=8, HeadDim=32, q_len=49,
                                            kv_len=49, batch=1024),
    "lengths of keys": attention("  Input len (batch) int32\n", "  Compute Mask S where j < len[batch]\n",
                                 mask=lambda t: lambda b, h, i, j: j < t["len"][b], init={"len": lambda x: x.random_(100, 4096)}),
    "chunks of 512": attention("", "  Compute Mask S where j <= i and i div 512 == j div 512\n",
                               mask=lambda t: lambda b, h, i, j: (j <= i) & (i // 512 == j // 512)),
    "logarithm of distance": attention("  Input r (q_heads) fp32\n", "  Compute Define D (q_heads, q_len, kv_len) as r[q_heads] * log(1 + abs(i - j))\n"
                                       "  Compute Subtract S, D and get new S\n",
                                       lambda t: lambda s, b, h, i, j: s - t["r"][h] * (1 + (i - j).abs().float()).log()),
    "cap and window, d 256": attention("", "  Compute Divide S, 30 and get new S\n  Compute Tanh S and get new S\n"
                                       "  Compute Multiply S, 30 and get new S\n  Compute Mask S where j <= i and i - j < 1024\n",
                                       tanh_cap, lambda t: lambda b, h, i, j: (j <= i) & (i - j < 1024),
                                       HeadDim=256, q_heads=8, kv_heads=4),
}


# ---- attention at the shapes of models, beside scaled_dot_product_attention -------------------------

PLAIN = QKV + AROUND.replace("  Index  i over q_len from kv_len - q_len\n  Index  j over kv_len\n", "") + BEHIND


def sdpa(causal=False):
    return lambda t: functional().scaled_dot_product_attention(t["Q"], t["K"], t["V"], is_causal=causal, enable_gqa=True)


def shape(batch, heads, kv_heads, q_len, kv_len, dim, causal=False):
    return {"tl": QKV + AROUND + CAUSAL + BEHIND if causal else PLAIN, "function": sdpa(causal), "init": {},
            "dims": {"batch": batch, "q_heads": heads, "kv_heads": kv_heads, "q_len": q_len, "kv_len": kv_len, "HeadDim": dim}}


SHAPES = {
    "ViT, 197 tokens": shape(128, 12, 12, 197, 197, 64),
    "Stable Diffusion, d 40": shape(8, 8, 8, 4096, 4096, 40),
    "its 77 words": shape(8, 8, 8, 4096, 77, 40),
    "its d 160, 64 tokens": shape(8, 8, 8, 64, 64, 160),
    "SDXL, d 64": shape(8, 10, 10, 4096, 4096, 64),
    "SDXL's 77 words": shape(8, 20, 20, 1024, 77, 64),
    "video, 16k": shape(1, 24, 24, 16384, 16384, 128),
    "BERT, 128 tokens": shape(256, 12, 12, 128, 128, 64),
    "T5, 512 tokens": shape(32, 12, 12, 512, 512, 64),
    "Whisper, 1500 frames": shape(8, 20, 20, 1500, 1500, 64),
    "wav2vec, 999 frames": shape(16, 12, 12, 999, 999, 64),
    "windows of 64 tokens, d 32": shape(2048, 6, 6, 64, 64, 32),
    "d 16, 1k": shape(16, 16, 16, 1024, 1024, 16),
    "d 160, 1k": shape(4, 8, 8, 1024, 1024, 160),
    "causal, 512, d 64": shape(32, 32, 32, 512, 512, 64, True),
    "causal, 1k, groups of 4": shape(16, 32, 8, 1024, 1024, 128, True),
    "causal, 2k, d 80": shape(4, 32, 32, 2048, 2048, 80, True),
    "causal, 2k, d 96": shape(2, 32, 32, 2048, 2048, 96, True),
    "causal, 4k, d 256": shape(2, 8, 4, 4096, 4096, 256, True),
    "causal, 32k": shape(1, 32, 8, 32768, 32768, 128, True),
    "512 queries, 8k keys": shape(1, 32, 8, 512, 8192, 128),
    "4 queries, 8k keys": shape(16, 32, 8, 4, 8192, 128),
    "one query, 4k keys, groups of 4": shape(64, 32, 8, 1, 4096, 128),
    "one query, 16k keys, d 64": shape(1, 32, 32, 1, 16384, 64),
}


# ---- all else: functions of PyTorch, in the type of their inputs as a model's code has them ----------------


def cell(tl, dims, function, init=None):
    """A cell of anything else: a definition, or the name of one in ops/, and the same of tensors by name."""
    return {"tl": tl, "dims": dims, "function": function, "init": init or {}}


def rms(x, gain, eps=1e-5):
    f = x.float()
    return (f * (f.square().mean(-1, True) + eps).rsqrt() * gain.float()).to(x.dtype)


def functional():
    import torch
    return torch.nn.functional


def scaled(by):
    return lambda x: x.mul_(by)


def group_norm_silu(t):
    f = functional()
    return f.silu(f.group_norm(t["X"].float(), 32, t["gain"].float(), t["shift"].float(), 1e-5)).to(t["X"].dtype)


def layernorm_backward(t):
    x, dy = t["X"].float(), t["dY"].float() * t["gain"].float()
    mean = x.mean(-1, True)
    rstd = ((x - mean).square().mean(-1, True) + 1e-5).rsqrt()
    n = (x - mean) * rstd
    return (rstd * (dy - dy.mean(-1, True) - n * (dy * n).mean(-1, True))).to(t["X"].dtype)


def conv4(t):
    f = functional()
    x = f.pad(t["X"].transpose(1, 2), (3, 0))
    return f.silu(f.conv1d(x, t["W"].T[:, None], groups=x.shape[1])).transpose(1, 2)


def quantized(t):
    most = t["X"].float().abs().amax(-1, True)
    return (t["X"].float() * (127 / most)).round().to(t["X"].new_empty(0).char().dtype), (most / 127)


def rotated(t):
    half = t["X"].shape[-1] // 2
    a, b, c, s = t["X"][..., :half].float(), t["X"][..., half:].float(), t["cos"][:, None], t["sin"][:, None]
    return functional().pad(a * c - b * s, (0, half)).to(t["X"].dtype) + functional().pad(b * c + a * s, (half, 0)).to(t["X"].dtype)


def smoothed(t):
    x = t["X"].float()
    lse = x.logsumexp(-1, True)
    return lse - 0.9 * x.gather(1, t["labels"].long()[:, None]) - 0.1 * x.mean(-1, True)


def divergence(t):
    p, q = t["X"].float().log_softmax(-1), t["Z"].float().log_softmax(-1)
    return (p.exp() * (p - q)).sum(-1, True)


def paired(t):
    x, c, s = t["X"].float(), t["cos"][:, None], t["sin"][:, None]
    a, b = x[..., 0::2], x[..., 1::2]
    return functional().pad((a * c - b * s)[..., None], (0, 1)).add(functional().pad((b * c + a * s)[..., None], (1, 0))).flatten(-2).to(t["X"].dtype)


def gated_pairs(t):
    h = t["X"] @ t["W"]
    return (functional().silu(h[:, 0::2].float()) * h[:, 1::2].float()).to(t["X"].dtype)


def pooled(t):
    live = t["len"].new_ones(t["X"].shape[1]).cumsum(0)[None] - 1 < t["len"][:, None]
    return (t["X"].float() * live[:, :, None]).sum(1) / t["len"][:, None].float()


def instance_norm(t):
    x = t["X"].float()
    d = x - x.mean(1, True)
    return (d * (d.square().mean(1, True) + 1e-5).rsqrt() * t["gain"].float() + t["shift"].float()).to(t["X"].dtype)


def rotary(element, function):
    """Each element with the one that it is turned with; an expression of both."""
    return cell(f"""
  Input X (L, Hd, D)
  Input cos (L, D div 2) fp32
  Input sin (L, D div 2) fp32
  Output Y (L, Hd, D)
  Index l over L
  Index h over Hd
  Index d over D
  Compute Define R (L, Hd, D) as {element}
  Compute Multiply R, 1 and get Y
""", {"L": 16384, "Hd": 32, "D": 128}, function)


ROWS = {"M": 16384, "N": 4096}
OTHERS = {
    "RMSNorm": cell("rmsnorm", ROWS, lambda t: rms(t["X"], t["gain"])),
    "residual and RMSNorm": cell("""
  Input X (M, N)
  Input R (M, N)
  Input gain (N)
  Output H (M, N)
  Output Y (M, N)
  Compute Add X, R and get H
  Compute Square H and get Q
  Compute RowMean Q and get r
  Compute Add r, 1e-5 and get new r
  Compute Rsqrt r and get new r
  Compute Multiply H, r and get Y
  Compute Multiply Y, gain and get new Y
""", ROWS, lambda t: (t["X"] + t["R"], rms(t["X"] + t["R"], t["gain"]))),
    "LayerNorm": cell("layernorm", ROWS, lambda t: functional().layer_norm(t["X"], t["gain"].shape, t["gain"], t["shift"])),
    "LayerNorm, gradient": cell("""
  Input X (M, N)
  Input dY (M, N)
  Input gain (N)
  Output dX (M, N)
  Compute RowMean X and get m
  Compute Subtract X, m and get C
  Compute Square C and get C2
  Compute RowMean C2 and get v
  Compute Add v, 1e-5 and get v
  Compute Rsqrt v and get rstd
  Compute Multiply C, rstd and get n
  Compute Multiply dY, gain and get g
  Compute RowMean g and get a
  Compute Multiply g, n and get gn
  Compute RowMean gn and get b
  Compute Multiply n, b and get nb
  Compute Subtract g, a and get e
  Compute Subtract e, nb and get new e
  Compute Multiply e, rstd and get dX
""", ROWS, layernorm_backward),
    "softmax, temperature and mask": cell("""
  Input X (M, N)
  Input T (M) fp32
  Input len (M) int32
  Output P (M, N)
  Index i over M
  Index j over N
  Compute Define t (M, 1) as T[i]
  Compute Divide X, t and get S
  Compute Mask S where j < len[i]
  Compute Softmax S and get P
""", ROWS, lambda t: (t["X"].float() / t["T"][:, None]).masked_fill(
        t["len"].new_ones(t["X"].shape[1]).cumsum(0)[None] - 1 >= t["len"][:, None], float("-inf")).softmax(-1).to(t["X"].dtype),
        {"T": lambda x: x.uniform_(0.5, 2), "len": lambda x: x.random_(100, 4096)}),
    "softmax, gradient": cell("""
  Input P (M, N)
  Input dP (M, N)
  Output dS (M, N)
  Compute Multiply P, dP and get W
  Compute RowSum W and get d
  Compute Subtract dP, d and get E
  Compute Multiply P, E and get dS
""", ROWS, lambda t: (t["P"].float() * (t["dP"].float() - (t["P"].float() * t["dP"].float()).sum(-1, True))).to(t["P"].dtype),
        {"P": lambda x: x.copy_(x.float().softmax(-1))}),
    "softmax of columns": cell("""
  Input X (M, N)
  Output P (M, N)
  Compute Softmax X over M and get P
""", ROWS, lambda t: t["X"].float().softmax(0).to(t["X"].dtype)),
    "softmax over the middle": cell("""
  Input X (B, N, C)
  Output P (B, N, C)
  Compute Softmax X over N and get P
""", {"B": 256, "N": 1024, "C": 256}, lambda t: t["X"].float().softmax(1).to(t["X"].dtype)),
    "norm of channels over 196 places": cell("""
  Input X (B, N, C)
  Input gain (C)
  Input shift (C)
  Output Y (B, N, C)
  Compute RowMean X over N and get m
  Compute Subtract X, m and get D
  Compute Square D and get D2
  Compute RowMean D2 over N and get v
  Compute Add v, 1e-5 and get new v
  Compute Rsqrt v and get new v
  Compute Multiply D, v and get new D
  Compute Multiply D, gain and get new D
  Compute Add D, shift and get Y
""", {"B": 256, "N": 196, "C": 512}, instance_norm),
    "softmax of 197": cell("row_softmax", {"M": 200000, "N": 197}, lambda t: t["X"].float().softmax(-1).to(t["X"].dtype)),
    "log-sum-exp, 50k": cell("log_sum_exp", {"M": 8192, "N": 50257}, lambda t: t["X"].float().logsumexp(-1, True)),
    "mean of tokens by length": cell("""
  Input X (B, L, N)
  Input len (B) int32
  Output Y (B, N) fp32
  Index b over B
  Index l over L
  Compute Mask X where l < len[b] else 0 and get Z
  Compute RowSum Z over L and get s
  Compute Reshape s and get q (B, N)
  Compute Define d (B, 1) as len[b]
  Compute Divide q, d and get Y
""", {"B": 128, "L": 1024, "N": 1024}, pooled, {"len": lambda x: x.random_(1, 1024)}),
    "transposed": cell("""
  Input X (M, N)
  Output Y (N, M)
  Index i over M
  Index j over N
  Compute Define R (N, M) as X[i, j]
  Compute Multiply R, 2 and get Y
""", {"M": 8192, "N": 8192}, lambda t: (t["X"].T * 2).contiguous()),
    "rotary embedding of pairs": rotary(
        "where(d % 2 == 0, X[l, h, d] * cos[l, d div 2] - X[l, h, d + 1] * sin[l, d div 2], X[l, h, d] * cos[l, d div 2] + X[l, h, d - 1] * sin[l, d div 2])", paired),
    "embedding, RMSNorm": cell("""
  Input ids (M) int32
  Input E (V, N)
  Input gain (N)
  Output Y (M, N)
  Index i over M
  Index j over N
  Compute Define X (M, N) as E[ids[i], j]
  Compute Square X and get Q
  Compute RowMean Q and get r
  Compute Add r, 1e-5 and get new r
  Compute Rsqrt r and get new r
  Compute Multiply X, r and get Y
  Compute Multiply Y, gain and get new Y
""", {"M": 32768, "V": 50000, "N": 2048}, lambda t: rms(t["E"][t["ids"].long()], t["gain"]), {"ids": lambda x: x.random_(0, 50000)}),
    "cross-entropy, 128k, smoothed": cell("""
  Input X (M, N)
  Input labels (M) int32
  Output loss (M, 1) fp32
  Index i over M
  Index j over N
  Compute RowMax X and get m
  Compute Subtract X, m and get E
  Compute Exp E and get new E
  Compute RowSum E and get s
  Compute Log s and get loss
  Compute Add loss, m and get new loss
  Compute Mask X where j == labels[i] else 0 and get C
  Compute RowSum C and get c
  Compute Multiply c, 0.9 and get new c
  Compute Subtract loss, c and get new loss
  Compute RowMean X and get a
  Compute Multiply a, 0.1 and get new a
  Compute Subtract loss, a and get new loss
""", {"M": 4096, "N": 128256}, smoothed, {"labels": lambda x: x.random_(0, 128256)}),
    "KL divergence, 32k": cell("""
  Input X (M, N)
  Input Z (M, N)
  Output D (M, 1) fp32
  Compute RowMax X and get a
  Compute Subtract X, a and get A
  Compute Exp A and get E
  Compute RowSum E and get s
  Compute Log s and get ls
  Compute Subtract A, ls and get LP
  Compute RowMax Z and get b
  Compute Subtract Z, b and get B
  Compute Exp B and get F
  Compute RowSum F and get u
  Compute Log u and get lu
  Compute Subtract B, lu and get LQ
  Compute Exp LP and get P
  Compute Subtract LP, LQ and get G
  Compute Multiply P, G and get new G
  Compute RowSum G and get D
""", {"M": 8192, "N": 32000}, divergence),
    "SiLU, times": cell("silu_multiply", {"M": 16384, "F": 8192}, lambda t: functional().silu(t["G"].float()).mul(t["U"].float()).to(t["G"].dtype)),
    "GroupNorm and SiLU": cell("""
  Input X (N, C, H, W)
  Input gain (C)
  Input shift (C)
  Output Y (N, C, H, W)
  Compute Reshape X and get G (N, 32, (C div 32) * H * W)
  Compute RowMean G and get m
  Compute Subtract G, m and get D
  Compute Square D and get D2
  Compute RowMean D2 and get v
  Compute Add v, 1e-5 and get new v
  Compute Rsqrt v and get new v
  Compute Multiply D, v and get new D
  Compute Reshape D and get Z (N, C, H, W)
  Compute Define g (C, 1, 1) as gain[C]
  Compute Define h (C, 1, 1) as shift[C]
  Compute Multiply Z, g and get new Z
  Compute Add Z, h and get new Z
  Compute Silu Z and get Y
""", {"N": 16, "C": 320, "H": 64, "W": 64}, group_norm_silu),
    "quantize rows to int8": cell("""
  Input X (M, N)
  Output Q (M, N) int8
  Output s (M, 1) fp32
  Compute Abs X and get A
  Compute RowMax A and get m
  Compute Divide 127, m and get r
  Compute Multiply X, r and get Y
  Compute Round Y and get Q
  Compute Divide m, 127 and get s
""", ROWS, quantized),
    "rotary embedding": rotary(
        "where(d < D div 2, X[l, h, d] * cos[l, d] - X[l, h, d + D div 2] * sin[l, d], X[l, h, d] * cos[l, d - D div 2] + X[l, h, d - D div 2] * sin[l, d - D div 2])", rotated),
    "convolution of 4 taps, SiLU": cell("""
  Input X (B, L, C)
  Input W (4, C)
  Output Y (B, L, C)
  Index b over B
  Index l over L
  Index c over C
  Compute Define Z (B, L, C) as X[b, l - 3, c] * W[0, c] + X[b, l - 2, c] * W[1, c] + X[b, l - 1, c] * W[2, c] + X[b, l, c] * W[3, c]
  Compute Silu Z and get Y
""", {"B": 4, "L": 8192, "C": 4096}, conv4),
    "AdamW step": cell("""
  Input P (M, N) fp32
  Input G (M, N)
  Input A (M, N) fp32
  Input B (M, N) fp32
  Output P1 (M, N) fp32
  Output A1 (M, N) fp32
  Output B1 (M, N) fp32
  Compute Define a (M, N) as 0.9 * A[...] + 0.1 * G[...]
  Compute Multiply a, 1 and get A1
  Compute Define b (M, N) as 0.95 * B[...] + 0.05 * G[...] * G[...]
  Compute Multiply b, 1 and get B1
  Compute Sqrt B1 and get d
  Compute Add d, 1e-8 and get new d
  Compute Divide A1, d and get u
  Compute Multiply u, 1e-3 and get new u
  Compute Multiply P, 0.9999 and get P1
  Compute Subtract P1, u and get new P1
""", {"M": 4096, "N": 4096}, lambda t: (
        t["P"] * 0.9999 - 1e-3 * (0.9 * t["A"] + 0.1 * t["G"].float()) / ((0.95 * t["B"] + 0.05 * t["G"].float().square()).sqrt() + 1e-8),
        0.9 * t["A"] + 0.1 * t["G"].float(), 0.95 * t["B"] + 0.05 * t["G"].float().square()), {"B": lambda x: x.square_()}),
    "norms and means of columns": cell("""
  Input X (M, N)
  Output m (1, N) fp32
  Output v (1, N) fp32
  Compute RowMean X over M and get m
  Compute Square X and get Q
  Compute RowMean Q over M and get v
""", ROWS, lambda t: (t["X"].float().mean(0, True), t["X"].float().square().mean(0, True))),
    "product, bias, GELU": cell("""
  Input A (M, K)
  Input B (K, N)
  Input bias (N)
  Output C (M, N)
  Compute GEMM A, B and get S
  Compute Add S, bias and get new S
  Compute Gelu S and get C
""", {"M": 8192, "N": 4096, "K": 4096}, lambda t: functional().gelu(t["A"] @ t["B"] + t["bias"]), {"B": scaled(1 / 64)}),
    "product, scale of rows, residual": cell("""
  Input A (M, K)
  Input B (N, K)
  Input s (M, 1) fp32
  Input R (M, N)
  Output C (M, N)
  Compute GEMM A, B.T and get S
  Compute Multiply S, s and get new S
  Compute Add S, R and get C
""", {"M": 8192, "N": 4096, "K": 4096}, lambda t: ((t["A"] @ t["B"].T).float() * t["s"] + t["R"].float()).to(t["A"].dtype), {"B": scaled(1 / 64)}),
    "SwiGLU, two products": cell("swiglu", {"M": 4096, "K": 4096, "F": 8192},
                                     lambda t: functional().silu(t["X"] @ t["Wg"].T) * (t["X"] @ t["Wu"].T), {"Wg": scaled(1 / 64), "Wu": scaled(1 / 64)}),
    "gated, columns in pairs": cell("""
  Input X (M, K)
  Input W (K, F * 2)
  Output Y (M, F)
  Index i over M
  Index n over F
  Compute GEMM X, W and get H
  Compute Define G (M, F) as H[i, 2 * n] * sigmoid(H[i, 2 * n]) * H[i, 2 * n + 1]
  Compute Multiply G, 1 and get Y
""", {"M": 4096, "K": 4096, "F": 4096}, gated_pairs, {"W": scaled(1 / 64)}),
    "gradient of weights": cell("""
  Input A (K, M)
  Input B (K, N)
  Output C (M, N) fp32
  Compute GEMM A.T, B and get C
""", {"M": 4096, "N": 4096, "K": 16384}, lambda t: (t["A"].T @ t["B"]).float()),
    "products of a batch": cell("""
  Input A (B, M, K)
  Input W (B, K, N)
  Output C (B, M, N)
  Compute GEMM A, W and get C
""", {"B": 128, "M": 512, "N": 512, "K": 512}, lambda t: t["A"] @ t["W"]),
    "16 rows, bias, SiLU": cell("""
  Input A (M, K)
  Input B (N, K)
  Input bias (N)
  Output C (M, N)
  Compute GEMM A, B.T and get S
  Compute Add S, bias and get new S
  Compute Silu S and get C
""", {"M": 16, "N": 8192, "K": 8192}, lambda t: functional().silu(t["A"] @ t["B"].T + t["bias"]), {"B": scaled(1 / 64)}),
    "int8 by int8, scales of rows and columns": cell("""
  Input A (M, K) int8
  Input B (N, K) int8
  Input a (M, 1) fp32
  Input b (N, 1) fp32
  Output C (M, N)
  Compute GEMM A, B.T and get S
  Compute Multiply S, a and get new S
  Compute Multiply S, b.T and get C
""", {"M": 4096, "N": 4096, "K": 4096}, lambda t: (t["A"].bfloat16() @ t["B"].bfloat16().T).float().mul(t["a"]).mul(t["b"].T).bfloat16(),
        {"a": lambda x: x.abs_() * 1e-3, "b": lambda x: x.abs_() * 1e-3}),
    "RMSNorm, product": cell("rmsnorm_gemm", {"M": 8192, "K": 4096, "N": 4096}, lambda t: rms(t["X"], t["gain"]) @ t["W"], {"W": scaled(1 / 64)}),
    "product, softmax": cell("""
  Input X (M, K)
  Input W (K, N)
  Output P (M, N)
  Compute GEMM X, W and get S
  Compute Softmax S and get P
""", {"M": 32768, "K": 4096, "N": 128}, lambda t: (t["X"] @ t["W"]).float().softmax(-1).to(t["X"].dtype), {"W": scaled(1 / 64)}),
    "int8 weights, 4096 rows": cell("""
  Input X (M, K)
  Input W (N, K) int8
  Input s (N, 1) fp32
  Output Y (M, N)
  Compute Define S (N, K) as s[row, 0]
  Compute Multiply W, S and get D
  Compute GEMM X, D.T and get Y
""", {"M": 4096, "K": 4096, "N": 4096}, lambda t: t["X"] @ (t["W"].float() * t["s"]).to(t["X"].dtype).T, {"s": lambda x: x.abs_() * 1e-3}),
    "distances to 1024 codes, nearest": cell("""
  Input X (M, K)
  Input C (N, K)
  Output d (M, 1) fp32
  Compute GEMM X, C.T and get S
  Compute Multiply S, -2 and get new S
  Compute Square C and get C2
  Compute RowSum C2 and get c
  Compute Add S, c.T and get new S
  Compute RowMin S and get d
""", {"M": 65536, "K": 256, "N": 1024}, lambda t: ((t["X"] @ t["C"].T).float() * -2 + t["C"].float().square().sum(-1)).amin(-1, True)),
    "product of three": cell("""
  Input X (M, K)
  Input A (K, R)
  Input B (R, N)
  Output Y (M, N)
  Compute GEMM X, A and get H
  Compute Relu H and get new H
  Compute GEMM H, B and get Y
""", {"M": 32768, "K": 1024, "R": 128, "N": 1024}, lambda t: functional().relu(t["X"] @ t["A"]) @ t["B"], {"A": scaled(1 / 32), "B": scaled(1 / 12)}),
}
CELLS = {**ATTENTION, **SHAPES, **OTHERS}


def group_of(name):
    return "attention" if name in ATTENTION else "attention at shapes of models" if name in SHAPES else "other operators"


def folder_of(options, name):
    return os.path.join(options.ptx, re.sub(r"\W+", "_", name))


def generate(options, name):
    """Writes the kernel of a cell; what went wrong, or None."""
    spec, where = CELLS[name], folder_of(options, name)
    os.makedirs(where, exist_ok=True)
    path = os.path.join(common.ROOT, "ops", spec["tl"] + ".tl")
    if "\n" in spec["tl"]:
        path = os.path.join(where, "operator.tl")
        common.write(path, "Operator operator\n" + spec["tl"].strip("\n") + "\nend\n")
    command = [options.tw, "gen", path, "--cubin=never", "--target", options.target, "--dtype", "bf16"]
    for dim, size in spec["dims"].items():
        command += ["--bind" if dim in GIVEN_BY_THE_LAUNCH else "--set", f"{dim}={size}"]
    return common.generate(command, where)[1]


# ---- the worker -------------------------------------------------------------------------------------------


class Worker(common.Worker):
    def tensors(self, spec, abi):
        torch = self.torch
        types = {"bf16": torch.bfloat16, "fp32": torch.float32, "int32": torch.int32, "int8": torch.int8}
        shapes = {name: [evaluate(d, spec["dims"]) for d in shape] for name, shape in declared(spec, "Input|Output").items()}
        made = {}
        for tensor in abi["tensors"]:
            dtype, workspace = types[tensor["dtype"]], [evaluate(str(d), spec["dims"]) for d in tensor["dims"]]
            x = torch.empty(shapes.get(tensor["name"], workspace), device="cuda", dtype=dtype)
            made[tensor["name"]] = (x.random_(-127, 128) if dtype == torch.int8 else
                                    x.zero_() if dtype == torch.int32 else x.normal_())
        for name, init in spec["init"].items():
            made[name].copy_(init(made[name]))
        return made

    def flex(self, spec, t):
        from torch.nn.attention.flex_attention import create_block_mask, flex_attention
        score, mask = spec["flex"]
        blocks = None
        if mask:
            blocks = create_block_mask(mask(t), t["Q"].shape[0], None, t["Q"].shape[2], t["K"].shape[2], device="cuda")
        function = self.torch.compile(flex_attention, dynamic=False)
        score = score and score(t)
        return lambda: function(t["Q"], t["K"], t["V"], score_mod=score, block_mask=blocks, enable_gqa=True)

    def compiled(self, spec, t):
        if "flex" in spec:
            return self.flex(spec, t)
        function = self.torch.compile(spec["function"], dynamic=False)
        return lambda: function(t)

    def captured(self, run):
        """A graph of one call, after some that warm up, and what that gives."""
        torch = self.torch
        torch.cuda.synchronize()
        for _ in range(3):
            run()
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            result = run()
        return graph, result

    def difference(self, outputs, t, results):
        """The largest relative Frobenius error of ours beside theirs; infinite where ours is no number."""
        worst = 0
        for output, result in zip(outputs, results if isinstance(results, tuple) else (results,)):
            a, b = t[output].double().flatten(), result.double().flatten()
            finite = bool(self.torch.isfinite(a).all())
            worst = max(worst, ((a - b).norm() / b.norm()).item() if finite else float("inf"))
        return worst

    def one(self, name):
        torch, spec = self.torch, CELLS[name]
        where = folder_of(self.options, name)
        program = self.load(next(os.path.join(where, f) for f in os.listdir(where) if f.endswith(".ptx")))
        outputs, graphs, kept, error = list(declared(spec, "Output")), {"ours": [], "compiled": []}, [], 0
        torch._dynamo.reset()
        for _ in range(2):
            t = self.tensors(spec, program.abi)
            launch = program.bind(t, spec["dims"], {p: 1e-5 for p in program.abi["params"]})
            ours, _ = self.captured(lambda: launch(self.stream()))
            function = self.compiled(spec, {n: x for n, x in t.items() if n not in outputs})
            theirs, results = self.captured(function)
            ours.replay()
            theirs.replay()
            torch.cuda.synchronize()
            error = max(error, self.difference(outputs, t, results))
            graphs["ours"].append(ours.replay)
            graphs["compiled"].append(theirs.replay)
            kept.append((t, launch, function, results))  # a graph owns nothing of what it reads
        total = sum(x.numel() * x.element_size() for n, x in kept[0][0].items() if n in declared(spec, "Input|Output"))
        ms, mhz, _ = self.rounds({n: common.Contestant(r) for n, r in graphs.items()}, least=4, most=2000)
        ratios = [c / o for c, o in zip(ms["compiled"], ms["ours"])]
        return {"ms": ms, "mhz": mhz, "bytes": total, "difference": error, "check": {"ok": error <= TOLERANCE},
                "ratio": statistics.median(ratios), "least": min(ratios), "most": max(ratios),
                "kernels": len(program.abi["kernels"]), **program.resources()}


def declared(spec, kind):
    """Names and dimensions of a definition's tensors of a kind."""
    text = spec["tl"]
    if "\n" not in text:
        with open(os.path.join(common.ROOT, "ops", text + ".tl")) as file:
            text = file.read()
    found = re.findall(rf"^ *(?:{kind}) +(\w+) *\(([^)]*(?:\([^)]*\)[^)]*)*)\)", text, re.M)
    return {name: [d.strip() for d in shape.split(",")] for name, shape in found}


# ---- the parent -------------------------------------------------------------------------------------------


class Parent(common.Parent):
    def line(self, index):
        name, r = self.cells[index], self.results[index]
        if "error" in r:
            return f"{name:34} {r['error']}"
        ours, theirs = (statistics.median(r["ms"][n]) for n in ("ours", "compiled"))
        return (f"{name:34} {ours:8.4f} ms, compiled {theirs:8.4f}: {r['ratio']:.2f} ({r['least']:.2f} to {r['most']:.2f}), "
                f"{r['bytes'] / ours / 1e6:5.0f} GB/s, {r['kernels']} kernels, {r['registers']} registers, "
                f"{r['local_bytes']} spilt, differs by {r['difference']:.1e}{'' if r['check']['ok'] else ' WRONG'}")

    def write(self):
        cells = [common.result_cell(group_of(name), "operator", name,
                                    {"bytes": r["bytes"]}, r["ms"], r["mhz"], difference=r["difference"],
                                    kernels=r["kernels"], ok=r["check"]["ok"])
                 for name, r in zip(self.cells, self.results) if r and "ms" in r]
        common.write_results(self.options.out, common.results(
            "fused operators beside torch.compile", {"ours": "ours", "compiled": "torch.compile"}, cells,
            {**self.conditions, "target": self.options.target}, self.options, data="random normal",
            notes=["Attention: flex_attention; at shapes of models scaled_dot_product_attention; the others: Inductor. Both in CUDA graphs. Bytes are those of inputs and outputs."]))

    def summary(self):
        ratios = [r["ratio"] for _, r in self.good()]
        if ratios:
            print(f"least {min(ratios):.2f}, geometric mean {common.mean(ratios):.2f} of torch.compile's speed")
        for group in dict.fromkeys(map(group_of, self.cells)):
            some = [r["ratio"] for name, r in self.good() if group_of(name) == group]
            if some:
                print(f"  {group}: {min(some):.2f} to {max(some):.2f}, mean {common.mean(some):.2f}")


def parse():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--tw", default="build/tw")
    parser.add_argument("--target", default="sm_90a")
    parser.add_argument("--only", type=common.words, default=[], help="cells whose names have one of these parts")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--round-ms", type=float, default=15)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--timeout", type=float, default=90, help="seconds for one cell")
    parser.add_argument("--limit", type=float, default=3600, help="seconds for everything")
    parser.add_argument("--out", default="compiled.json")
    parser.add_argument("--commit", default="unknown")
    parser.add_argument("--generate", metavar="DIR", help="write the PTX there and stop")
    parser.add_argument("--ptx", help=argparse.SUPPRESS)
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    return parser.parse_args()


def main():
    options = parse()
    names = [n for n in CELLS if not options.only or any(part.lower() in n.lower() for part in options.only)]
    if options.worker:
        Worker(options).run(names, common.skipped(options))
        return 0
    with tempfile.TemporaryDirectory() as scratch:
        options.ptx = options.generate or scratch
        failed = 0
        for name in names:
            wrong = generate(options, name)
            failed += bool(wrong)
            if wrong:
                print(f"{name}: {wrong}", file=sys.stderr)
        return 1 if failed or (not options.generate and Parent(options, names).run()) else 0


if __name__ == "__main__":
    sys.exit(main())
