/* merge_files.c: merges metadata, recorded ties and values of several files, so that each key is
 * there once.
 *
 *     a   {"format": "pt", "step": "1"}
 *     b   {"format": "pt", "step": "2", "author": "me"}
 *     →   {"format": "pt", "step": "1", "author": "me"}     differing: step is 2 in b
 *
 * Dictionaries are merged member by member at any depth. For anything else the first file takes
 * precedence, and differing entries of later files are listed. All dictionaries at one path are
 * merged together, so the time is linear in the number of values of all files. */
#include "base/text.h"
#include "core/long_list.h"
#include "core/model.h"

enum {
    MOST_LISTED = 10000, /* entries in the list of differences; further ones are only counted */
    LONGEST_PATH = 1024
};

static bool list_differing(struct heft_model *model, const struct heft_differing *differing,
                           struct heft_error *err)
{
    if (model->n_differing++ >= MOST_LISTED)
        return true;
    if (!heft_grow(&model->differing, &model->cap_differing, model->n_differing - 1, 1,
                   sizeof *model->differing, err))
        return false;
    model->differing[model->n_differing - 1] = *differing;
    return true;
}

size_t heft_model_listed_differing(const struct heft_model *model)
{
    return heft_min_size(model->n_differing, MOST_LISTED);
}

/* ---- metadata ---------------------------------------------------------------------------- */

static bool list_differing_text(struct heft_model *model, enum heft_differing_kind kind,
                                const struct heft_pair *pair, struct heft_error *err)
{
    struct heft_value *value = heft_arena_zero(&model->mem, 1, sizeof *value, err);

    if (!value)
        return false;
    *value = (struct heft_value){
        .kind = HEFT_VALUE_STRING, .key = "", .text = pair->value.p, .text_len = pair->value.n};
    return list_differing(model, &(struct heft_differing){kind, pair->source, pair->key, value},
                          err);
}

static bool merge_pairs(struct heft_model *model, struct heft_pair *pairs, size_t *n,
                        enum heft_differing_kind kind, struct heft_error *err)
{
    struct heft_strmap keys = {0};
    size_t kept = 0;
    bool ok = true;

    for (size_t i = 0; ok && i < *n; i++) {
        const struct heft_pair pair = pairs[i];
        uint32_t first;

        ok = heft_strmap_add(&keys, pair.key, (uint32_t)kept, &first, err);
        if (ok && first == HEFT_MAP_NONE)
            pairs[kept++] = pair;
        else if (ok && !heft_str_eq(pairs[first].value, pair.value))
            ok = list_differing_text(model, kind, &pair, err);
    }
    if (ok)
        *n = kept;
    heft_strmap_release(&keys);
    return ok;
}

/* ---- comparing values -------------------------------------------------------------------- */

struct twin {
    const struct heft_value *a, *b;
};

struct twins {
    struct twin *list;
    size_t n, cap;
};

static bool push_twin(struct twins *twins, const struct heft_value *a, const struct heft_value *b,
                      struct heft_error *err)
{
    if (!a && !b)
        return true;
    if (!heft_grow(&twins->list, &twins->cap, twins->n, 1, sizeof *twins->list, err))
        return false;
    twins->list[twins->n++] = (struct twin){a, b};
    return true;
}

