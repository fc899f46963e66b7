/* A queue pair of an RDMA adapter that is connected to another one of the same process, to read
   memory as a peer does: by its address and its remote key. Built by ci/rdma.sh. */
#include <infiniband/verbs.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct reader {
    struct ibv_cq *queue;
    struct ibv_qp *pair[2];
    struct ibv_mr *region;
    unsigned char bytes[4096];
};

/* Finds an address of RoCE version 2 over IPv4. */
static int address_of(struct ibv_context *context, union ibv_gid *gid)
{
    static const unsigned char ipv4[12] = {[10] = 0xff, [11] = 0xff};
    for (int i = 0; i < 16; i++)
        if (ibv_query_gid(context, 1, i, gid) == 0 && memcmp(gid->raw, ipv4, sizeof ipv4) == 0)
            return i;
    return -1;
}

static int connect_to(struct ibv_qp *pair, uint32_t other, const union ibv_gid *gid, int index)
{
    struct ibv_qp_attr init = {.qp_state = IBV_QPS_INIT, .port_num = 1,
                               .qp_access_flags = IBV_ACCESS_REMOTE_READ};
    struct ibv_qp_attr receive = {.qp_state = IBV_QPS_RTR, .path_mtu = IBV_MTU_1024,
                                  .dest_qp_num = other, .max_dest_rd_atomic = 1,
                                  .min_rnr_timer = 12};
    struct ibv_qp_attr send = {.qp_state = IBV_QPS_RTS, .timeout = 14, .retry_cnt = 7,
                               .rnr_retry = 7, .max_rd_atomic = 1};
    receive.ah_attr.is_global = 1;
    receive.ah_attr.port_num = 1;
    receive.ah_attr.grh.dgid = *gid;
    receive.ah_attr.grh.sgid_index = (uint8_t)index;
    receive.ah_attr.grh.hop_limit = 1;
    return ibv_modify_qp(pair, &init, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
                                          IBV_QP_ACCESS_FLAGS) ||
           ibv_modify_qp(pair, &receive, IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU |
                                             IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                                             IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER) ||
           ibv_modify_qp(pair, &send, IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
                                          IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
                                          IBV_QP_MAX_QP_RD_ATOMIC);
}

/* Makes a reader in a protection domain, or returns null. */
struct reader *reader_new(struct ibv_pd *domain)
{
    struct reader *reader = calloc(1, sizeof *reader);
    union ibv_gid gid;
    int index = address_of(domain->context, &gid);
    reader->queue = ibv_create_cq(domain->context, 16, NULL, NULL, 0);
    reader->region = ibv_reg_mr(domain, reader->bytes, sizeof reader->bytes, IBV_ACCESS_LOCAL_WRITE);
    struct ibv_qp_init_attr made = {.send_cq = reader->queue, .recv_cq = reader->queue,
                                    .qp_type = IBV_QPT_RC,
                                    .cap = {.max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 1,
                                            .max_recv_sge = 1}};
    for (int i = 0; i < 2; i++)
        reader->pair[i] = ibv_create_qp(domain, &made);
    if (index < 0 || !reader->queue || !reader->region || !reader->pair[0] || !reader->pair[1])
        return NULL;
    for (int i = 0; i < 2; i++)
        if (connect_to(reader->pair[i], reader->pair[1 - i]->qp_num, &gid, index))
            return NULL;
    return reader;
}

/* Lets the adapter read one byte. Returns it, or -1 - the status of the work request. */
int reader_read(struct reader *reader, uint64_t address, uint32_t key)
{
    struct ibv_sge to = {.addr = (uintptr_t)reader->bytes, .length = 1,
                         .lkey = reader->region->lkey};
    struct ibv_send_wr read = {.sg_list = &to, .num_sge = 1, .opcode = IBV_WR_RDMA_READ,
                               .send_flags = IBV_SEND_SIGNALED,
                               .wr.rdma = {.remote_addr = address, .rkey = key}};
    struct ibv_send_wr *wrong;
    struct ibv_wc done;
    if (ibv_post_send(reader->pair[0], &read, &wrong))
        return -1000;
    for (int i = 0; i < 20000; i++) {
        int count = ibv_poll_cq(reader->queue, 1, &done);
        if (count < 0)
            return -1001;
        if (count == 1)
            return done.status == IBV_WC_SUCCESS ? reader->bytes[0] : -1 - (int)done.status;
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
    return -1002;
}

/* Ends a reader. */
void reader_free(struct reader *reader)
{
    for (int i = 0; i < 2; i++)
        ibv_destroy_qp(reader->pair[i]);
    ibv_dereg_mr(reader->region);
    ibv_destroy_cq(reader->queue);
    free(reader);
}
