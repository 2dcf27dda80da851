/** package.json of a FHIR package. https://confluence.hl7.org/display/FHIR/NPM+Package+Specification */
import { ManifestInvalid, ManifestOther } from './errors.ts'
import { isName, isVersion } from './request.ts'

export interface Manifest {
  readonly name: string
  readonly version: string
  /** `fhir.core`, `fhir.examples`, `IG`, … */
  readonly type: string | undefined
  /** FHIR releases it is for; empty when package.json does not say. */
  readonly fhirVersions: readonly string[]
  /** Name → version or range. */
  readonly dependencies: ReadonlyMap<string, string>
}

export const R4_CORE = 'hl7.fhir.r4.core'
export const R4_VERSION = '4.0.1'

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const strings = (value: unknown): string[] =>
  Array.isArray(value) ? value.filter((one) => typeof one === 'string') : []

/**
 * Parses and checks package.json. `subject` names the package in messages; `expected` is the requested name and
 * version.
 */
export const readManifest = (
  text: string,
  subject: string,
  expected?: { readonly name: string; readonly version: string },
): Manifest => {
  let json: unknown
  try {
    json = JSON.parse(text)
  } catch {
    throw ManifestInvalid(subject, 'is not JSON')
  }
  if (!isObject(json)) throw ManifestInvalid(subject, 'is not an object')
  const { name, version, type, dependencies } = json
  if (typeof name !== 'string' || !isName(name)) throw ManifestInvalid(subject, 'has no name that a package can have')
  if (typeof version !== 'string' || !isVersion(version))
    throw ManifestInvalid(subject, 'has no version that a package can have')
  if (expected !== undefined && (name !== expected.name || version !== expected.version))
    throw ManifestOther(subject, `${name}@${version}`)
  return {
    name,
    version,
    type: typeof type === 'string' ? type : undefined,
    fhirVersions: strings(json.fhirVersions ?? json['fhir-version-list']),
    dependencies: new Map(
      Object.entries(isObject(dependencies) ? dependencies : {}).flatMap(([key, value]) =>
        typeof value === 'string' ? [[key, value.trim()] as const] : [],
      ),
    ),
  }
}

/** Whether the package is for FHIR R4, or does not say. */
export const isForR4 = ({ fhirVersions }: Manifest): boolean =>
  fhirVersions.length === 0 || fhirVersions.some((version) => version === '4.0' || version.startsWith('4.0.'))

/** The release of a core package, also under its old name; undefined for other packages. */
export const coreRelease = (name: string): string | undefined =>
  /^hl7\.fhir\.(r\w+)\.core$/.exec(name)?.[1] ?? (name === 'hl7.fhir.core' ? 'any' : undefined)

/**
 * True for dependencies without types, profiles or codes that this server needs: examples, tooling, and other forms of
 * the core package.
 */
export const isUnneeded = (name: string): boolean =>
  /\.(examples|tools)(\.|$)/.test(name) || /^hl7\.fhir\.r\w+\.(corexml|elements|expansions|openapi|search)$/.test(name)
