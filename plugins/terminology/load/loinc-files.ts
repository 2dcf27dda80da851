/** How each file of a release of LOINC is read. */
import { ReleaseLine } from '../errors.ts'
import { type LoincPut, NAMES, PARTS, TEXTS } from './loinc-tables.ts'
import type { LoincTerms } from './loinc-terms.ts'
import type { ReleaseFile } from './release-files.ts'
import type { Columns, TableRow } from './table-rows.ts'

export interface LoincInto extends LoincPut {
  readonly terms: LoincTerms
}

/** Where a row is. */
interface Row {
  /** Of the file. */
  readonly name: string
  /** Whether a term that the row names is in the release; a row about one that is not says nothing. */
  hasTerm(code: string): boolean
}

export interface LoincFile {
  readonly pattern: RegExp
  readonly columns: Columns
  /** Throws a sentence about the row. */
  put(into: LoincInto, values: readonly string[], row: Row): void
}

const TERM = /^\d{1,7}-\d$/
const PART = /^LP\d{1,9}-\d$/
const LIST = /^LL\d{1,9}-\d$/
const ANSWER = /^LA\d{1,9}-\d$/
/** A release has a second Loinc.csv, with the terms of its panels only. */
const TERMS_OF_PANELS = /[\\/]PanelsAndForms[\\/]Loinc\.csv$/i
const VARIANT = /^([a-z]{2})([A-Z]{2})\d+LinguisticVariant\.csv$/

const checked = (column: string, pattern: RegExp, value = ''): string => {
  if (!pattern.test(value)) throw new Error(`${column} cannot be "${value.slice(0, 60)}"`)
  return value
}
const pairs = (names: readonly string[], values: readonly string[]): readonly (readonly [string, string])[] =>
  names.flatMap((name, at) => (values[at] ? [[name, values[at]] as const] : []))
