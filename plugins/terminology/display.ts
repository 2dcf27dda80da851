/** Texts of a code: its display, and designations in other languages. */
import type { ConceptFacts, Designation, SystemHeader } from './code-system.ts'
import type { ExpandedCode } from './expanded-codes.ts'

/** Whether a tag is in a language range: `de` includes de-AT. https://www.rfc-editor.org/rfc/rfc4647#section-3.3.1 */
export const isOfLanguage = (tag: string | undefined, range: string): boolean => {
  const [has, wanted] = [tag?.toLowerCase(), range.toLowerCase()]
  return has === wanted || has?.startsWith(`${wanted}-`) === true
}

/** The texts of a code: of an expansion, or of a code system alone. */
type Texts = Pick<ExpandedCode, 'display' | 'designations' | 'language' | 'concept'>

/** Designations of the value set, then those of the code system. */
export const designationsOf = ({ designations, concept }: Texts): readonly Designation[] =>
  concept === undefined ? designations : [...designations, ...concept.designations]

const ownDisplays = ({ display, concept }: Texts): readonly string[] =>
  [display, concept?.display].filter((one) => one !== undefined)

/**
 * All accepted displays of a code, the preferred one first. With a language: those known to be in it, else the code's
 * own display.
 */
export const displaysOf = (one: Texts, language: string | undefined): readonly string[] => {
  const own = ownDisplays(one)
  const others = designationsOf(one)
  if (language === undefined) return [...new Set([...own, ...others.map(({ value }) => value)])]
  const fitting = others.filter((other) => isOfLanguage(other.language, language)).map(({ value }) => value)
  if (isOfLanguage(one.language, language)) return [...new Set([...own, ...fitting])]
  return fitting.length === 0 ? own : [...new Set(fitting)]
}

export const displayOf = (one: Texts, language: string | undefined): string | undefined => displaysOf(one, language)[0]

/** The display of a concept in its code system. */
export const displayOfConcept = (
  { language }: Pick<SystemHeader, 'language'>,
  concept: ConceptFacts,
  wanted: string | undefined,
): string | undefined => displayOf({ display: concept.display, designations: [], language, concept }, wanted)
