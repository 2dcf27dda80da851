/**
 * Reads the one reference to a Patient that most clinical resources hold from their JSON text, because parsing takes
 * several times as long. Returns what the parsed resource would give, or undefined when that is uncertain.
 */

const NAMED = 'Patient/'
/** Escapes that may hide the text `Patient/`. JSON with one of them is parsed. */
const ESCAPES = ['\\/', '\\u'] as const
const REFERENCE = '{"reference":'
const DISPLAY = ',"display":"'

const QUOTE = 0x22
const BACKSLASH = 0x5c
const OPEN_ARRAY = 0x5b
const CLOSE_ARRAY = 0x5d
const OPEN_OBJECT = 0x7b
const CLOSE_OBJECT = 0x7d

/** Counts the objects and arrays that are open at `place`, which is outside any string. */
const depthAt = (json: string, place: number): number => {
  let depth = 0
  let isInString = false
  for (let at = 0; at < place; at += 1) {
    const code = json.charCodeAt(at)
    if (code === QUOTE) isInString = !isInString
    else if (code === BACKSLASH) at += 1
    else if (isInString) continue
    else if (code === OPEN_OBJECT || code === OPEN_ARRAY) depth += 1
    else if (code === CLOSE_OBJECT || code === CLOSE_ARRAY) depth -= 1
  }
  return depth
}

/** True when the object that holds the reference ends here, or after a display. */
const endsAt = (json: string, place: number): boolean => {
  if (json[place] === '}') return true
  if (!json.startsWith(DISPLAY, place)) return false
  const from = place + DISPLAY.length
  const end = json.indexOf('"', from)
  return json[end - 1] !== '\\' && json[end + 1] === '}'
}

const hasEscapes = (json: string): boolean => ESCAPES.some((written) => json.includes(written))

/** True when the text cannot contain a reference to a Patient. */
export const namesNoPatient = (json: string): boolean => !json.includes(NAMED) && !hasEscapes(json)

/**
 * `json`: the valid JSON of a resource. `members`: names of the members in question, each a Reference. Undefined
 * where there is no such reference, more than one, or where the text alone does not decide.
 */
export const singlePatientReference = (json: string, members: ReadonlySet<string>): string | undefined => {
  const named = json.indexOf(NAMED)
  if (named === -1 || json.includes(NAMED, named + 1) || hasEscapes(json)) return undefined
  // Without escapes, text between two quotes is a string, and every comparison below begins or ends at a quote.
  const start = json.lastIndexOf('"', named) + 1
  const end = json.indexOf('"', named)
  const holder = start - 1 - REFERENCE.length
  if (!json.startsWith(REFERENCE, holder) || !endsAt(json, end + 1)) return undefined
  const reference = json.slice(start, end)
  if (reference.includes('\\')) return undefined
  if (json[holder - 1] !== ':' || json[holder - 2] !== '"') return undefined
  const key = json.lastIndexOf('"', holder - 3)
  const member = json.slice(key + 1, holder - 2)
  if (!members.has(member) || !(json[key - 1] === ',' || json[key - 1] === '{')) return undefined
  // JSON.parse uses the last of two members with one name, so a second one makes the text alone uncertain.
  if (json.includes(`"${member}"`, holder) || depthAt(json, key) !== 1) return undefined
  return reference
}
