// Made by scripts/make-typescript from docs/openapi.json; do not edit.

/** What a server says when something fails: application/problem+json. */
export interface Problem {
  type: string;
  title: string;
  status: number;
  detail?: string;
  retryable?: boolean;
  facts?: Record<string, unknown>;
  request_id?: string;
}

/** The base of every error of a memory; `facts` has what the message says, as data. */
export class MemoristError extends Error {
  override name = "MemoristError";
  readonly facts: Record<string, unknown>;

  constructor(message: string, facts: Record<string, unknown> = {}, options?: ErrorOptions) {
    super(message, options);
    this.facts = facts;
  }
}

export class UsageError extends MemoristError {
  override name = "UsageError";
}

export class NotFound extends MemoristError {
  override name = "NotFound";
}

export class Conflict extends MemoristError {
  override name = "Conflict";
}

export class BudgetError extends MemoristError {
  override name = "BudgetError";
}

export class StoreError extends MemoristError {
  override name = "StoreError";
}

export class ModelError extends MemoristError {
  override name = "ModelError";
}

export class LeaseLost extends MemoristError {
  override name = "LeaseLost";
}

export class InvalidNamespace extends UsageError {
  override name = "InvalidNamespace";
}

export class Forbidden extends UsageError {
  override name = "Forbidden";
}

export class InvalidFilter extends UsageError {
  override name = "InvalidFilter";
}

export class InvalidValue extends UsageError {
  override name = "InvalidValue";
}

export class TooLarge extends UsageError {
  override name = "TooLarge";
}

export class NotAdmitted extends UsageError {
  override name = "NotAdmitted";
}

export class Unsupported extends UsageError {
  override name = "Unsupported";
}

export class StoreUnavailable extends StoreError {
  override name = "StoreUnavailable";
}

export class StoreTimeout extends StoreError {
  override name = "StoreTimeout";
}

export class CorruptRecord extends StoreError {
  override name = "CorruptRecord";
}

export class SchemaError extends StoreError {
  override name = "SchemaError";
}

export class UnknownOutcome extends StoreError {
  override name = "UnknownOutcome";
}

const KINDS: Record<string, typeof MemoristError> = {
  "urn:memorist:usage-error": UsageError,
  "urn:memorist:not-found": NotFound,
  "urn:memorist:conflict": Conflict,
  "urn:memorist:budget-error": BudgetError,
  "urn:memorist:store-error": StoreError,
  "urn:memorist:model-error": ModelError,
  "urn:memorist:lease-lost": LeaseLost,
  "urn:memorist:invalid-namespace": InvalidNamespace,
  "urn:memorist:forbidden": Forbidden,
  "urn:memorist:invalid-filter": InvalidFilter,
  "urn:memorist:invalid-value": InvalidValue,
  "urn:memorist:too-large": TooLarge,
  "urn:memorist:not-admitted": NotAdmitted,
  "urn:memorist:unsupported": Unsupported,
  "urn:memorist:store-unavailable": StoreUnavailable,
  "urn:memorist:store-timeout": StoreTimeout,
  "urn:memorist:corrupt-record": CorruptRecord,
  "urn:memorist:schema-error": SchemaError,
  "urn:memorist:unknown-outcome": UnknownOutcome,
};

/** The error that a problem stands for; an unknown one is a StoreError. */
export function errorOf(problem: Problem): MemoristError {
  const kind = KINDS[problem.type] ?? StoreError;
  return new kind(problem.detail || problem.title, { ...problem.facts, request_id: problem.request_id });
}
