//! Markdown on a terminal, as it comes: each part is shown at once, with what stands between its marks in bold, italic or colour.
//!
//! A model's answer comes a few characters at a time, and a paragraph of it is one long line: what renders whole lines or blocks
//! would show nothing for seconds. So this reads marks one by one, holds back only what may be the beginning of one, and shows
//! what it does not know (tables, HTML) as it is.

/// What a line is.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Line {
    /// Not known yet: its beginning is in `held`.
    Begin,
    Text,
    Heading,
    /// Of a block of code.
    Code,
}

/// Renders an answer. Without colours the text stays as it is.
pub(crate) struct Markdown {
    colours: bool,
    line: Line,
    in_fence: bool,
    held: String,
    bold: bool,
    italic: bool,
    code: bool,
    /// The last character that was shown, for marks that are none inside of a word.
    last: char,
}

const RESET: &str = "\x1b[0m";
const BOLD: &str = "\x1b[1m";
const DIM: &str = "\x1b[2m";
const ITALIC: &str = "\x1b[3m";
const CYAN: &str = "\x1b[36m";

impl Markdown {
    pub(crate) fn new(colours: bool) -> Markdown {
        let (line, last) = (Line::Begin, '\n');
        Markdown { colours, line, in_fence: false, held: String::new(), bold: false, italic: false, code: false, last }
    }

    /// The next part of the text, as the terminal shall have it.
    pub(crate) fn feed(&mut self, part: &str) -> String {
        if !self.colours {
            return part.to_owned();
        }
        let mut shown = String::new();
        for c in part.chars() {
            self.character(c, &mut shown);
        }
        shown
    }

    /// What is still held back, at the end of an answer.
    pub(crate) fn end(&mut self) -> String {
        let mut shown = String::new();
        if self.line == Line::Begin {
            self.decide(true, &mut shown);
        } else {
            self.marks(None, &mut shown);
        }
        if self.bold || self.italic || self.code || self.line != Line::Text {
            shown.push_str(RESET);
        }
        *self = Markdown::new(self.colours);
        shown
    }

    fn character(&mut self, c: char, shown: &mut String) {
        if c == '\n' {
            self.end_line(shown);
        } else if self.line == Line::Begin {
            self.held.push(c);
            self.decide(false, shown);
        } else {
            self.inline(c, shown);
        }
    }

    fn end_line(&mut self, shown: &mut String) {
        if self.line == Line::Begin {
            self.decide(true, shown);
        } else {
            self.marks(None, shown);
        }
        if self.line == Line::Heading || self.line == Line::Code {
            shown.push_str(RESET);
        }
        shown.push('\n');
        // A mark that is not closed in its line was none, but for those of long paragraphs, which are one line.
        if self.bold || self.italic || self.code {
            shown.push_str(RESET);
            (self.bold, self.italic, self.code) = (false, false, false);
        }
        (self.line, self.last) = (Line::Begin, '\n');
    }

    /// Decides what the line is that begins with what is held, if that is enough to know it. `is_whole`: no more comes.
    fn decide(&mut self, is_whole: bool, shown: &mut String) {
        let held = std::mem::take(&mut self.held);
        let trimmed = held.trim_start();
        let is_fence = trimmed.starts_with("```") || trimmed.starts_with("~~~");
        if is_fence || (!is_whole && !trimmed.is_empty() && ("```".starts_with(trimmed) || "~~~".starts_with(trimmed))) {
            if is_whole && is_fence {
                self.in_fence = !self.in_fence;
                shown.push_str(&format!("{DIM}{held}{RESET}"));
                return;
            }
            if !is_whole {
                self.held = held;
                return;
            }
        }
        if self.in_fence {
            self.line = Line::Code;
            shown.push_str(&format!("{CYAN}{held}"));
            return;
        }
        let level = trimmed.chars().take_while(|c| *c == '#').count();
        if level > 0 && level <= 6 && trimmed.chars().nth(level) == Some(' ') {
            self.line = Line::Heading;
            shown.push_str(BOLD);
            return;
        }
        let may_be = |marks: &str| trimmed.chars().all(|c| marks.contains(c));
        if !is_whole && (trimmed.is_empty() || may_be("#") || (may_be("-*+>") && trimmed.chars().count() == 1)) {
            self.held = held;
            return;
        }
        self.line = Line::Text;
        let indent = held.len() - trimmed.len();
        let (space, rest) = held.split_at(indent);
        shown.push_str(space);
        let item = ["- ", "* ", "+ "].iter().find_map(|mark| rest.strip_prefix(mark));
        let rest = match (item, rest.strip_prefix("> ")) {
            (Some(rest), _) => {
                shown.push_str("• ");
                rest
            }
            (None, Some(rest)) => {
                shown.push_str(&format!("{DIM}│{RESET} "));
                rest
            }
            (None, None) => rest,
        };
        self.last = ' ';
        rest.chars().for_each(|c| self.inline(c, shown));
        if is_whole {
            self.marks(None, shown);
        }
    }

