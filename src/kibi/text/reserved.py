"""Names that a C library cannot have: of the language, of headers, of types, of build targets, of the library's own files."""

import re
from typing import Final

# Of C23, C++23 and the alternative spellings of C++'s operators.
KEYWORDS: Final = frozenset(
    (  # noqa: SIM905 - a hundred words in quotes would hide themselves
        "alignas alignof and and_eq asm auto bitand bitor bool break case catch char char8_t char16_t char32_t class "
        "co_await co_return co_yield compl concept const const_cast consteval constexpr constinit continue decltype "
        "default delete do double dynamic_cast else enum explicit export extern false float for friend goto if inline "
        "int long mutable namespace noexcept not not_eq nullptr operator or or_eq private protected public "
        "register reinterpret_cast requires restrict return short signed sizeof static static_assert static_cast "
        "struct switch template this thread_local throw true try typedef typeid typename typeof typeof_unqual union unsigned "
        "using virtual void volatile wchar_t while xor xor_eq "
    ).split()
)
# The headers that a model's header of the same name would hide from `#include <…>`, since its folder is on the path of
# includes: of C23, of POSIX.1-2024, and further ones that glibc, newlib, musl, Windows' runtime and the compilers have.
HEADERS: Final = frozenset(
    (  # noqa: SIM905 - as above
        "assert complex ctype errno fenv float inttypes iso646 limits locale math setjmp signal stdalign stdarg stdatomic stdbit "
        "stdbool stdckdint stddef stdint stdio stdlib stdnoreturn string tgmath threads time uchar wchar wctype "
        "aio cpio devctl dirent dlfcn endian fcntl fmtmsg fnmatch ftw glob grp iconv langinfo libgen libintl monetary mqueue ndbm "
        "netdb nl_types poll pthread pwd regex sched search semaphore spawn strings stropts syslog tar termios trace "
        "ulimit unistd utime utmpx wordexp "
        "aliases alloca ar argp argz byteswap crypt elf envlock envz err error execinfo fastmath features fpu_control fstab "
        "fts getopt gshadow ieee754 ieeefp ifaddrs lastlog libio link malloc mcheck memory mntent nss obstack paths "
        "printf process proc_service pty re_comp reent regdef regexp resolv rpc sgtty shadow stab stdc_predef stdfix stdio_ext "
        "syscall sysexits termio thread_db ttyent ucontext unctrl ustat utmp values varargs wait xlocale newlib "
        "conio corecrt crtdbg crtdefs direct excpt intrin io malloc_np sal share tchar vadefs vcruntime windows winsock "
        "acc_prof arm_acle arm_bf16 arm_cde arm_cmse arm_fp16 arm_mve arm_neon arm_sve cpuid emmintrin float16 gcov immintrin "
        "mm_malloc mmintrin omp openacc pmmintrin ptrauth quadmath smmintrin tmmintrin unwind wmmintrin xmmintrin "
    ).split()
)
# A model `x` has the type `x_t`; these would redefine one of the standard headers or of POSIX.
_TYPE_STEMS = re.compile(
    r"u?int(_least|_fast)?\d+|u?int(ptr|max)|r?s?size|ptrdiff|wchar|wint|wctype|wctrans|char\d+|max_align|nullptr|time|clock"
    r"|div|ldiv|lldiv|imaxdiv|fpos|va_list|float\d*|double|sig_atomic|fenv|fexcept|mbstate|off|loff|pid|mode|locale|key|id"
    r"|blksize|blkcnt|clockid|dev|fsblkcnt|fsfilcnt|fsid|[ug]id|ino|nlink|suseconds|useconds|timer|caddr|daddr|quad|u_int\d+"
    r"|pthread(_attr|_barrier|_cond|_key|_mutex|_once|_rwlock|_spinlock)?(attr)?|posix_spawnattr|posix_spawn_file_actions"
    r"|thrd|mtx|cnd|tss|errno|sem|sigset|stack|sig|nfds|regex|regmatch|regoff|rlim|socklen"
    r"|cookie_io_functions|fd_set|in_addr|in_port|sa_family|speed|tcflag|cc|wordexp|glob|iconv|mqd|register|atomic_(u?int(_least|_fast)?\d+|u?int(ptr|max)|size|ptrdiff|wchar|char\d+)"
)
# Targets that CMake makes itself (policy CMP0037), and what its generators call theirs.
BUILD_TARGETS: Final = frozenset(
    (  # noqa: SIM905 - as above
        "all all_build clean codegen depend edit_cache experimental continuous nightly help install list_install_components "
        "none package package_source preinstall rebuild_cache run_tests test uninstall zero_check "
    ).split()
)
_OWN_FILES = frozenset(("example_main", "cmakelists", "kibi"))
_DEVICES = re.compile(r"con|prn|aux|nul|com\d|lpt\d")
"""The names of Windows' devices: no file may have such a name, with any suffix."""
SPACE: Final = "kibi_"
"""The prefix of the names of Kibi's own functions and files."""


def is_device(stem: str) -> bool:
    """True if a file's name without its suffix is a device of Windows."""
    return _DEVICES.fullmatch(stem.lower()) is not None


def why_reserved(name: str) -> str:
    """Returns why a library or model cannot have this valid C name; empty if it can.

    Upper and lower case count as equal, because file systems and macros may not distinguish them.
    """
    low = name.lower()
    reasons = (
        (low in KEYWORDS, "it is a keyword of C or C++"),
        (low in HEADERS, f"{low}.h is a header of the system, which the library's own would hide"),
        (_TYPE_STEMS.fullmatch(low) is not None, f"{low}_t is a type of the system's headers"),
        (low in BUILD_TARGETS, "it is a target of the build tools"),
        (low in _OWN_FILES or low.startswith(SPACE), "Kibi's own files and functions are called so"),
        (is_device(low), "it is a device of Windows"),
        (low == "null", "NULL is a macro of C"),
    )
    return next((reason for holds, reason in reasons if holds), "")
