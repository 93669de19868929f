/* conversions.c: heft-conversions, which prints the table of doc/conversions.md: dtypes that each
 * output format supports, and the cast that a conversion's error suggests instead. With the
 * argument `writing` or `reading` it prints the options of each format for that use, as heft-convert(1)
 * lists them. */
#include <stdio.h>
#include <string.h>

#include <heft/heft.h>

static void print_head(void)
{
    struct heft_format_info info = HEFT_INIT(struct heft_format_info);

    printf("| dtype |");
    for (size_t i = 0; heft_format_at(i, &info); i++)
        if (info.writes)
            printf(" %s |", info.name);
    printf("\n| --- |");
    for (size_t i = 0; heft_format_at(i, &info); i++)
        if (info.writes)
            printf(" --- |");
    putchar('\n');
}

static void print_cell(const char *format, enum heft_dtype dtype)
{
    enum heft_dtype to;

    if (heft_format_supports_dtype(format, dtype))
        printf(" yes |");
    else if (heft_format_instead(format, dtype, &to))
        printf(" %s |", heft_dtype_name(to));
    else
        printf(" – |");
}

/* ---- options of formats ---------------------------------------------------------------------- */

/* Hyphens of options are written as minus signs, so that they can be copied from the page. */
static void print_roff(const char *text)
{
    for (; *text; text++) {
        if (*text == '-' || *text == '\\')
            putchar('\\');
        putchar(*text == '\\' ? 'e' : *text);
    }
}

static void print_option(const struct heft_format_option *o)
{
    printf("\\fB");
    print_roff("--");
    print_roff(o->name);
    printf("\\fR");
    if (o->value) {
        printf(o->choices ? " \\fB" : " \\fI");
        print_roff(o->choices ? o->choices : o->value);
        printf("\\fR");
    }
    if (o->kind == HEFT_OPTION_NUMBER)
        printf(", %llu to %llu", (unsigned long long)o->least, (unsigned long long)o->most);
    printf(": ");
    print_roff(o->help);
    putchar('\n');
}

static void print_options(enum heft_option_use use)
{
    struct heft_format_info info = HEFT_INIT(struct heft_format_info);
    struct heft_format_option o = HEFT_INIT(struct heft_format_option);

    for (size_t i = 0; heft_format_at(i, &info); i++)
        for (size_t k = 0, n = 0; heft_format_option_at(info.name, k, &o); k++) {
            if (o.use != use)
                continue;
            if (n++ == 0)
                printf(".TP\n.B %s\n", info.name);
            else
                printf(".br\n");
            print_option(&o);
        }
}

static void print_dtypes(void)
{
    struct heft_format_info info = HEFT_INIT(struct heft_format_info);

    print_head();
    for (unsigned dtype = 0; dtype < HEFT_DTYPE_COUNT; dtype++) {
        printf("| %s |", heft_dtype_name((enum heft_dtype)dtype));
        for (size_t i = 0; heft_format_at(i, &info); i++)
            if (info.writes)
                print_cell(info.name, (enum heft_dtype)dtype);
        putchar('\n');
    }
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "writing") == 0)
        print_options(HEFT_OPTION_WRITES);
    else if (argc > 1 && strcmp(argv[1], "reading") == 0)
        print_options(HEFT_OPTION_READS);
    else
        print_dtypes();
    return 0;
}
