//! Patterns with `*`, compared in one pass over the text: no pattern can make it slow.

/// A part of a pattern.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Token {
    /// This character.
    Char(char),
    /// `*`: what does not cross a `/`, in paths and URLs; else anything.
    Any,
    /// `**`: anything.
    Deep,
    /// The next tokens, so many of them, or nothing.
    Optional(usize),
    /// Anything up to a `/`, which it ends with.
    Folders,
}

/// How `*` is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Style {
    /// It stands for anything.
    Plain,
    /// As plain; a pattern that ends in ` *` is also without arguments: `rm *` is `rm`, too.
    Words,
    /// It does not cross a `/`, `**` does. `**/` is also nothing, and so is `/**` at the end.
    Folders,
}

/// A pattern that was read.
#[derive(Debug)]
pub(super) struct Glob(Vec<Token>);

impl Glob {
    pub(super) fn new(pattern: &str, style: Style) -> Glob {
        let mut tokens = Vec::new();
        let mut chars = pattern.chars().peekable();
        while let Some(c) = chars.next() {
            match c {
                // Before anything else it is itself: a pattern may have paths of Windows.
                '\\' if matches!(chars.peek(), Some('*' | '\\')) => tokens.extend(chars.next().map(Token::Char)),
                '*' if chars.next_if_eq(&'*').is_some() => {
                    while chars.next_if_eq(&'*').is_some() {}
                    let begins_part = style == Style::Folders && matches!(tokens.last(), None | Some(Token::Char('/')));
                    if begins_part && chars.next_if_eq(&'/').is_some() {
                        tokens.extend([Token::Optional(1), Token::Folders]);
                    } else if begins_part && chars.peek().is_none() && tokens.pop().is_some() {
                        tokens.extend([Token::Optional(2), Token::Char('/'), Token::Deep]);
                    } else {
                        tokens.push(Token::Deep);
                    }
                }
                '*' if style == Style::Folders => tokens.push(Token::Any),
                '*' if style == Style::Words && chars.peek().is_none() && tokens.last() == Some(&Token::Char(' ')) => {
                    tokens.pop();
                    tokens.extend([Token::Optional(2), Token::Char(' '), Token::Deep]);
                }
                '*' => tokens.push(Token::Deep),
                c => tokens.push(Token::Char(c)),
            }
        }
        Glob(tokens)
    }

    /// The text that alone matches; `None` for a pattern with wildcards.
    pub(super) fn literal(&self) -> Option<String> {
        self.0.iter().map(|token| if let Token::Char(c) = token { Some(*c) } else { None }).collect()
    }

    /// Whether it has one of these characters, in its own words.
    pub(super) fn has_any(&self, wanted: &str) -> bool {
        self.0.iter().any(|token| matches!(token, Token::Char(c) if wanted.contains(*c)))
    }

    /// Whether the whole text matches.
    pub(super) fn is_match(&self, text: &str) -> bool {
        self.is_match_with(text, |_| true)
    }

    /// Whether the whole text matches, where wildcards stand for nothing but these characters.
    pub(super) fn is_match_with(&self, text: &str, takes: impl Fn(char) -> bool) -> bool {
        self.matches(text, &[0], takes)
    }

    /// Whether the text matches from one of these places on, which ascend, to its end.
    pub(super) fn is_match_from(&self, text: &str, starts: &[usize]) -> bool {
        self.matches(text, starts, |_| true)
    }

    fn matches(&self, text: &str, starts: &[usize], takes: impl Fn(char) -> bool) -> bool {
        // Which tokens are next, for all ways to have come here.
        let (mut now, mut next) = (vec![false; self.0.len() + 1], vec![false; self.0.len() + 1]);
        let mut starts = starts.iter().copied().peekable();
        for (at, c) in text.char_indices() {
            while starts.next_if_eq(&at).is_some() {
                self.enter(&mut now, 0);
            }
            next.fill(false);
            for (i, token) in self.0.iter().enumerate().filter(|(i, _)| now.get(*i) == Some(&true)) {
                match token {
                    Token::Char(own) if *own == c => self.enter(&mut next, i + 1),
                    Token::Any if c != '/' && takes(c) => self.enter(&mut next, i),
                    Token::Deep if takes(c) => self.enter(&mut next, i),
                    Token::Folders if takes(c) => {
                        self.enter(&mut next, i);
                        if c == '/' {
                            self.enter(&mut next, i + 1);
                        }
                    }
                    _ => {}
                }
            }
            std::mem::swap(&mut now, &mut next);
        }
        if starts.next() == Some(text.len()) {
            self.enter(&mut now, 0);
        }
        now.last() == Some(&true)
    }

    /// The token is next, and so are those behind it, where it may be left out.
    fn enter(&self, states: &mut [bool], at: usize) {
        match states.get_mut(at) {
            Some(state) if !*state => *state = true,
            _ => return,
        }
        match self.0.get(at) {
            Some(Token::Any | Token::Deep) => self.enter(states, at + 1),
            Some(Token::Optional(tokens)) => {
                self.enter(states, at + 1);
                self.enter(states, at + 1 + tokens);
            }
            _ => {}
        }
    }
}

/// The pattern that only this text matches.
pub(super) fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if matches!(c, '*' | '\\') {
            out.push('\\');
        }
        out.push(c);
    }
    out
}
