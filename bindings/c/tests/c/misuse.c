/* Wrong calls are statuses with a text, and never a crash. */
#include "check.h"
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

static tcasm_producer *producer;
static tcasm_observer *observer;

static void null_is_refused(void)
{
    tcasm_array array = TCASM_INIT(tcasm_array);
    size_t shape[] = {4};
    FAILS(TCASM_INVALID_ARGUMENT, tcasm_create(NULL, 1, NULL, &producer));
    said("the name of the region is null");
    FAILS(TCASM_INVALID_ARGUMENT, tcasm_create("c-no-place", 1 << 20, NULL, NULL));
    FAILS(TCASM_INVALID_HANDLE, tcasm_close(NULL));
    FAILS(TCASM_INVALID_HANDLE, tcasm_publish(NULL, 1, 1.0));
    FAILS(TCASM_INVALID_ARGUMENT, tcasm_attach("x", 0.0, NULL));
    FAILS(TCASM_INVALID_ARGUMENT,
          tcasm_add_field(producer, NULL, TCASM_F64, 1, shape, NULL, NULL));
    FAILS(TCASM_INVALID_ARGUMENT,
          tcasm_add_field(producer, "a", TCASM_F64, 1, NULL, NULL, NULL));
    FAILS(TCASM_INVALID_ARGUMENT, tcasm_live(producer, "a", NULL));
    FAILS(TCASM_NOT_FOUND, tcasm_live(producer, "a", &array));
    array.size = 0;
    FAILS(TCASM_INVALID_ARGUMENT, tcasm_live(producer, "a", &array));
    said("sizeof(tcasm_array)");
}

static void handles_of_another_kind_are_refused(void)
{
    int on_the_stack = 0;
    void *wrong[] = {observer, &on_the_stack, (void *)1, (void *)-1, (void *)0x1001};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        FAILS(TCASM_INVALID_HANDLE, tcasm_publish(wrong[i], 1, 1.0));
        said("is not the handle of a producer");
    }
}

static void wrong_values_are_refused(void)
{
    size_t shape[] = {4, 5}, huge[] = {(size_t)-1, (size_t)-1};
    tcasm_field_options *options;
    tcasm_options *region;
    OK(tcasm_field_options_new(&options));
    FAILS(TCASM_INVALID_ARGUMENT, tcasm_field_options_set(options, TCASM_FIELD_ORDER, 2));
    FAILS(TCASM_INVALID_ARGUMENT, tcasm_field_options_set(options, 99, 1));
    FAILS(TCASM_INVALID_ARGUMENT, tcasm_field_options_set_text(options, 99, "x"));
    FAILS(TCASM_INVALID_ARGUMENT, tcasm_field_options_set(options, TCASM_FIELD_VECTOR, -1));
    OK(tcasm_options_new(&region));
    FAILS(TCASM_INVALID_ARGUMENT, tcasm_options_set(region, TCASM_VERSIONS, -1));
    FAILS(TCASM_INVALID_ARGUMENT, tcasm_options_set(region, 99, 1));
    FAILS(TCASM_INVALID_ARGUMENT, tcasm_options_set(region, TCASM_COPIERS, 257));
    said("256 at most");
    OK(tcasm_options_free(region));
    FAILS(TCASM_INVALID_ARGUMENT, tcasm_add_field(producer, "a", 99, 2, shape, NULL, NULL));
    FAILS(TCASM_NOT_DEFINED, tcasm_add_field(producer, "a b", TCASM_F64, 2, shape, NULL, NULL));
    FAILS(TCASM_NOT_DEFINED, tcasm_add_field(producer, "a", TCASM_F64, 2, huge, NULL, NULL));
    FAILS(TCASM_INVALID_ARGUMENT,
          tcasm_add_field(producer, "a", TCASM_F64, (size_t)-1, shape, NULL, NULL));
    OK(tcasm_field_options_set_text(options, TCASM_FIELD_MESH, "absent"));
    FAILS(TCASM_NOT_FOUND, tcasm_add_field(producer, "a", TCASM_F64, 2, shape, options, NULL));
    OK(tcasm_field_options_free(options));
    FAILS(TCASM_INVALID_ARGUMENT, tcasm_create("/", 1 << 20, NULL, &(tcasm_producer *){0}));
    FAILS(TCASM_INVALID_ARGUMENT, tcasm_create("\xff\xfe", 1 << 20, NULL, &(tcasm_producer *){0}));
    said("UTF-8");
    FAILS(TCASM_REGION_NOT_FOUND, tcasm_attach("c-absent", 0.0, &(tcasm_observer *){0}));
    FAILS(TCASM_INVALID_ARGUMENT, tcasm_add_mesh(producer, "m", 99, 0, NULL, 0, NULL));
    const char *names[] = {NULL};
    FAILS(TCASM_INVALID_ARGUMENT,
          tcasm_add_mesh(producer, "m", TCASM_PARTICLES, 1, names, 0, NULL));
    FAILS(TCASM_NOT_FOUND, tcasm_mark_dirty(producer, "absent", 0, 1));
}

