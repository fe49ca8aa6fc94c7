use serde_json::json;

use super::Folder;

#[tokio::test]
async fn matching_lines_are_shown_with_those_around() {
    let folder = Folder::new(&[("a.rs", "fn one() {}\nfn two() {}\nfn three() {}\n"), ("b/c.txt", "FN TWO\r\n")]);
    let search = |arguments| folder.text("search_text", arguments);
    assert_eq!(search(json!({ "pattern": "t(wo|hree)\\(" })).await, "a.rs\n2:fn two() {}\n3:fn three() {}\n");
    assert_eq!(search(json!({ "pattern": "two", "ignore_case": true })).await, "a.rs\n2:fn two() {}\nb/c.txt\n1:FN TWO\n");
    assert_eq!(search(json!({ "pattern": "two()", "literal": true })).await, "a.rs\n2:fn two() {}\n");
    assert_eq!(search(json!({ "pattern": "one", "context": 1 })).await, "a.rs\n1:fn one() {}\n2-fn two() {}\n");
    assert_eq!(search(json!({ "pattern": "(?i)two", "glob": "*.txt" })).await, "b/c.txt\n1:FN TWO\n");
    assert_eq!(search(json!({ "pattern": "(?i)two", "path": "b" })).await, "b/c.txt\n1:FN TWO\n");
    assert_eq!(search(json!({ "pattern": "two", "path": "a.rs" })).await, "a.rs\n2:fn two() {}\n");
    assert_eq!(search(json!({ "pattern": "four" })).await, "No lines match.");
    assert_eq!(folder.error("search_text", json!({ "pattern": "x", "path": "no" })).await, "the path \"no\" does not exist");
}

#[tokio::test]
async fn binary_hidden_and_ignored_files_are_left_out() {
    let folder = Folder::new(&[(".gitignore", "out\n"), ("out/a", "needle"), (".env", "needle"), ("shown", "needle")]);
    folder.write("binary", b"needle\nneedle\n\0\n");
    let search = |arguments| folder.text("search_text", arguments);
    assert_eq!(search(json!({ "pattern": "needle" })).await, "shown\n1:needle\n");
    let all = search(json!({ "pattern": "needle", "hidden": true, "ignored": true })).await;
    assert_eq!(all, ".env\n1:needle\nout/a\n1:needle\nshown\n1:needle\n");
}

#[tokio::test]
async fn long_results_are_cut() {
    let folder = Folder::new(&[("many", &"needle\n".repeat(500)), ("wide", &format!("{}x", "ä".repeat(1000)))]);
    let text = folder.text("search_text", json!({ "pattern": "needle" })).await;
    assert!(text.contains("100:needle\n\n(There may be more: as many lines match as are shown at most."), "{text}");
    assert!(!text.contains("101:"), "{text}");
    let wide = folder.text("search_text", json!({ "pattern": "x$" })).await;
    assert_eq!(wide, format!("wide\n1:{} […]\n", "ä".repeat(250)));
    let folder = Folder::new(&[("long", &format!("{}\n", "n".repeat(400)).repeat(500))]);
    let text = folder.text("search_text", json!({ "pattern": "n", "max_results": 1000 })).await;
    assert!(text.len() < 40_300 && text.contains("the result is as long as one may be"), "{}", text.len());
}

#[tokio::test]
async fn a_wrong_pattern_is_explained() {
    let folder = Folder::new(&[]);
    let error = folder.error("search_text", json!({ "pattern": "two(" })).await;
    assert!(error.contains("unclosed group") && error.ends_with("With literal, it is searched for as plain text."), "{error}");
}
