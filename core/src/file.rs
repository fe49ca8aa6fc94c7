//! Files of this machine as parts of messages.

use std::path::Path;

use crate::error::{Error, ErrorKind};
use crate::message::ContentBlock;

/// A file as the block of its type: an image, audio, or else a document, with the file's name. The type is recognised by the
/// file's first bytes, or by the end of its name, unless it is given.
///
/// ```no_run
/// use agent_loop::message::{ContentBlock, Prompt, read_file};
///
/// let report = read_file("report.pdf", None)?;
/// let prompt: Prompt = vec![ContentBlock::text("What is new in it?"), report].into();
/// # let _ = prompt;
/// # Ok::<(), agent_loop::Error>(())
/// ```
///
/// It blocks while it reads, and holds the whole file in memory.
///
/// # Errors
/// `io` when it cannot be read; `invalid_argument` when it is empty, or of a type that is not recognised.
pub fn read_file(path: impl AsRef<Path>, mime_type: Option<&str>) -> Result<ContentBlock, Error> {
    let path = path.as_ref();
    let bytes = std::fs::read(path)
        .map_err(|why| Error::new(ErrorKind::Io, format!("the file {path:?} cannot be read: {why}")).with_source(why))?;
    let name = path.file_name().map(|name| name.to_string_lossy());
    ContentBlock::from_bytes(&bytes, mime_type, name.as_deref())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_file_is_read_as_the_block_of_its_type() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("notes.txt");
        std::fs::write(&path, "hi").unwrap();
        let block = json!(read_file(&path, None).unwrap());
        assert_eq!(block, json!({ "type": "document", "data": "aGk=", "mime_type": "text/plain", "name": "notes.txt" }));
        let audio = json!(read_file(&path, Some("audio/wav")).unwrap());
        assert_eq!(audio, json!({ "type": "audio", "data": "aGk=", "mime_type": "audio/wav" }));
        let missing = read_file(directory.path().join("none.png"), None).unwrap_err();
        assert_eq!(missing.kind(), ErrorKind::Io);
        assert!(missing.message().contains("none.png\" cannot be read: "), "{missing}");
    }
}
