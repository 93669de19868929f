/* conversions.c: heft-conversions, which prints the table of doc/conversions.md: what each format
 * that is written can hold, by dtype, and what a conversion's error offers instead. */
#include <stdio.h>

#include <heft/heft.h>

static void print_head(void)
{
    struct heft_format_info info;

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

int main(void)
{
    struct heft_format_info info;

    print_head();
    for (unsigned dtype = 0; dtype < HEFT_DTYPE_COUNT; dtype++) {
        printf("| %s |", heft_dtype_name((enum heft_dtype)dtype));
        for (size_t i = 0; heft_format_at(i, &info); i++)
            if (info.writes)
                print_cell(info.name, (enum heft_dtype)dtype);
        putchar('\n');
    }
    return 0;
}
