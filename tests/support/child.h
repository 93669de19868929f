/* child.h: parts of a test that run in a process of their own, since they give up rights. */
#ifndef HEFT_TESTS_CHILD_H
#define HEFT_TESTS_CHILD_H

#include <sys/wait.h>

#include <cmocka.h>

/* In a child: ends it with this number, from 1 on, unless the condition holds. The function returns
 * the exit status of the child, 0 at its end. */
#define EXPECT(number, condition)                                                                  \
    if (!(condition))                                                                              \
    return number

/* Waits for the child, and fails if an expectation of it has failed. */
static inline void check_child(pid_t child)
{
    int status;

    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

#endif
