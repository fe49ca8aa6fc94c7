/* Sessions: read and changed by their ids, one writer, damage. */

#include "stores.h"

/* ---- by their ids ------------------------------------------------------------------------------------------------ */

static void a_session_is_read(void)
{
    agent_store_t *store = opened_store(path("%s/read.db"), NULL);
    agent_session_t *session = session_of(store, "user-7");
    agent_text_t *text = NULL;

    CHECK_FAILS(agent_session_info(session, &text, &error), AGENT_NOT_FOUND,
                "there is no session \"user-7\" in this store; agent_session_open() creates it");
    CHECK_FAILS_WITH(agent_session_records(session, 0, 10, &text, &error), AGENT_NOT_FOUND, "there is no session \"user-7\" in ");
    CHECK_FAILS_WITH(agent_session_export(session, &text, &error), AGENT_NOT_FOUND, "there is no session \"user-7\" in ");
    CHECK_FAILS_WITH(agent_session_salvage(session, &text, &error), AGENT_NOT_FOUND, "there is no session \"user-7\" in ");
    CHECK_FAILS_WITH(agent_session_delete(session, &error), AGENT_NOT_FOUND, "there is no session \"user-7\" in ");
    CHECK(text == NULL);

    add(session, "[" USER("One.") "," USER("Two.") "," USER("Three.") "]");
    CHECK_OK(agent_session_records(session, 1, 2, &text, &error));
    CHECK_CONTAINS(agent_text_data(text, NULL), "[{\"seq\":2,\"at\":");
    CHECK_CONTAINS(agent_text_data(text, NULL), ",\"kind\":\"message\",\"message\":{\"role\":\"user\",");
    CHECK(count_of(agent_text_data(text, NULL), "\"kind\":") == 2 && !strstr(agent_text_data(text, NULL), "Three."));
    agent_text_free(text);
    CHECK_OK(agent_session_records(session, 4, SIZE_MAX, &text, &error));
    CHECK_TEXT(agent_text_data(text, NULL), "[]");
    agent_text_free(text);

    CHECK_OK(agent_session_delete(session, &error));
    CHECK(agent_session_info(session, &text, NULL) == AGENT_NOT_FOUND);
    agent_session_free(session);
    agent_store_free(store);
}

static void title_and_metadata_are_set(void)
{
    agent_store_t *store = opened_store(path("jsonl:%s/info"), NULL);
    agent_session_t *session = session_of(store, "user-7");
    agent_open_session_t *opened = NULL;
    agent_text_t *info = NULL;

    CHECK_OK(agent_session_set_info(session, "{\"title\": \"Rain\", \"metadata\": {\"user\": 7}}", AGENT_NTS, &error));
    CHECK_OK(agent_session_open(session, &opened, &error));
    CHECK_OK(agent_open_session_set_info(opened, "{\"title\": \"Snow\"}", AGENT_NTS, &error));
    CHECK_OK(agent_session_info(session, &info, &error));
    CHECK_CONTAINS(agent_text_data(info, NULL), "{\"id\":\"user-7\",\"title\":\"Snow\",\"metadata\":{\"user\":7},");
    CHECK_CONTAINS(agent_text_data(info, NULL), "\"holder\":\"process ");
    agent_text_free(info);
    CHECK_FAILS_WITH(agent_session_set_info(session, "{\"title\": \"Hail\"}", AGENT_NTS, &error), AGENT_BUSY, "elsewhere");
    CHECK_FAILS_WITH(agent_session_set_info(session, "{\"name\": \"Hail\"}", AGENT_NTS, &error), AGENT_INVALID_ARGUMENT,
                     "\"name\"");
    CHECK_FAILS_WITH(agent_open_session_set_info(opened, "{\"title\": 7}", AGENT_NTS, &error), AGENT_INVALID_ARGUMENT,
                     "set_info: title: ");
    CHECK_FAILS(agent_open_session_set_info(opened, "7", AGENT_NTS, &error), AGENT_INVALID_ARGUMENT,
                "info: expected a JSON object, got 7");
    CHECK_OK(agent_open_session_close(opened, &error));
    agent_open_session_free(opened);
    agent_session_free(session);
    agent_store_free(store);
}

