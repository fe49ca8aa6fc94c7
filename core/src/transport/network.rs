//! How requests reach servers that cannot be reached directly: proxies, certificate authorities, a client
//! own, names that another table resolves. What is set, and reading it; [`super::tls`] and [`super::client`] do it.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::str::FromStr;

use agent_loop_proto::json_error::words;
use agent_loop_proto::json_reader::from_value;
use reqwest::{NoProxy, Url};
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use crate::did_you_mean::{Spelling, canonical_names};
use crate::error::Error;

/// The values of environment variables by name; a test has its own.
pub(crate) type Environment<'a> = &'a dyn Fn(&str) -> Option<String>;

/// How requests leave this machine; the option `network`. JSON:
/// `{proxy, no_proxy, ca_file, client_certificate, client_key, roots, resolve}`, all optional; null is the default.
///
/// Holds for all requests of an agent, those for access tokens included. Files and variables are read when the first request
/// that needs them is made, and kept: a file that changed is read again by a new [`Runtime`](crate::Runtime).
///
/// ```
/// use agent_loop::Network;
/// use serde_json::json;
///
/// let network = Network::from_json(json!({ "proxy": false, "ca_file": "/etc/ssl/company.pem", "no_proxy": "localhost" }))?;
/// assert_eq!(network.no_proxy, Some(vec!["localhost".to_owned()]));
/// # Ok::<(), agent_loop::Error>(())
/// ```
#[derive(Clone, Default, PartialEq, Eq, Hash, Deserialize)]
#[serde(default, rename = "strict", deny_unknown_fields)]
#[cfg_attr(not(feature = "__bindings"), non_exhaustive)]
pub struct Network {
    /// Through which proxy: an address, `false` for none, null for what the environment says.
    pub proxy: Proxy,
    /// Hosts that are reached without a proxy, as a list or a text with commas: names (with all names under them), addresses,
    /// networks such as `10.0.0.0/8`, `*` for all. `None`: the variable `no_proxy` or `NO_PROXY`. There is no other exception:
    /// with a proxy, a server on this machine is also asked through it unless it stands here.
    #[serde(deserialize_with = "list_or_text")]
    pub no_proxy: Option<Vec<String>>,
    /// A PEM file with certificates of authorities that are trusted beside `roots`.
    pub ca_file: Option<PathBuf>,
    /// A PEM file with the certificate for servers that request one, and its chain.
    pub client_certificate: Option<PathBuf>,
    /// A PEM file with its private key, without a passphrase; `None` when the key is in the certificate's file.
    pub client_key: Option<PathBuf>,
    /// Which authorities are trusted.
    pub roots: Roots,
    /// Addresses of hosts, instead of asking DNS: `{"api.example.com": "10.0.0.7"}`, or with a port (`"127.0.0.1:8443"`), which
    /// counts when the URL names none; port 0 is none. Names in URLs and certificates stay as they are. For tests and split
    /// networks.
    #[serde(deserialize_with = "addresses")]
    pub resolve: BTreeMap<String, SocketAddr>,
}

/// The proxy that requests go through. JSON: null, `false` or an address.
///
/// ```
/// use agent_loop::network::Proxy;
///
/// let company = Proxy::Address("http://user:password@proxy.example:3128".into());
/// assert!(!format!("{company:?}").contains("password"));
/// ```
#[derive(Clone, Default, PartialEq, Eq, Hash)]
#[cfg_attr(not(feature = "__bindings"), non_exhaustive)]
pub enum Proxy {
    /// As the environment says: `https_proxy` or `http_proxy` after the scheme of the URL, else `all_proxy`, each also in
    /// capitals. `HTTP_PROXY` in capitals does not count in a CGI program, where a client can set it (<https://httpoxy.org>).
    #[default]
    Environment,
    /// None, whatever the environment says.
    Direct,
    /// This one: `http://user:password@proxy.example:3128`; also `https`, `socks5` and `socks5h` (the proxy resolves names).
    Address(String),
}

/// The certificate authorities that are trusted. JSON: the words in small letters.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
#[cfg_attr(not(feature = "__bindings"), non_exhaustive)]
pub enum Roots {
    /// Those of the operating system; on Linux `SSL_CERT_FILE` and `SSL_CERT_DIR` are respected. Where it has none, as in a bare
    /// container, and in a build without the feature `tls-native-roots`, the bundled ones.
    #[default]
    System,
    /// Mozilla's list as it was when this library was built. Needs the feature `tls-bundled-roots`.
    Bundled,
    /// All of them. Needs both features.
    Both,
}

const FIELDS: &[&str] = &["proxy", "no_proxy", "ca_file", "client_certificate", "client_key", "roots", "resolve"];