/* Closes the observer that another thread waits with. */
static void *closing(void *unused)
{
    usleep(100000);
    OK(tcasm_detach(observer));
    return unused;
}

static void an_observer_can_be_closed_while_another_thread_waits(void)
{
    pthread_t thread;
    tcasm_version *version;
    CHECK(pthread_create(&thread, NULL, closing, NULL) == 0);
    FAILS(TCASM_CLOSED, tcasm_wait_newer(observer, -1.0, &version));
    CHECK(pthread_join(thread, NULL) == 0);
    FAILS(TCASM_CLOSED, tcasm_detach(observer));
}

/* A forked child gets a status for everything that its parent has, and can make its own. */
static void in_a_child(const char *name)
{
    tcasm_version *version;
    tcasm_producer *own;
    tcasm_observer *other;
    char own_name[128];
    FAILS(TCASM_FORKED, tcasm_publish(producer, 2, 2.0));
    FAILS(TCASM_FORKED, tcasm_close(producer));
    FAILS(TCASM_FORKED, tcasm_latest(observer, &version));
    snprintf(own_name, sizeof own_name, "%s-child", name);
    OK(tcasm_create(own_name, 1 << 20, NULL, &own));
    OK(tcasm_publish(own, 1, 1.0));
    OK(tcasm_attach(name, 5.0, &other));
    OK(tcasm_latest(other, &version));
    OK(tcasm_release(version));
    OK(tcasm_detach(other));
    OK(tcasm_close(own));
    FAILS(TCASM_CLOSED, tcasm_close(own));
}

