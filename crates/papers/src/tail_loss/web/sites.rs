//! The three sites of §3.3.
//!
//! The paper gives their numbers of objects and mean sizes: 12 objects of 24 kB, 44 of 52 kB and 164 of 25 kB. It does
//! not give the sizes of the objects, and its recordings are not available. Ours are files of this crate (`sites/NAME.toml`,
//! as `--site` reads them), which say how their sizes were drawn. kB is 1000 bytes. The HTML document is one of the objects. All
//! objects have one subdomain.

use crate::prelude::*;
use recoup_lab::website::parse_site;
use recoup_sim::traffic::web::Page;

/// A site of the paper: its name, objects, their mean size in bytes, and the file.
pub const SITES: [(&str, u64, u64, &str); 3] = [
    ("telephony", 12, 24_000, include_str!("../../../sites/telephony.toml")),
    ("classified", 44, 52_000, include_str!("../../../sites/classified.toml")),
    ("newspaper", 164, 25_000, include_str!("../../../sites/newspaper.toml")),
];

/// The pages of the paper's sites.
///
/// # Errors
/// Never with the committed files: a test reads them.
pub fn pages() -> Result<Vec<Page>> {
    let page = |(name, _, _, text): (&str, u64, u64, &str)| {
        parse_site(&format!("sites/{name}.toml"), text).map_err(|e| e.to_string().into())
    };
    SITES.into_iter().map(page).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sites_have_the_papers_objects_and_mean_sizes() {
        for (page, (name, objects, mean, _)) in pages().unwrap().iter().zip(SITES) {
            assert_eq!(page.name, name);
            assert_eq!(page.objects.len() as u64, objects);
            assert_eq!(page.bytes(), objects * mean);
            assert!(page.objects.iter().all(|object| object.bytes >= 200 && object.subdomain == 0));
        }
    }
}