static void a_session_is_forked(void)
{
    agent_store_t *store = opened_store("memory:", NULL);
    agent_session_t *session = session_of(store, "user-7"), *early = NULL, *whole = NULL;
    agent_open_session_t *opened = NULL;
    agent_text_t *text = NULL;

    CHECK_FAILS_WITH(agent_session_fork(session, 0, "fork", AGENT_NTS, &early, &error), AGENT_NOT_FOUND, "there is no session");
    add(session, "[" USER("One.") "," USER("Two.") "]");
    CHECK_OK(agent_session_fork(session, 2, "early", AGENT_NTS, &early, &error));
    CHECK_OK(agent_session_fork(session, 0, "whole", AGENT_NTS, &whole, &error));
    CHECK_TEXT(agent_session_id(early, NULL), "early");
    CHECK_OK(agent_session_export(early, &text, &error));
    CHECK_CONTAINS(agent_text_data(text, NULL), "\"forked_from\":{\"id\":\"user-7\",\"seq\":2}");
    CHECK(strstr(agent_text_data(text, NULL), "Two.") == NULL);
    agent_text_free(text);
    CHECK_OK(agent_session_open(whole, &opened, &error));
    CHECK_OK(agent_open_session_rebuilt(opened, &text, &error));
    CHECK_CONTAINS(agent_text_data(text, NULL), "\"forked_from\":{\"id\":\"user-7\",\"seq\":3}");
    CHECK_CONTAINS(agent_text_data(text, NULL), "Two.");
    CHECK_CONTAINS(agent_text_data(text, NULL), "\"interrupted\":null");
    agent_text_free(text);
    agent_open_session_free(opened);

    CHECK_FAILS(agent_session_fork(session, 4, "late", AGENT_NTS, &early, &error), AGENT_INVALID_ARGUMENT,
                "fork: at: the session \"user-7\" has records 1 to 3, and not 4");
    CHECK_FAILS(agent_session_fork(session, 0, "early", AGENT_NTS, &early, &error), AGENT_INVALID_ARGUMENT,
                "there is a session \"early\" already; give another id, or delete it");
    agent_session_free(whole);
    agent_session_free(early);
    agent_session_free(session);
    agent_store_free(store);
}

/* ---- one writer -------------------------------------------------------------------------------------------------- */

static void a_second_writer_is_busy_and_learns_the_holder(void)
{
    agent_store_t *one = opened_store(path("%s/busy.db"), "{\"holder\": \"worker-1\"}");
    agent_store_t *other = opened_store(path("%s/busy.db"), "{\"holder\": \"worker-2\"}");
    agent_session_t *of_one = session_of(one, "user-7"), *of_other = session_of(other, "user-7");
    agent_open_session_t *opened = NULL, *second = NULL;

    CHECK_OK(agent_session_open(of_one, &opened, &error));
    CHECK_FAILS_WITH(agent_session_open(of_other, &second, &error), AGENT_BUSY,
                     "the session \"user-7\" is open elsewhere, by worker-1, and has one writer at a time");
    CHECK_FAILS_WITH(agent_session_delete(of_other, &error), AGENT_BUSY, "worker-1");
    CHECK(second == NULL);
    CHECK_OK(agent_open_session_close(opened, &error));
    CHECK_OK(agent_session_open(of_other, &second, &error));
    CHECK_OK(agent_open_session_close(second, &error));
    agent_open_session_free(opened);
    agent_open_session_free(second);
    agent_session_free(of_one);
    agent_session_free(of_other);
    agent_store_free(one);
    agent_store_free(other);
}

static void found_a_session_that_is_freed_can_be_opened_at_once(void)
{
    agent_store_t *store = opened_store(path("%s/freed.db"), NULL);
    agent_session_t *session = session_of(store, "user-7");

    for (int n = 0; n < 50; n++) {
        agent_open_session_t *opened = NULL;

        CHECK_OK(agent_session_open(session, &opened, &error));
        agent_open_session_free(opened);
    }
    agent_session_free(session);
    agent_store_free(store);
}

static void records_are_checked(void)
{
    agent_store_t *store = opened_store("memory:", NULL);
    agent_session_t *session = session_of(store, "user-7");
    agent_open_session_t *opened = NULL;
    uint64_t last = 7;

    CHECK_OK(agent_session_open(session, &opened, &error));
    CHECK_FAILS_WITH(agent_open_session_append(opened, "{}", AGENT_NTS, &last, &error), AGENT_INVALID_ARGUMENT,
                     "records: expected an array of records, got {}");
    CHECK_FAILS_WITH(agent_open_session_append(opened, "[" USER("One.") ", {\"kind\": \"mesage\"}]", AGENT_NTS, &last, &error),
                     AGENT_INVALID_ARGUMENT, "records[1]: ");
    CHECK_FAILS_WITH(agent_open_session_append(opened, "[{\"kind\": \"run_start\", \"run_id\": 7}]", AGENT_NTS, &last, &error),
                     AGENT_INVALID_ARGUMENT, "records[0]: run_start: run_id: ");
    CHECK_FAILS_WITH(agent_open_session_append(opened, "[", AGENT_NTS, &last, &error), AGENT_INVALID_ARGUMENT, "records is ");
    CHECK(last == 7 && agent_open_session_last(opened) == 1);
    CHECK_OK(agent_open_session_append(opened, "[]", AGENT_NTS, NULL, &error));
    CHECK_OK(agent_open_session_append(opened, "[" USER("One.") "]", AGENT_NTS, &last, &error));
    CHECK(last == 2);
    agent_open_session_free(opened);
    agent_session_free(session);
    agent_store_free(store);
}