/// The proxy for the addresses of one scheme.
pub(super) struct Route {
    /// `http` or `https`.
    pub(super) scheme: &'static str,
    /// With user and password.
    pub(super) proxy: Url,
    /// What named it, for messages.
    pub(super) source: String,
}

impl Network {
    /// Reads an object. Null and an empty object are the default.
    ///
    /// # Errors
    /// `invalid_argument`: an unknown or wrong field (names it), an unusable address.
    pub fn from_json(value: Value) -> Result<Network, Error> {
        Network::from_json_spelled(value, Spelling::Snake)
    }

    /// As [`Network::from_json`], with field names as the host's language spells them.
    ///
    /// # Errors
    /// As [`Network::from_json`].
    #[doc(hidden)]
    pub fn from_json_spelled(value: Value, spelling: Spelling) -> Result<Network, Error> {
        let map = match value {
            Value::Null => return Ok(Network::default()),
            Value::Object(map) => map,
            // Without what it is: an address may have a password.
            _ => return Err(Error::invalid_argument("network: expected an object such as {\"proxy\": …, \"ca_file\": …}")),
        };
        let mut map = canonical_names("network field", map, FIELDS, spelling)?;
        map.retain(|_, value| !value.is_null());
        for name in ["ca_file", "client_certificate", "client_key"] {
            if map.get(name).is_some_and(|value| !value.is_string()) {
                return Err(Error::invalid_argument(format!("network: {name}: expected the path of a PEM file")));
            }
        }
        let network: Network = from_value(&Value::Object(map))
            .map_err(|e| Error::invalid_argument(format!("network: {}", words(&e))).with_source(e))?;
        if let Proxy::Address(address) = &network.proxy {
            proxy_url(address, "network: proxy")?;
        }
        if network.client_key.is_some() && network.client_certificate.is_none() {
            return Err(Error::invalid_argument("network: client_key: the client_certificate is missing; give both"));
        }
        Ok(network)
    }

    /// The proxies in force, at most one for each scheme.
    pub(super) fn routes(&self, environment: Environment<'_>) -> Result<Vec<Route>, Error> {
        let mut routes = Vec::new();
        for scheme in ["http", "https"] {
            let (address, source, what) = match &self.proxy {
                Proxy::Direct => continue,
                Proxy::Address(address) => (address.clone(), "network.proxy".to_owned(), "network: proxy".to_owned()),
                Proxy::Environment => match variable(environment, &[scheme, "all"]) {
                    None => continue,
                    Some((name, address)) => (address, name.clone(), format!("the environment variable {name}")),
                },
            };
            routes.push(Route { scheme, proxy: proxy_url(&address, &what)?, source });
        }
        Ok(routes)
    }

    /// What is reached without a proxy. As with curl, the variable also counts for a proxy that was set explicitly.
    pub(super) fn exceptions(&self, environment: Environment<'_>) -> Option<NoProxy> {
        NoProxy::from_string(&self.exceptions_text(environment)?)
    }

    fn exceptions_text(&self, environment: Environment<'_>) -> Option<String> {
        match &self.no_proxy {
            Some(hosts) => Some(hosts.join(",")),
            None => Some(variable(environment, &["no"])?.1),
        }
    }

    /// Whether no proxy sees what is sent to this host over plain http: there is none, or the exceptions name the host itself.
    pub(crate) fn is_direct(&self, host: &str) -> bool {
        let environment: Environment<'_> = &|name| std::env::var(name).ok();
        let has_proxy = !self.routes(environment).is_ok_and(|routes| routes.iter().all(|route| route.scheme != "http"));
        let host = host.trim_matches(['[', ']']);
        !has_proxy
            || self
                .exceptions_text(environment)
                .is_some_and(|text| text.split(',').any(|name| matches!(name.trim(), "*") || name.trim() == host))
    }
}

/// The first of the variables `…_proxy` that is set and not empty: curl's order, small letters first.
fn variable(environment: Environment<'_>, kinds: &[&str]) -> Option<(String, String)> {
    // https://httpoxy.org: a web server gives a CGI program its client's header `Proxy` as HTTP_PROXY.
    let of_a_client = |name: &str| name == "HTTP_PROXY" && environment("REQUEST_METHOD").is_some();
    let names = kinds.iter().map(|kind| format!("{kind}_proxy")).flat_map(|name| [name.clone(), name.to_ascii_uppercase()]);
    names.filter(|name| !of_a_client(name)).find_map(|name| {
        let value = environment(&name)?.trim().to_owned();
        (!value.is_empty()).then_some((name, value))
    })
}

