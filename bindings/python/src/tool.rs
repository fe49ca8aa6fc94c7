//! Tools: Python functions that a model can call, and their calls.

use std::sync::Arc;

use agent_loop::host::{HostTool, Spelling};
use agent_loop::tool::{Approval, Validation};
use agent_loop::{Error, ToolContext, ToolSpec as CoreSpec};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use serde_json::Value;

use crate::block::blocks;
use crate::call::Target;
use crate::error::raised;
use crate::future::{NativeFuture, Output};
use crate::host::{Host, Shared};
use crate::{argument, construct, json};

/// A tool's name, description and parameters, checked when it is made.
#[pyclass(frozen, module = "agent_loop._native")]
pub(crate) struct ToolSpec(Arc<CoreSpec>);

#[pymethods]
impl ToolSpec {
    #[new]
    fn new(py: Python<'_>, fields: &Bound<'_, PyDict>) -> PyResult<ToolSpec> {
        let fields = json::from_py(fields, "tool")?;
        let spec = CoreSpec::from_json_spelled(fields, Spelling::Snake, &["execute", "prepare_arguments", "cancel_mode"]);
        spec.map(|spec| ToolSpec(Arc::new(spec))).map_err(|error| raised(py, error))
    }

    #[getter]
    fn name(&self) -> &str {
        self.0.name()
    }

    #[getter]
    fn label(&self) -> &str {
        self.0.label()
    }

    #[getter]
    fn description(&self) -> &str {
        self.0.description()
    }

    #[getter]
    fn parameters<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        json::to_py(py, self.0.parameters())
    }

    #[getter]
    fn execution_mode(&self) -> Option<&'static str> {
        self.0.execution_mode().map(|mode| match mode {
            agent_loop::tool::ExecutionMode::Parallel => "parallel",
            agent_loop::tool::ExecutionMode::Sequential => "sequential",
        })
    }

    #[getter]
    fn timeout_ms(&self) -> u64 {
        self.0.timeout_ms()
    }

    /// The arguments of a call as the tool gets them.
    fn check<'py>(&self, py: Python<'py>, arguments: &Bound<'py, PyAny>, validation: &str) -> PyResult<Bound<'py, PyAny>> {
        let wrong = |text: String| raised(py, Error::invalid_argument(text));
        let how = match validation {
            "coerce" => Validation::Coerce,
            "strict" => Validation::Strict,
            "off" => Validation::Off,
            _ => return Err(wrong(format!("validation: expected \"coerce\", \"strict\" or \"off\", got {validation:?}"))),
        };
        let Value::Object(arguments) = json::from_py(arguments, "the arguments")? else {
            return Err(wrong("the arguments are no object".to_owned()));
        };
        json::map_to_py(py, &self.0.checked(&arguments, how).map_err(wrong)?).map(Bound::into_any)
    }

    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        json::to_dict(py, &*self.0)
    }
}

/// The engine's side of an `agent_loop.Tool`.
pub(crate) fn of_agent(tool: &Bound<'_, PyAny>, shared: &Shared, host: &Arc<Host>) -> PyResult<HostTool> {
    let spec = Arc::clone(&tool.getattr("spec")?.cast::<ToolSpec>()?.get().0);
    // A plain function is called on a thread of its own.
    let blocking = !tool.getattr("is_async")?.is_truthy()?;
    let cancels_task = tool.getattr("cancel_mode")?.eq("task")?;
    // Held is the tool, which the garbage collector can see, not its functions.
    let target = |method, blocking, cancels_task| {
        Target { object: Arc::clone(shared), method: Some(method), blocking, cancels_task }.function(host)
    };
    let prepare = (!tool.getattr("prepare_arguments")?.is_none()).then(|| target("_prepare", false, false));
    let execute = target(if blocking { "_answer_in_thread" } else { "_answer" }, blocking, cancels_task);
    let approve = (spec.needs_approval() == Approval::Asked).then(|| target("_approve", false, false));
    Ok(HostTool { spec, execute, prepare, prepared: "a dict of arguments", approve, may_block: blocking })
}

/// The native side of a `ToolContext`.
#[pyclass(frozen, module = "agent_loop._native")]
pub(crate) struct CallContext(pub(crate) ToolContext);

#[pymethods]
impl CallContext {
    #[getter]
    fn id(&self) -> &str {
        self.0.id()
    }

    #[getter]
    fn name(&self) -> &str {
        self.0.name()
    }

    #[getter]
    fn idempotency_key(&self) -> &str {
        self.0.idempotency_key()
    }

    fn update(&self, partial: &Bound<'_, PyAny>) -> PyResult<()> {
        self.0.update(json::result_from_py(partial, "the update")?);
        Ok(())
    }

