/* json_refuse.c: names of tokens, and the error of a token that a reader does not expect. */
#include "wire/json.h"

const char *heft_json_token_name(enum heft_json_token token)
{
    static const char *const names[] = {
        [HEFT_JSON_ERROR] = "an error",
        [HEFT_JSON_OBJECT] = "an object",
        [HEFT_JSON_OBJECT_END] = "the end of an object",
        [HEFT_JSON_ARRAY] = "an array",
        [HEFT_JSON_ARRAY_END] = "the end of an array",
        [HEFT_JSON_KEY] = "a key",
        [HEFT_JSON_STRING] = "a string",
        [HEFT_JSON_NUMBER] = "a number",
        [HEFT_JSON_TRUE] = "true",
        [HEFT_JSON_FALSE] = "false",
        [HEFT_JSON_NULL] = "null",
        [HEFT_JSON_END] = "the end of the text",
    };

    return (size_t)token < HEFT_COUNT(names) ? names[token] : "?";
}

bool heft_json_refuse(const struct heft_json *json, enum heft_json_token found, const char *what,
                      const char *allowed)
{
    if (found == HEFT_JSON_ERROR)
        return false;
    return heft_fail(json->err, HEFT_MALFORMED, json->where, "%s is %s, must be %s", what,
                     heft_json_token_name(found), allowed);
}
