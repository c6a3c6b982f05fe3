// Three small programs with known answers, to check that a device computes: `repro-matrix level-zero-check`.

__kernel void vector_add(__global float *out, __global const float *a, __global const float *b, uint n) {
    uint i = get_global_id(0);
    if (i < n)
        out[i] = a[i] + b[i];
}

// One sum of 256 words for each group, in local memory.
__kernel void reduce(__global uint *out, __global const uint *in, uint n) {
    __local uint part[256];
    uint i = get_global_id(0), l = get_local_id(0);
    part[l] = i < n ? in[i] : 0;
    for (uint s = 128; s > 0; s >>= 1) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (l < s)
            part[l] += part[l + s];
    }
    if (l == 0) {
        out[get_group_id(0)] = part[0];
        atomic_add(&out[get_num_groups(0)], part[0]);
    }
}

// out = a × b, square, in tiles of 16 × 16 held in local memory; n is a multiple of 16. Tiles count along x.
__kernel void matmul(__global float *out, __global const float *a, __global const float *b, uint n) {
    __local float ta[256], tb[256];
    uint tiles = n / 16, l = get_local_id(0), x = l % 16, y = l / 16;
    uint row = get_group_id(0) / tiles * 16 + y, column = get_group_id(0) % tiles * 16 + x;
    float sum = 0;
    for (uint t = 0; t < tiles; t++) {
        ta[l] = a[row * n + t * 16 + x];
        tb[l] = b[(t * 16 + y) * n + column];
        barrier(CLK_LOCAL_MEM_FENCE);
        for (uint k = 0; k < 16; k++)
            sum = fma(ta[y * 16 + k], tb[k * 16 + x], sum);
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    out[row * n + column] = sum;
}
