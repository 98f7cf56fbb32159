//! Requests that only tests need.

use super::*;
use netlink_packet_route::link::{InfoData, InfoKind, InfoVeth, LinkInfo, Stats64};
use std::os::fd::{AsRawFd, BorrowedFd};

impl Netlink {
    /// Makes a pair of connected Ethernet interfaces with these names and addresses; the second one in another namespace,
    /// if one is given.
    pub fn add_veth(&mut self, ends: [(&str, [u8; 6]); 2], other: Option<BorrowedFd<'_>>) -> Result<(), NetError> {
        let [near, far] = ends.map(|(name, address)| {
            let mut message = LinkMessage::default();
            message.attributes = vec![LinkAttribute::IfName(name.into()), LinkAttribute::Address(address.to_vec())];
            message
        });
        let mut peer = far;
        peer.attributes.extend(other.map(|namespace| LinkAttribute::NetNsFd(namespace.as_raw_fd())));
        let mut message = near;
        message.attributes.push(LinkAttribute::LinkInfo(vec![
            LinkInfo::Kind(InfoKind::Veth),
            LinkInfo::Data(InfoData::Veth(InfoVeth::Peer(peer))),
        ]));
        self.ask("make interfaces", RouteNetlinkMessage::NewLink(message), NLM_F_CREATE | NLM_F_EXCL)
    }

    pub fn delete(&mut self, index: u32) -> Result<(), NetError> {
        let mut message = LinkMessage::default();
        message.header.index = index;
        self.ask("delete an interface", RouteNetlinkMessage::DelLink(message), 0)
    }

    pub fn bring_down(&mut self, index: u32) -> Result<(), NetError> {
        let mut message = LinkMessage::default();
        message.header.index = index;
        message.header.change_mask = LinkFlags::Up;
        self.ask("bring an interface down", RouteNetlinkMessage::SetLink(message), 0)
    }

    /// What the kernel counted at an interface.
    pub fn counters(&mut self, index: u32) -> Result<Stats64, NetError> {
        let mut found = Stats64::default();
        self.dump("read counters", RouteNetlinkMessage::GetLink(LinkMessage::default()), |answer| {
            if let RouteNetlinkMessage::NewLink(message) = answer
                && message.header.index == index
            {
                let stats = message.attributes.iter().find_map(|a| match a {
                    LinkAttribute::Stats64(stats) => Some(*stats),
                    _ => None,
                });
                found = stats.unwrap_or_default();
            }
        })?;
        Ok(found)
    }
}
