//! A scenario that is played by an agent with a session.

use agent_loop::session::Store;
use agent_loop::{Agent, Error};
use serde_json::Value;

use crate::player::Player;
use crate::replayed;
use crate::scenario::Scenario;

/// Plays it, and its recording again; then the session, opened again, has the agent's conversation.
pub(crate) async fn play(scenario: Scenario) -> Result<Value, Error> {
    let store = Store::open("memory:")?;
    let session = store.session("run")?.open().await?;
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("runs.jsonl");
    let player = Player::with(scenario, |model| Agent::builder(model).session(session).record(&*file).build())?;
    let played = player.play().await?;
    replayed::check(&played, &file).await.expect("the events of the recording");
    let agent = &player.agent;
    agent.flush().await?;
    agent.session().expect("its session").close().await?;
    let again = store.session("run")?.open().await?;
    let other = Agent::builder(r#"{"provider": "scripted", "id": "s", "script": []}"#).session(again).build()?;
    let kept: Value = serde_json::from_str(&other.export(None)?).expect("JSON");
    let had: Value = serde_json::from_str(&agent.export(None)?).expect("JSON");
    assert_eq!(kept, had, "the conversation of the session, and that of the agent");
    assert_eq!(other.interrupted(), None);
    Ok(played)
}
