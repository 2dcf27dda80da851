/**
 * Reads server.toml from the three places of the specification: `--config` or `SERVER_CONFIG`, `./server.toml`,
 * `/etc/server/server.toml`.
 */
import { readFile, stat } from 'node:fs/promises'
import { extname, resolve } from 'node:path'
import { parse, TomlError } from 'smol-toml'
import { SettingsInvalid } from './errors.ts'
import type { SettingsFile, Table } from './layer.ts'
import { linesOf } from './lines.ts'

const MAX_BYTES = 1_000_000 // a settings file is a few kilobytes; more is the wrong file

/** Tried in this order; the first that exists is read. */
export const STANDARD_PLACES = ['server.toml', '/etc/server/server.toml'] as const

export interface SettingsInput {
  readonly file: string
  /** What named it, for error messages: `--config` or `SERVER_CONFIG`. */
  readonly by: string
}

/** The byte order mark at the beginning of a file in UTF-16. */
const UTF_16 = /^(?:\xff\xfe|\xfe\xff)/

const lineOf = (text: string, at: number): number => text.slice(0, at).split('\n').length

const parseToml = (file: string, text: string): SettingsFile => {
  const nul = text.indexOf('\0')
  if (nul >= 0)
    throw new SettingsInvalid([`${file}:${lineOf(text, nul)}: there is a NUL byte; the file has to be text in UTF-8`])
  const broken = text.indexOf('\uFFFD') // what the decoder puts in place of bytes that are no UTF-8
  if (broken >= 0)
    throw new SettingsInvalid([
      `${file}:${lineOf(text, broken)}: there are bytes that are not UTF-8; save the file in UTF-8`,
    ])
  try {
    const values = parse(text, { unsafeKeyBehaviour: 'throw', maxDepth: 100 }) as Table
    return { file, values, lines: linesOf(text) }
  } catch (error) {
    if (!(error instanceof TomlError)) throw error
    // Only the first line of the message is used: the rest quotes the file, which may hold a secret.
    const what = error.message
      .split('\n')[0]!
      .replace('Invalid TOML document: ', '')
      // The parser gives this message for these two names only.
      .replace('unsafe property', 'unsafe property, "__proto__" or "constructor"')
    throw new SettingsInvalid([`${file}:${error.line}:${error.column}: ${what}`])
  }
}

const reasons: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such file',
  EACCES: 'this user may not read it',
  EPERM: 'this user may not read it',
  ENOTDIR: 'a part of the path is not a directory',
  ELOOP: 'its links go round in a circle',
}

const reason = (error: unknown): string => {
  const { code = '' } = error as NodeJS.ErrnoException
  return reasons[code] ?? `it cannot be read (${code})`
}

const exists = async (folder: string, place: string): Promise<boolean> => {
  try {
    await stat(resolve(folder, place))
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT' || (error as NodeJS.ErrnoException).code === 'ENOTDIR')
      return false
    throw new SettingsInvalid([`${place}: ${reason(error)}`])
  }
}

interface Loader {
  load(path: string): Promise<{ readonly config?: SettingsFile } | null>
}

/**
 * Makes a loader of cosmiconfig that reads a file of any extension as TOML: by default it would run a .js or .ts file.
 */
const createLoader = async (extension: string, read: (text: string) => SettingsFile): Promise<Loader> => {
  // Uses the class, not `cosmiconfig()`: each call of that function looks for its own options in the working directory,
  // and runs a `.config/config.js` it finds there. The types of the class are stripped as internal.
  const { Explorer } = (await import('cosmiconfig/dist/Explorer.js')) as unknown as {
    Explorer: new (o: object) => Loader
  }
  return new Explorer({
    moduleName: 'server',
    loaders: { [extension || 'noExt']: (_path: string, text: string) => read(text) },
    searchPlaces: [],
    searchStrategy: 'none',
    cache: false,
    transform: (result: unknown) => result,
    packageProp: [], // so that a file called package.toml is taken as a whole
    metaConfigFilePath: null,
  })
}

const load = async (folder: string, file: string, by: string): Promise<SettingsFile> => {
  const path = resolve(folder, file)
  try {
    const found = await stat(path)
    if (!found.isFile()) throw new SettingsInvalid([`${file}: ${by} names something that is not a regular file`])
    if (found.size > MAX_BYTES)
      throw new SettingsInvalid([`${file}: the file has ${found.size} bytes; settings take at most ${MAX_BYTES}`])
    // The loader would read UTF-16 as well where it begins with a mark, and TOML is UTF-8.
    if (UTF_16.test((await readFile(path)).toString('latin1', 0, 2)))
      throw new SettingsInvalid([`${file}:1: the file is in UTF-16; save it in UTF-8`])
    const cosmiconfig = await createLoader(extname(path), (text) => parseToml(file, text))
    const result = await cosmiconfig.load(path)
    return result?.config ?? { file, values: {}, lines: new Map() }
  } catch (error) {
    if (error instanceof SettingsInvalid || (error as NodeJS.ErrnoException).code === undefined) throw error
    throw new SettingsInvalid([`${file}: ${reason(error)}; ${by} names it`])
  }
}

/**
 * The settings file, or undefined when none was named and there is none in the standard places. Throws
 * `SettingsInvalid` for a named file that is missing, and for one that cannot be read as TOML.
 */
export const readSettings = async (
  folder: string,
  asked?: SettingsInput,
  standard: readonly string[] = STANDARD_PLACES,
): Promise<SettingsFile | undefined> => {
  if (asked !== undefined) return load(folder, asked.file, asked.by)
  for (const place of standard) if (await exists(folder, place)) return load(folder, place, 'the standard place')
  return undefined
}
