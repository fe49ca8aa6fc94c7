//! The text of a page, with headings, lists and links as Markdown has them.
//!
//! Our own, and simple: what converts pages as browsers show them brings a parser with all of HTML's rules for mistakes, which is
//! larger than the rest of this tool. A page with mistakes becomes a text in which some things are missing or too much.

use reqwest::Url;

/// What has nothing to read. Its content ends with its end tag, whatever stands in it.
const SKIPPED: &[&str] = &["script", "style", "template", "svg", "iframe", "noscript", "object", "select", "button", "head"];

/// What begins a paragraph, and what begins a line.
const PARAGRAPHS: &[&str] =
    &["p", "ul", "ol", "dl", "table", "blockquote", "pre", "figure", "section", "article", "main", "form", "hr"];
const LINES: &[&str] = &[
    "div",
    "br",
    "tr",
    "dt",
    "dd",
    "header",
    "footer",
    "nav",
    "aside",
    "address",
    "fieldset",
    "figcaption",
    "caption",
    "details",
    "summary",
    "option",
];

const ENTITIES: &[(&str, &str)] = &[
    ("amp", "&"),
    ("lt", "<"),
    ("gt", ">"),
    ("quot", "\""),
    ("apos", "'"),
    ("nbsp", " "),
    ("shy", ""),
    ("copy", "©"),
    ("reg", "®"),
    ("trade", "™"),
    ("hellip", "…"),
    ("mdash", "—"),
    ("ndash", "–"),
    ("lsquo", "‘"),
    ("rsquo", "’"),
    ("ldquo", "“"),
    ("rdquo", "”"),
    ("laquo", "«"),
    ("raquo", "»"),
    ("bull", "•"),
    ("middot", "·"),
    ("euro", "€"),
    ("pound", "£"),
    ("deg", "°"),
    ("times", "×"),
    ("rarr", "→"),
    ("larr", "←"),
    ("para", "¶"),
    ("sect", "§"),
    ("auml", "ä"),
    ("ouml", "ö"),
    ("uuml", "ü"),
    ("Auml", "Ä"),
    ("Ouml", "Ö"),
    ("Uuml", "Ü"),
    ("szlig", "ß"),
    ("eacute", "é"),
    ("egrave", "è"),
    ("agrave", "à"),
    ("ccedil", "ç"),
    ("ntilde", "ñ"),
    ("aring", "å"),
    ("oslash", "ø"),
    ("aelig", "æ"),
];

/// The text of a page that was at this address.
pub(super) fn text_of(page: &str, url: &Url) -> String {
    let mut text = Text::default();
    if let Some(title) = between(page, "<title", "</title") {
        text.paragraph();
        text.words(title.split_once('>').map_or(title, |(_, title)| title));
        text.paragraph();
    }
    // Behind the last tag there is text, whatever begins there: the end of each tag is found before it.
    let (tags, last) = page.split_at(page.rfind('>').map_or(0, |at| at + 1));
    let (mut rest, mut links) = (tags, Vec::new());
    while let Some(start) = rest.find('<') {
        let (before, tag) = rest.split_at(start);
        text.words(before);
        rest = if let Some(comment) = tag.strip_prefix("<!--") {
            comment.find("-->").and_then(|end| comment.get(end + 3..)).unwrap_or_default()
        } else if let Some((name, attributes, after)) = tag_of(tag) {
            text.tag(&name, attributes, url, &mut links);
            match SKIPPED.contains(&&*name) && !attributes.ends_with('/') {
                true => behind(after, &format!("</{name}")),
                false => after,
            }
        } else {
            text.words("<");
            tag.get(1..).unwrap_or_default()
        };
    }
    text.words(rest);
    text.words(last);
    text.done.trim().to_owned()
}

/// What is being written.
#[derive(Default)]
struct Text {
    done: String,
    /// What is to come before the next word: lines that end, or a space.
    lines: usize,
    has_space: bool,
    is_verbatim: bool,
}

impl Text {
    fn line(&mut self) {
        self.lines = self.lines.max(1);
    }

    fn paragraph(&mut self) {
        self.lines = self.lines.max(2);
    }

    /// Text of the page: white space is one space.
    fn words(&mut self, raw: &str) {
        for c in decoded(raw).chars() {
            match c {
                '\n' if self.is_verbatim => self.lines += 1,
                c if c.is_whitespace() && !self.is_verbatim => self.has_space = true,
                c => self.put(c.encode_utf8(&mut [0; 4])),
            }
        }
    }

