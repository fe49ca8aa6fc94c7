//! The types of files: by their first bytes, and by the ends of their names.

/// The types by the ends of names. The first end of a type is the usual one.
const TYPES: &[(&str, &[&str])] = &[
    ("image/png", &["png"]),
    ("image/jpeg", &["jpg", "jpeg"]),
    ("image/gif", &["gif"]),
    ("image/webp", &["webp"]),
    ("image/bmp", &["bmp"]),
    ("image/tiff", &["tiff", "tif"]),
    ("image/heic", &["heic"]),
    ("image/heif", &["heif"]),
    ("image/avif", &["avif"]),
    ("image/svg+xml", &["svg"]),
    ("application/pdf", &["pdf"]),
    ("text/plain", &["txt", "text", "log"]),
    ("text/markdown", &["md", "markdown"]),
    ("text/csv", &["csv"]),
    ("text/tab-separated-values", &["tsv"]),
    ("text/html", &["html", "htm"]),
    ("text/xml", &["xml"]),
    ("application/json", &["json"]),
    ("application/yaml", &["yaml", "yml"]),
    ("application/rtf", &["rtf"]),
    ("application/msword", &["doc"]),
    ("application/vnd.ms-excel", &["xls"]),
    ("application/vnd.ms-powerpoint", &["ppt"]),
    ("application/vnd.oasis.opendocument.text", &["odt"]),
    ("application/vnd.openxmlformats-officedocument.wordprocessingml.document", &["docx"]),
    ("application/vnd.openxmlformats-officedocument.spreadsheetml.sheet", &["xlsx"]),
    ("application/vnd.openxmlformats-officedocument.presentationml.presentation", &["pptx"]),
    ("audio/wav", &["wav"]),
    ("audio/mpeg", &["mp3"]),
    ("audio/ogg", &["ogg", "oga", "opus"]),
    ("audio/flac", &["flac"]),
    ("audio/aac", &["aac"]),
    ("audio/aiff", &["aiff", "aif"]),
    ("audio/mp4", &["m4a"]),
];

/// The type of a file by its first bytes, or else by the end of its name, as far as it is known.
///
/// ```
/// # use agent_loop_proto::media::mime_type_of;
/// assert_eq!(mime_type_of(Some("notes.txt"), b"Hello"), Some("text/plain"));
/// assert_eq!(mime_type_of(None, b"%PDF-1.7"), Some("application/pdf"));
/// ```
pub fn mime_type_of(name: Option<&str>, bytes: &[u8]) -> Option<&'static str> {
    by_bytes(bytes).or_else(|| {
        let (_, end) = name?.rsplit_once('.')?;
        TYPES.iter().find(|(_, ends)| ends.iter().any(|known| end.eq_ignore_ascii_case(known))).map(|(kind, _)| *kind)
    })
}

fn by_bytes(bytes: &[u8]) -> Option<&'static str> {
    Some(match bytes {
        [0x89, b'P', b'N', b'G', ..] => "image/png",
        [0xff, 0xd8, 0xff, ..] => "image/jpeg",
        [b'G', b'I', b'F', b'8', ..] => "image/gif",
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => "image/webp",
        [b'%', b'P', b'D', b'F', b'-', ..] => "application/pdf",
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'A', b'V', b'E', ..] => "audio/wav",
        // A tag, or the first frame of a file without one.
        [b'I', b'D', b'3', ..] | [0xff, 0xf2 | 0xf3 | 0xfa | 0xfb, ..] => "audio/mpeg",
        [b'O', b'g', b'g', b'S', ..] => "audio/ogg",
        [b'f', b'L', b'a', b'C', ..] => "audio/flac",
        _ => return None,
    })
}

/// The usual end of the names of such files.
pub(crate) fn extension(mime_type: &str) -> Option<&'static str> {
    TYPES.iter().find(|(kind, _)| *kind == mime_type).and_then(|(_, ends)| ends.first().copied())
}

/// Whether files of this type are texts.
pub(crate) fn is_text(mime_type: &str) -> bool {
    const TEXTS: [&str; 5] = ["json", "xml", "yaml", "javascript", "toml"];
    let essence = mime_type.split(';').next().unwrap_or_default().trim_end();
    match essence.split_once('/') {
        Some(("text", _)) => true,
        Some(("application", kind)) => TEXTS.contains(&kind.strip_prefix("x-").unwrap_or(kind)),
        _ => false,
    }
}

/// The registered name of a type that is often called otherwise; servers know only that.
pub(super) fn registered(mime_type: &str) -> &str {
    match mime_type {
        "image/jpg" => "image/jpeg",
        "audio/mp3" => "audio/mpeg",
        "audio/x-wav" | "audio/wave" | "audio/vnd.wave" => "audio/wav",
        "audio/x-flac" => "audio/flac",
        "audio/x-aiff" => "audio/aiff",
        "application/x-pdf" => "application/pdf",
        _ => mime_type,
    }
}

/// The path of an address.
pub(super) fn path_of(url: &str) -> &str {
    let path = url.split(['?', '#']).next().unwrap_or_default();
    // The end of a host is none of a file.
    path.split_once("://").and_then(|(_, rest)| rest.split_once('/')).map_or("", |(_, path)| path)
}
