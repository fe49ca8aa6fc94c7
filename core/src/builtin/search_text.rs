//! `search_text`: lines that match a regular expression.

use std::io::{self, Read};
use std::sync::Arc;

use cap_std::fs::File;
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder, Sink, SinkContext, SinkMatch};
use serde_json::{Value, json};

use super::file_tool::{FileCall, FileTool, MAX_TEXT, schema, text_result};
use super::path;
use super::root::open_file;
use super::shared::{MadeTool, Shared};
use super::walk::{Go, Walk, beneath, glob};
use crate::cancel::CancelToken;

/// How many matching lines a result has unless the call says how many, and at most.
const DEFAULT_RESULTS: usize = 100;
const MAX_RESULTS: usize = 1000;

/// How many lines around a match are shown at most.
const MAX_CONTEXT: usize = 20;

/// How much of a line is shown, in bytes.
const MAX_LINE: usize = 500;

/// How long a line may be: it is held in memory.
const MAX_HELD: usize = 16 << 20;

pub(super) fn make(shared: &Arc<Shared>) -> MadeTool {
    let properties = json!({
        "pattern": { "type": "string", "description": "A regular expression in Rust's syntax, for one line." },
        "path": { "type": "string", "description": "The file or folder to search. Default: the root." },
        "glob": { "type": "string", "description": "Only files that match, such as *.rs or src/**/*.ts." },
        "literal": { "type": "boolean", "description": "The pattern is plain text." },
        "ignore_case": { "type": "boolean", "description": "Upper and lower case are the same." },
        "context": { "type": "integer", "minimum": 0, "maximum": MAX_CONTEXT, "description": "Lines around it. Default: 0." },
        "hidden": { "type": "boolean", "description": "Also files and folders whose names begin with a dot." },
        "ignored": { "type": "boolean", "description": "Also what .gitignore and .ignore leave out." },
        "max_results": { "type": "integer", "minimum": 1, "maximum": MAX_RESULTS, "description": "Default: 100." },
    });
    let description = "Searches text files for a regular expression. Shows each file with its matching lines and their numbers \
        (12:), and lines around them (12-). Binary, hidden and ignored files are left out, and links are not followed.";
    FileTool::reading("search_text", description, schema(&properties, &["pattern"]), shared, run)?.made()
}

fn run(call: &FileCall<'_>) -> Result<Value, String> {
    let start = call.path()?;
    let matcher = matcher(call)?;
    let glob = call.text("glob").map(|pattern| glob(pattern, "glob")).transpose()?;
    let context = call.number("context").unwrap_or(0).min(MAX_CONTEXT);
    let searcher = SearcherBuilder::new()
        .binary_detection(BinaryDetection::quit(0))
        .line_number(true)
        .before_context(context)
        .after_context(context)
        .heap_limit(Some(MAX_HELD))
        .build();
    let room = call.number("max_results").unwrap_or(DEFAULT_RESULTS).min(MAX_RESULTS);
    let mut search = Search { matcher, searcher, cancel: call.cancel_token(), text: String::new(), room, end: None, unread: 0 };
    let is_file = path::split(&start).is_some_and(|(folder, name)| {
        let found = call.root.folder(folder).and_then(|folder| folder.symlink_metadata(name));
        found.is_ok_and(|found| !found.is_dir())
    });
    if is_file {
        let (file, _) = call.root.file(&start)?;
        search.file(file, &start);
    } else {
        let mut walk = Walk::new(call);
        walk.files(&start, &mut |found| {
            if glob.as_ref().is_some_and(|glob| !glob.is_match(beneath(found.path, &start))) {
                return Ok(Go::On);
            }
            match open_file(found.folder, found.name) {
                Ok((file, _)) => search.file(file, found.path),
                Err(_) => search.unread += 1,
            }
            Ok(if search.end.is_some() { Go::Stop } else { Go::On })
        })?;
        search.unread += walk.unread;
    }
    call.check_wanted()?;
    Ok(text_result(search.shown()))
}

