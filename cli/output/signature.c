/* signature.c: prints one signature of a SavedModel: get MODEL signature:KEY.
 *
 * The default is JSON, as in info --json. With --signature it is the JSON Schema of a predict
 * request of TensorFlow Serving. The request has either "instances", a list with one item per
 * example (tensors without their first dimension), or "inputs" with whole tensors. If there is only
 * one input, its name may be omitted. Strings that are not UTF-8 are written as {"b64": …}. */
#include "output/report.h"
#include "output/saved_model.h"
#include "output/value.h"

#include <stdlib.h>

#define PREFIX "signature:"

bool is_signature(const struct heft_checkpoint *c, const char *name)
{
    return strncmp(name, PREFIX, sizeof PREFIX - 1) == 0 &&
           value_member(heft_file_info(c), "metagraphs") != NULL;
}

/* ---- choosing a signature -------------------------------------------------------------------- */

static bool has_tag(const struct heft_value *graph, const char *tag, size_t n)
{
    const struct heft_value *v = value_member(graph, "tags");

    for (v = v ? v->first_child : NULL; v; v = v->next_sibling)
        if (v->text_len == n && memcmp(v->text, tag, n) == 0)
            return true;
    return false;
}

static size_t count_tags(const struct heft_value *graph)
{
    const struct heft_value *v = value_member(graph, "tags");
    size_t n = 0;

    for (v = v ? v->first_child : NULL; v; v = v->next_sibling)
        n++;
    return n;
}

/* Whether a text such as "serve,gpu" is the set of the graph's tags, in any order; spaces around
 * tags are ignored. */
static bool has_tag_set(const struct heft_value *graph, const char *set)
{
    size_t found = 0;

    for (const char *at = set; *at;) {
        const size_t skip = strspn(at, " ,"), n = strcspn(at + skip, ",");
        size_t kept = n;

        while (kept && at[skip + kept - 1] == ' ')
            kept--;
        if (kept && !has_tag(graph, at + skip, kept))
            return false;
        found += kept > 0;
        at += skip + n;
    }
    return found == count_tags(graph);
}

/* Finds the signature `key` in the meta graph with these tags (NULL: in any). *n is the number of
 * matches. */
static const struct heft_value *find_signature(const struct heft_value *graphs, const char *key,
                                               const char *tags, size_t *n)
{
    const struct heft_value *found = NULL;

    *n = 0;
    for (const struct heft_value *g = graphs->first_child; g; g = g->next_sibling) {
        const struct heft_value *const one = value_member(value_member(g, "signatures"), key);

        if (!one || (tags && !has_tag_set(g, tags)))
            continue;
        found = one;
        ++*n;
    }
    return found;
}

/* ---- JSON Schema ----------------------------------------------------------------------------- */

static const char *json_type(const char *dtype)
{
    static const char *const integers[] = {"I8",   "I16", "I32", "I64", "U8",   "U16",
                                           "U32",  "U64", "QI8", "QU8", "QI16", "QU16",
                                           "QI32", "I4",  "U4",  "I2",  "U2"};

    for (size_t i = 0; i < sizeof integers / sizeof *integers; i++)
        if (!strcmp(dtype, integers[i]))
            return "integer";
    if (!strcmp(dtype, "STRING"))
        return "string";
    return !strcmp(dtype, "BOOL") ? "boolean" : "number";
}

/* Writes "type": "number"; strings may also be an object {"b64": "…"}. */
static void put_element(struct out *out, const char *dtype)
{
    const char *const type = json_type(dtype);

    if (strcmp(type, "string") != 0) {
        json_member_text(out, "type", type);
        return;
    }
    json_key(out, "anyOf");
    json_open(out, '[');
    json_open(out, '{');
    json_member_text(out, "type", "string");
    json_close(out, '}');
    json_open(out, '{');
    json_member_text(out, "type", "object");
    json_key(out, "required");
    json_open(out, '[');
    json_text(out, "b64", 3);
    json_close(out, ']');
    json_key(out, "properties");
    json_open(out, '{');
    json_key(out, "b64");
    json_open(out, '{');
    json_member_text(out, "type", "string");
    json_member_text(out, "contentEncoding", "base64");
    json_close(out, '}');
    json_close(out, '}');
    json_close(out, '}');
    json_close(out, ']');
}

/* Writes the schema of a tensor as nested arrays, one level per dimension; the first one is left
 * out if without_first. A tensor of unknown rank may be anything. */
