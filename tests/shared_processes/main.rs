//! Shared memory with real processes: which of them hold a name, which one removes it, and what happens after a fork.
#![cfg(target_os = "linux")]

mod process;
mod worker;

use std::error::Error as AnyError;
use std::fs;

use process::{Name, Nursery, Process};

type Outcome = Result<(), Box<dyn AnyError>>;

/// Not a test: the program of the child processes that the tests start.
#[test]
#[ignore = "other tests run this one in child processes"]
fn worker() -> Outcome {
    worker::serve()
}

fn is_root() -> bool {
    // SAFETY: [system] the call takes no arguments.
    unsafe { libc::getuid() == 0 }
}

#[test]
fn processes_share_the_elements_and_the_last_one_removes_the_name() -> Outcome {
    let (nursery, name) = (Nursery::new()?, Name::new("last"));
    for order in [[0, 1, 2], [2, 1, 0], [1, 2, 0]] {
        for how in ["exit", "return", "drop"] {
            let mut processes = [Some(nursery.start()?), Some(nursery.start()?), Some(nursery.start()?)];
            let sizes = [("4", "4"), ("-", "4"), ("2", "2")];
            for (process, (asked, got)) in processes.iter_mut().flatten().zip(sizes) {
                assert_eq!(process.tell(&format!("attach {} {asked}", name.0))?, got);
            }
            let mut tell = |index: usize, command: &str| match &mut processes[index] {
                Some(process) => process.tell(command),
                None => Err("it has ended".into()),
            };
            tell(2, "set 1 42")?;
            assert_eq!((tell(0, "get")?, tell(1, "get")?), ("0 42 0 0".into(), "0 42 0 0".into()));
            assert_eq!(tell(2, &format!("attach {} 8", name.0))?, "8");
            tell(2, "set 7 5")?;
            assert_eq!(tell(0, &format!("attach {} -", name.0))?, "8");
            assert_eq!(tell(0, "get")?, "0 42 0 0 0 0 0 5");
            for index in order {
                assert!(name.exists());
                let mut process = processes[index].take().ok_or("it has ended")?;
                if how == "drop" {
                    while process.tell("drop")? == "done" {}
                } else {
                    process.end(how)?;
                }
            }
            assert!(!name.exists(), "{how} {order:?}");
        }
    }
    Ok(())
}

/// A generator of pseudo-random numbers, which are the same in every run.
struct Dice(u64);

impl Dice {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 33).unwrap_or(0) % bound
    }
}

/// Processes start, fork and end in random order, some of them by a crash. The last one of each round ends normally, so it
/// removes the name.
#[test]
fn the_name_is_removed_however_the_other_processes_end() -> Outcome {
    const CELLS: usize = 8;
    let (nursery, name) = (Nursery::new()?, Name::new("rounds"));
    let mut dice = Dice(0x9e37_79b9_7f4a_7c15);
    // Forking from a process that holds no storages is faster than starting a program.
    let mut mother = nursery.start()?;
    let mut ends = [0; 5];
    for round in 0..200 {
        let mut model = [0; CELLS];
        let mut processes: Vec<Process> = Vec::new();
        for index in 0..3 + dice.below(3) {
            let mut process = nursery.fork(&mut mother, "")?;
            // A process that attaches twice is two holders.
            for _ in 0..=dice.below(2) {
                let size = if index > 0 && dice.below(2) == 0 { "-".into() } else { CELLS.to_string() };
                assert_eq!(process.tell(&format!("attach {} {size}", name.0))?, CELLS.to_string());
            }
            processes.push(process);
        }
        let mut forks = 2;
        while !processes.is_empty() {
            let (cell, value) = (dice.below(CELLS), dice.below(1000));
            model[cell] = value;
            let (writer, reader) = (dice.below(processes.len()), dice.below(processes.len()));
            processes[writer].tell(&format!("set {cell} {value}"))?;
            let expected = model.map(|value| value.to_string()).join(" ");
            assert_eq!(processes[reader].tell("get")?, expected, "round {round}");
            assert!(name.exists(), "round {round}");

            let chosen = dice.below(processes.len());
            let way = dice.below(5);
            if way == 4 && forks > 0 {
                forks -= 1;
                let mut child = nursery.fork(&mut processes[chosen], "")?;
                assert_eq!(child.tell("get")?, expected, "round {round}");
                processes.push(child);
                ends[4] += 1;
                continue;
            }
            let last = processes.len() == 1;
            let way = if last { way % 2 } else { way % 4 };
            processes.swap_remove(chosen).end(["exit", "return", "kill", "abort"][way])?;
            ends[way] += 1;
        }
        assert!(!name.exists(), "round {round}");
    }
    assert!(ends.iter().all(|&count| count > 50), "{ends:?}");
    Ok(())
}

