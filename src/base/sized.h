/* sized.h: structs of the public API that begin with their size ("Growing structs" in types.h).
 *
 * The library works with complete structs of its own: HEFT_TAKE copies what a caller made, HEFT_FILL
 * copies out to what a caller has room for. */
#ifndef HEFT_SIZED_H
#define HEFT_SIZED_H

#include <stddef.h>
#include <string.h>

#include "base/base.h"
#include "heft/heft.h"
#include "heft/job.h"
#include "heft/tokens.h"

/* Structs that callers make, with their last member in version 0.1. */
#define HEFT_TAKEN_STRUCTS(X)                                                                      \
    X(heft_limits, seconds)                                                                        \
    X(heft_host, no_processes)                                                                     \
    X(heft_input, is_slow)                                                                         \
    X(heft_open_options, n_inputs)                                                                 \
    X(heft_read_options, progress_ctx)                                                             \
    X(heft_view_options, strided)                                                                  \
    X(heft_verify_options, verified)                                                               \
    X(heft_scan_visitor, ctx)                                                                      \
    X(heft_trace_options, n_inputs)                                                                \
    X(heft_trace_watcher, tensor)                                                                  \
    X(heft_output_options, no_sync)                                                                \
    X(heft_restore_options, tags)                                                                  \
    X(heft_rule, right)                                                                            \
    X(heft_convert_options, progress_ctx)                                                          \
    X(heft_job_options, progress_ctx)                                                              \
    X(heft_own_tensor, storage)                                                                    \
    X(heft_diff_options, progress_ctx)                                                             \
    X(heft_diff_visitor, ctx)                                                                      \
    X(heft_digest_options, note_ctx)                                                               \
    X(heft_compare_options, compared)                                                              \
    X(heft_stats_options, progress_ctx)                                                            \
    X(heft_split_items, ctx)                                                                       \
    X(heft_vocab_options, normalize)                                                               \
    X(heft_encoder_options, special)                                                               \
    X(heft_text_batch, n)                                                                          \
    X(heft_id_batch, end_id)                                                                       \
    X(heft_encode_options, rejects)                                                                \
    X(heft_join_options, written_ctx)                                                              \
    X(heft_decode_options, width)                                                                  \
    X(heft_train_options, n_specials)                                                              \
    X(heft_sampler_options, width)

/* Structs of callers that the library fills. */
#define HEFT_FILLED_STRUCTS(X)                                                                     \
    X(heft_vocab_info, variants)                                                                   \
    X(heft_file, bytes)                                                                            \
    X(heft_tensor, missing)                                                                        \
    X(heft_view, bytes)                                                                            \
    X(heft_tensor_part, negated)                                                                   \
    X(heft_unread, reason)                                                                         \
    X(heft_blob, stored_bytes)                                                                     \
    X(heft_difference, value)                                                                      \
    X(heft_segment, overlaps)                                                                      \
    X(heft_finding, text)                                                                          \
    X(heft_verified, bytes)                                                                        \
    X(heft_trace_total, metastack)                                                                 \
    X(heft_object, tensor)                                                                         \
    X(heft_object_storage, has_data)                                                               \
    X(heft_restore_step, target)                                                                   \
    X(heft_restore_target, pieces)                                                                 \
    X(heft_restore_piece, crc)                                                                     \
    X(heft_rule_use, left_alone)                                                                   \
    X(heft_planned, is_sharded)                                                                    \
    X(heft_quantized, dtype)                                                                       \
    X(heft_planned_tensor, bytes)                                                                  \
    X(heft_rules_preset, text_len)                                                                 \
    X(heft_diff_result, has_root_b)                                                                \
    X(heft_compared, bytes)                                                                        \
    X(heft_format_info, writes)                                                                    \
    X(heft_format_option, help)                                                                    \
    X(heft_module, next)                                                                           \
    X(heft_modules_sum, bytes)                                                                     \
    X(heft_split_file, n)                                                                          \
    X(heft_special_token, id)                                                                      \
    X(heft_encode_summary, dropped)                                                                \
    X(heft_join_summary, format)                                                                   \
    X(heft_train_report, ids)

