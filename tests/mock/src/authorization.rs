//! An authorization server: OAuth 2.0 with PKCE, refresh tokens that are good for one use, device codes, and a vendor's exchange
//! of a code for a key. It refuses what is not exactly as the standards say, and notes why.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use serde_json::{Value, json};

/// The only client it knows.
pub const CLIENT_ID: &str = "agent-test";

/// What it does.
#[derive(Debug, Clone)]
pub struct Rules {
    /// How long its tokens are good, in seconds.
    pub lifetime_s: u64,
    /// Whether the user refuses.
    pub refuses: bool,
    /// What each question for the tokens of a device code is answered with, before the tokens: an error of RFC 8628.
    pub polls: Vec<&'static str>,
    /// How many seconds lie between these questions.
    pub interval_s: u64,
}

impl Default for Rules {
    fn default() -> Rules {
        Rules { lifetime_s: 3600, refuses: false, polls: Vec::new(), interval_s: 1 }
    }
}

/// A running server. It ends with the process.
#[derive(Debug, Clone)]
pub struct AuthorizationServer {
    address: SocketAddr,
    state: Arc<Mutex<State>>,
}

#[derive(Debug, Default)]
struct State {
    rules: Rules,
    /// Codes of the browser that are not used yet: what they were asked with.
    codes: HashMap<String, HashMap<String, String>>,
    /// The refresh token that is good.
    refresh_token: Option<String>,
    /// How many tokens were given out.
    issued: u32,
    refreshes: u32,
    /// What was wrong with requests.
    wrong: Vec<String>,
    polled: usize,
    /// How many requests for tokens there were.
    asked: usize,
    /// Whether the answers to them wait.
    is_held: bool,
    /// The status of its answers for tokens, with a page in place of JSON.
    broken: Option<&'static str>,
}

