/* Kernels of the Level Zero reproducer. The generator (src/build/source.rs) puts its #defines in front of this text
 * and one PRIVATE(n) or PLAIN(n) line for each kernel behind it.
 *
 *   BATCH  entries of the by-value argument block (BATCH_SIZE), a multiple of 8
 *   SIMD   required sub-group size
 *   PAD    straight-line statements that never run; empty unless the image is to be big
 */

/* The shape of a batched concatenation's argument block: pointers, where each input goes, and metadata.
 * 21 * BATCH + 80 bytes. It is indexed by the work-group's id, which the compiler cannot know, so each hardware
 * thread keeps a copy of it per lane in private memory: privateMemSize = SIMD * sizeof(Block). */
typedef struct {
    ulong input[BATCH];
    ulong geometry[BATCH]; /* first output element | elements << 32 */
    ulong rest[(5 * BATCH + 80) / 8];
} Block;

/* Group ids: x walks the elements of one input, y picks the input. With private memory that reads as zero, `from`
 * is null and `first` is 0: every input lands on the first one's outputs, and the others' are never written.
 * `n` is an ordinary argument on purpose: it survives and the kernel goes on. */
#define PRIVATE(N)                                                                         \
    __attribute__((intel_reqd_sub_group_size(SIMD)))                                       \
    __kernel void priv##N(__global uint *out, Block block, uint n)                         \
    {                                                                                      \
        const uint i = (uint)get_global_id(0);                                             \
        const uint b = (uint)get_group_id(1);                                              \
        if (i >= n)                                                                        \
            return;                                                                        \
        const uint first = (uint)block.geometry[b];                                        \
        const __global uint *from = (const __global uint *)block.input[b];                 \
        uint value = from[i] + N##u;                                                       \
        PAD                                                                                \
        out[first + i] = value;                                                            \
    }

/* The same copy with scalar arguments: nothing to index at run time, so no private memory. */
#define SCALAR(NAME, N)                                                                    \
    __attribute__((intel_reqd_sub_group_size(SIMD)))                                       \
    __kernel void NAME(__global uint *out, const __global uint *in0,                       \
                       const __global uint *in1, uint n)                                   \
    {                                                                                      \
        const uint i = (uint)get_global_id(0);                                             \
        const uint b = (uint)get_group_id(1);                                              \
        if (i >= n)                                                                        \
            return;                                                                        \
        const __global uint *from = b ? in1 : in0;                                         \
        out[b * n + i] = from[i] + N##u;                                                   \
    }

#define PLAIN(N) SCALAR(plain##N, N)
#define CONTROL SCALAR(nopriv, 0)

/* One padding step is two instructions of a shift-and-xor generator, behind a branch that is never taken: `n` is never
 * 2^32 - 1, and the compiler cannot know it. The image is bigger; a run costs no more. */
#define PAD_BEGIN if (n == 0xffffffffu) { uint pad = 2u * i + 1u;
#define PAD_A pad ^= pad << 13;
#define PAD_B pad ^= pad >> 17;
#define PAD_C pad ^= pad << 5;
#define PAD_ROUND PAD_A PAD_B PAD_C
#define PAD_END value += pad; }
