/* html_page.h: the page of `heft info --html`: one file of HTML that contains the data of `heft info
 * --json` and the program that shows it (cli/html/page.html), and refers to nothing else. */
#ifndef CLI_HTML_PAGE_H
#define CLI_HTML_PAGE_H

#include "main/target.h"

struct html_page {
    struct options options; /* the command's, with the page as their output */
    struct target target;
};

/* Creates the page options->html. The caller then writes one JSON value to *html_page_out. */
bool html_page_open(struct html_page *page, const struct options *options, struct heft_error *err);
static inline struct out *html_page_out(struct html_page *page)
{
    return &page->target.out;
}
/* Completes the page and gives it its name if `fine`, else deletes it. */
bool html_page_close(struct html_page *page, bool fine, struct heft_error *err);

#endif
