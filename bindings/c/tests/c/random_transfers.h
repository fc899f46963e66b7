/* Random calls of the functions for transfers between an owner and its peers, which are in this
   process, too. */
#ifndef RANDOM_TRANSFERS_H
#define RANDOM_TRANSFERS_H

#include "random_objects.h"

/* The newest shared memory, which may have ended. Its pieces are only compared with what lives. */
static struct {
    uint8_t *data;
    size_t bytes;
} shared = {own, 0};

/* Returns a cookie: mostly one of a declaration that lives or lived, or that of gathered memory. */
static const tcasm_cookie *some_cookie(void)
{
    static tcasm_cookie cookie;
    switch (below(16)) {
    case 0: return NULL;
    case 1:
        memset(&cookie, (int)below(256), sizeof cookie);
        return &cookie;
    case 2:
    case 3:
    case 4:
        if (tcasm_gathered_cookie(handle(GATHERED), &cookie) == TCASM_OK)
            return &cookie;
        break;
    default: break;
    }
    return &cookies[below(COOKIES)];
}

static int some_access(void)
{
    return below(16) ? 1 + (int)below(TCASM_READ_WRITE) : (int)number();
}

static int once(void)
{
    return below(4) ? 0 : (int)below(3);
}

static uint64_t some_offset(void)
{
    return below(16) ? below(16) : (uint64_t)number();
}

static size_t some_bytes(void)
{
    return below(16) ? 1 + below(64) : 0;
}

CALL(tcasm_owner_new)
{
    tcasm_owner *owner = NULL;
    int everyone = below(4) ? 0 : (int)below(3);
    return made(OWNER, tcasm_owner_new(everyone, &owner), &owner);
}

CALL(tcasm_owner_free)
{
    return free_owner(handle(OWNER));
}

CALL(tcasm_owner_address)
{
    const char *address = NULL;
    return with_text(tcasm_owner_address(handle(OWNER), &address), &address);
}

CALL(tcasm_declare)
{
    tcasm_cookie cookie;
    tcasm_segment pieces[3];
    size_t count = some_pieces(declared, pieces);
    int access = some_access();
    return kept_cookie(tcasm_declare(handle(OWNER), pieces, count, access, once(), &cookie),
                       &cookie);
}

/* Chooses a part of an array whose first element is in the middle of an arena, and which lies in
   the arena. Returns the number of dimensions. */
static size_t some_part(size_t *shape, int64_t *strides)
{
    static const int64_t usual[3] = {128, 32, 8}, others[4] = {-128, -8, 0, 5};
    for (int i = 0; i < 3; i++) {
        shape[i] = below(16) ? 1 + below(3) : 0;
        strides[i] = below(8) ? usual[i] : others[below(4)];
    }
    return 1 + below(3);
}

CALL(tcasm_declare_array)
{
    tcasm_cookie cookie;
    size_t shape[3], rank, element = below(4) ? 8 : below(10);
    int64_t strides[3];
    int access = some_access();
    rank = some_part(shape, strides);
    int status = tcasm_declare_array(handle(OWNER), declared + ARENA / 2, element, rank, shape,
                                     strides, access, once(), &cookie);
    return kept_cookie(status, &cookie);
}

CALL(tcasm_array_segments)
{
    tcasm_segment pieces[4];
    size_t shape[3], rank, count, element = below(4) ? 8 : below(10);
    int64_t strides[3];
    rank = some_part(shape, strides);
    return tcasm_array_segments(declared + ARENA / 2, element, rank, shape, strides, pieces,
                                below(5), &count);
}

CALL(tcasm_declare_field)
{
    tcasm_cookie cookie;
    int status = tcasm_declare_field(handle(OWNER), handle(VERSION), field_name(), &cookie);
    return kept_cookie(status, &cookie);
}

/* Mostly replaces a version that has just been declared. */
CALL(tcasm_set_declared_field)
{
    tcasm_owner *owner = handle(OWNER);
    tcasm_version *version = handle(VERSION);
    const char *name = field_name();
    tcasm_cookie cookie;
    if (below(4) && tcasm_declare_field(owner, version, name, &cookie) == TCASM_OK) {
        kept_cookie(TCASM_OK, &cookie);
        return tcasm_set_declared_field(owner, &cookie, version, name);
    }
    return tcasm_set_declared_field(owner, some_cookie(), version, name);
}

CALL(tcasm_revoke)
{
    return tcasm_revoke(handle(OWNER), some_cookie(), timeout());
}

CALL(tcasm_connect)
{
    const char *address = NULL;
    tcasm_peer *peer = NULL;
    if (tcasm_owner_address(handle(OWNER), &address) != TCASM_OK)
        address = text();
    return made(PEER, tcasm_connect(address, &peer), &peer);
}

CALL(tcasm_disconnect)
{
    return tcasm_disconnect(handle(PEER));
}

CALL(tcasm_describe)
{
    tcasm_declaration declaration = TCASM_INIT(tcasm_declaration);
    return tcasm_describe(handle(PEER), some_cookie(), &declaration);
}

CALL(tcasm_read_declared)
{
    uint64_t version;
    return tcasm_read_declared(handle(PEER), some_cookie(), some_offset(), own, some_bytes(),
                               below(2) ? &version : NULL);
}

CALL(tcasm_write_declared)
{
    return tcasm_write_declared(handle(PEER), some_cookie(), some_offset(), own, some_bytes());
}

