//! `auth login`: a key, or a sign-in with OAuth.

use agent_loop::network::Network;
use agent_loop::sign_in::{Credential, Endpoints, KeyStore, Place, ProviderKeys, SignIn};
use agent_loop::{ErrorKind, Runtime};
use clap::ArgMatches;

use super::secret;
use crate::arguments::text;
use crate::entry::in_runtime;
use crate::exit;
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::settings::Settings;
use crate::terminal;

/// The longest name of a provider.
const LONGEST_NAME: usize = 64;

/// How the user shows who they are.
enum How {
    Key,
    Browser,
    Code,
}

/// Gets a credential, and stores it.
pub(super) fn run(store: &KeyStore, settings: &Settings, matches: &ArgMatches) -> Result<u8, Failure> {
    let provider = text(matches, "provider").unwrap_or_default();
    let looks_like_key = provider.starts_with("sk-") || provider.len() > LONGEST_NAME;
    if looks_like_key || matches.get_many::<String>("key").is_some_and(|keys| keys.len() > 0) {
        return Err(Failure::usage(
            "a key is no argument, where other users and the shell's history would have it: give the provider alone, and type \
             the key or pipe it into standard input",
        ));
    }
    let given = given(matches);
    // A server of the user's own may have any name.
    if given.is_none() && text(matches, "base-url").is_none() {
        ProviderKeys::of(provider)?;
    }
    // Before the user does anything: a name that cannot be. What is there, and cannot be read, is replaced.
    if let Err(error) = store.read(provider)
        && error.kind() == ErrorKind::InvalidArgument
    {
        return Err(error.into());
    }
    let endpoints = given.or_else(|| Endpoints::of(provider));
    let how = how(provider, endpoints.as_ref(), matches)?;
    let credential = match (how, endpoints) {
        (How::Key, _) | (_, None) => in_runtime(key(provider))?,
        (how, Some(endpoints)) => {
            let network = settings.options.get("network").cloned().unwrap_or_default();
            let mut sign_in = SignIn::new(endpoints).network(Network::from_json(network)?);
            let of_environment = || std::env::var("AGENT_CLIENT_ID").ok();
            if let Some(id) = text(matches, "client-id").map(str::to_owned).or_else(of_environment) {
                sign_in = sign_in.client_id(&id);
            }
            if let Some(url) = text(matches, "redirect-url") {
                sign_in = sign_in.redirect_url(url);
            }
            in_runtime(asked(&sign_in, &how))?
        }
    };
    match store.write(provider, &credential)? {
        Place::Keyring => say!("{provider}: stored in the system's keyring"),
        Place::File(path) => {
            let why = store.why_no_keyring().map(|why| format!(" (no keyring: {why})")).unwrap_or_default();
            say!("{provider}: stored in {}{why}", path.display());
        }
    }
    if let Some(variable) = super::variable_of(provider) {
        say!("the environment variable {variable} is set, and takes precedence");
    }
    Ok(exit::COMPLETED)
}

/// The endpoints of the command line: those of the provider with others in their place. `None` without any.
fn given(matches: &ArgMatches) -> Option<Endpoints> {
    let url = |name: &str| text(matches, name).map(str::to_owned);
    let (authorize, token, device) = (url("authorize-url"), url("token-url"), url("device-url"));
    let scopes: Vec<String> = matches.get_many("scope").into_iter().flatten().cloned().collect();
    if authorize.is_none() && token.is_none() && device.is_none() && scopes.is_empty() {
        return None;
    }
    let is_own = authorize.is_some() || token.is_some() || device.is_some();
    let known = text(matches, "provider").and_then(Endpoints::of);
    // A key is a vendor's own way: another server speaks OAuth.
    let mut endpoints = known.filter(|known| !is_own || known.needs_client_id()).unwrap_or_default();
    endpoints.authorize_url = authorize.or(endpoints.authorize_url);
    endpoints.token_url = token.or(endpoints.token_url);
    endpoints.device_url = device.or(endpoints.device_url);
    if !scopes.is_empty() {
        endpoints.scopes = scopes;
    }
    Some(endpoints)
}

