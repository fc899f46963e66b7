"""Plots field ``u`` of the region ``run`` while it runs: live_plot.py [REGION [FIELD]]"""

import sys

import matplotlib.pyplot as plt

import tcasm

region, field = (sys.argv[1:] + ["run", "u"][len(sys.argv) - 1 :])[:2]
with tcasm.Observer(region, timeout=60) as run:
    image = plt.imshow(run.latest().read(field, copy=True))
    for version in run:
        image.set_data(version.read(field, copy=True))
        image.autoscale()
        plt.title(f"{field}, step {version.step}")
        plt.pause(0.05)
