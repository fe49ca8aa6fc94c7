//! Builds without features: they run, and what is missing names the feature. `make test-servers` runs this with no feature at
//! all.

use agent_loop::{Agent, models};
use agent_mock::{Answer, Mock, Script};

const BODY: &str = "data: {\"choices\":[{\"delta\":{\"content\":\"here\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";

fn agent(url: &str) -> Agent {
    Agent::builder("company/tiny").base_url(url).max_retries(0).build().unwrap()
}

fn stream(body: &str) -> Answer {
    Answer::text(body).header("content-type", "text/event-stream")
}

#[tokio::test]
async fn a_run_needs_no_feature() {
    let mock = Mock::start(Script::new().answer(stream(BODY)));
    assert_eq!(agent(&mock.url()).prompt("go").await.unwrap().text, "here");
}

#[test]
fn models_are_listed_with_the_feature_catalogue() {
    assert_eq!(models().is_empty(), !cfg!(feature = "catalogue"));
}

#[cfg(not(any(feature = "tls-native-roots", feature = "tls-bundled-roots")))]
#[tokio::test]
async fn https_without_authorities_names_their_features() {
    let error = agent("https://127.0.0.1:1").prompt("go").await.unwrap_err();
    let text = "this build trusts no certificate authority: enable the feature tls-native-roots or tls-bundled-roots of \
                agent-loop, or set network.ca_file";
    assert_eq!((error.kind(), error.message()), (agent_loop::ErrorKind::Tls, text));
}

#[cfg(not(feature = "tls-bundled-roots"))]
#[tokio::test]
async fn bundled_authorities_name_their_feature() {
    for word in ["bundled", "both"] {
        let network = agent_loop::Network::from_json(serde_json::json!({ "roots": word })).unwrap();
        let agent = agent("https://127.0.0.1:1");
        agent.set_network(network);
        let error = agent.prompt("go").await.unwrap_err();
        let text = format!("network: roots: {word:?} needs the feature tls-bundled-roots of agent-loop, which is off");
        assert_eq!((error.kind(), error.message()), (agent_loop::ErrorKind::Tls, text.as_str()));
    }
}

#[cfg(not(feature = "google"))]
#[tokio::test]
async fn vertex_without_a_key_names_the_feature() {
    let mut spec = agent_loop::ModelSpec::parse("google-vertex/gemini-3.5-flash").unwrap();
    spec.project = Some("p".to_owned());
    spec.location = Some("global".to_owned());
    let error = Agent::new(spec).unwrap().prompt("go").await.unwrap_err();
    let text = "Google's credentials cannot be read: the feature google of agent-loop is off; enable it, or give api_key (an API \
                key or an access token)";
    assert_eq!((error.kind(), error.message()), (agent_loop::ErrorKind::Authentication, text));
}

#[cfg(not(feature = "bedrock"))]
#[tokio::test]
async fn bedrock_with_an_access_key_names_the_feature() {
    let spec = serde_json::json!({ "provider": "amazon-bedrock", "id": "m", "location": "us-east-1" });
    let agent = Agent::builder(agent_loop::ModelSpec::from_json(spec).unwrap()).api_key("AKID:secret").build().unwrap();
    let error = agent.prompt("go").await.unwrap_err();
    let text = "the request cannot be signed with the access key AKID of AWS: the feature bedrock of agent-loop is off; enable \
                it, or give a key of Bedrock as api_key or in AWS_BEARER_TOKEN_BEDROCK";
    assert_eq!((error.kind(), error.message()), (agent_loop::ErrorKind::Authentication, text));
}

#[cfg(not(feature = "gzip"))]
#[tokio::test]
async fn a_compressed_answer_names_the_feature() {
    let mock = Mock::start(Script::new().answer(stream(BODY).header("content-encoding", "gzip")));
    let error = agent(&mock.url()).prompt("go").await.unwrap_err();
    assert_eq!(error.kind(), agent_loop::ErrorKind::Protocol);
    assert!(error.message().ends_with("agent-loop reads gzip and deflate with its feature gzip, which is off"), "{error}");
}
