/** The interface of the service Validator. */
import { defineService, type Issue, type RequestContext } from '../../kernel/index.ts'
import type { Level } from './config.ts'

export interface ValidationOptions {
  /** The JSON that the resource was parsed from. If given, an integer spelled 1.0 is refused, which a parsed number does not show. */
  readonly text?: string
  /** Canonical URLs of profiles to check besides those in meta.profile. */
  readonly profiles?: readonly string[]
  /**
   * Issues that the same method of a validator in another thread has found. If given, only the checks that plugins added are
   * run.
   */
  readonly found?: readonly Issue[]
  /** The request that writes or asks, for checks that other plugins added. */
  readonly request?: RequestContext
}

/** Plain data with which another thread makes the same validator, see `openValidator`. */
export interface RemoteValidator {
  readonly level: Level
}

/** A check that another plugin adds. It gets only resources whose structure is valid. */
export interface AddedCheck {
  /** For messages: `acme: patients have a phone`. */
  readonly name: string
  /** Resource type that the check is for; all types if absent. */
  readonly type?: string
  /** The least level of [conformance] validation at which it checks writes; every level if absent. */
  readonly level?: Exclude<Level, 'structure'>
  /** `request`: for whom it checks; undefined where that is not known. Returns the issues. One of severity `error` or `fatal` refuses the write with 422. */
  check(
    resource: Readonly<Record<string, unknown>>,
    request: RequestContext | undefined,
  ): readonly Issue[] | Promise<readonly Issue[]>
}

export interface Validator {
  /**
   * Validates a resource that is to be written, as far as the setting `[conformance] validation` says. Throws 400 for errors of
   * the structure and 422 for broken rules, with all issues. Returns warnings and information. The result is a promise only if
   * definitions must be loaded, or if an added check is asynchronous.
   */
  validateWrite(
    resource: Readonly<Record<string, unknown>>,
    options?: ValidationOptions,
  ): readonly Issue[] | Promise<readonly Issue[]>
  /** For $validate: runs all checks, whatever [conformance] validation says, and returns all issues. Never throws for an issue. */
  check(
    resource: Readonly<Record<string, unknown>>,
    options?: ValidationOptions,
  ): readonly Issue[] | Promise<readonly Issue[]>
  /** Adds a check. To be called in setup. */
  addCheck(check: AddedCheck): void
  /** Lets a worker thread validate large bodies. If undefined, they are validated on the main thread. */
  readonly remote?: RemoteValidator | undefined
}

export const Validator = defineService<Validator>('validation.validator')
