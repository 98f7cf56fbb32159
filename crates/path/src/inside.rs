//! The packets inside a chain. Each stays where it was put on entering until it leaves; hops and
//! exits pass its place on, so that a large packet is moved twice however many hops there are.

use crate::hop::Carried;

/// Where a packet is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place(usize);

#[derive(Debug)]
pub(crate) struct Inside<P> {
    places: Vec<Option<Carried<P>>>,
    free: Vec<Place>,
}

impl<P> Default for Inside<P> {
    fn default() -> Self {
        Self {
            places: Vec::new(),
            free: Vec::new(),
        }
    }
}

impl<P> Inside<P> {
    /// Forgets all packets.
    pub fn clear(&mut self) {
        self.places.clear();
        self.free.clear();
    }

    pub fn put(&mut self, carried: Carried<P>) -> Place {
        match self.free.pop() {
            Some(place) => {
                self.places[place.0] = Some(carried);
                place
            }
            None => {
                self.places.push(Some(carried));
                Place(self.places.len() - 1)
            }
        }
    }

    pub fn get_mut(&mut self, place: Place) -> Option<&mut Carried<P>> {
        self.places[place.0].as_mut()
    }

    pub fn take(&mut self, place: Place) -> Option<Carried<P>> {
        let carried = self.places[place.0].take();
        if carried.is_some() {
            self.free.push(place);
        }
        carried
    }
}
