/* quant.h: what a quantization scheme is, and what it is made of.
 *
 *     model, config ─► each row is offered to the schemes that suit the config (quant.c)
 *                      scheme->take(): is it a quantized weight of mine? Then find its companions, check
 *                      dtypes, shapes and parameters, and describe the derived row; or refuse
 *
 * Two witnesses must agree: the configuration, and names, dtypes and shapes. Which modules are quantized
 * follows from the tensors alone. A new scheme is one file with a struct heft_quant_scheme, and a line in
 * the table of quant.c. */
#ifndef HEFT_QUANT_H
#define HEFT_QUANT_H

#include "core/derive.h"
#include "core/reader.h"

/* ---- quant_json.c: a JSON text as a tree -------------------------------------------------------- */

enum heft_quant_kind {
    HEFT_QUANT_NULL,
    HEFT_QUANT_BOOL,   /* integer is 0 or 1 */
    HEFT_QUANT_NUMBER, /* text as written; integer if is_integer */
    HEFT_QUANT_STRING,
    HEFT_QUANT_LIST,
    HEFT_QUANT_DICT
};
struct heft_quant_node {
    struct heft_str key;  /* of a member; NUL-terminated */
    struct heft_str text; /* of a string or number; NUL-terminated */
    uint64_t where;       /* byte offset of the value in the text */
    uint64_t from, to;    /* byte range of the member, or of the item: from its key to its end */
    int64_t integer;
    enum heft_quant_kind kind;
    bool is_integer;
    struct heft_quant_node *next, *child, *parent; /* the next sibling, the first item or member */
};
/* HEFT_MALFORMED with the offset for text that is not JSON, nested deeper than `depth`, or with a duplicate
 * key. The result is in the arena. */
HEFT_CHECKED const struct heft_quant_node *heft_quant_parse(struct heft_bytes text, unsigned depth,
                                                            struct heft_arena *mem,
                                                            struct heft_error *err);
/* Member of a dict, or NULL; NULL also if `node` is NULL or no dict. */
const struct heft_quant_node *heft_quant_get(const struct heft_quant_node *node, const char *key);
/* Whether the node is a string with this text. NULL is none. */
bool heft_quant_is(const struct heft_quant_node *node, const char *text);
/* Text of a string; empty if the node is NULL or no string. */
struct heft_str heft_quant_text(const struct heft_quant_node *node);

/* ---- quant_config.c: the configuration of a model ----------------------------------------------- */

struct heft_quant_config {
    const char *path;                   /* of the file that `quantization` is in; NULL: no file */
    const struct heft_quant_node *root; /* config.json; NULL if absent */
    const struct heft_quant_node *quantization; /* the dict; NULL if absent */
    struct heft_str method; /* quant_method, or what its absence means; empty: unknown */
    bool was_read;          /* the model may be quantized, and its directory was searched */
    bool is_mlx;            /* from the member `quantization` */
    enum heft_dtype dtype;  /* of the model; HEFT_DTYPE_COUNT if config.json does not say */
    const char
        *failed; /* a file that is there could not be read or parsed: the reason; else NULL */
};
/* The configuration that was read when the model was opened; zeroed if there is none. */
const struct heft_quant_config *heft_quant_config_of(const struct heft_model *model);
HEFT_CHECKED bool heft_quant_config_open(struct heft_model *model, struct heft_error *err);
/* Reads a member of `quantization` (or of `node`) as an integer from `least` to `most`; *is_set is false if it
 * is absent or null. HEFT_MALFORMED with the offset for anything else. */
HEFT_CHECKED bool heft_quant_integer(const struct heft_quant_config *config,
                                     const struct heft_quant_node *node, const char *key,
                                     uint64_t least, uint64_t most, uint64_t *out, bool *is_set,
                                     struct heft_error *err);
/* A list of two integers from 1 to 2^31. */
HEFT_CHECKED bool heft_quant_pair(const struct heft_quant_config *config,
                                  const struct heft_quant_node *node, const char *key,
                                  uint64_t out[2], bool *is_set, struct heft_error *err);
/* HEFT_MALFORMED or other code, at a node, with the file. Always returns false. */
bool heft_quant_config_refuse(const struct heft_quant_config *config,
                              const struct heft_quant_node *node, enum heft_code code,
                              struct heft_error *err, const char *format, ...) HEFT_PRINTF(5, 6);

/* ---- recognition: quant.c, quant_rows.c ---------------------------------------------------------- */

enum heft_quant_use { HEFT_QUANT_PLAIN, HEFT_QUANT_WEIGHT, HEFT_QUANT_COMPANION };

