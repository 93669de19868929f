/* rules_lexer.c: tokens of a rules file.
 *
 *     statement   a line, and the lines after it that begin with a blank; empty lines and comments between them
 *                 belong to it
 *     comment     '#' at the begin of a line or after a blank, to the end of the line
 *     word        ends at a blank, ',' or '|'
 *     "…"         any text, with \" \\ \n \t
 *     […]         a shape, where a word would begin */
#include "rules/rules_parts.h"

#include "base/text.h"

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

static uint32_t line_of(struct heft_str text, size_t at)
{
    uint32_t line = 1;

    for (size_t i = 0; i < at; i++)
        line += text.p[i] == '\n';
    return line;
}

/* Index of the first control character other than tab and the ends of lines; n if there is none. */
static size_t find_control(struct heft_str text)
{
    for (size_t i = 0; i < text.n; i++) {
        const unsigned char c = (unsigned char)text.p[i];

        if (c == '\r' && i + 1 < text.n && text.p[i + 1] == '\n')
            continue;
        if ((c < 0x20 && c != '\t' && c != '\n') || c == 0x7f)
            return i;
    }
    return text.n;
}

bool heft_lexer_begin(struct heft_rules_lexer *lexer, const struct heft_rules *rules,
                      struct heft_error *err)
{
    const struct heft_str text = rules->text;
    const struct heft_bytes bytes = {(const uint8_t *)text.p, text.n};
    const size_t bad = heft_utf8_check(bytes), control = find_control(text);

    *lexer = (struct heft_rules_lexer){.rules = rules, .err = err, .line = 1};
    if (bad < text.n && bad <= control)
        return heft_rules_refuse(rules, line_of(text, bad), err,
                                 "found byte 0x%02x, expected text in UTF-8", bytes.p[bad]);
    if (control < text.n)
        return heft_rules_refuse(rules, line_of(text, control), err,
                                 "found the control character 0x%02x, expected text",
                                 bytes.p[control]);
    lexer->at = heft_str_starts(text, HEFT_STR("\xEF\xBB\xBF")) ? 3 : 0;
    return true;
}

/* The next character; '\n' at the end of the text. */
static char peek(const struct heft_rules_lexer *lexer)
{
    const struct heft_str text = lexer->rules->text;

    return lexer->at < text.n ? text.p[lexer->at] : '\n';
}

static bool is_at_end(const struct heft_rules_lexer *lexer)
{
    return lexer->at >= lexer->rules->text.n;
}

static void skip_blanks(struct heft_rules_lexer *lexer)
{
    while (is_blank(peek(lexer)))
        lexer->at++;
}

/* Skips a comment, if one begins here. */
static void skip_comment(struct heft_rules_lexer *lexer, bool after_blank)
{
    if (peek(lexer) != '#' || !after_blank)
        return;
    while (peek(lexer) != '\n')
        lexer->at++;
}

/* At the end of a line: moves to the next line with contents. True if it begins with a blank. */
static bool next_line(struct heft_rules_lexer *lexer)
{
    while (!is_at_end(lexer)) {
        size_t begin;

        lexer->at++; /* the newline */
        lexer->line++;
        begin = lexer->at;
        skip_blanks(lexer);
        skip_comment(lexer, true);
        if (peek(lexer) != '\n') {
            const bool continues = lexer->at > begin;

            if (!continues)
                lexer->at = begin;
            return continues;
        }
    }
    return false;
}

/* Skips blanks, comments, and the ends of lines that the next line continues. True if the statement goes
 * on; else the lexer is at the next statement, or at the end. */
static bool skip_space(struct heft_rules_lexer *lexer)
{
    const size_t begin = lexer->at;

    skip_blanks(lexer);
    skip_comment(lexer, lexer->at > begin);
    return peek(lexer) != '\n' || next_line(lexer);
}

bool heft_lexer_statement(struct heft_rules_lexer *lexer, bool *more)
{
    const size_t begin = lexer->at;

    if (lexer->line == 1) {
        bool continues = false;

        skip_blanks(lexer);
        continues = lexer->at > begin;
        skip_comment(lexer, true);
        if (peek(lexer) == '\n')
            continues = next_line(lexer);
        if (continues)
            return heft_rules_refuse(lexer->rules, lexer->line, lexer->err,
                                     "the line begins with a blank, expected a line before it "
                                     "that it continues");
    }
    *more = !is_at_end(lexer);
    return true;
}

/* Reads the character after a backslash. */
static bool put_escape(struct heft_rules_lexer *lexer, struct heft_buf *out)
{
    const char c = peek(lexer);

    if (c != '"' && c != '\\' && c != 'n' && c != 't')
        return heft_rules_refuse(
            lexer->rules, lexer->line, lexer->err,
            "found a backslash within quotes, expected \\\", \\\\, \\n or \\t");
    heft_buf_char(out, c == 'n' ? '\n' : c == 't' ? '\t' : c);
    lexer->at++;
    return true;
}

