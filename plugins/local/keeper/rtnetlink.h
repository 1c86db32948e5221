/* Requests to the kernel about interfaces, addresses and routes of a network namespace, by rtnetlink(7). */
#ifndef SANDLOT_LOCAL_RTNETLINK_H
#define SANDLOT_LOCAL_RTNETLINK_H

#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* A message on its way: its attributes stand in `bytes`, which is more than any of ours takes. */
struct request {
    struct nlmsghdr head;
    char bytes[512];
};

/* A socket for the network namespace that the calling thread is in, also when the thread leaves it. It hears of what
 * GROUPS (RTMGRP_...) says. Not waiting, close-on-exec. -1 with errno. */
int rtnetlink_open(unsigned groups);

/* recv(2), until DEADLINE_MS (CLOCK_MONOTONIC; 0: what is there). */
ssize_t rtnetlink_receive(int fd, void *bytes, size_t size, int64_t deadline_ms);

/* Begins a message of TYPE (RTM_...), whose fixed part are the SIZE bytes of FIXED. FLAGS are added to those that ask
 * for an answer. */
void request_begin(struct request *request, uint16_t type, uint16_t flags, const void *fixed, size_t size);

/* Adds an attribute. */
void request_add(struct request *request, unsigned short type, const void *value, size_t size);
void request_add_text(struct request *request, unsigned short type, const char *text);
void request_add_number(struct request *request, unsigned short type, uint32_t number);

/* Begins an attribute that holds others, behind SIZE bytes of FIXED, and ends it. */
struct rtattr *request_enter(struct request *request, unsigned short type, const void *fixed, size_t size);
void request_leave(struct request *request, struct rtattr *nest);

/* Sends it, and waits for the kernel's answer: 0, or -1 with errno. */
int request_send(int fd, struct request *request);

#endif
