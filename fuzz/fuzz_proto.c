/* fuzz_proto.c: protobuf. The first byte selects the form: even for binary, odd for text.
 *
 * Invariants: reading terminates inside the document; a skipped message ends where the same message
 * ends when it is read; bytes outside the window can be fetched. */
#include <stdint.h>

#include "expect.h"
#include "format/tensorflow/graph/tf_messages.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* End of the first nested message, when it is read or (`pass`) skipped; 0 if there is none. */
static uint64_t first_end(const struct heft_proto_doc *doc, bool pass, bool *failed)
{
    struct heft_error err = {0};
    struct heft_proto p;
    enum heft_proto_event event = HEFT_PROTO_END;
    uint64_t end = 0;

    *failed = !heft_proto_open(&p, doc, 0, doc->size, &heft_tf_saved_model, &err);
    while (!*failed && (event = heft_proto_next(&p)) > HEFT_PROTO_END) {
        expect(p.off <= doc->size && p.len <= doc->size - p.off);
        if (event == HEFT_PROTO_ENTER && pass) {
            *failed = !heft_proto_skip(&p);
            end = p.off + p.len;
            break;
        }
        if (event == HEFT_PROTO_LEAVE && p.level == 0) {
            end = p.off + p.len;
            break;
        }
    }
    *failed = *failed || event == HEFT_PROTO_ERROR;
    expect(!*failed || (err.code != HEFT_OK && err.text[0]));
    heft_proto_close(&p);
    return end;
}

static void read_all(const struct heft_proto_doc *doc)
{
    struct heft_arena arena = {0};
    struct heft_error err = {0};
    struct heft_proto p;
    struct heft_str text;
    bool ok = heft_proto_open(&p, doc, 0, doc->size, &heft_tf_saved_model, &err);

    while (ok && heft_proto_next(&p) > HEFT_PROTO_END)
        if (p.field && p.field->type >= HEFT_PROTO_STRING && p.field->type <= HEFT_PROTO_BYTES &&
            p.len && !p.text.p)
            expect(heft_proto_fetch(&p, &arena, doc->size, &text, &err) && text.n == p.u64);
    heft_proto_close(&p);
    heft_arena_release(&arena);
}

static void items(struct heft_bytes bytes)
{
    struct heft_error err = {0};
    struct heft_proto_item item;
    struct heft_cur cur = heft_cur_of(bytes, 0);

    while (heft_proto_take(&cur, &item, &err))
        expect(item.bytes.n <= bytes.n && item.number > 0);
    expect(cur.bad ? err.code != HEFT_OK : cur.at == cur.n);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct heft_source source;
    struct heft_error err = {0};
    struct heft_proto_doc doc;
    uint64_t read, passed;
    bool failed, wrong;

    if (size < 1 || size > 1 << 20)
        return 0;
    heft_source_open_memory(&source, (struct heft_bytes){data + 1, size - 1}, "fuzz");
    if (heft_proto_doc_open(&doc, &source, data[0] & 1, &err)) {
        read = first_end(&doc, false, &failed);
        passed = first_end(&doc, true, &wrong);
        expect(failed || (!wrong && read == passed));
        read_all(&doc);
    }
    heft_proto_doc_close(&doc);
    heft_source_close(&source);
    items((struct heft_bytes){data + 1, size - 1});
    return 0;
}
