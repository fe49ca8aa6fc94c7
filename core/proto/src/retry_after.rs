//! How long an answer asks to wait before the next attempt, as headers and texts say it.

use std::time::UNIX_EPOCH;

/// The pause that an answer's headers demand, in milliseconds: `retry-after-ms`, or `retry-after` in seconds or as a date; of a
/// 429 without these, when the limits that were reached begin anew.
pub fn of_headers(header: &dyn Fn(&str) -> Option<String>, status: u16, now_ms: u64) -> Option<u64> {
    if let Some(ms) = header("retry-after-ms").and_then(|text| whole(number(&text)?)) {
        return Some(ms);
    }
    if let Some(after) = header("retry-after").and_then(|text| after_ms(&text, now_ms)) {
        return Some(after);
    }
    if status == 429 { reset_ms(header, now_ms) } else { None }
}

/// Seconds, or a date as HTTP writes it.
fn after_ms(text: &str, now_ms: u64) -> Option<u64> {
    match number(text) {
        Some(seconds) => whole(seconds * 1000.0),
        None => {
            let date = httpdate::parse_http_date(text.trim()).ok()?.duration_since(UNIX_EPOCH).ok()?;
            Some(u64::try_from(date.as_millis()).ok()?.saturating_sub(now_ms))
        }
    }
}

/// The limits that providers count apart; the header of each in Anthropic's and in OpenAI's words.
const LIMITS: &[&str] = &["requests", "tokens", "input-tokens", "output-tokens"];

/// When the limits that are used up begin anew: the last of them; where none is said to be used up, the first of all.
/// Anthropic gives a time (<https://docs.anthropic.com/en/api/rate-limits#response-headers>), OpenAI a duration such as `6m0s`
/// (<https://platform.openai.com/docs/guides/rate-limits#rate-limits-in-headers>), others a number.
fn reset_ms(header: &dyn Fn(&str) -> Option<String>, now_ms: u64) -> Option<u64> {
    let (mut used_up, mut first) = (None, None);
    let mut limit = |remaining: Option<String>, reset: Option<String>| {
        let Some(ms) = reset.and_then(|text| reset_in_ms(&text, now_ms)) else {
            return;
        };
        if remaining.is_some_and(|text| number(&text) == Some(0.0)) {
            used_up = used_up.max(Some(ms));
        }
        first = Some(first.map_or(ms, |first: u64| first.min(ms)));
    };
    for name in LIMITS {
        limit(header(&format!("anthropic-ratelimit-{name}-remaining")), header(&format!("anthropic-ratelimit-{name}-reset")));
        limit(header(&format!("x-ratelimit-remaining-{name}")), header(&format!("x-ratelimit-reset-{name}")));
    }
    limit(header("x-ratelimit-remaining"), header("x-ratelimit-reset"));
    limit(header("ratelimit-remaining"), header("ratelimit-reset"));
    used_up.or(first)
}

/// A time, a duration, or a number: seconds from now, or since the epoch in seconds or milliseconds, by its size.
pub(crate) fn reset_in_ms(text: &str, now_ms: u64) -> Option<u64> {
    match number(text) {
        Some(ms) if ms >= 1e12 => whole(ms).map(|at| at.saturating_sub(now_ms)),
        Some(seconds) if seconds >= 1e9 => whole(seconds * 1000.0).map(|at| at.saturating_sub(now_ms)),
        Some(seconds) => whole(seconds * 1000.0),
        None => duration_ms(text).or_else(|| Some(rfc3339_ms(text)?.saturating_sub(now_ms))),
    }
}

