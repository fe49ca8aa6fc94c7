//! A server that the mock cannot be: with TLS, or with compressed bodies.

use std::io::Write;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use flate2::Compression;
use flate2::write::{GzEncoder, ZlibEncoder};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustls::pki_types::PrivateKeyDer;
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio_rustls::TlsAcceptor;

use super::folder;

/// A certificate authority made on the spot.
pub(super) struct Authority {
    issuer: CertifiedIssuer<'static, KeyPair>,
    /// Its certificate.
    pub(super) file: PathBuf,
}

/// The files of a certificate.
pub(super) struct Identity {
    pub(super) certificate: PathBuf,
    pub(super) key: PathBuf,
    /// Certificate and key in one.
    pub(super) both: PathBuf,
}

impl Authority {
    /// `test` names its folder.
    pub(super) fn new(test: &str) -> Authority {
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let issuer = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
        let file = folder(test).join("authority.pem");
        std::fs::write(&file, issuer.pem()).unwrap();
        Authority { issuer, file }
    }

    pub(super) fn server(&self, host: &str) -> ServerConfig {
        self.config(host, false)
    }

    /// It wants a certificate of this authority.
    pub(super) fn demanding_server(&self, host: &str) -> ServerConfig {
        self.config(host, true)
    }

    fn config(&self, host: &str, demanding: bool) -> ServerConfig {
        let (certificate, key) = self.sign(host);
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = ServerConfig::builder_with_provider(Arc::clone(&provider)).with_safe_default_protocol_versions().unwrap();
        let builder = if demanding {
            let mut roots = RootCertStore::empty();
            roots.add(self.issuer.der().clone()).unwrap();
            let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider).build().unwrap();
            builder.with_client_cert_verifier(verifier)
        } else {
            builder.with_no_client_auth()
        };
        let key = PrivateKeyDer::try_from(key.serialize_der()).unwrap();
        builder.with_single_cert(vec![certificate.der().clone()], key).unwrap()
    }

    /// A certificate for a client; `test` names the folder.
    pub(super) fn client(&self, test: &str) -> Identity {
        let (certificate, key) = self.sign("a client");
        let file = |name: &str, text: String| {
            let file = folder(test).join(name);
            std::fs::write(&file, text).unwrap();
            file
        };
        Identity {
            certificate: file("client.pem", certificate.pem()),
            key: file("client-key.pem", key.serialize_pem()),
            both: file("client-both.pem", certificate.pem() + &key.serialize_pem()),
        }
    }

    fn sign(&self, host: &str) -> (rcgen::Certificate, KeyPair) {
        let key = KeyPair::generate().unwrap();
        let names = if host.contains(' ') { Vec::new() } else { vec![host.to_owned()] };
        (CertificateParams::new(names).unwrap().signed_by(&key, &self.issuer).unwrap(), key)
    }
}

/// What it answers.
#[derive(Clone)]
pub(super) enum Body {
    /// As it stands.
    Plain(&'static str),
    /// As it stands, and then the connection is closed without a word.
    Cut(&'static str),
    /// A refusal, compressed.
    Refusal(&'static str),
    /// A stream that is mostly nothing, compressed: so many MiB.
    Bomb(usize),
    /// Three frames, compressed, each sent when there is a permit.
    Gated { coding: &'static str, gate: Arc<Semaphore> },
}

impl Body {
    pub(super) fn refusal(text: &'static str) -> Body {
        Body::Refusal(text)
    }

    /// The first frame may go immediately.
    pub(super) fn gated(coding: &'static str) -> (Body, Arc<Semaphore>) {
        let gate = Arc::new(Semaphore::new(1));
        (Body::Gated { coding, gate: Arc::clone(&gate) }, gate)
    }
}

pub(super) struct Server {
    pub(super) port: u16,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Server {
    /// Listens as long as the test's runtime lives.
    pub(super) async fn start(tls: Option<ServerConfig>, body: Body) -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let asked = Arc::<Mutex<Vec<String>>>::default();
        let (noted, tls) = (Arc::clone(&asked), tls.map(|config| TlsAcceptor::from(Arc::new(config))));
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (noted, tls, body) = (Arc::clone(&noted), tls.clone(), body.clone());
                // A client that leaves is what some tests want.
                tokio::spawn(async move {
                    match tls {
                        None => answer(stream, &body, &noted).await,
                        Some(tls) => answer(tls.accept(stream).await?, &body, &noted).await,
                    }
                });
            }
        });
        Server { port, asked }
    }

    /// The heads of the requests so far.
    pub(super) fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }
}

