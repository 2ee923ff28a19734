from .serving import make_server as make_server
from .workspace import Workspace as Workspace
