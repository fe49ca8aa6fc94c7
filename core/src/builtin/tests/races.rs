//! Another thread swaps a folder or a file with a link to the outside, over and over, while tools work on it.

use std::fs::{remove_dir_all, remove_file, rename};
use std::os::unix::fs::symlink;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use serde_json::{Value, json};

use super::escapes::{Field, SECRET};
use super::results;

/// How often each tool is called.
const ROUNDS: usize = 300;

/// Calls a tool again and again while what is at `path` is now itself, now a link to `target`. Gives the results.
async fn while_swapped(
    field: &Arc<Field>,
    path: &'static str,
    target: &'static str,
    tool: &str,
    arguments: Value,
) -> Vec<(String, bool)> {
    let (is_over, swaps) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
    let swapper = std::thread::spawn({
        let (field, is_over, swaps) = (Arc::clone(field), Arc::clone(&is_over), Arc::clone(&swaps));
        move || {
            let (here, aside) = (field.inside(path), field.inside("aside"));
            while !is_over.load(Ordering::Relaxed) {
                while let Err(error) = rename(&here, &aside) {
                    // A tool that looked while the folder had the other name may have made one of that name since.
                    assert_eq!(error.kind(), std::io::ErrorKind::DirectoryNotEmpty);
                    remove_dir_all(&aside).expect("removed");
                }
                // The tool may make a folder or a file there meanwhile, also in the place of the link.
                let _ = symlink(field.outside(target), &here);
                std::thread::yield_now();
                let _ = remove_file(&here);
                while rename(&aside, &here).is_err() {
                    let _ = remove_dir_all(&here);
                }
                swaps.fetch_add(1, Ordering::Relaxed);
            }
        }
    });
    let calls: Vec<_> = (0..ROUNDS).map(|_| (tool, arguments.clone())).collect();
    let results = results(field.tools(), &calls).await;
    is_over.store(true, Ordering::Relaxed);
    swapper.join().expect("the other thread");
    assert!(swaps.load(Ordering::Relaxed) > 0);
    assert_eq!(results.len(), ROUNDS);
    for (text, _) in &results {
        assert!(!text.contains(SECRET), "{text}");
    }
    field.check_outside();
    results
}

#[tokio::test]
async fn a_folder_that_becomes_a_link_is_not_read_through() {
    let field = Arc::new(Field::new());
    field.0.write("root/folder/secret", "inside");
    while_swapped(&field, "folder", "", "read_file", json!({ "path": "folder/secret" })).await;
}

#[tokio::test]
async fn a_file_that_becomes_a_link_is_not_read_through() {
    let field = Arc::new(Field::new());
    while_swapped(&field, "file", "secret", "read_file", json!({ "path": "file" })).await;
}

#[tokio::test]
async fn a_folder_that_becomes_a_link_is_not_written_through() {
    let field = Arc::new(Field::new());
    while_swapped(&field, "folder", "", "write_file", json!({ "path": "folder/a/new", "content": "changed" })).await;
}

#[tokio::test]
async fn a_file_that_becomes_a_link_is_not_edited_through() {
    let field = Arc::new(Field::new());
    let edits = json!([{ "old_text": "s", "new_text": "s!", "replace_all": true }]);
    while_swapped(&field, "file", "secret", "edit_file", json!({ "path": "file", "edits": edits })).await;
}

#[tokio::test]
async fn a_folder_that_becomes_a_link_is_not_searched_or_listed() {
    let field = Arc::new(Field::new());
    field.0.write("root/folder/deep/file", "inside");
    while_swapped(&field, "folder", "", "search_text", json!({ "pattern": "outside" })).await;
    while_swapped(&field, "folder", "", "search_text", json!({ "pattern": "outside", "path": "folder" })).await;
    for (tool, arguments) in [("find_files", json!({ "pattern": "secret" })), ("list_directory", json!({ "path": "folder" }))] {
        for (text, is_error) in while_swapped(&field, "folder", "", tool, arguments).await {
            // No name of what is outside either. Errors name the path that they are about.
            assert!(is_error || !text.contains("secret"), "{text}");
        }
    }
}
