//! Files in a prompt: the path of an image in the line is the image.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use agent_loop::message::{ContentBlock, Prompt};

use crate::failure::Failure;
use crate::file;

const ENDINGS: &[&str] = &["png", "jpg", "jpeg", "gif", "webp", "pdf"];

/// The line, with the images whose paths it has, and a line about each for the user.
pub(super) fn prompt_of(line: &str) -> Result<(Prompt, Vec<String>), Failure> {
    let (mut blocks, mut files) = (vec![ContentBlock::text(line)], Vec::new());
    for path in paths_in(line) {
        let shown = path.display();
        match path.metadata() {
            Ok(about) if about.is_file() => {
                blocks.push(file::part(&path)?);
                files.push(format!("with the file {shown}, {} kB", about.len().div_ceil(1000)));
            }
            _ => files.push(format!("{shown} is no file here: the model gets its name alone")),
        }
    }
    Ok((blocks.into(), files))
}

/// Checks a line that is about files.
///
/// # Errors
/// It has the path of none.
pub(super) fn check(line: &str) -> Result<(), Failure> {
    let paths = paths_in(line);
    match paths.iter().find(|path| !path.is_file()) {
        Some(path) => Err(Failure::usage(format!("/image: {} is no file", path.display()))),
        None if paths.is_empty() => Err(Failure::usage(format!("/image: expected the path of a file: {}", ENDINGS.join(", ")))),
        None => Ok(()),
    }
}

/// The paths of a line that end as files do which a model may look at.
fn paths_in(line: &str) -> Vec<PathBuf> {
    // As a terminal pastes the path of a file that is dropped on it. A line with an apostrophe has no quotes.
    let words = shlex::split(line).unwrap_or_else(|| line.split_whitespace().map(str::to_owned).collect());
    let paths = words.iter().map(|word| PathBuf::from(word.strip_prefix("file://").unwrap_or(word)));
    let ends = |path: &PathBuf| {
        let ending = path.extension().and_then(|ending| ending.to_str()).unwrap_or_default().to_ascii_lowercase();
        ENDINGS.contains(&ending.as_str())
    };
    paths.filter(ends).collect()
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
            let block = ContentBlock::from_bytes(&output.stdout, Some("image/png"), None)?;
            return file::checked(block, "the clipboard");
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
        let blocks = |line: &str| serde_json::json!(prompt_of(line).unwrap().0.0[0])["content"].as_array().unwrap().len();
        assert_eq!(blocks(&format!("What is in '{}'?", path.display())), 1, "not with what follows it");
        assert_eq!(blocks(&format!("Look at '{}'", path.display())), 2);
        assert_eq!(blocks(&format!("Look at {}", path.display().to_string().replace(' ', "\\ "))), 2);
        assert_eq!(blocks("what's in none.png"), 1);
        assert_eq!(prompt_of("what's in none.png").unwrap().1, ["none.png is no file here: the model gets its name alone"]);
        assert_eq!(check("none.png").unwrap_err().text, "/image: none.png is no file");
        assert!(check("what is it").is_err() && check(&format!("'{}'", path.display())).is_ok());
    }
}
