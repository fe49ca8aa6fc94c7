use super::*;

const ID: &str = "AKIDEXAMPLE";
const SECRET: &str = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY";

fn key(token: Option<&str>) -> AccessKey {
    AccessKey { id: ID.into(), secret: SECRET.into(), session_token: token.map(str::to_owned) }
}

#[test]
fn keys_are_read_as_they_are_written() {
    let written = format!("{ID}:{SECRET}");
    assert_eq!(AccessKey::parse(&written), Some(key(None)));
    assert_eq!(AccessKey::parse(&format!(" {written} :IQoJ:b3Jp==\n")), Some(key(Some("IQoJ:b3Jp=="))));
    assert_eq!(AccessKey::parse(&format!("{written}:")), Some(key(None)));
    for bearer in ["ABSKQmVkcm9ja0FQSUtleS0x", "bedrock-api-key-YmVk", "eyJh.eyJz.sig", "", ":", "a:", ":b", "a b:c"] {
        assert_eq!(AccessKey::parse(bearer), None, "{bearer}");
    }
    assert!(!format!("{:?}", key(Some("token"))).contains("wJal"), "no secret is shown");
    assert_eq!(key(Some("token")).secrets().collect::<Vec<_>>(), [SECRET, "token"]);
}

#[test]
fn the_environment_comes_before_the_file_of_credentials() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join(".aws")).unwrap();
    let path = folder.path().join(".aws/credentials");
    let text = format!(
        "# mine\n[default]\naws_access_key_id = {ID}\naws_secret_access_key={SECRET}\n\n[ work ]\nAWS_ACCESS_KEY_ID=W\n\
         aws_secret_access_key = w=/+\naws_session_token = t\n; none\n[sso]\nsso_session = x\n"
    );
    std::fs::write(&path, text).unwrap();
    let home = folder.path().display().to_string();
    let found = |more: &[(&str, &str)]| {
        let all = [("HOME", home.as_str()), ("USERPROFILE", home.as_str())];
        let of = |name: &str| more.iter().chain(&all).find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned());
        find(&of).map_err(|error| error.message().to_owned())
    };
    assert_eq!(found(&[]), Ok(Some(key(None))));
    let work = AccessKey { id: "W".into(), secret: "w=/+".into(), session_token: Some("t".into()) };
    assert_eq!(found(&[("AWS_PROFILE", "work")]), Ok(Some(work)));
    let own = AccessKey { id: "A".into(), secret: "S".into(), session_token: None };
    let both = [("AWS_ACCESS_KEY_ID", "A"), ("AWS_SECRET_ACCESS_KEY", "S\n")];
    assert_eq!(found(&both), Ok(Some(own)));
    assert_eq!(found(&both[..1]), Ok(Some(key(None))), "one of the two is none");
    let file = path.display().to_string();
    for profile in ["sso", "gone"] {
        let wrong = format!(
            "AWS credentials: {file:?} has no access key for the profile {profile:?}, of AWS_PROFILE; add one, or let \
             get_api_key return one, such as that of a role"
        );
        assert_eq!(found(&[("AWS_PROFILE", profile)]), Err(wrong));
    }
    std::fs::write(&path, "[other]\n").unwrap();
    assert_eq!(found(&[]), Ok(None));
    assert_eq!(found(&[("HOME", "/no/such"), ("USERPROFILE", "/no/such")]), Ok(None), "who has no file is no error");
    let error = found(&[("AWS_SHARED_CREDENTIALS_FILE", "/no/such")]).unwrap_err();
    assert!(error.starts_with("AWS credentials: \"/no/such\" cannot be read: "), "{error}");
}

/// The published vectors: <https://github.com/awslabs/aws-c-auth/tree/main/tests/aws-signing-test-suite/v4>.
#[cfg(feature = "bedrock")]
#[test]
fn signatures_are_the_published_ones() {
    // 2015-08-30T12:36:00Z.
    const TIME: u64 = 1_440_938_160_000;
    let signature = |method: &str, path: &str, headers: &[(&str, &str)], body: &str| {
        let url = format!("https://example.amazonaws.com{path}");
        let request = Request { url: &url, headers, body: body.as_bytes(), region: "us-east-1", service: "service" };
        let signed = signature::signed(method, &request, &key(None), TIME).unwrap();
        let header = |name: &str| signed.iter().find(|(own, _)| own == name).map(|(_, value)| value.clone()).unwrap();
        assert_eq!(header("x-amz-date"), "20150830T123600Z");
        let authorization = header("authorization");
        let scope = "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request, SignedHeaders=";
        let (names, signature) = authorization.strip_prefix(scope).unwrap().split_once(", Signature=").unwrap();
        (names.to_owned(), signature.to_owned())
    };
    let of = |names: &str, signature: &str| (names.to_owned(), signature.to_owned());
    let bare = "host;x-amz-date";
    let get_vanilla = of(bare, "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31");
    assert_eq!(signature("GET", "/", &[], ""), get_vanilla);
    let post_vanilla = of(bare, "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b");
    assert_eq!(signature("POST", "/", &[], ""), post_vanilla);
    let form = ("Content-Type", "application/x-www-form-urlencoded");
    let with_body = of("content-type;host;x-amz-date", "ff11897932ad3f4e8b18135d722051e5ac45fc38421b1da7b9d196a0fe09473a");
    assert_eq!(signature("POST", "/", &[form], "Param1=value1"), with_body);
}

#[cfg(feature = "bedrock")]
#[test]
fn the_token_of_a_session_is_signed_along() {
    let url = "https://bedrock-runtime.us-east-1.amazonaws.com/model/a%3A0/converse-stream";
    let request = Request { url, headers: &[("host", "h:1")], body: b"{}", region: "us-east-1", service: BEDROCK };
    let signed = sign(&request, &key(Some("token")), 0).unwrap();
    let header = |name: &str| signed.iter().find(|(own, _)| own == name).map(|(_, value)| value.as_str()).unwrap();
    assert_eq!(header("x-amz-security-token"), "token");
    assert!(
        header("authorization").contains("/us-east-1/bedrock/aws4_request, SignedHeaders=host;x-amz-date;x-amz-security-token")
    );
}
