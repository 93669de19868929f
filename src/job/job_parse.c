/* job_parse.c: reads the file of a plan. It is untrusted: an error names its line.
 *
 *     heft plan 1 | version V | lines of the request | derived lines | id HEX
 *
 * Of the derived lines only the targets are kept, for heft_job_abort. The others are made again by whoever
 * opens the job, and compared. */
#include "base/hex.h"
#include "job/job_parts.h"

#define MOST_WORDS 6

/* Lists grow on the heap while lines are read; the parser owns them until then. */
struct parser {
    struct heft_job *job;
    struct heft_str rest; /* of the text */
    size_t line;          /* number of the current one, from 1 */
    char *words[MOST_WORDS];
    size_t n_words;
    struct heft_rule *rules;
    struct heft_option *reads, *writes;
    size_t rules_cap, reads_cap, writes_cap, inputs_cap, files_cap;
    struct heft_error *err;
};

static bool refuse_line(const struct parser *p, const char *what)
{
    return heft_fail(p->err, HEFT_MALFORMED, HEFT_NO_OFFSET, "line %zu of the plan %s", p->line,
                     what);
}

/* Decodes %XX in place. A NUL, which no text of a request has, is refused. */
static bool decode_word(const struct parser *p, char *word)
{
    char *out = word;

    for (const char *in = word; *in; in++) {
        unsigned high, low;

        if (*in != '%') {
            *out++ = *in;
            continue;
        }
        high = heft_hex_digit((uint8_t)in[1]);
        low = high == HEFT_NO_HEX ? HEFT_NO_HEX : heft_hex_digit((uint8_t)in[2]);
        if (low == HEFT_NO_HEX || high + low == 0)
            return refuse_line(p, "has a % without two hexadecimal digits");
        *out++ = (char)(high << 4 | low);
        in += 2;
    }
    *out = '\0';
    return true;
}

static bool split_words(struct parser *p, char *line)
{
    p->n_words = 0;
    for (char *at = line; at; p->n_words++) {
        char *const space = strchr(at, ' ');

        if (p->n_words == MOST_WORDS)
            return refuse_line(p, "has too many words");
        if (space)
            *space = '\0';
        p->words[p->n_words] = at;
        if (!decode_word(p, at))
            return false;
        at = space ? space + 1 : NULL;
    }
    return true;
}

/* Takes the next line; it must end with a newline and be printable ASCII. */
static bool take_line(struct parser *p)
{
    const char *const end = memchr(p->rest.p, '\n', p->rest.n);
    char *line;

    p->line++;
    if (!end)
        return refuse_line(p, "is cut off");
    for (const char *c = p->rest.p; c < end; c++)
        if (*c < ' ' || *c > '~')
            return refuse_line(p, "is not printable ASCII");
    line = heft_arena_text(&p->job->mem, (struct heft_str){p->rest.p, (size_t)(end - p->rest.p)},
                           p->err);
    p->rest.n -= (size_t)(end + 1 - p->rest.p);
    p->rest.p = end + 1;
    return line && split_words(p, line);
}

static bool parse_number(const struct parser *p, const char *word, uint64_t *out)
{
    const char *at = word;

    for (*out = 0; *at >= '0' && *at <= '9'; at++)
        if (*out > (UINT64_MAX - 9) / 10)
            break;
        else
            *out = *out * 10 + (uint64_t)(*at - '0');
    return (at > word && !*at) || refuse_line(p, "has something else where a number is expected");
}

static bool set_field(const struct parser *p, const struct heft_job_field *field)
{
    char *const at = (char *)&p->job->request + field->at;
    const char *const text = p->words[1];
    const bool flag = true;
    uint64_t number;

    if (p->n_words != (field->kind == HEFT_JOB_FLAG ? 1 : 2))
        return refuse_line(p, "has another number of words than expected");
    if (field->kind == HEFT_JOB_NUMBER) {
        if (!parse_number(p, text, &number))
            return false;
        memcpy(at, &number, sizeof number);
    } else if (field->kind == HEFT_JOB_TEXT) {
        memcpy(at, &text, sizeof text);
    } else {
        memcpy(at, &flag, sizeof flag);
    }
    return true;
}

static bool add_text(struct parser *p, const char ***list, size_t *n, size_t *cap, const char *text)
{
    if (!heft_grow(list, cap, *n, 1, sizeof **list, p->err))
        return false;
    (*list)[(*n)++] = text;
    return true;
}

static bool add_option(struct parser *p, struct heft_option **list, size_t *n, size_t *cap)
{
    if (p->n_words != 2 && p->n_words != 3)
        return refuse_line(p, "is no option");
    if (!heft_grow(list, cap, *n, 1, sizeof **list, p->err))
        return false;
    (*list)[(*n)++] = (struct heft_option){p->words[1], p->n_words == 3 ? p->words[2] : NULL};
    return true;
}

