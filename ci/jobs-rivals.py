#!/usr/bin/env python3
"""The programs that ci/jobs-bench.py measures beside agents. Ranks have the planes of u and v that
those of examples/gray_scott_mpi have, and `mpirun` starts them.

    jobs-rivals.py collective SIZE FOLDER COUNT     writes with parallel HDF5, collectively
    jobs-rivals.py sst-write SIZE PATH COUNT PAUSE  writes by the SST engine of ADIOS2
    jobs-rivals.py sst-read SIZE PATH               reads what sst-write writes, in one process
"""

import sys
import time

import numpy

FIELDS = "uv"


def collective(size, folder, count):
    """Prints the seconds of each write."""
    import h5py
    from mpi4py import MPI

    world = MPI.COMM_WORLD
    first, end = planes(world, size)
    block = numpy.random.rand(end - first, size, size)
    for i in range(count):
        world.Barrier()
        start = time.perf_counter()
        with h5py.File(f"{folder}/{i}.h5", "w", driver="mpio", comm=world) as file:
            for name in FIELDS:
                data = file.create_dataset(name, (size,) * 3, "f8")
                with data.collective:
                    data[first:end] = block
        world.Barrier()
        if world.rank == 0:
            print(time.perf_counter() - start, flush=True)


def sst_write(size, path, count, pause):
    """Writes each so many seconds. Prints the seconds that each write takes and when it began. A
    reader that is late misses steps, as observers do."""
    import adios2
    import adios2.bindings as api
    from mpi4py import MPI

    world = MPI.COMM_WORLD
    first, end = planes(world, size)
    block = numpy.random.rand(end - first, size, size)
    io = adios2.Adios(world).declare_io("bench")
    io.set_engine("SST")
    io.set_parameters(
        {"RendezvousReaderCount": "1", "QueueLimit": "1", "QueueFullPolicy": "Discard"})
    fields = [io.define_variable(name, block, [size] * 3, [first, 0, 0], block.shape)
              for name in FIELDS]
    engine = io.open(path, api.Mode.Write)
    for i in range(count):
        time.sleep(pause)
        world.Barrier()
        start, now = time.perf_counter(), time.time()
        engine.begin_step()
        for field in fields:
            engine.put(field, block)
        engine.end_step()
        world.Barrier()
        if world.rank == 0:
            print(i, time.perf_counter() - start, now, flush=True)
    engine.close()


def sst_read(size, path):
    """Prints when each step had come."""
    import adios2
    import adios2.bindings as api

    io = adios2.Adios().declare_io("bench")
    io.set_engine("SST")
    engine = io.open(path, api.Mode.Read)
    arrays = [numpy.zeros((size,) * 3) for _ in FIELDS]
    while engine.begin_step() == api.StepStatus.OK:
        step = engine.current_step()
        for name, array in zip(FIELDS, arrays):
            engine.get(io.inquire_variable(name), array, api.Mode.Deferred)
        engine.end_step()
        print(step, time.time(), flush=True)
    engine.close()


def planes(world, size):
    """Returns the first plane of this rank, and the first one that it does not have."""
    borders = numpy.linspace(0, size, world.size + 1).astype(int)
    return borders[world.rank], borders[world.rank + 1]


def main():
    which, size, path, *rest = sys.argv[1:]
    if which == "collective":
        collective(int(size), path, int(rest[0]))
    elif which == "sst-write":
        sst_write(int(size), path, int(rest[0]), float(rest[1]))
    else:
        sst_read(int(size), path)


if __name__ == "__main__":
    main()