fn matcher(call: &FileCall<'_>) -> Result<RegexMatcher, String> {
    let pattern = call.text("pattern").unwrap_or_default();
    let mut builder = RegexMatcherBuilder::new();
    builder.fixed_strings(call.flag("literal")).case_insensitive(call.flag("ignore_case")).line_terminator(Some(b'\n'));
    builder.build(pattern).map_err(|error| {
        format!("the pattern {pattern:?} cannot be used: {error}\nWith literal, it is searched for as plain text.")
    })
}

struct Search<'a> {
    matcher: RegexMatcher,
    searcher: Searcher,
    cancel: &'a CancelToken,
    text: String,
    /// For how many more matches there is room.
    room: usize,
    /// Why the search has ended before its end.
    end: Option<&'static str>,
    /// Files and folders that could not be read.
    unread: usize,
}

impl Search<'_> {
    fn file(&mut self, file: File, path: &str) {
        let before = self.text.len();
        let (mut searcher, matcher, cancel) = (self.searcher.clone(), self.matcher.clone(), self.cancel);
        let mut lines = LinesOfFile { search: self, path, has_heading: false, is_binary: false };
        let searched = searcher.search_reader(&matcher, WhileWanted { file, cancel }, &mut lines);
        let is_binary = lines.is_binary;
        if is_binary {
            // What comes before the first NUL is no text either.
            self.text.truncate(before);
        }
        self.unread += usize::from(searched.is_err());
    }

    fn shown(mut self) -> String {
        if self.text.is_empty() {
            self.text.push_str("No lines match.");
        }
        if let Some(end) = self.end {
            self.text.push_str(&format!("\n(There may be more: {end}. A narrower pattern, path or glob shows others.)"));
        }
        if self.unread > 0 {
            self.text.push_str(&format!("\n(Files and folders that could not be searched: {}.)", self.unread));
        }
        self.text
    }
}

/// A file that ends with an error when the call is no longer wanted.
struct WhileWanted<'a> {
    file: File,
    cancel: &'a CancelToken,
}

impl Read for WhileWanted<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.cancel.is_cancelled() { Err(io::Error::other("cancelled")) } else { self.file.read(buffer) }
    }
}

/// Takes the lines of one file.
struct LinesOfFile<'a, 'b> {
    search: &'a mut Search<'b>,
    path: &'a str,
    has_heading: bool,
    is_binary: bool,
}

impl LinesOfFile<'_, '_> {
    /// Adds a line; false if there is no room for it.
    fn add(&mut self, number: Option<u64>, mark: char, line: &[u8]) -> bool {
        let text = String::from_utf8_lossy(line);
        let text = text.trim_end_matches(['\n', '\r']);
        let cut = cut_at(text, MAX_LINE);
        let dots = if cut < text.len() { " […]" } else { "" };
        let heading = if self.has_heading { String::new() } else { format!("{}\n", path::shown(self.path)) };
        let line = format!("{heading}{}{mark}{}{dots}\n", number.unwrap_or_default(), text.get(..cut).unwrap_or_default());
        if self.search.text.len() + line.len() > MAX_TEXT {
            self.search.end = Some("the result is as long as one may be");
            return false;
        }
        self.search.text.push_str(&line);
        self.has_heading = true;
        true
    }
}

impl Sink for LinesOfFile<'_, '_> {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> io::Result<bool> {
        if self.search.room == 0 {
            self.search.end = Some("as many lines match as are shown at most");
            return Ok(false);
        }
        self.search.room -= 1;
        Ok(self.add(found.line_number(), ':', found.bytes()))
    }

    fn context(&mut self, _: &Searcher, around: &SinkContext<'_>) -> io::Result<bool> {
        Ok(self.add(around.line_number(), '-', around.bytes()))
    }

    fn context_break(&mut self, _: &Searcher) -> io::Result<bool> {
        self.search.text.push_str("--\n");
        Ok(true)
    }

    fn binary_data(&mut self, _: &Searcher, _: u64) -> io::Result<bool> {
        self.is_binary = true;
        Ok(false)
    }
}

/// Where a text is cut so that it has at most so many bytes, and whole characters.
fn cut_at(text: &str, most: usize) -> usize {
    (0..=most.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or_default()
}
