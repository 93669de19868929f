"""A process with TensorFlow that answers bench/run: what it costs to list a bundle there."""

import json
import os
import sys
import time

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")


def list_bundle(prefix):
    import tensorflow as tf
    start = time.perf_counter()
    shapes = tf.train.load_checkpoint(prefix).get_variable_to_shape_map()
    return {"seconds": time.perf_counter() - start, "tensors": len(shapes)}


def main():
    import tensorflow  # noqa: F401 (paid here)
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    for line in sys.stdin:
        request = json.loads(line)
        answer = {"list_bundle": list_bundle}[request.pop("do")](**request)
        print(json.dumps(answer), file=answers, flush=True)


if __name__ == "__main__":
    main()
