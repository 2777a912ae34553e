//! Tests of limits and permissions, which the system sets for a process. Each test does its work in a process of its own.

use std::fs::{self, File, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::path::Path;

use crate::system::signals;

use super::{Outcome, Output, is_failure, make_pipe, mode, names, save, write_from};

/// Runs a test of this file in a new process. The process gets the folder in an environment variable.
fn in_child(test: &str, folder: &Path) -> Outcome {
    let ran = super::in_child(&format!("refused::{test}"), folder)?.output()?;
    let text = String::from_utf8_lossy(&ran.stderr) + String::from_utf8_lossy(&ran.stdout);
    assert!(ran.status.success() && text.contains("1 passed"), "{}\n{text}", ran.status);
    Ok(())
}

/// The default action of SIGXFSZ and SIGPIPE would end the child.
#[test]
fn a_size_limit_and_a_closed_pipe_give_errors_and_no_signals() -> Outcome {
    let Some(folder) = super::child_folder() else {
        let folder = tempfile::tempdir()?;
        fs::write(folder.path().join("f"), b"old")?;
        make_pipe(&folder.path().join("pipe"))?;
        in_child("a_size_limit_and_a_closed_pipe_give_errors_and_no_signals", folder.path())?;
        assert_eq!((fs::read(folder.path().join("f"))?, names(folder.path())?.len()), (b"old".to_vec(), 2));
        return Ok(());
    };
    let folder = Path::new(&folder);
    let mask_before = mask();
    // SAFETY: [system] no handler is installed.
    unsafe { libc::signal(libc::SIGPIPE, libc::SIG_DFL) };
    let pipe = folder.join("pipe");
    let (mut output, reader) = std::thread::scope(|scope| {
        let reader = scope.spawn(|| File::open(&pipe));
        let output = Output::to_file(&pipe, true, 0);
        (output, reader.join())
    });
    drop(reader);
    let output = output.as_mut().map_err(|error| error.to_string())?;
    output.put(b"x")?;
    assert!(is_failure(output.finish(), "write", &pipe, libc::EPIPE));

    let limit = libc::rlimit { rlim_cur: 2_000_000, rlim_max: libc::RLIM_INFINITY };
    // SAFETY: [system] the structure is initialised.
    assert_eq!(unsafe { libc::setrlimit(libc::RLIMIT_FSIZE, &raw const limit) }, 0);
    let path = folder.join("f");
    let mut output = Output::to_file(&path, true, 0)?;
    output.put(b"x")?;
    let bytes = vec![0; 1_999_999];
    write_from(&mut output, &bytes)?;
    assert_eq!(names(folder)?.len(), 3);
    assert!(is_failure(write_from(&mut output, &bytes), "write", &path, libc::EFBIG));
    assert_eq!((names(folder)?.len(), fs::read(&path)?), (2, b"old".to_vec()));
    let mut output = Output::to_file(&path, true, 0)?;
    assert!(is_failure(write_from(&mut output, &vec![0; 2_000_001]), "write", &path, libc::EFBIG));
    // Both signals work as before: neither is still blocked.
    assert_eq!(mask(), mask_before);
    Ok(())
}

/// Whether the two signals are blocked in this thread.
fn mask() -> [bool; 2] {
    let blocked = signals::blocked_now();
    [libc::SIGPIPE, libc::SIGXFSZ].map(|signal| blocked.as_ref().is_ok_and(|set| set.contains(signal)))
}

/// The test runs as a user without all permissions. If root runs the tests, the child becomes the user nobody.
#[test]
fn without_permission_nothing_changes() -> Outcome {
    const NOBODY: u32 = 65_534;
    // SAFETY: [system] it only asks.
    let root = unsafe { libc::geteuid() } == 0;
    let given = super::child_folder();
    if given.is_none() {
        let folder = tempfile::tempdir()?;
        for name in ["closed", "open"] {
            let inner = folder.path().join(name);
            fs::create_dir(&inner)?;
            for (file, bits) in [("f", 0o666), ("locked", 0o444), ("group", 0o664)] {
                fs::write(inner.join(file), b"old")?;
                fs::set_permissions(inner.join(file), Permissions::from_mode(bits))?;
            }
            if root {
                chown(inner.join("locked"), Some(NOBODY), Some(NOBODY))?;
                fs::set_permissions(inner.join("group"), Permissions::from_mode(0o6676))?;
            }
            fs::set_permissions(&inner, Permissions::from_mode(if name == "open" { 0o777 } else { 0o555 }))?;
        }
        fs::set_permissions(folder.path(), Permissions::from_mode(0o755))?;
        in_child("without_permission_nothing_changes", folder.path())?;
        for name in ["closed", "open"] {
            fs::set_permissions(folder.path().join(name), Permissions::from_mode(0o755))?;
        }
        return Ok(());
    }
    if root {
        // SAFETY: [system] no group is given.
        assert_eq!(unsafe { libc::setgroups(0, std::ptr::null()) }, 0);
        // SAFETY: [system] it changes nothing of ours in memory.
        assert_eq!(unsafe { libc::setegid(NOBODY) }, 0);
        // SAFETY: [system] it changes nothing of ours in memory.
        assert_eq!(unsafe { libc::seteuid(NOBODY) }, 0);
    }
    let folder = given.unwrap_or_default();
    let (closed, open) = (Path::new(&folder).join("closed"), Path::new(&folder).join("open"));
    let before = (names(&closed)?, names(&open)?);
    let path = closed.join("f");
    assert!(is_failure(Output::to_file(&path, true, 0), "create a new file beside", &path, libc::EACCES));
    assert_eq!(fs::read(&path)?, b"old");
    for path in [closed.join("locked"), open.join("locked")] {
        for atomic in [true, false] {
            assert!(is_failure(Output::to_file(&path, atomic, 0), "open", &path, libc::EACCES));
        }
        assert_eq!(fs::read(&path)?, b"old");
    }
    save(&closed.join("f"), false, b"plain")?;
    save(&open.join("f"), true, b"new")?;
    save(&open.join("group"), true, b"new")?;
    assert_eq!((fs::read(open.join("f"))?, mode(&open.join("f"))?), (b"new".to_vec(), 0o666));
    // If root ran the tests, the group has changed. The new group does not get the permissions of the old one.
    assert_eq!(mode(&open.join("group"))?, if root { 0o666 } else { 0o664 });
    assert_eq!((names(&closed)?, names(&open)?), before);
    Ok(())
}

/// Only root may change the owner of a file.
#[test]
fn the_owner_is_kept_if_the_system_allows_it() -> Outcome {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("f");
    fs::write(&path, b"old")?;
    if chown(&path, Some(1), Some(2)).is_err() {
        return Ok(());
    }
    fs::set_permissions(&path, Permissions::from_mode(0o6750))?;
    save(&path, true, b"new")?;
    let metadata = path.metadata()?;
    assert_eq!((metadata.uid(), metadata.gid(), metadata.mode() & 0o7777), (1, 2, 0o6750));
    Ok(())
}
