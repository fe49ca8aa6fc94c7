//! The parts of a message.

use agent_loop::ContentBlock as CoreBlock;
use pyo3::IntoPyObjectExt;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyDictMethods, PyString, PyTuple, PyType};

use crate::{argument, construct, json, path};

/// A part of a message: a `TextBlock`, `ThinkingBlock`, `ImageBlock`, `DocumentBlock`, `AudioBlock`, `ToolCall` or
/// `OpaqueBlock`.
#[pyclass(frozen, subclass, module = "agent_loop")]
pub(crate) struct ContentBlock {
    pub(crate) core: CoreBlock,
}

#[pymethods]
impl ContentBlock {
    #[new]
    #[pyo3(signature = (*_arguments, **_named), text_signature = None)]
    fn new(_arguments: &Bound<'_, PyTuple>, _named: Option<&Bound<'_, PyDict>>) -> PyResult<ContentBlock> {
        Err(PyTypeError::new_err(
            "ContentBlock is the base of all blocks; make a TextBlock, ThinkingBlock, ImageBlock, DocumentBlock, AudioBlock, \
             ToolCall or OpaqueBlock",
        ))
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        construct::reduced(py, "block", &self.core)
    }

    fn __copy__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    fn __deepcopy__(slf: Py<Self>, _memo: &Bound<'_, PyAny>) -> Py<Self> {
        slf
    }

    #[getter(r#type)]
    fn kind(&self) -> &'static str {
        match &self.core {
            CoreBlock::Text { .. } => "text",
            CoreBlock::Thinking { .. } => "thinking",
            CoreBlock::Image(_) => "image",
            CoreBlock::Document(_) => "document",
            CoreBlock::Audio(_) => "audio",
            CoreBlock::ToolCall(_) => "tool_call",
            CoreBlock::Opaque { .. } => "opaque",
        }
    }

    /// Of every block, because the type of a message's content is the union of all of them.
    #[getter]
    fn text(&self) -> &str {
        match &self.core {
            CoreBlock::Text { text, .. } => text,
            _ => "",
        }
    }

    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        json::to_dict(py, &self.core)
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        other.cast::<ContentBlock>().is_ok_and(|other| other.get().core == self.core)
    }

    fn __repr__(slf: &Bound<'_, Self>) -> PyResult<String> {
        json::repr(slf.py(), &slf.get_type().name()?.to_string(), &slf.get().core, &["type"])
    }
}

/// A block of the class of its type.
pub(crate) fn block<'py>(py: Python<'py>, core: &CoreBlock) -> PyResult<Bound<'py, PyAny>> {
    let base = PyClassInitializer::from(ContentBlock { core: core.clone() });
    Ok(match core {
        CoreBlock::Text { .. } => Bound::new(py, base.add_subclass(TextBlock))?.into_any(),
        CoreBlock::Thinking { .. } => Bound::new(py, base.add_subclass(ThinkingBlock))?.into_any(),
        CoreBlock::Image(_) => Bound::new(py, base.add_subclass(ImageBlock))?.into_any(),
        CoreBlock::Document(_) => Bound::new(py, base.add_subclass(DocumentBlock))?.into_any(),
        CoreBlock::Audio(_) => Bound::new(py, base.add_subclass(AudioBlock))?.into_any(),
        CoreBlock::ToolCall(_) => Bound::new(py, base.add_subclass(ToolCall))?.into_any(),
        CoreBlock::Opaque { .. } => Bound::new(py, base.add_subclass(OpaqueBlock))?.into_any(),
    })
}

/// Several blocks, as a tuple.
pub(crate) fn blocks<'py>(py: Python<'py>, content: &[CoreBlock]) -> PyResult<Bound<'py, PyTuple>> {
    let all = content.iter().map(|one| block(py, one)).collect::<PyResult<Vec<_>>>()?;
    PyTuple::new(py, all)
}

