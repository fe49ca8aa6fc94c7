/* Stores: opened by their address, listed, imported; where they are used. */

#include <sys/wait.h>

#include "stores.h"

/* ---- by address -------------------------------------------------------------------------------------------------- */

static void a_conversation_is_there_again(void)
{
    const char *addresses[] = {path("sqlite:%s/again.db"), path("%s/plain.db"), path("jsonl:%s/again"), "memory:"};
    size_t i;

    for (i = 0; i < sizeof addresses / sizeof *addresses; i++) {
        agent_store_t *store = opened_store(addresses[i], NULL);
        agent_session_t *session = session_of(store, "user-7");
        agent_open_session_t *opened = NULL;
        agent_messages_t *messages = NULL;
        uint64_t last = 0;

        CHECK_TEXT(agent_session_id(session, NULL), "user-7");
        CHECK_OK(agent_session_open(session, &opened, &error));
        CHECK_TEXT(agent_open_session_id(opened, NULL), "user-7");
        CHECK_TEXT(agent_open_session_diagnostics(opened, NULL), "[]");
        CHECK(agent_open_session_last(opened) == 1);
        CHECK_OK(agent_open_session_append(opened, "[" USER("Rain in Oslo?") "," USER("And in Bergen?") "]", AGENT_NTS,
                                           &last, &error));
        CHECK(last == 3 && agent_open_session_last(opened) == 3);
        CHECK_OK(agent_open_session_flush(opened, &error));
        CHECK_OK(agent_open_session_close(opened, &error));
        CHECK_OK(agent_open_session_close(opened, &error));
        CHECK_FAILS(agent_open_session_append(opened, "[" USER("Late.") "]", AGENT_NTS, &last, &error), AGENT_INVALID_STATE,
                    "the session \"user-7\" was closed; open it again");
        CHECK(last == 3);
        agent_open_session_free(opened);

        CHECK_OK(agent_session_open(session, &opened, &error));
        CHECK_OK(agent_open_session_messages(opened, &messages, &error));
        CHECK(agent_messages_count(messages) == 2);
        CHECK_TEXT(agent_messages_text(messages, 0, NULL), "Rain in Oslo?");
        CHECK_TEXT(agent_messages_text(messages, 1, NULL), "And in Bergen?");
        agent_messages_free(messages);
        CHECK_OK(agent_open_session_close(opened, &error));
        agent_open_session_free(opened);
        agent_session_free(session);
        agent_store_free(store);
    }
}

static void addresses_and_options_are_checked(void)
{
    agent_store_t *store = NULL;

    CHECK_NULL(agent_store_open(NULL, "memory:", AGENT_NTS, NULL, 0, &store, &error), "runtime");
    CHECK_NULL(agent_store_open(runtime, NULL, 0, NULL, 0, &store, &error), "address");
    CHECK_NULL(agent_store_open(runtime, "memory:", AGENT_NTS, NULL, 0, NULL, &error), "store");
    CHECK_FAILS(agent_store_open(runtime, "redis://here", AGENT_NTS, NULL, 0, &store, &error), AGENT_INVALID_ARGUMENT,
                "store: the address \"redis://here\" is not known; give a path, or sqlite:PATH, jsonl:FOLDER, memory: or "
                "postgres://…");
    CHECK_FAILS(agent_store_open(runtime, "memory:", AGENT_NTS, "[]", AGENT_NTS, &store, &error), AGENT_INVALID_ARGUMENT,
                "options: expected a JSON object, got []");
    CHECK_FAILS(agent_store_open(runtime, "memory:", AGENT_NTS, "{\"lease_ms\": 7}", AGENT_NTS, &store, &error),
                AGENT_INVALID_ARGUMENT, "store: lease_ms: at least 100 ms, got 7");
    CHECK_FAILS_WITH(agent_store_open(runtime, "memory:", AGENT_NTS, "{\"sink\": \"full\"}", AGENT_NTS, &store, &error),
                     AGENT_INVALID_ARGUMENT, "\"sink\"");
    CHECK_FAILS_WITH(agent_store_open(runtime, "memory:", AGENT_NTS, "{\"sync\": \"always\"}", AGENT_NTS, &store, &error),
                     AGENT_INVALID_ARGUMENT, "store: sync: ");
    CHECK_FAILS_WITH(agent_store_open(runtime, path("%s/none/agents.db"), AGENT_NTS, NULL, 0, &store, &error), AGENT_IO,
                     "none/agents.db");
    CHECK(store == NULL);

    store = opened_store("memory:", "{\"sync\": \"full\", \"lease_ms\": 1000, \"holder\": \"worker-1\"}");
    CHECK(store != NULL);
    agent_store_free(store);
}

