/* tf_node_quick.c: nodes as every writer writes them, without the general reader of messages: a graph
 * may have a million, of a hundred bytes each.
 *
 *     tag n { 0a n name   12 n op   [1a n input …]   [22 n device]   [2a n attr …]   [32 n …] [3a n …] }
 *     attr = 0a n key   [12 n value]
 *
 * Fields in any order, lengths of one or two bytes. Of an attribute only the key is looked at: the
 * one whose value an index of nodes wants, "f", is left to tf_graph.c like all that is unusual or
 * wrong: nothing is refused here. */
#include "format/tensorflow/graph/tf_graph.h"

enum { NAME = 0x0a, OP = 0x12, INPUT = 0x1a, DEVICE = 0x22, ATTR = 0x2a };
enum { DEBUG_INFO = 0x32, FULL_TYPE = 0x3a };
enum { KEY = 0x0a, VALUE = 0x12 };

struct view {
    const uint8_t *p, *end;
};

/* The content of a field whose tag has been taken. */
static inline bool take_content(struct view *v, struct view *out)
{
    size_t n;

    if (v->p == v->end)
        return false;
    n = *v->p++;
    if (n >= 0x80) {
        if (v->p == v->end || *v->p >= 0x80)
            return false;
        n = (n & 0x7f) | (size_t)*v->p++ << 7;
    }
    if (n > (size_t)(v->end - v->p))
        return false;
    *out = (struct view){v->p, v->p + n};
    v->p = out->end;
    return true;
}

static inline struct heft_str text_of(struct view v)
{
    return (struct heft_str){(const char *)v.p, (size_t)(v.end - v.p)};
}

/* A key and its value, and the key is not "f". */
static inline bool is_plain(struct view attr)
{
    struct view key, value;

    if (attr.p == attr.end || *attr.p++ != KEY || !take_content(&attr, &key) ||
        (key.end - key.p == 1 && *key.p == 'f'))
        return false;
    return attr.p == attr.end ||
           (*attr.p++ == VALUE && take_content(&attr, &value) && attr.p == attr.end);
}

static inline bool take_field(struct view *node, struct heft_tf_quick_node *out)
{
    const uint8_t tag = *node->p++;
    struct view content;

    if (!take_content(node, &content))
        return false;
    switch (tag) {
    case NAME:
        out->name = text_of(content);
        return true;
    case OP:
        out->op = text_of(content);
        return true;
    case ATTR:
        return is_plain(content);
    default:
        return tag == INPUT || tag == DEVICE || tag == DEBUG_INFO || tag == FULL_TYPE;
    }
}

size_t heft_tf_node_quick(struct heft_bytes bytes, uint8_t tag, struct heft_tf_quick_node *out)
{
    struct view all = {bytes.p, bytes.p + bytes.n}, node;

    *out = (struct heft_tf_quick_node){0};
    if (bytes.n == 0 || *all.p++ != tag || !take_content(&all, &node))
        return 0;
    out->begin = (size_t)(node.p - bytes.p);
    out->n = (size_t)(node.end - node.p);
    while (node.p < node.end)
        if (!take_field(&node, out))
            return 0;
    return out->name.n && out->op.p ? (size_t)(all.p - bytes.p) : 0;
}
