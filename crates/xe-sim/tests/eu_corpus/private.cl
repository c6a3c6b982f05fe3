// A by-value block indexed by the group's id, which the compiler cannot know: each hardware thread keeps a copy of it
// for every lane in private memory. Of the shape of a batched concatenation's arguments.
typedef struct {
    ulong input[BATCH];
    ulong geometry[BATCH]; // first output element | elements << 32
    ulong rest[(5 * BATCH + 80) / 8];
} Block;

__attribute__((intel_reqd_sub_group_size(SIMD)))
__kernel void priv0(__global uint *out, Block block, uint n) {
    const uint i = (uint)get_global_id(0);
    const uint b = (uint)get_group_id(1);
    if (i >= n) return;
    const uint first = (uint)block.geometry[b];
    const __global uint *from = (const __global uint *)block.input[b];
    out[first + i] = from[i];
}

__attribute__((intel_reqd_sub_group_size(SIMD)))
__kernel void nopriv(__global uint *out, const __global uint *in0, const __global uint *in1, uint n) {
    const uint i = (uint)get_global_id(0);
    const uint b = (uint)get_group_id(1);
    if (i >= n) return;
    const __global uint *from = b ? in1 : in0;
    out[b * n + i] = from[i];
}
