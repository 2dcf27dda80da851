import type { FetchedPackage } from './fetch-package.ts'
import { isAtLeast, isExact, satisfies } from './version.ts'

/** Name and version of a package that is installed, being installed, or configured as a directory or .tgz. */
export interface InstalledVersion {
  readonly name: string
  readonly version: string
  readonly standsFor?: string | undefined
}

export const labelOf = ({ name, version }: InstalledVersion): string => `${name}@${version}`

/** Whether a package satisfies a request. With `laterToo`, for a dependency, a later version does as well. */
export const serves = (
  { name, version, standsFor }: InstalledVersion,
  wanted: string,
  spec: string,
  laterToo: boolean,
): boolean => {
  const fits = (held: string): boolean => satisfies(spec, held) || (laterToo && isExact(spec) && isAtLeast(held, spec))
  if (name === wanted) return fits(version)
  return standsFor?.startsWith(`${wanted}@`) === true && fits(standsFor.slice(wanted.length + 1))
}

export const asHeld = ({ content }: FetchedPackage): InstalledVersion => ({
  ...content.manifest,
  standsFor: content.standsFor,
})
