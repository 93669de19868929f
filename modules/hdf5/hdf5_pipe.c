/* hdf5_pipe.c: messages between heft and the process that runs libhdf5: 64-bit numbers in native
 * byte order, and texts preceded by their lengths. Both sides are the same program. */
#include "hdf5_parts.h"

#include <errno.h>
#include <sys/socket.h>

static bool send_all(struct hdf5_pipe *pipe, const uint8_t *p, size_t n)
{
    while (n > 0 && !pipe->failed) {
        const ssize_t sent = send(pipe->socket, p, n, MSG_NOSIGNAL);

        if (sent < 0 && errno == EINTR)
            continue;
        pipe->failed = pipe->is_lost = sent <= 0;
        p += sent > 0 ? sent : 0;
        n -= sent > 0 ? (size_t)sent : 0;
    }
    return !pipe->failed;
}

bool hdf5_flush(struct hdf5_pipe *pipe)
{
    const size_t n = pipe->n;

    pipe->n = 0;
    return send_all(pipe, pipe->held, n);
}

void hdf5_put(struct hdf5_pipe *pipe, const void *p, size_t n)
{
    if (n > sizeof pipe->held - pipe->n && !hdf5_flush(pipe))
        return;
    if (n > sizeof pipe->held) {
        (void)send_all(pipe, p, n);
        return;
    }
    if (n > 0)
        memcpy(pipe->held + pipe->n, p, n);
    pipe->n += n;
}

void hdf5_put_u64(struct hdf5_pipe *pipe, uint64_t value)
{
    hdf5_put(pipe, &value, sizeof value);
}

void hdf5_put_text(struct hdf5_pipe *pipe, struct heft_h5_text text)
{
    hdf5_put_u64(pipe, text.n);
    hdf5_put(pipe, text.p, text.n);
}

void hdf5_put_error(struct hdf5_pipe *pipe, const struct heft_error *err)
{
    hdf5_put_u64(pipe, HDF5_FAILED);
    hdf5_put(pipe, err, sizeof *err);
}

static ssize_t receive_bytes(struct hdf5_pipe *pipe, void *p, size_t n)
{
    ssize_t got;

    do
        got = recv(pipe->socket, p, n, 0);
    while (got < 0 && errno == EINTR);
    pipe->is_lost |= got <= 0;
    pipe->failed |= pipe->is_lost;
    return got;
}

/* Large pieces bypass the buffer. */
bool hdf5_take(struct hdf5_pipe *pipe, void *p, size_t n)
{
    uint8_t *dst = p;

    while (n > 0 && !pipe->failed) {
        const size_t held = pipe->n - pipe->at, now = held < n ? held : n;
        ssize_t got;

        if (now > 0) {
            memcpy(dst, pipe->held + pipe->at, now);
            pipe->at += now;
            dst += now;
            n -= now;
        } else if (n >= sizeof pipe->held) {
            got = receive_bytes(pipe, dst, n);
            dst += got > 0 ? got : 0;
            n -= got > 0 ? (size_t)got : 0;
        } else {
            got = receive_bytes(pipe, pipe->held, sizeof pipe->held);
            pipe->at = 0;
            pipe->n = got > 0 ? (size_t)got : 0;
        }
    }
    return !pipe->failed;
}

bool hdf5_take_u64(struct hdf5_pipe *pipe, uint64_t most, uint64_t *value)
{
    if (hdf5_take(pipe, value, sizeof *value) && *value > most)
        pipe->failed = true;
    return !pipe->failed;
}
