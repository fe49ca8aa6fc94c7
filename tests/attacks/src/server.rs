//! A server of bytes: it plays steps on each connection, plain or with TLS, on threads of its own.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustls::pki_types::PrivateKeyDer;
use rustls::{ServerConfig, ServerConnection, StreamOwned};

/// What a server does with a connection, in order. At the end it closes it.
#[derive(Debug, Clone)]
pub(crate) enum Step {
    /// Reads a request of HTTP/1.1 with its body.
    ReadRequest,
    /// Reads frames of HTTP/2 until one ends its stream.
    ReadFrames,
    /// Reads only so many bytes.
    Read(usize),
    Send(Vec<u8>),
    /// So many times.
    Repeat(Vec<u8>, usize),
    /// Byte by byte.
    Slowly(Vec<u8>),
    /// Closes one direction and reads what comes.
    HalfClose,
    /// Ends the connection with a reset.
    Reset,
    /// Sends nothing more until the client leaves.
    Stall,
}

/// It ends when it is dropped; what it does with open connections goes on until their clients leave.
pub(crate) struct Server {
    address: SocketAddr,
    is_over: Arc<AtomicBool>,
}

/// How long a server waits for a client that neither reads nor leaves.
const PATIENCE: Duration = Duration::from_secs(20);

impl Server {
    /// `steps` of the connections, in turn.
    pub(crate) fn start(tls: Option<&Tls>, steps: Vec<Vec<Step>>) -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address");
        let is_over = Arc::new(AtomicBool::new(false));
        let (ends, tls) = (Arc::clone(&is_over), tls.map(|tls| Arc::clone(&tls.config)));
        std::thread::spawn(move || {
            for (stream, steps) in listener.incoming().zip(steps.iter().cycle()) {
                let Ok(stream) = stream else { continue };
                if ends.load(Ordering::SeqCst) {
                    return;
                }
                let (steps, tls) = (steps.clone(), tls.clone());
                // Clients that leave are the rule here.
                std::thread::spawn(move || drop(serve(stream, tls, &steps)));
            }
        });
        Server { address, is_over }
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::SeqCst);
        // It waits for a connection.
        drop(TcpStream::connect(self.address));
    }
}

/// The steps need both the bytes and the socket beneath.
trait Connection: Read + Write {
    fn socket(&self) -> &TcpStream;
}

impl Connection for TcpStream {
    fn socket(&self) -> &TcpStream {
        self
    }
}

impl Connection for StreamOwned<ServerConnection, TcpStream> {
    fn socket(&self) -> &TcpStream {
        &self.sock
    }
}

fn serve(stream: TcpStream, tls: Option<Arc<ServerConfig>>, steps: &[Step]) -> io::Result<()> {
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    let mut connection: Box<dyn Connection> = match tls {
        None => Box::new(stream),
        Some(config) => Box::new(StreamOwned::new(ServerConnection::new(config).map_err(io::Error::other)?, stream)),
    };
    for step in steps {
        match step {
            Step::ReadRequest => read_request(&mut *connection)?,
            Step::ReadFrames => read_frames(&mut *connection)?,
            Step::Read(count) => connection.read_exact(&mut vec![0; *count])?,
            Step::Send(bytes) => send(&mut *connection, bytes)?,
            Step::Repeat(bytes, times) => {
                let block = bytes.repeat((16 << 10) / bytes.len().max(1) + 1);
                let mut left = bytes.len() * times;
                while left > 0 {
                    let part = &block[..left.min(block.len())];
                    send(&mut *connection, part)?;
                    left -= part.len();
                }
            }
            Step::Slowly(bytes) => bytes.chunks(1).try_for_each(|byte| send(&mut *connection, byte))?,
            Step::HalfClose => {
                connection.socket().shutdown(Shutdown::Write)?;
                read_to_end(&mut *connection)?;
            }
            Step::Reset => return reset(connection.socket()),
            Step::Stall => read_to_end(&mut *connection)?,
        }
    }
    connection.flush()
}

fn send(connection: &mut dyn Connection, bytes: &[u8]) -> io::Result<()> {
    connection.write_all(bytes)?;
    connection.flush()
}

