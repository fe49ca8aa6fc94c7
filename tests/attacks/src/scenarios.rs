//! Every scenario of `tests/scenarios` through the bare loop, and at each of its actions: an abort, a steering message, a
//! follow-up, a queue that is cleared, late answers; or the loop saved and loaded there, which may change nothing.

use std::cell::Cell;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::{Arc, LazyLock};

use agent_loop_proto::conversation::Conversation;
use agent_loop_proto::error::Error;
use agent_loop_proto::machine::{Input, Loop};
use agent_loop_proto::message::Message;
use agent_loop_proto::queues::Queue;
use serde_json::Value;

use crate::check;
use crate::random::Random;
use crate::scenario::Scenario;

#[allow(dead_code)] // Its tests call more of it.
#[path = "../../../core/proto/tests/scenarios/player.rs"]
mod player;

/// The folders of scenarios that the bare loop plays.
pub(crate) static FOLDERS: LazyLock<Vec<PathBuf>> = LazyLock::new(|| {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../scenarios");
    let entries = std::fs::read_dir(root).expect("tests/scenarios");
    let mut folders: Vec<PathBuf> = entries.map(|entry| entry.expect("an entry").path()).collect();
    folders.retain(|folder| folder.join("scenario.json").exists() && !read(folder).skip.contains_key("loop"));
    folders.sort();
    folders
});

pub(crate) fn read(folder: &Path) -> Scenario {
    let text = std::fs::read_to_string(folder.join("scenario.json")).expect("scenario.json");
    serde_json::from_str(&text).expect("a scenario")
}

/// What happens at an action.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Meddling {
    /// Nothing: it only counts.
    None,
    SaveAndLoad,
    Abort,
    Steer,
    FollowUp,
    Clear,
    /// Steered, then aborted.
    SteerAndAbort,
    LateAnswers,
}

const ALL: &[Meddling] = &[
    Meddling::SaveAndLoad,
    Meddling::Abort,
    Meddling::Steer,
    Meddling::FollowUp,
    Meddling::Clear,
    Meddling::SteerAndAbort,
    Meddling::LateAnswers,
];

impl Meddling {
    fn happen(self, conversation: &mut Conversation<Loop>) {
        let message = || vec![Message::user("from an attack", 0)];
        match self {
            Meddling::None => {}
            Meddling::SaveAndLoad => {
                if let Some(run) = conversation.active_mut() {
                    let saved = run.save().expect("a state");
                    *run = Loop::load(&saved).expect("a saved loop");
                    assert_eq!(run.save().expect("a state"), saved, "saved again, it is the same");
                }
            }
            Meddling::Abort => conversation.handle(Input::Abort),
            Meddling::Steer => drop(conversation.queue(Queue::Steering, message())),
            Meddling::FollowUp => drop(conversation.queue(Queue::FollowUp, message())),
            Meddling::Clear => [Queue::Steering, Queue::FollowUp].into_iter().for_each(|queue| conversation.clear_queue(queue)),
            Meddling::SteerAndAbort => {
                drop(conversation.queue(Queue::Steering, message()));
                conversation.handle(Input::Abort);
            }
            // Of calls and questions that are over, or were never made.
            Meddling::LateAnswers => {
                for number in [u32::MAX, 1 << 20] {
                    conversation.handle(Input::ToolDone { call: number, result: Ok("late".into()) });
                    conversation.handle(Input::ToolUpdate { call: number, value: "late".into() });
                    conversation.handle(Input::ModelEnd { call: number, result: Ok(()) });
                    conversation.handle(Input::ModelActivity { call: number });
                    conversation.handle(Input::HookAnswer { question_id: number, answer: Err(Error::callback("late")) });
                }
            }
        }
    }
}

/// Plays with a meddling at one action; gives the result and how many actions were asked for.
fn play_at(folder: &Path, meddling: Meddling, at: usize) -> Result<(Value, usize), String> {
    let polls = Rc::new(Cell::new(0));
    let counted = Rc::clone(&polls);
    let meddle = move |number, conversation: &mut Conversation<Loop>| {
        counted.set(number + 1);
        if number == at {
            meddling.happen(conversation);
        }
    };
    let (result, _) = player::play_meddled(read(folder), false, Box::new(meddle)).map_err(|error| error.message().to_owned())?;
    Ok((result, polls.get()))
}

fn check_result(result: &Value) -> Result<(), String> {
    for run in result["runs"].as_array().into_iter().flatten() {
        check::events(run["events"].as_array().map(Vec::as_slice).unwrap_or_default())?;
    }
    let messages: Vec<Arc<Message>> = serde_json::from_value(result["state"]["messages"].clone()).map_err(|e| e.to_string())?;
    check::read_back(&messages)
}

/// One scenario, at each of its actions.
pub(crate) fn play(random: &mut Random) -> Result<u64, String> {
    let folder = random.pick(&FOLDERS);
    let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let (plain, polls) = play_at(folder, Meddling::None, 0)?;
    let idle = |result: &Value| result["state"]["is_streaming"] == false;
    let mut tried = 0;
    for meddling in ALL {
        for at in 0..polls {
            let place = |why: String| format!("{name}, {meddling:?} at action {at}: {why}");
            let (result, _) = play_at(folder, *meddling, at).map_err(place)?;
            check_result(&result).map_err(place)?;
            if idle(&plain) && !idle(&result) {
                return Err(place(format!("the run does not end: {}", check::clipped(&result["state"].to_string()))));
            }
            let texts = [&result, &plain].map(ToString::to_string);
            if matches!(meddling, Meddling::SaveAndLoad | Meddling::LateAnswers) && texts[0] != texts[1] {
                return Err(place("the result is another".to_owned()));
            }
            tried += 1;
        }
    }
    Ok(tried)
}
