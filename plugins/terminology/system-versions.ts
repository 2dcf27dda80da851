/**
 * The versions of code systems that a request asks for: system-version, check-system-version and force-system-version of
 * $expand. https://hl7.org/fhir/R4/valueset-operation-expand.html
 */
type Versions = ReadonlyMap<string, string>

/** Each by the url of the code system. */
export interface SystemVersions {
  /** Used where the value set names none. */
  readonly preferred: Versions
  /** The same; a value set that names another one cannot be expanded. */
  readonly required: Versions
  /** Used whatever the value set names. */
  readonly forced: Versions
}

export const noVersions = (): SystemVersions => ({ preferred: new Map(), required: new Map(), forced: new Map() })

export const preferring = (system: string, version: string): SystemVersions => ({
  ...noVersions(),
  preferred: new Map([[system, version]]),
})

/** Names them in the key of a cache; empty where there are none. */
export const keyOf = ({ preferred, required, forced }: SystemVersions): string =>
  preferred.size + required.size + forced.size === 0
    ? ''
    : JSON.stringify([preferred, required, forced].map((one) => [...one].sort()))
