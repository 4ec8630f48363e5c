//! `--addr` and `--http`: where to listen.

use std::net::{Ipv4Addr, SocketAddr};

/// An address and a port; `localhost` is that of this machine, whatever a resolver would say.
pub fn parse(typed: &str) -> Result<SocketAddr, String> {
    let localhost = || {
        let port = typed.strip_prefix("localhost:")?.parse().ok()?;
        Some(SocketAddr::from((Ipv4Addr::LOCALHOST, port)))
    };
    typed.parse().ok().or_else(localhost).ok_or_else(|| {
        "expected an address of this machine and a port, such as 127.0.0.1:8765, localhost:8765 or \
         [::1]:8765; 0.0.0.0:8765 listens at all addresses"
            .to_owned()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn localhost_is_this_machine_and_other_names_are_no_addresses() {
        assert_eq!(parse("localhost:8765").unwrap(), "127.0.0.1:8765".parse().unwrap());
        assert_eq!(parse("[::1]:0").unwrap(), "[::1]:0".parse().unwrap());
        for wrong in ["localhost", "localhost:99999", "example.org:80", "8765", ""] {
            assert!(parse(wrong).unwrap_err().contains("localhost:8765"), "{wrong}");
        }
    }
}
