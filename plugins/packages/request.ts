/** One entry of [conformance] packages: name@version, a directory or a .tgz path. */
import { statSync } from 'node:fs'
import { resolve } from 'node:path'
import { NotAPackage } from './errors.ts'

// Safe as file names and URL segments: they need no escaping, and none can leave its directory.
const NAME = /^[A-Za-z0-9](?!.*\.\.)[A-Za-z0-9._-]{0,127}$/
const VERSION = /^[A-Za-z0-9](?!.*\.\.)[A-Za-z0-9.+_-]{0,127}$/
const RANGE = /^[A-Za-z0-9.+_^~<>=|* -]{0,128}$/

export interface NamedPackage {
  readonly kind: 'named'
  readonly name: string
  /** A version, a range or `latest`. */
  readonly version: string
}

export interface LocalPackage {
  readonly kind: 'folder' | 'archive'
  /** Absolute. */
  readonly path: string
}

export type PackageRequest = NamedPackage | LocalPackage

export const isName = (text: string): boolean => NAME.test(text)
export const isVersion = (text: string): boolean => VERSION.test(text)
export const isRange = (text: string): boolean => RANGE.test(text)

const isFolder = (path: string): boolean => statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false

/**
 * Parses one entry. A text that is an existing directory means that directory; a name without a version means the
 * latest.
 */
export const parseRequest = (text: string): PackageRequest => {
  if (/\.(tgz|tar\.gz)$/i.test(text)) return { kind: 'archive', path: resolve(text) }
  if (isFolder(text)) return { kind: 'folder', path: resolve(text) }
  const [name = '', version = 'latest', ...rest] = text.split(/[@#]/)
  if (rest.length === 0 && version !== '' && isName(name) && isRange(version)) return { kind: 'named', name, version }
  if (/^[.~]|[\\/]/.test(text)) return { kind: 'folder', path: resolve(text) }
  throw NotAPackage(text)
}