/// The pause that a sentence asks for: `Please try again in 6m0s.`, `Please retry in 48.9s`, `retry after 26 seconds`.
pub fn of_sentence(text: &str) -> Option<u64> {
    let text = text.to_ascii_lowercase();
    let asked = ["try again in ", "retry in ", "retry after ", "retrying in ", "again after "];
    let rest = asked.iter().find_map(|words| text.split_once(words)).map(|(_, rest)| rest)?;
    let mut words = rest.split_whitespace().map(|word| word.trim_end_matches(['.', ',', ';', ')', '!']));
    let first = words.next()?;
    match (number(first), words.next()) {
        (Some(count), Some(unit)) => {
            let of_unit = match unit {
                "ms" | "milliseconds" => 1.0,
                "minute" | "minutes" => 60_000.0,
                "hour" | "hours" => 3_600_000.0,
                "s" | "second" | "seconds" => 1000.0,
                _ => return None,
            };
            whole(count * of_unit)
        }
        _ => duration_ms(first),
    }
}

/// A duration as Go and protobuf write it: `17s`, `48.9s`, `6m0s`, `120ms`.
pub fn duration_ms(text: &str) -> Option<u64> {
    let mut rest = text.trim();
    let mut sum = 0.0;
    if rest.is_empty() {
        return None;
    }
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let (count, tail) = rest.split_at_checked(digits)?;
        let unit = tail.find(|c: char| c.is_ascii_digit()).unwrap_or(tail.len());
        let (unit, tail) = tail.split_at_checked(unit)?;
        let of_unit = match unit {
            "d" => 86_400_000.0,
            "h" => 3_600_000.0,
            "m" => 60_000.0,
            "s" => 1000.0,
            "ms" => 1.0,
            "us" | "µs" => 0.001,
            "ns" => 0.000_001,
            _ => return None,
        };
        sum += number(count)? * of_unit;
        rest = tail;
    }
    whole(sum)
}

/// Milliseconds since the epoch of a time such as `2026-01-27T12:00:30.5Z` or `…+02:00`.
fn rfc3339_ms(text: &str) -> Option<u64> {
    let (date, time) = text.trim().split_once(['T', 't', ' '])?;
    let mut date = date.splitn(3, '-').map(|part| part.parse::<i64>().ok());
    let (year, month, day) = (date.next()??, date.next()??, date.next()??);
    let zone = time.rfind(['Z', 'z', '+', '-'])?;
    let (clock, zone) = time.split_at_checked(zone)?;
    let mut clock = clock.splitn(3, ':');
    let (hour, minute, second) = (clock.next()?.parse::<i64>().ok()?, clock.next()?.parse::<i64>().ok()?, clock.next()?);
    let offset = match zone.split_at_checked(1)? {
        ("Z" | "z", "") => 0,
        (sign, of) => {
            let (hours, minutes) = of.split_once(':')?;
            let minutes = hours.parse::<i64>().ok()? * 60 + minutes.parse::<i64>().ok()?;
            if sign == "-" { -minutes } else { minutes }
        }
    };
    // Days since the epoch in the Gregorian calendar, with the year taken to begin in March.
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let days =
        365 * year + year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400) + (153 * month + 2) / 5 + day - 719_469;
    let minutes = (days * 24 + hour) * 60 + minute - offset;
    u64::try_from(minutes * 60_000).ok()?.checked_add(whole(number(second)? * 1000.0)?)
}

pub(crate) fn number(text: &str) -> Option<f64> {
    text.trim().parse::<f64>().ok()
}

