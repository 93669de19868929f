"""Writes the directories beside it, each malformed in one way: python3 make.py (torch 2.13, see expect.tsv).

Two ranks; parameters `a` 2 × 3 and `b` 3 in one group, a buffer `n`. DeepSpeed's own classes are not needed:
zero_stage is an integer, which its reader accepts, too.
"""
import io
import shutil
import zipfile
from collections import OrderedDict
from pathlib import Path

import torch

HERE = Path(__file__).resolve().parent
OPTIM = "zero_pp_rank_%d_mp_rank_00_optim_states.pt"


def saved(value):
    """Archive of torch.save, without the records that do not matter here."""
    whole, out = io.BytesIO(), io.BytesIO()
    torch.save(value, whole)
    with zipfile.ZipFile(whole) as old, zipfile.ZipFile(out, "w") as new:
        for name in old.namelist():
            if name.split("/", 1)[1] in ("data.pkl", "version") or "/data/" in name:
                new.writestr(zipfile.ZipInfo("a/" + name.split("/", 1)[1]), old.read(name))
    return out.getvalue()


class Folder:
    """A checkpoint of stage 2, or of stage 3; a case changes its dicts."""

    def __init__(self, stage=2):
        self.stage = stage
        weights = {"a": torch.arange(6.0).reshape(2, 3).half(), "b": torch.arange(6.0, 9.0).half()}
        self.model = {"module": OrderedDict(weights if stage < 3 else {"a": torch.zeros(0), "b": torch.zeros(0)},
                                            n=torch.tensor(5)),
                      "buffer_names": ["n"], "param_shapes": [OrderedDict(a=torch.Size([2, 3]), b=torch.Size([3]))],
                      "frozen_param_shapes": None, "frozen_param_fragments": None, "shared_params": {},
                      "ds_config": {"zero_optimization": {"stage": stage}}, "ds_version": "0.19.8"}
        vector = torch.arange(9.0)
        parts = [vector[:5].clone(), vector[5:].clone()] if stage < 3 else \
            [torch.tensor([0.0, 1, 2, 6, 7]), torch.tensor([3.0, 4, 5, 8, 0])]
        self.ranks = [{"zero_stage": stage, "partition_count": [2] if stage < 3 else 2, self.key: [part]}
                      for part in parts]
        self.frozen = [None, None]
        self.files = {}  # name → bytes, added at the end
        self.without = []

    @property
    def key(self):
        return "fp32_flat_groups" if self.stage == 3 else "single_partition_of_fp32_groups"

    def write(self, name):
        folder = HERE / name
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        files = {OPTIM % rank: saved({"optimizer_state_dict": state}) for rank, state in enumerate(self.ranks)}
        if self.stage < 3:
            files["mp_rank_00_model_states.pt"] = saved(self.model)
        for rank in range(len(self.ranks) if self.stage == 3 else 0):
            files[f"zero_pp_rank_{rank}_mp_rank_00_model_states.pt"] = \
                saved(dict(self.model, frozen_param_fragments=self.frozen[rank % 2]))
        files.update(self.files)
        for file, data in files.items():
            if file not in self.without:
                (folder / file).parent.mkdir(exist_ok=True)
                (folder / file).write_bytes(data)


CASES = []


def case(name, code, text, stage=2, offset="-"):
    def add(change):
        CASES.append((name, code, offset, text, stage, change))
        return change
    return add


@case("sound", "ok", "", offset="*")
def sound(f):
    pass


@case("sound3", "ok", "", 3, "*")
def sound3(f):
    pass


@case("rank-missing", "malformed", "partition_count is 2, the directory has 1 *_optim_states.pt")
def rank_missing(f):
    f.without = [OPTIM % 1]


@case("rank-stale", "malformed", "partition_count is 2, the directory has 3 *_optim_states.pt")
def rank_stale(f):
    f.ranks.append(f.ranks[0])


