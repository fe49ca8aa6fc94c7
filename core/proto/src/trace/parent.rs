//! The trace context of a caller, as the header `traceparent` of W3C has it.

use crate::error::Error;

/// The span of a caller, perhaps in another process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(not(feature = "__bindings"), non_exhaustive)]
pub struct TraceParent {
    /// The trace; not 0.
    pub trace_id: u128,
    /// The span; not 0.
    pub span_id: u64,
    /// The flags; the lowest bit says that the caller records the trace.
    pub flags: u8,
}

impl TraceParent {
    /// Reads `00-<trace id>-<span id>-<flags>`. `spelled` is what the text was given as, for errors.
    ///
    /// # Errors
    /// `invalid_argument`: it is none.
    pub fn parse(text: &str, spelled: &str) -> Result<TraceParent, Error> {
        let expected = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
        let wrong = || {
            let text = crate::json_error::shown(&text.into());
            Error::invalid_argument(format!(
                "{spelled}: expected the value of a traceparent header, such as {expected}, got {text}"
            ))
        };
        TraceParent::read(text.trim()).ok_or_else(wrong)
    }

    fn read(text: &str) -> Option<TraceParent> {
        let mut parts = text.split('-');
        let mut hex = |digits: usize| {
            let is_hex = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
            parts.next().filter(|part| part.len() == digits && part.bytes().all(is_hex))
        };
        let version = hex(2).filter(|version| *version != "ff")?;
        let trace_id = u128::from_str_radix(hex(32)?, 16).ok().filter(|id| *id != 0)?;
        let span_id = u64::from_str_radix(hex(16)?, 16).ok().filter(|id| *id != 0)?;
        let flags = u8::from_str_radix(hex(2)?, 16).ok()?;
        // Later versions may have more.
        (version != "00" || parts.next().is_none()).then_some(TraceParent { trace_id, span_id, flags })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

    #[test]
    fn a_traceparent_is_read_as_w3c_has_it() {
        let read = TraceParent::parse(TEXT, "traceparent").unwrap();
        assert_eq!((read.trace_id, read.span_id), (0x4bf9_2f35_77b3_4da6_a3ce_929d_0e0e_4736, 0x00f0_67aa_0ba9_02b7));
        assert_eq!(read.flags, 1);
        assert!(TraceParent::parse(&TEXT.replacen("00", "cc", 1).replace("-01", "-01-more"), "traceparent").is_ok());
        for wrong in [
            "",
            "00",
            &TEXT.to_uppercase(),
            &TEXT.replacen("00", "ff", 1),
            &format!("{TEXT}-more"),
            "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
            "00-4bf92f3577b34da6a3ce929d0e0e473-00f067aa0ba902b7-01",
        ] {
            let error = TraceParent::parse(wrong, "option \"traceparent\"").unwrap_err();
            assert!(error.message().starts_with("option \"traceparent\": expected the value of"), "{wrong}");
        }
    }
}
