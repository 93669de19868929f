/* scan_saver.h: the scopes of a TensorFlow graph that are a Saver's, whatever they are called. */
#ifndef HEFT_SCAN_SAVER_H
#define HEFT_SCAN_SAVER_H

#include "base/base.h"
#include "base/map.h"

struct heft_saver {
    bool has_placeholder; /* by which the path is given */
    bool has_more;        /* than savers are made of, or a path, or a taker outside of it */
};

struct heft_savers {
    struct heft_strmap scopes; /* → index */
    struct heft_saver *savers;
    uint32_t *taken; /* by the node at hand */
    size_t n_taken, cap_taken, n, cap;
};

/* "a/b/SaveV2": "a/b/"; empty for a node without a scope. */
struct heft_str heft_saver_scope(struct heft_str name);
/* A text that is an absolute path, or one of another file system. */
bool heft_saver_is_path(struct heft_str text);

/* First: the scope of each node that saves. The node's name must live as long. */
HEFT_CHECKED bool heft_savers_add(struct heft_savers *s, struct heft_str node, uint32_t *index,
                                  struct heft_error *err);
/* Then: each input of a node, and the node. has_path: it has a text that is an absolute path. */
HEFT_CHECKED bool heft_savers_take(struct heft_savers *s, struct heft_str input,
                                   struct heft_error *err);
void heft_savers_judge(struct heft_savers *s, struct heft_str node, struct heft_str op,
                       bool has_path);
/* At last. */
bool heft_savers_is_saver(const struct heft_savers *s, uint32_t index);
/* The innermost of the scopes that the node is in; HEFT_NONE: in none. */
uint32_t heft_savers_find(const struct heft_savers *s, struct heft_str node);
void heft_savers_release(struct heft_savers *s);

#endif