/// A class of blocks with a getter for each of its fields.
macro_rules! block_class {
    (
        $(#[$doc:meta])*
        $name:ident $kind:literal [$($position:literal),*]
        $(with { $($extra:item)* })?
        { $($field:ident: |$py:ident, $core:pat_param| $value:expr,)* }
    ) => {
        $(#[$doc])*
        #[pyclass(frozen, extends = ContentBlock, module = "agent_loop")]
        pub(crate) struct $name;

        #[pymethods]
        impl $name {
            #[new]
            #[pyo3(signature = (*arguments, **named), text_signature = None)]
            fn new(arguments: &Bound<'_, PyTuple>, named: Option<&Bound<'_, PyDict>>) -> PyResult<PyClassInitializer<$name>> {
                Ok(made(arguments.py(), stringify!($name), $kind, &[$($position),*], arguments, named)?.add_subclass($name))
            }

            $($($extra)*)?

            #[classattr]
            fn __match_args__(py: Python<'_>) -> PyResult<Py<PyTuple>> {
                match_args(py, &[$($position),*])
            }

            $(
                #[getter]
                fn $field<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
                    let $py = slf.py();
                    match &slf.as_super().get().core {
                        $core => IntoPyObjectExt::into_bound_py_any($value, $py),
                        // An object of this class is made for this variant only.
                        _ => Ok($py.None().into_bound($py)),
                    }
                }
            )*
        }
    };
}

block_class! {
    /// Text.
    TextBlock "text" ["text"] {
        signature: |py, CoreBlock::Text { signature, .. }| signature.as_deref(),
    }
}

block_class! {
    /// The model's reasoning.
    ThinkingBlock "thinking" ["thinking"] {
        thinking: |py, CoreBlock::Thinking { thinking, .. }| thinking,
        signature: |py, CoreBlock::Thinking { signature, .. }| signature.as_deref(),
        redacted: |py, CoreBlock::Thinking { redacted, .. }| *redacted,
    }
}

block_class! {
    /// An image, base64 or at an address.
    ImageBlock "image" ["data", "mime_type"]
    with {
        /// An image in a file. Raises `OSError` if it cannot be read.
        #[classmethod]
        #[pyo3(signature = (path, mime_type=None))]
        fn from_path<'py>(
            class: &Bound<'py, PyType>,
            path: &Bound<'py, PyAny>,
            mime_type: Option<&Bound<'py, PyAny>>,
        ) -> PyResult<Bound<'py, PyAny>> {
            from_path(class, "image", path, mime_type, None)
        }
    }
    {
        data: |py, CoreBlock::Image(media)| media.as_base64(),
        url: |py, CoreBlock::Image(media)| media.as_url(),
        mime_type: |py, CoreBlock::Image(media)| &media.mime_type,
    }
}

block_class! {
    /// A document, base64 or at an address.
    DocumentBlock "document" ["data", "mime_type"]
    with {
        /// A document in a file. Raises `OSError` if it cannot be read.
        #[classmethod]
        #[pyo3(signature = (path, mime_type=None, name=None))]
        fn from_path<'py>(
            class: &Bound<'py, PyType>,
            path: &Bound<'py, PyAny>,
            mime_type: Option<&Bound<'py, PyAny>>,
            name: Option<&Bound<'py, PyAny>>,
        ) -> PyResult<Bound<'py, PyAny>> {
            from_path(class, "document", path, mime_type, name)
        }
    }
    {
        data: |py, CoreBlock::Document(media)| media.as_base64(),
        url: |py, CoreBlock::Document(media)| media.as_url(),
        mime_type: |py, CoreBlock::Document(media)| &media.mime_type,
        name: |py, CoreBlock::Document(media)| media.name.as_deref(),
    }
}

block_class! {
    /// Audio, base64 or at an address.
    AudioBlock "audio" ["data", "mime_type"]
    with {
        /// Audio in a file. Raises `OSError` if it cannot be read.
        #[classmethod]
        #[pyo3(signature = (path, mime_type=None))]
        fn from_path<'py>(
            class: &Bound<'py, PyType>,
            path: &Bound<'py, PyAny>,
            mime_type: Option<&Bound<'py, PyAny>>,
        ) -> PyResult<Bound<'py, PyAny>> {
            from_path(class, "audio", path, mime_type, None)
        }
    }
    {
        data: |py, CoreBlock::Audio(media)| media.as_base64(),
        url: |py, CoreBlock::Audio(media)| media.as_url(),
        mime_type: |py, CoreBlock::Audio(media)| &media.mime_type,
    }
}

