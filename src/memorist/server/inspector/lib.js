// @ts-check
// Preact, htm and signals under one name, so that pages import one file.
import { h, render, Fragment } from './vendor/preact.js';
import { useEffect, useLayoutEffect, useMemo, useRef, useState, useCallback } from './vendor/hooks.js';
import { signal, computed, effect, batch } from './vendor/signals.js';
import htm from './vendor/htm.js';

export const html = htm.bind(h);
export {
  h,
  render,
  Fragment,
  useEffect,
  useLayoutEffect,
  useMemo,
  useRef,
  useState,
  useCallback,
  signal,
  computed,
  effect,
  batch,
};
