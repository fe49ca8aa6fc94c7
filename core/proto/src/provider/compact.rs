//! The catalogue in a third of its size: what most of its lines have in common is one character there. `build.rs` compacts the
//! file, this crate expands the one line that it reads. Compressed it would be smaller still, but then it would have to be
//! decompressed whole whenever a program starts.

/// The longer before their beginnings. None has only a part of `"id":"…","label":"`, or a line could not be found by its id.
const PHRASES: [&str; 15] = [
    "{\"provider\":\"openrouter\",\"id\":\"",
    "{\"provider\":\"",
    "\",\"id\":\"",
    "\",\"label\":\"",
    "\",\"context_window\":",
    ",\"max_output_tokens\":",
    ",\"input\":[\"text\",\"image\"],\"thinking\":true,\"cost\":{\"input\":",
    ",\"input\":[\"text\",\"image\"],\"thinking\":false,\"cost\":{\"input\":",
    ",\"input\":[\"text\"],\"thinking\":true,\"cost\":{\"input\":",
    ",\"input\":[\"text\"],\"thinking\":false,\"cost\":{\"input\":",
    ",\"output\":",
    ",\"cache_read\":0.",
    ",\"cache_read\":",
    ",\"cache_write\":",
    ",\"tiers\":[{\"above\":",
];

/// Each phrase and its character: a control character, which JSON never has as it is. They begin after the line breaks.
fn coded() -> impl Iterator<Item = (&'static str, char)> {
    PHRASES.into_iter().zip('\x0e'..'\x20')
}

/// The text with a character for each phrase.
pub(super) fn compact(text: &str) -> String {
    coded().fold(text.to_owned(), |text, (phrase, code)| text.replace(phrase, code.encode_utf8(&mut [0; 4])))
}

/// What [`compact`] was given.
pub(super) fn expand(text: &str) -> String {
    let mut whole = String::with_capacity(4 * text.len());
    for c in text.chars() {
        match coded().find(|(_, code)| *code == c) {
            Some((phrase, _)) => whole.push_str(phrase),
            None => whole.push(c),
        }
    }
    whole
}
