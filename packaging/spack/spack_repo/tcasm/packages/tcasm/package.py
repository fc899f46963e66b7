# The command tcasm, for Spack 1.0 or newer. docs/use-in-your-project.md says how to use this.

import os
import tempfile

from spack_repo.builtin.build_systems.cargo import CargoPackage

from spack.package import *


class Tcasm(CargoPackage):
    """The command tcasm looks at running simulations that publish their memory with TCASM, exports
    their data and writes checkpoints of them."""

    license("MIT OR Apache-2.0")

    # Without an address: `spack develop --path` says where a copy of the repository is.
    version("0.1.0")

    variant("hdf5", default=True, description="Checkpoints, exports and restarts from files")

    requires("platform=linux", msg="TCASM uses system calls of Linux")

    depends_on("c", type="build")
    depends_on("rust@1.89:", type="build")

    with when("+hdf5"):
        depends_on("hdf5@1.10:")
        depends_on("pkgconfig", type="build")

    build_directory = "cli"

    @property
    def build_args(self):
        args = ["--locked", "--features", "pages"]
        if self.spec.satisfies("~hdf5"):
            args.append("--no-default-features")
        return args

    def setup_build_environment(self, env: EnvironmentModifications) -> None:
        if self.spec.satisfies("+hdf5"):
            env.set("HDF5_DIR", self.spec["hdf5"].prefix)

    @run_after("install")
    def install_pages(self):
        """Installs the manual pages and completion scripts, which the program tcasm-pages writes.
        Nobody needs that program afterwards."""
        program = join_path(self.prefix.bin, "tcasm-pages")
        places = {
            "*.1": self.prefix.share.man.man1,
            "tcasm.bash": join_path(bash_completion_path(self.prefix), "tcasm"),
            "_tcasm": join_path(zsh_completion_path(self.prefix), "_tcasm"),
            "tcasm.fish": join_path(fish_completion_path(self.prefix), "tcasm.fish"),
        }
        with tempfile.TemporaryDirectory() as folder, working_dir(folder):
            Executable(program)(".")
            for files, place in places.items():
                mkdirp(place if files == "*.1" else os.path.dirname(place))
                install(files, place)
        os.remove(program)

    def check(self):
        """Runs the demo: a simulation, an observer, and with HDF5 a checkpoint."""
        Executable(join_path(self.prefix.bin, "tcasm"))("demo")
