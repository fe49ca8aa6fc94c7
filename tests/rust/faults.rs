//! Streams that fail, at fifty points of a turn with thinking, text and two calls, in each wire format: what was emitted stays,
//! nothing is executed that did not come whole, and the conversation goes on, on a server as strict as the real ones.

mod wire;

use std::sync::{Arc, Mutex};

use agent_loop::{Agent, AssistantMessage, ContentBlock, Error, ErrorKind, Event, EventData, MessageUpdate, Outcome, RunResult};
use agent_mock::{Answer, Chunk, Encoding, Failure, Format, Mock, Script, Speech};
use serde_json::{Value, json};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use self::wire::{CITIES, Reached, agent, bytes, first_frames, reached, turn};
use super::{briefs, check};

const POINTS: usize = 50;

/// The silence that ends a stalled stream: short for a test, long for a busy machine.
const IDLE_MS: u64 = 2500;

/// What a run with a fault is asked, and what its tools were.
struct Course {
    mock: Mock,
    agent: Agent,
    cities: Arc<Mutex<Vec<String>>>,
}

impl Course {
    /// The first answer, and what a good model would say after one that got so far.
    fn new(format: Format, first: Answer, got: Reached, options: Value) -> Course {
        let script = Script::new().strict().answer(first);
        let script = if got == Reached::End { script } else { script.answer(turn()) };
        let says = |script: Script, text| script.answer(Answer::message(Speech::text(text)));
        Course::of(format, says(says(script, "Snow in Ål."), "As I said."), options)
    }

    fn of(format: Format, script: Script, options: Value) -> Course {
        let mock = Mock::start(script);
        let cities: Arc<Mutex<Vec<String>>> = Arc::default();
        let ran = Arc::clone(&cities);
        let weather = super::tool("weather", move |arguments, _| {
            ran.lock().unwrap().push(arguments["city"].as_str().unwrap_or_default().to_owned());
            async { Ok(json!("snow")) }
        });
        let agent = agent(format, &mock, options);
        agent.add_tool(weather).unwrap();
        Course { mock, agent, cities }
    }

    async fn play(&self) -> (Vec<Event>, RunResult) {
        let (events, result) = super::play(&self.agent).await;
        check(&self.agent, &events);
        (events, result)
    }

    fn ran(&self) -> Vec<String> {
        // Calls run concurrently.
        let mut ran = self.cities.lock().unwrap().clone();
        ran.sort_by_key(|city| CITIES.iter().position(|known| known == city));
        ran
    }

    /// The conversation goes on, and the strict server has nothing against it.
    async fn goes_on(&self) {
        let result = self.agent.prompt("And now?").await.unwrap();
        assert_eq!(result.outcome, Outcome::Completed);
        let refused: Vec<String> = self.mock.requests().into_iter().filter_map(|request| request.refused).collect();
        assert_eq!(refused, Vec::<String>::new());
    }
}

fn retries(events: &[Event]) -> Vec<ErrorKind> {
    let retries = events.iter().filter_map(|event| match &event.data {
        EventData::Retry { error, .. } => Some(error.kind()),
        _ => None,
    });
    retries.collect()
}

/// What was emitted of the first answer: the text of each block in the order the blocks began, without calls.
fn emitted(events: &[Event]) -> Vec<String> {
    let mut blocks: Vec<(u32, String)> = Vec::new();
    for event in events {
        match &event.data {
            EventData::MessageEnd { message } if message.as_assistant().is_some() => break,
            EventData::MessageUpdate(
                MessageUpdate::TextStart { content_index } | MessageUpdate::ThinkingStart { content_index },
            ) => {
                blocks.push((*content_index, String::new()));
            }
            EventData::MessageUpdate(
                MessageUpdate::TextDelta { content_index, delta } | MessageUpdate::ThinkingDelta { content_index, delta },
            ) => blocks.iter_mut().find(|(index, _)| index == content_index).unwrap().1.push_str(delta),
            _ => {}
        }
    }
    blocks.into_iter().map(|(_, text)| text).collect()
}

