"""Which suites are run, on which archives, and how many of their tests must build our class and pass."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Suite:
    """One framework's tests with one of our classes."""

    name: str
    project: str
    version: str
    sha256: str
    files: tuple[str, ...]
    swap: str
    """The plugin in `swaps/` that puts our class in the place of theirs."""
    passed: int
    """Tests that must pass, of those below that build our class."""
    built: int
    """Tests that must build our class."""
    folder: str = "."
    arguments: tuple[str, ...] = ()
    settings: dict[str, str] = field(default_factory=dict)
    failing: dict[str, str] = field(default_factory=dict)
    """Tests that fail and may, by the end of their name, each with its reason."""


LANGGRAPH_FILES = (
    "tests/test_pregel.py", "tests/test_pregel_async.py", "tests/test_time_travel.py",
    "tests/test_time_travel_async.py", "tests/test_interruption.py",
    "tests/test_subgraph_persistence.py", "tests/test_subgraph_persistence_async.py",
    "tests/test_checkpoint_migration.py", "tests/test_large_cases.py", "tests/test_large_cases_async.py",
    "tests/test_delta_channel_*.py",
)  # fmt: skip
OPENAI_FILES = (
    "tests/memory/test_session.py", "tests/memory/test_session_limit.py", "tests/memory/test_compaction_suffix.py",
    "tests/memory/test_compaction_model_visibility.py", "tests/memory/test_openai_responses_compaction_session.py",
    "tests/extensions/memory/test_encrypt_session.py", "tests/test_agent_runner.py",
    "tests/test_agent_runner_streamed.py", "tests/test_max_turns.py", "tests/test_soft_cancel.py",
    "tests/test_tool_batch_failure_history.py", "tests/test_native_tool_failure_history.py",
    "tests/test_programmatic_tool_calling.py", "tests/test_run_impl_resume_paths.py",
    "tests/test_tool_failure_boundaries.py",
)  # fmt: skip
SQLITE_ONLY = "looks into SQLite itself"
THEIRS = "fails with LangGraph's own InMemorySaver too"
TIMING = "a race of ten milliseconds"
OWN_CLASS = "EncryptedSession checks before it removes for the SDK's own class alone"
PLAIN_COSINE = "wants the plain cosine as score, which is score='cosine'"
ON_DISK = "looks at the disk; the same promise is tested in tests/adapters"

OPENAI_SQLITE = (
    "test_sqlite_session_close_closes_worker_thread_connections",
    "test_sqlite_session_reaps_connections_from_exited_worker_threads",
    "test_sqlite_session_closes_retired_connections_before_the_next_allocation",
    "test_sqlite_session_keeps_connections_of_live_worker_threads",
    "test_sqlite_session_pop_item_skips_corrupt_most_recent",
    "test_sqlite_session_pop_item_returns_none_after_dropping_only_corrupt_rows",
    "test_sqlite_session_get_items_limit_skips_corrupt_newest_rows",
    "test_sqlite_session_get_items_session_settings_limit_skips_corrupt_rows",
    "test_sqlite_session_file_lock_is_shared_across_instances",
    "test_sqlite_session_failed_add_items_releases_write_lock", "test_sqlite_session_failed_clear_session_rolls_back",
    "test_sqlite_session_failed_pop_item_releases_write_lock",
    "test_sqlite_session_rollback_failure_evicts_connection",
    "test_sqlite_session_close_retries_quarantined_connection",
    "test_sqlite_session_post_commit_cancellation_propagates_after_known_outcome[add]",
    "test_sqlite_session_post_commit_cancellation_propagates_after_known_outcome[pop]",
    "test_sqlite_session_post_commit_cancellation_propagates_after_known_outcome[clear]",
    "test_suffix_transaction_rolls_back_failed_insert[sqlite]",
    "test_cancelled_suffix_transaction_settles_before_newer_append[sqlite]",
    "test_failed_encrypted_suffix_transaction_preserves_original_tokens[sqlite-False]",
    "test_failed_encrypted_suffix_transaction_preserves_original_tokens[sqlite-True]",
    "test_settled_pop_failure_invalidates_response_chain[cancelled]",
    "test_settled_pop_failure_invalidates_response_chain[error]",
    "test_settled_clear_failure_invalidates_response_chain[cancelled]",
    "test_settled_clear_failure_invalidates_response_chain[error]",
    "test_encrypted_pop_authentication_is_atomic_with_concurrent_mutations[append]",
    "test_encrypted_pop_authentication_is_atomic_with_concurrent_mutations[clear]",
    "test_encrypted_pop_wrong_key_preserves_row_identity",
    "test_handoff_resume_after_cancelled_compaction_commits[run-live]",
    "test_handoff_resume_after_cancelled_compaction_commits[run-json]",
    "test_handoff_resume_after_cancelled_compaction_commits[streamed-live]",
    "test_handoff_resume_after_cancelled_compaction_commits[streamed-json]",
)  # fmt: skip
OPENAI_OWN = (
    "test_encrypted_pop_wrong_key_preserves_recoverable_history[False]",
    "test_encrypted_pop_wrong_key_preserves_recoverable_history[True]",
    "test_encrypted_pop_rechecks_authentication_after_expired_tail",
    "test_encrypted_pop_cancellation_waits_for_authentication_rollback",
)  # fmt: skip

