//! Files in messages: images, documents and audio, by their data or by an address.
//!
//! ```
//! use agent_loop_proto::media::Media;
//! use agent_loop_proto::message::ContentBlock;
//!
//! let image = ContentBlock::Image(Media::url("https://example.com/cat.png"));
//! let report = ContentBlock::from_bytes(b"%PDF-1.7", None, Some("report.pdf")).unwrap();
//! assert!(matches!(&report, ContentBlock::Document(media) if media.mime_type == "application/pdf"));
//! # let _ = image;
//! ```

mod kind;

use std::borrow::Cow;

use serde::ser::SerializeStruct;
use serde::{Deserialize, Serialize, Serializer};
use serde_json::Value;

pub use self::kind::mime_type_of;
pub(crate) use self::kind::{extension, is_text};
use crate::base64;
use crate::error::Error;
use crate::json_reader::from_value;

/// The longest name of a file that a vendor gets, in characters.
const LONGEST_NAME: usize = 200;

/// A file of a message. Canonical JSON: `data` (base64) or `url`, `mime_type`, and `name` of a document.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(not(feature = "__bindings"), non_exhaustive)]
pub struct Media {
    /// What it is, or where.
    pub source: MediaSource,
    /// For example `image/png`; empty where only an address is known.
    pub mime_type: String,
    /// The name of a document.
    pub name: Option<String>,
}

/// What a file is, or where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MediaSource {
    /// Base64.
    Data(String),
    /// An address that the provider reads.
    Url(String),
}

impl Media {
    /// A file of this type, in base64.
    pub fn data(base64: impl Into<String>, mime_type: impl Into<String>) -> Media {
        Media { source: MediaSource::Data(base64.into()), mime_type: mime_type.into(), name: None }
    }

    /// A file of this type.
    pub fn bytes(bytes: &[u8], mime_type: impl Into<String>) -> Media {
        Media::data(base64::encode(bytes), mime_type)
    }

    /// A file at an address, which the provider reads.
    pub fn url(url: impl Into<String>) -> Media {
        Media { source: MediaSource::Url(url.into()), mime_type: String::new(), name: None }
    }

    /// The same, of this type.
    #[must_use]
    pub fn with_mime_type(mut self, mime_type: impl Into<String>) -> Media {
        self.mime_type = mime_type.into();
        self
    }

    /// The same, with a name; only documents have one.
    #[must_use]
    pub fn with_name(mut self, name: impl Into<String>) -> Media {
        self.name = Some(name.into());
        self
    }

    /// The type as it is registered, which servers know; of an address without one, by the end of its path. Empty if unknown.
    pub(crate) fn kind(&self) -> &str {
        match (&self.source, self.mime_type.as_str()) {
            (MediaSource::Url(url), "") => mime_type_of(Some(kind::path_of(url)), &[]).unwrap_or_default(),
            (_, given) => kind::registered(given),
        }
    }

    /// The data, with the type under its registered name.
    pub(crate) fn as_data(&self) -> Option<(&str, &str)> {
        match &self.source {
            MediaSource::Data(data) => Some((data, self.kind())),
            MediaSource::Url(_) => None,
        }
    }

    /// The data, of a file that has it here.
    pub fn as_base64(&self) -> Option<&str> {
        match &self.source {
            MediaSource::Data(data) => Some(data),
            MediaSource::Url(_) => None,
        }
    }

