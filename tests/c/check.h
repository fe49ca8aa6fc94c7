/*
 * A small test framework: static void name(void) { CHECK(...); } and in main RUN(name) for each, then return finish();
 *
 * CHECK ends the test when it fails; EXPECT goes on, and is for callbacks and other threads.
 * With the variable ONLY, only the tests run whose names contain it.
 */

#ifndef CHECK_H
#define CHECK_H

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int check_passed, check_failed;
static volatile bool check_ok;

static inline bool check_true(bool holds, const char *what, const char *file, int line)
{
    if (!holds) {
        printf("    %s:%d: %s\n", file, line, what);
        check_ok = false;
    }
    return holds;
}

static inline bool check_text(const char *actual, const char *expected, const char *what, const char *file, int line)
{
    bool same = actual && expected ? strcmp(actual, expected) == 0 : actual == expected;

    check_true(same, what, file, line);
    if (!same)
        printf("      expected %s\n      got      %s\n", expected ? expected : "NULL", actual ? actual : "NULL");
    return same;
}

static inline bool check_wanted(const char *name)
{
    const char *only = getenv("ONLY");

    return !only || strstr(name, only);
}

static inline bool check_contains(const char *actual, const char *part, const char *what, const char *file, int line)
{
    bool found = actual && strstr(actual, part);

    check_true(found, what, file, line);
    if (!found)
        printf("      expected ...%s...\n      got      %s\n", part, actual ? actual : "NULL");
    return found;
}

#define EXPECT(condition) check_true((condition), #condition, __FILE__, __LINE__)
#define EXPECT_TEXT(actual, expected) check_text((actual), (expected), #actual, __FILE__, __LINE__)
#define EXPECT_CONTAINS(actual, part) check_contains((actual), (part), #actual, __FILE__, __LINE__)

#define CHECK(condition) do { if (!EXPECT(condition)) return; } while (0)
#define CHECK_TEXT(actual, expected) do { if (!EXPECT_TEXT((actual), (expected))) return; } while (0)
#define CHECK_CONTAINS(actual, part) do { if (!EXPECT_CONTAINS((actual), (part))) return; } while (0)

#define RUN(test)                                                                  \
    do {                                                                           \
        if (!check_wanted(#test))                                                  \
            break;                                                                 \
        check_ok = true;                                                           \
        test();                                                                    \
        printf("%s %s\n", check_ok ? "  ok    " : "  FAILED", #test);              \
        fflush(stdout);                                                            \
        if (check_ok)                                                              \
            check_passed++;                                                        \
        else                                                                       \
            check_failed++;                                                        \
    } while (0)

static inline int finish(void)
{
    printf("%d passed, %d failed\n", check_passed, check_failed);
    return check_failed ? 1 : 0;
}

#endif /* CHECK_H */
