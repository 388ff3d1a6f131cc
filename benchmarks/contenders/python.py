# Owns the Python side of each race: safetensors with numpy and with torch, and pickle as torch.load has it.
# Refuses to import torch where it is not asked for. `python.py JOB ARGUMENTS`, the arguments as JSON; prints one line.
import json
import statistics
import sys
import time

import numpy as np
from safetensors import safe_open

job = sys.argv[1]
args = json.loads(sys.argv[2])
framework = args.get("framework", "np")
if framework == "torch":
    framework = "pt"
    import torch

    torch.set_num_threads(1)


def words(tensor, step):
    """The sum of one 32-bit word in each `step` bytes, modulo 2^32."""
    if framework == "pt":
        flat = tensor.reshape(-1).view(torch.int32)[:: step // 4]
        return int(flat.sum(dtype=torch.int64)) & 0xFFFFFFFF
    flat = tensor.reshape(-1).view(np.uint32)[:: step // 4]
    return int(flat.sum(dtype=np.uint64)) & 0xFFFFFFFF


def rounds_of(work, default=9):
    """The median over rounds, as clock.mjs has it. `work` returns its checksum, and seconds when it has its own clock."""
    times = []
    checksum = None
    begin = time.perf_counter()
    for turn in range(-1, args.get("rounds", default)):
        start = time.perf_counter()
        result = work()
        spent = time.perf_counter() - start
        if isinstance(result, tuple):
            result, spent = result
        checksum = result
        if turn >= 0 or args.get("warm") == 0:
            times.append(spent)
        if len(times) >= 3 and time.perf_counter() - begin > args["seconds"]:
            break
    return statistics.median(times) * 1e9, checksum


def once(work):
    start = time.perf_counter()
    checksum = work()
    return (time.perf_counter() - start) * 1e9, checksum


def list_names():
    with safe_open(args["path"], framework="np") as file:
        return sum(len(name) for name in file.keys())


def one_tensor():
    with safe_open(args["path"], framework=framework) as file:
        return words(file.get_tensor(args["name"]), 64)


def views():
    total = 0
    with safe_open(args["path"], framework=framework) as file:
        for name in file.keys():
            tensor = file.get_tensor(name)
            if framework == "pt":
                total += int(tensor.reshape(-1)[:1].view(torch.int32)[0])
            else:
                total += int(tensor.reshape(-1)[:1].view(np.uint32)[0])
    return total & 0xFFFFFFFF


def full_pass():
    total = 0
    with safe_open(args["path"], framework=framework) as file:
        for name in file.keys():
            total += words(file.get_tensor(name), args["step"])
    return total & 0xFFFFFFFF


def pickle_pass():
    tensors = torch.load(args["path"], weights_only=True, mmap=args.get("mmap", False))
    return sum(words(tensor, args["step"]) for tensor in tensors.values()) & 0xFFFFFFFF


def columns():
    # As the others: into memory that is used again, from opening to closing.
    start = time.perf_counter()
    with safe_open(args["path"], framework=framework) as file:
        part = file.get_slice(args["name"])
        data = part[:, : part.get_shape()[1] // args["part"]]
    spent = time.perf_counter() - start
    return words(data, 64), spent


def convert():
    with safe_open(args["path"], framework="pt") as file:
        source = file.get_tensor(args["name"])
    reused = torch.ones(source.shape, dtype=torch.float32)

    def work():
        start = time.perf_counter()
        target = source.float() if args.get("fresh") else reused.copy_(source)
        spent = time.perf_counter() - start
        # Walking through it takes longer than filling it: once, where all rounds fill the same.
        return words(target, 64) if args.get("fresh") else 0, spent

    value, checksum = rounds_of(work)
    return value, checksum if args.get("fresh") else words(reused, 64)


def save_copy():
    import os

    from safetensors.numpy import load_file, save_file

    start = time.perf_counter()
    save_file(load_file(args["from"]), args["to"])
    descriptor = os.open(args["to"], os.O_RDONLY)
    os.fsync(descriptor)
    os.close(descriptor)
    return (time.perf_counter() - start) * 1e9, 0


def make_pickle():
    with safe_open(args["from"], framework="pt") as file:
        torch.save({name: file.get_tensor(name) for name in file.keys()}, args["to"])
    return 0, 0


JOBS = {
    "list": lambda: rounds_of(list_names),
    "firstTensor": lambda: rounds_of(one_tensor),
    "oneTensor": lambda: once(one_tensor),
    "views": lambda: rounds_of(views, 3),
    "pass": lambda: once(full_pass),
    "pickle": lambda: once(pickle_pass),
    "columns": lambda: rounds_of(columns),
    "convert": convert,
    "save": save_copy,
    "makePickle": make_pickle,
}

value, checksum = JOBS[job]()
print(json.dumps({"value": value, "checksum": checksum}))