fn texts(message: &AssistantMessage) -> Vec<String> {
    let text = |block: &ContentBlock| match block {
        ContentBlock::Text { text, .. } => text.clone(),
        ContentBlock::Thinking { thinking, .. } => thinking.clone(),
        other => panic!("a failed message has {other:?}"),
    };
    message.content.iter().map(text).collect()
}

/// How a course with a fault has to end: tried again if nothing was said, whole if all was, else failed in the middle.
async fn ends_as_it_must(course: &Course, format: Format, got: Reached, kind: ErrorKind, what: &str) {
    let (events, result) = course.play().await;
    let first = result.messages.iter().find_map(|message| message.as_assistant()).unwrap();
    match got {
        // A frame that cannot be read is as bad the second time.
        Reached::Nothing if kind == ErrorKind::Protocol => {
            assert_eq!((retries(&events), first.content.len()), (vec![], 0), "{what}");
            failed(&result, kind, what);
        }
        Reached::Nothing => {
            assert_eq!(retries(&events), [kind], "{what}");
            whole(course, &result, what);
        }
        Reached::Content => {
            assert_eq!(retries(&events), [], "{what}: what was emitted is not taken back");
            failed(&result, kind, what);
            assert_eq!(texts(first), emitted(&events), "{what}");
            // Chat and Responses send the usage at the end only.
            let early = matches!(format, Format::Anthropic | Format::Gemini);
            assert!(first.usage.input == 25 || !early && first.usage.input == 0, "{what}: {:?}", first.usage);
        }
        Reached::End => {
            assert_eq!(retries(&events), [], "{what}");
            whole(course, &result, what);
        }
    }
    if result.outcome == Outcome::Error {
        assert_eq!(course.ran(), Vec::<String>::new(), "{what}: no call came whole");
    }
    course.goes_on().await;
    assert_eq!(course.ran(), CITIES, "{what}: each call ran once");
}

fn failed(result: &RunResult, kind: ErrorKind, what: &str) {
    assert_eq!(result.outcome, Outcome::Error, "{what}");
    assert_eq!(result.error.as_ref().map(Error::kind), Some(kind), "{what}: {:?}", result.error);
    if kind == ErrorKind::Timeout {
        let said = result.error.as_ref().map(Error::message).unwrap_or_default();
        assert!(said.ends_with(&format!("nothing more came within idle_timeout_ms ({IDLE_MS})")), "{what}: {said}");
    }
}

/// How far a stream got for a reader that waits for what may come behind the closing event: usage, in Chat, Gemini and Bedrock.
fn with_the_rest(format: Format, got: Reached) -> Reached {
    if matches!(format, Format::Chat | Format::Gemini | Format::Converse) { got.min(Reached::Content) } else { got }
}

fn whole(course: &Course, result: &RunResult, what: &str) {
    assert_eq!(result.outcome, Outcome::Completed, "{what}: {:?}", result.error);
    assert_eq!(course.ran(), CITIES, "{what}");
}

/// How many points are played at the same time, by all tests together: each has a server, connections, and a thread, and a
/// process may often have no more than 1,024 files open.
static ROOM: Semaphore = Semaphore::const_new(64);

/// Plays all points of all formats; gives how many there were.
async fn everywhere<F, Fut>(point: F) -> usize
where
    F: Fn(Format, usize) -> Fut,
    Fut: Future<Output = ()> + Send + 'static,
{
    let mut points = JoinSet::new();
    for format in Format::ALL {
        for number in 0..POINTS {
            let point = point(format, number);
            points.spawn(async move {
                let _room = ROOM.acquire().await.unwrap();
                point.await;
            });
        }
    }
    let count = points.len();
    points.join_all().await;
    println!("played {count} points");
    count
}

