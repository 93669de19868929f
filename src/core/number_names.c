/* number_names.c: names of tensors that several input files have, made unique by the number of the file.
 *
 *     consolidated.00.pth   layers.0.wq.weight   →  layers.0.wq.weight@0
 *     consolidated.01.pth   layers.0.wq.weight   →  layers.0.wq.weight@1
 *
 * Files without tensors, such as an index or a JSON file, have no number. */
#include "core/model.h"

static uint32_t file_of(const struct heft_model *model, const struct heft_row *row)
{
    return model->sources[model->storages[heft_row_storage(row, 0)].source].number;
}

/* Numbers the files that have tensors. *n: how many there are. */
static uint32_t *number_files(struct heft_model *model, uint32_t *n, struct heft_error *err)
{
    uint32_t *const numbers =
        heft_arena_zero(&model->mem, model->n_files + UINT64_C(1), sizeof *numbers, err);

    *n = 0;
    for (size_t i = 0; numbers && i < model->n_rows; i++)
        numbers[file_of(model, &model->rows[i])] = 1;
    for (uint32_t i = 0; numbers && i < model->n_files; i++)
        numbers[i] = numbers[i] ? (*n)++ : 0;
    return numbers;
}

static bool number_one(struct heft_model *model, struct heft_row *row, uint32_t number,
                       struct heft_error *err)
{
    struct heft_buf text = {0};

    heft_buf_str(&text, row->name);
    heft_buf_printf(&text, "@%" PRIu32, number);
    return heft_buf_take(&text, &model->mem, &row->name, err);
}

bool heft_model_number_names(struct heft_model *model, struct heft_error *err)
{
    uint32_t *numbers, n;
    bool ok = true;

    if (!model->number_names)
        return true;
    numbers = number_files(model, &n, err);
    if (!numbers || n < 2)
        return numbers != NULL;
    for (size_t i = 0; ok && i < model->n_rows; i++)
        ok = number_one(model, &model->rows[i], numbers[file_of(model, &model->rows[i])], err);
    model->file_numbers = numbers;
    model->names_ascend = false;
    return ok;
}

uint32_t heft_model_file_number(const struct heft_model *model, const struct heft_row *row)
{
    return model->file_numbers ? model->file_numbers[file_of(model, row)] : 0;
}