    #[getter]
    fn is_cancelled(&self) -> bool {
        self.0.is_cancelled()
    }

    fn wait_cancelled(&self) -> NativeFuture {
        let cancelled = self.0.cancel_token().cancelled();
        NativeFuture::new(None, async move {
            cancelled.await;
            Ok(Output::Nothing)
        })
    }

    fn sleep(&self, ms: &Bound<'_, PyAny>) -> PyResult<NativeFuture> {
        let (context, ms) = (self.0.clone(), millis(ms, "ms")?);
        Ok(NativeFuture::new(None, async move { Ok(Output::Flag(context.sleep(ms).await)) }))
    }

    fn sleep_sync(&self, py: Python<'_>, ms: &Bound<'_, PyAny>) -> PyResult<bool> {
        let ms = millis(ms, "ms")?;
        Ok(py.detach(|| self.0.sleep_blocking(ms)))
    }
}

pub(crate) fn millis(ms: &Bound<'_, PyAny>, what: &str) -> PyResult<u64> {
    let (given, ms) = (ms, argument::number(ms, what)?);
    if ms.is_nan() || ms < 0.0 {
        return Err(PyValueError::new_err(format!("{what}: expected milliseconds, got {given}")));
    }
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    // not negative; a value that is too large becomes the maximum
    Ok(ms.ceil() as u64)
}

/// A tool's result as events carry it.
#[pyclass(frozen, module = "agent_loop")]
pub(crate) struct ToolOutput(pub(crate) agent_loop::ToolOutput);

#[pymethods]
impl ToolOutput {
    #[new]
    #[pyo3(signature = (*arguments, **named), text_signature = None)]
    fn new(arguments: &Bound<'_, PyTuple>, named: Option<&Bound<'_, PyDict>>) -> PyResult<ToolOutput> {
        let (py, class) = (arguments.py(), "ToolOutput");
        let mut fields = construct::fields(class, &["content"], arguments, named)?;
        construct::check(py, class, &fields, &[("content", true), ("details", false), ("terminate", false)])?;
        construct::blocks_of_text(&mut fields);
        fields.entry("details").or_insert_with(|| serde_json::Value::Null);
        fields.entry("terminate").or_insert_with(|| false.into());
        construct::data(py, class, fields.into()).map(ToolOutput)
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        construct::reduced(py, "output", &self.0)
    }

    fn __copy__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    fn __deepcopy__(slf: Py<Self>, _memo: &Bound<'_, PyAny>) -> Py<Self> {
        slf
    }

    #[getter]
    fn content<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        blocks(py, &self.0.content)
    }

    #[getter]
    fn details<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        json::to_py(py, &self.0.details)
    }

    #[getter]
    fn terminate(&self) -> bool {
        self.0.terminate
    }

    #[getter]
    fn text(&self) -> String {
        self.0.text()
    }

    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        json::to_dict(py, &self.0)
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        other.cast::<ToolOutput>().is_ok_and(|other| other.get().0 == self.0)
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        json::repr(py, "ToolOutput", &self.0, &[])
    }
}

/// A tool's progress update, before its result.
#[pyclass(frozen, module = "agent_loop")]
pub(crate) struct PartialResult(pub(crate) agent_loop::event::PartialResult);

#[pymethods]
impl PartialResult {
    #[new]
    #[pyo3(signature = (*arguments, **named), text_signature = None)]
    fn new(arguments: &Bound<'_, PyTuple>, named: Option<&Bound<'_, PyDict>>) -> PyResult<PartialResult> {
        let (py, class) = (arguments.py(), "PartialResult");
        let mut fields = construct::fields(class, &["content"], arguments, named)?;
        construct::check(py, class, &fields, &[("content", true), ("details", false)])?;
        construct::blocks_of_text(&mut fields);
        fields.entry("details").or_insert_with(|| serde_json::Value::Null);
        construct::data(py, class, fields.into()).map(PartialResult)
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        construct::reduced(py, "partial", &self.0)
    }

    fn __copy__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    fn __deepcopy__(slf: Py<Self>, _memo: &Bound<'_, PyAny>) -> Py<Self> {
        slf
    }

    #[getter]
    fn content<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        blocks(py, &self.0.content)
    }

    #[getter]
    fn details<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        json::to_py(py, &self.0.details)
    }

    #[getter]
    fn text(&self) -> String {
        self.0.text()
    }

    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        json::to_dict(py, &self.0)
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        other.cast::<PartialResult>().is_ok_and(|other| other.get().0 == self.0)
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        json::repr(py, "PartialResult", &self.0, &[])
    }
}
