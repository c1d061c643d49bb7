"""Learnings, working memory, entities, tasks, documents, forgetting and export, on Postgres and on Redis."""

# ruff: noqa: F403
from tests.unit.engine.test_audit import *
from tests.unit.engine.test_documents import *
from tests.unit.engine.test_entities import *
from tests.unit.engine.test_forget import *
from tests.unit.engine.test_learnings import *
from tests.unit.engine.test_portable import *
from tests.unit.engine.test_profile import *
from tests.unit.engine.test_provenance import *
from tests.unit.engine.test_tasks import *
from tests.unit.engine.test_working import *
