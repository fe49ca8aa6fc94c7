//! Sessions of a store, and those that are open.

use std::sync::Arc;
use std::time::Duration;

use agent_loop::host::Spelling;
use agent_loop::session::hosting::{Follower, Given, OpenSessions, info_of, open_for, records_of, salvaged_json};
use agent_loop::session::{OpenSession as CoreOpenSession, Session as CoreSession};
use agent_loop::{Error, Runtime};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use crate::agent::Agent;
use crate::error::raised;
use crate::future::{NativeFuture, Output};
use crate::job_queue::JobQueue;
use crate::message::messages;
use crate::store::{OpenStore, options_of};
use crate::{argument, json, runtime};

/// How long exit waits for sessions that are still open.
const EXIT_TIMEOUT: Duration = Duration::from_secs(1);

/// A session of a store.
#[pyclass(frozen, module = "agent_loop._native")]
pub(crate) struct Session {
    core: CoreSession,
    store: Arc<OpenStore>,
}

impl Session {
    pub(crate) fn new(core: CoreSession, store: &Arc<OpenStore>) -> Session {
        Session { core, store: Arc::clone(store) }
    }
}

#[pymethods]
impl Session {
    #[getter]
    fn id(&self) -> &str {
        self.core.id()
    }

    /// A dict, or None.
    fn info(&self, queue: &Bound<'_, JobQueue>) -> PyResult<NativeFuture> {
        let core = self.core.clone();
        self.store.begin(queue, async move { Ok(Output::json(&core.info().await?)) })
    }

    /// A list of dicts.
    fn records(&self, queue: &Bound<'_, JobQueue>, after: &Bound<'_, PyAny>, limit: &Bound<'_, PyAny>) -> PyResult<NativeFuture> {
        let (after, limit) = (argument::count(after, "records: after")?, argument::count(limit, "records: limit")?);
        let core = self.core.clone();
        self.store.begin(queue, async move { Ok(Output::json(&core.records(after, limit).await?)) })
    }

    fn follow(&self, after: &Bound<'_, PyAny>, live: bool) -> PyResult<Follow> {
        let follower = Follower::new(&self.core, argument::count(after, "follow: after")?, live);
        Ok(Follow { follower, store: Arc::clone(&self.store) })
    }

    fn set_info(&self, queue: &Bound<'_, JobQueue>, info: &Bound<'_, PyDict>) -> PyResult<NativeFuture> {
        let info = info_of(options_of(info, "set_info")?, Spelling::Snake).map_err(|error| raised(info.py(), error))?;
        let core = self.core.clone();
        self.store.begin(queue, async move { core.set_info(info).await.map(|()| Output::Nothing) })
    }

    /// A `Session`.
    fn fork(&self, queue: &Bound<'_, JobQueue>, at: Option<&Bound<'_, PyAny>>, id: json::Text) -> PyResult<NativeFuture> {
        let at = at.map(|at| argument::count(at, "fork: at")).transpose()?;
        let (core, store) = (self.core.clone(), Arc::clone(&self.store));
        self.store.begin(queue, async move {
            let forked = core.fork(at, &id.0).await?;
            Ok(Output::object(Session::new(forked, &store)))
        })
    }

    fn delete(&self, queue: &Bound<'_, JobQueue>) -> PyResult<NativeFuture> {
        let core = self.core.clone();
        self.store.begin(queue, async move { core.delete().await.map(|()| Output::Nothing) })
    }

    /// JSON lines.
    fn export(&self, queue: &Bound<'_, JobQueue>) -> PyResult<NativeFuture> {
        let core = self.core.clone();
        self.store.begin(queue, async move { core.export().await.map(|text| Output::Json(text.into())) })
    }

    /// `records`, `text` and `damage` as a dict.
    fn salvage(&self, queue: &Bound<'_, JobQueue>) -> PyResult<NativeFuture> {
        let core = self.core.clone();
        self.store.begin(queue, async move { Ok(Output::Json(salvaged_json(&core.salvage().await?))) })
    }

