/* tf_document.h: a SavedModel, MetaGraphDef or GraphDef, read whole: its kind, and the index of
 * each metagraph. */
#ifndef HEFT_TF_DOCUMENT_H
#define HEFT_TF_DOCUMENT_H

#include "format/tensorflow/graph/tf_graph.h"

enum heft_tf_kind { HEFT_TF_UNKNOWN, HEFT_TF_SAVED_MODEL, HEFT_TF_META_GRAPH, HEFT_TF_GRAPH_DEF };

/* Kind and form of a file, judged by its first bytes. */
struct heft_tf_form {
    enum heft_tf_kind kind;
    bool is_text;
};
struct heft_tf_form heft_tf_form_of(struct heft_bytes head, uint64_t size);

struct heft_tf_saved {
    struct heft_proto_doc doc;
    struct heft_tf_form form;
    struct heft_tf_graph *graphs; /* at least one */
    size_t n_graphs, cap_graphs;
    struct heft_tf_parts parts; /* byte ranges of the document, for the map */
    int64_t schema_version;
    uint64_t unknown; /* fields that no message table lists */
};
#define HEFT_TF_MOST_GRAPHS 100

/* Texts are allocated in mem; src must outlive *saved. Release *saved also on failure. */
HEFT_CHECKED bool heft_tf_saved_read(struct heft_tf_saved *saved, const struct heft_source *src,
                                     struct heft_arena *mem, struct heft_error *err);
void heft_tf_saved_release(struct heft_tf_saved *saved);

#endif