static void sessions_are_listed_page_by_page(void)
{
    agent_store_t *store = opened_store("memory:", NULL);
    const char *ids[] = {"a", "b", "c"};
    agent_text_t *page = NULL;
    agent_json_t *json = NULL;
    const char *next;
    char query[100];
    size_t i;

    for (i = 0; i < 3; i++) {
        agent_session_t *session = session_of(store, ids[i]);
        char info[100];

        sprintf(info, "{\"title\": \"Title %s\", \"metadata\": {\"user\": %d}}", ids[i], i < 2 ? 7 : 8);
        CHECK_OK(agent_session_set_info(session, info, AGENT_NTS, &error));
        agent_session_free(session);
    }
    CHECK_OK(agent_store_list(store, NULL, 0, &page, &error));
    CHECK(count_of(agent_text_data(page, NULL), "\"id\":") == 3);
    agent_text_free(page);

    CHECK_OK(agent_store_list(store, "{\"metadata\": {\"user\": 7}, \"limit\": 1}", AGENT_NTS, &page, &error));
    CHECK(count_of(agent_text_data(page, NULL), "\"id\":") == 1);
    CHECK_CONTAINS(agent_text_data(page, NULL), "\"metadata\":{\"user\":7}");
    CHECK_OK(agent_json_parse(agent_text_data(page, NULL), AGENT_NTS, &json, &error));
    CHECK_OK(agent_json_get_string(json, "/next", AGENT_NTS, &next, NULL, &error));
    snprintf(query, sizeof query, "{\"metadata\": {\"user\": 7}, \"cursor\": \"%s\"}", next);
    agent_text_free(page);
    agent_json_free(json);
    CHECK_OK(agent_store_list(store, query, AGENT_NTS, &page, &error));
    CHECK(count_of(agent_text_data(page, NULL), "\"id\":") == 1);
    CHECK_CONTAINS(agent_text_data(page, NULL), "\"next\":null");
    agent_text_free(page);
    CHECK_OK(agent_store_list(store, "{\"updated_before\": 1000}", AGENT_NTS, &page, &error));
    CHECK_TEXT(agent_text_data(page, NULL), "{\"sessions\":[],\"next\":null}");
    agent_text_free(page);

    CHECK_NULL(agent_store_list(NULL, NULL, 0, &page, &error), "store");
    CHECK_NULL(agent_store_list(store, NULL, 0, NULL, &error), "page");
    CHECK_FAILS_WITH(agent_store_list(store, "{\"user\": 7}", AGENT_NTS, &page, &error), AGENT_INVALID_ARGUMENT, "\"user\"");
    CHECK_FAILS_WITH(agent_store_list(store, "{\"limit\": \"x\"}", AGENT_NTS, &page, &error), AGENT_INVALID_ARGUMENT,
                     "list: limit: ");
    CHECK_FAILS(agent_store_list(store, "{\"cursor\": \"x\"}", AGENT_NTS, &page, &error), AGENT_INVALID_ARGUMENT,
                "list: cursor: \"x\" is not the `next` of a page");
    agent_store_free(store);
}

static void ids_are_checked(void)
{
    agent_store_t *store = opened_store("memory:", NULL);
    agent_session_t *session = NULL;

    CHECK_NULL(agent_store_session(NULL, "a", AGENT_NTS, &session, &error), "store");
    CHECK_NULL(agent_store_session(store, NULL, 0, &session, &error), "id");
    CHECK_NULL(agent_store_session(store, "a", AGENT_NTS, NULL, &error), "session");
    CHECK_FAILS(agent_store_session(store, "", 0, &session, &error), AGENT_INVALID_ARGUMENT,
                "session: the id \"\" cannot be used: it is empty");
    CHECK(session == NULL);
    agent_store_free(store);
    agent_store_free(NULL);
}

/* ---- import ------------------------------------------------------------------------------------------------------ */

