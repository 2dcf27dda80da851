/** Finds out which code system the files are a release of, and reads it. */
import { ReleaseMixed, ReleaseUnknown } from '../errors.ts'
import { isCodeSystemFile, readCodeSystemFile } from './read-code-system-file.ts'
import { isLoinc, readLoinc } from './read-loinc.ts'
import { isSnomed, readSnomed } from './read-snomed.ts'
import type { ReadOptions, Release } from './release.ts'
import type { ReleaseFile } from './release-files.ts'

/** Throws `ReleaseUnknown`, `ReleaseMixed`, and what the readers throw. */
export const readRelease = async (
  paths: readonly string[],
  files: readonly ReleaseFile[],
  options: ReadOptions,
): Promise<Release> => {
  const [snomed, loinc] = [files.some(isSnomed), isLoinc(files)]
  if (snomed && loinc) throw ReleaseMixed('files of SNOMED CT and of LOINC')
  if (snomed) return readSnomed(files, options)
  if (loinc) return readLoinc(files, options)
  const [resource, ...others] = files.filter(isCodeSystemFile)
  if (resource === undefined) throw ReleaseUnknown(paths.join(', '))
  if (others.length > 0) throw ReleaseMixed('several .json files')
  return readCodeSystemFile(resource, options)
}
