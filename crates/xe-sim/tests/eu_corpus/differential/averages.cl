// {"kernel":"averages","seed":1465,"stride":32,"slots":[{"at":0,"ty":{"s":"I32","n":4},"check":"Bits"},{"at":16,"ty":{"s":"I16","n":4},"check":"Bits"}],"local":[4,4,4],"groups":[1,2,1]}
// `avg`, which the compiler makes of a sum and a shift by one: here the sums fit, so that it may. Where they have to wrap
// (the first kernel that differed was a difference), the result of `avg` is another one; a hidden count keeps it away.
KERNEL void averages(PARAMETERS) {
  PLACE(32);
  const int a = ((global const int *)in)[gid], b = ((global const int *)in)[gid * 5u % 256u];
  const short c = ((global const short *)in)[gid], d = ((global const short *)in)[gid * 5u % 512u];
  const uint one = 1u ^ zero;
  vstore4((int4)(
    ((a >> 1) + (b >> 1) + 1) >> 1,
    rhadd(a, b),
    (int)((uint)a + (uint)b + 1u) >> one,
    (int)abs_diff(a >> one, (int)((uint)b - (3u ^ zero)) >> one)), 0, (global int *)o);
  vstore4((short4)(
    (short)((short)((short)(c >> 1) + (short)(d >> 1) + 1) >> 1),
    rhadd(c, d),
    (short)((short)(ushort)((ushort)c + (ushort)d + 1u) >> one),
    (short)(((short)(c ^ (short)zero)) >> one)), 0, (global short *)(o + 16));
}
