/** Sources of packages: one interface for a registry, a mirror and a bucket. Spec: [conformance] package_registry. */

/** A hash that the source announced for the whole .tgz. */
export interface PromisedHash {
  readonly algorithm: 'sha1' | 'sha256' | 'sha384' | 'sha512'
  readonly hex: string
}

/** A download of a package. */
export interface Download {
  /** Its URL, for messages. */
  readonly from: string
  /** Size in bytes, if the source gives it. */
  readonly size: number | undefined
  readonly hashes: readonly PromisedHash[]
  /** Fails with an error of this plugin's table when the source fails. */
  readonly bytes: AsyncGenerator<Uint8Array, void, undefined>
}

export interface PackageSource {
  /** Its URL without credentials, for messages. */
  readonly where: string
  /**
   * The version that the source has for a range or `latest`; undefined when it does not have the package, or no version
   * in the range. Throws when the source does not answer.
   */
  resolve(name: string, spec: string, signal: AbortSignal): Promise<string | undefined>
  /** Starts the download of one version; undefined when the source does not have it. Throws when it does not answer. */
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

/** The version of a package in a file name below the prefix, or undefined when the file is something else. */
export const versionIn = (name: string, file: string): string | undefined => {
  if (!file.startsWith(name) || !file.endsWith('.tgz')) return undefined
  const [separator, version] = [file[name.length], file.slice(name.length + 1, -'.tgz'.length)]
  if (version === '' || version.includes('/') || separator === undefined || !'/-#'.includes(separator)) return undefined
  return version
}