impl AuthorizationServer {
    /// Starts one on a free port.
    ///
    /// # Panics
    /// Without a free port.
    pub fn start(rules: Rules) -> AuthorizationServer {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("its address");
        let server = AuthorizationServer { address, state: Arc::new(Mutex::new(State { rules, ..State::default() })) };
        let of_thread = server.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let server = of_thread.clone();
                std::thread::spawn(move || server.serve(stream));
            }
        });
        server
    }

    /// The address of one of its pages: `authorize`, `token`, `device`, and for keys `auth` and `keys`.
    pub fn url(&self, page: &str) -> String {
        format!("http://{}/{page}", self.address)
    }

    /// How often tokens were refreshed.
    pub fn refreshes(&self) -> u32 {
        self.state().refreshes
    }

    /// What was wrong with the requests.
    pub fn wrong(&self) -> Vec<String> {
        self.state().wrong.clone()
    }

    /// Changes what it does.
    pub fn set_lifetime(&self, seconds: u64) {
        self.state().rules.lifetime_s = seconds;
    }

    /// Takes back what it gave out: it is not refreshed any more.
    pub fn revoke(&self) {
        self.state().refresh_token = None;
    }

    /// How many requests for tokens have come.
    pub fn asked(&self) -> usize {
        self.state().asked
    }

    /// Lets the answers to requests for tokens wait, or go. What they do is done meanwhile: a refresh token is used up.
    pub fn hold(&self, is_held: bool) {
        self.state().is_held = is_held;
    }

    /// Answers requests for tokens with a page of this status (`503 Service Unavailable`), or as it should.
    pub fn break_down(&self, status: Option<&'static str>) {
        self.state().broken = status;
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn serve(&self, stream: TcpStream) {
        let mut reader = BufReader::new(stream);
        let mut line = String::new();
        let (mut length, mut kind) = (0, String::new());
        if reader.read_line(&mut line).unwrap_or(0) == 0 {
            return;
        }
        loop {
            let mut header = String::new();
            if reader.read_line(&mut header).unwrap_or(0) == 0 || header.trim().is_empty() {
                break;
            }
            let (name, value) = header.split_once(':').unwrap_or_default();
            match name.to_ascii_lowercase().as_str() {
                "content-length" => length = value.trim().parse().unwrap_or(0),
                "content-type" => value.trim().clone_into(&mut kind),
                _ => {}
            }
        }
        let mut body = vec![0; length];
        if reader.read_exact(&mut body).is_err() {
            return;
        }
        let mut words = line.split_whitespace();
        let (method, target) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let body = String::from_utf8_lossy(&body);
        let broken = match path {
            "/token" => self.asked_for_tokens(),
            _ => None,
        };
        let answered = match (method, path) {
            _ if broken.is_some() => Ok(Answered::Broken(broken.unwrap_or_default())),
            ("GET", "/authorize") => self.authorize(fields(query)),
            ("GET", "/auth") => self.authorize_key(fields(query)),
            ("POST", "/token") if kind == "application/x-www-form-urlencoded" => self.token(&fields(&body)),
            ("POST", "/device") if kind == "application/x-www-form-urlencoded" => self.device(&fields(&body)),
            ("POST", "/keys") if kind == "application/json" => self.keys(&serde_json::from_str(&body).unwrap_or_default()),
            _ => Err("invalid_request"),
        };
        while path == "/token" && self.state().is_held {
            std::thread::sleep(Duration::from_millis(1));
        }
        let (status, more, text) = match answered {
            Ok(Answered::Broken(status)) => (status, String::new(), "<!doctype html><p>Down.".to_owned()),
            Ok(Answered::Redirect(url)) => ("302 Found", format!("location: {url}\r\n"), String::new()),
            Ok(Answered::Json(value)) => ("200 OK", String::new(), value.to_string()),
            Err(error) => {
                if !["authorization_pending", "slow_down", "expired_token", "access_denied"].contains(&error) {
                    self.state().wrong.push(format!("{method} {path}: {error}"));
                }
                ("400 Bad Request", String::new(), json!({ "error": error, "error_description": "as scripted" }).to_string())
            }
        };
        let head = format!(
            "HTTP/1.1 {status}\r\ncontent-type: application/json\r\n{more}content-length: {}\r\nconnection: close\r\n\r\n",
            text.len()
        );
        let _ = reader.get_mut().write_all(format!("{head}{text}").as_bytes());
    }

    fn authorize(&self, asked: HashMap<String, String>) -> Result<Answered, &'static str> {
        let is = |name: &str, value: &str| asked.get(name).is_some_and(|given| given == value);
        let redirect = asked.get("redirect_uri").filter(|uri| uri.starts_with("http://127.0.0.1:")).ok_or("redirect_uri")?;
        let state = asked.get("state").filter(|state| state.len() >= 16).ok_or("state")?;
        let has_challenge = asked.get("code_challenge").is_some_and(|challenge| challenge.len() == 43);
        if !is("response_type", "code") || !is("client_id", CLIENT_ID) || !is("code_challenge_method", "S256") || !has_challenge {
            return Err("invalid_request");
        }
        if self.state().rules.refuses {
            return Ok(Answered::Redirect(format!("{redirect}?error=access_denied&state={state}")));
        }
        let mut server = self.state();
        let code = format!("code-{}-secret", server.codes.len() + 1);
        let url = format!("{redirect}?code={code}&state={state}");
        server.codes.insert(code, asked);
        Ok(Answered::Redirect(url))
    }

    fn authorize_key(&self, asked: HashMap<String, String>) -> Result<Answered, &'static str> {
        let is_s256 = asked.get("code_challenge_method").is_some_and(|method| method == "S256");
        let callback = asked.get("callback_url").filter(|uri| uri.starts_with("http://localhost:")).ok_or("callback_url")?;
        if !is_s256 {
            return Err("code_challenge_method");
        }
        let mut server = self.state();
        let code = format!("code-{}-secret", server.codes.len() + 1);
        let url = format!("{callback}?code={code}");
        server.codes.insert(code, asked);
        Ok(Answered::Redirect(url))
    }

    /// What a code was asked with, if the verifier fits. A code is good for one use.
    fn redeemed(&self, code: &str, verifier: &str) -> Result<HashMap<String, String>, &'static str> {
        let asked = self.state().codes.remove(code).ok_or("invalid_grant")?;
        let digest = ring::digest::digest(&ring::digest::SHA256, verifier.as_bytes());
        let fits = asked.get("code_challenge") == Some(&BASE64_URL_SAFE_NO_PAD.encode(digest.as_ref()));
        if fits && verifier.len() >= 43 { Ok(asked) } else { Err("invalid_grant") }
    }

    fn keys(&self, body: &Value) -> Result<Answered, &'static str> {
        let text = |name: &str| body[name].as_str().unwrap_or_default();
        self.redeemed(text("code"), text("code_verifier"))?;
        if text("code_challenge_method") != "S256" {
            return Err("code_challenge_method");
        }
        Ok(Answered::Json(json!({ "key": "sk-or-secret-1234567890", "user_id": "u1" })))
    }

    fn device(&self, form: &HashMap<String, String>) -> Result<Answered, &'static str> {
        if form.get("client_id").is_none_or(|id| id != CLIENT_ID) {
            return Err("invalid_client");
        }
        let interval = self.state().rules.interval_s;
        Ok(Answered::Json(json!({
            "device_code": "device-secret", "user_code": "WDJB-MJHT", "verification_uri": self.url("activate"),
            "verification_uri_complete": self.url("activate?user_code=WDJB-MJHT"), "expires_in": 600, "interval": interval,
        })))
    }

    /// Counts a request; the status it gets if the server is broken.
    fn asked_for_tokens(&self) -> Option<&'static str> {
        let mut state = self.state();
        state.asked += 1;
        state.broken
    }

    fn token(&self, form: &HashMap<String, String>) -> Result<Answered, &'static str> {
        let text = |name: &str| form.get(name).map(String::as_str).unwrap_or_default();
        if text("client_id") != CLIENT_ID {
            return Err("invalid_client");
        }
        match text("grant_type") {
            "authorization_code" => {
                let asked = self.redeemed(text("code"), text("code_verifier"))?;
                if asked.get("redirect_uri").is_none_or(|uri| uri != text("redirect_uri")) {
                    return Err("invalid_grant");
                }
            }
            "refresh_token" => {
                let mut server = self.state();
                // A second use shows that somebody else has it.
                if server.refresh_token.as_deref() != Some(text("refresh_token")) {
                    return Err("invalid_grant");
                }
                server.refreshes += 1;
            }
            "urn:ietf:params:oauth:grant-type:device_code" if text("device_code") == "device-secret" => {
                let mut server = self.state();
                let answer = server.rules.polls.get(server.polled).copied();
                server.polled += 1;
                if let Some(error) = answer {
                    return Err(error);
                }
            }
            _ => return Err("unsupported_grant_type"),
        }
        let mut server = self.state();
        server.issued += 1;
        let number = server.issued;
        server.refresh_token = Some(format!("refresh-secret-{number}"));
        Ok(Answered::Json(json!({
            "access_token": format!("access-secret-{number}"), "token_type": "Bearer", "expires_in": server.rules.lifetime_s,
            "refresh_token": server.refresh_token,
        })))
    }
}