/* State of a recognition. */
struct heft_quant {
    const struct heft_model *model;
    const struct heft_quant_config *config;
    const struct heft_derive_request *request;
    struct heft_arena *mem;
    uint8_t *uses;             /* enum heft_quant_use of each row of the model */
    struct heft_row **derived; /* for each row of the model: the row that replaces it; NULL: none */
    bool is_named;             /* refused as a scheme that is known by name */
    const struct heft_quant_node **layers; /* of quantized_layers, by numbers of layer_names */
    struct heft_strmap layer_names;
    struct heft_quant_groups *groups; /* of quant_groups.c; NULL: not read yet */
    const char *scheme;               /* text for info, of the first weight */
    const char **notes;               /* for the user; NULL while there are none */
    size_t n_notes;
    /* members of config->quantization by their keys, once heft_quant_member was called */
    const struct heft_quant_node **members;
    size_t n_members;
    struct heft_reader *reader; /* of heft_quant_read; NULL while nothing was read */
    struct heft_error *err;
};

struct heft_quant_scheme {
    const char *name;
    /* Whether the configuration may mean this scheme: its method, or that there is none, if names
     * suffice. */
    bool (*suits)(const struct heft_quant_config *config);
    /* Whether row `row` is a quantized weight (*taken). If it is, marks its companions and adds the derived
     * row. False if it is one but must be refused. */
    bool (*take)(struct heft_quant *q, uint32_t row, bool *taken);
    /* endings of companions' names, which must not exist without a weight; NULL-terminated */
    const char *const *companions;
};

/* What replaces a weight. */
struct heft_quant_weight {
    struct heft_str name;  /* NUL-terminated, in the model's or q->mem */
    const uint64_t *shape; /* in the model's memory or q->mem */
    unsigned rank;
    /* rows that it is computed from: the weight, then its companions */
    const struct heft_row *const *sources;
    size_t n_sources;
    /* values of the recipe; `as` is HEFT_DTYPE_COUNT for the default of the model */
    struct heft_recipe recipe;
    /* make() for other dtypes than recipe.rounds; NULL: one is for all */
    heft_recipe_make_fn *make_otherwise;
};

/* Recognises all weights: fills uses and derived. Release the groups after it. */
HEFT_CHECKED bool heft_quant_recognise(struct heft_quant *q);
/* Whether a name ends with `suffix` after at least one byte; sets *prefix. */
bool heft_quant_ends(struct heft_str name, const char *suffix, struct heft_str *prefix);
/* PREFIX SUFFIX, NUL-terminated, in q->mem; p is NULL if memory ran out. */
struct heft_str heft_quant_join(struct heft_quant *q, struct heft_str prefix, const char *suffix);
/* Row of the name PREFIX SUFFIX, in any shard, or NULL. The row becomes a companion; pass false to look
 * only. */
const struct heft_row *heft_quant_find(struct heft_quant *q, struct heft_str prefix,
                                       const char *suffix, bool is_companion);
/* The same; HEFT_MALFORMED if it is missing. */
const struct heft_row *heft_quant_need(struct heft_quant *q, const struct heft_row *weight,
                                       struct heft_str prefix, const char *suffix);
/* Adds the derived row in the place of row `row`. */
HEFT_CHECKED bool heft_quant_replace(struct heft_quant *q, uint32_t row,
                                     const struct heft_quant_weight *weight);
/* "[2,3]" of a shape, for messages. */
struct heft_quant_shape_text {
    char text[120];
};
struct heft_quant_shape_text heft_quant_shape(const struct heft_row *row);
/* Whether a row has exactly this shape. */
bool heft_quant_has_shape(const struct heft_row *row, unsigned rank, const uint64_t *shape);
/* HEFT_UNSUPPORTED or another code about a row: "tensor NAME: …". Always returns false. */
bool heft_quant_refuse(const struct heft_quant *q, const struct heft_row *row, enum heft_code code,
                       const char *format, ...) HEFT_PRINTF(4, 5);
/* Adds a note for the user, unless it is there already. False if memory ran out. */
HEFT_CHECKED bool heft_quant_note(struct heft_quant *q, const char *format, ...) HEFT_PRINTF(2, 3);
/* Finds the member of config->quantization with that key by binary search; NULL if there is none. */
HEFT_CHECKED bool heft_quant_member(struct heft_quant *q, struct heft_str key,
                                    const struct heft_quant_node **out);
/* modelopt: the algorithm of a weight, by quant_algo or quantized_layers. HEFT_UNSUPPORTED if the map has not
 * its module. */
HEFT_CHECKED bool heft_quant_algorithm(struct heft_quant *q, const struct heft_row *weight,
                                       struct heft_str *out);
/* Reads the elements [first, first + n) of a stored row of a plain dtype. */
HEFT_CHECKED bool heft_quant_read(struct heft_quant *q, const struct heft_row *row, uint64_t first,
                                  size_t n, void *out);
/* Frees what is not in q->mem. */
void heft_quant_release(struct heft_quant *q);
/* Number of elements of a validated row. */
uint64_t heft_quant_elements(const struct heft_row *row);

#endif
