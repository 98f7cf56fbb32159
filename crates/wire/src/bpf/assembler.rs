//! Builds programs with labels.

use super::{Instruction, LONGEST, code};

/// A place in a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Label(usize);

/// Builds a program, instruction by instruction.
///
/// A conditional jump reaches 255 instructions, and the jump without a condition any distance. The assembler puts
/// the latter behind a conditional jump whose label is too far away.
///
/// ```
/// use recoup_wire::bpf::{Assembler, code, run};
///
/// let mut program = Assembler::default();
/// let (accept, drop) = (program.label(), program.label());
/// program.push(code::LOAD_HALF, 12);
/// program.branch(code::IF_EQUAL, 0x0800, accept, drop);
/// program.place(accept);
/// program.push(code::RETURN, 256);
/// program.place(drop);
/// program.push(code::RETURN, 0);
/// let program = program.finish().ok_or("too long")?;
///
/// let mut frame = [0; 60];
/// frame[12] = 8;
/// assert_eq!(run(&program, &frame, 0)?, 256);
/// frame[13] = 6;
/// assert_eq!(run(&program, &frame, 0)?, 0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Assembler {
    steps: Vec<Step>,
    /// For each label, the index of the step that it stands before.
    labels: Vec<Option<usize>>,
}

#[derive(Clone, Copy, Debug)]
enum Step {
    Plain(Instruction),
    Branch { code: u16, k: u32, yes: Label, no: Label },
    Jump(Label),
}

impl Assembler {
    /// A new label, to be [placed](Self::place) behind all jumps to it.
    pub fn label(&mut self) -> Label {
        self.labels.push(None);
        Label(self.labels.len() - 1)
    }

    /// Places a label before the next instruction.
    pub fn place(&mut self, label: Label) {
        let next = self.steps.len();
        if let Some(place) = self.labels.get_mut(label.0) {
            *place = Some(next);
        }
    }

    /// Adds an instruction that is no jump.
    pub fn push(&mut self, code: u16, k: u32) {
        self.steps.push(Step::Plain(Instruction { code, jt: 0, jf: 0, k }));
    }

    /// Adds a jump to `yes` if the condition `code` holds for A and `k`, and to `no` otherwise.
    pub fn branch(&mut self, code: u16, k: u32, yes: Label, no: Label) {
        self.steps.push(Step::Branch { code, k, yes, no });
    }

    /// Adds a jump.
    pub fn jump(&mut self, label: Label) {
        self.steps.push(Step::Jump(label));
    }

    /// The program. `None` if it is longer than the kernel takes, or if a label is not placed behind a jump to it.
    pub fn finish(self) -> Option<Vec<Instruction>> {
        // Instructions per step. Steps only grow, so this ends.
        let mut sizes = vec![1; self.steps.len()];
        loop {
            let starts = starts(&sizes);
            if starts.last().is_some_and(|length| *length > LONGEST) {
                return None;
            }
            let mut has_grown = false;
            for (index, step) in self.steps.iter().enumerate() {
                let Step::Branch { yes, no, .. } = step else { continue };
                let [yes, no] = [self.distance(&starts, index, *yes)?, self.distance(&starts, index, *no)?];
                let size = 1 + usize::from(is_far(yes)) + usize::from(is_far(no));
                if size > sizes[index] {
                    sizes[index] = size;
                    has_grown = true;
                }
            }
            if !has_grown {
                return self.encode(&starts);
            }
        }
    }

    fn encode(&self, starts: &[usize]) -> Option<Vec<Instruction>> {
        let mut program = Vec::with_capacity(LONGEST.min(self.steps.len()));
        for (index, step) in self.steps.iter().enumerate() {
            let distance = |label| self.distance(starts, index, label);
            let jump = |skipped: usize| Instruction { code: code::JUMP, jt: 0, jf: 0, k: skipped as u32 };
            match *step {
                Step::Plain(instruction) => program.push(instruction),
                Step::Jump(label) => program.push(jump(distance(label)?)),
                Step::Branch { code, k, yes, no } => {
                    // A condition that cannot reach its target reaches a jump to it. The distances count from the end of
                    // the step.
                    let ends = [distance(yes)?, distance(no)?];
                    let far: Vec<_> = ends.into_iter().filter(|end| is_far(*end)).collect();
                    let skipped = ends.map(|end| match far.iter().position(|target| *target == end) {
                        Some(place) => place,
                        None => end + far.len(),
                    });
                    let [jt, jf] = [u8::try_from(skipped[0]).ok()?, u8::try_from(skipped[1]).ok()?];
                    program.push(Instruction { code, jt, jf, k });
                    let jumps = far.iter().enumerate().map(|(place, target)| jump(target + far.len() - 1 - place));
                    program.extend(jumps);
                }
            }
        }
        Some(program)
    }

    /// How many instructions are between the step at `index` and the label behind it.
    fn distance(&self, starts: &[usize], index: usize, label: Label) -> Option<usize> {
        let target = (*self.labels.get(label.0)?)?;
        starts.get(target)?.checked_sub(*starts.get(index + 1)?)
    }
}

/// Whether a conditional jump may not reach a target: two more instructions may stand before it.
const fn is_far(distance: usize) -> bool {
    distance > 253
}

/// Where each step begins, and where the last one ends.
fn starts(sizes: &[usize]) -> Vec<usize> {
    let mut end = 0;
    let ends = sizes.iter().map(|size| {
        end += size;
        end
    });
    std::iter::once(0).chain(ends).collect()
}
