/* Built-in tools, as C has them; the rules are in the tests of the core. */

#include "folder.h"

/* The content of a file; the caller frees it. */
static char *content_of(const char *path_of)
{
    char text[100];
    FILE *file = fopen(path_of, "rb");
    size_t length = file ? fread(text, 1, sizeof text - 1, file) : 0;

    if (!file)
        return NULL;
    fclose(file);
    text[length] = '\0';
    return strdup(text);
}

static bool has_content(const char *path_of, const char *wanted)
{
    char *text = content_of(path_of);
    bool same = text && EXPECT_TEXT(text, wanted);

    free(text);
    return same;
}

static void an_agent_reads_and_edits_a_file_and_undoes_it(void)
{
    char file_path[100], options[200];
    agent_t *agent = scripted(SCRIPTED(
        "[" CALL("a", "read_file", "{\"path\": \"notes.txt\"}") ", {\"end\": \"tool_use\"}],"
        "[" CALL("b", "edit_file", "{\"path\": \"notes.txt\", \"edits\": [{\"old_text\": \"two\", \"new_text\": \"2\"}]}")
        ", {\"end\": \"tool_use\"}]," SAYS("Done.")));
    agent_text_t *undone = NULL;
    agent_run_t *run;
    FILE *file;

    snprintf(file_path, sizeof file_path, "%s/notes.txt", folder);
    file = fopen(file_path, "wb");
    CHECK(file != NULL);
    CHECK(fputs("one two", file) >= 0);
    fclose(file);
    snprintf(options, sizeof options, "{\"builtin_tools\": {\"tools\": [\"read_file\", \"edit_file\"], \"root\": \"%s\"}}",
             folder);
    CHECK_OK(agent_set_json(agent, options, AGENT_NTS, &error));

    run = play(agent);
    CHECK(agent_run_outcome(run) == AGENT_OUTCOME_SUSPENDED);
    CHECK(strstr(agent_run_json(run, NULL), "one two") != NULL);
    agent_run_free(run);
    CHECK_OK(agent_resume_decided(agent, "{\"b\": \"approve\"}", AGENT_NTS, &run, &error));
    CHECK_OK(agent_run_wait(run, -1, &error));
    agent_run_free(run);
    CHECK(has_content(file_path, "one 2"));

    CHECK_OK(agent_undo_writes(agent, 1, &undone, &error));
    CHECK(EXPECT_TEXT(agent_text_data(undone, NULL),
                      "{\"undone\":[{\"path\":\"notes.txt\",\"action\":\"restored\",\"tool_call_id\":\"b\"}],\"refused\":null}"));
    agent_text_free(undone);
    CHECK(has_content(file_path, "one two"));
    CHECK_OK(agent_undo_writes(agent, 1, &undone, &error));
    CHECK(EXPECT_TEXT(agent_text_data(undone, NULL), "{\"undone\":[],\"refused\":null}"));
    agent_text_free(undone);
    agent_free(agent);
}

static void wrong_uses_are_errors(void)
{
    agent_t *agent = scripted(SCRIPTED(SAYS("Hello.")));
    agent_text_t *undone = NULL;

    CHECK_FAILS_WITH(agent_undo_writes(NULL, 1, &undone, &error), AGENT_INVALID_ARGUMENT, "agent");
    CHECK_FAILS_WITH(agent_undo_writes(agent, 1, NULL, &error), AGENT_INVALID_ARGUMENT, "undone");
    CHECK_FAILS_WITH(agent_undo_writes(agent, 1, &undone, &error), AGENT_INVALID_STATE, "no built-in tools");
    agent_free(agent);
}

int main(void)
{
    begin();
    make_folder();
    RUN(an_agent_reads_and_edits_a_file_and_undoes_it);
    RUN(wrong_uses_are_errors);
    return end_with_folder();
}
