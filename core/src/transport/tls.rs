//! Secure connections: which authorities are trusted, and the client certificate.

use std::path::Path;
use std::sync::Arc;

use rustls::client::WantsClientCert;
use rustls::client::danger::ServerCertVerifier;
use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::{Error as Pem, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ClientConfig, ConfigBuilder, RootCertStore, WantsVerifier};
#[cfg(feature = "tls-native-roots")]
use rustls_platform_verifier::Verifier;

use super::network::{Network, Roots};
use crate::error::{Error, ErrorKind};
use crate::log::{Log, LogRecord};
use agent_loop_proto::table::logs;

/// Mozilla's list, where it is built in.
const BUNDLED: Option<&[CertificateDer<'static>]> = {
    #[cfg(feature = "tls-bundled-roots")]
    {
        Some(webpki_root_certs::TLS_SERVER_ROOT_CERTS)
    }
    #[cfg(not(feature = "tls-bundled-roots"))]
    {
        None
    }
};

/// For addresses that are not https: trusts no authority and costs nothing to set up.
pub(super) fn none() -> Result<ClientConfig, Error> {
    Ok(builder()?.with_root_certificates(RootCertStore::empty()).with_no_client_auth())
}

/// For https.
pub(crate) fn secure(network: &Network, log: &Log) -> Result<ClientConfig, Error> {
    let own = match &network.ca_file {
        Some(path) => certificates("ca_file", path)?,
        None => Vec::new(),
    };
    let builder = with_roots(network, own, log)?;
    let Some(path) = &network.client_certificate else {
        return Ok(builder.with_no_client_auth());
    };
    let key_path = network.client_key.as_ref().unwrap_or(path);
    let key_name = if network.client_key.is_some() { "client_key" } else { "client_certificate" };
    let key = private_key(key_name, key_path)?;
    builder
        .with_client_auth_cert(certificates("client_certificate", path)?, key)
        .map_err(|e| tls(format!("network: client_certificate {path:?} with the key in {key_path:?} cannot be used: {e}")))
}

/// A configuration that trusts the network's roots and the authorities of `ca_file`.
fn with_roots(
    network: &Network,
    own: Vec<CertificateDer<'static>>,
    log: &Log,
) -> Result<ConfigBuilder<ClientConfig, WantsClientCert>, Error> {
    let builder = builder()?;
    let system_and = |further| {
        let verifier = system_verifier(Arc::clone(builder.crypto_provider()), further);
        verifier.map(Some).map_err(|e| unusable_roots(network, &e))
    };
    let verifier = match network.roots {
        Roots::Both => system_and(own.iter().chain(bundled("both")?).cloned().collect())?,
        Roots::Bundled => bundled("bundled").map(|_| None)?,
        Roots::System if !cfg!(feature = "tls-native-roots") => None,
        Roots::System => match system_verifier(Arc::clone(builder.crypto_provider()), Vec::new()) {
            Ok(verifier) if own.is_empty() => Some(verifier),
            Ok(_) => system_and(own.clone())?,
            // The system has no authorities at all: a container without `ca-certificates`, say.
            Err(why) => {
                if BUNDLED.is_some() {
                    let what = "the system has no certificate authorities, the bundled ones are used";
                    log.write(logs::BUNDLED_ROOTS, |code| LogRecord::new(code, what).because(tls(why.to_string())));
                }
                None
            }
        },
    };
    if let Some(verifier) = verifier {
        // "Dangerous" would be a verifier of our own; this one asks the operating system.
        return Ok(builder.dangerous().with_custom_certificate_verifier(verifier));
    }
    if BUNDLED.is_none() && own.is_empty() {
        return Err(tls(match cfg!(feature = "tls-native-roots") {
            true => {
                "the system has no certificate authorities; install its package ca-certificates, set network.ca_file, or enable \
                     the feature tls-bundled-roots of agent-loop"
            }
            false => {
                "this build trusts no certificate authority: enable the feature tls-native-roots or tls-bundled-roots of \
                      agent-loop, or set network.ca_file"
            }
        }
        .to_owned()));
    }
    let mut store = RootCertStore::empty();
    store.add_parsable_certificates(BUNDLED.unwrap_or_default().iter().cloned());
    for certificate in own {
        store.add(certificate).map_err(|e| unusable_roots(network, &e))?;
    }
    Ok(builder.with_root_certificates(store))
}

