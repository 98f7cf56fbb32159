//! What happens in a row.

use super::{Duration, Network, choices::Choices, path::Weather, settings, verdict::Summary};

impl Network {
    /// Takes as many steps as there are choices, `most` at most, ends all connections, and checks everything.
    pub fn play(mut self, choices: &mut Choices<'_>, most: usize) -> Summary {
        for _ in 0..most {
            if choices.is_over() {
                break;
            }
            self.act(choices);
        }
        self.finish()
    }

    fn act(&mut self, choices: &mut Choices<'_>) {
        match choices.below(16) {
            0..=4 => {
                let from = choices.below(self.nodes.len() as u32) as usize;
                for _ in 0..=choices.below(32) {
                    if self.ends.len() < self.most {
                        self.connect(choices, from);
                    }
                }
            }
            5..=8 => self.run(Duration::from_millis(choices.one(&[100, 1, 10, 1000, 5000]))),
            9 => self.path.weather = Weather::any(choices),
            10 => (0..=choices.below(16)).for_each(|_| self.forge(choices)),
            11 => self.change_link(choices),
            12 => (0..=choices.below(8)).for_each(|_| self.interfere(choices)),
            13 => (0..=choices.below(4)).for_each(|_| self.send_datagram(choices)),
            14 => self.change_listeners(choices),
            _ => {
                for end in 0..self.ends.len() {
                    if self.draws.chance(64) {
                        self.serve(end, true);
                    }
                }
            }
        }
        self.settle();
    }

    /// A link takes shorter packets, or longer ones.
    fn change_link(&mut self, choices: &mut Choices<'_>) {
        let number = choices.below(self.nodes.len() as u32) as usize;
        if choices.chance(128) {
            self.path.mtus[number] = choices.one(&[u16::MAX, 1500, 1400, 1280, 576]);
            return;
        }
        let node = &mut self.nodes[number];
        node.mtu = settings::mtu(choices);
        node.host.set_mtu(self.now, node.mtu);
    }

    /// Applications accept nothing for a while, or listeners end and begin.
    fn change_listeners(&mut self, choices: &mut Choices<'_>) {
        let number = choices.below(self.nodes.len() as u32) as usize;
        let node = &mut self.nodes[number];
        if choices.chance(200) {
            node.accepts = !node.accepts;
            return self.accept(number);
        }
        let place = choices.below(node.listeners.len() as u32) as usize;
        let Some(local) = node.host.listens_at(node.listeners[place]) else {
            return;
        };
        let mut options = settings::options(choices);
        options.decide_first = choices.chance(60);
        node.host.stop_listening(node.listeners[place]);
        node.listeners[place] = node.host.listen_with(local, &options).expect("a free port");
        let refused: Vec<_> = self.ends.iter().filter(|end| end.path.dst == local).map(|end| end.path).collect();
        for path in refused {
            self.excuse(path);
        }
    }
}
