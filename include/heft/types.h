/* types.h: types shared by all public headers. Include <heft/heft.h>, which includes this file. */
#ifndef HEFT_TYPES_H
#define HEFT_TYPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Version of these headers: for 0.1.0 "0.1.0" and 100. */
#define HEFT_VERSION_MAJOR 0
#define HEFT_VERSION_MINOR 1
#define HEFT_VERSION_PATCH 0
#define HEFT_VERSION_NUMBER                                                                        \
    (HEFT_VERSION_MAJOR * 10000 + HEFT_VERSION_MINOR * 100 + HEFT_VERSION_PATCH)
#define HEFT_VERSION_TEXT(number) #number
#define HEFT_VERSION_OF(a, b, c)                                                                   \
    HEFT_VERSION_TEXT(a) "." HEFT_VERSION_TEXT(b) "." HEFT_VERSION_TEXT(c)
#define HEFT_VERSION HEFT_VERSION_OF(HEFT_VERSION_MAJOR, HEFT_VERSION_MINOR, HEFT_VERSION_PATCH)

#if defined(__GNUC__)
#define HEFT_API __attribute__((visibility("default")))
#else
#define HEFT_API
#endif

/* ---- growing structs ----------------------------------------------------------------------------
 *
 * Later versions add members at the end of structs. Programs that were compiled before keep working:
 *
 * A struct that begins with `size_t size` belongs to the caller: options, visitors, and what functions
 * such as heft_tensor_at fill. `size` says how much of it the program knows. Always initialise it, with
 * HEFT_INIT, or with designators:
 *
 *     struct heft_tensor t = HEFT_INIT(struct heft_tensor);
 *     struct heft_open_options o = {.size = sizeof o, .salvage = true};
 *
 * Zero means the size in version 0.1, so that {0} and {.salvage = true} work for the members of 0.1.
 *     read by the library     members beyond `size` count as 0. HEFT_USAGE if `size` exceeds the struct
 *                             of the library, and a byte there is not 0: the program uses a member that
 *                             this library does not have;
 *     filled by the library   up to `size`; `size` itself does not change, so that one struct can be
 *                             used for many calls. A size below that of 0.1 counts as 0, so that the
 *                             first version also accepts a struct that is not initialised.
 * In an array of such structs (heft_input, heft_rule, heft_rule_use, heft_own_tensor) all have the same
 * `size`, which is also the distance from one to the next: there 0 is HEFT_USAGE, even in an array of
 * one.
 * Structs without `size` are of two kinds. Those that the library passes to callbacks by pointer, and
 * the nodes of trees (struct heft_value), belong to the library and may grow at the end: do not make
 * arrays of them. All others are parts of arrays and of other structs, and never change: heft_error,
 * heft_range, heft_option, heft_metadata, heft_confine_path, heft_diff_side, heft_diff_counts,
 * heft_word_merge.
 *
 * Every text (const char *) in a struct is followed by a NUL, which its length, if there is one, does
 * not count. */
#if defined(__cplusplus)
template <typename type> inline type heft_init()
{
    type made = type();
    made.size = sizeof(type);
    return made;
}
#define HEFT_INIT(type) heft_init<type>()
#elif defined(__STDC_VERSION__) && __STDC_VERSION__ >= 199901L
#define HEFT_INIT(type)                                                                            \
    {                                                                                              \
        .size = sizeof(type)                                                                       \
    }
#else
#define HEFT_INIT(type)                                                                            \
    __extension__(type)                                                                            \
    {                                                                                              \
        .size = sizeof(type)                                                                       \
    }
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* ---- errors ------------------------------------------------------------------------------------
 *
 * A function that can fail has a `struct heft_error *` as its last parameter (never NULL). On
 * failure it fills the struct and returns false or NULL; on success it leaves the struct unchanged,
 * so that calls can be chained with &&. The caller owns the struct and zeroes it before the first
 * call; after a failure it can be passed to the next call as it is. Each code has one meaning: */
