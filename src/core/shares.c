/* shares.c: divides items among ranks, chooses the rank of those that several ranks have, and cuts
 * rows. O(ranks × items), as the output is.
 *
 * The planned bytes of the ranks are the leaves of a tournament tree: each inner node has the minimum of
 * its two children, so that the leftmost minimum of a range is found in O(log ranks). */
#include "core/shares.h"

#include "base/text.h"
#include "core/reader.h"

enum { NAMES_SHOWN = 8 };

/* ---- requests ---------------------------------------------------------------------------------- */

struct wish {
    uint64_t ranks;
    uint64_t dim;
    bool is_exact; /* it names one tensor, which must have that dimension */
};

struct dividing {
    struct heft_shares *shares;
    struct heft_plan *plan;
    uint64_t *least; /* tournament tree; leaves [half, half + n_ranks) */
    size_t half;
    struct heft_arena scratch;
};

static const char *read_number(const char *p, uint64_t *out)
{
    const char *const begin = p;

    for (*out = 0; *p >= '0' && *p <= '9' && *out <= UINT16_MAX; p++)
        *out = *out * 10 + (uint64_t)(*p - '0');
    return p > begin ? p : NULL;
}

static bool parse_wish(const struct heft_rule *rule, uint32_t n_ranks, struct wish *out,
                       struct heft_error *err)
{
    const char *p = rule->right;

    *out = (struct wish){.ranks = 1, .is_exact = !strpbrk(rule->left, "*?[")};
    if (strcmp(p, "whole") == 0)
        return true;
    p = read_number(p, &out->dim);
    p = p && *p == ':' ? read_number(p + 1, &out->ranks) : NULL;
    return (p && !*p && out->dim < HEFT_ROW_DIMS && out->ranks >= 1 && out->ranks <= n_ranks) ||
           heft_fail(
               err, HEFT_USAGE, HEFT_NO_OFFSET,
               "partition \"%s\": expected whole, or AXIS:N with N up to the number of ranks, "
               "%" PRIu32,
               rule->right, n_ranks);
}

/* The last matching rule decides, or else the options. */
static bool find_wish(const struct dividing *d, struct heft_str name, struct wish *wish,
                      struct heft_error *err)
{
    const struct heft_plan_request *const request = &d->plan->request;

    *wish = (struct wish){.ranks = d->shares->n_ranks,
                          .dim = heft_plan_option(d->plan, HEFT_SHARES_DIM).number};
    for (size_t i = request->n_rules; i > 0; i--) {
        const struct heft_rule *const rule = &request->rules[i - 1];

        if (rule->kind == HEFT_RULE_PARTITION && heft_glob_match(heft_str_of(rule->left), name))
            return parse_wish(rule, d->shares->n_ranks, wish, err);
    }
    return true;
}

/* Whether the elements of the item can be cut along any dimension. */
static bool can_cut(const struct heft_export_item *item)
{
    const enum heft_dtype dtype = (enum heft_dtype)item->row->dtype;

    return heft_dtype_is_plain(dtype) || (heft_dtype_is_scaled(dtype) && item->as != dtype);
}

static bool divide_item(const struct dividing *d, size_t i, struct heft_error *err)
{
    const struct heft_export_item *const item = &d->shares->exports->items[i];
    struct heft_share *const share = &d->shares->list[i];
    const unsigned rank = item->row->rank;
    struct wish wish;

    *share = (struct heft_share){.ranks = 1, .owner = HEFT_NONE};
    if (!find_wish(d, item->name, &wish, err))
        return heft_error_about(err, "tensor", item->name);
    if (wish.is_exact && wish.ranks > 1 && wish.dim >= rank) {
        heft_fail(err, HEFT_USAGE, HEFT_NO_OFFSET,
                  "a partition along axis %" PRIu64 ", the tensor has %u dimensions", wish.dim,
                  rank);
        return heft_error_about(err, "tensor", item->name);
    }
    if (wish.ranks == 1 || rank == 0 || !can_cut(item))
        return true;
    share->dim = (uint8_t)heft_min_u64(wish.dim, rank - 1u);
    share->each = item->row->shape[share->dim] / wish.ranks +
                  (item->row->shape[share->dim] % wish.ranks != 0);
    share->ranks = share->each ? (uint32_t)wish.ranks : 1;
    return true;
}

/* ---- choosing ranks ---------------------------------------------------------------------------- */

