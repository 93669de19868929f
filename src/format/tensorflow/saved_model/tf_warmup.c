/* tf_warmup.c: warm-up requests, which TensorFlow Serving runs before it accepts others.
 *
 *     assets.extra/tf_serving_warmup_requests    a TFRecord file, one PredictionLog per record
 *
 *     "warmup": {"records": n, "requests": [{"kind": "predict", "model": …, "signature": …,
 *                "inputs": {KEY: {"dtype": …, "shape": […]}}, "outputs": […], "bytes": n,
 *                "sum": true}]}
 *
 * "sum" is true if the record's stored CRC-32C matches. A truncated file or a mismatch is a finding
 * and does not prevent opening the model. */
#include "format/tensorflow/saved_model/tf_saved.h"
#include "format/tensorflow/graph/tf_tensor.h"
#include "wire/tfrecord.h"

#define KEY          HEFT_STR
#define MOST_RECORDS 1000  /* TensorFlow Serving's limit */
#define MOST_TOLD    10000 /* inputs, features and tasks listed in all */

enum { LOG_CLASSIFY = 2, LOG_REGRESS, LOG_MULTI, LOG_SESSION, LOG_PREDICT, LOG_STREAMED };
enum { REQUEST = 1 };
enum { ENTRY_KEY = 1, ENTRY_VALUE = 2 };
enum { REQUEST_SPEC = 1, REQUEST_INPUTS, REQUEST_OUTPUTS };
enum { SPEC_NAME = 1, SPEC_VERSION, SPEC_SIGNATURE, SPEC_LABEL };
enum { INPUT_LIST = 1, INPUT_WITH_CONTEXT, EXAMPLES = 1 };
enum { MULTI_TASKS = 1, MULTI_INPUT };
enum { SESSION_SPEC = 1, SESSION_FEED, SESSION_FETCH, SESSION_TARGET };
enum { TASK_SPEC = 1, TASK_METHOD };

struct reader {
    struct heft_tf_saving *s;
    struct heft_arena *mem;
    uint32_t source;
    struct heft_node *request; /* the current request's node in the tree */
    uint64_t told;
};

static bool count_part(struct reader *r, struct heft_proto *p)
{
    return ++r->told <= MOST_TOLD ||
           heft_fail(p->err, HEFT_LIMIT, p->where, "warm-up requests have more than %d parts",
                     MOST_TOLD);
}

static bool put_text(struct reader *r, struct heft_proto *p, struct heft_node *in, const char *key)
{
    struct heft_str text;

    return heft_tf_text(p, r->mem, &text) &&
           heft_tree_text(r->mem, in, heft_str_of(key), text, p->err);
}

/* ---- parts of requests ---- */

/* The last occurrence of each field counts; they are added when the message is complete. */
static bool read_spec(struct reader *r, struct heft_proto *p, struct heft_node *in)
{
    struct heft_str name = {"", 0}, signature = {"", 0};
    int64_t version = -1;
    uint32_t number;
    bool ok = true;

    while (ok && (number = heft_proto_pull(p))) {
        if (number == SPEC_NAME) {
            ok = heft_tf_text(p, r->mem, &name);
        } else if (number == SPEC_SIGNATURE) {
            ok = heft_tf_text(p, r->mem, &signature);
        } else if (number == SPEC_VERSION) {
            for (version = 0; heft_proto_pull(p);)
                version = heft_proto_i64(p);
        }
    }
    return ok && !p->failed && heft_tree_text(r->mem, in, KEY("model"), name, p->err) &&
           heft_tree_text(r->mem, in, KEY("signature"), signature, p->err) &&
           (version < 0 || heft_tree_number(r->mem, in, KEY("version"), version, p->err));
}

/* Reads a map entry or a NamedTensorProto: the field numbers are the same. */
static bool read_input(struct reader *r, struct heft_proto *p, struct heft_node *inputs)
{
    struct heft_tf_tensor tensor = {0};
    struct heft_str key = {"", 0};
    struct heft_node *node = NULL;
    uint32_t number;
    bool ok = count_part(r, p);

    while (ok && (number = heft_proto_pull(p)))
        ok = number == ENTRY_KEY ? heft_tf_text(p, r->mem, &key)
                                 : heft_tf_tensor_head(p, r->mem, &tensor);
    return ok && !p->failed && heft_tf_key(r->mem, key, &key, p->err) &&
           (node = heft_tree_dict(r->mem, inputs, key, p->err)) &&
           heft_tf_file_info_dtype(r->mem, node, tensor.dtype, p->err) &&
           heft_tf_file_info_shape(r->mem, node, &tensor.shape, p->err);
}