static bool is_text_equal(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

/* Compares bits, so that NaN equals itself and 0 differs from -0. */
static bool is_number_equal(double a, double b)
{
    uint64_t bits_a, bits_b;

    memcpy(&bits_a, &a, sizeof bits_a);
    memcpy(&bits_b, &b, sizeof bits_b);
    return bits_a == bits_b;
}

static bool is_scalar_equal(const struct heft_value *a, const struct heft_value *b)
{
    switch (a->kind) {
    case HEFT_VALUE_BOOL:
        return a->as.boolean == b->as.boolean;
    case HEFT_VALUE_INT:
        return a->as.integer == b->as.integer;
    case HEFT_VALUE_FLOAT:
        return is_number_equal(a->as.number, b->as.number);
    default:
        return a->text_len == b->text_len && !a->text == !b->text &&
               (!a->text || memcmp(a->text, b->text, a->text_len) == 0);
    }
}

/* Whether two values are equal, ignoring keys and children. */
static bool is_node_equal(const struct heft_value *a, const struct heft_value *b)
{
    return a->kind == b->kind && is_text_equal(a->type_name, b->type_name) && is_scalar_equal(a, b);
}

static bool is_key_equal(const struct heft_value *a, const struct heft_value *b)
{
    return heft_str_eq((struct heft_str){a->key, a->key_len},
                       (struct heft_str){b->key, b->key_len});
}

/* Compares the children of two nodes that are equal themselves: pushes them, unless one is a list of
 * which the tree has only a part. */
static bool compare_children(const struct heft_model *model, struct twins *twins,
                             const struct heft_value *a, const struct heft_value *b, bool *is_equal,
                             struct heft_error *err)
{
    return a->more || b->more ? heft_long_list_equal(model, a, model, b, is_equal, err)
                              : push_twin(twins, a->first_child, b->first_child, err);
}

/* Whether two trees are equal, including the order of members. */
static bool compare_values(const struct heft_model *model, const struct heft_value *a,
                           const struct heft_value *b, bool *is_equal, struct heft_error *err)
{
    struct twins twins = {0};
    bool ok = true;

    *is_equal = is_node_equal(a, b);
    ok = !*is_equal || compare_children(model, &twins, a, b, is_equal, err);
    while (ok && *is_equal && twins.n) {
        const struct twin t = twins.list[--twins.n];

        *is_equal = t.a && t.b && is_key_equal(t.a, t.b) && is_node_equal(t.a, t.b);
        ok = !*is_equal || (push_twin(&twins, t.a->next_sibling, t.b->next_sibling, err) &&
                            compare_children(model, &twins, t.a, t.b, is_equal, err));
    }
    heft_free(twins.list);
    return ok;
}

/* ---- merging values ---------------------------------------------------------------------- */

/* One of several dictionaries to merge. Those of one path form a linked list. */
struct part {
    const struct heft_value *dict;
    uint32_t source;
    size_t next; /* next part of the list; 0 ends it. Part 0 is the head of the root's list */
};

/* A path at which several files have dictionaries. */
struct place {
    size_t first, last; /* head and tail of the list of parts */
    size_t above;       /* index of the parent's place; the root's is its own */
};

struct member {
    struct heft_value *value;
    size_t place; /* index of its place, if dictionaries are merged; else 0 */
    uint32_t source;
};

struct merging {
    struct heft_model *model;
    struct part *parts;
    struct place *places;
    struct member *members; /* members of the place being merged */
    size_t n_parts, cap_parts, n_places, cap_places, n_members, cap_members;
    struct heft_error *err;
};

static bool add_part(struct merging *m, size_t place, const struct heft_value *dict,
                     uint32_t source)
{
    struct place *const at = &m->places[place];
    const size_t number = m->n_parts;

    if (!heft_grow(&m->parts, &m->cap_parts, number, 1, sizeof *m->parts, m->err))
        return false;
    m->parts[m->n_parts++] = (struct part){dict, source, 0};
    if (number > at->first)
        m->parts[at->last].next = number;
    at->last = number;
    return true;
}

/* Builds the dotted path of a value. Only the end of a long path is kept, so that a deep tree
 * does not take quadratic time. */
static bool build_path(struct merging *m, size_t place, const struct heft_value *value,
                       struct heft_str *out)
{
    static const char cut[] = "….";
    char text[LONGEST_PATH];
    size_t at = sizeof text - value->key_len;

    *out = (struct heft_str){value->key, value->key_len};
    if (place == 0 || value->key_len > LONGEST_PATH / 2)
        return true;
    memcpy(text + at, value->key, value->key_len);
    for (; place > 0; place = m->places[place].above) {
        const struct heft_value *dict = m->parts[m->places[place].first].dict;

        if (dict->key_len + sizeof cut > at) {
            at -= sizeof cut - 1;
            memcpy(text + at, cut, sizeof cut - 1);
            break;
        }
        text[--at] = '.';
        at -= dict->key_len;
        memcpy(text + at, dict->key, dict->key_len);
    }
    out->n = sizeof text - at;
    out->p = heft_arena_text(&m->model->mem, (struct heft_str){text + at, out->n}, m->err);
    return out->p != NULL;
}

/* Creates the place of a member that is a dictionary in several files. */
static bool open_place(struct merging *m, size_t above, struct member *member)
{
    if (member->place)
        return true;
    if (!heft_grow(&m->places, &m->cap_places, m->n_places, 1, sizeof *m->places, m->err))
        return false;
    member->place = m->n_places++;
    m->places[member->place] = (struct place){m->n_parts, m->n_parts, above};
    return add_part(m, member->place, member->value, member->source);
}

/* Merges a value with that of an earlier file: dictionaries are merged, other values compared. */
static bool join_member(struct merging *m, size_t place, struct member *member,
                        const struct heft_value *value, uint32_t source)
{
    struct heft_differing differing = {
        .kind = HEFT_DIFFERING_VALUE, .source = source, .value = value};
    bool is_equal;

    if (member->value->kind == HEFT_VALUE_DICT && value->kind == HEFT_VALUE_DICT)
        return open_place(m, place, member) && add_part(m, member->place, value, source);
    if (!compare_values(m->model, member->value, value, &is_equal, m->err))
        return false;
    return is_equal || (build_path(m, place, value, &differing.key) &&
                        list_differing(m->model, &differing, m->err));
}

static bool add_member(struct merging *m, size_t place, struct heft_strmap *keys,
                       const struct heft_value *value, uint32_t source)
{
    const struct heft_str key = {value->key, value->key_len};
    uint32_t at;

    if (!heft_strmap_add(keys, key, (uint32_t)m->n_members, &at, m->err))
        return false;
    if (at != HEFT_MAP_NONE && m->members[at].source != source)
        return join_member(m, place, &m->members[at], value, source);
    if (!heft_grow(&m->members, &m->cap_members, m->n_members, 1, sizeof *m->members, m->err))
        return false;
    m->members[m->n_members++] = (struct member){(struct heft_value *)value, 0, source};
    return true;
}

/* Links all members into the first dictionary. */
static void link_members(const struct merging *m, const struct heft_value *dict)
{
    const struct heft_value *next = NULL;

    for (size_t i = m->n_members; i > 0; i--) {
        m->members[i - 1].value->next_sibling = next;
        next = m->members[i - 1].value;
    }
    ((struct heft_value *)dict)->first_child =
        next; /* not const in fact: made by a reader in the model's memory */
}

static bool merge_place(struct merging *m, size_t place)
{
    const size_t first = m->places[place].first;
    struct heft_strmap keys = {0};
    bool ok = true;

    m->n_members = 0;
    for (size_t at = first; ok; at = m->parts[at].next) {
        const uint32_t source = m->parts[at].source;
        const struct heft_value *v = m->parts[at].dict->first_child;

        for (; ok && v; v = v->next_sibling)
            ok = add_member(m, place, &keys, v, source);
        if (!m->parts[at].next)
            break;
    }
    if (ok)
        link_members(m, m->parts[first].dict);
    heft_strmap_release(&keys);
    return ok;
}

static bool merge_values(struct heft_model *model, struct heft_error *err)
{
    struct merging m = {.model = model, .err = err};
    bool ok = heft_grow(&m.places, &m.cap_places, 0, 1, sizeof *m.places, err);

    if (ok)
        m.places[m.n_places++] = (struct place){0};
    for (size_t i = 0; ok && i < model->n_trees; i++)
        ok = add_part(&m, 0, model->trees[i].root, model->trees[i].source);
    for (size_t i = 0; ok && i < m.n_places; i++)
        ok = merge_place(&m, i);
    heft_free(m.parts);
    heft_free(m.places);
    heft_free(m.members);
    return ok;
}

/* ---- merging models ---------------------------------------------------------------------- */

bool heft_model_add_tree(struct heft_model *model, uint32_t source, const struct heft_value *root,
                         struct heft_error *err)
{
    if (!heft_grow(&model->trees, &model->cap_trees, model->n_trees, 1, sizeof *model->trees, err))
        return false;
    model->trees[model->n_trees++] = (struct heft_model_tree){root, source};
    return true;
}

bool heft_model_merge(struct heft_model *model, struct heft_error *err)
{
    if (model->n_trees)
        model->values = model->trees[0].root;
    if (model->n_files < 2)
        return true;
    return merge_pairs(model, model->metadata, &model->n_metadata, HEFT_DIFFERING_METADATA, err) &&
           merge_pairs(model, model->ties, &model->n_ties, HEFT_DIFFERING_TIE, err) &&
           (model->n_trees < 2 || merge_values(model, err));
}
