"""Writes checkpoints of DeepSpeed ZeRO and what zero_to_fp32 makes of them: zero_peer.py FOLDER CASE…

A case is a JSON object: name, world, zero (the option zero_optimization), bf16, dims, tied, frozen.
"""
import contextlib
import io
import json
import logging
import os
import sys
import warnings

os.environ["DS_ACCELERATOR"] = "cpu"
import torch
import torch.distributed as dist
import torch.multiprocessing as mp


class Net(torch.nn.Module):
    def __init__(self, dims, tied, frozen):
        super().__init__()
        torch.manual_seed(sum(dims))
        a, b, c = dims
        self.emb, self.up, self.down, self.norm = (torch.nn.Embedding(a, b), torch.nn.Linear(b, c), torch.nn.Linear(c, b),
                                                   torch.nn.LayerNorm(b))
        self.head = torch.nn.Linear(b, a, bias=False)
        self.still = torch.nn.Linear(b, c)
        self.register_buffer("count", torch.arange(a))
        self.register_buffer("mean", torch.randn(b))
        if tied:
            self.head.weight = self.emb.weight
        self.still.requires_grad_(not frozen)

    def forward(self, x):
        h = self.norm(self.down(self.up(self.emb(x))))
        return self.head(h).sum() + self.still(h).sum()


def train(rank, case, folder):
    warnings.filterwarnings("ignore")
    logging.disable(logging.WARNING)
    torch.set_num_threads(1)
    world, out = case["world"], f"{folder}/{case['name']}"
    os.environ.update(RANK=str(rank), LOCAL_RANK=str(rank), WORLD_SIZE=str(world))
    dist.init_process_group("gloo", init_method=f"file://{out}.meeting", rank=rank, world_size=world)
    import deepspeed
    net = Net(case["dims"], case["tied"], case["frozen"])
    trained = [p for p in net.parameters() if p.requires_grad]
    groups = [{"params": [p for p in trained if p.dim() > 1]}, {"params": [p for p in trained if p.dim() < 2], "weight_decay": 0.0}]
    config = {"train_micro_batch_size_per_gpu": 2, "zero_allow_untested_optimizer": True, "zero_optimization": case["zero"]}
    if case["bf16"]:
        config["bf16"] = {"enabled": True}
    engine, *_ = deepspeed.initialize(model=net, optimizer=torch.optim.AdamW(groups), config=config, dist_init_required=False)
    for _ in range(2):
        engine.backward(engine(torch.arange(4) % case["dims"][0]))
        engine.step()
    engine.save_checkpoint(out)
    dist.barrier()
    dist.destroy_process_group()


def main():
    folder = sys.argv[1]
    for text in sys.argv[2:]:
        case = json.loads(text)
        out = f"{folder}/{case['name']}"
        mp.spawn(train, (case, folder), nprocs=case["world"])
        from deepspeed.utils.zero_to_fp32 import get_fp32_state_dict_from_zero_checkpoint
        from safetensors.torch import save_file
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            state = get_fp32_state_dict_from_zero_checkpoint(out)
        save_file({name: value.detach().clone().contiguous() for name, value in state.items()}, f"{out}.safetensors")
        with open(f"{out}.json", "w", encoding="utf-8") as order:
            json.dump(list(state), order)


if __name__ == "__main__":
    main()
