// The types of lib.js, for the type checker alone: the browser never loads this file.
export type View = unknown;
export type Setter<T> = (next: T | ((old: T) => T)) => void;
export interface Ref<T> {
  current: T;
}
export interface Signal<T> {
  value: T;
}
export function html(texts: TemplateStringsArray, ...values: unknown[]): View;
export function h(type: unknown, props?: object | null, ...children: unknown[]): View;
export function render(view: View, into: Element | null): void;
export const Fragment: unknown;
// What begins as null or undefined is filled later, with an answer of the server or an element of the page.
export function useState(first?: null): [any, Setter<any>];
export function useState<T>(first: T | (() => T)): [T, Setter<T>];
export function useRef(first: null): Ref<any>;
export function useRef<T>(first: T): Ref<T>;
export function useMemo<T>(compute: () => T, inputs: unknown[]): T;
export function useCallback<T>(callback: T, inputs: unknown[]): T;
export function useEffect(run: () => void | (() => void), inputs?: unknown[]): void;
export function useLayoutEffect(run: () => void | (() => void), inputs?: unknown[]): void;
export function signal(first: null): Signal<any>;
export function signal<T>(first: T): Signal<T>;
export function computed<T>(compute: () => T): { readonly value: T };
export function effect(run: () => void | (() => void)): () => void;
export function batch<T>(run: () => T): T;