/* Counts tf.Examples. */
static bool count_examples(struct heft_proto *p, int64_t *n)
{
    uint32_t number;

    while ((number = heft_proto_pull(p))) {
        *n += number == EXAMPLES;
        if (!heft_proto_pass(p))
            return false;
    }
    return !p->failed;
}

static bool read_examples(struct reader *r, struct heft_proto *p)
{
    int64_t n = 0;
    bool ok = true;

    while (ok && heft_proto_pull(p))
        ok = count_examples(p, &n);
    return ok && !p->failed && heft_tree_number(r->mem, r->request, KEY("examples"), n, p->err);
}

/* ---- requests ---- */

typedef bool request_fn(struct reader *r, struct heft_proto *p);

/* Adds maps and lists when first met; a model_spec may precede or follow them. */
static bool read_predict(struct reader *r, struct heft_proto *p)
{
    struct heft_node *const inputs = heft_tree_dict(r->mem, r->request, KEY("inputs"), p->err);
    struct heft_node *const outputs = heft_tree_list(r->mem, r->request, KEY("outputs"), p->err);
    uint32_t number;
    bool ok = inputs && outputs;

    while (ok && (number = heft_proto_pull(p))) {
        if (number == REQUEST_SPEC)
            ok = read_spec(r, p, r->request);
        else if (number == REQUEST_INPUTS)
            ok = read_input(r, p, inputs);
        else
            ok = count_part(r, p) && put_text(r, p, outputs, "");
    }
    return ok && !p->failed;
}

static bool read_classify(struct reader *r, struct heft_proto *p)
{
    uint32_t number;
    bool ok = true;

    while (ok && (number = heft_proto_pull(p)))
        ok = number == REQUEST_SPEC ? read_spec(r, p, r->request) : read_examples(r, p);
    return ok && !p->failed;
}

static bool read_task(struct reader *r, struct heft_proto *p, struct heft_node *tasks)
{
    struct heft_node *const task = heft_tree_dict(r->mem, tasks, KEY(""), p->err);
    uint32_t number;
    bool ok = task && count_part(r, p);

    while (ok && (number = heft_proto_pull(p)))
        ok = number == TASK_SPEC ? read_spec(r, p, task) : put_text(r, p, task, "method");
    return ok && !p->failed;
}

static bool read_multi(struct reader *r, struct heft_proto *p)
{
    struct heft_node *const tasks = heft_tree_list(r->mem, r->request, KEY("tasks"), p->err);
    uint32_t number;
    bool ok = tasks != NULL;

    while (ok && (number = heft_proto_pull(p)))
        ok = number == MULTI_TASKS ? read_task(r, p, tasks) : read_examples(r, p);
    return ok && !p->failed;
}

static bool read_session(struct reader *r, struct heft_proto *p)
{
    struct heft_node *const feeds = heft_tree_dict(r->mem, r->request, KEY("inputs"), p->err);
    struct heft_node *const fetches = heft_tree_list(r->mem, r->request, KEY("outputs"), p->err);
    uint32_t number;
    bool ok = feeds && fetches;

    while (ok && (number = heft_proto_pull(p))) {
        if (number == SESSION_SPEC)
            ok = read_spec(r, p, r->request);
        else if (number == SESSION_FEED)
            ok = read_input(r, p, feeds);
        else
            ok = count_part(r, p) && (number == SESSION_TARGET || put_text(r, p, fetches, ""));
    }
    return ok && !p->failed;
}

static const struct {
    const char *kind;
    request_fn *read;
} logs[] = {
    [LOG_CLASSIFY] = {"classify", read_classify},
    [LOG_REGRESS] = {"regress", read_classify},
    [LOG_MULTI] = {"multi_inference", read_multi},
    [LOG_SESSION] = {"session_run", read_session},
    [LOG_PREDICT] = {"predict", read_predict},
    [LOG_STREAMED] = {"predict_streamed", read_predict},
};

