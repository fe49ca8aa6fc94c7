//! Body chunks to the data of SSE frames, as far as the two services need it: one `data:` line a frame.

/// Cuts lines out of chunks that may end anywhere.
#[derive(Default)]
pub(crate) struct Frames {
    /// The line that a chunk left unfinished.
    rest: Vec<u8>,
}

impl Frames {
    /// Gives the data of each line that `chunk` finishes to `read`.
    pub(crate) fn feed(&mut self, mut chunk: &[u8], mut read: impl FnMut(&[u8]) -> Result<(), String>) -> Result<(), String> {
        while let Some(end) = memchr::memchr(b'\n', chunk) {
            let line = if self.rest.is_empty() {
                &chunk[..end]
            } else {
                self.rest.extend_from_slice(&chunk[..end]);
                &self.rest
            };
            if let Some(data) = line.strip_prefix(b"data: ") {
                read(data)?;
            }
            self.rest.clear();
            chunk = &chunk[end + 1..];
        }
        self.rest.extend_from_slice(chunk);
        Ok(())
    }
}
