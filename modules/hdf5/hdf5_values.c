/* hdf5_values.c: reports attributes and datasets of strings as texts and numbers.
 *
 * Strings have two forms: of fixed length (padded by NULs or spaces), and of variable length, which
 * libhdf5 allocates one by one: their total size is limited in the allocation function. An empty
 * list of h5py is an empty list of F64: it is reported as an empty list. */
#include "hdf5_parts.h"

#include <stdio.h>

#define MOST_ATTRIBUTES 4096 /* most attributes of one object */
#define NODE_BYTES                                                                                 \
    24 /* cost of each element besides its own bytes: it becomes a node of a
                              tree */

struct teller {
    const struct hdf5_file *file;
    struct heft_h5_text path, name;
    const struct heft_h5_visitor *visitor;
    uint64_t *left;
    struct heft_error *err;
    bool failed;
    unsigned n;
};

static bool report_value(struct teller *t, const struct heft_h5_value *value)
{
    return t->visitor->value(t->visitor->ctx, t->path, t->name, value, t->err);
}

/* Counts n elements against the limit. */
static bool charge_elements(struct teller *t, uint64_t n, uint64_t each)
{
    if (n > *t->left / (each + NODE_BYTES))
        return hdf5_fail(t->err, HEFT_LIMIT, "attributes and strings exceed the limit in bytes");
    *t->left -= n * (each + NODE_BYTES);
    return true;
}

/* Counts the bytes of a text of variable length. */
static bool take_text(struct teller *t, uint64_t n)
{
    if (n > *t->left)
        return hdf5_fail(t->err, HEFT_LIMIT, "strings exceed the limit in bytes");
    *t->left -= n;
    return true;
}

/* ---- texts ------------------------------------------------------------------------------- */

/* Length without padding. In a NUL-padded text only the last NULs are padding: others are data, as
 * for h5py, which may store a pickle there. */
static size_t fixed_length(const char *p, size_t n, H5T_str_t pad)
{
    const char *end = pad == H5T_STR_NULLTERM ? memchr(p, '\0', n) : NULL;

    if (end)
        n = (size_t)(end - p);
    while (pad == H5T_STR_NULLPAD && n > 0 && p[n - 1] == '\0')
        n--;
    while (pad == H5T_STR_SPACEPAD && n > 0 && p[n - 1] == ' ')
        n--;
    return n;
}

static bool tell_texts(struct teller *t, const struct heft_h5_text *texts, size_t n, bool is_list)
{
    const struct heft_h5_value value = {
        .kind = HEFT_H5_TEXTS, .is_list = is_list, .n = n, .as.texts = texts};

    return report_value(t, &value);
}

static bool tell_fixed(struct teller *t, const char *bytes, size_t each, size_t n, bool is_list,
                       H5T_str_t pad)
{
    struct heft_h5_text *texts = hdf5_alloc(n, sizeof *texts, t->err);
    bool ok = texts != NULL;

    for (size_t i = 0; ok && i < n; i++)
        texts[i] =
            (struct heft_h5_text){bytes + i * each, fixed_length(bytes + i * each, each, pad)};
    ok = ok && tell_texts(t, texts, n, is_list);
    free(texts);
    return ok;
}

static bool tell_pointers(struct teller *t, char *const *pointers, size_t n, bool is_list)
{
    struct heft_h5_text *texts = hdf5_alloc(n, sizeof *texts, t->err);
    bool ok = texts != NULL;

    for (size_t i = 0; ok && i < n; i++) {
        const char *p = pointers[i] ? pointers[i] : "";

        texts[i] = (struct heft_h5_text){p, strlen(p)};
        ok = take_text(t, texts[i].n);
    }
    ok = ok && tell_texts(t, texts, n, is_list);
    free(texts);
    return ok;
}

/* ---- attributes --------------------------------------------------------------------------- */

struct found {
    hid_t attribute, type, space;
    size_t each, n;
    bool is_list;
};

/* An empty list is reported as one; a value of an unsupported type is neither a list nor empty. */
static bool tell_nothing(struct teller *t, const struct found *a)
{
    const struct heft_h5_value nothing = {.kind = HEFT_H5_NOTHING,
                                          .is_list = a->is_list && a->n == 0};

    return report_value(t, &nothing);
}

