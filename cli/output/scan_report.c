/* scan_report.c: prints the report of scan.
 *
 *     danger   import os.system  evil/pytorch_model.bin  position 0  offset 0x0     as it is met
 *     unknown  …                                                                    at the end
 *     allowed  …                                                    at the end, unless hidden
 *     not judged: evil/README.md (text)                                             likewise
 *     2 files: 1 danger, 0 unknown, 0 allowed; 1 not judged                         always
 *
 * Dangers are printed when they are found, the rest at the end. Beyond MOST_HELD bytes of waiting
 * lines, these are printed at once, too. */
#include "output/scan_report.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_HELD = 16 << 20 };

struct held_item {
    struct heft_scan_item item; /* texts are copies in one block, which starts at item.what */
    enum heft_danger danger;
};

struct held_file {
    char *path, *trouble; /* owned; trouble is NULL if there was no error */
    const char *kind;
    enum heft_danger worst;
    bool judged;
};

static const char *const classes[] = {"allowed", "unknown", "danger"};

/* ---- lines of the report ----------------------------------------------------------------- */

static void put_name(struct out *out, const char *name)
{
    (void)out_name(out, name, strlen(name));
}

static void put_text(struct out *out, const struct heft_scan_item *item, enum heft_danger danger)
{
    if (danger != HEFT_ALLOWED)
        out_style(out, danger == HEFT_DANGER ? OUT_BAD : OUT_DOUBTFUL);
    out_text(out, classes[danger]);
    if (danger != HEFT_ALLOWED)
        out_plain(out);
    out_fill(out, ' ', 9 - strlen(classes[danger]));
    put_name(out, item->what);
    out_char(out, ' ');
    put_name(out, item->name);
    out_text(out, "  ");
    put_name(out, item->file);
    if (item->record && *item->record) {
        out_char(out, ':');
        put_name(out, item->record);
    }
    if (item->position != HEFT_NO_OFFSET) {
        out_text(out, "  position ");
        out_u64(out, item->position);
    }
    if (item->offset != HEFT_NO_OFFSET) {
        out_text(out, "  offset ");
        out_hex(out, item->offset, 1);
    }
    out_char(out, '\n');
}

static void put_json(struct out *out, const struct heft_scan_item *item, enum heft_danger danger)
{
    json_line(out);
    json_open(out, '{');
    json_member_text(out, "danger", classes[danger]);
    json_member_text(out, "what", item->what);
    json_member_text(out, "name", item->name);
    json_member_text(out, "file", item->file);
    if (item->record && *item->record)
        json_member_text(out, "record", item->record);
    if (item->position != HEFT_NO_OFFSET)
        json_member_u64(out, "position", item->position);
    if (item->offset != HEFT_NO_OFFSET)
        json_member_u64(out, "offset", item->offset);
    json_close(out, '}');
}

/* ---- held items and files ---------------------------------------------------------------- */

/* Grows a list by at least one element. NULL if memory runs out. */
static void *grow_list(void *list, size_t n, size_t *cap, size_t each)
{
    const size_t more = *cap ? 2 * *cap : 64;
    void *wider;

    if (n < *cap)
        return list;
    wider = realloc(list, more * each);
    if (wider)
        *cap = more;
    return wider;
}

static char *put_copy(char **to, const char *text)
{
    char *const begin = *to;
    const size_t n = strlen(text) + 1;

    memcpy(begin, text, n);
    *to += n;
    return begin;
}

/* False if memory runs out or MOST_HELD is reached. */
static bool hold_item(struct scan_report *r, const struct heft_scan_item *item,
                      enum heft_danger danger)
{
    const char *const record = item->record ? item->record : "";
    const size_t n =
        strlen(item->what) + strlen(item->name) + strlen(item->file) + strlen(record) + 4;
    struct held_item *items;
    char *copy;

    if (r->held_bytes + n + sizeof *items > MOST_HELD)
        return false;
    items = grow_list(r->items, r->n_items, &r->cap_items, sizeof *items);
    copy = items ? malloc(n) : NULL;
    r->items = items ? items : r->items;
    if (!copy)
        return false;
    items[r->n_items] = (struct held_item){*item, danger};
    items[r->n_items].item.what = put_copy(&copy, item->what);
    items[r->n_items].item.name = put_copy(&copy, item->name);
    items[r->n_items].item.file = put_copy(&copy, item->file);
    items[r->n_items].item.record = put_copy(&copy, record);
    r->n_items++;
    r->held_bytes += n + sizeof *items;
    return true;
}

static char *copy_text(const char *text)
{
    const size_t n = strlen(text) + 1;
    char *copy = malloc(n);

    if (copy)
        memcpy(copy, text, n);
    return copy;
}

static bool hold_file(struct scan_report *r, const struct heft_scan_result *result,
                      enum heft_danger worst)
{
    struct held_file *files = grow_list(r->files, r->n_files, &r->cap_files, sizeof *files);
    struct held_file *file;

