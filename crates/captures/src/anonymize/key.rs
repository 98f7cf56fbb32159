//! The key of a map of addresses.

use sha2::{Digest, Sha256};
use thiserror::Error;

/// Bytes of the shortest secret.
const SHORTEST: usize = 16;

/// A key of 128 bits. Whoever has it can undo the map.
#[derive(Clone)]
pub struct Key([u8; 16]);

/// Why there is no key. Each message follows the name of the secret's file, or stands alone.
#[derive(Debug, Error)]
pub enum KeyError {
    /// The system gives no random numbers.
    #[error("cannot draw a random key: {0}")]
    Random(getrandom::Error),
    /// The secret has fewer bytes than a key.
    #[error("a key of {0} bytes: expected at least {SHORTEST}, as `head -c 32 /dev/urandom` prints")]
    Short(usize),
}

impl std::fmt::Debug for Key {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Key")
    }
}

impl Key {
    /// A key from the system's random numbers.
    ///
    /// # Errors
    /// When it has none.
    pub fn random() -> Result<Self, KeyError> {
        let mut key = [0; 16];
        getrandom::fill(&mut key).map_err(KeyError::Random)?;
        Ok(Self(key))
    }

    /// The key of a secret: random bytes, or a passphrase. A line feed at its end does not count, as editors add one.
    ///
    /// # Errors
    /// If the secret has less than 16 bytes.
    pub fn of_secret(secret: &[u8]) -> Result<Self, KeyError> {
        // Random bytes may end like a line.
        if secret.len() < SHORTEST {
            return Err(KeyError::Short(secret.len()));
        }
        let secret = secret.strip_suffix(b"\n").unwrap_or(secret);
        let secret = secret.strip_suffix(b"\r").unwrap_or(secret);
        let digest = Sha256::new().chain_update(b"recoup anonymize 1\0").chain_update(secret).finalize();
        let mut key = [0; 16];
        key.copy_from_slice(&digest[..16]);
        Ok(Self(key))
    }

    pub(super) const fn bytes(&self) -> &[u8; 16] {
        &self.0
    }
}
