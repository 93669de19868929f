/* tf_trackable.c: reads the object graph of a TF2 checkpoint, message by message, into flat arrays.
 *
 *    TrackableObjectGraph   1 nodes
 *    TrackableObject        1 children, 2 attributes, 3 slot variables
 *    ObjectReference        1 node, 2 local name
 *    SerializedTensor       1 name, 2 full name, 3 checkpoint key
 *    SlotVariableReference  1 variable's node, 2 slot's name, 3 slot's node */
#include "format/tensorflow/bundle/tf_trackable.h"

#include "wire/proto.h"

#define MOST_GRAPH (UINT64_C(256) << 20)

struct parser {
    struct heft_tf_trackables *t;
    struct heft_error *err;
    uint64_t room; /* bytes that the arrays may still take */
};

static struct heft_str text_of(const struct heft_proto_item *item)
{
    return item->wire == HEFT_PROTO_LEN
               ? (struct heft_str){(const char *)item->bytes.p, item->bytes.n}
               : HEFT_STR("");
}

/* A node number; the field is an int32. */
static int64_t number_of(const struct heft_proto_item *item)
{
    return item->wire == HEFT_PROTO_VARINT ? (int64_t)item->u64 : -1;
}

/* Grows an array within a memory budget. Real objects take many times the bytes of an empty
 * message, so millions of empty ones are refused. */
static bool make_room(struct parser *p, void *items, size_t *cap, size_t n, size_t each)
{
    if (each > p->room)
        return heft_fail(p->err, HEFT_LIMIT, HEFT_NO_OFFSET,
                         "the object graph has too many objects for its size");
    p->room -= each;
    return n < UINT32_MAX && heft_grow(items, cap, n, 1, each, p->err);
}

static bool read_child(struct parser *p, struct heft_cur cur)
{
    struct heft_tf_trackables *const t = p->t;
    struct heft_tf_trackable_child child = {.node = 0, .name = HEFT_STR("")};
    struct heft_proto_item item;

    while (heft_proto_take(&cur, &item, p->err)) {
        if (item.number == 1)
            child.node = number_of(&item);
        else if (item.number == 2)
            child.name = text_of(&item);
    }
    if (cur.bad || !make_room(p, &t->children, &t->cap_children, t->n_children, sizeof child))
        return false;
    t->children[t->n_children++] = child;
    return true;
}

static bool read_value(struct parser *p, struct heft_cur cur)
{
    struct heft_tf_trackables *const t = p->t;
    struct heft_tf_trackable_value value = {HEFT_STR(""), HEFT_STR(""), HEFT_STR("")};
    struct heft_proto_item item;

    while (heft_proto_take(&cur, &item, p->err)) {
        if (item.number == 1)
            value.name = text_of(&item);
        else if (item.number == 2)
            value.full_name = text_of(&item);
        else if (item.number == 3)
            value.key = text_of(&item);
    }
    if (cur.bad || !make_room(p, &t->values, &t->cap_values, t->n_values, sizeof value))
        return false;
    t->values[t->n_values++] = value;
    return true;
}

static bool read_slot(struct parser *p, struct heft_cur cur)
{
    struct heft_tf_trackables *const t = p->t;
    struct heft_tf_trackable_slot slot = {.name = HEFT_STR("")};
    struct heft_proto_item item;

    while (heft_proto_take(&cur, &item, p->err)) {
        if (item.number == 1)
            slot.variable = number_of(&item);
        else if (item.number == 2)
            slot.name = text_of(&item);
        else if (item.number == 3)
            slot.node = number_of(&item);
    }
    if (cur.bad || !make_room(p, &t->slots, &t->cap_slots, t->n_slots, sizeof slot))
        return false;
    t->slots[t->n_slots++] = slot;
    return true;
}

static bool read_node(struct parser *p, struct heft_cur cur)
{
    struct heft_tf_trackables *const t = p->t;
    struct heft_tf_trackable_node node = {.children = (uint32_t)t->n_children,
                                          .values = (uint32_t)t->n_values,
                                          .slots = (uint32_t)t->n_slots};
    struct heft_proto_item item;
    bool ok = true;

    while (ok && heft_proto_take(&cur, &item, p->err)) {
        if (item.wire != HEFT_PROTO_LEN)
            continue;
        if (item.number == 1)
            ok = read_child(p, heft_proto_sub(&item));
        else if (item.number == 2)
            ok = read_value(p, heft_proto_sub(&item));
        else if (item.number == 3)
            ok = read_slot(p, heft_proto_sub(&item));
    }
    if (!ok || cur.bad || !make_room(p, &t->nodes, &t->cap_nodes, t->n_nodes, sizeof node))
        return false;
    node.n_children = (uint32_t)t->n_children - node.children;
    node.n_values = (uint32_t)t->n_values - node.values;
    node.n_slots = (uint32_t)t->n_slots - node.slots;
    t->nodes[t->n_nodes++] = node;
    return true;
}

static bool read_graph(struct parser *p, struct heft_cur cur)
{
    struct heft_proto_item item;
    bool ok = true;

    while (ok && heft_proto_take(&cur, &item, p->err))
        ok = item.number != 1 || item.wire != HEFT_PROTO_LEN || read_node(p, heft_proto_sub(&item));
    return ok && !cur.bad;
}

/* Moves the cursor to the text of a tensor of one string: length, checksum, bytes. */
static bool find_string(struct heft_cur *cur, struct heft_error *err)
{
    const uint64_t where = heft_cur_where(cur);
    uint64_t n;

    if (!heft_proto_varint(cur, &n, err))
        return false;
    (void)heft_cur_u32(cur);
    if (!heft_cur_ok(cur) || n != heft_cur_left(cur))
        return heft_fail(err, HEFT_MALFORMED, where,
                         "the object graph has %" PRIu64 " bytes, %zu are stored", n,
                         heft_cur_left(cur));
    return true;
}

bool heft_tf_trackables_read(struct heft_tf_trackables *t, const struct heft_model *model,
                             uint32_t row, struct heft_error *err)
{
    const struct heft_row *const r = &model->rows[row];
    const struct heft_storage *const storage = &model->storages[r->storage];
    struct parser p = {.t = t, .err = err, .room = (UINT64_C(8) << 20) + 4 * storage->len};
    struct heft_cur cur;

    *t = (struct heft_tf_trackables){0};
    if (r->parts || r->dtype != HEFT_STRING || r->rank || storage->coding != HEFT_CODING_RAW)
        return heft_fail(err, HEFT_MALFORMED, storage->off,
                         "the object graph is not a single string");
    if (storage->len > MOST_GRAPH)
        return heft_fail(err, HEFT_LIMIT, storage->off,
                         "the object graph has %" PRIu64 " bytes, the limit is %" PRIu64,
                         storage->len, MOST_GRAPH);
    t->text = heft_alloc((size_t)storage->len, err);
    if (!t->text || !heft_source_read(&model->sources[storage->source].source, storage->off,
                                      t->text, (size_t)storage->len, err))
        return false;
    cur = heft_cur_of((struct heft_bytes){(const uint8_t *)t->text, (size_t)storage->len},
                      storage->off);
    return find_string(&cur, err) && read_graph(&p, cur);
}

void heft_tf_trackables_release(struct heft_tf_trackables *t)
{
    heft_free(t->text);
    heft_free(t->nodes);
    heft_free(t->children);
    heft_free(t->values);
    heft_free(t->slots);
    *t = (struct heft_tf_trackables){0};
}
