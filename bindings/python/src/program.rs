//! Agents as programs: the command line, on a thread of its own.

use std::ffi::OsString;

use agent_loop_program::{AgentSpec, agent_main_from, agent_main_on_thread};
use pyo3::prelude::*;

use crate::agent::{Agent, Serves};
use crate::future::{NativeFuture, Output};
use crate::host::Caller;

/// A spec of Python: its agent, whether that has a model, its name, description and version, and its subagents.
#[derive(FromPyObject)]
struct Given<'py>(Bound<'py, Agent>, bool, String, String, String, Vec<Bound<'py, PyAny>>);

fn spec(given: Given<'_>, caller: &Bound<'_, Caller>, serving: &mut Vec<Serves>) -> PyResult<AgentSpec> {
    let Given(agent, has_model, name, description, version, subagents) = given;
    serving.push(agent.get().serves(caller)?);
    let mut spec = AgentSpec::new(name).description(description).like(&agent.get().core);
    spec = spec.plugin_loader(agent_loop_plugins::add);
    if !version.is_empty() {
        spec = spec.version(version);
    }
    if !has_model {
        spec = spec.without_model();
    }
    for subagent in subagents {
        spec = spec.subagent(self::spec(subagent.extract()?, caller, serving)?);
    }
    Ok(spec)
}

/// Runs the program of a spec; its callbacks are called for this caller. The value is the exit code.
#[pyfunction]
pub(crate) fn run_program(
    given: &Bound<'_, PyAny>,
    arguments: Vec<OsString>,
    caller: &Bound<'_, Caller>,
) -> PyResult<NativeFuture> {
    let mut serving = Vec::new();
    let spec = spec(given.extract()?, caller, &mut serving)?;
    Ok(NativeFuture::new(None, async move {
        let code = agent_main_on_thread(spec, arguments).await;
        drop(serving);
        code.map(|code| Output::json(&code))
    }))
}

/// The program `agent`: blocks until it has ended, and gives its exit code.
#[pyfunction]
pub(crate) fn run_agent(py: Python<'_>, arguments: Vec<OsString>) -> u8 {
    py.detach(|| agent_main_from(AgentSpec::agent().plugin_loader(agent_loop_plugins::add), arguments))
}
