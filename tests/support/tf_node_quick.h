/* tf_node_quick.h: whether a node of a graph that the quick reader takes is read alike by the general
 * one, which is what reads a graph's first node. */
#ifndef TF_NODE_QUICK_H
#define TF_NODE_QUICK_H

#include "format/tensorflow/graph/tf_graph.h"

enum quick_verdict { QUICK_LEFT, QUICK_AGREES, QUICK_DIFFERS };

static inline bool quick_is_alike(const struct heft_tf_graph *graph,
                                  const struct heft_tf_quick_node *quick)
{
    const struct heft_tf_node_entry *const node = graph->nodes;

    return graph->n_nodes == 1 && node->func == HEFT_TF_NONE &&
           heft_str_eq(node->name, quick->name) && heft_str_eq(graph->words[node->op], quick->op) &&
           node->at.off == quick->begin && node->at.len == quick->n;
}

/* QUICK_LEFT: the quick reader leaves it to the general one. */
static inline enum quick_verdict quick_against_general(struct heft_bytes bytes)
{
    struct heft_tf_quick_node quick;
    const size_t taken = heft_tf_node_quick(bytes, 0x0a, &quick);
    struct heft_tf_parts parts = {0};
    struct heft_tf_graph graph = {0};
    struct heft_arena mem = {0};
    struct heft_error err = {0};
    struct heft_source source;
    struct heft_proto_doc doc = {0};
    struct heft_proto p = {0};
    bool alike;

    if (taken == 0)
        return QUICK_LEFT;
    if (taken > bytes.n || taken != quick.begin + quick.n)
        return QUICK_DIFFERS;
    heft_source_open_memory(&source, (struct heft_bytes){bytes.p, taken}, "node");
    alike = heft_proto_doc_open(&doc, &source, false, &err) &&
            heft_proto_open(&p, &doc, 0, taken, &heft_tf_graph, &err) &&
            heft_tf_graph_read_def(&graph, &p, &mem, &parts) && p.unknown == 0 &&
            quick_is_alike(&graph, &quick);
    heft_tf_graph_release(&graph);
    heft_free(parts.list);
    heft_proto_close(&p);
    heft_proto_doc_close(&doc);
    heft_arena_release(&mem);
    heft_source_close(&source);
    return alike ? QUICK_AGREES : QUICK_DIFFERS;
}

#endif