    fn inline(&mut self, c: char, shown: &mut String) {
        if self.line == Line::Code {
            shown.push(c);
            return;
        }
        match self.held.chars().next() {
            // More of the same mark.
            Some(mark) if mark == c => self.held.push(c),
            _ => {
                self.marks(Some(c), shown);
                if c == '`' || (!self.code && (c == '*' || c == '_')) {
                    self.held.push(c);
                } else {
                    shown.push(c);
                    self.last = c;
                }
            }
        }
    }

    /// What is held is a mark, or was none. `next` is what follows it in the line.
    fn marks(&mut self, next: Option<char>, shown: &mut String) {
        let held = std::mem::take(&mut self.held);
        let Some(mark) = held.chars().next() else { return };
        let inside_word = self.last.is_alphanumeric() && next.is_some_and(char::is_alphanumeric);
        let may_be = mark != '_' || !inside_word;
        let opens = may_be && next.is_some_and(|c| !c.is_whitespace());
        let closes = may_be && !self.last.is_whitespace();
        let (is_open, wanted) = match (mark, held.len()) {
            ('`', 1) => (self.code, vec!['c']),
            ('*' | '_', 1) => (self.italic, vec!['i']),
            ('*' | '_', 2) => (self.bold, vec!['b']),
            ('*' | '_', 3) => (self.bold && self.italic, vec!['b', 'i']),
            _ => (false, Vec::new()),
        };
        if wanted.is_empty() || !(if is_open { closes } else { opens }) {
            shown.push_str(&held);
            self.last = mark;
            return;
        }
        for what in wanted {
            match what {
                'b' => self.bold = !is_open,
                'i' => self.italic = !is_open,
                _ => self.code = !is_open,
            }
        }
        shown.push_str(RESET);
        let heading = if self.line == Line::Heading || self.bold { BOLD } else { "" };
        let (italic, code) = (if self.italic { ITALIC } else { "" }, if self.code { CYAN } else { "" });
        shown.push_str(&format!("{heading}{italic}{code}"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The text with its styles as words, whatever the parts it comes in.
    fn rendered(text: &str) -> String {
        let parts = |size: usize| {
            let (mut markdown, characters) = (Markdown::new(true), text.chars().collect::<Vec<_>>());
            let shown: String = characters.chunks(size).map(|part| markdown.feed(&part.iter().collect::<String>())).collect();
            shown + &markdown.end()
        };
        let whole = parts(text.chars().count().max(1));
        for size in 1..6 {
            assert_eq!(parts(size), whole, "in parts of {size}: {text:?}");
        }
        let words = [(RESET, "[/]"), (BOLD, "[b]"), (DIM, "[dim]"), (ITALIC, "[i]"), (CYAN, "[c]")];
        words.iter().fold(whole, |text, (code, word)| text.replace(code, word))
    }

    #[test]
    fn marks_become_styles() {
        for (text, expected) in [
            ("plain text", "plain text"),
            ("a **bold** word", "a [/][b]bold[/] word"),
            ("an *italic* and _another_ one", "an [/][i]italic[/] and [/][i]another[/] one"),
            ("`code` here", "[/][c]code[/] here"),
            ("***both***", "[/][b][i]both[/]"),
            ("snake_case_name and 2 * 3 * 4", "snake_case_name and 2 * 3 * 4"),
            ("`a * b` is **`c`**", "[/][c]a * b[/] is [/][b][/][b][c]c[/][b][/]"),
            ("# Title\ntext", "[b]Title[/]\ntext"),
            ("#hashtag", "#hashtag"),
            ("- one\n* two\n  + three", "• one\n• two\n  • three"),
            ("> quoted", "[dim]│[/] quoted"),
            ("--- x", "--- x"),
            ("1. first", "1. first"),
            ("| a | b |", "| a | b |"),
            ("an unclosed **bold\nnext", "an unclosed [/][b]bold\n[/]next"),
            ("", ""),
        ] {
            let shown = rendered(text);
            assert_eq!(shown.trim_end_matches("[/]"), expected.trim_end_matches("[/]"), "{text:?}");
        }
    }

    #[test]
    fn code_blocks_stay_as_they_are() {
        let shown = rendered("```rust\nlet a = b * c * d; // **x**\n\n```\nafter *it*");
        assert_eq!(shown, "[dim]```rust[/]\n[c]let a = b * c * d; // **x**[/]\n[c][/]\n[dim]```[/]\nafter [/][i]it[/]");
    }

    #[test]
    fn without_colours_nothing_changes() {
        let mut markdown = Markdown::new(false);
        assert_eq!(markdown.feed("# a **b**\n") + &markdown.end(), "# a **b**\n");
    }
}
