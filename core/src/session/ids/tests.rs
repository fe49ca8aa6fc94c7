use super::*;
use crate::error::ErrorKind;

#[test]
fn an_id_says_why_it_cannot_be_used() {
    assert!(check_id("user-7").is_ok());
    for (id, why) in [("", "empty"), ("a\nb", "control"), (&"x".repeat(201), "200")] {
        let error = check_id(id).unwrap_err();
        assert!(error.kind() == ErrorKind::InvalidArgument && error.message().contains(why), "{error}");
    }
}
