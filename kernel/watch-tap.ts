/** Wraps taps, for a plugin that says how long each of them took. */
import type { HookName } from './hooks.ts'

export interface WatchedTap {
  readonly hook: HookName
  readonly plugin: string
  /** As the plugin named it. */
  readonly name: string
}

/** What is called for a hook: at most three arguments, the first of which is or names the request. */
export type TapFunction = (a: unknown, b: unknown, c: unknown) => unknown

/**
 * Returns what is called in place of the tap. That must call the tap, return its result or a promise of it, and throw what it
 * throws. Called once for each tap, when the hooks are frozen; a server without one calls its taps as they are.
 */
export type WatchTap = (tap: WatchedTap, fn: TapFunction) => TapFunction
