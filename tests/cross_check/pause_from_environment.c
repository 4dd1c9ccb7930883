/* Preloaded into ethtool: a machine without netlink whose interfaces all have the pause parameters of the variable PAUSE ("autonegotiate rx tx", 0 or 1). */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/ethtool.h>
#include <linux/if.h>
#include <linux/sockios.h>

int socket(int domain, int type, int protocol) {
  if (domain == AF_NETLINK) {
    errno = EPROTONOSUPPORT;
    return -1;
  }
  return (int)syscall(SYS_socket, domain, type, protocol);
}

int ioctl(int file, unsigned long request, ...) {
  va_list arguments;
  va_start(arguments, request);
  struct ifreq *query = va_arg(arguments, struct ifreq *);
  va_end(arguments);
  if (request != SIOCETHTOOL) return (int)syscall(SYS_ioctl, file, request, query);
  struct ethtool_pauseparam *pause = (void *)query->ifr_data;
  const char *text = getenv("PAUSE");
  if (pause->cmd == ETHTOOL_GPAUSEPARAM && text && sscanf(text, "%u %u %u", &pause->autoneg, &pause->rx_pause, &pause->tx_pause) == 3) return 0;
  errno = EOPNOTSUPP;
  return -1;
}