/** The property that a link to a part is about: the end of its URL. */
const propertyOf = (url: string): string => url.replace(/^.*\//s, '')

const TERMS: LoincFile = {
  pattern: /^Loinc(?:TableCore)?\.csv$/i,
  columns: {
    required: ['LOINC_NUM', 'LONG_COMMON_NAME', 'STATUS', ...PARTS],
    optional: ['DefinitionDescription', ...TEXTS, ...NAMES],
  },
  put(into, [code, long, status, ...rest]) {
    const texts = rest.slice(PARTS.length + 1)
    const names = pairs(NAMES, texts.slice(TEXTS.length))
    const display = long || names.find(([column]) => column === 'SHORTNAME')?.[1]
    if (display === undefined) throw new Error('LONG_COMMON_NAME and SHORTNAME are empty')
    const term = checked('LOINC_NUM', TERM, code)
    into.terms.add(term)
    into.concept(term, {
      display,
      status,
      definition: rest[PARTS.length] || undefined,
      texts: [...pairs(PARTS, rest), ...pairs(TEXTS, texts)],
      names,
    })
  },
}

const PART_NAMES: LoincFile = {
  pattern: /^Part\.csv$/i,
  columns: { required: ['PartNumber', 'PartTypeName', 'PartName'], optional: ['PartDisplayName', 'Status'] },
  put(into, [code, kind = '', name = '', display, status]) {
    into.concept(checked('PartNumber', PART, code), {
      display: display || name,
      status,
      texts: [['PartTypeName', kind]],
    })
  },
}

const PART_LINKS: LoincFile = {
  // Those of the supplement say more about terms than their name; the class is only there.
  pattern: /^LoincPartLink(?:_Primary|_Supplementary)?\.csv$/i,
  columns: { required: ['LoincNumber', 'PartNumber', 'PartName', 'Property'] },
  put(into, [code, part, text, url = ''], { name, hasTerm }) {
    const property = propertyOf(url)
    const isWanted = /_Supplementary/i.test(name) ? property === 'CLASS' : PARTS.some((one) => one === property)
    if (!isWanted) return
    const [term, of] = [checked('LoincNumber', TERM, code), checked('PartNumber', PART, part)]
    if (hasTerm(term)) into.more(term, 'part', property, [of, text])
  },
}

const ANSWERS: LoincFile = {
  pattern: /^AnswerList\.csv$/i,
  columns: { required: ['AnswerListId', 'AnswerListName', 'AnswerStringId', 'DisplayText'] },
  put(into, [list, name = '', answer, text = '']) {
    into.fallback(checked('AnswerListId', LIST, list), name)
    // A list that another code system defines has no answers here.
    if (answer === undefined || answer === '') return
    into.fallback(checked('AnswerStringId', ANSWER, answer), text)
    into.more(answer, 'in', list as string)
  },
}

const ANSWER_LINKS: LoincFile = {
  pattern: /^LoincAnswerListLink\.csv$/i,
  columns: { required: ['LoincNumber', 'AnswerListId'] },
  put(into, [code, list], { hasTerm }) {
    const [term, of] = [checked('LoincNumber', TERM, code), checked('AnswerListId', LIST, list)]
    if (!hasTerm(term)) return
    into.more(term, 'list', of)
    into.more(of, 'for', term)
  },
}

const VARIANTS: LoincFile = {
  pattern: VARIANT,
  columns: { required: ['LOINC_NUM', 'LONG_COMMON_NAME'], optional: ['SHORTNAME', 'LinguisticVariantDisplayName'] },
  put(into, [code, ...texts], { name }) {
    const language = name.replace(VARIANT, '$1-$2')
    const columns = ['LONG_COMMON_NAME', 'SHORTNAME', 'DisplayName']
    const term = checked('LOINC_NUM', TERM, code)
    // The name that is displayed first.
    for (const [at, [column, text]] of pairs(columns, texts).entries())
      into.more(term, 'text', `${language} ${at}`, [language, column, text])
  },
}

const HIERARCHY: LoincFile = {
  pattern: /^(?:ComponentHierarchyBySystem|(?:LOINC_[\w.]*)?Multi-?AxialHierarchy)\.csv$/i,
  columns: { required: ['IMMEDIATE_PARENT', 'CODE', 'CODE_TEXT'] },
  put(into, [parent = '', code, text = ''], { hasTerm }) {
    if (code === undefined || code === '') throw new Error('CODE is empty')
    const isThere = (one: string): boolean => !TERM.test(one) || hasTerm(one)
    if (!isThere(code)) return
    into.fallback(code, text)
    if (parent !== '' && isThere(parent)) into.more(code, 'parent', parent)
  },
}

/** In the order in which they are read: a file that only names a code comes behind those that describe it. */
export const LOINC_FILES: readonly LoincFile[] = [
  TERMS,
  PART_NAMES,
  PART_LINKS,
  ANSWERS,
  ANSWER_LINKS,
  VARIANTS,
  HIERARCHY,
]
const isOf = ({ pattern }: LoincFile, { name, label }: ReleaseFile): boolean =>
  pattern.test(name) && !TERMS_OF_PANELS.test(label)
export const isTerms = (file: ReleaseFile): boolean => isOf(TERMS, file)

/** Files of one kind that are read. */
export const filesOf = (table: LoincFile, files: readonly ReleaseFile[]): readonly ReleaseFile[] => {
  const found = files.filter((file) => isOf(table, file))
  const whole = found.filter(({ name }) => /^Loinc\.csv$/i.test(name))
  // The core has the same terms with fewer columns.
  return table === TERMS && whole.length > 0 ? whole : found
}

export const createPutRow =
  (into: LoincInto, file: ReleaseFile, table: LoincFile) =>
  ({ values, line }: TableRow): void => {
    const hasTerm = (code: string): boolean => into.terms.has(code, { file, line })
    try {
      table.put(into, values, { name: file.name, hasTerm })
    } catch (error) {
      throw ReleaseLine(file.label, line, (error as Error).message)
    }
  }
