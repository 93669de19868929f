/* test_rules_apply.c: rows through rules files, seen by heft_rules_view: order of results, elements, ties,
 * groups, many rules; views of views; with memory running out. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "failures.h"
#include "scratch.h"
#include "heft/heft.h"

enum { MOST = 16, BYTES = 64 };

/* A tensor of U8: elements first, first + 1, … */
struct given {
    const char *name;
    uint64_t shape[3];
    unsigned rank;
    uint8_t first;
};

struct fixture {
    struct heft_checkpoint *source, *view;
    struct heft_rule rules[MOST];
    char *folder, *path;
    size_t n_rules;
};

static uint8_t data[MOST][BYTES];

static struct heft_checkpoint *make_source(const struct given *given, size_t n)
{
    struct heft_own_tensor tensors[MOST];
    struct heft_error err = {0};

    assert_true(n <= MOST);
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < BYTES; k++)
            data[i][k] = (uint8_t)(given[i].first + k);
        tensors[i] = (struct heft_own_tensor){.size = sizeof *tensors,
                                              .name = given[i].name,
                                              .name_len = strlen(given[i].name),
                                              .dtype = HEFT_U8,
                                              .rank = given[i].rank,
                                              .shape = given[i].shape,
                                              .data = data[i]};
    }
    return heft_from_tensors(tensors, n, NULL, 0, &err);
}

static void write_rules(struct fixture *f, const char *text)
{
    f->folder = heft_scratch_new();
    heft_scratch_write(f->folder, "a.rules", text, strlen(text));
    f->path = heft_scratch_path(f->folder, "a.rules");
    f->rules[0] = (struct heft_rule){sizeof *f->rules, HEFT_RULE_FILE, f->path, NULL};
    f->n_rules = 1;
}

static void begin(struct fixture *f, const struct given *given, size_t n, const char *text)
{
    struct heft_error err = {0};

    *f = (struct fixture){.source = make_source(given, n)};
    assert_non_null(f->source);
    write_rules(f, text);
    f->view = heft_rules_view(f->source, NULL, f->rules, f->n_rules, &err);
    if (!f->view)
        fail_msg("%s", err.text);
}

static void end(struct fixture *f)
{
    heft_close(f->view);
    heft_close(f->source);
    free(f->path);
    heft_scratch_free(f->folder);
}

/* Tensor i has the name, the shape as text, and these elements. */
static void expect_tensor(struct fixture *f, size_t i, const char *name, const char *shape,
                          const char *elements)
{
    struct heft_tensor t = HEFT_INIT(struct heft_tensor);
    struct heft_error err = {0};
    char text[4 * BYTES] = "";
    uint8_t bytes[BYTES];
    size_t n = 0;

    assert_true(heft_tensor_at(f->view, i, &t));
    assert_string_equal(t.name, name);
    for (unsigned d = 0; d < t.rank; d++)
        n += (size_t)snprintf(text + n, sizeof text - n, "%s%d", d ? "," : "", (int)t.shape[d]);
    assert_string_equal(text, shape);
    assert_true(t.bytes <= sizeof bytes);
    assert_true(heft_tensor_read(f->view, i, bytes, (size_t)t.bytes, &err));
    n = 0;
    for (size_t k = 0; k < t.bytes; k++)
        n += (size_t)snprintf(text + n, sizeof text - n, "%s%d", k ? " " : "", bytes[k]);
    assert_string_equal(text, elements);
}

static void expect_refusal(const struct given *given, size_t n, const char *text, const char *why)
{
    struct fixture f = {.source = make_source(given, n)};
    struct heft_error err = {0};

    write_rules(&f, text);
    f.view = heft_rules_view(f.source, NULL, f.rules, f.n_rules, &err);
    assert_null(f.view);
    assert_int_equal(err.code, HEFT_USAGE);
    if (!strstr(err.text, why))
        fail_msg("found: %s, expected: %s", err.text, why);
    assert_memory_equal(err.text, f.path, strlen(f.path)); /* FILE:LINE comes first */
    end(&f);
}

static const struct given experts[] = {
    {"z", {2}, 1, 90},          {"e.1.up", {1, 2}, 2, 1},   {"e.0.up", {1, 2}, 2, 3},
    {"e.0.gate", {1, 2}, 2, 5}, {"e.1.gate", {1, 2}, 2, 7}, {"a", {2, 3}, 2, 20},
};

static void results_come_by_first_source(void **state)
{
    struct fixture f;

    (void)state;
    begin(&f, experts, 6,
          "a | transpose 0 1 | split 0 1 2 => a.first, a.rest\n"
          "e.{E}.gate, e.{E}.up | stack 0 | cat 1 => e\n"
          "keep {x*}\n");
    assert_int_equal(heft_tensor_count(f.view), 4);
    expect_tensor(&f, 0, "z", "2", "90 91");
    expect_tensor(&f, 1, "e", "2,2,2", "5 6 3 4 7 8 1 2");
    expect_tensor(&f, 2, "a.first", "1,2", "20 23");
    expect_tensor(&f, 3, "a.rest", "2,2", "21 24 22 25");
    end(&f);
}

