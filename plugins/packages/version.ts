/** Versions and ranges of packages. FHIR: https://hl7.org/fhir/packages.html, ranges as npm has them. */
import semver from 'semver'

const LOOSE = { loose: true } as const
const WILD = /(^|\.)[xX*](\.|$|-)|[\^~<>|=\s]/
const PARTIAL = /^\d+(\.\d+)?$/

/** True when the text names a single version; `latest`, `4.0.x`, `^4`, `4.0` and the empty text do not. */
export const isExact = (spec: string): boolean =>
  spec !== '' && spec !== 'latest' && !WILD.test(spec) && !PARTIAL.test(spec)

/** Whether a version matches the text. `latest` matches any version, so that an installed package is not replaced. */
export const satisfies = (spec: string, version: string): boolean => {
  if (spec === version || spec === '' || spec === 'latest') return true
  return !isExact(spec) && semver.satisfies(version, spec, LOOSE)
}

/** True when `one` equals `other` or is higher by semver. If one of them is not semver, true only when they are equal. */
export const isAtLeast = (one: string, other: string): boolean => {
  if (one === other) return true
  return semver.valid(one, LOOSE) !== null && semver.valid(other, LOOSE) !== null && semver.gte(one, other, LOOSE)
}

/** Compares versions: as semver where both are, else by their numbers and words. */
export const compareVersions = (one: string, other: string): number =>
  semver.valid(one, LOOSE) !== null && semver.valid(other, LOOSE) !== null
    ? semver.compareBuild(one, other, LOOSE)
    : one.localeCompare(other, 'en', { numeric: true })

/**
 * The version of a list that the text selects: the highest of a range; for `latest` the tagged one, or else the highest
 * release.
 */
export const bestOf = (versions: readonly string[], spec: string, latest?: string): string | undefined => {
  if (versions.includes(spec)) return spec
  if (isExact(spec)) return undefined
  if (spec === '' || spec === 'latest') {
    if (latest !== undefined && versions.includes(latest)) return latest
    const releases = versions.filter((version) => semver.prerelease(version, LOOSE) === null)
    return (releases.length > 0 ? releases : versions).toSorted(compareVersions).at(-1)
  }
  return semver.maxSatisfying([...versions], spec, LOOSE) ?? undefined
}
