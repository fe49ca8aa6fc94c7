//! Runs against hostile servers: an agent with short limits, and what holds of its runs.

use agent_loop::host::Spelling;
use agent_loop::{Agent, ModelSpec, Runtime};
use serde_json::{Value, json};

use crate::check::{self, SECRET};
use crate::hosts;
use crate::left;
use crate::server::Server;

/// An agent with short limits, whose key is the secret.
pub(crate) fn agent(protocol: &str, base_url: &str, options: Value) -> Agent {
    let spec = json!({ "provider": "p", "id": "m", "protocol": protocol, "base_url": base_url });
    let spec = ModelSpec::from_json(spec).expect("a model");
    let agent = Agent::builder(spec).api_key(SECRET).header("x-secret-token", SECRET).build().expect("an agent");
    let limits = json!({
        "connect_timeout_ms": 5000, "first_byte_timeout_ms": 400, "idle_timeout_ms": 400, "request_timeout_ms": 2500,
        "run_timeout_ms": 6000, "max_retries": 1, "retry_base_ms": 1, "max_retry_delay_ms": 20, "max_turns": 2,
        "max_message_bytes": 1 << 20, "network": { "proxy": null },
    });
    for options in [limits, options] {
        let options = options.as_object().expect("options").clone();
        agent.set_options(&options, Spelling::Snake, &[]).expect("options");
    }
    for name in ["weather", "get_weather"] {
        agent.add_tool(hosts::echo(name)).expect("a tool");
    }
    agent
}

/// Runs the agents, all at the same time, each with its server; then no task is left in their runtime.
pub(crate) fn play(agents: Vec<(String, Agent, Option<Server>)>) -> Result<u64, String> {
    let tried = agents.len() as u64;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let played = runtime.block_on(async {
        let own = Runtime::current().map_err(|error| error.to_string())?;
        let mut runs = tokio::task::JoinSet::new();
        for (name, agent, server) in agents {
            agent.set_runtime(&own);
            runs.spawn(async move {
                let named = |why: String| format!("{name}: {why}");
                let run = agent.stream("go").map_err(|error| named(error.to_string()))?;
                check::run(&agent, run).await.map_err(named)?;
                drop(server);
                if agent.is_streaming() { Err(named("the agent is busy after its run".to_owned())) } else { Ok(()) }
            });
        }
        while let Some(ended) = runs.join_next().await {
            ended.map_err(|error| format!("a task ends with {error}"))??;
        }
        Ok::<(), String>(())
    });
    played?;
    left::no_task(&runtime)?;
    Ok(tried)
}
