"""Tables of libraries: which import means which storage, and how data is retrieved from it.

To add a storage: one row, with the module prefixes that mean it in Python and in npm, and a test in `tests/analyze`.
"""

from __future__ import annotations

from dataclasses import dataclass

from memorist_analyze.words import bag


@dataclass(frozen=True, slots=True)
class Storage:
    """A storage technology and the modules whose import shows that it is used."""

    name: str
    modules: tuple[str, ...]
    retrieval: str = "direct"
    needs_text: str = ""


STORAGES: tuple[Storage, ...] = (
    Storage("sqlite", ("sqlite3", "aiosqlite", "better-sqlite3", "node:sqlite", "bun:sqlite", "sqlite", "apsw")),
    Storage("libsql", ("@libsql/client", "libsql")),
    Storage("sqlalchemy", ("sqlalchemy", "sqlmodel")),
    Storage("postgres", ("psycopg", "psycopg2", "psycopg_pool", "asyncpg", "pg", "postgres", "pg-promise")),
    Storage("mysql", ("pymysql", "aiomysql", "mysql", "mysql2")),
    Storage("redis", ("redis", "ioredis", "aioredis", "@upstash/redis", "redisvl", "valkey", "glide")),
    Storage("mongodb", ("pymongo", "motor", "mongodb", "mongoose")),
    Storage("dynamodb", ("@aws-sdk/client-dynamodb", "@aws-sdk/lib-dynamodb")),
    Storage("dynamodb", ("boto3", "aioboto3"), "direct", "dynamodb"),
    Storage("s3", ("@aws-sdk/client-s3",)),
    Storage("s3", ("boto3", "aioboto3", "botocore"), "direct", "s3"),
    Storage("google_cloud_storage", ("google.cloud.storage", "@google-cloud/storage")),
    Storage("firestore", ("google.cloud.firestore", "firebase_admin", "firebase-admin")),
    Storage("azure_blob", ("azure.storage.blob", "@azure/storage-blob")),
    Storage("cosmos_db", ("azure.cosmos", "@azure/cosmos")),
    Storage("duckdb", ("duckdb",)),
    Storage("sqlite_diskcache", ("diskcache",)),
    Storage("cassandra", ("cassandra",)),
    Storage("couchbase", ("couchbase",)),
    Storage("supabase", ("supabase", "@supabase/supabase-js")),
    Storage("neo4j", ("neo4j", "neo4j-driver")),
    Storage("mem0_cloud", ("mem0", "mem0ai")),
    Storage("zep_cloud", ("zep_cloud", "zep_python", "@getzep/zep-cloud")),
    Storage("chroma", ("chromadb",), "semantic"),
    Storage("qdrant", ("qdrant_client", "@qdrant/js-client-rest"), "semantic"),
    Storage("milvus", ("pymilvus", "@zilliz/milvus2-sdk-node"), "semantic"),
    Storage("faiss", ("faiss", "faiss-node"), "semantic"),
    Storage("weaviate", ("weaviate", "weaviate-client"), "semantic"),
    Storage("pinecone", ("pinecone", "@pinecone-database/pinecone"), "semantic"),
    Storage("pgvector", ("pgvector",), "semantic"),
    Storage("lancedb", ("lancedb", "vectordb", "@lancedb/lancedb"), "semantic"),
    Storage("elasticsearch", ("elasticsearch", "@elastic/elasticsearch"), "semantic"),
    Storage("opensearch", ("opensearchpy", "@opensearch-project/opensearch"), "semantic"),
    Storage("tidb", ("tidb_vector", "pytidb"), "semantic"),
    Storage("oceanbase", ("pyobvector",), "semantic"),
    Storage("surreal", ("surrealdb",), "semantic"),
    Storage("hnswlib", ("hnswlib", "hnswlib-node"), "semantic"),
    Storage("vectra", ("vectra",), "semantic"),
    Storage("clickhouse", ("clickhouse_connect", "clickhouse_driver", "@clickhouse/client")),
    Storage("singlestore", ("singlestoredb",)),
    Storage("mssql", ("pymssql", "pyodbc", "mssql", "tedious")),
    Storage("oracle", ("oracledb", "cx_Oracle")),
    Storage("spanner", ("google.cloud.spanner", "@google-cloud/spanner")),
    Storage("convex", ("convex",)),
    Storage("cloudflare", ("cloudflare", "@cloudflare/workers-types")),
    Storage("dapr", ("dapr", "@dapr/dapr")),
    Storage("lmdb", ("lmdb",)),
    Storage("leveldb", ("plyvel", "level", "classic-level")),
    Storage("arangodb", ("arango", "arangojs")),
    Storage("kuzu", ("kuzu",)),
    Storage("falkordb", ("falkordb",)),
    Storage("typesense", ("typesense",), "semantic"),
    Storage("meilisearch", ("meilisearch",), "semantic"),
    Storage("upstash", ("upstash_vector", "upstash_redis", "@upstash/vector"), "semantic"),
    Storage("astra", ("astrapy", "@datastax/astra-db-ts"), "semantic"),
    Storage("turbopuffer", ("turbopuffer", "@turbopuffer/turbopuffer"), "semantic"),
    Storage("s3vectors", ("@aws-sdk/client-s3vectors",), "semantic"),
    Storage("sqlite_vec", ("sqlite_vec", "sqlite-vec", "sqlite_vss"), "semantic"),
    Storage("vespa", ("vespa", "pyvespa"), "semantic"),
    Storage("marqo", ("marqo",), "semantic"),
    Storage("azure_search", ("azure.search", "@azure/search-documents"), "semantic"),
    Storage("vertex_ai", ("vertexai.rag", "google.cloud.aiplatform"), "semantic"),
)

