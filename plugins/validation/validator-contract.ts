/** What a validator is asked and answers. */
import { defineService, type Issue } from '../../kernel/index.ts'
import type { Level } from './config.ts'

export interface ValidationOptions {
  /** The JSON the resource was parsed from: with it an integer spelled 1.0 is refused, which a parsed number cannot show. */
  readonly text?: string
  /** Canonicals of profiles to check besides those in meta.profile. */
  readonly profiles?: readonly string[]
  /** What the same method of a validator in another thread has found, which did not refuse the resource: only added checks are left. */
  readonly found?: readonly Issue[]
}

/** Plain data that tells another thread how far to look. */
export interface RemoteValidator {
  readonly level: Level
}

/** A check of another plugin. It sees only resources whose structure is sound. */
export interface AddedCheck {
  /** For messages: `acme: patients have a phone`. */
  readonly name: string
  /** Resource type it is for; all when left out. */
  readonly type?: string
  /** Issues of severity `error` refuse the write with 422. */
  check(resource: Readonly<Record<string, unknown>>): readonly Issue[] | Promise<readonly Issue[]>
}

export interface Validator {
  /**
   * Lets a write pass or throws the refusal with its issues: 400 for the structure, 422 for rules. How far it looks is the
   * setting `[conformance] validation`. Answers what does not refuse it: warnings and information. A promise only while
   * definitions are still being loaded, or when an added check is asynchronous.
   */
  validateWrite(
    resource: Readonly<Record<string, unknown>>,
    options?: ValidationOptions,
  ): readonly Issue[] | Promise<readonly Issue[]>
  /** Everything there is to say, whatever the setting: for $validate. Refuses nothing. */
  check(
    resource: Readonly<Record<string, unknown>>,
    options?: ValidationOptions,
  ): readonly Issue[] | Promise<readonly Issue[]>
  /** In setup only. */
  addCheck(check: AddedCheck): void
  /** For bodies that are too large for the main thread; without it they are validated there. */
  readonly remote?: RemoteValidator | undefined
}

export const Validator = defineService<Validator>('validation.validator')
