// {"kernel":"accumulators","seed":6,"stride":64,"slots":[{"at":0,"ty":{"s":"I32","n":16},"check":"Bits"}],"local":[32,1,1],"groups":[3,1,1]}
// Products under way in acc0 while acc2 and acc3 hold other values: their upper halves were one.
KERNEL void accumulators(PARAMETERS) {
  PLACE(64);
  int16 v = vload16((gid + 5u) % 16u, (global const int *)in);
  v = (v % 160) * 7 + ((v >> 3) % 1000) - (v / 77);
  vstore16(v, 0, (global int *)o);
}
