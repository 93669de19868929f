/* tf_graph_weigh.c: the memory that the index of a document takes, and its limit. */
#include "format/tensorflow/graph/tf_graph.h"

/* The limit depends on the file's size. Nodes and objects of real models take 100 bytes of the file
 * and more, which is more than their index entries; a file of millions of smaller ones is an
 * attack. Files below 64 MiB may take more memory than they have bytes (up to eight times, at most
 * 64 MiB), so that small models never meet the limit. A document in text form gets half, because
 * the text itself is in memory as well. */
#define MOST_BASE  (UINT64_C(16) << 20)
#define MOST_SMALL (UINT64_C(64) << 20)

static uint64_t array_bytes(const struct heft_tf_graph *g)
{
    return (g->cap_nodes + g->cap_inner) * sizeof *g->nodes +
           g->cap_functions * sizeof *g->functions + g->cap_words * 3 * sizeof *g->words +
           g->cap_signatures * sizeof *g->signatures + g->cap_collections * sizeof *g->collections +
           g->cap_assets * sizeof *g->assets + g->cap_objects * sizeof *g->objects +
           g->cap_children * sizeof *g->children + g->cap_concretes * sizeof *g->concretes +
           g->cap_tags * sizeof *g->tags +
           2 * g->n_infos * sizeof(struct heft_tf_info); /* twice: lists are sorted in a copy */
}

static uint64_t memory_limit(const struct heft_proto_doc *doc)
{
    const uint64_t most =
        doc->size < MOST_SMALL / 8 ? 8 * doc->size : heft_max_u64(doc->size, MOST_SMALL);

    return MOST_BASE + most / (doc->is_text ? 2 : 1);
}

uint64_t heft_tf_graph_taken(const struct heft_tf_graph *g)
{
    const uint64_t entries = g->node_map.entries_cap + g->function_map.entries_cap;
    const uint64_t slots = g->node_map.cap + g->function_map.cap;

    return g->mem->total - g->begin + g->texts.total + array_bytes(g) + 16 * entries + 8 * slots;
}

bool heft_tf_graph_weigh(const struct heft_tf_graph *g, uint64_t where, struct heft_error *err)
{
    const uint64_t most = memory_limit(g->doc);

    if (g->mem->total - g->begin + g->texts.total + array_bytes(g) <= most)
        return true;
    return heft_fail(err, HEFT_LIMIT, where,
                     "listing the graph needs more than %" PRIu64
                     " MiB, the limit for a file of this size",
                     most >> 20);
}
