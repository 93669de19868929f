"""Writes the directories beside it with DeepSpeed, and what its zero_to_fp32 makes of them: python3 make.py

Made with deepspeed 0.19.8 and torch 2.13.0+cpu, Python 3.11: as many processes as there are ranks, connected
through a file and gloo, train for two steps.

    stage0     one rank: `module` is whole
    stage1     two ranks; the frozen parameter is in `module` only
    stage2     two ranks, bf16, aligned parameters (param_alignment_paddings), a file `latest`
    stage3     three ranks, bf16, several vectors a rank (sub_group_size); parts of a frozen parameter
    universal  ds_to_universal of stage3 without a frozen parameter

expected/NAME.safetensors has the values of zero_to_fp32 for stages 1 to 3; tests/cli/deepspeed.case compares.
"""
import contextlib
import io
import logging
import os
import shutil
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path

os.environ["DS_ACCELERATOR"] = "cpu"
import torch
import torch.distributed as dist
import torch.multiprocessing as mp

HERE = Path(__file__).resolve().parent


class Net(torch.nn.Module):
    def __init__(self, frozen):
        super().__init__()
        torch.manual_seed(3)
        self.emb, self.mid = torch.nn.Embedding(5, 3), torch.nn.Linear(3, 3)
        self.head = torch.nn.Linear(3, 5, bias=False)
        self.head.weight = self.emb.weight
        self.register_buffer("mean", torch.tensor([0.5, 1.0078125, -3]))
        self.register_buffer("count", torch.tensor(7))
        self.froz = torch.nn.Linear(3, 2, bias=False) if frozen else None
        if frozen:
            self.froz.requires_grad_(False)

    def forward(self, x):
        h = self.mid(self.emb(x))
        return self.head(h).sum() + (self.froz(h).sum() if self.froz else 0)


def train(rank, world, meeting, out, zero, bf16, frozen):
    warnings.filterwarnings("ignore")
    logging.disable(logging.WARNING)
    torch.set_num_threads(1)
    os.environ.update(RANK=str(rank), LOCAL_RANK=str(rank), WORLD_SIZE=str(world))
    dist.init_process_group("gloo", init_method=f"file://{meeting}", rank=rank, world_size=world)
    import deepspeed
    net = Net(frozen)
    trained = [p for p in net.parameters() if p.requires_grad]
    optimizer = torch.optim.AdamW([{"params": [p for p in trained if p.dim() > 1]},
                                   {"params": [p for p in trained if p.dim() < 2], "weight_decay": 0.0}], lr=1e-2)
    config = {"train_micro_batch_size_per_gpu": 2, "zero_allow_untested_optimizer": True, "zero_optimization": zero}
    if bf16:
        config["bf16"] = {"enabled": True}
    engine, *_ = deepspeed.initialize(model=net, optimizer=optimizer, config=config, dist_init_required=False)
    for _ in range(2):
        engine.backward(engine(torch.arange(4) % 3))
        engine.step()
    engine.save_checkpoint(out, tag="step2")
    dist.barrier()
    dist.destroy_process_group()


def merged(out, name):
    from deepspeed.utils.zero_to_fp32 import get_fp32_state_dict_from_zero_checkpoint
    from safetensors.torch import save_file
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        state = get_fp32_state_dict_from_zero_checkpoint(out)
    (HERE / "expected").mkdir(exist_ok=True)
    save_file({key: value.detach().clone().contiguous() for key, value in state.items()},
              HERE / "expected" / f"{name}.safetensors")


ZERO3 = {"stage": 3, "stage3_param_persistence_threshold": 0, "sub_group_size": 6}
CASES = {  # name: ranks, zero_optimization, bf16, frozen
    "stage0": (1, {"stage": 0}, False, True),
    "stage1": (2, {"stage": 1}, False, True),
    "stage2": (2, {"stage": 2, "parameter_alignment": True}, True, True),
    "stage3": (3, ZERO3, True, True),
    "universal": (2, {"stage": 3, "stage3_param_persistence_threshold": 0}, False, False),
}


def write(name, folder):
    world, zero, bf16, frozen = CASES[name]
    out = f"{folder}/{name}"
    mp.spawn(train, (world, f"{folder}/{name}.meeting", out, zero, bf16, frozen), nprocs=world)
    target = HERE / name
    shutil.rmtree(target, ignore_errors=True)
    if name == "universal":
        subprocess.run([sys.executable, "-m", "deepspeed.checkpoint.ds_to_universal", "--input_folder", f"{out}/step2",
                        "--output_folder", f"{out}/u", "--num_extract_workers", "1", "--num_merge_workers", "1"],
                       check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        shutil.copytree(f"{out}/u", target, ignore=shutil.ignore_patterns("latest*", "zero_pp_rank_1*", "optimizer_state.pt"))
        return
    if zero["stage"]:
        merged(out, name)
    if name == "stage2":  # found through `latest`
        (target / "step2").mkdir(parents=True)
        shutil.copy(f"{out}/latest", target)
        target = target / "step2"
    target.mkdir(exist_ok=True)
    for path in Path(f"{out}/step2").iterdir():
        shutil.copy(path, target)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as scratch:
        for case in sys.argv[1:] or CASES:
            write(case, scratch)
