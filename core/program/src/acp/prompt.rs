//! The content of an editor's prompt as ours.

use std::path::PathBuf;

use agent_client_protocol::Error;
use agent_client_protocol::v1::schema::{ContentBlock as Given, EmbeddedResourceResource, ResourceLink};
use agent_loop::message::{ContentBlock, Media};

use super::errors;

/// The blocks of a prompt. Files that the editor only names are named to the model, too, which may read them with its tools.
pub(super) fn blocks(given: Vec<Given>) -> Result<Vec<ContentBlock>, Error> {
    let blocks: Vec<ContentBlock> = given.into_iter().map(block).collect::<Result<_, _>>()?;
    for media in blocks.iter().filter_map(ContentBlock::as_media) {
        media.check_data().map_err(|error| errors::wrong(format!("a file of the prompt: {}", error.message())))?;
    }
    if blocks.is_empty() {
        return Err(errors::wrong("the prompt is empty"));
    }
    Ok(blocks)
}

fn block(given: Given) -> Result<ContentBlock, Error> {
    match given {
        Given::Text(text) => Ok(ContentBlock::text(text.text)),
        Given::Image(image) => Ok(ContentBlock::Image(Media::data(image.data, image.mime_type))),
        Given::ResourceLink(link) => Ok(ContentBlock::text(linked(&link))),
        Given::Resource(resource) => match resource.resource {
            EmbeddedResourceResource::TextResourceContents(text) => {
                let place = place(&text.uri);
                Ok(ContentBlock::text(format!("<resource uri=\"{place}\">\n{}\n</resource>", text.text)))
            }
            EmbeddedResourceResource::BlobResourceContents(blob) => {
                let media = |mime_type: &str| Media::data(&*blob.blob, mime_type);
                match blob.mime_type.as_deref().unwrap_or_default() {
                    image if image.starts_with("image/") => Ok(ContentBlock::Image(media(image))),
                    pdf @ "application/pdf" => Ok(ContentBlock::Document(media(pdf).with_name(name(&blob.uri)))),
                    other => Err(errors::wrong(format!(
                        "the resource {} is of the type {other:?}, which models do not read: give texts, images or PDF documents",
                        blob.uri
                    ))),
                }
            }
            _ => Err(unknown()),
        },
        Given::Audio(_) => Err(errors::wrong("sound in a prompt is not supported: give text, images, or files")),
        _ => Err(unknown()),
    }
}

fn unknown() -> Error {
    errors::wrong("the prompt has content of a kind that this version does not know: give text, images, or files")
}

/// What the model reads of a link.
fn linked(link: &ResourceLink) -> String {
    format!("[{}]({})", link.name, place(&link.uri))
}

/// A path, of a file on this machine: tools take these. Else the address as it is.
fn place(uri: &str) -> String {
    file(uri).map_or_else(|| uri.to_owned(), |path| path.display().to_string())
}

fn file(uri: &str) -> Option<PathBuf> {
    // Editors add lines: file:///a/b.rs#L10:20
    let (uri, _) = uri.split_once('#').unwrap_or((uri, ""));
    url::Url::parse(uri).ok().filter(|url| url.scheme() == "file")?.to_file_path().ok()
}

/// The name of a file in an address.
fn name(uri: &str) -> String {
    uri.rsplit('/').next().unwrap_or(uri).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_to_files_are_paths() {
        let shown = |uri: &str| linked(&ResourceLink::new("x", uri));
        assert_eq!(shown("https://docs.example/a"), "[x](https://docs.example/a)");
        #[cfg(unix)]
        assert_eq!(shown("file:///a/b%20c.rs#L3:4"), "[x](/a/b c.rs)");
    }
}