#[test]
fn a_killed_last_holder_leaves_its_bytes_to_the_next() -> Outcome {
    let (nursery, name) = (Nursery::new()?, Name::new("killed"));
    for how in ["kill", "abort"] {
        let mut first = nursery.start()?;
        first.tell(&format!("attach {} 3", name.0))?;
        first.tell("fill 6")?;
        first.end(how)?;
        let mut next = nursery.start()?;
        assert_eq!(next.tell(&format!("held {}", name.0))?, "12 false");
        assert!(next.tell(&format!("attach {} 99999999999", name.0))?.starts_with("error: no room"));
        assert_eq!(next.tell(&format!("attach {} -", name.0))?, "3");
        assert_eq!((next.tell("get")?, next.tell(&format!("held {}", name.0))?), ("6 6 6".into(), "12 true".into()));
        next.end("exit")?;
        assert!(!name.exists());
        fs::write(name.path(), b"by hand")?;
        assert_eq!(nursery.start()?.tell(&format!("unlink {}", name.0))?, "true");
        assert!(!name.exists());
    }
    Ok(())
}

#[test]
fn a_forked_child_is_another_holder() -> Outcome {
    let (nursery, name) = (Nursery::new()?, Name::new("child"));
    for child_first in [true, false] {
        for how in ["exit", "return", "kill"] {
            let mut parent = nursery.start()?;
            let before = parent.tell("descriptors")?;
            parent.tell(&format!("attach {} 2", name.0))?;
            let holding = parent.tell("descriptors")?;
            let mut child = nursery.fork(&mut parent, "")?;
            let mut grandchild = nursery.fork(&mut child, "")?;
            for process in [&mut parent, &mut child, &mut grandchild] {
                assert_eq!(process.tell("descriptors")?, holding, "a process needs one descriptor for each object");
            }
            grandchild.tell("set 1 9")?;
            grandchild.end("kill")?;
            let (first, mut last) = if child_first { (child, parent) } else { (parent, child) };
            first.end(how)?;
            assert_eq!((last.tell("get")?, last.tell(&format!("held {}", name.0))?), ("0 9".into(), "8 true".into()));
            assert_eq!(last.tell(&format!("attach {} -", name.0))?, "2");
            last.tell("drop")?;
            assert!(name.exists());
            last.tell("drop")?;
            assert!(!name.exists());
            assert_eq!(last.tell("descriptors")?, before, "a descriptor is still open");
        }
    }
    Ok(())
}

#[test]
fn children_inherit_shared_memory_without_a_name() -> Outcome {
    let nursery = Nursery::new()?;
    let mut parent = nursery.start()?;
    for command in ["heap 3", "set 0 4", "share"] {
        assert_eq!(parent.tell(command)?, "done");
    }
    let mut child = nursery.fork(&mut parent, "")?;
    child.tell("set 2 8")?;
    assert_eq!(parent.tell("get")?, "4 0 8");
    parent.end("kill")?;
    assert_eq!(child.tell("get")?, "4 0 8");
    Ok(())
}

#[test]
fn other_processes_can_attach_to_a_storage_that_moved_to_a_name() -> Outcome {
    let (nursery, name) = (Nursery::new()?, Name::new("move"));
    let (mut one, mut two) = (nursery.start()?, nursery.start()?);
    for command in ["heap 3", "fill 4", &format!("share {}", name.0)] {
        assert_eq!(one.tell(command)?, "done");
    }
    assert_eq!(two.tell("heap 1")?, "done");
    assert!(two.tell(&format!("share {}", name.0))?.contains("already"));
    assert_eq!(two.tell(&format!("attach {} -", name.0))?, "3");
    one.end("exit")?;
    assert_eq!(two.tell("get")?, "4 4 4");
    two.end("exit")?;
    assert!(!name.exists());
    Ok(())
}

/// During a fork, the child opens the object again to become a holder. If that fails because there are no descriptors left, the
/// child keeps its map, but it does not hold the name.
#[test]
fn a_child_that_cannot_open_descriptors_keeps_its_map() -> Outcome {
    let (nursery, name) = (Nursery::new()?, Name::new("starved"));
    let mut parent = nursery.start()?;
    parent.tell(&format!("attach {} 2", name.0))?;
    let mut child = nursery.fork(&mut parent, "starved")?;
    let mut grandchild = nursery.fork(&mut child, "")?;
    grandchild.tell("set 0 5")?;
    grandchild.end("exit")?;
    assert_eq!((child.tell("get")?, name.exists()), ("5 0".into(), true));
    parent.end("exit")?;
    assert!(!name.exists());
    // An object that is created under the name now is another one. The child's map does not show it.
    let mut other = nursery.start()?;
    assert_eq!(other.tell(&format!("attach {} 1", name.0))?, "1");
    assert_eq!(child.tell("get")?, "5 0");
    child.end("exit")?;
    assert_eq!((other.tell("get")?, name.exists()), ("0".into(), true));
    Ok(())
}