fn read_to_end(connection: &mut dyn Connection) -> io::Result<()> {
    let mut some = [0; 4096];
    while connection.read(&mut some)? > 0 {}
    Ok(())
}

fn read_frames(connection: &mut dyn Connection) -> io::Result<()> {
    loop {
        let mut head = [0; 9];
        connection.read_exact(&mut head)?;
        let length = u64::from(u32::from_be_bytes([0, head[0], head[1], head[2]]));
        io::copy(&mut connection.take(length), &mut io::sink())?;
        // DATA or HEADERS with END_STREAM.
        if head[3] <= 1 && head[4] & 1 != 0 {
            return Ok(());
        }
    }
}

/// A head and as much as it announces.
fn read_request(connection: &mut dyn Connection) -> io::Result<()> {
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") {
        connection.read_exact(&mut byte)?;
        head.push(byte[0]);
    }
    let head = String::from_utf8_lossy(&head).to_ascii_lowercase();
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")?.parse().ok()).unwrap_or(0);
    let read = io::copy(&mut connection.take(length), &mut io::sink())?;
    if read == length { Ok(()) } else { Err(ErrorKind::UnexpectedEof.into()) }
}

/// Closes the connection so that the client's next bytes are answered with a reset.
#[cfg(unix)]
#[allow(unsafe_code)]
fn reset(stream: &TcpStream) -> io::Result<()> {
    use std::os::fd::AsRawFd;
    let linger = libc::linger { l_onoff: 1, l_linger: 0 };
    let size = libc::socklen_t::try_from(size_of::<libc::linger>()).expect("a small struct");
    // SAFETY: the descriptor is open as long as the stream lives, and the option's value is a `linger` of its size.
    let set =
        unsafe { libc::setsockopt(stream.as_raw_fd(), libc::SOL_SOCKET, libc::SO_LINGER, (&raw const linger).cast(), size) };
    if set == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

#[cfg(not(unix))]
fn reset(stream: &TcpStream) -> io::Result<()> {
    stream.shutdown(Shutdown::Both)
}

/// A server's certificate and protocols, and the authority that clients have to trust.
pub(crate) struct Tls {
    config: Arc<ServerConfig>,
    /// The authority's certificate.
    pub(crate) ca_file: PathBuf,
}

/// For the name localhost.
fn tls(alpn: &[&[u8]], host: &str) -> Tls {
    let mut params = CertificateParams::default();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let issuer = CertifiedIssuer::self_signed(params, KeyPair::generate().expect("a key")).expect("an authority");
    let key = KeyPair::generate().expect("a key");
    let params = CertificateParams::new(vec![host.to_owned()]).expect("a name");
    let certificate = params.signed_by(&key, &issuer).expect("a certificate");
    let name = alpn.first().map(|name| String::from_utf8_lossy(name).replace('/', "")).unwrap_or_default();
    let ca_file = std::env::temp_dir().join(format!("agent-loop-attacks-{}-{host}-{name}.pem", std::process::id()));
    std::fs::write(&ca_file, issuer.pem()).expect("a file");
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions().expect("versions");
    let key = PrivateKeyDer::try_from(key.serialize_der()).expect("a key");
    let mut config = builder.with_no_client_auth().with_single_cert(vec![certificate.der().clone()], key).expect("a server");
    config.alpn_protocols = alpn.iter().map(|name| name.to_vec()).collect();
    Tls { config: Arc::new(config), ca_file }
}

pub(crate) static HTTP_1: LazyLock<Tls> = LazyLock::new(|| tls(&[b"http/1.1"], "localhost"));
pub(crate) static HTTP_2: LazyLock<Tls> = LazyLock::new(|| tls(&[b"h2"], "localhost"));
/// Of another name.
pub(crate) static OTHER: LazyLock<Tls> = LazyLock::new(|| tls(&[b"http/1.1"], "other.test"));

/// Removes the files of the authorities.
pub(crate) fn clean() {
    for tls in [&HTTP_1, &HTTP_2, &OTHER] {
        drop(std::fs::remove_file(&tls.ca_file));
    }
}
