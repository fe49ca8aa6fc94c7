//! A proxy: forwards plain requests, opens tunnels, speaks SOCKS 5. Every host is this machine.

use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use super::server::head;

pub(super) struct Forwarder {
    pub(super) address: String,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Forwarder {
    /// Listens as long as the test's runtime lives. `authorization`: what it demands in `proxy-authorization`.
    pub(super) async fn start(authorization: Option<&'static str>) -> Forwarder {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let asked = Arc::<Mutex<Vec<String>>>::default();
        let noted = Arc::clone(&asked);
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let noted = Arc::clone(&noted);
                tokio::spawn(async move { forward(client, authorization, &noted).await });
            }
        });
        Forwarder { address, asked }
    }

    /// Method and target of each request so far.
    pub(super) fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }
}

async fn forward(mut client: TcpStream, authorization: Option<&str>, asked: &Mutex<Vec<String>>) -> std::io::Result<()> {
    let mut first = [0];
    client.peek(&mut first).await?;
    if first == [5] {
        return socks(client, asked).await;
    }
    let head = head(&mut client).await?;
    let mut words = head.split(' ');
    let (method, target) = (words.next().unwrap().to_owned(), words.next().unwrap().to_owned());
    asked.lock().unwrap().push(format!("{method} {target}"));
    if authorization.is_some_and(|wanted| !head.contains(&format!("proxy-authorization: {wanted}\r\n"))) {
        return client.write_all(b"HTTP/1.1 407 Who are you\r\ncontent-length: 0\r\nconnection: close\r\n\r\n").await;
    }
    let place = target.trim_start_matches("http://");
    let port = place.split('/').next().unwrap().rsplit(':').next().unwrap();
    let mut server = TcpStream::connect(format!("127.0.0.1:{port}")).await?;
    if method == "CONNECT" {
        client.write_all(b"HTTP/1.1 200 Go ahead\r\n\r\n").await?;
    } else {
        server.write_all(head.as_bytes()).await?;
    }
    tokio::io::copy_bidirectional(&mut client, &mut server).await.map(drop)
}

/// RFC 1928, without authentication, to a name.
async fn socks(mut client: TcpStream, asked: &Mutex<Vec<String>>) -> std::io::Result<()> {
    let mut methods = vec![0; 2];
    client.read_exact(&mut methods).await?;
    methods.resize(usize::from(methods[1]), 0);
    client.read_exact(&mut methods).await?;
    client.write_all(&[5, 0]).await?;
    let mut request = [0; 5];
    client.read_exact(&mut request).await?;
    assert_eq!(request[..4], [5, 1, 0, 3], "a connection to a name");
    let mut name = vec![0; usize::from(request[4])];
    client.read_exact(&mut name).await?;
    let port = client.read_u16().await?;
    asked.lock().unwrap().push(format!("SOCKS {}:{port}", String::from_utf8(name).unwrap()));
    client.write_all(&[5, 0, 0, 1, 0, 0, 0, 0, 0, 0]).await?;
    let mut server = TcpStream::connect(("127.0.0.1", port)).await?;
    tokio::io::copy_bidirectional(&mut client, &mut server).await.map(drop)
}
