/* tf_graph_weigh.c: how much memory a document takes that is read, and may take. */
#include "format/tensorflow/graph/tf_graph.h"

/* Real nodes take a hundred bytes of a file and more, and objects too: what takes less and comes by
 * the million is no model. Below 64 MiB a file may take more than it has itself, so that the usual
 * small one never meets the limit. A text form is in memory already. */
#define MOST_BASE  (UINT64_C(16) << 20)
#define MOST_SMALL (UINT64_C(64) << 20)

static uint64_t arrays(const struct heft_tf_graph *g)
{
    return (g->cap_nodes + g->cap_inner) * sizeof *g->nodes +
           g->cap_functions * sizeof *g->functions + g->cap_words * 3 * sizeof *g->words +
           g->cap_signatures * sizeof *g->signatures + g->cap_collections * sizeof *g->collections +
           g->cap_assets * sizeof *g->assets + g->cap_objects * sizeof *g->objects +
           g->cap_children * sizeof *g->children + g->cap_concretes * sizeof *g->concretes +
           g->cap_tags * sizeof *g->tags +
           2 * g->n_infos * sizeof(struct heft_tf_info); /* lists grow, and are sorted in a copy */
}

static uint64_t most_of(const struct heft_proto_doc *doc)
{
    const uint64_t most =
        doc->size < MOST_SMALL / 8 ? 8 * doc->size : heft_max_u64(doc->size, MOST_SMALL);

    return MOST_BASE + most / (doc->is_text ? 2 : 1);
}

uint64_t heft_tf_graph_taken(const struct heft_tf_graph *g)
{
    const uint64_t entries = g->node_map.entries_cap + g->function_map.entries_cap;
    const uint64_t slots = g->node_map.cap + g->function_map.cap;

    return g->mem->total - g->begin + g->texts.total + arrays(g) + 16 * entries + 8 * slots;
}

bool heft_tf_graph_weigh(const struct heft_tf_graph *g, uint64_t where, struct heft_error *err)
{
    const uint64_t most = most_of(g->doc);

    if (g->mem->total - g->begin + g->texts.total + arrays(g) <= most)
        return true;
    return heft_fail(err, HEFT_LIMIT, where,
                     "listing the graph needs more than %" PRIu64
                     " MiB, the limit for a file of this size",
                     most >> 20);
}
