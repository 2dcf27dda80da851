/**
 * Turns anything thrown into lines for standard error and an exit code: 2 for wrong arguments or settings, 1 for other
 * failures.
 */
import { ServerError } from '../kernel/index.ts'
import { closestKey } from '../kernel/settings/closest-key.ts'
import { SettingsInvalid } from '../kernel/settings/errors.ts'

export const REFUSED = 2 // spec: migrate exit codes, "the arguments were wrong"; the same for settings
export const FAILED = 1

/**
 * The settings were valid and the server could not start, or not stop as it should. `message` is one line that says
 * what to do.
 */
export class StartFailed extends Error {
  readonly exitCode: number

  constructor(message: string, exitCode = FAILED) {
    super(message)
    this.exitCode = exitCode
  }
}

export interface StartFailure {
  readonly lines: readonly string[]
  readonly code: number
}

/** An error of oclif, which is loaded only by commands that need it. */
interface OclifError extends Error {
  readonly oclif: { readonly exit?: number }
}

const isOclifError = (error: unknown): error is OclifError => error instanceof Error && 'oclif' in error

interface UnknownFlags {
  readonly flags: readonly string[]
  readonly parse: { readonly input?: { readonly flags?: Readonly<Record<string, unknown>> } }
}

const isUnknownFlags = (error: object): error is UnknownFlags => error.constructor.name === 'NonExistentFlagsError'

const unknownFlag = (given: string, known: readonly string[]): string => {
  const name = given.replace(/^-+/, '').replace(/=.*$/s, '')
  const near = closestKey(name, known)
  const hint = near === undefined ? '--help lists all' : `did you mean --${near}?`
  // The text after "=" is not shown: it may be a secret.
  return `there is no flag ${given.replace(/=.*$/s, '')}; ${hint}`
}

interface RequiredArgs {
  readonly args: readonly { readonly name: string; readonly options?: readonly string[] }[]
}

/** The arguments that are missing, in words, or undefined for any other error. */
export const missingArguments = (error: unknown): string | undefined => {
  if (!isOclifError(error) || error.constructor.name !== 'RequiredArgsError') return undefined
  const { args } = error as unknown as RequiredArgs
  return args.map(({ name, options }) => (options === undefined ? `<${name}>` : options.join(' or '))).join(' ')
}

const oneLine = (text: string): string =>
  text
    .replace(/\s*See more help with --help\s*$/, '')
    .replace(/\s*\n\s*/g, ' ')
    .trim()

export const startFailureOf = (error: unknown): StartFailure => {
  if (error instanceof SettingsInvalid) return { lines: error.complaints, code: REFUSED }
  if (error instanceof StartFailed) return { lines: [error.message], code: error.exitCode }
  if (error instanceof ServerError) return { lines: [oneLine(error.message)], code: REFUSED }
  if (isOclifError(error) && error.constructor.name === 'ExitError') return { lines: [], code: error.oclif.exit ?? 0 }
  if (isOclifError(error)) {
    const known = Object.keys((isUnknownFlags(error) && error.parse.input?.flags) || {})
    const lines = isUnknownFlags(error) ? error.flags.map((flag) => unknownFlag(flag, known)) : [oneLine(error.message)]
    return { lines, code: error.oclif.exit ?? REFUSED }
  }
  // A fault of the program or of a plugin: the stack helps to find it.
  const text = error instanceof Error ? (error.stack ?? error.message) : String(error)
  return { lines: [`this is a fault of the program: ${text}`], code: FAILED }
}
