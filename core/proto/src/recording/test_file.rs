//! The name of the file with the recording of a test.

use crate::hash::fnv1a;

/// The most bytes of a test's name in that of its file, which may have 255 on most systems.
const MOST_OF_TEST: usize = 100;

/// The name of the file with the recording of a test: the same in every version, and another one for each test of a module.
///
/// Spaces become hyphens. Any other name than words is followed by its hash: its other characters are not in the file's name,
/// which every system takes.
///
/// ```
/// use agent_loop_proto::recording::test_file_name;
///
/// assert_eq!(test_file_name("test_weather", "TestRain.test_oslo"), "test_weather.TestRain.test_oslo.jsonl");
/// assert_eq!(test_file_name("weather", "rain in Oslo"), "weather.rain-in-Oslo.jsonl");
/// assert_eq!(test_file_name("test_weather", "test_rain[Oslo/1]"), "test_weather.test_rain-Oslo-1-71c3e087.jsonl");
/// ```
pub fn test_file_name(module: &str, test: &str) -> String {
    let is_kept = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.');
    let words: Vec<&str> = test.split(|c| !is_kept(c)).filter(|word| !word.is_empty()).collect();
    let mut name = words.join("-");
    let end = name.char_indices().map(|(at, c)| at + c.len_utf8()).take_while(|end| *end <= MOST_OF_TEST).last();
    name.truncate(end.unwrap_or_default());
    let is_whole = words.join(" ") == test && name.len() == test.len();
    let hash = if is_whole { String::new() } else { format!("-{:08x}", fnv1a(test.as_bytes()) >> 32) };
    format!("{module}.{name}{hash}.jsonl")
}

#[cfg(test)]
mod tests;
