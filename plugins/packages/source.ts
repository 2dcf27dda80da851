/** Where packages come from: one interface over a registry, a mirror and a bucket. Spec: [conformance] package_registry. */

/** A hash the source promised for the whole .tgz. */
export interface PromisedHash {
  readonly algorithm: 'sha1' | 'sha256' | 'sha384' | 'sha512'
  readonly hex: string
}

/** A package on its way. */
export interface Download {
  /** Where it comes from, fit for a message. */
  readonly from: string
  /** Bytes, when the source says. */
  readonly size: number | undefined
  readonly hashes: readonly PromisedHash[]
  /** Breaks off with an error of this plugin's table when the source does. */
  readonly bytes: AsyncGenerator<Uint8Array, void, undefined>
}

export interface PackageSource {
  /** Its address, fit for a message: without credentials. */
  readonly where: string
  /**
   * The version that a range or `latest` means there; undefined when the source does not hold the package, or none in
   * the range. Throws when the source does not answer.
   */
  resolve(name: string, spec: string, signal: AbortSignal): Promise<string | undefined>
  /** Starts the download of one version; undefined when the source does not hold it. Throws when it does not answer. */
  open(name: string, version: string, signal: AbortSignal): Promise<Download | undefined>
}

/**
 * File names under which a bucket or a plain web server may hold a package, below its prefix:
 * `name/version.tgz`, `name-version.tgz`, `name#version.tgz`.
 */
export const fileNames = (name: string, version: string): readonly string[] => [
  `${name}/${version}.tgz`,
  `${name}-${version}.tgz`,
  `${name}#${version}.tgz`,
]

/** The version a file name below the prefix holds of a package, or undefined when it is something else. */
export const versionIn = (name: string, file: string): string | undefined => {
  if (!file.startsWith(name) || !file.endsWith('.tgz')) return undefined
  const [separator, version] = [file[name.length], file.slice(name.length + 1, -'.tgz'.length)]
  if (version === '' || version.includes('/') || separator === undefined || !'/-#'.includes(separator)) return undefined
  return version
}
