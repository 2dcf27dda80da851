/** The elements that a narrative may have, with the automaton that reads their names. */
import { createNameSet, stateOf } from './name-set.ts'

/** The elements in the XPath of txt-1 in the definition of Narrative. */
const LISTED = `a abbr acronym b big blockquote br caption cite code col colgroup dd dfn div dl dt em h1 h2 h3 h4 h5
  h6 hr i img li ol p pre q samp small span strong sub sup table tbody td tfoot th thead tr tt ul var`.split(/\s+/)

/**
 * Elements that txt-1 lacks but the text of narrative.html allows: it names the chapters 7 to 11 of HTML 4.0 without ins and
 * del, chapter 15, and image maps. Of the elements that HTML 4.0 deprecates only those that format text are allowed.
 */
const UNLISTED = 'address area bdo font kbd map s strike u'.split(' ')

export const ELEMENT_NAMES = createNameSet([...LISTED, ...UNLISTED])
const { ends: ELEMENT_OF } = ELEMENT_NAMES
const IS_UNLISTED = Uint8Array.from(ELEMENT_OF, (name) => (name !== undefined && UNLISTED.includes(name) ? 1 : 0))
export const DIV = stateOf(ELEMENT_NAMES, 'div')
export const IMG = stateOf(ELEMENT_NAMES, 'img')

/** The name of an element in the list. `element`: the state in which the name ends. */
export const nameOf = (element: number): string => ELEMENT_OF[element]!

/** Whether txt-1 lacks the element. */
export const isUnlistedElement = (element: number): boolean => IS_UNLISTED[element] === 1
