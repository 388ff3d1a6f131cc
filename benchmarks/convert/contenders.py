# Owns: torch's conversion on one thread, into memory of its own and into a reused tensor.
# Refuses: anything but timing. A child of run.mjs; prints one line of JSON for each case, GB/s of output.
import json
import time

import torch

BYTES = 64 << 20
ROUNDS = 9

torch.set_num_threads(1)
torch.manual_seed(1)
source = torch.randint(0, 256, (BYTES,), dtype=torch.uint8) & 0xBB
for name, dtype in (("BF16", torch.bfloat16), ("F16", torch.float16), ("F8_E4M3", torch.float8_e4m3fn)):
    tensor = source.view(dtype)
    target = torch.zeros(tensor.numel(), dtype=torch.float32)
    for contender, run in (("torch .float()", tensor.float), ("torch copy_", lambda: target.copy_(tensor))):
        rates = []
        for turn in range(-1, ROUNDS):
            start = time.perf_counter()
            run()
            seconds = time.perf_counter() - start
            if turn >= 0:
                rates.append(tensor.numel() * 4 / seconds / 1e9)
        rates.sort()
        row = {"median": rates[ROUNDS // 2], "best": rates[-1], "worst": rates[0]}
        print(json.dumps({"case": name, "contender": contender, **row}))
