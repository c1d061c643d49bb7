"""The blocking twins of the engine's nouns: the same methods, stepped to their end. One line each."""

from .audit import Audit
from .documents import Documents
from .entities import Entities
from .facts import Facts
from .jobs import Jobs
from .learnings import Learnings
from .profile import Profile
from .records import Records
from .session import Session
from .state import State
from .tasks import TaskRun, Tasks
from .threads import Threads
from .working import WorkingMemory

__all__ = [
    "Audit",
    "Documents",
    "Entities",
    "Facts",
    "Jobs",
    "Learnings",
    "Profile",
    "Records",
    "Session",
    "State",
    "TaskRun",
    "Tasks",
    "Threads",
    "WorkingMemory",
]
