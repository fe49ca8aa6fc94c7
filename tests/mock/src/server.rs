//! The server: a thread, a listener, the answers that are left and the requests that came.

use std::borrow::Cow;
use std::fmt;
use std::io::{self, Write};
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use http_body_util::BodyExt;
use hyper::body::Incoming;
use hyper::header::{CONTENT_TYPE, HeaderValue};
use hyper::service::service_fn;
use hyper::{Method, Response, StatusCode};
use hyper_util::rt::TokioIo;
use serde_json::json;
use tokio::net::TcpListener;
use tokio::sync::oneshot;

use crate::check::Flavour;
use crate::playback::{Playback, Prepared};
use crate::route::{Format, Route};
use crate::speak::Asked;
use crate::wire::{Flushes, Wire};
use crate::{Error, Refusal, Request, Script};

/// A running mock server on the loopback address. It stops, with all its connections, when this is dropped.
///
/// It has its own thread, so it works with any async runtime and without one.
pub struct Mock {
    address: SocketAddr,
    play: Arc<Play>,
    /// Dropping it ends the thread.
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Mock {
    /// Starts on a free port.
    ///
    /// # Panics
    ///
    /// If the script is wrong or no port can be had, with the reason. [`start_on`](Mock::start_on) returns it instead.
    pub fn start(script: Script) -> Mock {
        Mock::start_on(script, 0).unwrap_or_else(|error| panic!("agent-mock: {error}"))
    }

    /// Starts on this port; 0 takes a free one. It listens when this returns.
    pub fn start_on(script: Script, port: u16) -> Result<Mock, Error> {
        let play = Arc::new(Play::new(script)?);
        let listen = |source| Error::Listen { port, source };
        let listener = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, port)).map_err(listen)?;
        listener.set_nonblocking(true).map_err(listen)?;
        let address = listener.local_addr().map_err(listen)?;

        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(listen)?;
        let listener = {
            let _inside = runtime.enter();
            TcpListener::from_std(listener).map_err(listen)?
        };
        let (stop, stopped) = oneshot::channel();
        let serving = play.clone();
        let thread = std::thread::Builder::new()
            .name("agent-mock".into())
            .spawn(move || {
                runtime.block_on(async {
                    tokio::select! {
                        never = serve(listener, serving) => never,
                        _ = stopped => {}
                    }
                });
                // Dropping the runtime here drops every connection that is left.
            })
            .map_err(listen)?;
        Ok(Mock { address, play, stop: Some(stop), thread: Some(thread) })
    }

    /// Where it listens, without a slash at the end: `http://127.0.0.1:PORT`.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The requests so far, in the order in which they were complete.
    pub fn requests(&self) -> Vec<Request> {
        self.play.state().requests.clone()
    }

    /// Forgets the requests so far. Answers that were used up stay used up.
    pub fn forget_requests(&self) {
        self.play.state().forget();
    }

    /// Whether any request has come, also one that is forgotten.
    pub fn was_asked(&self) -> bool {
        let state = self.play.state();
        state.forgot || !state.requests.is_empty()
    }
}

impl Drop for Mock {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // If it panicked, the panic has been printed; a second one during a test's own would abort the process.
            let _ = thread.join();
        }
    }
}

impl fmt::Debug for Mock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Mock").field("url", &self.url()).finish_non_exhaustive()
    }
}

/// A script being played.
struct Play {
    script: Script,
    /// `None`: it depends on the request.
    prepared: Vec<Option<Prepared>>,
    state: Mutex<State>,
}

struct State {
    /// How often each answer was given.
    given: Vec<u32>,
    requests: Vec<Request>,
    /// Whether requests were forgotten, of which `requests` has no more.
    forgot: bool,
}

impl State {
    fn forget(&mut self) {
        self.forgot |= !self.requests.is_empty();
        self.requests.clear();
    }
}