/// What a request comes to.
enum Answered {
    Redirect(String),
    /// A status.
    Broken(&'static str),
    Json(Value),
}

/// The fields of a form or a query.
fn fields(text: &str) -> HashMap<String, String> {
    let pairs = text.split('&').filter_map(|pair| pair.split_once('='));
    pairs.map(|(name, value)| (decoded(name), decoded(value))).collect()
}

fn decoded(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        rest = after;
        let escaped = (byte == b'%').then(|| std::str::from_utf8(rest.get(..2)?).ok()).flatten();
        match escaped.and_then(|hex| u8::from_str_radix(hex, 16).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = rest.get(2..).unwrap_or_default();
            }
            None => bytes.push(if byte == b'+' { b' ' } else { byte }),
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Does what a browser does: gets an address, follows where it is sent, and returns the last page.
///
/// # Panics
/// For an address that is none, or that nobody answers at.
pub fn browse(url: &str) -> String {
    let rest = url.strip_prefix("http://").expect("http");
    let (host, target) = rest.split_once('/').expect("a path");
    let mut stream = TcpStream::connect(host).expect("a server");
    write!(stream, "GET /{target} HTTP/1.1\r\nhost: {host}\r\n\r\n").expect("a request");
    let mut text = String::new();
    stream.read_to_string(&mut text).expect("an answer");
    match text.lines().find_map(|line| line.strip_prefix("location: ")) {
        Some(next) => browse(next.trim()),
        None => text,
    }
}
