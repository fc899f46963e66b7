"""Runs an input of LAMMPS, and publishes its atoms every few steps:

    python driver.py NAME INPUT STEPS EVERY

The input sets the system up and has no run command. Step 0 is published, too.
"""

import sys

import tcasm
from lammps import lammps

#: A field has the name that its array has in LAMMPS.
FIELDS = ("x", "v", "id", "type")
#: Bytes of addresses, not of memory: 56 bytes per atom, and again while they are adopted anew.
CAPACITY = 1 << 32


class Atoms:
    """The atoms of LAMMPS as a mesh of particles. Its own arrays are adopted where they are."""

    def __init__(self, lmp, region):
        self.lmp, self.region = lmp, region
        self.adopted = {}  # the addresses of the arrays
        self.rows = 0  # how many atoms they have room for
        self.adoptions = 0  # how often they were adopted
        self.has_mesh = False
        self.box = None

    def publish(self):
        """Publishes the atoms as they are now, between two runs. Adopts the arrays first if LAMMPS
        has moved them. After an error, the next call tries again."""
        count = self.lmp.extract_setting("nlocal")
        try:
            if not self.adopted or count > self.rows or self.adopted != self.addresses():
                self.adopt_all(count)
            self.region.set_len("atoms", count)
            self.set_box()
        except tcasm.Error:
            self.release_all()
            raise
        step = self.lmp.extract_global("ntimestep")
        return self.region.publish(step=step, time=self.lmp.get_thermo("time"))

    def array(self, name):
        """Returns an array of LAMMPS, in place."""
        return self.lmp.numpy.extract_atom(name, nelem=self.rows)

    def addresses(self):
        return {name: self.array(name).ctypes.data for name in FIELDS}

    def adopt_all(self, count):
        """Adopts all arrays, with some room for more atoms."""
        self.release_all()
        self.rows = min(count + count // 8 + 1, self.lmp.extract_setting("nmax"))
        for name in FIELDS:
            array = self.array(name)
            on = None if name == "x" else "atoms"
            self.region.adopt(name, array, vector=array.ndim == 2, variable=True, on=on)
            self.adopted[name] = array.ctypes.data
            if not self.has_mesh:
                self.region.mesh("atoms", "particles", "x")
                self.has_mesh = True
        self.adoptions += 1

    def release_all(self):
        """Releases all arrays before the first is adopted: one can now lie where another one
        was."""
        if self.has_mesh:
            self.region.set_len("atoms", 0)
        for name in reversed(list(self.adopted)):
            self.region.release(name)
        self.adopted = {}

    def set_box(self):
        """Gives the next version the box, if it has changed."""
        box = self.lmp.extract_box()[:2]
        if box != self.box:
            self.region.set_attr("boxlo", box[0])
            self.region.set_attr("boxhi", box[1])
            self.box = box


def publish(atoms):
    before = atoms.adoptions
    try:
        receipt = atoms.publish()
    except tcasm.Error as error:
        print(error, file=sys.stderr)
        return
    if not receipt:
        print("skipped:", receipt.reason, file=sys.stderr)
    elif before not in (0, atoms.adoptions):
        print("adopted anew: LAMMPS has moved its arrays, or has many more atoms", file=sys.stderr)


def main(name, script, steps, every):
    lmp = lammps(cmdargs=["-log", "none", "-screen", "none"])
    if lmp.extract_setting("world_size") != 1:
        sys.exit("this program publishes the atoms of one rank")
    lmp.file(script)
    lmp.command("run 0 post no")  # sets up: allocates the arrays
    with tcasm.Producer(name, capacity=CAPACITY) as region:
        atoms = Atoms(lmp, region)
        publish(atoms)
        for _ in range(int(steps) // int(every)):
            lmp.command(f"run {every} pre no post no")
            publish(atoms)
    lmp.close()  # frees the arrays, which the region has left


if __name__ == "__main__":
    if len(sys.argv) != 5:
        sys.exit("usage: driver.py NAME INPUT STEPS EVERY")
    main(*sys.argv[1:])