static void names_of_one_row_are_ties(void **state)
{
    struct heft_metadata tie;
    struct fixture f;
    size_t i;

    (void)state;
    begin(&f, experts, 1, "z => b also c, d zeros e\nthen\nc => c2\nb => b2\nkeep {x*}\n");
    assert_int_equal(heft_tensor_count(f.view), 2);
    expect_tensor(&f, 0, "b2", "2", "90 91");
    expect_tensor(&f, 1, "e", "2", "0 0");
    assert_int_equal(heft_tie_count(f.view), 2);
    assert_true(heft_tie_at(f.view, 0, &tie));
    assert_string_equal(tie.key, "c2");
    assert_string_equal(tie.value, "b2");
    assert_true(heft_tensor_find(f.view, "d", 1, &i));
    assert_int_equal(i, 0);
    end(&f);
}

/* A view of a view: the way back of the way there. */
static void the_reverse_of_a_view_is_the_source(void **state)
{
    struct heft_error err = {0};
    struct heft_checkpoint *back;
    struct fixture f;

    (void)state;
    begin(&f, experts, 5, "e.{E}.gate, e.{E}.up | stack 0 | cat 1 <=> e\nkeep {x*}\n");
    f.rules[0].right = "reverse";
    back = heft_rules_view(f.view, NULL, f.rules, 1, &err);
    assert_non_null(back);
    heft_close(f.view); /* `back` has a reference */
    f.view = back;
    assert_int_equal(heft_tensor_count(back), 5);
    expect_tensor(&f, 0, "z", "2", "90 91");
    expect_tensor(&f, 1, "e.0.gate", "1,2", "5 6");
    expect_tensor(&f, 2, "e.0.up", "1,2", "3 4");
    expect_tensor(&f, 3, "e.1.gate", "1,2", "7 8");
    expect_tensor(&f, 4, "e.1.up", "1,2", "1 2");
    end(&f);
}

static void rules_that_do_not_fit_are_refused(void **state)
{
    (void)state;
    expect_refusal(experts, 1, "keep a\n", ":1: no rule takes tensor z");
    expect_refusal(experts, 1, "z [a, b] => y\n", ":1: no rule takes tensor z, U8 [2]");
    expect_refusal(experts, 1, "z => y [3]\n", ":1: tensor y has the shape [2]");
    expect_refusal(experts, 1, "keep z\nq => y\n", ":2: no tensor for q");
    expect_refusal(experts, 6, "e.{E}.up | stack 0 => e\n? a, z | cat 0 => b\nkeep e.{r*}\n",
                   ":2: tensor");
    expect_refusal(experts, 5, "keep z\ne.{E}.gate, e.{E}.up | stack 0 | cat 3 => e\n",
                   ":2: tensor");
    expect_refusal(experts, 4, "keep z\ne.{E}.gate, e.{E}.up | stack 0 | cat 1 => e\n",
                   ":2: tensor e.1.gate is missing");
    expect_refusal(experts, 6, "a => z\nkeep {x*}\n", ": a second tensor z");
    expect_refusal(experts, 6, "rename ^e\\..*$ => e\n", "e");
}

/* Rules are found by their fixed texts, and tried in the order of the file. */
static void the_first_of_many_rules_takes(void **state)
{
    const size_t room = 1 << 20;
    char *const text = malloc(room);
    struct fixture f;
    size_t n = 0;

    (void)state;
    assert_non_null(text);
    for (int i = 0; i < 2000; i++)
        n += (size_t)snprintf(text + n, room - n, "? {p*}.no%d => {p*}.x\n? no%d.{p*} => x.{p*}\n",
                              i, i);
    n += (size_t)snprintf(text + n, room - n,
                          "? e.{E}.{p*} [2, 1] => wrong.{E}.{p*}\n"
                          "{p*}.up => {p*}.down\n"
                          "e.{E}.{p*} [1, 2] => expert.{E}.{p*}\n"
                          "keep {x*}\n");
    begin(&f, experts, 6, text);
    expect_tensor(&f, 1, "e.1.down", "1,2", "1 2");
    expect_tensor(&f, 3, "expert.0.gate", "1,2", "5 6");
    end(&f);
    free(text);
}

static bool try_view(void *ctx, struct heft_error *err)
{
    struct fixture *const f = ctx;
    struct heft_checkpoint *const view =
        heft_rules_view(f->source, NULL, f->rules, f->n_rules, err);

    heft_close(view);
    return view != NULL;
}

static void memory_may_run_out(void **state)
{
    struct fixture f;

    (void)state;
    begin(&f, experts, 6,
          "words g gate up\nz => b also c zeros d\ndrop nothing\n"
          "a | transpose 0 1 | split 0 1 2 => a.first, a.rest\n"
          "e.{E}.gate, e.{E}.up | stack 0 | cat 1 => e\n"
          "then\nrename ^e$ => f\nkeep {x*}\n");
    fail_each_allocation(try_view, &f, 2000);
    end(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(results_come_by_first_source),
        cmocka_unit_test(names_of_one_row_are_ties),
        cmocka_unit_test(the_reverse_of_a_view_is_the_source),
        cmocka_unit_test(rules_that_do_not_fit_are_refused),
        cmocka_unit_test(the_first_of_many_rules_takes),
        cmocka_unit_test(memory_may_run_out),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
