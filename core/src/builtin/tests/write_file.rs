use serde_json::json;

use super::{Folder, agent, call};
use crate::Outcome;

#[tokio::test]
async fn a_file_is_created_with_its_folders_or_replaced() {
    let folder = Folder::new(&[("old", "before")]);
    let write =
        |path: &'static str, content: &'static str| folder.text("write_file", json!({ "path": path, "content": content }));
    assert_eq!(write("a/b/new", "héllo").await, "a/b/new: created, 6 bytes.");
    assert_eq!(write("old", "after").await, "old: changed, 5 bytes.");
    assert_eq!(write("old", "after").await, "old has this content already.");
    assert_eq!(write("empty", "").await, "empty: created, 0 bytes.");
    assert_eq!(
        (folder.read("a/b/new"), folder.read("old"), folder.read("empty")),
        ("héllo".into(), "after".into(), String::new())
    );
    assert_eq!((folder.names("."), folder.names("a/b")), (vec!["a".into(), "empty".into(), "old".into()], vec!["new".into()]));
}

#[cfg(unix)]
#[tokio::test]
async fn mode_and_links_stay() {
    use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
    let folder = Folder::new(&[("script", "old"), ("deep/target", "old")]);
    std::fs::set_permissions(folder.at("script"), PermissionsExt::from_mode(0o750)).unwrap();
    symlink("deep/target", folder.at("link")).unwrap();
    symlink("deep", folder.at("way")).unwrap();
    folder.text("write_file", json!({ "path": "script", "content": "new" })).await;
    assert_eq!(folder.at("script").metadata().unwrap().mode() & 0o777, 0o750);
    // The call says where it leads.
    assert_eq!(folder.text("write_file", json!({ "path": "link", "content": "new" })).await, "deep/target: changed, 3 bytes.");
    assert!(folder.at("link").symlink_metadata().unwrap().is_symlink());
    assert_eq!(folder.read("deep/target"), "new");
    assert_eq!(folder.text("write_file", json!({ "path": "way/x/y", "content": "y" })).await, "deep/x/y: created, 1 bytes.");
}

#[tokio::test]
async fn what_cannot_be_written_leaves_nothing() {
    let folder = Folder::new(&[("file", "x"), ("folder/x", "")]);
    let error = |path: String| folder.error("write_file", json!({ "path": path, "content": "y" }));
    assert_eq!(error("folder".into()).await, "the path \"folder\" is a folder; list_directory shows what is in it");
    assert_eq!(error("file/x".into()).await, "the path \"file/x\" is or goes through something that is not a folder");
    assert_eq!(error(".".into()).await, "the path is the root, which is a folder");
    let long = format!("made/{}", "n".repeat(300));
    assert!(error(long).await.contains("too long"));
    assert_eq!(folder.names("."), ["file", "folder"]);
    assert_eq!(folder.names("folder"), ["x"]);
}

#[cfg(unix)]
#[tokio::test]
async fn a_read_only_file_is_not_written() {
    use std::os::unix::fs::PermissionsExt;
    let folder = Folder::new(&[("file", "x")]);
    std::fs::set_permissions(folder.at("file"), PermissionsExt::from_mode(0o444)).unwrap();
    let error = folder.error("write_file", json!({ "path": "file", "content": "y" })).await;
    assert_eq!(error, "the path \"file\" is read-only");
    assert_eq!(folder.read("file"), "x");
}

#[tokio::test]
async fn approval_is_asked_with_the_one_spelling_of_the_path() {
    let folder = Folder::new(&[("a/b", "x")]);
    let agent = agent(folder.tools(), &[("write_file", json!({ "path": "./a/../a//b", "content": "y" }))]);
    let result = agent.prompt("Go.").await.unwrap();
    assert_eq!(result.outcome, Outcome::Suspended);
    assert_eq!(result.pending[0].arguments["path"], "a/b");
    assert_eq!(folder.read("a/b"), "x");
}

#[tokio::test]
async fn writes_of_one_message_are_made_in_order() {
    let folder = Folder::new(&[]);
    let script = json!([
        [
            call("1", "write_file", &json!({ "path": "a", "content": "one" })),
            call("2", "edit_file", &json!({ "path": "a", "old_text": "one", "new_text": "two" })),
            call("3", "edit_file", &json!({ "path": "a", "old_text": "two", "new_text": "three" })),
            { "end": "tool_use" },
        ],
        [{ "delta": "Done." }, { "end": "stop" }],
    ]);
    let model = json!({ "provider": "scripted", "id": "s", "script": script }).to_string();
    let agent = crate::Agent::builder(model.as_str()).builtin_tools(folder.tools()).build().unwrap();
    super::play(&agent).await;
    assert_eq!(folder.read("a"), "three");
}
