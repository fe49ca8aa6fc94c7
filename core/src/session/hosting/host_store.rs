//! A store that is an object of the host: its functions get and return JSON.

use std::future::Future;

use agent_loop_proto::json_error::{read_value, shown};
use agent_loop_proto::session::Info;
use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value, json};

use crate::error::{Error, ErrorKind};
use crate::future::BoxFuture;
use crate::host::answer::{self, HostAnswer};
use crate::host::{HostCall, HostFunction};
use crate::session::backend::{
    Acquire, HeldLease, Lease, ListQuery, Page, SessionInfo, SessionPage, StoreBackend, StoredLine, changed_by_reading,
};
use crate::session::errors::forked;
use crate::threads::{Blocking, hand_over};

/// The functions of a store, with the names of their parameters. Without `changed`, followers call `read` from time to time.
pub const STORE_METHODS: &[(&str, &[&str])] = &[
    ("acquire", &["request"]),
    ("renew", &["leases", "lease_ms"]),
    ("release", &["lease"]),
    ("append", &["lease", "seq", "lines"]),
    ("read", &["id", "after", "limit"]),
    ("info", &["id"]),
    ("set_info", &["lease", "info"]),
    ("list", &["query"]),
    ("delete", &["lease"]),
    ("changed", &["id", "after"]),
];

/// A store of the host.
pub struct HostStore {
    /// What it is called in errors.
    pub name: String,
    /// Called with a `HostCall` for each call of a method.
    pub function: HostFunction,
    /// The methods that may block their thread.
    pub blocking: Vec<String>,
    /// Whether it has the method `changed`.
    pub has_changed: bool,
    /// The process that has made it.
    pub pid: u32,
}

impl std::fmt::Debug for HostStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("HostStore").field("name", &self.name).finish_non_exhaustive()
    }
}

impl HostStore {
    /// Calls a method; the future is its answer.
    fn ask(
        &self,
        method: &'static str,
        arguments: Vec<Value>,
    ) -> impl Future<Output = Result<Value, Error>> + Send + 'static + use<> {
        let asked = match self.pid == std::process::id() {
            true => Ok(self.call(method, arguments)),
            false => Err(forked(&self.name)),
        };
        let name = self.name.clone();
        async move { answer::json(asked?.await).map_err(|error| failed(&name, method, error)) }
    }

    fn call(
        &self,
        method: &'static str,
        arguments: Vec<Value>,
    ) -> impl Future<Output = Result<HostAnswer, Error>> + Send + 'static + use<> {
        if !self.blocking.iter().any(|blocking| blocking == method) {
            return HostCall::store(method, arguments, &*self.function);
        }
        let on_a_thread = |call| {
            let function = self.function.clone();
            hand_over(Blocking::Other, call, move |call| function(call), |call: HostCall, error| drop(call.fail_with(error)));
        };
        HostCall::store(method, arguments, &on_a_thread)
    }

    /// Calls a method that answers with something.
    fn ask_for<T: DeserializeOwned + Send>(
        &self,
        method: &'static str,
        arguments: Vec<Value>,
    ) -> BoxFuture<'_, Result<T, Error>> {
        let answer = self.ask(method, arguments);
        Box::pin(async move { self.read_answer(method, &answer.await?) })
    }

    fn read_answer<T: DeserializeOwned>(&self, method: &str, answer: &Value) -> Result<T, Error> {
        let wrong = |why| Error::new(ErrorKind::Io, format!("{}: {method}: its answer cannot be used: {why}", self.name));
        read_value(answer).map_err(|unread| wrong(format!("{unread} (in {})", shown(answer))))
    }

    /// Calls a method that answers with nothing.
    fn ask_to(&self, method: &'static str, arguments: Vec<Value>) -> BoxFuture<'_, Result<(), Error>> {
        let answer = self.ask(method, arguments);
        Box::pin(async move { answer.await.map(drop) })
    }
}

/// The error of a method that failed: one with a kind of ours as it is, any other one as `io`.
fn failed(name: &str, method: &str, error: Error) -> Error {
    match error.kind() {
        ErrorKind::Callback | ErrorKind::Provider => {
            Error::new(ErrorKind::Io, format!("{name}: {method}: {}", error.message())).with_source_of(&error)
        }
        _ => error,
    }
}

/// What is read of an object alone: serde also takes a list for a struct, field by field.
struct Object<T>(T);

