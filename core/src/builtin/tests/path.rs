use std::path::Path;

use crate::builtin::path::{names, normal, shown, split};

#[test]
fn a_path_has_one_spelling() {
    let normal = |path: &str| normal(path, Path::new("/srv/root")).expect("a path");
    for (given, one) in [
        ("a/b", "a/b"),
        ("./a/../b", "b"),
        ("a//b/", "a/b"),
        ("a/./b/.", "a/b"),
        (".", "."),
        ("./", "."),
        ("a/..", "."),
        ("/srv/root", "."),
        ("/srv/root/a/b", "a/b"),
        ("/work/../srv/root/./a", "a"),
        ("...", "..."),
        ("..a/b..", "..a/b.."),
        ("a b", "a b"),
        ("äö/日本", "äö/日本"),
        ("a~", "a~"),
    ] {
        assert_eq!(normal(given), one, "{given}");
    }
}

#[test]
fn a_path_that_is_none_of_the_root_is_refused() {
    let error = |path: &str| normal(path, Path::new("/srv/root")).expect_err(path);
    assert_eq!(error(".."), "the path \"..\" leads out of the root through `..`: only what is in the root can be used");
    assert_eq!(
        error("/etc/passwd"),
        "the path \"/etc/passwd\" is outside of the root: only what is in the root can be used, by its path relative to it"
    );
    assert!(error("/srv/roots/a").contains("outside of the root"));
    assert!(error("/srv/root/../b").contains("outside of the root"));
    assert!(error("").contains("is empty: give one relative to the root"));
    assert!(error("a\0b").contains("NUL"));
    assert!(error("~/a").contains("~, which is not expanded"));
    assert!(error("file:///etc/passwd").contains("is a URL"));
}

#[test]
fn parts_of_a_path() {
    assert_eq!(split("a/b/c"), Some(("a/b", "c")));
    assert_eq!(split("a"), Some((".", "a")));
    assert_eq!(split("."), None);
    assert_eq!(names("a/b").collect::<Vec<_>>(), ["a", "b"]);
    assert_eq!(names(".").collect::<Vec<_>>(), [""; 0]);
    assert_eq!(shown("a\nb\u{1b}"), "a\\nb\\u{1b}");
}
