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
export class RecollectError extends Error {
  override name = "RecollectError";
  readonly facts: Record<string, unknown>;

  constructor(message: string, facts: Record<string, unknown> = {}, options?: ErrorOptions) {
    super(message, options);
    this.facts = facts;
  }
}

export class UsageError extends RecollectError {
  override name = "UsageError";
}

export class NotFound extends RecollectError {
  override name = "NotFound";
}

export class Conflict extends RecollectError {
  override name = "Conflict";
}

export class BudgetError extends RecollectError {
  override name = "BudgetError";
}

export class StoreError extends RecollectError {
  override name = "StoreError";
}

export class ModelError extends RecollectError {
  override name = "ModelError";
}

export class LeaseLost extends RecollectError {
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

const KINDS: Record<string, typeof RecollectError> = {
  "urn:recollect:usage-error": UsageError,
  "urn:recollect:not-found": NotFound,
  "urn:recollect:conflict": Conflict,
  "urn:recollect:budget-error": BudgetError,
  "urn:recollect:store-error": StoreError,
  "urn:recollect:model-error": ModelError,
  "urn:recollect:lease-lost": LeaseLost,
  "urn:recollect:invalid-namespace": InvalidNamespace,
  "urn:recollect:forbidden": Forbidden,
  "urn:recollect:invalid-filter": InvalidFilter,
  "urn:recollect:invalid-value": InvalidValue,
  "urn:recollect:too-large": TooLarge,
  "urn:recollect:unsupported": Unsupported,
  "urn:recollect:store-unavailable": StoreUnavailable,
  "urn:recollect:store-timeout": StoreTimeout,
  "urn:recollect:corrupt-record": CorruptRecord,
  "urn:recollect:schema-error": SchemaError,
  "urn:recollect:unknown-outcome": UnknownOutcome,
};

/** The error that a problem stands for; an unknown one is a StoreError. */
export function errorOf(problem: Problem): RecollectError {
  const kind = KINDS[problem.type] ?? StoreError;
  return new kind(problem.detail || problem.title, { ...problem.facts, request_id: problem.request_id });
}
