use super::*;

#[test]
fn each_test_has_a_file_of_its_own() {
    let tests =
        ["a b", "a-b", "a  b", "a/b", "a\"b", "a[b]", "a.b", "a_b", "ab", "", "-", " ", "é b", "é/b", "日本", "日 本", "a\\b"];
    let names: std::collections::HashSet<String> = tests.iter().map(|test| test_file_name("m", test)).collect();
    assert_eq!(names.len(), tests.len(), "{names:?}");
    assert!(names.iter().all(|name| !name.contains(['/', '\\', '"', '[', ' ', ':'])), "{names:?}");
}

#[test]
fn long_names_are_cut() {
    for long in ["x".repeat(101), "日".repeat(200), format!("{} y", "x".repeat(99))] {
        let name = test_file_name("m", &long);
        assert!(name.len() <= "m.-01234567.jsonl".len() + MOST_OF_TEST && name.len() > 100, "{name}");
        assert_ne!(name, test_file_name("m", &format!("{long}y")));
    }
    assert_eq!(test_file_name("m", &"x".repeat(100)), format!("m.{}.jsonl", "x".repeat(100)));
}
