/* The SYCL reproducer: two runs of a private-memory kernel with host-to-device copies between them.
 *
 * One file, three ways to use it:
 *
 *   icpx -fsycl -DBLOAT_N=174 private.cpp -o repro              device code by icpx, in the program
 *   g++ -std=c++17 -I$V/include private.cpp -L$V/lib -lsycl     the host half alone; its device code is this same file,
 *                                                               compiled by DPC++'s run-time compiler: ./repro
 *                                                               --device-source private.cpp --kernels 174
 *   (REPRO_DEVICE defined)                                      what the run-time compiler sees
 *
 *   BLOAT_N      private-memory kernels in the module
 *   BATCH_SIZE   entries of the by-value argument block, a multiple of 8; sets privateMemSize
 *   SIMD         required sub-group size
 *
 * Exit status: 0 every element as computed on the host, 1 some are not, 2 wrong usage, 3 no Level Zero device, 4 a
 * runtime call failed, 5 an input could not be read. */
#ifndef BATCH_SIZE
#define BATCH_SIZE 64
#endif
#ifndef SIMD
#define SIMD 16
#endif

/* Set by a SYCL compiler itself, not by the headers. */
#ifdef SYCL_LANGUAGE_VERSION
#define REPRO_SYCL_COMPILER 1
#endif

#include <sycl/sycl.hpp>

namespace syclexp = sycl::ext::oneapi::experimental;

/* ---- device ------------------------------------------------------------------------------------------------------ */

/* The shape of a batched concatenation's argument block: pointers, where each input goes, and metadata. It is indexed
 * by the work-group's id, which the compiler cannot know, so each hardware thread keeps a copy of it per lane in
 * private memory. */
template <int Entries> struct Block {
    unsigned long input[Entries];
    unsigned long geometry[Entries]; /* first output element | elements << 32 */
    unsigned long rest[(5 * Entries + 80) / 8];
};

/* Output pointer and length are ordinary arguments: they survive the loss of private memory, and the kernel goes on. */
template <int Entries>
inline void copy_block(unsigned i, unsigned b, unsigned *out, const Block<Entries> &block, unsigned n, unsigned add)
{
    if (i >= n)
        return;
    const unsigned first = static_cast<unsigned>(block.geometry[b]);
    const unsigned *from = reinterpret_cast<const unsigned *>(block.input[b]);
    out[first + i] = from[i] + add;
}

/* The control: the same copy with scalar arguments, so no private memory. */
inline void copy_plain(unsigned i, unsigned b, unsigned *out, const unsigned *in0, const unsigned *in1, unsigned n)
{
    if (i >= n)
        return;
    const unsigned *from = b ? in1 : in0;
    out[b * n + i] = from[i];
}

#ifdef REPRO_DEVICE
/* For the run-time compiler kernels are free functions; the host appends one PRIVATE(n) line for each. */
#define KERNEL extern "C" SYCL_EXT_ONEAPI_FUNCTION_PROPERTY((syclexp::nd_range_kernel<2>))                            \
    [[sycl::reqd_sub_group_size(SIMD)]]
#define ITEM const auto it = sycl::ext::oneapi::this_work_item::get_nd_item<2>();                                     \
    const unsigned i = it.get_global_id(1), b = it.get_group(0)
