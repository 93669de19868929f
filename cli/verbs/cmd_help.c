/* cmd_help.c: prints help from the tables of verbs.c. */
#include "main/options.h"
#include "output/output.h"
#include "output/report.h"

#include <heft/confine.h>
#include <string.h>

enum { VERB_WIDTH = 14, OPTION_WIDTH = 34 };

static size_t put_option_name(struct out *out, const struct option_spec *o)
{
    size_t width = 6 + strlen(o->name) + 2;
    out_text(out, "  ");
    if (o->letter) {
        out_char(out, '-');
        out_char(out, o->letter);
        out_text(out, ", ");
    } else {
        out_text(out, "    ");
    }
    out_text(out, "--");
    out_text(out, o->name);
    if (o->value) {
        out_text(out, o->kind == OPTION_MAYBE ? "[=" : " ");
        out_text(out, o->value);
        out_text(out, o->kind == OPTION_MAYBE ? "]" : "");
        width += (o->kind == OPTION_MAYBE ? 3 : 1) + strlen(o->value);
    }
    return width;
}

void help_verb(struct out *out, const struct verb *verb)
{
    struct option_spec o;
    char formats[100];

    out_text(out, "heft ");
    out_text(out, verb->name);
    out_text(out, ": ");
    out_text(out, verb->summary);
    out_text(out, "\n\n");
    out_text(out, verb->examples);
    out_text(out, "\nUsage: heft ");
    out_text(out, verb->name);
    out_char(out, ' ');
    out_text(out, verb->synopsis);
    out_text(out, "\n\n");
    for (size_t i = 0; verb_option_at(verb, i, &o); i++) {
        const size_t width = put_option_name(out, &o);

        out_fill(out, ' ', width < OPTION_WIDTH ? OPTION_WIDTH - width + 2 : 2);
        if (o.kind == OPTION_WRITES) {
            out_text(out, option_formats(&o, formats, sizeof formats));
            out_text(out, ": ");
        }
        out_text(out, o.help);
        out_char(out, '\n');
    }
    if (verb->details) {
        out_char(out, '\n');
        out_text(out, verb->details);
    }
}

static void put_formats(struct out *out)
{
    struct heft_format_info info = HEFT_INIT(struct heft_format_info);
    out_text(out, "\nFormats:\n");
    for (size_t i = 0; heft_format_at(i, &info); i++) {
        const size_t n = strlen(info.name);
        out_text(out, "  ");
        out_text(out, info.name);
        out_fill(out, ' ', n < VERB_WIDTH ? VERB_WIDTH - n : 1);
        out_text(out, info.reads ? info.writes ? "reads, writes  " : "reads          "
                                 : "writes         ");
        out_text(out, info.summary);
        out_char(out, '\n');
    }
}

static void help_all(struct out *out)
{
    out_text(out,
             "heft reads files of machine-learning models without executing anything in them.\n\n  "
             "heft model.pth                                summary: format, tensors, values\n  "
             "heft ls model.pth                             one line per tensor\n"
             "  heft convert model.pth -o model.safetensors\n"
             "  heft scan download.bin                        what loading it would execute\n"
             "\nUsage: heft [VERB] INPUT… [options]\n\n");
    for (const struct verb *v = verbs; v->name; v++) {
        out_text(out, "  ");
        out_text(out, v->name);
        out_fill(out, ' ', VERB_WIDTH - strlen(v->name));
        out_text(out, v->summary);
        out_char(out, '\n');
    }
    put_formats(out);
    out_text(out,
             "\nINPUT is a file, a directory of shards, an index.json, or several shard files.\n"
             "Exit status: 0 success, or a positive answer; 1 a negative answer; 2 an error.\n"
             "See also: heft VERB --help, man heft.\n");
}

/* Which layers of heft/confine.h this kernel has. */
static void put_confinement(struct out *out)
{
    unsigned landlock;
    const unsigned layers = heft_confine_available(&landlock);

    out_text(out, "confinement: Landlock ");
    if (layers & HEFT_CONFINED_FILES)
        out_u64(out, landlock);
    else
        out_text(out, "missing");
    out_text(out, layers & HEFT_CONFINED_CALLS ? ", seccomp\n" : ", seccomp missing\n");
}

int cmd_help(const struct options *options, struct out *out)
{
    struct heft_error err = {0};
    const char *const name = options->inputs.n ? options->inputs.items[0] : NULL;
    const struct verb *const verb = name ? verb_find(name) : NULL;

    if (options->version) {
        out_text(out, "heft ");
        out_text(out, heft_version());
        out_char(out, '\n');
        if (options->verbose)
            put_confinement(out);
    } else if (!name) {
        help_all(out);
    } else if (verb) {
        help_verb(out, verb);
    } else {
        usage_error(&err, "help: there is no verb '%s'; heft help lists the verbs", name);
        return report_error(&err);
    }
    return EXIT_SOUND;
}
