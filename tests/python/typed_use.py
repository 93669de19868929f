"""Use of the package that mypy --strict accepts: the types of arguments and results."""

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
