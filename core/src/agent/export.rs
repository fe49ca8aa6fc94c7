//! A conversation as one JSON text, signed with a key of the host's if it has one: so that a state that went through a browser
//! cannot be forged.

use std::fmt::Write;

use agent_loop_proto::conversation::export::Export;
use ring::hmac;
use serde_json::Value;

use super::builder::AgentBuilder;
use super::handle::Agent;
use crate::error::Error;

/// Whole numbers up to here are the same in every language.
const MAX_SAFE: u64 = 1 << 53;

const ALGORITHM: &str = "hmac-sha256:";

/// As many as the signature has: more than can be guessed.
const LEAST_KEY_BYTES: usize = 32;

impl Agent {
    /// The conversation as one JSON text: messages, queues, and calls that wait for a decision. It has no settings, no tools and
    /// no keys. With a key, it has a signature (HMAC-SHA256), and [`Agent::from_export`] with the same key refuses what was
    /// changed: it stops changes, not reuse, as an old text of the same conversation has a valid signature, too.
    ///
    /// ```
    /// use agent_loop::{Agent, Message};
    ///
    /// let agent = Agent::builder("anthropic/claude-sonnet-4-5").messages(vec![Message::user("Hi.", 0)]).build()?;
    /// let kept = agent.export(Some(b"a key of 32 bytes, at the least."))?;
    ///
    /// let builder = Agent::builder("anthropic/claude-sonnet-4-5");
    /// let agent = Agent::from_export(builder, &kept, Some(b"a key of 32 bytes, at the least."))?;
    /// assert_eq!(agent.messages()[0].text(), "Hi.");
    /// # Ok::<(), agent_loop::Error>(())
    /// ```
    ///
    /// # Errors
    /// `busy` while a run is active; `invalid_argument` for a key of less than 32 bytes.
    pub fn export(&self, key: Option<&[u8]>) -> Result<String, Error> {
        let export = self.state().conversation.export()?;
        // Not under the lock: it may be long. All of its keys are texts.
        let mut value = serde_json::to_value(export).unwrap_or_default();
        if let Some(key) = key {
            // As it is read again: a number may lose a bit on the way.
            let read: Value = serde_json::from_str(&value.to_string()).unwrap_or_default();
            let tag = hmac::sign(&key_of(key)?, &signed_bytes(&read));
            if let Some(map) = value.as_object_mut() {
                map.insert("signature".to_owned(), format!("{ALGORITHM}{}", hex(tag.as_ref())).into());
            }
        }
        Ok(value.to_string())
    }

    /// An agent that goes on with the conversation of an [`Agent::export`], in this or in another language. Model, tools and
    /// options are those of the builder.
    ///
    /// # Errors
    /// `invalid_argument`: no export, one that is not signed although a key is given, or with another key, or was changed; one
    /// that is signed, without a key; a builder with messages, as the export has its own; and those of [`AgentBuilder::build`].
    /// `newer_version`: an export of a newer version of this library.
    pub fn from_export(builder: AgentBuilder, text: &str, key: Option<&[u8]>) -> Result<Agent, Error> {
        let agent = builder.build()?;
        agent.begin_with_export(text, key)?;
        Ok(agent)
    }

    /// Begins with the conversation of an export. For an agent that was made for it.
    ///
    /// # Errors
    /// As [`Agent::from_export`].
    #[doc(hidden)] // For hosts of other languages.
    pub fn begin_with_export(&self, text: &str, key: Option<&[u8]>) -> Result<(), Error> {
        if !self.messages().is_empty() {
            return Err(match self.own_session().id() {
                Some(id) => {
                    let text = "has a conversation already, and an export begins one: give it a session that is new, or go on \
                                with the session without the export";
                    Error::invalid_argument(format!("session: the session {id:?} {text}"))
                }
                None => has_messages(),
            });
        }
        self.load_export(text, key)
    }

    /// Goes on with the conversation of an export, in place of its own.
    ///
    /// # Errors
    /// As [`Agent::from_export`], but messages that it has are replaced; `busy` while a run is active.
    #[doc(hidden)] // For hosts of other languages.
    pub fn load_export(&self, text: &str, key: Option<&[u8]>) -> Result<(), Error> {
        let export = read(text, key)?;
        self.change_conversation(|state| state.conversation.import(export))
    }
}