    /// Something that is shown.
    fn put(&mut self, text: &str) {
        match (self.lines, self.done.is_empty()) {
            (_, true) => {}
            (0, false) if self.has_space => self.done.push(' '),
            (lines, false) => self.done.extend(std::iter::repeat_n('\n', lines)),
        }
        (self.lines, self.has_space) = (0, false);
        self.done.push_str(text);
    }

    fn tag(&mut self, name: &str, attributes: &str, url: &Url, links: &mut Vec<Option<String>>) {
        match name.strip_prefix('/').unwrap_or(name) {
            "pre" => {
                self.paragraph();
                self.is_verbatim = name == "pre";
            }
            name if PARAGRAPHS.contains(&name) => self.paragraph(),
            name if LINES.contains(&name) => self.line(),
            _ => {}
        }
        match name {
            "li" => {
                self.line();
                self.put("- ");
            }
            "td" | "th" if self.lines == 0 => self.put(" | "),
            "h1" | "h2" | "h3" | "h4" | "h5" | "h6" => {
                self.paragraph();
                let level = name.bytes().last().map_or(1, |digit| usize::from(digit - b'0'));
                self.put(&format!("{} ", "#".repeat(level)));
            }
            "/h1" | "/h2" | "/h3" | "/h4" | "/h5" | "/h6" => self.paragraph(),
            "a" => {
                let href = attribute(attributes, "href").filter(|href| !href.starts_with(['#', '?']));
                let href = href.and_then(|href| url.join(&href).ok()).filter(|url| matches!(url.scheme(), "http" | "https"));
                if href.is_some() {
                    self.put("[");
                }
                links.push(href.map(String::from));
            }
            "/a" => {
                if let Some(Some(href)) = links.pop() {
                    let lines = std::mem::take(&mut self.lines);
                    let has_space = std::mem::take(&mut self.has_space);
                    self.put(&format!("]({href})"));
                    (self.lines, self.has_space) = (lines, has_space);
                }
            }
            "img" => {
                if let Some(alt) = attribute(attributes, "alt").filter(|alt| !alt.trim().is_empty()) {
                    self.put(&format!("[image: {}]", alt.trim()));
                }
            }
            _ => {}
        }
    }
}

/// In how many characters of a tag a `>` between quotes does not end it.
const LONGEST_QUOTED: usize = 4096;

/// A tag's name in small letters, what else is in it, and what comes behind it. None where `<` begins no tag.
fn tag_of(tag: &str) -> Option<(String, &str, &str)> {
    let inner = tag.strip_prefix('<')?;
    let is_name = inner.trim_start_matches('/').starts_with(|c: char| c.is_ascii_alphabetic());
    if !is_name && !inner.starts_with(['!', '?']) {
        return None;
    }
    let mut quote = None;
    let quoted = inner.char_indices().take(LONGEST_QUOTED).find(|(_, c)| {
        let c = *c;
        match quote {
            None if matches!(c, '"' | '\'') => quote = Some(c),
            Some(open) if open == c => quote = None,
            _ => {}
        }
        c == '>' && quote.is_none()
    });
    // A quote that does not end would swallow the page.
    let end = quoted.map(|(at, _)| at).or_else(|| inner.find('>'))?;
    let (whole, after) = (inner.get(..end)?, inner.get(end + 1..)?);
    let name_end = whole.find(|c: char| c.is_whitespace() || (c == '/' && !whole.starts_with('/'))).unwrap_or(whole.len());
    Some((whole.get(..name_end)?.to_ascii_lowercase(), whole.get(name_end..)?, after))
}

/// The value of an attribute.
fn attribute(attributes: &str, name: &str) -> Option<String> {
    let lower = attributes.to_ascii_lowercase();
    let (at, _) = lower.match_indices(name).find(|(at, _)| {
        let before = lower.get(..*at).and_then(|before| before.chars().next_back());
        let after = lower.get(at + name.len()..).unwrap_or_default().trim_start();
        before.is_some_and(char::is_whitespace) && after.starts_with('=')
    })?;
    let value = attributes.get(at + name.len()..)?.trim_start().strip_prefix('=')?.trim_start();
    let value = match value.chars().next() {
        Some(quote @ ('"' | '\'')) => value.get(1..)?.split(quote).next()?,
        _ => value.split_whitespace().next()?,
    };
    Some(decoded(value))
}

