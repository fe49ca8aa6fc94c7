//! The server: a thread, a listener, the answers that are left and the requests that came.

use std::fmt;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use http_body_util::BodyExt;
use hyper::body::Incoming;
use hyper::header::{CONTENT_TYPE, HeaderValue};
use hyper::service::service_fn;
use hyper::{Method, Response, StatusCode};
use hyper_util::rt::TokioIo;
use serde_json::json;
use tokio::net::TcpListener;
use tokio::sync::oneshot;

use crate::playback::{Playback, Prepared};
use crate::wire::{Flushes, Wire};
use crate::{Error, Request, Script};

/// A running mock server on the loopback address. It stops, with all its connections, when this is dropped.
///
/// It has a thread of its own, so it works beside any async runtime and without one.
pub struct Mock {
    address: SocketAddr,
    play: Arc<Play>,
    /// Dropping it tells the thread to end.
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
        let (stop, stopped) = oneshot::channel();
        let serving = play.clone();
        let thread = std::thread::Builder::new()
            .name("agent-mock".into())
            .spawn(move || {
                runtime.block_on(async {
                    tokio::select! {
                        result = serve(listener, serving) => if let Err(error) = result {
                            eprintln!("agent-mock: stopped listening: {error}");
                        },
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
        self.play.state().requests.clear();
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
    prepared: Vec<Prepared>,
    state: Mutex<State>,
}

struct State {
    /// How often each answer was given.
    given: Vec<u32>,
    requests: Vec<Request>,
}

impl Play {
    fn new(script: Script) -> Result<Play, Error> {
        let prepared = script
            .answers
            .iter()
            .enumerate()
            .map(|(index, answer)| {
                Prepared::new(answer).map_err(|problem| {
                    let file = script.source.as_ref().map(|path| format!("{}: ", path.display())).unwrap_or_default();
                    Error::Script(format!("{file}{}: {problem}", script.label(index)))
                })
            })
            .collect::<Result<Vec<_>, _>>()?;
        let state = State { given: vec![0; prepared.len()], requests: Vec::new() };
        Ok(Play { script, prepared, state: Mutex::new(state) })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Picks the answer and writes the request down; or says why there is none.
    fn choose(&self, mut request: Request) -> Result<&Prepared, String> {
        let mut state = self.state();
        let mut expected = Vec::new();
        for (index, (answer, prepared)) in self.script.answers.iter().zip(&self.prepared).enumerate() {
            let unmet = answer.when.as_ref().and_then(|when| when.unmet(&request));
            let used_up = answer.limit().filter(|limit| state.given[index] >= *limit);
            match (unmet, used_up) {
                (None, None) => {
                    state.given[index] += 1;
                    request.answer = Some(index);
                    state.requests.push(request);
                    return Ok(prepared);
                }
                (Some(condition), _) => expected.push(format!("{} is for {condition}", self.script.label(index))),
                (None, Some(limit)) => expected.push(format!("{} is used up ({limit} of {limit})", self.script.label(index))),
            }
        }
        let conversation = request.conversation().map(|it| format!(" ({it})")).unwrap_or_default();
        let expected = if expected.is_empty() { "the script has no answers".into() } else { expected.join("; ") };
        let problem = format!("agent-mock has no answer for {} {}{conversation}: {expected}", request.method, request.path);
        state.requests.push(request);
        Err(problem)
    }

    async fn respond(&self, request: hyper::Request<Incoming>, flushes: Flushes) -> Result<Response<Playback>, hyper::Error> {
        let (head, body) = request.into_parts();
        let body = body.collect().await?.to_bytes();
        if head.uri.path() == "/__requests" {
            return Ok(self.log(&head.method));
        }
        match self.choose(Request::new(&head, &body)) {
            Ok(answer) => {
                tokio::time::sleep(answer.delay).await;
                Ok(answer.response(flushes))
            }
            // The shape of an error in both Chat Completions and Messages, so that clients show the text.
            Err(problem) => Ok(json_response(
                StatusCode::INTERNAL_SERVER_ERROR,
                json!({"type": "error", "error": {"type": "no_scripted_answer", "message": problem}}).to_string(),
            )),
        }
    }

    fn log(&self, method: &Method) -> Response<Playback> {
        let mut state = self.state();
        if method == Method::DELETE {
            state.requests.clear();
        } else if method != Method::GET {
            let problem = format!("/__requests takes GET and DELETE, not {method}");
            return json_response(StatusCode::METHOD_NOT_ALLOWED, json!({"error": {"message": problem}}).to_string());
        }
        json_response(StatusCode::OK, json!(state.requests).to_string())
    }
}

fn json_response(status: StatusCode, body: String) -> Response<Playback> {
    let mut response = Response::new(Playback::whole(body));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

async fn serve(listener: std::net::TcpListener, play: Arc<Play>) -> io::Result<()> {
    let listener = TcpListener::from_std(listener)?;
    loop {
        let (stream, _) = listener.accept().await?;
        // Pieces leave when they are given, not when more have gathered.
        stream.set_nodelay(true)?;
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