    /// Whether the data are base64, and begin as files of its type do, for images and PDF documents. Providers refuse others, and
    /// go on to as long as the message is in the conversation.
    ///
    /// ```
    /// # use agent_loop_proto::media::Media;
    /// assert!(Media::bytes(b"%PDF-1.7 ...", "application/pdf").check_data().is_ok());
    /// assert!(Media::bytes(b"<html>", "image/png").check_data().is_err());
    /// ```
    ///
    /// # Errors
    /// `invalid_argument`: they are not.
    pub fn check_data(&self) -> Result<(), Error> {
        let Some((data, kind)) = self.as_data() else { return Ok(()) };
        let Some(bytes) = base64::decode(data) else {
            return Err(Error::invalid_argument(format!("the data of type {kind} are not base64")));
        };
        if !matches!(kind, "image/png" | "image/jpeg" | "image/gif" | "image/webp" | "application/pdf") {
            return Ok(());
        }
        // What opens a PDF document reads over a few bytes in front.
        let is_pdf = || bytes.windows(5).take(1_024).any(|bytes| bytes == b"%PDF-");
        let why = match mime_type_of(None, &bytes) {
            Some(found) if found == kind => return Ok(()),
            Some(found) => format!("and is of type {found}"),
            None if kind == "application/pdf" && is_pdf() => return Ok(()),
            None => "and does not begin as such a file".to_owned(),
        };
        Err(Error::invalid_argument(format!("its type is given as {kind}, {why}")))
    }

    /// The address, of a file that has no data here.
    pub fn as_url(&self) -> Option<&str> {
        match &self.source {
            MediaSource::Data(_) => None,
            MediaSource::Url(url) => Some(url),
        }
    }

    /// The address, or the data as one.
    pub(crate) fn to_url(&self) -> Cow<'_, str> {
        match &self.source {
            MediaSource::Data(data) => format!("data:{};base64,{data}", self.kind()).into(),
            MediaSource::Url(url) => url.into(),
        }
    }

    /// The text of a document that is one, and is given with its data.
    pub(crate) fn text(&self) -> Option<String> {
        let (data, _) = self.as_data().filter(|(_, kind)| is_text(kind))?;
        String::from_utf8(base64::decode(data)?).ok()
    }

    /// A name for a vendor that demands one.
    pub(crate) fn file_name(&self) -> Cow<'_, str> {
        match self.short_name() {
            Some(name) => name,
            None => format!("document.{}", extension(self.kind()).unwrap_or("bin")).into(),
        }
    }

    /// The name, no longer than vendors take.
    pub(crate) fn short_name(&self) -> Option<Cow<'_, str>> {
        let name = self.name.as_deref().filter(|name| !name.is_empty())?;
        Some(match name.char_indices().nth(LONGEST_NAME) {
            Some((end, _)) => name.get(..end).unwrap_or_default().into(),
            None => name.into(),
        })
    }

    pub(crate) fn is_empty(&self) -> bool {
        match &self.source {
            MediaSource::Data(text) | MediaSource::Url(text) => text.is_empty(),
        }
    }

    /// The bytes that it occupies in a message, about.
    pub(crate) fn size(&self) -> usize {
        match &self.source {
            MediaSource::Data(text) | MediaSource::Url(text) => text.len(),
        }
    }
}

/// What the text of a document begins with, where only text is taken.
pub(crate) fn document_text(name: Option<&str>, text: &str) -> String {
    match name {
        Some(name) => format!("[document: {name}]\n{text}"),
        None => format!("[document]\n{text}"),
    }
}

/// As it was before there were addresses: `data` and `mime_type` of an image always stand.
impl Serialize for Media {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let has_type = self.as_url().is_none() || !self.mime_type.is_empty();
        let fields = 1 + usize::from(has_type) + usize::from(self.name.is_some());
        let mut object = serializer.serialize_struct("Media", fields)?;
        match &self.source {
            MediaSource::Data(data) => object.serialize_field("data", data)?,
            MediaSource::Url(url) => object.serialize_field("url", url)?,
        }
        if has_type {
            object.serialize_field("mime_type", &self.mime_type)?;
        }
        if let Some(name) = &self.name {
            object.serialize_field("name", name)?;
        }
        object.end()
    }
}