static void a_session_is_exported_and_imported(void)
{
    agent_store_t *from = opened_store(path("%s/from.db"), NULL), *to = opened_store(path("jsonl:%s/to"), NULL);
    agent_session_t *session = session_of(from, "user-7"), *imported = NULL, *renamed = NULL;
    agent_text_t *text = NULL, *again = NULL;

    add(session, "[" USER("Rain in Oslo?") "]");
    CHECK_OK(agent_session_export(session, &text, &error));
    CHECK(count_of(agent_text_data(text, NULL), "\n") == 2);
    CHECK_OK(agent_store_import(to, agent_text_data(text, NULL), AGENT_NTS, NULL, 0, &imported, &error));
    CHECK_TEXT(agent_session_id(imported, NULL), "user-7");
    CHECK_OK(agent_session_export(imported, &again, &error));
    /* the first line has the time */
    CHECK_TEXT(strchr(agent_text_data(again, NULL), '\n'), strchr(agent_text_data(text, NULL), '\n'));
    agent_text_free(again);

    CHECK_OK(agent_store_import(to, agent_text_data(text, NULL), AGENT_NTS, "user-8", AGENT_NTS, &renamed, &error));
    CHECK_TEXT(agent_session_id(renamed, NULL), "user-8");
    CHECK_FAILS(agent_store_import(to, agent_text_data(text, NULL), AGENT_NTS, NULL, 0, &renamed, &error),
                AGENT_INVALID_ARGUMENT, "there is a session \"user-7\" already; give another id, or delete it");
    CHECK_FAILS(agent_store_import(to, "nonsense\n", AGENT_NTS, NULL, 0, &renamed, &error), AGENT_INVALID_ARGUMENT,
                "import: line 1: it does not end with a checksum; expected JSON lines as export gives them, from the first "
                "one on");
    CHECK_NULL(agent_store_import(NULL, "", 0, NULL, 0, &renamed, &error), "store");
    CHECK_NULL(agent_store_import(to, NULL, 0, NULL, 0, &renamed, &error), "text");
    CHECK_NULL(agent_store_import(to, agent_text_data(text, NULL), AGENT_NTS, NULL, 0, NULL, &error), "session");
    agent_text_free(text);
    agent_session_free(session);
    agent_session_free(imported);
    agent_session_free(renamed);
    agent_store_free(from);
    agent_store_free(to);
}

/* ---- in any order ------------------------------------------------------------------------------------------------ */

static void handles_are_freed_in_any_order(void)
{
    int order;

    for (order = 0; order < 3; order++) {
        agent_store_t *store = opened_store(path("%s/order.db"), NULL);
        agent_session_t *session = session_of(store, "user-7");
        agent_open_session_t *opened = NULL;

        if (order == 0)
            agent_store_free(store);
        if (order == 1)
            agent_session_free(session);
        if (order != 1)
            CHECK_OK(agent_session_open(session, &opened, &error));
        if (order == 0)
            agent_session_free(session);
        if (opened)
            CHECK_OK(agent_open_session_append(opened, "[" USER("Hello.") "]", AGENT_NTS, NULL, &error));
        if (order == 2)
            agent_session_free(session);
        if (opened)
            CHECK_OK(agent_open_session_close(opened, &error));
        agent_open_session_free(opened);
        if (order != 0)
            agent_store_free(store);
    }
}

static void one_that_was_not_closed_is_closed_by_free(void)
{
    agent_store_t *store = opened_store(path("%s/dropped.db"), NULL);
    agent_session_t *session = session_of(store, "user-7");
    agent_open_session_t *opened = NULL;
    agent_status_t rc;

    CHECK_OK(agent_session_open(session, &opened, &error));
    agent_open_session_free(opened);
    while ((rc = agent_session_open(session, &opened, NULL)) == AGENT_BUSY)
        usleep(1000);
    CHECK(rc == AGENT_OK);
    CHECK_OK(agent_open_session_close(opened, &error));
    agent_open_session_free(opened);
    agent_session_free(session);
    agent_store_free(store);
}