impl Play {
    fn new(script: Script) -> Result<Play, Error> {
        let prepared = script
            .answers
            .iter()
            .enumerate()
            .map(|(index, answer)| {
                let prepared = match answer.is_neutral() {
                    false => Prepared::new(answer, &Asked::plain(Format::Chat)).map(Some),
                    // It must make sense in one of the formats at least; where to cut differs.
                    true => {
                        let tried = Format::ALL.map(|format| Prepared::new(answer, &Asked::plain(format)).map(|_| None));
                        tried.into_iter().reduce(Result::or).unwrap_or(Ok(None))
                    }
                };
                prepared.map_err(|problem| {
                    let file = script.source.as_ref().map(|path| format!("{}: ", path.display())).unwrap_or_default();
                    Error::Script(format!("{file}{}: {problem}", script.label(index)))
                })
            })
            .collect::<Result<Vec<_>, _>>()?;
        let state = State { given: vec![0; prepared.len()], requests: Vec::new(), forgot: false };
        Ok(Play { script, prepared, state: Mutex::new(state) })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Picks the answer and writes the request down; or says why there is none.
    fn choose(&self, mut request: Request) -> Result<(usize, Asked), Trouble> {
        let mut state = self.state();
        let mut expected = Vec::new();
        let mut found = None;
        for (index, answer) in self.script.answers.iter().enumerate() {
            let unmet = answer.when.as_ref().and_then(|when| when.unmet(&request));
            let used_up = answer.limit().filter(|limit| state.given[index] >= *limit);
            match (unmet, used_up) {
                (None, None) => {
                    found = Some(index);
                    break;
                }
                (Some(condition), _) => expected.push(format!("{} is for {condition}", self.script.label(index))),
                (None, Some(limit)) => expected.push(format!("{} is used up ({limit} of {limit})", self.script.label(index))),
            }
        }
        let route = Route::of(&request.path).filter(|_| request.method == "POST");
        let own = found.and_then(|index| self.script.answers[index].strict.as_ref());
        let strict = own.unwrap_or(&self.script.strict).0.as_ref();
        if let (Some(strict), Some(route)) = (strict, &route)
            && let Err(refusal) = strict.check_sent(route.format, &request)
        {
            // The answer stays: the script's author meant it for a right request.
            let reason = strict.reason(route.format, &refusal);
            // Each reason once.
            if self.script.prints_refusals && !state.requests.iter().any(|earlier| earlier.refused.as_ref() == Some(&reason)) {
                let _ = writeln!(io::stderr(), "agent-mock: refused {} {}: {reason}", request.method, request.path);
            }
            request.refused = Some(reason);
            state.requests.push(request);
            return Err(Trouble::Refused(refusal));
        }
        let flavour = strict.map(|strict| strict.flavour).unwrap_or_default();
        let chosen = match found {
            Some(index) => self.asked(&request, route, flavour, index, state.requests.len()).map(|asked| (index, asked)),
            None => {
                let conversation = request.conversation().map(|it| format!(" ({it})")).unwrap_or_default();
                let expected = if expected.is_empty() { "the script has no answers".into() } else { expected.join("; ") };
                Err(format!("agent-mock has no answer for {} {}{conversation}: {expected}", request.method, request.path))
            }
        };
        if let Ok((index, _)) = chosen {
            state.given[index] += 1;
            request.answer = Some(index);
        }
        state.requests.push(request);
        chosen.map_err(Trouble::Script)
    }

    /// What a neutral answer must know of the request; for any other answer it does not matter.
    fn asked(
        &self,
        request: &Request,
        route: Option<Route>,
        flavour: Flavour,
        index: usize,
        serial: usize,
    ) -> Result<Asked, String> {
        if !self.script.answers[index].is_neutral() {
            return Ok(Asked::plain(Format::Chat));
        }
        let (label, method, path) = (self.script.label(index), &request.method, &request.path);
        let Some(route) = route else {
            return Err(format!(
                "agent-mock: {label} is a message or an error in the format of the request, and {method} {path} is of none; POST \
                 to …/messages, …/chat/completions, …/responses, …/models/MODEL:streamGenerateContent or …/converse-stream"
            ));
        };
        let is_message = matches!(self.script.answers[index].body, crate::Body::Message(_));
        if is_message && !route.wants_stream(&request.body) {
            return Err(format!(
                "agent-mock: {label} is a message, which is only sent as a stream, and {method} {path} does not ask for one; \
                 send \"stream\": true (Gemini: …:streamGenerateContent?alt=sse, Bedrock: …/converse-stream)"
            ));
        }
        let named = request.body.get("model").and_then(serde_json::Value::as_str);
        let model = route.model.as_deref().or(named).unwrap_or("mock-model").to_owned();
        let wanted = request.body.pointer("/stream_options/include_usage") == Some(&true.into());
        Ok(Asked { route, flavour, model, serial, usage: wanted || flavour != Flavour::OpenAi })
    }

    async fn respond(&self, request: hyper::Request<Incoming>, flushes: Flushes) -> Result<Response<Playback>, hyper::Error> {
        let (head, body) = request.into_parts();
        let body = body.collect().await?.to_bytes();
        if head.uri.path() == "/__requests" {
            return Ok(self.log(&head.method));
        }
        let chosen = self.choose(Request::new(&head, &body)).and_then(|(index, asked)| {
            let answer = &self.script.answers[index];
            let fresh = match &self.prepared[index] {
                Some(prepared) => return Ok(Cow::Borrowed(prepared)),
                None => Prepared::new(answer, &asked),
            };
            fresh
                .map(Cow::Owned)
                .map_err(|problem| Trouble::Script(format!("agent-mock: {}: {problem}", self.script.label(index))))
        });
        match chosen {
            Ok(answer) => {
                tokio::time::sleep(answer.delay).await;
                Ok(answer.response(flushes))
            }
            Err(Trouble::Refused(refusal)) => {
                let status = StatusCode::from_u16(refusal.status).unwrap_or(StatusCode::BAD_REQUEST);
                Ok(json_response(status, refusal.body.to_string()))
            }
            // The shape of an error in both Chat Completions and Messages, so that clients show the text.
            Err(Trouble::Script(problem)) => Ok(json_response(
                StatusCode::INTERNAL_SERVER_ERROR,
                json!({"type": "error", "error": {"type": "no_scripted_answer", "message": problem}}).to_string(),
            )),
        }
    }

    fn log(&self, method: &Method) -> Response<Playback> {
        let mut state = self.state();
        if method == Method::DELETE {
            state.forget();
        } else if method != Method::GET {
            let problem = format!("/__requests takes GET and DELETE, not {method}");
            return json_response(StatusCode::METHOD_NOT_ALLOWED, json!({"error": {"message": problem}}).to_string());
        }
        json_response(StatusCode::OK, json!(state.requests).to_string())
    }
}

/// Why a request gets no answer of the script.
enum Trouble {
    /// It is wrong.
    Refused(Refusal),
    /// The script has none for it, or one that cannot be given.
    Script(String),
}

fn json_response(status: StatusCode, body: String) -> Response<Playback> {
    let mut response = Response::new(Playback::whole(body));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

async fn serve(listener: TcpListener, play: Arc<Play>) -> ! {
    loop {
        let stream = match listener.accept().await {
            Ok((stream, _)) => stream,
            Err(error) => {
                // The client has left already, or this process has as many files open as it may: the next try may do better.
                eprintln!("agent-mock: a connection could not be taken: {error}");
                tokio::time::sleep(Duration::from_millis(50)).await;
                continue;
            }
        };
        // Pieces leave when they are given, not when more have gathered. A client that has left needs none.
        let _ = stream.set_nodelay(true);
        let flushes = Flushes::default();
        let io = TokioIo::new(Wire::new(stream, flushes.clone()));
        let play = play.clone();
        tokio::spawn(async move {
            let service = service_fn(|request| play.respond(request, flushes.clone()));
            // It ends with an error when the script cuts or the client leaves: both are what tests want.
            let _ = hyper::server::conn::http1::Builder::new().serve_connection(io, service).await;
        });
    }
}