# Synonyms of technologies, for reading labels that people wrote by hand.
SYNONYMS: dict[str, str] = {
    "chromadb": "chroma", "mem0": "mem0_cloud", "zep": "zep_cloud", "surrealdb": "surreal", "lance": "lancedb",
    "qdrant_edge": "qdrant", "gcs": "google_cloud_storage", "gcs_json": "google_cloud_storage",
    "json_file": "json_files",
    "jsonl_file": "json_files", "jsonl_files": "json_files", "markdown_file": "markdown_files", "oracledb": "oracle",
    "cloudflare_d1": "cloudflare", "cloudflare_kv": "cloudflare", "vectorize": "cloudflare", "upstash_redis": "upstash",
    "upstash_vector": "upstash", "libsql_vector": "libsql", "sqlite_memory": "sqlite", "valkey": "redis",
    "vertex_ai_rag": "vertex_ai", "vertex_ai_sessions": "vertex_ai", "agent_state_dict": "python_dict",
    "postgresql": "postgres", "mongo": "mongodb", "elastic": "elasticsearch",
}  # fmt: skip


def canonical(name: str) -> str:
    """Return the canonical name of a technology."""
    return SYNONYMS.get(name, name)


def storages_of(packages: set[str]) -> dict[str, str]:
    """Return the storages that these distributions provide, each with the distribution's name."""
    found: dict[str, str] = {}
    for package in sorted(packages):
        plain = package.lower().removesuffix("-binary").removesuffix("-client").removesuffix("-python")
        spellings = (package, plain, plain.replace("-", "_"), plain.replace("-", "."))
        for storage in STORAGES:
            if not storage.needs_text and any(is_module(s, storage.modules) for s in spellings):
                found.setdefault(storage.name, package)
    return found


# Modules whose import means a way of counting tokens.
COUNTERS: dict[str, tuple[str, ...]] = {
    "tiktoken": ("tiktoken", "splintr", "js-tiktoken", "@dqbd/tiktoken", "gpt-tokenizer", "gpt-3-encoder"),
    "tokenizer_model": (
        "sentencepiece", "mistral_common", "@anthropic-ai/tokenizer", "llama-tokenizer-js", "llama3-tokenizer-js",
        "tokenizers", "@huggingface/tokenizers", "@lenml/tokenizers",
    ),
}  # fmt: skip

# Words of a path, class or function that show that a storage belongs to memory.
MEMORY_WORDS = bag(
    "memory memories session sessions history chat chats conversation conversations checkpoint checkpoints "
    "checkpointer checkpointers saver thread threads messages context events event transcript"
)
STORE_WORDS = bag(
    "store stores storage storages vector vectors vectordb vectorstore vectorstores persist persistence db database kv "
    "repository state cache embeddings index"
)
# Words of a file name or function that make a `.md` file a memory and not documentation.
NOTE_WORDS = bag(
    "memory memories rule rules skill skills instruction instructions history agents summary "
    "workflow workflows knowledge context claude gemini conventions notes learnings"
)


def is_module(module: str, prefixes: tuple[str, ...]) -> bool:
    """Return whether an imported module is one of these, or inside one."""
    return any(module == p or module.startswith((p + ".", p + "/")) for p in prefixes)