block_class! {
    /// A call of a tool, made by the model.
    ToolCall "tool_call" ["name", "arguments"] {
        id: |py, CoreBlock::ToolCall(call)| &call.id,
        name: |py, CoreBlock::ToolCall(call)| &call.name,
        arguments: |py, CoreBlock::ToolCall(call)| json::map_to_py(py, &call.arguments)?,
        raw_arguments: |py, CoreBlock::ToolCall(call)| call.raw_arguments.as_deref(),
        signature: |py, CoreBlock::ToolCall(call)| call.signature.as_deref(),
    }
}

block_class! {
    /// A vendor's own block: kept and sent back unchanged.
    OpaqueBlock "opaque" ["protocol", "data"] {
        protocol: |py, CoreBlock::Opaque { protocol, .. }| protocol,
        data: |py, CoreBlock::Opaque { data, .. }| json::to_py(py, data)?,
    }
}

/// A block of the bytes of a file.
fn from_path<'py>(
    class: &Bound<'py, PyType>,
    kind: &str,
    path: &Bound<'py, PyAny>,
    mime_type: Option<&Bound<'py, PyAny>>,
    name: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let py = class.py();
    let mime_type = mime_type.map(|text| argument::text(text, "mime_type")).transpose()?;
    let name = name.map(|text| argument::text(text, "name")).transpose()?;
    let at = path::argument(path, "path")?;
    let file_name = at.file_name().map(|name| name.to_string_lossy().into_owned());
    // Python's own errors name the file.
    let bytes = py.import("pathlib")?.getattr("Path")?.call1((path,))?.call_method0("read_bytes")?;
    let known = match mime_type {
        Some(given) => given.to_string(),
        None => {
            let (class, head) = (class.name()?, construct::head("data", &bytes)?);
            construct::mime_type(py, &class.to_string(), kind, file_name.as_deref(), &head)?.to_owned()
        }
    };
    let named = PyDict::new(py);
    if kind == "document" {
        named.set_item("name", name.map(|name| name.to_string()).or(file_name))?;
    }
    class.call((bytes, known), Some(&named))
}

/// The base of a block that is made from its fields. The data of a file may be bytes.
fn made(
    py: Python<'_>,
    class: &str,
    kind: &str,
    positional: &[&str],
    arguments: &Bound<'_, PyTuple>,
    named: Option<&Bound<'_, PyDict>>,
) -> PyResult<PyClassInitializer<ContentBlock>> {
    let mut arguments = arguments.clone();
    let mut named = named.map(PyDictMethods::copy).transpose()?;
    let mut head = None;
    if matches!(kind, "image" | "document" | "audio") {
        let mut data = arguments.get_item(0).ok();
        if data.is_none() {
            data = named.as_ref().map(|named| named.get_item("data")).transpose()?.flatten();
        }
        if let Some(data) = data.filter(|data| !data.is_instance_of::<PyString>() && !data.is_none()) {
            head = Some(construct::head(class, &data)?);
            let rest = arguments.iter().skip(1);
            if arguments.is_empty() {
                named.get_or_insert_with(|| PyDict::new(py)).set_item("data", construct::base64(&data)?)?;
            } else {
                arguments = PyTuple::new(py, [construct::base64(&data)?].into_iter().chain(rest).collect::<Vec<_>>())?;
            }
        }
    }
    let mut fields = construct::fields(class, positional, &arguments, named.as_ref())?;
    if let Some(head) = head
        && !fields.contains_key("mime_type")
    {
        let name = fields.get("name").and_then(serde_json::Value::as_str);
        let known = construct::mime_type(py, class, kind, name, &head)?;
        fields.insert("mime_type".to_owned(), known.into());
    }
    fields.insert("type".to_owned(), kind.into());
    if kind == "tool_call" {
        fields.entry("arguments").or_insert_with(|| serde_json::json!({}));
    }
    Ok(PyClassInitializer::from(ContentBlock { core: construct::data(py, class, fields.into())? }))
}

/// The names of the positional patterns of a class.
pub(crate) fn match_args(py: Python<'_>, names: &[&str]) -> PyResult<Py<PyTuple>> {
    Ok(PyTuple::new(py, names)?.unbind())
}