/* ---- damage ------------------------------------------------------------------------------------------------------ */

/* The exported text of a session with two messages; the caller frees it. */
static agent_text_t *exported(agent_session_t *session)
{
    agent_text_t *text = NULL;

    add(session, "[" USER("One.") "," USER("Two.") "]");
    EXPECT_OK(agent_session_export(session, &text, &error));
    return text;
}

static void what_stands_before_damage_is_salvaged(void)
{
    agent_store_t *store = opened_store(path("jsonl:%s/damaged"), NULL);
    agent_session_t *session = session_of(store, "user-7"), *saved = NULL;
    agent_text_t *text = exported(session), *salvaged = NULL;
    char *damaged = strdup(agent_text_data(text, NULL));
    agent_open_session_t *opened = NULL;
    agent_json_t *json = NULL;
    const char *lines, *damage;

    *strstr(damaged, "Two.") = 'K';
    write_file(path("%s/damaged/user-7.jsonl"), damaged);
    CHECK_FAILS_WITH(agent_session_open(session, &opened, &error), AGENT_DAMAGED,
                     "is damaged at record 3: its checksum does not match");
    CHECK_FAILS_WITH(agent_session_records(session, 0, 10, &salvaged, &error), AGENT_DAMAGED, "record 3");
    CHECK_FAILS_WITH(agent_session_export(session, &salvaged, &error), AGENT_DAMAGED, "record 3");
    CHECK_OK(agent_session_salvage(session, &salvaged, &error));
    CHECK_OK(agent_json_parse(agent_text_data(salvaged, NULL), AGENT_NTS, &json, &error));
    CHECK(agent_json_count(agent_json_member(json, "records", AGENT_NTS)) == 2);
    CHECK_OK(agent_json_get_string(json, "/damage", AGENT_NTS, &damage, NULL, &error));
    CHECK_CONTAINS(damage, "record 3: its checksum does not match");
    CHECK_OK(agent_json_get_string(json, "/text", AGENT_NTS, &lines, NULL, &error));
    CHECK_OK(agent_store_import(store, lines, AGENT_NTS, "saved", AGENT_NTS, &saved, &error));
    CHECK_OK(agent_session_open(saved, &opened, &error));
    CHECK(agent_open_session_last(opened) == 2);
    agent_open_session_free(opened);
    agent_session_free(saved);
    agent_json_free(json);
    agent_text_free(salvaged);
    agent_text_free(text);
    free(damaged);
    agent_session_free(session);
    agent_store_free(store);
}

static void a_torn_end_is_a_diagnostic(void)
{
    agent_store_t *store = opened_store(path("jsonl:%s/torn"), NULL);
    agent_session_t *session = session_of(store, "user-7");
    agent_text_t *text = exported(session);
    char *torn = malloc(strlen(agent_text_data(text, NULL)) + 100);
    agent_open_session_t *opened = NULL;
    size_t length;

    sprintf(torn, "%s{\"seq\":4,\"at\"", agent_text_data(text, NULL));
    write_file(path("%s/torn/user-7.jsonl"), torn);
    CHECK_OK(agent_session_open(session, &opened, &error));
    CHECK(agent_open_session_last(opened) == 3);
    CHECK_CONTAINS(agent_open_session_diagnostics(opened, &length), "[{\"code\":\"journal_torn\",\"message\":\"");
    CHECK_CONTAINS(agent_open_session_diagnostics(opened, NULL), "\"data\":{\"session\":\"user-7\",\"bytes\":13}}]");
    CHECK(length == strlen(agent_open_session_diagnostics(opened, NULL)));
    agent_open_session_free(opened);
    free(torn);
    agent_text_free(text);
    agent_session_free(session);
    agent_store_free(store);
}

static void a_newer_version_is_refused(void)
{
    agent_store_t *store = opened_store(path("jsonl:%s/newer"), NULL);
    agent_session_t *session = session_of(store, "user-7");
    agent_open_session_t *opened = NULL;

    write_file(path("%s/newer/user-7.jsonl"),
               "{\"seq\":1,\"at\":1,\"kind\":\"session\",\"version\":99,\"id\":\"user-7\",\"created_ms\":1,"
               "\"crc\":\"09ca9ba6\"}\n");
    CHECK_FAILS_WITH(agent_session_open(session, &opened, &error), AGENT_NEWER_VERSION,
                     "a newer version of agent-loop has written it");
    CHECK(opened == NULL);
    agent_session_free(session);
    agent_store_free(store);
}

