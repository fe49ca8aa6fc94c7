//! The agent that the player stands in for: its methods, its state and how it reads the answers of hooks.

use agent_loop_proto::error::{Error, ErrorKind};
use agent_loop_proto::hook::{HookAnswer, HookKind, HookOutput};
use agent_loop_proto::machine::Input;
use agent_loop_proto::message::{Message, Prompt};
use agent_loop_proto::queues::{Queue, Queues};
use agent_loop_proto::result::RunResult;
use serde_json::{Value, json};
use std::sync::Arc;

use crate::host;
use crate::player::Player;
use crate::scenario::{messages, text};

impl Player {
    /// An action inside of a listener, tool or hook. A failure is logged.
    pub(crate) fn act_inside(&mut self, name: &str, given: &Value) {
        let result = match name {
            "prompt" | "resume" | "wait_for_idle" => Err(Error::new(ErrorKind::InvalidState, "not inside of a callback")),
            _ => self.act(name, given),
        };
        if let Err(error) = result {
            self.record.log.push(format!("{name}: {}", error.kind()));
        }
    }

    /// The standard actions.
    pub(crate) fn act(&mut self, name: &str, given: &Value) -> Result<(), Error> {
        match name {
            "steer" => self.queue(Queue::Steering, Prompt::from_json(given.clone())?.0),
            "follow_up" => self.queue(Queue::FollowUp, Prompt::from_json(given.clone())?.0),
            "abort" => {
                if let Some(run) = self.run() {
                    run.handle(Input::Abort);
                }
            }
            "clear_steering_queue" => self.clear(Queue::Steering),
            "clear_follow_up_queue" => self.clear(Queue::FollowUp),
            "clear_all_queues" => [Queue::Steering, Queue::FollowUp].into_iter().for_each(|queue| self.clear(queue)),
            "set" => {
                host::set_options(&mut self.config, given.as_object().expect("options"), &mut self.models)?;
                let config = Arc::new(self.config.clone());
                if let Some(run) = self.run() {
                    run.handle(Input::Configure(config));
                }
            }
            "reset" => {
                self.check_idle()?;
                (self.messages, self.queues, self.error) = (Vec::new(), Queues::default(), None);
            }
            "append_message" => {
                self.check_idle()?;
                self.messages.push(Arc::new(Message::from_json(given.clone())?));
            }
            "replace_messages" | "clear_messages" => {
                self.check_idle()?;
                self.messages = messages(given)?.into_iter().map(Arc::new).collect();
            }
            "log_queued" => {
                let queued = self.has_queued();
                self.record.log.push(format!("queued: {queued}"));
            }
            "log_state" => {
                let state = self.state();
                self.record.log_state(&state);
            }
            "log" => self.record.log.push(text(given).to_owned()),
            "open" => self.record.gates.push(text(given).to_owned()),
            "subscribe" | "unsubscribe" => {
                let place = self.scenario.listener(given);
                self.subscribed.retain(|subscribed| *subscribed != place);
                if name == "subscribe" {
                    self.subscribed.push(place);
                }
            }
            _ => panic!("unknown action {name:?}"),
        }
        Ok(())
    }

    fn queue(&mut self, queue: Queue, messages: Vec<Message>) {
        match (self.run(), queue) {
            (Some(run), Queue::Steering) => run.handle(Input::Steer(messages)),
            (Some(run), Queue::FollowUp) => run.handle(Input::FollowUp(messages)),
            (None, queue) => self.queues.push(queue, messages),
        }
    }

    fn clear(&mut self, queue: Queue) {
        match (self.run(), queue) {
            (Some(run), Queue::Steering) => run.handle(Input::ClearSteering),
            (Some(run), Queue::FollowUp) => run.handle(Input::ClearFollowUp),
            (None, queue) => drop(self.queues.clear(queue)),
        }
    }

    pub(crate) fn has_queued(&mut self) -> bool {
        !self.run().map(|run| run.queues().clone()).unwrap_or(self.queues.clone()).is_empty()
    }

    pub(crate) fn state(&mut self) -> Value {
        let is_streaming = self.run().is_some();
        let settings = &self.config.settings;
        json!({
            "system_prompt": settings.system_prompt,
            "model": self.config.model_name,
            "thinking_level": settings.thinking_level,
            "tools": self.config.tools.descriptions().iter().map(|tool| tool.name.as_str()).collect::<Vec<_>>(),
            "messages": self.messages,
            "is_streaming": is_streaming,
            "streaming_message": self.streaming.as_ref().map(|partial| Message::Assistant(partial.latest().message())),
            "pending_tool_calls": self.pending,
            "error": self.error,
            "listener_errors": self.listener_errors,
        })
    }

    /// The run is over; what no turn has begun with waits for the next one.
    pub(crate) fn finish(&mut self, result: &RunResult) {
        let mut active = self.active.take().expect("a run");
        if !active.is_stateless {
            (self.queues, self.streaming) = (active.run.take_queues(), None);
            self.pending.clear();
        }
        self.record.run(active.events, json!(result));
    }

    /// A hook's answer, as the loop takes it.
    pub(crate) fn answer(&mut self, kind: Option<HookKind>, value: Value) -> Result<HookAnswer, String> {
        let Some(kind) = kind else {
            return match value {
                Value::Object(arguments) => Ok(HookAnswer::Arguments(arguments)),
                other => Err(format!("not an object: {other}")),
            };
        };
        let output = HookOutput::from_json(kind, value).map_err(|why| format!("its answer cannot be used: {why}"))?;
        output.into_answer(|spec| self.models.add(spec)).map_err(|error| error.message().to_owned())
    }
}
