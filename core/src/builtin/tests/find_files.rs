use std::time::{Duration, SystemTime};

use serde_json::json;

use super::Folder;

#[tokio::test]
async fn files_are_found_by_globs() {
    let folder = Folder::new(&[("a.rs", ""), ("src/b.rs", ""), ("src/deep/c.rs", ""), ("src/deep/d.txt", "")]);
    // All of one time, so that they come by name.
    for file in ["a.rs", "src/b.rs", "src/deep/c.rs", "src/deep/d.txt"] {
        let file = std::fs::File::options().write(true).open(folder.at(file)).unwrap();
        file.set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(1000)).unwrap();
    }
    let found =
        |pattern: &'static str, path: &'static str| folder.text("find_files", json!({ "pattern": pattern, "path": path }));
    assert_eq!(found("*.rs", ".").await, "a.rs\nsrc/b.rs\nsrc/deep/c.rs\n");
    assert_eq!(found("src/*.rs", ".").await, "src/b.rs\n");
    assert_eq!(found("./src/**/*.{txt,rs}", ".").await, "src/b.rs\nsrc/deep/c.rs\nsrc/deep/d.txt\n");
    assert_eq!(found("deep/*", "src").await, "src/deep/c.rs\nsrc/deep/d.txt\n");
    assert_eq!(found("*.py", ".").await, "No files match (hidden and ignored ones are left out).");
    let newest = std::fs::File::options().write(true).open(folder.at("a.rs")).unwrap();
    newest.set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(2000)).unwrap();
    let two = folder.text("find_files", json!({ "pattern": "*.rs", "max_results": 2 })).await;
    assert_eq!(two, "a.rs\nsrc/b.rs\n\n(2 of 3 files: a narrower pattern or path shows others.)");
}

#[tokio::test]
async fn hidden_and_ignored_files_are_found_when_asked_for() {
    let folder = Folder::new(&[
        (".gitignore", "*.log\n!keep.log\nbuild/\n/top\n[\n"),
        ("sub/.gitignore", "!shown.log\n"),
        ("sub/.ignore", "secret\n"),
        ("sub/shown.log", ""),
        ("sub/secret", ""),
        ("sub/top", ""),
        ("a.log", ""),
        ("keep.log", ""),
        ("build/x", ""),
        ("top", ""),
        (".env", ""),
        (".git/config", ""),
    ]);
    let found = |more: serde_json::Value| {
        let mut arguments = json!({ "pattern": "*" });
        arguments.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let text = folder.text("find_files", arguments);
        async move {
            let text = text.await;
            let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
            lines.sort();
            lines
        }
    };
    assert_eq!(found(json!({})).await, ["keep.log", "sub/shown.log", "sub/top"]);
    // The rules of the folders around hold, too.
    assert_eq!(found(json!({ "path": "sub" })).await, ["sub/shown.log", "sub/top"]);
    let hidden = found(json!({ "hidden": true })).await;
    assert_eq!(hidden, [".env", ".gitignore", "keep.log", "sub/.gitignore", "sub/.ignore", "sub/shown.log", "sub/top"]);
    let ignored = found(json!({ "ignored": true })).await;
    assert_eq!(ignored, ["a.log", "build/x", "keep.log", "sub/secret", "sub/shown.log", "sub/top", "top"]);
}

#[tokio::test]
async fn wrong_globs_are_explained() {
    let folder = Folder::new(&[]);
    let error = |pattern: &'static str| folder.error("find_files", json!({ "pattern": pattern }));
    assert!(error("[a").await.starts_with("pattern \"[a\": "), "{}", error("[a").await);
    let above = error("../*").await;
    assert_eq!(above, "pattern \"../*\": it is matched with paths relative to `path`, so it begins with no / and has no `..`");
}
