/* bcryptprimitives.dll for a Wine that lacks it: the function from which Rust's standard library takes random numbers. */
#include <windows.h>

#include <ntsecapi.h>

__declspec(dllexport) BOOL WINAPI ProcessPrng(PBYTE data, SIZE_T size);

BOOL WINAPI ProcessPrng(PBYTE data, SIZE_T size) {
  return RtlGenRandom(data, (ULONG)size);
}
