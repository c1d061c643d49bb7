"""The blocking classes: the methods of the async ones, stepped to their end.

Made by scripts/generate-blocking; change the async classes, then run the script.
"""

from .audit import Audit
from .documents import Documents
from .entities import Entities
from .events import Events
from .export import Export
from .facts import Facts
from .gate import Gating
from .jobs import Jobs
from .learnings import Learnings
from .memories import Memories
from .memory import Batch, Memory
from .plans import Plans, TidyPlan
from .profile import Profile
from .records import Records
from .review import Review
from .session import Session
from .state import State
from .tasks import TaskRun, Tasks
from .threads import Threads
from .watch import Watch
from .working import WorkingMemory

__all__ = [
    "Audit",
    "Batch",
    "Documents",
    "Entities",
    "Events",
    "Export",
    "Facts",
    "Gating",
    "Jobs",
    "Learnings",
    "Memories",
    "Memory",
    "Plans",
    "Profile",
    "Records",
    "Review",
    "Session",
    "State",
    "TaskRun",
    "Tasks",
    "Threads",
    "TidyPlan",
    "Watch",
    "WorkingMemory",
]