/// A request's head with its empty line.
pub(super) async fn head(stream: &mut (impl AsyncRead + Unpin)) -> std::io::Result<String> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await?);
    }
    Ok(String::from_utf8(head).unwrap())
}

async fn answer(mut stream: impl AsyncRead + AsyncWrite + Unpin, body: &Body, asked: &Mutex<Vec<String>>) -> std::io::Result<()> {
    let head = head(&mut stream).await?;
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")).unwrap().parse().unwrap();
    asked.lock().unwrap().push(head);
    let mut request = vec![0; length];
    stream.read_exact(&mut request).await?;
    match body {
        Body::Plain(text) => stream.write_all(format!("{STREAM}\r\n{text}").as_bytes()).await?,
        Body::Cut(text) => {
            stream.write_all(format!("{STREAM}\r\n{text}").as_bytes()).await?;
            return stream.flush().await;
        }
        Body::Refusal(text) => {
            let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
            encoder.write_all(text.as_bytes())?;
            stream.write_all(b"HTTP/1.1 404 None\r\nconnection: close\r\ncontent-encoding: gzip\r\n\r\n").await?;
            stream.write_all(&encoder.finish()?).await?;
        }
        Body::Bomb(size) => {
            let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
            (0..*size).try_for_each(|_| encoder.write_all(&b":\n".repeat(1 << 19)))?;
            stream.write_all(format!("{STREAM}content-encoding: gzip\r\n\r\n").as_bytes()).await?;
            // The client hangs up.
            let _ = stream.write_all(&encoder.finish()?).await;
        }
        Body::Gated { coding, gate } => {
            stream.write_all(format!("{STREAM}content-encoding: {coding}\r\n\r\n").as_bytes()).await?;
            let mut encoder: Box<dyn Flushing> = match *coding {
                "gzip" => Box::new(GzEncoder::new(Vec::new(), Compression::default())),
                _ => Box::new(ZlibEncoder::new(Vec::new(), Compression::default())),
            };
            for text in ["one", "two", "three"] {
                gate.acquire().await.unwrap().forget();
                let frame = format!("data: {{\"choices\":[{{\"delta\":{{\"content\":\"{text}\"}}}}]}}\n\n");
                stream.write_all(&encoder.compressed(frame.as_bytes())).await?;
                stream.flush().await?;
            }
            let end = "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";
            stream.write_all(&encoder.compressed(end.as_bytes())).await?;
        }
    }
    stream.shutdown().await
}

const STREAM: &str = "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-type: text/event-stream\r\n";

/// Compresses so that what was written so far can be read.
trait Flushing: Send {
    fn compressed(&mut self, bytes: &[u8]) -> Vec<u8>;
}

impl Flushing for GzEncoder<Vec<u8>> {
    fn compressed(&mut self, bytes: &[u8]) -> Vec<u8> {
        self.write_all(bytes).unwrap();
        self.flush().unwrap();
        std::mem::take(self.get_mut())
    }
}

impl Flushing for ZlibEncoder<Vec<u8>> {
    fn compressed(&mut self, bytes: &[u8]) -> Vec<u8> {
        self.write_all(bytes).unwrap();
        self.flush().unwrap();
        std::mem::take(self.get_mut())
    }
}
