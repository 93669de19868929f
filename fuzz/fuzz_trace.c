/* fuzz_trace.c: the trace of a pickle: steps, texts, machine state. An input with the signature of
 * a zip is a file; any other is traced directly, and once more in a valid torch zip.
 *
 * Invariants: offsets ascend, every text is bounded and safe for a terminal, an opcode's argument
 * follows the opcode, and a failure has a code and a text. */
#include <stdint.h>

#include "expect.h"
#include "torch_zip.h"
#include "core/model.h"
#include "format/formats.h"
#include "format/torch/trace/torch_trace.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MOST_STATE 2048 /* maximum size of a pickle whose states are printed, too */

struct seen {
    uint64_t next; /* expected offset of the next opcode */
    uint64_t steps;
};

static void expect_safe(const char *text, size_t n)
{
    expect(n <= HEFT_TRACE_ROOM);
    for (size_t i = 0; i < n; i++)
        expect((uint8_t)text[i] >= 0x20 && text[i] != 0x7F);
}

static bool take_pickle(void *ctx, const struct heft_trace_pickle *pickle)
{
    struct seen *seen = ctx;

    expect(pickle->record && pickle->what && pickle->number && pickle->number <= pickle->count);
    seen->next = 0;
    return true;
}

static bool take_step(void *ctx, const struct heft_trace_step *step)
{
    struct seen *seen = ctx;
    volatile uint8_t sink = 0;

    expect(step->position == seen->next && step->name && step->effect_len);
    seen->next = step->position + 1 + step->argument_bytes;
    seen->steps++;
    expect(step->argument_bytes >= step->prefix);
    for (size_t i = 0; i < step->argument_bytes; i += 64)
        sink = (uint8_t)(sink ^ step->argument[i]);
    expect_safe(step->value, step->value_len);
    expect_safe(step->effect, step->effect_len);
    return true;
}

static bool take_entry(void *ctx, const struct heft_trace_entry *entry)
{
    (void)ctx;
    expect(entry->part <= HEFT_TRACE_MEMO &&
           (entry->count == 0 || entry->text_len > 0 || entry->left_out > 0));
    expect_safe(entry->text, entry->text_len);
    return true;
}

static void walk(struct heft_bytes file, bool with_state)
{
    static const struct heft_limits limits = {.size = sizeof limits,
                                              .pickle = 1 << 20,
                                              .opcodes = 20000,
                                              .nodes = 100000,
                                              .entries = 1000};
    const struct heft_trace_options options = {.size = sizeof options, .state = with_state};
    struct seen seen = {0};
    const struct heft_trace_watcher watcher = {sizeof watcher, &seen,      take_pickle,
                                               take_step,      take_entry, NULL};
    struct heft_trace_total total = HEFT_INIT(struct heft_trace_total);
    struct heft_error err = {0};
    struct heft_model model;
    struct heft_source source;
    struct heft_tracer tr = {.src = &source,
                             .limits = &model.limits,
                             .options = &options,
                             .watcher = &watcher,
                             .total = &total,
                             .err = &err};
    bool ok;

    heft_model_init(&model, &limits, &heft_formats);
    heft_source_open_memory(&source, file, "input");
    ok = heft_torch_trace(&tr);
    expect(ok == (err.code == HEFT_OK) && (ok || err.text[0]));
    expect(seen.steps <= total.opcodes && (!ok || seen.steps == total.opcodes));
    heft_tracer_release(&tr);
    heft_model_release(&model);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct heft_bytes file = {data, size};
    struct heft_buf zip = {0};

    if (size > 1 << 20)
        return 0;
    walk(file, size <= MOST_STATE);
    if (size >= 2 && data[0] == 'P' && data[1] == 'K')
        return 0;
    torch_zip_of(&zip, file);
    if (!zip.failed)
        walk((struct heft_bytes){(const uint8_t *)zip.p, zip.n}, false);
    heft_buf_release(&zip);
    return 0;
}
