//! Streams with one thing wrong: nothing panics, and what the rest says is not lost.
//!
//! Each field that the decoders read, one at a time, is taken away, null, of another type or case, empty, huge or deep, in all
//! frames and in one of them. Each kind of frame is missing, comes twice, before its neighbour, or once more elsewhere, and
//! frames that are not of the format come between. The streams are our own (`streams/`, and those made so that each field is
//! there, `mutations/FORMAT.sse`) and, where they are at hand, the recorded ones (`../shared/wire`, beside the repository).
//!
//! `mutations/FORMAT.tsv` says what comes of it, and why: `same` (the same answer), `error` and its kind, `lost` and what of the
//! answer is missing though the mutation does not touch it, or `changed` and what else differs. A piece of text or thinking is
//! touched if the text of the changed fields, or of the missing frame, has it; a call is, if its name or a piece of its arguments
//! is, and also by a frame of it that comes again. What is not listed has the same answer: a field that is not read. A row of `*`
//! holds for each field. `RECORD=1` writes what is found, without a reason where it is new; a row without one fails.

mod answer;
mod fields;
mod frames;
mod names;
mod stream;
mod table;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use self::stream::Frame;
use super::recorded;

/// Of longer streams, only fields and frames that no shorter one has are tried.
const MOST_BYTES: usize = 24 << 10;

/// How many recorded streams each field or frame and mutation is tried on.
const MOST_STREAMS: usize = 3;

/// Field, or frame, and mutation to what came of it.
type Outcomes = BTreeMap<(String, String), BTreeSet<String>>;

/// How often each was tried.
struct Tried {
    times: BTreeMap<(String, String), usize>,
    most: usize,
}

impl Tried {
    fn may(&self, name: &str, mutation: &str) -> bool {
        self.times.get(&(name.to_owned(), mutation.to_owned())).is_none_or(|times| *times < self.most)
    }

    fn count(&mut self, name: &str, mutation: &str) {
        *self.times.entry((name.to_owned(), mutation.to_owned())).or_default() += 1;
    }
}

/// The recorded streams of an interface, the shortest first.
fn recorded_streams(api: &str, loops: &str) -> Vec<String> {
    let folders = [api.to_owned()].into_iter().chain(recorded::loops(loops));
    let entries = folders.filter_map(|name| recorded::folder(&name)).flat_map(|folder| std::fs::read_dir(folder).unwrap());
    let paths = entries.map(|entry| entry.unwrap().path()).filter(|path| path.extension().is_some_and(|end| end == "sse"));
    let mut paths: Vec<PathBuf> = paths.collect();
    paths.sort();
    let mut streams: Vec<String> = paths.iter().filter_map(|path| std::fs::read_to_string(path).ok()).collect();
    streams.sort_by_key(String::len);
    streams
}

fn try_all(protocol: &str, stream: &[Frame], tried: &mut Tried, outcomes: &mut Outcomes) {
    let Ok(expected) = answer::read(protocol, &stream::written(stream)) else { return };
    fields::try_all(protocol, stream, &expected, tried, outcomes);
    frames::try_all(protocol, stream, &expected, tried, outcomes);
}

/// Our own streams: the one of `streams/`, and the made ones, which a line of their own introduces.
fn own_streams(first: &str, made: &str) -> Vec<Vec<Frame>> {
    [first]
        .into_iter()
        .chain(made.split("### ").skip(1))
        .map(|stream| {
            let (_, stream) = if stream == first { ("", stream) } else { stream.split_once('\n').unwrap() };
            stream::frames(stream)
        })
        .collect()
}

/// The table's first lines: how many of the recorded streams are played.
fn head(recorded: usize, played: usize, failing: usize) -> String {
    format!(
        "# field or frame\tmutations\toutcomes\twhy (see mutations.rs)\n\
         # Of {recorded} recorded streams, {played} are played. Left out are {failing} that end in an error as they are; the \
         others have no field and no frame that is not in {MOST_STREAMS} played ones (over {MOST_BYTES} bytes: in one).\n"
    )
}

