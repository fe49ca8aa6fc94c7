use serde_json::json;

use super::Folder;

#[tokio::test]
async fn entries_are_listed_by_name() {
    let folder = Folder::new(&[("b/x", ""), ("a.txt", "12345"), (".hidden", "")]);
    assert_eq!(folder.text("list_directory", json!({})).await, ".hidden (0)\na.txt (5)\nb/\n");
    assert_eq!(folder.text("list_directory", json!({ "path": "b/" })).await, "x (0)\n");
    std::fs::remove_file(folder.at("b/x")).unwrap();
    assert_eq!(folder.text("list_directory", json!({ "path": "b" })).await, "(The folder is empty.)");
    assert_eq!(folder.error("list_directory", json!({ "path": "c" })).await, "the path \"c\" does not exist");
    let error = folder.error("list_directory", json!({ "path": "a.txt" })).await;
    assert_eq!(error, "the path \"a.txt\" is or goes through something that is not a folder");
}

#[cfg(unix)]
#[tokio::test]
async fn odd_entries_are_one_line_each() {
    let folder = Folder::new(&[("a\nb", "")]);
    std::os::unix::fs::symlink("/some/where", folder.at("link")).unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(folder.at("socket")).unwrap();
    let listed = folder.text("list_directory", json!({})).await;
    assert_eq!(listed, "a\\nb (0)\nlink -> /some/where\nsocket (no plain file)\n");
}

#[tokio::test]
async fn a_large_folder_is_cut() {
    let folder = Folder::new(&[]);
    for number in 0..1200 {
        folder.write(&format!("{number:04}"), "");
    }
    let listed = folder.text("list_directory", json!({})).await;
    assert!(listed.ends_with("0999 (0)\n\n(1000 of 1200 entries: find_files finds others by a pattern.)"), "{listed}");
}
