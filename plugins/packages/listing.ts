/**
 * Parses a registry's list of the versions of a package: `GET {base}/{name}`, as npm does.
 * https://confluence.hl7.org/display/FHIR/FHIR+Package+Registry+User+Documentation
 */
import type { PromisedHash } from './source.ts'

export interface ListedVersion {
  /** URL of the .tgz as the registry wrote it; some registries leave it out. */
  readonly tarball: string | undefined
  readonly hashes: readonly PromisedHash[]
}

export interface Listing {
  /** The version tagged `latest`. */
  readonly latest: string | undefined
  readonly versions: ReadonlyMap<string, ListedVersion>
}

const isObject = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null

/** `sha512-<base64> sha256-<base64>` of `dist.integrity`, https://www.w3.org/TR/SRI/ */
const integrityHashes = (integrity: unknown): PromisedHash[] =>
  typeof integrity !== 'string'
    ? []
    : [...integrity.matchAll(/\b(sha(?:256|384|512))-([A-Za-z0-9+/=]+)/g)].map(([, algorithm, base64]) => ({
        algorithm: algorithm as PromisedHash['algorithm'],
        hex: Buffer.from(base64 ?? '', 'base64').toString('hex'),
      }))

const readVersion = (entry: unknown): ListedVersion => {
  const { dist: given, url } = isObject(entry) ? entry : {}
  const dist = isObject(given) ? given : {}
  const hashes = integrityHashes(dist.integrity)
  if (typeof dist.shasum === 'string' && /^[0-9a-f]{40}$/i.test(dist.shasum))
    hashes.push({ algorithm: 'sha1', hex: dist.shasum.toLowerCase() })
  const tarball = [dist.tarball, url].find((one) => typeof one === 'string')
  return { tarball, hashes }
}

/** Parses a list; undefined when the text is not one. */
export const readListing = (text: string): Listing | undefined => {
  let json: unknown
  try {
    json = JSON.parse(text)
  } catch {
    return undefined
  }
  if (!isObject(json) || !isObject(json.versions)) return undefined
  const tags = json['dist-tags']
  return {
    latest: isObject(tags) && typeof tags.latest === 'string' ? tags.latest : undefined,
    versions: new Map(Object.entries(json.versions).map(([version, entry]) => [version, readVersion(entry)])),
  }
}
