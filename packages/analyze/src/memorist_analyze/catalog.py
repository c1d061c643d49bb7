"""Contains tables of libraries that map imports to storage and to the ways of retrieving data from it. To add a storage
technology, add one row with its module prefixes in Python and npm, and a test in `tests/analyze`.
"""

from __future__ import annotations

from functools import lru_cache

from memorist_analyze.words import bag


def _table(text: str) -> dict[str, tuple[str, ...]]:
    """Return a table of names and words from `name: word word; name: word`."""
    rows = (row.split(":", 1) for row in text.replace("\n", " ").split("; ") if ":" in row)
    return {name.strip(): tuple(values.strip().removesuffix(";").split()) for name, values in rows}


# Storages, and the modules whose import shows that they are used. Storages read by key come first, then those
# searched by meaning.
DIRECT = _table("""
    sqlite: sqlite3 aiosqlite better-sqlite3 node:sqlite bun:sqlite sqlite apsw; libsql: @libsql/client libsql;
    sqlalchemy: sqlalchemy sqlmodel; postgres: psycopg psycopg2 psycopg_pool asyncpg pg postgres pg-promise;
    mysql: pymysql aiomysql mysql mysql2; redis: redis ioredis aioredis @upstash/redis redisvl valkey glide;
    mongodb: pymongo motor mongodb mongoose; dynamodb: @aws-sdk/client-dynamodb @aws-sdk/lib-dynamodb;
    s3: @aws-sdk/client-s3; google_cloud_storage: google.cloud.storage @google-cloud/storage;
    firestore: google.cloud.firestore firebase_admin firebase-admin;
    azure_blob: azure.storage.blob @azure/storage-blob; cosmos_db: azure.cosmos @azure/cosmos; duckdb: duckdb;
    sqlite_diskcache: diskcache; cassandra: cassandra; couchbase: couchbase; supabase: supabase @supabase/supabase-js;
    neo4j: neo4j neo4j-driver; mem0_cloud: mem0 mem0ai; zep_cloud: zep_cloud zep_python @getzep/zep-cloud;
    clickhouse: clickhouse_connect clickhouse_driver @clickhouse/client; singlestore: singlestoredb;
    mssql: pymssql pyodbc mssql tedious; oracle: oracledb cx_Oracle;
    spanner: google.cloud.spanner @google-cloud/spanner; convex: convex;
    cloudflare: cloudflare @cloudflare/workers-types; dapr: dapr @dapr/dapr; lmdb: lmdb;
    leveldb: plyvel level classic-level; arangodb: arango arangojs; kuzu: kuzu; falkordb: falkordb;
""")
SEMANTIC = _table("""
    chroma: chromadb; qdrant: qdrant_client @qdrant/js-client-rest; milvus: pymilvus @zilliz/milvus2-sdk-node;
    faiss: faiss faiss-node; weaviate: weaviate weaviate-client; pinecone: pinecone @pinecone-database/pinecone;
    pgvector: pgvector; lancedb: lancedb vectordb @lancedb/lancedb;
    elasticsearch: elasticsearch @elastic/elasticsearch; opensearch: opensearchpy @opensearch-project/opensearch;
    tidb: tidb_vector pytidb; oceanbase: pyobvector; surreal: surrealdb; hnswlib: hnswlib hnswlib-node;
    vectra: vectra; typesense: typesense; meilisearch: meilisearch;
    upstash: upstash_vector upstash_redis @upstash/vector; astra: astrapy @datastax/astra-db-ts;
    turbopuffer: turbopuffer @turbopuffer/turbopuffer; s3vectors: @aws-sdk/client-s3vectors;
    sqlite_vec: sqlite_vec sqlite-vec sqlite_vss; vespa: vespa pyvespa; marqo: marqo;
    azure_search: azure.search @azure/search-documents; vertex_ai: vertexai.rag google.cloud.aiplatform;
""")
# Modules for a whole cloud: the file must also name the storage.
_CLOUD = {"dynamodb": ("boto3", "aioboto3"), "s3": ("boto3", "aioboto3", "botocore")}

# Synonyms of technologies, for labels that people wrote by hand.
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
    """Return the storage that these distributions provide, with the name of each distribution."""
    provided_by: dict[str, str] = {}
    for package in sorted(packages):
        plain = package.lower().removesuffix("-binary").removesuffix("-client").removesuffix("-python")
        _, storages = libraries((package, plain, plain.replace("-", "_"), plain.replace("-", ".")))
        for name, needed in storages:
            if not needed:
                provided_by.setdefault(name, package)
    return provided_by


@lru_cache(maxsize=65536)
def libraries(modules: tuple[str, ...]) -> tuple[list[str], list[tuple[str, str]]]:
    """Return the ways of counting and the storage that the given modules indicate. Storage comes with a word that the
    file must contain."""

    def names_of(table: dict[str, tuple[str, ...]]) -> list[str]:
        return [name for name, prefixes in table.items() if any(is_module(m, prefixes) for m in modules)]

    storages = [(name, "") for table in (DIRECT, SEMANTIC) for name in names_of(table)]
    return names_of(COUNTERS), storages + [(name, name) for name in names_of(_CLOUD)]


# Modules whose import shows how tokens are counted.
COUNTERS: dict[str, tuple[str, ...]] = {
    "tiktoken": ("tiktoken", "splintr", "js-tiktoken", "@dqbd/tiktoken", "gpt-tokenizer", "gpt-3-encoder"),
    "tokenizer_model": (
        "sentencepiece", "mistral_common", "@anthropic-ai/tokenizer", "llama-tokenizer-js", "llama3-tokenizer-js",
        "tokenizers", "@huggingface/tokenizers", "@lenml/tokenizers",
    ),
}  # fmt: skip

# Words in a path, class or function that show that a storage is used for memory.
MEMORY_WORDS = bag(
    "memory memories session sessions history chat chats conversation conversations checkpoint checkpoints "
    "checkpointer checkpointers saver thread threads messages context events event transcript"
)
STORE_WORDS = bag(
    "store stores storage storages vector vectors vectordb vectorstore vectorstores persist persistence db database kv "
    "repository state cache embeddings index"
)
# Words in a file name or function that show that a `.md` file is memory, not documentation.
NOTE_WORDS = bag(
    "memory memories rule rules skill skills instruction instructions history agents summary "
    "workflow workflows knowledge context claude gemini conventions notes learnings"
)


def is_module(module: str, prefixes: tuple[str, ...]) -> bool:
    """Return whether an imported module is one of these modules or a submodule of one."""
    return any(module == p or module.startswith((p + ".", p + "/")) for p in prefixes)
