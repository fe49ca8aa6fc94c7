use serde_json::{Value, json};

use super::Folder;

/// A folder with one file.
fn with(content: &str) -> Folder {
    Folder::new(&[("f", content)])
}

fn edits(edits: Value) -> Value {
    json!({ "path": "f", "edits": edits })
}

#[tokio::test]
async fn texts_are_replaced() {
    let folder = with("one\ntwo\nthree\ntwo\n");
    let text = folder.text("edit_file", edits(json!([{ "old_text": "one\ntwo", "new_text": "1\n2" }]))).await;
    assert_eq!(text, "f: replaced 1 place, at line 1.");
    assert_eq!(folder.read("f"), "1\n2\nthree\ntwo\n");
    let several = json!([{ "old_text": "2", "new_text": "two" }, { "old_text": "two", "new_text": "zwei", "replace_all": true }]);
    assert_eq!(folder.text("edit_file", edits(several)).await, "f: replaced 3 places, at lines 2, 2, 4.");
    assert_eq!(folder.read("f"), "1\nzwei\nthree\nzwei\n");
}

#[tokio::test]
async fn shapes_that_models_give_are_taken() {
    let folder = with("one two");
    folder.text("edit_file", json!({ "path": "f", "old_text": "one", "new_text": "1" })).await;
    folder.text("edit_file", json!({ "path": "f", "edits": "[{\"old_text\": \"two\", \"new_text\": \"$2\"}]" })).await;
    assert_eq!(folder.read("f"), "1 $2");
}

#[tokio::test]
async fn all_edits_or_none_are_made() {
    let folder = with("one\ntwo\n");
    let several = json!([{ "old_text": "one", "new_text": "1" }, { "old_text": "three", "new_text": "3" }]);
    let error = folder.error("edit_file", edits(several)).await;
    assert!(error.starts_with("edit 2 of 2: old_text is not in the file; read the file again"), "{error}");
    assert!(error.ends_with("; nothing was changed in \"f\""), "{error}");
    assert_eq!(folder.read("f"), "one\ntwo\n");
}

#[tokio::test]
async fn what_is_not_there_once_is_refused() {
    let folder = with("a\n  b\na\n");
    let error =
        |old: &'static str, new: &'static str| folder.error("edit_file", edits(json!([{ "old_text": old, "new_text": new }])));
    assert_eq!(
        error("a", "x").await,
        "old_text is there 2 times, at lines 1, 3: give more of the text around it, or set replace_all; nothing was changed in \
         \"f\""
    );
    let white_space = error("    b\na", "x").await;
    assert!(white_space.contains("its first line is like that at line 2: compare white space"), "{white_space}");
    assert!(error("", "x").await.contains("old_text is empty; to write a whole file, use write_file"));
    assert!(error("a", "a").await.contains("old_text and new_text are the same"));
    let many = with(&"x\n".repeat(20));
    let error = many.error("edit_file", edits(json!([{ "old_text": "x", "new_text": "y" }]))).await;
    assert!(error.contains("20 times, at lines 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, …: "), "{error}");
}

#[tokio::test]
async fn line_endings_stay() {
    let folder = with("one\r\ntwo\r\nthree\r\n");
    folder.text("edit_file", edits(json!([{ "old_text": "one\ntwo", "new_text": "1\n1.5\n2" }]))).await;
    folder.text("edit_file", edits(json!([{ "old_text": "three", "new_text": "3\n4" }]))).await;
    assert_eq!(folder.read("f"), "1\r\n1.5\r\n2\r\n3\r\n4\r\n");
    // Of both kinds: only what is written with one is.
    let folder = with("one\r\ntwo\nthree\r\nfour\n");
    folder.text("edit_file", edits(json!([{ "old_text": "two\nthree", "new_text": "2\n3" }]))).await;
    let error = folder.error("edit_file", edits(json!([{ "old_text": "two\nthree", "new_text": "2\n3" }]))).await;
    assert!(error.contains("is not in the file"), "{error}");
    folder.text("edit_file", edits(json!([{ "old_text": "one\n2", "new_text": "1\n2" }]))).await;
    assert_eq!(folder.read("f"), "1\r\n2\n3\r\nfour\n");
}

#[tokio::test]
async fn files_that_cannot_be_edited_are_named() {
    let folder = with("");
    folder.write("latin", b"caf\xe9");
    let edit =
        |path: &'static str| folder.error("edit_file", json!({ "path": path, "edits": [{ "old_text": "a", "new_text": "b" }] }));
    assert_eq!(edit("none").await, "the path \"none\" does not exist; write_file creates a file");
    assert_eq!(edit("latin").await, "the file \"latin\" is not UTF-8 text, which is all that edit_file can change");
    assert_eq!(edit(".").await, "the path is the root, which is a folder");
    assert!(folder.error("edit_file", json!({ "path": "f", "edits": [] })).await.contains("/edits"));
}