#define PRIVATE(N)                                                                                                    \
    KERNEL void priv##N(unsigned *out, Block<BATCH_SIZE> block, unsigned n)                                           \
    {                                                                                                                 \
        ITEM;                                                                                                         \
        copy_block(i, b, out, block, n, N##u);                                                                        \
    }
KERNEL void nopriv(unsigned *out, const unsigned *in0, const unsigned *in1, unsigned n)
{
    ITEM;
    copy_plain(i, b, out, in0, in1, n);
}
#else

/* ---- host -------------------------------------------------------------------------------------------------------- */

#if __has_include(<sycl/ext/oneapi/experimental/syclbin_kernel_bundle.hpp>)
#include <sycl/ext/oneapi/experimental/syclbin_kernel_bundle.hpp>
#define HAVE_SYCLBIN 1
#endif

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <dlfcn.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

namespace {

constexpr std::uint32_t SENTINEL = 0xdeadbeef;
constexpr std::size_t GROUP = 256;

enum Exit { CLEAN = 0, CORRUPT = 1, USAGE = 2, NO_DEVICE = 3, CALL_FAILED = 4, NO_INPUT = 5, TERMINATED = 143 };

struct Stop : std::runtime_error {
    Exit code;
    std::string call;
    Stop(Exit c, std::string where, const std::string &what) : std::runtime_error(what), code(c), call(std::move(where)) {}
};

/* -- what is told: lines for people, phase markers on both streams, one JSON object on a descriptor -- */

std::string json_text(const std::string &text)
{
    std::string out = "\"";
    for (unsigned char c : text) {
        char hex[8];
        if (c == '"' || c == '\\')
            out += '\\', out += static_cast<char>(c);
        else if (c < 0x20)
            std::snprintf(hex, sizeof hex, "\\u%04x", c), out += hex;
        else
            out += static_cast<char>(c);
    }
    return out + "\"";
}

struct Properties {
    std::string name;
    std::uint64_t priv = 0, spill = 0, simd = 0;
    std::string json() const
    {
        return "{\"name\":" + json_text(name) + ",\"private_mem_size\":" + std::to_string(priv) +
               ",\"spill_mem_size\":" + std::to_string(spill) + ",\"simd\":" + std::to_string(simd) + "}";
    }
};

struct Result {
    int fd = -1;
    std::string phase = "set_up", front_end, device, driver, error;
    std::uint64_t device_id = 0, global_memory = 0, modules = 0;
    Properties kernel, control;
    std::string phases, checks;
    std::uint64_t requested = 0, done = 0, bytes = 0, allocations = 0;
    double seconds = 0;
    std::optional<std::uint64_t> disturbed;
    std::optional<std::pair<std::uint64_t, std::uint64_t>> cache;

    void enter(const char *name)
    {
        phase = name;
        timespec now{};
        clock_gettime(CLOCK_MONOTONIC, &now);
        const auto ns = static_cast<unsigned long long>(now.tv_sec) * 1000000000ull + now.tv_nsec;
        phases += (phases.empty() ? "" : ",") + ("{\"phase\":\"" + phase + "\",\"start_ns\":") + std::to_string(ns) + "}";
        std::printf("== repro-matrix phase %s\n", name);
        std::fflush(stdout);
        std::fprintf(stderr, "== repro-matrix phase %s\n", name);
        std::fflush(stderr);
        if (phase == "before")
            await_harness();
    }
    /* On a socket somebody may want to see which driver is mapped before anything runs; it answers with one byte. */
    void await_harness() const
    {
        struct stat about{};
        if (fd < 0 || fstat(fd, &about) != 0 || !S_ISSOCK(about.st_mode))
            return;
        pollfd wait{fd, POLLIN, 0};
        char byte;
        if (poll(&wait, 1, 2000) > 0)
            (void)!read(fd, &byte, 1);
    }
    void fail(const std::string &call, long code, const std::string &what)
    {
        if (error.empty())
            error = ",\"error\":{\"phase\":\"" + phase + "\",\"call\":" + json_text(call) + ",\"code\":" +
                    std::to_string(static_cast<std::uint32_t>(code)) + ",\"name\":" + json_text(what) + "}";
    }
    void write()
    {
        if (fd < 0)
            return;
        std::string out = "{\"version\":1,\"front_end\":" + json_text(front_end) + ",\"device_name\":" + json_text(device) +
            ",\"device_id\":" + std::to_string(device_id) + ",\"driver_version\":" + json_text(driver) +
            ",\"global_memory\":" + std::to_string(global_memory) + ",\"modules\":" + std::to_string(modules) +
            ",\"kernel\":" + kernel.json() + ",\"control\":" + control.json() + ",\"phases\":[" + phases +
            "],\"checks\":[" + checks + "],\"copies\":{\"requested\":" + std::to_string(requested) + ",\"done\":" +
            std::to_string(done) + ",\"bytes\":" + std::to_string(bytes) + ",\"seconds\":" + std::to_string(seconds) +
            ",\"allocations\":" + std::to_string(allocations) + "}";
        if (disturbed)
            out += ",\"guard_disturbed\":" + std::to_string(*disturbed);
        if (cache)
            out += ",\"page_cache\":{\"pages\":" + std::to_string(cache->first) + ",\"resident\":" +
                   std::to_string(cache->second) + "}";
        out += error + "}\n";
        for (std::size_t at = 0; at < out.size();) {
            const ssize_t n = ::write(fd, out.data() + at, out.size() - at);
            if (n <= 0)
                break;
            at += static_cast<std::size_t>(n);
        }
        fd = -1;
    }
} told;

/* -- arguments -- */

struct Args {
    std::string source = "file", file, prot, device_source, bundle, save_bundle, extra_lib, pci;
    std::vector<std::string> options;
    std::uint64_t kernels = 0, batch = BATCH_SIZE, simd = SIMD, copies = 942, chunk = 11ull << 20, elements = 131072, repeat = 1;
    std::uint64_t guard = 0, ballast = 0, source_size = 0;
    bool shared = false, same_src = false, one_alloc = false, no_copy = false, skip_upload = false, cold = false;
};

[[noreturn]] void usage(const std::string &what) { throw Stop(USAGE, "arguments", what); }

std::uint64_t number(const std::string &name, const std::string &text, std::uint64_t plain)
{
    std::size_t end = 0;
    std::uint64_t value = 0;
    try {
        value = std::stoull(text, &end);
    } catch (const std::exception &) {
        usage(name + ": `" + text + "` is not a number");
    }
    const std::string unit = text.substr(end);
    if (unit.empty())
        return value * plain;
    for (const auto &[word, shift] : {std::pair{"B", 0}, {"KiB", 10}, {"MiB", 20}, {"GiB", 30}})
        if (unit == word && value <= (~0ull >> shift))
            return value << shift;
    usage(name + ": unknown unit `" + unit + "`: B, KiB, MiB or GiB");
}

Args parse(int argc, char **argv)
{
    Args a;
    for (int at = 1; at < argc; at++) {
        const std::string name = argv[at];
        const auto value = [&]() -> std::string {
            if (at + 1 >= argc)
                usage(name + " needs a value");
            return argv[++at];
        };
        if (name == "--file") a.file = value();
        else if (name == "--source") a.source = value();
        else if (name == "--prot") a.prot = value();
        else if (name == "--device-source") a.device_source = value();
        else if (name == "--bundle") a.bundle = value();
        else if (name == "--save-bundle") a.save_bundle = value();
        else if (name == "--option") a.options.push_back(value());
        else if (name == "--extra-lib") a.extra_lib = value();
        else if (name == "--pci") a.pci = value();
        else if (name == "--kernels") a.kernels = number(name, value(), 1);
        else if (name == "--block-entries") a.batch = number(name, value(), 1);
        else if (name == "--simd") a.simd = number(name, value(), 1);
        else if (name == "--copies") a.copies = number(name, value(), 1);
        else if (name == "--chunk") a.chunk = number(name, value(), 1);
        else if (name == "--elements") a.elements = number(name, value(), 1);
        else if (name == "--repeat") a.repeat = number(name, value(), 1);
        else if (name == "--source-size") a.source_size = number(name, value(), 1);
        /* In the report's reproducer plain numbers are MiB and GiB here. */
        else if (name == "--guard") a.guard = number(name, value(), 1ull << 20);
        else if (name == "--ballast") a.ballast = number(name, value(), 1ull << 30);
        else if (name == "--host-src") a.source = "host";
        else if (name == "--anon-mmap") a.source = "anon";
        else if (name == "--shared") a.shared = true;
        else if (name == "--same-src") a.same_src = true;
        else if (name == "--one-alloc") a.one_alloc = true;
        else if (name == "--no-copy") a.no_copy = true;
        else if (name == "--skip-upload") a.skip_upload = true;
        else if (name == "--no-drop-cache") a.cold = false;
        else if (name == "--cold") a.cold = true;
        else usage("unknown option `" + name + "`");
    }
    if (a.source != "file" && a.source != "anon" && a.source != "host" && a.source != "none")
        usage("--source is file, anon, host or none");
    if (a.prot.empty())
        a.prot = a.source == "file" ? "r" : "rw";
    if (a.prot != "r" && a.prot != "rw")
        usage("--prot is r or rw");
    if (a.source == "file" && a.file.empty() && !a.no_copy && !a.skip_upload && a.save_bundle.empty())
        usage("--source file needs --file");
    if (a.chunk == 0 || a.chunk % 4 || a.elements < 2 || a.elements % 2 || a.elements > 1u << 26 || a.repeat == 0)
        usage("--chunk and --elements are even and not 0, --repeat is not 0");
    if (a.batch == 0 || a.batch % 8 || a.batch > 4096)
        usage("--block-entries is a multiple of 8");
    return a;
}

/* -- the source of the copies -- */

struct Source {
    char *base = nullptr;
    std::size_t size = 0;
    bool mapped = false;

    Source(const Args &a)
    {
        if (a.source == "none" || a.no_copy || a.skip_upload)
            return;
        const int prot = a.prot == "r" ? PROT_READ : PROT_READ | PROT_WRITE;
        const auto bad = [&](const char *call) { throw Stop(NO_INPUT, call, a.file + ": " + std::strerror(errno)); };
        size = a.source_size ? a.source_size : 2 * a.chunk;
        int fd = -1;
        if (a.source == "file") {
            fd = open(a.file.c_str(), a.shared && a.prot == "rw" ? O_RDWR : O_RDONLY);
            struct stat about{};
            if (fd < 0 || fstat(fd, &about) != 0)
                bad("open");
            size = static_cast<std::size_t>(about.st_size);
            if (a.cold) {
                fdatasync(fd);
                posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
            }
        }
        if (size < a.chunk)
            throw Stop(NO_INPUT, "source", "the source is smaller than one chunk");
        if (a.source == "host") {
            base = static_cast<char *>(std::malloc(size));
            if (!base)
                bad("malloc");
            std::memset(base, 0x5a, size);
            if (a.prot == "r")
                throw Stop(USAGE, "arguments", "malloc'd memory is writable: --prot r needs file or anon");
            return;
        }
        const int flags = (a.shared ? MAP_SHARED : MAP_PRIVATE) | (fd < 0 ? MAP_ANONYMOUS : 0);
        void *at = mmap(nullptr, size, fd < 0 ? PROT_READ | PROT_WRITE : prot, flags, fd, 0);
        if (at == MAP_FAILED)
            bad("mmap");
        base = static_cast<char *>(at);
        mapped = true;
        if (fd < 0) {
            std::memset(base, 0x5a, size);
            if (mprotect(base, size, prot) != 0)
                bad("mprotect");
        } else {
            if (!a.cold) {
                volatile char sum = 0;
                for (std::size_t n = 0; n < size; n += 4096)
                    sum = sum + base[n];
            }
            const std::size_t used = std::min<std::size_t>(size, a.same_src ? a.chunk : size);
            std::vector<unsigned char> pages((used + 4095) / 4096);
            if (mincore(base, used, pages.data()) == 0) {
                const auto in = std::count_if(pages.begin(), pages.end(), [](unsigned char p) { return p & 1; });
                told.cache = std::pair<std::uint64_t, std::uint64_t>{pages.size(), in};
            }
            close(fd);
        }
    }
    const char *piece(const Args &a, std::uint64_t n) const
    {
        const std::size_t pieces = size / a.chunk;
        return base + (a.same_src ? 0 : n % pieces * a.chunk);
    }
};

/* -- kernels: icpx's, or the run-time compiler's -- */

struct Program {
    sycl::queue &queue;
    const Args &args;

#ifndef REPRO_SYCL_COMPILER
    std::optional<sycl::kernel_bundle<sycl::bundle_state::executable>> bundle;
    std::optional<sycl::kernel> priv, nopriv;

    Program(sycl::queue &q, const Args &a) : queue(q), args(a)
    {
        std::vector<sycl::device> devices{q.get_device()};
        if (!a.bundle.empty()) {
#ifdef HAVE_SYCLBIN
            std::ifstream in(a.bundle, std::ios::binary);
            if (!in)
                throw Stop(NO_INPUT, "open", a.bundle + ": cannot be read");
            std::vector<char> bytes{std::istreambuf_iterator<char>(in), {}};
            bundle.emplace(syclexp::get_kernel_bundle<sycl::bundle_state::executable>(q.get_context(), devices,
                                                                                     sycl::span<char>{bytes}));
#else
            throw Stop(USAGE, "arguments", "this SYCL runtime has no SYCLBIN: --device-source compiles in the program");
#endif
        } else {
            compile(devices);
        }
        told.modules = 0;
        for (auto image = bundle->begin(); image != bundle->end(); ++image)
            told.modules++;
        if (!a.save_bundle.empty())
            return;
        priv.emplace(bundle->ext_oneapi_get_kernel("priv0"));
        nopriv.emplace(bundle->ext_oneapi_get_kernel("nopriv"));
        told.kernel = properties(*priv, "priv0");
        told.control = properties(*nopriv, "nopriv");
    }
    void compile(const std::vector<sycl::device> &devices)
    {
        if (args.device_source.empty())
            usage("--device-source (this file) or --bundle is needed: the program was not built by icpx");
        std::ifstream in(args.device_source);
        if (!in)
            throw Stop(NO_INPUT, "open", args.device_source + ": cannot be read");
        const std::uint64_t count = args.kernels ? args.kernels : 1;
        std::string text = "#define REPRO_DEVICE\n#define BATCH_SIZE " + std::to_string(args.batch) +
                           "\n#define SIMD " + std::to_string(args.simd) + "\n";
        text.append(std::istreambuf_iterator<char>(in), {});
        for (std::uint64_t n = 0; n < count; n++)
            text += "PRIVATE(" + std::to_string(n) + ")\n";
        std::string log;
        const auto start = std::chrono::steady_clock::now();
        try {
            auto source = syclexp::create_kernel_bundle_from_source(queue.get_context(), syclexp::source_language::sycl, text);
            bundle.emplace(syclexp::build(source, devices, syclexp::properties{syclexp::build_options{args.options},
                                                                            syclexp::save_log{&log}}));
        } catch (const sycl::exception &e) {
            throw Stop(CALL_FAILED, "build", std::string(e.what()) + (log.empty() ? "" : "\n" + log));
        }
        const std::chrono::duration<double> time = std::chrono::steady_clock::now() - start;
        std::printf("  device code: %llu kernels compiled in %.1f s\n", static_cast<unsigned long long>(count + 1), time.count());
        if (!args.save_bundle.empty()) {
            const std::vector<char> content = saved(*bundle, 0);
            std::ofstream out(args.save_bundle, std::ios::binary);
            if (!out.write(content.data(), static_cast<std::streamsize>(content.size())).flush())
                throw Stop(NO_INPUT, "write", args.save_bundle + ": cannot be written");
        }
    }
    /* Not every runtime can give a bundle's content away (2026.0.0 cannot): its headers decide. */
    template <typename Bundle> static auto saved(const Bundle &from, int) -> decltype(from.ext_oneapi_get_content())
    {
        return from.ext_oneapi_get_content();
    }
    template <typename Bundle> static std::vector<char> saved(const Bundle &, long)
    {
        throw Stop(USAGE, "arguments", "this SYCL runtime cannot save device code: --device-source compiles in the run");
    }
    void run(bool control, std::uint32_t *out, const std::uint32_t *in0, const std::uint32_t *in1, std::uint32_t n)
    {
        const sycl::nd_range<2> range{{2, (n + GROUP - 1) / GROUP * GROUP}, {1, GROUP}};
        /* The block as the kernel's BATCH_SIZE makes it; the host program serves every size. */
        std::vector<std::uint64_t> block((21 * args.batch + 80) / 8);
        for (std::size_t w = 2 * args.batch; w < block.size(); w++)
            block[w] = 0x0101010101010101ull * (w + 1);
        block[0] = reinterpret_cast<std::uint64_t>(in0);
        block[1] = reinterpret_cast<std::uint64_t>(in1);
        block[args.batch] = static_cast<std::uint64_t>(n) << 32;
        block[args.batch + 1] = n | static_cast<std::uint64_t>(n) << 32;
        queue.submit([&](sycl::handler &h) {
            if (control) {
                h.set_args(out, in0, in1, n);
                h.parallel_for(range, *nopriv);
            } else {
                h.set_arg(0, out);
                h.set_arg(1, syclexp::raw_kernel_arg(block.data(), block.size() * 8));
                h.set_arg(2, n);
                h.parallel_for(range, *priv);
            }
        }).wait_and_throw();
    }
    Properties properties(const sycl::kernel &kernel, const char *name) const
    {
        namespace info = sycl::info::kernel_device_specific;
        const sycl::device device = queue.get_device();
        Properties p{name};
        p.priv = kernel.get_info<info::private_mem_size>(device);
        p.simd = kernel.get_info<info::compile_sub_group_size>(device);
        return p;
    }
#else
#ifndef BLOAT_N
#define BLOAT_N 1
#endif
    template <int N> struct Private {
        unsigned *out;
        Block<BATCH_SIZE> block;
        unsigned n;
        [[sycl::reqd_sub_group_size(SIMD)]] void operator()(sycl::nd_item<2> it) const
        {
            copy_block(it.get_global_id(1), it.get_group(0), out, block, n, N);
        }
    };
    struct Control {
        unsigned *out;
        const unsigned *in0, *in1;
        unsigned n;
        [[sycl::reqd_sub_group_size(SIMD)]] void operator()(sycl::nd_item<2> it) const
        {
            copy_plain(it.get_global_id(1), it.get_group(0), out, in0, in1, n);
        }
    };
    using Launch = void (*)(sycl::queue &, sycl::nd_range<2>, unsigned *, const Block<BATCH_SIZE> &, unsigned);
    template <int N>
    static void launch(sycl::queue &q, sycl::nd_range<2> range, unsigned *out, const Block<BATCH_SIZE> &block, unsigned n)
    {
        q.parallel_for(range, Private<N>{out, block, n}).wait_and_throw();
    }
    /* Every kernel is named here, so every one is in the program; the first is run. */
    template <int... N> static std::array<Launch, sizeof...(N)> table(std::integer_sequence<int, N...>)
    {
        return {launch<N>...};
    }
    std::array<Launch, BLOAT_N> launches = table(std::make_integer_sequence<int, BLOAT_N>{});

    Program(sycl::queue &q, const Args &a) : queue(q), args(a)
    {
        if (a.batch != BATCH_SIZE || (a.kernels && a.kernels != BLOAT_N))
            usage("--block-entries and --kernels are fixed by icpx's -DBATCH_SIZE and -DBLOAT_N");
        auto bundle = sycl::get_kernel_bundle<sycl::bundle_state::executable>(q.get_context(), {q.get_device()},
            {sycl::get_kernel_id<Private<0>>(), sycl::get_kernel_id<Control>()});
        for (auto image = bundle.begin(); image != bundle.end(); ++image)
            told.modules++;
        told.kernel = properties(bundle.get_kernel(sycl::get_kernel_id<Private<0>>()), "priv0");
        told.control = properties(bundle.get_kernel(sycl::get_kernel_id<Control>()), "nopriv");
    }
    void run(bool control, std::uint32_t *out, const std::uint32_t *in0, const std::uint32_t *in1, std::uint32_t n)
    {
        const sycl::nd_range<2> range{{2, (n + GROUP - 1) / GROUP * GROUP}, {1, GROUP}};
        Block<BATCH_SIZE> block{};
        for (std::size_t w = 0; w < std::size(block.rest); w++)
            block.rest[w] = 0x0101010101010101ull * (2 * BATCH_SIZE + w + 1);
        block.input[0] = reinterpret_cast<std::uint64_t>(in0);
        block.input[1] = reinterpret_cast<std::uint64_t>(in1);
        block.geometry[0] = static_cast<std::uint64_t>(n) << 32;
        block.geometry[1] = n | static_cast<std::uint64_t>(n) << 32;
        if (control)
            queue.parallel_for(range, Control{out, in0, in1, n}).wait_and_throw();
        else
            launches[0](queue, range, out, block, n);
    }
    Properties properties(const sycl::kernel &kernel, const char *name) const
    {
        namespace info = sycl::info::kernel_device_specific;
        Properties p{name};
        p.priv = kernel.get_info<info::private_mem_size>(queue.get_device());
        p.simd = kernel.get_info<info::compile_sub_group_size>(queue.get_device());
        return p;
    }
#endif
};

/* -- what kernels are told: by the Level Zero loader's callbacks, where the harness asks for them -- */

/* ze_kernel_set_argument_value_params_t: each parameter of a call comes as a pointer to it. */
struct SetArgument {
    void *const *kernel;
    const std::uint32_t *index;
    const std::size_t *size;
    const void *const *value;
};

/* Called on the caller's thread after the driver has answered. What it refused did not become an argument. */
void argument_set(SetArgument *call, std::uint32_t result, void *, void **)
{
    if (result != 0)
        return;
    char head[128];
    std::snprintf(head, sizeof head, "[ze-args] hKernel=0x%llx argIndex=%u argSize=%zu ",
                  static_cast<unsigned long long>(reinterpret_cast<std::uintptr_t>(*call->kernel)), *call->index, *call->size);
    std::string line = head;
    if (const auto *byte = static_cast<const unsigned char *>(*call->value)) {
        line += "bytes=";
        for (std::size_t n = 0; n < *call->size; n++)
            line += "0123456789abcdef"[byte[n] >> 4], line += "0123456789abcdef"[byte[n] & 15];
    } else {
        line += "none"; /* memory of the work-group */
    }
    line += '\n';
    /* One write for one line: other threads and the driver write to the same stream. */
    (void)!write(STDERR_FILENO, line.data(), line.size());
}

/* layers/zel_tracing_api.h and zel_tracing_register_cb.h. The runtime has loaded and initialised the loader. */
void trace_arguments()
{
    const char *wanted = std::getenv("ZE_ENABLE_TRACING_LAYER");
    if (!wanted || std::strcmp(wanted, "1") != 0)
        return;
    struct Description {
        std::uint32_t type = 1; /* ZEL_STRUCTURE_TYPE_TRACER_DESC */
        const void *next = nullptr;
        void *user = nullptr;
    };
    static char user; /* The loader refuses a description without one. */
    const Description description{1, nullptr, &user};
    constexpr std::uint32_t EPILOGUE = 1;
    void *tracer = nullptr;
    const auto refused = [](const std::string &why) { std::fprintf(stderr, "[ze-args] not traced: %s\n", why.c_str()); };
    void *loader = dlopen("libze_loader.so.1", RTLD_NOW | RTLD_NOLOAD);
    if (!loader)
        return refused("the runtime has loaded no libze_loader.so.1");
    const auto create = reinterpret_cast<std::uint32_t (*)(const Description *, void **)>(dlsym(loader, "zelTracerCreate"));
    const auto listen = reinterpret_cast<std::uint32_t (*)(void *, std::uint32_t, decltype(&argument_set))>(
        dlsym(loader, "zelTracerKernelSetArgumentValueRegisterCallback"));
    const auto enable = reinterpret_cast<std::uint32_t (*)(void *, std::uint8_t)>(dlsym(loader, "zelTracerSetEnabled"));
    if (!create || !listen || !enable)
        return refused("this loader has no callbacks");
    for (const auto &[call, code] : {std::pair{"zelTracerCreate", create(&description, &tracer)},
                                     {"zelTracerKernelSetArgumentValueRegisterCallback", listen(tracer, EPILOGUE, argument_set)},
                                     {"zelTracerSetEnabled", enable(tracer, 1)}})
        if (code != 0)
            return refused(std::string(call) + " returned " + std::to_string(code));
}

/* -- the check -- */

struct Count {
    std::uint64_t wrong = 0, untouched = 0;
};

struct Check {
    sycl::queue &queue;
    std::uint32_t half;
    std::vector<std::uint32_t> in[2];
    std::uint32_t *device_in[2], *out, *control_out;

    Check(sycl::queue &q, std::uint64_t elements) : queue(q), half(static_cast<std::uint32_t>(elements / 2))
    {
        /* Never zero, never the sentinel, and different at every index, so that one in the other's place is seen. */
        for (std::uint32_t k = 0; k < 2; k++) {
            in[k].resize(half);
            for (std::uint32_t i = 0; i < half; i++)
                in[k][i] = 1u << 30 | ((i ^ (k ? 0x55555555u : 0u)) * 0x9e3779b1u) >> 2;
            device_in[k] = allocate(half);
            queue.memcpy(device_in[k], in[k].data(), 4ull * half).wait_and_throw();
        }
        out = allocate(2ull * half);
        control_out = allocate(2ull * half);
    }
    std::uint32_t *allocate(std::uint64_t words)
    {
        auto *p = sycl::malloc_device<std::uint32_t>(words, queue);
        if (!p)
            throw Stop(CALL_FAILED, "malloc_device", std::to_string(4 * words) + " bytes: no memory");
        return p;
    }
    Count once(Program &program, bool control)
    {
        std::uint32_t *to = control ? control_out : out;
        /* From heap memory: it is writable, so this copy is not one of those under test. */
        std::vector<std::uint32_t> host(2ull * half, SENTINEL);
        queue.memcpy(to, host.data(), 8ull * half).wait_and_throw();
        program.run(control, to, device_in[0], device_in[1], half);
        /* If the read-back did nothing, that must not look like a right output, nor like an untouched one. */
        std::fill(host.begin(), host.end(), 0);
        queue.memcpy(host.data(), to, 8ull * half).wait_and_throw();
        Count count;
        for (std::uint64_t i = 0; i < host.size(); i++) {
            if (host[i] != in[i / half][i % half])
                count.wrong++;
            if (host[i] == SENTINEL)
                count.untouched++;
        }
        return count;
    }
    bool both(Program &program, const char *phase, const char *label)
    {
        const Count p = once(program, false), c = once(program, true);
        const std::string total = std::to_string(2ull * half);
        told.checks += (told.checks.empty() ? "" : ",") + ("{\"phase\":\"" + std::string(phase) +
            "\",\"module\":\"module\",\"total\":" + total + ",\"wrong\":" + std::to_string(p.wrong) + ",\"untouched\":" +
            std::to_string(p.untouched) + ",\"control_total\":" + total + ",\"control_wrong\":" + std::to_string(c.wrong) +
            ",\"control_untouched\":" + std::to_string(c.untouched) + "}");
        std::printf("%s: wrong %llu, untouched %llu   (private=0 control: wrong %llu)\n", label,
                    static_cast<unsigned long long>(p.wrong), static_cast<unsigned long long>(p.untouched),
                    static_cast<unsigned long long>(c.wrong));
        return p.wrong == 0 && c.wrong == 0;
    }
};

/* -- the trigger -- */

struct Guard {
    sycl::queue &queue;
    std::uint32_t *at = nullptr;
    std::uint64_t words;
    Guard(sycl::queue &q, std::uint64_t bytes) : queue(q), words(bytes / 4)
    {
        if (!words)
            return;
        at = sycl::malloc_device<std::uint32_t>(words, queue);
        if (!at)
            throw Stop(CALL_FAILED, "malloc_device", "guard: no memory");
        const std::vector<std::uint32_t> fill(words, SENTINEL);
        queue.memcpy(at, fill.data(), words * 4).wait_and_throw();
    }
    std::uint64_t disturbed()
    {
        std::vector<std::uint32_t> now(words, 0);
        if (words)
            queue.memcpy(now.data(), at, words * 4).wait_and_throw();
        const auto bad = static_cast<std::uint64_t>(std::count_if(now.begin(), now.end(), [](auto w) { return w != SENTINEL; }));
        if (at)
            sycl::free(at, queue);
        return bad;
    }
};

void upload(sycl::queue &queue, const Args &a, const Source &source)
{
    Guard before(queue, a.guard);
    std::vector<char *> slabs;
    const auto slab = [&] {
        char *p = sycl::malloc_device<char>(a.chunk, queue);
        if (!p)
            throw Stop(CALL_FAILED, "malloc_device", "destination: no memory");
        slabs.push_back(p);
    };
    if (a.one_alloc)
        slab();
    Guard after(queue, a.guard);
    const std::uint64_t total = a.copies * a.repeat;
    const bool copying = source.base != nullptr;
    told.requested += copying ? total : 0;
    const auto start = std::chrono::steady_clock::now();
    const auto time = [&] { return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(); };
    for (std::uint64_t n = 0; n < total; n++) {
        if (!a.one_alloc)
            slab();
        if (copying) {
            queue.memcpy(slabs.back(), source.piece(a, n), a.chunk).wait_and_throw();
            told.done++;
            told.bytes += a.chunk;
            told.seconds = time();
        }
    }
    const double seconds = time(), bytes = static_cast<double>(copying ? total * a.chunk : 0);
    told.allocations += slabs.size();
    const char *cache = !told.cache ? "" : told.cache->second == 0 ? "  [cold cache]"
                      : told.cache->second == told.cache->first ? "  [warm cache]" : "  [partly cached]";
    std::printf("  %.2f GiB, %llu copies, %zu device allocations (%.*f s, %.0f MB/s)%s\n", bytes / (1u << 30),
                static_cast<unsigned long long>(copying ? total : 0), slabs.size(), seconds >= 1 ? 0 : 2, seconds,
                seconds > 0 ? bytes / 1e6 / seconds : 0, cache);
    if (a.guard) {
        told.disturbed = before.disturbed() + after.disturbed();
        std::printf("  guards: %llu of %llu words disturbed\n", static_cast<unsigned long long>(*told.disturbed),
                    static_cast<unsigned long long>(2 * a.guard / 4));
    }
    for (char *p : slabs)
        sycl::free(p, queue);
}

/* Level Zero's own driver, whatever the runtime would fall back to. */
sycl::queue open_queue(const Args &a)
{
    try {
        /* The card that was asked for, or the first. */
        const auto choose = [&](const sycl::device &device) {
            if (!device.is_gpu())
                return -1;
            if (a.pci.empty())
                return 1;
            const bool known = device.has(sycl::aspect::ext_intel_pci_address);
            return known && device.get_info<sycl::ext::intel::info::device::pci_address>() == a.pci ? 1 : -1;
        };
        sycl::queue queue{choose, sycl::property::queue::in_order{}};
        const sycl::device device = queue.get_device();
        told.device = device.get_info<sycl::info::device::name>();
        told.driver = device.get_info<sycl::info::device::driver_version>();
        told.global_memory = device.get_info<sycl::info::device::global_mem_size>();
        if (device.has(sycl::aspect::ext_intel_device_id))
            told.device_id = device.get_info<sycl::ext::intel::info::device::device_id>();
        if (queue.get_backend() != sycl::backend::ext_oneapi_level_zero)
            throw Stop(NO_DEVICE, "sycl::queue", "the runtime chose another backend than Level Zero for " + told.device +
                                                 "; set ONEAPI_DEVICE_SELECTOR=level_zero:gpu");
        return queue;
    } catch (const sycl::exception &e) {
        throw Stop(NO_DEVICE, "sycl::queue", e.what());
    }
}

bool steps(const Args &a)
{
    std::optional<Source> source;
    if (a.save_bundle.empty())
        source.emplace(a);
    sycl::queue queue = open_queue(a);
    trace_arguments();
    Program program(queue, a);
    if (!a.save_bundle.empty())
        return true;
    std::vector<void *> held;
    for (std::uint64_t left = a.ballast; left > 0; left -= std::min<std::uint64_t>(left, 1u << 30)) {
        held.push_back(sycl::malloc_device(std::min<std::uint64_t>(left, 1u << 30), queue));
        if (!held.back())
            throw Stop(CALL_FAILED, "malloc_device", "ballast: no memory");
    }
    Check check(queue, a.elements);
    told.enter("before");
    bool right = check.both(program, "before", "before upload ");
    told.enter("copies");
    if (!a.skip_upload)
        upload(queue, a, *source);
    told.enter("after");
    right &= check.both(program, "after", "after upload  ");
    if (!a.extra_lib.empty()) {
        /* A library with device code of its own: `extern "C" long repro_check(sycl::queue *)` gives its wrong elements. */
        void *lib = dlopen(a.extra_lib.c_str(), RTLD_NOW);
        auto *entry = lib ? reinterpret_cast<long (*)(sycl::queue *)>(dlsym(lib, "repro_check")) : nullptr;
        if (!entry)
            throw Stop(NO_INPUT, "dlopen", std::string(dlerror()));
        const long wrong = entry(&queue);
        std::printf("extra library : wrong %ld\n", wrong);
        right &= wrong == 0;
    }
    told.enter("tear_down");
    for (void *p : held)
        sycl::free(p, queue);
    return right;
}

} // namespace

int main(int argc, char **argv)
{
    std::setvbuf(stdout, nullptr, _IOLBF, 0);
    if (const char *fd = std::getenv("REPRO_MATRIX_RESULT_FD"))
        told.fd = std::atoi(fd);
    /* A thread that waits for SIGTERM tells what there is, also while the main thread waits inside the driver. */
    sigset_t term;
    sigemptyset(&term);
    sigaddset(&term, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &term, nullptr);
    std::thread([term] {
        int signal = 0;
        if (sigwait(&term, &signal) == 0) {
            told.fail("SIGTERM", 0, "terminated");
            told.write();
            _exit(TERMINATED);
        }
    }).detach();
#ifdef REPRO_SYCL_COMPILER
    told.front_end = "icpx (SYCL compiler " + std::to_string(__SYCL_COMPILER_VERSION) + ")";
#else
    const char *front_end = std::getenv("REPRO_MATRIX_FRONT_END");
    told.front_end = front_end ? front_end : "DPC++ run-time compiler + host compiler " __VERSION__;
#endif
    told.enter("set_up");
    int code = CALL_FAILED;
    try {
        code = steps(parse(argc, argv)) ? CLEAN : CORRUPT;
    } catch (const Stop &stop) {
        code = stop.code;
        /* A number says that the runtime refused; 0 is for what the harness got wrong. */
        told.fail(stop.call, code == NO_DEVICE || code == CALL_FAILED ? 1 : 0, stop.what());
        std::fprintf(stderr, "sycl: %s: %s\n", stop.call.c_str(), stop.what());
    } catch (const sycl::exception &e) {
        /* ze_result_t where the runtime's text names one; its own numbers are another series. */
        const std::string what = e.what();
        const bool lost = what.find("DEVICE_LOST") != std::string::npos;
        told.fail("sycl", lost ? 0x70000001 : 1, what);
        std::fprintf(stderr, "sycl: %s\n", e.what());
    } catch (const std::exception &e) {
        told.fail("host", 0, e.what());
        std::fprintf(stderr, "sycl: %s\n", e.what());
    }
    told.write();
    if (code == CALL_FAILED) {
        /* The runtime's own exit handlers may wait for a device that is gone. */
        std::fflush(nullptr);
        _exit(code);
    }
    return code;
}
#endif
