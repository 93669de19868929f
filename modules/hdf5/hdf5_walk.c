/* hdf5_walk.c: walks from the root through all groups, without recursion, in the order of names, or
 * of creation if a group tracks that, as h5py does:
 *
 *     stack of pending links ──► group: its attributes are reported, its links are pushed
 *                            ──► dataset: reported, with attributes
 *
 * A group is entered once, however many links lead to it, so that cycles and groups that multiply
 * cost no more than links. A dataset is reported for each link: these are names of one storage.
 * Soft links are followed inside the file; all others are reported and never followed. */
#include "hdf5_parts.h"

#include <stdio.h>

#define MOST_PATHS (32 << 20) /* bytes of paths on the stack */

struct link {
    char *path;
    size_t n;
    haddr_t address;
    bool is_group;
};

struct walker {
    struct hdf5_file *file;
    const struct heft_h5_visitor *visitor;
    struct heft_error *err;
    struct link *stack;
    size_t n_stack, cap_stack;
    uint64_t *entered; /* hash table of groups with open addressing, 0: free (address + 1) */
    size_t n_entered, n_slots;
    struct link parent; /* group whose links are being listed */
    uint64_t links, left, path_bytes;
    hid_t lookup; /* access list for links: they must not leave the file */
    bool failed;
};

/* ---- set of visited groups ----------------------------------------------------------------- */

static size_t home_of(const struct walker *w, uint64_t key)
{
    const uint32_t folded = (uint32_t)(key ^ key >> 32);

    return (size_t)(folded * UINT64_C(0x9E3779B9) >> 12) & (w->n_slots - 1);
}

static size_t slot_of(const struct walker *w, uint64_t key)
{
    size_t at = home_of(w, key);

    while (w->entered[at] && w->entered[at] != key)
        at = (at + 1) & (w->n_slots - 1);
    return at;
}

static bool widen_set(struct walker *w)
{
    uint64_t *const old = w->entered;
    const size_t n = w->n_slots;

    w->entered = hdf5_alloc(n ? n * 2 : 64, sizeof *w->entered, w->err);
    if (!w->entered) {
        w->entered = old;
        return false;
    }
    w->n_slots = n ? n * 2 : 64;
    for (size_t i = 0; i < n; i++)
        if (old[i])
            w->entered[slot_of(w, old[i])] = old[i];
    free(old);
    return true;
}

/* Adds a group to the set; *first is false if the set has it already. */
static bool enter_group(struct walker *w, haddr_t address, bool *first)
{
    size_t at;

    if (w->n_entered * 2 >= w->n_slots && !widen_set(w))
        return false;
    at = slot_of(w, (uint64_t)address + 1);
    *first = w->entered[at] == 0;
    if (*first) {
        w->entered[at] = (uint64_t)address + 1;
        w->n_entered++;
    }
    return true;
}

/* ---- following links --------------------------------------------------------------------- */

static struct heft_h5_text path_of(const struct link *link)
{
    return (struct heft_h5_text){link->path, link->n};
}

static bool note_link(struct walker *w, const struct link *link, const char *text)
{
    return w->visitor->note(w->visitor->ctx, path_of(link), text, w->err);
}

static bool make_path(struct walker *w, const char *name, struct link *out)
{
    const size_t n = strlen(name), more = w->parent.n ? w->parent.n + 1 : 0;

    if (n + more > w->visitor->path)
        return hdf5_fail(w->err, HEFT_LIMIT, "a path of more than %llu bytes, the limit",
                         (unsigned long long)w->visitor->path);
    out->path = hdf5_alloc(n + more + 1, 1, w->err);
    if (!out->path)
        return false;
    if (more) {
        memcpy(out->path, w->parent.path, w->parent.n);
        out->path[w->parent.n] = '/';
    }
    memcpy(out->path + more, name, n);
    out->n = n + more;
    return true;
}

