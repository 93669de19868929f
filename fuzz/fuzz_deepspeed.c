/* fuzz_deepspeed.c: pickles of several ranks as the files of one checkpoint: DeepSpeed's ZeRO, universal
 * checkpoints, sharded tensors. The first byte of the input chooses the names of the files; then come the
 * pickles, each behind its length (16 bits, little-endian), the last one with the rest. Each becomes an
 * archive of torch with one storage of 64 bytes, so that mutations get past checksums.
 *
 * Invariants: those of open_format.h. */
#include <stdint.h>

#include "torch_zip.h"
#include "io/input_files.h"
#include "open_format.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MOST_FILES = 5, KINDS = 6 };

static const char *const names[KINDS][MOST_FILES] = {
    {"d/mp_rank_00_model_states.pt", "d/zero_pp_rank_0_mp_rank_00_optim_states.pt",
     "d/bf16_zero_pp_rank_1_mp_rank_00_optim_states.pt"},
    {"d/zero_pp_rank_0_mp_rank_00_model_states.pt", "d/zero_pp_rank_1_mp_rank_00_model_states.pt",
     "d/zero_pp_rank_0_mp_rank_00_optim_states.pt", "d/zero_pp_rank_1_mp_rank_00_optim_states.pt"},
    {"d/mp_rank_00_model_states.pt", "d/zero/a/fp32.pt", "d/zero/a/exp_avg.pt",
     "d/zero/b.c/fp32.pt"},
    {"d/zero_pp_rank_0_mp_rank_00_model_states.pt", "d/zero/a/fp32.pt", "d/zero/b/fp32.pt"},
    {"d/model_rank0.bin", "d/model_rank1.bin"},
    {"d/mp_rank_00/model_optim_rng.pt", "d/mp_rank_01/model_optim_rng.pt"},
};

/* Puts the pickles into archives; returns their number. */
static size_t make_files(struct heft_buf *zips, struct heft_input *inputs, const uint8_t *data,
                         size_t size)
{
    const char *const *const kind = names[data[0] % KINDS];
    size_t at = 1, n = 0;

    for (; n < MOST_FILES && kind[n] && at < size; n++) {
        const bool is_last = n + 1 == MOST_FILES || !kind[n + 1] || size - at < 2;
        size_t length = size - at;

        if (!is_last) {
            length = data[at] + 256u * data[at + 1];
            at += 2;
            length = length < size - at ? length : size - at;
        }
        torch_zip_of(&zips[n], (struct heft_bytes){data + at, length});
        at += length;
        inputs[n] = (struct heft_input){
            .size = sizeof *inputs, .name = kind[n], .bytes = zips[n].n, .data = zips[n].p};
    }
    return n;
}

static void open_files(struct heft_input_files *files)
{
    static const struct heft_option option = {"optimizer", NULL};
    const char *const path = heft_input_files_root(files);
    struct heft_error err = {0};
    struct heft_model model;
    bool ok;

    heft_model_init(&model, open_limits(), &heft_formats);
    model.files = heft_input_files_of(files);
    expect(heft_given_options_take(&model.options, &heft_formats, &option, 1, &model.mem, &err));
    ok = heft_registry_open(&model, &path, 1, NULL, &err) && heft_model_validate(&model, &err);
    expect_outcome(ok, &err);
    if (ok) {
        expect_map(&model);
        expect_values(&model);
        read_rows(&model);
    }
    heft_model_release(&model);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct heft_input inputs[MOST_FILES];
    struct heft_buf zips[MOST_FILES] = {{0}};
    struct heft_input_files *files;
    struct heft_error err = {0};
    size_t n;

    if (size < 2 || size > 1 << 18)
        return 0;
    n = make_files(zips, inputs, data, size);
    files = heft_input_files_new(inputs, n, &err);
    expect(files);
    open_files(files);
    heft_input_files_close(files);
    for (size_t i = 0; i < MOST_FILES; i++)
        heft_buf_release(&zips[i]);
    return 0;
}