/* ---- arguments --------------------------------------------------------------------------------------------------- */

static void each_argument_may_be_null(void)
{
    agent_store_t *store = opened_store("memory:", NULL);
    agent_session_t *session = session_of(store, "user-7"), *forked = NULL;
    agent_open_session_t *opened = NULL;
    agent_messages_t *messages = NULL;
    agent_follow_t *follow = NULL;
    agent_text_t *text = NULL;
    const char *record;

    CHECK(agent_session_id(NULL, NULL) == NULL);
    CHECK_NULL(agent_session_open(NULL, &opened, &error), "session");
    CHECK_NULL(agent_session_open(session, NULL, &error), "opened");
    CHECK_NULL(agent_session_info(NULL, &text, &error), "session");
    CHECK_NULL(agent_session_info(session, NULL, &error), "info");
    CHECK_NULL(agent_session_records(NULL, 0, 1, &text, &error), "session");
    CHECK_NULL(agent_session_records(session, 0, 1, NULL, &error), "records");
    CHECK_NULL(agent_session_set_info(NULL, "{}", AGENT_NTS, &error), "session");
    CHECK_NULL(agent_session_set_info(session, NULL, 0, &error), "info");
    CHECK_NULL(agent_session_fork(NULL, 0, "a", AGENT_NTS, &forked, &error), "session");
    CHECK_NULL(agent_session_fork(session, 0, NULL, 0, &forked, &error), "id");
    CHECK_NULL(agent_session_fork(session, 0, "a", AGENT_NTS, NULL, &error), "forked");
    CHECK_NULL(agent_session_delete(NULL, &error), "session");
    CHECK_NULL(agent_session_export(NULL, &text, &error), "session");
    CHECK_NULL(agent_session_export(session, NULL, &error), "text");
    CHECK_NULL(agent_session_salvage(NULL, &text, &error), "session");
    CHECK_NULL(agent_session_salvage(session, NULL, &error), "salvaged");
    CHECK_NULL(agent_session_follow(NULL, 0, &follow, &error), "session");
    CHECK_NULL(agent_session_follow(session, 0, NULL, &error), "follow");
    CHECK_NULL(agent_follow_next(NULL, 0, &record, NULL, &error), "follow");

    CHECK_OK(agent_session_open(session, &opened, &error));
    CHECK(agent_open_session_id(NULL, NULL) == NULL && agent_open_session_diagnostics(NULL, NULL) == NULL);
    CHECK(agent_open_session_last(NULL) == 0);
    CHECK_NULL(agent_open_session_messages(NULL, &messages, &error), "opened");
    CHECK_NULL(agent_open_session_messages(opened, NULL, &error), "messages");
    CHECK_NULL(agent_open_session_rebuilt(NULL, &text, &error), "opened");
    CHECK_NULL(agent_open_session_rebuilt(opened, NULL, &error), "rebuilt");
    CHECK_NULL(agent_open_session_append(NULL, "[]", AGENT_NTS, NULL, &error), "opened");
    CHECK_NULL(agent_open_session_append(opened, NULL, 0, NULL, &error), "records");
    CHECK_NULL(agent_open_session_set_info(NULL, "{}", AGENT_NTS, &error), "opened");
    CHECK_NULL(agent_open_session_set_info(opened, NULL, 0, &error), "info");
    CHECK_NULL(agent_open_session_flush(NULL, &error), "opened");
    CHECK_NULL(agent_open_session_close(NULL, &error), "opened");
    CHECK_OK(agent_session_follow(session, 0, &follow, &error));
    CHECK_NULL(agent_follow_next(follow, 0, NULL, NULL, &error), "record");
    agent_follow_free(follow);
    agent_follow_free(NULL);
    agent_open_session_free(opened);
    agent_open_session_free(NULL);
    agent_session_free(session);
    agent_session_free(NULL);
    agent_store_free(store);
}

int main(void)
{
    begin();
    make_folder();
    RUN(a_session_is_read);
    RUN(title_and_metadata_are_set);
    RUN(a_session_is_forked);
    RUN(a_second_writer_is_busy_and_learns_the_holder);
    RUN(found_a_session_that_is_freed_can_be_opened_at_once);
    RUN(records_are_checked);
    RUN(what_stands_before_damage_is_salvaged);
    RUN(a_torn_end_is_a_diagnostic);
    RUN(a_newer_version_is_refused);
    RUN(each_argument_may_be_null);
    return end_with_folder();
}
