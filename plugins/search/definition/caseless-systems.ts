/**
 * Code systems of the installed packages that say `caseSensitive: false`: their codes are indexed in lower case.
 * https://hl7.org/fhir/R4/codesystem-definitions.html#CodeSystem.caseSensitive
 */
import type { Definition } from '../../packages/service.ts'

const CASELESS = /"caseSensitive"\s*:\s*false/

/** Returns their URLs, sorted. The regular expression skips most code systems without parsing them. */
export const caselessSystems = (codeSystems: readonly Definition[]): readonly string[] => {
  // Where several have the same URL, the last one wins.
  const last = new Map(codeSystems.map((one) => [one.url, one]))
  return [...last.values()]
    .filter(({ url, json }) => {
      if (url === undefined || !CASELESS.test(json)) return false
      return (JSON.parse(json) as { caseSensitive?: boolean }).caseSensitive === false
    })
    .map(({ url }) => url as string)
    .sort()
}