SUITES = (
    Suite(
        name="langgraph-saver",
        project="langgraph",
        version="1.2.20",
        sha256="79f86df92f2dd17d5ec464cab68dbb685439ab102ca39f0b1b7b198025a2414c",
        files=LANGGRAPH_FILES,
        swap="langgraph_saver",
        arguments=("-o", "asyncio_mode=auto", "-k", "memory or delta_channel"),
        settings={"NO_DOCKER": "true"},
        passed=577,
        built=583,
        failing={
            "test_large_cases.py::test_weather_subgraph[memory]": THEIRS,
            "test_large_cases_async.py::test_weather_subgraph[memory]": THEIRS,
            "test_imp_nested[memory-async]": TIMING,
            "test_imp_nested[memory-sync]": TIMING,
            "test_imp_nested[memory-exit]": TIMING,
        },
    ),
    Suite(
        name="langgraph-store",
        project="langgraph-checkpoint-sqlite",
        version="3.1.2",
        sha256="4e3f376fa6f192d6ad2a1a4643b039986f1593552ef870e9e45281575de6fbf2",
        files=("tests/test_store.py", "tests/test_ttl.py"),
        swap="langgraph_store",
        arguments=("-o", "asyncio_mode=auto"),
        settings={"MEMORIST_UPSTREAM_SCORE": "hybrid"},
        passed=97,
        built=110,
        failing={
            "test_vector_store_initialization": SQLITE_ONLY,
            "test_embed_with_path[cosine]": PLAIN_COSINE,
            "test_embed_with_path_operation_config[cosine]": PLAIN_COSINE,
            **{
                f"test_scores[{store}-{query}]": PLAIN_COSINE
                for store in ("memory", "file")
                for query in ("aaa", "bbb", "ccc", "abcd", "poisson")
            },
        },
    ),
    Suite(
        name="langgraph-store-cosine",
        project="langgraph-checkpoint-sqlite",
        version="3.1.2",
        sha256="4e3f376fa6f192d6ad2a1a4643b039986f1593552ef870e9e45281575de6fbf2",
        files=("tests/test_store.py", "tests/test_ttl.py"),
        swap="langgraph_store",
        arguments=("-o", "asyncio_mode=auto"),
        settings={"MEMORIST_UPSTREAM_SCORE": "cosine"},
        passed=109,
        built=110,
        failing={"test_vector_store_initialization": SQLITE_ONLY},
    ),
    Suite(
        name="anthropic-memory",
        project="anthropic",
        version="2.8.0",
        sha256="d34e389ba0544cd64e033eb7475f46cc1ac6f2a388cdcd472b33ad4ac29ef40c",
        files=("tests/lib/tools/memory_tools/test_filesystem.py",),
        swap="anthropic_memory",
        arguments=("-o", "asyncio_mode=auto", "--noconftest"),
        passed=58,
        built=80,
        failing={
            "test_mkdir_parents_not_world_writable_under_permissive_umask": ON_DISK,
            "test_view_error_for_files_with_too_many_lines": "writes a file of 5 MB; a fact may have 4",
            "_preserves_crlf_line_endings": ON_DISK,
            "test_delete_not_allow_deleting_memories_directory[/memories]": ON_DISK,
            "test_delete_not_allow_deleting_memories_directory[/memories/]": ON_DISK,
            "test_delete_not_allow_deleting_memories_directory[/memories/.]": ON_DISK,
            "test_delete_not_allow_deleting_memories_directory[/memories/sub/..]": ON_DISK,
            "test_validate_path_returns_resolved_path_not_symlink_target": ON_DISK,
            "test_symlink_validation_reject_symlink_pointing_outside_memories": ON_DISK,
            "test_symlink_validation_reject_creating_files_through_symlink_pointing_outside": ON_DISK,
            "test_symlink_validation_reject_parent_directory_that_is_symlink_pointing_outside": ON_DISK,
        },
    ),
    Suite(
        name="strands",
        project="strands-agents",
        version="1.62.0",
        sha256="8732c87f9c1ceb6ef4c5c4bd6d96b4cdf1bbfde095f1537ec2ac6fddb8d5a066",
        files=("tests/strands/session/test_repository_session_manager.py",),
        swap="strands_repository",
        arguments=("-o", "asyncio_mode=auto", "--noconftest"),
        passed=47,
        built=47,
        failing={
            "test_initialize_with_bidi_skips_read_agent_for_new_session": "counts calls of read_agent",
            "test_initialize_with_bidi_calls_read_agent_for_existing_session": "counts calls of read_agent",
        },
    ),
    Suite(
        name="openai-sessions",
        project="openai-agents",
        version="0.24.0",
        sha256="4b4b285f4fed81fdf1b4ac426a9101658d9cd29b4fb1aaeee18f639b77e704e3",
        files=OPENAI_FILES,
        swap="openai_session",
        arguments=("-o", "asyncio_mode=auto", "-p", "no:randomly"),
        settings={"OPENAI_API_KEY": "none"},
        passed=340,
        built=376,
        failing={**dict.fromkeys(OPENAI_SQLITE, SQLITE_ONLY), **dict.fromkeys(OPENAI_OWN, OWN_CLASS)},
    ),
    Suite(
        name="langchain-history",
        project="langchain-core",
        version="1.7.2",
        sha256="7810d029eaa4286838baad56752efb771868a5eebaf52aefe45764645dbea649",
        files=("tests/unit_tests/runnables/test_history.py", "tests/unit_tests/chat_history/test_chat_history.py"),
        swap="langchain_history",
        arguments=("-o", "asyncio_mode=auto"),
        passed=21,
        built=21,
        failing={"test_chat_history_deprecated[InMemoryChatMessageHistory]": "reads the docstring of theirs"},
    ),
)