static bool plant_tree(struct dividing *d, struct heft_error *err)
{
    for (d->half = 1; d->half < d->shares->n_ranks; d->half *= 2)
        continue;
    d->least = heft_arena_alloc(&d->scratch, 2 * d->half * sizeof *d->least, err);
    for (size_t i = 1; d->least && i < 2 * d->half; i++)
        d->least[i] = i >= d->half + d->shares->n_ranks ? UINT64_MAX : 0;
    for (size_t i = d->half; d->least && i > 1; i--)
        d->least[i - 1] = heft_min_u64(d->least[2 * i - 2], d->least[2 * i - 1]);
    return d->least != NULL;
}

/* Adds bytes to a rank. The sum stays below UINT64_MAX, the mark of absent ranks. */
static void weigh_rank(struct dividing *d, uint32_t rank, uint64_t bytes)
{
    size_t at = d->half + rank;

    d->least[at] += heft_min_u64(bytes, UINT64_MAX - 1 - d->least[at]);
    for (at /= 2; at > 0; at /= 2)
        d->least[at] = heft_min_u64(d->least[2 * at], d->least[2 * at + 1]);
}

/* Leftmost rank of [first, end) with the fewest bytes. */
static uint32_t lightest(const struct dividing *d, uint32_t first, uint32_t end)
{
    size_t lo = d->half + first, hi = d->half + end, left = 0, right = 0;

    for (; lo < hi; lo /= 2, hi /= 2) {
        if (lo % 2 == 1) {
            left = !left || d->least[lo] < d->least[left] ? lo : left;
            lo++;
        }
        if (hi % 2 == 1) {
            hi--;
            right = !right || d->least[hi] <= d->least[right] ? hi : right;
        }
    }
    if (!left || (right && d->least[right] < d->least[left]))
        left = right;
    while (left < d->half)
        left = d->least[2 * left] <= d->least[2 * left + 1] ? 2 * left : 2 * left + 1;
    return (uint32_t)(left - d->half);
}

/* Slots of CPython's set after n additions. */
static uint64_t set_slots(uint64_t n)
{
    uint64_t slots = 8;

    for (uint64_t fill = 1; fill <= n; fill++) {
        const uint64_t wanted = fill * (fill > 50000 ? 2 : 4);

        if (fill * 5 < (slots - 1) * 3)
            continue;
        for (slots = 8; slots <= wanted; slots *= 2)
            continue;
    }
    return slots;
}

/* The rank of an empty share that the ranks [first, end) have. torch iterates over a set of their numbers,
 * which begins with the one of the smallest slot, and the first of several minima is chosen. */
static uint32_t choose_among(const struct dividing *d, uint32_t first, uint32_t end)
{
    const uint64_t slots = set_slots(end - first);
    const uint64_t wrap = (first + slots - 1) / slots * slots;
    uint32_t before, after;

    if (wrap <= first || wrap >= end)
        return lightest(d, first, end);
    before = lightest(d, (uint32_t)wrap, end);
    after = lightest(d, first, (uint32_t)wrap);
    return d->least[d->half + after] < d->least[d->half + before] ? after : before;
}

/* Bytes by which torch weighs a share: those of the whole tensor. */
static uint64_t weight_of(const struct heft_export_item *item)
{
    return heft_max_u64(item->bytes, 1);
}

/* Shares that have elements. */
static uint32_t full_shares(const struct heft_export_item *item, const struct heft_share *share)
{
    return share->ranks == 1 ? 1 : (uint32_t)((item->row->shape[share->dim] - 1) / share->each + 1);
}

static void choose_owners(struct dividing *d)
{
    const struct heft_export_list *const exports = d->shares->exports;

    for (uint32_t rank = 0; rank < d->shares->n_ranks; rank++)
        for (size_t i = 0; i < exports->n_items; i++) {
            struct heft_share *const share = &d->shares->list[i];
            const uint32_t full = full_shares(&exports->items[i], share);
            uint32_t to = rank;

            if (rank == 0 && share->ranks == 1)
                share->owner = to = lightest(d, 0, d->shares->n_ranks);
            else if (rank == full && rank < share->ranks)
                share->owner = to = choose_among(d, rank, share->ranks);
            else if (rank >= full)
                continue;
            weigh_rank(d, to, weight_of(&exports->items[i]));
        }
}

/* ---- dividing ---------------------------------------------------------------------------------- */