static bool attribute_texts(struct teller *t, const struct found *a)
{
    const bool varying = H5Tis_variable_str(a->type) > 0;
    char *bytes = charge_elements(t, a->n, a->each) ? hdf5_alloc(a->n, a->each, t->err) : NULL;
    bool ok = bytes != NULL;

    if (ok && H5Aread(a->attribute, a->type, bytes) < 0)
        ok = hdf5_blame(t->file, t->err, "an attribute");
    else if (ok && varying)
        ok = tell_pointers(t, (char *const *)(void *)bytes, a->n, a->is_list);
    else if (ok)
        ok = tell_fixed(t, bytes, a->each, a->n, a->is_list, H5Tget_strpad(a->type));
    if (bytes && varying)
        (void)H5Dvlen_reclaim(a->type, a->space, H5P_DEFAULT, bytes);
    free(bytes);
    return ok;
}

/* Unsigned numbers of more than 63 bits look negative. */
static bool has_negative(const int64_t *numbers, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (numbers[i] < 0)
            return true;
    return false;
}

static bool attribute_numbers(struct teller *t, const struct found *a, enum heft_h5_kind kind)
{
    const bool is_unsigned = kind == HEFT_H5_INTS && H5Tget_sign(a->type) == H5T_SGN_NONE;
    const hid_t as = kind == HEFT_H5_FLOATS ? H5T_NATIVE_DOUBLE
                     : is_unsigned          ? H5T_NATIVE_UINT64
                                            : H5T_NATIVE_INT64;
    void *numbers = charge_elements(t, a->n, 8) ? hdf5_alloc(a->n, 8, t->err) : NULL;
    struct heft_h5_value value = {.kind = kind, .is_list = a->is_list, .n = a->n};
    bool ok = numbers != NULL;

    if (kind == HEFT_H5_FLOATS)
        value.as.floats = numbers;
    else
        value.as.ints = numbers;
    if (ok && H5Aread(a->attribute, as, numbers) < 0)
        ok = hdf5_blame(t->file, t->err, "an attribute");
    if (ok && is_unsigned && has_negative(numbers, a->n))
        ok = tell_nothing(t, a);
    else
        ok = ok && report_value(t, &value);
    free(numbers);
    return ok;
}

static bool tell_attribute(struct teller *t, const struct found *a)
{
    const H5T_class_t kind = H5Tget_class(a->type);

    if (a->n == 0)
        return tell_nothing(t, a);
    if (kind == H5T_STRING)
        return attribute_texts(t, a);
    if (kind == H5T_INTEGER && a->each <= 8)
        return attribute_numbers(t, a, HEFT_H5_INTS);
    if (kind == H5T_FLOAT && a->each <= 8)
        return attribute_numbers(t, a, HEFT_H5_FLOATS);
    return kind == H5T_ENUM && !hdf5_type_of(a->type, a->attribute).why
               ? attribute_numbers(t, a, HEFT_H5_BOOLS)
               : tell_nothing(t, a);
}

static bool find_attribute(struct teller *t, hid_t object, const char *name, struct found *a)
{
    hssize_t n;

    a->attribute = H5Aopen(object, name, H5P_DEFAULT);
    a->type = a->attribute < 0 ? -1 : H5Aget_type(a->attribute);
    a->space = a->attribute < 0 ? -1 : H5Aget_space(a->attribute);
    a->each = a->type < 0 ? 0 : H5Tget_size(a->type);
    if (a->each == 0 || a->space < 0)
        return hdf5_blame(t->file, t->err, "an attribute");
    n = H5Sget_simple_extent_type(a->space) == H5S_NULL ? 0
                                                        : H5Sget_simple_extent_npoints(a->space);
    a->is_list = H5Sget_simple_extent_type(a->space) == H5S_SIMPLE;
    a->n = n < 0 ? 0 : (size_t)n;
    if ((uint64_t)a->n > *t->left / ((a->each > 8 ? a->each : 8) + NODE_BYTES))
        return hdf5_fail(t->err, HEFT_LIMIT, "an attribute of %llu elements, over the limit",
                         (unsigned long long)a->n);
    return true;
}

