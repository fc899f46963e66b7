"""The smallest producer: a field of eight numbers, published ten times per second for half a
minute."""

import time

import tcasm

with tcasm.Producer("hello", capacity=1 << 20) as producer:
    heat = producer.field("heat", 8, unit="K")
    for step in range(1, 301):
        heat[:] = step  # compute in place
        producer.publish(step=step, time=step * 0.1)
        time.sleep(0.1)