static void a_fork_has_no_objects(const char *name)
{
    int status;
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        in_a_child(name);
        _exit(0);
    }
    CHECK(waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

/* A structure whose size is not that of this header. */
static union {
    size_t size;
    double alignment;
    unsigned char bytes[4200];
} grown;
enum { STALE = 0xab };

static void of_size(size_t size)
{
    memset(&grown, STALE, sizeof grown);
    grown.size = size;
}

/* Checks that the bytes from `begin` to `end` have one value. */
static void bytes_are(size_t begin, size_t end, unsigned char value)
{
    for (size_t i = begin; i < end; i++)
        CHECK(grown.bytes[i] == value);
}

/* `call` fills the structure `grown`. `first` is its size in the first version of the header. A
   program that was compiled with that goes on working, so the number stays as it is when the
   structure grows. In a structure of a later version, what this library does not know is zero. */
#define GROWS(type, first, call)                                        \
    do {                                                                \
        of_size(first);                                                 \
        OK(call);                                                       \
        CHECK(grown.size == (first));                                   \
        bytes_are(first, sizeof grown.bytes, STALE);                    \
        of_size((first) - 1);                                           \
        FAILS(TCASM_INVALID_ARGUMENT, call);                            \
        said("sizeof(" #type ")");                                      \
        bytes_are(sizeof(size_t), sizeof grown.bytes, STALE);           \
        of_size(sizeof(type) + 56);                                     \
        OK(call);                                                       \
        CHECK(grown.size == sizeof(type) + 56);                         \
        bytes_are(sizeof(type), grown.size, 0);                         \
        bytes_are(grown.size, sizeof grown.bytes, STALE);               \
        of_size(4097);                                                  \
        FAILS(TCASM_INVALID_ARGUMENT, call);                            \
        bytes_are(sizeof(size_t), sizeof grown.bytes, STALE);           \
    } while (0)

/* tcasm_start is in bindings/c-files/tests/c/files.c. */
static void structures_can_grow(void)
{
    tcasm_producer *own;
    tcasm_observer *other;
    tcasm_version *version;
    tcasm_owner *owner;
    tcasm_peer *peer;
    tcasm_cookie cookie;
    size_t shape[] = {4}, points[] = {2, 2, 1};
    double zeros[3] = {0}, ones[] = {1, 1, 1}, value = 0;
    tcasm_segment segment = {&value, sizeof value};
    const char *address;
    OK(tcasm_create("c-first", 1 << 20, NULL, &own));
    OK(tcasm_add_field(own, "a", TCASM_F64, 1, shape, NULL, NULL));
    OK(tcasm_add_uniform_mesh(own, "m", points, zeros, ones, NULL));
    OK(tcasm_publish(own, 1, 1.0));
    OK(tcasm_wait_visible(own, 10.0));
    OK(tcasm_attach("c-first", 5.0, &other));
    OK(tcasm_latest(other, &version));
    OK(tcasm_owner_new(0, &owner));
    OK(tcasm_declare(owner, &segment, 1, TCASM_READ, 0, &cookie));
    OK(tcasm_owner_address(owner, &address));
    OK(tcasm_connect(address, &peer));

    GROWS(tcasm_array, 832, tcasm_live(own, "a", (tcasm_array *)&grown));
    GROWS(tcasm_receipt, 56, tcasm_last_receipt(own, (tcasm_receipt *)&grown));
    GROWS(tcasm_info, 80, tcasm_region_info(other, (tcasm_info *)&grown));
    GROWS(tcasm_view_stats, 48, tcasm_observer_stats(other, (tcasm_view_stats *)&grown));
    GROWS(tcasm_publish_stats, 176, tcasm_producer_stats(own, (tcasm_publish_stats *)&grown));
    GROWS(tcasm_stamp, 40, tcasm_version_stamp(version, (tcasm_stamp *)&grown));
    GROWS(tcasm_mesh, 184, tcasm_mesh_at(version, 0, (tcasm_mesh *)&grown));
    GROWS(tcasm_declaration, 32, tcasm_describe(peer, &cookie, (tcasm_declaration *)&grown));

    OK(tcasm_disconnect(peer));
    OK(tcasm_owner_free(owner));
    OK(tcasm_release(version));
    OK(tcasm_detach(other));
    OK(tcasm_close(own));
}

/* INSTALLED_VERSION is what pkg-config says. */
static void the_library_tells_its_version(void)
{
    CHECK(strcmp(tcasm_library_version(), INSTALLED_VERSION) == 0);
}

static void layouts_that_cannot_be_are_arguments(void)
{
    tcasm_owner *owner;
    tcasm_cookie cookie;
    int64_t stride = 8;
    size_t shape = 4;
    OK(tcasm_owner_new(0, &owner));
    FAILS(TCASM_INVALID_ARGUMENT, tcasm_declare(owner, NULL, 0, TCASM_READ, 0, &cookie));
    FAILS(TCASM_INVALID_ARGUMENT, tcasm_declare_array(owner, &shape, 0, 1, &shape, &stride,
                                                      TCASM_READ, 0, &cookie));
    OK(tcasm_owner_free(owner));
}

/* Publishes although there is no room, until the producer is closed. */
static void *publishing(void *unused)
{
    FAILS(TCASM_CLOSED, tcasm_publish_wait(producer, 9, 9.0, -1.0));
    return unused;
}

static void a_producer_can_be_closed_while_another_thread_waits_for_room(const char *name)
{
    tcasm_options *options;
    tcasm_observer *holder;
    tcasm_version *held[2];
    pthread_t thread;
    size_t shape[] = {4};
    void *data;
    OK(tcasm_options_new(&options));
    OK(tcasm_options_set(options, TCASM_VERSIONS, 2));
    OK(tcasm_create(name, 1 << 20, options, &producer));
    OK(tcasm_options_free(options));
    OK(tcasm_add_field(producer, "a", TCASM_F64, 1, shape, NULL, &data));
    OK(tcasm_attach(name, 5.0, &holder));
    for (int i = 0; i < 2; i++) {
        *(volatile double *)data = i + 1;
        OK(tcasm_publish(producer, (uint64_t)i, i));
        OK(tcasm_latest(holder, &held[i]));
    }
    *(volatile double *)data = 3;
    FAILS(TCASM_SKIPPED, tcasm_publish(producer, 2, 2.0));
    CHECK(pthread_create(&thread, NULL, publishing, NULL) == 0);
    usleep(100000);
    OK(tcasm_close(producer));
    CHECK(pthread_join(thread, NULL) == 0);
    for (int i = 0; i < 2; i++)
        OK(tcasm_release(held[i]));
    OK(tcasm_detach(holder));
}

enum { BINDS = 300 };
static tcasm_buffer *second;
static pthread_barrier_t together;

/* Binds the second buffer to field `name`, at the same time as another thread. */
static void *binding(void *name)
{
    for (int i = 0; i < BINDS; i++) {
        tcasm_buffer *mine = second, *next = NULL;
        pthread_barrier_wait(&together);
        int status = tcasm_bind(producer, name, mine, &next, NULL);
        CHECK(status == TCASM_OK ? next != NULL : status == TCASM_CLOSED);
        if (status == TCASM_OK)
            second = next;
        pthread_barrier_wait(&together);
    }
    return NULL;
}

/* Of two threads that bind one buffer, one succeeds, and the other learns that the handle has
   ended. No buffer is lost. The handles end with the producer. */
static void a_buffer_is_bound_by_one_thread_at_a_time(const char *name)
{
    pthread_t threads[2];
    char *fields[] = {"a", "b"};
    size_t shape[] = {4};
    OK(tcasm_create(name, 4 << 20, NULL, &producer));
    for (int i = 0; i < 2; i++)
        OK(tcasm_add_field(producer, fields[i], TCASM_F64, 1, shape, NULL, NULL));
    OK(tcasm_buffer_like(producer, "a", &second, NULL));
    CHECK(pthread_barrier_init(&together, NULL, 2) == 0);
    for (int i = 0; i < 2; i++)
        CHECK(pthread_create(&threads[i], NULL, binding, fields[i]) == 0);
    for (int i = 0; i < 2; i++)
        CHECK(pthread_join(threads[i], NULL) == 0);
    OK(tcasm_bind(producer, "a", second, &second, NULL));
    OK(tcasm_close(producer));
    tcasm_buffer *next;
    OK(tcasm_create(name, 4 << 20, NULL, &producer));
    OK(tcasm_add_field(producer, "a", TCASM_F64, 1, shape, NULL, NULL));
    FAILS(TCASM_CLOSED, tcasm_bind(producer, "a", second, &next, NULL));
    FAILS(TCASM_CLOSED, tcasm_rewrite_buffer(producer, second));
    OK(tcasm_close(producer));
}

/* A thread that ends has no text any more, and its destructors get statuses. */
static void at_the_end(void *unused)
{
    (void)unused;
    FAILS(TCASM_INVALID_HANDLE, tcasm_publish(NULL, 1, 1.0));
    CHECK(tcasm_last_error() != NULL);
}

static void at_exit(void)
{
    at_the_end(NULL);
}

static pthread_key_t key;

static void *ending(void *unused)
{
    at_the_end(NULL);
    CHECK(pthread_setspecific(key, &key) == 0);
    return unused;
}

static void destructors_get_statuses(void)
{
    pthread_t thread;
    CHECK(pthread_key_create(&key, at_the_end) == 0);
    CHECK(pthread_create(&thread, NULL, ending, NULL) == 0);
    CHECK(pthread_join(thread, NULL) == 0);
    CHECK(atexit(at_exit) == 0);
}

int main(int argc, char **argv)
{
    CHECK(argc == 2);
    OK(tcasm_create(argv[1], 4 << 20, NULL, &producer));
    OK(tcasm_publish(producer, 1, 1.0));
    OK(tcasm_attach(argv[1], 5.0, &observer));
    tcasm_version *first;
    OK(tcasm_latest(observer, &first));
    OK(tcasm_release(first));
    FAILS(TCASM_CLOSED, tcasm_release(first));
    null_is_refused();
    handles_of_another_kind_are_refused();
    wrong_values_are_refused();
    structures_can_grow();
    the_library_tells_its_version();
    layouts_that_cannot_be_are_arguments();
    a_fork_has_no_objects(argv[1]);
    an_observer_can_be_closed_while_another_thread_waits();
    OK(tcasm_close(producer));
    FAILS(TCASM_CLOSED, tcasm_close(producer));
    FAILS(TCASM_CLOSED, tcasm_publish(producer, 1, 1.0));
    a_producer_can_be_closed_while_another_thread_waits_for_room(argv[1]);
    a_buffer_is_bound_by_one_thread_at_a_time(argv[1]);
    destructors_get_statuses();
    return 0;
}
