//! Stores of sessions, also those that are Python objects.

use std::sync::{Arc, Mutex, PoisonError};

use agent_loop::host::{HostCall, HostKind, Spelling};
use agent_loop::session::hosting::{HostStore, on_runtime, open_store, query_of};
use agent_loop::session::{Store as CoreStore, StoreBuilder};
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde_json::{Map, Value};

use crate::call::Target;
use crate::cause::Causes;
use crate::error::raised;
use crate::future::{NativeFuture, Output};
use crate::host::{Shared, lock_for_traverse};
use crate::job_queue::{JobQueue, Jobs};
use crate::session::Session;
use crate::{json, runtime};

/// A store and, if it is one, the Python object that it is.
pub(crate) struct OpenStore {
    pub(crate) core: CoreStore,
    custom: Option<Arc<Custom>>,
}

/// A store of sessions.
#[pyclass(frozen, module = "agent_loop._native")]
pub(crate) struct Store(Arc<OpenStore>);

/// A Python object whose methods are called with a `HostCall`: `call` on a thread that it may block, `call_async` on the event
/// loop that has last used the store.
struct Custom {
    object: Mutex<Option<Shared>>,
    jobs: Mutex<Option<Arc<Jobs>>>,
    vars: Shared,
    /// What its methods have raised.
    causes: Arc<Causes>,
    blocking: Vec<String>,
}

impl OpenStore {
    /// The store is used from the event loop of this queue.
    pub(crate) fn used_from(&self, queue: &Bound<'_, JobQueue>) {
        if let Some(custom) = &self.custom {
            let before = custom.jobs.lock().unwrap_or_else(PoisonError::into_inner).replace(Arc::clone(queue.get().jobs()));
            drop(before);
        }
    }

    /// Whether it is a Python object.
    pub(crate) fn is_custom(&self) -> bool {
        self.custom.is_some()
    }

    /// Begins work of the store, which the event loop of this queue awaits.
    pub(crate) fn begin(
        self: &Arc<OpenStore>,
        queue: &Bound<'_, JobQueue>,
        work: impl Future<Output = Result<Output, agent_loop::Error>> + Send + 'static,
    ) -> PyResult<NativeFuture> {
        self.used_from(queue);
        let runtime = runtime::runtime().map_err(|error| raised(queue.py(), error))?;
        Ok(NativeFuture::new(None, on_runtime(&runtime, work)))
    }
}

impl Custom {
    fn call(&self, core: HostCall) {
        let object = self.object.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let (Some(object), HostKind::Store(method)) = (object, core.kind()) else {
            // Nothing has answered it.
            let _ = core.fail("the store's object no longer exists");
            return;
        };
        let (vars, causes) = (Arc::clone(&self.vars), Arc::clone(&self.causes));
        let target = |name, blocking| Target { object, method: Some(name), blocking, cancels_task: false };
        if self.blocking.iter().any(|blocking| blocking == method) {
            return target("call", true).call_here(vars, causes, core);
        }
        let jobs = self.jobs.lock().unwrap_or_else(PoisonError::into_inner).clone();
        match jobs.filter(|jobs| !jobs.closing().is_cancelled()) {
            Some(jobs) => target("call_async", false).call_in(&jobs, vars, causes, core),
            None => drop(core.fail("the event loop that has used the store is closed, and its async methods need one")),
        }
    }
}

/// Options as JSON.
pub(crate) fn options_of(options: &Bound<'_, PyDict>, what: &str) -> PyResult<Map<String, Value>> {
    match json::from_py(options, what)? {
        Value::Object(options) => Ok(options),
        _ => Ok(Map::new()),
    }
}

fn open(builder: StoreBuilder, options: &Bound<'_, PyDict>, custom: Option<Arc<Custom>>) -> PyResult<Store> {
    let py = options.py();
    let options = options_of(options, "store")?;
    // It may wait for another process.
    let core = py.detach(|| open_store(builder, options, Spelling::Snake)).map_err(|error| raised(py, error))?;
    Ok(Store(Arc::new(OpenStore { core, custom })))
}

#[pymethods]
impl Store {
    /// Opens the store at an address.
    #[staticmethod]
    fn open(address: json::Text, options: &Bound<'_, PyDict>) -> PyResult<Store> {
        open(CoreStore::builder(address.0), options, None)
    }

    /// A store that is an object; its methods in `blocking` are called on threads. `vars` are the context variables that all are
    /// called with.
    #[staticmethod]
    fn custom(
        object: Py<PyAny>,
        name: json::Text,
        blocking: Vec<String>,
        has_changed: bool,
        vars: Py<PyAny>,
        options: &Bound<'_, PyDict>,
    ) -> PyResult<Store> {
        let custom = Arc::new(Custom {
            object: Mutex::new(Some(Arc::new(object))),
            jobs: Mutex::default(),
            vars: Arc::new(vars),
            causes: Arc::default(),
            blocking: blocking.clone(),
        });
        let called = Arc::clone(&custom);
        let function = Arc::new(move |call| called.call(call));
        let backend = HostStore { name: name.0, function, blocking, has_changed, pid: std::process::id() };
        open(CoreStore::custom(backend), options, Some(custom))
    }

    #[getter]
    fn name(&self) -> String {
        self.0.core.name()
    }

    fn session(&self, py: Python<'_>, id: json::Text) -> PyResult<Session> {
        let core = self.0.core.session(&id.0).map_err(|error| raised(py, error))?;
        Ok(Session::new(core, &self.0))
    }

    /// A page as a dict.
    fn list(&self, queue: &Bound<'_, JobQueue>, query: &Bound<'_, PyDict>) -> PyResult<NativeFuture> {
        let query = query_of(options_of(query, "list")?, Spelling::Snake).map_err(|error| raised(query.py(), error))?;
        let core = self.0.core.clone();
        self.0.begin(queue, async move { Ok(Output::json(&core.list(query).await?)) })
    }

    /// A `Session`.
    fn import_text(&self, queue: &Bound<'_, JobQueue>, text: json::Text, id: Option<json::Text>) -> PyResult<NativeFuture> {
        let store = Arc::clone(&self.0);
        self.0.begin(queue, async move {
            let session = store.core.import(&text.0, id.as_ref().map(|id| &*id.0)).await?;
            Ok(Output::object(Session::new(session, &store)))
        })
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        let Some(custom) = &self.0.custom else { return Ok(()) };
        custom.causes.traverse(&visit)?;
        // A call that has one of them, too, is seen by no collector, which would then take it away under the call.
        if Arc::strong_count(&custom.vars) == 1 {
            visit.call(&*custom.vars)?;
        }
        match lock_for_traverse(&custom.object).as_deref() {
            Some(Some(object)) if Arc::strong_count(object) == 1 => visit.call(&**object),
            _ => Ok(()),
        }
    }

    fn __clear__(&self) {
        if let Some(custom) = &self.0.custom {
            custom.causes.close();
            let object = custom.object.lock().unwrap_or_else(PoisonError::into_inner).take();
            drop(object);
        }
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        if let Some(custom) = &self.0.custom {
            custom.causes.close();
        }
    }
}