#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // held between 0 and 2^53
pub(crate) fn whole(ms: f64) -> Option<u64> {
    ms.is_finite().then(|| ms.clamp(0.0, 9e15).ceil() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What headers, written `name: value`, demand.
    fn demanded(headers: &[&str], status: u16, now_ms: u64) -> Option<u64> {
        let all: Vec<(&str, &str)> = headers.iter().map(|line| line.split_once(": ").unwrap()).collect();
        let header = |name: &str| all.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned());
        of_headers(&header, status, now_ms)
    }

    #[test]
    fn retry_after_is_read_in_all_its_forms() {
        assert_eq!(demanded(&["retry-after-ms: 1500", "retry-after: 7"], 503, 0), Some(1500));
        assert_eq!(demanded(&["retry-after: 7"], 503, 0), Some(7000));
        assert_eq!(demanded(&["retry-after: 0.5"], 503, 0), Some(500));
        assert_eq!(demanded(&["retry-after: Thu, 01 Jan 1970 00:00:10 GMT"], 503, 4000), Some(6000));
        assert_eq!(demanded(&["retry-after: Thu, 01 Jan 1970 00:00:10 GMT"], 503, 40_000), Some(0));
        assert_eq!(demanded(&["retry-after: soon"], 503, 0), None);
        assert_eq!(demanded(&[], 429, 0), None);
    }

    #[test]
    fn a_429_without_retry_after_waits_for_the_limit_that_is_used_up() {
        let day = 1_769_515_200_000; // 2026-01-27T12:00:00Z
        let anthropic = [
            "anthropic-ratelimit-requests-remaining: 49",
            "anthropic-ratelimit-requests-reset: 2026-01-27T12:00:01Z",
            "anthropic-ratelimit-input-tokens-remaining: 0",
            "anthropic-ratelimit-input-tokens-reset: 2026-01-27T14:00:30.5+02:00",
        ];
        assert_eq!(demanded(&anthropic, 429, day), Some(30_500));
        assert_eq!(demanded(&anthropic, 529, day), None, "only a 429 is about limits");
        let openai = [
            "x-ratelimit-remaining-requests: 59",
            "x-ratelimit-reset-requests: 1s",
            "x-ratelimit-remaining-tokens: 0",
            "x-ratelimit-reset-tokens: 6m0s",
        ];
        assert_eq!(demanded(&openai, 429, day), Some(360_000));
        assert_eq!(demanded(&["x-ratelimit-reset-requests: 120ms", "x-ratelimit-reset-tokens: 2s"], 429, 0), Some(120));
        assert_eq!(demanded(&["retry-after: 3", "x-ratelimit-reset-requests: 6m0s"], 429, 0), Some(3000));
        assert_eq!(demanded(&["x-ratelimit-reset: 1769515205000"], 429, day), Some(5000), "OpenRouter: the time in ms");
        assert_eq!(demanded(&["x-ratelimit-reset: 1769515205"], 429, day), Some(5000), "others: in seconds");
        assert_eq!(demanded(&["ratelimit-reset: 5"], 429, day), Some(5000), "or from now");
        assert_eq!(demanded(&["x-ratelimit-reset: never"], 429, day), None);
    }

    #[test]
    fn durations_and_times() {
        for (text, ms) in [
            ("17s", Some(17_000)),
            ("48.939935699s", Some(48_940)),
            ("1h2m3.5s", Some(3_723_500)),
            ("120ms", Some(120)),
            ("1d", Some(86_400_000)),
            ("250us", Some(1)),
            ("7", None),
            ("s", None),
            ("", None),
            ("2 weeks", None),
        ] {
            assert_eq!(duration_ms(text), ms, "{text}");
        }
        assert_eq!(rfc3339_ms("1970-01-01T00:00:00Z"), Some(0));
        assert_eq!(rfc3339_ms("2024-02-29T23:59:59Z"), Some(1_709_251_199_000));
        assert_eq!(rfc3339_ms("2026-01-27T07:00:00-05:00"), Some(1_769_515_200_000));
        assert_eq!(rfc3339_ms("tomorrow"), None);
        assert_eq!(rfc3339_ms("1960-01-01T00:00:00Z"), None);
    }

    #[test]
    fn sentences_that_name_a_pause() {
        for (text, ms) in [
            ("Rate limit reached. Please try again in 6m0s. Visit us.", Some(360_000)),
            ("* Quota exceeded\nPlease retry in 48.9s.", Some(48_900)),
            ("Please retry after 26 seconds.", Some(26_000)),
            ("try again in 2 minutes", Some(120_000)),
            ("Please try again in 120ms.", Some(120)),
            ("Please try again later.", None),
            ("try again in a moment", None),
            ("try again in 2 moons", None),
        ] {
            assert_eq!(of_sentence(text), ms, "{text}");
        }
    }
}