static bool push_link(struct walker *w, const struct link *link)
{
    if (!hdf5_grow(&w->stack, &w->cap_stack, w->n_stack, sizeof *w->stack, w->err))
        return false;
    w->path_bytes += link->n;
    if (w->path_bytes > MOST_PATHS)
        return hdf5_fail(w->err, HEFT_LIMIT, "the pending paths have more than %d bytes",
                         MOST_PATHS);
    w->stack[w->n_stack++] = *link;
    return true;
}

static bool refuse_link(struct walker *w, const struct link *link, const char *why,
                        bool is_elsewhere)
{
    const struct heft_h5_dataset lost = {.path = path_of(link),
                                         .why = why,
                                         .is_elsewhere = is_elsewhere,
                                         .offset = HEFT_H5_NOWHERE,
                                         .address = HEFT_H5_NOWHERE};

    return w->visitor->dataset(w->visitor->ctx, &lost, w->err);
}

/* Follows a soft or hard link. *push_it: its target must be reported. */
static bool resolve_link(struct walker *w, hid_t group, const char *name, bool is_soft,
                         struct link *link, bool *push_it)
{
    H5O_info_t info;

    if (H5Oget_info_by_name2(group, name, &info, H5O_INFO_BASIC, w->lookup) < 0) {
        if (is_soft)
            return note_link(w, link, "a soft link without a target in this file");
        return hdf5_blame(w->file, w->err, link->path);
    }
    link->address = info.addr;
    link->is_group = info.type == H5O_TYPE_GROUP;
    *push_it = info.type == H5O_TYPE_DATASET || (link->is_group && !is_soft);
    if (link->is_group && is_soft)
        return note_link(w, link, "a soft link to a group: its tensors are listed there");
    return *push_it || note_link(w, link, "neither a group nor a dataset");
}

/* Sets *push_it if the link is to be processed later. */
static bool judge_link(struct walker *w, hid_t group, const char *name, const H5L_info_t *info,
                       struct link *link, bool *push_it)
{
    if (++w->links > w->visitor->links)
        return hdf5_fail(w->err, HEFT_LIMIT, "more than %llu links, the limit",
                         (unsigned long long)w->visitor->links);
    if (!make_path(w, name, link))
        return false;
    if (info->type == H5L_TYPE_HARD || info->type == H5L_TYPE_SOFT)
        return resolve_link(w, group, name, info->type == H5L_TYPE_SOFT, link, push_it);
    if (info->type == H5L_TYPE_EXTERNAL)
        return refuse_link(w, link, "an external link: heft opens no second file", true);
    return refuse_link(w, link, "a link of an unknown kind", false);
}

static herr_t each_link(hid_t group, const char *name, const H5L_info_t *info, void *ctx)
{
    struct walker *w = ctx;
    struct link link = {.path = NULL};
    bool push_it = false;
    bool ok;

    hdf5_step(w->file->input.size);
    ok = judge_link(w, group, name, info, &link, &push_it);
    ok = ok && (!push_it || push_link(w, &link));
    if (!ok || !push_it)
        free(link.path);
    w->failed = !ok;
    return ok ? 0 : 1;
}

/* Refuses external links behind soft ones. */
static herr_t stay_inside(const char *parent_file, const char *parent_group, const char *file,
                          const char *object, unsigned *flags, hid_t access, void *ctx)
{
    (void)parent_file;
    (void)parent_group;
    (void)file;
    (void)object;
    (void)flags;
    (void)access;
    (void)ctx;
    return -1;
}

/* ---- visiting groups and datasets ---------------------------------------------------------- */

static void reverse_links(struct link *links, size_t n)
{
    for (size_t i = 0; i < n / 2; i++) {
        const struct link swap = links[i];

        links[i] = links[n - 1 - i];
        links[n - 1 - i] = swap;
    }
}

static H5_index_t order_of(hid_t group)
{
    const hid_t list = H5Gget_create_plist(group);
    unsigned flags = 0;

    if (list >= 0 && H5Pget_link_creation_order(list, &flags) < 0)
        flags = 0;
    if (list >= 0)
        (void)H5Pclose(list);
    return flags & H5P_CRT_ORDER_TRACKED ? H5_INDEX_CRT_ORDER : H5_INDEX_NAME;
}

