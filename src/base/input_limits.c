/* input_limits.c: defaults of struct heft_limits. */
#include "base/input_limits.h"

#include "base/base.h"

static const struct heft_limits defaults = {
    .header = 100000000,
    .pickle = 256ull << 20,
    .opcodes = 50000000,
    .ratio = 1100,
    .expansion = 1000000,
    .depth = 10000,
    .view = 1ull << 30,
    .rank = 64,
    .name = 64 << 10,
};

static uint64_t or_default(uint64_t asked, uint64_t usual)
{
    return asked ? asked : usual;
}

struct heft_limits heft_limits_complete(const struct heft_limits *asked)
{
    struct heft_limits full = defaults;

    if (!asked)
        return full;
    full.header = or_default(asked->header, defaults.header);
    full.pickle = or_default(asked->pickle, defaults.pickle);
    full.opcodes = or_default(asked->opcodes, defaults.opcodes);
    full.tensors = asked->tensors;
    full.nodes = asked->nodes;
    full.entries = asked->entries;
    full.ratio = or_default(asked->ratio, defaults.ratio);
    full.unpacked = asked->unpacked;
    full.expansion = or_default(asked->expansion, defaults.expansion);
    full.depth = or_default(asked->depth, defaults.depth);
    full.view = or_default(asked->view, defaults.view);
    full.rank = or_default(asked->rank, defaults.rank);
    full.name = or_default(asked->name, defaults.name);
    full.seconds = asked->seconds;
    return full;
}

#define SMALL_INPUT (64ull << 20)

static uint64_t bytes_above_small(uint64_t file_bytes)
{
    return file_bytes > SMALL_INPUT ? file_bytes - SMALL_INPUT : 0;
}

uint64_t heft_limit_tensors(const struct heft_limits *limits, uint64_t file_bytes)
{
    return or_default(limits->tensors, 300000 + bytes_above_small(file_bytes) / 50);
}

uint64_t heft_limit_nodes(const struct heft_limits *limits, uint64_t file_bytes)
{
    return or_default(limits->nodes,
                      heft_min_u64(2500000 + bytes_above_small(file_bytes) / 4, 20000000));
}

uint64_t heft_limit_entries(const struct heft_limits *limits, uint64_t file_bytes)
{
    return or_default(limits->entries,
                      heft_min_u64(400000 + bytes_above_small(file_bytes) / 64, 1000000));
}

/* Bytes of memory for one of each kind. A tensor, or a value that is shown, has nodes, too; names
 * and texts also count. */
enum { NODE_BYTES = 44, TENSOR_BYTES = 110, VALUE_BYTES = 40, LARGE_BYTES = 8 };
#define FREE_BYTES (12ull << 20)

static uint64_t add_bytes(uint64_t sum, uint64_t count, uint64_t each)
{
    uint64_t bytes;

    return heft_mul(count, each, &bytes) && heft_add(sum, bytes, &sum) ? sum : UINT64_MAX;
}

uint64_t heft_limit_memory(const struct heft_limits *limits, uint64_t file_bytes)
{
    uint64_t sum = add_bytes(FREE_BYTES, bytes_above_small(file_bytes), LARGE_BYTES);

    sum = add_bytes(sum, heft_limit_nodes(limits, file_bytes), NODE_BYTES);
    sum = add_bytes(sum, heft_limit_tensors(limits, file_bytes), TENSOR_BYTES);
    return add_bytes(sum, limits->expansion, VALUE_BYTES);
}