@case("rank-number", "malformed", "2 files *_optim_states.pt, but none of rank 1")
def rank_number(f):
    f.without = [OPTIM % 1]
    f.files[OPTIM % 2] = saved({"optimizer_state_dict": f.ranks[1]})


@case("rank-twice", "malformed", "are both of rank 0: files of two checkpoints")
def rank_twice(f):
    f.files["bf16_" + OPTIM % 0] = saved({"optimizer_state_dict": f.ranks[0]})


@case("stage-differs", "malformed", "zero_stage is 1, that of zero_pp_rank_0_mp_rank_00_optim_states.pt is 2")
def stage_differs(f):
    f.ranks[1]["zero_stage"] = 1


@case("stage-four", "malformed", "zero_stage is not 1, 2 or 3")
def stage_four(f):
    f.ranks[0]["zero_stage"] = 4


@case("stage-missing", "malformed", "has no zero_stage: not an optimizer file of ZeRO")
def stage_missing(f):
    del f.ranks[0]["zero_stage"]


@case("stage-of-other-files", "malformed", "the optimizer files are of stage 2, which has no such model file", 3)
def stage_of_other_files(f):
    for state in f.ranks:
        state["zero_stage"] = 2


@case("count-text", "malformed", "partition_count is not a number, or a list of them")
def count_text(f):
    f.ranks[0]["partition_count"] = "2"


@case("groups-differ", "malformed", "has more than 1 tensors, the number in")
def groups_differ(f):
    f.ranks[1][f.key].append(torch.zeros(1))


@case("groups-of-none", "malformed", "has 0 groups, param_shapes has 1")
def groups_of_none(f):
    for state in f.ranks:
        state[f.key] = []


@case("lengths-differ", "malformed", "fp32_flat_groups.0 has 4 elements, that of", 3)
def lengths_differ(f):
    f.ranks[1][f.key][0] = f.ranks[1][f.key][0][:4].clone()


@case("partition-2d", "malformed", "it is not a 1-D tensor of F32 in one piece")
def partition_2d(f):
    f.ranks[0][f.key][0] = torch.zeros(5, 1)


@case("partition-f16", "malformed", "it is not a 1-D tensor of F32 in one piece")
def partition_f16(f):
    f.ranks[0][f.key][0] = torch.zeros(5).half()


@case("partition-strided", "malformed", "it is not a 1-D tensor of F32 in one piece")
def partition_strided(f):
    f.ranks[0][f.key][0] = torch.zeros(10)[::2]


@case("too-short", "malformed", "of group 0 are too short: the parameters need 12 elements, the files have 8")
def too_short(f):
    f.ranks[1][f.key][0] = torch.zeros(3)


@case("too-short-within-alignment", "malformed", "tensor b: single_partition_of_fp32_groups of group 0 end before it")
def too_short_within(f):
    f.model["param_shapes"][0]["b"] = torch.Size([5])


@case("too-long", "malformed", "of group 0 are too long: the parameters need 12 elements, the files have 16")
def too_long(f):
    f.ranks[1][f.key][0] = torch.zeros(9)


@case("too-long3", "malformed", "of group 0 are too long: the parameters need 5 elements, the files have 6", 3)
def too_long3(f):
    for state in f.ranks:
        state[f.key][0] = torch.zeros(6)


@case("padding-count", "malformed", "param_alignment_paddings are not a number for each of the 2 parameters")
def padding_count(f):
    f.ranks[0]["param_alignment_paddings"] = [[0]]


@case("padding-negative", "malformed", "param_alignment_paddings are not a number for each of the 2 parameters")
def padding_negative(f):
    f.ranks[0]["param_alignment_paddings"] = [[-1, 0]]


@case("padding-huge", "malformed", "the shapes of param_shapes have 2^60 elements or more")
def padding_huge(f):
    f.ranks[0]["param_alignment_paddings"] = [[2**60, 0]]


@case("shape-text", "malformed", "tensor a: its shape is not a torch.Size")
def shape_text(f):
    f.model["param_shapes"][0]["a"] = "6"