static bool tell_group(struct walker *w, const struct link *link, hid_t object)
{
    const size_t before = w->n_stack;
    hsize_t at = 0;
    bool first;

    if (!enter_group(w, link->address, &first))
        return false;
    if (!first)
        return note_link(w, link, "another link to a group: its tensors are listed at the first");
    if (!hdf5_tell_attributes(w->file, object, path_of(link), w->visitor, &w->left, w->err))
        return false;
    w->parent = *link;
    if (H5Literate(object, order_of(object), H5_ITER_INC, &at, each_link, w) < 0 && !w->failed)
        return hdf5_blame(w->file, w->err, "the links of a group");
    hdf5_shrink_cache(w->file->id);
    reverse_links(w->stack + before, w->n_stack - before);
    return !w->failed;
}

static bool tell_dataset(struct walker *w, const struct link *link, hid_t object)
{
    struct heft_h5_dataset out = {.path = path_of(link), .address = (uint64_t)link->address};
    struct hdf5_shape shape;
    bool is_text = false;
    char why[300] = "";

    if (!hdf5_describe(w->file, object, &shape, &out, &is_text, why, sizeof why, w->err))
        return false;
    if (is_text && !out.why) {
        bool told;

        if (!hdf5_tell_strings(w->file, object, path_of(link), w->visitor, &w->left, &told, w->err))
            return false;
        if (told)
            return true;
        out.why = "its strings are more than heft reads as values";
    }
    return w->visitor->dataset(w->visitor->ctx, &out, w->err) &&
           hdf5_tell_attributes(w->file, object, path_of(link), w->visitor, &w->left, w->err);
}

static bool tell_object(struct walker *w, const struct link *link)
{
    const hid_t object = H5Oopen_by_addr(w->file->id, link->address);
    const H5I_type_t type = object < 0 ? H5I_BADID : H5Iget_type(object);
    bool ok;

    if (object < 0)
        return hdf5_blame(w->file, w->err, link->n ? link->path : "the root group");
    ok = type == H5I_GROUP     ? tell_group(w, link, object)
         : type == H5I_DATASET ? tell_dataset(w, link, object)
                               : note_link(w, link, "neither a group nor a dataset");
    (void)H5Oclose(object);
    return ok;
}

static bool push_root(struct walker *w)
{
    struct link root = {.is_group = true};
    H5O_info_t info;

    if (H5Oget_info_by_name2(w->file->id, "/", &info, H5O_INFO_BASIC, H5P_DEFAULT) < 0)
        return hdf5_blame(w->file, w->err, "the root group");
    root.address = info.addr;
    root.path = hdf5_alloc(1, 1, w->err);
    return root.path && push_link(w, &root);
}

static bool walk_groups(struct walker *w)
{
    bool ok = true;

    w->lookup = H5Pcreate(H5P_LINK_ACCESS);
    if (w->lookup < 0 || H5Pset_elink_cb(w->lookup, stay_inside, NULL) < 0)
        return hdf5_blame(w->file, w->err, "a property list cannot be made");
    if (!push_root(w))
        return false;
    while (ok && w->n_stack > 0) {
        const struct link link = w->stack[--w->n_stack];

        w->path_bytes -= link.n;
        hdf5_step(w->file->input.size);
        ok = tell_object(w, &link);
        free(link.path);
    }
    return ok;
}

bool hdf5_walk(struct hdf5_file *file, const struct heft_h5_visitor *visitor,
               struct heft_error *err)
{
    struct walker w = {
        .file = file, .visitor = visitor, .err = err, .left = visitor->text_bytes, .lookup = -1};
    const bool ok = walk_groups(&w);

    while (w.n_stack > 0)
        free(w.stack[--w.n_stack].path);
    free(w.stack);
    free(w.entered);
    if (w.lookup >= 0)
        (void)H5Pclose(w.lookup);
    return ok;
}
