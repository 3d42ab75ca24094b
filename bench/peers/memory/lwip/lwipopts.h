/* How lwIP is built here, in place of the options that its crate comes with (`run` has this folder
 * looked into first): lwIP as it is published, with what its defaults are too small for. What is
 * said to be the fastest was so on an EPYC (family 25, model 1). After a change here:
 * cargo clean --release -p lwip. */
#ifndef LWIPOPTS_H
#define LWIPOPTS_H

/* Called by one thread, and no more of lwIP than TCP over IPv4: as smoltcp is built here. */
#define NO_SYS 1
#define SYS_LIGHTWEIGHT_PROT 0
#define LWIP_IPV6 0
#define LWIP_ARP 0
#define LWIP_RAW 0
#define LWIP_UDP 0
#define LWIP_NETCONN 0
#define LWIP_SOCKET 0
#define LWIP_STATS 0
/* No assertions, as in a release build. */
#define LWIP_NOASSERT

/* Segments as long as the largest MTU of the loads allows. An interface's MTU bounds them, too. */
#define TCP_MSS (4352 - 40)
/* The most without window scaling; from a quarter of it on, it makes little difference.
 * TCP_SND_BUF is SEND_BUFFER of src/lwip.rs. */
#define TCP_WND 65535
#define TCP_SND_BUF 65535
/* Buffers that wait on a connection, at most: enough for TCP_SND_BUF in the smallest segments. */
#define TCP_SND_QUEUELEN 256

/* Checksums are computed and verified, as is lwIP's default. Of lwIP's own three ways this is the
 * fastest, since compilers make vectors of it; to compute while copying is slower. */
#define LWIP_CHKSUM_ALGORITHM 2
#define LWIP_CHECKSUM_ON_COPY 0

/* Memory that is never short. lwIP's own heap is no slower than malloc. */
#define MEM_ALIGNMENT 8
#define MEM_SIZE (16 * 1024 * 1024)
#define MEMP_NUM_TCP_PCB 256
#define MEMP_NUM_TCP_SEG 8192
#define PBUF_POOL_SIZE 4096

#endif