impl<'de, T: DeserializeOwned> Deserialize<'de> for Object<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Object<T>, D::Error> {
        let map = Map::deserialize(deserializer)?;
        T::deserialize(Value::Object(map)).map(Object).map_err(D::Error::custom)
    }
}

fn lease_json(lease: &HeldLease) -> Value {
    json!({ "id": lease.id, "token": lease.token })
}

impl StoreBackend for HostStore {
    fn name(&self) -> String {
        self.name.clone()
    }

    fn acquire(&self, request: Acquire) -> BoxFuture<'_, Result<Lease, Error>> {
        #[derive(Deserialize)]
        struct Answer {
            token: u64,
            #[serde(default)]
            torn: u64,
            #[serde(default)]
            last: u64,
        }
        let request = json!({ "id": request.id, "holder": request.holder, "lease_ms": request.lease_ms });
        let answer = self.ask_for("acquire", vec![request]);
        Box::pin(
            async move { answer.await.map(|Object(Answer { token, torn, last })| Lease { torn, last, ..Lease::new(token) }) },
        )
    }

    fn renew(&self, leases: Vec<HeldLease>, lease_ms: u64) -> BoxFuture<'_, Result<Vec<String>, Error>> {
        let answer = self.ask_for("renew", vec![leases.iter().map(lease_json).collect(), lease_ms.into()]);
        // Nothing is what most stores answer.
        Box::pin(async move { answer.await.map(Option::unwrap_or_default) })
    }

    fn release(&self, lease: HeldLease) -> BoxFuture<'_, Result<(), Error>> {
        self.ask_to("release", vec![lease_json(&lease)])
    }

    fn append(&self, lease: HeldLease, seq: u64, lines: Vec<String>) -> BoxFuture<'_, Result<(), Error>> {
        self.ask_to("append", vec![lease_json(&lease), seq.into(), lines.into()])
    }

    fn read(&self, id: String, after: u64, limit: usize) -> BoxFuture<'_, Result<Page, Error>> {
        #[derive(Deserialize)]
        struct Line {
            seq: u64,
            text: String,
        }
        #[derive(Deserialize)]
        struct Answer {
            lines: Vec<Object<Line>>,
            last: Option<u64>,
        }
        let answer = self.ask("read", vec![id.into(), after.into(), limit.into()]);
        Box::pin(async move {
            let answer = answer.await?;
            let (lines, last) = match answer.is_object() {
                true => self.read_answer("read", &answer).map(|Answer { lines, last }| (lines, last.unwrap_or_default()))?,
                false => (self.read_answer("read", &answer)?, 0),
            };
            Ok(Page { lines: lines.into_iter().map(|Object(line)| StoredLine::new(line.seq, line.text)).collect(), last })
        })
    }

    fn info(&self, id: String) -> BoxFuture<'_, Result<Option<SessionInfo>, Error>> {
        let answer = self.ask_for::<Option<Object<SessionInfo>>>("info", vec![id.into()]);
        Box::pin(async move { Ok(answer.await?.map(|Object(info)| info)) })
    }

    fn set_info(&self, lease: HeldLease, info: Info) -> BoxFuture<'_, Result<(), Error>> {
        let info = json!({ "title": info.title, "metadata": info.metadata });
        self.ask_to("set_info", vec![lease_json(&lease), info])
    }

    fn list(&self, query: ListQuery) -> BoxFuture<'_, Result<SessionPage, Error>> {
        #[derive(Deserialize)]
        struct Answer {
            sessions: Vec<Object<SessionInfo>>,
            next: Option<String>,
        }
        let query = json!({
            "updated_from": query.updated_from_ms,
            "updated_before": query.updated_before_ms,
            "metadata": query.metadata,
            "limit": query.most(),
            "cursor": query.cursor,
        });
        let answer = self.ask_for("list", vec![query]);
        Box::pin(async move {
            let Object(Answer { sessions, next }) = answer.await?;
            Ok(SessionPage { sessions: sessions.into_iter().map(|Object(info)| info).collect(), next })
        })
    }

    fn delete(&self, lease: HeldLease) -> BoxFuture<'_, Result<(), Error>> {
        self.ask_to("delete", vec![lease_json(&lease)])
    }

    fn changed(&self, id: String, after: u64) -> BoxFuture<'_, Result<(), Error>> {
        if self.has_changed {
            return self.ask_to("changed", vec![id.into(), after.into()]);
        }
        Box::pin(changed_by_reading(self, id, after))
    }
}