enum heft_code {
    HEFT_OK = 0,
    HEFT_NOMEM,       /* memory ran out */
    HEFT_IO,          /* a system call failed: missing file, full disk, read error */
    HEFT_MALFORMED,   /* the file is invalid */
    HEFT_UNSUPPORTED, /* the file may be valid, but uses a feature that heft lacks */
    HEFT_LIMIT,       /* a limit of struct heft_limits is exceeded */
    HEFT_UNSAFE,      /* a dangerous path or construct, which is never followed */
    HEFT_MISMATCH,    /* a checksum or a comparison does not match */
    HEFT_USAGE,       /* the call is wrong: unknown name, existing output, bad option */
    HEFT_CANCELLED    /* a callback, progress() or each(), returned false */
};

#define HEFT_NO_OFFSET UINT64_MAX

struct heft_error {
    enum heft_code code;
    int system_error; /* errno of the system call that failed, with HEFT_IO; 0 if none failed, as
                       * when a file has become shorter */
    uint64_t offset;  /* byte offset in `file`; HEFT_NO_OFFSET if there is none */
    char file[256];   /* path of the file, "" if there is none; long paths are truncated at the
                      * beginning */
    char text[400];   /* one line, control characters escaped: what was found and what was
                      * expected */
};

/* ---- element types ------------------------------------------------------------------------------
 *
 * The names are those of safetensors. Up to HEFT_U64 the order is that of its reference library,
 * whose writer sorts tensors by it. Dtypes that safetensors lacks follow. */
enum heft_dtype {
    HEFT_BOOL,
    HEFT_F4,
    HEFT_F6_E2M3,
    HEFT_F6_E3M2,
    HEFT_U8,
    HEFT_I8,
    HEFT_F8_E5M2,
    HEFT_F8_E4M3,
    HEFT_F8_E8M0,
    HEFT_F8_E4M3FNUZ,
    HEFT_F8_E5M2FNUZ,
    HEFT_I16,
    HEFT_U16,
    HEFT_F16,
    HEFT_BF16,
    HEFT_I32,
    HEFT_U32,
    HEFT_F32,
    HEFT_C64,
    HEFT_F64,
    HEFT_I64,
    HEFT_U64,
    HEFT_C32,  /* a pair of F16 */
    HEFT_C128, /* a pair of F64 */
    HEFT_F8_E4M3B11FNUZ,
    /* Quantized integers, as stored. A quantized tensor w of torch has the values w.scale and
       w.zero_point; if it is quantized by channel, the tensors w.scales and w.zero_points and
       the value w.axis. */
    HEFT_QI8,
    HEFT_QU8,
    HEFT_QI16,
    HEFT_QU16,
    HEFT_QI32,
    HEFT_I4, /* one element per byte, as stored by TensorFlow; the value is in the low bits */
    HEFT_U4,
    HEFT_I2,
    HEFT_U2,
    HEFT_QU4X2, /* torch's packed quantized numbers and bits: elements of one byte, or of two */
    HEFT_QU2X4,
    HEFT_BITS1X8,
    HEFT_BITS2X4,
    HEFT_BITS4X2,
    HEFT_BITS8,
    HEFT_BITS16,
    /* Elements of variable length: the size of such a tensor is that of its encoding in the
       file. It cannot be cast or sliced. */
    HEFT_STRING,
    HEFT_VARIANT,
    /* Block types of GGML, as GGUF files store them: a block is numbers with their common scales. The
       elements of a block lie in one row, so that the innermost extent is a multiple of the block.
       MXFP4 and NVFP4 are GGML's layouts; safetensors files keep codes and scales apart. */
    HEFT_Q4_0,
    HEFT_Q4_1,
    HEFT_Q5_0,
    HEFT_Q5_1,
    HEFT_Q8_0,
    HEFT_Q8_1,
    HEFT_Q2_K,
    HEFT_Q3_K,
    HEFT_Q4_K,
    HEFT_Q5_K,
    HEFT_Q6_K,
    HEFT_Q8_K,
    HEFT_IQ2_XXS,
    HEFT_IQ2_XS,
    HEFT_IQ3_XXS,
    HEFT_IQ1_S,
    HEFT_IQ4_NL,
    HEFT_IQ3_S,
    HEFT_IQ2_S,
    HEFT_IQ4_XS,
    HEFT_IQ1_M,
    HEFT_TQ1_0,
    HEFT_TQ2_0,
    HEFT_MXFP4,
    HEFT_NVFP4,
    HEFT_Q1_0,
    HEFT_Q2_0,
    HEFT_DTYPE_COUNT
};

