/**
 * Code systems of the installed packages that say `caseSensitive: false`: their codes are indexed in lower case.
 * https://hl7.org/fhir/R4/codesystem-definitions.html#CodeSystem.caseSensitive
 */
import type { Definition } from '../../packages/service.ts'

const CASELESS = /"caseSensitive"\s*:\s*false/

/** Their URLs. Most code systems do not say it, and are not parsed. */
export const caselessSystems = (codeSystems: readonly Definition[]): readonly string[] => {
  // Of one URL the last counts.
  const last = new Map(codeSystems.map((one) => [one.url, one]))
  return [...last.values()]
    .filter(({ url, json }) => {
      if (url === undefined || !CASELESS.test(json)) return false
      return (JSON.parse(json) as { caseSensitive?: boolean }).caseSensitive === false
    })
    .map(({ url }) => url as string)
    .sort()
}
