/**
 * The one reference to a Patient that most clinical resources hold, read from their JSON without parsing it, which takes
 * several times as long. Exactly what the parsed resource says, or nothing at all.
 */

const NAMED = 'Patient/'
/** Where these stand there is more than meets the eye: characters that are written as escapes. */
const ESCAPES = ['\\/', '\\u'] as const
const REFERENCE = '{"reference":'
const DISPLAY = ',"display":"'

const QUOTE = 0x22
const BACKSLASH = 0x5c
const OPEN_ARRAY = 0x5b
const CLOSE_ARRAY = 0x5d
const OPEN_OBJECT = 0x7b
const CLOSE_OBJECT = 0x7d

/** How many objects and arrays are open at a place that lies in no string. */
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

/** Does an object that holds a reference end here, with a display or without? */
const endsAt = (json: string, place: number): boolean => {
  if (json[place] === '}') return true
  if (!json.startsWith(DISPLAY, place)) return false
  const from = place + DISPLAY.length
  const end = json.indexOf('"', from)
  return json[end - 1] !== '\\' && json[end + 1] === '}'
}

const hasEscapes = (json: string): boolean => ESCAPES.some((written) => json.includes(written))

/** True when nothing in it can name a Patient. */
export const namesNoPatient = (json: string): boolean => !json.includes(NAMED) && !hasEscapes(json)

/**
 * `json`: of a resource, valid. `members`: its members that are looked at, each a Reference. Undefined where there is more
 * than one reference that may be meant, where none is, or where it cannot be told from the text alone.
 */
export const singlePatientReference = (json: string, members: ReadonlySet<string>): string | undefined => {
  const named = json.indexOf(NAMED)
  if (named === -1 || json.includes(NAMED, named + 1) || hasEscapes(json)) return undefined
  // What lies between quotes that are no escapes is a string, and all that is compared here begins or ends at one.
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
  // Of a member that is there twice the last one counts.
  if (json.includes(`"${member}"`, holder) || depthAt(json, key) !== 1) return undefined
  return reference
}
