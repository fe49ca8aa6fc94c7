//! Files in a prompt: the path of an image in the line is the image.

use std::path::Path;
use std::process::{Command, Stdio};

use agent_loop::message::{ContentBlock, Prompt, read_file};

use crate::failure::Failure;

const ENDINGS: &[&str] = &["png", "jpg", "jpeg", "gif", "webp", "pdf"];

/// The line, with the images whose paths it has.
pub(super) fn prompt_of(line: &str) -> Result<Prompt, Failure> {
    let mut blocks = vec![ContentBlock::text(line)];
    // As a terminal pastes the path of a file that is dropped on it. A line with an apostrophe has no quotes.
    let words = shlex::split(line).unwrap_or_else(|| line.split_whitespace().map(str::to_owned).collect());
    for word in words {
        let path = Path::new(word.strip_prefix("file://").unwrap_or(&word));
        let ending = path.extension().and_then(|ending| ending.to_str()).unwrap_or_default().to_ascii_lowercase();
        if ENDINGS.contains(&ending.as_str()) && path.is_file() {
            blocks.push(read_file(path, None)?);
        }
    }
    Ok(blocks.into())
}

/// How the systems give the image of their clipboards.
const CLIPBOARDS: &[&[&str]] = &[
    &["wl-paste", "--type", "image/png"],
    &["xclip", "-selection", "clipboard", "-target", "image/png", "-out"],
    &["pngpaste", "-"],
];

/// The image in the clipboard.
pub(super) fn pasted() -> Result<ContentBlock, Failure> {
    for command in CLIPBOARDS {
        let Some((program, arguments)) = command.split_first() else { continue };
        let ran = Command::new(program).args(arguments).stdin(Stdio::null()).stderr(Stdio::null()).output();
        if let Some(output) = ran.ok().filter(|output| output.status.success() && !output.stdout.is_empty()) {
            return Ok(ContentBlock::from_bytes(&output.stdout, Some("image/png"), None)?);
        }
    }
    Err(Failure::error("there is no image in the clipboard, or none of wl-paste, xclip and pngpaste to read it with"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_of_images_are_images() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a b.png");
        std::fs::write(&path, [137, 80, 78, 71, 13, 10, 26, 10, 0, 0, 0, 13, 73, 72, 68, 82]).unwrap();
        let blocks = |line: &str| serde_json::json!(prompt_of(line).unwrap().0[0])["content"].as_array().unwrap().len();
        assert_eq!(blocks(&format!("What is in '{}'?", path.display())), 1, "not with what follows it");
        assert_eq!(blocks(&format!("Look at '{}'", path.display())), 2);
        assert_eq!(blocks(&format!("Look at {}", path.display().to_string().replace(' ', "\\ "))), 2);
        assert_eq!(blocks("what's in none.png"), 1);
    }
}
