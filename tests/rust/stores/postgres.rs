//! The way to a Postgres server: addresses, secure connections, and servers that do not answer as they should.

use std::path::Path;
use std::sync::Arc;

use agent_loop::ErrorKind;
use agent_loop::network::Network;
use agent_loop::session::Store;
use rcgen::{CertifiedKey, generate_simple_self_signed};
use rustls::pki_types::PrivatePkcs8KeyDer;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

use crate::place::run;

/// What a client sends that asks for a secure connection.
const SSL_REQUEST: [u8; 8] = [0, 0, 0, 8, 4, 210, 22, 47];

#[test]
fn an_address_that_cannot_be_read_says_why_and_not_the_password() {
    for wrong in
        ["postgres://u:secret@host:port/db", "postgres://u:secret@host/db?sslmode=maybe", "postgres://u:secret@host/db?x=1"]
    {
        let error = Store::open(wrong).unwrap_err();
        let text = format!("{error} {error:?}");
        assert!(error.kind() == ErrorKind::InvalidArgument && !text.contains("secret"), "{text}");
        assert!(text.contains("Postgres address"), "{text}");
    }
}

#[test]
fn a_server_that_is_not_there_is_an_error_without_the_password() {
    run(async {
        // Taken, so that nobody listens there, and closed.
        let port = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap().port();
        let store = Store::open(&format!("postgres://u:secret@127.0.0.1:{port}/db?sslmode=disable")).unwrap();
        let error = store.session("s").unwrap().open().await.unwrap_err();
        let text = format!("{error} {error:?}");
        assert!(error.kind() == ErrorKind::Io && text.contains(&format!("db at 127.0.0.1:{port}")), "{text}");
        assert!(text.contains("refused") && !text.contains("secret"), "{text}");
    });
}

/// A server with a certificate of its own for `localhost`, which refuses each client with these words. Returns its port.
async fn refusing_server(certificate: &Path, words: &'static str) -> u16 {
    let CertifiedKey { cert, signing_key } = generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    std::fs::write(certificate, cert.pem()).unwrap();
    let key = PrivatePkcs8KeyDer::from(signing_key.serialize_der()).into();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
    let config = config.with_no_client_auth().with_single_cert(vec![cert.der().clone()], key).unwrap();
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        loop {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut request = [0; 8];
            stream.read_exact(&mut request).await.unwrap();
            assert_eq!(request, SSL_REQUEST);
            stream.write_all(b"S").await.unwrap();
            // A client that does not trust the certificate goes away.
            let Ok(mut secure) = acceptor.accept(stream).await else { continue };
            let length = secure.read_u32().await.unwrap();
            let mut startup = vec![0; length as usize - 4];
            secure.read_exact(&mut startup).await.unwrap();
            assert!(startup.windows(5).any(|bytes| bytes == b"user\0"), "{startup:?}");
            let fields = format!("SFATAL\0VFATAL\0C28000\0M{words}\0\0");
            secure.write_u8(b'E').await.unwrap();
            secure.write_u32(u32::try_from(fields.len() + 4).unwrap()).await.unwrap();
            secure.write_all(fields.as_bytes()).await.unwrap();
            let _ = secure.shutdown().await;
        }
    });
    port
}

#[test]
fn a_secure_connection_is_one_to_a_server_that_is_trusted() {
    let folder = tempfile::tempdir().unwrap();
    let certificate = folder.path().join("ca.pem");
    run(async {
        let port = refusing_server(&certificate, "not today").await;
        let network = Network { ca_file: Some(certificate.clone()), ..Network::default() };
        for mode in ["require", "prefer"] {
            let address = format!("postgres://u@localhost:{port}/db?sslmode={mode}");
            let error = |store: Store| async move { store.session("s").unwrap().open().await.unwrap_err() };
            let trusted = error(Store::builder(&*address).network(network.clone()).open().unwrap()).await;
            assert!(trusted.kind() == ErrorKind::Io && trusted.message().contains("not today"), "{trusted}");
            let unknown = error(Store::open(&address).unwrap()).await;
            assert!(unknown.kind() == ErrorKind::Io && unknown.message().contains("certificate"), "{unknown}");
        }
    });
}
