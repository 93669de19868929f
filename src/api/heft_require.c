/* heft_require.c: the public API for looking up a tensor that must exist: the error says why it does
 * not, or which names are similar. */
#include <stdio.h>

#include "base/require_arg.h"
#include "api/checkpoint.h"

enum {
    MAX_LIMIT = 8,   /* largest limit of an edit distance */
    MAX_NAME = 256,  /* bytes of a name that is compared */
    MAX_NEAR = 3,    /* names in an error */
    UNRELATED = 100, /* distance of a name that is not similar */
};

/* ---- similar names ------------------------------------------------------------------------- */

/* Restricted to the diagonal band that a distance of at most `limit` can use: band[d] is column
 * row + d - limit. */
unsigned heft_edit_distance(const char *a, size_t a_len, const char *b, size_t b_len,
                            unsigned limit)
{
    unsigned band[2 * MAX_LIMIT + 1];
    const unsigned over = limit + 1, width = 2 * limit + 1;
    const size_t gap = a_len > b_len ? a_len - b_len : b_len - a_len;

    if (limit > MAX_LIMIT || gap > limit || (!a && a_len > 0) || (!b && b_len > 0))
        return over;
    for (unsigned d = 0; d < width; d++)
        band[d] = d < limit ? over : d - limit;
    for (size_t row = 1; row <= a_len; row++) {
        for (unsigned d = 0; d < width; d++) {
            const size_t shifted = row + d, column = shifted > limit ? shifted - limit : 0;
            uint64_t cost = over;

            if (shifted >= limit && column <= b_len) {
                if (column)
                    cost = band[d] + (a[row - 1] != b[column - 1]);
                if (d + 1 < width)
                    cost = heft_min_u64(cost, band[d + 1] + 1);
                if (d && column)
                    cost = heft_min_u64(cost, band[d - 1] + 1);
            }
            band[d] = (unsigned)heft_min_u64(cost, over);
        }
    }
    return band[limit + b_len - a_len];
}

static bool contains(struct heft_str text, struct heft_str part)
{
    for (size_t at = 0; part.n <= text.n && at <= text.n - part.n; at++)
        if (memcmp(text.p + at, part.p, part.n) == 0)
            return true;
    return false;
}

/* Distance of a tensor's name from the wanted one: 0 is best. */
static unsigned name_distance(struct heft_str wanted, struct heft_str name)
{
    const unsigned limit = wanted.n < 4 ? 1 : wanted.n < 9 ? 2 : 3;
    unsigned edits;

    if (name.n > wanted.n && memcmp(name.p + name.n - wanted.n, wanted.p, wanted.n) == 0)
        return name.p[name.n - wanted.n - 1] == '.' ? 1 : 4;
    edits = name.n > MAX_NAME ? limit + 1
                              : heft_edit_distance(wanted.p, wanted.n, name.p, name.n, limit);
    if (edits <= limit)
        return edits;
    return wanted.n >= 4 && contains(name, wanted) ? 5 : UNRELATED;
}

/* Finds the most similar names, best first, in the order of the file if they are equally good.
 * Returns their number. Linear in the number of tensors. */
static size_t find_near(const struct heft_model *model, struct heft_str wanted,
                        struct heft_str near[MAX_NEAR])
{
    unsigned best[MAX_NEAR];
    size_t found = 0;

    if (wanted.n == 0 || wanted.n > MAX_NAME)
        return 0;
    for (size_t i = 0; i < model->n_rows; i++) {
        const unsigned far = name_distance(wanted, model->rows[i].name);
        size_t at = found;

        while (at && best[at - 1] > far)
            at--;
        if (far >= UNRELATED || at >= MAX_NEAR)
            continue;
        found = found < MAX_NEAR ? found + 1 : found;
        for (size_t k = found - 1; k > at; k--) {
            best[k] = best[k - 1];
            near[k] = near[k - 1];
        }
        best[at] = far;
        near[at] = model->rows[i].name;
    }
    return found;
}

/* Bytes of a name in an error. */
static int shown(struct heft_str name)
{
    return (int)heft_min_size(name.n, MAX_NAME);
}

/* ---- why there is no such tensor ----------------------------------------------------------- */

/* The file has the tensor, but it cannot be read. */
static bool is_unreadable(const struct heft_model *model, struct heft_str name,
                          struct heft_error *err)
{
    for (size_t i = 0; i < model->n_unreadable; i++)
        if (heft_str_eq(model->unreadable[i].name, name)) {
            heft_fail(err, HEFT_UNSUPPORTED, HEFT_NO_OFFSET, "%.*s cannot be read: %s", shown(name),
                      name.p, model->unreadable[i].reason);
            return true;
        }
    return false;
}

/* The files refer to tensors that they lack. */
static bool is_lacking(const struct heft_checkpoint *c, struct heft_str name,
                       struct heft_error *err)
{
    struct heft_finding lack;

    if (!heft_lack_at(c, 0, &lack))
        return false;
    heft_fail(err, HEFT_MALFORMED, HEFT_NO_OFFSET, "%.*s is missing: %s", shown(name), name.p,
              lack.text);
    if (lack.file)
        heft_error_file(err, lack.file);
    return true;
}

/* The metadata may record a dropped tensor of that name. */
static bool is_recorded(const struct heft_model *model, struct heft_str name,
                        struct heft_error *err)
{
    for (size_t i = 0; i < model->n_metadata; i++) {
        const struct heft_pair *const pair = &model->metadata[i];

        if (!heft_str_eq(pair->key, name) || heft_model_find(model, pair->value) == HEFT_NONE)
            continue;
        heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET,
                  "there is no tensor %s; the metadata says %s = %s: it may be a part of that "
                  "tensor, whose shape is unknown",
                  pair->key.p, pair->key.p, pair->value.p);
        return true;
    }
    return false;
}

static bool suggest_names(const struct heft_model *model, struct heft_str name,
                          struct heft_error *err)
{
    struct heft_str near[MAX_NEAR];
    const size_t n = find_near(model, name, near);
    char list[300] = "";
    size_t used = 0;

    for (size_t i = 0; i < n; i++) {
        const int more = snprintf(list + used, sizeof list - used, "%s%s",
                                  i ? ", " : "; did you mean ", near[i].p);

        if (more < 0 || (size_t)more >= sizeof list - used) {
            list[used] = '\0';
            break;
        }
        used += (size_t)more;
    }
    return heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET, "there is no tensor %.*s%s%s", (int)name.n,
                     name.p, list, *list ? "?" : "");
}

bool heft_tensor_require(const struct heft_checkpoint *c, const char *name, size_t name_len,
                         size_t *index, struct heft_error *err)
{
    const struct heft_str wanted = {name_len ? name : "", name_len};

    if (!heft_require_arg(c && (name || name_len == 0) && index, "an argument", err))
        return false;
    if (heft_tensor_find(c, wanted.p, wanted.n, index))
        return true;
    return !is_unreadable(&c->model, wanted, err) && !is_lacking(c, wanted, err) &&
           !is_recorded(&c->model, wanted, err) && suggest_names(&c->model, wanted, err);
}