/* Notes the items that are whole because their elements cannot be cut. */
static bool note_whole(const struct dividing *d, struct heft_error *err)
{
    const struct heft_export_list *const exports = d->shares->exports;
    struct heft_buf names = {0};
    struct heft_str text;
    size_t n = 0;

    for (size_t i = 0; i < exports->n_items && d->shares->n_ranks > 1; i++)
        if (exports->items[i].row->rank > 0 && !can_cut(&exports->items[i]) && n++ < NAMES_SHOWN)
            heft_buf_printf(&names, "%s%s", n > 1 ? ", " : "", exports->items[i].name.p);
    if (n > NAMES_SHOWN)
        heft_buf_printf(&names, " and %zu more", n - NAMES_SHOWN);
    return heft_buf_take(&names, d->plan->mem, &text, err) &&
           (n == 0 ||
            heft_plan_note(d->plan,
                           heft_arena_printf(d->plan->mem, err,
                                             "stored by one rank, elements are not whole bytes: %s",
                                             text.p),
                           err));
}

bool heft_shares_init(struct heft_shares *out, struct heft_plan *plan,
                      const struct heft_export_list *exports, struct heft_error *err)
{
    const struct heft_option_value ranks = heft_plan_option(plan, HEFT_SHARES_RANKS);
    struct dividing d = {.shares = out, .plan = plan, .scratch = {.budget = plan->mem->budget}};
    bool ok;

    *out = (struct heft_shares){.exports = exports,
                                .n_ranks = ranks.is_given ? (uint32_t)ranks.number : 1};
    out->list = heft_arena_zero(plan->mem, exports->n_items + 1, sizeof *out->list, err);
    ok = out->list && plant_tree(&d, err);
    for (size_t i = 0; ok && i < exports->n_items; i++)
        ok = divide_item(&d, i, err);
    if (ok)
        choose_owners(&d);
    heft_arena_release(&d.scratch);
    return ok && note_whole(&d, err);
}

bool heft_shares_box(const struct heft_shares *shares, size_t item, uint32_t rank,
                     struct heft_share_box *out)
{
    const struct heft_share *const share = &shares->list[item];
    const struct heft_row *const row = shares->exports->items[item].row;
    uint64_t n;

    *out = (struct heft_share_box){.is_whole = share->ranks == 1};
    if (out->is_whole)
        return rank == share->owner;
    if (rank >= share->ranks)
        return false;
    n = row->shape[share->dim];
    out->dim = share->dim;
    out->start = rank > n / share->each ? n : heft_min_u64(rank * share->each, n);
    out->extent = heft_min_u64(share->each, n - out->start);
    return out->extent > 0 || rank == share->owner;
}

bool heft_shares_item(const struct heft_shares *shares, size_t item,
                      const struct heft_share_box *box, struct heft_arena *mem,
                      struct heft_export_item *out, struct heft_error *err)
{
    const struct heft_row *const row = shares->exports->items[item].row;
    struct heft_range ranges[HEFT_ROW_DIMS] = {{0}};
    struct heft_row *slice;

    *out = shares->exports->items[item];
    if (box->is_whole)
        return true;
    for (unsigned d = 0; d < row->rank; d++)
        ranges[d] = (struct heft_range){0, row->shape[d], false};
    ranges[box->dim] = (struct heft_range){box->start, box->start + box->extent, false};
    slice = heft_arena_alloc(mem, sizeof *slice, err);
    if (!slice ||
        !heft_row_slice_as(row, ranges, row->rank, (enum heft_dtype)out->as, mem, slice, err) ||
        !heft_row_size_as(slice, (enum heft_dtype)out->as, &out->bytes, err)) {
        heft_error_about(err, "tensor", out->name);
        return false;
    }
    out->row = slice;
    return true;
}

/* ---- the output directory ---------------------------------------------------------------------- */

static bool is_empty_folder(const char *path, bool *is_empty, struct heft_error *err)
{
    struct heft_arena mem = {0};
    const char *const *names;
    size_t n = 0;
    bool is_folder, ok = heft_path_is_folder(path, &is_folder, err);

    if (ok && is_folder)
        ok = heft_path_list(path, &mem, &names, &n, err);
    *is_empty = n == 0;
    heft_arena_release(&mem);
    return ok;
}

bool heft_shares_place(struct heft_plan *plan, const char *output, const char **folder,
                       struct heft_error *err)
{
    struct heft_str path = heft_str_of(output);
    const char *plain;
    bool is_empty;

    while (path.n > 1 && path.p[path.n - 1] == '/')
        path.n--;
    plain = heft_arena_text(plan->mem, path, err);
    if (!plain || !is_empty_folder(plain, &is_empty, err))
        return false;
    plan->prefix =
        heft_arena_printf(plan->mem, err, "%s%s", plain, heft_str_ends(path, "/") ? "" : "/");
    plan->whole = is_empty ? plain : NULL;
    plan->retires_first = true;
    *folder = plan->prefix;
    return *folder != NULL;
}
