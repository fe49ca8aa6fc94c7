//! What a browser gets of the runs of a scenario, for the clients' own packages (tests/ui): frames that are JSON, with an end.

use std::path::Path;
use std::sync::{Arc, Mutex};

use agent_loop::EventData;
use agent_loop::ui::{UiFrames, UiOptions, UiProtocol};
use serde_json::{Map, Value, json};

use crate::player;
use crate::scenario::Scenario;

const PROTOCOLS: [UiProtocol; 2] = [UiProtocol::AiSdk, UiProtocol::AgUi];

/// The stream of a run in each protocol, and its frames so far.
type Streams = Vec<(UiFrames, String)>;

/// Plays a scenario, and writes its frames: an array with an object for each run, which has an array of frames for each protocol.
pub(crate) async fn write_frames(scenario: Scenario, path: &Path) -> Result<(), String> {
    let runs: Arc<Mutex<Vec<Streams>>> = Arc::default();
    let followed = Arc::clone(&runs);
    let played = player::play(scenario, move |agent| {
        let subscription = agent.subscribe(move |event| {
            let mut runs = followed.lock().unwrap();
            if matches!(event.data, EventData::AgentStart) {
                let stream = |protocol| (UiFrames::new(protocol, UiOptions::default()), String::new());
                runs.push(PROTOCOLS.into_iter().map(stream).collect());
            }
            for (stream, text) in runs.last_mut().into_iter().flatten() {
                stream.push(event, text);
            }
        });
        subscription.detach();
    });
    played.await.map_err(|error| error.to_string())?;
    let frames_of = |run: &Streams| {
        let frames = PROTOCOLS
            .into_iter()
            .zip(run)
            .map(|(protocol, (_, text))| Ok((protocol.as_str().to_owned(), Value::Array(frames(text, protocol)?))));
        frames.collect::<Result<Map<_, _>, String>>().map(Value::Object)
    };
    let all = runs.lock().unwrap().iter().map(frames_of).collect::<Result<Vec<_>, _>>()?;
    let path = path.with_extension("json");
    std::fs::write(&path, json!(all).to_string()).map_err(|error| format!("{}: {error}", path.display()))
}

/// The data of the frames; fails if there is anything else, or no end.
fn frames(text: &str, protocol: UiProtocol) -> Result<Vec<Value>, String> {
    let what = protocol.as_str();
    let mut frames: Vec<&str> = text.split_terminator("\n\n").collect();
    if protocol == UiProtocol::AiSdk && frames.pop() != Some("data: [DONE]") {
        return Err(format!("{what}: it has no end: {text}"));
    }
    let read = |frame: &str| {
        let data = frame.strip_prefix("data: ").filter(|data| !data.contains('\n'));
        data.and_then(|data| data.parse().ok()).ok_or_else(|| format!("{what}: no frame: {frame:?}"))
    };
    frames.into_iter().map(read).collect()
}
