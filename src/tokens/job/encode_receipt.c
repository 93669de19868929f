/* encode_receipt.c: the receipt of a part. What must be equal in all parts is in it as checksums:
 * options, vocabulary, and the whole list of inputs. */
#include "base/checksum.h"
#include "tokens/job/encode_front.h"

/* Two checksums with different polynomials. */
struct mark {
    uint32_t a, b;
};

static void add_to(struct mark *m, const void *p, size_t n)
{
    m->a = heft_crc32(m->a, p, n);
    m->b = heft_crc32c(m->b, p, n);
}

static uint64_t mark_of(const struct mark *m)
{
    return (uint64_t)m->a << 32 | m->b;
}

/* Name without directories, because machines may see the corpus under different paths. */
static void add_input(struct mark *m, const struct heft_input_item *item)
{
    const char *slash = strrchr(item->path, '/'), *name = slash ? slash + 1 : item->path;
    const uint64_t numbers[2] = {item->bytes, (uint64_t)item->changed};

    add_to(m, name, strlen(name) + 1);
    add_to(m, numbers, sizeof numbers);
}

bool heft_encode_note_inputs(struct heft_encoding *e, struct heft_error *err)
{
    const size_t n = heft_input_list_count(e->list);
    struct heft_input_item item;
    struct heft_buf path = {0};
    struct mark m = {0};
    bool ok = true;

    for (size_t i = 0; ok && i < n; i++) {
        ok = heft_input_list_get(e->list, i, &path, &item, err);
        if (ok)
            add_input(&m, &item);
    }
    heft_buf_release(&path);
    e->run.inputs = n;
    e->run.bytes = heft_input_list_bytes(e->list);
    e->run.inputs_mark = mark_of(&m);
    return ok;
}

static bool note_options(struct heft_encoding *e, struct heft_error *err)
{
    struct heft_buf options = {0};
    struct mark m = {0};
    bool ok;

    heft_encode_put_options(e, &options);
    ok = heft_buf_ok(&options, err);
    if (ok)
        add_to(&m, options.p, options.n);
    heft_buf_release(&options);
    e->run.options = mark_of(&m);
    return ok;
}

/* A run that is resumed for its renames only has written it. */
bool heft_encode_put_receipt(struct heft_encoding *e, struct heft_error *err)
{
    if (e->part.count == 0 || heft_encode_streams(e) || e->resume.is_over)
        return true;
    e->run.index = e->part.index;
    e->run.count = e->part.count;
    e->run.vocabulary = heft_encode_vocabulary_mark(e->v);
    return note_options(e, err) && heft_token_out_receipt(e->out, &e->run, err);
}