/// Where a text is, in small or capital letters.
fn find(text: &str, wanted: &str) -> Option<usize> {
    let found = |window: &[u8]| window.eq_ignore_ascii_case(wanted.as_bytes());
    text.as_bytes().windows(wanted.len()).position(found)
}

/// What comes behind the end tag.
fn behind<'a>(text: &'a str, end_tag: &str) -> &'a str {
    let at = find(text, end_tag).and_then(|at| text.get(at..));
    at.and_then(|tag| tag.split_once('>')).map_or("", |(_, after)| after)
}

fn between<'a>(text: &'a str, from: &str, to: &str) -> Option<&'a str> {
    let inner = text.get(find(text, from)? + from.len()..)?;
    inner.get(..find(inner, to)?)
}

/// The text with its character references resolved.
fn decoded(raw: &str) -> String {
    let (mut text, mut rest) = (String::with_capacity(raw.len()), raw);
    while let Some((before, after)) = rest.split_once('&') {
        text.push_str(before);
        // Not further: a page may have nothing but beginnings.
        let end = after.bytes().take(12).position(|byte| byte == b';');
        let reference = end.and_then(|end| Some((after.get(..end)?, after.get(end + 1..)?)));
        let resolved = reference.and_then(|(name, behind)| Some((character(name)?, behind)));
        rest = match resolved {
            Some((character, behind)) => {
                text.push_str(&character);
                behind
            }
            None => {
                text.push('&');
                after
            }
        };
    }
    text + rest
}

fn character(name: &str) -> Option<String> {
    let number = |digits: &str, base| char::from_u32(u32::from_str_radix(digits, base).ok()?).map(String::from);
    match name.strip_prefix('#') {
        Some(number_of) => match number_of.strip_prefix(['x', 'X']) {
            Some(digits) => number(digits, 16),
            None => number(number_of, 10),
        },
        None => ENTITIES.iter().find(|(known, _)| *known == name).map(|(_, character)| (*character).to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(page: &str) -> String {
        text_of(page, &Url::parse("https://example.com/docs/a").expect("an address"))
    }

    #[test]
    fn a_page_becomes_text() {
        let page = "<!DOCTYPE html><HTML><head><title>The &amp; title</title><style>p > a { x: '<p>' }</style></head>
            <body><nav><a href='/home'>Home</a></nav><script>if (a < b) { document.write('<p>no</p>') }</script>
            <h1 class=\"a>b\">Hello,   <em>world</em></h1><p>First
            paragraph&nbsp;&mdash; with <a href=\"b?x=1&amp;y=2\">a <b>link</b></a>.</p><!-- <p>no</p> -->
            <ul><li>one<li>two <a href='#x'>here</a></ul><pre>  a\n\n  b &lt; c</pre>
            <table><tr><th>K<th>V<tr><td>1<td>2</table><img alt='A cat' src=x><img src=y><br>
            end &unknown; &#x263a;&#9731;</body>";
        let expected = "The & title\n\n[Home](https://example.com/home)\n\n# Hello, world\n\nFirst paragraph — with [a link]\
            (https://example.com/docs/b?x=1&y=2).\n\n- one\n- two here\n\n  a\n\n  b < c\n\nK | V\n1 | 2\n\n[image: A cat]\nend \
            &unknown; ☺☃";
        assert_eq!(text(page), expected);
    }

    #[test]
    fn mistakes_do_no_harm() {
        for (page, expected) in [
            ("a < b and c > d", "a < b and c > d"),
            ("<p", "<p"),
            ("<", "<"),
            ("<a href=\"x>y</a> z", "[y](https://example.com/docs/x) z"),
            ("</p></div>x", "x"),
            ("<script>never ends</p>", ""),
            ("<!-- never ends >", ""),
            ("<a href='javascript:x()'>y</a>", "y"),
            ("&;&#;&#x;&#xd800;&amp", "&;&#;&#x;&#xd800;&amp"),
            ("", ""),
        ] {
            assert_eq!(text(page), expected, "{page}");
        }
        let many = "&".repeat(1_000_000);
        assert_eq!(text(&many), many);
        let deep = "<div><a href=x>".repeat(100_000);
        assert!(text(&deep).starts_with('['));
    }
}
