#!/usr/bin/env python3
"""Times the kernels of a table with PyTorch: `accosim resolve SCENARIO --kernels > kernels.csv` prints one.

usage: torch_kernels.py KERNELS.csv [DEVICE] > samples.csv

Each row is run as PyTorch runs it in a training step: a matrix product by torch.nn.functional.linear or its gradients'
products, attention by scaled_dot_product_attention, forward alone and backward as the rest of both. Operands are
normally distributed and change from run to run, so that the L2 cache holds what a step would leave there. A time is the
median of batches that last 20 ms or more, after as long a warm-up. What PyTorch or the device cannot do is told on the
standard error and left out. On a GPU all begins with 2 s of a large product, so that clocks are those of lasting load. The output is the same table with a column time_us, for `accosim fit samples.csv
--as-measured -o PROFILE`.
"""

import csv
import statistics
import sys
import time

import torch
import torch.nn.functional as F

DTYPES = {"fp32": torch.float32, "tf32": torch.float32, "fp16": torch.float16, "bf16": torch.bfloat16}
LOAD_SECONDS, BATCH_SECONDS, BATCHES, COPIES_BYTES = 2, 0.02, 7, 256 << 20


def seconds_of(run, device):
    """Of one run: the median over batches."""
    wait = torch.cuda.synchronize if device.type == "cuda" else (lambda: None)

    def batch(count):
        wait()
        begin = time.perf_counter()
        for i in range(count):
            run(i)
        wait()
        return time.perf_counter() - begin

    count = 1
    while batch(count) < BATCH_SECONDS:
        count *= 2
    return statistics.median(batch(count) for _ in range(BATCHES)) / count


def copies_of(shape, dtype, device):
    """As many operands of that shape as the L2 cannot hold, at most 16."""
    size = torch.empty((), dtype=dtype).element_size()
    for side in shape:
        size *= side
    count = max(1, min(16, COPIES_BYTES // size))
    return [torch.randn(shape, device=device).to(dtype) for _ in range(count)]


def product(row, dtype, device):
    """Of m rows by n columns over k. A weight is stored as (outputs, inputs), as torch.nn.Linear has it."""
    m, n, k = (int(row[side]) for side in "mnk")
    of = row["pass"]
    if of == "forward":
        a, b = copies_of((m, k), dtype, device), copies_of((n, k), dtype, device)
        return lambda i: F.linear(a[i % len(a)], b[i % len(b)])
    if of == "input_gradient":
        a, b = copies_of((m, k), dtype, device), copies_of((k, n), dtype, device)
        return lambda i: a[i % len(a)] @ b[i % len(b)]
    if DTYPES[row["out_dtype"]] != dtype:
        raise NotImplementedError("PyTorch's products write the type of their operands")
    a, b = copies_of((k, m), dtype, device), copies_of((k, n), dtype, device)
    if row["accumulate"] != "1":
        return lambda i: a[i % len(a)].t() @ b[i % len(b)]
    into = torch.zeros((m, n), device=device, dtype=dtype)
    return lambda i: into.addmm_(a[i % len(a)].t(), b[i % len(b)])


def attention(row, dtype, device):
    """Forward; and both passes, of which backward is what forward leaves."""
    batch, heads, kv_heads, seq = (int(row[key]) for key in ("batch", "heads", "kv_heads", "seq"))
    if row["flash_3"] == "1":
        raise NotImplementedError("FlashAttention 3 is not PyTorch's")
    query = torch.randn((batch, heads, seq, int(row["head_dim"])), device=device).to(dtype)
    # PyTorch repeats the keys and values of grouped queries itself; here each head has them, which costs as much.
    key = torch.randn((batch, kv_heads, seq, int(row["head_dim"])), device=device).to(dtype)
    value = torch.randn((batch, kv_heads, seq, int(row["value_dim"])), device=device).to(dtype)
    operands = [query, key.repeat_interleave(heads // kv_heads, 1), value.repeat_interleave(heads // kv_heads, 1)]
    causal = row["causal"] == "1"

    def forward(_):
        with torch.no_grad():
            F.scaled_dot_product_attention(*operands, is_causal=causal)

    trained = [each.clone().requires_grad_() for each in operands]
    gradient = torch.randn((batch, heads, seq, int(row["value_dim"])), device=device).to(dtype)

    def both(_):
        F.scaled_dot_product_attention(*trained, is_causal=causal).backward(gradient)
        for each in trained:
            each.grad = None

    return forward, both


def time_of(row, device):
    if row["dtype"] not in DTYPES:
        raise NotImplementedError(f"no products in {row['dtype']} here")
    torch.backends.cuda.matmul.allow_tf32 = row["dtype"] == "tf32"
    dtype = DTYPES[row["dtype"]]
    if row["kind"] == "gemm":
        return seconds_of(product(row, dtype, device), device)
    forward, both = attention(row, dtype, device)
    alone = seconds_of(forward, device)
    return alone if row["kind"] == "attention_forward" else seconds_of(both, device) - alone


def main(arguments):
    if len(arguments) not in (1, 2) or arguments[0] in ("-h", "--help"):
        print(__doc__, file=sys.stderr)
        return 2
    device = torch.device(arguments[1] if len(arguments) == 2 else "cuda:0")
    with open(arguments[0], newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(line for line in file if not line.startswith("#")))
    if not rows or "pass" not in rows[0]:
        print(f"{arguments[0]}: is no table of kernels; write what accosim resolve SCENARIO --kernels prints",
              file=sys.stderr)
        return 1
    if device.type == "cuda":
        large = torch.randn((8192, 8192), device=device).to(torch.float16)
        until = time.perf_counter() + LOAD_SECONDS
        while time.perf_counter() < until:
            large @ large
            torch.cuda.synchronize()
    name = torch.cuda.get_device_name(device) if device.type == "cuda" else "a CPU"
    print(f"# PyTorch {torch.__version__} on {name}")
    writer = csv.DictWriter(sys.stdout, list(rows[0]) + ["time_us"], lineterminator="\n")
    writer.writeheader()
    for number, row in enumerate(rows, 1):
        try:
            writer.writerow({**row, "time_us": f"{1e6 * time_of(row, device):.2f}"})
            sys.stdout.flush()
        except (RuntimeError, NotImplementedError, AttributeError) as error:
            what = ",".join(value for value in row.values() if value)
            print(f"row {number} left out ({what}): {str(error).splitlines()[0]}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