/// A proxy's address; without a scheme it is http. The error does not show it: it may have a password.
fn proxy_url(address: &str, what: &str) -> Result<Url, Error> {
    let address = address.trim();
    let whole = if address.contains("://") { address.to_owned() } else { format!("http://{address}") };
    let known = |url: &Url| matches!(url.scheme(), "http" | "https" | "socks4" | "socks4a" | "socks5" | "socks5h");
    match Url::parse(&whole) {
        Ok(url) if known(&url) && url.has_host() => Ok(url),
        Ok(url) if !known(&url) => {
            Err(Error::invalid_argument(format!("{what}: a proxy speaks http, https or socks5, not {}", url.scheme())))
        }
        _ => Err(Error::invalid_argument(format!(
            "{what}: this is not an address; give one such as \"http://user:password@proxy.example:3128\""
        ))),
    }
}

impl Route {
    /// The proxy without user and password.
    pub(super) fn without_password(&self) -> String {
        let (scheme, host) = (self.proxy.scheme(), self.proxy.host_str().unwrap_or_default());
        self.proxy.port().map_or_else(|| format!("{scheme}://{host}"), |port| format!("{scheme}://{host}:{port}"))
    }
}

impl<'de> Deserialize<'de> for Proxy {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Proxy, D::Error> {
        match Value::deserialize(deserializer)? {
            Value::Null => Ok(Proxy::Environment),
            Value::Bool(false) => Ok(Proxy::Direct),
            Value::String(address) => Ok(Proxy::Address(address)),
            _ => Err(serde::de::Error::custom("proxy: expected an address, or false for none")),
        }
    }
}

impl<'de> Deserialize<'de> for Roots {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Roots, D::Error> {
        let value = Value::deserialize(deserializer)?;
        match value.as_str() {
            Some("system") => Ok(Roots::System),
            Some("bundled") => Ok(Roots::Bundled),
            Some("both") => Ok(Roots::Both),
            _ => Err(serde::de::Error::custom(format!("roots: expected \"system\", \"bundled\" or \"both\", got {value}"))),
        }
    }
}

fn list_or_text<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Vec<String>>, D::Error> {
    let wrong = || serde::de::Error::custom("no_proxy: expected a list of hosts, or a text with commas between them");
    let text = |value: &Value| value.as_str().map(|host| host.trim().to_owned()).ok_or_else(wrong);
    match Value::deserialize(deserializer)? {
        Value::Null => Ok(None),
        Value::String(hosts) => Ok(Some(hosts.split(',').map(|host| host.trim().to_owned()).collect())),
        Value::Array(hosts) => hosts.iter().map(text).collect::<Result<_, _>>().map(Some),
        _ => Err(wrong()),
    }
}

fn addresses<'de, D: Deserializer<'de>>(deserializer: D) -> Result<BTreeMap<String, SocketAddr>, D::Error> {
    let Value::Object(hosts) = Value::deserialize(deserializer)? else {
        return Err(serde::de::Error::custom("resolve: expected an object such as {\"api.example.com\": \"10.0.0.7\"}"));
    };
    let read = |(host, address): (String, Value)| {
        let text = address.as_str().unwrap_or_default();
        let address = SocketAddr::from_str(text).or_else(|_| IpAddr::from_str(text).map(|ip| SocketAddr::new(ip, 0)));
        let wrong = || {
            serde::de::Error::custom(format!(
                "resolve: {host:?}: expected an IP address such as \"10.0.0.7\" or \"10.0.0.7:8443\""
            ))
        };
        if host.is_empty() || host.contains([':', '/']) {
            return Err(serde::de::Error::custom(format!("resolve: {host:?}: expected the name of a host, without a port")));
        }
        address.map(|address| (host.to_ascii_lowercase(), address)).map_err(|_| wrong())
    };
    hosts.into_iter().map(read).collect()
}

impl std::fmt::Debug for Proxy {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Not the address: it may have a password.
        f.write_str(match self {
            Proxy::Environment => "Environment",
            Proxy::Direct => "Direct",
            Proxy::Address(_) => "Address(…)",
        })
    }
}

impl std::fmt::Debug for Network {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Network")
            .field("proxy", &self.proxy)
            .field("ca_file", &self.ca_file)
            .field("roots", &self.roots)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::error::ErrorKind;

    /// The proxies as `scheme → proxy (source)`.
    fn routes(network: Value, variables: &[(&str, &str)]) -> Vec<String> {
        let environment = |name: &str| variables.iter().find(|(n, _)| *n == name).map(|(_, value)| (*value).to_owned());
        let routes = Network::from_json(network).unwrap().routes(&environment).unwrap();
        routes.iter().map(|route| format!("{} → {} ({})", route.scheme, route.without_password(), route.source)).collect()
    }

