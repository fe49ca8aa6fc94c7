//! A connection that reports when everything written to it was sent.
//!
//! hyper collects what a body yields and throws the collected bytes away when the body then fails. A cut must come after exactly
//! the bytes that the script says, so the body has to wait until they are out; hyper flushes the connection itself only after its
//! own buffer is empty, and that is the moment noted here.

use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Waker};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

/// How often a connection was flushed, shared between it and the body that is being sent.
#[derive(Clone, Debug, Default)]
pub(crate) struct Flushes(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    count: u64,
    waiting: Option<Waker>,
}

impl Flushes {
    pub(crate) fn count(&self) -> u64 {
        self.with(|state| state.count)
    }

    /// Ready once there were more flushes than `seen`.
    pub(crate) fn poll_more_than(&self, seen: u64, context: &Context<'_>) -> Poll<()> {
        self.with(|state| {
            if state.count > seen {
                return Poll::Ready(());
            }
            state.waiting = Some(context.waker().clone());
            Poll::Pending
        })
    }

    fn note(&self) {
        let waiting = self.with(|state| {
            state.count += 1;
            state.waiting.take()
        });
        if let Some(waker) = waiting {
            waker.wake();
        }
    }

    fn with<T>(&self, act: impl FnOnce(&mut State) -> T) -> T {
        act(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// A TCP connection that notes its flushes.
pub(crate) struct Wire {
    stream: TcpStream,
    flushes: Flushes,
}

impl Wire {
    pub(crate) fn new(stream: TcpStream, flushes: Flushes) -> Wire {
        Wire { stream, flushes }
    }
}

impl AsyncRead for Wire {
    fn poll_read(mut self: Pin<&mut Self>, context: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, into)
    }
}

impl AsyncWrite for Wire {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(context, slices)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = Pin::new(&mut self.stream).poll_flush(context);
        if let Poll::Ready(Ok(())) = flushed {
            self.flushes.note();
        }
        flushed
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