/// How to go about it. Without a client id, a key is asked for: a provider has both.
fn how(provider: &str, endpoints: Option<&Endpoints>, matches: &ArgMatches) -> Result<How, Failure> {
    if matches.get_flag("key-stdin") {
        return Ok(How::Key);
    }
    let is_device = matches.get_flag("device");
    let Some(endpoints) = endpoints else {
        let needs = ["device", "client-id"].into_iter().find(|name| match *name {
            "device" => is_device,
            name => text(matches, name).is_some(),
        });
        return match needs {
            Some(flag) => {
                let page = page(provider).map(|page| format!(", which is made at {page}")).unwrap_or_default();
                Err(Failure::usage(format!("--{flag}: {provider} has no sign-in for the programs of others, only a key{page}")))
            }
            None => Ok(How::Key),
        };
    };
    if is_device {
        return Ok(How::Code);
    }
    let has_id = text(matches, "client-id").is_some() || std::env::var_os("AGENT_CLIENT_ID").is_some_and(|id| !id.is_empty());
    let is_piped = !std::io::IsTerminal::is_terminal(&std::io::stdin());
    match () {
        () if endpoints.needs_client_id() && !has_id && matches_no_address(matches) => {
            say!("{provider} has a sign-in with the browser, too: --client-id ID, made at {}", endpoints.client_page);
            Ok(How::Key)
        }
        // Somebody pipes a key.
        () if !endpoints.needs_client_id() && is_piped && matches_no_address(matches) => {
            say!("{provider}: a key is read from standard input; where that is a terminal, there is a sign-in with the browser");
            Ok(How::Key)
        }
        () if endpoints.has_browser() => Ok(How::Browser),
        () if endpoints.device_url.is_some() => Ok(How::Code),
        () => Err(Failure::usage("--authorize-url and --token-url, or --device-url and --token-url, are needed for a sign-in")),
    }
}

fn matches_no_address(matches: &ArgMatches) -> bool {
    ["authorize-url", "token-url", "device-url"].iter().all(|name| text(matches, name).is_none())
}

/// Asks for a key. In the runtime, where Ctrl-C leaves with the terminal as it was.
async fn key(provider: &str) -> Result<Credential, Failure> {
    let _interrupt = Interrupt::listen();
    if std::io::IsTerminal::is_terminal(&std::io::stdin())
        && let Some(page) = page(provider)
    {
        say!("a key is made at {page}");
    }
    Ok(Credential::key(&secret::read(&format!("key for {provider} (not shown): "))?))
}

/// Signs in. Ctrl-C leaves.
async fn asked(sign_in: &SignIn, how: &How) -> Result<Credential, Failure> {
    let _interrupt = Interrupt::listen();
    let runtime = Runtime::current()?;
    let credential = match how {
        How::Code => {
            let shown = sign_in.with_code(&runtime, |code| {
                let minutes = code.expires_in_s.div_ceil(60);
                say!("Open {} and type in the code {}", terminal::visible(&code.url), terminal::visible(&code.user_code));
                if let Some(url) = &code.complete_url {
                    say!("Or open {}", terminal::visible(url));
                }
                say!("It is good for {minutes} min. Ctrl-C ends the wait.");
            });
            shown.await?
        }
        How::Key | How::Browser => {
            let shown = sign_in.in_browser(&runtime, |url| {
                say!("Open this address in the browser of this machine, and sign in:\n\n  {}\n", terminal::visible(url));
                say!("Ctrl-C ends the wait.");
            });
            shown.await?
        }
    };
    Ok(credential)
}

/// Where a provider's keys are made.
fn page(provider: &str) -> Option<&'static str> {
    ProviderKeys::of(provider).ok().map(|keys| keys.page).filter(|page| !page.is_empty())
}
