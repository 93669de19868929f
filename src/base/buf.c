/* buf.c: growing text. After a failed allocation, or beyond its budget, the capacity is set to the
 * filled size, so that every later append arrives here and is refused. */
#include "base/mem.h"

#include <stdarg.h>
#include <stdio.h>

/* Takes the bytes of the grown capacity, which are not written to yet, from the budget. */
static bool take_growth(struct heft_buf *buf)
{
    struct heft_error ignored;

    if (!heft_budget_take(buf->budget, buf->cap - buf->held, &ignored)) {
        buf->exceeds = true;
        return false;
    }
    buf->held = buf->cap;
    return true;
}

bool heft_buf_room(struct heft_buf *buf, size_t n)
{
    struct heft_error ignored;

    n += n == 0 && !buf->p; /* allocate at least one byte, so that p is not NULL */
    if (!buf->failed && heft_grow(&buf->p, &buf->cap, buf->n, n, 1, &ignored) && take_growth(buf))
        return true;
    buf->failed = true;
    buf->cap = buf->n;
    return false;
}

void heft_buf_u64(struct heft_buf *buf, uint64_t v)
{
    static const char pairs[] = "00010203040506070809101112131415161718192021222324"
                                "25262728293031323334353637383940414243444546474849"
                                "50515253545556575859606162636465666768697071727374"
                                "75767778798081828384858687888990919293949596979899";
    char digits[20];
    size_t at = sizeof digits;

    while (v >= 100) {
        at -= 2;
        memcpy(digits + at, pairs + 2 * (v % 100), 2);
        v /= 100;
    }
    if (v >= 10) {
        at -= 2;
        memcpy(digits + at, pairs + 2 * v, 2);
    } else {
        digits[--at] = (char)('0' + v);
    }
    heft_buf_put(buf, digits + at, sizeof digits - at);
}

void heft_buf_indexes(struct heft_buf *buf, const uint64_t *numbers, unsigned n)
{
    heft_buf_char(buf, '[');
    for (unsigned d = 0; d < n && d < 8; d++) {
        heft_buf_text(buf, d ? "," : "");
        heft_buf_u64(buf, numbers[d]);
    }
    heft_buf_text(buf, n > 8 ? ",…]" : "]");
}

void heft_buf_printf(struct heft_buf *buf, const char *format, ...)
{
    va_list args;
    int wanted;
    size_t n;

    va_start(args, format);
    wanted = vsnprintf(NULL, 0, format, args);
    va_end(args);
    if (wanted < 0) {
        buf->failed = true;
        buf->cap = buf->n;
        return;
    }
    n = (size_t)wanted;
    if (n + 1 > buf->cap - buf->n &&
        !heft_buf_room(buf, n + 1)) /* room for the NUL that vsnprintf adds */
        return;
    va_start(args, format);
    vsnprintf(buf->p + buf->n, n + 1, format, args);
    va_end(args);
    buf->n += n;
}

bool heft_buf_ok(const struct heft_buf *buf, struct heft_error *err)
{
    if (!buf->failed)
        return true;
    if (buf->exceeds)
        return heft_budget_refuse(buf->budget, err);
    return heft_fail(err, HEFT_NOMEM, HEFT_NO_OFFSET, "out of memory after %zu bytes of text",
                     buf->n);
}

#define LARGE ((size_t)1 << 20) /* bytes: from here on an extra copy costs too much memory */

bool heft_buf_take(struct heft_buf *buf, struct heft_arena *arena, struct heft_str *out,
                   struct heft_error *err)
{
    const size_t n = buf->n;
    const char *text = NULL;

    heft_budget_return(buf->budget, buf->held); /* the arena counts them from here on */
    buf->held = 0;
    if (heft_buf_ok(buf, err))
        text = n < LARGE ? heft_arena_text(arena, (struct heft_str){buf->p, n}, err)
                         : heft_arena_adopt(arena, buf->p, n, err);
    if (text)
        *out = (struct heft_str){text, n};
    if (text && n >= LARGE)
        *buf = (struct heft_buf){0}; /* owned by the arena now */
    heft_buf_release(buf);
    return text != NULL;
}

void heft_buf_release(struct heft_buf *buf)
{
    heft_budget_return(buf->budget, buf->held);
    heft_free(buf->p);
    *buf = (struct heft_buf){0};
}
