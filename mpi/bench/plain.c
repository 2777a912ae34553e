/* The benchmark of torch.mpi in C, at the same level of threads: mpi_bench WHAT BYTES REPEATS ROUNDS prints seconds for
 * each, the least of all rounds. WHAT is `message` (half of a round trip between two ranks) or `allreduce` (of floats, in place). */
#define _DEFAULT_SOURCE
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define HUGE_PAGE ((size_t)2 << 20)

/* Memory as storages have it: from 2 MB on it begins at a huge page and asks for huge pages, and all of it was written. */
static float *allocate(size_t bytes) {
  void *data;
  if (bytes < HUGE_PAGE)
    return (float *)calloc(1, bytes);
  if (posix_memalign(&data, HUGE_PAGE, bytes) != 0)
    return NULL;
#ifdef MADV_HUGEPAGE
  madvise(data, bytes, MADV_HUGEPAGE);
#endif
  return (float *)memset(data, 0, bytes);
}

int main(int argc, char **argv) {
  int level, rank, size;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &level);
  MPI_Comm world;
  MPI_Comm_dup(MPI_COMM_WORLD, &world);
  MPI_Comm_rank(world, &rank);
  MPI_Comm_size(world, &size);
  if (argc < 5)
    MPI_Abort(world, 2);
  const size_t bytes = strtoull(argv[2], NULL, 10);
  const int repeats = atoi(argv[3]), rounds = atoi(argv[4]);
  float *data = allocate(bytes);
  if (data == NULL)
    MPI_Abort(world, 3);
  double best = 1e9;
  for (int round = 0; round < rounds; round++) {
    MPI_Barrier(world);
    const double start = MPI_Wtime();
    for (int n = 0; n < repeats; n++) {
      if (argv[1][0] == 'a') {
        MPI_Allreduce(MPI_IN_PLACE, data, (int)(bytes / sizeof *data), MPI_FLOAT, MPI_SUM, world);
      } else if (rank == 0) {
        MPI_Send(data, (int)(bytes / sizeof *data), MPI_FLOAT, 1, 0, world);
        MPI_Recv(data, (int)(bytes / sizeof *data), MPI_FLOAT, 1, 0, world, MPI_STATUS_IGNORE);
      } else if (rank == 1) {
        MPI_Recv(data, (int)(bytes / sizeof *data), MPI_FLOAT, 0, 0, world, MPI_STATUS_IGNORE);
        MPI_Send(data, (int)(bytes / sizeof *data), MPI_FLOAT, 0, 0, world);
      }
    }
    const double seconds = (MPI_Wtime() - start) / repeats / (argv[1][0] == 'a' ? 1 : 2);
    best = seconds < best ? seconds : best;
  }
  if (rank == 0)
    printf("%.9g\n", best);
  free(data);
  MPI_Finalize();
  return 0;
}
