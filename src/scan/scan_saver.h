/* scan_saver.h: finds the scopes of a TensorFlow graph that belong to a Saver, whatever their
 * names. */
#ifndef HEFT_SCAN_SAVER_H
#define HEFT_SCAN_SAVER_H

#include "base/base.h"
#include "base/map.h"

struct heft_saver {
    bool has_placeholder; /* has a placeholder for the path */
    bool has_more; /* has another operation, an absolute path, or an output that is used outside */
};

struct heft_savers {
    struct heft_strmap scopes; /* scope → index in savers */
    struct heft_saver *savers;
    uint32_t *taken; /* savers whose outputs the current node uses */
    size_t n_taken, cap_taken, n, cap;
};

/* Returns the scope of a node, "a/b/" of "a/b/SaveV2"; empty if the node has no scope. */
struct heft_str heft_saver_scope(struct heft_str name);
/* True for an absolute path, or a path in another file system. */
bool heft_saver_is_path(struct heft_str text);

/* First step: adds the scope of each node that saves. The node's name must live as long as s. */
HEFT_CHECKED bool heft_savers_add(struct heft_savers *s, struct heft_str node, uint32_t *index,
                                  struct heft_error *err);
/* Second step: heft_savers_take for each input of a node, then heft_savers_judge for the node
 * itself. has_path: the node has a string that is an absolute path. */
HEFT_CHECKED bool heft_savers_take(struct heft_savers *s, struct heft_str input,
                                   struct heft_error *err);
void heft_savers_judge(struct heft_savers *s, struct heft_str node, struct heft_str op,
                       bool has_path);
/* Last step: true if the scope is a saver's. */
bool heft_savers_is_saver(const struct heft_savers *s, uint32_t index);
/* Returns the innermost added scope that contains the node; HEFT_NONE if there is none. */
uint32_t heft_savers_find(const struct heft_savers *s, struct heft_str node);
void heft_savers_release(struct heft_savers *s);

#endif
