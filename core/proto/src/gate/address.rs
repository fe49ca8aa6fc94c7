//! URLs: compared as a client reads them, part by part, so that no part can pass for another one.

use url::Url;

use super::glob::{Glob, Style};
use super::path;

/// A URL as it is compared.
#[derive(Debug)]
pub(super) struct Address {
    url: Url,
    /// Whether it has a scheme of its own.
    is_whole: bool,
}

impl Address {
    /// Reads a URL; `None` for what has no host, and for what other clients may read as another host or path.
    pub(super) fn read(text: &str) -> Option<Address> {
        if is_ambiguous(text) {
            return None;
        }
        let read = |text: &str| Url::parse(text).ok().filter(|url| url.host_str().is_some_and(|host| !host.is_empty()));
        let own = read(text);
        let is_whole = own.is_some();
        if !is_whole && text.contains("://") {
            return None;
        }
        // What some clients make of it.
        let mut url = own.or_else(|| read(&format!("https://{text}")))?;
        url.set_fragment(None);
        // Whoever it is sent as, it goes to the host. Both fail only without one.
        let _ = (url.set_username(""), url.set_password(None));
        let path = plain(url.path());
        url.set_path(&path);
        Some(Address { url, is_whole })
    }

    /// In its one spelling.
    pub(super) fn text(&self) -> &str {
        self.url.as_str()
    }

    /// Whether a rule that grants something grants this.
    pub(super) fn grants(&self, pattern: &str) -> bool {
        let pattern = Pattern::new(pattern);
        let path = self.url.path().to_ascii_lowercase();
        // Some servers take them for separators.
        let is_odd = path.contains("%2f") || path.contains("%5c");
        if is_odd || !self.is_whole {
            return pattern.is_literal() && pattern.text() == self.text();
        }
        let own_path = if pattern.path.is_empty() { "/" } else { pattern.path };
        pattern.is_of_scheme(self.url.scheme())
            && Glob::new(&pattern.authority, Style::Folders).is_match(&self.authority())
            && Glob::new(own_path, Style::Folders).is_match(&self.target())
    }

    /// Whether a rule that forbids something is about this. One without a path is about all of the host.
    pub(super) fn covers(&self, pattern: &str) -> bool {
        let pattern = Pattern::new(pattern);
        let is_of_scheme =
            pattern.is_of_scheme(self.url.scheme()) || (is_of_web(&pattern.scheme) && is_of_web(self.url.scheme()));
        let host = self.url.host_str().unwrap_or_default();
        let (host, authority) = (host.trim_end_matches('.'), self.authority().replacen(host, host.trim_end_matches('.'), 1));
        let own_authority = Glob::new(&pattern.authority, Style::Folders);
        let decoded = path::shortest(&decoded(self.url.path()));
        let own_path = Glob::new(pattern.path, Style::Folders);
        is_of_scheme
            && (own_authority.is_match(host) || own_authority.is_match(&authority))
            && (pattern.path.is_empty() || [&self.target(), self.url.path(), &decoded].iter().any(|path| own_path.is_match(path)))
    }

    /// The host, with a port that is not the scheme's.
    fn authority(&self) -> String {
        let host = self.url.host_str().unwrap_or_default();
        self.url.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"))
    }

    /// The path with the query.
    fn target(&self) -> String {
        self.url.query().map_or_else(|| self.url.path().to_owned(), |query| format!("{}?{query}", self.url.path()))
    }
}

/// The parts of a rule's pattern.
struct Pattern<'a> {
    /// Empty: any.
    scheme: String,
    authority: String,
    /// With the query.
    path: &'a str,
}

impl Pattern<'_> {
    fn new(pattern: &str) -> Pattern<'_> {
        if matches!(pattern, "*" | "**") {
            return Pattern { scheme: String::new(), authority: "*".to_owned(), path: "/**" };
        }
        let (scheme, rest) = pattern.split_once("://").unwrap_or(("", pattern));
        let (authority, path) = rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len()));
        let (scheme, authority) = (scheme.to_ascii_lowercase(), in_ascii(authority).to_ascii_lowercase());
        let port = match &*scheme {
            "https" => ":443",
            "http" => ":80",
            _ => "",
        };
        let authority = authority.strip_suffix(port).unwrap_or(&authority).to_owned();
        Pattern { scheme, authority, path }
    }

    fn is_of_scheme(&self, scheme: &str) -> bool {
        self.scheme.is_empty() || Glob::new(&self.scheme, Style::Plain).is_match(scheme)
    }

    fn text(&self) -> String {
        let literal = |part: &str| Glob::new(part, Style::Folders).literal().unwrap_or_default();
        format!("{}://{}{}", self.scheme, literal(&self.authority), literal(self.path))
    }

    fn is_literal(&self) -> bool {
        let is_literal = |part: &str| Glob::new(part, Style::Folders).literal().is_some();
        is_literal(&self.authority) && is_literal(self.path)
    }
}

/// The pattern of a host with its labels as a URL has them, as far as they are without wildcards.
fn in_ascii(authority: &str) -> String {
    if authority.is_ascii() {
        return authority.to_owned();
    }
    let label = |label: &str| match url::Host::parse(label) {
        Ok(url::Host::Domain(read)) if !label.is_ascii() => read,
        _ => label.to_owned(),
    };
    // The others that a browser takes for a dot.
    let (host, port) = authority.rsplit_once(':').map_or((authority, None), |(host, port)| (host, Some(port)));
    let host = host.split(['.', '\u{3002}', '\u{ff0e}', '\u{ff61}']).map(label).collect::<Vec<_>>().join(".");
    port.map_or_else(|| host.clone(), |port| format!("{host}:{port}"))
}

/// Whether clients read it in different ways. For browsers a backslash is a slash, tabs and line breaks are not there, and
/// `https:` with any number of slashes is followed by the host; for others, such as curl, `https://a\@b/` is at `b`.
fn is_ambiguous(text: &str) -> bool {
    let before_query = text.split(['?', '#']).next().unwrap_or_default();
    if before_query.contains('\\') || text.contains(char::is_control) {
        return true;
    }
    let Some((_, rest)) = before_query.split_once(':').filter(|(scheme, _)| is_of_web(scheme.trim())) else { return false };
    let authority = rest.strip_prefix("//").and_then(|rest| rest.split('/').next()).unwrap_or_default();
    authority.is_empty() || authority.matches('@').count() > 1
}

fn is_of_web(scheme: &str) -> bool {
    scheme.eq_ignore_ascii_case("http") || scheme.eq_ignore_ascii_case("https")
}

/// A path in which only what has to be is written as `%XX`.
fn plain(path: &str) -> String {
    decode(path, |byte| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte))
}

/// A path without any `%XX`, as some servers read it.
fn decoded(path: &str) -> String {
    decode(path, |_| true)
}

fn decode(path: &str, is_wanted: impl Fn(u8) -> bool) -> String {
    let (mut out, mut bytes) = (Vec::with_capacity(path.len()), path.as_bytes());
    while let [first, rest @ ..] = bytes {
        let digit = |at: usize| rest.get(at).and_then(|byte| char::from(*byte).to_digit(16));
        let byte = digit(0).zip(digit(1)).and_then(|(high, low)| u8::try_from(high * 16 + low).ok());
        bytes = match byte.filter(|byte| *first == b'%' && is_wanted(*byte)) {
            Some(byte) => {
                out.push(byte);
                rest.get(2..).unwrap_or_default()
            }
            None => {
                out.push(*first);
                rest
            }
        };
    }
    String::from_utf8_lossy(&out).into_owned()
}