    if (!files)
        return false;
    r->files = files;
    file = &files[r->n_files];
    *file = (struct held_file){
        .path = copy_text(result->file),
        .trouble = result->trouble ? copy_text(result->trouble->text) : NULL,
        .kind = result->kind,
        .worst = worst,
        .judged = result->judged,
    };
    r->n_files++;
    return file->path && (!result->trouble || file->trouble);
}

/* ---- callbacks --------------------------------------------------------------------------- */

void scan_report_begin(struct scan_report *r, const struct options *options, struct out *out)
{
    *r = (struct scan_report){.out = out,
                              .json = options->json,
                              .hide_allowed = !options->all && (options->quiet_allowed ||
                                                                (out->terminal && !options->json))};
    if (!r->json)
        return;
    json_open(out, '{');
    json_member_u64(out, "heft", 1);
    json_key(out, "items");
    json_open(out, '[');
}

void scan_report_item(struct scan_report *r, const struct heft_scan_item *item,
                      enum heft_danger danger)
{
    r->counts[danger]++;
    if (danger == HEFT_ALLOWED && r->hide_allowed)
        return;
    if (r->json)
        put_json(r->out, item, danger);
    else if (danger == HEFT_DANGER || !hold_item(r, item, danger))
        put_text(r->out, item, danger);
}

void scan_report_file(struct scan_report *r, const struct heft_scan_result *result,
                      enum heft_danger worst)
{
    r->all_files++;
    r->not_judged += !result->judged;
    r->broken |= !result->complete;
    if ((r->json || (!result->judged && !r->hide_allowed && !result->trouble)) &&
        !hold_file(r, result, worst))
        r->no_memory = true;
}

/* ---- summary ----------------------------------------------------------------------------- */

static void put_held(struct scan_report *r, enum heft_danger danger)
{
    for (size_t i = 0; i < r->n_items; i++)
        if (r->items[i].danger == danger)
            put_text(r->out, &r->items[i].item, danger);
}

static void put_count(struct out *out, uint64_t n, const char *word)
{
    out_u64(out, n);
    out_char(out, ' ');
    out_text(out, word);
}

static void put_verdict(struct scan_report *r)
{
    put_count(r->out, r->all_files, r->all_files == 1 ? "file: " : "files: ");
    put_count(r->out, r->counts[HEFT_DANGER], "danger, ");
    put_count(r->out, r->counts[HEFT_UNKNOWN], "unknown, ");
    put_count(r->out, r->counts[HEFT_ALLOWED], "allowed");
    if (r->not_judged) {
        out_text(r->out, "; ");
        put_count(r->out, r->not_judged, "not judged");
    }
    out_char(r->out, '\n');
}

static void end_text(struct scan_report *r)
{
    put_held(r, HEFT_UNKNOWN);
    put_held(r, HEFT_ALLOWED);
    for (size_t i = 0; i < r->n_files; i++) {
        if (!r->files[i].path)
            continue;
        out_text(r->out, "not judged: ");
        put_name(r->out, r->files[i].path);
        out_text(r->out, " (");
        out_text(r->out, r->files[i].kind);
        out_text(r->out, ")\n");
    }
    if (r->all_files || !r->broken)
        put_verdict(r);
}

static void put_file(struct out *out, const struct held_file *file)
{
    json_line(out);
    json_open(out, '{');
    json_member_text(out, "path", file->path);
    json_member_text(out, "kind", file->kind);
    json_member_text(out, "verdict",
                     file->judged || file->worst ? classes[file->worst] : "not judged");
    json_member_bool(out, "judged", file->judged);
    if (file->trouble)
        json_member_text(out, "trouble", file->trouble);
    json_close(out, '}');
}

static void end_json(struct scan_report *r)
{
    struct out *const out = r->out;

    json_close(out, ']');
    json_member_u64(out, "unknown", r->counts[HEFT_UNKNOWN]);
    json_member_u64(out, "danger", r->counts[HEFT_DANGER]);
    json_member_u64(out, "allowed", r->counts[HEFT_ALLOWED]);
    json_member_u64(out, "not_judged", r->not_judged);
    json_member_bool(out, "complete", !r->broken);
    json_key(out, "files");
    json_open(out, '[');
    for (size_t i = 0; i < r->n_files; i++)
        if (r->files[i].path)
            put_file(out, &r->files[i]);
    json_close(out, ']');
    json_close(out, '}');
    out_char(out, '\n');
}

void scan_report_end(struct scan_report *r)
{
    (r->json ? end_json : end_text)(r);
    for (size_t i = 0; i < r->n_items; i++)
        free((void *)(uintptr_t)r->items[i].item.what);
    for (size_t i = 0; i < r->n_files; i++) {
        free(r->files[i].path);
        free(r->files[i].trouble);
    }
    free(r->items);
    free(r->files);
}
