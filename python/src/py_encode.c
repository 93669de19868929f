/* py_encode.c: encodes one text. */
#include "py_heft.h"

#include <stdlib.h>
#include <string.h>

#define LONG_TEXT 2048 /* bytes from which a text is encoded without the GIL */

/* Next byte with which a special token begins; NULL if there is none. */
static const char *find_start(const struct py_specials *specials, const char *p, const char *end)
{
    if (specials->first >= 0)
        return memchr(p, specials->first, (size_t)(end - p));
    while (p < end && !specials->starts[(unsigned char)*p])
        p++;
    return p < end ? p : NULL;
}

/* Index of the longest special token at p; n if there is none. */
static size_t longest_at(const struct py_specials *specials, const char *p, const char *end)
{
    size_t best = specials->n;

    for (size_t i = 0; i < specials->n; i++) {
        const struct py_special *const s = &specials->items[i];

        if (s->n <= (size_t)(end - p) && memcmp(p, s->p, s->n) == 0 &&
            (best == specials->n || s->n > specials->items[best].n))
            best = i;
    }
    return best;
}

/* The special token that occurs first, and its index; NULL if there is none. */
static const char *find_special(const struct py_specials *specials, const char *p, size_t n,
                                size_t *which)
{
    const char *const end = p + n;

    *which = specials->n;
    while (specials->n > 0 && p < end && (p = find_start(specials, p, end)) != NULL) {
        *which = longest_at(specials, p, end);
        if (*which < specials->n)
            return p;
        p++;
    }
    return NULL;
}

size_t py_special_find(const struct py_specials *specials, const char *p, size_t n)
{
    size_t which;

    find_special(specials, p, n, &which);
    return which;
}

static bool encode_part(struct py_worker *w, const char *p, size_t n, struct heft_error *err)
{
    size_t count;

    if (!py_ids_room(&w->ids, w->most_ids * n, err) ||
        !heft_encode(w->encoder, p, n, w->ids.items + w->ids.n, w->ids.room - w->ids.n, &count,
                     err))
        return false;
    w->ids.n += count;
    return true;
}

/* Adds the position of the part in the whole text to the offset of an error. */
static bool fail_at(const char *text, const char *part, struct heft_error *err)
{
    if (err->offset != HEFT_NO_OFFSET)
        err->offset += (uint64_t)(part - text);
    return false;
}

bool py_encode_text(struct py_worker *w, const struct py_specials *allowed, const char *text,
                    size_t n, struct heft_error *err)
{
    const char *const end = text + n;
    const char *p = text, *at;
    size_t which;

    while (allowed->n > 0 && (at = find_special(allowed, p, (size_t)(end - p), &which)) != NULL) {
        if (!encode_part(w, p, (size_t)(at - p), err))
            return fail_at(text, p, err);
        if (!py_ids_room(&w->ids, 1, err))
            return false;
        w->ids.items[w->ids.n++] = allowed->items[which].id;
        p = at + allowed->items[which].n;
    }
    return encode_part(w, p, (size_t)(end - p), err) || fail_at(text, p, err);
}

static bool run(struct py_worker *w, const struct py_specials *allowed, const struct py_text *text,
                struct heft_error *err)
{
    bool ok;

    if (text->n < LONG_TEXT)
        return py_encode_text(w, allowed, text->p, text->n, err);
    Py_BEGIN_ALLOW_THREADS ok = py_encode_text(w, allowed, text->p, text->n, err);
    Py_END_ALLOW_THREADS return ok;
}

/* Encodes with a worker, which the caller gives back; false with an exception set. */
static bool encode_value(struct py_encoding *e, struct py_worker *w, PyObject *value,
                         const struct py_specials *allowed, const struct py_specials *refused)
{
    struct heft_error err = {0};
    struct py_text text;
    size_t found;
    bool ok = false;

    if (!py_text_take(&text, value))
        return false;
    found = py_special_find(refused, text.p, text.n);
    if (found < refused->n)
        py_raise_refused(&refused->items[found]);
    else if (!(ok = py_worker_take(e, w, &err) && run(w, allowed, &text, &err)))
        py_raise(&err);
    py_text_release(&text);
    return ok;
}

PyObject *py_encoding_encode_ordinary(PyObject *self, PyObject *value)
{
    static const struct py_specials none = {0};
    struct py_encoding *const e = (struct py_encoding *)self;
    struct py_worker w = {0};
    PyObject *list = NULL;

    if (encode_value(e, &w, value, &none, &none))
        list = py_list_of_ids(e, w.ids.items, w.ids.n);
    py_worker_give(e, &w);
    return list;
}

/* Takes the arguments (text, allowed, refused); false with an exception set. */
static bool take_arguments(PyObject *const *args, Py_ssize_t n, struct py_specials *allowed,
                           struct py_specials *refused)
{
    *allowed = *refused = (struct py_specials){0};
    if (n != 3) {
        PyErr_SetString(PyExc_TypeError, "expected a text, allowed and refused special tokens");
        return false;
    }
    return py_specials_take(allowed, args[1]) && py_specials_take(refused, args[2]);
}

/* Encodes a text with special tokens; `make` turns the ids into the result. */
static PyObject *encode_special(PyObject *self, PyObject *const *args, Py_ssize_t n,
                                PyObject *(*make)(struct py_encoding *e, struct py_ids *ids))
{
    struct py_encoding *const e = (struct py_encoding *)self;
    struct py_specials allowed, refused;
    struct py_worker w = {0};
    PyObject *made = NULL;

    if (take_arguments(args, n, &allowed, &refused) &&
        encode_value(e, &w, args[0], &allowed, &refused))
        made = make(e, &w.ids);
    py_worker_give(e, &w);
    free(allowed.items);
    free(refused.items);
    return made;
}

static PyObject *make_list(struct py_encoding *e, struct py_ids *ids)
{
    return py_list_of_ids(e, ids->items, ids->n);
}

static PyObject *make_array(struct py_encoding *e, struct py_ids *ids)
{
    (void)e;
    return py_ids_new(ids);
}

PyObject *py_encoding_encode(PyObject *self, PyObject *const *args, Py_ssize_t n)
{
    return encode_special(self, args, n, make_list);
}

PyObject *py_encoding_encode_ids(PyObject *self, PyObject *const *args, Py_ssize_t n)
{
    return encode_special(self, args, n, make_array);
}
