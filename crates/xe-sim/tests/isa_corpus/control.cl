// Branches, loops, early exits, switches, and calls that are not inlined.
#define K __attribute__((intel_reqd_sub_group_size(SG))) __kernel void

K loops(__global int *o, __global const int *a, int n) {
    size_t i = get_global_id(0);
    int s = 0;
    for (int j = 0; j < n; j++) {
        int v = a[j * 7 + i];
        if (v < 0) continue;
        if (v == 1000) break;
        do {
            s += v & j;
            v >>= 1;
        } while (v > j);
    }
    o[i] = s;
}
K nested(__global int *o, __global const int *a, int n) {
    size_t i = get_global_id(0);
    int s = a[i];
    if (s > 5) {
        if (s & 1)
            s = s * 3 + 1;
        else
            while (s > n) s /= 3;
    } else if (s < -5) {
        for (int j = s; j < 0; j++) {
            if (a[i + j + 100] == j) return;
            s ^= j;
        }
    } else {
        s = n;
    }
    o[i] = s;
}
K cases(__global int *o, __global const int *a) {
    size_t i = get_global_id(0);
    int r;
    switch (a[i]) {
    case 0: r = a[i + 1]; break;
    case 1: r = a[i + 2] * 5; break;
    case 2: r = o[i] + 9; break;
    case 7: o[i + 1] = 4; r = 3; break;
    case 9: r = 11; break;
    default: r = -1;
    }
    o[i] = r;
}
K uniform(__global int *o, __global const int *a, int n, int m) {
    size_t i = get_global_id(0);
    int s = 0;
    for (int j = 0; j < n; j++) {
        if (m > 3)
            s += a[j];
        else
            s -= a[j + i];
        if (get_group_id(0) == (size_t)j) s *= 3;
    }
    o[i] = s;
}
__attribute__((noinline)) int helper(int x, __global const int *a, int depth) {
    int s = x;
    for (int j = 0; j < depth; j++) s = s * a[j] + (s > x ? j : -j);
    return s;
}
K calls(__global int *o, __global const int *a, int n) {
    size_t i = get_global_id(0);
    int x = helper(a[i], a, n);
    if (x > 3) x += helper(x, a + 4, 3);
    o[i] = x;
}
