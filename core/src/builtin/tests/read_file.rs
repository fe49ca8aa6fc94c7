use serde_json::json;

use super::{Folder, agent, play};
use crate::Message;
use crate::message::ContentBlock;

#[tokio::test]
async fn lines_are_read_from_an_offset() {
    let folder = Folder::new(&[("a/notes.txt", "one\ntwo\nthree\nfour\n"), ("open", "no end"), ("empty", "")]);
    let read = |arguments| folder.text("read_file", arguments);
    assert_eq!(read(json!({ "path": "a/notes.txt" })).await, "one\ntwo\nthree\nfour\n");
    assert_eq!(read(json!({ "path": folder.at("a/notes.txt").canonicalize().unwrap() })).await, "one\ntwo\nthree\nfour\n");
    let part = read(json!({ "path": "a/notes.txt", "offset": 2, "limit": 2 })).await;
    assert_eq!(part, "two\nthree\n\n(a/notes.txt has 19 bytes: read on with the offset 4.)");
    assert_eq!(read(json!({ "path": "a/notes.txt", "offset": 4, "limit": 1 })).await, "four\n");
    assert_eq!(read(json!({ "path": "open" })).await, "no end\n");
    assert_eq!(read(json!({ "path": "empty" })).await, "(The file is empty.)");
}

#[tokio::test]
async fn a_long_file_is_read_in_parts_that_fit() {
    let folder = Folder::new(&[("long", &"0123456789\n".repeat(5000)), ("wide", &format!("{}\nnext\n", "ä".repeat(50_000)))]);
    let text = folder.text("read_file", json!({ "path": "long" })).await;
    assert!(text.ends_with("\n(long has 55000 bytes: read on with the offset 2001.)"), "{}", &text[text.len() - 80..]);
    let wide = folder.text("read_file", json!({ "path": "wide" })).await;
    assert!(wide.ends_with("line 1 is longer, and cut here; the next one is at the offset 2.)"), "{}", &wide[wide.len() - 80..]);
    assert!(wide.len() < 41_000);
    assert_eq!(folder.text("read_file", json!({ "path": "wide", "offset": 2 })).await, "next\n");
    let folder = Folder::new(&[("wider", &format!("{}\n", "x".repeat(99)).repeat(1000))]);
    let text = folder.text("read_file", json!({ "path": "wider" })).await;
    assert!(text.contains("read on with the offset 401"), "{}", &text[text.len() - 80..]);
}

#[tokio::test]
async fn carriage_returns_are_not_shown() {
    let folder = Folder::new(&[("dos", "one\r\ntwo\r\n")]);
    assert_eq!(folder.text("read_file", json!({ "path": "dos" })).await, "one\ntwo\n");
}

#[tokio::test]
async fn an_image_comes_as_an_image() {
    let folder = Folder::new(&[]);
    folder.write("a.png", b"\x89PNG\r\n\x1a\n\0\0");
    let agent = agent(folder.tools(), &[("read_file", json!({ "path": "a.png" }))]);
    play(&agent).await;
    let messages = agent.messages();
    let content = messages.iter().find_map(|message| match &**message {
        Message::ToolResult(result) => Some(result.content.clone()),
        _ => None,
    });
    let Some([ContentBlock::Image(image)]) = content.as_deref() else { panic!("{content:?}") };
    assert_eq!((&*image.mime_type, image.as_base64()), ("image/png", Some("iVBORw0KGgoAAA==")));
}

#[tokio::test]
async fn what_cannot_be_read_is_said() {
    let folder = Folder::new(&[("few", "one\ntwo\n"), ("a/b", "")]);
    folder.write("binary", b"a\0b");
    folder.write("latin", b"caf\xe9\n");
    folder.write("big.png", [b"\x89PNG\r\n\x1a\n".as_slice(), &vec![0; 5_000_000]].concat());
    let error = |path: &'static str, offset| folder.error("read_file", json!({ "path": path, "offset": offset }));
    assert_eq!(error("none", 1).await, "the path \"none\" does not exist");
    assert_eq!(error("few/x", 1).await, "the path \"few/x\" is or goes through something that is not a folder");
    assert_eq!(error("a", 1).await, "the path \"a\" is a folder; list_directory shows what is in it");
    assert_eq!(error(".", 1).await, "the path \".\" is a folder; list_directory shows what is in it");
    assert_eq!(error("few", 3).await, "the file \"few\" has 2 lines: there is none at the offset 3");
    assert_eq!(error("few", 9).await, "the file \"few\" has 2 lines: there is none at the offset 9");
    assert_eq!(error("binary", 1).await, "the file \"binary\" is binary: read_file reads text and images");
    assert_eq!(error("latin", 1).await, "the file \"latin\" is not UTF-8 text (line 1): read_file reads text and images");
    assert!(error("big.png", 1).await.contains("has 5000008 bytes: read_file shows images of at most 5000000 bytes"));
    assert!(folder.error("read_file", json!({})).await.contains("path: is required"));
}