static void put_tensor(struct out *out, const struct heft_value *info, bool without_first)
{
    const struct heft_value *const shape = value_member(info, "shape");
    const struct heft_value *dim = shape ? shape->first_child : NULL;
    const char *const dtype = value_member(info, "dtype")->text;
    size_t depth = 0;

    json_open(out, '{');
    if (!shape || shape->kind == HEFT_VALUE_NULL) {
        json_member_text(out, "description", dtype);
        json_close(out, '}');
        return;
    }
    if (dim && without_first)
        dim = dim->next_sibling;
    for (; dim; dim = dim->next_sibling, depth++) {
        json_member_text(out, "type", "array");
        if (dim->as.integer >= 0) {
            json_member_u64(out, "minItems", (uint64_t)dim->as.integer);
            json_member_u64(out, "maxItems", (uint64_t)dim->as.integer);
        }
        json_key(out, "items");
        json_open(out, '{');
    }
    put_element(out, dtype);
    for (; depth; depth--)
        json_close(out, '}');
    json_close(out, '}');
}

/* Writes the schema of an object with one member per input. A single input may also be given
 * without its name. An instance (without_first) allows no other members. */
static void put_inputs(struct out *out, const struct heft_value *inputs, bool without_first)
{
    const struct heft_value *const first = inputs->first_child;
    const bool single = first && !first->next_sibling;

    json_open(out, '{');
    if (single) {
        json_key(out, "anyOf");
        json_open(out, '[');
        put_tensor(out, first, without_first);
        json_open(out, '{');
    }
    json_member_text(out, "type", "object");
    json_key(out, "required");
    json_open(out, '[');
    for (const struct heft_value *v = first; v; v = v->next_sibling)
        json_text(out, v->key, v->key_len);
    json_close(out, ']');
    json_key(out, "properties");
    json_open(out, '{');
    for (const struct heft_value *v = first; v; v = v->next_sibling) {
        json_key_n(out, v->key, v->key_len);
        put_tensor(out, v, without_first);
    }
    json_close(out, '}');
    if (without_first)
        json_member_bool(out, "additionalProperties", false);
    if (single) {
        json_close(out, '}');
        json_close(out, ']');
    }
    json_close(out, '}');
}

static void put_name(struct out *out, const char *key)
{
    json_key(out, "signature_name");
    json_open(out, '{');
    json_member_text(out, "const", key);
    if (!strcmp(key, "serving_default"))
        json_member_text(out, "default", key);
    json_close(out, '}');
}

static void put_alternative(struct out *out, const char *name, const char *key)
{
    json_open(out, '{');
    json_key(out, "required");
    json_open(out, '[');
    if (strcmp(key, "serving_default") != 0)
        json_text(out, "signature_name", strlen("signature_name"));
    json_text(out, name, strlen(name));
    json_close(out, ']');
    json_close(out, '}');
}

static void put_schema(struct out *out, const struct heft_value *signature)
{
    const struct heft_value *const inputs = value_member(signature, "inputs");

    json_open(out, '{');
    json_member_text(out, "$schema", "https://json-schema.org/draft/2020-12/schema");
    json_member_text(out, "title", signature->key);
    json_member_text(out, "type", "object");
    json_key(out, "properties");
    json_open(out, '{');
    put_name(out, signature->key);
    json_key(out, "instances");
    json_open(out, '{');
    json_member_text(out, "type", "array");
    json_member_u64(out, "minItems", 1);
    json_key(out, "items");
    put_inputs(out, inputs, true);
    json_close(out, '}');
    json_key(out, "inputs");
    put_inputs(out, inputs, false);
    json_close(out, '}');
    json_key(out, "oneOf");
    json_open(out, '[');
    put_alternative(out, "instances", signature->key);
    put_alternative(out, "inputs", signature->key);
    json_close(out, ']');
    json_close(out, '}');
}

bool get_signature(struct out *out, const struct heft_checkpoint *c, const char *name,
                   const struct options *options, struct heft_error *err)
{
    const char *const key = name + sizeof PREFIX - 1;
    size_t n;
    const struct heft_value *const found =
        find_signature(value_member(heft_file_info(c), "metagraphs"), key, options->tag_set, &n);

    if (n == 0)
        return usage_error(err, "there is no signature %s%s%s", key,
                           options->tag_set ? " in a meta graph of the tags " : "",
                           options->tag_set ? options->tag_set : "");
    if (n > 1)
        return usage_error(err, "%zu meta graphs have the signature %s; choose one with --tag-set",
                           n, key);
    if (options->signature)
        put_schema(out, found);
    else if (!json_value(out, found))
        return no_memory(err, "the signature");
    out_char(out, '\n');
    return true;
}
