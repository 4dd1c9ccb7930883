/* A libibverbs.so.1 for ibv_devinfo on a machine without adapters: devices and their attributes come from /sys, as the kernel's driver would answer. */
#include <ctype.h>
#include <dirent.h>
#include <endian.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <infiniband/verbs.h>

#define CLASS "/sys/class/infiniband"
enum { MOST_DEVICES = 64, ROCE_HEADERS = 96 };

static struct ibv_device *devices[MOST_DEVICES + 1];

/* The first line of a file without its end; an absent file reads as empty. */
static char *line_of(const char *folder, const char *file, char *line, size_t size) {
  char path[1024];
  snprintf(path, sizeof path, "%s/%s", folder, file);
  FILE *stream = fopen(path, "r");
  line[0] = 0;
  if (stream) {
    if (!fgets(line, (int)size, stream)) line[0] = 0;
    fclose(stream);
  }
  line[strcspn(line, "\n")] = 0;
  return line;
}

static unsigned long number_of(const char *folder, const char *file) {
  char line[256];
  return strtoul(line_of(folder, file, line, sizeof line), NULL, 0);
}

static uint64_t guid_of(const char *folder, const char *file) {
  char line[256], digits[32];
  size_t n = 0;
  line_of(folder, file, line, sizeof line);
  for (char *c = line; *c && n < sizeof digits - 1; c++)
    if (isxdigit((unsigned char)*c)) digits[n++] = *c;
  digits[n] = 0;
  return htobe64(strtoull(digits, NULL, 16));
}

static int by_name(const void *one, const void *other) {
  return strcmp((*(struct ibv_device *const *)one)->name, (*(struct ibv_device *const *)other)->name);
}

struct ibv_device **ibv_get_device_list(int *count) {
  size_t n = 0;
  DIR *folder = opendir(CLASS);
  struct dirent *entry;
  while (folder && n < MOST_DEVICES && (entry = readdir(folder))) {
    if (entry->d_name[0] == '.') continue;
    struct ibv_device *device = calloc(1, sizeof *device);
    device->node_type = IBV_NODE_CA;
    device->transport_type = IBV_TRANSPORT_IB;
    snprintf(device->name, sizeof device->name, "%.63s", entry->d_name);
    snprintf(device->ibdev_path, sizeof device->ibdev_path, CLASS "/%.200s", entry->d_name);
    devices[n++] = device;
  }
  if (folder) closedir(folder);
  qsort(devices, n, sizeof devices[0], by_name);
  devices[n] = NULL;
  if (count) *count = (int)n;
  return devices;
}

void ibv_free_device_list(struct ibv_device **list) { (void)list; }

const char *ibv_get_device_name(struct ibv_device *device) { return device->name; }

struct ibv_context *ibv_open_device(struct ibv_device *device) {
  struct ibv_context *context = calloc(1, sizeof *context);
  context->device = device;
  return context;
}

int ibv_close_device(struct ibv_context *context) {
  free(context);
  return 0;
}

int ibv_read_sysfs_file(const char *folder, const char *file, char *line, size_t size) {
  return (int)strlen(line_of(folder, file, line, size));
}

int ibv_query_device(struct ibv_context *context, struct ibv_device_attr *attr) {
  const char *at = context->device->ibdev_path;
  line_of(at, "fw_ver", attr->fw_ver, sizeof attr->fw_ver);
  attr->node_guid = guid_of(at, "node_guid");
  attr->sys_image_guid = guid_of(at, "sys_image_guid");
  attr->vendor_id = 0x02c9; /* Mellanox's IEEE number, not its PCI one */
  attr->vendor_part_id = (uint32_t)number_of(at, "device/device");
  attr->hw_ver = (uint32_t)number_of(at, "hw_rev");
  attr->phys_port_cnt = 1;
  return 0;
}

/* iboe_get_mtu of the kernel. */
static enum ibv_mtu roce_mtu(const char *port) {
  char name[256], folder[512];
  snprintf(folder, sizeof folder, "/sys/class/net/%s", line_of(port, "gid_attrs/ndevs/0", name, sizeof name));
  long left = (long)number_of(folder, "mtu") - ROCE_HEADERS;
  for (int mtu = IBV_MTU_4096; mtu > IBV_MTU_256; mtu--)
    if (left >= 128 << mtu) return (enum ibv_mtu)mtu;
  return IBV_MTU_256;
}

#undef ibv_query_port
int ibv_query_port(struct ibv_context *context, uint8_t number, struct _compat_ibv_port_attr *compatible) {
  struct ibv_port_attr *attr = (struct ibv_port_attr *)compatible;
  char port[1024], layer[64];
  snprintf(port, sizeof port, "%s/ports/%d", context->device->ibdev_path, number);
  line_of(port, "link_layer", layer, sizeof layer);
  int ethernet = strcmp(layer, "Ethernet") == 0;
  attr->state = (enum ibv_port_state)number_of(port, "state");
  attr->max_mtu = IBV_MTU_4096;
  attr->active_mtu = ethernet ? roce_mtu(port) : IBV_MTU_4096;
  attr->lid = (uint16_t)number_of(port, "lid");
  attr->sm_lid = (uint16_t)number_of(port, "sm_lid");
  attr->lmc = (uint8_t)number_of(port, "lid_mask_count");
  attr->link_layer = ethernet ? IBV_LINK_LAYER_ETHERNET : IBV_LINK_LAYER_INFINIBAND;
  return 0;
}

/* Only verbose output asks for these. */
int ibv_query_gid(struct ibv_context *context, uint8_t port, int index, union ibv_gid *gid) {
  (void)context, (void)port, (void)index, (void)gid;
  return -1;
}

int ibv_query_gid_type(struct ibv_context *context, uint8_t port, unsigned int index, int *type) {
  (void)context, (void)port, (void)index, (void)type;
  return -1;
}