static bool add_rule(struct parser *p)
{
    struct heft_convert_options *const o = &p->job->request.convert;
    struct heft_rule rule = {.size = sizeof rule};
    unsigned kind = 0;

    if (p->n_words != 3 && p->n_words != 4)
        return refuse_line(p, "is no rule");
    while (heft_job_rules[kind] && strcmp(heft_job_rules[kind], p->words[1]) != 0)
        kind++;
    if (!heft_job_rules[kind])
        return refuse_line(p, "is a rule of an unknown kind");
    rule.kind = (enum heft_rule_kind)kind;
    rule.left = p->words[2];
    rule.right = p->n_words == 4 ? p->words[3] : NULL;
    if (!heft_grow(&p->rules, &p->rules_cap, o->n_rules, 1, sizeof *p->rules, p->err))
        return false;
    p->rules[o->n_rules++] = rule;
    return true;
}

/* Lines that are made again and compared. */
static bool is_derived(const char *key)
{
    static const char *const keys[] = {"source", "layout", "part", "reads"};

    for (size_t i = 0; i < HEFT_COUNT(keys); i++)
        if (strcmp(keys[i], key) == 0)
            return true;
    return false;
}

static bool parse_line(struct parser *p)
{
    struct heft_job *const job = p->job;
    struct heft_job_request *const r = &job->request;
    const char *const key = p->words[0];

    for (const struct heft_job_field *field = heft_job_fields; field->key; field++)
        if (strcmp(field->key, key) == 0)
            return set_field(p, field);
    if (strcmp(key, "input") == 0 && p->n_words == 2)
        return add_text(p, &r->inputs, &r->n_inputs, &p->inputs_cap, p->words[1]);
    if (strcmp(key, "read-option") == 0)
        return add_option(p, &p->reads, &r->open.n_options, &p->reads_cap);
    if (strcmp(key, "write-option") == 0)
        return add_option(p, &p->writes, &r->convert.n_format_options, &p->writes_cap);
    if (strcmp(key, "rule") == 0)
        return add_rule(p);
    if (strcmp(key, "file") == 0 && p->n_words == 3)
        return add_text(p, &job->files, &job->n_files, &p->files_cap, p->words[2]);
    if (strcmp(key, "folder") == 0 && p->n_words == 2) {
        job->whole = p->words[1];
        return true;
    }
    return is_derived(key) || refuse_line(p, "has an unknown key");
}

static bool parse_head(struct parser *p)
{
    static const struct heft_str magic = {"heft plan ", 10};

    if (p->rest.n < magic.n || memcmp(p->rest.p, magic.p, magic.n) != 0)
        return heft_fail(p->err, HEFT_USAGE, HEFT_NO_OFFSET,
                         "this is not a plan: its first line is not \"heft plan 1\"");
    if (!take_line(p))
        return false;
    if (p->n_words != 3 || strcmp(p->words[2], "1") != 0)
        return heft_fail(p->err, HEFT_UNSUPPORTED, HEFT_NO_OFFSET,
                         "the plan has format %s, this version of heft has format 1", p->words[2]);
    if (!take_line(p))
        return false;
    if (p->n_words != 2 || strcmp(p->words[0], "version") != 0)
        return refuse_line(p, "is not the version");
    return strcmp(p->words[1], heft_version()) == 0 ||
           heft_fail(p->err, HEFT_UNSUPPORTED, HEFT_NO_OFFSET,
                     "the plan was made by heft %s, this is heft %s; plan again, or run all parts "
                     "with the same version",
                     p->words[1], heft_version());
}

/* Checks the line of the id, the last one, against the text before it. */
static bool check_id(struct parser *p, struct heft_str before)
{
    heft_job_digest(before, p->job->id);
    if (p->n_words != 2 || p->rest.n > 0)
        return refuse_line(p, "is not the last one");
    return strcmp(p->words[1], p->job->id) == 0 ||
           heft_fail(p->err, HEFT_USAGE, HEFT_NO_OFFSET,
                     "the plan was changed after it was written: its id is %s, the last line says "
                     "otherwise",
                     p->job->id);
}

static bool check_request(const struct parser *p)
{
    const struct heft_job_request *const r = &p->job->request;

    if (r->n_inputs == 0 || !r->convert.output || p->job->n_files == 0)
        return refuse_line(p, "ends a plan without input, output or files");
    return (r->parts > 0 && r->parts <= HEFT_JOB_PARTS) ||
           heft_fail(p->err, HEFT_MALFORMED, HEFT_NO_OFFSET,
                     "the plan has %" PRIu64 " parts, 1 to %d are allowed", r->parts,
                     HEFT_JOB_PARTS);
}

static bool parse_lines(struct parser *p, struct heft_str text)
{
    if (!parse_head(p))
        return false;
    for (;;) {
        const struct heft_str before = {text.p, text.n - p->rest.n};

        if (!take_line(p))
            return false;
        if (strcmp(p->words[0], "id") == 0)
            return check_id(p, before) && check_request(p);
        if (!parse_line(p))
            return false;
    }
}

bool heft_job_parse(struct heft_job *job, struct heft_str text, struct heft_error *err)
{
    struct parser p = {.job = job, .rest = text, .err = err};
    struct heft_job_request *const r = &job->request;

    const bool ok = parse_lines(&p, text);

    r->open.options = p.reads;
    r->convert.format_options = p.writes;
    r->convert.rules = p.rules;
    r->open.size = sizeof r->open;
    r->limits.size = sizeof r->limits;
    r->convert.size = sizeof r->convert;
    r->open.limits = &r->limits;
    return ok;
}
