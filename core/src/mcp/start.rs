//! How a server is reached: its process, or its address.

use std::collections::HashMap;
use std::process::Stdio;

use reqwest::header::{HeaderName, HeaderValue};
use rmcp::service::RunningService;
use rmcp::transport::TokioChildProcess;
use rmcp::transport::streamable_http_client::{StreamableHttpClientTransport, StreamableHttpClientTransportConfig};
use rmcp::{RoleClient, ServiceExt};
use tokio::process::Command;

use super::asked::Client;
use super::description::{Description, Place};
use super::failures::{self, Failed};
use super::oauth::Access;
use super::reach::Reach;
use super::stderr::LastLines;
use super::wire::{Calls, ListChanged, Watched, Way};
use crate::error::Error;
#[cfg(unix)]
use crate::threads::unblock_in;

/// The environment variables of this process that a server's process gets. Others may be keys.
const KEPT_VARIABLES: &[&str] = if cfg!(windows) {
    &[
        "APPDATA",
        "HOMEDRIVE",
        "HOMEPATH",
        "LOCALAPPDATA",
        "PATH",
        "PATHEXT",
        "PROCESSOR_ARCHITECTURE",
        "PROGRAMFILES",
        "SYSTEMDRIVE",
        "SYSTEMROOT",
        "TEMP",
        "TMP",
        "USERNAME",
        "USERPROFILE",
    ]
} else {
    &["HOME", "LANG", "LC_ALL", "LOGNAME", "PATH", "SHELL", "TERM", "TMPDIR", "TZ", "USER"]
};

/// Starts the process, or opens the address, and shakes hands.
///
/// # Errors
/// `io` for a program that cannot be started, `authentication` where the server asks for it, else `connection`.
pub(super) async fn start(
    description: &Description,
    reach: &Reach,
    access: &Access,
    stderr: &LastLines,
    list_changed: ListChanged,
) -> Result<RunningService<RoleClient, Client>, Failed> {
    let calls = Calls::default();
    let client = Client { server: description.shown(), hooks: reach.hooks, calls: calls.clone() };
    let transport = match &description.place {
        Place::Process { command, args, env, cwd } => {
            let mut process = Command::new(command);
            let kept = KEPT_VARIABLES.iter().filter_map(|name| Some((name, std::env::var_os(name)?)));
            process.args(args).env_clear().envs(kept).envs(env);
            if let Some(folder) = cwd {
                process.current_dir(folder);
            }
            // What interrupts this program at its terminal is for it to handle: the server ends with its connection.
            #[cfg(unix)]
            process.process_group(0);
            #[cfg(unix)]
            unblock_in(process.as_std_mut());
            #[cfg(windows)]
            process.creation_flags(0x0800_0000); // No window.
            let spawned = TokioChildProcess::builder(process).stderr(Stdio::piped()).spawn();
            let (process, errors) = spawned.map_err(|error| failures::of_program(command, cwd.is_some(), error))?;
            errors.into_iter().for_each(|errors| stderr.read(errors));
            Watched::new(Way::Process(process), calls, list_changed)
        }
        Place::Address { url, headers, .. } => {
            let parsed = reqwest::Url::parse(url).map_err(|error| Error::invalid_argument(format!("url: {error}")))?;
            let client = reach.connections.client().requests(&parsed, reach.connect_timeout_ms, &reach.network).await?;
            let header = |(name, value): (&String, &String)| {
                let wrong = || Error::invalid_argument(format!("headers: HTTP does not allow {name:?}, or its value"));
                let (name, mut value) =
                    (HeaderName::try_from(name).map_err(|_| wrong())?, HeaderValue::try_from(value).map_err(|_| wrong())?);
                value.set_sensitive(true);
                Ok::<_, Error>((name, value))
            };
            let headers = headers.iter().map(header).collect::<Result<HashMap<_, _>, _>>()?;
            let config = StreamableHttpClientTransportConfig::with_uri(url.as_str()).custom_headers(headers);
            let client = access.client(client, reach).await?;
            let transport = StreamableHttpClientTransport::with_client(client, config);
            Watched::new(Way::Address(transport), calls, list_changed)
        }
    };
    client.serve(transport).await.map_err(|error| Failed::with(failures::of_handshake(&error), &error))
}