/// Reads an export.
///
/// # Errors
/// As [`Agent::from_export`].
pub(crate) fn read(text: &str, key: Option<&[u8]>) -> Result<Export, Error> {
    let refused = |why: &str| Error::invalid_argument(format!("the export cannot be read: {why}"));
    let mut value: Value = serde_json::from_str(text).map_err(|error| refused(&format!("it is not JSON: {error}")))?;
    let signature = value.as_object_mut().ok_or_else(|| refused("it is not an object"))?.shift_remove("signature");
    match (key, signature) {
        (None, None) => {}
        (None, Some(_)) => return Err(refused("it is signed; give the key that it was signed with")),
        (Some(_), None) => return Err(refused("it is not signed, and a key is given: it may come from anybody")),
        (Some(key), Some(signature)) => {
            let tag = signature.as_str().and_then(|text| text.strip_prefix(ALGORITHM)).and_then(unhex);
            let tag = tag.ok_or_else(|| refused("its signature is none of this library"))?;
            hmac::verify(&key_of(key)?, &signed_bytes(&value), &tag)
                .map_err(|_| refused("it was changed, or signed with another key"))?;
        }
    }
    Export::from_json(value)
}

/// The error of messages that are given beside an export.
pub(crate) fn has_messages() -> Error {
    Error::invalid_argument("the export has the messages of its conversation; leave out the option \"messages\"")
}

/// A key that is too short can be guessed from one signed text.
fn key_of(key: &[u8]) -> Result<hmac::Key, Error> {
    if key.len() < LEAST_KEY_BYTES {
        let text = format!("the key of the export has {} bytes; give at least {LEAST_KEY_BYTES} random ones", key.len());
        return Err(Error::invalid_argument(text));
    }
    Ok(hmac::Key::new(hmac::HMAC_SHA256, key))
}

/// What is signed: the same for the same JSON, however it is spaced, in whatever order its members are, and however a number is
/// written.
fn signed_bytes(value: &Value) -> Vec<u8> {
    let mut text = String::new();
    write_value(value, &mut text);
    text.into_bytes()
}

fn write_value(value: &Value, out: &mut String) {
    match value {
        Value::Object(map) => {
            let mut members: Vec<_> = map.iter().collect();
            members.sort_unstable_by_key(|(name, _)| *name);
            out.push('{');
            for (name, value) in members {
                write_text(name, out);
                write_value(value, out);
            }
            out.push('}');
        }
        Value::Array(list) => {
            out.push('[');
            list.iter().for_each(|value| write_value(value, out));
            out.push(']');
        }
        Value::String(text) => write_text(text, out),
        Value::Number(number) => {
            let is_exact = number.as_i64().is_none_or(|whole| whole.unsigned_abs() <= MAX_SAFE)
                && number.as_u64().is_none_or(|whole| whole <= MAX_SAFE);
            // Adding zero takes the sign from a zero, which other languages do not write.
            match number.as_f64().filter(|_| is_exact) {
                Some(float) => _ = write!(out, "f{:016x}", (float + 0.0).to_bits()),
                None => _ = write!(out, "n{number};"),
            }
        }
        Value::Bool(flag) => out.push_str(if *flag { "t" } else { "u" }),
        Value::Null => out.push('0'),
    }
}