static herr_t each_attribute(hid_t object, const char *name, const H5A_info_t *info, void *ctx)
{
    struct found a = {-1, -1, -1, 0, 0, false};
    struct teller *t = ctx;

    (void)info;
    t->name = (struct heft_h5_text){name, strlen(name)};
    t->failed = t->n++ >= MOST_ATTRIBUTES
                    ? !hdf5_fail(t->err, HEFT_LIMIT, "an object with more than %d attributes",
                                 MOST_ATTRIBUTES)
                    : !find_attribute(t, object, name, &a) || !tell_attribute(t, &a);
    if (a.space >= 0)
        (void)H5Sclose(a.space);
    if (a.type >= 0)
        (void)H5Tclose(a.type);
    if (a.attribute >= 0)
        (void)H5Aclose(a.attribute);
    return t->failed ? 1 : 0;
}

bool hdf5_tell_attributes(const struct hdf5_file *file, hid_t object, struct heft_h5_text path,
                          const struct heft_h5_visitor *visitor, uint64_t *left,
                          struct heft_error *err)
{
    struct teller t = {.file = file, .path = path, .visitor = visitor, .left = left, .err = err};
    hsize_t at = 0;

    if (H5Aiterate2(object, H5_INDEX_NAME, H5_ITER_INC, &at, each_attribute, &t) < 0)
        return hdf5_blame(file, err, "attributes");
    return !t.failed;
}

/* ---- datasets of strings ------------------------------------------------------------------ */

/* libhdf5 allocates strings here: each is preceded by its length. */
static void *string_alloc(size_t n, void *ctx)
{
    uint64_t *left = ctx;

    if (n > *left)
        return NULL;
    *left -= n;
    return malloc(n ? n : 1);
}

static void string_free(void *p, void *ctx)
{
    (void)ctx;
    free(p);
}

static bool read_strings(struct teller *t, hid_t dataset, hid_t type, size_t n, uint64_t *room)
{
    const bool varying = H5Tis_variable_str(type) > 0;
    const size_t each = H5Tget_size(type);
    const hid_t transfer = H5Pcreate(H5P_DATASET_XFER), space = H5Dget_space(dataset);
    const bool is_list = H5Sget_simple_extent_ndims(space) > 0;
    char *bytes = hdf5_alloc(n, each, t->err);
    bool ok = bytes != NULL;

    if (ok && (H5Pset_vlen_mem_manager(transfer, string_alloc, room, string_free, NULL) < 0 ||
               H5Dread(dataset, type, H5S_ALL, H5S_ALL, transfer, bytes) < 0))
        ok = hdf5_blame(t->file, t->err, "a dataset of strings");
    else if (ok && varying)
        ok = tell_pointers(t, (char *const *)(void *)bytes, n, is_list);
    else if (ok)
        ok = tell_fixed(t, bytes, each, n, is_list, H5Tget_strpad(type));
    if (bytes && varying)
        (void)H5Dvlen_reclaim(type, space, transfer, bytes);
    free(bytes);
    (void)H5Pclose(transfer);
    (void)H5Sclose(space);
    return ok;
}

bool hdf5_tell_strings(const struct hdf5_file *file, hid_t dataset, struct heft_h5_text path,
                       const struct heft_h5_visitor *visitor, uint64_t *left, bool *told,
                       struct heft_error *err)
{
    struct teller t = {.file = file, .path = path, .visitor = visitor, .left = left, .err = err};
    const hid_t type = H5Dget_type(dataset);
    const size_t each = type < 0 ? 0 : H5Tget_size(type);
    struct hdf5_shape shape;
    uint64_t room = *left;
    bool ok = true;

    t.name = (struct heft_h5_text){"", 0};
    *told =
        each > 0 && hdf5_shape_of(dataset, &shape) && shape.elements <= *left / (each + NODE_BYTES);
    if (*told) {
        *left -= shape.elements * (each + NODE_BYTES);
        ok = read_strings(&t, dataset, type, (size_t)shape.elements, &room);
    }
    if (type >= 0)
        (void)H5Tclose(type);
    return ok;
}
