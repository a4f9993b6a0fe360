"""The suite of collectives: time and bus bandwidth of torch.distributed's operations over the size of the message.

Groups of two and four processes on this machine: gloo on CPUs; on accelerators, one for each process, torch's default
there (NCCL on CUDA). The tag `quick` selects two sizes of all_reduce in a group of two.
"""

from __future__ import annotations

from photometer.definition import GroupedSetup, GroupedStmts

RANKS = (2, 4)
# Bytes of the message: latency at the lower end, bandwidth at the upper one.
MESSAGES = (1 << 10, 1 << 14, 1 << 18, 1 << 22)
QUICK_MESSAGES = (1 << 10, 1 << 18)
DEVICES = ("cpu", "cuda", "xpu")

# `message` is what the factors of NCCL's tests refer to: of all_gather the result, of the others what one rank has.
_WHOLE = "message = torch.rand(nbytes // 4, device=device)"
_SHARE = f"{_WHOLE}\nshare = torch.rand(nbytes // 4 // world_size, device=device)"
_RESULT = f"{_WHOLE}\nresult = torch.empty_like(message)"
STATEMENTS = {
    "all_reduce": ("torch.distributed.all_reduce(message)", _WHOLE),
    "all_gather": ("torch.distributed.all_gather_into_tensor(message, share)", _SHARE),
    "broadcast": ("torch.distributed.broadcast(message, 0)", _WHOLE),
    "all_to_all": ("torch.distributed.all_to_all_single(result, message)", _RESULT),
}


def _collective(name: str, ranks: int | tuple[int, ...], sizes: tuple[int, ...], tags: tuple[str, ...] = ()) -> object:
    stmt, setup = STATEMENTS[name]
    return GroupedStmts(
        stmt,
        setup=GroupedSetup(setup),
        ranks=ranks,
        sizes={"nbytes": sizes},
        devices=DEVICES,
        bytes="nbytes",
        collective=name,
        tags=tags,
    )


BENCHMARKS = {
    "collectives": {name: _collective(name, RANKS, MESSAGES) for name in STATEMENTS},
    "latency": {
        "all_reduce": _collective("all_reduce", 2, QUICK_MESSAGES, ("quick",)),
        # What a step waits for when nothing is sent.
        "barrier": GroupedStmts("torch.distributed.barrier()", ranks=RANKS, tags="quick"),
    },
}
