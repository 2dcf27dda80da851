/** One page of a picker: the search that a text stands for, and the links to the pages around it. */
import { isServerError } from '../../../kernel/index.ts'
import type { CurrentResource, SessionReads } from '../../fhir/service.ts'

const ROWS = 20
const MAX_QUERY = 200 // characters
const MAX_TRAIL = 4_000 // characters of the parameter `page`
const DATE = /^\d{4}(-\d{2}(-\d{2})?)?$/

/** What is written is looked for: commas, bars and dollars have no meaning. */
const literal = (text: string): string => encodeURIComponent(text.replaceAll(/[\\,$|]/g, '\\$&'))

/** Several words of which one has a letter: a name, though a digit may be in it. */
const isName = (text: string): boolean => !/\d/.test(text) || (/\s/.test(text) && /\p{L}/u.test(text))

/** `1970-12-31` is a birth date, one word or a group of numbers with a digit an identifier, and other text a name. */
export const patientQuery = (text: string): string => {
  const sought = text.trim().slice(0, MAX_QUERY)
  if (sought === '') return ''
  if (DATE.test(sought)) return `birthdate=${sought}`
  if (!isName(sought)) return `identifier=${literal(sought)}`
  return sought
    .split(/\s+/)
    .map((word) => `name=${literal(word)}`)
    .join('&')
}

export interface FoundPage {
  readonly matches: readonly CurrentResource[]
  readonly next: string | undefined
  readonly previous: string | undefined
}

/**
 * `page` is the way here: the tokens of the pages that were passed, separated by commas, so that the one before can be
 * linked.
 */
export const searchPage = async (
  reads: SessionReads,
  type: 'Patient' | 'Encounter',
  query: string,
  page: string,
): Promise<FoundPage> => {
  const trail = page === '' || page.length > MAX_TRAIL ? [] : page.split(',')
  const after = trail.at(-1)
  try {
    const asked = [query, `_count=${ROWS}`].filter((one) => one !== '').join('&')
    const found = await reads.search(type, asked, after === undefined ? {} : { after })
    return {
      matches: found.matches,
      next: found.next === undefined ? undefined : [...trail, found.next].join(','),
      previous: after === undefined ? undefined : trail.slice(0, -1).join(','),
    }
  } catch (error) {
    // A text that no search understands finds nobody.
    if (isServerError(error) && error.status < 500) return { matches: [], next: undefined, previous: undefined }
    throw error
  }
}