fn play(protocol: &str, (api, loops): (&str, &str), own: &[Vec<Frame>]) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("src/protocol/tests/mutations/{protocol}.tsv"));
    let text = std::fs::read_to_string(&path).unwrap_or_default();
    let known = table::parse(&text);
    let mut outcomes = Outcomes::new();
    for stream in own {
        assert!(answer::read(protocol, &stream::written(stream)).is_ok(), "{protocol}: {}", stream::written(stream));
        try_all(protocol, stream, &mut Tried { times: BTreeMap::new(), most: usize::MAX }, &mut outcomes);
    }
    let (mut tried, mut played, mut failing) = (Tried { times: BTreeMap::new(), most: MOST_STREAMS }, 0, 0);
    let recorded = recorded_streams(api, loops);
    for stream in &recorded {
        failing += usize::from(answer::read(protocol, stream).is_err());
        tried.most = if stream.len() > MOST_BYTES { 1 } else { MOST_STREAMS };
        let before: usize = tried.times.values().sum();
        try_all(protocol, &stream::frames(stream), &mut tried, &mut outcomes);
        played += usize::from(tried.times.values().sum::<usize>() > before);
    }
    let same = (BTreeSet::from(["same".to_owned()]), "not read".to_owned());
    let mut wrong = Vec::new();
    for (key, found) in &outcomes {
        let (expected, why) = table::said(&known, key).unwrap_or(&same);
        if !found.is_subset(expected) || why.is_empty() {
            wrong.push(format!("{}\t{}\t{}", key.0, key.1, Vec::from_iter(found.iter().cloned()).join(" | ")));
        }
    }
    let head = head(recorded.len(), played, failing);
    // What is said and never seen; only where all streams are at hand.
    if !recorded.is_empty() {
        for (key, (expected, _)) in known.iter().filter(|((field, _), _)| field != "*") {
            if outcomes.get(key) != Some(expected) {
                wrong.push(format!("{}\t{}\tis listed as {expected:?}", key.0, key.1));
            }
        }
        if !text.starts_with(&head) {
            wrong.push(format!("the table begins otherwise than {head}"));
        }
    }
    if std::env::var_os("RECORD").is_some() {
        table::record(&path, &head, &known, &outcomes);
    }
    assert!(wrong.is_empty(), "{} rows of {protocol} differ:\n{}", wrong.len(), wrong.join("\n"));
    println!("{protocol}: {} fields, frames and mutations, {played} of {} recorded streams", outcomes.len(), recorded.len());
}

/// Plays a format: our streams have each field that its decoder reads, but for what is named here.
macro_rules! of_format {
    ($name:ident, $recorded:expr, [$($source:literal),+], but $others:expr) => {
        mod $name {
            use super::*;

            fn own() -> Vec<Vec<Frame>> {
                let first = include_str!(concat!("streams/", stringify!($name), ".sse"));
                own_streams(first, include_str!(concat!("mutations/", stringify!($name), ".sse")))
            }

            #[test]
            fn each_field_and_frame_of_the_streams() {
                play(stringify!($name), $recorded, &own());
            }

            #[test]
            fn each_field_that_is_read_is_played() {
                let sources = [$(include_str!(concat!("../", stringify!($name), "/", $source))),+];
                assert_eq!(names::not_played(&sources, &own(), $others), [""; 0], "no stream has these names");
            }
        }
    };
}

// What is no field of a frame: names of ours, and words of failures and of ends that no answer survives.
of_format!(anthropic, ("anthropic-messages", "anthropic-"), ["decode.rs", "wire.rs"], but & ["anthropic", "kind", "unknown"]);
of_format!(
    openai_chat,
    ("openai-chat", "chat-"),
    ["decode.rs", "wire.rs", "details.rs", "calls.rs"],
    but & [
        "openai_chat",
        "choice",
        "details",
        "extra",
        "held",
        "key",
        "null",
        "abort",
        "insufficient_system_resource",
        "network_error"
    ]
);
of_format!(
    openai_responses,
    ("openai-responses", "responses-"),
    ["decode.rs", "wire.rs"],
    but & ["openai_responses", "kind", "queued", "failed", "cancelled", "response.failed", "response.cancelled", "response.done"]
);
of_format!(
    gemini,
    ("google-generative", "gemini-"),
    ["decode.rs", "wire.rs"],
    but & [
        "gemini",
        "camelCase",
        "candidate",
        "counts",
        "null",
        "optional_count",
        "said",
        "FINISH_REASON_UNSPECIFIED",
        "MALFORMED_FUNCTION_CALL",
        "MALFORMED_RESPONSE",
        "MISSING_THOUGHT_SIGNATURE",
        "TOO_MANY_TOOL_CALLS",
        "UNEXPECTED_TOOL_CALL"
    ]
);
