"""What VTK complains about: it does so in a window of its own, and goes on."""

from vtkmodules.vtkCommonCore import vtkFileOutputWindow, vtkOutputWindow


class VtkLog:
    """From now on complaints go to `vtk.log` in a directory."""

    def __init__(self, directory):
        self.path = directory / "vtk.log"
        window = vtkFileOutputWindow()
        window.SetFileName(str(self.path))
        vtkOutputWindow.SetInstance(window)

    def check(self):
        """Fail if there are any."""
        assert not self.path.exists() or not self.path.read_text(), self.path.read_text()
