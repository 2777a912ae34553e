/* Macros of mpi.h that neither Rust nor mpi-sys can see: they are casts or variables of the library. */
#include <mpi.h>

void *torch_mpi_in_place(void) { return MPI_IN_PLACE; }
MPI_Datatype torch_mpi_byte(void) { return MPI_BYTE; }
