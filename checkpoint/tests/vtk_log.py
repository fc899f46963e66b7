"""Catches the messages of VTK, which it writes to a window of its own before it goes on."""

from vtkmodules.vtkCommonCore import vtkFileOutputWindow, vtkOutputWindow


class VtkLog:
    """Sends all messages of VTK to `vtk.log` in a directory from now on."""

    def __init__(self, directory):
        self.path = directory / "vtk.log"
        window = vtkFileOutputWindow()
        window.SetFileName(str(self.path))
        vtkOutputWindow.SetInstance(window)

    def check(self):
        """Fails if there are any messages."""
        assert not self.path.exists() or not self.path.read_text(), self.path.read_text()
