//! Connects to an agent's MCP servers before it acts: before the run begins, and after a handoff to another one.

use std::sync::Arc;
use std::task::Poll;

use agent_loop_proto::machine::Input;
use agent_loop_proto::table::logs;

use super::driver::Driver;
use crate::future::BoxFuture;
use crate::log::LogRecord;
use crate::mcp::{Reach, SignInHook};

impl Driver {
    /// Their tools are there in the next turn. A run that cannot have them fails as one whose model cannot be used. An abort
    /// ends the wait.
    pub(super) async fn connect_servers(&mut self) {
        let servers = Arc::clone(&self.next.connection.mcp);
        if servers.is_empty() {
            return;
        }
        let reach = Reach {
            connections: Arc::clone(self.run.runtime.connections()),
            network: Arc::clone(&self.next.connection.network),
            connect_timeout_ms: self.next.connect_timeout_ms,
            hooks: self.next.hooks.kinds(),
            sign_in: SignInHook::of(&self.next.hooks, &self.clock, Some(self.scope.clone())),
            log: self.run.runtime.log().clone(),
        };
        let (revision, log) = (Arc::clone(self.acting.shared_revision()), self.run.log.clone());
        let connecting: BoxFuture<'_, _> = Box::pin(async move {
            let unreachable = |error| {
                let what = "an MCP server cannot be reached; the run goes on without its tools";
                log.write(logs::MCP_UNREACHABLE, |code| LogRecord::new(code, what).because(error));
            };
            servers.connect(&reach, &revision, unreachable).await
        });
        let mut connecting = connecting;
        // It is real time that passes.
        let _busy = self.clock.busy();
        let connected = std::future::poll_fn(|cx| {
            self.poll_limits(cx);
            match self.poll_abort(cx) {
                Poll::Ready(()) => Poll::Ready(Ok(())),
                Poll::Pending => connecting.as_mut().poll(cx),
            }
        })
        .await;
        if let Err(error) = connected {
            let (mut config, host) = self.acting.configuration(&self.clock, &mut self.models);
            (config.model, config.fallbacks) = (Err(error), Vec::new());
            self.next = Arc::new(host);
            self.run.machine().handle(Input::Configure(Arc::new(config)));
        }
    }
}