/* Name of a dtype: "F32". A static string; "?" for an invalid dtype. */
HEFT_API const char *heft_dtype_name(enum heft_dtype dtype);
/* Block of a dtype: the smallest number of elements that occupies whole bytes: one F32 in 4 bytes,
 * two F4 in 1 byte, four F6_E2M3 in 3 bytes, 256 Q4_K in 144 bytes. Both functions return 0 for dtypes of variable length
 * and for invalid dtypes. */
HEFT_API unsigned heft_dtype_block_elements(enum heft_dtype dtype);
HEFT_API unsigned heft_dtype_block_bytes(enum heft_dtype dtype);
/* Size of `elements` elements in bytes. False if `elements` is not a multiple of the block, if the
 * size is 2^64 or more, or if the dtype has no blocks. */
HEFT_API bool heft_dtype_bytes(enum heft_dtype dtype, uint64_t elements, uint64_t *bytes);
/* Finds a dtype by its name, case-sensitive; false if there is none. */
HEFT_API bool heft_dtype_parse(const char *name, enum heft_dtype *out);
/* The same for common names, in upper or lower case: "bf16", "bfloat16", "torch.bfloat16", "half",
 * "int8". */
HEFT_API bool heft_dtype_named(const char *name, enum heft_dtype *out);

/* ---- values ------------------------------------------------------------------------------
 *
 * Contents of a checkpoint other than tensors, as a tree. The nodes and their bytes belong to the
 * checkpoint and are valid until it is closed; `text` is followed by a NUL that is not counted.
 * Dicts omit subtrees that contain only tensors; in lists and tuples a tensor is represented by
 * HEFT_VALUE_TENSOR. Of a long list, such as the vocabulary in a GGUF, the tree has the first items. */
enum heft_value_kind {
    HEFT_VALUE_NULL,
    HEFT_VALUE_BOOL,
    HEFT_VALUE_INT,
    HEFT_VALUE_BIGINT, /* text: "0x…", more than 64 bits */
    HEFT_VALUE_FLOAT,
    HEFT_VALUE_STRING, /* text: UTF-8 */
    HEFT_VALUE_BYTES,  /* text: raw bytes */
    HEFT_VALUE_LIST,
    HEFT_VALUE_TUPLE,
    HEFT_VALUE_SET,
    HEFT_VALUE_DICT,
    HEFT_VALUE_TENSOR, /* text: name of the tensor */
    HEFT_VALUE_GLOBAL, /* type_name: "module.name", which is never imported */
    HEFT_VALUE_OPAQUE  /* type_name: class; children: its arguments, attributes and items */
};

struct heft_value {
    enum heft_value_kind kind;
    const char *key; /* key or decimal index in the parent; "" at the root */
    size_t key_len;
    const char *type_name; /* class of an object, or name of a global; else NULL */
    union {
        bool boolean;
        int64_t integer;
        double number;
    } as;
    const char *text;
    size_t text_len;
    const struct heft_value *first_child;
    const struct heft_value *next_sibling;
    /* of a list: number of items that follow the children and are not in the tree, because there are
     * so many: see heft_items_new. Else 0 */
    uint64_t more;
};

/* ---- other contents of a checkpoint ------------------------------------------------------ */

/* Tensor in the file that heft cannot read, and the reason. */
struct heft_unread {
    size_t size; /* HEFT_INIT */
    const char *name;
    const char *reason;
};

/* Pair of texts, in file order: __metadata__ of safetensors, metadata of an index. */
struct heft_metadata {
    const char *key, *value;
    size_t key_len, value_len;
};

/* Value in one of several files that differs from that of an earlier file, which is the one in
 * metadata, ties and values. */
enum heft_differing_kind { HEFT_DIFFERING_METADATA, HEFT_DIFFERING_TIE, HEFT_DIFFERING_VALUE };
struct heft_difference {
    size_t size; /* HEFT_INIT */
    enum heft_differing_kind kind;
    const char *key; /* key; for a value its dotted path */
    size_t key_len;
    size_t file; /* index of the file that differs, as in struct heft_tensor */
    const struct heft_value *value;
};

#ifdef __cplusplus
}
#endif
#endif
