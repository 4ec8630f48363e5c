//! Decides which IP addresses may be called for an entry of the servers file.
//!
//! An address from a document or from another program's configuration must not reach this machine,
//! its network or a cloud's metadata service. The check applies to the resolved IP address and not
//! to the name, because a name can resolve to another address each time.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::servers::Remote;

/// Which addresses an entry of the servers file may reach.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reach {
    /// Any address: `"allowPrivate": true`.
    Anywhere,
    /// This machine and its network as well, but no metadata service: the user wrote the address
    /// into the servers file.
    NoMetadata,
    /// Only public addresses: `"allowPrivate": false`, which `toolroute import` writes, and
    /// addresses that an API description names.
    PublicOnly,
}

impl Reach {
    pub fn of(remote: &Remote) -> Self {
        match remote.allow_private {
            Some(true) => Self::Anywhere,
            Some(false) => Self::PublicOnly,
            None if remote.url.is_empty() => Self::PublicOnly,
            None => Self::NoMetadata,
        }
    }

    pub fn admits(self, address: IpAddr) -> bool {
        match self {
            Self::Anywhere => true,
            Self::NoMetadata => !is_metadata(inner(address)),
            Self::PublicOnly => !is_private(address),
        }
    }

    /// Rejects a host that is a forbidden IP address. Names are checked when they are resolved.
    pub fn check_host(self, host: &str) -> Result<(), String> {
        match literal(host) {
            Some(address) if !self.admits(address) => Err(refusal(host)),
            _ => Ok(()),
        }
    }

    /// Resolves a name to those of its addresses that may be called. Having none is an error.
    pub fn resolve(self, host: &str) -> Result<Vec<IpAddr>, String> {
        use std::net::ToSocketAddrs as _;

        let found = (host, 0).to_socket_addrs().map_err(|error| format!("{host}: {error}"))?;
        let admitted: Vec<IpAddr> =
            found.map(|found| found.ip()).filter(|address| self.admits(*address)).collect();
        if admitted.is_empty() { Err(refusal(host)) } else { Ok(admitted) }
    }
}

/// Returns the IP address that a URL's host is, if it is no name.
pub(super) fn literal(host: &str) -> Option<IpAddr> {
    host.trim_start_matches('[').trim_end_matches(']').parse().ok()
}

fn refusal(host: &str) -> String {
    format!(
        "expected a public address, found {host}, which is of this machine, its network or a \
         metadata service; write \"allowPrivate\": true into the server's entry if that is meant"
    )
}

/// Returns the IPv4 address that an IPv6 address embeds (mapped, compatible, NAT64 or 6to4). Other
/// addresses are returned unchanged.
fn inner(address: IpAddr) -> IpAddr {
    let IpAddr::V6(v6) = address else { return address };
    let segments = v6.segments();
    let v4 = |high: u16, low: u16| {
        let ([a, b], [c, d]) = (high.to_be_bytes(), low.to_be_bytes());
        IpAddr::V4(Ipv4Addr::new(a, b, c, d))
    };
    match segments {
        [0, 0, 0, 0, 0, 0xffff, high, low] | [0x64, 0xff9b, 0, 0, 0, 0, high, low] => v4(high, low),
        [0, 0, 0, 0, 0, 0, high, low] if high != 0 => v4(high, low),
        [0x2002, high, low, ..] => v4(high, low),
        _ => address,
    }
}

/// Whether the address belongs to a cloud's metadata service, which hands out credentials: the
/// link-local range, and the addresses of AWS over IPv6 and of Alibaba.
fn is_metadata(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(v4) => v4.is_link_local() || v4 == Ipv4Addr::new(100, 100, 100, 200),
        IpAddr::V6(v6) => {
            v6.is_unicast_link_local() || v6 == Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254)
        }
    }
}

/// Whether the address is outside the public internet, by IANA's special-purpose registries.
fn is_private(address: IpAddr) -> bool {
    match inner(address) {
        IpAddr::V4(v4) => {
            let [a, b, c, _] = v4.octets();
            v4.is_private()
                || v4.is_loopback()
                || v4.is_link_local()
                || v4.is_broadcast()
                || v4.is_multicast()
                || v4.is_documentation()
                || matches!(
                    (a, b, c),
                    (0 | 240..=255, ..) | (100, 64..=127, _) | (192, 0, 0) | (198, 18 | 19, _)
                )
        }
        IpAddr::V6(v6) => {
            let [first, second, ..] = v6.segments();
            v6.is_loopback()
                || v6.is_unspecified()
                || v6.is_unique_local()
                || v6.is_unicast_link_local()
                || v6.is_multicast()
                || (0xfec0..=0xfeff).contains(&first)
                || (first, second) == (0x2001, 0xdb8)
                || first == 0x100
                // Local NAT64: its operator decides what it maps to.
                || v6.segments()[..3] == [0x64, 0xff9b, 1]
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reach(url: &str, allow_private: Option<bool>) -> Reach {
        Reach::of(&Remote { url: url.to_owned(), allow_private, ..Remote::default() })
    }

    #[test]
    fn private_addresses_in_every_disguise_are_refused() {
        let private = "127.0.0.1 10.1.2.3 172.16.0.1 192.168.1.1 169.254.169.254 0.0.0.0 100.64.0.1 \
            198.18.0.1 224.0.0.1 255.255.255.255 [::1] [::] [fd00::1] [fe80::1] \
            [::ffff:127.0.0.1] [64:ff9b::a00:1] [2002:7f00:1::] [::7f00:1] [fd00:ec2::254] \
            [64:ff9b:1::1]";
        for host in private.split(' ') {
            assert!(Reach::PublicOnly.check_host(host).is_err(), "{host}");
        }
        for host in "8.8.8.8 1.1.1.1 [2606:4700::1111] [64:ff9b::808:808] example.org".split(' ') {
            assert_eq!(Reach::PublicOnly.check_host(host), Ok(()));
        }
        assert!(Reach::PublicOnly.resolve("localhost").is_err());
        assert!(!Reach::NoMetadata.resolve("localhost").unwrap().is_empty());
    }

    #[test]
    fn what_the_user_wrote_counts_but_for_metadata() {
        assert_eq!(reach("http://localhost:1", None), Reach::NoMetadata);
        assert_eq!(reach("", None), Reach::PublicOnly);
        assert_eq!(reach("http://localhost:1", Some(false)), Reach::PublicOnly);
        for host in ["169.254.169.254", "[::ffff:169.254.169.254]", "100.100.100.200"] {
            assert!(Reach::NoMetadata.check_host(host).is_err(), "{host}");
            assert!(reach("x", Some(true)).check_host(host).is_ok());
        }
        assert!(Reach::NoMetadata.check_host("192.168.1.1").is_ok());
    }
}
