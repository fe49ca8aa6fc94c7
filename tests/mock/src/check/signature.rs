//! AWS's signature of a request, computed anew and compared:
//! <https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html>.

use std::collections::BTreeMap;
use std::fmt::Write;

use ring::{digest, hmac};

use crate::refusal::Complaint;

/// The parts of the header `authorization`.
struct Given<'a> {
    key_id: &'a str,
    /// `20150830/us-east-1/service/aws4_request`.
    scope: &'a str,
    signed_headers: &'a str,
    signature: &'a str,
}

/// The id of the key that a request is signed with.
pub(super) fn key_id(headers: &BTreeMap<String, String>) -> Option<&str> {
    given(headers).map(|given| given.key_id)
}

fn given(headers: &BTreeMap<String, String>) -> Option<Given<'_>> {
    let parts = headers.get("authorization")?.strip_prefix("AWS4-HMAC-SHA256 ")?;
    let part = |name: &str| parts.split(',').map(str::trim).find_map(|part| part.strip_prefix(name)?.strip_prefix('='));
    let (key_id, scope) = part("Credential")?.split_once('/')?;
    Some(Given { key_id, scope, signed_headers: part("SignedHeaders")?, signature: part("Signature")? })
}

/// Checks a POST that is signed with this key, `ID:SECRET` or `ID:SECRET:SESSION_TOKEN`. `path` is the one that was sent, with
/// its query.
///
/// # Errors
/// What the service says of a wrong signature.
pub(crate) fn check(key: &str, path: &str, headers: &BTreeMap<String, String>, body: &[u8]) -> Result<(), Complaint> {
    let refused = |why: &str| Err(Complaint::new(403, why));
    let Some(given) = given(headers) else {
        return refused("Missing Authentication Token");
    };
    let mut parts = key.splitn(3, ':');
    let (id, secret, token) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default(), parts.next());
    if given.key_id != id || headers.get("x-amz-security-token").map(String::as_str) != token {
        return refused("The security token included in the request is invalid.");
    }
    let [date, region, service, "aws4_request"] = given.scope.split('/').collect::<Vec<_>>()[..] else {
        return refused("Credential should be scoped to a valid region.");
    };
    let covered = |name: &str| given.signed_headers.split(';').any(|signed| signed == name);
    let time = headers.get("x-amz-date").map(String::as_str).unwrap_or_default();
    let all_covered = ["host", "x-amz-date"].into_iter().all(covered) && (token.is_none() || covered("x-amz-security-token"));
    if !time.starts_with(date) || !all_covered {
        return refused("The request is missing a signed header, or the date of its scope is not its own.");
    }
    let (path, query) = path.split_once('?').unwrap_or((path, ""));
    let mut query: Vec<&str> = query.split('&').collect();
    query.sort_unstable();
    let mut canonical = format!("POST\n{}\n{}\n", encoded_again(path), query.join("&"));
    for name in given.signed_headers.split(';') {
        let value = headers.get(name).map(String::as_str).unwrap_or_default();
        let value: Vec<&str> = value.split_whitespace().collect();
        let _ = writeln!(canonical, "{name}:{}", value.join(" "));
    }
    let _ = write!(canonical, "\n{}\n{}", given.signed_headers, sha256(body));
    let text = format!("AWS4-HMAC-SHA256\n{time}\n{}\n{}", given.scope, sha256(canonical.as_bytes()));
    let first = hmac_sha256(format!("AWS4{secret}").as_bytes(), date);
    let key = [region, service, "aws4_request"].iter().fold(first, |key, part| hmac_sha256(&key, part));
    if hex(&hmac_sha256(&key, &text)) == given.signature {
        return Ok(());
    }
    refused(
        "The request signature we calculated does not match the signature you provided. Check your AWS Secret Access Key and \
         signing method. Consult the service documentation for details.",
    )
}

/// All services but S3 take the path as it was sent, and encode it once more.
fn encoded_again(path: &str) -> String {
    let mut out = String::new();
    for byte in path.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' | b'/' => out.push(char::from(byte)),
            byte => {
                let _ = write!(out, "%{byte:02X}");
            }
        }
    }
    out
}

fn hmac_sha256(key: &[u8], text: &str) -> Vec<u8> {
    hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, key), text.as_bytes()).as_ref().to_vec()
}

fn sha256(bytes: &[u8]) -> String {
    hex(digest::digest(&digest::SHA256, bytes).as_ref())
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `post-vanilla` of AWS's test suite: <https://github.com/awslabs/aws-c-auth/tree/main/tests/aws-signing-test-suite/v4>.
    #[test]
    fn a_published_signature_is_right_and_another_is_not() {
        let key = "AKIDEXAMPLE:wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY";
        let signed = |signature: &str| {
            let authorization = format!(
                "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request, \
                 SignedHeaders=host;x-amz-date, Signature={signature}"
            );
            let headers = [
                ("host", "example.amazonaws.com".to_owned()),
                ("x-amz-date", "20150830T123600Z".to_owned()),
                ("authorization", authorization),
            ];
            check(key, "/", &headers.map(|(name, value)| (name.to_owned(), value)).into(), b"").map_err(|it| it.status)
        };
        let right = "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b";
        assert_eq!(signed(right), Ok(()));
        assert_eq!(signed(&right.replace('5', "6")), Err(403));
    }
}
