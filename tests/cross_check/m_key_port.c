/* Preloaded before libumad2sim: ports with the M_Key that ibsim's ports lack (IBA 14.2.4), for the processes of one fabric.
 *
 * M_KEY: the key of all ports, M_KEY_LEVEL: their M_KeyProtectBits. As check_mkey() and subn_get_portinfo() of the kernel's qib driver do it, a Get with
 * another key is answered below level 2, with the key itself at level 0 only. M_KEY_MANAGER: this process has the key, as the subnet manager does.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { LID_ROUTED = 0x01, DIRECTED = 0x81, GET = 0x01, ANSWER = 0x81, PORT_INFO = 0x15, MANAGER_INFO = 0x20 };
enum { CLASS = 1, METHOD = 3, ATTRIBUTE = 16, KEY = 24, DATA = 64, PROTECT = DATA + 34, LARGEST = 512 };

extern void *umad_get_mad(void *umad);

static unsigned char refused[LARGEST];
static int refused_length, refused_agent;

static uint64_t number(const char *name) { const char *text = getenv(name); return text ? strtoull(text, NULL, 0) : 0; }

static int of_subnet(const unsigned char *mad) { return mad[CLASS] == LID_ROUTED || mad[CLASS] == DIRECTED; }

int umad_send(int fd, int agent, void *umad, int length, int timeout, int retries) {
  int (*real)(int, int, void *, int, int, int) = (int (*)(int, int, void *, int, int, int))dlsym(RTLD_NEXT, "umad_send");
  const unsigned char *mad = umad_get_mad(umad);
  int size = length + (int)(mad - (unsigned char *)umad);
  /* The subnet manager itself judges a query of its state (SMInfo). */
  if (of_subnet(mad) && mad[METHOD] == GET && mad[ATTRIBUTE + 1] != MANAGER_INFO && number("M_KEY") && number("M_KEY_LEVEL") > 1 && !getenv("M_KEY_MANAGER") && size <= LARGEST) {
    memcpy(refused, umad, size);
    refused_length = length;
    refused_agent = agent;
    return 0;
  }
  return real(fd, agent, umad, length, timeout, retries);
}

int umad_recv(int fd, void *umad, int *length, int timeout) {
  int (*real)(int, void *, int *, int) = (int (*)(int, void *, int *, int))dlsym(RTLD_NEXT, "umad_recv");
  if (refused_length) { /* The kernel hands a request without an answer back with this status, the second word of the header. */
    memcpy(umad, refused, refused_length + ((unsigned char *)umad_get_mad(refused) - refused));
    ((uint32_t *)umad)[1] = ETIMEDOUT;
    *length = refused_length;
    refused_length = 0;
    return refused_agent;
  }
  int agent = real(fd, umad, length, timeout);
  unsigned char *mad = umad_get_mad(umad);
  if (agent >= 0 && of_subnet(mad) && mad[METHOD] == ANSWER && mad[ATTRIBUTE + 1] == PORT_INFO && mad[ATTRIBUTE] == 0) {
    uint64_t level = number("M_KEY_LEVEL"), key = getenv("M_KEY_MANAGER") || level == 0 ? number("M_KEY") : 0;
    for (int i = 0; i < 8; i++) mad[DATA + i] = (unsigned char)(key >> (8 * (7 - i)));
    mad[PROTECT] = (unsigned char)((mad[PROTECT] & 0x3f) | (level << 6));
  }
  return agent;
}
