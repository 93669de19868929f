/* differing.c: values that differ between the files of one checkpoint. */
#include "output/differing.h"

#include "output/report.h"
#include "output/value.h"

#include <string.h>

enum { MAX_LINES = 12, MAX_TEXT = 200 };

static const char *const kinds[] = {"metadata", "ties", "values"};

static const char *path_of(const struct heft_checkpoint *c, const struct heft_difference *d)
{
    struct heft_file file = {sizeof file, "", 0};
    (void)heft_file_at(c, d->file, &file);
    return file.path;
}

bool json_differing(struct out *out, const struct heft_checkpoint *c)
{
    struct heft_difference d = HEFT_INIT(struct heft_difference);
    bool fine = true;
    size_t listed = 0;

    if (!heft_difference_count(c))
        return true;
    json_key(out, "differing");
    json_open(out, '[');
    for (; fine && heft_difference_at(c, listed, &d); listed++) {
        json_line(out);
        json_open(out, '{');
        json_member_u64(out, "file", d.file);
        json_member_text(out, "in", kinds[d.kind]);
        json_key(out, "key");
        json_text(out, d.key, d.key_len);
        json_key(out, "value");
        fine = json_value(out, d.value);
        json_close(out, '}');
    }
    json_close(out, ']');
    if (heft_difference_count(c) > listed)
        json_member_u64(out, "differing_more", heft_difference_count(c) - listed);
    return fine;
}

/* Prints a text as it is, another leaf as in JSON; of a container only says that it differs. */
static void print_value(struct out *out, const struct heft_value *value, bool all)
{
    if (value->kind == HEFT_VALUE_STRING) {
        const bool whole = all || value->text_len <= MAX_TEXT;
        out_text(out, " = ");
        (void)out_name(out, value->text, whole ? value->text_len : MAX_TEXT);
        out_text(out, whole ? "" : "…");
    } else if (!value->first_child) {
        out_text(out, " = ");
        (void)json_value(out, value); /* cannot fail: a value without children needs no memory */
        out->separate = false;
    } else {
        out_text(out, " differs");
    }
}

void print_differing(struct out *out, const struct heft_checkpoint *c, const char *label,
                     size_t width, bool all)
{
    const size_t n = heft_difference_count(c);
    struct heft_difference d = HEFT_INIT(struct heft_difference);
    size_t i = 0;

    for (; (all || i < MAX_LINES) && heft_difference_at(c, i, &d); i++) {
        out_text(out, i ? "" : label);
        out_fill(out, ' ', width - (i ? 0 : strlen(label)));
        (void)out_name(out, d.key, d.key_len);
        print_value(out, d.value, all);
        out_text(out, " in ");
        (void)out_name(out, path_of(c, &d), strlen(path_of(c, &d)));
        out_char(out, '\n');
    }
    if (i == n)
        return;
    out_fill(out, ' ', width);
    out_text(out, "… ");
    out_u64(out, n - i);
    out_text(out, " more\n");
}

static bool is_at(const struct heft_difference *d, const char *path)
{
    const size_t n = strlen(path);
    return d->kind == HEFT_DIFFERING_VALUE && d->key_len >= n && !memcmp(d->key, path, n) &&
           (d->key_len == n || d->key[n] == '.');
}

void report_differing(const struct options *options, const struct heft_checkpoint *c,
                      const char *path)
{
    struct heft_difference d = HEFT_INIT(struct heft_difference);

    for (size_t i = 0; heft_difference_at(c, i, &d); i++)
        if (is_at(&d, path))
            report_note(options,
                        "%s: has another value of %s; the value of the first file is shown",
                        path_of(c, &d), d.key);
}