@case("shape-negative", "malformed", "tensor a: its shape is not a torch.Size")
def shape_negative(f):
    f.model["param_shapes"][0]["a"] = (-2, -3)


@case("shape-float", "malformed", "tensor a: its shape is not a torch.Size")
def shape_float(f):
    f.model["param_shapes"][0]["a"] = (2.0, 3.0)


@case("shape-overflows", "malformed", "tensor a: its shape is not a torch.Size")
def shape_overflows(f):
    f.model["param_shapes"][0]["a"] = (2**33, 2**33)


@case("shape-huge", "malformed", "the shapes of param_shapes have 2^60 elements or more")
def shape_huge(f):
    f.model["param_shapes"][0].update(a=(2**60,), b=(2**60,))


@case("shape-of-256-dimensions", "malformed", "tensor a: its shape is not a torch.Size")
def shape_of_256(f):
    f.model["param_shapes"][0]["a"] = (1,) * 256


@case("shapes-none", "malformed", "buffer_names or param_shapes is missing or has another type")
def shapes_none(f):
    f.model["param_shapes"] = None


@case("shapes-of-a-dict", "malformed", "buffer_names or param_shapes is missing or has another type")
def shapes_of_a_dict(f):
    f.model["param_shapes"] = f.model["param_shapes"][0]


@case("no-buffer-names", "malformed", "buffer_names or param_shapes is missing or has another type")
def no_buffer_names(f):
    del f.model["buffer_names"]


@case("name-twice", "malformed", "tensor a: a second tensor of this name", offset="*")
def name_twice(f):
    f.model["param_shapes"][0] = OrderedDict(a=torch.Size([2, 3]))
    f.model["param_shapes"].append(OrderedDict(a=torch.Size([3])))
    for state, parts in zip(f.ranks, ((5, 3), (1, 0))):
        state[f.key] = [torch.zeros(n) for n in parts]


@case("fragment-missing", "malformed", "tensor f: its fragment is missing or too short", 3)
def fragment_missing(f):
    f.model["frozen_param_shapes"] = OrderedDict(f=torch.Size([2, 2]))
    f.frozen = [{"f": torch.zeros(2)}, {}]


@case("fragment-short", "malformed", "tensor f: its fragment is missing or too short", 3)
def fragment_short(f):
    f.model["frozen_param_shapes"] = OrderedDict(f=torch.Size([2, 2]))
    f.frozen = [{"f": torch.zeros(2)}, {"f": torch.zeros(1)}]


@case("fragment-of-other-dtype", "malformed", "it is not a 1-D tensor of F32 in one piece", 3)
def fragment_of_other_dtype(f):
    f.model["frozen_param_shapes"] = OrderedDict(f=torch.Size([2, 2]))
    f.frozen = [{"f": torch.zeros(2)}, {"f": torch.zeros(2).half()}]


@case("model-file-missing", "malformed", "1 files *_model_states.pt, and 2 *_optim_states.pt", 3)
def model_file_missing(f):
    f.without = ["zero_pp_rank_1_mp_rank_00_model_states.pt"]


@case("optimizer-files-missing", "malformed", "ds_config says stage 2, but the directory has no *_optim_states.pt")
def optimizer_files_missing(f):
    f.without = [OPTIM % 0, OPTIM % 1]


@case("emptied", "finding", "ZeRO stage 3 left it empty, and no param_shapes names it", 3)
def emptied(f):
    f.model["module"]["c"] = torch.zeros(0)


@case("shared-with-nothing", "note", "shared_params says that c is d, which is no tensor: left out", offset="*")
def shared_with_nothing(f):
    f.model["shared_params"] = {"c": "d"}


@case("shared-in-a-circle", "note", "shared_params says that d is c, which is no tensor: left out", offset="*")
def shared_in_a_circle(f):
    f.model["shared_params"] = {"c": "d", "d": "c"}


