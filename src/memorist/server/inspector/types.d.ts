// Types of the pages, for the type checker alone: the browser never loads this file. What the HTTP API answers is typed
// by the client that scripts/make-typescript writes from docs/openapi.json.
import type { Memorist } from '../../../../clients/typescript/src/api.ts';

type Answer<T> = T extends (...args: never[]) => Promise<infer R> ? R : never;

/** What GET of a path of the API answers. */
export interface Read {
  me: Answer<Memorist['keys']['me']>;
  keys: Answer<Memorist['keys']['list']>;
  analyses: Answer<Memorist['analyses']['list']>;
  review: Answer<Memorist['review']['list']>;
  'thread/requests': Answer<Memorist['threads']['requests']>;
}
/** What a write to a path of the API answers, by method and path. */
export interface Written {
  'POST keys': Answer<Memorist['keys']['create']>;
  'POST analyses': Answer<Memorist['analyses']['run']>;
  'PUT fact': Answer<Memorist['facts']['set']>;
  'POST fact/correct': Answer<Memorist['facts']['correct']>;
  'POST fact/reject': Answer<Memorist['facts']['reject']>;
  'POST tidy': Answer<Memorist['plans']['make']>;
  'POST tidy/apply': Answer<Memorist['plans']['apply']>;
  'POST tidy/undo': Answer<Memorist['plans']['undo']>;
  'PATCH review/candidate': Answer<Memorist['review']['edit']>;
}
/** What a view answers is made for its page and is no part of the API. */
export type Shown = any;

export interface Pulse {
  mark: string;
  dead: number;
  analyser?: boolean;
  changed?: [string, string][];
  told?: number;
  ok?: boolean;
}
/** The parameters of a page's URL. */
export type Params = Record<string, string>;
export interface Loaded {
  data: Shown;
  error: Shown;
  loading: boolean;
  key?: string;
}
export interface Listed {
  items: Shown[];
  next: string | null;
  loading: boolean;
  error: Shown;
}
export interface ToastRow {
  id: number;
  said: unknown;
  undo?: () => Promise<unknown>;
  link?: { href: string; text: string };
  bad?: boolean;
  action?: () => void;
  drop: () => void;
}
