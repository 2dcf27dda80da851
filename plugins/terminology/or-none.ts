/** Reads definitions that may be missing. */
import { isServerError } from '../../kernel/index.ts'

/** Keys of a missing resource, and of a search parameter that the installed packages do not define. */
const NONE = new Set(['fhir/not-found', 'fhir/deleted', 'fhir/unknown-type', 'fhir/search-parameter-unknown'])

export const orNone = async <T>(work: Promise<T>): Promise<T | undefined> => {
  try {
    return await work
  } catch (error) {
    if (isServerError(error) && NONE.has(error.key)) return undefined
    throw error
  }
}
