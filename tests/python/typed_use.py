"""Use of the package that mypy --strict accepts: the types of arguments and results."""

import io

import heft


def tokens(text: str) -> list[int]:
    enc: heft.Encoding = heft.get_encoding("gpt2")
    ids = enc.encode(text, allowed_special={"<|endoftext|>"}, disallowed_special=())
    ids += enc.encode(text.encode(), allowed_special="all")
    batch: list[list[int]] = enc.encode_batch([text], num_threads=2)
    back: str = enc.decode(ids)
    return ids + batch[0] + enc.encode_ordinary(back)


def files(state: dict[str, object]) -> list[str]:
    split = heft.split_torch_state_dict_into_shards(state, max_shard_size="5GB")
    return list(split.filename_to_tensors) if split.is_sharded else []


def reason(path: str) -> str:
    try:
        return heft.from_file(path).name
    except heft.MalformedError as error:
        return f"{error.file} {error.offset} {error.code}"


def checkpoint(path: str) -> dict[str, tuple[int, ...]]:
    with heft.open(path, limits={"tensors": 1000}) as opened:
        findings: list[heft.Finding] = opened.verify(progress=False)
        shapes = {name: opened[name].shape for name in opened}
    made: heft.Conversion = heft.convert(path, "out/", max_shard_size="5GB", cast={"*": "BF16"}, dry_run=True)
    items: list[heft.ScanItem] = heft.scan(path)
    same: bool = heft.diff(path, path, atol=1e-3).is_equal
    print(findings, made.tensor_to_filename, items, same, [s.mean for s in heft.stats(path)])
    return shapes


def data(path: str, file: io.BufferedReader) -> tuple[bytes, int | None]:
    opened = heft.open(file, framework="np", mmap=False, salvage=True)
    metadata: dict[str, str] | None = opened.metadata()
    with heft.open(bytearray(b"")) as other:
        weight: heft.Tensor = other["weight"]
        part: heft.Tensor = weight[3:5, ..., -1]
        view: memoryview = memoryview(part)
    print(metadata, weight.numpy(copy=True).dtype, view.nbytes, opened.offset_keys())
    return part.tobytes(), part.storage


def stop(done: int, total: int) -> bool:
    return done < total // 2


def half(path: str) -> None:
    heft.convert(path, "b.safetensors", progress=stop)
    heft.convert(path, "b.safetensors", rules=["gpt2-tf", path], variables={"heads": 12}, reverse=True)
    with heft.open([path, path], number_names=True) as ranks, ranks.ruled("llama-meta", reverse=False) as ruled:
        print(ruled.ties, heft.diff(path, ruled, rules="unwrap").is_equal, heft.rules_presets()["unwrap"].title())


def save(path: str, weights: bytearray) -> object:
    heft.save_file({"w": weights}, path, {"format": "pt"}, sync=True)
    return heft.load(path, mmap=False)
