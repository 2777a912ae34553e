/* `_dl_find_object` of glibc, which the unwinder of Debian's GCC calls. With it that unwinder works with musl, as that of Alpine does. The
 * structure is that of glibc's <dlfcn.h>; the unwinder reads only `eh_frame`. */
#define _GNU_SOURCE
#include <link.h>
#include <stddef.h>

struct dl_find_object {
  unsigned long long flags;
  void *map_start, *map_end;
  struct link_map *link_map;
  void *eh_frame;
  unsigned long long reserved[7];
};

struct search {
  ElfW(Addr) address;
  struct dl_find_object *result;
};

static int look(struct dl_phdr_info *info, size_t size, void *data) {
  struct search *search = data;
  const ElfW(Phdr) *headers = info->dlpi_phdr, *frames = NULL;
  int inside = 0;
  (void)size;
  for (int i = 0; i < info->dlpi_phnum; i++) {
    ElfW(Addr) start = info->dlpi_addr + headers[i].p_vaddr;
    if (headers[i].p_type == PT_GNU_EH_FRAME)
      frames = &headers[i];
    if (headers[i].p_type == PT_LOAD && search->address >= start && search->address < start + headers[i].p_memsz)
      inside = 1;
  }
  if (!inside || frames == NULL)
    return 0;
  search->result->eh_frame = (void *)(info->dlpi_addr + frames->p_vaddr);
  return 1;
}

int _dl_find_object(void *address, struct dl_find_object *result) {
  struct search search = {(ElfW(Addr))address, result};
  return dl_iterate_phdr(look, &search) == 1 ? 0 : -1;
}