/// The bundled authorities, for roots that ask for them.
fn bundled(roots: &str) -> Result<&'static [CertificateDer<'static>], Error> {
    let lacks = |feature: &str| tls(format!("network: roots: {roots:?} needs the feature {feature} of agent-loop, which is off"));
    match BUNDLED {
        None => Err(lacks("tls-bundled-roots")),
        Some(_) if roots == "both" && !cfg!(feature = "tls-native-roots") => Err(lacks("tls-native-roots")),
        Some(bundled) => Ok(bundled),
    }
}

/// Asks the operating system, and trusts these authorities beside its own.
#[cfg(feature = "tls-native-roots")]
fn system_verifier(
    provider: Arc<CryptoProvider>,
    further: Vec<CertificateDer<'static>>,
) -> Result<Arc<dyn ServerCertVerifier>, rustls::Error> {
    match further.is_empty() {
        true => Ok(Arc::new(Verifier::new(provider)?)),
        false => Ok(Arc::new(Verifier::new_with_extra_roots(further, provider)?)),
    }
}

/// Not reached: without the feature, roots that need the system's are refused, or the bundled ones are used.
#[cfg(not(feature = "tls-native-roots"))]
fn system_verifier(
    _: Arc<CryptoProvider>,
    _: Vec<CertificateDer<'static>>,
) -> Result<Arc<dyn ServerCertVerifier>, rustls::Error> {
    Err(rustls::Error::General("this build does not read the system's certificate authorities".to_owned()))
}

fn builder() -> Result<ConfigBuilder<ClientConfig, WantsVerifier>, Error> {
    // A configuration of our own: a library must not install a process-wide provider.
    ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|e| tls(format!("TLS cannot be set up: {e}")))
}

fn unusable_roots(network: &Network, why: &rustls::Error) -> Error {
    match &network.ca_file {
        Some(path) => tls(format!("network: ca_file {path:?} has a certificate that cannot be used: {why}")),
        None => tls(format!("the certificate authorities cannot be used: {why}")),
    }
}

fn certificates(option: &str, path: &Path) -> Result<Vec<CertificateDer<'static>>, Error> {
    let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&read(option, path)?).collect();
    match found {
        Ok(found) if found.is_empty() => Err(tls(format!(
            "network: {option} {path:?} has no certificate; expected a PEM file with -----BEGIN CERTIFICATE-----"
        ))),
        found => found.map_err(|e| not_pem(option, path, &e)),
    }
}

fn private_key(option: &str, path: &Path) -> Result<PrivateKeyDer<'static>, Error> {
    PrivateKeyDer::from_pem_slice(&read(option, path)?).map_err(|e| match e {
        Pem::NoItemsFound => tls(format!(
            "network: {option} {path:?} has no private key; expected a PEM file with -----BEGIN PRIVATE KEY----- (not encrypted)"
        )),
        _ => not_pem(option, path, &e),
    })
}

/// The error of a file that cannot be read as PEM. Not in the error's own words: they may quote a line of a key, which may also
/// be in the certificate's file.
fn not_pem(option: &str, path: &Path, why: &Pem) -> Error {
    let why = match why {
        Pem::IllegalSectionStart { .. } => "a -----BEGIN line is broken",
        Pem::MissingSectionEnd { .. } => "an -----END line is missing",
        Pem::Base64Decode(_) => "what stands between the lines is not base64",
        _ => "it cannot be read",
    };
    tls(format!("network: {option} {path:?} is not a PEM file: {why}"))
}

fn read(option: &str, path: &Path) -> Result<Vec<u8>, Error> {
    std::fs::read(path)
        .map_err(|e| Error::new(ErrorKind::Io, format!("network: {option} {path:?}: cannot be read: {e}")).with_source(e))
}

fn tls(message: String) -> Error {
    Error::new(ErrorKind::Tls, message)
}