    /// Opens it for an agent: an `OpenSession`, which this thread waits for. Not of a store whose methods are those of a Python
    /// object: they may need an event loop. On an error it is not left open.
    fn open_for(&self, agent: &Bound<'_, Agent>, is_in_event_loop: bool) -> PyResult<OpenSession> {
        let (py, agent) = (agent.py(), &agent.get().core);
        if self.store.is_custom() && !is_in_event_loop {
            let text = format!(
                "session: a constructor cannot wait for {}, which is an object of the program: open the session first, as in \
                 session=store.session({:?}).open_sync()",
                self.store.core.name(),
                self.core.id()
            );
            return Err(raised(py, Error::invalid_argument(text)));
        }
        let runtime = runtime::runtime().map_err(|error| raised(py, error))?;
        let given = Given { is_in_event_loop, assigned: "session=" };
        let opened = py.detach(|| open_for(agent, &runtime, &self.core, given));
        let core = OPEN.add(opened.map_err(|error| raised(py, error))?);
        Ok(OpenSession { core, store: Arc::clone(&self.store) })
    }

    /// An `OpenSession`.
    fn open(&self, queue: &Bound<'_, JobQueue>) -> PyResult<NativeFuture> {
        let (core, store) = (self.core.clone(), Arc::clone(&self.store));
        self.store.begin(queue, async move { Ok(Output::object(OpenSession { core: OPEN.add(core.open().await?), store })) })
    }
}

/// The records of a session, those to come included, and the events of its run.
#[pyclass(frozen, module = "agent_loop._native")]
pub(crate) struct Follow {
    follower: Follower,
    store: Arc<OpenStore>,
}

#[pymethods]
impl Follow {
    /// The next record or event as a dict.
    fn next(&self, queue: &Bound<'_, JobQueue>) -> PyResult<NativeFuture> {
        self.store.used_from(queue);
        let runtime = runtime::runtime().map_err(|error| raised(queue.py(), error))?;
        let next = self.follower.next(&runtime);
        Ok(NativeFuture::new(None, async move { Ok(Output::json(&next.await?)) }))
    }
}

/// A session with the right to append to it.
#[pyclass(frozen, module = "agent_loop._native")]
pub(crate) struct OpenSession {
    pub(crate) core: Arc<CoreOpenSession>,
    store: Arc<OpenStore>,
}

/// For the end of the interpreter.
static OPEN: OpenSessions = OpenSessions::new();

/// Closes all sessions that are open: at interpreter exit, without Python.
pub(crate) fn close_open(runtime: &Runtime) {
    OPEN.close(runtime, EXIT_TIMEOUT);
}

#[pymethods]
impl OpenSession {
    #[getter]
    fn id(&self) -> &str {
        self.core.id()
    }

    #[getter]
    fn last(&self) -> u64 {
        self.core.last()
    }

    /// The transcript as it was when the session was opened.
    #[getter]
    fn messages<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        messages(py, &self.core.rebuilt().messages)
    }

    /// All that it was when it was opened, as a dict.
    #[getter]
    fn rebuilt<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        json::to_dict(py, &*self.core.rebuilt())
    }

    /// What was unusual when it was opened, as dicts.
    #[getter]
    fn diagnostics<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let all = self.core.diagnostics().iter().map(|one| json::to_dict(py, one)).collect::<PyResult<Vec<_>>>()?;
        PyTuple::new(py, all)
    }

    /// Appends records, which have their places when this returns; the future is the number of the last one.
    fn append(&self, queue: &Bound<'_, JobQueue>, records: &Bound<'_, PyAny>) -> PyResult<NativeFuture> {
        let py = queue.py();
        let records = records_of(json::from_py(records, "records")?).map_err(|error| raised(py, error))?;
        self.store.used_from(queue);
        let runtime = runtime::runtime().map_err(|error| raised(py, error))?;
        let appended = py.detach(|| runtime.run_here(|| self.core.append(records)));
        Ok(NativeFuture::new(None, async move { appended.await.map(|last| Output::Json(last.into())) }))
    }

    fn set_info(&self, queue: &Bound<'_, JobQueue>, info: &Bound<'_, PyDict>) -> PyResult<NativeFuture> {
        let info = info_of(options_of(info, "set_info")?, Spelling::Snake).map_err(|error| raised(info.py(), error))?;
        let core = CoreOpenSession::clone(&self.core);
        self.store.begin(queue, async move { core.set_info(info).await.map(|()| Output::Nothing) })
    }

    fn flush(&self, queue: &Bound<'_, JobQueue>) -> PyResult<NativeFuture> {
        let core = CoreOpenSession::clone(&self.core);
        self.store.begin(queue, async move { core.flush().await.map(|()| Output::Nothing) })
    }

    fn close(&self, queue: &Bound<'_, JobQueue>) -> PyResult<NativeFuture> {
        let closed = self.core.close();
        self.store.begin(queue, async move { closed.await.map(|()| Output::Nothing) })
    }
}
