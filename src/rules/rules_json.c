/* rules_json.c: numbers of json files beside the input, such as config.json and params.json. The file name has been
 * checked to be a plain one. Of equal keys the last one counts, as in Python. */
#include "rules/rules_parts.h"
#include "wire/json.h"

struct lookup {
    struct heft_json json;
    const struct heft_rules *rules;
    const struct heft_variable *variable;
    const char *path; /* of the file, for errors */
    struct heft_json_lookup *out;
    struct heft_error *err;
};

static bool refuse_value(const struct lookup *l, const char *what)
{
    return heft_rules_refuse(
        l->rules, l->variable->line, l->err,
        "found %s as %.60s in %.120s for $%s, expected a whole number from 0 on", what,
        l->variable->keys[l->variable->n_keys - 1], l->path, l->variable->name);
}

/* Takes the value of the last key, whose first token is given. */
static bool take_value(struct lookup *l, enum heft_json_token token)
{
    uint64_t value;

    if (token == HEFT_JSON_NULL)
        return true;
    if (token != HEFT_JSON_NUMBER)
        return token != HEFT_JSON_ERROR && refuse_value(l, heft_json_token_name(token));
    if (!heft_json_u64(&l->json, &value) || value >= HEFT_RULES_END) {
        char number[40];
        const size_t n = heft_min_size(l->json.text.n, sizeof number - 1);

        memcpy(number, l->json.text.p, n);
        number[n] = '\0';
        return refuse_value(l, number);
    }
    l->out->value = value;
    l->out->is_found = true;
    return true;
}

/* Reads a member of the dict that `depth` keys led to, from its key on. *deeper: its value is the next dict. */
static bool take_member(struct lookup *l, uint32_t depth, bool *deeper)
{
    const struct heft_variable *const v = l->variable;

    *deeper = false;
    if (!heft_str_is(l->json.text, v->keys[depth]))
        return heft_json_skip(&l->json);
    l->out->is_found = false; /* an earlier key of the same name does not count */
    if (depth + 1 == v->n_keys)
        return take_value(l, heft_json_next(&l->json));
    switch (heft_json_next(&l->json)) {
    case HEFT_JSON_OBJECT:
        *deeper = true;
        return true;
    case HEFT_JSON_NULL:
        return true;
    case HEFT_JSON_ERROR:
        return false;
    default:
        return heft_rules_refuse(
            l->rules, v->line, l->err,
            "found %.60s in %.120s for $%s, which has no keys, expected a dict", v->keys[depth],
            l->path, v->name);
    }
}

/* Walks the file to its end, along the path of keys. */
static bool walk_file(struct lookup *l)
{
    uint32_t depth = 0;

    if (heft_json_next(&l->json) != HEFT_JSON_OBJECT)
        return l->err->code == HEFT_OK
                   ? heft_rules_refuse(l->rules, l->variable->line, l->err,
                                       "%.200s is no dict of keys, expected one for $%s", l->path,
                                       l->variable->name)
                   : false;
    for (;;) {
        const enum heft_json_token token = heft_json_next(&l->json);
        bool deeper;

        if (token == HEFT_JSON_OBJECT_END) {
            if (depth == 0)
                return heft_json_next(&l->json) == HEFT_JSON_END;
            depth--;
        } else if (token != HEFT_JSON_KEY || !take_member(l, depth, &deeper)) {
            return false;
        } else {
            depth += deeper;
        }
    }
}

static bool read_file(struct lookup *l, const struct heft_source *source)
{
    struct heft_arena scratch = {0};
    struct heft_bytes text;
    bool ok;

    if (source->size > HEFT_RULES_JSON)
        return heft_fail(l->err, HEFT_LIMIT, HEFT_NO_OFFSET,
                         "%" PRIu64 " bytes, a json file of rules may have %u", source->size,
                         (unsigned)HEFT_RULES_JSON);
    ok = heft_source_fetch(source, 0, source->size, &scratch, &text, l->err);
    if (ok) {
        heft_json_begin(&l->json, text, 0, &scratch, l->err);
        heft_json_as_python(&l->json);
        ok = walk_file(l);
    }
    heft_arena_release(&scratch);
    return ok;
}

/* Path of the file; NULL if memory ran out. */
static const char *file_path(struct heft_variables *v, const char *name, struct heft_error *err)
{
    const char *const input = v->input;
    const size_t n = strlen(input);

    if (heft_files_kind(v->files, input) != HEFT_PATH_DIR)
        return heft_arena_printf(&v->mem, err, "%.*s%s", (int)heft_path_folder(input), input, name);
    return heft_arena_printf(&v->mem, err, "%s%s%s", input, n && input[n - 1] == '/' ? "" : "/",
                             name);
}

bool heft_json_lookup(struct heft_variables *variables, const struct heft_variable *variable,
                      struct heft_json_lookup *out, struct heft_error *err)
{
    struct heft_error found = {0};
    struct lookup l = {.rules = variables->rules, .variable = variable, .out = out, .err = &found};
    struct heft_source source;
    bool ok;

    *out = (struct heft_json_lookup){.missing = "no file is beside the input"};
    if (!variables->input)
        return true;
    l.path = file_path(variables, variable->file, err);
    if (!l.path)
        return false;
    out->missing = heft_arena_printf(&variables->mem, err, "there is no file %.150s", l.path);
    if (!out->missing)
        return false;
    if (heft_files_kind(variables->files, l.path) == HEFT_PATH_NONE)
        return true;
    out->missing = heft_arena_printf(&variables->mem, err, "%.150s has no %.60s", l.path,
                                     variable->keys[variable->n_keys - 1]);
    ok = out->missing && heft_files_open(variables->files, &source, l.path, &found);
    if (ok) {
        ok = read_file(&l, &source);
        heft_source_close(&source);
        if (!ok && found.code != HEFT_USAGE)
            heft_error_file(&found, l.path);
    }
    if (!ok && found.code != HEFT_OK)
        *err = found;
    return ok;
}