/// Where the point of this number is in a stream.
fn place(format: Format, number: usize) -> usize {
    bytes(format).len() * number / POINTS
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_connection_that_drops() {
    let played = everywhere(|format, number| async move {
        let at = place(format, number);
        let got = reached(format, &bytes(format)[..at]);
        let course = Course::new(format, turn().cut_after(at), got, json!({}));
        ends_as_it_must(&course, format, got, ErrorKind::StreamTruncated, &format!("{format} cut at {at}")).await;
    });
    assert_eq!(played.await, 250);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_body_that_ends_too_soon() {
    let played = everywhere(|format, number| async move {
        let at = place(format, number);
        let body = bytes(format)[..at].to_vec();
        // A last frame needs no empty line behind it.
        let got = match format {
            Format::Converse => reached(format, &body),
            _ => reached(format, &[&body, &b"\n\n"[..]].concat()),
        };
        let file = std::env::temp_dir().join(format!("agent-loop-ends-{}-{format}-{number}.sse", std::process::id()));
        std::fs::write(&file, body).unwrap();
        let course = Course::new(format, Answer::file(&file).chunk(Chunk::Frame), got, json!({}));
        ends_as_it_must(&course, format, got, ErrorKind::StreamTruncated, &format!("{format} ended at {at}")).await;
        std::fs::remove_file(file).unwrap();
    });
    assert_eq!(played.await, 250);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stream_that_stalls() {
    let played = everywhere(|format, number| async move {
        let at = place(format, number);
        let got = with_the_rest(format, reached(format, &bytes(format)[..at]));
        let stalled = turn().cut_after(at).stall();
        let course = Course::new(format, stalled, got, json!({ "idle_timeout_ms": IDLE_MS }));
        ends_as_it_must(&course, format, got, ErrorKind::Timeout, &format!("{format} stalled at {at}")).await;
    });
    assert_eq!(played.await, 250);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn garbage_from_some_byte_on() {
    let played = everywhere(|format, number| async move {
        let at = place(format, number);
        let got = with_the_rest(format, reached(format, &bytes(format)[..at]));
        let course = Course::new(format, turn().garble_after(at), got, json!({}));
        ends_as_it_must(&course, format, got, ErrorKind::Protocol, &format!("{format} garbled at {at}")).await;
    });
    assert_eq!(played.await, 250);
}

/// Errors of the service at all points before the closing event: behind it there is nothing to fail any more.
async fn an_error_inside_of_the_stream(failure: Failure, kind: ErrorKind) -> usize {
    everywhere(|format, number| async move {
        let last =
            (1..=wire::count(format)).take_while(|n| reached(format, &first_frames(format, *n)) < Reached::End).last().unwrap();
        let frames = last * number / (POINTS - 1);
        let got = reached(format, &first_frames(format, frames));
        let course = Course::new(format, turn().error_after(frames).failure(failure), got, json!({}));
        ends_as_it_must(&course, format, got, kind, &format!("{format}: {failure:?} after {frames} frames")).await;
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_overload_inside_of_the_stream() {
    assert_eq!(an_error_inside_of_the_stream(Failure::Overloaded, ErrorKind::Overloaded).await, 250);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_rate_limit_inside_of_the_stream() {
    assert_eq!(an_error_inside_of_the_stream(Failure::RateLimited, ErrorKind::RateLimited).await, 250);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_abort_at_some_event() {
    // All events of a run without a fault but the last, when it is too late.
    let mut counts = Vec::new();
    for format in Format::ALL {
        let course = Course::of(format, Script::new().answer(turn()).answer(Answer::message(Speech::text("Snow."))), json!({}));
        counts.push((format, course.play().await.0.len() - 1));
    }
    let played = everywhere(|format, number| {
        let events = counts.iter().find(|(known, _)| *known == format).unwrap().1;
        let at = (events - 1) * number / (POINTS - 1);
        async move {
            let what = format!("{format} aborted at event {at} of {events}");
            // A server that would go on.
            let script = Script::new().strict().answer(turn().frame_delay_ms(1));
            let script = (0..4).fold(script, |script, _| script.answer(Answer::message(Speech::text("Snow in Ål."))));
            let course = Course::of(format, script, json!({}));
            let aborting = course.agent.clone();
            let listening = course.agent.subscribe(move |event| {
                if event.seq == at as u64 {
                    aborting.abort();
                }
            });
            let (events, result) = course.play().await;
            drop(listening);
            assert_eq!(result.outcome, Outcome::Aborted, "{what}: {:?}", briefs(&events));
            assert_eq!(result.error.as_ref().map(Error::kind), Some(ErrorKind::Aborted), "{what}");
            let first = result.messages.iter().find_map(|message| message.as_assistant()).unwrap();
            if first.error.is_some() {
                assert_eq!((texts(first), course.ran()), (emitted(&events), vec![]), "{what}");
            }
            let ran = course.ran();
            course.goes_on().await;
            // If the abort came before the server was asked, the turn is still to come.
            let asked = course.mock.requests().len() > 1 && ran.is_empty();
            assert!(asked || course.ran().len() <= CITIES.len(), "{what}: {:?}", course.ran());
        }
    });
    assert_eq!(played.await, 250);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_refusal_of_the_service_before_it_answers() {
    for format in Format::ALL {
        for (failure, kind) in [
            (Failure::RateLimited, ErrorKind::RateLimited),
            (Failure::Overloaded, ErrorKind::Overloaded),
            (Failure::Server, ErrorKind::Server),
        ] {
            let what = format!("{format}: {failure:?}");
            let refused = Answer::error(failure).header("retry-after-ms", "1");
            let course = Course::new(format, refused.clone(), Reached::Nothing, json!({}));
            ends_as_it_must(&course, format, Reached::Nothing, kind, &what).await;

            // As often as it takes, and no more.
            let script =
                Script::new().strict().answer(refused.times(3)).answer(turn()).answer(Answer::message(Speech::text("Snow.")));
            let course = Course::of(format, script, json!({}));
            let (events, result) = course.play().await;
            assert_eq!(retries(&events), [kind, kind], "{what}");
            failed(&result, kind, &what);
            assert_eq!(course.mock.requests().len(), 3, "{what}");
            course.goes_on().await;
            assert_eq!(course.ran(), CITIES, "{what}");

            // The same as a body with status 200, which some gateways send.
            let course = Course::new(format, Answer::error(failure).status(200), Reached::Nothing, json!({}));
            let (events, result) = course.play().await;
            assert_eq!(retries(&events), [kind], "{what} with status 200");
            whole(&course, &result, &what);
        }
        for failure in
            [Failure::Authentication, Failure::ContextOverflow, Failure::Quota, Failure::InvalidRequest, Failure::NotFound]
        {
            if (format, failure) == (Format::Gemini, Failure::Quota) {
                // Google says the same of a quota per minute: that one is tried again.
                continue;
            }
            let course = Course::new(format, Answer::error(failure), Reached::Nothing, json!({}));
            let (events, result) = course.play().await;
            assert_eq!(
                (retries(&events), result.outcome, course.ran()),
                (vec![], Outcome::Error, vec![]),
                "{format}: {failure:?}"
            );
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_events_do_not_depend_on_how_the_bytes_are_split() {
    for format in Format::ALL {
        let course = |first: Answer| {
            Course::of(format, Script::new().strict().answer(first).answer(Answer::message(Speech::text("Snow."))), json!({}))
        };
        let (events, result) = course(turn()).play().await;
        assert_eq!(result.text, "Snow.");
        let gzip = |chunk| turn().encoding(Encoding::Gzip).chunk(chunk);
        for (what, first) in [
            ("whole", turn().chunk(Chunk::Whole)),
            ("byte by byte", turn().chunk(Chunk::Bytes(1))),
            ("by seven bytes", turn().chunk(Chunk::Bytes(7))),
            ("compressed", gzip(Chunk::Whole)),
            ("compressed, by frames", gzip(Chunk::Frame)),
            ("compressed, by seven bytes", gzip(Chunk::Bytes(7))),
        ] {
            let course = course(first);
            let (again, _) = course.play().await;
            // Calls run concurrently, and end in any order.
            let sorted = |events: &[Event]| {
                let (mut calls, rest): (Vec<String>, Vec<String>) =
                    briefs(events).into_iter().partition(|event| event.starts_with("tool_execution"));
                calls.sort();
                (calls, rest)
            };
            assert_eq!(sorted(&again), sorted(&events), "{format} {what}");
            assert_eq!(course.ran(), CITIES, "{format} {what}");
        }
    }
}

/// A byte that is no character, in the middle of each occurrence of a word.
fn with_a_broken_byte(format: Format, word: &str) -> Vec<u8> {
    let mut bytes = bytes(format);
    let places: Vec<usize> = (0..bytes.len()).filter(|at| bytes[*at..].starts_with(word.as_bytes())).collect();
    assert!(!places.is_empty(), "{format}: {word:?} is not in the stream");
    places.into_iter().for_each(|at| bytes[at + 1] = 0xff);
    if format == Format::Converse { wire::with_checksums(&bytes) } else { bytes }
}

#[tokio::test]
async fn a_broken_byte_in_a_text_is_replaced_and_in_a_call_it_fails_the_answer() {
    let folder = std::env::temp_dir().join(format!("agent-loop-faults-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    for format in Format::ALL {
        for (word, of_call) in [("Two", false), ("places", false), ("Rome, I", true), ("Nor", true)] {
            let file = folder.join(format!("{format}-{of_call}-{}.sse", word.len()));
            std::fs::write(&file, with_a_broken_byte(format, word)).unwrap();
            let course = Course::new(
                format,
                Answer::file(&file).chunk(Chunk::Frame),
                if of_call { Reached::Content } else { Reached::End },
                json!({}),
            );
            let (events, result) = course.play().await;
            let what = format!("{format}: {word:?}");
            if of_call {
                failed(&result, ErrorKind::Protocol, &what);
                let error = result.error.unwrap();
                assert!(error.message().ends_with("sent a tool call with bytes that are not UTF-8"), "{what}: {error}");
                assert_eq!(course.ran(), Vec::<String>::new(), "{what}: no tool runs on garbage");
                course.goes_on().await;
            } else {
                assert_eq!(result.outcome, Outcome::Completed, "{what}: {:?}", result.error);
                assert!(emitted(&events).concat().contains('\u{fffd}'), "{what}: {:?}", emitted(&events));
                let diagnostics = events
                    .iter()
                    .filter(|event| matches!(&event.data, EventData::Diagnostic { code, .. } if code == "invalid_utf8"));
                assert_eq!(diagnostics.count(), 1, "{what}: reported once");
            }
            assert_eq!(course.ran(), CITIES, "{what}");
        }
    }
    std::fs::remove_dir_all(folder).unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn comments_are_signs_of_life_and_silence_is_none() {
    let mut all = JoinSet::new();
    for format in Format::ALL {
        all.spawn(async move {
            // AWS's event stream has no comments.
            if format != Format::Converse {
                // Longer than the limit in all, and never without a sign for as long.
                let comments = ": still working\n\n".repeat(30);
                let body = format!("{comments}{}", String::from_utf8(bytes(format)).unwrap());
                let frames = body.matches("\n\n").count().max(body.matches("\r\n\r\n").count());
                assert!(frames >= 30, "{format}");
                let alive = Answer::text(body).header("content-type", "text/event-stream").chunk(Chunk::Frame);
                let limits = json!({ "idle_timeout_ms": IDLE_MS, "max_retries": 0 });
                let course = Course::new(format, alive.frame_delay_ms(150), Reached::End, limits);
                let (_, result) = course.play().await;
                whole(&course, &result, &format!("{format} with comments"));
            }

            let limits = json!({ "first_byte_timeout_ms": 100, "max_retries": 0 });
            let course = Course::new(format, turn().delay_ms(60_000), Reached::Nothing, limits);
            let (_, result) = course.play().await;
            let error = result.error.unwrap();
            assert!(
                error.kind() == ErrorKind::Timeout
                    && error.message().ends_with("nothing came within first_byte_timeout_ms (100)"),
                "{format}: {error}"
            );
        });
    }
    all.join_all().await;
}

#[tokio::test]
async fn a_page_where_a_stream_was_expected() {
    for format in Format::ALL {
        let page = Answer::text("<html><h1>Welcome</h1></html>").header("content-type", "text/html");
        let course = Course::new(format, page, Reached::Nothing, json!({}));
        let (events, result) = course.play().await;
        failed(&result, ErrorKind::Protocol, &format!("{format}"));
        let error = result.error.unwrap();
        let text = "answered with text/html instead of an event stream (is base_url right?): <html><h1>Welcome</h1></html>";
        assert!(error.message().ends_with(text), "{format}: {error}");
        assert_eq!(retries(&events), [], "{format}: a page stays a page");
        course.goes_on().await;
    }
}
