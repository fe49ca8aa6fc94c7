//! The requests to authorization servers, with the agent's network.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rmcp::transport::auth::{OAuthHttpClient, OAuthHttpClientFuture, OAuthHttpRequest};

use super::super::reach::Reach;

/// The longest answer that is read.
const MOST_BYTES: usize = 1 << 20;

const LIMIT: Duration = Duration::from_secs(30);

/// With what the last run has.
pub(super) struct Http(pub(super) Arc<Mutex<Option<Reach>>>);

impl OAuthHttpClient for Http {
    /// Redirects are not followed: a request may have a secret.
    fn execute(&self, request: OAuthHttpRequest) -> OAuthHttpClientFuture<'_> {
        Box::pin(async move {
            let answered = tokio::time::timeout(LIMIT, async {
                let request = reqwest::Request::try_from(request.request)?;
                let reach = self.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
                let Some(Reach { connections, network, connect_timeout_ms, .. }) = reach else {
                    return Err("it was not connected to".into());
                };
                let client = connections.client().requests(request.url(), connect_timeout_ms, &network).await?;
                let mut response = client.execute(request).await.map_err(reqwest::Error::without_url)?;
                let mut body = Vec::new();
                while let Some(chunk) = response.chunk().await.map_err(reqwest::Error::without_url)? {
                    if body.len() + chunk.len() > MOST_BYTES {
                        return Err("the answer is longer than 1 MiB".into());
                    }
                    body.extend_from_slice(&chunk);
                }
                let mut answer = http::Response::new(body);
                *answer.status_mut() = response.status();
                *answer.headers_mut() = std::mem::take(response.headers_mut());
                Ok(answer)
            });
            answered.await.unwrap_or_else(|_| Err(format!("there was no answer within {} s", LIMIT.as_secs()).into()))
        })
    }
}
