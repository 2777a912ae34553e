/* The numbers that src/table.rs asserts of its own structures hold in include/torch_storage.h too: if this compiles, they are alike. */
#include "torch_storage.h"

#define SAME(name, condition) typedef char name[(condition) ? 1 : -1]

SAME(view_size, sizeof(torch_storage_view) == 48);
SAME(view_data, offsetof(torch_storage_view, data) == 8);
SAME(view_elements, offsetof(torch_storage_view, size) == 16);
SAME(view_width, offsetof(torch_storage_view, width) == 24);
SAME(view_dtype, offsetof(torch_storage_view, dtype) == 32);
SAME(view_flags, offsetof(torch_storage_view, flags) == 36);
SAME(view_class, offsetof(torch_storage_view, class_name) == 40);

SAME(table_size, sizeof(torch_storage_api) == 160);
SAME(table_major, offsetof(torch_storage_api, major) == 8);
SAME(table_minor, offsetof(torch_storage_api, minor) == 12);
SAME(table_bytes, offsetof(torch_storage_api, size) == 16);
SAME(table_library, offsetof(torch_storage_api, library) == 24);
SAME(table_test, offsetof(torch_storage_api, test) == 32);
SAME(table_check, offsetof(torch_storage_api, check) == 40);
SAME(table_retain, offsetof(torch_storage_api, retain) == 64);
SAME(table_release, offsetof(torch_storage_api, release) == 72);
SAME(table_held, offsetof(torch_storage_api, held) == 80);
SAME(table_wait, offsetof(torch_storage_api, wait) == 120);
SAME(table_notify, offsetof(torch_storage_api, notify) == 128);
SAME(table_memory, offsetof(torch_storage_api, memory) == 136);
SAME(table_limit, offsetof(torch_storage_api, limit) == 144);
SAME(table_restricted, offsetof(torch_storage_api, restricted) == 152);

SAME(box_size, sizeof(torch_storage_box) == 16);
SAME(box_table, offsetof(torch_storage_box, api) == 8);

SAME(major, TORCH_STORAGE_MAJOR == 1);
SAME(minor, TORCH_STORAGE_MINOR == 2);
SAME(flags, TORCH_WRITABLE == 1 && TORCH_ALIGNED == 2 && TORCH_TENSORS == 256 && TORCH_PIN == 512);
SAME(integers, TORCH_BYTE == 1 && TORCH_CHAR == 2 && TORCH_SHORT == 3 && TORCH_INT == 4 && TORCH_LONG == 5);
SAME(unsigned_integers, TORCH_UINT16 == 9 && TORCH_UINT32 == 10 && TORCH_UINT64 == 11 && TORCH_BOOL == 13);
SAME(floats, TORCH_HALF == 6 && TORCH_FLOAT == 7 && TORCH_DOUBLE == 8 && TORCH_BFLOAT16 == 12);
SAME(others, TORCH_COMPLEX_FLOAT == 18 && TORCH_COMPLEX_DOUBLE == 19 && TORCH_UNTYPED == 20 && TORCH_ANY == 0);
