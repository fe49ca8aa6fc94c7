//! Lines, words and names.

/// The text in lines of at most `width` characters, the first after `first`, the others after `next`.
pub(crate) fn wrap(text: &str, first: &str, next: &str, width: usize) -> String {
    let (mut out, mut line) = (String::new(), first.to_owned());
    let mut is_empty = true;
    for word in words(text) {
        if !is_empty && line.chars().count() + 1 + word.chars().count() > width {
            out.push_str(line.trim_end());
            out.push('\n');
            line = next.to_owned();
            is_empty = true;
        }
        if !is_empty {
            line.push(' ');
        }
        line.push_str(&word);
        is_empty = false;
    }
    format!("{out}{}\n", line.trim_end())
}

/// The words of a text; code between backticks is one.
fn words(text: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut in_code = false;
    for word in text.split_whitespace() {
        match words.last_mut() {
            Some(last) if in_code => *last = format!("{last} {word}"),
            _ => words.push(word.to_owned()),
        }
        if word.matches('`').count() % 2 == 1 {
            in_code = !in_code;
        }
    }
    words
}

/// `base_url` as `baseUrl`.
pub(crate) fn camel(name: &str) -> String {
    agent_loop_proto::did_you_mean::Spelling::Camel.spell(name)
}

/// `rate_limited` as `RATE_LIMITED`.
pub(crate) fn constant(word: &str) -> String {
    word.to_ascii_uppercase()
}