static void after_shutdown_a_store_says_so(void)
{
    agent_runtime_t *own = NULL;
    agent_store_t *store = NULL;
    agent_session_t *session = NULL;
    agent_open_session_t *opened = NULL;
    agent_text_t *page = NULL;

    CHECK_OK(agent_runtime_new(NULL, 0, &own, &error));
    CHECK_OK(agent_store_open(own, path("%s/shutdown.db"), AGENT_NTS, NULL, 0, &store, &error));
    CHECK_OK(agent_store_session(store, "user-7", AGENT_NTS, &session, &error));
    CHECK_OK(agent_session_open(session, &opened, &error));
    CHECK(agent_runtime_shutdown(own, 5000, &error) == AGENT_OK);
    CHECK_FAILS_WITH(agent_store_list(store, NULL, 0, &page, &error), AGENT_INVALID_STATE, "the runtime was shut down");
    CHECK(agent_open_session_append(opened, "[" USER("Late.") "]", AGENT_NTS, NULL, NULL) == AGENT_INVALID_STATE);
    CHECK(agent_store_open(own, "memory:", AGENT_NTS, NULL, 0, &store, NULL) == AGENT_INVALID_STATE);
    agent_open_session_free(opened);
    agent_session_free(session);
    agent_store_free(store);
    agent_runtime_free(own);
}

/* ---- where they are used ----------------------------------------------------------------------------------------- */

static void noting(void *userdata, agent_tool_call_t *call)
{
    EXPECT(agent_open_session_append(userdata, "[" USER("Noted.") "]", AGENT_NTS, NULL, NULL) == AGENT_OK);
    agent_tool_call_respond(call, "Noted.", AGENT_NTS, NULL);
    agent_tool_call_free(call);
}

static void a_tool_writes_to_a_session(void)
{
    agent_store_t *store = opened_store(path("%s/tool.db"), NULL);
    agent_session_t *session = session_of(store, "user-7");
    agent_open_session_t *opened = NULL;
    agent_t *agent;

    CHECK_OK(agent_session_open(session, &opened, &error));
    agent = with_tool(SCRIPTED(CALLS("tool", "{}") "," SAYS("Done.")), noting, opened);
    agent_run_free(play(agent));
    CHECK(agent_open_session_last(opened) == 2);
    CHECK_OK(agent_open_session_close(opened, &error));
    agent_free(agent);
    agent_open_session_free(opened);
    agent_session_free(session);
    agent_store_free(store);
}

static bool is_refused(agent_store_t *store, agent_session_t *session, agent_open_session_t *opened)
{
    agent_open_session_t *other = NULL;
    agent_text_t *page = NULL;

    return agent_store_list(store, NULL, 0, &page, NULL) == AGENT_INVALID_STATE
        && agent_session_open(session, &other, NULL) == AGENT_INVALID_STATE
        && agent_open_session_append(opened, "[" USER("Child.") "]", AGENT_NTS, NULL, NULL) == AGENT_INVALID_STATE
        && agent_open_session_close(opened, NULL) == AGENT_INVALID_STATE;
}

static void a_forked_child_is_refused_and_its_parent_goes_on(void)
{
    agent_store_t *store = opened_store(path("%s/forked.db"), NULL);
    agent_session_t *session = session_of(store, "user-7");
    agent_open_session_t *opened = NULL;
    int status = 0;
    pid_t child;

    CHECK_OK(agent_session_open(session, &opened, &error));
    child = fork();
    if (child == 0) {
        const char *name = is_refused(store, session, opened) ? "true" : "false";

        agent_open_session_free(opened);
        agent_session_free(session);
        agent_store_free(store);
        /* not exit(): the child must not release the parent's memory */
        execlp(name, name, (char *)NULL);
        _exit(2);
    }
    CHECK(child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
    CHECK_OK(agent_open_session_append(opened, "[" USER("Parent.") "]", AGENT_NTS, NULL, &error));
    CHECK_OK(agent_open_session_close(opened, &error));
    agent_open_session_free(opened);
    agent_session_free(session);
    agent_store_free(store);
}

int main(void)
{
    begin();
    make_folder();
    RUN(a_conversation_is_there_again);
    RUN(addresses_and_options_are_checked);
    RUN(sessions_are_listed_page_by_page);
    RUN(ids_are_checked);
    RUN(a_session_is_exported_and_imported);
    RUN(handles_are_freed_in_any_order);
    RUN(one_that_was_not_closed_is_closed_by_free);
    RUN(after_shutdown_a_store_says_so);
    RUN(a_tool_writes_to_a_session);
    RUN(a_forked_child_is_refused_and_its_parent_goes_on);
    return end_with_folder();
}
