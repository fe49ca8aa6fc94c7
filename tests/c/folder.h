/* Shared by the tests that write files: a folder that is removed at the end. */

#ifndef FOLDER_H
#define FOLDER_H

#include <unistd.h>

#include "support.h"

static char folder[] = "/tmp/agent-c-tests-XXXXXX";

static inline void make_folder(void)
{
    if (!mkdtemp(folder)) {
        perror(folder);
        exit(1);
    }
}

static inline int end_with_folder(void)
{
    char command[100];
    int code = end();

    snprintf(command, sizeof command, "rm -rf %s", folder);
    return system(command) == 0 ? code : 1;
}

/* A path in the folder; valid until some more are made. */
static inline const char *path(const char *format)
{
    static char paths[8][200];
    static int next;
    char *made = paths[next++ % 8];

    snprintf(made, sizeof *paths, format, folder);
    return made;
}

/* Writes a file of the folder. */
static inline void write_file(const char *to, const char *text)
{
    FILE *file = fopen(to, "w");

    EXPECT(file && fputs(text, file) >= 0 && fclose(file) == 0);
}

#endif /* FOLDER_H */
