/** Times as FHIR writes them, made once for all that have the same millisecond. */

/** The function takes milliseconds since the epoch and returns `2026-11-22T01:30:00.000Z`. */
export const createInstants = (): ((millis: number) => string) => {
  let last = Number.NaN
  let text = ''
  return (millis) => {
    if (millis !== last) {
      last = millis
      text = new Date(millis).toISOString()
    }
    return text
  }
}
