//! The packets inside a chain. A packet stays at one place in memory from entering to leaving, and hops
//! pass on its key. So a large packet is moved twice, however many hops there are.

use crate::hop::Carried;

/// Identifies a packet in the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PacketKey(usize);

impl PacketKey {
    /// No place: the packet is not in the store.
    pub const NOWHERE: Self = Self(usize::MAX);
}

#[derive(Debug)]
pub(crate) struct PacketStore<P> {
    places: Vec<Option<Carried<P>>>,
    free: Vec<PacketKey>,
}

impl<P> Default for PacketStore<P> {
    fn default() -> Self {
        Self { places: Vec::new(), free: Vec::new() }
    }
}

impl<P> PacketStore<P> {
    /// Discards all packets.
    pub fn clear(&mut self) {
        self.places.clear();
        self.free.clear();
    }

    pub fn put(&mut self, carried: Carried<P>) -> PacketKey {
        match self.free.pop() {
            Some(place) => {
                self.places[place.0] = Some(carried);
                place
            }
            None => {
                self.places.push(Some(carried));
                PacketKey(self.places.len() - 1)
            }
        }
    }

    /// All packets, by place.
    pub fn iter(&self) -> impl Iterator<Item = &Carried<P>> {
        self.places.iter().flatten()
    }

    pub fn get_mut(&mut self, place: PacketKey) -> Option<&mut Carried<P>> {
        self.places[place.0].as_mut()
    }

    pub fn take(&mut self, place: PacketKey) -> Option<Carried<P>> {
        let carried = self.places[place.0].take();
        if carried.is_some() {
            self.free.push(place);
        }
        carried
    }
}
