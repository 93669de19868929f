/* cmd_tree.c: prints the tree of modules with parameters and bytes. */
#include "main/options.h"
#include "main/rules.h"
#include "output/module_lines.h"
#include "output/report.h"

static void put_json(struct out *out, const struct module_view *view,
                     const struct rule_report *rules)
{
    struct heft_modules_sum tied = HEFT_INIT(struct heft_modules_sum);

    heft_modules_tied(view->modules, &tied);
    json_open(out, '{');
    json_member_u64(out, "heft", 1);
    json_member_text(out, "format", heft_format(view->c));
    json_modules(out, view);
    json_key(out, "tied");
    json_open(out, '{');
    json_member_u64(out, "tensors", tied.tensors);
    json_member_u64(out, "parameters", tied.parameters);
    json_member_u64(out, "bytes", tied.bytes);
    json_close(out, '}');
    rules_json(out, rules);
    json_close(out, '}');
    out_char(out, '\n');
}

int cmd_tree(const struct options *options, struct out *out)
{
    struct heft_error err = {0};
    struct rule_report rules = {0};
    struct heft_checkpoint *const c = open_inputs(options, 0, &err);
    struct heft_modules *const modules =
        c && rules_count(&rules, options, c, &err)
            ? heft_modules_new(c, options->root, options->rules, options->n_rules, &err)
            : NULL;
    const struct module_view view = {c, modules, options->depth ? options->depth : UINT64_MAX};
    const int status = modules ? EXIT_SOUND : report_error(&err);

    if (modules) {
        if (options->json)
            put_json(out, &view, &rules);
        else
            print_modules(out, &view);
        report_unread(options, c);
        report_lacks(options, c);
        report_left(options, c);
    }
    heft_modules_free(modules);
    rules_release(&rules);
    heft_close(c);
    return status;
}
