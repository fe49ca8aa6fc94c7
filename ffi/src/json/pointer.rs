//! JSON pointers (RFC 6901), from the root of a value to a part of it.

use agent_loop::Error;

/// One step of a pointer.
pub(super) struct Token {
    /// The key or the index.
    pub(super) name: String,
    /// The pointer up to here, with this step.
    pub(super) path: String,
}

/// Reads a pointer. The steps are copies: the pointer may be text of the value that is changed with it.
pub(super) fn parse(pointer: &str) -> Result<Vec<Token>, Error> {
    if !pointer.is_empty() && !pointer.starts_with('/') {
        let text = format!(
            "pointer is not a JSON pointer: {pointer:?} does not begin with a slash; expected {:?}",
            format!("/{pointer}")
        );
        return Err(Error::invalid_argument(text));
    }
    let ends = pointer.match_indices('/').skip(1).map(|(at, _)| at).chain([pointer.len()]);
    let tokens = pointer.split('/').skip(1).zip(ends);
    tokens.map(|(raw, end)| Ok(Token { name: unescape(raw)?, path: pointer[..end].to_owned() })).collect()
}

/// `~1` is a slash and `~0` a tilde.
fn unescape(raw: &str) -> Result<String, Error> {
    let mut pieces = raw.split('~');
    let mut name = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        let (c, rest) = match (piece.strip_prefix('0'), piece.strip_prefix('1')) {
            (Some(rest), _) => ('~', rest),
            (_, Some(rest)) => ('/', rest),
            _ => {
                let text = format!("pointer is not a JSON pointer: {raw:?} has a tilde without 0 or 1 after it");
                return Err(Error::invalid_argument(text));
            }
        };
        name.push(c);
        name.push_str(rest);
    }
    Ok(name)
}

/// The index that a step is: digits without a leading zero.
pub(super) fn index(token: &str) -> Option<usize> {
    let is_plain = token.bytes().all(|byte| byte.is_ascii_digit()) && (token == "0" || !token.starts_with('0'));
    if is_plain { token.parse().ok() } else { None }
}
