//! Which system calls a command may make: programs for seccomp.

use std::collections::BTreeMap;

use libc::c_long;
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule, sock_filter,
};

/// What is always refused, as it goes past the rules for files, or reaches other processes or the system.
const REFUSED: &[c_long] = &[
    // Memory and descriptors of other processes.
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_process_madvise,
    libc::SYS_pidfd_getfd,
    libc::SYS_kcmp,
    // Another view of the file system.
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_open_tree,
    libc::SYS_move_mount,
    libc::SYS_mount_setattr,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    // Other namespaces: in one of its own, a process has root's rights over it.
    libc::SYS_unshare,
    libc::SYS_setns,
    // Files by number, without a path.
    libc::SYS_name_to_handle_at,
    libc::SYS_open_by_handle_at,
    // System calls that this program would not see.
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    // Large and often attacked parts of the kernel, for no program's ordinary work.
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_vhangup,
    // Keys of the user.
    libc::SYS_keyctl,
    libc::SYS_add_key,
    libc::SYS_request_key,
    // The system itself.
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_kexec_load,
    libc::SYS_kexec_file_load,
    libc::SYS_reboot,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_acct,
    libc::SYS_quotactl,
    libc::SYS_syslog,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_clock_adjtime,
    libc::SYS_adjtimex,
    libc::SYS_sethostname,
    libc::SYS_setdomainname,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_iopl,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_ioperm,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_modify_ldt,
];

const NAMESPACES: &[libc::c_int] = &[
    libc::CLONE_NEWNS,
    libc::CLONE_NEWCGROUP,
    libc::CLONE_NEWUTS,
    libc::CLONE_NEWIPC,
    libc::CLONE_NEWUSER,
    libc::CLONE_NEWPID,
    libc::CLONE_NEWNET,
];

/// The families of sockets with a network. Not `AF_UNIX`: a server behind such a socket, that of Docker for one, does what it is
/// asked outside of the sandbox, and Landlock protects these only from 7.1 on. Netlink lists the addresses of this machine.
const FAMILIES: &[libc::c_int] = &[libc::AF_INET, libc::AF_INET6, libc::AF_NETLINK];

/// Shared memory, semaphores and queues of messages, which are no files.
const SHARED_MEMORY: &[c_long] = &[
    libc::SYS_shmget,
    libc::SYS_shmat,
    libc::SYS_shmctl,
    libc::SYS_msgget,
    libc::SYS_msgsnd,
    libc::SYS_msgrcv,
    libc::SYS_msgctl,
    libc::SYS_semget,
    libc::SYS_semop,
    libc::SYS_semtimedop,
    libc::SYS_semctl,
    libc::SYS_mq_open,
    libc::SYS_mq_unlink,
];

/// The programs; none for a processor that they cannot be made for.
pub(super) fn filters(network: bool, has_view: bool) -> Option<Vec<BpfProgram>> {
    let mut refused: BTreeMap<i64, Vec<SeccompRule>> = REFUSED.iter().map(|call| (*call, Vec::new())).collect();
    let mut clone = Vec::new();
    for flag in NAMESPACES {
        let flag = u64::from(flag.cast_unsigned());
        clone.push(rule([condition(0, SeccompCmpOp::MaskedEq(flag), flag)?])?);
    }
    refused.insert(libc::SYS_clone, clone);
    let mut socket = Vec::new();
    if network {
        let other = |family: &libc::c_int| condition(0, SeccompCmpOp::Ne, u64::from(family.cast_unsigned()));
        socket.push(SeccompRule::new(FAMILIES.iter().map(other).collect::<Option<_>>()?).ok()?);
    }
    refused.insert(libc::SYS_socket, socket);
    // A pair of datagram sockets can be connected to others; raw ones are such, too. So only these:
    let connected = [libc::SOCK_STREAM, libc::SOCK_SEQPACKET].map(|kind| u64::from(kind.cast_unsigned()));
    let others = (0..0x10).filter(|kind| !connected.contains(kind));
    let pairs = others.map(|kind| rule([condition(1, SeccompCmpOp::MaskedEq(0xf), kind)?]));
    refused.insert(libc::SYS_socketpair, pairs.collect::<Option<_>>()?);
    // The limits of other processes: those of the supervisor for one.
    refused.insert(libc::SYS_prlimit64, vec![rule([condition(0, SeccompCmpOp::Ne, 0)?])?]);
    // With a view, there is a namespace of its own for it.
    if !has_view {
        refused.extend(SHARED_MEMORY.iter().map(|call| (*call, Vec::new())));
    }
    // Its flags are in memory, where no program sees them. C libraries use `clone` where it is not there.
    let absent = BTreeMap::from([(libc::SYS_clone3, Vec::new())]);
    let mut programs = vec![program(refused, libc::EPERM)?, program(absent, libc::ENOSYS)?];
    programs.extend(of_other_numbers());
    Some(programs)
}

fn condition(argument: u8, operator: SeccompCmpOp, value: u64) -> Option<SeccompCondition> {
    SeccompCondition::new(argument, SeccompCmpArgLen::Dword, operator, value).ok()
}

fn rule<const N: usize>(conditions: [SeccompCondition; N]) -> Option<SeccompRule> {
    SeccompRule::new(conditions.into()).ok()
}

/// A program that answers these calls with an error, and lets all others through.
fn program(calls: BTreeMap<i64, Vec<SeccompRule>>, error: libc::c_int) -> Option<BpfProgram> {
    let (refuse, arch) = (SeccompAction::Errno(error.cast_unsigned()), std::env::consts::ARCH.try_into().ok()?);
    SeccompFilter::new(calls, SeccompAction::Allow, refuse, arch).ok()?.try_into().ok()
}

/// x86-64 has the same calls a second time, for programs with short pointers (x32): none of them.
fn of_other_numbers() -> Option<BpfProgram> {
    const X32: u32 = 0x4000_0000;
    let step = |code: u32, jf, k| sock_filter { code: code as u16, jt: 0, jf, k };
    cfg!(target_arch = "x86_64").then(|| {
        vec![
            step(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0),
            step(libc::BPF_JMP | libc::BPF_JGE | libc::BPF_K, 1, X32),
            step(libc::BPF_RET | libc::BPF_K, 0, libc::SECCOMP_RET_ERRNO | libc::ENOSYS.cast_unsigned()),
            step(libc::BPF_RET | libc::BPF_K, 0, libc::SECCOMP_RET_ALLOW),
        ]
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_a_view_more_is_refused() {
        let steps = |network, has_view| filters(network, has_view).expect("programs").iter().map(Vec::len).sum::<usize>();
        for network in [false, true] {
            assert_eq!(steps(network, false) > steps(network, true), cfg!(target_os = "linux"));
        }
    }
}