@case("tensor-parallel", "unsupported", "a DeepSpeed checkpoint with tensor parallelism (mp_rank_01_model_states.pt)")
def tensor_parallel(f):
    f.files["mp_rank_01_model_states.pt"] = saved(f.model)


@case("tensor-parallel-by-key", "unsupported", "mp_world_size is 2")
def tensor_parallel_by_key(f):
    f.model["mp_world_size"] = 2


@case("experts", "unsupported", "a DeepSpeed checkpoint with experts (MoE) (layer_0_expert_1_mp_rank_00_model_states.pt)")
def experts(f):
    f.files["layer_0_expert_1_mp_rank_00_model_states.pt"] = saved({})


@case("pipeline", "unsupported", "a DeepSpeed checkpoint with pipeline parallelism (layer_01-model_00-model_states.pt)")
def pipeline(f):
    f.files["layer_01-model_00-model_states.pt"] = saved({})


@case("autoep", "unsupported", "the checkpoint has ds_autoep_layers")
def autoep(f):
    f.model["ds_autoep_layers"] = [{"expert_state_format": "x"}]


def only_latest(f, text):
    f.without = [OPTIM % 0, OPTIM % 1, "mp_rank_00_model_states.pt"]
    f.files["latest"] = text


@case("latest-up", "unsafe", "its file latest names \"../sound\"; only a directory beside it is followed")
def latest_up(f):
    only_latest(f, b"../sound")


@case("latest-above", "unsafe", "its file latest names \"..\"; only a directory beside it is followed")
def latest_above(f):
    only_latest(f, b"..\n")


@case("latest-root", "unsafe", "its file latest names \"/\"; only a directory beside it is followed")
def latest_root(f):
    only_latest(f, b"/")


@case("latest-windows", "unsafe", "only a directory beside it is followed")
def latest_windows(f):
    only_latest(f, b"a\\b")


@case("latest-empty", "unsafe", "its file latest names \"\"; only a directory beside it is followed")
def latest_empty(f):
    only_latest(f, b"\n")


@case("latest-long", "unsafe", "its file latest names \"\"; only a directory beside it is followed")
def latest_long(f):
    only_latest(f, b"a" * 256)


@case("latest-control", "unsafe", "its file latest names \"\"; only a directory beside it is followed")
def latest_control(f):
    only_latest(f, b"a\0b")


@case("latest-absent", "malformed", "its file latest names the directory global_step2 of DeepSpeed, which is not there")
def latest_absent(f):
    only_latest(f, b"global_step2")


@case("latest-other", "malformed", "the directory other, which its file latest names, has no *_model_states.pt of DeepSpeed")
def latest_other(f):
    only_latest(f, b"other")
    f.files["other/readme"] = b"-"


def universal(f, path, value):
    f.without = [OPTIM % 0, OPTIM % 1]
    f.files = {"zero/" + path: saved(value)}


@case("universal-without-parameter", "malformed", "tensor b: param_shapes lists it, but zero/ has no directory")
def universal_without_parameter(f):
    f.model["module"] = OrderedDict(n=torch.tensor(5))
    universal(f, "optimizer_state.pt", {})
    f.model["param_shapes"] = [OrderedDict(b=torch.Size([3]))]


@case("universal-of-text", "malformed", "it has no tensor `param`")
def universal_of_text(f):
    f.model["param_shapes"] = [OrderedDict()]
    f.without = [OPTIM % 0, OPTIM % 1]
    f.files = {"zero/optimizer_state.pt": saved({})}
    f.text = True


def write_all():
    lines = ["# file, code, offset, text: see tests/suites/reject.py; written by make.py, torch 2.13"]
    for name, code, offset, text, stage, change in CASES:
        folder = Folder(stage)
        change(folder)
        folder.write(name)
        if hasattr(folder, "text"):
            (HERE / name / "zero" / "b").mkdir()
            (HERE / name / "zero" / "b" / "fp32.pt").write_bytes(saved({"param": "text"}))
        lines.append("\t".join((name, code, offset, text)))
    (HERE / "expect.tsv").write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    write_all()
