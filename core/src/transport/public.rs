//! Which addresses are public: not those of this machine, of its network, or of services for the machine itself.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::error::Error;

/// Whether it is an address of the internet, of one machine.
/// <https://www.iana.org/assignments/iana-ipv4-special-registry>, <https://www.iana.org/assignments/iana-ipv6-special-registry>
pub(crate) fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => is_public_v6(address),
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    let [a, b, c, d] = address.octets();
    let special = match (a, b, c) {
        (0 | 10 | 127, ..) => true,
        // Shared by the customers of a provider; a metadata server, too.
        (100, 64..=127, _) => true,
        (169, 254, _) | (172, 16..=31, _) | (192, 168, _) | (198, 18 | 19, _) => true,
        (192, 0, 0 | 2) | (192, 88, 99) | (198, 51, 100) | (203, 0, 113) => true,
        // The metadata server of Azure has an address like any other.
        (168, 63, 129) => d == 16,
        (224.., ..) => true,
        _ => false,
    };
    !special
}

fn is_public_v6(address: Ipv6Addr) -> bool {
    let of_two = |high: u16, low: u16| is_public_v4(Ipv4Addr::from((u32::from(high) << 16) | u32::from(low)));
    match address.segments() {
        // Those of IPv4, as they are, and behind a translator.
        [0, 0, 0, 0, 0, 0xffff, high, low] | [0x64, 0xff9b, 0, 0, 0, 0, high, low] => of_two(high, low),
        // 6to4 has the address of its gateway.
        [0x2002, high, low, ..] => of_two(high, low),
        // Teredo and other protocols; for documentation.
        [0x2001, 0..=0x1ff, ..] | [0x2001, 0xdb8, ..] | [0x3fff, 0..=0xfff, ..] => false,
        [first, ..] => first & 0xe000 == 0x2000,
    }
}

/// The error of a host that leads to an address that is not public.
pub(crate) fn refused(host: &str, address: IpAddr) -> Error {
    let address = if address.to_string() == host.trim_matches(['[', ']']) { String::new() } else { format!(" ({address})") };
    Error::invalid_argument(format!(
        "{host} is an address of this machine or of a private network{address}, which is not asked; the user can allow it with \
         private_addresses of the option builtin_tools"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn special_addresses_are_not_public() {
        let is = |address: &str| is_public(address.parse().expect("an address"));
        for address in [
            "0.0.0.0",
            "10.1.2.3",
            "127.0.0.1",
            "127.9.9.9",
            "100.64.0.1",
            "100.100.100.200",
            "169.254.169.254",
            "172.16.0.1",
            "172.31.255.255",
            "192.168.1.1",
            "192.0.0.192",
            "192.0.2.1",
            "198.18.0.1",
            "168.63.129.16",
            "224.0.0.1",
            "255.255.255.255",
            "240.0.0.1",
            "::",
            "::1",
            "fe80::1",
            "fc00::1",
            "fd00:ec2::254",
            "ff02::1",
            "fec0::1",
            "::ffff:127.0.0.1",
            "::ffff:10.0.0.1",
            "64:ff9b::7f00:1",
            "64:ff9b:1::1",
            "2002:7f00:1::1",
            "2002:a00:1::1",
            "2001::1",
            "2001:db8::1",
            "100::1",
            "::127.0.0.1",
            "3fff::1",
        ] {
            assert!(!is(address), "{address}");
        }
        for address in [
            "1.1.1.1",
            "8.8.8.8",
            "100.63.0.1",
            "100.128.0.1",
            "172.15.0.1",
            "172.32.0.1",
            "168.63.129.17",
            "192.169.0.1",
            "223.255.255.1",
            "2606:4700::1111",
            "2a00::1",
            "64:ff9b::808:808",
            "::ffff:8.8.8.8",
            "2002:808:808::1",
        ] {
            assert!(is(address), "{address}");
        }
    }
}