/// Reads the fields of a block of this type. An empty image was always read, and is left out of requests.
pub(crate) fn read(kind: &str, value: &Value) -> Result<Media, serde_json::Error> {
    #[derive(Deserialize)]
    struct Fields {
        data: Option<String>,
        url: Option<String>,
        mime_type: Option<String>,
        name: Option<String>,
    }
    if let Some(why) = wrong(kind, value) {
        return Err(serde::de::Error::custom(why));
    }
    let Fields { data, url, mime_type, name } = from_value(value)?;
    let name = name.filter(|_| kind == "document");
    match (data, url) {
        // Others' libraries take such an address for the data, too; base64 has no colon.
        (Some(data), _) if data.starts_with("data:") => {
            Media::at(&data, mime_type, name).map_err(|why| serde::de::Error::custom(of_data(&why)))
        }
        (Some(data), _) => Ok(Media { source: MediaSource::Data(data), mime_type: mime_type.unwrap_or_default(), name }),
        (None, url) => Media::at(&url.unwrap_or_default(), mime_type, name).map_err(serde::de::Error::custom),
    }
}

/// What is wrong with the fields of a block of this type, beside the types of their values.
pub(crate) fn wrong(kind: &str, value: &Value) -> Option<String> {
    let has = |name: &str| value.get(name).is_some_and(|value| !value.is_null());
    let is_empty = |name: &str| value.get(name).and_then(Value::as_str).is_some_and(str::is_empty);
    let is_address = |name: &str| value.get(name).and_then(Value::as_str).is_some_and(|text| text.starts_with("data:"));
    let why = match (has("data"), has("url")) {
        _ if !matches!(kind, "image" | "document" | "audio") => return None,
        (true, true) => "it has both data and url; give one of them",
        (false, false) => "data is missing; a file has \"data\" (base64) or a \"url\"",
        (true, false) if is_empty("data") && kind != "image" => "data is empty",
        (true, false) if is_address("data") => {
            return Media::at(value.get("data")?.as_str()?, None, None).err().map(|why| of_data(&why));
        }
        (true, false) if !has("mime_type") => "mime_type is missing",
        (true, false) => return None,
        (false, true) => return Media::at(value.get("url")?.as_str()?, None, None).err(),
    };
    Some(why.to_owned())
}

/// What is wrong with an address that stands where data should.
fn of_data(why: &str) -> String {
    why.replacen("url:", "data:", 1)
}

impl Media {
    /// A file at an address, which may be a `data:` URL.
    ///
    /// # Errors
    /// What is wrong with the address.
    pub(crate) fn at(url: &str, mime_type: Option<String>, name: Option<String>) -> Result<Media, String> {
        if url.is_empty() {
            return Err("url is empty".to_owned());
        }
        if url.starts_with("data:") {
            let (kind, data) = data_url(url).ok_or("url: a data: URL must be base64, with its type")?;
            let mime_type = mime_type.filter(|given| !given.is_empty()).unwrap_or_else(|| kind.to_owned());
            return Ok(Media { source: MediaSource::Data(data.to_owned()), mime_type, name });
        }
        if !url.split_once("://").is_some_and(|(scheme, rest)| is_scheme(scheme) && !rest.is_empty()) {
            let shown = crate::error::shortened(url, 80);
            return Err(format!("url: expected an address such as \"https://…\", got {shown:?}; of a file here, give its data"));
        }
        if url.get(..5).is_some_and(|scheme| scheme.eq_ignore_ascii_case("file:")) {
            let shown = crate::error::shortened(url, 80);
            return Err(format!("url: no provider can read {shown:?}, a file of this machine; give its data"));
        }
        Ok(Media { source: MediaSource::Url(url.to_owned()), mime_type: mime_type.unwrap_or_default(), name })
    }
}

fn is_scheme(scheme: &str) -> bool {
    !scheme.is_empty() && scheme.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'-' | b'.'))
}

/// The type and the base64 of a `data:` URL.
pub(crate) fn data_url(url: &str) -> Option<(&str, &str)> {
    let (head, data) = url.strip_prefix("data:")?.split_once(',')?;
    let mime_type = head.strip_suffix(";base64")?;
    Some((mime_type.split(';').next().unwrap_or_default(), data))
}