/* A short timeout ends the connection sometimes. */
CALL(tcasm_peer_set)
{
    int option = below(16) ? 1 + (int)below(TCASM_PEER_TIMEOUT) : (int)number();
    int64_t value = option == TCASM_PEER_TIMEOUT && below(8) ? 1000 : number();
    return tcasm_peer_set(handle(PEER), option, value);
}

CALL(tcasm_shared_memory_new)
{
    tcasm_shared_memory *memory = NULL;
    void *data = NULL;
    size_t bytes = below(8) ? 1 + 100 * below(100) : below(2) ? 0 : SIZE_MAX;
    int status = made(SHARED, tcasm_shared_memory_new(bytes, &memory, &data), &memory);
    if (status == TCASM_OK) {
        shared.data = data;
        shared.bytes = bytes;
        shared.data[bytes - 1] = 1;
    }
    return status;
}

CALL(tcasm_shared_memory_free)
{
    return tcasm_shared_memory_free(handle(SHARED));
}

CALL(tcasm_declare_shared)
{
    tcasm_cookie cookie;
    size_t half = shared.bytes / 2, count = below(3);
    tcasm_segment pieces[2] = {{shared.data, half}, {shared.data + half, 1 + below(64)}};
    int access = some_access();
    int status = tcasm_declare_shared(handle(OWNER), handle(SHARED), count > 0 ? pieces : NULL,
                                      count, access, once(), &cookie);
    return kept_cookie(status, &cookie);
}

CALL(tcasm_map_declared)
{
    tcasm_mapped *mapped = NULL;
    return made(MAPPED, tcasm_map_declared(handle(PEER), some_cookie(), &mapped), &mapped);
}

CALL(tcasm_mapped_segments)
{
    tcasm_segment pieces[2];
    size_t room = below(3), count;
    int status = tcasm_mapped_segments(handle(MAPPED), pieces, room, &count);
    for (size_t i = 0; status == TCASM_OK && i < room && i < count; i++)
        seen = ((const uint8_t *)pieces[i].data)[pieces[i].bytes - 1];
    return status;
}

CALL(tcasm_unmap_declared)
{
    return tcasm_unmap_declared(handle(MAPPED));
}

CALL(tcasm_read_vectored)
{
    tcasm_segment pieces[3];
    uint64_t version;
    size_t count = some_pieces(own, pieces);
    return tcasm_read_vectored(handle(PEER), some_cookie(), below(4), pieces, count, &version);
}

CALL(tcasm_write_vectored)
{
    tcasm_segment pieces[3];
    size_t count = some_pieces(own, pieces);
    return tcasm_write_vectored(handle(PEER), some_cookie(), below(4), pieces, count);
}

CALL(tcasm_gathered_new)
{
    tcasm_gathered *object = NULL;
    tcasm_segment pieces[3];
    size_t count = some_pieces(gathered, pieces);
    const char *name = below(2) ? region[NAMES - 1] : region_name();
    int status = tcasm_gathered_new(handle(OWNER), name, pieces, count, &object);
    return made(GATHERED, status, &object);
}

CALL(tcasm_gathered_publish)
{
    change(gathered);
    return tcasm_gathered_publish(handle(GATHERED), next_step(), 0.5);
}

CALL(tcasm_gathered_cookie)
{
    tcasm_cookie cookie;
    return tcasm_gathered_cookie(handle(GATHERED), &cookie);
}

CALL(tcasm_gathered_free)
{
    return free_gathered(handle(GATHERED));
}

CALL(tcasm_hold)
{
    uint64_t held;
    return tcasm_hold(handle(PEER), some_cookie(), some_offset(), some_bytes(), &held);
}

/* Reads what the connection holds, or what it has just been told to hold. */
CALL(tcasm_read_held)
{
    tcasm_peer *peer = handle(PEER);
    uint64_t held = 0, version;
    if (below(4))
        tcasm_hold(peer, some_cookie(), 0, 16, &held);
    int status = tcasm_read_held(peer, below(8), own, 1 + below(8), &version);
    if (below(4))
        tcasm_let_go(peer);
    return status;
}

CALL(tcasm_let_go)
{
    return tcasm_let_go(handle(PEER));
}

static struct call transfer_calls[] = {
    ROW(tcasm_owner_new, 1), ROW(tcasm_owner_free, 1), ROW(tcasm_owner_address, 1),
    ROW(tcasm_declare, 4), ROW(tcasm_declare_array, 2), ROW(tcasm_array_segments, 1),
    ROW(tcasm_declare_field, 3), ROW(tcasm_set_declared_field, 4), ROW(tcasm_revoke, 2),
    ROW(tcasm_connect, 4), ROW(tcasm_disconnect, 1), ROW(tcasm_describe, 2),
    ROW(tcasm_read_declared, 5), ROW(tcasm_write_declared, 4), ROW(tcasm_peer_set, 1),
    ROW(tcasm_shared_memory_new, 2), ROW(tcasm_shared_memory_free, 1),
    ROW(tcasm_declare_shared, 3), ROW(tcasm_map_declared, 4), ROW(tcasm_mapped_segments, 3),
    ROW(tcasm_unmap_declared, 1), ROW(tcasm_read_vectored, 4), ROW(tcasm_write_vectored, 4),
    ROW(tcasm_gathered_new, 4), ROW(tcasm_gathered_publish, 3), ROW(tcasm_gathered_cookie, 1),
    ROW(tcasm_gathered_free, 1), ROW(tcasm_hold, 4), ROW(tcasm_read_held, 6),
    ROW(tcasm_let_go, 3),
};

#endif