static bool put_quoted(struct heft_rules_lexer *lexer, struct heft_buf *out)
{
    for (;;) {
        const char c = peek(lexer);

        if (c == '\n')
            return heft_rules_refuse(lexer->rules, lexer->line, lexer->err,
                                     "the line ends within quotes, expected \"");
        lexer->at++;
        if (c == '"')
            return true;
        if (c != '\\')
            heft_buf_char(out, c);
        else if (!put_escape(lexer, out))
            return false;
    }
}

static bool ends_word(const struct heft_rules_lexer *lexer, char c)
{
    return c == '\n' || c == ',' || c == '|' || is_blank(c) || (lexer->splits_equals && c == '=');
}

static bool take_quoted(struct heft_rules_lexer *lexer, struct heft_rules_token *out)
{
    struct heft_buf text = {.budget = lexer->rules->mem->budget};

    lexer->at++;
    if (!put_quoted(lexer, &text)) {
        heft_buf_release(&text);
        return false;
    }
    out->kind = HEFT_TOKEN_QUOTED;
    if (!heft_buf_take(&text, lexer->rules->mem, &out->text, lexer->err))
        return false;
    return ends_word(lexer, peek(lexer)) ||
           heft_rules_refuse(lexer->rules, lexer->line, lexer->err,
                             "found '%c' after a quote, expected a blank", peek(lexer));
}

/* Copies a shape, which may go on in the next lines. */
static bool put_shape(struct heft_rules_lexer *lexer, struct heft_buf *out)
{
    const uint32_t begin = lexer->line;
    char c = '\0';

    while (c != ']') {
        const uint32_t before = lexer->line;

        if (peek(lexer) == '\n' || is_blank(peek(lexer))) {
            if (!skip_space(lexer))
                return heft_rules_refuse(lexer->rules, begin, lexer->err,
                                         "a shape begins with [, expected ] at its end");
            heft_buf_char(out, ' ');
            for (uint32_t i = before; i < lexer->line; i++)
                heft_buf_char(out, '\n');
            continue;
        }
        c = peek(lexer);
        lexer->at++;
        heft_buf_char(out, c);
    }
    return true;
}

static bool take_shape(struct heft_rules_lexer *lexer, struct heft_rules_token *out)
{
    struct heft_buf text = {.budget = lexer->rules->mem->budget};

    if (!put_shape(lexer, &text)) {
        heft_buf_release(&text);
        return false;
    }
    out->kind = HEFT_TOKEN_SHAPE;
    return heft_buf_take(&text, lexer->rules->mem, &out->text, lexer->err);
}

static bool take_word(struct heft_rules_lexer *lexer, struct heft_rules_token *out)
{
    const size_t begin = lexer->at;

    while (!ends_word(lexer, peek(lexer)) && peek(lexer) != '"')
        lexer->at++;
    out->kind = HEFT_TOKEN_WORD;
    out->text = (struct heft_str){lexer->rules->text.p + begin, lexer->at - begin};
    return peek(lexer) != '"' ||
           heft_rules_refuse(lexer->rules, lexer->line, lexer->err,
                             "found a quote within the word '%.*s', expected all of it in quotes",
                             heft_rules_shown(out->text), out->text.p);
}

bool heft_lexer_next(struct heft_rules_lexer *lexer, struct heft_rules_token *out)
{
    const uint32_t before = lexer->line;
    char c;

    *out = (struct heft_rules_token){.line = before};
    if (!skip_space(lexer))
        return true;
    out->line = lexer->line;
    c = peek(lexer);
    if (c == ',' || c == '|' || (c == '=' && lexer->splits_equals)) {
        out->kind = (uint8_t)(c == ','   ? HEFT_TOKEN_COMMA
                              : c == '|' ? HEFT_TOKEN_BAR
                                         : HEFT_TOKEN_EQUALS);
        out->text = (struct heft_str){lexer->rules->text.p + lexer->at, 1};
        lexer->at++;
        return true;
    }
    if (c == '"')
        return take_quoted(lexer, out);
    return c == '[' ? take_shape(lexer, out) : take_word(lexer, out);
}

bool heft_lexer_raw(struct heft_rules_lexer *lexer, struct heft_rules_token *out)
{
    const uint32_t before = lexer->line;
    size_t begin;

    *out = (struct heft_rules_token){.line = before};
    if (!skip_space(lexer))
        return true;
    out->line = lexer->line;
    begin = lexer->at;
    while (peek(lexer) != '\n' && !is_blank(peek(lexer)))
        lexer->at++;
    out->kind = HEFT_TOKEN_WORD;
    out->text = (struct heft_str){lexer->rules->text.p + begin, lexer->at - begin};
    return true;
}