static bool read_log(struct reader *r, struct heft_proto *p, uint32_t kind)
{
    uint32_t number;
    bool ok = heft_tree_text(r->mem, r->request, KEY("kind"), heft_str_of(logs[kind].kind), p->err);

    while (ok && (number = heft_proto_pull(p)))
        ok = number == REQUEST ? count_part(r, p) && logs[kind].read(r, p) : heft_proto_pass(p);
    return ok && !p->failed;
}

static bool read_prediction(struct reader *r, const struct heft_proto_doc *doc,
                            const struct heft_tfrecord *record, struct heft_error *err)
{
    struct heft_proto p;
    uint32_t number;
    bool ok = heft_proto_open(&p, doc, record->off, record->len, &heft_tf_prediction_log, err);

    while (ok && (number = heft_proto_pull(&p)))
        ok = number >= LOG_CLASSIFY && number < HEFT_COUNT(logs) ? read_log(r, &p, number)
                                                                 : heft_proto_pass(&p);
    ok = ok && !p.failed;
    heft_proto_close(&p);
    return ok;
}

/* ---- the file of requests ---- */

/* Turns an error of the file into a finding; other errors remain errors. */
static bool note_fault(struct reader *r, const struct heft_error *found)
{
    if (found->code != HEFT_MALFORMED && found->code != HEFT_MISMATCH &&
        found->code != HEFT_LIMIT) {
        *r->s->err = *found;
        return false;
    }
    return heft_model_note(r->s->model, HEFT_FINDING, r->source, found->offset, r->s->err,
                           "warm-up requests: %s", found->text);
}

static bool put_record(struct reader *r, const struct heft_proto_doc *doc,
                       const struct heft_tfrecord *record, struct heft_node *list)
{
    struct heft_error found = {0};
    bool sum;

    r->request = heft_tree_dict(r->mem, list, KEY(""), r->s->err);
    if (!r->request)
        return false;
    sum = heft_tfrecord_check(doc->src, record, &found);
    if (!sum && !note_fault(r, &found))
        return false;
    found = (struct heft_error){0};
    if (!read_prediction(r, doc, record, &found) && !note_fault(r, &found))
        return false;
    return heft_tree_number(r->mem, r->request, KEY("bytes"), (int64_t)record->len, r->s->err) &&
           heft_tree_bool(r->mem, r->request, KEY("sum"), sum, r->s->err);
}

static bool too_many(struct reader *r, uint64_t at)
{
    return heft_model_note(r->s->model, HEFT_NOTE, r->source, at, r->s->err,
                           "more than %d warm-up requests: TensorFlow Serving reads no more",
                           MOST_RECORDS);
}

static bool read_records(struct reader *r, struct heft_node *list, int64_t *n)
{
    const struct heft_source src = r->s->model->sources[r->source].source;
    struct heft_error found = {0};
    struct heft_tfrecord record;
    struct heft_proto_doc doc;
    uint64_t at = 0;
    bool ok = heft_proto_doc_open(&doc, &src, false, r->s->err);

    while (ok && *n < MOST_RECORDS && heft_tfrecord_next(&src, &at, &record, &found)) {
        ok = put_record(r, &doc, &record, list);
        ++*n;
    }
    if (ok && found.code != HEFT_OK)
        ok = note_fault(r, &found);
    else if (ok && at < src.size)
        ok = too_many(r, at);
    return ok && (at == 0 ||
                  heft_model_claim(r->s->model, r->source, 0, at, "warm-up requests", r->s->err));
}

bool heft_tf_warmup(struct heft_tf_saving *s, uint32_t source)
{
    struct reader r = {.s = s, .mem = &s->model->mem, .source = source};
    struct heft_node *const root = heft_model_file_info(s->model, s->err);
    struct heft_node *const dict = root ? heft_tree_dict(r.mem, root, KEY("warmup"), s->err) : NULL;
    struct heft_node *count, *list;
    int64_t n = 0;

    /* A placeholder that keeps the member first; the value is set at the end. */
    if (!dict || !heft_tree_number(r.mem, dict, KEY("records"), 0, s->err))
        return false;
    count = dict->last;
    list = heft_tree_list(r.mem, dict, KEY("requests"), s->err);
    if (!list || !read_records(&r, list, &n))
        return false;
    count->value.as.integer = n;
    return true;
}