/// Fork handlers do not run in a child that a bare system call made, so it shares the file lock of its parent. It must not
/// release that lock.
#[test]
fn a_child_made_without_fork_handlers_does_not_release_its_parents_lock() -> Outcome {
    let (nursery, name) = (Nursery::new()?, Name::new("clone"));
    let mut parent = nursery.start()?;
    parent.tell(&format!("attach {} 2", name.0))?;
    assert_eq!(parent.tell("clone")?, "done");
    assert_eq!(parent.tell(&format!("held {}", name.0))?, "8 true");
    parent.end("exit")?;
    assert!(!name.exists());
    Ok(())
}

#[test]
fn processes_that_change_their_user_keep_what_they_hold() -> Outcome {
    if !is_root() {
        eprintln!("only root can change its user id: not tested");
        return Ok(());
    }
    let (nursery, name) = (Nursery::new()?, Name::new("user"));
    let mut worker = nursery.start()?;
    let mut watcher = nursery.start()?;
    let held = format!("held {}", name.0);
    worker.tell(&format!("attach {} 2", name.0))?;
    assert_eq!(worker.tell("user 65534")?, "done");
    // The worker still holds the object, but its child may not open the object to become a holder.
    let mut child = nursery.fork(&mut worker, "")?;
    child.tell("set 0 3")?;
    assert_eq!(worker.tell("get")?, "3 0");
    assert!(child.tell(&format!("attach {} 2", name.0))?.ends_with("Permission denied"));
    assert_eq!(watcher.tell(&held)?, "8 true");
    // The last holder has no right to remove the name, so the name stays and is still listed.
    worker.end("exit")?;
    assert_eq!((child.tell("get")?, watcher.tell(&held)?), ("3 0".into(), "8 false".into()));
    assert!(child.tell(&format!("unlink {}", name.0))?.starts_with("error: cannot remove shared memory"));
    child.end("exit")?;
    assert_eq!(watcher.tell(&format!("attach {} -", name.0))?, "2");
    assert_eq!(watcher.tell("get")?, "3 0");

    // Workers of nginx do the same: the child gives up its rights after the fork, and it outlives its parent.
    let mut child = nursery.fork(&mut watcher, "")?;
    assert_eq!(child.tell("user 65534")?, "done");
    watcher.end("exit")?;
    assert_eq!((child.tell("get")?, name.exists()), ("3 0".into(), true));
    // The child owns the objects that it creates, so they can be removed.
    let own = Name::new("user-own");
    assert_eq!(child.tell(&format!("attach {} 2", own.0))?, "2");
    let mut grandchild = nursery.fork(&mut child, "")?;
    child.end("exit")?;
    assert!(own.exists() && name.exists());
    grandchild.tell("drop")?;
    assert!(!own.exists());
    grandchild.end("exit")?;
    assert!(name.exists());
    Ok(())
}

#[test]
fn a_full_file_system_is_an_error_when_memory_is_requested() -> Outcome {
    let nursery = Nursery::new()?;
    let mut process = nursery.start()?;
    // The file system has room for one megabyte, which is 262,144 elements of 4 bytes.
    if !is_root() || process.tell("mount 1m")? != "done" {
        eprintln!("a file system cannot be mounted: not tested");
        return Ok(());
    }
    assert_eq!(process.tell("held x")?, "no name");
    let full = process.tell("attach x 262145")?;
    assert_eq!(full, "error: no room for shared memory 'x' of 1048580 bytes: 1048576 are free (see df /dev/shm)");
    assert_eq!(process.tell("held x")?, "no name");
    // The whole file system can be used.
    assert_eq!(process.tell("attach x 262144")?, "262144");
    assert_eq!(process.tell("fill 7")?, "done");
    assert_eq!(process.tell("attach y 1")?, "error: no room for shared memory 'y' of 4 bytes: 0 are free (see df /dev/shm)");
    assert!(process.tell("attach x 262145")?.starts_with("error: no room"));
    assert_eq!((process.tell("held x")?, process.tell("held y")?), ("1048576 true".into(), "no name".into()));
    assert_eq!(process.tell("attach y 0")?, "0");
    for _ in 0..2 {
        process.tell("drop")?;
    }
    assert_eq!(process.tell("heap 300000")?, "done");
    assert!(process.tell("share x")?.starts_with("error: no room"));
    assert_eq!((process.tell("held x")?, process.tell("share")?), ("no name".into(), "done".into()));
    Ok(())
}

#[test]
fn processes_that_attach_at_once_get_the_larger_size() -> Outcome {
    let (nursery, name) = (Nursery::new()?, Name::new("race"));
    assert_eq!(nursery.start()?.tell(&format!("race {} 3000", name.0))?, "done");
    Ok(())
}

#[test]
fn forks_during_other_operations_leave_no_name() -> Outcome {
    let (nursery, name) = (Nursery::new()?, Name::new("storm"));
    assert_eq!(nursery.start()?.tell(&format!("storm {} 300", name.0))?, "done");
    assert!(!name.exists());
    Ok(())
}
