//! The page: one file, with all that it needs.

use std::fmt::Write;

use ring::rand::{SystemRandom, generate};
use serde_json::{Value, json};

use crate::failure::Failure;

const PAGE: &str = include_str!("page/page.html");
const STYLE: &str = include_str!("page/page.css");
const SCRIPTS: &[&str] = &[include_str!("page/text.js"), include_str!("page/timeline.js"), include_str!("page/page.js")];

/// What stands around the data.
const DATA: (&str, &str) = ("<script type=\"application/json\" id=\"data\">", "</script>");

/// The page with these documents: one, or two that are compared. With `version`, it asks its server for what is new.
///
/// # Errors
/// The system gives no random numbers.
pub(super) fn page(documents: &[Value], version: Option<u64>) -> Result<String, Failure> {
    // Whatever is in a message, the browser runs only what has this number, and loads nothing.
    let nonce = random()?;
    let connect = if version.is_some() { "; connect-src 'self'" } else { "" };
    let policy = format!(
        "default-src 'none'; script-src 'nonce-{nonce}'; style-src 'nonce-{nonce}'; img-src data:; base-uri 'none'; \
         form-action 'none'{connect}"
    );
    let data = json!({ "version": version, "documents": documents }).to_string().replace('<', "\\u003c");
    let mut page = PAGE.to_owned();
    // The data last: it may have any text.
    for (mark, text) in [
        ("{{policy}}", policy),
        ("{{nonce}}", nonce),
        ("{{style}}", STYLE.to_owned()),
        ("{{script}}", SCRIPTS.concat()),
        ("{{data}}", data),
    ] {
        page = page.replace(mark, &text);
    }
    Ok(page)
}

/// The documents in a page that was exported.
pub(super) fn data_of(page: &str) -> Option<Vec<Value>> {
    let (_, rest) = page.split_once(DATA.0)?;
    let (data, _) = rest.split_once(DATA.1)?;
    let mut data: Value = serde_json::from_str(data).ok()?;
    let documents = data.get_mut("documents")?.take();
    documents.as_array().filter(|documents| !documents.is_empty()).cloned()
}

/// 128 random bits, as hexadecimal digits.
///
/// # Errors
/// The system gives none.
pub(super) fn random() -> Result<String, Failure> {
    let bytes = generate::<[u8; 16]>(&SystemRandom::new()).map_err(|_| Failure::error("the system gives no random numbers"))?;
    let mut text = String::new();
    for byte in bytes.expose() {
        let _ = write!(text, "{byte:02x}");
    }
    Ok(text)
}
