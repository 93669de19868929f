/* scan_saver.c: finds the scopes of a TensorFlow graph that belong to a Saver, whatever their
 * names.
 *
 *     a/b/filename  a/b/Const  a/b/ShardedFilename      the path, from a placeholder
 *     a/b/SaveV2    a/b/MergeV2Checkpoints              writes files
 *     a/b/RestoreV2 a/b/Assign a/b/restore_all          reads them
 *
 * tf.compat.v1.train.Saver(name="a/b") creates these nodes and no others in its scope. A program
 * that saves or restores feeds the placeholder and runs a node of the scope by its name. A scope
 * with other operations, without a placeholder, with an absolute path, or with outputs that are
 * used outside of it is judged as ordinary nodes, which run whenever the model does. */
#include "scan/scan_saver.h"

#include "core/model.h"

static const char *const MADE_OF[] = {
    "Assign",
    "AssignVariableOp",
    "Const",
    "ExpandDims",
    "Identity",
    "LookupTableExportV2",
    "LookupTableImportV2",
    "MergeV2Checkpoints",
    "NoOp",
    "Pack",
    "Placeholder",
    "PlaceholderWithDefault",
    "ReadVariableOp",
    "Reshape",
    "Restore",
    "RestoreSlice",
    "RestoreV2",
    "Save",
    "SaveSlices",
    "SaveV2",
    "Select",
    "Shape",
    "ShardedFilename",
    "StaticRegexFullMatch",
    "StringJoin",
};

#define DEEPEST 16 /* levels of scopes; a deeper one is not taken for a saver */

static size_t depth_of(struct heft_str scope)
{
    size_t depth = 0;

    for (size_t i = 0; i < scope.n; i++)
        depth += scope.p[i] == '/';
    return depth;
}

struct heft_str heft_saver_scope(struct heft_str name)
{
    while (name.n > 0 && name.p[name.n - 1] != '/')
        name.n--;
    return name;
}

bool heft_saver_is_path(struct heft_str text)
{
    if (heft_str_is(text, "/part") || text.n == 0)
        return false; /* suffixes that savers append to the given path */
    if (memchr("/\\~", text.p[0], 3) || heft_str_starts(text, HEFT_STR("../")))
        return true;
    for (size_t i = 0; i + 2 < text.n; i++)
        if (memcmp(text.p + i, "://", 3) == 0 || memcmp(text.p + i, ":\\", 2) == 0)
            return true;
    return false;
}

bool heft_savers_add(struct heft_savers *s, struct heft_str node, uint32_t *index,
                     struct heft_error *err)
{
    const struct heft_str scope = heft_saver_scope(node);

    *index = heft_strmap_get(&s->scopes, scope);
    if (*index != HEFT_MAP_NONE)
        return true;
    *index = (uint32_t)s->n;
    if (!heft_grow(&s->savers, &s->cap, s->n, 1, sizeof *s->savers, err) ||
        !heft_strmap_set(&s->scopes, scope, *index, err))
        return false;
    s->savers[s->n++] = (struct heft_saver){.has_more = depth_of(scope) > DEEPEST};
    return true;
}

uint32_t heft_savers_find(const struct heft_savers *s, struct heft_str node)
{
    uint32_t found = HEFT_NONE;
    size_t depth = 0;

    for (size_t i = 0; i < node.n && depth < DEEPEST; i++) {
        uint32_t index;

        if (node.p[i] != '/')
            continue;
        depth++;
        index = heft_strmap_get(&s->scopes, (struct heft_str){node.p, i + 1});
        found = index == HEFT_MAP_NONE ? found : index;
    }
    return found;
}

#define LONGEST 256 /* bytes of a name that are compared */

bool heft_savers_take(struct heft_savers *s, struct heft_str input, struct heft_error *err)
{
    uint32_t saver;

    if (input.n && input.p[0] == '^')
        input = (struct heft_str){input.p + 1, input.n - 1};
    input.n = (size_t)heft_min_u64(input.n, LONGEST);
    saver = heft_savers_find(s, input);
    if (saver == HEFT_NONE)
        return true;
    if (!heft_grow(&s->taken, &s->cap_taken, s->n_taken, 1, sizeof *s->taken, err))
        return false;
    s->taken[s->n_taken++] = saver;
    return true;
}

static bool is_made_of(struct heft_str op)
{
    for (size_t i = 0; i < HEFT_COUNT(MADE_OF); i++)
        if (heft_str_is(op, MADE_OF[i]))
            return true;
    return false;
}

void heft_savers_judge(struct heft_savers *s, struct heft_str node, struct heft_str op,
                       bool has_path)
{
    const uint32_t own = heft_savers_find(s, node);

    for (size_t i = 0; i < s->n_taken; i++)
        s->savers[s->taken[i]].has_more |= s->taken[i] != own;
    s->n_taken = 0;
    if (own == HEFT_NONE)
        return;
    s->savers[own].has_more |= has_path || !is_made_of(op);
    s->savers[own].has_placeholder |= heft_str_starts(op, HEFT_STR("Placeholder"));
}

bool heft_savers_is_saver(const struct heft_savers *s, uint32_t index)
{
    return s->savers[index].has_placeholder && !s->savers[index].has_more;
}

void heft_savers_release(struct heft_savers *s)
{
    heft_strmap_release(&s->scopes);
    heft_free(s->savers);
    heft_free(s->taken);
}