/// With its length before it, so that it cannot run into what follows.
fn write_text(text: &str, out: &mut String) {
    let _ = write!(out, "s{}:{text}", text.len());
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

fn unhex(text: &str) -> Option<Vec<u8>> {
    let digits: Vec<u8> =
        text.chars().map(|c| c.to_digit(16).and_then(|digit| u8::try_from(digit).ok())).collect::<Option<_>>()?;
    let (pairs, rest) = digits.as_chunks::<2>();
    rest.is_empty().then(|| pairs.iter().map(|[high, low]| high << 4 | low).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorKind;
    use crate::message::Message;
    use serde_json::json;

    const KEY: &[u8] = b"0123456789abcdef0123456789abcdef";
    const MODEL: &str = r#"{"provider": "scripted", "id": "s", "script": [[{"delta": "Hello."}, {"end": "stop"}]]}"#;

    fn agent() -> Agent {
        let agent = Agent::new(MODEL).unwrap();
        let stored = json!({ "role": "note", "text": "ü", "n": [1, 1.5, -0.0, 1e300, 9_007_199_254_740_993_u64] });
        agent.append_messages(vec![Message::user("Hi.", 1), Message::from_json(stored).unwrap()]).unwrap();
        agent.follow_up("later").unwrap();
        agent
    }

    fn load(text: &str, key: Option<&[u8]>) -> Result<Agent, Error> {
        Agent::from_export(Agent::builder(MODEL), text, key)
    }

    #[test]
    fn what_is_exported_is_there_again() {
        for key in [None, Some(KEY)] {
            let kept = agent().export(key).unwrap();
            let again = load(&kept, key).unwrap();
            assert_eq!(again.messages(), agent().messages());
            assert!(again.has_queued_messages());
            assert_eq!(again.export(key).unwrap(), kept);
        }
    }

    #[test]
    fn a_signed_state_may_be_written_anew_but_not_changed() {
        let kept = agent().export(Some(KEY)).unwrap();
        let value: Value = serde_json::from_str(&kept).unwrap();
        // In another order, spaced, and with numbers as JavaScript writes them.
        let mut members: Vec<_> = value.as_object().unwrap().clone().into_iter().collect();
        members.reverse();
        let other = serde_json::to_string_pretty(&members.into_iter().collect::<serde_json::Map<_, _>>()).unwrap();
        assert!(other.contains("-0.0") && other.contains("1e+300"), "{other}");
        assert!(load(&other.replace("-0.0", "0").replace("1e+300", "1e300"), Some(KEY)).is_ok());
        let mut refused = 0;
        for (from, to) in [("Hi.", "Ho."), ("9007199254740993", "9007199254740992"), ("\"later\"", "\"now\""), ("1.5", "1.25")] {
            assert!(kept.contains(from), "{from}");
            let error = load(&kept.replacen(from, to, 1), Some(KEY)).unwrap_err();
            assert_eq!(error.message(), "the export cannot be read: it was changed, or signed with another key", "{from}");
            refused += 1;
        }
        assert_eq!(refused, 4);
    }

    #[test]
    fn messages_beside_an_export_are_refused() {
        let kept = agent().export(None).unwrap();
        let builder = Agent::builder(MODEL).messages(vec![Message::user("Ho.", 0)]);
        let error = Agent::from_export(builder, &kept, None).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument);
        let text = "the export has the messages of its conversation; leave out the option \"messages\"";
        assert_eq!(error.message(), text);
        assert!(Agent::from_export(Agent::builder(MODEL).messages(Vec::<Message>::new()), &kept, None).is_ok());
    }

    #[test]
    fn foreign_states_are_refused() {
        let (plain, signed) = (agent().export(None).unwrap(), agent().export(Some(KEY)).unwrap());
        let newer = plain.replacen("\"version\":1", "\"version\":2", 1);
        let waits = plain.replacen(
            "\"suspended\":[]",
            r#""suspended":[{"tool_call_id":"a","tool_name":"t","arguments":{},"reason":"","idempotency_key":"",
               "is_checked":true}]"#,
            1,
        );
        for (text, key, why) in [
            (&*plain, Some(KEY), "it is not signed, and a key is given: it may come from anybody"),
            (&*signed, None, "it is signed; give the key that it was signed with"),
            (&*signed, Some(&b"another key of thirty-two bytes."[..]), "it was changed, or signed with another key"),
            ("{}", None, "version is missing"),
            ("[]", None, "it is not an object"),
            ("x", None, "it is not JSON"),
            (&*newer, None, "the export has version 2; this library reads versions up to 1: update it"),
            (&*waits, None, "no call a of t in its last answer waits for a result"),
            (&*signed.replace("hmac-sha256:", "md5:"), Some(KEY), "its signature is none of this library"),
        ] {
            let error = load(text, key).unwrap_err();
            let kind = if text == newer { ErrorKind::NewerVersion } else { ErrorKind::InvalidArgument };
            assert_eq!(error.kind(), kind);
            assert!(error.message().contains(why), "{why}: {error}");
        }
    }

    #[test]
    fn a_key_that_can_be_guessed_is_refused() {
        let signed = agent().export(Some(KEY)).unwrap();
        for key in [&b""[..], b"short", &KEY[1..]] {
            let why = format!("the key of the export has {} bytes; give at least 32 random ones", key.len());
            for error in [agent().export(Some(key)).unwrap_err(), load(&signed, Some(key)).unwrap_err()] {
                assert_eq!((error.kind(), error.message()), (ErrorKind::InvalidArgument, &*why));
            }
        }
    }
}
