//! The loss process, which decides the fate of packets that the capture does not hold.