/* Sizes in version 0.1, padding included: new members begin behind it (HACKING.md). */
#define HEFT_SIZED_END(type, last) (offsetof(struct type, last) + sizeof(((struct type *)0)->last))
#define HEFT_SIZED_FIRST(type, last)                                                               \
    HEFT_FIRST_SIZE_##type = (HEFT_SIZED_END(type, last) + _Alignof(struct type) - 1) /            \
                             _Alignof(struct type) * _Alignof(struct type),
enum { HEFT_TAKEN_STRUCTS(HEFT_SIZED_FIRST) HEFT_FILLED_STRUCTS(HEFT_SIZED_FIRST) };

/* A greater size was not initialised. */
#define HEFT_SIZED_MOST ((size_t)1 << 16)

/* Sizes of a kind of struct: in this version, and in 0.1. */
struct heft_sized {
    const char *name;
    size_t ours, first;
};

/* Copies the struct that a caller made to *own, which becomes complete; `given` may be NULL for all
 * zero. HEFT_USAGE if it has a member that is not 0 and unknown here. */
HEFT_CHECKED bool heft_sized_take(void *own, const struct heft_sized *sizes, const void *given,
                                  struct heft_error *err);

/* Distance between the n structs of a caller's array: the size of the first one. 0 if the array is NULL
 * or empty. HEFT_USAGE if it is not set, or if another one has another size. */
HEFT_CHECKED bool heft_sized_stride(size_t *stride, const struct heft_sized *sizes,
                                    const void *array, size_t n, struct heft_error *err);
/* A complete copy of a caller's array, for heft_free; NULL on failure. */
HEFT_CHECKED void *heft_sized_take_array(const struct heft_sized *sizes, const void *array,
                                         size_t n, struct heft_error *err);
/* Copies n complete structs of `ours` bytes to the array of a caller with that distance. */
void heft_sized_fill_array(void *array, size_t stride, const void *values, size_t ours, size_t n);

/* Bytes to copy to a struct of a caller who has room for `given`. A constant as long as the struct has
 * not grown. */
static inline size_t heft_sized_room(size_t given, size_t ours, size_t first)
{
    if (given <= first || given > HEFT_SIZED_MOST)
        return first;
    return given < ours ? given : ours;
}

/* Copies the first n bytes of a complete struct to that of a caller, except its size. */
static inline void heft_sized_fill(void *out, size_t n, const void *value)
{
    memcpy((char *)out + sizeof n, (const char *)value + sizeof n, n - sizeof n);
}

/* All check the types of their pointers. */
#define HEFT_TAKE(type, own, given, err)                                                           \
    heft_sized_take(                                                                               \
        1 ? (own) : (struct type *)0,                                                              \
        &(const struct heft_sized){"struct " #type, sizeof(struct type), HEFT_FIRST_SIZE_##type},  \
        1 ? (given) : (const struct type *)0, err)
#define HEFT_STRIDE(type, stride, array, n, err)                                                   \
    heft_sized_stride(                                                                             \
        stride,                                                                                    \
        &(const struct heft_sized){"struct " #type, sizeof(struct type), HEFT_FIRST_SIZE_##type},  \
        1 ? (array) : (const struct type *)0, n, err)
#define HEFT_TAKE_ARRAY(type, array, n, err)                                                       \
    heft_sized_take_array(                                                                         \
        &(const struct heft_sized){"struct " #type, sizeof(struct type), HEFT_FIRST_SIZE_##type},  \
        1 ? (array) : (const struct type *)0, n, err)
/* Copies a complete struct to that of a caller, except its size. A whole struct is assigned: compilers
 * store each member where it belongs, instead of building the struct and copying it right after, which
 * would wait for the stores. */
#define HEFT_FILL(type, out, value)                                                                \
    do {                                                                                           \
        struct type *const out_ = (out);                                                           \
        const struct type *const value_ = (value);                                                 \
        const size_t given_ = out_->size;                                                          \
        const size_t n_ = heft_sized_room(given_, sizeof(struct type), HEFT_FIRST_SIZE_##type);    \
                                                                                                   \
        if (n_ == sizeof(struct type)) {                                                           \
            *out_ = *value_;                                                                       \
            out_->size = given_;                                                                   \
        } else {                                                                                   \
            heft_sized_fill(out_, n_, value_);                                                     \
        }                                                                                          \
    } while (0)

#endif
