/* html_page.c: writes the page before and after its data. */
#include "output/html_page.h"

#include <string.h>

/* cli/html/page.html, as the build generates it. */
extern const unsigned char html_page_text[];
extern const size_t html_page_size;

static const char mark[] = "@DATA@"; /* place of the data */

/* Bytes of the page before the mark. */
static size_t bytes_before(void)
{
    size_t n = 0;

    while (memcmp(html_page_text + n, mark, sizeof mark - 1) != 0)
        n++;
    return n;
}

bool html_page_open(struct html_page *page, const struct options *options, struct heft_error *err)
{
    page->options = *options;
    page->options.output = options->html;
    if (!target_open(&page->target, &page->options, err))
        return false;
    page->target.out.in_page = true;
    out_bytes(&page->target.out, html_page_text, bytes_before());
    return true;
}

bool html_page_close(struct html_page *page, bool fine, struct heft_error *err)
{
    const size_t after = bytes_before() + sizeof mark - 1;

    out_bytes(&page->target.out, html_page_text + after, html_page_size - after);
    return target_close(&page->target, fine, err);
}