    #[test]
    fn the_environment_s_proxies_count_in_curl_s_order() {
        assert_eq!(routes(json!({}), &[]), [""; 0]);
        let all = [("ALL_PROXY", "socks5://all:1"), ("HTTPS_PROXY", "upper:2"), ("https_proxy", "http://u:p@lower:3")];
        assert_eq!(routes(json!({}), &all), ["http → socks5://all:1 (ALL_PROXY)", "https → http://lower:3 (https_proxy)"]);
        assert_eq!(
            routes(json!({}), &[("https_proxy", " "), ("HTTPS_PROXY", "upper:2")]),
            ["https → http://upper:2 (HTTPS_PROXY)"]
        );
        assert_eq!(routes(json!({ "proxy": false }), &all), [""; 0]);
        let own = ["http → https://own (network.proxy)", "https → https://own (network.proxy)"];
        assert_eq!(routes(json!({ "proxy": "https://own:443" }), &all), own);
    }

    #[test]
    fn a_cgi_program_s_client_cannot_choose_the_proxy() {
        let given = [("REQUEST_METHOD", "GET"), ("HTTP_PROXY", "evil:1")];
        assert_eq!(routes(json!({}), &given), [""; 0]);
        let own = [given[0], given[1], ("http_proxy", "good:1")];
        assert_eq!(routes(json!({}), &own), ["http → http://good:1 (http_proxy)"]);
    }

    #[test]
    fn names_are_understood_in_the_host_s_spelling_and_null_is_the_default() {
        let given =
            json!({ "caFile": "a.pem", "noProxy": "one, .two", "proxy": null, "roots": null, "resolve": { "Host": "::1" } });
        let network = Network::from_json_spelled(given, Spelling::Camel).unwrap();
        assert_eq!(network.ca_file, Some(PathBuf::from("a.pem")));
        assert_eq!(network.no_proxy, Some(vec!["one".to_owned(), ".two".to_owned()]));
        assert_eq!((network.proxy, network.roots), (Proxy::Environment, Roots::System));
        assert_eq!(network.resolve["host"], "[::1]:0".parse().unwrap());
        assert_eq!(Network::from_json(Value::Null).unwrap(), Network::default());
    }

    #[test]
    fn what_cannot_be_used_is_refused_and_passwords_are_not_printed() {
        for (given, message) in [
            (json!("http://u:secret@p"), "network: expected an object such as {\"proxy\": …, \"ca_file\": …}"),
            (
                json!({ "ca": "x" }),
                "unknown network field \"ca\"; known are proxy, no_proxy, ca_file, client_certificate, client_key, roots, \
                 resolve",
            ),
            (json!({ "noproxy": "x" }), "unknown network field \"noproxy\"; did you mean \"no_proxy\"?"),
            (json!({ "proxy": true }), "network: proxy: expected an address, or false for none"),
            (json!({ "proxy": "ftp://u:secret@p" }), "network: proxy: a proxy speaks http, https or socks5, not ftp"),
            (
                json!({ "proxy": "http://u:secret@" }),
                "network: proxy: this is not an address; give one such as \"http://user:password@proxy.example:3128\"",
            ),
            (json!({ "no_proxy": 1 }), "network: no_proxy: expected a list of hosts, or a text with commas between them"),
            (json!({ "ca_file": ["secret"] }), "network: ca_file: expected the path of a PEM file"),
            (json!({ "client_key": "k" }), "network: client_key: the client_certificate is missing; give both"),
            (json!({ "roots": "sys" }), "network: roots: expected \"system\", \"bundled\" or \"both\", got \"sys\""),
            (
                json!({ "resolve": { "a": "b" } }),
                "network: resolve: \"a\": expected an IP address such as \"10.0.0.7\" or \"10.0.0.7:8443\"",
            ),
            (
                json!({ "resolve": { "a:443": "::1" } }),
                "network: resolve: \"a:443\": expected the name of a host, without a port",
            ),
        ] {
            let error = Network::from_json(given).unwrap_err();
            assert_eq!((error.kind(), error.message()), (ErrorKind::InvalidArgument, message));
        }
        let network = Network::from_json(json!({ "proxy": "http://u:secret@p" })).unwrap();
        assert!(!format!("{network:?}").contains("secret"));
        let error =
            Network::default().routes(&|name| (name == "http_proxy").then(|| "http://u:secret@:x".to_owned())).err().unwrap();
        let start = "the environment variable http_proxy: this is not an address";
        assert!(error.message().starts_with(start) && !error.message().contains("secret"), "{error}");
    }
}
