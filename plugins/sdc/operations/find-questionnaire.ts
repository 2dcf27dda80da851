/** Finds a Questionnaire by its canonical: a stored one that the caller may read, else one of an installed package. */
import { isServerError } from '../../../kernel/index.ts'
import type { SessionReads } from '../../fhir/service.ts'
import type { Definitions } from '../../packages/service.ts'
import type { Json } from '../questionnaire/json.ts'

/** Maximum number of resources with one url that are compared, the newest ones. */
const MAX_CANDIDATES = 50

const ORDER = new Intl.Collator('en', { numeric: true })
const rank = ({ status }: Json): number => (status === 'active' ? 2 : status === 'draft' ? 1 : 0)
const versionOf = ({ version }: Json): string => (typeof version === 'string' ? version : '')
/** Orders active before draft before others, then by descending version. */
const compare = (one: Json, other: Json): number =>
  rank(other) - rank(one) || ORDER.compare(versionOf(other), versionOf(one))

/** https://hl7.org/fhir/R4/search.html#escaping */
const escaped = (value: string): string => value.replace(/[\\,$|]/g, '\\$&')

/** A type that the caller may not search has no resources, as far as the caller can tell. */
const orNone = async <T>(work: Promise<T>): Promise<T | undefined> => {
  try {
    return await work
  } catch (error) {
    if (isServerError(error) && (error.status === 403 || error.key === 'fhir/search-parameter-unknown'))
      return undefined
    throw error
  }
}

export interface QuestionnaireSources {
  readonly data: Pick<SessionReads, 'search'>
  readonly definitions: Pick<Definitions, 'find'>
}

/** `canonical`: a URL, with or without `|version`. `type` is another type with canonicals, such as ValueSet. */
export const findQuestionnaire = async (
  { data, definitions }: QuestionnaireSources,
  canonical: string,
  type = 'Questionnaire',
): Promise<Json | undefined> => {
  const bar = canonical.lastIndexOf('|')
  const url = bar < 0 ? canonical : canonical.slice(0, bar)
  const version = bar < 0 ? undefined : canonical.slice(bar + 1)
  if (url === '' || version === '') return undefined
  const query = new URLSearchParams({ url: escaped(url), _count: String(MAX_CANDIDATES) })
  if (version !== undefined) query.set('version', escaped(version))
  const page = await orNone(data.search(type, query.toString()))
  const [stored] = (page?.matches ?? [])
    .map((held): Json => held.parse())
    .filter((one) => one.url === url && (version === undefined || one.version === version))
    .sort(compare)
  if (stored !== undefined) return stored
  const found = await definitions.find(type, url, version)
  return found === undefined || (version !== undefined && found.version !== undefined && found.version !== version)
    ? undefined
    : (JSON.parse(found.json) as Json)
}
