//! The way to the server: its address, secure connections, and what its errors mean.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use deadpool_postgres::{Manager, ManagerConfig, Pool, RecyclingMethod, Runtime};
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_postgres::config::{Host, SslMode};
use tokio_postgres::error::{DbError, SqlState};
use tokio_postgres::tls::{ChannelBinding, MakeTlsConnect, TlsConnect, TlsStream};
use tokio_rustls::TlsConnector;

use crate::error::{Error, ErrorKind};
use crate::log::Log;
use crate::session::store_options::SyncMode;
use crate::transport::network::Network;
use crate::transport::tls;

/// The most connections of a store: more would not write faster, and a server has a hundred for all.
const MOST_CONNECTIONS: usize = 8;
/// How long connecting may take, and waiting for a connection.
const CONNECT: Duration = Duration::from_secs(10);

/// A server, and how to connect to it.
#[derive(Clone)]
pub(super) struct Server {
    pub(super) name: String,
    pub(super) config: tokio_postgres::Config,
    pub(super) tls: Tls,
}

impl Server {
    /// The server at an address `postgres://…`.
    pub(super) fn of(address: &str, sync: SyncMode, network: &Network) -> Result<Server, Error> {
        let wrong = |error: tokio_postgres::Error| {
            // Not the address itself, which may have a password.
            let text = format!("store: the Postgres address cannot be read: {}", words(&error));
            Error::invalid_argument(text).with_source(error)
        };
        let mut config: tokio_postgres::Config = address.parse().map_err(wrong)?;
        // What the server does otherwise is its own setting.
        let commit = match sync {
            SyncMode::Full => Some("on"),
            SyncMode::Off => Some("off"),
            SyncMode::Normal => None,
        };
        if let Some(commit) = commit {
            let options = config.get_options().map(|options| format!("{options} ")).unwrap_or_default();
            config.options(format!("{options}-c synchronous_commit={commit}"));
        }
        if config.get_application_name().is_none() {
            config.application_name("agent-loop");
        }
        if config.get_connect_timeout().is_none() {
            config.connect_timeout(CONNECT);
        }
        let tls = match config.get_ssl_mode() {
            SslMode::Disable => None,
            _ => Some(Arc::new(tls::secure(network, &Log::default())?)),
        };
        let host = match config.get_hosts().first() {
            Some(Host::Tcp(host)) => host.clone(),
            #[cfg(unix)]
            Some(Host::Unix(path)) => path.display().to_string(),
            None => return Err(Error::invalid_argument("store: the Postgres address names no host")),
        };
        let port = config.get_ports().first().copied().unwrap_or(5432);
        let database = config.get_dbname().or_else(|| config.get_user()).unwrap_or("postgres");
        let name = format!("the Postgres store {database} at {host}:{port}");
        Ok(Server { name, config, tls: Tls(tls) })
    }

    /// Connections, which are made when they are needed.
    pub(super) fn pool(&self) -> Result<Pool, Error> {
        let recycling = ManagerConfig { recycling_method: RecyclingMethod::Fast };
        let manager = Manager::from_config(self.config.clone(), self.tls.clone(), recycling);
        let pool = Pool::builder(manager).max_size(MOST_CONNECTIONS).runtime(Runtime::Tokio1);
        let pool = pool.wait_timeout(Some(CONNECT)).create_timeout(Some(CONNECT)).recycle_timeout(Some(CONNECT)).build();
        pool.map_err(|error| Error::invalid_argument(format!("store: {error}")).with_source(error))
    }
}

/// An error of the server or of the way to it.
pub(super) fn failed(name: &str, doing: &str, error: &(dyn std::error::Error + 'static)) -> Error {
    let text = words(error);
    let text = match refusal(error) {
        Some(code) if *code == SqlState::DISK_FULL => {
            format!("{name}: {doing} failed, as the server's disk is full ({text}); make room there and open the session again")
        }
        Some(code) if *code == SqlState::INSUFFICIENT_PRIVILEGE => {
            format!("{name}: {doing} failed ({text}); check what the role of the address may do with the tables agent_loop_…")
        }
        Some(code) if *code == SqlState::READ_ONLY_SQL_TRANSACTION => {
            format!("{name}: {doing} failed, as the server takes no writes ({text}); give the address of one that does")
        }
        _ => format!("{name}: {doing} failed: {text}"),
    };
    Error::new(ErrorKind::Io, text)
}

/// The server's code, if it is the server that has refused something.
fn refusal<'a>(error: &'a (dyn std::error::Error + 'static)) -> Option<&'a SqlState> {
    let refused = std::iter::successors(Some(error), |error| error.source()).find_map(|error| error.downcast_ref::<DbError>());
    refused.map(DbError::code)
}

/// An error with what it comes from: the outer ones say only where.
fn words(error: &(dyn std::error::Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(inner) = source {
        let words = inner.to_string();
        if !text.contains(&words) {
            text = format!("{text}: {words}");
        }
        source = inner.source();
    }
    text
}

/// Makes connections secure, where the address asks for it.
#[derive(Clone)]
pub(super) struct Tls(Option<Arc<ClientConfig>>);

/// Makes one connection secure.
pub(super) struct ToServer {
    config: Option<Arc<ClientConfig>>,
    host: String,
}

impl<S: AsyncRead + AsyncWrite + Unpin + Send + 'static> MakeTlsConnect<S> for Tls {
    type Stream = Secure<S>;
    type TlsConnect = ToServer;
    type Error = io::Error;

    fn make_tls_connect(&mut self, host: &str) -> io::Result<ToServer> {
        Ok(ToServer { config: self.0.clone(), host: host.to_owned() })
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin + Send + 'static> TlsConnect<S> for ToServer {
    type Stream = Secure<S>;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<Secure<S>>> + Send>>;

    fn connect(self, stream: S) -> Self::Future {
        Box::pin(async move {
            let config = self.config.ok_or_else(|| io::Error::other("secure connections are off (sslmode=disable)"))?;
            let host = ServerName::try_from(self.host).map_err(io::Error::other)?;
            TlsConnector::from(config).connect(host, stream).await.map(|stream| Secure(Box::new(stream)))
        })
    }
}

/// A secure connection.
pub(super) struct Secure<S>(Box<tokio_rustls::client::TlsStream<S>>);

impl<S: AsyncRead + AsyncWrite + Unpin> TlsStream for Secure<S> {
    /// Passwords are not bound to the connection: its certificate was checked.
    fn channel_binding(&self) -> ChannelBinding {
        ChannelBinding::none()
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncRead for Secure<S> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(cx, buffer)
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for Secure<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(cx)
    }
}
